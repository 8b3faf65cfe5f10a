//! Local transforms of joints, and affine matrices.

use super::vectors::{cofactors, columns, dot};

/// A quaternion `[x, y, z, w]` in the Hamilton convention. Rotations are unit quaternions.
pub type Quat = [f32; 4];

/// Local transform of a joint: scale, then rotation, then translation.
///
/// ```
/// use condyle::{Affine, Transform};
///
/// // Scales by 2, rotates a quarter turn to the left, then moves one metre up.
/// let half = std::f32::consts::FRAC_1_SQRT_2;
/// let t = Transform { rotation: [0.0, half, 0.0, half], translation: [0.0, 1.0, 0.0], scale: [2.0; 3] };
/// let [x, y, z] = Affine::from(t).transform_point([0.0, 0.0, 1.0]);
/// assert!((x - 2.0).abs() < 1e-6 && y == 1.0 && z.abs() < 1e-6);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(C)]
#[cfg_attr(feature = "bytemuck", derive(bytemuck::Pod, bytemuck::Zeroable))]
pub struct Transform {
    /// Unit quaternion, `[x, y, z, w]`.
    pub rotation: Quat,
    /// Translation in metres.
    pub translation: [f32; 3],
    /// Scale factor per axis.
    pub scale: [f32; 3],
}

const _: () = assert!(size_of::<Transform>() == 40);

impl Transform {
    /// No rotation, no translation, scale 1.
    pub const IDENTITY: Self =
        Self { rotation: [0.0, 0.0, 0.0, 1.0], translation: [0.0; 3], scale: [1.0; 3] };
}

impl Default for Transform {
    fn default() -> Self {
        Self::IDENTITY
    }
}

/// A 3x4 affine matrix for column vectors: three rows of four, with the translation in the last column.
///
/// ```
/// use condyle::{Affine, Transform};
///
/// let up = |y| Affine::from(Transform { translation: [0.0, y, 0.0], ..Transform::IDENTITY });
/// let hand = up(1.5) * up(0.25);
/// assert_eq!(hand.transform_point([0.0; 3]), [0.0, 1.75, 0.0]);
/// assert_eq!(hand.inverse(), Some(up(-1.75)));
/// // For a GPU or another library.
/// assert_eq!(hand.to_columns()[12..], [0.0, 1.75, 0.0, 1.0]);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(C, align(16))]
#[cfg_attr(feature = "bytemuck", derive(bytemuck::Pod, bytemuck::Zeroable))]
pub struct Affine {
    /// Matrix entries: row `r`, column `c` is `rows[r][c]`.
    pub rows: [[f32; 4]; 3],
}

const _: () = assert!(size_of::<Affine>() == 48);

impl Default for Affine {
    fn default() -> Self {
        Self::IDENTITY
    }
}

impl From<Transform> for Affine {
    #[inline]
    fn from(t: Transform) -> Self {
        Self::from_transform(&t)
    }
}

impl core::ops::Mul for Affine {
    type Output = Self;

    /// Returns `self * right`, which applies `right` first.
    #[inline]
    fn mul(self, right: Self) -> Self {
        let mut rows = [[0.0; 4]; 3];
        for (out, a) in rows.iter_mut().zip(&self.rows) {
            for (c, out) in out.iter_mut().enumerate() {
                *out = a[0] * right.rows[0][c] + a[1] * right.rows[1][c] + a[2] * right.rows[2][c];
            }
            out[3] += a[3];
        }
        Self { rows }
    }
}

impl Affine {
    /// Returns the inverse matrix, or `None` if it does not exist or is out of the range of f32.
    ///
    /// A matrix that is singular except for rounding errors has an inverse without significant digits.
    /// `condyle::model::model_to_local` rejects such matrices.
    #[must_use]
    #[inline]
    pub fn inverse(&self) -> Option<Self> {
        let rows = self.inverse_f64().0.map(|row| row.map(|v| v as f32));
        rows.as_flattened().iter().all(|v| v.is_finite()).then_some(Self { rows })
    }

    /// Returns the rows of the inverse and the determinant. The rows are not finite if the matrix is
    /// singular.
    #[inline]
    pub fn inverse_f64(self) -> ([[f64; 4]; 3], f64) {
        let m = self.to_f64();
        let (cofactors, determinant) = cofactors(columns(&m));
        let back = m.map(|row| row[3]);
        let rows = cofactors.map(|row| {
            let row = row.map(|v| v / determinant);
            [row[0], row[1], row[2], -dot(row, back)]
        });
        (rows, determinant)
    }

