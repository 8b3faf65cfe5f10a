//! Clip compression: turns an authored [`RawClip`] into a [`Clip`] that is as small as an error budget
//! allows. The error is measured on the decoded clip.
//!
//! Call [`encode`](crate::encode()) with [`EncodeOptions::new`], which takes the budget and the [`Shell`].
//! The budget is the maximum displacement of a point, in the skeleton's units; the shell is the set of points
//! that it applies to. [`Shell::of_meshes`] bounds every vertex; [`Shell::Balls`] is for motion without
//! meshes. [`Encoded`] holds the clip and its measured error.
//!
//! ```text
//!  condyle-base ── condyle ──┬── condyle-encode   <── here
//!                            ├── condyle-solve
//!                            └── condyle-query
//! ```
//!
//! | function | input | output |
//! |---|---|---|
//! | [`encode`](crate::encode()) | a [`RawClip`], its [`Skeleton`], an error bound | [`Encoded`]: a [`Clip`] and its error |
//! | [`reduce`](crate::reduce()) | any clip, an error bound | [`Reduced`]: a [`RawClip`] with few keys, for other programs |
//! | [`curve_keys`](crate::curve_keys()) | a compressed clip, an error bound | [`Reduced`]: a [`RawClip`] with the keys of its curves |
//! | [`measure_keys`] | a clip and its reduced keys | [`Measured`]: the error of the keys |
//!
//! # Features
//!
//! - `std` (default): detects the instruction set of the CPU at run time.
//! - `scalar`: compiles kernels without vector instructions too, for debugging.
#![cfg_attr(not(feature = "std"), no_std)]
#![cfg_attr(docsrs, feature(doc_cfg))]

extern crate alloc;
#[cfg(test)]
extern crate std;

// Tuning constants: their comments state how the clip size at a budget of 1 mm changes if only that constant
// changes. `cargo run --release -p condyle-bench --bin clip_sizes -- FOLDER` repeats these measurements.
// "Targets" are the clips of CesiumMan, Fox, greenman, robot and mocap_cmu_01_01 at 30 Hz in the first table
// (67,849 bytes). "Defaults" are the first four in the second table, checked between frames and on the mesh
// (32,196 bytes). The search is greedy: 1 % tighter limits alone change the defaults by 1.6 %. Differences
// below 2 % therefore only show that a constant is uncritical.

mod aims;
mod algebra;
mod bodies;
mod body;
mod budget;
mod curve;
mod curve_keys;
mod fit;
mod free_tracks;
mod hull;
mod joint_curves;
mod kept;
mod keys;
mod measure;
mod motion;
mod options;
mod points;
mod rate;
mod reduce;
mod search;
mod shell;
mod source;
mod task;
mod turn;

use alloc::vec;
use alloc::vec::Vec;

pub use body::farthest_of_ball;
use budget::SPLITS;
use condyle::clip::layout::{Header, Kind, MAX_FRAMES, MAX_FREE_TRACKS, MAX_PLACES, MOTION, WIDE};
use condyle::clip::spline::Degree;
use condyle::clip::write::{self, free_parts};
use condyle::clip::{Clip, RawClip, Target, Track};
use condyle::motion::RootMotion;
use condyle::play::Events;
use condyle::skeleton::Skeleton;
use condyle_base::error::Error;
use condyle_base::math::Transform64;
use condyle_base::math::quats::is_loose;
pub use curve_keys::curve_keys;
use fit::Shape;
use free_tracks::free_tracks;
use kept::{Failed, FailedJoint, KeptTracks};
use measure::Overrun;
use options::positive;
pub use options::{EncodeOptions, Encoded, Encoding, JointError, JointShell, Measured, OffFrames, Shell};
use rate::Frames;
pub use reduce::{KeyFormat, Reduced, measure_keys, reduce};
use source::JointTracks;
use task::{BudgetFractions, ClipJob, MAX_SEGMENT_SAMPLES, Motion, joint_facts};
use write::{Curves, Kept, Parts};

