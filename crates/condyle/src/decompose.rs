//! One matrix taken apart, in 64 bits: translation, rotation and scale, and what is left over.

use crate::math::{normalize, sqrt_f64};
use crate::{Affine, JointQuat, Quat, Transform};

/// A [`Transform`] in 64 bits, for documents that state numbers so: scale first, then rotate, then translate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Transform64 {
    /// Unit quaternion, `[x, y, z, w]`.
    pub rotation: [f64; 4],
    /// Metres.
    pub translation: [f64; 3],
    /// Factor per axis.
    pub scale: [f64; 3],
}

impl From<Transform64> for Transform {
    /// Rounded.
    fn from(t: Transform64) -> Self {
        Self {
            rotation: t.rotation.map(|v| v as f32),
            translation: t.translation.map(|v| v as f32),
            scale: t.scale.map(|v| v as f32),
        }
    }
}

impl Transform64 {
    /// No rotation, no translation, scale one.
    pub const IDENTITY: Self =
        Self { rotation: [0.0, 0.0, 0.0, 1.0], translation: [0.0; 3], scale: [1.0; 3] };

    /// Translation times rotation times scale: three rows of four, column vectors.
    #[must_use]
    pub fn to_rows(&self) -> [[f64; 4]; 3] {
        let [x, y, z, w] = self.rotation;
        let r = [
            [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - z * w), 2.0 * (x * z + y * w)],
            [2.0 * (x * y + z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - x * w)],
            [2.0 * (x * z - y * w), 2.0 * (y * z + x * w), 1.0 - 2.0 * (x * x + y * y)],
        ];
        let (s, t) = (self.scale, self.translation);
        core::array::from_fn(|i| [r[i][0] * s[0], r[i][1] * s[1], r[i][2] * s[2], t[i]])
    }

    /// Splits an affine matrix of three rows, so that translation times rotation times scale comes near it.
    ///
    /// The second result is how far it stays away: the greatest difference of an entry, as a part of the greatest
    /// entry. It is zero, up to rounding, for every product of the three, mirrored and flattened ones included; a
    /// sheared matrix is none. The rotation then takes x to the first column and y as near the second one as it can.
    ///
    /// A mirrored matrix has a negative factor for x, or none at all for an axis that is flat anyway. A flattened
    /// axis has no direction of its own and takes what the others leave; of a zero matrix the rotation is the identity.
    #[must_use]
    pub fn from_rows(rows: &[[f64; 4]; 3]) -> (Self, f64) {
        let columns = columns(rows);
        // Flattened axes have no direction of their own; they take what the others leave.
        let mut axes: [Option<[f64; 3]>; 3] = [None; 3];
        for c in 0..3 {
            axes[c] = orthonormal(columns[c], &axes);
        }
        for c in 0..3 {
            if axes[c].is_none() {
                // The own axis first, so that a zero matrix keeps the identity.
                let candidates = [UNITS[c], UNITS[(c + 1) % 3], UNITS[(c + 2) % 3]];
                axes[c] = candidates.into_iter().find_map(|u| orthonormal(u, &axes));
            }
        }
        let mut axes = axes.map(|axis| axis.unwrap_or(UNITS[0]));
        if dot(cross(axes[0], axes[1]), axes[2]) < 0.0 {
            // A mirror image, which no rotation makes: one factor becomes negative. Best one that is flat anyway.
            let flat = columns.iter().position(|&c| dot(c, c) == 0.0).unwrap_or(0);
            axes[flat] = axes[flat].map(|v| -v);
        }
        let scale = core::array::from_fn(|c| dot(columns[c], axes[c]));
        let found = Self { rotation: rotation(&axes), translation: rows.map(|row| row[3]), scale };
        (found, found.apart(rows))
    }

    /// The greatest difference of an entry from those of `rows`, as a part of their greatest one; without translations.
    fn apart(&self, rows: &[[f64; 4]; 3]) -> f64 {
        let rebuilt = self.to_rows();
        let entries = || (0..3).flat_map(|r| (0..3).map(move |c| (r, c)));
        let largest = entries().map(|(r, c)| rows[r][c].abs()).fold(0.0, f64::max);
        let apart = entries().map(|(r, c)| (rows[r][c] - rebuilt[r][c]).abs()).fold(0.0, f64::max);
        if largest > 0.0 { apart / largest } else { 0.0 }
    }
}

/// What a matrix does besides moving: a stretch along three axes at right angles, then a rotation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Polar {
    /// Without the shear: the rotation, the translation, and the diagonal of the stretch as scale.
    pub transform: Transform,
    /// A symmetric matrix of rows, its eigenvalues not negative: the matrix is rotation times stretch.
    pub stretch: [[f32; 3]; 3],
    /// Whether the matrix turns left hands into right ones. Then it is rotation times stretch times `diag(-1, 1, 1)`.
    pub mirrored: bool,
    /// How far `transform` stays away from the matrix, which is the shear that it leaves out: the greatest difference
    /// of an entry, as a part of the greatest entry.
    pub apart: f32,
}

