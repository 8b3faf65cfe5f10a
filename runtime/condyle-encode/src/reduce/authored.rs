//! Authored keys, for clips where no other keys are within the budget or others take more bytes.

use alloc::vec;
use alloc::vec::Vec;

use super::Reduced;
use super::build::{Build, unit};
use super::channel::{Channel, as_authored, own_times, targets};
use super::format::{self, KeyFormat, number_bytes};
use super::job::{Channels, Job};
use super::source::Authored;

use crate::options::Measured;
use condyle::clip::{Interpolation, RawClip, Target, Track};
use condyle::sampling::AnyClip;
use condyle_base::error::Error;

impl Job<'_, '_> {
    /// Replaces the keys found by the authored keys if these take fewer bytes. That happens because a
    /// property chooses its times without knowing the times of the next property.
    pub(super) fn or_authored(
        &self,
        found: Reduced,
        holds: impl Fn(&Measured) -> bool,
    ) -> Result<Reduced, Error> {
        if self.grids.pinned
            || self.format == KeyFormat::Filtered
            || matches!(self.of.of, AnyClip::Compressed { .. })
        {
            return Ok(found);
        }
        let mut formats = vec![self.format, KeyFormat::Floats];
        formats.dedup();
        for format in formats {
            let clip = self.authored(format, &found.clip)?;
            if bytes(&clip) >= bytes(&found.clip) {
                continue;
            }
            let measured = self.measure(&clip);
            if holds(&measured) {
                return Ok(Reduced { clip, measured, ..found });
            }
        }
        Ok(found)
    }

    /// Clip with the authored keys of all joints, with rotations as they will be stored, and the other tracks
    /// of `found`.
    fn authored(&self, format: KeyFormat, found: &RawClip) -> Result<RawClip, Error> {
        let mut build = Build::default();
        for joint in 0..self.joints.len() {
            for (target, channel) in targets(joint).into_iter().zip(self.exact_channels(joint)) {
                let Some(mut channel) = channel else { continue };
                if target.rotates() && channel.interpolation != Interpolation::CubicSpline {
                    for key in channel.values.as_chunks_mut::<4>().0 {
                        *key = format::rotation(key.map(f64::from), format, 0).1;
                    }
                }
                build.add(target, &channel, &self.source.moments);
            }
        }
        let is_free = |track: &&Track| track.target.joint().is_none() && !self.of.keeps(track.target);
        for track in found.tracks().iter().filter(is_free) {
            let authored = Authored { times: &found.timelines()[track.timeline], track };
            let channel = as_authored(authored, track.values.clone());
            build.add(track.target, &channel, &[]);
        }
        build.finish(self.of, self.skeleton, true)
    }

    /// Clip with the authored keys. A compressed clip or a part has a key at each moment.
    pub(super) fn exact(&self) -> Result<RawClip, Error> {
        if let (AnyClip::Raw(clip), false) = (self.of.of, self.grids.pinned) {
            let tracks = clip.tracks().iter().map(|track| Track { values: unit(track), ..track.clone() });
            let (name, timelines) = (clip.name().into(), clip.timelines().to_vec());
            return RawClip::new(name, timelines, tracks.collect())?.for_skeleton(self.skeleton);
        }
        let mut build = Build::default();
        for joint in 0..self.joints.len() {
            for (target, channel) in targets(joint).into_iter().zip(self.exact_channels(joint)) {
                if let Some(channel) = channel {
                    build.add(target, &channel, &self.source.moments);
                }
            }
        }
        for free in &self.source.free {
            let width = free.values.first().map_or(0, Vec::len);
            let values: Vec<f32> = free.values.iter().flatten().map(|&v| v as f32).collect();
            if let Some(channel) = self.exact_channel(free.target, values, width, &[]) {
                build.add(free.target, &channel, &self.source.moments);
            }
        }
        build.finish(self.of, self.skeleton, !self.grids.pinned)
    }

    /// Channels of a joint with the authored keys, or with a key at each moment.
    pub(super) fn exact_channels(&self, joint: usize) -> Channels {
        let (locals, rest) = (&self.source.joints[joint], self.skeleton.rest().get(joint));
        let [rotation, translation, scale] = targets(joint);
        let rotations = || locals.iter().flat_map(|local| local.rotation.map(|v| v as f32)).collect();
        let translations = || locals.iter().flat_map(|local| local.translation.map(|v| v as f32)).collect();
        let scales = || locals.iter().flat_map(|local| local.scale.map(|v| v as f32)).collect();
        let kept = self.joints[joint].fallback;
        [
            (!kept[0]).then(|| self.exact_channel(rotation, rotations(), 4, &rest.rotation)).flatten(),
            (!kept[1])
                .then(|| self.exact_channel(translation, translations(), 3, &rest.translation))
                .flatten(),
            (!kept[2]).then(|| self.exact_channel(scale, scales(), 3, &rest.scale)).flatten(),
        ]
    }

    /// Authored keys, or a key at each moment for a compressed clip or a part. `None` at rest.
    fn exact_channel(&self, target: Target, values: Vec<f32>, width: usize, rest: &[f32]) -> Option<Channel> {
        let first = &values[..width];
        if !self.grids.pinned && values.chunks_exact(width).all(|value| value == first) {
            return (first != rest).then(|| Channel::constant(first));
        }
        Some(match self.of.authored(target).filter(|_| !self.grids.pinned) {
            Some(authored) => as_authored(authored, unit(authored.track)),
            None => Channel::linear((0..self.source.moments.len()).collect(), values),
        })
    }
}

/// Approximate size of a clip in a document, including the JSON of its times.
pub(super) fn bytes(clip: &RawClip) -> usize {
    let times: usize = clip.timelines().iter().map(|times| own_times(times.len())).sum();
    times + clip.tracks().iter().map(|track| number_bytes(track) * track.values.len()).sum::<usize>()
}
