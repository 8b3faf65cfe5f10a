//! Questions about posed triangles: what a ray meets, which point is nearest, what a sphere, a capsule or a box touches, and what
//! is inside. In go the triangles of a bind pose, once, and then the positions of each pose; out come a [`Hit`], a [`NearestPoint`]
//! or numbers of triangles.
//!
//! ```
//! use condyle_query::hits::{Ray, TriangleTree};
//!
//! // Once: a square of two triangles.
//! let bind = [[0.0, 0.0, 0.0], [2.0, 0.0, 0.0], [2.0, 2.0, 0.0], [0.0, 2.0, 0.0]];
//! let triangles = [[0, 1, 2], [0, 2, 3]];
//! let mut tree = TriangleTree::new(&bind, &triangles)?;
//!
//! // For each pose: what `skin` has written.
//! let posed = bind.map(|[x, y, z]| [x, y, z - 1.0]);
//! tree.refit(&posed)?;
//!
//! let ray = Ray { origin: [1.5, 0.5, 4.0], direction: [0.0, 0.0, -2.0], max: f32::INFINITY };
//! let hit = tree.first_hit(&ray).expect("it is in the way");
//! assert_eq!((hit.triangle, hit.distance, hit.front), (0, 2.5, true));
//! assert_eq!((hit.position, hit.normal), ([1.5, 0.5, -1.0], [0.0, 0.0, 1.0]));
//! # Ok::<(), condyle::Error>(())
//! ```
//!
//! Answers are those of the formulas in f64 for these triangles, whatever the tree is: the same on every instruction set, in
//! either numeric mode, on any thread. Nothing is allocated but by [`TriangleTree::new`]. Time is bounded by the number of
//! triangles for any mesh, also where all of them are in one place.
//!
//! # What rides along
//!
//! An [`Attachment`] holds on to a point of a triangle, a wound or a button, from pose to pose. What hangs on a joint needs no more than
//! a multiplication: a sword in a hand is where `model[hand] * grip` is.
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

/// The greatest size of a coordinate of what is asked here or of [hitboxes](crate::hitbox), 2^60: products of four of them are far from where f64 ends,
/// and boxes are tested in f32. Rays, points and shapes that go beyond meet nothing, are near nothing and touch nothing.
pub const LIMIT: f32 = 1_152_921_504_606_846_976.0;

/// A tree over the triangles of a mesh, built once and put on each pose by [`refit`](Self::refit).
///
/// Eight boxes a node, up to eight triangles a leaf. It holds a copy of the positions that it was last put on: 16 bytes for each
/// vertex, and some 40 for each triangle.
#[derive(Clone)]
pub struct TriangleTree {
    /// How many vertices the mesh has, with those of no triangle.
    vertex_count: usize,
    /// Which vertex of the mesh each of the tree is: those of triangles, in the order in which leaves come to them.
    sources: Vec<u32>,
    /// Where they are; the fourth number says nothing.
    positions: Vec<[f32; 4]>,
    /// The triangles in the order of leaves, by the tree's vertices. Behind the last there are some that are not looked at, so that as
    /// many as there are lanes can be read anywhere.
    corners: Vec<[u32; 3]>,
    /// Which triangle of the mesh each is.
    triangles: Vec<u32>,
    leaves: Vec<Leaf>,
    /// The vertices of one leaf after another, by fours: the last one of a leaf again where some are missing.
    members: Vec<[u32; 4]>,
    nodes: Vec<Node>,
    /// The box of each leaf, then that of each node, then that of nothing.
    boxes: Vec<Corners>,
    /// The greatest size of a coordinate.
    size: f32,
    closed: bool,
}

/// How large it is, not its numbers.
impl fmt::Debug for TriangleTree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut all = f.debug_struct("TriangleTree");
        all.field("vertices", &self.vertex_count).field("triangles", &self.triangles.len());
        all.field("nodes", &self.nodes.len()).field("closed", &self.closed).finish()
    }
}

impl TriangleTree {
    /// The most triangles.
    pub const MAX_TRIANGLES: usize = MAX_TRIANGLES;

