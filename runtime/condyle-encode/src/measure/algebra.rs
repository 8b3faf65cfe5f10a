//! Logarithms and angles of rotations in f64, and the vectors and matrices that the encoder uses.

pub(crate) use condyle_base::math::Affine64;
pub(crate) use condyle_base::math::matrices::{apply, scaled_columns, solve, times, transposed};
use condyle_base::math::quats::{Quat64, conjugate, product};
use condyle_base::math::scalar::atan2_f64;
use condyle_base::math::vectors::dot;
pub(crate) use condyle_base::math::vectors::{add, length, sub};

pub(crate) type Vector = [f64; 3];

/// Logarithm of the rotation `q` that is nearest to `near`: continuous when a joint rotates through whole
/// revolutions.
pub(crate) fn log_near(q: Quat64, near: Vector) -> Vector {
    use core::f64::consts::PI;
    let v = [q[0], q[1], q[2]];
    let sine = length(v);
    if sine < 1e-12 {
        // A whole revolution has no axis: uses the axis of `near`.
        let turned = length(near);
        let turns = ((turned / PI + 0.5) as i64) as f64;
        return if turned > 0.0 { near.map(|n| n * (turns * PI / turned)) } else { [0.0; 3] };
    }
    let axis = v.map(|v| v / sine);
    let angle = atan2_f64(sine, q[3]);
    let off = (dot(axis, near) - angle) / PI;
    let turns = ((if off < 0.0 { off - 0.5 } else { off + 0.5 }) as i64) as f64;
    axis.map(|a| a * (angle + turns * PI))
}

/// Angle between two rotations, approximated by twice the sine of its half: accurate for small angles.
pub(crate) fn turned(a: Quat64, b: Quat64) -> f64 {
    let [x, y, z, _] = product(conjugate(a), b);
    2.0 * length([x, y, z])
}

#[cfg(test)]
mod tests {
    use super::*;
    use condyle_base::math::quats;

    #[test]
    fn logarithms_go_on_through_whole_turns() {
        let axis = [0.6, 0.0, 0.8];
        let mut near = [0.0; 3];
        for step in -40..=40 {
            let angle = f64::from(step) * 0.3;
            if step == -40 {
                near = axis.map(|a| a * angle);
            }
            let q = quats::exp(axis.map(|a| a * angle));
            near = log_near(q, near);
            for c in 0..3 {
                assert!((near[c] - axis[c] * angle).abs() < 1e-9, "{angle}: {near:?}");
            }
        }
        assert_eq!(log_near([0.0, 0.0, 0.0, -1.0], [0.0; 3]), [0.0; 3]);
    }
}
