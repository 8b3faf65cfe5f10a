//! The data of a body model file.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use condyle::Influences;

use crate::npz::{Array, Npz};
use condyle_base::problem::Refused;

/// A body model: the mean shape, the displacements for shape parameters and rotations, and the skinning.
/// Clones share the data.
#[derive(Clone, PartialEq)]
pub struct BodyModel(pub(crate) Arc<Data>);

#[derive(PartialEq)]
pub(crate) struct Data {
    /// Mean shape in metres.
    pub(crate) template: Vec<[f64; 3]>,
    /// Displacement of each vertex, for each shape parameter.
    pub(crate) shape_dirs: Vec<Vec<[f32; 3]>>,
    /// Displacements of all vertex coordinates, one row for each entry of the joints' rotation matrices.
    pub(crate) pose_dirs: Vec<f32>,
    /// Vertices and weights of each joint; the joint's position is their weighted sum.
    pub(crate) regressor: Vec<Vec<(u32, f64)>>,
    pub(crate) influences: Influences,
    /// Parent of each joint, parents before children.
    pub(crate) parents: Vec<Option<u16>>,
    pub(crate) triangles: Vec<[u32; 3]>,
}

/// Prints the sizes, not the numbers.
impl fmt::Debug for BodyModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut all = f.debug_struct("BodyModel");
        all.field("vertices", &self.vertex_count()).field("joints", &self.joint_count());
        all.field("shape_numbers", &self.shape_count())
            .field("has_correctives", &self.has_correctives())
            .finish()
    }
}

impl BodyModel {
    /// Reads a model from a file.
    ///
    /// # Errors
    /// [`Refused`] if it cannot be read or is not a model.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Refused> {
        Self::read(&mut Npz::open(path.as_ref())?)
    }

    /// Reads a model from the bytes of a file; `name` is used in errors.
    ///
    /// # Errors
    /// [`Refused`] if the bytes are not a model.
    pub fn from_bytes(name: &str, bytes: Vec<u8>) -> Result<Self, Refused> {
        Self::read(&mut Npz::from_bytes(name, bytes)?)
    }

    /// Returns whether the bytes are an archive with the vertex array of a model. Motions have no such array.
    #[must_use]
    pub fn recognise(bytes: &[u8]) -> bool {
        Npz::holds(bytes, "v_template")
    }

    fn read(npz: &mut Npz) -> Result<Self, Refused> {
        let template = npz.shaped("v_template", &[0, 3], "(vertices, 3)")?;
        let template: Vec<[f64; 3]> = template.values.as_chunks().0.to_vec();
        let vertices = template.len();
        if vertices == 0 {
            return Err(npz.refused("v_template", "it has no vertices"));
        }
        let tree = npz.shaped("kintree_table", &[2, 0], "(2, joints)")?;
        let parents = parents(npz, &tree)?;
        let joints = parents.len();

        let regressor = npz.shaped("J_regressor", &[joints, vertices], &format!("({joints}, {vertices})"))?;
        let regressor = (0..joints).map(|joint| {
            let row = &regressor.values[joint * vertices..][..vertices];
            row.iter()
                .zip(0..)
                .filter(|(weight, _)| **weight != 0.0)
                .map(|(weight, vertex)| (vertex, *weight))
                .collect()
        });
        let regressor = regressor.collect();

        let weights = npz.shaped("weights", &[vertices, joints], &format!("({vertices}, {joints})"))?;
        let row = |at: usize| (0..joints).map(move |joint| (joint as u16, at * joints + joint));
        let rows = (0..vertices).map(|at| row(at).map(|(joint, at)| (joint, weights.values[at] as f32)));
        let influences =
            Influences::from_rows(rows).map_err(|error| npz.refused("weights", error.to_string()))?;

        let mut shape_dirs: Vec<Vec<[f32; 3]>> = Vec::new();
        if npz.has("shapedirs") {
            let dirs = npz.shaped("shapedirs", &[vertices, 3, 0], &format!("({vertices}, 3, numbers)"))?;
            let all = dirs.shape[2];
            let count = shape_count(joints, all);
            let of =
                |number: usize, vertex: usize, c: usize| dirs.values[(3 * vertex + c) * all + number] as f32;
            let row = |number| (0..vertices).map(|vertex| [0, 1, 2].map(|c| of(number, vertex, c))).collect();
            shape_dirs = (0..count).map(row).collect();
        }
        let mut pose_dirs = Vec::new();
        if npz.has("posedirs") {
            let count = 9 * joints.saturating_sub(1);
            let dirs = npz.shaped("posedirs", &[vertices, 3, count], &format!("({vertices}, 3, {count})"))?;
            let row = |entry| (0..3 * vertices).map(move |at| (at, entry));
            pose_dirs =
                (0..count).flat_map(row).map(|(at, entry)| dirs.values[at * count + entry] as f32).collect();
        }
        let mut shapes = shape_dirs.iter().flat_map(|dirs| dirs.as_flattened());
        if !shapes.all(|v| v.is_finite()) {
            return Err(npz.refused("shapedirs", "a number is outside the range of f32"));
        }
        if !pose_dirs.iter().all(|v: &f32| v.is_finite()) {
            return Err(npz.refused("posedirs", "a number is outside the range of f32"));
        }
        let triangles = triangles(npz, vertices)?;
        let data = Data { template, shape_dirs, pose_dirs, regressor, influences, parents, triangles };
        Ok(Self(Arc::new(data)))
    }

    /// Number of vertices.
    #[must_use]
    pub fn vertex_count(&self) -> usize {
        self.0.template.len()
    }

    /// Number of joints.
    #[must_use]
    pub fn joint_count(&self) -> usize {
        self.0.parents.len()
    }

    /// Number of shape parameters.
    #[must_use]
    pub fn shape_count(&self) -> usize {
        self.0.shape_dirs.len()
    }

    /// Returns whether rotations displace vertices before skinning (pose correctives).
    #[must_use]
    pub fn has_correctives(&self) -> bool {
        !self.0.pose_dirs.is_empty()
    }

    /// Returns the triangles, counter-clockwise as seen from outside.
    #[must_use]
    pub fn triangles(&self) -> &[[u32; 3]] {
        &self.0.triangles
    }

    /// Returns the joint influences of the vertices.
    #[must_use]
    pub fn influences(&self) -> &Influences {
        &self.0.influences
    }
}

