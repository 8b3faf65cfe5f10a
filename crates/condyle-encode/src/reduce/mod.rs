//! Key reduction: converts any clip to an authored one with as few keys as an error budget allows, for files
//! that other programs read.

mod authored;
mod build;
mod channel;
mod format;
mod key_search;
mod key_values;
mod measure;
mod source;
mod space;

use alloc::vec;
use alloc::vec::Vec;

pub(super) use self::build::Build;
pub(super) use self::channel::Channel;
use self::channel::{Grids, fit_values};
pub use self::format::KeyFormat;
use self::format::{ROTATION_GRADES, STEP_GRADES, Steps};
use self::key_search::{Property, fit};
use self::measure::add_part;
pub(super) use self::measure::measure_all;
pub use self::measure::measure_keys;
pub(super) use self::source::Source;
use self::source::Window;
use self::space::{Lengths, Turns};
use super::aims::Aims;
use super::algebra::{Affine64, Vector, apply, length, sub, turned};
use super::budget::{FIRST_SPLIT, MAX_ROUNDS, graded_by_depth, tighten};
use super::options::{EncodeOptions, Measured};
use super::points::{self, Point, points_to_place};
use super::search::place_all;
use super::shell;
use super::task::{
    BudgetFractions, DECODER_ROUNDING, JointFacts, STATIC_THRESHOLD, SegmentJob, USABLE_FRACTION,
    minus_rounding,
};
use condyle::clip::{Interpolation, RawClip, Target};
use condyle::sampling::AnyClip;
use condyle::skeleton::Skeleton;
use condyle_base::error::Error;
use condyle_base::math::Transform64;
use condyle_base::math::quats::Quat64;
use condyle_base::math::vectors::{dot, normalize};

/// Clip with fewer keys, and its error.
///
/// ```
/// use condyle_encode::{EncodeOptions, KeyFormat, Shell, reduce};
/// use condyle::{Interpolation, Joint, RawClip, Skeleton, Target, Track, Transform};
///
/// let skeleton = Skeleton::new([Joint::new("lift", None, Transform::IDENTITY)])?;
/// // A key at each of sixty frames, all on one line.
/// let times: Vec<f32> = (0..=60).map(|frame| frame as f32 / 30.0).collect();
/// let values = times.iter().flat_map(|&t| [0.0, 0.7 * t, 0.0]).collect();
/// let (target, interpolation) = (Target::Translation(0), Interpolation::Linear);
/// let up = Track { target, interpolation, timeline: 0, values };
/// let clip = RawClip::new("up".into(), vec![times], vec![up])?;
///
/// let reduced = reduce(&clip, &skeleton, &EncodeOptions::new(1e-4, Shell::Balls(0.03)), KeyFormat::Floats)?;
/// assert_eq!(reduced.clip.timelines()[0].len(), 2);
/// assert!(reduced.measured.error_max <= 1e-4);
/// # Ok::<(), condyle::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Reduced {
    /// Reduced clip.
    pub clip: RawClip,
    /// Rate in frames per second at which errors were checked, in addition to the key times.
    pub rate: f32,
    /// Error of the points of the shell. It was checked at every key and frame, at three intermediate times
    /// between frames, and more densely between keys that are closer than that. Each of
    /// [`frames`](Measured::frames) includes the interval up to the next frame; `error_p99` and
    /// `error_between_max` stay 0.
    pub measured: Measured,
}

/// Fraction of its limit that the rounding of a constant may use; a constant has only one key.
const CONSTANT_ROUNDING: f64 = 0.02;

/// Maximum number of attempts with less of the budget, if rounding exceeds it.
const MAX_TRIES: usize = 4;

/// Number of times that `reduce` adds moments between keys and refits the failed frames. A second refinement
/// fixed no frame in recorded walks.
const MAX_REFINEMENTS: usize = 1;

