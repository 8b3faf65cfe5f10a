//! Turns skin deformers into glTF skins, and the weights of their clusters into influences of vertices.

use std::collections::HashMap;

use serde_json::{Value, json};
use ufbx::{Matrix, Mesh, Node, SkinDeformer};

use crate::buffer::{AccessorType, TooLarge};
use crate::context::Context;

/// Joint of a skin, and its weight at a vertex.
#[derive(Clone, Copy, Default)]
pub(crate) struct Influence {
    pub(crate) joint: u16,
    pub(crate) weight: f32,
}

/// Skin of a mesh.
#[derive(Clone, Default)]
pub(crate) struct SkinOfMesh {
    /// Index of the skin in the document.
    pub(crate) index: Option<usize>,
    /// Influences of each vertex of the mesh.
    pub(crate) influences: Vec<Vec<Influence>>,
}

/// Skins of the document.
#[derive(Default)]
pub(crate) struct Skins {
    pub(crate) skins: Vec<Value>,
    known: HashMap<SkinKey, SkinOfMesh>,
}

/// Ids of a deformer and of the node whose mesh it deforms.
#[derive(PartialEq, Eq, Hash)]
struct SkinKey {
    deformer: u32,
    node: u32,
}

impl Skins {
    /// Adds the skin of a node's mesh.
    pub(crate) fn add(
        &mut self,
        node: &Node,
        mesh: &Mesh,
        deformer: &SkinDeformer,
        context: &mut Context<'_>,
    ) -> Result<SkinOfMesh, TooLarge> {
        let key = SkinKey { deformer: deformer.element.typed_id, node: node.element.typed_id };
        if let Some(known) = self.known.get(&key) {
            return Ok(known.clone());
        }
        let mut skin = SkinJoints::of_clusters(node, deformer, context)?;
        let Some(influences) = skin.influences(mesh, context)? else {
            return Ok(SkinOfMesh::default());
        };
        let matrices: Vec<f32> = skin.matrices.iter().flat_map(columns).flatten().map(|v| v as f32).collect();
        let matrices = context.buffer.numbers(AccessorType::Mat4, &matrices, false)?;
        let mut out = json!({"joints": skin.joints, "inverseBindMatrices": matrices});
        if !deformer.element.name.is_empty() {
            out["name"] = (&*deformer.element.name).into();
        }
        self.skins.push(out);
        let added = SkinOfMesh { index: Some(self.skins.len() - 1), influences };
        self.known.insert(key, added.clone());
        Ok(added)
    }
}

/// Joints of a skin under construction.
struct SkinJoints<'a> {
    node: &'a Node,
    deformer: &'a SkinDeformer,
    /// Node of each joint in the document.
    joints: Vec<usize>,
    /// Inverse bind matrix of each joint.
    matrices: Vec<Matrix>,
    /// Joint of each node of the document that clusters move.
    joint_of_node: HashMap<usize, u16>,
    /// Joint of each cluster.
    joint_of_cluster: Vec<Option<u16>>,
    /// Joint of vertices without weights, if there are any.
    joint_of_rest: Option<u16>,
}

impl<'a> SkinJoints<'a> {
    fn of_clusters(
        node: &'a Node,
        deformer: &'a SkinDeformer,
        context: &mut Context<'_>,
    ) -> Result<Self, TooLarge> {
        let mut skin = Self {
            node,
            deformer,
            joints: Vec::new(),
            matrices: Vec::new(),
            joint_of_node: HashMap::new(),
            joint_of_cluster: Vec::with_capacity(deformer.clusters.len()),
            joint_of_rest: None,
        };
        for cluster in &deformer.clusters {
            let bone = cluster.bone_node.as_ref().and_then(|bone| context.node(bone.element.typed_id));
            let joint = match bone {
                Some(bone) => Some(skin.joint(bone, &cluster.geometry_to_bone, context)?),
                None => None,
            };
            skin.joint_of_cluster.push(joint);
        }
        Ok(skin)
    }

    /// Joint of a node of the document, which is added if it is new.
    fn joint(&mut self, node: usize, matrix: &Matrix, context: &mut Context<'_>) -> Result<u16, TooLarge> {
        if let Some(&joint) = self.joint_of_node.get(&node) {
            if !is_near(&self.matrices[usize::from(joint)], matrix) {
                context.problems.warn(
                    format!("skin of {}", &*self.node.element.name),
                    "a joint has two bind matrices",
                    "the first of them is used",
                );
            }
            return Ok(joint);
        }
        let joint = self.push(node, matrix)?;
        self.joint_of_node.insert(node, joint);
        Ok(joint)
    }

