//! Sampling of authored clips, as specified by glTF 2.0.

use alloc::vec::Vec;
use core::cell::Cell;

use fearless_simd::prelude::*;

use crate::clip::keys::{Span, component_at, value_at};
use crate::clip::{Interpolation, RawClip, Target, Track};
use crate::interpolation::{slerp_block, vector_block};
use crate::play::clock::check_clock;
use crate::pose::{Pose, PoseBlock};
use crate::skeleton::Skeleton;
use condyle_base::error::Error;
use condyle_base::math::quats::{ROUNDED, slerp_f64};
use condyle_base::simd::{BLOCK, Dispatch, Lanes, Mode, dispatch_512};

/// Remembers the key positions of the last sample of a [`RawClip`], so that continuous playback needs no
/// search.
///
/// Any cursor is valid for any clip and any time: stale positions cost a search but never change the result.
/// The cursor allocates only when it is used with a clip that has more timelines than any clip before.
///
/// ```
/// use condyle::sampling::RawCursor;
/// use condyle::{Pose, example, sampling};
///
/// let (skeleton, walk) = (example::skeleton(), example::walk());
/// // One cursor per character.
/// let mut cursor = RawCursor::default();
/// let mut pose = Pose::rest(&skeleton);
/// for frame in 0..=30 {
///     sampling::raw(&walk, &skeleton, f64::from(frame) / 30.0, &mut cursor, &mut pose)?;
/// }
/// // The hips started 1 m above the origin and have moved 2 m forward.
/// assert_eq!(pose.get(example::HIPS.into()).translation, [0.0, 1.0, 2.0]);
/// # Ok::<(), condyle::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct RawCursor {
    spans: Vec<Span>,
}

/// The key spans at one time, either found beforehand or searched track by track. A search is skipped if the
/// track has the same timeline as the track before it.
struct Spans<'a> {
    clip: &'a RawClip,
    seconds: f64,
    /// One span per timeline, or empty if spans are searched.
    found: &'a [Span],
    /// Timeline and result of the last search.
    last: Cell<Option<(usize, Span)>>,
}

impl Spans<'_> {
    #[inline]
    fn of(&self, track: &Track) -> Span {
        self.found.get(track.timeline).copied().unwrap_or_else(|| self.search(track))
    }

    /// Not inlined, so that playback with a cursor does not contain the search.
    #[inline(never)]
    fn search(&self, track: &Track) -> Span {
        if let Some((timeline, span)) = self.last.get()
            && timeline == track.timeline
        {
            return span;
        }
        let span = Span::find(&self.clip.timelines()[track.timeline], self.seconds, 0);
        self.last.set(Some((track.timeline, span)));
        span
    }
}

impl RawCursor {
    /// Finds the span in every timeline.
    #[inline]
    fn seek(&mut self, clip: &RawClip, seconds: f64) -> Result<&[Span], Error> {
        check_clock(seconds)?;
        self.spans.resize(clip.timelines().len(), Span::default());
        for (span, times) in self.spans.iter_mut().zip(clip.timelines()) {
            *span = Span::find(times, seconds, span.key);
        }
        Ok(&self.spans)
    }
}

/// Samples the exact pose of an authored clip: slerp on the shorter arc, Hermite splines and steps, as in
/// glTF 2.0 ("Animations" and appendix C).
///
/// `seconds` is a time on the clip's own timeline, which begins at [`RawClip::start`] (not necessarily 0).
/// [`RawClip::moment`] converts a running clock to such a time. Before the first key of a track its first key
/// holds, and after the last key its last. Rotations have unit length even if their keys do not. `pose`
/// receives one transform per joint of `skeleton`; properties without a track take their value from the rest
/// pose.
///
/// # Errors
/// [`Error::Length`] if the joint count of `pose` differs from that of `skeleton`. [`Error::Index`] if a
/// track drives a joint that the skeleton does not have. [`Error::NotFinite`] if `seconds` is NaN or
/// infinite. On error `pose` is unchanged.
///
/// ```
/// use condyle::sampling::RawCursor;
/// use condyle::{Pose, example, sampling};
///
/// let (skeleton, walk) = (example::skeleton(), example::walk());
/// // The hips move 2 m forward in one second.
/// let mut pose = Pose::rest(&skeleton);
/// sampling::raw(&walk, &skeleton, 0.25, &mut RawCursor::default(), &mut pose)?;
/// assert_eq!(pose.get(example::HIPS.into()).translation, [0.0, 1.0, 0.5]);
/// # Ok::<(), condyle::Error>(())
/// ```
pub fn raw(
    clip: &RawClip,
    skeleton: &Skeleton,
    seconds: f64,
    cursor: &mut RawCursor,
    pose: &mut Pose,
) -> Result<(), Error> {
    check(clip, skeleton, pose)?;
    let found = cursor.seek(clip, seconds)?;
    run(Dispatch::current(), &Spans { clip, seconds, found, last: Cell::new(None) }, skeleton, pose);
    Ok(())
}

