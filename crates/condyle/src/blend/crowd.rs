//! The poses of many instances of one skeleton, mixed, added to and laid over each other.
//!
//! What goes into a pose is a function of the instance, so that each frame names poses where they lie and nobody
//! keeps a list of them.

use core::borrow::Borrow;

use super::add::{self, add, add_in_place};
use super::layer::{Additive, Layer, Mean};
use super::overlay::{Overlay, overlay, overlay_in_place};
use super::{about, check};
use crate::error::Error;
use crate::parallel;
use crate::pose::Pose;
use crate::skeleton::Skeleton;

/// The poses of many instances of one skeleton, each mixed of its own layers: [`blend`](crate::blend()) for each, with
/// the same bits.
///
/// `layers` says what goes into an instance, by its place in `poses`. An instance that needs fewer layers than others
/// gives the rest a weight of 0. It is asked twice, first for what has to be refused, and on any of the threads that
/// the feature `rayon` uses.
///
/// # Errors
/// As [`blend`](crate::blend()). All `poses` are then unchanged, if `layers` answers the same both times.
///
/// ```
/// use condyle::blend::{self, Mean};
/// use condyle::{Joint, Layer, Pose, Skeleton, Transform};
///
/// let at = |x| Transform { translation: [x, 0.0, 0.0], ..Transform::IDENTITY };
/// let skeleton = Skeleton::new([Joint::new("hips", None, at(0.0))])?;
/// // Of three characters, sampled before, the first walks, the last runs.
/// let (walks, runs) = ([1.0, 1.5, 2.0], [5.0, 5.5, 6.0]);
/// let [walks, runs] = [walks, runs].map(|all| all.map(|x| Pose::from_transforms(&[at(x)])));
/// let speeds = [0.0, 0.5, 1.0];
/// let layers = |i: usize| [Layer::new(&walks[i], 1.0 - speeds[i]), Layer::new(&runs[i], speeds[i])];
/// let mut poses = vec![Pose::rest(&skeleton); 3];
/// blend::crowd(&skeleton, layers, Mean::Linear, &mut poses)?;
/// assert_eq!([0, 1, 2].map(|i| poses[i].get(0)), [at(1.0), at(3.5), at(6.0)]);
/// # Ok::<(), condyle::Error>(())
/// ```
pub fn crowd<'a, const N: usize>(
    skeleton: &Skeleton,
    layers: impl Fn(usize) -> [Layer<'a>; N] + Sync,
    mean: Mean,
    poses: &mut [Pose],
) -> Result<(), Error> {
    for (instance, pose) in poses.iter().enumerate() {
        check(skeleton.rest(), &layers(instance), pose)?;
    }
    parallel::for_each(poses, |instance, pose| about(skeleton.rest(), &layers(instance), mean, pose))
}

/// Adds differences to the poses of many instances: [`add`] for each, with the same bits.
///
/// `bases` holds one [`Pose`] or reference to one per instance. `additives` says what is added to an instance, by its
/// place; it is asked as the layers of [`crowd`] are. Differences of amount 0 add nothing.
///
/// # Errors
/// As [`add`], and [`Error::Length`] if there are not as many of `out` as of `bases`. All of `out` are then unchanged,
/// if `additives` answers the same both times.
///
/// ```
/// use condyle::blend::{self, Additive};
/// use condyle::{Pose, Transform};
///
/// let at = |x| Pose::from_transforms(&[Transform { translation: [x, 0.0, 0.0], ..Transform::IDENTITY }]);
/// let (poses, breath) = ([at(1.0), at(2.0)], at(0.5));
/// // The second one breathes twice as deep.
/// let additives = |i: usize| [Additive::new(&breath, [1.0, 2.0][i])];
/// let mut out = poses.clone();
/// blend::add_crowd(&poses, additives, &mut out)?;
/// assert_eq!(out, [at(1.5), at(3.0)]);
/// # Ok::<(), condyle::Error>(())
/// ```
pub fn add_crowd<'a, const N: usize>(
    bases: &[impl Borrow<Pose> + Sync],
    additives: impl Fn(usize) -> [Additive<'a>; N] + Sync,
    out: &mut [Pose],
) -> Result<(), Error> {
    Error::check_len("out", out.len(), bases.len())?;
    for (instance, (base, out)) in bases.iter().zip(out.iter()).enumerate() {
        add::check(base.borrow(), &additives(instance), out)?;
    }
    parallel::for_each(out, |instance, out| add(bases[instance].borrow(), &additives(instance), out))
}

