//! Additive layers: what a pose differs by from another, added to any pose.

use fearless_simd::prelude::*;

use super::fixed;
use super::layer::Additive;
use super::rotation::{Reference, flip, shorter_log};
use super::weights::{How, NormalizedWeights, Total, masked_weight, nan_or_zero};
use crate::pose::{Pose, PoseBlock};
use condyle_base::error::{Error, invariant};
use condyle_base::math::exp_map::between;
use condyle_base::simd::{BLOCK, Mode, dispatch, each, load, load_all, store, store_all};

/// What `pose` differs by from `reference`: a pose to be [`add`]ed to others.
///
/// - The rotation is `reference⁻¹ · pose`, the one with `w` not negative: a turn about the joint's own axes
///   as they are in the reference. So where [`add`] meets an arm that is raised, a twist of the forearm still
///   is one about the forearm; `pose · reference⁻¹` would turn about the parent's axes.
/// - The translation is `pose - reference`, along the parent's axes as translations are.
/// - The scale is the ratio of `pose` to `reference`: what grows by a tenth does so at any size, and what is
///   hidden by a scale of 0 stays hidden. Where the reference's magnitude is less than [`f32::MIN_POSITIVE`]
///   there is no ratio, and 1 takes its place.
///
/// The reference is any pose of the skeleton, normally that from which `pose` was authored: the rest pose, or
/// one frame of the clip. Equal joints give a rotation whose `x`, `y` and `z` are 0, a translation of 0 and a
/// scale of 1, exactly. The error of a component is at most 3e-7 for rotations, else half a unit in the last
/// place.
///
/// # Errors
/// [`Error::Length`] if the poses differ in size. `out` is then unchanged.
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

/// Adds any number of differences to a pose, with the same bits in any order of them.
///
/// With `None` for `base`, `out` holds the base and gets the result.
///
/// [`Additive::amount`] is how much of a difference there is, whatever else is added: 1 is all of it. So
/// amounts are not divided by their sum, as the weights of [`blend`](super::blend) are. Below, an amount is
/// times its mask.
///
/// - Rotations: `base · exp(Σ amount · log(difference))`, each turn on the shorter arc; of unit length.
/// - Translations: `base + Σ amount · difference`.
/// - Scales: `base · (1 + Σ amount · (difference - 1))`.
///
/// A joint to which nothing is added, by no amount, by a mask of 0, or by differences that cancel, is that of
/// `base`, bit for bit; what the differences of amount 0 hold there does not matter. All of one over the pose
/// that it is the [`difference`] from gives the pose back: rotations within 7e-7, translations and scales
/// within 3e-7 of the greater of the two (but for a scale whose reference is 0).
///
/// The error of a component is at most 2.4e-7 of the magnitudes of `base` and of what is added, and 1e-9 for
/// each difference times the largest magnitude that it has in any of them and the sum of the amounts'
/// magnitudes, or 1 if that is less. For rotations it is 5e-7, and 2.2e-7 for each radian of the turns'
/// magnitudes times amounts.
///
/// What is not finite in a difference that has an amount makes that component NaN or infinite, or the whole
/// rotation NaN. A mask whose product with the amount is not finite makes its joint NaN, and so do, with more
/// than two differences, amounts whose magnitudes sum to a million in a joint. No other joint is touched.
///
/// # Errors
/// [`Error::Length`] if a difference, its mask or `out` does not hold as many joints as `base`;
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

/// Without `base`, `out` holds it. All are of one size.
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
    dispatch!(|s, mode| few_layers::<_, _, N>(s, mode, joints, base, &layers, out));
}

/// The terms of one layer: the logarithm of its rotation, its translation, and its scale minus 1, times the
/// weight.
#[inline(always)]
fn terms<S: Simd, M: Mode>(s: S, mode: M, block: &PoseBlock, at: usize, weight: S::f32s) -> [S::f32s; 9] {
    let (zero, one) = (S::f32s::splat(s, 0.0), S::f32s::splat(s, 1.0));
    let mut q: [S::f32s; 4] = load_all(s, &block.rotation, at);
    let mut t: [S::f32s; 3] = load_all(s, &block.translation, at);
    let mut k: [S::f32s; 3] = load_all(s, &block.scale, at);
    // Where the mask is 0, the layer may hold anything, NaN included.
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

/// Adds one or two layers to the first `joints` joints: two floats have the same sum in either order. Without `base`,
/// `out` holds it.
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
