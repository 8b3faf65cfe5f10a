//! Poses: the local transforms of all joints.

use runtime::Pose;

use crate::guard::{free, guard};
use crate::pointer::check_other;
use crate::skeleton::condyle_skeleton;
use crate::status::{CONDYLE_NOT_FOUND, Fault, condyle_error, condyle_status};
use crate::types::{condyle_transform, is_shared};

/// Local transforms of all joints, in blocks for vector instructions.
///
/// One thread at a time may change it; between changes, any number of threads may read it.
pub struct condyle_pose {
    pub(crate) pose: Pose,
}

const _: () = is_shared::<condyle_pose>();

/// Creates a pose: the rest pose of a skeleton. Free it with `condyle_pose_free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_pose_new(
    skeleton: *const condyle_skeleton,
    pose: *mut *mut condyle_pose,
    error: *mut condyle_error,
) -> condyle_status {
    guard(error, || {
        output!(pose);
        let rest = Pose::rest(&shared!(skeleton).skeleton);
        give!(pose, condyle_pose { pose: rest });
        Ok(())
    })
}

/// Frees a pose. Null is ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_pose_free(pose: *mut condyle_pose) {
    free(pose);
}

/// Sets all joints to the rest pose of the skeleton.
///
/// Errors: `CONDYLE_MISMATCH` if the pose has another number of joints.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_pose_set_rest(
    skeleton: *const condyle_skeleton,
    pose: *mut condyle_pose,
    error: *mut condyle_error,
) -> condyle_status {
    guard(error, || {
        let (skeleton, pose) = (shared!(skeleton), exclusive!(pose));
        copy(skeleton.skeleton.rest(), &mut pose.pose)
    })
}

/// Copies a pose to another one of the same number of joints.
///
/// Errors: `CONDYLE_MISMATCH`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_pose_copy(
    from: *const condyle_pose,
    to: *mut condyle_pose,
    error: *mut condyle_error,
) -> condyle_status {
    guard(error, || {
        check_other(["from", "to"], from, to)?;
        let (from, to) = (shared!(from), exclusive!(to));
        copy(&from.pose, &mut to.pose)
    })
}

/// Copies without an allocation.
fn copy(from: &Pose, to: &mut Pose) -> Result<(), Fault> {
    runtime::Error::check_len("pose", to.joint_count(), from.joint_count())?;
    to.blocks_mut().copy_from_slice(from.blocks());
    Ok(())
}

/// Reads the local transforms of `count` joints, beginning with joint `first`.
///
/// Errors: `CONDYLE_NOT_FOUND` if the pose has fewer joints.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_pose_get(
    pose: *const condyle_pose,
    first: usize,
    transforms: *mut condyle_transform,
    count: usize,
    error: *mut condyle_error,
) -> condyle_status {
    guard(error, || {
        let pose = shared!(pose);
        check_joints(&pose.pose, first, count)?;
        for (joint, out) in (first..).zip(elements_mut!(transforms, count)) {
            *out = pose.pose.get(joint).into();
        }
        Ok(())
    })
}

/// Changes the local transforms of `count` joints, beginning with joint `first`. Rotations must have unit
/// length; they are not normalised.
///
/// Errors: `CONDYLE_NOT_FOUND` if the pose has fewer joints.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_pose_set(
    pose: *mut condyle_pose,
    first: usize,
    transforms: *const condyle_transform,
    count: usize,
    error: *mut condyle_error,
) -> condyle_status {
    guard(error, || {
        let pose = exclusive!(pose);
        check_joints(&pose.pose, first, count)?;
        for (joint, transform) in (first..).zip(elements!(transforms, count)) {
            pose.pose.set(joint, &(*transform).into());
        }
        Ok(())
    })
}

fn check_joints(pose: &Pose, first: usize, count: usize) -> Result<(), Fault> {
    let joints = pose.joint_count();
    if first.checked_add(count).is_some_and(|end| end <= joints) {
        return Ok(());
    }
    let text = format!("joints from {first}, {count} of them: the pose has {joints}");
    Err(Fault::Other(CONDYLE_NOT_FOUND, text))
}
