//! Additive clips: the difference between a whole clip and a pose.

use alloc::string::ToString;
use alloc::vec;
use alloc::vec::Vec;

use crate::clip::{Interpolation, RawClip, Target, Track};
use crate::pose::Pose;
use crate::skeleton::{Skeleton, check_rest};
use condyle_base::error::Error;
use condyle_base::math::Transform;
use condyle_base::math::scalar::sqrt_f64;

/// Computes the difference between a clip and `reference`: a clip whose pose at any time can be
/// [`add`](super::add)ed.
///
/// Sample the result on [`Skeleton::additive`], where joints without a track add nothing. The pose is then
/// the [`difference`](super::difference) between the pose of `clip` on `skeleton` and `reference`. It is
/// exact within f32 rounding and up to the sign of a rotation. The difference is computed once, and playback
/// needs neither the reference nor a second pose.
///
/// - Each rotation key becomes `reference⁻¹ · key`, each translation key `key - reference`, each scale key
///   `key / reference`. Spline tangents go through the same maps.
/// - Where `reference` has a scale below [`f32::MIN_POSITIVE`], the ratio is 1.
/// - A property that `clip` does not drive gets a track of one key: the difference between the rest pose and
///   `reference`.
/// - Tracks without any difference are dropped, except one that the clip needs to keep its start or end.
/// - Tracks that drive no joint are unchanged.
/// - Where the rotation of a spline has length 0, the result is the identity, like in
///   [`sampling::raw`](crate::sampling::raw).
///
/// To compress the result, encode it on [`Skeleton::additive`]. All joints of that skeleton are in the same
/// place. So the error of a rotation is measured on the shell of its joint, not at the end of the limb. Set
/// `condyle_encode::EncodeOptions::shell` to a distance as long as the limbs that the joints carry.
///
/// # Errors
/// [`Error::Length`] if `reference` does not hold one joint per joint of `skeleton`; [`Error::NotFinite`] and
/// [`Error::NotUnit`] for a joint of `reference` that is not a valid transform. [`Error::Index`] if a track
/// drives a joint that the skeleton lacks. [`Error::NotFinite`] if a value becomes too large for f32, as in
/// [`RawClip::new`].
///
/// ```
/// use condyle::blending::{self, Additive};
/// use condyle::sampling::{self, RawCursor};
/// use condyle::{Interpolation, Joint, Pose, RawClip, Skeleton, Target, Track, Transform};
///
/// let skeleton = Skeleton::new([Joint::new("chest", None, Transform::IDENTITY)])?;
/// let rise = Track {
///     target: Target::Translation(0),
///     interpolation: Interpolation::Linear,
///     timeline: 0,
///     values: vec![0.0, 1.0, 0.0, 0.0, 1.5, 0.0],
/// };
/// let clip = RawClip::new("breath".into(), vec![vec![0.0, 2.0]], vec![rise])?;
/// let at = |y| Pose::from_transforms(&[Transform { translation: [0.0, y, 0.0], ..Transform::IDENTITY }]);
/// let breath = blending::difference_clip(&clip, &skeleton, &at(1.0))?;
///
/// let (mut difference, mut pose) = (Pose::identity(1), Pose::identity(1));
/// sampling::raw(&breath, &skeleton.additive(), 1.0, &mut RawCursor::default(), &mut difference)?;
/// blending::add(&at(4.0), &[Additive::new(&difference, 1.0)], &mut pose)?;
/// assert_eq!(pose, at(4.25));
/// # Ok::<(), condyle::Error>(())
/// ```
pub fn difference_clip(clip: &RawClip, skeleton: &Skeleton, reference: &Pose) -> Result<RawClip, Error> {
    let count = skeleton.joint_count();
    reference.check_joints("reference", count)?;
    for (at, from) in reference.transforms().enumerate() {
        check_rest("reference", at, &from)?;
    }
    let (mut tracks, mut still) = (Vec::new(), Vec::new());
    for (at, track) in clip.tracks().iter().enumerate() {
        let Some(found) = track.target.joint().map(usize::from) else {
            tracks.push(track.clone());
            continue;
        };
        if found >= count {
            return Err(Error::Index { what: "tracks", at, found, count });
        }
        let track = differing(track, &reference.get(found));
        // Check before tracks are dropped, so that the reported index is the index in the caller's clip.
        if track.values.iter().any(|v| !v.is_finite()) {
            return Err(Error::NotFinite { what: "tracks", at });
        }
        if is_identity(&track) { still.push(track) } else { tracks.push(track) }
    }
    let mut timelines = clip.timelines().to_vec();
    // Keep the start and end of the clip, even if no remaining track reaches them.
    let is_at = |time: Option<&f32>, end: f64| time.is_some_and(|&time| f64::from(time) == end);
    let begins = |track: &Track| is_at(timelines[track.timeline].first(), clip.start());
    let ends = |track: &Track| is_at(timelines[track.timeline].last(), clip.end());
    for is_needed in [&begins as &dyn Fn(&Track) -> bool, &ends] {
        if !tracks.iter().any(is_needed)
            && let Some(at) = still.iter().position(is_needed)
        {
            tracks.push(still.swap_remove(at));
        }
    }
    let is_driven = |target| clip.tracks().binary_search_by_key(&target, |t| t.target).is_ok();
    for (rest, joint) in skeleton.rest().transforms().zip(0_u16..) {
        let from = reference.get(usize::from(joint));
        let properties = [
            (Target::Rotation(joint), &rest.rotation[..]),
            (Target::Translation(joint), &rest.translation),
            (Target::Scale(joint), &rest.scale),
        ];
        for (target, value) in properties.into_iter().filter(|(target, _)| !is_driven(*target)) {
            let (interpolation, timeline) = (Interpolation::Step, timelines.len());
            let track = Track { target, interpolation, timeline, values: value.to_vec() };
            let track = differing(&track, &from);
            if track.values.iter().any(|v| !v.is_finite()) {
                return Err(Error::NotFinite { what: "reference", at: joint.into() });
            }
            if !is_identity(&track) {
                tracks.push(track);
            }
        }
    }
    timelines.push(vec![clip.start() as f32]);
    Ok(RawClip::new(clip.name().to_string(), timelines, tracks)?.for_skeleton_of(clip))
}

