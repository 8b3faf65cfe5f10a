//! Measures the error of reduced keys.

use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

use super::format::KeyFormat;
use super::job::Job;
use super::source::Source;
use crate::measure::algebra::Affine64;
use crate::measure::model::joint_matrices;
use crate::measure::raw_clip::{self, JointTracks};
use crate::options::{EncodeOptions, JointError, Measured};
use condyle::clip::keys::{Span, length_at};
use condyle::clip::{RawClip, Target};
use condyle::sampling::AnyClip;
use condyle::skeleton::Skeleton;
use condyle_base::error::Error;
use condyle_base::math::quats::is_loose;

/// Measures the error of `keys` compared with `clip`: the displacement of the points of the shell.
///
/// Checks errors at the times that [`reduce`](super::reduce) checks. If two keys are less than four of these
/// times apart, it checks three more times between them. Use it for keys that were read back from a file. The
/// result has the fields of [`Reduced::measured`](super::Reduced::measured).
///
/// # Errors
/// Returns the errors of [`reduce`](super::reduce), and [`Error::Skeleton`] or [`Error::Index`] if `keys` is
/// not for the skeleton.
pub fn measure_keys<'a>(
    clip: impl Into<AnyClip<'a>>,
    keys: &RawClip,
    skeleton: &Skeleton,
    options: &EncodeOptions,
) -> Result<Measured, Error> {
    options.check(skeleton.joint_count())?;
    keys.check_skeleton(skeleton)?;
    let clip = clip.into();
    let source = Source::new(&clip, skeleton, options)?;
    let source = source.with(&source.unseen(keys)?);
    measure_all(&source, keys, skeleton, options)
}

/// Error of `keys` at all moments of the source.
pub(crate) fn measure_all(
    source: &Source<'_>,
    keys: &RawClip,
    skeleton: &Skeleton,
    options: &EncodeOptions,
) -> Result<Measured, Error> {
    let mut all = Measured::default();
    for (at, frames) in source.short_windows()?.into_iter().enumerate() {
        let job = Job::new(skeleton, options, source, source.window(frames)?, false, KeyFormat::Floats)?;
        add_part(&mut all, at, &job.measure(keys));
    }
    Ok(all)
}

/// Adds the errors of part `at` of a clip, which begins at the last frame of the part before.
pub(super) fn add_part(all: &mut Measured, at: usize, part: &Measured) {
    // Two parts share a frame: the first ends at the frame's moment, the second has the moments after it.
    if let (Some(last), Some(first)) = (all.frames.last_mut(), part.frames.first()) {
        *last = last.max(*first);
    }
    all.frames.extend(part.frames.iter().skip(usize::from(at > 0)));
    if part.error_max > all.error_max || at == 0 {
        (all.error_max, all.joint, all.seconds) = (part.error_max, part.joint, part.seconds);
    }
    for (index, (target, errors)) in part.tracks.iter().enumerate() {
        errors.iter().enumerate().for_each(|(c, &error)| all.add_track_error(index, *target, c, error));
    }
    all.joints.resize(part.joints.len(), JointError::default());
    for (all, own) in all.joints.iter_mut().zip(&part.joints) {
        if own.error > all.error {
            *all = *own;
        }
    }
}

/// Merges the errors of joints and frames of two readings of the same keys.
fn add_reading(all: &mut Measured, other: &Measured) {
    let frames = all.frames.iter_mut().zip(&other.frames);
    frames.for_each(|(all, &other)| *all = all.max(other));
    let joints = all.joints.iter_mut().zip(&other.joints);
    joints.filter(|(all, other)| other.error > all.error).for_each(|(all, other)| *all = *other);
}

/// Moments that are measured together: a few megabytes of matrices.
const CHUNK: usize = 512;

/// Whether readers that normalise rotations decode differently from those that do not.
fn has_loose_rotations(clip: &RawClip) -> bool {
    let mut joints = clip.tracks().iter().filter(|track| matches!(track.target, Target::Rotation(_)));
    joints.any(|track| {
        let (keys, _) = track.values.as_chunks::<4>();
        let per_key = track.values_per_key();
        keys.iter().skip(per_key / 2).step_by(per_key).any(|q| is_loose(&q.map(f64::from)))
    })
}