/// Returns the number of shape directions among `all` directions. The published files of SMPL-X (55 joints)
/// hold 300 shapes and 100 expressions, or 10 of each.
fn shape_count(joints: usize, all: usize) -> usize {
    match (joints, all) {
        (55, 400) => 300,
        (55, 20) => 10,
        _ => all,
    }
}

/// Returns the parents from the first row. The root's parent is any number that is not a joint index.
fn parents(npz: &Npz, tree: &Array) -> Result<Vec<Option<u16>>, Refused> {
    let joints = tree.shape[1];
    if joints == 0 || joints > usize::from(u16::MAX) {
        return Err(npz.refused("kintree_table", format!("it has {joints} joints, expected 1 to 65535")));
    }
    let parent = |at: usize| {
        let found = tree.values[at];
        let is_root = at == 0 && !(found >= 0.0 && found < joints as f64);
        if is_root {
            return Ok(None);
        }
        let before = found >= 0.0 && found < at as f64 && found.fract() == 0.0;
        let wrong = || {
            npz.refused(
                "kintree_table",
                format!("the parent of joint {at} is {found}, expected a joint before it"),
            )
        };
        if before { Ok(Some(found as u16)) } else { Err(wrong()) }
    };
    (0..joints).map(parent).collect()
}

fn triangles(npz: &mut Npz, vertices: usize) -> Result<Vec<[u32; 3]>, Refused> {
    if !npz.has("f") {
        return Ok(Vec::new());
    }
    let found = npz.shaped("f", &[0, 3], "(triangles, 3)")?;
    let is_vertex = |v: &f64| *v >= 0.0 && *v < vertices as f64 && v.fract() == 0.0;
    if let Some(at) = found.values.iter().position(|v| !is_vertex(v)) {
        let (number, last) = (found.values[at], vertices.saturating_sub(1));
        return Err(
            npz.refused("f", format!("its number {at} is {number}, expected a vertex from 0 to {last}"))
        );
    }
    Ok(found.values.as_chunks::<3>().0.iter().map(|corners| corners.map(|v| v as u32)).collect())
}
