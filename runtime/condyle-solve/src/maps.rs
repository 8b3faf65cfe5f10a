//! Helpers shared by the solvers, in f64: affine maps between joint spaces, rotations between vectors, and
//! argument checks.

use condyle::pose::Pose;
use condyle::skeleton::Skeleton;
use condyle_base::error::Error;
pub(super) use condyle_base::math::Affine64;
use condyle_base::math::quats::{Quat64, product};
use condyle_base::math::scalar::{atan2_f64, sqrt_f64};
pub(super) use condyle_base::math::vectors::{add, length, scaled, sub};
use condyle_base::math::vectors::{cross, dot, normalize};
use condyle_base::math::{Affine, Quat};

pub(super) type Vec64 = [f64; 3];

/// Unit vector in the direction of `v`; `None` if `v` is zero or not finite.
pub(super) fn direction(v: Vec64) -> Option<Vec64> {
    // Scaled first, because squares of very small or very large numbers underflow or overflow.
    let most = v[0].abs().max(v[1].abs()).max(v[2].abs());
    if !(most > 0.0 && most < f64::INFINITY) {
        return None;
    }
    let v = v.map(|v| v / most);
    Some(scaled(v, 1.0 / length(v)))
}

/// A unit vector perpendicular to `v`, always the same for the same `v`.
pub(super) fn across(v: Vec64) -> Vec64 {
    let [x, y, z] = v.map(f64::abs);
    let least = if x <= y && x <= z {
        [1.0, 0.0, 0.0]
    } else if y <= z {
        [0.0, 1.0, 0.0]
    } else {
        [0.0, 0.0, 1.0]
    };
    direction(cross(v, least)).unwrap_or([1.0, 0.0, 0.0])
}

/// The map from a joint's parent space to model space, and its inverse.
pub(super) struct Above {
    pub(super) to_model: Affine64,
    pub(super) from_model: Affine64,
}

/// Maps between model space and the space of a joint's parent.
#[inline]
pub(super) fn above(skeleton: &Skeleton, model: &[Affine], joint: u16) -> Result<Above, Error> {
    let Some(parent) = skeleton.parent(joint).map(usize::from) else {
        return Ok(Above { to_model: Affine64::IDENTITY, from_model: Affine64::IDENTITY });
    };
    let to_model = Affine64::from(&model[parent]);
    let from_model = to_model.inverse().ok_or(Error::NotInvertible { what: "model", at: parent })?;
    Ok(Above { to_model, from_model })
}

/// Product of the rotations of a joint's ancestors: its model-space orientation if its local rotation were
/// the identity.
pub(super) fn turned_above(skeleton: &Skeleton, pose: &Pose, joint: u16) -> Result<Quat64, Error> {
    let mut turned = [0.0, 0.0, 0.0, 1.0];
    let mut at = joint;
    while let Some(parent) = skeleton.parent(at) {
        turned = product(rotation_of(pose, parent)?, turned);
        at = parent;
    }
    Ok(turned)
}

/// Returns the rotation of a joint, checked to be finite. Without the check, normalising would turn a NaN
/// into the identity, and a solution that keeps the rotation would leave the NaN in the pose.
#[inline]
pub(super) fn rotation_of(pose: &Pose, joint: u16) -> Result<Quat64, Error> {
    let rotation = pose.get(joint.into()).rotation;
    if rotation.iter().all(|v| v.is_finite()) {
        Ok(wide(rotation))
    } else {
        Err(Error::NotFinite { what: "pose", at: joint.into() })
    }
}

/// Checks the lengths of `pose` and `model`, and that the joints exist.
#[inline]
pub(super) fn check(
    skeleton: &Skeleton,
    model: &[Affine],
    pose: &Pose,
    what: &'static str,
    joints: impl IntoIterator<Item = u16>,
) -> Result<(), Error> {
    let count = skeleton.joint_count();
    pose.check_joints("pose", count)?;
    Error::check_len("model", model.len(), count)?;
    for (at, joint) in joints.into_iter().map(usize::from).enumerate() {
        if joint >= count {
            return Err(Error::Index { what, at, found: joint, count });
        }
    }
    Ok(())
}

/// Checks that a number is from 0 to 1.
#[inline]
pub(super) fn check_unit(what: &'static str, value: f32) -> Result<(), Error> {
    if (0.0..=1.0).contains(&value) {
        return Ok(());
    }
    Error::check_number(what, value)?;
    Err(Error::OutOfRange { what, at: 0, needed: "from 0 to 1" })
}

#[inline]
pub(super) fn wide(q: Quat) -> Quat64 {
    q.map(f64::from)
}

