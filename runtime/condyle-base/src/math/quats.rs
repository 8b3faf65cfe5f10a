//! Quaternions in f64, for code outside the hot path and for exact results.

use core::ops::Neg;

use super::real::Real;
use super::scalar::{atan2_f64, sin_cos_f64, sin_f64, sinc_cos, sqrt_f64};
use super::vectors::{Component, dot, normalize};

/// A quaternion `[x, y, z, w]` in f64.
pub type Quat64 = [f64; 4];

/// Returns the Hamilton product: the rotation by `b`, then by `a`.
#[inline(always)]
pub fn product<T: Component>(a: [T; 4], b: [T; 4]) -> [T; 4] {
    let ([ax, ay, az, aw], [bx, by, bz, bw]) = (a, b);
    [
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
        aw * bw - ax * bx - ay * by - az * bz,
    ]
}

/// Returns the inverse of a unit quaternion.
#[inline(always)]
pub fn conjugate<T: Component + Neg<Output = T>>([x, y, z, w]: [T; 4]) -> [T; 4] {
    [-x, -y, -z, w]
}

/// Returns `q` or `-q`, whichever is in the hemisphere of `a`.
#[inline]
pub fn near(a: Quat64, q: Quat64) -> Quat64 {
    let dot = (a[0] * q[0] + a[1] * q[1]) + (a[2] * q[2] + a[3] * q[3]);
    if dot < 0.0 { q.map(|v| -v) } else { q }
}

/// Returns the logarithm of a quaternion of any length except 0: the axis times half the rotation angle, from
/// 0 to π.
#[inline]
pub fn log([x, y, z, w]: Quat64) -> [f64; 3] {
    let v = [x, y, z];
    let sine = sqrt_f64(dot(v, v));
    if sine == 0.0 {
        return v;
    }
    let ratio = atan2_f64(sine, w) / sine;
    v.map(|v| v * ratio)
}

/// Returns the quaternion whose logarithm is `half`: a rotation about `half` by twice its length, up to
/// 2,000,000 radians.
#[inline(always)]
pub fn exp(half: [f64; 3]) -> Quat64 {
    let square = dot(half, half);
    if square > HALF_TURN * HALF_TURN || square.is_nan() {
        return exp_far(half);
    }
    // Evaluates the series at half the length and doubles the angle. This avoids a square root, a division
    // and a quadrant reduction.
    let quarter = 0.25 * square;
    let (sinc, cos) = sinc_cos(quarter);
    let [x, y, z] = half.map(|v| v * (sinc * cos));
    [x, y, z, cos * cos - quarter * (sinc * sinc)]
}

/// Length of the logarithm of a half turn. The series support angles up to half of it.
const HALF_TURN: f64 = core::f64::consts::FRAC_PI_2;

/// [`exp`] of more than half a turn.
#[cold]
#[inline(never)]
fn exp_far(half: [f64; 3]) -> Quat64 {
    let angle = sqrt_f64(dot(half, half));
    let (sin, cos) = sin_cos_f64(angle);
    let [x, y, z] = half.map(|v| v * (sin / angle));
    [x, y, z, cos]
}

/// [`exp`], normalised to within 1 ULP.
#[inline(always)]
pub fn unit_exp(half: [f64; 3]) -> Quat64 {
    renormalized(exp(half))
}

/// Returns `q` with unit length. If the length is nearly 1, one Newton step without root or division is exact
/// to the last place.
#[inline(always)]
pub fn renormalized(q: Quat64) -> Quat64 {
    let off = (q[0] * q[0] + q[1] * q[1]) + (q[2] * q[2] + q[3] * q[3]) - 1.0;
    if off.abs() < 1e-8 { q.map(|v| v * (1.0 - 0.5 * off)) } else { normalized(q) }
}

/// [`renormalized`] for lengths that are not nearly 1.
#[cold]
#[inline(never)]
fn normalized(mut q: Quat64) -> Quat64 {
    normalize(&mut q);
    q
}