/// Returns the track of a joint with each value replaced by its difference from `from`.
fn differing(track: &Track, from: &Transform) -> Track {
    let mut track = track.clone();
    let parts = track.values_per_key();
    // A spline key stores the value between its two tangents.
    let is_value = |n: usize| n % parts == parts / 2;
    match track.target {
        Target::Rotation(_) => {
            let from = from.rotation.map(f64::from);
            let length = sqrt_f64(from.iter().map(|v| v * v).sum());
            for q in track.values.as_chunks_mut::<4>().0 {
                *q = between(from, q.map(f64::from)).map(|v| (v / length) as f32);
            }
        }
        Target::Translation(_) => {
            for (n, v) in track.values.as_chunks_mut::<3>().0.iter_mut().enumerate() {
                if is_value(n) {
                    *v = core::array::from_fn(|c| v[c] - from.translation[c]);
                }
            }
        }
        _ => {
            for (n, v) in track.values.as_chunks_mut::<3>().0.iter_mut().enumerate() {
                *v = core::array::from_fn(|c| match from.scale[c] {
                    scale if scale.abs() >= f32::MIN_POSITIVE => v[c] / scale,
                    _ if is_value(n) => 1.0,
                    _ => 0.0,
                });
            }
        }
    }
    track
}

/// Returns `a⁻¹ · b` for `a` of unit length. The terms are paired so that they cancel exactly if `b` equals
/// `a`: `x`, `y` and `z` are then exactly 0.
fn between([ax, ay, az, aw]: [f64; 4], [bx, by, bz, bw]: [f64; 4]) -> [f64; 4] {
    [
        (aw * bx - ax * bw) + (az * by - ay * bz),
        (aw * by - ay * bw) + (ax * bz - az * bx),
        (aw * bz - az * bw) + (ay * bx - ax * by),
        (aw * bw + ax * bx) + (ay * by + az * bz),
    ]
}

/// Returns whether the track is the identity at all times.
fn is_identity(track: &Track) -> bool {
    let parts = track.values_per_key();
    match track.target {
        // Any `w` is valid, because the length of a rotation key does not matter.
        Target::Rotation(_) => track.values.as_chunks::<4>().0.iter().all(|q| q[..3] == [0.0; 3]),
        Target::Translation(_) => track.values.iter().all(|&v| v == 0.0),
        _ => track.values.as_chunks::<3>().0.iter().enumerate().all(|(n, v)| {
            let is_value = n % parts == parts / 2;
            *v == [if is_value { 1.0 } else { 0.0 }; 3]
        }),
    }
}