/// Reduces a clip to the fewest keys found that keep every point of the shell within the budget, between keys
/// too.
///
/// Each property uses straight lines or splines, whichever take fewer bytes, at times that tracks share. A
/// constant track has one key, a track at rest is omitted, and step tracks stay unchanged.
///
/// `format` is the number format in which the keys will be stored; the error includes its rounding.
/// [`EncodeOptions::effort`], [`root_motion`](EncodeOptions::root_motion) and
/// [`events`](EncodeOptions::events) do not apply.
///
/// # Errors
/// Returns the errors of [`encode`](crate::encode()).
pub fn reduce<'a>(
    clip: impl Into<AnyClip<'a>>,
    skeleton: &Skeleton,
    options: &EncodeOptions,
    format: KeyFormat,
) -> Result<Reduced, Error> {
    options.check(skeleton.joint_count())?;
    let clip = clip.into();
    let mut source = Source::new(&clip, skeleton, options)?;
    let windows = source.windows()?;
    let pinned = windows.len() > 1;
    let mut parts: Vec<Option<Part>> = vec![None; windows.len()];
    let mut best: Option<Reduced> = None;
    for refinement in 0..=MAX_REFINEMENTS {
        for (part, frames) in parts.iter_mut().zip(&windows).filter(|(part, _)| part.is_none()) {
            let window = source.window(frames.clone())?;
            let mut job = Job::new(skeleton, options, &source, window, pinned, format)?;
            (0..refinement).for_each(|_| job.use_less());
            let bounds = job.bounds();
            *part = Some((job.best()?, bounds));
        }
        let mut found = join(parts.iter().flatten().cloned().collect(), &source, skeleton)?;
        let unseen = source.unseen(&found.clip)?;
        let measured = match &unseen[..] {
            [] => found.measured.clone(),
            unseen => measure_all(&source.with(unseen), &found.clip, skeleton, options)?,
        };
        let worse = frames_made_worse(options, &found.measured, &measured);
        found.measured = measured;
        let is_better = |best: &Reduced| found.measured.error_max < best.measured.error_max;
        if holds(options, &found.measured) || best.as_ref().is_none_or(is_better) {
            best = Some(found);
        }
        if worse.is_empty() {
            break;
        }
        let of_worse = unseen.into_iter().filter(|&time| worse.binary_search(&source.frame_of(time)).is_ok());
        source = source.with(&of_worse.collect::<Vec<_>>());
        for (part, frames) in parts.iter_mut().zip(&windows) {
            if worse.iter().any(|frame| frames.contains(frame)) {
                *part = None;
            }
        }
    }
    best.ok_or(Error::NoKeys { timeline: 0 })
}

/// Reduced keys of a range of frames, and the first and last moment of the range.
type Part = (Reduced, [f32; 2]);

/// Frames that exceed a budget only at the moments that `between` adds, in ascending order.
fn frames_made_worse(options: &EncodeOptions, at_moments: &Measured, between: &Measured) -> Vec<usize> {
    if holds(options, between) {
        return Vec::new();
    }
    let is_of_tracks =
        at_moments.track_over_budget(options).is_none() && between.track_over_budget(options).is_some();
    // A frame's error does not name its joint, so the smallest budget decides.
    let own = options.joint_budgets.iter().map(|&(_, budget)| budget);
    let least = own.fold(options.budget, f32::min);
    let held = holds(options, at_moments);
    let pairs = at_moments.frames.iter().zip(&between.frames).enumerate();
    let worse = pairs.filter(|(_, (before, after))| {
        is_of_tracks || (after > before && **after > least && (held || **before <= least))
    });
    worse.map(|(frame, _)| frame).collect()
}

/// Whether all joints and tracks are within their budgets.
pub(super) fn holds(options: &EncodeOptions, it: &Measured) -> bool {
    let mut joints = it.joints.iter().enumerate();
    joints.all(|(joint, worst)| worst.error <= options.budget_of_joint(joint))
        && it.track_over_budget(options).is_none()
}