/// Returns the rotation vector of a quaternion: the axis times the angle, at most π long.
///
/// A half turn has two such vectors; the result is the one whose first non-zero component is positive.
#[inline]
pub fn rotation_vector(q: Quat64) -> [f64; 3] {
    let [x, y, z, w] = q;
    let back = w < 0.0 || (w == 0.0 && [x, y, z].into_iter().find(|&v| v != 0.0).is_some_and(|v| v < 0.0));
    log(if back { q.map(|v| -v) } else { q }).map(|v| 2.0 * v)
}

/// Returns the rotation about a vector by an angle equal to its length. Normalised to within 1 ULP.
#[inline]
pub fn from_rotation_vector(v: [f64; 3]) -> Quat64 {
    unit_exp(v.map(|v| v / 2.0))
}

/// Rotates `v` by a unit quaternion.
#[inline(always)]
pub fn rotate<R: Real>([x, y, z, w]: [R; 4], v: [R; 3]) -> [R; 3] {
    let twice = [(y * v[2] - z * v[1]) * 2.0, (z * v[0] - x * v[2]) * 2.0, (x * v[1] - y * v[0]) * 2.0];
    [
        v[0] + w * twice[0] + (y * twice[2] - z * twice[1]),
        v[1] + w * twice[1] + (z * twice[0] - x * twice[2]),
        v[2] + w * twice[2] + (x * twice[1] - y * twice[0]),
    ]
}

/// Returns the matrix rows of a unit quaternion.
#[inline]
pub fn rows([x, y, z, w]: Quat64) -> [[f64; 3]; 3] {
    [
        [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - z * w), 2.0 * (x * z + y * w)],
        [2.0 * (x * y + z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - x * w)],
        [2.0 * (x * z - y * w), 2.0 * (y * z + x * w), 1.0 - 2.0 * (x * x + y * y)],
    ]
}

/// Interpolates two keys as glTF 2.0, appendix C, specifies, even if they do not have unit length.
///
/// The angle is the arccosine of the dot product of the unnormalised keys, and the result is normalised.
#[inline]
pub fn slerp_f64(a: [f32; 4], b: [f32; 4], t: f64) -> [f64; 4] {
    Slerp::new(a, b).at(t)
}

/// [`slerp_f64`] between two keys at several times: the angle is computed once.
#[derive(Debug, Clone, Copy)]
pub struct Slerp {
    from: Quat64,
    /// Second key, in the hemisphere of `from`.
    to: Quat64,
    angle: f64,
    sine: f64,
}

impl Slerp {
    /// Prepares the interpolation from `a` to `b`.
    #[inline]
    #[must_use]
    pub fn new(a: [f32; 4], b: [f32; 4]) -> Self {
        let (a, b) = (a.map(f64::from), b.map(f64::from));
        let cos: f64 = a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3];
        let sign = if cos < 0.0 { -1.0 } else { 1.0 };
        let cos = cos.abs().min(1.0);
        let sine = sqrt_f64(1.0 - cos * cos);
        // Below 1e-4, linear interpolation is exact to f32 precision. Clearly smaller angles skip the
        // arctangent, which saves time because most root joints do not rotate.
        let angle = if sine < 0.99e-4 * cos { 0.0 } else { atan2_f64(sine, cos) };
        Self { from: a, to: b.map(|v| v * sign), angle, sine }
    }

    /// Returns the rotation at `t`, from 0 to 1.
    #[inline]
    #[must_use]
    pub fn at(&self, t: f64) -> Quat64 {
        let (from, to) = if self.angle < 1e-4 {
            (1.0 - t, t)
        } else {
            (sin_f64((1.0 - t) * self.angle) / self.sine, sin_f64(t * self.angle) / self.sine)
        };
        let mut q = core::array::from_fn(|c| self.from[c] * from + self.to[c] * to);
        normalize(&mut q);
        q
    }
}

