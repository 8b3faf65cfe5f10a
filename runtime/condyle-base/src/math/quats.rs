//! Quaternions in f64, for code outside the hot path and for exact results.

use core::ops::Neg;

use super::real::Real;
use super::scalar::{atan2_f64, sin_cos_f64, sin_f64, sinc_cos, sqrt_f64};
use super::vectors::{Component, cross, direction, dot, normalize, perpendicular, scaled};

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

/// The identity rotation.
pub const IDENTITY: Quat64 = [0.0, 0.0, 0.0, 1.0];

/// Returns `q` with unit length, to within 4e-13: one Newton step within 1e-6 of unit length. For results
/// that become f32; [`renormalized`] is exact to the last place.
#[inline]
pub fn unit(q: Quat64) -> Quat64 {
    let off = (q[0] * q[0] + q[1] * q[1]) + (q[2] * q[2] + q[3] * q[3]) - 1.0;
    if off.abs() < 1e-6 {
        return q.map(|v| v * (1.0 - 0.5 * off));
    }
    let mut q = q;
    normalize(&mut q);
    q
}

/// Returns the rotation about a unit axis by an angle in radians.
#[inline]
pub fn about([x, y, z]: [f64; 3], angle: f64) -> Quat64 {
    let (sin, cos) = sin_cos_f64(0.5 * angle);
    [x * sin, y * sin, z * sin, cos]
}

/// Returns the rotation about a unit axis, from the sine and cosine of the angle times any positive number.
/// The identity if both are 0.
#[inline]
pub fn about_by(axis: [f64; 3], sin: f64, cos: f64) -> Quat64 {
    let size = sqrt_f64(sin * sin + cos * cos);
    // Half of the angle. Each form suffers cancellation where the other one is accurate.
    let (s, c) = if cos >= 0.0 {
        (sin, size + cos)
    } else if sin >= 0.0 {
        (size - cos, sin)
    } else {
        (cos - size, -sin)
    };
    let all = s * s + c * c;
    if all > 0.0 && all < f64::INFINITY {
        let by = 1.0 / sqrt_f64(all);
        let [x, y, z] = scaled(axis, s * by);
        [x, y, z, c * by]
    } else {
        IDENTITY
    }
}

/// Returns the shortest rotation from the direction of one vector to that of another; the identity if one of
/// them is zero. A half turn is about an arbitrary perpendicular axis, always the same for the same `from`.
#[inline]
pub fn arc(from: [f64; 3], to: [f64; 3]) -> Quat64 {
    shortest(from, to).unwrap_or_else(|| half_turn(perpendicular(from)))
}

/// [`arc`], where a half turn is about `axis`, or the part of it that is perpendicular to `from`.
#[inline]
pub fn arc_or(from: [f64; 3], to: [f64; 3], axis: [f64; 3]) -> Quat64 {
    shortest(from, to).unwrap_or_else(|| {
        let across = cross(cross(from, axis), from);
        // An axis along `from` does not define a half turn.
        let is_across = dot(across, across) > 1e-12 * dot(axis, axis) * dot(from, from) * dot(from, from);
        half_turn(direction(across).filter(|_| is_across).unwrap_or_else(|| perpendicular(from)))
    })
}

/// Returns the shortest rotation between two directions; `None` for opposite ones, which have no axis.
#[inline]
fn shortest(from: [f64; 3], to: [f64; 3]) -> Option<Quat64> {
    let axis = cross(from, to);
    let (cos, sin2) = (dot(from, to), dot(axis, axis));
    let size = sqrt_f64(cos * cos + sin2);
    let w = size + cos;
    let all = w * w + sin2;
    // Near a half turn the axis has no accurate digits left.
    if all > 1e-18 * size * size {
        let by = 1.0 / sqrt_f64(all);
        return Some([axis[0] * by, axis[1] * by, axis[2] * by, w * by]);
    }
    if size > 0.0 { None } else { Some(IDENTITY) }
}

/// Returns the half turn about a unit axis.
fn half_turn([x, y, z]: [f64; 3]) -> Quat64 {
    [x, y, z, 0.0]
}

/// Returns the rotation about `line` that brings `from`, which is perpendicular to it, to the side of `to`.
/// The identity if `to` is parallel to `line`.
#[inline]
pub fn swivel(line: [f64; 3], from: [f64; 3], to: [f64; 3]) -> Quat64 {
    let size2 = dot(line, line);
    let along = dot(line, to);
    if dot(to, to) * size2 - along * along > 1e-12 * dot(to, to) * size2 {
        let size = sqrt_f64(size2);
        about_by(scaled(line, 1.0 / size), dot(line, cross(from, to)), size * dot(from, to))
    } else {
        IDENTITY
    }
}

