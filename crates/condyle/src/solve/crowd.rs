//! The poses of many instances of one skeleton, each with its own goal.

use super::aim::direct as pointing;
use super::lanes::LANES;
use super::maps::check;
use super::two_bone::direct as limb;
use super::{Aim, Reached, TwoBone, aim, two_bone};
use crate::error::Error;
use crate::math::Affine;
use crate::parallel;
use crate::pose::Pose;
use crate::skeleton::Skeleton;

/// An arm or a leg of each of many instances of one skeleton: [`two_bone`](super::two_bone()) for each, with the same bits.
///
/// `models` holds the matrices of the first pose, one per joint, then those of the second, as
/// [`model::crowd`](crate::model::crowd()) writes them. `reaches` says what an instance is to reach, by its place in `poses`; it is asked on any of the
/// threads that the feature `rayon` uses. `results` receives for each instance what [`two_bone`](super::two_bone()) would return: whoever cannot be solved stays as it is,
/// and keeps nobody else from it. Nothing is allocated.
///
/// Limbs whose joints hang directly on one another are bent side by side, four at a time, where all four have a pole or none, and neither limits nor an
/// orientation.
///
/// # Errors
/// [`Error::Length`] if `results` does not hold one element per pose, or `models` not one matrix per pose and joint. All poses are then unchanged.
///
/// ```
/// use condyle::model::{self, CrowdBuffer};
/// use condyle::solve::{self, Reached, TwoBone};
/// use condyle::{Affine, Joint, Pose, Skeleton, Transform};
///
/// let along = |y| Transform { translation: [0.0, y, 0.0], ..Transform::IDENTITY };
/// let leg = [
///     Joint::new("hip", None, along(1.0)),
///     Joint::new("knee", Some(0), along(-0.5)),
///     Joint::new("foot", Some(1), along(-0.5)),
/// ];
/// let skeleton = Skeleton::new(leg)?;
/// let mut poses = vec![Pose::rest(&skeleton); 5];
/// let mut models = vec![Affine::IDENTITY; 5 * 3];
/// model::crowd(&skeleton, &poses, &mut CrowdBuffer::default(), &mut models)?;
///
/// // Each on a stair of its own.
/// let stair = |at: usize| TwoBone {
///     pole: Some([0.0, 0.0, 1.0]),
///     ..TwoBone::new([0, 1, 2], [0.0, 0.1 * (at + 1) as f32, 0.0])
/// };
/// let mut results = vec![Ok(Reached::default()); 5];
/// solve::two_bone_crowd(&skeleton, &models, stair, &mut poses, &mut results)?;
/// for reached in results {
///     assert!(reached?.distance < 1e-6);
/// }
/// # Ok::<(), condyle::Error>(())
/// ```
pub fn two_bone_crowd<'a>(
    skeleton: &Skeleton,
    models: &[Affine],
    reaches: impl Fn(usize) -> TwoBone<'a> + Sync,
    poses: &mut [Pose],
    results: &mut [Result<Reached, Error>],
) -> Result<(), Error> {
    in_groups(skeleton, (models, reaches), (poses, results), several_limbs, two_bone)
}

/// A joint of each of many instances of one skeleton that points: [`aim`](super::aim()) for each, with the same bits.
///
/// Otherwise as [`two_bone_crowd`]; four at a time turn side by side, where none has limits and all four have an `up` or none.
///
/// # Errors
/// As [`two_bone_crowd`].
///
/// ```
/// use condyle::model::{self, CrowdBuffer};
/// use condyle::solve::{self, Aim, Reached};
/// use condyle::{Affine, Joint, Pose, Skeleton, Transform};
///
/// let up = Transform { translation: [0.0, 1.5, 0.0], ..Transform::IDENTITY };
/// let skeleton = Skeleton::new([Joint::new("head", None, up)])?;
/// let mut poses = vec![Pose::rest(&skeleton); 3];
/// let mut models = vec![Affine::IDENTITY; 3];
/// model::crowd(&skeleton, &poses, &mut CrowdBuffer::default(), &mut models)?;
///
/// // All of them look at what is nearer to each.
/// let look = |at: usize| Aim::new(0, [0.0, 0.0, 1.0], [at as f32, 1.5, 2.0]);
/// let mut results = vec![Ok(Reached::default()); 3];
/// solve::aim_crowd(&skeleton, &models, look, &mut poses, &mut results)?;
/// assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 3);
/// # Ok::<(), condyle::Error>(())
/// ```
pub fn aim_crowd<'a>(
    skeleton: &Skeleton,
    models: &[Affine],
    aims: impl Fn(usize) -> Aim<'a> + Sync,
    poses: &mut [Pose],
    results: &mut [Result<Reached, Error>],
) -> Result<(), Error> {
    in_groups(skeleton, (models, aims), (poses, results), several_aims, aim)
}