/// Maximum rounding error of the squared length of a unit quaternion.
pub const ROUNDED: f64 = 1e-6;

/// Whether a rotation does not have unit length.
#[inline]
pub fn is_loose(q: &[f64; 4]) -> bool {
    (q.iter().map(|v| v * v).sum::<f64>() - 1.0).abs() > ROUNDED
}

/// Whether the length of a rotation is within 2 % of 1.
#[inline]
pub fn is_near_unit(q: &[f32; 4]) -> bool {
    (q.iter().map(|v| v * v).sum::<f32>() - 1.0).abs() < 0.04
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference;
    use crate::testing::{Random, tries};

    fn far<const N: usize>(a: [f64; N], b: [f64; N]) -> f64 {
        a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
    }

    fn unit(random: &mut Random) -> Quat64 {
        let mut q = random.unit::<4>().map(f64::from);
        normalize(&mut q);
        q
    }

    #[test]
    fn they_are_the_formulas() {
        let mut random = Random(40);
        for _ in 0..tries(1000) {
            let [a, b] = [unit(&mut random), unit(&mut random)];
            let v = random.vector(2.0).map(f64::from);
            assert!(far(product(a, b), reference::quat_product(a, b)) < 1e-15, "{a:?} {b:?}");
            assert!(far(product(conjugate(a), a), [0.0, 0.0, 0.0, 1.0]) < 1e-15, "{a:?}");
            assert!(far(rotate(a, v), reference::rotate(a, v)) < 1e-14, "{a:?} {v:?}");
            let (log, want) = (log(a), reference::quat_log(a));
            assert!(far(log, want) < 1e-11, "{a:?}: {log:?} instead of {want:?}");
            assert!(far(exp(log), a) < 1e-11, "{a:?}");
            let turned = rows(a).map(|row| dot(row, v));
            assert!(far(turned, rotate(a, v)) < 1e-14, "{a:?} {v:?}");
            assert!(far(near(a, b.map(|v| -v)), near(a, b)) == 0.0, "{a:?} {b:?}");
        }
        assert_eq!(log([0.0, 0.0, 0.0, 1.0]), [0.0; 3]);
        assert_eq!(log([1e-12, 0.0, 0.0, 1.0]), [1e-12, 0.0, 0.0]);
    }

    #[test]
    fn rotation_vectors_lead_back() {
        let mut random = Random(3);
        for case in 0..tries(2000) {
            let mut q = unit(&mut random);
            if case % 4 == 0 {
                // Small angles, and angles close to a half turn.
                let at = if case % 8 == 0 { 3 } else { case / 8 % 3 };
                q = core::array::from_fn(|c| if c == at { q[c] } else { q[c] * 1e-6 });
                normalize(&mut q);
            }
            let (v, back) = (rotation_vector(q), from_rotation_vector(rotation_vector(q)));
            assert!(v.iter().map(|v| v * v).sum::<f64>() < 9.87, "case {case}: {v:?}");
            let error = |sign: f64| (0..4).map(|c| (q[c] - sign * back[c]).abs()).fold(0.0, f64::max);
            assert!(error(1.0).min(error(-1.0)) < 1e-11, "case {case}: {q:?}, {back:?}");
            assert_eq!(rotation_vector(q.map(|v| -v)), v, "case {case}");
        }
        assert_eq!(rotation_vector([0.0, 0.0, 0.0, 1.0]), [0.0; 3]);
        assert_eq!(from_rotation_vector([0.0; 3]), [0.0, 0.0, 0.0, 1.0]);
        assert_eq!(rotation_vector([0.0, -1.0, 0.0, 0.0]), rotation_vector([0.0, 1.0, 0.0, 0.0]));
        let far = from_rotation_vector([0.0, 2e6, 0.0]);
        assert!((far[1] - 1e6_f64.sin()).abs() < 1e-9, "{far:?}");
    }
}
