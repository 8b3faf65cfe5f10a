//! Decomposition of a matrix in f64: translation, rotation, scale, and the residual.

use super::joint_quat::JointQuat;
use super::quats;
use super::scalar::{sqrt_f64, worst};
use super::transform::{Affine, Quat, Transform};
use super::vectors::{columns, cross, dot, normalize};

/// A [`Transform`] in f64, for documents with numbers in f64: scale, then rotation, then translation.
///
/// ```
/// use condyle::math::Transform64;
///
/// // A quarter turn about z, scale 2, five metres along x.
/// let rows = [[0.0, -2.0, 0.0, 5.0], [2.0, 0.0, 0.0, 0.0], [0.0, 0.0, 2.0, 0.0]];
/// let (t, residual) = Transform64::from_rows(&rows);
/// assert!(residual < 1e-12, "no shear");
/// assert!(t.scale.iter().all(|s| (s - 2.0).abs() < 1e-12));
/// assert_eq!(t.translation, [5.0, 0.0, 0.0]);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Transform64 {
    /// Unit quaternion, `[x, y, z, w]`.
    pub rotation: [f64; 4],
    /// Translation in metres.
    pub translation: [f64; 3],
    /// Scale factor per axis.
    pub scale: [f64; 3],
}

impl From<Transform64> for Transform {
    /// Rounds to f32.
    #[inline]
    fn from(t: Transform64) -> Self {
        Self {
            rotation: t.rotation.map(|v| v as f32),
            translation: t.translation.map(|v| v as f32),
            scale: t.scale.map(|v| v as f32),
        }
    }
}

impl From<Transform> for Transform64 {
    /// Converts to f64 without rounding.
    #[inline]
    fn from(t: Transform) -> Self {
        Self {
            rotation: t.rotation.map(f64::from),
            translation: t.translation.map(f64::from),
            scale: t.scale.map(f64::from),
        }
    }
}

impl Transform64 {
    /// No rotation, no translation, scale 1.
    pub const IDENTITY: Self =
        Self { rotation: [0.0, 0.0, 0.0, 1.0], translation: [0.0; 3], scale: [1.0; 3] };

    /// Returns translation times rotation times scale, for column vectors: three rows of four.
    #[must_use]
    #[inline]
    pub fn to_rows(&self) -> [[f64; 4]; 3] {
        let (r, s, t) = (quats::rows(self.rotation), self.scale, self.translation);
        core::array::from_fn(|i| [r[i][0] * s[0], r[i][1] * s[1], r[i][2] * s[2], t[i]])
    }

    /// Decomposes an affine matrix of three rows into translation, rotation and scale, whose product
    /// approximates it.
    ///
    /// The second result is the residual: the maximum difference of an entry, relative to the largest entry.
    /// It is zero, up to rounding, for every product of the three, including mirrored and singular ones. For
    /// a sheared matrix it is positive. The rotation then maps x to the first column, and y as close to the
    /// second column as possible.
    ///
    /// For a mirrored matrix, the x scale is negative. An axis is flat if its column is zero or lies in the
    /// plane of the columns before it, to a millionth of its length. A flat axis has scale zero, and its
    /// direction follows from the other axes. So a singular matrix has no negative scale. The rotation of a
    /// zero matrix is the identity.
    ///
    /// If one of the nine entries is not finite, or a column's squared length overflows, the residual and
    /// parts of the first result are NaN.
    #[must_use]
    pub fn from_rows(rows: &[[f64; 4]; 3]) -> (Self, f64) {
        let columns = columns(rows);
        // Flat axes have no direction. They are chosen after the others.
        let mut axes: [Option<[f64; 3]>; 3] = [None; 3];
        for c in 0..3 {
            axes[c] = orthonormal(columns[c], &axes);
        }
        let flat = axes.map(|axis| axis.is_none());
        for c in 0..3 {
            if axes[c].is_none() {
                // The unit axis with the same index comes first, so that a zero matrix gives the identity.
                let candidates = [UNITS[c], UNITS[(c + 1) % 3], UNITS[(c + 2) % 3]];
                axes[c] = candidates.into_iter().find_map(|u| orthonormal(u, &axes));
            }
        }
        let mut axes = axes.map(|axis| axis.unwrap_or(UNITS[0]));
        if dot(cross(axes[0], axes[1]), axes[2]) < 0.0 {
            // A mirror image, which is not a rotation: negates one axis, preferably a flat one.
            let mirrored = flat.iter().position(|&flat| flat).unwrap_or(0);
            axes[mirrored] = axes[mirrored].map(|v| -v);
        }
        // A flat column differs from the plane only by rounding, so its scale is 0. Multiplying by 0 keeps
        // NaN.
        let scale = core::array::from_fn(|c| {
            if flat[c] { 0.0 * dot(columns[c], columns[c]) } else { dot(columns[c], axes[c]) }
        });
        let found = Self { rotation: rotation(&axes), translation: rows.map(|row| row[3]), scale };
        (found, found.apart(rows))
    }

