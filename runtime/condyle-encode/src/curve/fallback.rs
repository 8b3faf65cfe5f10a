//! Selects the fallback tracks: tracks for which no curve meets the budget.

use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

use crate::measure::error::Overrun;
use crate::measure::job::ClipJob;
use crate::measure::joint_facts::JointFacts;
use crate::measure::rate;
use crate::options::Measured;
use condyle::clip::write::{Kept, Part};
use condyle::clip::{Clip, Interpolation, Target, Track};
use condyle_base::math::quats::{conjugate, product, slerp_f64};

/// Number of times that failing joints (with their ancestors) or a failing free track become fallback tracks;
/// after that, all do. This bounds how often a clip is encoded again. Not tuned.
const MAX_FALLBACK_ROUNDS: usize = 6;

/// Fraction of the budget for removing keys of tracks that are kept in some segments only. Without it, a jump
/// in one frame would keep thousands of keys of its segments. Not tuned.
const THINNING_FRACTION: f64 = 1.0 / 8.0;
/// Maximum number of consecutive keys that are left out; bounds the time of the search.
const MAX_LEFT_OUT: usize = 256;

/// Maximum number of times that the budget of a segment's curves is lowered because of keys between the
/// moments of the search.
const MAX_LOWERED: u32 = 3;

/// Joints or free track for which no curve met the budget.
pub(crate) enum Failed {
    Joints(Vec<FailedJoint>),
    FreeTrack(usize),
}

/// Joint for which no curve met the budget in a segment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FailedJoint {
    pub(crate) joint: usize,
    pub(crate) segment: usize,
}

/// Fallback tracks, in addition to those of [`JointFacts::fallback`].
pub(crate) struct FallbackSelection<'j, 'a> {
    job: &'j ClipJob<'a>,
    segment_frames: usize,
    segment_count: usize,
    /// Segments in which the tracks of each joint are kept, from the first without a suitable curve to the
    /// last.
    joints: Vec<Range<usize>>,
    /// Whether each free track is kept.
    free: Vec<bool>,
    /// Targets to report, in the order in which they were found.
    targets: Vec<Target>,
    given_up: usize,
    /// Fraction of the budgets that curves may use in each segment, and number of times that it was lowered.
    parts: Vec<(f64, u32)>,
}

impl<'j, 'a> FallbackSelection<'j, 'a> {
    /// Initial state before any segment is fitted: step tracks, and tracks that curves cannot follow.
    pub(crate) fn new(job: &'j ClipJob<'a>, segment_frames: usize, segment_count: usize) -> Self {
        // Curves have keys on frames only and would cut corners between them, so such tracks become fallback
        // tracks.
        let are_cut = job.moments > 1 && !job.free_sources.is_empty();
        let slack = if are_cut { rate::slack(job.clip, job.frames) } else { 0.0 };
        let is_off = |track: &Track| are_cut && !rate::is_on_frames(job.clip, track, job.frames, slack);
        let is_step = |track: &Track| job.clip.is_stepped(track);
        let off = |track: &Track| !is_step(track) && is_off(track);
        let mut targets: Vec<Target> =
            job.free_sources.iter().filter(|track| off(track)).map(|track| track.target).collect();
        let rotations =
            job.tracks.iter().zip(&job.joints).filter_map(|(t, joint)| Some((t.rotation?, joint)));
        let loose = rotations.filter(|(track, joint)| joint.fallback[0] && !is_step(track));
        targets.extend(loose.map(|(track, _)| track.target));
        Self {
            job,
            segment_frames,
            segment_count,
            joints: vec![0..0; job.joints.len()],
            free: job.free_sources.iter().map(|track| is_step(track) || off(track)).collect(),
            targets,
            given_up: 0,
            parts: vec![(1.0, 0); segment_count],
        }
    }

    /// Targets to report.
    pub(crate) fn targets(&self) -> &[Target] {
        &self.targets
    }

    /// Whether each free track is kept.
    pub(crate) fn free(&self) -> &[bool] {
        &self.free
    }

    /// Joint data for a segment.
    pub(crate) fn joints_in(&self, segment: usize) -> Vec<JointFacts> {
        let mut joints = self.job.joints.clone();
        let mut are_thinned = false;
        for (joint, kept) in joints.iter_mut().zip(&self.joints) {
            if kept.contains(&segment) {
                joint.fallback = [true; 3];
                are_thinned |= !self.is_whole(kept);
            }
        }
        if are_thinned {
            let kept_back = self.least_budget() * THINNING_FRACTION;
            joints.iter_mut().for_each(|joint| joint.budget -= kept_back);
        }
        let (part, _) = self.parts[segment];
        joints.iter_mut().for_each(|joint| joint.budget *= part);
        joints
    }

