//! Ray casts, nearest points and overlap tests against the triangles of a posed mesh.
//!
//! Build a [`TriangleTree`] once from the bind pose, then [`refit`](TriangleTree::refit) it to the positions
//! of each pose. Queries return a [`Hit`], a [`NearestPoint`] or triangle indices.
//!
//! ```
//! use condyle_query::hits::{Ray, TriangleTree};
//!
//! // Once: a square of two triangles.
//! let bind = [[0.0, 0.0, 0.0], [2.0, 0.0, 0.0], [2.0, 2.0, 0.0], [0.0, 2.0, 0.0]];
//! let triangles = [[0, 1, 2], [0, 2, 3]];
//! let mut tree = TriangleTree::new(&bind, &triangles)?;
//!
//! // For each pose: the positions written by `skin`.
//! let posed = bind.map(|[x, y, z]| [x, y, z - 1.0]);
//! tree.refit(&posed)?;
//!
//! let ray = Ray { origin: [1.5, 0.5, 4.0], direction: [0.0, 0.0, -2.0], max: f32::INFINITY };
//! let hit = tree.first_hit(&ray).expect("the mesh is in the way");
//! assert_eq!((hit.triangle, hit.distance, hit.front), (0, 2.5, true));
//! assert_eq!((hit.position, hit.normal), ([1.5, 0.5, -1.0], [0.0, 0.0, 1.0]));
//! # Ok::<(), condyle::Error>(())
//! ```
//!
//! Results equal those of the f64 formulas for the triangles and do not depend on the tree. They are
//! identical on every instruction set, in both numeric modes and on any thread.
//!
//! Only [`TriangleTree::new`] allocates. Query time is bounded by the number of triangles for any mesh, even
//! if all triangles are in the same place.
//!
//! # Attached objects
//!
//! An [`Attachment`] follows a point of a triangle from pose to pose, for example a wound or a button. An
//! object attached to a joint needs only a matrix product: a sword in a hand is at `model[hand] * grip`.
//!
//! ```
//! use condyle::{Affine, Transform};
//!
//! let at = |x| Affine::from(Transform { translation: [x, 0.0, 0.0], ..Transform::IDENTITY });
//! let (model, hand, grip) = ([at(1.0), at(1.5)], 1, at(0.25));
//! assert_eq!((model[hand] * grip).transform_point([0.0; 3]), [1.75, 0.0, 0.0]);
//! ```

mod attachment;
mod build;
mod closest;
mod lanes;
mod node;
mod overlap;
mod ray;
mod refit;
mod shape;
#[cfg(test)]
mod tests;

use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

pub use attachment::Attachment;
pub use closest::NearestPoint;
pub use ray::{Hit, Ray};
pub use shape::Shape;

pub(crate) use shape::{Solid, axes_of};

use crate::bounds::Aabb;
use build::{Bounds, build, is_closed};
use condyle::mesh::SkinnedMesh;
use condyle_base::error::Error;
use condyle_base::simd::Dispatch;
use node::{Leaf, MAX_TRIANGLES, Node};
use refit::Corners;

/// Maximum absolute value of a coordinate in queries here and in [hitboxes](crate::hitbox): 2^60.
///
/// Products of four such coordinates are far below the f64 maximum, and boxes are tested in f32. Queries with
/// larger coordinates find nothing.
pub const LIMIT: f32 = 1_152_921_504_606_846_976.0;

/// Bounding volume hierarchy over the triangles of a mesh, built once and updated to each pose by
/// [`refit`](Self::refit).
///
/// Each node has eight boxes and each leaf at most eight triangles. The tree holds a copy of the current
/// positions: 16 bytes per vertex and about 40 bytes per triangle.
#[derive(Clone)]
pub struct TriangleTree {
    /// Number of vertices of the mesh, including vertices without triangles.
    vertex_count: usize,
    /// Mesh vertex of each tree vertex. Only vertices of triangles are listed, in the order in which leaves
    /// use them.
    sources: Vec<u32>,
    /// Positions of the tree vertices; the fourth number is arbitrary.
    positions: Vec<[f32; 4]>,
    /// Triangles in leaf order, as tree vertices. [`lanes::WIDTH`] unused triangles follow the last one, so
    /// that a full vector can be loaded from any slot.
    corners: Vec<[u32; 3]>,
    /// Mesh triangle of each slot.
    triangles: Vec<u32>,
    leaves: Vec<Leaf>,
    /// Vertices of each leaf in groups of four; the last group of a leaf repeats its last vertex.
    members: Vec<[u32; 4]>,
    nodes: Vec<Node>,
    /// Boxes of all leaves, then of all nodes, then one empty box.
    boxes: Vec<Corners>,
    /// Maximum absolute coordinate.
    size: f32,
    closed: bool,
}

