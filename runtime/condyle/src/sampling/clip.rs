//! Sampling of compressed clips, at the same cost for any time.

use alloc::vec;
use core::iter;
use core::ops::Range;

use super::kernel::{self, Moment, Wanted};
use super::raw::BlockKeys;
use crate::clip::curve::Curve;
use crate::clip::fallback::Fallback;
use crate::clip::keys::Span;
use crate::clip::layout::{Kind, MAX_LOG, WIDTH, segment_tracks};
use crate::clip::spline::{Degree, Taps};
use crate::clip::{Clip, ClipView, Target};
use crate::interpolation::{slerp_block, vector_block};
use crate::play::clock::check_clock;
use crate::pose::{Pose, PoseBlock};
use crate::skeleton::Skeleton;
use condyle_base::error::Error;
use condyle_base::math::{Transform, quats};
use condyle_base::simd::{BLOCK, Dispatch, Lanes, dispatch, each};

fn check(clip: ClipView<'_>, skeleton: &Skeleton, seconds: f64) -> Result<(), Error> {
    Error::check_len("the joints of the skeleton", skeleton.joint_count(), clip.joint_count())?;
    skeleton.check_fingerprint("the clip", clip.header().fingerprint)?;
    skeleton.check_rest_fingerprint("the clip", clip.header().rest_fingerprint)?;
    check_clock(seconds)
}

/// Samples the pose of a clip at a given time.
///
/// `skeleton` must be the skeleton that the clip was encoded for: its rest pose supplies the properties that
/// the clip does not animate. `seconds` is a time on the clip's own timeline, from [`Clip::start`] (not
/// necessarily 0) to [`Clip::end`], and is clamped to this range. [`Clip::moment`] converts a running clock
/// to such a time.
///
/// Any time costs the same, whether played forward, backward or at random. Nothing is allocated, and no state
/// is kept between calls. A clip that is played for a while samples faster as [frames](crate::frames).
/// Fallback tracks cost more than curves: their keys are searched, and read one track at a time.
///
/// If root motion was extracted from the clip ([`Clip::has_motion`]), the pose does not contain it.
/// [`Clip::motion_over`] returns the motion, and [`PoseSource::pose`](super::PoseSource::pose) adds it back.
///
/// # Errors
/// [`Error::Length`] if the joint count of the skeleton or of `pose` differs from the clip's.
/// [`Error::Skeleton`] if the clip was encoded for another skeleton, and [`Error::RestPose`] if it was
/// encoded for another rest pose. [`Error::NotFinite`] if `seconds` is NaN or infinite. On error `pose` is
/// unchanged.
///
/// ```
/// use condyle::{Pose, example, sample};
/// use condyle_encode::{EncodeOptions, Shell, encode};
///
/// let (skeleton, walk) = (example::skeleton(), example::walk());
/// let options = EncodeOptions::new(5e-4, Shell::Balls(0.03));
/// let clip = encode(&walk, &skeleton, &options, &mut |_| ())?.into_clip();
/// // The hips move 2 m forward in one second; this samples the clip after a quarter of a second.
/// let mut pose = Pose::rest(&skeleton);
/// sample(&clip, &skeleton, 0.25, &mut pose)?;
/// assert!((pose.get(example::HIPS.into()).translation[2] - 0.5).abs() < 1e-3);
/// # Ok::<(), condyle::Error>(())
/// ```
pub fn sample(clip: &Clip<'_>, skeleton: &Skeleton, seconds: f64, pose: &mut Pose) -> Result<(), Error> {
    sample_by(Dispatch::current(), clip.view(), skeleton, seconds, pose)
}

/// Does the same as [`sample`], with a given instruction set and numeric mode.
pub fn sample_by(
    dispatch: Dispatch,
    clip: ClipView<'_>,
    skeleton: &Skeleton,
    seconds: f64,
    pose: &mut Pose,
) -> Result<(), Error> {
    check(clip, skeleton, seconds)?;
    pose.check_joints("pose", clip.joint_count())?;
    run(dispatch, clip, skeleton.rest().blocks(), seconds, None, pose.blocks_mut());
    Ok(())
}

