//! Vectors, quaternions and matrices in f64, used by all formulas.

use condyle_base::math::{Affine, Transform};

/// A matrix of three rows of four.
pub type Matrix = [[f64; 4]; 3];

/// Local transform of a joint.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Local {
    /// Unit quaternion.
    pub rotation: [f64; 4],
    /// Translation in metres.
    pub translation: [f64; 3],
    /// Scale factor per axis.
    pub scale: [f64; 3],
}

impl From<Transform> for Local {
    fn from(t: Transform) -> Self {
        Self {
            rotation: t.rotation.map(f64::from),
            translation: t.translation.map(f64::from),
            scale: t.scale.map(f64::from),
        }
    }
}

/// Returns the dot product.
pub fn dot<const N: usize>(a: [f64; N], b: [f64; N]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Multiplies all components by a factor.
pub fn scaled<const N: usize>(a: [f64; N], factor: f64) -> [f64; N] {
    a.map(|a| a * factor)
}

/// Adds component by component.
pub fn sum<const N: usize>(a: [f64; N], b: [f64; N]) -> [f64; N] {
    std::array::from_fn(|i| a[i] + b[i])
}

/// Normalises to unit length; zero stays zero.
pub fn unit<const N: usize>(a: [f64; N]) -> [f64; N] {
    let length = dot(a, a).sqrt();
    if length > 0.0 { scaled(a, 1.0 / length) } else { a }
}

/// Spherical interpolation on the shorter arc: `(sin((1-t)θ) a ± sin(tθ) b) / sin θ`. Shoemake 1985.
#[must_use]
pub fn slerp(a: [f64; 4], b: [f64; 4], t: f64) -> [f64; 4] {
    let b = if dot(a, b) < 0.0 { scaled(b, -1.0) } else { b };
    // The cosine is the dot product of the unnormalised keys: glTF 2.0, appendix C. Longer keys can exceed 1.
    let theta = dot(a, b).min(1.0).acos();
    if theta < 1e-6 {
        return unit(sum(scaled(a, 1.0 - t), scaled(b, t)));
    }
    let (from, to) = (((1.0 - t) * theta).sin() / theta.sin(), (t * theta).sin() / theta.sin());
    sum(scaled(a, from), scaled(b, to))
}

/// Returns the product of two quaternions: the rotation by `b`, then by `a`.
#[must_use]
pub fn quat_product([ax, ay, az, aw]: [f64; 4], [bx, by, bz, bw]: [f64; 4]) -> [f64; 4] {
    [
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by + ay * bw + az * bx - ax * bz,
        aw * bz + az * bw + ax * by - ay * bx,
        aw * bw - ax * bx - ay * by - az * bz,
    ]
}

/// Returns the inverse of a unit quaternion.
#[must_use]
pub fn quat_inverse([x, y, z, w]: [f64; 4]) -> [f64; 4] {
    [-x, -y, -z, w]
}

/// Returns the logarithm of a unit quaternion: the axis times half the rotation angle, from 0 to π.
#[must_use]
pub fn quat_log([x, y, z, w]: [f64; 4]) -> [f64; 3] {
    let v = [x, y, z];
    let sin = dot(v, v).sqrt();
    if sin > 0.0 { scaled(v, sin.atan2(w) / sin) } else { [0.0; 3] }
}

/// Returns the quaternion whose logarithm is `v`.
#[must_use]
pub fn quat_exp(v: [f64; 3]) -> [f64; 4] {
    let angle = dot(v, v).sqrt();
    let [x, y, z] = scaled(v, if angle > 0.0 { angle.sin() / angle } else { 1.0 });
    [x, y, z, angle.cos()]
}

/// Converts a matrix to f64.
#[must_use]
pub fn matrix(m: &Affine) -> Matrix {
    m.rows.map(|row| row.map(f64::from))
}

/// Rotates `v` by a unit quaternion: the vector part of `q v q*`.
#[must_use]
pub fn rotate(q: [f64; 4], v: [f64; 3]) -> [f64; 3] {
    let [x, y, z, w] = q;
    let u = [x, y, z];
    let cross = |a: [f64; 3], b: [f64; 3]| {
        [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
    };
    let t = scaled(cross(u, v), 2.0);
    sum(sum(v, scaled(t, w)), cross(u, t))
}

/// Returns translation times rotation times scale.
#[must_use]
pub fn local_matrix(local: &Local) -> Matrix {
    let column = |c: usize| {
        let mut axis = [0.0; 3];
        axis[c] = local.scale[c];
        rotate(local.rotation, axis)
    };
    let columns = [column(0), column(1), column(2), local.translation];
    std::array::from_fn(|r| std::array::from_fn(|c| columns[c][r]))
}

/// Returns `a * b`.
#[must_use]
pub fn multiply(a: &Matrix, b: &Matrix) -> Matrix {
    let last = [0.0, 0.0, 0.0, 1.0];
    std::array::from_fn(|r| {
        std::array::from_fn(|c| (0..3).map(|k| a[r][k] * b[k][c]).sum::<f64>() + a[r][3] * last[c])
    })
}

/// Transforms a point.
#[must_use]
pub fn transform_point(m: &Matrix, p: [f64; 3]) -> [f64; 3] {
    m.map(|row| row[0] * p[0] + row[1] * p[1] + row[2] * p[2] + row[3])
}

/// Transforms a vector, without the translation.
#[must_use]
pub fn transform_vector(m: &Matrix, v: [f64; 3]) -> [f64; 3] {
    m.map(|row| row[0] * v[0] + row[1] * v[1] + row[2] * v[2])
}