    /// Returns the maximum difference of an entry from `rows`, relative to the largest entry of `rows`.
    /// Ignores translations. NaN if an entry of `rows` is not finite.
    #[inline]
    fn apart(&self, rows: &[[f64; 4]; 3]) -> f64 {
        let rebuilt = self.to_rows();
        let entries = || (0..3).flat_map(|r| (0..3).map(move |c| (r, c)));
        let largest = entries().map(|(r, c)| rows[r][c].abs()).fold(0.0, f64::max);
        let apart = worst(entries().map(|(r, c)| (rows[r][c] - rebuilt[r][c]).abs()));
        // A zero matrix has no residual. `largest == 0.0` would also hold if all entries were NaN.
        if apart == 0.0 { 0.0 } else { apart / largest }
    }
}

/// Polar decomposition of a matrix: a stretch along three perpendicular axes, then a rotation.
///
/// ```
/// use condyle::Affine;
///
/// // A shear, as a non-uniform scale above a rotated joint causes it. No `Transform` is exact.
/// let sheared = Affine { rows: [[1.0, 0.5, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]] };
/// let polar = sheared.polar();
/// let (_, residual) = sheared.to_transform();
/// assert!(0.0 < polar.residual && polar.residual < residual);
/// assert!(!polar.mirrored);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Polar {
    /// Transform without the shear: rotation, translation, and the diagonal of the stretch as scale.
    pub transform: Transform,
    /// Symmetric matrix in rows, without negative eigenvalues. The input matrix is rotation times stretch.
    pub stretch: [[f32; 3]; 3],
    /// Whether the input matrix mirrors, which means that its determinant is negative. It is then rotation
    /// times stretch times `diag(-1, 1, 1)`.
    pub mirrored: bool,
    /// Error of `transform`, which omits the shear: the maximum difference of an entry, relative to the
    /// largest entry. NaN if one of the nine entries is not finite.
    pub residual: f32,
}

impl Affine {
    /// Returns the matrix of a unit quaternion.
    #[must_use]
    #[inline]
    pub fn from_quat(rotation: Quat) -> Self {
        Self::from_transform(&Transform { rotation, ..Transform::IDENTITY })
    }

    /// Returns the unit quaternion of the rotation in [`to_transform`](Self::to_transform). `w` or the
    /// largest component is positive.
    #[must_use]
    #[inline]
    pub fn to_quat(&self) -> Quat {
        self.to_transform().0.rotation
    }

    /// Returns translation, rotation and scale, and the residual of their product. Accepts any matrix.
    ///
    /// [`Transform64::from_rows`] documents the result. [`polar`](Self::polar) is closer for sheared
    /// matrices. The residual is NaN if an entry outside the translation is NaN or infinite.
    #[must_use]
    #[inline]
    pub fn to_transform(&self) -> (Transform, f32) {
        let (found, apart) = Transform64::from_rows(&self.to_f64());
        (found.into(), apart as f32)
    }

    /// Returns translation, rotation and one scale, and the residual of their product.
    ///
    /// Like [`to_transform`](Self::to_transform), with the mean of the three scales. A mirrored matrix has a
    /// negative scale, which mirrors all three axes. So every matrix with perpendicular columns of equal
    /// length is represented without loss.
    #[must_use]
    #[inline]
    pub fn to_joint(&self) -> (JointQuat, f32) {
        let rows = self.to_f64();
        let (found, _) = Transform64::from_rows(&rows);
        let ([x, y, z, w], [sx, sy, sz]) = (found.rotation, found.scale);
        // Mirroring all axes instead of x differs by a half turn about x.
        let (rotation, scale) = if sx < 0.0 {
            ([w, z, -y, -x], (sx - sy - sz) / 3.0)
        } else {
            (found.rotation, (sx + sy + sz) / 3.0)
        };
        let found = Transform64 { rotation, scale: [scale; 3], ..found };
        let Transform { rotation, translation, .. } = found.into();
        (JointQuat { rotation, translation, scale: scale as f32 }, found.apart(&rows) as f32)
    }