/// Samples a subset of the joints of a clip at a given time, for level of detail. The cost falls with the
/// number of joints.
///
/// `wanted` holds `true` for each joint to sample; the other joints get the rest pose.
///
/// # Errors
/// Those of [`sample`], and [`Error::Length`] if `wanted` does not have one entry per joint.
///
/// ```
/// use condyle::{Pose, example, sampling};
/// use condyle_encode::{EncodeOptions, Shell, encode};
///
/// let (skeleton, walk) = (example::skeleton(), example::walk());
/// let options = EncodeOptions::new(5e-4, Shell::Balls(0.03));
/// let clip = encode(&walk, &skeleton, &options, &mut |_| ())?.into_clip();
/// // At a distance the legs stand still, and only the hips, joint 0, move.
/// let mut wanted = [false; 15];
/// wanted[0] = true;
/// let mut pose = Pose::rest(&skeleton);
/// sampling::partial(&clip, &skeleton, 0.25, &wanted, &mut pose)?;
/// assert!((pose.get(0).translation[2] - 0.5).abs() < 1e-3);
/// assert!((1..15).all(|joint| pose.get(joint) == skeleton.rest().get(joint)));
/// # Ok::<(), condyle::Error>(())
/// ```
pub fn partial(
    clip: &Clip<'_>,
    skeleton: &Skeleton,
    seconds: f64,
    wanted: &[bool],
    pose: &mut Pose,
) -> Result<(), Error> {
    let joints = clip.joint_count();
    check(clip.view(), skeleton, seconds)?;
    pose.check_joints("pose", joints)?;
    Error::check_len("wanted", wanted.len(), joints)?;
    let wanted = Some(Wanted { first: 0, count: usize::MAX, mask: Some(wanted) });
    run(Dispatch::current(), clip.view(), skeleton.rest().blocks(), seconds, wanted, pose.blocks_mut());
    Ok(())
}

/// Returns the local transform of one joint of a clip at a given time, with the same bits as [`sample`]
/// computes for it.
///
/// # Errors
/// Those of [`sample`], and [`Error::Index`] if `joint` is out of range.
///
/// ```
/// use condyle::{Pose, example, sample, sampling};
/// use condyle_encode::{EncodeOptions, Shell, encode};
///
/// let (skeleton, walk) = (example::skeleton(), example::walk());
/// let options = EncodeOptions::new(5e-4, Shell::Balls(0.03));
/// let clip = encode(&walk, &skeleton, &options, &mut |_| ())?.into_clip();
/// // The position of the hips on a map, without the rest of the pose.
/// let hips = sampling::joint(&clip, &skeleton, 0.5, example::HIPS)?;
/// assert!((hips.translation[2] - 1.0).abs() < 1e-3);
/// let mut pose = Pose::rest(&skeleton);
/// sample(&clip, &skeleton, 0.5, &mut pose)?;
/// assert_eq!(hips, pose.get(example::HIPS.into()));
/// # Ok::<(), condyle::Error>(())
/// ```
pub fn joint(clip: &Clip<'_>, skeleton: &Skeleton, seconds: f64, joint: u16) -> Result<Transform, Error> {
    let clip = clip.view();
    check(clip, skeleton, seconds)?;
    let (joint, count) = (usize::from(joint), clip.joint_count());
    if joint >= count {
        return Err(Error::Index { what: "joint", at: 0, found: joint, count });
    }
    // A single block whose lane 0 is the requested joint: it need not begin where a block of a pose does.
    let (mut rest, mut block) = ([PoseBlock::IDENTITY], [PoseBlock::IDENTITY]);
    rest[0].set(0, &skeleton.rest().get(joint));
    let wanted = Some(Wanted { first: joint, count: 1, mask: None });
    run(Dispatch::current(), clip, &rest, seconds, wanted, &mut block);
    Ok(block[0].get(0))
}