    /// Identity matrix.
    pub const IDENTITY: Self =
        Self { rows: [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]] };

    /// Returns `translation * rotation * scale`. The rotation must have unit length.
    #[must_use]
    #[inline]
    pub fn from_transform(t: &Transform) -> Self {
        let [x, y, z, w] = t.rotation;
        let (x2, y2, z2) = (x + x, y + y, z + z);
        let (xx, xy, xz, xw) = (x * x2, x * y2, x * z2, w * x2);
        let (yy, yz, yw, zz, zw) = (y * y2, y * z2, w * y2, z * z2, w * z2);
        let [sx, sy, sz] = t.scale;
        let [tx, ty, tz] = t.translation;
        Self {
            rows: [
                [(1.0 - (yy + zz)) * sx, (xy - zw) * sy, (xz + yw) * sz, tx],
                [(xy + zw) * sx, (1.0 - (xx + zz)) * sy, (yz - xw) * sz, ty],
                [(xz - yw) * sx, (yz + xw) * sy, (1.0 - (xx + yy)) * sz, tz],
            ],
        }
    }

    /// Reads 16 numbers in column-major order, as glTF stores matrices. The last row is ignored.
    #[must_use]
    #[inline]
    pub fn from_columns(m: &[f32; 16]) -> Self {
        Self { rows: core::array::from_fn(|r| [m[r], m[4 + r], m[8 + r], m[12 + r]]) }
    }

    /// Returns 16 numbers in column-major order, with the last row `0 0 0 1`.
    #[must_use]
    #[inline]
    pub fn to_columns(&self) -> [f32; 16] {
        core::array::from_fn(|i| match (i % 4, i / 4) {
            (3, 3) => 1.0,
            (3, _) => 0.0,
            (r, c) => self.rows[r][c],
        })
    }

    /// Applies the matrix to a point.
    #[must_use]
    #[inline]
    pub fn transform_point(&self, p: [f32; 3]) -> [f32; 3] {
        core::array::from_fn(|r| {
            let m = self.rows[r];
            m[0] * p[0] + m[1] * p[1] + m[2] * p[2] + m[3]
        })
    }

    /// Applies the matrix without its translation to a vector.
    #[must_use]
    #[inline]
    pub fn transform_vector(&self, v: [f32; 3]) -> [f32; 3] {
        core::array::from_fn(|r| {
            let m = self.rows[r];
            m[0] * v[0] + m[1] * v[1] + m[2] * v[2]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference;
    use crate::testing::{Random, tries};

    #[test]
    fn matrices_compose_and_convert() {
        let mut random = Random(3);
        for _ in 0..tries(100) {
            let [a, b] = [random.transform(), random.transform()].map(Affine::from);
            let p = random.vector(2.0);
            let want = reference::transform_point(
                &reference::multiply(&reference::matrix(&a), &reference::matrix(&b)),
                p.map(f64::from),
            );
            crate::testing::assert_close(&(a * b).transform_point(p), &want, 4e-6, "product");
            assert_eq!(Affine::from_columns(&a.to_columns()), a);
            let v = a.transform_vector(p);
            let t = a.to_columns();
            assert_eq!(a.transform_point([0.0; 3]), [t[12], t[13], t[14]]);
            assert_eq!(v, Affine { rows: a.rows.map(|r| [r[0], r[1], r[2], 0.0]) }.transform_point(p));
        }
        for _ in 0..tries(100) {
            let m = Affine::from(random.transform());
            let back = (m.inverse().expect("no scale is near 0") * m).rows;
            let identity = Affine::IDENTITY
                .rows
                .as_flattened()
                .iter()
                .map(|&v| f64::from(v))
                .collect::<std::vec::Vec<_>>();
            crate::testing::assert_close(back.as_flattened(), &identity, 1e-6, "inverse");
        }
        let flat = Transform { scale: [1.0, 0.0, 1.0], ..Transform::IDENTITY };
        assert_eq!(Affine::from(flat).inverse(), None);
        assert_eq!(Affine::IDENTITY * Affine::IDENTITY, Affine::from(Transform::IDENTITY));
    }
}