    /// Returns the polar decomposition: the nearest rotation and the symmetric stretch that is applied before
    /// it.
    ///
    /// The nearest rotation minimises the sum of the squared differences. Use this for sheared matrices, for
    /// which no [`Transform`] is exact.
    ///
    /// Accepts any matrix. For a mirrored matrix, the first column is negated before the decomposition and
    /// the x scale after it, as in [`to_transform`](Self::to_transform). If a singular matrix has several
    /// nearest rotations, the result is the one with the smallest angle; for a zero matrix it is the
    /// identity.
    ///
    /// The rotation is the eigenvector of the largest eigenvalue of a symmetric 4x4 matrix, which always
    /// exists (Davenport 1968). Jacobi rotations find it.
    #[must_use]
    pub fn polar(&self) -> Polar {
        let rows = self.to_f64();
        let mut columns = columns(&rows);
        let mirrored = dot(cross(columns[0], columns[1]), columns[2]) < 0.0;
        if mirrored {
            columns[0] = columns[0].map(|v| -v);
        }
        let rotation = nearest_rotation(&columns);
        let turn = Transform64 { rotation, ..Transform64::IDENTITY }.to_rows();
        // The transposed rotation times the matrix, which is symmetric except for rounding.
        let entry = |r: usize, c: usize| (0..3).map(|k| turn[k][r] * columns[c][k]).sum::<f64>();
        let stretch: [[f64; 3]; 3] =
            core::array::from_fn(|r| core::array::from_fn(|c| 0.5 * (entry(r, c) + entry(c, r))));
        let first = if mirrored { -stretch[0][0] } else { stretch[0][0] };
        let found = Transform64 {
            rotation,
            translation: rows.map(|row| row[3]),
            scale: [first, stretch[1][1], stretch[2][2]],
        };
        Polar {
            transform: found.into(),
            stretch: stretch.map(|row| row.map(|v| v as f32)),
            mirrored,
            residual: found.apart(&rows) as f32,
        }
    }

    /// Returns the rows in f64.
    #[inline]
    pub fn to_f64(self) -> [[f64; 4]; 3] {
        self.rows.map(|row| row.map(f64::from))
    }
}

const UNITS: [[f64; 3]; 3] = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];

/// Removes the parts of `v` along the existing `axes` and normalises. `None` if almost nothing remains.
#[inline]
fn orthonormal(v: [f64; 3], axes: &[Option<[f64; 3]>; 3]) -> Option<[f64; 3]> {
    let length = sqrt_f64(dot(v, v));
    let mut v = v.map(|c| c / length);
    // Twice, because the first pass leaves rounding errors if `v` is nearly dependent on the axes.
    for axis in axes.iter().chain(axes).flatten() {
        let along = dot(v, *axis);
        v = core::array::from_fn(|i| v[i] - along * axis[i]);
    }
    let left = sqrt_f64(dot(v, v));
    // `left < ...` would be false for a zero vector, which is NaN here.
    if left > 1e-6 { Some(v.map(|c| c / left)) } else { None }
}