/// Compresses a clip to the smallest encoding found whose error at every shell point is within budget.
///
/// The error is the distance between the decoded and the authored position of a point in model space, through
/// the whole hierarchy. It is measured on the decoded clip at every frame. Unless [`EncodeOptions::between`]
/// is off, it is also measured at three intermediate times between frames and at all keys of the source.
///
/// Calls `progress` repeatedly with the completed fraction of the work, from 0 to 1. The same input gives the
/// same bytes on every platform.
///
/// # Fallback tracks
///
/// If no curve meets the budget, a track becomes a fallback track, listed in [`Encoded::fallback`]. It
/// replaces curves in the segments that need it, with the keys that the budget requires, or in the whole
/// clip, with all its keys. Step tracks are always fallback tracks.
///
/// The error can exceed the budget in only two cases. Either the budget is finer than f32 rounding at the
/// character's size, or no curve follows the root motion ([`EncodeOptions::root_motion`]).
/// [`Encoded::measured`] holds the actual error.
///
/// # Clips without curves
///
/// The encoder stores the whole clip as keys if curves take more bytes than the authored numbers. It also
/// does so if some track is a fallback track anyway and keys save an eighth of all bytes.
/// [`Encoded::encodings`] then has only [`Encoding::Fallback`]. This is not tried with root motion.
///
/// Such a clip holds at most as many numbers as were authored. Its overhead is 68 bytes, 20 bytes per track,
/// 8 bytes per free track, and the events. Each 65,535 frames after the first 65,535 add 12 bytes.
///
/// Keys cost more to sample than curves. Each track is searched for the time, unless it shares its times with
/// the previous track. Rotations need an exact slerp, one joint at a time. [Frames](condyle::frames) do not
/// have this cost.
///
/// ```
/// use condyle::{Pose, example, sample};
/// use condyle_encode::{EncodeOptions, Shell, encode};
///
/// let (skeleton, wave) = (example::skeleton(), example::wave());
/// let options = EncodeOptions::new(5e-4, Shell::Balls(0.03));
/// let encoded = encode(&wave, &skeleton, &options, &mut |_| ())?;
/// assert!(encoded.measured.error_max <= 5e-4);
///
/// // After one second the right elbow is turned by 60 degrees about -Z.
/// let mut pose = Pose::rest(&skeleton);
/// sample(encoded.clip(), &skeleton, 1.0, &mut pose)?;
/// assert!((pose.get(example::ARM_R[1].into()).rotation[2] + 0.5).abs() < 0.01);
/// # Ok::<(), condyle::Error>(())
/// ```
///
/// # Errors
/// - [`Error::Index`] if a track or a budget refers to a joint that the skeleton does not have.
/// - [`Error::Skeleton`] if the clip is for a different skeleton ([`RawClip::for_skeleton`]).
/// - [`Error::NotFinite`] if joints leave the range of f32.
/// - [`Error::OutOfRange`] if a rate, distance or budget is not finite and greater than 0.
/// - [`Error::Length`] if the shell has a different number of joints.
/// - [`Error::TooMany`] for more than 2^22 frames, more than 2^22 keys between frames, or more than 4 GiB.
///   Also for more than 2^26 frames times joints, or frames times groups of three free-track components.
/// - [`Error::TooMany`] for more than 65,535 animated tracks, rows of more than 65,535 bytes, or more than
///   65,535 groups of three free-track components.
/// - The errors of [`motion::extract`](condyle::motion::extract) and [`Events::new`].
pub fn encode(
    clip: &RawClip,
    skeleton: &Skeleton,
    options: &EncodeOptions,
    progress: &mut dyn FnMut(f32),
) -> Result<Encoded, Error> {
    // Retries must not lower the reported progress.
    let mut told = 0.0;
    let mut progress = |done: f32| {
        if done > told {
            told = done;
            progress(done);
        }
    };
    options.check(skeleton.joint_count())?;
    let frames = frames(clip, skeleton.joint_count(), options)?;
    let off_frames = rate::off_frames(clip, frames.count);
    let Some(wanted) = &options.root_motion else {
        let job = ClipJob::new(clip, skeleton, options, frames, None)?;
        let encoded = job.or_keys(compress(&job, &mut progress)?);
        return Ok(Encoded { off_frames, ..encoded });
    };
    // One sample per frame. The rate is rounded down because the extraction adds a sample for each started
    // interval.
    let sample_rate = rate::rate([clip.start(), clip.end()], frames.count);
    let sample_rate = if frames.count > 0 { sample_rate.next_down() } else { sample_rate };
    let mut motion_options = *wanted;
    motion_options.sample_rate = sample_rate;
    let (in_place, motion) = condyle::motion::extract(clip, skeleton, &motion_options)?;
    let job = ClipJob::new(&in_place, skeleton, options, frames, Some((wanted.joint, motion)))?;
    Ok(Encoded { off_frames, ..compress(&job, &mut progress)? })
}

