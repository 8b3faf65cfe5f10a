//! Transforms to matrices, and products of matrices.

use fearless_simd::{f32x4, prelude::*};

use crate::Affine;
use crate::pose::{BLOCK, Lanes, PoseBlock};
use crate::simd::{Mode, load, store};

/// Row `r`, column `c` of sixteen matrices is element `4 * r + c`.
pub(crate) type Matrices = [Lanes; 12];

/// Translation, rotation and scale of one block as matrices.
#[inline(always)]
pub(crate) fn block_to_matrices<S: Simd, M: Mode>(s: S, mode: M, block: &PoseBlock, out: &mut Matrices) {
    for at in (0..BLOCK).step_by(S::f32s::LEN) {
        let one = S::f32s::splat(s, 1.0);
        let [x, y, z, w] = &block.rotation;
        let (x, y, z, w) = (load(s, x, at), load(s, y, at), load(s, z, at), load(s, w, at));
        let (x2, y2, z2) = (x + x, y + y, z + z);
        // The off-diagonal pairs share a product, once added and once subtracted: fused on the way.
        let (xw, yw, zw) = (x2 * w, y2 * w, z2 * w);
        let (xx, zz) = (x * x2, z * z2);
        let rotation = [
            [one - mode.madd(y, y2, zz), mode.msub(x, y2, zw), mode.madd(x, z2, yw)],
            [mode.madd(x, y2, zw), one - (xx + zz), mode.msub(y, z2, xw)],
            [mode.msub(x, z2, yw), mode.madd(y, z2, xw), one - mode.madd(y, y2, xx)],
        ];
        let [sx, sy, sz] = &block.scale;
        let scale = [load(s, sx, at), load(s, sy, at), load(s, sz, at)];
        for r in 0..3 {
            for c in 0..3 {
                store::<S>(&mut out[4 * r + c], at, rotation[r][c] * scale[c]);
            }
            store::<S>(&mut out[4 * r + 3], at, load(s, &block.translation[r], at));
        }
    }
}

/// One row of the product of two affine matrices: `row` of the left one, `b` the right one.
#[inline(always)]
fn mul_row<S: Simd, M: Mode>(s: S, mode: M, row: &[f32; 4], b: &[f32x4<S>; 3]) -> f32x4<S> {
    let translation = f32x4::load_array(s, [0.0, 0.0, 0.0, row[3]]);
    let z = mode.madd(f32x4::splat(s, row[2]), b[2], translation);
    mode.madd(f32x4::splat(s, row[0]), b[0], mode.madd(f32x4::splat(s, row[1]), b[1], z))
}

/// `a * b`, both affine.
#[inline(always)]
pub(crate) fn mul_affine<S: Simd, M: Mode>(s: S, mode: M, a: &Affine, b: &[f32x4<S>; 3]) -> [f32x4<S>; 3] {
    let [x, y, z] = &a.rows;
    [mul_row(s, mode, x, b), mul_row(s, mode, y, b), mul_row(s, mode, z, b)]
}
