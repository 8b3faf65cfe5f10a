//! Nodes of eight boxes, one per lane; box tests for rays and shapes; and the stack of nodes to visit.
//!
//! Boxes are f32 and enlarged by their rounding error for each ray, so none is missed. The triangles are
//! tested in f64, and of equal results the smallest index wins, so a result does not depend on the tree or
//! the width of registers.

use fearless_simd::{f32x8, prelude::*};

/// Number of children of a node.
pub(super) const CHILDREN: usize = 8;

/// Number of levels that are split where the surface area heuristic expects least work. Only adversarial
/// meshes have more levels. Those are split in halves, so that each child has an eighth of its parent's
/// triangles.
pub(super) const FREE_LEVELS: u32 = 16;

/// Maximum number of triangles in a leaf.
pub(super) const LEAF: usize = 8;

/// Maximum number of levels: [`FREE_LEVELS`], and the levels below, each with an eighth of the triangles of
/// the level above.
const LEVELS: usize = FREE_LEVELS as usize + MAX_TRIANGLES.ilog2().div_ceil(3) as usize + 1;

/// Maximum size of the stack: all children except one for each level, and all children of the last level.
const STACK: usize = (CHILDREN - 1) * LEVELS + 1;

/// Maximum number of triangles in a tree.
pub(super) const MAX_TRIANGLES: usize = 1 << 24;

/// Child of a node. Children are numbered like their boxes: leaves, then nodes, then the empty box.
#[derive(Clone, Copy)]
pub(super) enum Child {
    Leaf(usize),
    Node(usize),
}

/// Eight boxes, one per lane.
#[derive(Debug, Clone)]
#[repr(C, align(32))]
pub(super) struct Node {
    /// Minimum x, y and z, then maximum x, y and z. A missing child has minimum +∞ and maximum -∞.
    pub(super) rows: [[f32; CHILDREN]; 6],
    /// Indices of the children's boxes.
    pub(super) children: [u32; CHILDREN],
}

impl Node {
    pub(super) const EMPTY: Self = {
        let (low, high) = ([f32::INFINITY; CHILDREN], [f32::NEG_INFINITY; CHILDREN]);
        Self { rows: [low, low, low, high, high, high], children: [0; CHILDREN] }
    };

    #[inline(always)]
    fn row<S: Simd>(&self, s: S, row: usize) -> f32x8<S> {
        f32x8::load_array_ref(s, self.rows.get(row).unwrap_or(&self.rows[0]))
    }
}

/// Triangles that are tested together.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Leaf {
    /// First triangle in leaf order, and number of triangles.
    pub(super) first: u32,
    pub(super) count: u32,
    /// Range in [`TriangleTree::members`](super::TriangleTree) that lists each vertex of the triangles at
    /// least once.
    pub(super) members: [u32; 2],
}

/// Slab test of a ray against boxes that are grown on all sides.
///
/// The growth covers f32 rounding and the extent of a shape that moves along the ray. No box is missed for
/// any direction, and no value is NaN.
pub(super) struct Slabs {
    /// Row of a node for the side that the ray enters on each axis, then for the side that it leaves.
    rows: [usize; 6],
    /// Ray origin for each of these rows, shifted so that the box grows.
    origins: [f32; 6],
    inverse: [f32; 3],
}

/// Minimum component of a direction whose longest component is 1: 2^-126. It keeps the inverse finite for a
/// ray parallel to a box side.
///
/// Within the range of coordinates, such a ray drifts by only a fraction of the amount that boxes are grown
/// by.
const LEAST: f64 = 1.0 / 8.507_059_173_023_462e37;

impl Slabs {
    /// `direction` is 1 along its longest axis, or zero.
    pub(super) fn new(origin: [f64; 3], direction: [f64; 3], grown: [f64; 3]) -> Self {
        let mut slabs = Self { rows: [0; 6], origins: [0.0; 6], inverse: [0.0; 3] };
        for k in 0..3 {
            let (low, high) = ((origin[k] + grown[k]) as f32, (origin[k] - grown[k]) as f32);
            let backwards = direction[k] < 0.0;
            let sides = [(k, low), (3 + k, high)];
            let [first, last] = if backwards { [sides[1], sides[0]] } else { sides };
            (slabs.rows[k], slabs.origins[k]) = first;
            (slabs.rows[3 + k], slabs.origins[3 + k]) = last;
            slabs.inverse[k] = (1.0 / direction[k].abs().max(LEAST)) as f32;
            if backwards {
                slabs.inverse[k] = -slabs.inverse[k];
            }
        }
        slabs
    }

    /// Distance at which the ray crosses one side of each box.
    #[inline(always)]
    fn cross<S: Simd>(&self, s: S, node: &Node, side: usize) -> f32x8<S> {
        let distance = node.row(s, self.rows[side]) - f32x8::splat(s, self.origins[side]);
        distance * f32x8::splat(s, self.inverse[side % 3])
    }