/// Prints the size of the tree, not its numbers.
impl fmt::Debug for TriangleTree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut all = f.debug_struct("TriangleTree");
        all.field("vertices", &self.vertex_count).field("triangles", &self.triangles.len());
        all.field("nodes", &self.nodes.len()).field("closed", &self.closed).finish()
    }
}

impl TriangleTree {
    /// Maximum number of triangles.
    pub const MAX_TRIANGLES: usize = MAX_TRIANGLES;

    /// Builds a tree over triangles of three vertices each, counter-clockwise as seen from outside. Takes
    /// about 20 ms for 10,000 triangles.
    ///
    /// `positions` come from the bind pose, or from another pose in which neighbouring triangles are close
    /// together; the tree groups triangles by them. Triangles without area are kept: no ray hits them, but
    /// nearest points and overlaps can report them.
    ///
    /// # Errors
    /// [`Error::TooMany`] for more than [`MAX_TRIANGLES`](Self::MAX_TRIANGLES) triangles. [`Error::Index`]
    /// for a triangle with a vertex that does not exist. [`Error::NotFinite`] or [`Error::OutOfRange`] under
    /// the conditions of [`refit`](Self::refit).
    pub fn new(positions: &[[f32; 3]], triangles: &[[u32; 3]]) -> Result<Self, Error> {
        if triangles.len() > MAX_TRIANGLES {
            return Err(Error::TooMany { what: "triangles", found: triangles.len(), limit: MAX_TRIANGLES });
        }
        let count = positions.len();
        if let Some(at) = triangles.as_flattened().iter().position(|&v| v as usize >= count) {
            let found = triangles.as_flattened()[at] as usize;
            return Err(Error::Index { what: "triangles", at: at / 3, found, count });
        }
        check_positions(positions, triangles.as_flattened())?;
        let boxes: Vec<_> = triangles.iter().map(|t| Bounds::of(t.map(|v| positions[v as usize]))).collect();
        let built = build(&boxes);
        let mut tree = Self {
            vertex_count: count,
            sources: vec![],
            positions: vec![],
            corners: Vec::with_capacity(triangles.len() + lanes::WIDTH),
            triangles: Vec::with_capacity(triangles.len()),
            members: vec![],
            boxes: vec![refit::EMPTY; built.leaves.len() + built.nodes.len() + 1],
            leaves: built.leaves,
            nodes: built.nodes,
            size: 0.0,
            closed: is_closed(positions, triangles),
        };
        tree.number_vertices(&built.order, triangles);
        tree.positions = vec![[0.0; 4]; tree.sources.len()];
        tree.refit(positions)?;
        Ok(tree)
    }

    /// Builds the tree over a mesh in its bind pose, from its indices or, without indices, from its vertices
    /// in order. The mesh must consist of triangles, not points or lines.
    ///
    /// # Errors
    /// Returns the errors of [`new`](Self::new).
    pub fn of_mesh(mesh: &SkinnedMesh) -> Result<Self, Error> {
        let positions = &mesh.vertices().positions;
        if !mesh.indices().is_empty() {
            return Self::new(positions, mesh.indices().as_chunks().0);
        }
        let in_order: Vec<_> =
            (0..positions.len() as u32 / 3).map(|t| [3 * t, 3 * t + 1, 3 * t + 2]).collect();
        Self::new(positions, &in_order)
    }

