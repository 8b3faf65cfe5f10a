//! Operations on two vertices in eight lanes, for the skinning kernels.

use core::ops::RangeInclusive;

use fearless_simd::{f32x4, f32x8, f32x16, prelude::*};

use condyle_base::simd::{Mode, spread_halves, transpose_halves};

/// The four columns of the matrix of one vertex.
pub(super) type Matrix<S> = [f32x4<S>; 4];

/// The columns of two matrices, with the first vertex in the low lanes.
pub(super) type TwoMatrices<S> = [f32x8<S>; 4];

/// Joins two matrices column by column.
#[inline(always)]
pub(super) fn join<S: Simd>(a: f32x16<S>, b: f32x16<S>) -> TwoMatrices<S> {
    let ((a_low, a_high), (b_low, b_high)) = (a.split(), b.split());
    let ((a, b), (c, d)) = (a_low.split(), a_high.split());
    let ((e, f), (g, h)) = (b_low.split(), b_high.split());
    [a.combine(e), b.combine(f), c.combine(g), d.combine(h)]
}

/// Transforms two points, each by its matrix.
#[inline(always)]
pub(super) fn move_points<S: Simd, M: Mode>(mode: M, m: &TwoMatrices<S>, v: f32x8<S>) -> f32x8<S> {
    let x = mode.madd(m[0], spread_halves::<S, 0>(v), m[3]);
    mode.madd(m[2], spread_halves::<S, 2>(v), mode.madd(m[1], spread_halves::<S, 1>(v), x))
}

/// Transforms two directions, each by its matrix.
#[inline(always)]
pub(super) fn turn<S: Simd, M: Mode>(mode: M, m: &TwoMatrices<S>, v: f32x8<S>) -> f32x8<S> {
    let x = m[0] * spread_halves::<S, 0>(v);
    mode.madd(m[2], spread_halves::<S, 2>(v), mode.madd(m[1], spread_halves::<S, 1>(v), x))
}

/// Returns three terms in each half whose sum is the determinant of the upper 3x3 part. The terms are the
/// components of the first column times the cross product of the second and third.
#[inline(always)]
pub(super) fn determinant_terms<S: Simd, M: Mode>(mode: M, [a, b, c, _]: &TwoMatrices<S>) -> f32x8<S> {
    // The components are in the order z, x, y.
    let crossed = mode.msub(*b, next(*c), next(*b) * *c);
    crossed * next(next(*a))
}

/// Returns the determinants of eight matrices, in the lane order of [`transpose_halves`].
#[inline(always)]
pub(super) fn determinants<S: Simd>(terms: [f32x8<S>; 4]) -> f32x8<S> {
    let [x, y, z] = components(terms);
    x + y + z
}

/// The range of determinants with a reliable sign. Inside it no determinant consists of products that
/// underflowed, even if some columns are a million times longer than others.
pub(super) const SURE: RangeInclusive<f32> = 1e-30..=1e30;

/// Returns the components y, z, x and w of each half, in one shuffle.
#[inline(always)]
fn next<S: Simd>(v: f32x8<S>) -> f32x8<S> {
    let (low, high) = v.split();
    next_four(low).combine(next_four(high))
}

#[inline(always)]
fn next_four<S: Simd>(v: f32x4<S>) -> f32x4<S> {
    let xxyy = v.zip_low(v);
    xxyy.slide::<3>(xxyy).zip_low(v.slide::<2>(v))
}

/// Multiplies each of eight vectors by its factor.
#[inline(always)]
pub(super) fn times_each<S: Simd>(factor: f32x8<S>, [a, b, c, d]: [f32x8<S>; 4]) -> [f32x8<S>; 4] {
    [
        a * spread_halves::<S, 0>(factor),
        b * spread_halves::<S, 1>(factor),
        c * spread_halves::<S, 2>(factor),
        d * spread_halves::<S, 3>(factor),
    ]
}

/// Returns the first three components of eight vectors, in the lane order of [`transpose_halves`].
#[inline(always)]
fn components<S: Simd>(v: [f32x8<S>; 4]) -> [f32x8<S>; 3] {
    let [x, y, z, _] = transpose_halves(v);
    [x, y, z]
}

/// Normalises eight vectors with one square root and one division for all. Zero vectors stay zero.
#[inline(always)]
pub(super) fn unit<S: Simd, M: Mode>(s: S, mode: M, v: [f32x8<S>; 4]) -> [f32x8<S>; 4] {
    let [mut a, mut b, mut c, mut d] = v;
    let (scale, factor) = unit_factor(s, mode, components(v));
    if let Some(scale) = scale {
        a /= spread_halves::<S, 0>(scale);
        b /= spread_halves::<S, 1>(scale);
        c /= spread_halves::<S, 2>(scale);
        d /= spread_halves::<S, 3>(scale);
    }
    times_each(factor, [a, b, c, d])
}

