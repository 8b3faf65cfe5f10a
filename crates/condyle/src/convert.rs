//! Transforms to matrices and back, and products of matrices.

use fearless_simd::{f32x4, prelude::*};

use crate::Affine;
use crate::pose::{BLOCK, Lanes, PoseBlock};
use crate::simd::{Mode, store};

mod from_matrices;
pub(crate) mod quads;
mod to_matrices;

pub use from_matrices::{matrices_to_joints, matrices_to_pose};
pub use to_matrices::{joints_to_columns, joints_to_matrices, pose_to_columns, pose_to_matrices};

/// Row `r`, column `c` of sixteen matrices is element `4 * r + c`.
pub(crate) type Matrices = [Lanes; 12];

/// Translation, rotation and scale of one block as matrices.
#[inline(always)]
pub(crate) fn block_to_matrices<S: Simd, M: Mode>(s: S, mode: M, block: &PoseBlock, out: &mut Matrices) {
    for at in (0..BLOCK).step_by(S::f32s::LEN) {
        let rows: [[S::f32s; 4]; 3] = lanes_to_matrices(s, mode, block, at);
        for (row, out) in rows.iter().zip(out.as_chunks_mut::<4>().0) {
            for (value, out) in row.iter().zip(out) {
                store::<S>(out, at, *value);
            }
        }
    }
}

/// The lanes of one block from `at` on as rows of matrices.
#[inline(always)]
fn lanes_to_matrices<S: Simd, M: Mode, V: SimdFloat<S, Element = f32>>(
    s: S,
    mode: M,
    block: &PoseBlock,
    at: usize,
) -> [[V; 4]; 3] {
    let lanes = |component: &Lanes| V::from_slice(s, &component[at..at + V::LEN]);
    let [x, y, z, w] = &block.rotation;
    let one = V::splat(s, 1.0);
    let q = [lanes(x), lanes(y), lanes(z), lanes(w)];
    let [[xx, xy, xz], [yx, yy, yz], [zx, zy, zz]] = rotation_rows(mode, &q, one);
    let [x, y, z] = &block.scale;
    let (x, y, z) = (lanes(x), lanes(y), lanes(z));
    let [tx, ty, tz] = &block.translation;
    [
        [xx * x, xy * y, xz * z, lanes(tx)],
        [yx * x, yy * y, yz * z, lanes(ty)],
        [zx * x, zy * y, zz * z, lanes(tz)],
    ]
}

/// Unit quaternions as rows of matrices, times one factor for all axes.
#[inline(always)]
fn rotation_rows<S: Simd, M: Mode, V: SimdFloat<S>>(mode: M, q: &[V; 4], scale: V) -> [[V; 3]; 3] {
    let [x, y, z, w] = *q;
    let twice = scale + scale;
    let (x2, y2, z2) = (x * twice, y * twice, z * twice);
    // The off-diagonal pairs share a product, once added and once subtracted: fused on the way.
    let (xw, yw, zw) = (x2 * w, y2 * w, z2 * w);
    let (xx, zz) = (x * x2, z * z2);
    [
        [scale - mode.madd(y, y2, zz), mode.msub(x, y2, zw), mode.madd(x, z2, yw)],
        [mode.madd(x, y2, zw), scale - (xx + zz), mode.msub(y, z2, xw)],
        [mode.msub(x, z2, yw), mode.madd(y, z2, xw), scale - mode.madd(y, y2, xx)],
    ]
}

/// One row of the product of two affine matrices. Of the left one: its first three numbers, each in all lanes, and the
/// fourth behind three zeros; `b` is the right one.
#[inline(always)]
pub(crate) fn mul_row<S: Simd, M: Mode>(
    mode: M,
    [x, y, z, translation]: [f32x4<S>; 4],
    b: &[f32x4<S>; 3],
) -> f32x4<S> {
    mode.madd(x, b[0], mode.madd(y, b[1], mode.madd(z, b[2], translation)))
}

/// A row in memory as [`mul_row`] wants it.
#[inline(always)]
fn load_row<S: Simd>(s: S, &[x, y, z, t]: &[f32; 4]) -> [f32x4<S>; 4] {
    [f32x4::splat(s, x), f32x4::splat(s, y), f32x4::splat(s, z), f32x4::load_array(s, [0.0, 0.0, 0.0, t])]
}

/// `a * b`, both affine.
#[inline(always)]
pub(crate) fn mul_affine<S: Simd, M: Mode>(s: S, mode: M, a: &Affine, b: &[f32x4<S>; 3]) -> [f32x4<S>; 3] {
    let [x, y, z] = &a.rows;
    [mul_row(mode, load_row(s, x), b), mul_row(mode, load_row(s, y), b), mul_row(mode, load_row(s, z), b)]
}