    /// Sorts the triangles into leaf order and numbers vertices in that order, so that the vertices of a leaf
    /// are close in memory.
    fn number_vertices(&mut self, order: &[u32], triangles: &[[u32; 3]]) {
        const NONE: u32 = u32::MAX;
        let mut numbers = vec![NONE; self.vertex_count];
        // Last leaf that listed each tree vertex.
        let mut had_by = vec![];
        for (at, leaf) in self.leaves.iter_mut().enumerate() {
            let own = &order[leaf.first as usize..][..leaf.count as usize];
            leaf.first = self.triangles.len() as u32;
            self.triangles.extend(own);
            let mut vertices = vec![];
            for &triangle in own {
                let corners = triangles[triangle as usize].map(|v| {
                    let number = &mut numbers[v as usize];
                    if *number == NONE {
                        *number = self.sources.len() as u32;
                        self.sources.push(v);
                        had_by.push(usize::MAX);
                    }
                    *number
                });
                for number in corners {
                    if had_by[number as usize] != at {
                        had_by[number as usize] = at;
                        vertices.push(number);
                    }
                }
                self.corners.push(corners);
            }
            let first = self.members.len();
            let four = |four: &[u32]| core::array::from_fn(|k| four[k.min(four.len() - 1)]);
            self.members.extend(vertices.chunks(4).map(four));
            leaf.members = [first as u32, self.members.len() as u32];
        }
        self.corners.extend([[0; 3]; lanes::WIDTH]);
    }

    fn set_size(&mut self) {
        let greatest = |of: &Corners| {
            of.iter().flat_map(|corner| &corner[..3]).fold(0.0_f32, |size, v| size.max(v.abs()))
        };
        self.size = self.root().map_or(0.0, greatest);
    }

    /// The box of the root, if there is one.
    fn root(&self) -> Option<&Corners> {
        self.boxes.get(self.leaves.len()).filter(|_| !self.nodes.is_empty())
    }

    /// Dispatch for the kernels. They compute in f64 and compare in f32, without fused multiply-adds in
    /// either mode.
    fn dispatch(&self) -> Dispatch {
        Dispatch::current().portable()
    }

    /// Returns the number of triangles.
    #[must_use]
    pub fn triangle_count(&self) -> usize {
        self.triangles.len()
    }

    /// Returns the box around all triangles, which is empty for a tree without triangles.
    ///
    /// With many characters, test a ray against this box first and skip the characters that it misses.
    #[must_use]
    pub fn bounds(&self) -> Aabb {
        let corner = |[x, y, z, _]: [f32; 4]| [x, y, z];
        self.root().map_or(Aabb::EMPTY, |&[low, high]| Aabb { min: corner(low), max: corner(high) })
    }

    /// Returns whether the surface was closed and consistently wound when the tree was built.
    ///
    /// Every edge must be used by as many triangles in one direction as in the other. Vertices at the same
    /// position, for example along texture seams, count as one.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// Corners of a triangle, by its slot in leaf order.
    fn points(&self, slot: usize) -> [[f64; 3]; 3] {
        self.corners[slot].map(|v| {
            let [x, y, z, _] = self.positions[v as usize];
            [x, y, z].map(f64::from)
        })
    }
}

/// Whether a point is within [`LIMIT`], so that it can be queried.
pub(crate) fn is_within(place: &[f32; 3]) -> bool {
    place.iter().all(|v| v.abs() <= LIMIT)
}

/// Returns an error for the first used position that is not finite or exceeds [`LIMIT`].
fn check_positions(positions: &[[f32; 3]], used: &[u32]) -> Result<(), Error> {
    for &at in used {
        let at = at as usize;
        if positions[at].iter().any(|v| !v.is_finite()) {
            return Err(Error::NotFinite { what: "positions", at });
        }
        if positions[at].iter().any(|v| v.abs() > LIMIT) {
            return Err(Error::OutOfRange { what: "positions", at, needed: "within 2^60 of 0" });
        }
    }
    Ok(())
}

/// Point of a triangle with the given barycentric weights.
fn weighted(points: &[[f64; 3]; 3], weights: [f64; 3]) -> [f32; 3] {
    core::array::from_fn(|k| (0..3).map(|corner| weights[corner] * points[corner][k]).sum::<f64>() as f32)
}

/// Unit normal on the side from which the corners are counter-clockwise; zero for a triangle without area.
fn normal(points: &[[f64; 3]; 3]) -> [f32; 3] {
    use condyle_base::math::scalar::sqrt_f64;
    use condyle_base::math::vectors::{cross, dot};
    let edge = |to: usize| core::array::from_fn(|k| points[to][k] - points[0][k]);
    let across: [f64; 3] = cross(edge(1), edge(2));
    let length = sqrt_f64(dot(across, across));
    if length > 0.0 { across.map(|v| (v / length) as f32) } else { [0.0; 3] }
}
