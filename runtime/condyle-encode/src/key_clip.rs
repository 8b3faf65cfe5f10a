//! Clips that consist of keys only, if these take fewer bytes than curves.

use alloc::vec;
use alloc::vec::Vec;

use crate::assembly::{FallbackTracks, MAX_SEGMENT_FRAMES};
use crate::measure::job::ClipJob;
use crate::options::{Encoded, Encoding};
use crate::reduce::{KeyFormat, reduce};
use condyle::clip::write;
use condyle::clip::write::{Curves, Kept};
use condyle::clip::{Interpolation, RawClip, Target, Track};

/// Divisors of the height of the hierarchy, for rounding rotations to 16 bits. Only joints whose height is at
/// most this fraction of the maximum height are rounded. 1 selects all joints; larger divisors select joints
/// near the ends of limbs, where a rotation moves little. Not tuned.
const PARTS: [usize; 3] = [1, 2, 4];

/// Curves within the budget are replaced by keys only if this saves at least one part in `SAVING` of their
/// bytes. Keys must be searched and rotated one by one in f64. Not tuned.
const SAVING: usize = 8;

impl ClipJob<'_> {
    /// Returns the clip as keys only, if that saves an eighth of the bytes, or any bytes if curves take more
    /// than the authored numbers. Otherwise returns `curves`.
    ///
    /// Tries keys if there are fallback tracks, or if curves take more bytes than the authored numbers. That
    /// happens if keys are few and far apart, because a curve then needs many keys.
    pub(crate) fn or_keys(&self, curves: Encoded) -> Encoded {
        let (is_kept, bytes) = (!curves.fallback.is_empty(), curves.bytes().len());
        let is_more = bytes > self.authored_bytes();
        if !is_kept && !is_more {
            return curves;
        }
        let moves =
            |(encoding, _): &(Encoding, usize)| matches!(encoding, Encoding::Linear | Encoding::Spline);
        let is_played = curves.encodings.iter().any(moves);
        let most = if is_played && !is_more { bytes - bytes / SAVING } else { bytes };
        self.fewest_keys(is_kept, bytes).filter(|keys| keys.bytes().len() < most).unwrap_or(curves)
    }

    /// Number of bytes of the authored numbers.
    pub(crate) fn authored_bytes(&self) -> usize {
        let times = self.clip.timelines().iter().map(Vec::len).sum::<usize>();
        4 * (times + self.clip.tracks().iter().map(|track| track.values.len()).sum::<usize>())
    }

    /// Keys that take fewer than `most` bytes: the authored keys, or fewer that are within the budget.
    pub(crate) fn fewest_keys(&self, is_reported: bool, most: usize) -> Option<Encoded> {
        let clip = self.clip;
        let (own, are_shorts) = self.own_keys(is_reported, most).unzip();
        let are_shorts = are_shorts.unwrap_or(false);
        // Sparse keys leave almost none to remove.
        let times = |track: &Track| clip.timelines()[track.timeline].len();
        let is_rare = clip.tracks().iter().map(times).sum::<usize>() * 2 <= clip.tracks().len() * self.frames;
        if are_shorts && is_rare {
            return own;
        }
        // Leaves room for the decoder's rounding.
        let options = self.options.with_part(0.98);
        let format = if are_shorts { KeyFormat::Shorts } else { KeyFormat::Floats };
        let most = own.as_ref().map_or(most, |own| own.bytes().len());
        let fewer = reduce(clip, self.skeleton, &options, format).ok();
        fewer.and_then(|fewer| self.keys(&fewer.clip, is_reported, most)).or(own)
    }

    /// Authored keys, with as many rotations in 16 bits as the budget allows, and whether there are any such
    /// rotations.
    fn own_keys(&self, is_reported: bool, most: usize) -> Option<(Encoded, bool)> {
        let mut heights = vec![1_usize; self.joints.len()];
        for (joint, facts) in self.joints.iter().enumerate().rev() {
            if let Some(parent) = facts.parent {
                heights[parent] = heights[parent].max(heights[joint] + 1);
            }
        }
        let tallest = heights.iter().copied().max().unwrap_or(0);
        // A clip of one pose is stored bit-exactly.
        let parts = if self.frames > 0 { &PARTS[..] } else { &[] };
        let mut tried = None;
        for (at, part) in parts.iter().enumerate() {
            let (clip, changed) =
                self.rounded(|joint| part * heights.get(joint).copied().unwrap_or(0) <= tallest)?;
            // Each divisor selects a subset of the one before, so the same number of changes means the same
            // clip.
            if tried.replace(changed) == Some(changed) {
                continue;
            }
            if let Some(found) = self.keys(&clip, is_reported, most) {
                return Some((found, at == 0 || changed > 0));
            }
        }
        let is_tried = tried == Some(0);
        let own = (!is_tried).then(|| self.keys(self.clip, is_reported, most)).flatten();
        own.map(|found| (found, false))
    }

    /// Clip with the rotations of some joints in 16 bits, and number of changed numbers. Step tracks stay
    /// bit-exact.
    fn rounded(&self, is_wanted: impl Fn(usize) -> bool) -> Option<(RawClip, usize)> {
        let mut tracks = self.clip.tracks().to_vec();
        let mut changed = 0;
        for track in &mut tracks {
            let is_line = track.interpolation == Interpolation::Linear && !self.clip.is_stepped(track);
            let Target::Rotation(joint) = track.target else { continue };
            if !is_line || !is_wanted(joint.into()) {
                continue;
            }
            for value in &mut track.values {
                let rounded = write::rounded(*value);
                changed += usize::from(rounded.to_bits() != value.to_bits());
                *value = rounded;
            }
        }
        let clip = RawClip::new(self.clip.name().into(), self.clip.timelines().to_vec(), tracks).ok()?;
        Some((clip, changed))
    }

    /// Clip with these keys and no curves, if it takes fewer than `most` bytes and is within the budget. With
    /// `is_reported`, the result lists its tracks as fallback tracks, because some had no suitable curve.
    fn keys(&self, clip: &RawClip, is_reported: bool, most: usize) -> Option<Encoded> {
        let free_index = |target: Target| self.free_tracks.iter().position(|free| free.target == target);
        let keep =
            |track| Kept { track, free_index: free_index(track.target).unwrap_or_default(), part: None };
        let kept: Vec<Kept<'_>> = clip.tracks().iter().map(keep).collect();
        let moves = |track: &&Track| is_reported && clip.timelines()[track.timeline].len() > 1;
        let reported: Vec<Target> = clip.tracks().iter().filter(moves).map(|track| track.target).collect();
        let segments = vec![Curves::default(); self.frames.div_ceil(MAX_SEGMENT_FRAMES).max(1)];
        let segment_frames = self.frames.div_ceil(segments.len()).max(1);
        let segments = &segments[..self.frames.div_ceil(segment_frames).max(1)];
        let header = self.header(segment_frames, segments.len(), kept.len());
        let bytes = write::bytes_without_curves(&header, self.events.as_slice())
            + write::sizes(clip, &kept).map(|(_, bytes)| bytes).sum::<usize>();
        if bytes >= most {
            return None;
        }
        let fallback = FallbackTracks { clip, tracks: &kept, reported: &reported };
        let (found, _) = self.finish(fallback, segment_frames, segments).ok()?;
        let mut joints = found.measured.joints.iter().enumerate();
        let holds = joints.all(|(at, worst)| worst.error <= self.options.budget_of_joint(at))
            && found.measured.track_over_budget(self.options).is_none();
        holds.then_some(found)
    }
}
