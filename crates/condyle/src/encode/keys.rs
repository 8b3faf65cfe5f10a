//! Clips of keys alone, where these take fewer bytes than curves.

use alloc::vec;
use alloc::vec::Vec;

use super::MAX_SEGMENT_FRAMES;
use super::options::Encoded;
use super::reduce::{KeyFormat, reduce};
use super::task::ClipJob;
use super::write::{self, Curves, Kept};
use crate::clip::{Interpolation, RawClip, Target, Track};

/// Rotations are rounded to 16 bits where no more joints follow than this part of the most that do: all, or only what is near the
/// ends of limbs, where a turn moves little. Not tuned.
const PARTS: [usize; 3] = [1, 2, 4];

impl ClipJob<'_> {
    /// The clip as keys alone, if that is fewer bytes. It is tried where something had to be kept as authored, and where curves take more
    /// than what was authored: a few keys that are far apart need many of a curve.
    pub(super) fn or_keys(&self, curves: Encoded) -> Encoded {
        let clip = self.clip;
        let times = |track: &Track| clip.timelines()[track.timeline].len();
        let numbers = clip.timelines().iter().map(Vec::len).sum::<usize>()
            + clip.tracks().iter().map(|track| track.values.len()).sum::<usize>();
        let is_kept = !curves.authored.is_empty();
        if !is_kept && curves.bytes().len() <= 4 * numbers {
            return curves;
        }
        let rounded = self.rounded(is_kept, curves.bytes().len());
        let is_rounded = rounded.is_some();
        let own = rounded.or_else(|| self.keys(clip, is_kept, curves.bytes().len()));
        let best = own.unwrap_or(curves);
        // Where keys are rare there are hardly any to leave out.
        let is_rare = clip.tracks().iter().map(times).sum::<usize>() * 2 <= clip.tracks().len() * self.frames;
        if is_rounded && is_rare {
            return best;
        }
        // What the decoder rounds comes on top.
        let options = self.options.with_part(0.98);
        let format = if is_rounded { KeyFormat::Shorts } else { KeyFormat::Floats };
        let fewer = reduce(clip, self.skeleton, &options, format).ok();
        fewer.and_then(|fewer| self.keys(&fewer.clip, is_kept, best.bytes().len())).unwrap_or(best)
    }

    /// The authored keys, with as many rotations in 16 bits as the budget allows.
    fn rounded(&self, is_reported: bool, most: usize) -> Option<Encoded> {
        let mut heights = vec![1_usize; self.joints.len()];
        for (joint, facts) in self.joints.iter().enumerate().rev() {
            if let Some(parent) = facts.parent {
                heights[parent] = heights[parent].max(heights[joint] + 1);
            }
        }
        let tallest = heights.iter().copied().max().unwrap_or(0);
        // Steps and poses come back to the bit.
        if self.frames == 0 {
            return None;
        }
        let is_line =
            |track: &Track| track.interpolation == Interpolation::Linear && !self.clip.is_stepped(track);
        PARTS.into_iter().find_map(|part| {
            let round = |track: &Track| match track.target {
                Target::Rotation(joint)
                    if is_line(track) && part * heights[usize::from(joint)] <= tallest =>
                {
                    let values = track.values.iter().map(|&v| write::rounded(v)).collect();
                    Track { values, ..track.clone() }
                }
                _ => track.clone(),
            };
            let tracks = self.clip.tracks().iter().map(round).collect();
            let clip = RawClip::new(self.clip.name().into(), self.clip.timelines().to_vec(), tracks).ok()?;
            self.keys(&clip, is_reported, most)
        })
    }

    /// These keys and no curves, if they take fewer bytes than `most` and hold the budget. `is_reported` says that no curves did.
    fn keys(&self, clip: &RawClip, is_reported: bool, most: usize) -> Option<Encoded> {
        let free_index = |target: Target| self.free_tracks.iter().position(|free| free.target == target);
        let keep =
            |track| Kept { track, free_index: free_index(track.target).unwrap_or_default(), part: None };
        let kept: Vec<Kept<'_>> = clip.tracks().iter().map(keep).collect();
        if write::sizes(clip, &kept).map(|(_, bytes)| bytes).sum::<usize>() >= most {
            return None;
        }
        let moves = |track: &&Track| is_reported && clip.timelines()[track.timeline].len() > 1;
        let reported: Vec<Target> = clip.tracks().iter().filter(moves).map(|track| track.target).collect();
        let segments = vec![Curves::default(); self.frames.div_ceil(MAX_SEGMENT_FRAMES).max(1)];
        let segment_frames = self.frames.div_ceil(segments.len()).max(1);
        let segments = &segments[..self.frames.div_ceil(segment_frames).max(1)];
        let found = self.finish((clip, &kept, &reported), segment_frames, segments).ok()?;
        let mut joints = found.measured.joints.iter().enumerate();
        let holds = joints.all(|(at, worst)| worst.error <= self.options.budget_of_joint(at))
            && found.measured.track_over_budget(self.options).is_none();
        (holds && found.bytes().len() < most).then_some(found)
    }
}
