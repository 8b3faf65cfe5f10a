//! The walk of the encoder: frames, segments, fallback tracks, and the written clip.

use alloc::vec;
use alloc::vec::Vec;

use crate::assembly::FallbackTracks;
use crate::curve::fallback::FallbackSelection;
use crate::curve::least_squares::Shape;
use crate::curve::segment::SegmentCurves;
use crate::curve::segment_fit::SegmentPart;
use crate::measure::budget::{BudgetFractions, SPLITS};
use crate::measure::job::{ClipJob, MAX_SEGMENT_SAMPLES};
use crate::measure::rate::{self, frames};
use crate::options::{EncodeOptions, Encoded};
use condyle::clip::RawClip;
use condyle::clip::write::{self, Curves, Parts};
use condyle::skeleton::Skeleton;
use condyle_base::error::Error;

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
/// [`Encoded::encodings`] then has only [`Encoding::Fallback`](crate::Encoding::Fallback). This is not tried
/// with root motion.
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
/// - The errors of [`motion::extract`](condyle::motion::extract) and
///   [`Events::new`](condyle::play::Events::new).
pub fn encode(
    clip: &RawClip,
    skeleton: &Skeleton,
    options: &EncodeOptions,
    progress: &mut dyn FnMut(f32),
) -> Result<Encoded, Error> {
    // Retries must not lower the reported progress.
    let mut reported = 0.0;
    let mut progress = |done: f32| {
        if done > reported {
            reported = done;
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

/// Returns the number of frames after the first one that [`encode`] and [`reduce`](crate::reduce()) check,
/// for a skeleton with `joints` joints.
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

pub(crate) fn compress(job: &ClipJob<'_>, progress: &mut dyn FnMut(f32)) -> Result<Encoded, Error> {
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

impl<'a> ClipJob<'a> {
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
        let kept = FallbackSelection::new(self, segment_frames, count);
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
        let mut kept = FallbackSelection::new(self, segment_frames, segment_count);
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
}
