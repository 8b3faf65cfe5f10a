//! Vectors and the columns of matrices in 64 bits.

use super::real::Real;
use super::scalar::sqrt_f64;

/// The dot product.
#[inline(always)]
pub fn dot<R: Real>(a: [R; 3], b: [R; 3]) -> R {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// The cross product.
#[inline(always)]
pub fn cross<R: Real>(a: [R; 3], b: [R; 3]) -> [R; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

/// The first three columns of a matrix of rows.
#[inline]
pub fn columns(rows: &[[f64; 4]; 3]) -> [[f64; 3]; 3] {
    core::array::from_fn(|c| [rows[0][c], rows[1][c], rows[2][c]])
}

/// The cofactors, column by column, and the determinant. No product of three numbers of f32 overflows or vanishes.
#[inline(always)]
pub fn cofactors<R: Real>([a, b, c]: [[R; 3]; 3]) -> ([[R; 3]; 3], R) {
    let cofactors = [cross(b, c), cross(c, a), cross(a, b)];
    (cofactors, dot(a, cofactors[0]))
}

/// To unit length; the identity rotation where there is no direction.
#[inline]
pub fn normalize<const N: usize>(q: &mut [f64; N]) {
    let length = sqrt_f64(q.iter().map(|v| v * v).sum());
    if length > 0.0 {
        *q = q.map(|v| v / length);
    } else {
        *q = core::array::from_fn(|c| if c + 1 == N { 1.0 } else { 0.0 });
    }
}