/// Does the same as [`raw`] without a cursor, with a given instruction set and numeric mode. Searches the
/// keys of each timeline.
pub(crate) fn search_raw(
    dispatch: Dispatch,
    clip: &RawClip,
    skeleton: &Skeleton,
    seconds: f64,
    pose: &mut Pose,
) -> Result<(), Error> {
    check(clip, skeleton, pose)?;
    check_clock(seconds)?;
    run(dispatch, &Spans { clip, seconds, found: &[], last: Cell::new(None) }, skeleton, pose);
    Ok(())
}

fn check(clip: &RawClip, skeleton: &Skeleton, pose: &Pose) -> Result<(), Error> {
    pose.check_joints("pose", skeleton.joint_count())?;
    clip.check_skeleton(skeleton)
}

fn run(dispatch: Dispatch, spans: &Spans<'_>, skeleton: &Skeleton, pose: &mut Pose) {
    let blocks = pose.blocks_mut();
    blocks.copy_from_slice(skeleton.rest().blocks());
    let tracks = by_property(spans.clip.tracks());
    dispatch_512!(dispatch, |s, mode| sample_blocks(s, mode, tracks, spans, blocks));
}

/// Samples a free track of an authored clip: morph weights (one number per morph target), or the scalar,
/// vector or rotation that `target` names.
///
/// Returns whether the clip has a track for `target`; if not, `values` is unchanged. For compressed clips use
/// [`track`](crate::sampling::track).
///
/// # Errors
/// [`Error::Length`] if the length of `values` is not the number of components of the track.
/// [`Error::NotFinite`] if `seconds` is NaN or infinite.
///
/// ```
/// use condyle::sampling::RawCursor;
/// use condyle::{Interpolation, RawClip, Target, Track, sampling};
///
/// // Two keys with the two morph weights of the mesh at node 7 of the document.
/// let (target, interpolation) = (Target::Weights(7), Interpolation::Linear);
/// let smile = Track { target, interpolation, timeline: 0, values: vec![0.0, 0.0, 0.5, 1.0] };
/// let clip = RawClip::new("smile".into(), vec![vec![0.0, 2.0]], vec![smile])?;
///
/// let mut weights = [0.0; 2];
/// assert!(sampling::raw_track(&clip, target, 1.0, &mut RawCursor::default(), &mut weights)?);
/// assert_eq!(weights, [0.25, 0.5]);
/// # Ok::<(), condyle::Error>(())
/// ```
pub fn raw_track(
    clip: &RawClip,
    target: Target,
    seconds: f64,
    cursor: &mut RawCursor,
    values: &mut [f32],
) -> Result<bool, Error> {
    put_free_track(clip, target, seconds, values, |track, times| {
        cursor.spans.resize(clip.timelines().len(), Span::default());
        let span = &mut cursor.spans[track.timeline];
        *span = Span::find(times, seconds, span.key);
        *span
    })
}

/// Does the same as [`raw_track`] without a cursor: searches the track's keys.
pub(super) fn search_raw_track(
    clip: &RawClip,
    target: Target,
    seconds: f64,
    values: &mut [f32],
) -> Result<bool, Error> {
    put_free_track(clip, target, seconds, values, |_, times| Span::find(times, seconds, 0))
}

/// Writes the value of a free track. `find` returns the span for the track and the times of its keys.
fn put_free_track(
    clip: &RawClip,
    target: Target,
    seconds: f64,
    values: &mut [f32],
    find: impl FnOnce(&Track, &[f32]) -> Span,
) -> Result<bool, Error> {
    check_clock(seconds)?;
    let found = clip.tracks().binary_search_by_key(&target, |t| t.target);
    let (Ok(at), None) = (found, target.joint()) else { return Ok(false) };
    let track = &clip.tracks()[at];
    let times = &clip.timelines()[track.timeline];
    let width = track.width(times.len());
    Error::check_len("values", values.len(), width)?;
    let span = find(track, times);
    if target.rotates() {
        let rotation: [f64; 4] = value_at(track, span);
        values.iter_mut().zip(rotation).for_each(|(value, v)| *value = v as f32);
        return Ok(true);
    }
    for (component, value) in values.iter_mut().enumerate() {
        *value = component_at(track, span, width, component) as f32;
    }
    Ok(true)
}