/// Joins the parts of a clip. A track that is constant or missing in one part gets two keys there.
fn join(mut parts: Vec<Part>, source: &Source<'_>, skeleton: &Skeleton) -> Result<Reduced, Error> {
    if parts.len() == 1 {
        return parts.pop().map(|(whole, _)| whole).ok_or(Error::NoKeys { timeline: 0 });
    }
    let mut targets: Vec<Target> =
        parts.iter().flat_map(|(part, _)| part.clip.tracks()).map(|track| track.target).collect();
    targets.sort();
    targets.dedup();
    targets.retain(|&target| !source.keeps(target));
    let mut build = Build::default();
    for target in targets {
        let (mut times, mut values): (Vec<f32>, Vec<f32>) = Default::default();
        for (part, bounds) in &parts {
            let (own_times, own_values) = match part.clip.track(target) {
                Some(track) => (part.clip.timelines()[track.timeline].clone(), track.values.clone()),
                // Free tracks are in all parts.
                None => (vec![bounds[0]], rest_value(skeleton, target)),
            };
            let (own_times, own_values) = match own_times.len() {
                1 => (bounds.to_vec(), own_values.repeat(2)),
                _ => (own_times, own_values),
            };
            // The last key of a part is the first of the next one.
            let skip = usize::from(times.last() == own_times.first());
            let width = own_values.len() / own_times.len();
            times.extend(&own_times[skip..]);
            values.extend(&own_values[skip * width..]);
        }
        let keys =
            Channel { interpolation: Interpolation::Linear, keys: Vec::new(), times: Some(times), values };
        build.add(target, &keys, &[]);
    }
    let clip = build.finish(source, skeleton, true)?;
    let mut all = Measured::default();
    for (at, (part, _)) in parts.iter().enumerate() {
        add_part(&mut all, at, &part.measured);
    }
    Ok(Reduced { clip, rate: source.rate(), measured: all })
}

/// Properties of a joint.
fn targets(joint: usize) -> [Target; 3] {
    let joint = joint as u16;
    [Target::Rotation(joint), Target::Translation(joint), Target::Scale(joint)]
}

/// Value of a joint's property without a track.
fn rest_value(skeleton: &Skeleton, target: Target) -> Vec<f32> {
    let rest = |joint: u16| skeleton.rest().get(joint.into());
    match target {
        Target::Rotation(joint) => rest(joint).rotation.to_vec(),
        Target::Translation(joint) => rest(joint).translation.to_vec(),
        Target::Scale(joint) => rest(joint).scale.to_vec(),
        _ => Vec::new(),
    }
}

/// Data that stays the same for all attempts.
struct Job<'s, 'a> {
    skeleton: &'s Skeleton,
    of: &'s Source<'a>,
    source: Window<'a>,
    joints: Vec<JointFacts>,
    /// Model matrices of the source, per joint and moment.
    model: Vec<Vec<Affine64>>,
    grids: Grids,
    /// Joints that keep all authored keys, because no other keys are within their budget.
    exact: Vec<bool>,
    /// Fraction of the track budgets that may be used.
    track_part: f32,
    options: &'s EncodeOptions,
    format: KeyFormat,
}

/// Unevenly spaced sets of keys that previous properties use.
type Uneven = Vec<Vec<usize>>;

/// Channels of a joint's rotation, translation and scale; `None` at rest.
type Channels = [Option<Channel>; 3];

/// Result of one attempt.
struct Fit {
    channels: Vec<Channels>,
    /// Maximum error of each joint as a fraction of its budget.
    errors: Vec<f64>,
    /// Whether rotation, translation and scale of each joint lack suitable keys.
    lacking: Vec<[bool; 3]>,
}