/// Returns the number of frames after the first one that [`encode`] and [`reduce`] check, for a skeleton with
/// `joints` joints.
///
/// Time and memory are proportional to both numbers, and a clip of two keys can be hours long.
///
/// ```
/// use condyle_encode::{EncodeOptions, Shell, frame_count};
/// use condyle::{Interpolation, RawClip, Target, Track};
///
/// let (target, interpolation) = (Target::Translation(0), Interpolation::Linear);
/// let rise = Track { target, interpolation, timeline: 0, values: vec![0.0, 0.0, 0.0, 0.0, 1.0, 0.0] };
/// let clip = RawClip::new("rise".into(), vec![vec![0.0, 2.0]], vec![rise])?;
/// let mut options = EncodeOptions::new(1e-3, Shell::Balls(0.03));
/// options.rate = Some(30.0);
/// assert_eq!(frame_count(&clip, 1, &options)?, 60);
/// # Ok::<(), condyle::Error>(())
/// ```
///
/// # Errors
/// [`Error::OutOfRange`] if the rate is not finite and greater than 0. [`Error::TooMany`] for more frames
/// than a clip may have.
pub fn frame_count(clip: &RawClip, joints: usize, options: &EncodeOptions) -> Result<usize, Error> {
    frames(clip, joints, options).map(|frames| frames.count)
}

/// Frames of a clip at the rate of the options.
fn frames(clip: &RawClip, joints: usize, options: &EncodeOptions) -> Result<Frames, Error> {
    if let Some(rate) = options.rate {
        positive("rate", 0, rate)?;
    }
    let (count, is_lowered) = rate::count(clip, options.rate);
    let limit = MAX_FRAMES.min(MAX_PLACES / joints.max(1));
    if count > limit as f64 {
        let found = if count < 1e9 { count as usize } else { usize::MAX };
        return Err(Error::TooMany { what: "frames", found, limit });
    }
    Ok(Frames { count: count as usize, is_lowered })
}

/// Numbers of frames per segment that [`EncodeOptions::best`] tries. More kinds of curves or longer segments
/// save less than 0.7 % on the targets, and are several times slower.
const LENGTHS: [usize; 3] = [24, 48, SEGMENT_FRAMES];
/// Usual number of frames per segment. 32 frames: targets +2.7 %, defaults +1.9 %; 128: -0.4 % and -0.7 %.
/// The segment length bounds the data that sampling one moment may have to read.
const SEGMENT_FRAMES: usize = 64;
/// Number of frames from which a length is tried on one in [`SAMPLED`] segments only. Not tuned.
const MANY_FRAMES: usize = 1024;
const SAMPLED: usize = 4;
/// Part of the time in which the lengths are tried, for the progress.
const TRYING: f32 = 0.3;
/// Part of the time of the usual search.
const USUAL: f32 = 0.2;

