//! Source clip of a key reduction, sampled at the moments where errors are checked.

use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

use crate::measure::job::{MAX_SEGMENT_SAMPLES, MOMENTS_PER_FRAME};
use crate::measure::rate::{self, frames};
use crate::measure::raw_clip;
use crate::options::EncodeOptions;
use condyle::clip::{Clip, RawClip, Target, Track};
use condyle::motion::clip::pose_by;
use condyle::pose::Pose;
use condyle::sampling;
use condyle::sampling::{AnyClip, PoseSource};
use condyle::skeleton::Skeleton;
use condyle_base::error::Error;
use condyle_base::math::Transform64;
use condyle_base::math::quats::is_loose;
use condyle_base::order;
use condyle_base::simd::Dispatch;

/// Track with its key times.
type Timed = (Vec<f32>, Track);

/// Authored track with the times of its keys.
#[derive(Clone, Copy)]
pub(super) struct Authored<'a> {
    pub(super) times: &'a [f32],
    pub(super) track: &'a Track,
}

/// Track that drives no joint.
pub(super) struct Free<'a> {
    pub(super) target: Target,
    /// Values per moment.
    pub(super) values: Vec<Vec<f64>>,
    pub(super) authored: Option<Authored<'a>>,
}

/// Keys of a step track at which its value changes.
fn steps(times: &[f32], track: &Track) -> Timed {
    let width = track.width(times.len());
    let value = |key: usize| &track.values[key * width..][..width];
    let keys: Vec<usize> = (0..times.len()).filter(|&key| key == 0 || value(key) != value(key - 1)).collect();
    let values = keys.iter().flat_map(|&key| value(key)).copied().collect();
    (keys.iter().map(|&key| times[key]).collect(), Track { values, ..track.clone() })
}

/// Part of a clip at the moments where errors are checked.
pub(super) struct Window<'a> {
    /// Seconds, ascending: the frames, three times between frames, and the authored keys.
    pub(super) moments: Vec<f64>,
    /// Moments that are frames.
    pub(super) frames: Vec<usize>,
    /// Moments that are frames or authored keys.
    pub(super) places: Vec<usize>,
    /// Local transforms, per joint and moment.
    pub(super) joints: Vec<Vec<Transform64>>,
    pub(super) free: Vec<Free<'a>>,
}

/// Clip, and the moments at which it is sampled.
#[derive(Clone)]
pub(crate) struct Source<'a> {
    pub(super) of: &'a AnyClip<'a>,
    skeleton: &'a Skeleton,
    pub(super) frames: usize,
    per_frame: usize,
    /// Maximum number of moments of a part, to limit memory.
    pub(super) most_moments: usize,
    /// Key times that are evenly spaced moments within rounding, with the index of the moment. The exact key
    /// time is used, because next to a jump a rounded time can have a completely different value.
    on_moments: Vec<(usize, f64)>,
    /// Key times that are not evenly spaced moments.
    between: Vec<f64>,
    /// Tracks that stay unchanged, each with its key times: step tracks, and the fallback tracks of a
    /// compressed clip.
    pub(super) kept: Vec<Timed>,
}

