//! Additive layers: the difference between two poses, and its addition to any pose.
//!
//! The difference is `reference⁻¹ · pose`, about the joint's own axes: added to a raised arm, a twist of the
//! forearm is a twist about the forearm. Scales are ratios, so they mean the same at any size, and a joint
//! hidden by a scale of 0 stays hidden. Amounts are not divided by their sum. This is the only difference to
//! the integer sums of `blend`, so both share one kernel.
//!
//! Without a base pose the kernel reads the base from the output: no second kernel for calls in place, and
//! the same bits.

use fearless_simd::prelude::*;

use super::fixed;
use super::layer::Additive;
use super::rotation::{Reference, flip, shorter_log};
use super::weights::{How, NormalizedWeights, Total, masked_weight, nan_or_zero};
use crate::pose::{Pose, PoseBlock};
use condyle_base::error::{Error, invariant};
use condyle_base::math::exp_map::between;
use condyle_base::simd::{
    BLOCK, Dispatch, Mode, dispatch, dispatch_512, each, load, load_all, store, store_all,
};

/// Computes the difference between `pose` and `reference`, a pose for [`add`].
///
/// - Rotation: `reference⁻¹ · pose`, with `w >= 0`. It is a turn about the joint's axes in the reference. So
///   a twist of the forearm stays a twist of the forearm when [`add`] applies it to a raised arm.
///   `pose · reference⁻¹` would turn about the parent's axes.
/// - Translation: `pose - reference`, along the parent's axes like all translations.
/// - Scale: `pose / reference`. A scale-up by 10 % works at any size, and a joint hidden by a scale of 0
///   stays hidden. The ratio is 1 if the magnitude of the reference is less than [`f32::MIN_POSITIVE`].
///
/// The reference is any pose of the skeleton, normally the pose that `pose` was authored on: the rest pose,
/// or one frame of the clip.
///
/// For equal joints the rotation has `x`, `y` and `z` of exactly 0, the translation is exactly 0 and the
/// scale exactly
/// 1. The error of a component is at most 3e-7 for rotations, and half a ULP for translations and scales.
///
/// # Errors
/// [`Error::Length`] if the poses differ in the number of joints. `out` is then unchanged.
///
/// ```
/// use condyle::{Pose, Transform, blending};
///
/// let at = |y| Pose::from_transforms(&[Transform { translation: [0.0, y, 0.0], ..Transform::IDENTITY }]);
/// let (stand, breathe) = (at(1.0), at(1.25));
/// let mut breath = Pose::identity(1);
/// blending::difference(&breathe, &stand, &mut breath)?;
/// assert_eq!(breath, at(0.25));
/// # Ok::<(), condyle::Error>(())
/// ```
pub fn difference(pose: &Pose, reference: &Pose, out: &mut Pose) -> Result<(), Error> {
    pose.check_joints("pose", reference.joint_count())?;
    out.check_joints("out", reference.joint_count())?;
    let (pose, reference, out) = (pose.blocks(), reference.blocks(), out.blocks_mut());
    dispatch!(|s, mode| kernel(s, mode, pose, reference, out));
    Ok(())
}

