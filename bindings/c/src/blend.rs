//! Blending, additive poses, overlays and masks.

use runtime::blending::{self, Additive, Mean};
use runtime::{Layer, Pose};

use crate::guard::guard;
use crate::numbers::{CONDYLE_MEAN_EXPONENTIAL, CONDYLE_MEAN_LINEAR, condyle_mean};
use crate::player::check_layers;
use crate::pointer::{Range, check, check_apart, check_other};
use crate::pose::condyle_pose;
use crate::skeleton::condyle_skeleton;
use crate::status::{Fault, condyle_error, condyle_status, unknown};
use crate::types::CONDYLE_MAX_LAYERS;

/// Pose with its weight, for `condyle_blend` and `condyle_add`.
#[repr(C)]
pub struct condyle_layer {
    /// Local transforms.
    pub pose: *const condyle_pose,
    /// Weight relative to the sum of all weights; for `condyle_add`, the amount of the difference.
    pub weight: f32,
    /// Factor of the weight for each joint; null for 1.
    pub mask: *const f32,
    /// Number of joints, or 0 without a mask.
    pub mask_count: usize,
}

fn mean(value: condyle_mean) -> Result<Mean, Fault> {
    match value {
        CONDYLE_MEAN_LINEAR => Ok(Mean::Linear),
        CONDYLE_MEAN_EXPONENTIAL => Ok(Mean::ExponentialMap),
        _ => Err(unknown("mean", value, "CONDYLE_MEAN_LINEAR or CONDYLE_MEAN_EXPONENTIAL")),
    }
}

/// Parts of a layer as references.
type Parts<'a> = (&'a Pose, f32, Option<&'a [f32]>);

/// Refuses null pointers, and a layer whose pose is the output.
#[inline(always)]
fn check_layer(layer: &condyle_layer, out: *const condyle_pose) -> Result<(), Fault> {
    check("layers[].pose", layer.pose)?;
    check_other(["layers[].pose", "pose"], layer.pose, out)?;
    optional_elements!(layer.mask, "layers[].mask", layer.mask_count);
    Ok(())
}

/// Parts of a layer that `check_layer` has passed. Separate, because results with an error are large.
#[inline(always)]
fn parts<'a>(layer: &condyle_layer) -> Parts<'a> {
    // SAFETY: not null, aligned and not the output; by the rules of the header a live pose.
    let pose = unsafe { &(*layer.pose).pose };
    if layer.mask.is_null() {
        return (pose, layer.weight, None);
    }
    // SAFETY: not null, aligned and within the address space; by the rules of the header that many numbers.
    let mask = unsafe { std::slice::from_raw_parts(layer.mask, layer.mask_count) };
    (pose, layer.weight, Some(mask))
}

/// Converts layers on the stack, because a frame allocates nothing, and runs `body`. Few layers have
/// an array of their number, because filling a large one takes longer than some calls.
#[inline(always)]
fn with_layers<'a, T: Copy>(
    layers: &[condyle_layer],
    out: *const condyle_pose,
    convert: impl Fn(Parts<'a>) -> T,
    body: impl Fn(&[T]) -> Result<(), Fault>,
) -> Result<(), Fault> {
    // Before the first layer is read: a wrong count may be beyond the array.
    check_layers("layers", layers.len())?;
    for layer in layers {
        check_layer(layer, out)?;
    }
    let make = |layer: &condyle_layer| convert(parts(layer));
    match layers {
        [] => body(&[]),
        [a] => body(&[make(a)]),
        [a, b] => body(&[make(a), make(b)]),
        [a, b, c] => body(&[make(a), make(b), make(c)]),
        [first, ..] => {
            let mut list = [make(first); CONDYLE_MAX_LAYERS];
            for (place, layer) in list.iter_mut().zip(layers).skip(1) {
                *place = make(layer);
            }
            body(&list[..layers.len()])
        }
    }
}

/// Blends poses. The result does not depend on the order of the layers.
///
/// `layers` has `layer_count` elements, at most `CONDYLE_MAX_LAYERS`. A joint whose weights are all 0 takes
/// the rest pose.
///
/// Errors: `CONDYLE_MISMATCH` for another number of joints; `CONDYLE_INVALID_ARGUMENT` for weights that are
/// not finite; `CONDYLE_INVALID_POINTER` if `pose` is one of the layers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_blend(
    skeleton: *const condyle_skeleton,
    layers: *const condyle_layer,
    layer_count: usize,
    mean: condyle_mean,
    pose: *mut condyle_pose,
    error: *mut condyle_error,
) -> condyle_status {
    guard(error, || {
        let (skeleton, mean) = (&shared!(skeleton).skeleton, self::mean(mean)?);
        let layers = elements!(layers, layer_count);
        let make = |(pose, weight, mask)| Layer { pose, weight, mask };
        with_layers(layers, pose, make, |list| {
            blending::blend(skeleton, list, mean, &mut exclusive!(pose).pose)?;
            Ok(())
        })
    })
}