impl<'a> Source<'a> {
    pub(crate) fn new(
        of: &'a AnyClip<'a>,
        skeleton: &'a Skeleton,
        options: &EncodeOptions,
    ) -> Result<Self, Error> {
        let (frames, mut kept, timelines): (usize, Vec<Timed>, Vec<Vec<f32>>) = match of {
            AnyClip::Raw(clip) => {
                clip.check_skeleton(skeleton)?;
                let loose = |joint: u16| is_loose(&skeleton.rest().get(joint.into()).rotation.map(f64::from));
                let keep = |track: &Track| {
                    let times = &clip.timelines()[track.timeline][..];
                    match track.target {
                        _ if clip.is_stepped(track) => Some(steps(times, track)),
                        // Curves are relative to a rest rotation of unit length.
                        Target::Rotation(joint) if loose(joint) => Some((times.to_vec(), track.clone())),
                        _ => None,
                    }
                };
                let kept: Vec<Timed> = clip.tracks().iter().filter_map(keep).collect();
                let mut is_used = vec![false; clip.timelines().len()];
                clip.tracks().iter().for_each(|track| is_used[track.timeline] = true);
                let used = clip.timelines().iter().zip(is_used).filter(|(_, is_used)| *is_used);
                let used = used.map(|(times, _)| times.clone());
                (frames(clip, skeleton.joint_count(), options)?.count, kept, used.collect())
            }
            AnyClip::Compressed { clip, .. } => {
                let (found, needed) = (skeleton.joint_count(), clip.joint_count());
                Error::check_len("the joints of the skeleton", found, needed)?;
                skeleton.check_fingerprint("the clip", clip.fingerprint().unwrap_or_default())?;
                skeleton.check_rest_fingerprint("the clip", clip.rest_fingerprint().unwrap_or_default())?;
                // Root motion moves the roots, so their own tracks lack a part of the movement.
                let is_moved = |target: Target| match target {
                    Target::Rotation(joint) | Target::Translation(joint) => {
                        clip.has_motion() && skeleton.parent(joint).is_none()
                    }
                    _ => false,
                };
                let kept: Vec<_> =
                    clip.fallback_tracks().filter(|(_, track)| !is_moved(track.target)).collect();
                (clip.frame_count(), kept, clip.authored_times().collect())
            }
        };
        let per_frame = if options.between { MOMENTS_PER_FRAME } else { 1 };
        let most_moments = (MAX_SEGMENT_SAMPLES / skeleton.joint_count().max(1)).max(per_frame);
        order::sort_by(&mut kept, |(_, track)| track.target.order());
        let (on_moments, between) = (Vec::new(), Vec::new());
        let mut source = Self { of, skeleton, frames, per_frame, most_moments, on_moments, between, kept };
        for times in timelines {
            let mut after = None;
            for time in times.into_iter().rev().map(f64::from) {
                let moment = source.moment_at(time);
                match moment {
                    // The first key of a jump is as close to its moment as the second.
                    Some(moment) if after != Some(moment) => source.on_moments.push((moment, time)),
                    _ => source.between.push(time),
                }
                after = moment;
            }
        }
        if let AnyClip::Compressed { clip, .. } = of {
            source.between.extend(clip.view().seams().flatten().map(f64::from));
        }
        order::sort_numbers(&mut source.between);
        source.between.dedup();
        source.on_moments.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        source.on_moments.dedup_by_key(|(moment, _)| *moment);
        Ok(source)
    }

    /// Returns three times between each two adjacent keys that are less than four source moments apart. Skips
    /// unchanged tracks and the two sides of a jump. A raw clip in one part needs no such times.
    pub(crate) fn unseen(&self, keys: &RawClip) -> Result<Vec<f64>, Error> {
        let is_authored = matches!(self.of, AnyClip::Raw(_)) && self.windows()?.len() == 1;
        if is_authored || self.per_frame == 1 {
            return Ok(Vec::new());
        }
        let [start, end] = [self.of.start(), self.of.end()];
        let apart = 3.99 * (end - start) / (self.frames * self.per_frame).max(1) as f64;
        let made = keys.tracks().iter().filter(|track| !self.keeps(track.target));
        let pairs = made.flat_map(|track| keys.timelines()[track.timeline].windows(2));
        let near = pairs.filter(|pair| pair[0].next_up() < pair[1] && f64::from(pair[1] - pair[0]) <= apart);
        let parts = near.flat_map(|pair| {
            let middle = pair[0].midpoint(pair[1]);
            [pair[0].midpoint(middle), middle, middle.midpoint(pair[1])]
        });
        Ok(parts.map(f64::from).collect())
    }