impl<'s, 'a> Job<'s, 'a> {
    fn new(
        skeleton: &'s Skeleton,
        options: &'s EncodeOptions,
        of: &'s Source<'a>,
        source: Window<'a>,
        pinned: bool,
        format: KeyFormat,
    ) -> Result<Self, Error> {
        let count = skeleton.joint_count();
        let shell = shell::bodies(skeleton, &options.shell)?;
        let kept = DECODER_ROUNDING * shell::extent(skeleton, &shell);
        let mut joints = Vec::with_capacity(count);
        for (j, (shell, rest)) in shell.into_iter().zip(skeleton.rest().transforms()).enumerate() {
            let mut rest = Transform64::from(rest);
            normalize(&mut rest.rotation);
            joints.push(JointFacts {
                parent: skeleton.parent(j as u16).map(usize::from),
                rest,
                shell,
                budget: minus_rounding(options.budget, kept),
                fallback: targets(j).map(|target| of.keeps(target)),
            });
        }
        for &(joint, budget) in &options.joint_budgets {
            joints[usize::from(joint)].budget = minus_rounding(budget, kept);
        }
        let model = place_all(&joints, &source.joints);
        let grids = Grids::new(source.moments.len(), &source.frames, source.places.clone(), pinned);
        let exact = vec![false; count];
        // Parts share a key where they meet and must round it to the same value, so they cannot choose
        // precisions.
        let format = if pinned && format == KeyFormat::Filtered { KeyFormat::Shorts } else { format };
        Ok(Self { skeleton, of, source, joints, model, grids, exact, track_part: 1.0, options, format })
    }

    /// Times of the first and the last moment.
    fn bounds(&self) -> [f32; 2] {
        let moments = &self.source.moments;
        [moments[0], moments[moments.len() - 1]].map(|seconds| seconds as f32)
    }

    /// Lowers the budgets of the fit, which leaves room for errors between the moments.
    fn use_less(&mut self) {
        self.joints.iter_mut().for_each(|joint| joint.budget *= 0.9);
        self.track_part *= 0.9;
    }

    /// Returns a clip within the budget, or the best one if no clip is.
    fn best(&mut self) -> Result<Reduced, Error> {
        let options = self.options;
        let holds = |it: &Measured| holds(options, it);
        let mut best: Option<Reduced> = None;
        for _ in 0..MAX_TRIES {
            let Some(clip) = self.clip()? else { break };
            let measured = self.measure(&clip);
            if holds(&measured) {
                return self.or_authored(Reduced { clip, rate: self.of.rate(), measured }, holds);
            }
            if best.as_ref().is_none_or(|best| measured.error_max < best.measured.error_max) {
                best = Some(Reduced { clip, rate: self.of.rate(), measured });
            }
            self.use_less();
        }
        let clip = self.exact()?;
        let exact = Reduced { measured: self.measure(&clip), rate: self.of.rate(), clip };
        Ok(match best {
            Some(best) if !holds(&exact.measured) && best.measured.error_max < exact.measured.error_max => {
                best
            }
            _ => exact,
        })
    }

    /// Fits all joints. A joint that fails keeps all authored keys, as do all its ancestors, so that its
    /// position is exact.
    fn fit(&mut self) -> Option<Fit> {
        loop {
            let failed = match self.attempt() {
                Ok(fit) => return Some(fit),
                Err(failed) => failed,
            };
            let mut is_new = false;
            for joint in failed {
                let parent = |&joint: &usize| self.joints[joint].parent;
                let chain: Vec<usize> = core::iter::successors(Some(joint), parent).collect();
                for joint in chain {
                    is_new |= !core::mem::replace(&mut self.exact[joint], true);
                }
            }
            if !is_new {
                return None;
            }
        }
    }

