//! Writes the clip from its curves and fallback tracks, and measures it.

use alloc::vec;
use alloc::vec::Vec;

use crate::measure::error::{self, Overrun};
use crate::measure::job::ClipJob;
use crate::measure::rate;
use crate::options::{Encoded, Encoding, OffFrames};
use condyle::clip::layout::{Header, Kind, MOTION, WIDE};
use condyle::clip::spline::Degree;
use condyle::clip::write::{self, Curves, Kept, Parts, free_parts};
use condyle::clip::{Clip, RawClip, Target};
use condyle_base::error::Error;

/// Maximum number of frames per segment that the format can count.
pub(crate) const MAX_SEGMENT_FRAMES: usize = u16::MAX as usize;

/// Fallback tracks of a clip to write.
#[derive(Clone, Copy)]
pub(crate) struct FallbackTracks<'a> {
    /// Clip that contains their keys.
    pub(crate) clip: &'a RawClip,
    pub(crate) tracks: &'a [Kept<'a>],
    /// Targets that [`Encoded::fallback`] lists.
    pub(crate) reported: &'a [Target],
}

impl ClipJob<'_> {
    /// Writes the clip, measures the decoded result, and collects the report.
    pub(crate) fn finish(
        &self,
        FallbackTracks { clip: clip_of_keys, tracks: fallback, reported }: FallbackTracks<'_>,
        segment_frames: usize,
        segments: &[Curves],
    ) -> Result<(Encoded, Vec<Overrun>), Error> {
        let header = self.header(segment_frames, segments.len(), fallback.len());
        let (free_tracks, events) = (&self.free_tracks[..], self.events.as_slice());
        let mut parts = Parts { header, free_tracks, fallback, events, segments };
        let mut clip = Clip::from_owned(write::write(clip_of_keys, &parts)?)?;
        let (measured, overruns) = error::measure(self, &clip)?;
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

    pub(crate) fn header(
        &self,
        segment_frames: usize,
        segment_count: usize,
        fallback_count: usize,
    ) -> Header {
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
