//! Converts rotations about axes in degrees to quaternions in f64, and back.

use core::array;

use condyle::math::{atan2_f64, sin_cos_f64};

use crate::hierarchy::Axis;

/// A quaternion `[x, y, z, w]`.
pub(crate) type Quat64 = [f64; 4];

pub(crate) const IDENTITY: Quat64 = [0.0, 0.0, 0.0, 1.0];

/// Returns the Hamilton product, which applies `b` first, then `a`.
pub(crate) fn product([ax, ay, az, aw]: Quat64, [bx, by, bz, bw]: Quat64) -> Quat64 {
    [
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
        aw * bw - ax * bx - ay * by - az * bz,
    ]
}

/// Returns a vector rotated by the inverse of a unit quaternion.
pub(crate) fn unrotate([x, y, z, w]: Quat64, v: [f64; 3]) -> [f64; 3] {
    let cross = |a: [f64; 3], b: [f64; 3]| {
        [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
    };
    let axis = [-x, -y, -z];
    let t = cross(axis, v).map(|c| 2.0 * c);
    let u = cross(axis, t);
    [v[0] + w * t[0] + u[0], v[1] + w * t[1] + u[1], v[2] + w * t[2] + u[2]]
}

/// Number of frames that are computed together: the f64 lanes of an SSE2 or NEON register. With more, there
/// are not enough registers.
pub(crate) const LANES: usize = 2;

/// One quaternion per frame, stored by component.
pub(crate) type Quats = [[f64; LANES]; 4];

pub(crate) const IDENTITIES: Quats = [[0.0; LANES], [0.0; LANES], [0.0; LANES], [1.0; LANES]];

/// Returns `q` followed by a rotation about one of its axes: the product of `q` and that rotation. Angles can
/// be any finite number; whole turns are removed exactly.
#[inline]
pub(crate) fn turned([x, y, z, w]: Quats, axis: Axis, degrees: [f64; LANES]) -> Quats {
    let far = degrees.iter().any(|angle| angle.abs() > 360.0);
    let degrees = if far { degrees.map(|angle| angle % 720.0) } else { degrees };
    let (mut s, mut c) = ([0.0; LANES], [0.0; LANES]);
    for lane in 0..LANES {
        (s[lane], c[lane]) = sin_cos_f64((0.5 * degrees[lane]).to_radians());
    }
    let plus = |a: [f64; LANES], b: [f64; LANES]| array::from_fn(|at| a[at] * c[at] + b[at] * s[at]);
    let minus = |a: [f64; LANES], b: [f64; LANES]| array::from_fn(|at| a[at] * c[at] - b[at] * s[at]);
    match axis {
        Axis::X => [plus(x, w), plus(y, z), minus(z, y), minus(w, x)],
        Axis::Y => [minus(x, z), plus(y, w), plus(z, x), minus(w, y)],
        Axis::Z => [plus(x, y), minus(y, x), plus(z, w), minus(w, z)],
    }
}

/// The order of a joint's three rotations, which is the order of its channels.
///
/// `ZXY` is the matrix product `Z · X · Y`.
///
/// ```
/// use condyle_bvh::{Axis, RotationOrder};
///
/// assert_eq!(RotationOrder::ZYX.axes(), [Axis::Z, Axis::Y, Axis::X]);
/// assert_eq!(RotationOrder::default(), RotationOrder::ZXY);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum RotationOrder {
    /// `Xrotation Yrotation Zrotation`.
    XYZ,
    /// `Xrotation Zrotation Yrotation`.
    XZY,
    /// `Yrotation Xrotation Zrotation`.
    YXZ,
    /// `Yrotation Zrotation Xrotation`.
    YZX,
    /// `Zrotation Xrotation Yrotation`, the order of almost all conversions of the CMU library. All readers
    /// therefore support it.
    ///
    /// The last rotation is the heading of a character with Y up. A heading can make full turns, so it should
    /// not be the middle angle, which has the singularity.
    #[default]
    ZXY,
    /// `Zrotation Yrotation Xrotation`, the order of LAFAN1.
    ZYX,
}

impl RotationOrder {
    /// Returns the axes from the first rotation to the last.
    #[must_use]
    pub fn axes(self) -> [Axis; 3] {
        use Axis::{X, Y, Z};
        match self {
            Self::XYZ => [X, Y, Z],
            Self::XZY => [X, Z, Y],
            Self::YXZ => [Y, X, Z],
            Self::YZX => [Y, Z, X],
            Self::ZXY => [Z, X, Y],
            Self::ZYX => [Z, Y, X],
        }
    }

    /// Returns the three angles of a rotation in degrees. Among equivalent angles, it returns those nearest
    /// to `before`, so that they do not jump between frames.
    ///
    /// If the middle angle is a quarter turn, only the sum or the difference of the other two is determined.
    /// The last angle then keeps its previous value.
    pub(crate) fn angles(self, q: Quat64, before: [f64; 3]) -> [f64; 3] {
        let [i, j, k] = self.axes().map(|axis| axis as usize);
        // 1 if the axes are a cyclic permutation of X, Y, Z.
        let sign = if (i + 1) % 3 == j { 1.0 } else { -1.0 };
        let m = rows(q);
        // M = Ri(a) Rj(b) Rk(c): m[i][k] = ± sin b, m[i][i] = cos b cos c, m[k][k] = cos a cos b.
        let sine = sign * m[i][k];
        let cosine = (m[i][i] * m[i][i] + m[i][j] * m[i][j]).sqrt();
        let b = atan2_f64(sine, cosine);
        let found = if cosine > LOCKED {
            let a = atan2_f64(-sign * m[j][k], m[k][k]);
            let c = atan2_f64(-sign * m[i][j], m[i][i]);
            [a, b, c].map(f64::to_degrees)
        } else {
            // The last rotation keeps its angle, which leaves M · Rk(-c) = Ri(a) Rj(b) for the others.
            let (s, c) = sin_cos_f64((before[2] % 360.0).to_radians());
            let column = |row: usize| m[row][j] * c + sign * m[row][i] * s;
            let a = atan2_f64(sign * column(k), column(j));
            [a.to_degrees(), b.to_degrees(), before[2]]
        };
        let other = [found[0] + 180.0, 180.0 - found[1], found[2] + 180.0];
        let [found, other] = [found, other].map(|angles| nearest(angles, before));
        if distance(other, before) < distance(found, before) { other } else { found }
    }
}

/// Below this cosine of the middle angle, the noise of f32 is as large as the values that determine the other
/// angles.
const LOCKED: f64 = 5e-7;

/// Returns the same angles plus whole turns, so that each is within half a turn of `before`.
fn nearest(angles: [f64; 3], before: [f64; 3]) -> [f64; 3] {
    array::from_fn(|at| angles[at] + 360.0 * ((before[at] - angles[at]) / 360.0).round())
}

fn distance(a: [f64; 3], b: [f64; 3]) -> f64 {
    (a[0] - b[0]).abs() + (a[1] - b[1]).abs() + (a[2] - b[2]).abs()
}

/// Returns the rows of a rotation matrix.
pub(crate) fn rows([x, y, z, w]: Quat64) -> [[f64; 3]; 3] {
    [
        [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)],
        [2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)],
        [2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)],
    ]
}