    /// Tries to fit all joints, with less budget for the ancestors of failing ones; otherwise returns the
    /// failed joints.
    fn attempt(&self) -> Result<Fit, Vec<usize>> {
        let joints = &self.joints[..];
        let mut fractions = vec![FIRST_SPLIT; joints.len()];
        let mut last = Vec::new();
        for _ in 0..MAX_ROUNDS {
            let found = self.search(&fractions);
            let failed = failed(joints, &found);
            if failed.is_empty() {
                return Ok(found);
            }
            // Stops tightening if it has no effect.
            let is_same = failed == last && failed.iter().all(|&joint| fractions[joint].place < 0.4);
            for &joint in &failed {
                tighten(joints, joint, found.lacking[joint][1], &mut fractions);
            }
            last = failed;
            if is_same {
                break;
            }
        }
        let graded = [1.0, 0.5, 0.2].into_iter().map(|factor| self.search(&graded_by_depth(joints, factor)));
        graded.into_iter().find(|found| failed(joints, found).is_empty()).ok_or(last)
    }

    /// Fits each joint relative to its parent as readers will decode it, parents first.
    fn search(&self, fractions: &[BudgetFractions]) -> Fit {
        let joints = &self.joints[..];
        let job = SegmentJob {
            joints,
            source: &self.source.joints,
            shapes: &[],
            fractions,
            max_bits: 0,
            nlerp: false,
        };
        let (points, is_static) = points_to_place(&job, &self.model);
        let count = self.source.moments.len();
        let mut placed: Vec<Vec<Affine64>> = Vec::with_capacity(joints.len());
        let mut uneven = Vec::new();
        let mut fit =
            Fit { channels: Vec::new(), errors: Vec::new(), lacking: vec![[false; 3]; joints.len()] };
        for (index, joint) in joints.iter().enumerate() {
            let mut own = self.source.joints[index].clone();
            let parents = joint.parent.map(|parent| placed[parent].as_slice());
            let found = if self.exact[index] {
                self.exact_channels(index).map(Ok)
            } else {
                let translation = self.translation(index, parents, &fractions[index], &mut own, &mut uneven);
                let scale = self.scale(index, &points[index], &fractions[index], &mut own, &mut uneven);
                let aims = Aims::new(parents, &self.model[index], &points[index], &own);
                let rotation =
                    self.rotation(index, is_static[index], &aims, &points[index], &mut own, &mut uneven);
                [rotation, translation, scale]
            };
            fit.lacking[index] = found.each_ref().map(Result::is_err);
            fit.channels.push(found.map(Result::unwrap_or_default));
            let at = |moment: usize| {
                let local = Affine64::local(&own[moment]);
                parents.map_or(local, |parents| parents[moment].after(&local))
            };
            let is: Vec<Affine64> = (0..count).map(at).collect();
            let mut worst = 0.0_f64;
            for (is, want) in is.iter().zip(&self.model[index]) {
                for body in &joint.shell {
                    worst = worst.max(body.beyond(is, want, worst).unwrap_or_default());
                }
            }
            fit.errors.push(worst / joint.budget);
            placed.push(is);
        }
        fit
    }

    /// Fraction of a limit below which motion counts as rest. 0 if this part must match adjacent parts of the
    /// clip.
    fn static_part(&self) -> f64 {
        if self.grids.pinned { 0.0 } else { STATIC_THRESHOLD }
    }

    /// Rounds a constant to few bytes. `part` returns the fraction of its limit that a difference uses.
    fn rounded(&self, value: Vector, part: impl Fn(Vector) -> f64) -> [f32; 3] {
        let finest = Steps::finest(self.format, format::greatest(value));
        let found = self.format.coarsest(STEP_GRADES, |grade| {
            let rounded = value.map(|v| finest.coarser(grade).round(v));
            let off = part(sub(rounded.map(f64::from), value));
            (grade == 0 || off <= CONSTANT_ROUNDING).then_some(rounded)
        });
        found.unwrap_or(value.map(|v| v as f32))
    }

    /// Property of a joint with a target value at each moment.
    fn property<'p, const N: usize>(&'p self, of: Target, targets: &'p [[f64; N]]) -> Property<'p, N> {
        let (grids, times) = (&self.grids, &self.source.moments);
        Property { grids, times, targets, authored: self.of.authored(of) }
    }

