//! Extraction of root motion from a clip.
//!
//! The motion is measured at one joint and removed at the roots. Removing it at that joint would need the
//! inverse of its ancestors. Under uneven scale that is a shear, and siblings of the joint would move twice.
//! Before a root, a rigid transform changes only translation and rotation, so every joint agrees with the
//! original, exactly at the keys. Between keys, the remaining tracks get as many keys as keep them within
//! 2e-6 of the character's size. Extraction is plain f64, with the same bits everywhere.

use alloc::string::ToString;
use alloc::vec;
use alloc::vec::Vec;

use super::root::RootMotion;
use crate::clip::keys::{Span, value_at};
use crate::clip::{Interpolation, RawClip, Target, Track};
use crate::play::clock::check_duration;
use crate::skeleton::Skeleton;
use condyle_base::error::Error;
use condyle_base::math::quats::{conjugate, product, rotate, slerp_f64};
use condyle_base::math::vectors::normalize;
use condyle_base::math::{Transform, Transform64};
use condyle_base::order;

/// Part of a joint's rotation that belongs to the root motion.
///
/// ```
/// use condyle::motion::{MotionRotation, RootMotionOptions};
///
/// // A swimmer turns about all axes; a walking character only about the vertical axis, which is the default.
/// let mut swim = RootMotionOptions::default();
/// (swim.translation, swim.rotation) = ([true; 3], MotionRotation::Whole);
/// assert_ne!(swim.rotation, MotionRotation::default());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum MotionRotation {
    /// No rotation: all of it stays in the pose.
    None,
    /// The heading: the nearest rotation about +Y.
    #[default]
    Yaw,
    /// The whole rotation.
    Whole,
}

/// Parts of a clip that [`extract`] moves into the root motion.
///
/// ```
/// use condyle::motion::{MotionRotation, RootMotionOptions};
///
/// let mut jump = RootMotionOptions::default();
/// jump.translation = [true; 3];
/// assert_eq!((jump.joint, jump.rotation, jump.sample_rate), (0, MotionRotation::Yaw, 30.0));
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct RootMotionOptions {
    /// Joint that the character follows: the hips, or a root bone animated for this purpose.
    pub joint: u16,
    /// Whether the joint's translation along x, y and z of model space belongs to the motion.
    pub translation: [bool; 3],
    /// Part of the joint's rotation in model space that belongs to the motion.
    pub rotation: MotionRotation,
    /// Minimum samples per second. The rate is raised so that the last sample is at the end of the clip.
    pub sample_rate: f32,
}

impl Default for RootMotionOptions {
    /// Ground motion of the first joint: x, z and yaw, 30 samples per second.
    fn default() -> Self {
        Self { joint: 0, translation: [true, false, true], rotation: MotionRotation::Yaw, sample_rate: 30.0 }
    }
}

/// Maximum number of samples of a motion, and of keys of a root's remaining tracks. Limits the memory use.
const MAX_SAMPLES: usize = 1 << 20;

/// Maximum error of the remaining tracks between keys: a fraction of the character's size for translations,
/// radians for rotations. [`extract`] documents it.
const TOLERANCE: f64 = 2e-6;

/// Minimum tolerance relative to a coordinate: about 2 ULP of f32, which more keys cannot improve.
const ROUNDING: f64 = 2e-7;

/// Maximum number of times that an interval is halved to meet the tolerance.
const HALVINGS: u32 = 12;

