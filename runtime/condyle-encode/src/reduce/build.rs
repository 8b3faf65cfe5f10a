//! Builds tracks from channels.

use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

use super::channel::Channel;
use super::source::Source;
use condyle::clip::{Interpolation, RawClip, Target, Track};
use condyle::sampling::PoseSource;
use condyle::skeleton::Skeleton;
use condyle_base::error::Error;
use condyle_base::math::quats::is_loose;
use condyle_base::math::vectors::normalize;

/// Tracks, and their shared timelines.
#[derive(Default)]
pub(crate) struct Build {
    timelines: Vec<Vec<f32>>,
    /// Index of each timeline, by the bits of its times.
    places: BTreeMap<Vec<u32>, usize>,
    tracks: Vec<Track>,
}

impl Build {
    pub(crate) fn add(&mut self, target: Target, channel: &Channel, moments: &[f64]) {
        let times = match &channel.times {
            Some(times) => times.clone(),
            None => channel.keys.iter().map(|&key| moments[key] as f32).collect(),
        };
        let timeline = self.timeline(times);
        let (interpolation, values) = (channel.interpolation, channel.values.clone());
        self.tracks.push(Track { target, interpolation, timeline, values });
    }

    fn timeline(&mut self, times: Vec<f32>) -> usize {
        let place = self.places.entry(times.iter().map(|time| time.to_bits()).collect());
        *place.or_insert_with(|| {
            self.timelines.push(times);
            self.timelines.len() - 1
        })
    }

    /// Builds the clip. `is_whole` means that it is not a part of a clip.
    pub(crate) fn finish(
        mut self,
        source: &Source<'_>,
        skeleton: &Skeleton,
        is_whole: bool,
    ) -> Result<RawClip, Error> {
        for (times, track) in &source.kept {
            let timeline = self.timeline(times.clone());
            self.tracks.push(Track { timeline, values: unit(track), ..track.clone() });
        }
        if is_whole {
            self.keep_duration(source, skeleton);
        }
        RawClip::new(source.of.name().into(), self.timelines, self.tracks)?.for_skeleton(skeleton)
    }

    /// Adds keys at the first and the last moment, if missing, to keep the duration of the clip.
    fn keep_duration(&mut self, source: &Source<'_>, skeleton: &Skeleton) {
        let (start, end) = (source.of.start() as f32, source.of.end() as f32);
        let used = || self.tracks.iter().map(|track| &self.timelines[track.timeline]);
        let begins = used().any(|times| times.first() == Some(&start));
        let ends = used().any(|times| times.last() == Some(&end));
        if (begins && ends) || start == end {
            return;
        }
        let both = vec![start, end];
        let is_single = |track: &Track| self.timelines[track.timeline].len() == 1;
        match self.tracks.iter().position(is_single) {
            Some(track) => {
                let timeline = self.timeline(both);
                let track = &mut self.tracks[track];
                track.timeline = timeline;
                let values = track.values.clone();
                track.values.extend(values);
            }
            None => {
                let target = |joint| Target::Translation(joint);
                let free = (0..skeleton.joint_count() as u16)
                    .find(|&joint| !self.tracks.iter().any(|track| track.target == target(joint)));
                if let Some(joint) = free {
                    let timeline = self.timeline(both);
                    let values = skeleton.rest().get(joint.into()).translation.repeat(2);
                    self.tracks.push(Track {
                        target: target(joint),
                        interpolation: Interpolation::Linear,
                        timeline,
                        values,
                    });
                }
            }
        }
    }
}

/// Values of a track, with rotations normalised as glTF requires, because not every reader normalises them.
pub(super) fn unit(track: &Track) -> Vec<f32> {
    let mut values = track.values.clone();
    if track.target.rotates() && track.interpolation != Interpolation::CubicSpline {
        for q in values.as_chunks_mut::<4>().0 {
            let mut exact = q.map(f64::from);
            if is_loose(&exact) {
                normalize(&mut exact);
                *q = exact.map(|v| v as f32);
            }
        }
    }
    values
}