    fn translation(
        &self,
        index: usize,
        parents: Option<&[Affine64]>,
        fractions: &BudgetFractions,
        own: &mut [Transform64],
        uneven: &mut Uneven,
    ) -> Result<Option<Channel>, ()> {
        let joint = &self.joints[index];
        if joint.fallback[1] {
            return Ok(None);
        }
        let (rest, middle) = (joint.rest.translation, own[own.len() / 2].translation);
        let outer = parents.map_or(1.0, |parents| parents[own.len() / 2].reach());
        let threshold = joint.budget * self.static_part();
        let near = |to: Vector| own.iter().all(|it| length(sub(it.translation, to)) * outer <= threshold);
        if near(rest) {
            own.iter_mut().for_each(|local| local.translation = rest);
            return Ok(None);
        }
        if near(middle) {
            let off = |by: Vector| length(by) * outer / joint.budget;
            let value = self.rounded(middle, off);
            own.iter_mut().for_each(|local| local.translation = value.map(f64::from));
            return Ok(Some(Channel::constant(&value)));
        }
        let targets: Vec<Vector> = (0..own.len())
            .map(|moment| {
                let place = self.model[index][moment].origin;
                match parents {
                    // A parent with scale 0 cannot be inverted.
                    Some(parents) if parents[moment].linear == [[0.0; 3]; 3] => own[moment].translation,
                    Some(parents) => parents[moment].back(place),
                    None => place,
                }
            })
            .collect();
        let limit = joint.budget * fractions.translation * USABLE_FRACTION;
        let holds = |moment: usize, value: Vector| {
            let off = sub(value, targets[moment]);
            let off = parents.map_or(off, |parents| apply(&parents[moment].linear, off));
            dot(off, off) <= limit * limit
        };
        let property = self.property(Target::Translation(index as u16), &targets);
        let lengths = Lengths::new(self.format, &targets);
        let (channel, values) = fit(&lengths, property, uneven, holds).ok_or(())?;
        own.iter_mut().zip(values).for_each(|(local, value)| local.translation = value);
        Ok(Some(channel))
    }

    fn scale(
        &self,
        index: usize,
        points: &[Point],
        fractions: &BudgetFractions,
        own: &mut [Transform64],
        uneven: &mut Uneven,
    ) -> Result<Option<Channel>, ()> {
        let joint = &self.joints[index];
        if joint.fallback[2] {
            return Ok(None);
        }
        let (rest, middle) = (joint.rest.scale, own[own.len() / 2].scale);
        let far = points.iter().map(|point| point.body.size() / point.limit).fold(0.0, f64::max);
        let off = |a: Vector, b: Vector| length(sub(a, b)) * far;
        let static_part = self.static_part();
        let near = |to: Vector| own.iter().all(|local| off(local.scale, to) <= static_part / 4.0);
        if near(rest) {
            own.iter_mut().for_each(|local| local.scale = rest);
            return Ok(None);
        }
        if near(middle) {
            let value = self.rounded(middle, |by| length(by) * far);
            own.iter_mut().for_each(|local| local.scale = value.map(f64::from));
            return Ok(Some(Channel::constant(&value)));
        }
        let targets: Vec<Vector> = own.iter().map(|local| local.scale).collect();
        let limit = fractions.translation * 0.5;
        let property = self.property(Target::Scale(index as u16), &targets);
        let holds = |moment: usize, value: Vector| off(value, targets[moment]) <= limit;
        let lengths = Lengths::new(self.format, &targets);
        let (channel, values) = fit(&lengths, property, uneven, holds).ok_or(())?;
        own.iter_mut().zip(values).for_each(|(local, value)| local.scale = value);
        Ok(Some(channel))
    }