/// Splits a clip into a root motion and a remaining clip: for every joint and time, `motion * remaining` is
/// the original.
///
/// The motion is measured at the joint's model matrix, including the movement and the scale of its ancestors:
///
/// - Rotation `q`: the joint's rotation since the start of the clip, or its yaw.
/// - Translation, on the enabled axes: `now - q * then`, from the rotated first position of the joint to the
///   current one. On the other axes it is 0.
///
/// So the motion starts with the identity, and the remaining joint does not move along the enabled axes.
///
/// The motion is removed at the roots, where this is exact for all joints and any scale: their translation
/// becomes `motion⁻¹ * original`. So does their rotation if the motion has one. These tracks are replaced by
/// linear ones, with keys at the samples of the motion and at the original keys of the root. Keys are added
/// until the error is at most 2e-6 of the size of the character. All other tracks are unchanged.
///
/// If the joint is upside down, its yaw is undefined, and the previous yaw is used. The result has the same
/// bits on every platform. The function is meant for authoring: it allocates and is slow.
///
/// ```
/// use condyle::motion::{self, RootMotionOptions};
/// use condyle::{Interpolation, Joint, Looping, RawClip, Skeleton, Target, Track, Transform};
///
/// let root = Joint::new("hips", None, Transform::IDENTITY);
/// let skeleton = Skeleton::new([root])?;
/// // Up and down during the walk.
/// let walk = Track {
///     target: Target::Translation(0),
///     interpolation: Interpolation::Linear,
///     timeline: 0,
///     values: vec![0.0, 1.0, 0.0, 0.0, 1.1, 0.75, 0.0, 1.0, 1.5],
/// };
/// let clip = RawClip::new("walk".into(), vec![vec![0.0, 0.5, 1.0]], vec![walk])?;
/// let (in_place, motion) = motion::extract(&clip, &skeleton, &RootMotionOptions::default())?;
/// assert_eq!(motion.over(Looping::Wrap, 0.0, 10.0)?.translation, [0.0, 0.0, 15.0]);
/// // The first and the last key of the remaining track.
/// let values = &in_place.tracks()[1].values;
/// assert_eq!((values.first_chunk(), values.last_chunk()), (Some(&[0.0, 1.0, 0.0]), Some(&[0.0, 1.0, 0.0])));
/// # Ok::<(), condyle::Error>(())
/// ```
///
/// # Errors
/// - [`Error::Index`] if the skeleton does not have the joint, or if the clip has tracks for joints that the
///   skeleton does not have.
/// - [`Error::NotFinite`] or [`Error::OutOfRange`] for a sample rate that is not finite or not above 0.
/// - [`Error::TooMany`] for more than 2^20 samples, or more than 2^20 keys of a root.
/// - [`Error::NotFinite`] if the joint moves too far for f32.
pub fn extract(
    clip: &RawClip,
    skeleton: &Skeleton,
    options: &RootMotionOptions,
) -> Result<(RawClip, RootMotion), Error> {
    let count = skeleton.joint_count();
    if usize::from(options.joint) >= count {
        return Err(Error::Index { what: "joint", at: 0, found: options.joint.into(), count });
    }
    clip.check_skeleton(skeleton)?;
    let paths = Paths { clip, skeleton };
    let motion = measure(&paths, options)?;
    if options.translation == [false; 3] && options.rotation == MotionRotation::None {
        return Ok((clip.clone(), motion));
    }
    let travelled =
        motion.samples().iter().flat_map(|s| s.translation).fold(0.0, |far: f32, v| far.max(v.abs()));
    let tolerance = (TOLERANCE * paths.size()).max(ROUNDING * f64::from(travelled));
    let mut timelines = clip.timelines().to_vec();
    let mut tracks = clip.tracks().to_vec();
    let turns = options.rotation != MotionRotation::None;
    for root in (0..count as u16).filter(|&j| skeleton.parent(j).is_none()) {
        let targets: &[Target] = &[Target::Translation(root), Target::Rotation(root)];
        let targets = if turns { targets } else { &targets[..1] };
        let keys = remaining(&paths, root, targets, &motion, tolerance)?;
        tracks.retain(|t| !targets.contains(&t.target));
        tracks.extend(targets.iter().map(|&target| Track {
            target,
            interpolation: Interpolation::Linear,
            timeline: timelines.len(),
            values: match target {
                Target::Rotation(_) => keys.iter().flat_map(|k| k.rotation).collect(),
                _ => keys.iter().flat_map(|k| k.translation).collect(),
            },
        }));
        timelines.push(keys.iter().map(|k| k.time).collect());
    }
    let (timelines, tracks) = without_unused(timelines, tracks);
    Ok((RawClip::new(clip.name().to_string(), timelines, tracks)?.for_skeleton_of(clip), motion))
}

/// Drops the timelines that no track uses.
fn without_unused(timelines: Vec<Vec<f32>>, mut tracks: Vec<Track>) -> (Vec<Vec<f32>>, Vec<Track>) {
    let mut places = vec![None; timelines.len()];
    let mut used = Vec::new();
    let mut timelines: Vec<Option<Vec<f32>>> = timelines.into_iter().map(Some).collect();
    for track in &mut tracks {
        let place = *places[track.timeline].get_or_insert_with(|| {
            used.extend(timelines[track.timeline].take());
            used.len() - 1
        });
        track.timeline = place;
    }
    (used, tracks)
}

/// Evaluates the joints of a clip in f64.
struct Paths<'a> {
    clip: &'a RawClip,
    skeleton: &'a Skeleton,
}