fn compress(job: &ClipJob<'_>, progress: &mut dyn FnMut(f32)) -> Result<Encoded, Error> {
    let encoded = if job.options.best {
        let frames = best_length(job, &mut |done| progress(TRYING * done))?;
        let usual = job.run(SEGMENT_FRAMES, &SPLITS[..1], &mut |done| progress(TRYING + USUAL * done))?;
        let before = TRYING + USUAL;
        let longer = job.run(frames, &SPLITS, &mut |done| progress(before + (1.0 - before) * done))?;
        // The length is an estimate, and splits are compared by their bits in each segment.
        if usual.bytes().len() < longer.bytes().len() { usual } else { longer }
    } else {
        job.run(SEGMENT_FRAMES, &SPLITS[..1], progress)?
    };
    progress(1.0);
    Ok(encoded)
}

/// Number of frames per segment with which a clip is probably the smallest.
fn best_length(job: &ClipJob<'_>, progress: &mut dyn FnMut(f32)) -> Result<usize, Error> {
    let mut best = (f64::INFINITY, SEGMENT_FRAMES);
    // All lengths of at least the whole clip give the same single segment.
    let count = LENGTHS.iter().position(|&frames| frames >= job.frames).map_or(LENGTHS.len(), |at| at + 1);
    if count == 1 {
        return Ok(LENGTHS[0]);
    }
    for (at, &frames) in LENGTHS[..count].iter().enumerate() {
        let bytes = job.bytes_per_frame(frames, &mut |done| progress((at as f32 + done) / count as f32))?;
        if let Some(bytes) = bytes.filter(|&bytes| bytes < best.0) {
            best = (bytes, frames);
        }
    }
    Ok(best.1)
}

/// Maximum number of frames per segment that the format can count.
const MAX_SEGMENT_FRAMES: usize = u16::MAX as usize;

/// Number of moments per frame at which errors are checked with [`EncodeOptions::between`]. Two: defaults
/// +2.2 %; eight: -2.1 %, with twice as many moments to check. The documentation states three between frames.
const MOMENTS_PER_FRAME: usize = 4;

/// Fallback tracks of a clip to write.
#[derive(Clone, Copy)]
struct FallbackTracks<'a> {
    /// Clip that contains their keys.
    clip: &'a RawClip,
    tracks: &'a [Kept<'a>],
    /// Targets that [`Encoded::fallback`] lists.
    reported: &'a [Target],
}

impl<'a> ClipJob<'a> {
    /// `motion` is the extracted root motion and its joint.
    fn new(
        clip: &'a RawClip,
        skeleton: &'a Skeleton,
        options: &'a EncodeOptions,
        Frames { count: frames, is_lowered }: Frames,
        motion: Option<(u16, RootMotion)>,
    ) -> Result<Self, Error> {
        clip.check_skeleton(skeleton)?;
        let tracks = source::joint_tracks(clip, skeleton.joint_count());
        // A long clip with few keys may have a lowered rate, so that keys are between frames, where curves
        // cannot follow them.
        let slack = if is_lowered { rate::slack(clip, frames) } else { 0.0 };
        let is_kept = |track: Option<&Track>| {
            track.is_some_and(|track| {
                let is_off = || is_lowered && !rate::is_on_frames(clip, track, frames, slack);
                clip.is_stepped(track) || is_off()
            })
        };
        let fallback = |joint: usize| {
            let is_loose = is_loose(&Transform64::from(skeleton.rest().get(joint)).rotation);
            let JointTracks { rotation, translation, scale } = tracks[joint];
            [is_kept(rotation) || is_loose, is_kept(translation), is_kept(scale)]
        };
        let (joints, size) = joint_facts(skeleton, options, fallback)?;
        let (free_tracks, free_sources) = free_tracks(clip);
        let (found, limit) = (free_parts(&free_tracks), MAX_FREE_TRACKS);
        if found > limit {
            return Err(Error::TooMany { what: "free tracks", found, limit });
        }
        let limit = MAX_PLACES / found.max(1);
        if frames > limit {
            return Err(Error::TooMany { what: "frames", found: frames, limit });
        }
        let events = Events::new(clip.duration(), options.events.clone())?;
        let moments = if options.between { MOMENTS_PER_FRAME } else { 1 };
        let keys_between = match options.between {
            true => rate::keys_between(clip, frames * moments, MAX_FRAMES)?,
            false => Vec::new(),
        };
        let mut job = Self {
            clip,
            skeleton,
            options,
            joints,
            tracks,
            free_tracks,
            free_sources,
            events,
            motion: None,
            frames,
            moments,
            keys_between,
            size,
        };
        job.motion = motion.map(|(joint, motion)| Motion::new(&mut job, joint, motion));
        Ok(job)
    }

