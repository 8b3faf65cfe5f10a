//! Matrix rows in lanes: computed from transforms, and multiplied.

use fearless_simd::prelude::*;

use crate::pose::PoseBlock;
use condyle_base::simd::{Floats, Mode, load_all};

/// Returns the lanes of one block from `at` on as matrix rows.
#[inline(always)]
pub(crate) fn block_rows<S: Simd, M: Mode, V: Floats<S>>(
    s: S,
    mode: M,
    block: &PoseBlock,
    at: usize,
) -> [[V; 4]; 3] {
    let rotation = load_all(s, &block.rotation, at);
    transform_rows(s, mode, &rotation, load_all(s, &block.translation, at), load_all(s, &block.scale, at))
}

/// Returns rotations, translations and scales as matrix rows.
#[inline(always)]
pub(crate) fn transform_rows<S: Simd, M: Mode, V: Floats<S>>(
    s: S,
    mode: M,
    rotation: &[V; 4],
    [tx, ty, tz]: [V; 3],
    [x, y, z]: [V; 3],
) -> [[V; 4]; 3] {
    let [[xx, xy, xz], [yx, yy, yz], [zx, zy, zz]] = rotation_rows(mode, rotation, V::splat(s, 1.0));
    [[xx * x, xy * y, xz * z, tx], [yx * x, yy * y, yz * z, ty], [zx * x, zy * y, zz * z, tz]]
}

/// Returns unit quaternions as matrix rows, multiplied by one factor for all axes.
#[inline(always)]
pub(super) fn rotation_rows<S: Simd, M: Mode, V: SimdFloat<S>>(mode: M, q: &[V; 4], scale: V) -> [[V; 3]; 3] {
    let [x, y, z, w] = *q;
    let twice = scale + scale;
    let (x2, y2, z2) = (x * twice, y * twice, z * twice);
    // Each off-diagonal pair shares a product, once added and once subtracted by a fused multiply-add.
    let (xw, yw, zw) = (x2 * w, y2 * w, z2 * w);
    let (xx, zz) = (x * x2, z * z2);
    [
        [scale - mode.madd(y, y2, zz), mode.msub(x, y2, zw), mode.madd(x, z2, yw)],
        [mode.madd(x, y2, zw), scale - (xx + zz), mode.msub(y, z2, xw)],
        [mode.msub(x, z2, yw), mode.madd(y, z2, xw), scale - mode.madd(y, y2, xx)],
    ]
}

/// Returns one row of the product of two affine matrices. The first argument is the row of the left matrix:
/// its first three numbers, each in all lanes, and the fourth after three zeros. `b` is the right matrix.
#[inline(always)]
pub(crate) fn mul_row<S: Simd, M: Mode, V: Floats<S>>(
    mode: M,
    [x, y, z, translation]: [V; 4],
    b: &[V; 3],
) -> V {
    mode.madd(x, b[0], mode.madd(y, b[1], mode.madd(z, b[2], translation)))
}