impl Paths<'_> {
    fn track(&self, target: Target) -> Option<&Track> {
        let at = self.clip.tracks().binary_search_by_key(&target, |t| t.target).ok()?;
        self.clip.tracks().get(at)
    }

    fn value<const N: usize>(&self, target: Target, seconds: f64) -> Option<[f64; N]> {
        let track = self.track(target)?;
        let times = &self.clip.timelines()[track.timeline];
        Some(value_at(track, Span::find(times, seconds, 0)))
    }

    /// Local transform of a joint. `seconds` is in the time of the clip's keys.
    fn local(&self, joint: u16, seconds: f64) -> Transform64 {
        let rest = Transform64::from(self.skeleton.rest().get(joint.into()));
        Transform64 {
            rotation: self.value(Target::Rotation(joint), seconds).unwrap_or(rest.rotation),
            translation: self.value(Target::Translation(joint), seconds).unwrap_or(rest.translation),
            scale: self.value(Target::Scale(joint), seconds).unwrap_or(rest.scale),
        }
    }

    /// Position and rotation of a joint in model space. A sheared matrix gets the rotation of
    /// [`Transform64::from_rows`].
    fn model(&self, joint: u16, seconds: f64) -> Transform64 {
        let mut rows = self.local(joint, seconds).to_rows();
        let mut above = self.skeleton.parent(joint);
        while let Some(parent) = above {
            let m = self.local(parent, seconds).to_rows();
            let entry = |r: usize, c: usize| (0..3).map(|k| m[r][k] * rows[k][c]).sum::<f64>();
            rows = core::array::from_fn(|r| [entry(r, 0), entry(r, 1), entry(r, 2), entry(r, 3) + m[r][3]]);
            above = self.skeleton.parent(parent);
        }
        Transform64::from_rows(&rows).0
    }

    /// Size of the character: the largest coordinate of a joint in the rest pose, relative to its root.
    fn size(&self) -> f64 {
        let mut places: Vec<[[f64; 4]; 3]> = Vec::with_capacity(self.skeleton.joint_count());
        let mut size = 0.0_f64;
        for (joint, rest) in (0..).zip(self.skeleton.rest().transforms()) {
            let mut local = Transform64::from(rest);
            let Some(parent) = self.skeleton.parent(joint) else {
                local.translation = [0.0; 3];
                places.push(local.to_rows());
                continue;
            };
            let (m, own) = (&places[usize::from(parent)], local.to_rows());
            let rows: [[f64; 4]; 3] = core::array::from_fn(|r| {
                core::array::from_fn(|c| {
                    (0..3).map(|k| m[r][k] * own[k][c]).sum::<f64>() + if c == 3 { m[r][3] } else { 0.0 }
                })
            });
            size = rows.iter().fold(size, |size, row| size.max(row[3].abs()));
            places.push(rows);
        }
        size
    }
}

/// Measures the motion of the joint.
fn measure(paths: &Paths<'_>, options: &RootMotionOptions) -> Result<RootMotion, Error> {
    let rate = options.sample_rate;
    if !rate.is_finite() {
        return Err(Error::NotFinite { what: "sample_rate", at: 0 });
    }
    if rate <= 0.0 {
        return Err(Error::OutOfRange { what: "sample_rate", at: 0, needed: "greater than 0" });
    }
    let (start, duration) = (paths.clip.start(), paths.clip.duration());
    check_duration(duration)?;
    let wanted = duration * f64::from(rate);
    if wanted >= MAX_SAMPLES as f64 {
        return Err(Error::TooMany { what: "samples", found: wanted as usize, limit: MAX_SAMPLES });
    }
    // Rounded up, unless the fraction comes from the rounding of the duration.
    let whole = wanted as usize;
    let spans = if wanted - whole as f64 > 1e-4 { whole + 1 } else { whole };
    let spans = if duration > 0.0 { spans.max(1) } else { 0 };
    let first = paths.model(options.joint, start);
    let mut samples = vec![Transform::IDENTITY];
    let mut yaw = [0.0, 0.0, 0.0, 1.0];
    for at in 1..=spans {
        let now = paths.model(options.joint, start + duration * (at as f64 / spans as f64));
        let turned = product(now.rotation, conjugate(first.rotation));
        let rotation = match options.rotation {
            MotionRotation::None => Transform::IDENTITY.rotation,
            MotionRotation::Yaw => {
                let [_, y, _, w] = turned;
                if y * y + w * w > 1e-12 {
                    yaw = [0.0, y, 0.0, w];
                    normalize(&mut yaw);
                }
                yaw.map(|v| v as f32)
            }
            MotionRotation::Whole => turned.map(|v| v as f32),
        };
        let rotation = on_the_side_of(samples[at - 1].rotation, rotation);
        // Uses the rounded rotation that is stored, so that the translation matches it.
        let mut q = rotation.map(f64::from);
        normalize(&mut q);
        let carried = rotate(q, first.translation);
        let along = |c: usize| {
            if options.translation[c] { (now.translation[c] - carried[c]) as f32 } else { 0.0 }
        };
        samples.push(Transform { rotation, translation: core::array::from_fn(along), scale: [1.0; 3] });
    }
    RootMotion::new(duration, samples)
}

