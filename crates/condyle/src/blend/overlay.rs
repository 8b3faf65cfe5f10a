//! One pose over another: where a mask says so, or everywhere for a cross-fade.

use super::layer::Layer;
use crate::error::Error;
use crate::interpolate::{Method, Selection, interpolate_masked, interpolate_poses};
use crate::pose::Pose;

/// Lays a pose over another one: `below` where the layer's weight times mask is 0, the layer where it is 1,
/// in between the mix of the two along the shorter arc.
///
/// Both ends come out exactly, the layer's rotations with the signs that put them on the hemisphere of those
/// below. The factor is clamped to [0, 1]. Without a mask this is [`interpolate_poses`] with the layer's
/// weight, bit for bit: a cross-fade, to which a [`Fade`](super::Fade) gives the weight; with a mask it is
/// the same with a factor per joint. Layers over layers are one call after the other, each over the result of
/// the one before: unlike in [`blend`](super::blend) their order matters.
///
/// The error of a component of a rotation is at most 2e-7, of a translation or scale 1.2e-7 of the greater of
/// the two. What is not finite in either pose makes that joint's component NaN, at both ends too; a mask that
/// is NaN its whole joint.
///
/// # Errors
/// [`Error::Length`] if the layer, its mask or `out` does not hold as many joints as `below`;
/// [`Error::NotFinite`] for a weight that is NaN or infinite. `out` is then unchanged.
///
/// ```
/// use condyle::{Layer, Pose, Transform, overlay};
///
/// let at = |x| Pose::from_transforms(&[Transform { translation: [x, 0.0, 0.0], ..Transform::IDENTITY }; 3]);
/// let (walk, wave, mut pose) = (at(1.0), at(3.0), Pose::identity(3));
/// overlay(&walk, Layer { mask: Some(&[0.0, 0.5, 1.0]), ..Layer::new(&wave, 1.0) }, &mut pose)?;
/// assert_eq!([0, 1, 2].map(|joint| pose.get(joint).translation[0]), [1.0, 2.0, 3.0]);
/// # Ok::<(), condyle::Error>(())
/// ```
pub fn overlay(below: &Pose, layer: Layer<'_>, out: &mut Pose) -> Result<(), Error> {
    layer.check(0, below.joint_count())?;
    out.check_joints("out", below.joint_count())?;
    match layer.mask {
        Some(mask) => interpolate_masked(below, layer.pose, layer.weight, mask, out),
        None => interpolate_poses(below, layer.pose, layer.weight, Selection::All, Method::default(), out)?,
    }
    Ok(())
}
