//! Update of the tree's boxes to a new pose.

use fearless_simd::{f32x4, f32x8, prelude::*};

use super::node::CHILDREN;
use super::{LIMIT, TriangleTree};
use condyle_base::error::Error;
use condyle_base::simd::{dispatch, each, transpose};

/// Minimum and maximum coordinates, in the first three lanes of each.
pub(super) type Corners = [[f32; 4]; 2];

/// Empty box.
pub(super) const EMPTY: Corners = [[f32::INFINITY; 4], [f32::NEG_INFINITY; 4]];

impl TriangleTree {
    /// Updates the tree to other positions of the same vertices, for example a pose written by
    /// [`skin`](condyle::skin()). Takes 2 ns per triangle.
    ///
    /// The structure of the tree is kept. Queries stay fast if triangles that are neighbours in the bind pose
    /// stay close together, as they do on characters.
    ///
    /// # Errors
    /// [`Error::Length`] if the number of positions differs from that of [`new`](Self::new).
    /// [`Error::NotFinite`] or [`Error::OutOfRange`] if a vertex of a triangle has a coordinate that is not
    /// finite or exceeds [`LIMIT`] in absolute value. On error the tree is unchanged.
    pub fn refit(&mut self, positions: &[[f32; 3]]) -> Result<(), Error> {
        Error::check_len("positions", positions.len(), self.vertex_count)?;
        if !dispatch!(self.dispatch(), |s| are_within(s, positions.as_flattened())) {
            super::check_positions(positions, &self.sources)?;
        }
        dispatch!(self.dispatch(), |s| refit(s, self, positions));
        self.set_size();
        Ok(())
    }
}

/// Whether all coordinates are within [`LIMIT`], including those of vertices without triangles.
#[inline(always)]
fn are_within<S: Simd>(s: S, coordinates: &[f32]) -> bool {
    let limit = S::f32s::splat(s, LIMIT);
    let mut all = limit.simd_eq(limit);
    let mut blocks = coordinates.chunks_exact(S::f32s::LEN);
    for block in &mut blocks {
        all &= S::f32s::from_slice(s, block).abs().simd_le(limit);
    }
    all.all_true() && blocks.remainder().iter().all(|v| v.abs() <= LIMIT)
}

#[inline(always)]
fn refit<S: Simd>(s: S, tree: &mut TriangleTree, positions: &[[f32; 3]]) {
    let flat = positions.as_flattened();
    for (out, &from) in tree.positions.iter_mut().zip(&tree.sources) {
        let from = 3 * from as usize;
        // Loads four numbers, except for the last vertex; the fourth lane is ignored.
        if let Some(four) = flat.get(from..).and_then(|rest| rest.first_chunk::<4>()) {
            *out = *four;
        } else if let Some(&[x, y, z]) = flat.get(from..).and_then(|rest| rest.first_chunk::<3>()) {
            *out = [x, y, z, 0.0];
        }
    }
    for (leaf, around) in tree.leaves.iter().zip(&mut tree.boxes) {
        let [first, end] = leaf.members;
        let mut low = f32x4::splat(s, f32::INFINITY);
        let mut high = f32x4::splat(s, f32::NEG_INFINITY);
        for four in tree.members.get(first as usize..end as usize).unwrap_or(&[]) {
            each!(k in [0, 1, 2, 3] => {
                let position = tree.positions.get(four[k] as usize).unwrap_or(&[0.0; 4]);
                let position = f32x4::load_array_ref(s, position);
                (low, high) = (low.min(position), high.max(position));
            });
        }
        *around = [low.to_array(), high.to_array()];
    }
    // Children come after their parents.
    let mut number = tree.leaves.len() + tree.nodes.len();
    for node in tree.nodes.iter_mut().rev() {
        let mut low = [f32x4::splat(s, 0.0); CHILDREN];
        let mut high = low;
        each!(k in [0, 1, 2, 3, 4, 5, 6, 7] => {
            let around = tree.boxes.get(node.children[k] as usize).unwrap_or(&EMPTY);
            low[k] = f32x4::load_array_ref(s, &around[0]);
            high[k] = f32x4::load_array_ref(s, &around[1]);
        });
        let (lows, highs) = (rows(low), rows(high));
        each!(k in [0, 1, 2] => {
            lows[k].store_array(&mut node.rows[k]);
            highs[k].store_array(&mut node.rows[3 + k]);
        });
        let (mut least, mut greatest) = (low[0], high[0]);
        each!(k in [1, 2, 3, 4, 5, 6, 7] => {
            least = least.min(low[k]);
            greatest = greatest.max(high[k]);
        });
        number -= 1;
        if let Some(around) = tree.boxes.get_mut(number) {
            *around = [least.to_array(), greatest.to_array()];
        }
    }
}

/// Transposes eight corners into rows of eight numbers.
#[inline(always)]
fn rows<S: Simd>([a, b, c, d, e, f, g, h]: [f32x4<S>; CHILDREN]) -> [f32x8<S>; 3] {
    let [x, y, z, _] = transpose([a, b, c, d]);
    let [u, v, w, _] = transpose([e, f, g, h]);
    [x.combine(u), y.combine(v), z.combine(w)]
}