impl Job<'_, '_> {
    /// Error of the clip at each moment, for readers that normalise rotations and for those that do not.
    pub(super) fn measure(&self, clip: &RawClip) -> Measured {
        let (moments, joints) = (&self.source.moments, self.joints.len());
        let tracks = raw_clip::joint_tracks(clip, joints);
        let none = || Measured {
            joints: vec![JointError::default(); joints],
            frames: vec![0.0; self.source.frames.len()],
            ..Measured::default()
        };
        let count = if has_loose_rotations(clip) { 2 } else { 1 };
        let mut readings = vec![none(); count];
        // Works in chunks, so that memory does not depend on the length of the clip.
        for first in (0..moments.len()).step_by(CHUNK) {
            let chunk = first..moments.len().min(first + CHUNK);
            for (measured, placed) in readings.iter_mut().zip(self.read(clip, &tracks, count, chunk.clone()))
            {
                self.compare(&placed, chunk.start, measured);
            }
        }
        let mut readings = readings.into_iter();
        let mut measured = readings.next().unwrap_or_default();
        readings.for_each(|reading| add_reading(&mut measured, &reading));
        for (joint, error) in measured.joints.iter().enumerate() {
            if error.error > measured.error_max {
                (measured.error_max, measured.joint, measured.seconds) = (error.error, joint, error.seconds);
            }
        }
        self.measure_free(clip, &mut measured);
        measured
    }

    /// Model matrices at some moments, per joint: of readers that normalise rotations, then of those that
    /// do not.
    fn read(
        &self,
        clip: &RawClip,
        tracks: &[JointTracks<'_>],
        readings: usize,
        chunk: Range<usize>,
    ) -> Vec<Vec<Vec<Affine64>>> {
        let moments = &self.source.moments[chunk];
        let mut readings: Vec<Vec<Vec<Affine64>>> = vec![Vec::with_capacity(tracks.len()); readings];
        for (j, tracks) in tracks.iter().enumerate() {
            let mut locals = raw_clip::joint(clip, self.skeleton, j, tracks, moments);
            for (reading, placed) in readings.iter_mut().enumerate() {
                if let Some(track) = tracks.rotation.filter(|_| reading > 0) {
                    let (times, mut hint) = (&clip.timelines()[track.timeline], 0);
                    for (local, &seconds) in locals.iter_mut().zip(moments) {
                        let span = Span::find(times, seconds, hint);
                        hint = span.key;
                        let length = length_at(track, span);
                        local.rotation = local.rotation.map(|v| v * length);
                    }
                }
                let parents = self.joints[j].parent.map(|parent| placed[parent].as_slice());
                placed.push(joint_matrices(parents, &locals));
            }
        }
        readings
    }

    /// Adds the errors of joints: of their model matrices at the moments from `first`.
    fn compare(&self, placed: &[Vec<Affine64>], first: usize, measured: &mut Measured) {
        let before = self.source.frames.partition_point(|&frame| frame <= first).saturating_sub(1);
        // Leaves first: they have the largest errors, so that most errors of other joints are below those of
        // their frames.
        for (j, joint) in self.joints.iter().enumerate().rev() {
            let (worst, mut frame) = (&mut measured.joints[j], before);
            for (moment, (is, want)) in (first..).zip(placed[j].iter().zip(&self.model[j][first..])) {
                while self.source.frames.get(frame + 1).is_some_and(|&next| next <= moment) {
                    frame += 1;
                }
                for (point, ball) in joint.shell.iter().enumerate() {
                    let in_frame = measured.frames.get(frame).copied().unwrap_or(f32::INFINITY);
                    let floor = f64::from(worst.error.min(in_frame));
                    let Some(off) = ball.beyond(is, want, floor) else { continue };
                    let off = off as f32;
                    if off > worst.error {
                        *worst = JointError { error: off, seconds: self.source.moments[moment], point };
                    }
                    if let Some(frame) = measured.frames.get_mut(frame) {
                        *frame = frame.max(off);
                    }
                }
            }
        }
    }

    /// Adds the errors of tracks that drive no joint.
    fn measure_free(&self, clip: &RawClip, measured: &mut Measured) {
        let moments = &self.source.moments;
        for (index, free) in self.source.free.iter().enumerate() {
            // The value of a target without a track is unknown here and counts as 0.
            let track = clip.track(free.target);
            for (want, &seconds) in free.values.iter().zip(moments) {
                for (c, want) in want.iter().enumerate() {
                    let is = track.map_or(0.0, |track| raw_clip::component(clip, track, c, seconds));
                    let off = (is - want).abs() as f32;
                    measured.add_track_error(index, free.target, c, off);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_frame_between_two_parts_has_the_errors_of_both() {
        let of = |frames: [f32; 2]| Measured { frames: frames.to_vec(), ..Measured::default() };
        let mut all = Measured::default();
        for (at, frames) in [[0.1, 0.2], [0.5, 0.0], [0.3, 0.4]].into_iter().enumerate() {
            add_part(&mut all, at, &of(frames));
        }
        assert_eq!(all.frames, [0.1, 0.5, 0.3, 0.4]);
    }
}