/// Samples the joints of `blocks`; `rest` holds their rest pose.
///
/// Inlined, so that only those values of the packed form are read that the caller needs.
#[inline(always)]
fn run(
    dispatch: Dispatch,
    clip: ClipView<'_>,
    rest: &[PoseBlock],
    seconds: f64,
    wanted: Option<Wanted<'_>>,
    blocks: &mut [PoseBlock],
) {
    let place = clip.locate(seconds);
    kernel::pose(dispatch, &Moment::new(clip, place), wanted, rest, blocks);
    // Root motion is stored as the joint after the last one. If it has a lane, that lane is padding: reset
    // it.
    if let (true, Some(block)) = (clip.has_motion(), blocks.get_mut(clip.joint_count() / BLOCK)) {
        block.set(clip.joint_count() % BLOCK, &Transform::IDENTITY);
    }
    if clip.header().fallback_count > 0 {
        put_authored(dispatch, clip, place.segment, seconds, wanted, blocks);
    }
}

/// Overwrites the joints that have fallback tracks in this segment with the values of these tracks.
#[inline(never)]
fn put_authored(
    dispatch: Dispatch,
    clip: ClipView<'_>,
    segment: usize,
    seconds: f64,
    wanted: Option<Wanted<'_>>,
    blocks: &mut [PoseBlock],
) {
    // Consecutive tracks with the same key times share one search.
    let mut known = None;
    let mut span = |track: &Fallback<'_>| {
        let span = match known {
            Some((times, span)) if times == track.times() => span,
            _ => track.span(seconds),
        };
        known = Some((track.times(), span));
        span
    };
    if let Some(Wanted { first, mask: None, .. }) = wanted {
        for kind in [Kind::Rotation, Kind::Translation, Kind::Scale] {
            let track = clip.fallback_of(kind, first).filter(|track| track.holds(segment));
            if let (Some(track), Some(block)) = (track, blocks.first_mut()) {
                put_block(dispatch, kind, [(track, 0)].into_iter(), &mut span, block);
            }
        }
        return;
    }
    // Tracks are sorted by kind, then by joint: those of one block are computed together. Free tracks come
    // after all other tracks.
    let count = clip.header().fallback_count;
    let mut next = 0;
    while next < count
        && let (Some(kind @ (Kind::Rotation | Kind::Translation | Kind::Scale)), joint) =
            clip.fallback_target(next)
    {
        let at = joint / BLOCK;
        let in_block = |joint: usize| wanted.is_none_or(|wanted| wanted.has(joint));
        let mine = iter::from_fn(|| {
            while next < count
                && let (found, joint) = clip.fallback_target(next)
                && (found, joint / BLOCK) == (Some(kind), at)
            {
                next += 1;
                if in_block(joint) {
                    let track = clip.fallback_at(next - 1);
                    if track.holds(segment) {
                        return Some((track, joint % BLOCK));
                    }
                }
            }
            None
        });
        match blocks.get_mut(at) {
            Some(block) => put_block(dispatch, kind, mine, &mut span, block),
            None => mine.for_each(drop),
        }
    }
}