/// Returns the normalised linear interpolation between two rotations along the shorter arc: `from` at 0, `to`
/// at 1.
#[inline]
pub fn nlerp(from: Quat64, to: Quat64, factor: f64) -> Quat64 {
    let near = from[0] * to[0] + from[1] * to[1] + from[2] * to[2] + from[3] * to[3];
    let (p, q) = (1.0 - factor, if near < 0.0 { -factor } else { factor });
    unit([p * from[0] + q * to[0], p * from[1] + q * to[1], p * from[2] + q * to[2], p * from[3] + q * to[3]])
}

/// Returns the angle of a rotation, in radians, from 0 to π.
#[inline]
#[must_use]
pub fn angle([x, y, z, w]: Quat64) -> f64 {
    2.0 * atan2_f64(sqrt_f64(x * x + y * y + z * z), w.abs())
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

    /// Zero vectors, opposite vectors, and vectors that nearly are.
    #[test]
    fn arcs_take_any_vector_to_any_other() {
        let mut random = Random(41);
        let axis = [0.0, 0.0, 1.0];
        for round in 0..tries(2000) {
            let from: [f64; 3] = random.vector(2.0).map(f64::from);
            let to: [f64; 3] = match round % 4 {
                0 => from.map(|v| -v),
                // Within 1e-11 to 0.1 of parallel or opposite.
                1 | 2 => {
                    let off: [f64; 3] =
                        random.vector(10.0_f32.powi(-(round as i32 / 4 % 11) - 1)).map(f64::from);
                    core::array::from_fn(|c| if round % 4 == 1 { off[c] - from[c] } else { from[c] + off[c] })
                }
                _ => random.vector(5.0).map(f64::from),
            };
            let (Some(u), Some(v)) = (direction(from), direction(to)) else { continue };
            for q in [arc(from, to), arc_or(from, to, axis), arc_or(from, to, from)] {
                assert!((q.iter().map(|v| v * v).sum::<f64>() - 1.0).abs() < 1e-12, "{from:?} {to:?}: {q:?}");
                // The axis of nearly opposite vectors has few accurate digits.
                let limit = if dot(u, v) < -0.9 { 3e-7 } else { 1e-13 };
                assert!(far(rotate(q, u), v) < limit, "{from:?} {to:?}: {q:?}");
                assert!(
                    (angle(q) - 2.0 * (0.5 * far_apart(u, v)).min(1.0).asin()).abs() < 1e-7,
                    "{from:?} {to:?}"
                );
            }
        }
        for [from, to] in [[[0.0; 3], axis], [axis, [0.0; 3]], [[0.0; 3]; 2], [axis; 2]] {
            assert_eq!((arc(from, to), arc_or(from, to, axis)), (IDENTITY, IDENTITY), "{from:?} {to:?}");
        }
        // A half turn about the given axis, or about its part across.
        let x = [1.0, 0.0, 0.0];
        for given in [axis, [5.0, 0.0, 1e-3]] {
            assert!(far(arc_or(x, [-2.0, 0.0, 0.0], given), [0.0, 0.0, 1.0, 0.0]) < 1e-12, "{given:?}");
        }
        assert_eq!(arc(x, [-2.0, 0.0, 0.0]), arc_or(x, [-1.0, 0.0, 0.0], [0.0; 3]));
    }

    fn far_apart(a: [f64; 3], b: [f64; 3]) -> f64 {
        a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
    }

    #[test]
    fn turns_about_an_axis_agree() {
        let axis = [0.6, 0.0, -0.8];
        for step in -31..=31 {
            let angle = 0.1 * f64::from(step);
            let want = from_rotation_vector(axis.map(|v| v * angle));
            assert!(far(about(axis, angle), want) < 1e-11, "{angle}");
            let (sin, cos) = angle.sin_cos();
            for size in [1e-6, 1.0, 1e6] {
                let got = near(want, about_by(axis, size * sin, size * cos));
                assert!(far(got, want) < 1e-11, "{angle} {size}");
            }
        }
        assert_eq!(about_by(axis, 0.0, 0.0), IDENTITY);
        // A quarter turn about the line to the goal, and a side along the line.
        let [x, y, z] = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
        assert!(far(rotate(swivel(z, x, [0.0, 3.0, 7.0]), x), y) < 1e-15);
        assert_eq!(swivel(z, x, [0.0, 0.0, 2.0]), IDENTITY);
    }

    #[test]
    fn interpolation_takes_the_shorter_arc() {
        let turn = about([0.0, 1.0, 0.0], 1.0);
        for to in [turn, turn.map(|v| -v)] {
            assert!((angle(nlerp(IDENTITY, to, 0.5)) - 0.5).abs() < 1e-12);
            assert!((angle(nlerp(IDENTITY, to, 1.0)) - 1.0).abs() < 1e-12);
        }
        for length in [0.5, 1.0 - 4e-7, 1.0, 1.0 + 4e-7, 3.0] {
            assert!((super::unit([0.0, 0.6 * length, 0.0, 0.8 * length])[3] - 0.8).abs() < 4e-13, "{length}");
        }
        assert_eq!(super::unit([0.0; 4]), IDENTITY);
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
