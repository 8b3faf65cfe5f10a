//! Blending: combines several poses of one skeleton into one pose. The result has the same bits for every
//! order of the layers.
//!
//! | to | call |
//! |---|---|
//! | mix poses by weight | [`blend`](crate::blend()) with one [`Layer`] per pose |
//! | cross-fade two clips | [`overlay`](overlay()) with the amount from a [`Fade`] |
//! | play one clip on a part of the body | [`overlay`](overlay()) with a mask from [`joint_mask`] |
//! | move to another clip without sampling both | [`Inertialization`] |
//! | add a breath or a recoil | [`add`](add()) with a [`difference`] or a sampled [`difference_clip`] |
//!
//! If the base is `None`, [`add`](add()) and [`overlay`](overlay()) modify the output pose in place.
//!
//! ```
//! use condyle::sampling::{self, RawCursor};
//! use condyle::{Pose, blending, example};
//!
//! let skeleton = example::skeleton();
//! let (mut walk, mut wave) = (Pose::rest(&skeleton), Pose::rest(&skeleton));
//! sampling::raw(&example::walk(), &skeleton, 0.5, &mut RawCursor::default(), &mut walk)?;
//! sampling::raw(&example::wave(), &skeleton, 0.5, &mut RawCursor::default(), &mut wave)?;
//! // The chest and its descendants wave, the hips and the legs walk on.
//! let mask = blending::joint_mask(&skeleton, &[(example::CHEST, 1.0)], 0)?;
//! let mut pose = Pose::rest(&skeleton);
//! blending::overlay(&walk, &wave, 1.0, Some(&mask), &mut pose)?;
//! assert_eq!(pose.get(example::HIPS.into()).translation, [0.0, 1.0, 1.0]);
//! // The right arm is raised by 60 degrees.
//! assert!((pose.get(example::ARM_R[0].into()).rotation[2] + 0.5).abs() < 1e-6);
//! # Ok::<(), condyle::Error>(())
//! ```

mod add;
mod clip;
mod fade;
mod few;
mod fixed;
mod inertialize;
mod layer;
mod mask;
mod overlay;
mod rotation;
#[cfg(test)]
mod tests;
mod weights;

pub use add::{add, difference};
pub use clip::difference_clip;
pub use fade::{Ease, Fade};
pub use inertialize::Inertialization;
pub use layer::{Additive, Layer, Mean};
pub use mask::joint_mask;
pub use overlay::overlay;

use crate::pose::{Pose, PoseBlock};
use crate::skeleton::Skeleton;
use condyle_base::error::Error;
use condyle_base::simd::{Dispatch, dispatch_512};
use few::{Parts, Weighted};
use weights::{How, NormalizedWeights, Total};