    /// Number of frames per segment if segments have about `about` frames, and number of segments.
    fn segments(&self, about: usize) -> (usize, usize) {
        let about = about.min(MAX_SEGMENT_SAMPLES / (self.joints.len().max(1) * self.moments)).max(1);
        let count = self.frames.div_ceil(about + about / 2).max(1);
        let frames = self.frames.div_ceil(count).max(1);
        (frames, self.frames.div_ceil(frames).max(1))
    }

    /// Bytes per frame with segments of about `about` frames, of a part of the segments if there are many.
    /// `None` if one of them has a track without a suitable curve.
    fn bytes_per_frame(&self, about: usize, progress: &mut dyn FnMut(f32)) -> Result<Option<f64>, Error> {
        let (segment_frames, count) = self.segments(about);
        let kept = KeptTracks::new(self, segment_frames, count);
        let mut segments = vec![Curves::default(); count];
        let mut shapes: Option<(usize, Vec<Shape>)> = None;
        let mut covered = 0;
        for at in (0..count).step_by(if self.frames < MANY_FRAMES { 1 } else { SAMPLED }) {
            progress(at as f32 / count as f32);
            let first = at * segment_frames;
            let frames = (self.frames - first).min(segment_frames);
            let (_, shapes) = match shapes.take() {
                Some(known) if known.0 == frames => shapes.insert(known),
                _ => shapes.insert((frames, self.shapes(frames))),
            };
            let part = SegmentPart { at, first, frames, shapes, splits: &SPLITS[..1] };
            let Ok(found) = self.segment(&kept, &part)? else { return Ok(None) };
            segments[at] = found.curves;
            covered += frames;
        }
        let tracks = kept.tracks();
        let header = self.header(segment_frames, count, tracks.len());
        let (free_tracks, events) = (&self.free_tracks[..], self.events.as_slice());
        let parts = Parts { header, free_tracks, fallback: &tracks, events, segments: &segments };
        let bytes = write::write(self.clip, &parts)?.len();
        Ok(Some(bytes as f64 / covered.max(1) as f64))
    }

