//! Operations on 3-vectors and quaternions, for the renderer and the built-in character.

use condyle::Quat;
use condyle::math::{sin_cos, sqrt};
#[doc(inline)]
pub use condyle_base::math::quats::{conjugate as quat_conjugate, product as quat_mul};
#[doc(inline)]
pub use condyle_base::math::vectors::{add, along as add_scaled, cross, dot, lerp, scaled as scale, sub};

/// x, y and z.
pub type Vec3 = [f32; 3];

/// Returns the Euclidean length.
#[must_use]
pub fn length(a: Vec3) -> f32 {
    sqrt(dot(a, a))
}

/// Returns a vector of unit length. A vector that is too short for a direction, or contains NaN, becomes +Y.
#[must_use]
pub fn normalize(a: Vec3) -> Vec3 {
    let len = length(a);
    if len > 1e-20 && len.is_finite() { scale(a, 1.0 / len) } else { [0.0, 1.0, 0.0] }
}

/// Returns three perpendicular unit vectors: one along a direction, and two across it. A right-handed
/// rotation about the first turns the second into the third.
#[must_use]
pub fn frame(direction: Vec3) -> [Vec3; 3] {
    let along = normalize(direction);
    let aside = if along[0].abs() < 0.7 { [1.0, 0.0, 0.0] } else { [0.0, 1.0, 0.0] };
    let side = normalize(cross(along, aside));
    [along, side, cross(along, side)]
}

/// Rotates a vector by a unit quaternion.
#[must_use]
pub fn quat_rotate(q: Quat, v: Vec3) -> Vec3 {
    let axis = [q[0], q[1], q[2]];
    let t = scale(cross(axis, v), 2.0);
    add(add_scaled(v, t, q[3]), cross(axis, t))
}

/// Returns the right-handed rotation about a unit axis.
#[must_use]
pub fn quat_about(axis: Vec3, radians: f32) -> Quat {
    let (sin, cos) = sin_cos(radians * 0.5);
    [axis[0] * sin, axis[1] * sin, axis[2] * sin, cos]
}

/// Returns the rotation from the orthonormal axes `from` to the orthonormal axes `to`.
#[must_use]
pub fn quat_between(from: [Vec3; 3], to: [Vec3; 3]) -> Quat {
    // Row r, column c of the rotation matrix: the sum over the axes of to[r] * from[c].
    let m = |r: usize, c: usize| to.iter().zip(&from).map(|(t, f)| t[r] * f[c]).sum::<f32>();
    let squares = [
        1.0 + m(0, 0) - m(1, 1) - m(2, 2),
        1.0 - m(0, 0) + m(1, 1) - m(2, 2),
        1.0 - m(0, 0) - m(1, 1) + m(2, 2),
        1.0 + m(0, 0) + m(1, 1) + m(2, 2),
    ];
    let largest = (0..4).fold(0, |best, i| if squares[i] > squares[best] { i } else { best });
    let q = match largest {
        0 => [squares[0], m(0, 1) + m(1, 0), m(0, 2) + m(2, 0), m(2, 1) - m(1, 2)],
        1 => [m(0, 1) + m(1, 0), squares[1], m(1, 2) + m(2, 1), m(0, 2) - m(2, 0)],
        2 => [m(0, 2) + m(2, 0), m(1, 2) + m(2, 1), squares[2], m(1, 0) - m(0, 1)],
        _ => [m(2, 1) - m(1, 2), m(0, 2) - m(2, 0), m(1, 0) - m(0, 1), squares[3]],
    };
    let len = sqrt(q.iter().map(|x| x * x).sum());
    q.map(|x| x / len)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_between_axes_takes_each_axis_to_its_partner() {
        let unit = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
        for (axis, radians) in [(0, 0.3), (0, 3.1), (1, -2.9), (2, 3.0), (1, 1.0)] {
            let turn = quat_about(unit[axis], radians);
            let found = quat_between(unit, unit.map(|v| quat_rotate(turn, v)));
            for v in unit {
                let off = length(sub(quat_rotate(found, v), quat_rotate(turn, v)));
                assert!(off < 1e-6, "axis {axis}, {radians} rad: off by {off}");
            }
        }
    }
}