    fn push(&mut self, node: usize, matrix: &Matrix) -> Result<u16, TooLarge> {
        let joint = u16::try_from(self.joints.len()).map_err(|_| TooLarge)?;
        self.joints.push(node);
        self.matrices.push(*matrix);
        Ok(joint)
    }

    /// Normalised influences of each vertex. `None` if a vertex without weights has no node to follow.
    fn influences(
        &mut self,
        mesh: &Mesh,
        context: &mut Context<'_>,
    ) -> Result<Option<Vec<Vec<Influence>>>, TooLarge> {
        let mut influences = Vec::with_capacity(mesh.num_vertices);
        let mut total = 0;
        for vertex in 0..mesh.num_vertices {
            let mut weights = self.weights(vertex);
            let sum: f64 = weights.iter().map(|it| it.weight).sum();
            if weights.is_empty() || !(sum > 0.0 && sum.is_finite()) {
                let Some(joint) = self.joint_of_rest(context)? else { return Ok(None) };
                weights = vec![JointWeight { joint, weight: 1.0 }];
            }
            total += weights.len();
            context.buffer.afford(total * 8)?;
            let sum: f64 = weights.iter().map(|it| it.weight).sum();
            let normalised = weights.into_iter().map(|JointWeight { joint, weight }| {
                let weight = (weight / sum) as f32;
                Influence { joint, weight }
            });
            influences.push(normalised.collect());
        }
        Ok(Some(influences))
    }

    /// Weights of a vertex as the file has them, one for each joint.
    fn weights(&self, vertex: usize) -> Vec<JointWeight> {
        let range = self.deformer.vertices.get(vertex);
        let of_clusters = range.and_then(|range| {
            let start = range.weight_begin as usize;
            self.deformer.weights.get(start..start + range.num_weights as usize)
        });
        let mut weights: Vec<JointWeight> = Vec::new();
        for of_cluster in of_clusters.unwrap_or_default() {
            let joint = self.joint_of_cluster.get(of_cluster.cluster_index as usize).copied().flatten();
            let weight = of_cluster.weight;
            let Some(joint) = joint.filter(|_| weight > 0.0) else { continue };
            match weights.iter_mut().find(|known| known.joint == joint) {
                Some(known) => known.weight += weight,
                None => weights.push(JointWeight { joint, weight }),
            }
        }
        weights
    }

    /// Joint of vertices without weights: they move with the node of the mesh.
    fn joint_of_rest(&mut self, context: &mut Context<'_>) -> Result<Option<u16>, TooLarge> {
        if self.joint_of_rest.is_some() {
            return Ok(self.joint_of_rest);
        }
        let Some(node) = context.node(self.node.element.typed_id) else { return Ok(None) };
        let joint = match self.joint_of_node.get(&node) {
            Some(&joint) => joint,
            None => self.push(node, &self.node.geometry_to_node)?,
        };
        context.problems.note(
            format!("skin of {}", &*self.node.element.name),
            "some vertices have no weight",
            "they move with the node of the mesh, which is a joint of the skin",
        );
        self.joint_of_rest = Some(joint);
        Ok(self.joint_of_rest)
    }
}

/// Joint of a skin, and its weight as the file has it.
struct JointWeight {
    joint: u16,
    weight: f64,
}

fn columns(m: &Matrix) -> [[f64; 4]; 4] {
    [
        [m.m00, m.m10, m.m20, 0.0],
        [m.m01, m.m11, m.m21, 0.0],
        [m.m02, m.m12, m.m22, 0.0],
        [m.m03, m.m13, m.m23, 1.0],
    ]
}

fn is_near(a: &Matrix, b: &Matrix) -> bool {
    let row =
        |m: &Matrix| [m.m00, m.m10, m.m20, m.m01, m.m11, m.m21, m.m02, m.m12, m.m22, m.m03, m.m13, m.m23];
    row(a).iter().zip(row(b)).all(|(a, b)| (a - b).abs() <= 1e-6 * (1.0 + b.abs()))
}