/// Writes the values of fallback tracks of one kind, each to its lane of a block.
#[inline(always)]
fn put_block<'a>(
    dispatch: Dispatch,
    kind: Kind,
    tracks: impl Iterator<Item = (Fallback<'a>, usize)>,
    span: &mut impl FnMut(&Fallback<'a>) -> Span,
    block: &mut PoseBlock,
) {
    if kind == Kind::Rotation {
        let ends = tracks.map(|(track, lane)| (lane, track.rotation_ends(span(&track))));
        put_lanes(&mut block.rotation, ends, |BlockKeys { from, to, factor }, out| {
            dispatch!(dispatch, |s, mode| slerp_block(s, mode, from, to, factor, out));
        });
        return;
    }
    let property = if kind == Kind::Translation { &mut block.translation } else { &mut block.scale };
    let ends = tracks.map(|(track, lane)| (lane, track.ends(span(&track))));
    put_lanes(property, ends, |BlockKeys { from, to, factor }, out| {
        dispatch!(dispatch, |s, mode| vector_block(s, mode, from, to, factor, out));
    });
}

/// Interpolates some joints of a block: `tracks` has the lane, both keys and the factor of each. The others
/// keep their values.
#[inline(always)]
fn put_lanes<const N: usize>(
    block: &mut [Lanes; N],
    tracks: impl Iterator<Item = (usize, ([f32; N], [f32; N], f32))>,
    interpolate: impl FnOnce(&BlockKeys<N>, &mut [Lanes; N]),
) {
    let mut keys = BlockKeys::of_rest(block);
    let mut lanes = 0_u16;
    for (lane, ends) in tracks {
        keys.set(lane % BLOCK, ends);
        lanes |= 1 << (lane % BLOCK);
    }
    if lanes == 0 {
        return;
    }
    let mut out = keys.from;
    interpolate(&keys, &mut out);
    while lanes != 0 {
        let lane = lanes.trailing_zeros() as usize % BLOCK;
        each!(c in [0, 1, 2, 3] below N => block[c][lane] = out[c][lane]);
        lanes &= lanes - 1;
    }
}

/// Samples a free track of a clip: morph weights, or the scalar, vector or rotation that `target` names.
///
/// Returns whether the clip has a track for `target`; if not, `values` is unchanged.
///
/// # Errors
/// [`Error::Length`] if the length of `values` is not the number of components of the track.
/// [`Error::NotFinite`] if `seconds` is NaN or infinite.
///
/// ```
/// use condyle::{Interpolation, RawClip, Target, Track, example, sampling};
/// use condyle_encode::{EncodeOptions, Shell, encode};
///
/// // The clip dims the first light over two seconds and has no track for the second one.
/// let (target, interpolation) = (Target::Vector(0), Interpolation::Linear);
/// let dim = Track { target, interpolation, timeline: 0, values: vec![1.0, 0.0] };
/// let raw = RawClip::new("dusk".into(), vec![vec![0.0, 2.0]], vec![dim])?;
/// let options = EncodeOptions::new(5e-4, Shell::Balls(0.03));
/// let clip = encode(&raw, &example::skeleton(), &options, &mut |_| ())?.into_clip();
///
/// let (mut lamp, mut sun) = ([1.0], [1.0]);
/// assert!(sampling::track(&clip, Target::Vector(0), 1.0, &mut lamp)?);
/// assert!(!sampling::track(&clip, Target::Vector(1), 1.0, &mut sun)?);
/// assert!((lamp[0] - 0.5).abs() < 1e-2 && sun == [1.0]);
/// # Ok::<(), condyle::Error>(())
/// ```
pub fn track(clip: &Clip<'_>, target: Target, seconds: f64, values: &mut [f32]) -> Result<bool, Error> {
    let clip = clip.view();
    check_clock(seconds)?;
    let Some((at, first, width)) = clip.find_free_track(target) else {
        return Ok(false);
    };
    Error::check_len("values", values.len(), width)?;
    let mut log = [0.0; WIDTH];
    values.fill(0.0);
    one_by_one(clip, seconds, Kind::Free, first..first + segment_tracks(target, width), |track, numbers| {
        log = numbers;
        put_three(numbers, values, track - first);
    });
    finish_track(target, log, clip.fallback_of(Kind::Free, at), seconds, values);
    Ok(true)
}

/// Samples all free tracks of a clip into `values`, one after another in the order of [`Clip::free_tracks`].
///
/// The values are the same as those of [`track`] for each track with a unique target. [`track`] searches for
/// its track, so calling it for every track takes quadratic time in the number of tracks. This function takes
/// time proportional to the size of the clip. It allocates three f64 per track.
///
/// # Errors
/// [`Error::Length`] if the length of `values` is not the total number of components of all tracks.
/// [`Error::NotFinite`] if `seconds` is NaN or infinite. On error `values` is unchanged.
///
/// ```
/// use condyle::{Interpolation, RawClip, Target, Track, example, sampling};
/// use condyle_encode::{EncodeOptions, Shell, encode};
///
/// // The brightness of a light, and two morph weights of the mesh at node 7 of the document.
/// let track = |target, values| Track { target, interpolation: Interpolation::Linear, timeline: 0, values };
/// let dim = track(Target::Vector(0), vec![1.0, 0.0]);
/// let smile = track(Target::Weights(7), vec![0.0, 0.0, 0.5, 1.0]);
/// let raw = RawClip::new("dusk".into(), vec![vec![0.0, 2.0]], vec![dim, smile])?;
/// let options = EncodeOptions::new(5e-4, Shell::Balls(0.03));
/// let clip = encode(&raw, &example::skeleton(), &options, &mut |_| ())?.into_clip();
///
/// let mut all = vec![0.0; clip.free_tracks().map(|(_, width)| width).sum()];
/// sampling::tracks(&clip, 2.0, &mut all)?;
/// let mut rest = &all[..];
/// for (target, width) in clip.free_tracks() {
///     let values = rest.split_off(..width).expect("values of all tracks");
///     let want: &[f32] = if target == Target::Weights(7) { &[0.5, 1.0] } else { &[0.0] };
///     assert!(values.iter().zip(want).all(|(value, want)| (value - want).abs() < 1e-2));
/// }
/// # Ok::<(), condyle::Error>(())
/// ```
pub fn tracks(clip: &Clip<'_>, seconds: f64, values: &mut [f32]) -> Result<(), Error> {
    let clip = clip.view();
    check_clock(seconds)?;
    Error::check_len("values", values.len(), clip.free_tracks().map(|(_, width)| width).sum())?;
    let tracks = clip.free_tracks().map(|(target, width)| segment_tracks(target, width)).sum();
    let mut numbers = vec![[0.0; WIDTH]; tracks];
    one_by_one(clip, seconds, Kind::Free, 0..tracks, |track, three| numbers[track] = three);
    let mut fallback = clip.fallback_tracks().filter(|track| track.kind == Some(Kind::Free)).peekable();
    let (mut numbers, mut values) = (&numbers[..], values);
    for (at, (target, width)) in clip.free_tracks().enumerate() {
        let (own, others) = numbers.split_at(segment_tracks(target, width));
        let (own_values, after) = values.split_at_mut(width);
        own.iter().enumerate().for_each(|(track, &three)| put_three(three, own_values, track));
        let log = own.first().copied().unwrap_or_default();
        finish_track(target, log, fallback.next_if(|track| track.index == at), seconds, own_values);
        (numbers, values) = (others, after);
    }
    Ok(())
}

/// Writes three components of a free track. The last segment track of a free track may have fewer.
fn put_three(numbers: [f64; WIDTH], values: &mut [f32], track: usize) {
    for (value, number) in values.iter_mut().skip(track * WIDTH).zip(numbers) {
        *value = number as f32;
    }
}

/// Finishes the values of a free track: converts a logarithm to a rotation, or replaces the values by those
/// of the fallback track.
fn finish_track(
    target: Target,
    log: [f64; WIDTH],
    fallback: Option<Fallback<'_>>,
    seconds: f64,
    values: &mut [f32],
) {
    if target.rotates() {
        let exp = || quats::exp(log.map(|v| v.clamp(-MAX_LOG, MAX_LOG)));
        let rotation = fallback.map_or_else(exp, |track| track.rotation(track.span(seconds)));
        values.iter_mut().zip(rotation).for_each(|(value, v)| *value = v as f32);
    } else if let Some(track) = fallback {
        let span = track.span(seconds);
        for (component, value) in values.iter_mut().enumerate() {
            *value = track.at(span, component) as f32;
        }
    }
}

/// Samples those tracks of one kind whose index is in the range `wanted`, one at a time and in f64.
fn one_by_one(
    clip: ClipView<'_>,
    seconds: f64,
    kind: Kind,
    wanted: Range<usize>,
    mut put: impl FnMut(usize, [f64; WIDTH]),
) {
    let place = clip.locate(seconds);
    let segment = &clip.segment(place.segment);
    for placed in segment.classes().filter(|placed| placed.class.kind == kind) {
        let class = placed.class;
        let taps = Taps::at(class.degree, class.intervals, place.ratio);
        let mut bit = 0;
        for i in 0..class.count {
            let track = placed.track + i;
            let index = segment.index(track);
            if index >= wanted.end {
                // Indices are in ascending order.
                break;
            }
            if index < wanted.start {
                bit += segment.total_width(track);
                continue;
            }
            let numbers = Curve::new(segment, &placed, track, bit).sum(&taps);
            if class.degree != Degree::Constant {
                bit += segment.total_width(track);
            }
            put(index, numbers);
        }
    }
}
