//! Additive clips: the difference of a whole clip from a pose.

use alloc::string::ToString;
use alloc::vec;
use alloc::vec::Vec;

use crate::clip::{Interpolation, RawClip, Target, Track};
use crate::pose::Pose;
use crate::skeleton::{Skeleton, check_rest};
use condyle_base::error::Error;
use condyle_base::math::Transform;
use condyle_base::math::scalar::sqrt_f64;

/// What a clip differs by from `reference`: a clip whose pose at every moment is one to [`add`](super::add).
///
/// Sampled on [`Skeleton::additive`], where joints without a track differ by nothing, it gives the
/// [`difference`](super::difference) of what `clip` gives on `skeleton`, within the rounding of f32 and up to
/// the sign of a rotation. So it is computed once, and neither the reference nor a second pose is needed any
/// more.
///
/// Each key of a joint's rotation becomes `reference⁻¹ · key`, of its translation `key - reference`, of its
/// scale `key / reference`; tangents of splines go through the same maps. A scale that `reference` holds
/// below [`f32::MIN_POSITIVE`] has no ratio: 1 takes its place. What `clip` does not drive differs as the
/// rest pose does, by a track of one key. Tracks that differ by nothing are left out, but for one that the
/// clip needs to begin and end when it did. Tracks that drive no joint stay as they are. A spline whose
/// rotation has no length at some moment is the identity there, as [`sampling::raw`](crate::sampling::raw) has it.
///
/// To compress it, encode it on [`Skeleton::additive`]. All joints of that are in one
/// place, so that the error of a joint's rotation is measured on its own shell and not at the end of the
/// limb: give `condyle_encode::EncodeOptions::shell` a distance as long as what hangs on the joints.
///
/// # Errors
/// [`Error::Length`] if `reference` does not hold as many joints as `skeleton`; [`Error::NotFinite`] and
/// [`Error::NotUnit`] for a joint of it that is no transform; [`Error::Index`] if a track drives a joint that
/// the skeleton does not have; [`Error::NotFinite`] if a value becomes too large for f32, as [`RawClip::new`]
/// has it.
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
        // Before any is left out, so that the place is that of the caller's track.
        if track.values.iter().any(|v| !v.is_finite()) {
            return Err(Error::NotFinite { what: "tracks", at });
        }
        if is_identity(&track) { still.push(track) } else { tracks.push(track) }
    }
    let mut timelines = clip.timelines().to_vec();
    // A clip that differs by nothing at first or at last still has its length.
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

/// A joint's track, each value as the difference from `from`.
fn differing(track: &Track, from: &Transform) -> Track {
    let mut track = track.clone();
    let parts = track.values_per_key();
    // In a spline each value is stored between its tangents.
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

/// `a⁻¹ · b` for `a` of unit length. Terms that are equal where `b` is `a` stand in pairs, so that nothing is left
/// of them: then `x`, `y` and `z` are 0, exactly.
fn between([ax, ay, az, aw]: [f64; 4], [bx, by, bz, bw]: [f64; 4]) -> [f64; 4] {
    [
        (aw * bx - ax * bw) + (az * by - ay * bz),
        (aw * by - ay * bw) + (ax * bz - az * bx),
        (aw * bz - az * bw) + (ay * bx - ax * by),
        (aw * bw + ax * bx) + (ay * by + az * bz),
    ]
}

/// Whether a joint's track is the identity at every moment.
fn is_identity(track: &Track) -> bool {
    let parts = track.values_per_key();
    match track.target {
        // Whatever w is: of a rotation only the direction counts.
        Target::Rotation(_) => track.values.as_chunks::<4>().0.iter().all(|q| q[..3] == [0.0; 3]),
        Target::Translation(_) => track.values.iter().all(|&v| v == 0.0),
        _ => track.values.as_chunks::<3>().0.iter().enumerate().all(|(n, v)| {
            let is_value = n % parts == parts / 2;
            *v == [if is_value { 1.0 } else { 0.0 }; 3]
        }),
    }
}