#[inline]
fn joint_of(track: &Track) -> Option<usize> {
    track.target.joint().map(usize::from)
}

/// The two keys and the factor for interpolating each of sixteen joints. The factor is 0 for joints without a
/// track and for values that are already computed. These are splines, steps, and rotations between keys that
/// do not have unit length.
pub(super) struct BlockKeys<const N: usize> {
    pub(super) from: [Lanes; N],
    pub(super) to: [Lanes; N],
    pub(super) factor: Lanes,
}

impl<const N: usize> BlockKeys<N> {
    /// Sixteen joints without a track.
    pub(super) fn of_rest(rest: &[Lanes; N]) -> Self {
        Self { from: *rest, to: *rest, factor: [0.0; BLOCK] }
    }

    /// Collects the keys of the joints of block `block` from the front of `tracks`, and removes these tracks
    /// from the slice. Returns `None` if the block has no tracks. Joints without a track get `rest`.
    fn collect(tracks: &mut &[Track], block: usize, spans: &Spans<'_>, rest: &[Lanes; N]) -> Option<Self> {
        let in_block = |track: &&Track| joint_of(track).is_some_and(|joint| joint / BLOCK == block);
        let count = tracks.iter().take_while(in_block).count();
        if count == 0 {
            return None;
        }
        let (mine, others) = tracks.split_at(count);
        *tracks = others;
        let mut keys = Self::of_rest(rest);
        for track in mine {
            if let Some(joint) = joint_of(track) {
                keys.put(joint % BLOCK, track, spans.of(track));
            }
        }
        Some(keys)
    }

    fn put(&mut self, lane: usize, track: &Track, span: Span) {
        let key = |key: usize| track.values[key * N..].first_chunk::<N>().copied().unwrap_or([0.0; N]);
        let rotates = track.target.rotates();
        let (from, to, factor) = match track.interpolation {
            Interpolation::CubicSpline => (value_at(track, span).map(|v| v as f32), [0.0; N], 0.0),
            _ => {
                let goes_on = track.interpolation == Interpolation::Linear && span.factor > 0.0;
                let (from, factor) = (key(span.key), if goes_on { span.factor } else { 0.0 });
                let to = if goes_on { key(span.key + 1) } else { from };
                if rotates && (is_loose(from) || is_loose(to)) {
                    let quat = |v: [f32; N]| core::array::from_fn(|c| v.get(c).copied().unwrap_or_default());
                    let exact = slerp_f64(quat(from), quat(to), factor);
                    (core::array::from_fn(|c| exact.get(c).map_or(0.0, |&v| v as f32)), [0.0; N], 0.0)
                } else {
                    (from, to, factor as f32)
                }
            }
        };
        self.set(lane, (from, to, factor));
    }

    /// Sets the keys of a lane. With factor 0, the first one is the value.
    pub(super) fn set(&mut self, lane: usize, (from, to, factor): ([f32; N], [f32; N], f32)) {
        let to = if factor == 0.0 { from } else { to };
        for c in 0..N {
            self.from[c][lane] = from[c];
            self.to[c][lane] = to[c];
        }
        self.factor[lane] = factor;
    }
}

/// Whether a rotation does not have unit length, as in files that store integers or short decimals.
#[inline]
fn is_loose<const N: usize>(q: [f32; N]) -> bool {
    (q.iter().map(|v| v * v).sum::<f32>() - 1.0).abs() > ROUNDED as f32
}

/// Splits tracks into those of rotations, those of translations, and the remainder, which begins with scales.
/// Tracks are sorted by target.
#[inline]
fn by_property(tracks: &[Track]) -> [&[Track]; 3] {
    let until = |last: Target| tracks.partition_point(|t| t.target <= last);
    let (rotations, translations) = (until(Target::Rotation(u16::MAX)), until(Target::Translation(u16::MAX)));
    [&tracks[..rotations], &tracks[rotations..translations], &tracks[translations..]]
}

