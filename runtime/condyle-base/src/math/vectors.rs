//! Three-component vectors, and columns of matrices. Most functions take any number type: f64, f32, or lanes
//! of either. No operation is fused, so a lane has the same bits as a computation with one number.

use core::ops::{Add, Mul, Sub};

use super::real::Real;
use super::scalar::{atan2_f64, sin_cos_f64, sqrt_f64};

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

/// Returns the unit vector in the direction of `v`; `None` if `v` is zero or not finite.
#[inline]
#[must_use]
pub fn direction(v: [f64; 3]) -> Option<[f64; 3]> {
    // Scaled first, because squares of very small or very large numbers underflow or overflow.
    let most = v[0].abs().max(v[1].abs()).max(v[2].abs());
    if !(most > 0.0 && most < f64::INFINITY) {
        return None;
    }
    let v = v.map(|v| v / most);
    Some(scaled(v, 1.0 / length(v)))
}

/// Returns a unit vector perpendicular to `v`, always the same for the same `v`.
#[must_use]
pub fn perpendicular(v: [f64; 3]) -> [f64; 3] {
    let [x, y, z] = v.map(f64::abs);
    let least = if x <= y && x <= z {
        [1.0, 0.0, 0.0]
    } else if y <= z {
        [0.0, 1.0, 0.0]
    } else {
        [0.0, 0.0, 1.0]
    };
    direction(cross(v, least)).unwrap_or([1.0, 0.0, 0.0])
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

/// Returns the largest singular value of a matrix: the maximum factor by which it lengthens a vector.
///
/// O.K. Smith, *Eigenvalues of a symmetric 3 × 3 matrix*, 1961. Accurate to 1e-7 relative if two are equal,
/// as for the difference of two rotations.
#[must_use]
pub fn stretch(m: &[[f64; 3]; 3]) -> f64 {
    let [xx, yy, zz] = [dot(m[0], m[0]), dot(m[1], m[1]), dot(m[2], m[2])];
    let [xy, xz, yz] = [dot(m[0], m[1]), dot(m[0], m[2]), dot(m[1], m[2])];
    let mean = (xx + yy + zz) / 3.0;
    let [x, y, z] = [xx - mean, yy - mean, zz - mean];
    let spread = sqrt_f64((x * x + y * y + z * z + 2.0 * (xy * xy + xz * xz + yz * yz)) / 6.0);
    if spread <= 1e-12 * mean {
        return sqrt_f64(mean);
    }
    let [x, y, z, xy, xz, yz] = [x, y, z, xy, xz, yz].map(|v| v / spread);
    let half = (x * (y * z - yz * yz) - xy * (xy * z - yz * xz) + xz * (xy * yz - y * xz)) / 2.0;
    let cosine = half.clamp(-1.0, 1.0);
    let angle = atan2_f64(sqrt_f64(1.0 - cosine * cosine), cosine) / 3.0;
    sqrt_f64(mean + 2.0 * spread * sin_cos_f64(angle).1)
}

/// Returns an upper bound of [`stretch`]: the square root of the largest sum of magnitudes in a row of `MᵀM`,
/// where `M` has these columns. Exact if the columns are perpendicular. Gershgorin 1931.
#[must_use]
pub fn stretch_bound([a, b, c]: [[f64; 3]; 3]) -> f64 {
    let (ab, ac, bc) = (dot(a, b).abs(), dot(a, c).abs(), dot(b, c).abs());
    let sums = [dot(a, a) + ab + ac, dot(b, b) + ab + bc, dot(c, c) + ac + bc];
    sqrt_f64(sums.into_iter().fold(0.0, f64::max))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::quats::{exp, rows};
    use crate::testing::{Random, tries};

    #[test]
    fn directions_have_unit_length_at_any_scale() {
        for size in [1e-300, 1e-20, 1.0, 1e20, 1e300] {
            let [x, y, z] = direction([3.0 * size, 0.0, -4.0 * size]).expect("a direction");
            assert!((x - 0.6).abs() < 1e-15 && y == 0.0 && (z + 0.8).abs() < 1e-15, "{size}: {x} {z}");
        }
        for none in [[0.0; 3], [f64::NAN; 3], [f64::INFINITY, 1.0, 0.0]] {
            assert_eq!(direction(none), None, "{none:?}");
        }
    }

    #[test]
    fn perpendicular_vectors_are_unit_vectors_across() {
        let mut random = Random(6);
        for round in 0..tries(300) {
            let v = if round < 3 {
                [0, 1, 2].map(|c| f64::from(u8::from(c == round)))
            } else {
                random.vector(2.0).map(f64::from)
            };
            let across = perpendicular(v);
            assert!(
                dot(v, across).abs() < 1e-15 && (length(across) - 1.0).abs() < 1e-15,
                "{v:?}: {across:?}"
            );
            assert_eq!(across, perpendicular(v), "{v:?}");
        }
        assert_eq!(perpendicular([0.0; 3]), [1.0, 0.0, 0.0]);
    }

    /// [`stretch`] is at least the length of every mapped unit vector, for any singular values.
    #[test]
    fn a_matrix_stretches_no_vector_by_more() {
        let mut random = Random(5);
        for round in 0..tries(300) {
            let mut turn = || rows(exp(random.vector(2.0).map(f64::from)));
            let (left, right) = (turn(), turn());
            let values =
                [[3.0, 2.0, 1.0], [1.0, 1.0, 0.0], [1.0; 3], [2.0, 1e-9, 0.0], [0.0; 3], [1.0, 1.0, 1e-3]]
                    [round % 6];
            let scaled =
                left.map(|row: [f64; 3]| [row[0] * values[0], row[1] * values[1], row[2] * values[2]]);
            let m = scaled.map(|row| [0, 1, 2].map(|c| dot(row, right.map(|line| line[c]))));
            assert!((stretch(&m) - values[0]).abs() <= 1e-7 * values[0], "{values:?}: {}", stretch(&m));
        }
        // A rotation displaces unit vectors by up to twice the sine of half its angle.
        let [small, none] = [[1e-4, 0.0, 0.0], [0.0; 3]].map(|by| rows(exp(by)));
        let off = [0, 1, 2].map(|r| sub(small[r], none[r]));
        assert!((stretch(&off) - 2e-4).abs() < 1e-11, "{}", stretch(&off));
    }
}