/// Adds differences to a pose, each scaled by its weight. `base` may be null or `pose`: `pose` is then
/// changed in place.
///
/// A difference is a pose of `condyle_difference`, or of a clip of differences.
///
/// Errors: those of `condyle_blend`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_add(
    base: *const condyle_pose,
    differences: *const condyle_layer,
    difference_count: usize,
    pose: *mut condyle_pose,
    error: *mut condyle_error,
) -> condyle_status {
    guard(error, || {
        let base = if std::ptr::eq(base, pose) { std::ptr::null() } else { base };
        let base = optional!(base).map(|it| &it.pose);
        let differences = elements!(differences, difference_count);
        let make = |(difference, amount, mask)| Additive { difference, amount, mask };
        with_layers(differences, pose, make, |list| {
            blending::add(base, list, &mut exclusive!(pose).pose)?;
            Ok(())
        })
    })
}

/// Interpolates from `base` to `over` by `amount`, 0 to 1, times the mask. `base` may be null or `pose`:
/// `pose` is then changed in place.
///
/// `mask` is null, or has one factor per joint: `mask_count` is the number of joints.
///
/// Errors: `CONDYLE_MISMATCH` for another number of joints; `CONDYLE_INVALID_ARGUMENT` if `amount` is not
/// finite; `CONDYLE_INVALID_POINTER` if `pose` is `over`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_overlay(
    base: *const condyle_pose,
    over: *const condyle_pose,
    amount: f32,
    mask: *const f32,
    mask_count: usize,
    pose: *mut condyle_pose,
    error: *mut condyle_error,
) -> condyle_status {
    guard(error, || {
        check_other(["over", "pose"], over, pose)?;
        let base = if std::ptr::eq(base, pose) { std::ptr::null() } else { base };
        let base = optional!(base).map(|it| &it.pose);
        let over = &shared!(over).pose;
        let mask = optional_elements!(mask, "mask", mask_count);
        blending::overlay(base, over, amount, mask, &mut exclusive!(pose).pose)?;
        Ok(())
    })
}

/// Writes the difference between two poses, for `condyle_add`: `difference` added to `reference` is `pose`.
///
/// Errors: `CONDYLE_MISMATCH` for another number of joints; `CONDYLE_INVALID_POINTER` if `difference` is one
/// of the others.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_difference(
    pose: *const condyle_pose,
    reference: *const condyle_pose,
    difference: *mut condyle_pose,
    error: *mut condyle_error,
) -> condyle_status {
    guard(error, || {
        check_other(["pose", "difference"], pose, difference)?;
        check_other(["reference", "difference"], reference, difference)?;
        let (pose, reference) = (&shared!(pose).pose, &shared!(reference).pose);
        blending::difference(pose, reference, &mut exclusive!(difference).pose)?;
        Ok(())
    })
}

/// Joint with the factor of its subtree, for `condyle_joint_mask`.
#[repr(C)]
pub struct condyle_joint_weight {
    /// Joint index.
    pub joint: u16,
    /// Factor of this joint and of all its descendants.
    pub weight: f32,
}

/// Writes a mask: 0 for all joints, and the factor of each root for its subtree. Call it at set-up, because
/// it allocates.
///
/// `feather` is the number of joints over which a factor rises along a branch; 0 for a hard border.
/// `mask_count` is the number of joints.
///
/// Errors: `CONDYLE_MISMATCH` for another number of joints, or a joint that does not exist.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_joint_mask(
    skeleton: *const condyle_skeleton,
    roots: *const condyle_joint_weight,
    root_count: usize,
    feather: u16,
    mask: *mut f32,
    mask_count: usize,
    error: *mut condyle_error,
) -> condyle_status {
    guard(error, || {
        let skeleton = &shared!(skeleton).skeleton;
        let read = Range::new("roots", roots, root_count);
        check_apart([Range::new("mask", mask, mask_count)], [read])?;
        let roots: Vec<_> = elements!(roots, root_count).iter().map(|it| (it.joint, it.weight)).collect();
        let made = blending::joint_mask(skeleton, &roots, feather)?;
        runtime::Error::check_len("mask", mask_count, made.len())?;
        elements_mut!(mask, mask_count).copy_from_slice(&made);
        Ok(())
    })
}
