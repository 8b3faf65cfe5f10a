//! Matrices in f64: three rows, with a translation or without.
//!
//! Products are written out, because the compiler does not always inline closures of loops over components.

use super::quats;
use super::scalar::sqrt_f64;
use super::vectors::{add, cofactors, cross, dot, scaled, sub};
use super::{Affine, Transform64};

/// Returns the product of a matrix and a vector.
#[inline]
pub fn apply(rows: &[[f64; 3]; 3], v: [f64; 3]) -> [f64; 3] {
    [dot(rows[0], v), dot(rows[1], v), dot(rows[2], v)]
}

/// Returns the product of two matrices.
#[inline]
pub fn times(a: &[[f64; 3]; 3], b: &[[f64; 3]; 3]) -> [[f64; 3]; 3] {
    let columns = transposed(b);
    let row = |row: [f64; 3]| [dot(row, columns[0]), dot(row, columns[1]), dot(row, columns[2])];
    [row(a[0]), row(a[1]), row(a[2])]
}

/// Returns the transpose of a matrix.
#[inline]
pub fn transposed(m: &[[f64; 3]; 3]) -> [[f64; 3]; 3] {
    [[m[0][0], m[1][0], m[2][0]], [m[0][1], m[1][1], m[2][1]], [m[0][2], m[1][2], m[2][2]]]
}

/// Returns a matrix whose columns are multiplied by the components of `scale`.
#[inline]
pub fn scaled_columns(m: &[[f64; 3]; 3], scale: [f64; 3]) -> [[f64; 3]; 3] {
    let row = |row: [f64; 3]| [row[0] * scale[0], row[1] * scale[1], row[2] * scale[2]];
    [row(m[0]), row(m[1]), row(m[2])]
}

/// Returns the `x` of `m x = b` by Cramer's rule, or zeros for a singular matrix.
#[inline]
pub fn solve(m: &[[f64; 3]; 3], b: [f64; 3]) -> [f64; 3] {
    let [x, y, z] = transposed(m);
    let yz = cross(y, z);
    let volume = dot(x, yz);
    if volume == 0.0 || !volume.is_finite() {
        return [0.0; 3];
    }
    [dot(b, yz) / volume, dot(x, cross(b, z)) / volume, dot(x, cross(y, b)) / volume]
}

/// An affine matrix in f64: three rows of a linear part, and a translation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Affine64 {
    /// The rows of the linear part.
    pub linear: [[f64; 3]; 3],
    /// The image of the origin.
    pub origin: [f64; 3],
}

impl Affine64 {
    /// Identity matrix.
    pub const IDENTITY: Self =
        Self { linear: [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], origin: [0.0; 3] };

    /// Returns the matrix that scales each axis by its factor.
    #[inline]
    pub fn scale([x, y, z]: [f64; 3]) -> Self {
        Self { linear: [[x, 0.0, 0.0], [0.0, y, 0.0], [0.0, 0.0, z]], origin: [0.0; 3] }
    }

    /// Returns the matrix of a transform: scale, then rotation, then translation.
    #[inline]
    pub fn local(local: &Transform64) -> Self {
        Self { linear: scaled_columns(&quats::rows(local.rotation), local.scale), origin: local.translation }
    }

    /// Transforms a vector by the linear part only.
    #[inline]
    pub fn vector(&self, v: [f64; 3]) -> [f64; 3] {
        apply(&self.linear, v)
    }

    /// Transforms a point.
    #[inline]
    pub fn point(&self, p: [f64; 3]) -> [f64; 3] {
        add(self.vector(p), self.origin)
    }

    /// Multiplies a vector by the transpose of the linear part.
    #[inline]
    pub fn transposed(&self, v: [f64; 3]) -> [f64; 3] {
        let [a, b, c] = self.linear;
        add(add(scaled(a, v[0]), scaled(b, v[1])), scaled(c, v[2]))
    }

    /// Returns the columns of the linear part.
    #[inline]
    pub fn columns(&self) -> [[f64; 3]; 3] {
        transposed(&self.linear)
    }

