//! Keys of a compressed clip as an authored one: those of its curves, without a search.

mod curves;
mod keys;

use alloc::vec::Vec;

use self::curves::Curves;
use self::keys::keys;
use super::build::Build;
use super::channel::Channel;
use super::format::KeyFormat;
use super::measure::measure_all;
use super::parts::holds;
use super::source::Source;
use super::{Reduced, reduce};
use crate::measure::algebra::{Affine64, length, sub, transposed};
use crate::measure::shell;
use crate::options::EncodeOptions;
use condyle::clip::{Clip, Interpolation, RawClip, Target};
use condyle::sampling::AnyClip;
use condyle::skeleton::Skeleton;
use condyle_base::error::Error;

/// Fractions of the budget by which a property may move the points of the shell. Straight lines and splines
/// of vectors are exact, so few properties use it. If the sum of all exceeds the budget, the next is tried.
const PARTS: [f64; 2] = [1.0 / 4.0, 1.0 / 32.0];

/// Maximum tolerance of rotations in radians, and of scales, for joints that move no point of the shell.
const MOST: f64 = 0.01;

/// Converts a compressed clip to an authored one with the keys of its curves.
///
/// glTF has the same straight lines, and the splines of a translation or a scale are the same polynomials.
/// Splines of rotations, nlerp and root motion differ; they get additional keys until every point of the
/// shell is within the budget of the compressed clip. Two segments meet with a key on both sides. The error
/// exceeds the budget only if the budget is finer than the rounding of key times to f32.
///
/// A clip that is stepped in some segments only is converted by [`reduce`](crate::reduce()).
///
/// A constant track has one key, a track at rest is omitted, and fallback tracks stay unchanged.
/// [`EncodeOptions::best`], [`root_motion`](EncodeOptions::root_motion) and
/// [`events`](EncodeOptions::events) do not apply. [`Reduced`] describes the fields of the result.
///
/// ```
/// use condyle::example;
/// use condyle::sampling::AnyClip;
/// use condyle_encode::{EncodeOptions, Shell, encode, curve_keys};
///
/// let (skeleton, walk) = (example::skeleton(), example::walk());
/// let mut options = EncodeOptions::new(1e-3, Shell::Balls(0.03));
/// let clip = encode(&walk, &skeleton, &options, &mut |_| ())?.into_clip();
/// options.budget /= 16.0;
/// let keys = curve_keys(&AnyClip::compressed("walk", clip), &skeleton, &options)?;
/// assert!(keys.measured.error_max <= 1e-3 / 16.0);
/// # Ok::<(), condyle::Error>(())
/// ```
///
/// # Errors
/// Returns the errors of [`reduce`](crate::reduce()).
pub fn curve_keys(
    clip: &AnyClip<'_>,
    skeleton: &Skeleton,
    options: &EncodeOptions,
) -> Result<Reduced, Error> {
    options.check(skeleton.joint_count())?;
    let mut best: Option<Reduced> = None;
    if let AnyClip::Compressed { clip: packed, .. } = clip {
        let source = Source::new(clip, skeleton, options)?;
        for part in PARTS {
            let tolerances = tolerances(skeleton, options, part)?;
            let Some(clip) = own_keys(packed, &source, skeleton, &tolerances)? else { break };
            // The rest of the error is rounding.
            if best.as_ref().is_some_and(|best| best.clip == clip) {
                break;
            }
            let measured = measure_all(&source.with(&source.unseen(&clip)?), &clip, skeleton, options)?;
            let is_enough = holds(options, &measured);
            if best.as_ref().is_none_or(|best| measured.error_max < best.measured.error_max) || is_enough {
                best = Some(Reduced { clip, rate: source.rate(), measured });
            }
            if is_enough {
                break;
            }
        }
    }
    best.map_or_else(|| reduce(clip.borrowed(), skeleton, options, KeyFormat::Floats), Ok)
}

/// Tolerances of the keys.
struct Tolerances<'a> {
    /// Rotation, translation and scale of each joint.
    joints: Vec<[f64; 3]>,
    options: &'a EncodeOptions,
    part: f64,
}

