//! What every formula is made of: vectors, quaternions and matrices in f64.

use condyle_base::math::{Affine, Transform};

/// Three rows of four.
pub type Matrix = [[f64; 4]; 3];

/// The local transform of a joint.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Local {
    /// Unit quaternion.
    pub rotation: [f64; 4],
    /// Metres.
    pub translation: [f64; 3],
    /// Factor per axis.
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

/// The dot product.
pub fn dot<const N: usize>(a: [f64; N], b: [f64; N]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// All components times a factor.
pub fn scaled<const N: usize>(a: [f64; N], factor: f64) -> [f64; N] {
    a.map(|a| a * factor)
}

/// Component by component.
pub fn sum<const N: usize>(a: [f64; N], b: [f64; N]) -> [f64; N] {
    std::array::from_fn(|i| a[i] + b[i])
}

/// To unit length; zero stays zero.
pub fn unit<const N: usize>(a: [f64; N]) -> [f64; N] {
    let length = dot(a, a).sqrt();
    if length > 0.0 { scaled(a, 1.0 / length) } else { a }
}

/// Spherical interpolation on the shorter arc: `(sin((1-t)θ) a ± sin(tθ) b) / sin θ`. Shoemake 1985.
#[must_use]
pub fn slerp(a: [f64; 4], b: [f64; 4], t: f64) -> [f64; 4] {
    let b = if dot(a, b) < 0.0 { scaled(b, -1.0) } else { b };
    // The cosine is that of the keys as they are, of unit length or not: glTF 2.0, appendix C. Longer ones may exceed 1.
    let theta = dot(a, b).min(1.0).acos();
    if theta < 1e-6 {
        return unit(sum(scaled(a, 1.0 - t), scaled(b, t)));
    }
    let (from, to) = (((1.0 - t) * theta).sin() / theta.sin(), (t * theta).sin() / theta.sin());
    sum(scaled(a, from), scaled(b, to))
}

/// The product of two quaternions: `b`'s rotation, then `a`'s.
#[must_use]
pub fn quat_product([ax, ay, az, aw]: [f64; 4], [bx, by, bz, bw]: [f64; 4]) -> [f64; 4] {
    [
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by + ay * bw + az * bx - ax * bz,
        aw * bz + az * bw + ax * by - ay * bx,
        aw * bw - ax * bx - ay * by - az * bz,
    ]
}

/// The inverse of a unit quaternion.
#[must_use]
pub fn quat_inverse([x, y, z, w]: [f64; 4]) -> [f64; 4] {
    [-x, -y, -z, w]
}

/// The logarithm of a unit quaternion: the axis times half of the rotation's angle, from 0 to π.
#[must_use]
pub fn quat_log([x, y, z, w]: [f64; 4]) -> [f64; 3] {
    let v = [x, y, z];
    let sin = dot(v, v).sqrt();
    if sin > 0.0 { scaled(v, sin.atan2(w) / sin) } else { [0.0; 3] }
}

/// The quaternion of which `v` is the logarithm.
#[must_use]
pub fn quat_exp(v: [f64; 3]) -> [f64; 4] {
    let angle = dot(v, v).sqrt();
    let [x, y, z] = scaled(v, if angle > 0.0 { angle.sin() / angle } else { 1.0 });
    [x, y, z, angle.cos()]
}

/// A matrix in f64.
#[must_use]
pub fn matrix(m: &Affine) -> Matrix {
    m.rows.map(|row| row.map(f64::from))
}

/// `v` turned by a unit quaternion: the vector part of `q v q*`.
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

/// Translation times rotation times scale.
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

/// `a * b`.
#[must_use]
pub fn multiply(a: &Matrix, b: &Matrix) -> Matrix {
    let last = [0.0, 0.0, 0.0, 1.0];
    std::array::from_fn(|r| {
        std::array::from_fn(|c| (0..3).map(|k| a[r][k] * b[k][c]).sum::<f64>() + a[r][3] * last[c])
    })
}

/// A point moved by a matrix.
#[must_use]
pub fn transform_point(m: &Matrix, p: [f64; 3]) -> [f64; 3] {
    m.map(|row| row[0] * p[0] + row[1] * p[1] + row[2] * p[2] + row[3])
}

/// A direction turned by a matrix.
#[must_use]
pub fn transform_vector(m: &Matrix, v: [f64; 3]) -> [f64; 3] {
    m.map(|row| row[0] * v[0] + row[1] * v[1] + row[2] * v[2])
}