/// Samples all blocks. The tracks of each property are sorted by joint, so each block takes its tracks from
/// the front.
#[inline(always)]
fn sample_blocks<S: Simd, M: Mode>(
    s: S,
    mode: M,
    [mut rotations, mut translations, mut scales]: [&[Track]; 3],
    spans: &Spans<'_>,
    blocks: &mut [PoseBlock],
) {
    for (index, block) in blocks.iter_mut().enumerate() {
        if let Some(keys) = BlockKeys::collect(&mut rotations, index, spans, &block.rotation) {
            slerp_block(s, mode, &keys.from, &keys.to, &keys.factor, &mut block.rotation);
        }
        if let Some(keys) = BlockKeys::collect(&mut translations, index, spans, &block.translation) {
            vector_block(s, mode, &keys.from, &keys.to, &keys.factor, &mut block.translation);
        }
        if let Some(keys) = BlockKeys::collect(&mut scales, index, spans, &block.scale) {
            vector_block(s, mode, &keys.from, &keys.to, &keys.factor, &mut block.scale);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::reference;
    use crate::testing::{Random, SIZES, assert_close, tries};
    use condyle_base::math::Transform;
    use proptest::prelude::*;
    use std::{vec, vec::Vec};

    fn sampled(clip: &RawClip, skeleton: &Skeleton, seconds: f64, cursor: &mut RawCursor) -> Pose {
        let mut pose = Pose::identity(skeleton.joint_count());
        raw(clip, skeleton, seconds, cursor, &mut pose).expect("sizes agree");
        pose
    }

    #[test]
    fn every_kind_of_track_is_the_formula() {
        for &joints in SIZES {
            let mut random = Random(7 + joints as u64);
            let skeleton = random.skeleton(joints);
            let clip = random.clip(joints, 12);
            for dispatch in Dispatch::all() {
                let mut cursor = RawCursor::default();
                for step in 0..tries(60) {
                    let seconds = clip.start() - 0.1 + step as f64 * (clip.end() - clip.start() + 0.2) / 59.0;
                    let pose = dispatch.scope(|| sampled(&clip, &skeleton, seconds, &mut cursor));
                    let want = reference::sample_raw(&clip, &skeleton, seconds);
                    for (joint, (got, want)) in pose.transforms().zip(want).enumerate() {
                        let case = format_args!("{dispatch}, joint {joint} of {joints}, {seconds} s");
                        assert_close(&got.rotation, &want.rotation, 2.2e-7, case);
                        assert_close(&got.translation, &want.translation, 2e-7, case);
                        assert_close(&got.scale, &want.scale, 3e-7, case);
                    }
                }
            }
        }
    }

    #[test]
    fn weights_are_the_formula() {
        for seed in 0..tries(20) as u64 {
            let clip = Random(seed).clip(3, 9);
            let track =
                clip.tracks().iter().position(|t| t.target == Target::Weights(9)).expect("a weights track");
            for step in 0..tries(40) {
                let seconds = clip.start() - 0.1 + step as f64 * 0.05;
                let mut weights = [f32::NAN; 5];
                let cursor = &mut RawCursor::default();
                assert_eq!(raw_track(&clip, Target::Weights(9), seconds, cursor, &mut weights), Ok(true));
                let want = reference::sample_track::<5>(&clip, track, seconds);
                assert_close(&weights, &want, 2e-7, format_args!("seed {seed}, {seconds} s"));
            }
        }
    }

    #[test]
    fn a_missing_set_of_weights_is_left_alone() {
        let mut weights = [0.25];
        let clip = Random(1).clip(2, 3);
        assert_eq!(
            raw_track(&clip, Target::Weights(1), 0.0, &mut RawCursor::default(), &mut weights),
            Ok(false)
        );
        assert_eq!(weights, [0.25]);
    }

    fn one_track(target: Target, interpolation: Interpolation, times: &[f32], values: &[f32]) -> RawClip {
        let track = Track { target, interpolation, timeline: 0, values: values.to_vec() };
        RawClip::new("one".into(), vec![times.to_vec()], vec![track]).expect("valid")
    }

    #[test]
    fn keys_are_hit_exactly_and_the_ends_hold() {
        let skeleton = Random(3).skeleton(1);
        let times = [0.25, 0.5, 1.25];
        let values = [1.0, 2.0, 3.0, -1.0, 0.5, 0.1, 7.0, 8.0, 9.0];
        let spline: Vec<f32> =
            values.chunks(3).flat_map(|v| [[9.0; 3].as_slice(), v, &[-9.0; 3]].concat()).collect();
        for (kind, values) in [
            (Interpolation::Step, values.to_vec()),
            (Interpolation::Linear, values.to_vec()),
            (Interpolation::CubicSpline, spline),
        ] {
            let clip = one_track(Target::Translation(0), kind, &times, &values);
            let at = |t| sampled(&clip, &skeleton, t, &mut RawCursor::default()).get(0).translation;
            for (time, want) in [
                (-1e30, [1.0, 2.0, 3.0]),
                (0.25, [1.0, 2.0, 3.0]),
                (0.5, [-1.0, 0.5, 0.1]),
                (1.25, [7.0, 8.0, 9.0]),
                (1e30, [7.0, 8.0, 9.0]),
            ] {
                assert_eq!(at(time), want, "{kind:?} at {time}");
            }
            let before = f32::from_bits(0.5_f32.to_bits() - 1);
            assert_eq!(
                at(before.into()) == [1.0, 2.0, 3.0],
                kind == Interpolation::Step,
                "{kind:?} just before a key"
            );
        }
    }

    #[test]
    fn a_zero_length_spline_rotation_is_the_identity() {
        let clip = one_track(Target::Rotation(0), Interpolation::CubicSpline, &[0.0], &[0.0; 12]);
        let pose = sampled(&clip, &Random(1).skeleton(1), 0.0, &mut RawCursor::default());
        assert_eq!(pose.get(0).rotation, Transform::IDENTITY.rotation);
    }

    /// Keys may not have unit length, because the file stores short decimals or integers. The sampled
    /// rotation still has unit length and follows the formula.
    #[test]
    fn rotations_between_loose_keys_are_the_formula() {
        let mut random = Random(6);
        let (skeleton, times) = (Random(1).skeleton(1), [0.0, 1.0]);
        for case in 0..tries(500) {
            let mut loose = || {
                let (q, length) = (random.unit::<4>(), random.range(0.985, 1.015));
                q.map(|v| v * length)
            };
            let values = [loose(), loose()].concat();
            let kind = if case % 4 == 0 { Interpolation::Step } else { Interpolation::Linear };
            let seconds = case as f32 % 11.0 / 10.0;
            let clip = one_track(Target::Rotation(0), kind, &times, &values);
            let want = reference::sample_track::<4>(&clip, 0, seconds.into());
            for dispatch in Dispatch::all() {
                let cursor = &mut RawCursor::default();
                let pose = dispatch.scope(|| sampled(&clip, &skeleton, seconds.into(), cursor));
                assert_close(
                    &pose.get(0).rotation,
                    &want,
                    1e-7,
                    format_args!("{dispatch}, {kind:?} at {seconds}"),
                );
            }
        }
    }

    #[test]
    fn wrong_sizes_and_times_are_refused_and_change_nothing() {
        let (skeleton, clip) = (Random(1).skeleton(5), Random(2).clip(6, 4));
        let cursor = &mut RawCursor::default();
        let mut pose = Pose::identity(4);
        let wrong = raw(&clip, &skeleton, 0.0, cursor, &mut pose);
        assert_eq!(wrong, Err(Error::Length { what: "pose", found: 4, needed: 5 }));
        let mut pose = Pose::identity(5);
        assert!(matches!(raw(&clip, &skeleton, 0.0, cursor, &mut pose), Err(Error::Index { found: 5, .. })));
        for seconds in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let refused = raw(&Random(2).clip(5, 4), &skeleton, seconds.into(), cursor, &mut pose);
            assert_eq!(refused, Err(Error::NotFinite { what: "seconds", at: 0 }));
        }
        assert_eq!(pose, Pose::identity(5));
        let refused = raw_track(&clip, Target::Weights(9), 0.0, cursor, &mut [0.0; 4]);
        assert_eq!(refused, Err(Error::Length { what: "values", found: 4, needed: 5 }));
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: if cfg!(miri) { 1 } else { 64 }, failure_persistence: None, ..Default::default() })]

        /// A cursor only saves time: after any sequence of times and clips it gives the results of a new
        /// cursor.
        #[test]
        fn a_cursor_never_changes_a_result(seed in 0_u64..1000, times in prop::collection::vec(-1.0_f32..4.0, 1..tries(20))) {
            let mut random = Random(seed);
            let skeleton = random.skeleton(20);
            let clips = [random.clip(20, 30), random.clip(20, 3)];
            let mut cursor = RawCursor::default();
            for (index, seconds) in times.into_iter().enumerate() {
                let clip = &clips[index % 2];
                let fresh = sampled(clip, &skeleton, seconds.into(), &mut RawCursor::default());
                prop_assert_eq!(sampled(clip, &skeleton, seconds.into(), &mut cursor), fresh);
            }
        }

        /// Sampled rotations are unit quaternions.
        #[test]
        fn rotations_keep_unit_length(seed in 0_u64..1000, seconds in -1.0_f32..4.0) {
            let mut random = Random(seed);
            let (skeleton, clip) = (random.skeleton(40), random.clip(40, 8));
            for t in sampled(&clip, &skeleton, seconds.into(), &mut RawCursor::default()).transforms() {
                let length: f64 = t.rotation.iter().map(|&v| f64::from(v).powi(2)).sum::<f64>().sqrt();
                prop_assert!((length - 1.0).abs() < 4e-7, "{length}");
            }
        }
    }
}