    /// Encodes with segments of about `about` frames.
    fn run(
        &self,
        about: usize,
        splits: &[BudgetFractions],
        progress: &mut dyn FnMut(f32),
    ) -> Result<Encoded, Error> {
        let (segment_frames, segment_count) = self.segments(about);
        let mut kept = KeptTracks::new(self, segment_frames, segment_count);
        let mut shapes: Vec<(usize, Vec<Shape>)> = Vec::new();
        // A fallback track in one segment does not affect the other segments.
        let mut fits: Vec<Option<SegmentCurves>> = vec![None; segment_count];
        loop {
            let mut failed = None;
            for (at, fit) in fits.iter_mut().enumerate().filter(|(_, fit)| fit.is_none()) {
                progress(at as f32 / segment_count as f32);
                let first = at * segment_frames;
                let frames = (self.frames - first).min(segment_frames);
                let known = shapes.iter().position(|(of, _)| *of == frames).unwrap_or_else(|| {
                    shapes.push((frames, self.shapes(frames)));
                    shapes.len() - 1
                });
                let part = SegmentPart { at, first, frames, shapes: &shapes[known].1, splits };
                match self.segment(&kept, &part)? {
                    Ok(found) => *fit = Some(found),
                    Err(failing) => {
                        failed = Some(failing);
                        break;
                    }
                }
            }
            if failed.is_none() {
                let found = || fits.iter().flatten();
                let motion_is_held = found().all(|fit| fit.motion_is_held);
                let segments: Vec<Curves> = found().map(|fit| fit.curves.clone()).collect();
                let tracks = &kept.tracks();
                let fallback = FallbackTracks { clip: self.clip, tracks, reported: kept.targets() };
                let (encoded, overruns) = self.finish(fallback, segment_frames, &segments)?;
                if motion_is_held && kept.hold_keys(&overruns, &mut fits) {
                    continue;
                }
                // The fit was checked in f64; the decoder's f32 rounding can still exceed a very fine budget.
                // Fallback tracks do not help if the root motion is over budget.
                let measured = &encoded.measured;
                let joints = kept.joints_over_budget(&encoded.clip, measured).filter(|_| motion_is_held);
                match joints.or_else(|| kept.free_track_over_budget(measured)) {
                    Some(failing) => failed = Some(failing),
                    None => return Ok(encoded),
                }
            }
            if let Some(failing) = failed {
                kept.give_up(failing, &mut fits);
            }
        }
    }

    /// Fits a segment: the tracks of joints, the root motion and free tracks.
    fn segment(
        &self,
        kept: &KeptTracks<'_, '_>,
        part: &SegmentPart<'_>,
    ) -> Result<Result<SegmentCurves, Failed>, Error> {
        let &SegmentPart { at: segment, first, frames, shapes, .. } = part;
        let mut curves = match self.joint_curves(&kept.joints_in(segment), part) {
            Ok(curves) => curves,
            Err(joints) => {
                let joints = joints.into_iter().map(|joint| FailedJoint { joint, segment }).collect();
                return Ok(Err(Failed::Joints(joints)));
            }
        };
        let mut motion_is_held = true;
        if let Some(motion) = &self.motion {
            let (found, is_held) = motion.curves(self, first, frames, shapes)?;
            curves.curves.extend(found);
            motion_is_held = is_held;
        }
        let found = self.free_curves(first, frames, shapes, kept.free(), &mut curves.curves);
        Ok(found.map(|()| SegmentCurves { curves, motion_is_held }).map_err(Failed::FreeTrack))
    }

    /// Kinds of curves to try for a segment, few keys first. Each stride is the number of frames per key of a
    /// spline.
    fn shapes(&self, frames: usize) -> Vec<Shape> {
        if frames == 0 {
            return Vec::new();
        }
        let strides = [32.0, 16.0, 12.0, 8.0, 6.0, 4.0, 3.0, 2.0, 1.5, 1.0, 0.5];
        let moments = frames * self.moments + 1;
        let mut shapes: Vec<Shape> = Vec::new();
        for stride in strides {
            let intervals = ((frames as f64 / stride) + 0.5) as usize;
            let intervals = intervals.clamp(1, moments - 1);
            if shapes.last().is_none_or(|shape| shape.intervals < intervals) {
                shapes.push(Shape::new(Degree::Cubic, intervals, moments));
            }
        }
        let linear = Shape::new(Degree::Linear, frames, moments);
        let at = shapes.partition_point(|shape| shape.intervals <= frames);
        shapes.insert(at, linear);
        shapes
    }

