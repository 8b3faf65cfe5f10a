//! Adds meshes of the caller to joints of a document.

use super::bin::ARRAY_BUFFER;
use super::{ClipExporter, ExportError};
use crate::value::{Value, json};

/// A triangle mesh that follows a joint, for [`ClipExporter::attach`]. Positions and normals are in joint
/// space.
#[derive(Debug, Clone)]
pub struct JointMesh {
    /// Index of the joint in [`Asset::skeleton`](crate::Asset::skeleton).
    pub joint: u16,
    /// Name of the new node and of the new mesh.
    pub name: String,
    /// Vertex positions; at least one.
    pub positions: Vec<[f32; 3]>,
    /// Vertex normals of unit length, one for each position.
    pub normals: Vec<[f32; 3]>,
    /// Indices into the positions, counter-clockwise as seen from outside. At least one triangle.
    pub triangles: Vec<[u32; 3]>,
}

impl ClipExporter<'_> {
    /// Adds each mesh on a new child node of its joint, so that it moves with the exported clips.
    ///
    /// All meshes share one new material. `color` is linear red, green, blue and opacity; an opacity below 1
    /// is blended. The new nodes, meshes and the material are appended, so existing indices do not change.
    ///
    /// ```no_run
    /// use condyle_gltf::{Asset, ClipExporter, JointMesh};
    ///
    /// let asset = Asset::open("fox.glb")?;
    /// // A red arrow head on the last joint.
    /// let head = JointMesh {
    ///     joint: asset.skeleton.joint_count() as u16 - 1,
    ///     name: "arrow".into(),
    ///     positions: vec![[0.0, 0.0, 0.0], [0.1, 0.0, 0.0], [0.0, 0.2, 0.0]],
    ///     normals: vec![[0.0, 0.0, 1.0]; 3],
    ///     triangles: vec![[0, 1, 2]],
    /// };
    /// let mut exporter = ClipExporter::new(&asset);
    /// exporter.attach(&[head], [1.0, 0.0, 0.0, 1.0])?;
    /// std::fs::write("marked.glb", exporter.glb(&asset.clips)?)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`ExportError::Mismatch`] for a joint without a node, and for lists of inconsistent lengths or with
    /// invalid values. After an error the document is unchanged.
    pub fn attach(&mut self, meshes: &[JointMesh], color: [f32; 4]) -> Result<(), ExportError> {
        for mesh in meshes {
            self.check(mesh)?;
        }
        let material = json!({
            "pbrMetallicRoughness": { "baseColorFactor": color, "metallicFactor": 0.0 },
            "alphaMode": if color[3] < 1.0 { "BLEND" } else { "OPAQUE" },
        });
        let material = push(&mut self.json, "materials", material);
        for mesh in meshes {
            let accessors = &mut self.accessors;
            let mut vectors =
                |it: &[[f32; 3]], bounds| self.bin.add_accessor(accessors, it, Some(ARRAY_BUFFER), bounds);
            let (positions, normals) = (vectors(&mesh.positions, true), vectors(&mesh.normals, false));
            let indices = self.bin.add_triangles(&mut self.accessors, &mesh.triangles);
            let primitive = json!({
                "attributes": { "POSITION": positions, "NORMAL": normals },
                "indices": indices,
                "material": material,
            });
            let shape =
                push(&mut self.json, "meshes", json!({ "name": mesh.name, "primitives": [primitive] }));
            let node = push(&mut self.json, "nodes", json!({ "name": mesh.name, "mesh": shape }));
            let joint = self.asset.skeleton.nodes()[usize::from(mesh.joint)] as usize;
            push(&mut self.json["nodes"][joint], "children", node.into());
        }
        Ok(())
    }

    fn check(&self, mesh: &JointMesh) -> Result<(), ExportError> {
        let check = |what, found, needed, fits| {
            if fits { Ok(()) } else { Err(ExportError::Mismatch { what, found, needed }) }
        };
        let (joint, joints) = (usize::from(mesh.joint), self.asset.skeleton.joint_count());
        check("the joint of a mesh", joint, joints.saturating_sub(1), joint < joints)?;
        let node = self.asset.skeleton.nodes()[joint] as usize;
        let nodes = self.json["nodes"].as_array().map_or(0, Vec::len);
        check("the node of a joint", node, nodes.saturating_sub(1), node < nodes)?;
        let (positions, normals) = (mesh.positions.len(), mesh.normals.len());
        check("positions", positions, 1, positions > 0)?;
        check("normals", normals, positions, normals == positions)?;
        let numbers = mesh.positions.as_flattened().iter().chain(mesh.normals.as_flattened());
        let finite = numbers.clone().filter(|v| v.is_finite()).count();
        check("finite numbers", finite, 6 * positions, finite == 6 * positions)?;
        check("triangles", mesh.triangles.len(), 1, !mesh.triangles.is_empty())?;
        let greatest = mesh.triangles.as_flattened().iter().max().map_or(0, |&corner| corner as usize);
        check("the corner of a triangle", greatest, positions - 1, greatest < positions)
    }
}

/// Appends an item to a list of a document, creating the list if necessary. Returns the item's index.
fn push(owner: &mut Value, list: &str, item: Value) -> usize {
    match &mut owner[list] {
        Value::Array(list) => {
            list.push(item);
            list.len() - 1
        }
        none => {
            *none = json!([item]);
            0
        }
    }
}
