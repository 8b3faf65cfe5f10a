//! Helpers shared by the solvers: affine maps between joint spaces in f64, and argument checks.

use condyle::pose::Pose;
use condyle::skeleton::Skeleton;
use condyle_base::error::Error;
pub(super) use condyle_base::math::Affine64;
use condyle_base::math::quats::{self, Quat64, product};
pub(super) use condyle_base::math::quats::{about_by as turn, arc, nlerp, swivel, unit};
pub(super) use condyle_base::math::vectors::{add, direction, length, perpendicular as across, scaled, sub};
use condyle_base::math::{Affine, Quat};

pub(super) type Vec64 = [f64; 3];

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

/// The angle between two rotations, in radians.
pub(super) fn angle(a: Quat64, b: Quat64) -> f64 {
    quats::angle(product(quats::conjugate(a), b))
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
