//! Nodes of eight boxes in lanes, how a ray or a shape passes them, and what is left to visit.

use fearless_simd::{f32x8, prelude::*};

/// Children of a node.
pub(super) const CHILDREN: usize = 8;

/// Levels that are split wherever it promises least work. Those below, which only hostile meshes have, are split in halves:
/// each has an eighth of the triangles of the one above.
pub(super) const FREE_LEVELS: u32 = 16;

/// The most triangles in a leaf.
pub(super) const LEAF: usize = 8;

/// The levels that a tree has at most: those that are split freely, and those in which each has an eighth of the triangles of
/// the one above.
const LEVELS: usize = FREE_LEVELS as usize + MAX_TRIANGLES.ilog2().div_ceil(3) as usize + 1;

/// What may wait at once: all children of a node but one for each level above, and all of the last.
const STACK: usize = (CHILDREN - 1) * LEVELS + 1;

/// The most triangles in a tree.
pub(super) const MAX_TRIANGLES: usize = 1 << 24;

/// What a child is. Children are numbered as their boxes are: leaves, then nodes, then nothing.
#[derive(Clone, Copy)]
pub(super) enum Child {
    Leaf(usize),
    Node(usize),
}

/// Eight boxes side by side.
#[derive(Debug, Clone)]
#[repr(C, align(32))]
pub(super) struct Node {
    /// The least x, y and z, then the greatest. Where there is no child the least are +∞ and the greatest -∞.
    pub(super) rows: [[f32; CHILDREN]; 6],
    /// The numbers of their boxes.
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

/// Triangles that are asked together.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Leaf {
    /// The first of them, in the order of leaves, and how many they are.
    pub(super) first: u32,
    pub(super) count: u32,
    /// Their vertices, each at least once: from where and until where in the tree's list.
    pub(super) members: [u32; 2],
}

/// A ray against boxes that are grown on all sides: by what f32 rounds, and by how thick that is which goes along the ray. A box is
/// never missed, however the ray lies, and nothing is NaN.
pub(super) struct Slabs {
    /// Which row of a node is met first along each axis, and which last.
    rows: [usize; 6],
    /// What the ray starts from as these rows have it, which grows the box.
    origins: [f32; 6],
    inverse: [f32; 3],
}

/// The least that a direction has along an axis, of 1 along its longest: what is parallel to a side of a box leaves it at some time.
/// Before it does by a part of what boxes are grown by, it is out of the range of coordinates.
const LEAST: f64 = 1.0 / 8.507_059_173_023_462e37;

impl Slabs {
    /// `direction` is 1 along its longest axis, or nothing.
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

    /// Where the ray crosses one side of each box.
    #[inline(always)]
    fn cross<S: Simd>(&self, s: S, node: &Node, side: usize) -> f32x8<S> {
        let distance = node.row(s, self.rows[side]) - f32x8::splat(s, self.origins[side]);
        distance * f32x8::splat(s, self.inverse[side % 3])
    }

    /// Where the ray enters each box, and a bit for each that it meets not after `limit`.
    #[inline(always)]
    pub(super) fn enter<S: Simd>(&self, s: S, node: &Node, limit: f32) -> ([f32; CHILDREN], u64) {
        let [x, y, z] = [self.cross(s, node, 0), self.cross(s, node, 1), self.cross(s, node, 2)];
        let first = x.max(y).max(z.max(f32x8::splat(s, 0.0)));
        let [x, y, z] = [self.cross(s, node, 3), self.cross(s, node, 4), self.cross(s, node, 5)];
        let last = x.min(y).min(z.min(f32x8::splat(s, limit)));
        (first.to_array(), first.simd_le(last).to_bitmask())
    }
}

/// How far a point is from boxes along an axis.
#[inline(always)]
fn apart<S: Simd>(s: S, node: &Node, point: [f32; 3], axis: usize) -> f32x8<S> {
    let at = f32x8::splat(s, point[axis]);
    (node.row(s, axis) - at).max(at - node.row(s, 3 + axis)).max(f32x8::splat(s, 0.0))
}

/// The squares of the distances from a point to boxes, and a bit for each that is less than `limit`.
#[inline(always)]
pub(super) fn near<S: Simd>(s: S, node: &Node, point: [f32; 3], limit: f32) -> ([f32; CHILDREN], u64) {
    let [x, y, z] = [apart(s, node, point, 0), apart(s, node, point, 1), apart(s, node, point, 2)];
    let squares = x * x + y * y + z * z;
    (squares.to_array(), squares.simd_lt(f32x8::splat(s, limit)).to_bitmask())
}

/// Children that are still to be visited, the nearest of a node first.
pub(super) struct Walk {
    /// How many leaves there are.
    leaves: u32,
    /// How far each is, in the upper half, and which child.
    waiting: [u64; STACK],
    count: usize,
}

impl Walk {
    /// From the root, of a tree that has one.
    #[inline]
    pub(super) fn new(leaves: usize) -> Self {
        let (mut waiting, leaves) = ([0; STACK], leaves as u32);
        waiting[0] = u64::from(leaves);
        Self { leaves, waiting, count: usize::from(leaves > 0) }
    }

    /// The next child, and how far it is.
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

    /// Puts the children of a node that have a bit where they are visited next, the nearest first. No distance is negative.
    #[inline(always)]
    pub(super) fn push(&mut self, node: &Node, distances: &[f32; CHILDREN], mut bits: u64) {
        let first = self.count;
        while bits != 0 {
            let k = bits.trailing_zeros() as usize % CHILDREN;
            bits &= bits - 1;
            // Numbers that are not negative are in the order of their bits.
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

/// What was found, until it is told.
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

    /// Whether the triangles of another leaf may have no room.
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

    /// Instead of what was found before.
    #[inline(always)]
    pub(super) fn only(&mut self, item: T) {
        self.count = 0;
        self.add(item);
    }
}