    /// Returns the distance at which the ray enters each box, and a bit for each box that it enters at or
    /// before `limit`.
    #[inline(always)]
    pub(super) fn enter<S: Simd>(&self, s: S, node: &Node, limit: f32) -> ([f32; CHILDREN], u64) {
        let [x, y, z] = [self.cross(s, node, 0), self.cross(s, node, 1), self.cross(s, node, 2)];
        let first = x.max(y).max(z.max(f32x8::splat(s, 0.0)));
        let [x, y, z] = [self.cross(s, node, 3), self.cross(s, node, 4), self.cross(s, node, 5)];
        let last = x.min(y).min(z.min(f32x8::splat(s, limit)));
        (first.to_array(), first.simd_le(last).to_bitmask())
    }
}

/// Distance of a point from boxes along one axis.
#[inline(always)]
fn apart<S: Simd>(s: S, node: &Node, point: [f32; 3], axis: usize) -> f32x8<S> {
    let at = f32x8::splat(s, point[axis]);
    (node.row(s, axis) - at).max(at - node.row(s, 3 + axis)).max(f32x8::splat(s, 0.0))
}

/// Squared distances from a point to boxes, and a bit for each that is less than `limit`.
#[inline(always)]
pub(super) fn near<S: Simd>(s: S, node: &Node, point: [f32; 3], limit: f32) -> ([f32; CHILDREN], u64) {
    let [x, y, z] = [apart(s, node, point, 0), apart(s, node, point, 1), apart(s, node, point, 2)];
    let squares = x * x + y * y + z * z;
    (squares.to_array(), squares.simd_lt(f32x8::splat(s, limit)).to_bitmask())
}

/// Stack of children to visit, nearest child of a node on top.
pub(super) struct Walk {
    /// Number of leaves.
    leaves: u32,
    /// Distance of each child in the upper half, index of the child in the lower half.
    waiting: [u64; STACK],
    count: usize,
}

impl Walk {
    /// Starts at the root, if the tree has one.
    #[inline]
    pub(super) fn new(leaves: usize) -> Self {
        let (mut waiting, leaves) = ([0; STACK], leaves as u32);
        waiting[0] = u64::from(leaves);
        Self { leaves, waiting, count: usize::from(leaves > 0) }
    }

    /// Pops the next child and its distance.
    #[inline(always)]
    pub(super) fn next(&mut self) -> Option<(f32, Child)> {
        let count = self.count.checked_sub(1)?;
        let entry = *self.waiting.get(count)?;
        self.count = count;
        let child = match (entry as u32).checked_sub(self.leaves) {
            Some(node) => Child::Node(node as usize),
            None => Child::Leaf(entry as u32 as usize),
        };
        Some((f32::from_bits((entry >> 32) as u32), child))
    }

    /// Pushes the children whose bit is set, so that the nearest is visited first. No distance is negative.
    #[inline(always)]
    pub(super) fn push(&mut self, node: &Node, distances: &[f32; CHILDREN], mut bits: u64) {
        let first = self.count;
        while bits != 0 {
            let k = bits.trailing_zeros() as usize % CHILDREN;
            bits &= bits - 1;
            // Non-negative floats have the order of their bits.
            let entry = u64::from(distances[k].to_bits()) << 32 | u64::from(node.children[k]);
            let mut at = self.count;
            while at > first {
                let Some(&nearer) = self.waiting.get(at - 1).filter(|&&before| before < entry) else { break };
                if let Some(place) = self.waiting.get_mut(at) {
                    *place = nearer;
                }
                at -= 1;
            }
            if let Some(place) = self.waiting.get_mut(at) {
                *place = entry;
                self.count += 1;
            }
        }
    }
}

/// Results that have not been passed to the caller yet.
pub(super) struct Found<'a, T> {
    room: &'a mut [T],
    count: usize,
}

impl<'a, T: Copy> Found<'a, T> {
    pub(super) fn new(room: &'a mut [T]) -> Self {
        Self { room, count: 0 }
    }

    pub(super) fn all(&self) -> &[T] {
        self.room.get(..self.count).unwrap_or(&[])
    }

    pub(super) fn clear(&mut self) {
        self.count = 0;
    }

    /// Whether the results of another full leaf might not fit.
    #[inline(always)]
    pub(super) fn is_full(&self) -> bool {
        self.count + LEAF > self.room.len()
    }

    #[inline(always)]
    pub(super) fn add(&mut self, item: T) {
        if let Some(place) = self.room.get_mut(self.count) {
            *place = item;
            self.count += 1;
        }
    }

    /// Replaces all results by one.
    #[inline(always)]
    pub(super) fn only(&mut self, item: T) {
        self.count = 0;
        self.add(item);
    }
}
