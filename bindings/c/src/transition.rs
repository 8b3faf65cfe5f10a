//! Transitions and mirrored poses.

use runtime::Pose;
use runtime::blending::Inertialization;
use runtime::mirroring::{self, Mirror};

use crate::guard::{free, guard};
use crate::pose::condyle_pose;
use crate::skeleton::condyle_skeleton;
use crate::status::{condyle_error, condyle_status};
use crate::types::is_shared;

/// Transition of one character from the movement that it shows to another one, without a jump of position or
/// velocity. Only the new movement is sampled.
///
/// One thread at a time may change it; between changes, any number of threads may read it.
pub struct condyle_inertialization {
    transition: Inertialization,
}

/// Pairs of joints that exchange their movements.
///
/// Never changes: any number of threads may use it.
pub struct condyle_mirror {
    mirror: Mirror,
}

const _: () = is_shared::<condyle_inertialization>();
const _: () = is_shared::<condyle_mirror>();

/// Two joints that exchange their movements, for `condyle_mirror_new`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct condyle_joint_pair {
    /// Joint index on one side.
    pub left: u16,
    /// Joint index on the other side.
    pub right: u16,
}

/// Creates a state without a transition. Free it with `condyle_inertialization_free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_inertialization_new(
    skeleton: *const condyle_skeleton,
    transition: *mut *mut condyle_inertialization,
    error: *mut condyle_error,
) -> condyle_status {
    guard(error, || {
        output!(transition);
        let made = Inertialization::new(shared!(skeleton).skeleton.joint_count());
        give!(transition, condyle_inertialization { transition: made });
        Ok(())
    })
}

/// Frees a transition. Null is ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_inertialization_free(transition: *mut condyle_inertialization) {
    free(transition);
}

/// Starts a transition, and replaces one that is running.
///
/// `previous` and `current` are the last two poses that were shown. `target` is the pose of the new movement
/// now, and `next` the one `step` seconds later; pass `target` twice if its velocity is unknown. `step` is
/// also the time between `previous` and `current`. `duration` is in seconds; 0 shows the target immediately.
///
/// Errors: `CONDYLE_MISMATCH` for another number of joints; `CONDYLE_INVALID_ARGUMENT` for numbers that are
/// not finite. `transition` is then unchanged.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_inertialization_start(
    transition: *mut condyle_inertialization,
    previous: *const condyle_pose,
    current: *const condyle_pose,
    target: *const condyle_pose,
    next: *const condyle_pose,
    step: f32,
    duration: f32,
    error: *mut condyle_error,
) -> condyle_status {
    guard(error, || {
        let before = [&shared!(previous).pose, &shared!(current).pose];
        let after = [&shared!(target).pose, &shared!(next).pose];
        Ok(exclusive!(transition).transition.start(before, after, step, duration)?)
    })
}

/// Adds what remains of the offset, `elapsed` seconds after the start, to a pose of the new movement. After
/// the duration, the pose stays unchanged.
///
/// Errors: `CONDYLE_MISMATCH` for another number of joints; `CONDYLE_INVALID_ARGUMENT` if `elapsed` is not
/// finite. `pose` is then unchanged.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_inertialization_apply(
    transition: *const condyle_inertialization,
    elapsed: f32,
    pose: *mut condyle_pose,
    error: *mut condyle_error,
) -> condyle_status {
    guard(error, || {
        let (it, pose) = (&shared!(transition).transition, exclusive!(pose));
        Ok(it.apply(elapsed, &mut pose.pose)?)
    })
}

/// Prepares mirrored poses of a skeleton. Free it with `condyle_mirror_free`.
///
/// `pairs` is null for the pairs that the names of the joints give, such as `hand.L` and `hand.R`. `normal`
/// has three numbers: the direction perpendicular to the plane in model space. Null is x, for a character
/// that faces along z.
///
/// Errors: `CONDYLE_MISMATCH` for joints that do not exist; `CONDYLE_INVALID_ARGUMENT` for a joint in two
/// pairs, a pair whose parents are not a pair, and a normal without a direction.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_mirror_new(
    skeleton: *const condyle_skeleton,
    pairs: *const condyle_joint_pair,
    pair_count: usize,
    normal: *const f32,
    mirror: *mut *mut condyle_mirror,
    error: *mut condyle_error,
) -> condyle_status {
    guard(error, || {
        output!(mirror);
        let skeleton = &shared!(skeleton).skeleton;
        let pairs = if pairs.is_null() && pair_count == 0 {
            mirroring::pairs(skeleton)
        } else {
            elements!(pairs, pair_count).iter().map(|it| (it.left, it.right)).collect()
        };
        let normal = normal.cast::<[f32; 3]>();
        let normal = optional!(normal).copied().unwrap_or([1.0, 0.0, 0.0]);
        give!(mirror, condyle_mirror { mirror: Mirror::new(skeleton, &pairs, normal)? });
        Ok(())
    })
}

/// Frees a mirror. Null is ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_mirror_free(mirror: *mut condyle_mirror) {
    free(mirror);
}

/// Mirrors a pose. `pose` may be null or `mirrored`: `mirrored` is then changed in place.
///
/// Errors: `CONDYLE_MISMATCH` for another number of joints. `mirrored` is then unchanged.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_mirror_pose(
    mirror: *const condyle_mirror,
    pose: *const condyle_pose,
    mirrored: *mut condyle_pose,
    error: *mut condyle_error,
) -> condyle_status {
    guard(error, || {
        let sides = &shared!(mirror).mirror;
        let pose = if std::ptr::eq(pose, mirrored) { std::ptr::null() } else { pose };
        let pose: Option<&Pose> = optional!(pose).map(|it| &it.pose);
        Ok(runtime::mirror(sides, pose, &mut exclusive!(mirrored).pose)?)
    })
}