/// Adds any number of differences to a pose. The result has the same bits for every order of the differences.
///
/// If `base` is `None`, `out` is both the base and the output.
///
/// [`Additive::amount`] is a factor of its difference: 1 adds all of it. Unlike the weights of
/// [`blend`](super::blend), amounts are not divided by their sum. In the formulas, the amount includes the
/// mask of the joint.
///
/// - Rotations: `base · exp(Σ amount · log(difference))`, each difference on the shorter arc; unit length.
/// - Translations: `base + Σ amount · difference`.
/// - Scales: `base · (1 + Σ amount · (difference - 1))`.
///
/// A joint to which nothing is added equals the joint of `base` bit for bit. That holds if the amounts or
/// mask values are 0, or if the differences cancel. The values in a difference of amount 0 do not matter.
///
/// Adding a whole [`difference`] to its reference restores the pose. Rotations are then within 7e-7.
/// Translations and scales are within 3e-7 of the larger of the two values, except scales whose reference is
/// 0.
///
/// # Accuracy
///
/// For translations and scales, the error of a component is at most 2.4e-7 of the magnitudes of `base` and of
/// the added terms. Add 1e-9 per difference, times the largest magnitude of the component in any difference,
/// times the sum of the amounts' magnitudes (at least 1). For rotations, the error is at most 5e-7,
/// plus 2.2e-7 per radian of the differences' angles times amounts.
///
/// # NaN and infinities
///
/// A value that is not finite in a difference with a non-zero amount makes that component NaN or infinite, or
/// the whole rotation NaN. A mask whose product with the amount is not finite makes its joint NaN. With more
/// than two differences, a joint also becomes NaN if the magnitudes of its amounts sum to a million or more.
/// Other joints are not affected.
///
/// # Errors
/// [`Error::Length`] if the joint count of a difference, its mask or `out` differs from `base`;
/// [`Error::NotFinite`] for an amount that is NaN or infinite. `out` is then unchanged.
///
/// ```
/// use condyle::blending::{Additive, add, difference};
/// use condyle::{Pose, Transform};
///
/// let at = |x| Pose::from_transforms(&[Transform { translation: [x, 0.0, 0.0], ..Transform::IDENTITY }]);
/// let (mut breath, mut pose) = (Pose::identity(1), Pose::identity(1));
/// difference(&at(1.5), &at(1.0), &mut breath)?;
/// add(&at(8.0), &[Additive::new(&breath, 2.0)], &mut pose)?;
/// assert_eq!(pose, at(9.0));
/// add(None, &[Additive::new(&breath, -1.0)], &mut pose)?;
/// assert_eq!(pose, at(8.5));
/// # Ok::<(), condyle::Error>(())
/// ```
pub fn add<'a>(
    base: impl Into<Option<&'a Pose>>,
    additives: &[Additive<'_>],
    out: &mut Pose,
) -> Result<(), Error> {
    let base = base.into();
    let joints = base.unwrap_or(out).joint_count();
    for (at, additive) in additives.iter().enumerate() {
        additive.check(at, joints)?;
    }
    out.check_joints("out", joints)?;
    apply(base.map(Pose::blocks), additives, out);
    Ok(())
}