/// Returns the quaternion of three orthonormal, right-handed axes. Starts from the largest component to avoid
/// cancellation.
#[inline]
pub fn rotation(axes: &[[f64; 3]; 3]) -> [f64; 4] {
    let m = |r: usize, c: usize| axes[c][r];
    let trace = [
        1.0 + m(0, 0) - m(1, 1) - m(2, 2),
        1.0 - m(0, 0) + m(1, 1) - m(2, 2),
        1.0 - m(0, 0) - m(1, 1) + m(2, 2),
        1.0 + m(0, 0) + m(1, 1) + m(2, 2),
    ];
    let greatest = (0..4).rev().max_by(|&a, &b| trace[a].total_cmp(&trace[b])).unwrap_or(3);
    let q = match greatest {
        0 => [trace[0], m(1, 0) + m(0, 1), m(2, 0) + m(0, 2), m(2, 1) - m(1, 2)],
        1 => [m(1, 0) + m(0, 1), trace[1], m(2, 1) + m(1, 2), m(0, 2) - m(2, 0)],
        2 => [m(2, 0) + m(0, 2), m(2, 1) + m(1, 2), trace[2], m(1, 0) - m(0, 1)],
        _ => [m(2, 1) - m(1, 2), m(0, 2) - m(2, 0), m(1, 0) - m(0, 1), trace[3]],
    };
    let length = sqrt_f64(q.iter().map(|c| c * c).sum::<f64>());
    q.map(|c| c / length)
}

/// Returns the unit quaternion whose rotation matrix is nearest to a matrix, in the Frobenius norm. The
/// nearest rotation maximises the sum of the entrywise products of the two matrices.
pub fn nearest_rotation(columns: &[[f64; 3]; 3]) -> [f64; 4] {
    let m = |r: usize, c: usize| columns[c][r];
    // Matrix of the quadratic form `qᵀ K q`, which equals that sum.
    let mut k = [
        [m(0, 0) - m(1, 1) - m(2, 2), m(0, 1) + m(1, 0), m(0, 2) + m(2, 0), m(2, 1) - m(1, 2)],
        [m(0, 1) + m(1, 0), m(1, 1) - m(0, 0) - m(2, 2), m(1, 2) + m(2, 1), m(0, 2) - m(2, 0)],
        [m(0, 2) + m(2, 0), m(1, 2) + m(2, 1), m(2, 2) - m(0, 0) - m(1, 1), m(1, 0) - m(0, 1)],
        [m(2, 1) - m(1, 2), m(0, 2) - m(2, 0), m(1, 0) - m(0, 1), m(0, 0) + m(1, 1) + m(2, 2)],
    ];
    let size = k.as_flattened().iter().fold(0.0, |size: f64, v| size.max(v.abs()));
    let vectors = eigenvectors(&mut k);
    let values = [k[0][0], k[1][1], k[2][2], k[3][3]];
    let most = (0..4).fold(3, |most, at| if values[at] > values[most] { at } else { most });
    // If several eigenvalues are equal, takes the vector in their eigenspace that is nearest to the identity.
    let mut nearest = [0.0; 4];
    for (vector, value) in vectors.iter().zip(values) {
        if values[most] - value <= 1e-12 * size {
            nearest = core::array::from_fn(|c| nearest[c] + vector[3] * vector[c]);
        }
    }
    let length2: f64 = nearest.iter().map(|v| v * v).sum();
    let mut q = if length2 > 1e-20 { nearest } else { vectors[most] };
    normalize(&mut q);
    q
}