    /// Returns the matrix that applies `right` first, then `self`.
    #[inline]
    pub fn after(&self, right: &Self) -> Self {
        Self { linear: times(&self.linear, &right.linear), origin: self.point(right.origin) }
    }

    /// Returns the inverse, or `None` if the axes span no volume.
    #[inline]
    pub fn inverse(&self) -> Option<Self> {
        let columns = self.columns();
        let (cofactors, determinant) = cofactors(columns);
        let [a, b, c] = columns.map(|c| dot(c, c));
        // The square of the largest volume that axes of these lengths can span. Comparing squares avoids a
        // square root.
        let most = a * b * c;
        if !(determinant * determinant > 1e-20 * most && most < f64::INFINITY) {
            return None;
        }
        let by = 1.0 / determinant;
        let linear = cofactors.map(|row| scaled(row, by));
        let inverse = Self { linear, origin: [0.0; 3] };
        Some(Self { origin: scaled(inverse.vector(self.origin), -1.0), ..inverse })
    }

    /// Returns the point that [`Self::point`] maps to `point`, or the origin for a singular matrix.
    #[inline]
    pub fn back(&self, point: [f64; 3]) -> [f64; 3] {
        solve(&self.linear, sub(point, self.origin))
    }

    /// Returns `self - other`: applied to a point, the difference between its two images.
    #[inline]
    pub fn less(&self, other: &Self) -> Self {
        let ([x, y, z], [u, v, w]) = (self.linear, other.linear);
        Self { linear: [sub(x, u), sub(y, v), sub(z, w)], origin: sub(self.origin, other.origin) }
    }

    /// Returns the length of the longest column: about the maximum factor by which lengths grow.
    #[inline]
    pub fn reach(&self) -> f64 {
        let square = |column: [f64; 3]| dot(column, column);
        let [x, y, z] = self.columns();
        sqrt_f64(square(x).max(square(y)).max(square(z)))
    }

    /// Whether the matrix scales all directions equally, within the rounding of matrices in f32. Also true
    /// for such a matrix that mirrors.
    #[inline]
    pub fn is_even(&self) -> bool {
        let [x, y, z] = self.columns();
        let (xx, yy, zz) = (dot(x, x), dot(y, y), dot(z, z));
        let near = 4e-6 * xx;
        (xx - yy).abs() <= near
            && (xx - zz).abs() <= near
            && dot(x, y).abs() <= near
            && dot(x, z).abs() <= near
            && dot(y, z).abs() <= near
    }
}

impl From<&Affine> for Affine64 {
    #[inline]
    fn from(m: &Affine) -> Self {
        let row = |r: [f32; 4]| [f64::from(r[0]), f64::from(r[1]), f64::from(r[2])];
        let [a, b, c] = m.rows;
        Self { linear: [row(a), row(b), row(c)], origin: [a[3].into(), b[3].into(), c[3].into()] }
    }
}

#[cfg(test)]
mod tests {
    use super::super::vectors::length;
    use super::*;

    #[test]
    fn matrices_go_there_and_back() {
        let local = Transform64 {
            rotation: quats::exp([0.3, -0.2, 0.9]),
            translation: [1.0, 2.0, 3.0],
            scale: [1.0, -2.0, 0.5],
        };
        let m = Affine64::local(&local);
        let p = [0.25, -4.0, 1.5];
        let back = m.after(&Affine64::IDENTITY).back(m.point(p));
        assert!(length(sub(back, p)) < 1e-12, "{back:?}");
        let back = m.inverse().expect("the matrix is invertible").point(m.point(p));
        assert!(length(sub(back, p)) < 1e-12, "{back:?}");
        let flat = Affine64::scale([1.0, 0.0, 1.0]);
        assert_eq!((flat.back(p), flat.inverse()), ([0.0; 3], None));
        assert!(!m.is_even() && Affine64::scale([-2.0, 2.0, 2.0]).is_even());
    }
}