    fn rotation(
        &self,
        index: usize,
        is_static: bool,
        aims: &Aims<'_>,
        points: &[Point],
        own: &mut [Transform64],
        uneven: &mut Uneven,
    ) -> Result<Option<Channel>, ()> {
        let joint = &self.joints[index];
        if joint.fallback[0] {
            return Ok(None);
        }
        let (rest, middle) = (joint.rest.rotation, own[own.len() / 2].rotation);
        let reach =
            self.model[index].iter().fold(0.0_f64, |most, model| most.max(points::reach(points, model)));
        let limit = points.iter().map(|point| point.limit).fold(f64::INFINITY, f64::min).min(joint.budget);
        let static_part = self.static_part();
        let near = |to: Quat64| own.iter().all(|it| turned(to, it.rotation) * reach <= limit * static_part);
        let serves = |value: Quat64| is_static || (0..own.len()).all(|moment| aims.holds(moment, value));
        if near(rest) && serves(rest) {
            own.iter_mut().for_each(|local| local.rotation = rest);
            return Ok(None);
        }
        if near(middle) {
            let constant = self.format.coarsest(ROTATION_GRADES, |grade| {
                let (_, value) = format::rotation(middle, self.format, grade);
                let is = value.map(f64::from);
                // Four 16-bit numbers are used only if no coarser form is within limits.
                let is_near = grade < 2 || turned(is, middle) * reach <= limit * CONSTANT_ROUNDING;
                (is_near && serves(is)).then_some((value, is))
            });
            if let Some((value, is)) = constant {
                own.iter_mut().for_each(|local| local.rotation = is);
                return Ok(Some(Channel::constant(&value)));
            }
        }
        let mut last = own[0].rotation;
        let targets: Vec<Quat64> = own
            .iter()
            .enumerate()
            .map(|(moment, local)| {
                // On one hemisphere, so that splines of the components do not flip.
                last = condyle_base::math::quats::near(last, aims.best(moment, local.rotation));
                last
            })
            .collect();
        let property = self.property(Target::Rotation(index as u16), &targets);
        let holds = |moment: usize, value: Quat64| aims.holds(moment, value);
        let mut found = |format| fit(&Turns { format, grade: 0 }, property, uneven, holds);
        // If integers are too coarse, tries floats.
        let (channel, values) = found(self.format).or_else(|| found(KeyFormat::Floats)).ok_or(())?;
        own.iter_mut().zip(values).for_each(|(local, value)| local.rotation = value);
        Ok(Some(channel))
    }

    /// Clip of one attempt; `None` if it has no keys within the budget.
    fn clip(&mut self) -> Result<Option<RawClip>, Error> {
        let Some(fit) = self.fit() else { return Ok(None) };
        let mut build = Build::default();
        for (joint, channels) in fit.channels.iter().enumerate() {
            for (target, channel) in targets(joint).into_iter().zip(channels) {
                if let Some(channel) = channel {
                    build.add(target, channel, &self.source.moments);
                }
            }
        }
        if !self.add_free(&mut build) {
            return Ok(None);
        }
        build.finish(self.of, self.skeleton, !self.grids.pinned).map(Some)
    }

    /// Adds the tracks that drive no joint. Returns false if one of them has no suitable keys.
    fn add_free(&self, build: &mut Build) -> bool {
        self.source.free.iter().all(|free| {
            let limit = minus_rounding(self.options.budget_of(free.target) * self.track_part, 1e-7);
            let found = fit_values(&self.source.moments, &self.grids, free, limit, self.format);
            found.map(|channel| build.add(free.target, &channel, &self.source.moments)).is_some()
        })
    }
}

/// Joints that are over budget or lack keys, without the descendants of such joints.
fn failed(joints: &[JointFacts], fit: &Fit) -> Vec<usize> {
    let mut below = vec![false; joints.len()];
    let mut topmost = Vec::new();
    for (joint, facts) in joints.iter().enumerate() {
        below[joint] = facts.parent.is_some_and(|parent| below[parent]);
        if (fit.errors[joint] > 1.0 || fit.lacking[joint].contains(&true)) && !below[joint] {
            below[joint] = true;
            topmost.push(joint);
        }
    }
    topmost
}

#[cfg(test)]
mod tests;