/// What `several` does for as many instances as there are lanes, and `alone` for each of those that are left.
fn in_groups<W>(
    skeleton: &Skeleton,
    (models, wanted): (&[Affine], impl Fn(usize) -> W + Sync),
    (poses, results): (&mut [Pose], &mut [Result<Reached, Error>]),
    several: impl Fn(&Skeleton, &[Affine], &[W; LANES], &mut [Pose; LANES], &mut [Result<Reached, Error>; LANES])
    + Sync,
    alone: impl Fn(&Skeleton, &[Affine], &W, &mut Pose) -> Result<Reached, Error> + Sync,
) -> Result<(), Error> {
    let count = skeleton.joint_count();
    check_lengths(count, models, poses, results)?;
    let mut scratch = parallel::no_scratch(poses.len());
    parallel::for_each_part_of_two(poses, results, &mut scratch, |first, poses, results, ()| {
        let all = poses.chunks_mut(LANES).zip(results.chunks_mut(LANES));
        for (at, (poses, results)) in (first..).step_by(LANES).zip(all) {
            let models = &models[at * count..][..poses.len() * count];
            if let (Ok(poses), Ok(results)) = ((&mut *poses).try_into(), (&mut *results).try_into()) {
                several(skeleton, models, &core::array::from_fn(|lane| wanted(at + lane)), poses, results);
            } else {
                for (lane, (pose, result)) in poses.iter_mut().zip(results).enumerate() {
                    *result = alone(skeleton, &models[lane * count..][..count], &wanted(at + lane), pose);
                }
            }
        }
        Ok(())
    })
}

/// [`two_bone`] for several poses, side by side where they can be. `models` holds the matrices of one after the other.
fn several_limbs(
    skeleton: &Skeleton,
    models: &[Affine],
    reaches: &[TwoBone<'_>; LANES],
    poses: &mut [Pose; LANES],
    results: &mut [Result<Reached, Error>; LANES],
) {
    let count = skeleton.joint_count();
    let of = |at: usize| &models[at * count..][..count];
    let (mut lanes, has_pole) = (limb::InLanes::NEW, reaches[0].pole.is_some());
    let alike = reaches.iter().zip(poses.iter()).enumerate().all(|(at, (reach, pose))| {
        let is_there = check(skeleton, of(at), pose, "joints", reach.joints).is_ok();
        let joints = if is_there { limb::Source::new(skeleton, of(at), reach, pose) } else { None };
        joints.is_some_and(|joints| {
            lanes.set(at, &joints);
            reach.pole.is_some() == has_pole
        })
    });
    let turned = if alike { lanes.solve(has_pole) } else { [None; LANES] };
    for (at, turned) in turned.into_iter().enumerate() {
        let (reach, pose) = (&reaches[at], &mut poses[at]);
        results[at] = match turned {
            Some(turned) => Ok(limb::write(reach, turned, pose)),
            None => two_bone(skeleton, of(at), reach, pose),
        };
    }
}

/// The same of [`aim`].
fn several_aims(
    skeleton: &Skeleton,
    models: &[Affine],
    aims: &[Aim<'_>; LANES],
    poses: &mut [Pose; LANES],
    results: &mut [Result<Reached, Error>; LANES],
) {
    let count = skeleton.joint_count();
    let of = |at: usize| &models[at * count..][..count];
    let (mut lanes, has_up) = (pointing::InLanes::NEW, aims[0].up.is_some());
    let alike = aims.iter().zip(poses.iter()).enumerate().all(|(at, (aim, pose))| {
        let is_there = check(skeleton, of(at), pose, "joint", [aim.joint]).is_ok();
        let joint = if is_there { pointing::Source::new(skeleton, of(at), aim, pose) } else { None };
        joint.is_some_and(|joint| {
            lanes.set(at, &joint);
            aim.up.is_some() == has_up
        })
    });
    let turned = if alike { lanes.solve(has_up) } else { [None; LANES] };
    for (at, turned) in turned.into_iter().enumerate() {
        let (one, pose) = (&aims[at], &mut poses[at]);
        results[at] = match turned {
            Some(turned) => Ok(pointing::write(one, turned, pose)),
            None => aim(skeleton, of(at), one, pose),
        };
    }
}

fn check_lengths(
    joint_count: usize,
    models: &[Affine],
    poses: &[Pose],
    results: &[Result<Reached, Error>],
) -> Result<(), Error> {
    Error::check_len("models", models.len(), joint_count * poses.len())?;
    Error::check_len("results", results.len(), poses.len())
}