/// Normalises a quaternion. If it is almost normalised, one Newton step suffices, without root and division.
#[inline]
pub(super) fn unit(q: Quat64) -> Quat64 {
    let off = (q[0] * q[0] + q[1] * q[1]) + (q[2] * q[2] + q[3] * q[3]) - 1.0;
    if off.abs() < 1e-6 {
        return q.map(|v| v * (1.0 - 0.5 * off));
    }
    let mut q = q;
    normalize(&mut q);
    q
}

/// Rotation about a unit vector, from the sine and cosine of the angle times any positive number. Returns the
/// identity if both are 0.
#[inline]
pub(super) fn turn(about: Vec64, sin: f64, cos: f64) -> Quat64 {
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
        let [x, y, z] = scaled(about, s * by);
        [x, y, z, c * by]
    } else {
        [0.0, 0.0, 0.0, 1.0]
    }
}

/// Shortest rotation from the direction of one vector to that of another; the identity if one of them is
/// zero. A half turn is about an arbitrary perpendicular axis.
#[inline]
pub(super) fn arc(from: Vec64, to: Vec64) -> Quat64 {
    let axis = cross(from, to);
    let (cos, sin2) = (dot(from, to), dot(axis, axis));
    let size = sqrt_f64(cos * cos + sin2);
    let w = size + cos;
    let all = w * w + sin2;
    // Near a half turn the axis has no accurate digits left, so another perpendicular axis replaces it.
    if all > 1e-18 * size * size {
        let by = 1.0 / sqrt_f64(all);
        return [axis[0] * by, axis[1] * by, axis[2] * by, w * by];
    }
    if size > 0.0 {
        let [x, y, z] = across(from);
        return [x, y, z, 0.0];
    }
    [0.0, 0.0, 0.0, 1.0]
}

/// Rotation about `line` that brings `from`, which is perpendicular to it, to the side of `to`. The identity
/// if `to` is parallel to `line`.
#[inline]
pub(super) fn swivel(line: Vec64, from: Vec64, to: Vec64) -> Quat64 {
    let size2 = dot(line, line);
    let along = dot(line, to);
    if dot(to, to) * size2 - along * along > 1e-12 * dot(to, to) * size2 {
        let size = sqrt_f64(size2);
        turn(scaled(line, 1.0 / size), dot(line, cross(from, to)), size * dot(from, to))
    } else {
        [0.0, 0.0, 0.0, 1.0]
    }
}

/// Normalised linear interpolation between two rotations along the shorter arc: `from` at 0, `to` at 1.
#[inline]
pub(super) fn nlerp(from: Quat64, to: Quat64, factor: f64) -> Quat64 {
    let near = from[0] * to[0] + from[1] * to[1] + from[2] * to[2] + from[3] * to[3];
    let (p, q) = (1.0 - factor, if near < 0.0 { -factor } else { factor });
    unit([p * from[0] + q * to[0], p * from[1] + q * to[1], p * from[2] + q * to[2], p * from[3] + q * to[3]])
}

/// The angle between two rotations, in radians.
pub(super) fn angle(a: Quat64, b: Quat64) -> f64 {
    let [x, y, z, w] = product(condyle_base::math::quats::conjugate(a), b);
    2.0 * atan2_f64(sqrt_f64(x * x + y * y + z * z), w.abs())
}

/// Replaces the rotation of one joint.
#[inline]
pub(super) fn set_rotation(pose: &mut Pose, joint: u16, rotation: Quat64) {
    let (block, lane) = (usize::from(joint) / 16, usize::from(joint) % 16);
    for (lanes, v) in pose.blocks_mut()[block].rotation.iter_mut().zip(rotation) {
        lanes[lane] = v as f32;
    }
}

/// Checks that the rotations are finite and fit f32. Finite goals give such rotations unless the pose or its
/// matrices are not finite.
#[inline]
pub(super) fn check_pose<const N: usize>(rotations: &[[f64; N]]) -> Result<(), Error> {
    match rotations.iter().position(|q| !q.iter().all(|v| v.abs() < 1e38)) {
        None => Ok(()),
        Some(_) => Err(Error::NotFinite { what: "pose", at: 0 }),
    }
}

/// Checks that a distance fits f32. Even the distance of a finite goal may not.
#[inline]
pub(super) fn check_distance(what: &'static str, at: usize, distance: f64) -> Result<(), Error> {
    match distance {
        d if d < 1e38 => Ok(()),
        d if d.is_finite() => Err(Error::OutOfRange { what, at, needed: "less than 1e38 away" }),
        _ => Err(Error::NotFinite { what: "pose", at: 0 }),
    }
}