    fn is_whole(&self, segments: &Range<usize>) -> bool {
        *segments == (0..self.segment_count)
    }

    fn least_budget(&self) -> f64 {
        self.job.joints.iter().map(|joint| joint.budget).fold(f64::INFINITY, f64::min)
    }

    /// Joints over their budgets, each in its worst segment, unless they and their ancestors are kept there
    /// already.
    pub(crate) fn joints_over_budget(&self, clip: &Clip<'_>, measured: &Measured) -> Option<Failed> {
        let options = self.job.options;
        let over = measured.joints.iter().enumerate().filter_map(|(joint, worst)| {
            let segment = clip.view().locate(worst.seconds).segment;
            let is_over = worst.error > options.budget_of_joint(joint);
            (is_over && self.is_curve_above(joint, segment)).then_some(FailedJoint { joint, segment })
        });
        let over: Vec<FailedJoint> = over.collect();
        (!over.is_empty()).then_some(Failed::Joints(over))
    }

    /// Free track that exceeds its budget by the largest factor, unless it is kept already.
    pub(crate) fn free_track_over_budget(&self, measured: &Measured) -> Option<Failed> {
        let over = measured.track_over_budget(self.job.options)?;
        let at = self.job.free_sources.iter().position(|track| track.target == over);
        at.filter(|&at| !self.free[at]).map(Failed::FreeTrack)
    }

    /// A joint and its ancestors up to the first that is kept in a segment. Its own ancestors are too.
    fn not_kept(&self, joint: usize, segment: usize) -> impl Iterator<Item = usize> {
        core::iter::successors(Some(joint), |&joint| self.job.joints[joint].parent)
            .take_while(move |&joint| !self.joints[joint].contains(&segment))
    }

    /// Enforces the budget at keys between the moments of the search. Lowers the budget of the curves in the
    /// segments that exceed it, or, after [`MAX_LOWERED`] times, keeps the failing tracks. Discards stale
    /// fits, and returns whether anything changed.
    pub(crate) fn hold_keys<T>(&mut self, overruns: &[Overrun], fits: &mut [Option<T>]) -> bool {
        let mut has_changed = false;
        let mut failed = Vec::new();
        for &Overrun { segment, ref joints, times } in overruns {
            let (part, lowered) = &mut self.parts[segment];
            if *lowered < MAX_LOWERED {
                (*part, *lowered) = (*part * (0.95 / times).max(0.5), *lowered + 1);
                fits[segment] = None;
                has_changed = true;
            } else {
                let curves = joints.iter().filter(|&&joint| self.is_curve_above(joint, segment));
                failed.extend(curves.map(|&joint| FailedJoint { joint, segment }));
            }
        }
        if !failed.is_empty() {
            self.give_up(Failed::Joints(failed), fits);
            has_changed = true;
        }
        has_changed
    }

    /// Whether any track of a joint or its ancestors may be a curve in a segment.
    fn is_curve_above(&self, joint: usize, segment: usize) -> bool {
        self.not_kept(joint, segment).any(|joint| self.job.joints[joint].fallback.contains(&false))
    }

    /// Keeps the failed free track, or the tracks of the failed joints and all their ancestors, so that their
    /// positions are exact. Discards stale fits.
    pub(crate) fn give_up<T>(&mut self, failed: Failed, fits: &mut [Option<T>]) {
        let is_new = match &failed {
            Failed::Joints(joints) => joints.iter().any(|&FailedJoint { joint, segment }| {
                self.not_kept(joint, segment).all(|joint| self.joints[joint].is_empty())
            }),
            Failed::FreeTrack(_) => true,
        };
        // Keeps those that failed at first, then all, because each further failure encodes a part of the clip
        // again.
        self.given_up += usize::from(is_new);
        let all = self.given_up > MAX_FALLBACK_ROUNDS;
        match failed {
            Failed::FreeTrack(track) => {
                let tracks = if all { 0..self.free.len() } else { track..track + 1 };
                for track in tracks {
                    if !core::mem::replace(&mut self.free[track], true) {
                        self.targets.push(self.job.free_sources[track].target);
                    }
                }
                fits.fill_with(|| None);
            }
            Failed::Joints(_) if all => {
                (0..self.joints.len()).for_each(|joint| self.keep(joint, 0..self.segment_count, fits));
            }
            Failed::Joints(joints) => {
                for FailedJoint { joint, segment } in joints {
                    let chain: Vec<usize> = self.not_kept(joint, segment).collect();
                    chain.into_iter().for_each(|joint| self.keep(joint, segment..segment + 1, fits));
                }
            }
        }
    }

