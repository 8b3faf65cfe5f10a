//! Which tracks become fallback tracks, as no curve meets the budget for them.

use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

use super::measure::Overrun;
use super::options::Measured;
use super::rate;
use super::task::{ClipJob, JointFacts};
use super::write::{Kept, Part};
use condyle::clip::{Clip, Interpolation, Target, Track};
use condyle_base::math::quats::{conjugate, product, slerp_f64};

/// How many joints with their ancestors, or free tracks, are kept one by one before everything is. Not tuned.
/// It bounds how often a clip is encoded again.
const MAX_SINGLE_FALLBACKS: usize = 6;

/// The part of the budget that keys may be left out for where tracks are kept in some segments: the way from one pose
/// to another of which nothing is left a frame later has thousands. Not tuned.
const THINNING_FRACTION: f64 = 1.0 / 8.0;
/// The most keys in a row that are left out: bounds the time that the search takes.
const MAX_LEFT_OUT: usize = 256;

/// How often the budget of the curves of a segment is lowered because of keys between the moments of the search.
const MAX_LOWERED: u32 = 3;

/// What no curve met the budget for, so that it has to be kept.
pub(super) enum Failed {
    Joint { joint: usize, segment: usize },
    FreeTrack(usize),
}

/// The tracks that are kept, besides those of [`JointFacts::authored`].
pub(super) struct KeptTracks<'j, 'a> {
    job: &'j ClipJob<'a>,
    segment_frames: usize,
    segment_count: usize,
    /// Where the tracks of a joint are kept: from the first segment in which no curve served to the last one.
    joints: Vec<Range<usize>>,
    /// The free tracks that are kept.
    free: Vec<bool>,
    /// What is reported, in the order in which it was found.
    targets: Vec<Target>,
    given_up: usize,
    /// The part of the budgets that curves may use in each segment, and how often it was lowered.
    parts: Vec<(f64, u32)>,
}

impl<'j, 'a> KeptTracks<'j, 'a> {
    /// Before any segment was fitted: steps, and what curves cannot follow at all.
    pub(super) fn new(job: &'j ClipJob<'a>, segment_frames: usize, segment_count: usize) -> Self {
        // Curves have keys on frames only and would cut corners between them: such tracks are fallback tracks.
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

    /// What is reported.
    pub(super) fn targets(&self) -> &[Target] {
        &self.targets
    }

    /// Which free tracks are kept.
    pub(super) fn free(&self) -> &[bool] {
        &self.free
    }

    /// What is known of the joints in a segment.
    pub(super) fn joints_in(&self, segment: usize) -> Vec<JointFacts> {
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

    /// The first joint over its budget, and the segment, unless it and its ancestors are kept there already.
    pub(super) fn joint_over_budget(&self, clip: &Clip<'_>, measured: &Measured) -> Option<Failed> {
        let options = self.job.options;
        measured.joints.iter().enumerate().find_map(|(joint, worst)| {
            let segment = clip.view().locate(worst.seconds).segment;
            let is_curve = |joint: usize| self.is_curve(joint, segment);
            let is_over =
                worst.error > options.budget_of_joint(joint) && self.with_ancestors(joint).any(is_curve);
            is_over.then_some(Failed::Joint { joint, segment })
        })
    }

    /// The free track that is farthest over its budget, if there is one and it is not kept already.
    pub(super) fn free_track_over_budget(&self, measured: &Measured) -> Option<Failed> {
        let over = measured.track_over_budget(self.job.options)?;
        let at = self.job.free_sources.iter().position(|track| track.target == over);
        at.filter(|&at| !self.free[at]).map(Failed::FreeTrack)
    }

    fn with_ancestors(&self, joint: usize) -> impl Iterator<Item = usize> {
        core::iter::successors(Some(joint), |&joint| self.job.joints[joint].parent)
    }

    /// Holds the budget at keys between the moments of the search: with less for the curves of the segments where it is exceeded, or, where
    /// that did not help, by keeping what fails. Whether anything has changed; forgets the fits that are of no use then.
    pub(super) fn hold_keys<T>(&mut self, overruns: &[Overrun], fits: &mut [Option<T>]) -> bool {
        let mut has_changed = false;
        for &Overrun { segment, joint, times } in overruns {
            let (part, lowered) = &mut self.parts[segment];
            if *lowered < MAX_LOWERED {
                (*part, *lowered) = (*part * (0.95 / times).max(0.5), *lowered + 1);
                fits[segment] = None;
                has_changed = true;
            } else if self.with_ancestors(joint).any(|joint| self.is_curve(joint, segment)) {
                self.give_up(Failed::Joint { joint, segment }, fits);
                has_changed = true;
            }
        }
        has_changed
    }

    /// Whether any track of a joint may be a curve in a segment.
    fn is_curve(&self, joint: usize, segment: usize) -> bool {
        !self.joints[joint].contains(&segment) && self.job.joints[joint].fallback.contains(&false)
    }

    /// Keeps what failed: a free track, or the tracks of a joint and of all its ancestors, so that its place is
    /// exact. Forgets the fits that are of no use then.
    pub(super) fn give_up<T>(&mut self, failed: Failed, fits: &mut [Option<T>]) {
        let is_new = match failed {
            Failed::Joint { joint, segment } => self
                .with_ancestors(joint)
                .all(|joint| self.joints[joint].contains(&segment) || self.joints[joint].is_empty()),
            Failed::FreeTrack(_) => true,
        };
        // One at a time at first: every failure of another joint encodes a part of the clip again.
        self.given_up += usize::from(is_new);
        let all = self.given_up > MAX_SINGLE_FALLBACKS;
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
            Failed::Joint { .. } if all => {
                (0..self.joints.len()).for_each(|joint| self.keep(joint, 0..self.segment_count, fits));
            }
            Failed::Joint { joint, segment } => {
                let chain: Vec<usize> = self.with_ancestors(joint).collect();
                chain.into_iter().for_each(|joint| self.keep(joint, segment..segment + 1, fits));
            }
        }
    }

    /// Keeps the tracks of a joint in these segments, and in those between them and where they are kept already.
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

    /// All that is kept.
    pub(super) fn tracks(&self) -> Vec<Kept<'a>> {
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

    /// What of a track these segments need: keys from the last one before them to the first one behind them.
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

    /// The keys of a range that are needed: straight lines between them pass those that are left out within their share
    /// of [`THINNING_FRACTION`].
    fn thinned(&self, track: &Track, times: &[f32], range: Range<usize>) -> Vec<usize> {
        // The most that any joint can have on the way from its root, and two tracks of each.
        let parts = self.joints.iter().filter(|kept| !kept.is_empty() && !self.is_whole(kept)).count();
        let distance = self.least_budget() * THINNING_FRACTION / (2 * parts.max(1)) as f64;
        // No point is farther from a joint than twice what it can be from the origin.
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