/// Normalises two vectors, with the bits of [`unit`].
#[inline(always)]
pub(super) fn unit_two<S: Simd, M: Mode>(s: S, mode: M, v: f32x8<S>) -> f32x8<S> {
    let xyz = [spread_halves::<S, 0>(v), spread_halves::<S, 1>(v), spread_halves::<S, 2>(v)];
    let (scale, factor) = unit_factor(s, mode, xyz);
    if let Some(scale) = scale { v / scale * factor } else { v * factor }
}

/// [`unit`] with one vertex per lane.
#[inline(always)]
pub(super) fn unit_lanes<S: Simd, M: Mode>(s: S, mode: M, v: [f32x8<S>; 3]) -> [f32x8<S>; 3] {
    let [mut x, mut y, mut z] = v;
    let (scale, factor) = unit_factor(s, mode, v);
    if let Some(scale) = scale {
        (x, y, z) = (x / scale, y / scale, z / scale);
    }
    [x * factor, y * factor, z * factor]
}

/// Returns the factors that scale eight vectors to length 1. If the square of a length overflows or
/// underflows, also returns divisors to apply first.
#[inline(always)]
fn unit_factor<S: Simd, M: Mode>(
    s: S,
    mode: M,
    [mut x, mut y, mut z]: [f32x8<S>; 3],
) -> (Option<f32x8<S>>, f32x8<S>) {
    let (zero, one) = (f32x8::splat(s, 0.0), f32x8::splat(s, 1.0));
    let mut square = mode.madd(z, z, mode.madd(y, y, x * x));
    let good = square.simd_gt(f32x8::splat(s, 1e-30)) & square.simd_lt(f32x8::splat(s, 1e30));
    let mut divided = None;
    if good.any_false() {
        // Divide by the largest component; divide other lanes by 1.
        let (ax, ay, az) = (x * one.copysign(x), y * one.copysign(y), z * one.copysign(z));
        let xy = ax.simd_gt(ay).select(ax, ay);
        let greatest = xy.simd_gt(az).select(xy, az);
        let scale = good.select(one, greatest.simd_gt(zero).select(greatest, one));
        (x, y, z) = (x / scale, y / scale, z / scale);
        square = mode.madd(z, z, mode.madd(y, y, x * x));
        // Division by infinity keeps zero vectors at zero.
        square = square.simd_gt(zero).select(square, f32x8::splat(s, f32::INFINITY));
        divided = Some(scale);
    }
    (divided, one / square.sqrt())
}

#[inline(always)]
fn cross<S: Simd>(s: S, a: f32x4<S>, b: f32x4<S>) -> f32x4<S> {
    let (a, b) = (a.to_array(), b.to_array());
    let c = [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0], 0.0];
    f32x4::load_array(s, c)
}

/// Returns the inverse transpose of the upper 3x3 part up to a positive factor (the cofactors times the sign
/// of the determinant), and that sign.
#[inline(always)]
pub(super) fn inverse_transpose<S: Simd>(s: S, m: &Matrix<S>) -> (Matrix<S>, f32) {
    // Each column is first divided by its size, so that products neither overflow nor underflow. The ratios
    // of the sizes are multiplied in at the end.
    let sizes = [size(m[0]), size(m[1]), size(m[2])];
    let splat = |value: f32| f32x4::splat(s, value);
    let (a, b, c) = (m[0] / splat(sizes[0]), m[1] / splat(sizes[1]), m[2] / splat(sizes[2]));
    let (bc, ca, ab) = (cross(s, b, c), cross(s, c, a), cross(s, a, b));
    let products = (a * bc).to_array();
    let sign = if products[0] + products[1] + products[2] < 0.0 { -1.0 } else { 1.0 };
    let [x, y, z] = sizes;
    let least = if x < y { x } else { y };
    let least = sign * if least < z { least } else { z };
    ([bc * splat(least / x), ca * splat(least / y), ab * splat(least / z), splat(0.0)], sign)
}

/// Returns the largest magnitude of a component, or 1 for a zero vector.
#[inline(always)]
fn size<S: Simd>(v: f32x4<S>) -> f32 {
    let [x, y, z, _] = v.to_array();
    let (x, y, z) = (x.abs(), y.abs(), z.abs());
    let xy = if x > y { x } else { y };
    let greatest = if xy > z { xy } else { z };
    if greatest > 0.0 { greatest } else { 1.0 }
}