    /// Keeps the tracks of a joint in `segments`, and in all segments between these and the segments that
    /// already keep them.
    fn keep<T>(&mut self, joint: usize, segments: Range<usize>, fits: &mut [Option<T>]) {
        let before = &self.joints[joint];
        let after = if before.is_empty() {
            let tracks = &self.job.tracks[joint];
            let own = [tracks.rotation, tracks.translation, tracks.scale].into_iter();
            let found = own.zip(self.job.joints[joint].fallback).filter(|(_, is_kept)| !is_kept);
            self.targets.extend(found.filter_map(|(track, _)| Some(track?.target)));
            segments
        } else {
            before.start.min(segments.start)..before.end.max(segments.end)
        };
        let is_stale = |segment: &usize| !before.contains(segment);
        after.clone().filter(is_stale).for_each(|segment| fits[segment] = None);
        self.joints[joint] = after;
    }

    /// All tracks to keep.
    pub(crate) fn tracks(&self) -> Vec<Kept<'a>> {
        let mut tracks = Vec::new();
        for ((own, joint), segments) in self.job.tracks.iter().zip(&self.job.joints).zip(&self.joints) {
            for (track, is_kept) in [own.rotation, own.translation, own.scale].into_iter().zip(joint.fallback)
            {
                let Some(track) = track.filter(|_| is_kept || !segments.is_empty()) else { continue };
                let is_whole = is_kept || self.is_whole(segments);
                tracks.push(Kept {
                    track,
                    free_index: 0,
                    part: (!is_whole).then(|| self.part(track, segments)),
                });
            }
        }
        let free = self.job.free_sources.iter().enumerate().filter(|(at, _)| self.free[*at]);
        tracks.extend(free.map(|(free_index, &track)| Kept { track, free_index, part: None }));
        tracks
    }

    /// Keys of a track that these segments need: from the last key before them to the first key after them.
    fn part(&self, track: &Track, segments: &Range<usize>) -> Part {
        let times = &self.job.clip.timelines()[track.timeline];
        let [start, end] = [segments.start, segments.end].map(|segment| {
            let frame = (segment * self.segment_frames).min(self.job.frames);
            self.job.seconds(frame, 0).first().copied().unwrap_or(0.0)
        });
        let first = times.partition_point(|&time| f64::from(time) <= start).saturating_sub(1);
        let last = times.partition_point(|&time| f64::from(time) < end).clamp(first, times.len() - 1);
        Part { segments: segments.clone(), keys: self.thinned(track, times, first..last + 1) }
    }

    /// Keys of a range that are needed: straight lines between them pass the other keys within their share of
    /// [`THINNING_FRACTION`].
    fn thinned(&self, track: &Track, times: &[f32], range: Range<usize>) -> Vec<usize> {
        // Upper bound on the thinned tracks from the root to any joint: two for each joint.
        let parts = self.joints.iter().filter(|kept| !kept.is_empty() && !self.is_whole(kept)).count();
        let distance = self.least_budget() * THINNING_FRACTION / (2 * parts.max(1)) as f64;
        // No point is farther from a joint than twice the maximum distance from the origin.
        let angle = distance / (2.0 * self.job.size);
        let passes = |a: usize, b: usize, key: usize| {
            let time = |key: usize| f64::from(times[key]);
            let t = (time(key) - time(a)) / (time(b) - time(a));
            match track.target {
                Target::Rotation(_) => {
                    let quat = |key: usize| core::array::from_fn(|c| track.values[4 * key + c]);
                    let off = product(conjugate(slerp_f64(quat(a), quat(b), t)), quat(key).map(f64::from));
                    4.0 * off[..3].iter().map(|sine| sine * sine).sum::<f64>() <= angle * angle
                }
                _ => {
                    let place = |key: usize, c: usize| f64::from(track.values[3 * key + c]);
                    let off = |c: usize| place(a, c) + (place(b, c) - place(a, c)) * t - place(key, c);
                    (0..3).map(|c| off(c) * off(c)).sum::<f64>() <= distance * distance
                }
            }
        };
        let is_line =
            track.interpolation == Interpolation::Linear && !matches!(track.target, Target::Scale(_));
        if !is_line {
            return range.collect();
        }
        let mut keys = vec![range.start];
        let mut from = range.start;
        while from + 1 < range.end {
            let most = (from + MAX_LEFT_OUT).min(range.end - 1);
            let reaches = |to: &usize| (from + 1..*to).all(|key| passes(from, *to, key));
            from = (from + 2..=most).take_while(reaches).last().unwrap_or(from + 1);
            keys.push(from);
        }
        keys
    }
}