    /// Returns the same source with additional moments.
    pub(crate) fn with(&self, moments: &[f64]) -> Self {
        let mut source = self.clone();
        source.between.extend(moments);
        order::sort_numbers(&mut source.between);
        source.between.dedup();
        source
    }

    /// Frame at or before a time.
    pub(super) fn frame_of(&self, seconds: f64) -> usize {
        let (mut low, mut high) = (0, self.frames);
        while low < high {
            let middle = high - (high - low) / 2;
            if self.seconds(middle * self.per_frame) <= seconds {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        low
    }

    /// Frames per second.
    pub(crate) fn rate(&self) -> f32 {
        rate::rate([self.of.start(), self.of.end()], self.frames)
    }

    /// Splits the frames into ranges that are processed separately: a single range, unless that takes too
    /// much memory.
    ///
    /// # Errors
    /// [`Error::TooMany`] for a frame with more keys than the memory limit allows.
    pub(super) fn windows(&self) -> Result<Vec<Range<usize>>, Error> {
        let most = self.most_moments;
        let parts = self.ranges(most);
        let longest = parts.iter().map(|part| self.before(part.end) - self.before(part.start)).max();
        let (longest, limit) = (longest.unwrap_or(0), 4 * most + self.per_frame);
        if longest > limit {
            return Err(Error::TooMany { what: "keys within a frame", found: longest, limit });
        }
        Ok(parts)
    }

    /// The same ranges, split further for a measurement, which needs no context: 10 MB of matrices each.
    pub(super) fn short_windows(&self) -> Result<Vec<Range<usize>>, Error> {
        self.windows()?;
        Ok(self.ranges((self.most_moments / 16).max(self.per_frame)))
    }

    /// Number of moments before a frame.
    fn before(&self, frame: usize) -> usize {
        let before = self.seconds(frame * self.per_frame);
        frame * self.per_frame + self.between.partition_point(|&time| time < before)
    }

    /// Splits the frames into ranges of about `most` moments.
    fn ranges(&self, most: usize) -> Vec<Range<usize>> {
        let all = self.before(self.frames);
        let share = all.div_ceil(all.div_ceil(most).max(1)).max(1);
        let (mut bounds, mut last) = (vec![0], 0);
        for frame in 1..self.frames {
            let part = self.before(frame) / share;
            if part > last {
                bounds.push(frame);
                last = part;
            }
        }
        bounds.push(self.frames);
        bounds.windows(2).map(|pair| pair[0]..pair[1]).collect()
    }

    /// Time of the evenly spaced moment `at`.
    fn seconds(&self, at: usize) -> f64 {
        match self.on_moments.binary_search_by_key(&at, |(moment, _)| *moment) {
            Ok(found) => self.on_moments[found].1,
            Err(_) => self.even_seconds(at),
        }
    }

    fn even_seconds(&self, at: usize) -> f64 {
        let [start, end] = [self.of.start(), self.of.end()];
        let all = (self.frames * self.per_frame).max(1);
        // Readers use f32.
        f64::from((start + at as f64 / all as f64 * (end - start)) as f32)
    }

    /// Index of the evenly spaced moment that a time equals within rounding.
    fn moment_at(&self, time: f64) -> Option<usize> {
        let [start, end] = [self.of.start(), self.of.end()];
        let all = (self.frames * self.per_frame).max(1) as f64;
        if end <= start {
            return Some(0);
        }
        let nearest = ((time - start) / (end - start) * all + 0.5) as usize;
        ((self.even_seconds(nearest) - time).abs() <= 1e-3 * (end - start) / all).then_some(nearest)
    }

    /// Authored keys of a property, if the clip is a raw one.
    pub(super) fn authored(&self, target: Target) -> Option<Authored<'a>> {
        let AnyClip::Raw(clip) = self.of else { return None };
        let track = &clip.tracks()[clip.tracks().binary_search_by_key(&target, |track| track.target).ok()?];
        Some(Authored { times: &clip.timelines()[track.timeline], track })
    }

    /// Whether a track stays unchanged.
    pub(crate) fn keeps(&self, target: Target) -> bool {
        self.kept.binary_search_by_key(&target, |(_, track)| track.target).is_ok()
    }

    /// Samples the clip at the moments of some of its frames, including both ends.
    pub(super) fn window(&self, frames: Range<usize>) -> Result<Window<'a>, Error> {
        let (first, last) = (frames.start * self.per_frame, frames.end * self.per_frame);
        let mut moments: Vec<f64> = (first..=last).map(|at| self.seconds(at)).collect();
        let (from, to) = (moments[0], moments[moments.len() - 1]);
        let begin = self.between.partition_point(|&time| time <= from);
        let end = self.between.partition_point(|&time| time < to).max(begin);
        moments.extend(&self.between[begin..end]);
        order::sort_numbers(&mut moments);
        moments.dedup();
        let frame = |at: usize| moments.partition_point(|&time| time < self.seconds(at * self.per_frame));
        let frames: Vec<usize> = (frames.start..=frames.end).map(frame).collect();
        let own = self.between[begin..end].iter().map(|&time| moments.partition_point(|&at| at < time));
        let mut places: Vec<usize> = frames.iter().copied().chain(own).collect();
        places.sort_unstable();
        places.dedup();
        let (joints, free) = match self.of {
            AnyClip::Raw(clip) => self.authored_at(clip, &moments),
            AnyClip::Compressed { clip, .. } => self.packed_at(clip, &moments)?,
        };
        Ok(Window { moments, frames, places, joints, free })
    }

