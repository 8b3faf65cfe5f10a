//! Blending: from several poses of one skeleton to one pose, the same bits in any order of the layers.
//!
//! Two clips by weight are one call of [`blend`](crate::blend()) with a [`Layer`] each, a cross-fade is an
//! [`overlay`](overlay()) whose amount comes from a [`Fade`], and a wave of the arm over a walk is an
//! [`overlay`](overlay()) with a mask from [`joint_mask`]. A transition without a second clip that goes on
//! playing is an [`Inertialization`]. What a pose has more than another (a breath, a recoil) is a
//! [`difference`] or, for a whole clip, a [`difference_clip`], which [`add`](add()) puts on any pose. With `None`
//! for the base, [`add`](add()) and [`overlay`](overlay()) change the pose that they write to.
//!
//! ```
//! use condyle::{Joint, Pose, Skeleton, Transform, blending};
//!
//! let place = |x| Transform { translation: [x, 0.0, 0.0], ..Transform::IDENTITY };
//! let joints = [Joint::new("hips", None, place(0.0)), Joint::new("chest", Some(0), place(0.0))];
//! let skeleton = Skeleton::new(joints)?;
//! let at = |x| Pose::from_transforms(&[place(x); 2]);
//! let (walk, wave, mut pose) = (at(1.0), at(3.0), Pose::rest(&skeleton));
//! // The chest and what hangs on it wave, the hips walk on.
//! let mask = blending::joint_mask(&skeleton, &[(1, 1.0)], 0)?;
//! blending::overlay(&walk, &wave, 1.0, Some(&mask), &mut pose)?;
//! assert_eq!([pose.get(0), pose.get(1)], [place(1.0), place(3.0)]);
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
use condyle_base::simd::dispatch;
use few::{Parts, Weighted};
use weights::{How, NormalizedWeights, Total};

/// Mixes poses by weight, with the same bits in any order of the layers.
///
/// [`Layer::weight`] is how much of a pose there is, relative to the sum of all weights. A joint of which
/// there is nothing in any layer is at rest. This is [`about`] the rest pose of the skeleton, which documents
/// all the rest.
///
/// The mean of two rotations lies on the side of the rest pose. So the mean of +100 and -100 degrees from rest
/// is 0 degrees and not 180, and a joint that passes half a turn from rest is far from both where two
/// neighbouring frames lie on either side of that: 179 and 181 degrees, which is -179, have the mean 0. Where
/// joints turn so far, take the signs from the first pose instead, which is [`about`] that pose:
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
/// As [`about`], where the rest pose is the reference.
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

/// As [`blend`], about any reference pose, in whose hemisphere rotations are averaged: the rest pose, or the first
/// of the poses for a mean that is right wherever the others are less than half a turn away from it.
///
/// Weights are divided by their sum, joint by joint where a layer has a mask. A layer or joint of weight 0
/// changes nothing, whatever it holds. Where the weights of a joint sum to less than a millionth of the sum
/// of their magnitudes, the joint is that of `reference`.
///
/// Translations and scales are weighted means. A joint that one layer alone moves has that layer's, exactly.
/// Otherwise the error of a component is at most 2.3e-7 (with masks 3e-7), and 1e-9 for each layer, of the
/// largest magnitude that it has in any layer (of 1e-28 where that is less). Where weights are negative it is
/// 2.6e-7, times the sum of the weights' magnitudes by the magnitude of their sum. The errors of layers that
/// differ average out: a thousand of them are as exact as five.
///
/// A rotation `q` and its opposite `-q` mean the same. The one is taken that lies in the hemisphere of the
/// reference's rotation, so that no layer decides over another; exactly half a turn away from the reference,
/// where both are as near, `q` as it is given. The result is of unit length, and in the reference's
/// hemisphere unless weights are negative. Where the sum of the quaternions has no length, not a millionth of
/// what it is the sum of, the reference's rotation stays. The error of a component is at most 2.3e-7 for
/// [`Mean::Linear`], over the length of the mean of the quaternions (1 where they agree, 0.7 where two are
/// half a turn apart), and 9.5e-7 for [`Mean::ExponentialMap`], with 1e-9 for each layer; where weights are
/// negative, 2.6e-7 and 9.5e-7, times the same as above.
///
/// What is not finite in a layer that has a weight makes that component NaN or infinite, or the whole
/// rotation NaN, and so do, for [`Mean::ExponentialMap`], quaternions of length 0. A mask whose product with
/// the weight is not finite makes its joint NaN. No other joint is touched.
///
/// Blow (2004), "Understanding Slerp, Then Not Using It", asks for blends that do not depend on the order.
///
/// # Errors
/// [`Error::Length`] if a layer, its mask or `out` does not hold as many joints as `reference`;
/// [`Error::NotFinite`] for a weight that is NaN or infinite. `out` is then unchanged.
///
/// ```
/// use condyle::blending::{self, Mean};
/// use condyle::{Layer, Pose, Transform};
///
/// // Legs and arms: where no layer has a weight, the character stands as it idles and not as it was bound.
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
    // Not in pairs, which are copied whole just after they were written in two pieces: no store could be forwarded.
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

/// Of the first `N` parts.
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
        dispatch!(|s, mode| few::kernel(s, mode, joints, from, weighted, least2, out));
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
            dispatch!(|s, mode| fixed::kernel::<_, _, false>(s, mode, how, Some(reference), weights, out));
        }
        Mean::ExponentialMap => {
            fixed::by_logarithms(How { masked: MASKED, add: false }, Some(reference), weights, out);
        }
    }
}