/// Diagonalises a symmetric matrix by Jacobi rotations, and returns the eigenvectors. Jacobi 1846.
pub fn eigenvectors(a: &mut [[f64; 4]; 4]) -> [[f64; 4]; 4] {
    let mut vectors: [[f64; 4]; 4] =
        core::array::from_fn(|r| core::array::from_fn(|c| if r == c { 1.0 } else { 0.0 }));
    // Each sweep squares the relative size of the off-diagonal entries; six sweeps are enough.
    for _ in 0..10 {
        for (p, q) in [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)] {
            if a[p][q] == 0.0 {
                continue;
            }
            let half = (a[q][q] - a[p][p]) / (2.0 * a[p][q]);
            let tan = 1.0_f64.copysign(half) / (half.abs() + sqrt_f64(half * half + 1.0));
            let cos = 1.0 / sqrt_f64(tan * tan + 1.0);
            let sin = tan * cos;
            let turn = |p: f64, q: f64| (cos * p - sin * q, sin * p + cos * q);
            for row in a.iter_mut() {
                (row[p], row[q]) = turn(row[p], row[q]);
            }
            for c in 0..4 {
                (a[p][c], a[q][c]) = turn(a[p][c], a[q][c]);
                (vectors[p][c], vectors[q][c]) = turn(vectors[p][c], vectors[q][c]);
            }
            (a[p][q], a[q][p]) = (0.0, 0.0);
        }
    }
    vectors
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Random, assert_close, tries};

    const ROTATIONS: [[f64; 4]; 6] = [
        [0.0, 0.0, 0.0, 1.0],
        [1.0, 0.0, 0.0, 0.0],
        [0.0, 1.0, 0.0, 1e-9],
        [0.0, 0.0, 1.0, 0.0],
        [0.3, -0.5, 0.7, 0.1],
        [-0.9, 0.1, 0.1, -0.5],
    ];

    const SCALES: [[f64; 3]; 10] = [
        [1.0, 1.0, 1.0],
        [100.0, 0.01, 3.0],
        [-1.0, 1.0, 1.0],
        [2.0, -3.0, 4.0],
        [-1.0, -1.0, -1.0],
        [1e-20, 1e-20, 1e-20],
        [0.0, 1.0, 2.0],
        [1.0, 0.0, -2.0],
        [0.0, 0.0, 5.0],
        [0.0, 0.0, 0.0],
    ];

    fn transform(rotation: [f64; 4], scale: [f64; 3]) -> Transform64 {
        let length = rotation.iter().map(|c| c * c).sum::<f64>().sqrt();
        Transform64 { translation: [1.0, -2.0, 3.0], rotation: rotation.map(|c| c / length), scale }
    }

    fn rounded(rows: [[f64; 4]; 3]) -> Affine {
        Affine { rows: rows.map(|row| row.map(|v| v as f32)) }
    }

    fn length(q: impl IntoIterator<Item = f64>) -> f64 {
        q.into_iter().map(|c| c * c).sum::<f64>().sqrt()
    }

    #[test]
    fn every_product_of_the_three_is_found_again() {
        for (rotation, scale) in ROTATIONS.iter().flat_map(|r| SCALES.iter().map(move |s| (*r, *s))) {
            let rows = transform(rotation, scale).to_rows();
            let (found, apart) = Transform64::from_rows(&rows);
            assert!(apart < 1e-12, "{rotation:?} {scale:?}: {apart}");
            let largest = scale.iter().fold(0.0, |a: f64, s| a.max(s.abs()));
            for (a, b) in found.to_rows().as_flattened().iter().zip(rows.as_flattened()) {
                assert!((a - b).abs() <= 1e-12 * largest, "{rotation:?} {scale:?}: {a} {b}");
            }
            assert!((length(found.rotation) - 1.0).abs() < 1e-12);
        }
    }

    /// Tests singular matrices, whose columns are zero, in one plane, or on one line. They have no negative
    /// scale.
    #[test]
    fn flat_matrices_have_no_negative_factor() {
        let (a, b, zero) = ([0.36, 0.48, -0.8], [-0.8, 0.6, 0.0], [0.0; 3]);
        let sum = core::array::from_fn(|i| 0.3 * a[i] - 0.7 * b[i]);
        let minus = a.map(|v: f64| -2.0 * v);
        for planes in [[a, b, zero], [a, b, sum], [a, a, b], [a, minus, zero], [a, minus, a], [a, minus, b]] {
            for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
                let columns = order.map(|at| planes[at]);
                let rows = core::array::from_fn(|r| [columns[0][r], columns[1][r], columns[2][r], 0.0]);
                let (found, _) = Transform64::from_rows(&rows);
                assert!(found.scale.iter().all(|&v| v >= 0.0), "{columns:?}: {:?}", found.scale);
                assert!((length(found.rotation) - 1.0).abs() < 1e-12, "{columns:?}");
                // The first non-zero column is reproduced.
                let first = columns.iter().position(|&c| c != zero).expect("a column that is not zero");
                for (got, want) in found.to_rows().iter().zip(columns[first]) {
                    assert!((got[first] - want).abs() < 1e-12, "{columns:?}: {found:?}");
                }
            }
        }
    }

    #[test]
    fn shear_is_measured() {
        let mut m = Transform64::IDENTITY.to_rows();
        m[0][1] = 0.5;
        let (found, apart) = Transform64::from_rows(&m);
        assert!((apart - 0.5).abs() < 1e-12, "{apart}");
        assert!(found.to_rows().as_flattened().iter().all(|v| v.is_finite()));
        // Two equal columns: singular and sheared.
        let (found, apart) =
            Transform64::from_rows(&[[1.0, 1.0, 0.0, 0.0], [1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]]);
        assert!(apart > 0.1 && found.to_rows().as_flattened().iter().all(|v| v.is_finite()));
    }

    /// Matrices with uniform scale are reproduced, including mirrored and singular ones of any size.
    /// Non-uniform scale is not.
    #[test]
    fn joints_hold_what_has_one_scale() {
        for rotation in ROTATIONS {
            for scale in [1.0, -1.0, 0.01, -300.0, 0.0] {
                let m = rounded(transform(rotation, [scale; 3]).to_rows());
                let (joint, apart) = m.to_joint();
                assert!(apart < 2e-7, "{rotation:?} {scale}: {apart}");
                assert!((f64::from(joint.scale) - scale).abs() <= 1e-7 * scale.abs());
            }
            // A reflection along any axis also has uniform scale.
            for axis in 0..3 {
                let scale = core::array::from_fn(|c| if c == axis { -2.0 } else { 2.0 });
                let (joint, apart) = rounded(transform(rotation, scale).to_rows()).to_joint();
                assert!(apart < 2e-7 && joint.scale < 0.0, "{rotation:?}, axis {axis}: {apart}");
            }
        }
        let (joint, apart) = rounded(transform(ROTATIONS[0], [1.0, 2.0, 3.0]).to_rows()).to_joint();
        assert!(joint.scale == 2.0 && (apart - 1.0 / 3.0).abs() < 1e-6, "{joint:?} {apart}");
    }

    #[test]
    fn a_matrix_and_its_quaternion() {
        let mut random = Random(1);
        for _ in 0..tries(1000) {
            let q: [f32; 4] = random.unit();
            let back = Affine::from_quat(q).to_quat();
            let sign = if q.iter().zip(back).map(|(a, b)| a * b).sum::<f32>() < 0.0 { -1.0 } else { 1.0 };
            assert_close(&back, &q.map(|v| f64::from(sign * v)), 2.4e-7, "rotation");
        }
        assert_eq!(Affine::IDENTITY.to_quat(), [0.0, 0.0, 0.0, 1.0]);
    }

    /// Returns rotation times stretch times reflection.
    fn rebuilt(polar: &Polar) -> [[f64; 3]; 3] {
        let turn = Transform64 { rotation: polar.transform.rotation.map(f64::from), ..Transform64::IDENTITY };
        let turn = turn.to_rows();
        core::array::from_fn(|r| {
            core::array::from_fn(|c| {
                let sum: f64 = (0..3).map(|k| turn[r][k] * f64::from(polar.stretch[k][c])).sum();
                if c == 0 && polar.mirrored { -sum } else { sum }
            })
        })
    }

    fn products(m: &Affine, q: [f64; 4]) -> f64 {
        let turn = Transform64 { rotation: q, ..Transform64::IDENTITY }.to_rows();
        (0..3)
            .flat_map(|r| (0..3).map(move |c| (r, c)))
            .map(|(r, c)| turn[r][c] * f64::from(m.rows[r][c]))
            .sum()
    }

    #[test]
    fn the_polar_decomposition_is_the_matrix_and_its_rotation_the_nearest() {
        let mut random = Random(2);
        for case in 0..tries(5000) {
            let mut m = Affine { rows: core::array::from_fn(|_| random.vector(1.0)) };
            // Includes singular matrices of rank two and one.
            for row in &mut m.rows {
                match case % 5 {
                    0 => row[2] = row[0] - row[1],
                    1 => (row[1], row[2]) = (2.0 * row[0], -row[0]),
                    _ => {}
                }
            }
            let polar = m.polar();
            for (got, want) in rebuilt(&polar).iter().zip(&m.rows) {
                assert_close(&want[..3], got, 1e-6, case);
            }
            let s = polar.stretch;
            assert!(s[0][1] == s[1][0] && s[0][2] == s[2][0] && s[1][2] == s[2][1], "{case}");
            // All eigenvalues are non-negative if the diagonal and the 2x2 principal minors are.
            let minor = |a: usize, b: usize| s[a][a] * s[b][b] - s[a][b] * s[a][b];
            assert!(
                [s[0][0], s[1][1], s[2][2], minor(0, 1), minor(0, 2), minor(1, 2)].iter().all(|v| *v > -1e-6)
            );
            let q = polar.transform.rotation.map(f64::from);
            assert!((length(q) - 1.0).abs() < 1e-7);
            if !polar.mirrored {
                let best = products(&m, q);
                for _ in 0..20 {
                    let mut other = core::array::from_fn(|c| q[c] + f64::from(random.range(-0.1, 0.1)));
                    normalize(&mut other);
                    assert!(products(&m, other) < best + 1e-6, "{case}");
                }
            }
        }
    }

    #[test]
    fn without_shear_both_decompositions_agree() {
        for (rotation, scale) in ROTATIONS.iter().flat_map(|r| SCALES.iter().map(move |s| (*r, *s))) {
            let m = rounded(transform(rotation, scale).to_rows());
            let (polar, (t, _)) = (m.polar(), m.to_transform());
            assert!(polar.residual < 2e-7, "{rotation:?} {scale:?}: {polar:?}");
            if scale.iter().all(|&s| s != 0.0) {
                assert_eq!(polar.mirrored, scale.iter().product::<f64>() < 0.0);
                let same = |a: &[f32], b: &[f32], sign: f32| {
                    let size = b.iter().fold(0.0_f32, |size, b| size.max(b.abs()));
                    a.iter().zip(b).all(|(a, b)| (a * sign - b).abs() <= 3e-7 * size)
                };
                let (p, q) = (polar.transform.rotation, t.rotation);
                assert!(same(&p, &q, 1.0) || same(&p, &q, -1.0), "{rotation:?} {scale:?}: {p:?} {q:?}");
                assert!(same(&polar.transform.scale, &t.scale, 1.0), "{rotation:?} {scale:?}");
            }
        }
    }

    #[test]
    fn shear_is_what_a_polar_decomposition_leaves_out() {
        let m = Affine { rows: [[1.0, 0.5, 0.0, 7.0], [0.5, 2.0, 0.0, 8.0], [0.0, 0.0, 3.0, 9.0]] };
        let polar = m.polar();
        assert_eq!(polar.stretch, [[1.0, 0.5, 0.0], [0.5, 2.0, 0.0], [0.0, 0.0, 3.0]]);
        assert_eq!(polar.transform.translation, [7.0, 8.0, 9.0]);
        assert_eq!(polar.transform.rotation, [0.0, 0.0, 0.0, 1.0]);
        assert!((polar.residual - 0.5 / 3.0).abs() < 1e-7, "{}", polar.residual);
        // The rotation takes half of a shear along x, and the other half remains.
        let m = Affine { rows: [[1.0, 0.2, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]] };
        assert!(m.polar().residual < 0.11 && m.to_transform().1 > 0.19);
    }

    #[test]
    fn nothing_and_no_numbers() {
        let zero = Affine { rows: [[0.0; 4]; 3] };
        assert_eq!(zero.polar().transform, Transform { scale: [0.0; 3], ..Transform::IDENTITY });
        assert_eq!(zero.to_joint(), (JointQuat { scale: 0.0, ..JointQuat::IDENTITY }, 0.0));
        for bad in [f32::NAN, f32::INFINITY, f32::MAX] {
            let mut m = Affine::IDENTITY;
            m.rows[1][0] = bad;
            let (polar, (t, t_apart), (joint, joint_apart)) = (m.polar(), m.to_transform(), m.to_joint());
            let finite =
                [polar.transform.scale, t.scale, [joint.scale; 3]].map(|s| s.iter().all(|v| v.is_finite()));
            let apart = [polar.residual, t_apart, joint_apart];
            if bad == f32::MAX {
                // One column dominates, so the single scale of a joint is a third of the length of this
                // column.
                assert_close(&apart, &[0.0, 0.0, 2.0 / 3.0], 1e-6, bad);
                assert_eq!(finite, [true; 3]);
            } else {
                assert!(apart.iter().all(|apart| apart.is_nan()), "{bad}: {apart:?}");
                assert_eq!(finite, [false; 3], "{bad}");
            }
        }
        let nan = Affine { rows: [[f32::NAN; 4]; 3] };
        assert!(
            [nan.polar().residual, nan.to_transform().1, nan.to_joint().1].iter().all(|apart| apart.is_nan())
        );
    }
}