/// [`add_crowd`] with each result in place of its base: [`add_in_place`] for each, with the same bits.
///
/// # Errors
/// As [`add`]. All `poses` are then unchanged, if `additives` answers the same both times.
///
/// ```
/// use condyle::blend::{self, Additive};
/// use condyle::{Pose, Transform};
///
/// let at = |x| Pose::from_transforms(&[Transform { translation: [x, 0.0, 0.0], ..Transform::IDENTITY }]);
/// let (mut poses, breath) = ([at(1.0), at(2.0)], at(0.5));
/// let additives = |i: usize| [Additive::new(&breath, [1.0, 2.0][i])];
/// blend::add_crowd_in_place(&mut poses, additives)?;
/// assert_eq!(poses, [at(1.5), at(3.0)]);
/// # Ok::<(), condyle::Error>(())
/// ```
pub fn add_crowd_in_place<'a, const N: usize>(
    poses: &mut [Pose],
    additives: impl Fn(usize) -> [Additive<'a>; N] + Sync,
) -> Result<(), Error> {
    for (instance, pose) in poses.iter().enumerate() {
        add::check(pose, &additives(instance), pose)?;
    }
    parallel::for_each(poses, |instance, pose| add_in_place(pose, &additives(instance)))
}

/// Lays a pose over that of each of many instances: [`overlay`] for each, with the same bits.
///
/// `bases` holds one [`Pose`] or reference to one per instance. `overlays` says what is laid over an instance, by its
/// place; it is asked as the layers of [`crowd`] are. An amount of 0 leaves a
/// base as it is, if what is laid over it is finite.
///
/// # Errors
/// As [`overlay`], and [`Error::Length`] if there are not as many of `out` as of `bases`. All of `out` are then
/// unchanged, if `overlays` answers the same both times.
///
/// ```
/// use condyle::blend::{self, Overlay};
/// use condyle::{Pose, Transform};
///
/// let at = |x| Pose::from_transforms(&[Transform { translation: [x, 0.0, 0.0], ..Transform::IDENTITY }]);
/// let (poses, wave) = ([at(1.0), at(2.0)], at(4.0));
/// // The second one waves.
/// let overlays = |i: usize| Overlay::new(&wave, [0.0, 1.0][i]);
/// let mut out = poses.clone();
/// blend::overlay_crowd(&poses, overlays, &mut out)?;
/// assert_eq!(out, [at(1.0), at(4.0)]);
/// # Ok::<(), condyle::Error>(())
/// ```
pub fn overlay_crowd<'a>(
    bases: &[impl Borrow<Pose> + Sync],
    overlays: impl Fn(usize) -> Overlay<'a> + Sync,
    out: &mut [Pose],
) -> Result<(), Error> {
    Error::check_len("out", out.len(), bases.len())?;
    for (instance, (base, out)) in bases.iter().zip(out.iter()).enumerate() {
        overlays(instance).check(base.borrow(), out)?;
    }
    parallel::for_each(out, |instance, out| {
        let Overlay { over, amount, mask } = overlays(instance);
        overlay(bases[instance].borrow(), over, amount, mask, out)
    })
}

/// [`overlay_crowd`] with each result in place of its base: [`overlay_in_place`] for each, with the same bits.
///
/// # Errors
/// As [`overlay`]. All `poses` are then unchanged, if `overlays` answers the same both times.
///
/// ```
/// use condyle::blend::{self, Overlay};
/// use condyle::{Pose, Transform};
///
/// let at = |x| Pose::from_transforms(&[Transform { translation: [x, 0.0, 0.0], ..Transform::IDENTITY }]);
/// let (mut poses, wave) = ([at(1.0), at(2.0)], at(4.0));
/// let overlays = |i: usize| Overlay::new(&wave, [0.0, 0.5][i]);
/// blend::overlay_crowd_in_place(&mut poses, overlays)?;
/// assert_eq!(poses, [at(1.0), at(3.0)]);
/// # Ok::<(), condyle::Error>(())
/// ```
pub fn overlay_crowd_in_place<'a>(
    poses: &mut [Pose],
    overlays: impl Fn(usize) -> Overlay<'a> + Sync,
) -> Result<(), Error> {
    for (instance, pose) in poses.iter().enumerate() {
        overlays(instance).check(pose, pose)?;
    }
    parallel::for_each(poses, |instance, pose| {
        let Overlay { over, amount, mask } = overlays(instance);
        overlay_in_place(pose, over, amount, mask)
    })
}