    /// Writes the clip, measures the decoded result, and collects the report.
    fn finish(
        &self,
        FallbackTracks { clip: clip_of_keys, tracks: fallback, reported }: FallbackTracks<'_>,
        segment_frames: usize,
        segments: &[Curves],
    ) -> Result<(Encoded, Vec<Overrun>), Error> {
        let header = self.header(segment_frames, segments.len(), fallback.len());
        let (free_tracks, events) = (&self.free_tracks[..], self.events.as_slice());
        let mut parts = Parts { header, free_tracks, fallback, events, segments };
        let mut clip = Clip::from_owned(write::write(clip_of_keys, &parts)?)?;
        let (measured, overruns) = measure::measure(self, &clip)?;
        if !measured.error_max.is_finite() {
            return Err(Error::NotFinite { what: "decoded joints", at: measured.joint });
        }
        if measured.error_max > parts.header.budget {
            // No attempt meets the budget, so the header states the measured error instead.
            parts.header.budget = measured.error_max;
            clip = Clip::from_owned(write::write(clip_of_keys, &parts)?)?;
        }
        let encoded = Encoded {
            clip,
            measured,
            shell: self.options.shell.ball_radius(),
            raw_bytes: (self.frames + 1) * self.skeleton.joint_count() * 40,
            rate: rate::rate([self.clip.start(), self.clip.end()], self.frames),
            off_frames: OffFrames::default(),
            encodings: encodings(segments, fallback.len()),
            joint_bytes: self.joint_bytes(clip_of_keys, fallback, segments),
            fallback: reported.to_vec(),
        };
        Ok((encoded, overruns))
    }

    fn header(&self, segment_frames: usize, segment_count: usize, fallback_count: usize) -> Header {
        let free_parts = free_parts(&self.free_tracks);
        let has_motion = self.motion.is_some();
        let is_wide = free_parts > 255 || self.skeleton.joint_count() + usize::from(has_motion) > 255;
        Header {
            flags: if has_motion { MOTION } else { 0 } | if is_wide { WIDE } else { 0 },
            joint_count: self.skeleton.joint_count(),
            segment_frames,
            frame_count: self.frames,
            segment_count,
            fingerprint: self.skeleton.fingerprint(),
            rest_fingerprint: self.skeleton.rest_fingerprint(),
            chunks: 0,
            start: self.clip.start() as f32,
            end: self.clip.end() as f32,
            budget: self.options.budget,
            free_track_count: self.free_tracks.len(),
            event_count: self.events.as_slice().len(),
            fallback_count,
        }
    }

    /// Number of bytes that the tracks of each joint take.
    fn joint_bytes(&self, clip_of_keys: &RawClip, kept: &[Kept<'_>], segments: &[Curves]) -> Vec<usize> {
        let mut bits = vec![0; self.joints.len()];
        for curve in segments.iter().flat_map(|segment| &segment.curves).filter(|c| c.kind != Kind::Free) {
            // The root motion has the index after the last joint.
            if let Some(bits) = bits.get_mut(curve.index) {
                *bits += curve.bits() + 8 * write::RECORD;
            }
        }
        let mut bytes: Vec<usize> = bits.into_iter().map(|bits: usize| bits.div_ceil(8)).collect();
        for (target, size) in write::sizes(clip_of_keys, kept) {
            if let Some(joint) = target.joint() {
                bytes[usize::from(joint)] += size;
            }
        }
        bytes
    }
}

/// Number of tracks per encoding, without encodings that no track uses.
fn encodings(segments: &[Curves], fallback: usize) -> Vec<(Encoding, usize)> {
    let curves = || segments.iter().flat_map(|segment| &segment.curves);
    let of = |degree| curves().filter(|curve| curve.degree == degree).count();
    let mut encodings = vec![
        (Encoding::Constant, of(Degree::Constant)),
        (Encoding::Linear, of(Degree::Linear)),
        (Encoding::Spline, of(Degree::Cubic)),
        (Encoding::Fallback, fallback),
    ];
    encodings.retain(|&(_, count)| count > 0);
    encodings
}

/// Segment to fit, and what to try for it.
struct SegmentPart<'a> {
    /// Index of the segment.
    at: usize,
    /// First frame.
    first: usize,
    frames: usize,
    shapes: &'a [Shape],
    splits: &'a [BudgetFractions],
}

/// Curves of a segment.
#[derive(Debug, Clone)]
struct SegmentCurves {
    curves: Curves,
    /// Whether the root motion is within its budget.
    motion_is_held: bool,
}

#[cfg(test)]
mod tests;
