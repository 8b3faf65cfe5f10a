//! One pose over another: where a mask says so, or everywhere for a cross-fade.

use crate::error::Error;
use crate::interpolate::{self, Method, Selection, interpolate_masked};
use crate::pose::Pose;

/// What [`overlay_crowd`](super::overlay_crowd) and [`overlay_crowd_in_place`](super::overlay_crowd_in_place) lay
/// over the pose of an instance.
///
/// ```
/// use condyle::Pose;
/// use condyle::blend::Overlay;
///
/// let wave = Pose::identity(2);
/// let with_the_arm = Overlay { mask: Some(&[0.0, 1.0]), ..Overlay::new(&wave, 0.5) };
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Overlay<'a> {
    /// What is laid over another pose.
    pub over: &'a Pose,
    /// How much of it there is, as [`overlay`] takes it.
    pub amount: f32,
    /// A factor of the amount for each joint. `None`: 1 everywhere.
    pub mask: Option<&'a [f32]>,
}

impl<'a> Overlay<'a> {
    /// An overlay on all joints alike.
    #[must_use]
    pub fn new(over: &'a Pose, amount: f32) -> Self {
        Self { over, amount, mask: None }
    }

    /// That it fits `base` and `out`, and has an amount.
    pub(super) fn check(&self, base: &Pose, out: &Pose) -> Result<(), Error> {
        let joints = base.joint_count();
        self.over.check_joints("over", joints)?;
        self.mask.map_or(Ok(()), |mask| Error::check_len("mask", mask.len(), joints))?;
        Error::check_number("amount", self.amount)?;
        out.check_joints("out", joints)
    }
}

/// Lays the pose `over` over the pose `base`: where the amount times the mask is 0 the result is `base`,
/// where it is 1 it is `over`, and in between the mix of the two along the shorter arc.
///
/// `amount` is how much of `over` there is, the rest being `base`: 0 is nothing of it, 1 is all. `mask` is a
/// factor of the amount for each joint; `None` is 1 everywhere. Their product is clamped to [0, 1].
///
/// Both ends come out exactly, the rotations of `over` with the signs that put them on the hemisphere of
/// those of `base`. Without a mask this is [`interpolate::poses`] with the amount, bit for bit: a cross-fade,
/// to which a [`Fade`](super::Fade) gives the amount; with a mask it is the same with a factor per joint.
/// Several overlays are one call after the other, each over the result of the one before: unlike in
/// [`blend`](super::blend) their order matters.
///
/// The error of a component of a rotation is at most 2.3e-7, of a translation or scale 1.2e-7 of the greater of
/// the two. What is not finite in either pose makes that joint's component NaN, at both ends too, unlike in
/// [`blend`](super::blend) and [`add`](super::add()), where what counts for nothing may hold anything; a mask that is NaN
/// its whole joint.
///
/// # Errors
/// [`Error::Length`] if `over`, `mask` or `out` does not hold as many joints as `base`; [`Error::NotFinite`]
/// for an amount that is NaN or infinite. `out` is then unchanged.
///
/// ```
/// use condyle::blend::overlay;
/// use condyle::{Pose, Transform};
///
/// let at = |x| Pose::from_transforms(&[Transform { translation: [x, 0.0, 0.0], ..Transform::IDENTITY }; 3]);
/// let (walk, wave, mut pose) = (at(1.0), at(3.0), Pose::identity(3));
/// overlay(&walk, &wave, 1.0, Some(&[0.0, 0.5, 1.0]), &mut pose)?;
/// assert_eq!([0, 1, 2].map(|joint| pose.get(joint).translation[0]), [1.0, 2.0, 3.0]);
/// # Ok::<(), condyle::Error>(())
/// ```
pub fn overlay(
    base: &Pose,
    over: &Pose,
    amount: f32,
    mask: Option<&[f32]>,
    out: &mut Pose,
) -> Result<(), Error> {
    Overlay { over, amount, mask }.check(base, out)?;
    match mask {
        Some(mask) => interpolate_masked(Some(base), over, amount, mask, out),
        None => interpolate::poses(base, over, amount, Selection::All, Method::default(), out)?,
    }
    Ok(())
}

/// [`overlay`] with the result in place of the base.
///
/// # Errors
/// As [`overlay`]. `pose` is then unchanged.
///
/// ```
/// use condyle::blend::overlay_in_place;
/// use condyle::{Pose, Transform};
///
/// let at = |x| Pose::from_transforms(&[Transform { translation: [x, 0.0, 0.0], ..Transform::IDENTITY }]);
/// // A walk, half of a wave over it, and a quarter of a nod over both.
/// let (mut pose, wave, nod) = (at(1.0), at(3.0), at(6.0));
/// overlay_in_place(&mut pose, &wave, 0.5, None)?;
/// overlay_in_place(&mut pose, &nod, 0.25, None)?;
/// assert_eq!(pose, at(3.0));
/// # Ok::<(), condyle::Error>(())
/// ```
pub fn overlay_in_place(
    pose: &mut Pose,
    over: &Pose,
    amount: f32,
    mask: Option<&[f32]>,
) -> Result<(), Error> {
    Overlay { over, amount, mask }.check(pose, pose)?;
    match mask {
        Some(mask) => interpolate_masked(None, over, amount, mask, pose),
        None => interpolate::poses_in_place(pose, over, amount, Selection::All, Method::default())?,
    }
    Ok(())
}