/// Returns `q` or `-q`, whichever is nearer to `before`.
fn on_the_side_of(before: [f32; 4], q: [f32; 4]) -> [f32; 4] {
    let cos: f64 = (0..4).map(|c| f64::from(before[c]) * f64::from(q[c])).sum();
    if cos < 0.0 { q.map(|v| -v) } else { q }
}

/// A key of the remaining tracks of a root.
#[derive(Clone, Copy)]
struct Key {
    time: f32,
    rotation: [f32; 4],
    translation: [f32; 3],
}

/// Computes the remaining tracks of a root: `motion⁻¹ * original`, with enough keys for linear interpolation.
///
/// `targets` are the properties that change.
fn remaining(
    paths: &Paths<'_>,
    root: u16,
    targets: &[Target],
    motion: &RootMotion,
    tolerance: f64,
) -> Result<Vec<Key>, Error> {
    // The range of the key times.
    let (start, end) = (paths.clip.start() as f32, paths.clip.end() as f32);
    let turns = targets.contains(&Target::Rotation(root));
    let exact = |seconds: f64| {
        let local = paths.local(root, seconds);
        let back = motion.at(seconds - f64::from(start)).inverse();
        (product(back.rotation, local.rotation), back.transform_point(local.translation))
    };
    let key = |time: f32| {
        let (rotation, translation) = exact(time.into());
        Key { time, rotation: rotation.map(|v| v as f32), translation: translation.map(|v| v as f32) }
    };
    // All times at which the original or the motion has a corner.
    let mut times = vec![start, end];
    let spans = motion.samples().len() - 1;
    let sample = |at: usize| {
        let seconds = motion.duration() * (at as f64 / spans as f64);
        ((f64::from(start) + seconds) as f32).clamp(start, end)
    };
    times.extend((1..spans).map(sample));
    for &target in targets {
        if let Some(track) = paths.track(target) {
            let own = &paths.clip.timelines()[track.timeline];
            times.extend(own);
            if track.interpolation == Interpolation::Step {
                // A step becomes two keys: the old value just before the step, and the new value.
                times.extend(own.iter().map(|t| t.next_down().max(start)));
            }
        }
    }
    order::sort_by(&mut times, |&time| order::key(time.into()));
    times.dedup();
    // Whether linear interpolation between two keys misses the exact path.
    let leaves = |a: &Key, b: &Key, t: f64| {
        let (from, to) = (f64::from(a.time), f64::from(b.time));
        let (rotation, translation) = exact(from + (to - from) * t);
        let far = |c: usize| {
            let (a, b) = (f64::from(a.translation[c]), f64::from(b.translation[c]));
            (a + (b - a) * t - translation[c]).abs() > tolerance.max(ROUNDING * a.abs().max(b.abs()))
        };
        let turned = || {
            let line = slerp_f64(a.rotation, b.rotation, t);
            let half = product(conjugate(line), rotation);
            half[..3].iter().any(|sine| 2.0 * sine.abs() > TOLERANCE)
        };
        (0..3).any(far) || (turns && turned())
    };
    let mut keys = vec![key(times[0])];
    for &time in &times[1..] {
        let before = keys[keys.len() - 1];
        halve(&key, &leaves, before, key(time), HALVINGS, &mut keys);
        if keys.len() > MAX_SAMPLES {
            return Err(Error::TooMany { what: "keys of a root", found: keys.len(), limit: MAX_SAMPLES });
        }
    }
    for at in 1..keys.len() {
        keys[at].rotation = on_the_side_of(keys[at - 1].rotation, keys[at].rotation);
    }
    Ok(keys)
}

/// Adds the keys after `a` up to `b`. Halves the interval if linear interpolation misses the path at a
/// quarter, half or three quarters.
fn halve(
    key: &impl Fn(f32) -> Key,
    leaves: &impl Fn(&Key, &Key, f64) -> bool,
    a: Key,
    b: Key,
    halvings: u32,
    keys: &mut Vec<Key>,
) {
    let middle = ((f64::from(a.time) + f64::from(b.time)) / 2.0) as f32;
    let divides = a.time < middle && middle < b.time;
    if halvings > 0 && divides && [0.5, 0.25, 0.75].into_iter().any(|t| leaves(&a, &b, t)) {
        let middle = key(middle);
        halve(key, leaves, a, middle, halvings - 1, keys);
        halve(key, leaves, middle, b, halvings - 1, keys);
    } else {
        keys.push(b);
    }
}