/// Adds the layers to `base`, or in place to `out` if `base` is `None`. All poses have the same number of
/// joints.
fn apply(base: Option<&[PoseBlock]>, additives: &[Additive<'_>], out: &mut Pose) {
    let mut counting = additives.iter().filter(|additive| additive.amount != 0.0);
    match [counting.next(), counting.next(), counting.next()] {
        [None, ..] => {
            if let Some(base) = base {
                out.blocks_mut().copy_from_slice(base);
            }
        }
        [Some(one), None, _] => few(base, [one], out),
        [Some(one), Some(two), None] => few(base, [one, two], out),
        _ => {
            let weights = NormalizedWeights::new(additives, Total::UNKNOWN);
            let how = How { masked: true, add: true };
            fixed::by_logarithms(how, base, &weights, out.blocks_mut());
        }
    }
}

fn few<const N: usize>(base: Option<&[PoseBlock]>, layers: [&Additive<'_>; N], out: &mut Pose) {
    let (joints, out) = (out.joint_count(), out.blocks_mut());
    let dispatch = Dispatch::current().for_joints(joints);
    dispatch_512!(dispatch, |s, mode| few_layers::<_, _, N>(s, mode, joints, base, &layers, out));
}

/// Returns the terms of one layer times the weight: the logarithm of its rotation, its translation, and its
/// scale minus 1.
#[inline(always)]
fn terms<S: Simd, M: Mode>(s: S, mode: M, block: &PoseBlock, at: usize, weight: S::f32s) -> [S::f32s; 9] {
    let (zero, one) = (S::f32s::splat(s, 0.0), S::f32s::splat(s, 1.0));
    let mut q: [S::f32s; 4] = load_all(s, &block.rotation, at);
    let mut t: [S::f32s; 3] = load_all(s, &block.translation, at);
    let mut k: [S::f32s; 3] = load_all(s, &block.scale, at);
    // Ignore the values of the layer where the mask is 0, NaN included.
    let none = weight.simd_eq(zero);
    each!(c in [0, 1, 2] => q[c] = none.select(zero, q[c]));
    q[3] = none.select(one, q[3]);
    each!(c in [0, 1, 2] => {
        t[c] = none.select(zero, t[c]) * weight;
        k[c] = (none.select(one, k[c]) - one) * weight;
    });
    let [x, y, z] = shorter_log(s, mode, &q, weight);
    [x, y, z, t[0], t[1], t[2], k[0], k[1], k[2]]
}

/// Adds one or two layers to the first `joints` joints. The order of two layers does not matter, because
/// float addition is commutative. If `base` is `None`, `out` is also the base.
#[inline(always)]
fn few_layers<S: Simd, M: Mode, const N: usize>(
    s: S,
    mode: M,
    joints: usize,
    base: Option<&[PoseBlock]>,
    layers: &[&Additive<'_>; N],
    out: &mut [PoseBlock],
) {
    let zero = S::f32s::splat(s, 0.0);
    for (index, out) in out.iter_mut().enumerate() {
        let base = base.and_then(|base| base.get(index));
        for at in (0..BLOCK).step_by(S::f32s::LEN) {
            if index * BLOCK + at >= joints {
                return;
            }
            let mut sums = [zero; 9];
            for (n, layer) in layers.iter().enumerate() {
                let Some(block) = layer.difference.blocks().get(index) else {
                    invariant!(false, "layer {n} has fewer blocks than the reference");
                    return;
                };
                let terms = terms(s, mode, block, at, masked_weight(s, *layer, index * BLOCK + at));
                each!(c in [0, 1, 2, 3, 4, 5, 6, 7, 8] => {
                    sums[c] = if n == 0 { terms[c] } else { sums[c] + terms[c] };
                });
            }
            let [x, y, z, ..] = sums;
            let from = Reference::new(s, mode, &base.unwrap_or(out).rotation, at);
            let still = x.simd_eq(zero) & y.simd_eq(zero) & z.simd_eq(zero);
            let mut turned = from.turned(s, [x, y, z]);
            each!(c in [0, 1, 2, 3] => turned[c] = still.select(from.rotation[c], turned[c]));
            store_all(&mut out.rotation, at, turned);
            each!(c in [0, 1, 2] => {
                let (from, more) = (load(s, &base.unwrap_or(out).translation[c], at), sums[3 + c]);
                store::<S>(&mut out.translation[c], at, more.simd_eq(zero).select(from, from + more));
                let (from, more) = (load(s, &base.unwrap_or(out).scale[c], at), sums[6 + c]);
                store::<S>(&mut out.scale[c], at, mode.madd(more, from, from));
            });
        }
    }
}

#[inline(always)]
fn kernel<S: Simd, M: Mode>(
    s: S,
    mode: M,
    pose: &[PoseBlock],
    reference: &[PoseBlock],
    out: &mut [PoseBlock],
) {
    let one = S::f32s::splat(s, 1.0);
    for ((pose, reference), out) in pose.iter().zip(reference).zip(out) {
        for at in (0..BLOCK).step_by(S::f32s::LEN) {
            let a = load_all(s, &reference.rotation, at);
            let mut q = between::<S>(&a, &load_all(s, &pose.rotation, at));
            let length2 = mode.madd(q[3], q[3], mode.madd(q[2], q[2], mode.madd(q[1], q[1], q[0] * q[0])));
            let inverse = flip(s, one / length2.sqrt() + nan_or_zero::<S>(length2), q[3]);
            each!(c in [0, 1, 2, 3] => q[c] *= inverse);
            store_all(&mut out.rotation, at, q);
            each!(c in [0, 1, 2] => {
                let (from, to) = (load(s, &reference.translation[c], at), load(s, &pose.translation[c], at));
                store::<S>(&mut out.translation[c], at, to - from);
                let (from, to) = (load(s, &reference.scale[c], at), load(s, &pose.scale[c], at));
                let none = from.abs().simd_lt(S::f32s::splat(s, f32::MIN_POSITIVE));
                store::<S>(&mut out.scale[c], at, none.select(one, to / from));
            });
        }
    }
}
