//! One pose over another: where a mask says so, or everywhere for a cross-fade.

use crate::interpolation::{self, Method, Selection, interpolate_masked};
use crate::pose::Pose;
use condyle_base::error::Error;

/// Lays the pose `over` over the pose `base`: where the amount times the mask is 0 the result is `base`,
/// where it is 1 it is `over`, and in between the mix of the two along the shorter arc.
///
/// With `None` for `base`, `out` holds the base and gets the result.
///
/// `amount` is how much of `over` there is, the rest being `base`: 0 is nothing of it, 1 is all. `mask` is a
/// factor of the amount for each joint; `None` is 1 everywhere. Their product is clamped to [0, 1].
///
/// Both ends come out exactly, the rotations of `over` with the signs that put them on the hemisphere of
/// those of `base`. Without a mask this is [`interpolation::poses`] with the amount, bit for bit: a cross-fade,
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
/// use condyle::blending::overlay;
/// use condyle::{Pose, Transform};
///
/// let at = |x| Pose::from_transforms(&[Transform { translation: [x, 0.0, 0.0], ..Transform::IDENTITY }; 3]);
/// let (walk, wave, mut pose) = (at(1.0), at(3.0), Pose::identity(3));
/// overlay(&walk, &wave, 1.0, Some(&[0.0, 0.5, 1.0]), &mut pose)?;
/// assert_eq!([0, 1, 2].map(|joint| pose.get(joint).translation[0]), [1.0, 2.0, 3.0]);
/// // Half of a nod over both.
/// overlay(None, &at(0.0), 0.5, None, &mut pose)?;
/// assert_eq!([0, 1, 2].map(|joint| pose.get(joint).translation[0]), [0.5, 1.0, 1.5]);
/// # Ok::<(), condyle::Error>(())
/// ```
pub fn overlay<'a>(
    base: impl Into<Option<&'a Pose>>,
    over: &Pose,
    amount: f32,
    mask: Option<&[f32]>,
    out: &mut Pose,
) -> Result<(), Error> {
    let base = base.into();
    let joints = base.unwrap_or(out).joint_count();
    over.check_joints("over", joints)?;
    mask.map_or(Ok(()), |mask| Error::check_len("mask", mask.len(), joints))?;
    Error::check_number("amount", amount)?;
    out.check_joints("out", joints)?;
    match mask {
        Some(mask) => interpolate_masked(base, over, amount, mask, out),
        None => interpolation::poses(base, over, amount, Selection::All, Method::default(), out)?,
    }
    Ok(())
}
