//! Four triangles in f64 lanes.

use fearless_simd::{f32x4, f64x4, prelude::*};

use super::TriangleTree;
use condyle_base::math::vectors::sub;
use condyle_base::simd::{each, transpose};

/// Number of triangles per vector.
pub(super) const WIDTH: usize = 4;

/// One 3D vector per triangle, by component.
pub(super) type Vectors<S> = [f64x4<S>; 3];

/// Corners of the triangles at slot `first` and the slots after it, relative to `from`.
///
/// Differences of f32 numbers are exact in f64 unless one is about a billion times smaller than the other.
#[inline(always)]
pub(super) fn corners<S: Simd>(s: S, tree: &TriangleTree, first: usize, from: [f64; 3]) -> [Vectors<S>; 3] {
    let four =
        tree.corners.get(first..).and_then(|rest| rest.first_chunk::<WIDTH>()).unwrap_or(&[[0; 3]; WIDTH]);
    let from = splat(s, from);
    let mut out = [from; 3];
    each!(c in [0, 1, 2] => {
        let at = [four[0][c], four[1][c], four[2][c], four[3][c]];
        let at = [position(s, tree, at[0]), position(s, tree, at[1]), position(s, tree, at[2]), position(s, tree, at[3])];
        let [x, y, z, _] = transpose(at);
        let ((x, y), (z, _)) = (x.combine(y).widen(), z.combine(z).widen());
        out[c] = sub([x, y, z], from);
    });
    out
}

#[inline(always)]
fn position<S: Simd>(s: S, tree: &TriangleTree, vertex: u32) -> f32x4<S> {
    f32x4::load_array_ref(s, tree.positions.get(vertex as usize).unwrap_or(&[0.0; 4]))
}

/// Bit mask of the lanes that hold one of the remaining `count` triangles.
#[inline(always)]
pub(super) fn present(count: u32) -> u64 {
    (1 << count.min(WIDTH as u32)) - 1
}

#[inline(always)]
pub(super) fn splat<S: Simd>(s: S, v: [f64; 3]) -> Vectors<S> {
    [f64x4::splat(s, v[0]), f64x4::splat(s, v[1]), f64x4::splat(s, v[2])]
}

/// `a / b` where `b` is positive, otherwise 0.
#[inline(always)]
pub(super) fn ratio<S: Simd>(a: f64x4<S>, b: f64x4<S>) -> f64x4<S> {
    let zero = f64x4::splat(a.token(), 0.0);
    b.simd_gt(zero).select(a / b, zero)
}

/// Clamps to 0..=1.
#[inline(always)]
pub(super) fn clamp<S: Simd>(v: f64x4<S>) -> f64x4<S> {
    let s = v.token();
    v.max(f64x4::splat(s, 0.0)).min(f64x4::splat(s, 1.0))
}