/// Mixes poses by weight. The result has the same bits for every order of the layers.
///
/// [`Layer::weight`] is relative to the sum of all weights. A joint with a total weight of 0 gets its rest
/// transform. This function is [`about`] with the rest pose as the reference; see there for details and
/// accuracy.
///
/// Rotations are averaged in the hemisphere of the rest pose. So the mean of +100 and -100 degrees from rest
/// is 0 degrees, not 180. The mean jumps when a joint passes half a turn from rest. The mean of 179 and 181
/// degrees is 0, because 181 degrees is -179. If joints turn that far, call [`about`] with the first pose as
/// the reference:
///
/// ```
/// use condyle::blending::Mean;
/// use condyle::{Joint, Layer, Pose, Skeleton, Transform, blend, blending};
///
/// let turned = |degrees: f32| {
///     let (sin, cos) = (degrees.to_radians() / 2.0).sin_cos();
///     Transform { rotation: [0.0, sin, 0.0, cos], ..Transform::IDENTITY }
/// };
/// let skeleton = Skeleton::new([Joint::new("wheel", None, Transform::IDENTITY)])?;
/// let [first, second] = [100.0, -100.0].map(|degrees| Pose::from_transforms(&[turned(degrees)]));
/// let layers = [Layer::new(&first, 0.5), Layer::new(&second, 0.5)];
/// let mut pose = Pose::rest(&skeleton);
/// let angle = |pose: &Pose| (2.0 * pose.get(0).rotation[1].atan2(pose.get(0).rotation[3])).to_degrees();
/// blend(&skeleton, &layers, Mean::Linear, &mut pose)?;
/// assert!(angle(&pose).abs() < 1e-3);
/// blending::about(&first, &layers, Mean::Linear, &mut pose)?;
/// assert!((angle(&pose) - 180.0).abs() < 1e-3);
/// # Ok::<(), condyle::Error>(())
/// ```
///
/// # Errors
/// The errors of [`about`] with the rest pose as the reference.
///
/// ```
/// use condyle::blending::Mean;
/// use condyle::{Joint, Layer, Pose, Skeleton, Transform, blend};
///
/// let at = |x| Transform { translation: [x, 0.0, 0.0], ..Transform::IDENTITY };
/// let skeleton = Skeleton::new([Joint::new("hip", None, at(0.0))])?;
/// let (left, right) = (Pose::from_transforms(&[at(-1.0)]), Pose::from_transforms(&[at(3.0)]));
/// let mut pose = Pose::rest(&skeleton);
/// blend(&skeleton, &[Layer::new(&left, 1.0), Layer::new(&right, 3.0)], Mean::Linear, &mut pose)?;
/// assert_eq!(pose.get(0), at(2.0));
/// # Ok::<(), condyle::Error>(())
/// ```
pub fn blend(skeleton: &Skeleton, layers: &[Layer<'_>], mean: Mean, out: &mut Pose) -> Result<(), Error> {
    about(skeleton.rest(), layers, mean, out)
}

/// Mixes poses by weight like [`blend`], with any reference pose instead of the rest pose.
///
/// Rotations are averaged in the hemisphere of the reference. With the first pose as the reference, the mean
/// is right if all other rotations are less than half a turn away from it.
///
/// # Weights
///
/// Weights are divided by their sum, for each joint if a layer has a mask. A layer or joint of weight 0 has
/// no effect, even if it holds NaN. A joint gets the transform of `reference` if its weights cancel: if their
/// sum is less than a millionth of the sum of their magnitudes.
///
/// # Translations and scales
///
/// Translations and scales are weighted means. If only one layer moves a joint, the result is exactly that of
/// the layer. Otherwise the error of a component is at most 2.3e-7 (3e-7 with masks), plus 1e-9 per layer. It
/// is relative to the largest magnitude of the component in any layer, or to 1e-28 if that is larger. With
/// negative weights, replace 2.3e-7 by 2.6e-7, and multiply by the sum of the weights' magnitudes over the
/// magnitude of their sum. The errors of different layers average out: a thousand layers are as accurate as
/// five.
///
/// # Rotations
///
/// `q` and `-q` are the same rotation. The mean uses the one in the hemisphere of the reference's rotation,
/// so no layer affects the sign of another one. Exactly half a turn away from the reference, the mean uses
/// `q` as given.
///
/// The result has unit length, and is in the hemisphere of the reference unless weights are negative. If the
/// quaternions cancel, the result is the rotation of the reference. They cancel if their sum is shorter than
/// a millionth of the sum of the weights' magnitudes.
///
/// The error of a component is at most:
///
/// - for [`Mean::Linear`], 2.3e-7 over the length of the mean of the quaternions, plus 1e-9 per layer. The
///   length is 1 if they are equal, and 0.7 if two are half a turn apart.
/// - for [`Mean::ExponentialMap`], 9.5e-7 plus 1e-9 per layer.
/// - with negative weights, 2.6e-7 and 9.5e-7 times the same factor as above.
///
/// # NaN and infinities
///
/// A value that is not finite in a layer with a non-zero weight makes that component NaN or infinite, or the
/// whole rotation NaN. A quaternion of length 0 makes the rotation NaN too with [`Mean::ExponentialMap`]. A
/// mask whose product with the weight is not finite makes its joint NaN. Other joints are not affected.
///
/// Source: Blow (2004), "Understanding Slerp, Then Not Using It", which calls for blends that do not depend
/// on the order.
///
/// # Errors
/// [`Error::Length`] if the joint count of a layer, its mask or `out` differs from `reference`;
/// [`Error::NotFinite`] for a weight that is NaN or infinite. `out` is then unchanged.
///
/// ```
/// use condyle::blending::{self, Mean};
/// use condyle::{Layer, Pose, Transform};
///
/// // Layers for the arms only: the legs get the pose of the reference, which here is idling.
/// let at = |y| Pose::from_transforms(&[Transform { translation: [0.0, y, 0.0], ..Transform::IDENTITY }; 2]);
/// let (idle, low, high) = (at(1.0), at(2.0), at(4.0));
/// let arms = [0.0, 1.0];
/// let aim = |pose, weight| Layer { mask: Some(&arms), ..Layer::new(pose, weight) };
/// let mut pose = Pose::identity(2);
/// blending::about(&idle, &[aim(&low, 0.5), aim(&high, 0.5)], Mean::Linear, &mut pose)?;
/// assert_eq!([0, 1].map(|joint| pose.get(joint).translation[1]), [1.0, 3.0]);
/// # Ok::<(), condyle::Error>(())
/// ```
pub fn about(reference: &Pose, layers: &[Layer<'_>], mean: Mean, out: &mut Pose) -> Result<(), Error> {
    check(reference, layers, out)?;
    let (from, to) = (reference.blocks(), out.blocks_mut());
    if layers.iter().any(|layer| layer.mask.is_some() && layer.weight != 0.0) {
        many::<true>(from, &NormalizedWeights::new(layers, Total::UNKNOWN), mean, to);
        return Ok(());
    }
    let Some(total) = Total::of(layers) else {
        to.copy_from_slice(from);
        return Ok(());
    };
    // Two arrays instead of one array of pairs. A pair would be written by two stores and copied by one wider
    // load, so store forwarding would fail.
    let (mut parts, mut weights): (Parts<'_, 4>, _) = ([&[]; 4], [0.0; 4]);
    let mut count = 0;
    for layer in layers {
        let weight = total.normalized(layer.weight);
        if weight != 0.0 {
            if let (Some(part), Some(place)) = (parts.get_mut(count), weights.get_mut(count)) {
                (*part, *place) = (layer.pose.blocks(), weight);
            }
            count += 1;
        }
    }
    let least2 = total.least2();
    match (mean, count) {
        (Mean::Linear, 1) => few::<1>(reference, &parts, &weights, least2, to),
        (Mean::Linear, 2) => few::<2>(reference, &parts, &weights, least2, to),
        (Mean::Linear, 3) => few::<3>(reference, &parts, &weights, least2, to),
        (Mean::Linear, 4) => few::<4>(reference, &parts, &weights, least2, to),
        _ => many::<false>(from, &NormalizedWeights::new(layers, total), mean, to),
    }
    Ok(())
}

fn check(reference: &Pose, layers: &[Layer<'_>], out: &Pose) -> Result<(), Error> {
    let joints = reference.joint_count();
    for (at, layer) in layers.iter().enumerate() {
        layer.check(at, joints)?;
    }
    out.check_joints("out", joints)
}

/// Blends the first `N` parts.
fn few<const N: usize>(
    reference: &Pose,
    parts: &Parts<'_, 4>,
    weights: &[f32; 4],
    least2: f32,
    out: &mut [PoseBlock],
) {
    if let (Some(parts), Some(weights)) = (parts.first_chunk::<N>(), weights.first_chunk::<N>()) {
        let (from, joints) = (reference.blocks(), reference.joint_count());
        let weighted = Weighted { parts, weights };
        let dispatch = Dispatch::current().for_joints(joints);
        dispatch_512!(dispatch, |s, mode| few::kernel(s, mode, joints, from, weighted, least2, out));
    }
}

fn many<const MASKED: bool>(
    reference: &[PoseBlock],
    weights: &NormalizedWeights<'_, Layer<'_>>,
    mean: Mean,
    out: &mut [PoseBlock],
) {
    match mean {
        Mean::Linear => {
            let how = How { masked: MASKED, add: false };
            dispatch_512!(|s, mode| fixed::kernel::<_, _, false>(
                s,
                mode,
                how,
                Some(reference),
                weights,
                out
            ));
        }
        Mean::ExponentialMap => {
            fixed::by_logarithms(How { masked: MASKED, add: false }, Some(reference), weights, out);
        }
    }
}
