//! Joints placed on their parents, four at a time.

use fearless_simd::{f32x4, mask32x4, prelude::*};

use crate::convert::rows::{Matrices, mul_row};
use crate::math::Affine;
use crate::simd::{BLOCK, Mode, spread, transpose};

/// Three rows of four.
pub(super) type Rows<S> = [f32x4<S>; 3];

#[inline(always)]
pub(super) fn load_rows<S: Simd>(s: S, m: &Affine) -> Rows<S> {
    let [x, y, z] = &m.rows;
    [f32x4::load_array_ref(s, x), f32x4::load_array_ref(s, y), f32x4::load_array_ref(s, z)]
}

/// A row in a register as [`mul_row`] wants it.
#[inline(always)]
fn spread_row<S: Simd>(s: S, row: f32x4<S>) -> [f32x4<S>; 4] {
    let last = mask32x4::from_bitmask(s, 0b1000);
    let translation = last.select(row, f32x4::splat(s, 0.0));
    [spread::<S, 0>(row), spread::<S, 1>(row), spread::<S, 2>(row), translation]
}

/// Row `r` of four matrices, from lanes `at..at + 4`.
#[inline(always)]
fn rows_of_four<S: Simd>(s: S, local: &Matrices, r: usize, at: usize) -> [f32x4<S>; 4] {
    let column = |c: usize| f32x4::from_slice(s, &local[4 * r + c][at..at + 4]);
    transpose([column(0), column(1), column(2), column(3)])
}

/// Places up to sixteen joints, whose local matrices are given lane by lane, parents first.
#[inline(always)]
pub(super) fn place_joints<S: Simd, M: Mode>(
    s: S,
    mode: M,
    local: &Matrices,
    mut joints: impl Iterator<Item = (usize, u16)>,
    before: &mut (usize, Rows<S>),
    model: &mut [Affine],
) {
    for at in (0..BLOCK).step_by(4) {
        // Four joints at a time are transposed from lanes to rows.
        let rows =
            [rows_of_four(s, local, 0, at), rows_of_four(s, local, 1, at), rows_of_four(s, local, 2, at)];
        for ((x, y), z) in rows[0].into_iter().zip(rows[1]).zip(rows[2]) {
            let Some((joint, parent)) = joints.next() else { return };
            // Most joints follow their parent: its matrix is still in registers, and loading it would wait
            // for the store.
            let parent = usize::from(parent);
            let parent = if parent == before.0 {
                before.1
            } else {
                // The parent of a root is past the end.
                load_rows(s, model.get(parent).unwrap_or(&Affine::IDENTITY))
            };
            let local = [x, y, z];
            let product = [
                mul_row(mode, spread_row(s, parent[0]), &local),
                mul_row(mode, spread_row(s, parent[1]), &local),
                mul_row(mode, spread_row(s, parent[2]), &local),
            ];
            *before = (joint, product);
            debug_assert!(joint < model.len(), "there is a matrix for each joint");
            if let Some(out) = model.get_mut(joint) {
                out.rows = [product[0].to_array(), product[1].to_array(), product[2].to_array()];
            }
        }
    }
}