    fn authored_at(&self, clip: &'a RawClip, moments: &[f64]) -> (Vec<Vec<Transform64>>, Vec<Free<'a>>) {
        let count = self.skeleton.joint_count();
        let tracks = raw_clip::joint_tracks(clip, count);
        let joint = |j: usize| raw_clip::joint(clip, self.skeleton, j, &tracks[j], moments);
        let free =
            clip.tracks().iter().filter(|track| track.target.joint().is_none() && !self.keeps(track.target));
        let free = free.map(|track| {
            let times = &clip.timelines()[track.timeline][..];
            let width = track.width(times.len());
            let at =
                |&seconds: &f64| (0..width).map(|c| raw_clip::component(clip, track, c, seconds)).collect();
            Free {
                target: track.target,
                values: moments.iter().map(at).collect(),
                authored: Some(Authored { times, track }),
            }
        });
        ((0..count).map(joint).collect(), free.collect())
    }

    fn packed_at(
        &self,
        clip: &Clip<'_>,
        moments: &[f64],
    ) -> Result<(Vec<Vec<Transform64>>, Vec<Free<'a>>), Error> {
        let mut joints = vec![Vec::with_capacity(moments.len()); self.skeleton.joint_count()];
        let mut free: Vec<Free<'a>> = clip
            .free_tracks()
            .map(|(target, _)| Free { target, values: Vec::new(), authored: None })
            .collect();
        let widths: Vec<usize> = clip.free_tracks().map(|(_, width)| width).collect();
        let mut all = vec![0.0; widths.iter().sum()];
        let mut pose = Pose::rest(self.skeleton);
        for &seconds in moments {
            // Rounded, because key times in the document are f32.
            let seconds = f64::from(seconds as f32);
            pose_by(Dispatch::current().portable(), clip, self.skeleton, seconds, &mut pose)?;
            for (joint, t) in joints.iter_mut().zip(pose.transforms()) {
                let mut local = Transform64::from(t);
                condyle_base::math::vectors::normalize(&mut local.rotation);
                joint.push(local);
            }
            sampling::tracks(clip, seconds, &mut all)?;
            let mut all = &all[..];
            for (free, &width) in free.iter_mut().zip(&widths) {
                let own = all.split_off(..width).unwrap_or_default();
                free.values.push(own.iter().map(|&v| v.into()).collect());
            }
        }
        free.retain(|free| !self.keeps(free.target));
        Ok((joints, free))
    }
}