impl Affine {
    /// A rotation by a unit quaternion.
    #[must_use]
    pub fn from_quat(rotation: Quat) -> Self {
        Self::from_transform(&Transform { rotation, ..Transform::IDENTITY })
    }

    /// The unit quaternion of the rotation in [`to_transform`](Self::to_transform), `w` or the greatest component
    /// positive.
    #[must_use]
    pub fn to_quat(&self) -> Quat {
        self.to_transform().0.rotation
    }

    /// Translation, rotation and scale, and how far their product stays away from the matrix. Any matrix will do:
    /// see [`Transform64::from_rows`], which computes it. [`polar`](Self::polar) comes nearer to sheared matrices.
    #[must_use]
    pub fn to_transform(&self) -> (Transform, f32) {
        let (found, apart) = Transform64::from_rows(&self.to_f64());
        (found.into(), apart as f32)
    }

    /// Translation, rotation and one scale, and how far their product stays away from the matrix: as
    /// [`to_transform`](Self::to_transform), with the mean of the three factors.
    ///
    /// A mirrored matrix has a negative scale, which mirrors all three axes; so every matrix whose columns are
    /// at right angles and of one length is held without loss.
    #[must_use]
    pub fn to_joint(&self) -> (JointQuat, f32) {
        let rows = self.to_f64();
        let (found, _) = Transform64::from_rows(&rows);
        let ([x, y, z, w], [sx, sy, sz]) = (found.rotation, found.scale);
        // To mirror all axes instead of x alone is to turn half about x.
        let (rotation, scale) = if sx < 0.0 {
            ([w, z, -y, -x], (sx - sy - sz) / 3.0)
        } else {
            (found.rotation, (sx + sy + sz) / 3.0)
        };
        let found = Transform64 { rotation, scale: [scale; 3], ..found };
        let Transform { rotation, translation, .. } = found.into();
        (JointQuat { rotation, translation, scale: scale as f32 }, found.apart(&rows) as f32)
    }

    /// The polar decomposition: the rotation nearest to the matrix (the sum of the squares of the differences is the
    /// least), and the symmetric stretch before it. Right for sheared matrices, where no [`Transform`] is exact.
    ///
    /// Any matrix will do. Of a mirrored one the first column is negated before and the first factor of the scale
    /// after, as [`to_transform`](Self::to_transform) does. Where a singular matrix has several nearest rotations,
    /// the one of the least angle is chosen; of a zero matrix the identity.
    ///
    /// The rotation is the eigenvector of the greatest eigenvalue of a symmetric 4x4 matrix, which always exists
    /// (Davenport 1968), found by Jacobi's rotations.
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
        // The rotation's transpose times the matrix; symmetric but for rounding.
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
            apart: found.apart(&rows) as f32,
        }
    }

    fn to_f64(self) -> [[f64; 4]; 3] {
        self.rows.map(|row| row.map(f64::from))
    }
}

const UNITS: [[f64; 3]; 3] = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];

fn columns(rows: &[[f64; 4]; 3]) -> [[f64; 3]; 3] {
    core::array::from_fn(|c| [rows[0][c], rows[1][c], rows[2][c]])
}

fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

/// `v` without its parts along those of `axes` that there are, of length one; `None` if next to nothing is left.
fn orthonormal(v: [f64; 3], axes: &[Option<[f64; 3]>; 3]) -> Option<[f64; 3]> {
    let length = sqrt_f64(dot(v, v));
    let mut v = v.map(|c| c / length);
    // Twice, since the first pass leaves rounding errors where `v` is nearly dependent.
    for axis in axes.iter().chain(axes).flatten() {
        let along = dot(v, *axis);
        v = core::array::from_fn(|i| v[i] - along * axis[i]);
    }
    let left = sqrt_f64(dot(v, v));
    // Not `left < ...`: a vector of length zero is NaN here.
    if left > 1e-6 { Some(v.map(|c| c / left)) } else { None }
}

/// The quaternion of three orthonormal, right-handed axes. From the greatest component on, so that nothing
/// cancels.
fn rotation(axes: &[[f64; 3]; 3]) -> [f64; 4] {
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

/// The unit quaternion whose rotation's products with the matrix add up to most.
fn nearest_rotation(columns: &[[f64; 3]; 3]) -> [f64; 4] {
    let m = |r: usize, c: usize| columns[c][r];
    // Of `q`ᵀ K `q`, which is that sum.
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
    // Where several are equal, what is nearest to the identity among all that they span.
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

/// Makes a symmetric matrix diagonal by rotations in two of its axes at a time; returns the eigenvectors. Jacobi 1846.
fn eigenvectors(a: &mut [[f64; 4]; 4]) -> [[f64; 4]; 4] {
    let mut vectors: [[f64; 4]; 4] =
        core::array::from_fn(|r| core::array::from_fn(|c| if r == c { 1.0 } else { 0.0 }));
    // Each sweep squares what is left beside the diagonal; six are enough.
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
