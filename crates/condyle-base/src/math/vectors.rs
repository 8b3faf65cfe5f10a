//! Three-component vectors, and columns of matrices. Most functions take any number type: f64, f32, or lanes
//! of either. No operation is fused, so a lane has the same bits as a computation with one number.

use core::ops::{Add, Mul, Sub};

use super::real::Real;
use super::scalar::sqrt_f64;

/// A component of a vector: a number, or one per lane.
pub trait Component: Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> {}

impl<T: Copy + Add<Output = T> + Sub<Output = T> + Mul<Output = T>> Component for T {}

/// Returns `a + b`.
#[inline(always)]
pub fn add<T: Component>(a: [T; 3], b: [T; 3]) -> [T; 3] {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
}

/// Returns `a - b`.
#[inline(always)]
pub fn sub<T: Component>(a: [T; 3], b: [T; 3]) -> [T; 3] {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

/// Returns `v * by`.
#[inline(always)]
pub fn scaled<T: Component>(v: [T; 3], by: T) -> [T; 3] {
    [v[0] * by, v[1] * by, v[2] * by]
}

/// Returns `a + b * t`.
#[inline(always)]
pub fn along<T: Component>(a: [T; 3], b: [T; 3], t: T) -> [T; 3] {
    [a[0] + b[0] * t, a[1] + b[1] * t, a[2] + b[2] * t]
}

/// Returns the linear interpolation from `a` to `b` at `t`.
#[inline(always)]
pub fn lerp<T: Component, const N: usize>(a: [T; N], b: [T; N], t: T) -> [T; N] {
    core::array::from_fn(|c| a[c] + (b[c] - a[c]) * t)
}

/// Returns the Euclidean length.
#[inline]
pub fn length(v: [f64; 3]) -> f64 {
    sqrt_f64(dot(v, v))
}

/// Returns the dot product.
#[inline(always)]
pub fn dot<T: Component>(a: [T; 3], b: [T; 3]) -> T {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// Returns the cross product.
#[inline(always)]
pub fn cross<T: Component>(a: [T; 3], b: [T; 3]) -> [T; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

/// Returns the first three columns of a matrix of rows.
#[inline]
pub fn columns(rows: &[[f64; 4]; 3]) -> [[f64; 3]; 3] {
    core::array::from_fn(|c| [rows[0][c], rows[1][c], rows[2][c]])
}

/// Returns the cofactors, column by column, and the determinant. Products of three f32 values do not overflow
/// or underflow in f64.
#[inline(always)]
pub fn cofactors<R: Real>([a, b, c]: [[R; 3]; 3]) -> ([[R; 3]; 3], R) {
    let cofactors = [cross(b, c), cross(c, a), cross(a, b)];
    (cofactors, dot(a, cofactors[0]))
}

/// Normalises to unit length. A vector of length 0 becomes the identity rotation.
#[inline]
pub fn normalize<const N: usize>(q: &mut [f64; N]) {
    let length = sqrt_f64(q.iter().map(|v| v * v).sum());
    if length > 0.0 {
        *q = q.map(|v| v / length);
    } else {
        *q = core::array::from_fn(|c| if c + 1 == N { 1.0 } else { 0.0 });
    }
}
