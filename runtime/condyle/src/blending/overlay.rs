//! One pose over another, with a mask or as a cross-fade.
//!
//! An overlay has no kernel: the factors of an interpolation are multiplied by its amount when they are
//! read.

use crate::interpolation::{self, Method, Selection, interpolate_masked};
use crate::pose::Pose;
use condyle_base::error::Error;

/// Lays the pose `over` on top of the pose `base`. The result is `base` where the amount times the mask is 0,
/// `over` where it is 1, and interpolated along the shorter arc in between.
///
/// If `base` is `None`, `out` is both the base and the output.
///
/// `amount` is the fraction of `over`, from 0 to 1. `mask` holds a factor of the amount for each joint;
/// `None` means 1 for all joints. The product is clamped to [0, 1].
///
/// Both ends are exact. The rotations of `over` get the sign that puts them in the hemisphere of the
/// rotations of `base`. Without a mask the result equals [`interpolation::poses`] with the amount, bit for
/// bit. For a cross-fade, take the amount from a [`Fade`](super::Fade). For several overlays, call this
/// function once for each, on the result of the call before. Unlike in [`blend`](super::blend), their order
/// matters.
///
/// The error of a component is at most 2.3e-7 for rotations. For translations and scales it is at most 1.2e-7
/// of the larger of the two values. A value that is not finite in either pose makes that component of the
/// joint NaN, even if its factor is 0; [`blend`](super::blend) and [`add`](super::add()) ignore such values
/// instead. A mask value of NaN makes the whole joint NaN.
///
/// # Errors
/// [`Error::Length`] if the joint count of `over`, `mask` or `out` differs from `base`; [`Error::NotFinite`]
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
/// // Blend halfway to 0, on top of both.
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