impl Tolerances<'_> {
    fn of(&self, target: Target) -> f64 {
        match target {
            Target::Rotation(joint) => self.joints[usize::from(joint)][0],
            Target::Translation(joint) => self.joints[usize::from(joint)][1],
            Target::Scale(joint) => self.joints[usize::from(joint)][2],
            // No other track moves the same value, so it may use more.
            target => f64::from(self.options.budget_of(target)) * self.part.max(0.25),
        }
    }
}

/// Minimum tolerance of rotations in radians: a few times their rounding to f32.
const LEAST: f64 = 5e-7;

/// Tolerances by which each property moves the points of the shell by `part` of the smallest budget, in the
/// rest pose.
fn tolerances<'a>(
    skeleton: &Skeleton,
    options: &'a EncodeOptions,
    part: f64,
) -> Result<Tolerances<'a>, Error> {
    let balls = shell::balls(skeleton, &options.shell)?;
    let model = shell::rest(skeleton);
    // Distance of the farthest point that each joint moves.
    let mut reach: Vec<f64> = model
        .iter()
        .zip(&balls)
        .map(|(model, balls)| balls.iter().map(|ball| ball.reach(&model.linear)).fold(0.0, f64::max))
        .collect();
    let parent = |joint: usize| skeleton.parent(joint as u16).map(usize::from);
    for joint in (0..reach.len()).rev() {
        if let Some(parent) = parent(joint).filter(|_| reach[joint] > 0.0) {
            let arm = length(sub(model[joint].origin, model[parent].origin));
            reach[parent] = reach[parent].max(reach[joint] + arm);
        }
    }
    let own = options.joint_budgets.iter().map(|&(_, budget)| budget);
    let budget = f64::from(own.fold(options.budget, f32::min)) * part;
    let stretch = |model: &Affine64| transposed(&model.linear).map(length).into_iter().fold(0.0, f64::max);
    let of_joint = |joint: usize| {
        let outer = parent(joint).map_or(1.0, |parent| stretch(&model[parent]));
        let scale = skeleton.rest().get(joint).scale.map(f64::from).map(f64::abs);
        let scale = scale.into_iter().fold(0.0, f64::max);
        let angle = (budget / reach[joint]).clamp(LEAST, MOST);
        let distance = if outer > 0.0 { budget / outer } else { budget };
        [angle, distance, (budget / reach[joint] * scale).min(MOST)]
    };
    Ok(Tolerances { joints: (0..model.len()).map(of_joint).collect(), options, part })
}

/// Keys of all curves. `None` if a curve has no keys within its tolerance.
fn own_keys(
    clip: &Clip<'_>,
    source: &Source<'_>,
    skeleton: &Skeleton,
    tolerances: &Tolerances<'_>,
) -> Result<Option<RawClip>, Error> {
    let Some(curves) = Curves::new(clip) else { return Ok(None) };
    let Some(properties) = curves.properties(skeleton, |target| source.keeps(target)) else {
        return Ok(None);
    };
    let mut build = Build::default();
    for property in &properties {
        let tolerance = tolerances.of(property.target);
        let Some(found) = keys(property, tolerance) else { return Ok(None) };
        let first: Vec<f64> = found.values[..property.width].iter().map(|&v| v.into()).collect();
        let (mut times, mut values) = (found.times, found.values);
        if found.interpolation == Interpolation::Linear && is_constant(&values, property.width, tolerance) {
            if property.target.joint().is_some() && are_near(&first, &property.rest, tolerance) {
                continue;
            }
            times.truncate(1);
            values.truncate(property.width);
        }
        let interpolation = found.interpolation;
        let channel = Channel { interpolation, keys: Vec::new(), times: Some(times), values };
        build.add(property.target, &channel, &[]);
    }
    build.finish(source, skeleton, true).map(Some)
}

fn is_constant(values: &[f32], width: usize, tolerance: f64) -> bool {
    let as_f64 = |value: &[f32]| -> Vec<f64> { value.iter().map(|&v| v.into()).collect() };
    let first = as_f64(&values[..width]);
    values.chunks_exact(width.max(1)).all(|value| are_near(&first, &as_f64(value), tolerance))
}

/// Whether values differ by less than a tolerance; of a rotation, each component by less than half of it.
fn are_near(a: &[f64], b: &[f64], tolerance: f64) -> bool {
    let square: f64 = a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum();
    4.0 * square <= tolerance * tolerance
}

#[cfg(test)]
mod tests;