    /// Builds a tree over triangles, three vertices each, counter-clockwise as seen from outside. Takes some 20 ms for 10,000 triangles.
    ///
    /// The positions are those of the bind pose, or of another one that has neighbours near each other, which is what boxes are made
    /// from. Triangles without an area are kept: rays do not meet them, what is nearest or touches may be one.
    ///
    /// # Errors
    /// [`Error::TooMany`] for more than [`MAX_TRIANGLES`](Self::MAX_TRIANGLES), [`Error::Index`] for a triangle of a vertex that does not exist,
    /// [`Error::NotFinite`] or [`Error::OutOfRange`] as of [`refit`](Self::refit).
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

    /// The tree over a mesh as it is bound: over its indices, or over its vertices in order where it has none. A mesh of points or lines
    /// is not for this.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn of_mesh(mesh: &SkinnedMesh) -> Result<Self, Error> {
        let positions = &mesh.vertices().positions;
        if !mesh.indices().is_empty() {
            return Self::new(positions, mesh.indices().as_chunks().0);
        }
        let in_order: Vec<_> =
            (0..positions.len() as u32 / 3).map(|t| [3 * t, 3 * t + 1, 3 * t + 2]).collect();
        Self::new(positions, &in_order)
    }

    /// Puts the triangles in the order of leaves, and numbers vertices as these come to them, so that a leaf's are near each other.
    fn number_vertices(&mut self, order: &[u32], triangles: &[[u32; 3]]) {
        const NONE: u32 = u32::MAX;
        let mut numbers = vec![NONE; self.vertex_count];
        // The leaf that has each vertex of the tree already.
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

    /// What kernels here run with: they compute in f64 and compare in f32, without fused multiply-adds, in either mode.
    fn dispatch(&self) -> Dispatch {
        Dispatch::current().portable()
    }

    /// How many triangles there are.
    #[must_use]
    pub fn triangle_count(&self) -> usize {
        self.triangles.len()
    }

    /// The box around all triangles; empty where there are none.
    ///
    /// Of many characters: whom a ray does not meet the box of needs not be asked.
    #[must_use]
    pub fn bounds(&self) -> Aabb {
        let corner = |[x, y, z, _]: [f32; 4]| [x, y, z];
        self.root().map_or(Aabb::EMPTY, |&[low, high]| Aabb { min: corner(low), max: corner(high) })
    }

    /// Whether the surface was closed when the tree was built, and all triangles went round the same way: each edge has as many
    /// triangles on one side as on the other, where vertices in the same place, as along seams of textures, are one.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// Where the corners of a triangle are, by its place in the order of leaves.
    fn points(&self, slot: usize) -> [[f64; 3]; 3] {
        self.corners[slot].map(|v| {
            let [x, y, z, _] = self.positions[v as usize];
            [x, y, z].map(f64::from)
        })
    }
}

/// Whether a place is one that can be asked about.
pub(crate) fn is_within(place: &[f32; 3]) -> bool {
    place.iter().all(|v| v.abs() <= LIMIT)
}

/// `Ok` if those that are used are numbers of a size that is allowed.
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

/// The point of a triangle that has these weights.
fn weighted(points: &[[f64; 3]; 3], weights: [f64; 3]) -> [f32; 3] {
    core::array::from_fn(|k| (0..3).map(|corner| weights[corner] * points[corner][k]).sum::<f64>() as f32)
}

/// The unit normal, on the side from which the corners go round counter-clockwise; zero where there is no area.
fn normal(points: &[[f64; 3]; 3]) -> [f32; 3] {
    use condyle_base::math::scalar::sqrt_f64;
    use condyle_base::math::vectors::{cross, dot};
    let edge = |to: usize| core::array::from_fn(|k| points[to][k] - points[0][k]);
    let across: [f64; 3] = cross(edge(1), edge(2));
    let length = sqrt_f64(dot(across, across));
    if length > 0.0 { across.map(|v| (v / length) as f32) } else { [0.0; 3] }
}
