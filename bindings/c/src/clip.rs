//! Clips, raw or compressed, and sampling.

use std::ffi::{CString, c_char};

use runtime::clip::{Interpolation, Target, Track};
use runtime::sampling::{AnyClip, PoseSource, track};
use runtime::{Clip, Looping, RawClip, sample};

use crate::guard::{free, guard};
use crate::mesh::condyle_mesh;
use crate::numbers::{CONDYLE_CLAMP, CONDYLE_WRAP, condyle_looping};
use crate::pose::condyle_pose;
use crate::skeleton::condyle_skeleton;
use crate::status::{
    CONDYLE_INVALID_ARGUMENT, CONDYLE_UNSUPPORTED, Fault, condyle_error, condyle_status, unknown,
};
use crate::text::c_text;
use crate::types::{condyle_rigid, condyle_transform, is_shared};

/// Motion of all joints over time: raw, as authored, or compressed.
///
/// Never changes: any number of threads may use it.
pub struct condyle_clip {
    pub(crate) clip: AnyClip<'static>,
    name: CString,
    events: Vec<CString>,
}

const _: () = is_shared::<condyle_clip>();

/// Value of a `condyle_looping` argument.
pub(crate) fn looping(value: condyle_looping) -> Result<Looping, Fault> {
    match value {
        CONDYLE_CLAMP => Ok(Looping::Clamp),
        CONDYLE_WRAP => Ok(Looping::Wrap),
        _ => Err(unknown("looping", value, "CONDYLE_CLAMP or CONDYLE_WRAP")),
    }
}

/// Properties of a clip. Pointers live as long as the clip.
#[repr(C)]
pub struct condyle_clip_info {
    /// Size of this structure. Set it before the call.
    pub size: usize,
    /// Name, UTF-8.
    pub name: *const c_char,
    /// Time of the first key in seconds. It need not be 0.
    pub start: f64,
    /// Time of the last key in seconds.
    pub end: f64,
    /// Frames per second of a compressed clip, otherwise 0.
    pub frame_rate: f32,
    /// Bound on the error of a compressed clip in metres, otherwise 0.
    pub error_bound: f32,
    /// Number of joints of a compressed clip, otherwise 0.
    pub joint_count: usize,
    /// Bytes of a compressed clip, to be stored and loaded by `condyle_clip_load`; null for a raw clip.
    pub bytes: *const u8,
    /// Number of bytes.
    pub byte_count: usize,
    /// Number of events.
    pub event_count: usize,
    /// 1 if root motion was extracted by the encoder, otherwise 0.
    pub has_motion: u32,
}

/// Event that playback has passed, or an event of a clip. The name lives as long as the clip.
#[repr(C)]
pub struct condyle_event {
    /// Name, UTF-8.
    pub name: *const c_char,
    /// Index among the events of the clip.
    pub index: usize,
    /// Time in the clip, in seconds from its start.
    pub seconds: f64,
    /// Value of the clock when the event was passed.
    pub clock: f64,
}

impl condyle_clip {
    pub(crate) fn new(clip: AnyClip<'static>) -> Self {
        let name = c_text(clip.name());
        let compressed = clip.as_compressed();
        let names = compressed.into_iter().flat_map(|it| (0..it.event_count()).map(|at| it.event(at)));
        let events = names.map(|event| c_text(event.map_or("", |(_, name)| name))).collect();
        Self { clip, name, events }
    }

    /// Compressed form, which root motion, events and unpacked frames need.
    pub(crate) fn compressed(&self) -> Result<&Clip<'static>, Fault> {
        self.clip.as_compressed().ok_or_else(|| {
            let text =
                format!("clip {:?} is raw, but this needs a compressed clip: encode it", self.clip.name());
            Fault::Other(CONDYLE_UNSUPPORTED, text)
        })
    }

    pub(crate) fn event(&self, index: usize, seconds: f64, clock: f64) -> condyle_event {
        let name = self.events.get(index).map_or(c"".as_ptr(), |name| name.as_ptr());
        condyle_event { name, index, seconds, clock }
    }
}

/// Loads a compressed clip from its bytes, which are copied. Free it with `condyle_clip_free`.
///
/// Errors: `CONDYLE_INVALID_FILE`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_clip_load(
    name: *const c_char,
    bytes: *const u8,
    byte_count: usize,
    clip: *mut *mut condyle_clip,
    error: *mut condyle_error,
) -> condyle_status {
    guard(error, || {
        output!(clip);
        let loaded = Clip::from_owned(elements!(bytes, byte_count))?;
        give!(clip, condyle_clip::new(AnyClip::compressed(text!(name).to_owned(), loaded)));
        Ok(())
    })
}

/// Uses a compressed clip in place, for example in a mapped file. The bytes must not change before
/// `condyle_clip_free`.
///
/// Errors: `CONDYLE_INVALID_FILE`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_clip_view(
    name: *const c_char,
    bytes: *const u8,
    byte_count: usize,
    clip: *mut *mut condyle_clip,
    error: *mut condyle_error,
) -> condyle_status {
    guard(error, || {
        output!(clip);
        // The caller promises that the bytes live as long as the clip: this stands for the lifetime.
        let bytes: &'static [u8] = elements!(bytes, byte_count);
        let view = Clip::from_bytes(bytes)?;
        give!(clip, condyle_clip::new(AnyClip::compressed(text!(name).to_owned(), view)));
        Ok(())
    })
}

/// Creates a raw clip from evenly spaced poses, the first at 0 seconds. Free it with `condyle_clip_free`.
///
/// `transforms` has `frame_count` times `joint_count` elements, frame by frame. The clip is linear between
/// frames, and rotations take the shorter arc. `frame_rate` is in frames per second.
///
/// Errors: `CONDYLE_INVALID_ARGUMENT` without frames, and for numbers that are not finite.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_clip_new(
    name: *const c_char,
    skeleton: *const condyle_skeleton,
    transforms: *const condyle_transform,
    frame_count: usize,
    frame_rate: f64,
    clip: *mut *mut condyle_clip,
    error: *mut condyle_error,
) -> condyle_status {
    guard(error, || {
        output!(clip);
        let (name, skeleton) = (text!(name), &shared!(skeleton).skeleton);
        let joints = skeleton.joint_count();
        let count = frame_count.checked_mul(joints).ok_or(Fault::TooLong("transforms"))?;
        let transforms = elements!(transforms, count);
        if joints == 0 {
            // The count of transforms would not bound the number of frames.
            let text = "skeleton has no joints, expected at least 1".to_owned();
            return Err(Fault::Other(CONDYLE_INVALID_ARGUMENT, text));
        }
        if !(frame_rate.is_finite() && frame_rate > 0.0) {
            let text = format!("frame_rate is {frame_rate}, expected a finite number above 0");
            return Err(Fault::Other(CONDYLE_INVALID_ARGUMENT, text));
        }
        let times: Vec<f32> = (0..frame_count).map(|frame| (frame as f64 / frame_rate) as f32).collect();
        let track = |target, joint: usize, part: fn(&condyle_transform) -> &[f32]| Track {
            target,
            interpolation: Interpolation::Linear,
            timeline: 0,
            values: transforms.iter().skip(joint).step_by(joints).flat_map(part).copied().collect(),
        };
        let tracks = (0..joints).flat_map(|joint| {
            // A skeleton has at most 65535 joints.
            let index = joint as u16;
            [
                track(Target::Rotation(index), joint, |it| &it.rotation),
                track(Target::Translation(index), joint, |it| &it.translation),
                track(Target::Scale(index), joint, |it| &it.scale),
            ]
        });
        let raw = RawClip::new(name.to_owned(), vec![times], tracks.collect())?.for_skeleton(skeleton)?;
        give!(clip, condyle_clip::new(raw.into()));
        Ok(())
    })
}

/// Frees a clip of `condyle_clip_load`, `_view`, `_new` or `condyle_encode`. Null is ignored. A model frees
/// its own clips.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_clip_free(clip: *mut condyle_clip) {
    free(clip);
}

/// Writes the properties of a clip to `info`. Set `info->size` first.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_clip_get_info(
    clip: *const condyle_clip,
    info: *mut condyle_clip_info,
    error: *mut condyle_error,
) -> condyle_status {
    guard(error, || {
        let it = shared!(clip);
        let mut found = condyle_clip_info {
            size: size_of::<condyle_clip_info>(),
            name: it.name.as_ptr(),
            start: it.clip.start(),
            end: it.clip.end(),
            frame_rate: 0.0,
            error_bound: 0.0,
            joint_count: 0,
            bytes: std::ptr::null(),
            byte_count: 0,
            event_count: it.events.len(),
            has_motion: 0,
        };
        if let Some(compressed) = it.clip.as_compressed() {
            found.frame_rate = compressed.rate();
            found.error_bound = compressed.budget();
            found.joint_count = compressed.joint_count();
            found.bytes = compressed.as_bytes().as_ptr();
            found.byte_count = compressed.as_bytes().len();
            found.has_motion = compressed.has_motion().into();
        }
        put_sized!(info, found);
        Ok(())
    })
}

/// Writes one event of a clip to `event`. `event->clock` is its time in seconds.
///
/// Errors: `CONDYLE_NOT_FOUND` if there is no event `index`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_clip_get_event(
    clip: *const condyle_clip,
    index: usize,
    event: *mut condyle_event,
    error: *mut condyle_error,
) -> condyle_status {
    guard(error, || {
        output!(event);
        let it = shared!(clip);
        let found = it.clip.as_compressed().and_then(|clip| clip.event(index));
        let (seconds, _) = found.ok_or_else(|| {
            let text = format!("event {index}: the clip has {}", it.events.len());
            Fault::Other(crate::status::CONDYLE_NOT_FOUND, text)
        })?;
        put!(event, it.event(index, seconds, seconds));
        Ok(())
    })
}

/// Samples a clip at `seconds`, in the time of its keys: from `start` to `end` of `condyle_clip_info`. Before
/// and after it, the clip holds its first and last pose.
///
/// Extracted root motion is not part of the pose. A compressed clip takes the same time at any `seconds`; a
/// raw clip searches its keys and is slower.
///
/// Errors: `CONDYLE_MISMATCH` if the clip belongs to another skeleton, or the pose has another number of
/// joints; `CONDYLE_INVALID_ARGUMENT` if `seconds` is not finite. `pose` is then unchanged.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_sample(
    clip: *const condyle_clip,
    skeleton: *const condyle_skeleton,
    seconds: f64,
    pose: *mut condyle_pose,
    error: *mut condyle_error,
) -> condyle_status {
    guard(error, || {
        let (clip, skeleton, pose) = (shared!(clip), shared!(skeleton), exclusive!(pose));
        let (skeleton, pose) = (&skeleton.skeleton, &mut pose.pose);
        match &clip.clip {
            AnyClip::Compressed { clip, .. } => sample(clip, skeleton, seconds, pose)?,
            AnyClip::Raw(raw) => raw.pose(skeleton, seconds, pose)?,
        }
        Ok(())
    })
}

/// Samples the morph weights of a mesh at `seconds`, for `condyle_morph`. A mesh that the clip does not
/// animate gets its default weights.
///
/// `weight_count` is the number of morph targets of the mesh.
///
/// Errors: `CONDYLE_MISMATCH` for another number; `CONDYLE_INVALID_ARGUMENT` if `seconds` is not finite.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_sample_weights(
    clip: *const condyle_clip,
    mesh: *const condyle_mesh,
    seconds: f64,
    weights: *mut f32,
    weight_count: usize,
    error: *mut condyle_error,
) -> condyle_status {
    guard(error, || {
        let (clip, mesh) = (shared!(clip), shared!(mesh));
        let defaults = &mesh.placed.morph_weights;
        runtime::Error::check_len("weights", weight_count, defaults.len())?;
        let (weights, target) = (elements_mut!(weights, weight_count), Target::Weights(mesh.placed.node));
        // An error leaves the weights unchanged, so the defaults are written last.
        let is_animated = match &clip.clip {
            AnyClip::Compressed { clip, .. } => track(clip, target, seconds, weights)?,
            AnyClip::Raw(raw) => {
                raw.weights(mesh.placed.node, seconds, weights)?;
                raw.tracks().iter().any(|track| track.target == target)
            }
        };
        if !is_animated {
            weights.copy_from_slice(defaults);
        }
        Ok(())
    })
}

/// Converts a clock, 0 at the first start of the clip and unbounded, to the time for `condyle_sample`.
///
/// Errors: `CONDYLE_INVALID_ARGUMENT` if the clock is not finite.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_clip_moment(
    clip: *const condyle_clip,
    looping: condyle_looping,
    clock: f64,
    seconds: *mut f64,
    error: *mut condyle_error,
) -> condyle_status {
    guard(error, || {
        output!(seconds);
        let (clip, looping) = (shared!(clip), crate::clip::looping(looping)?);
        let (start, end) = (clip.clip.start(), clip.clip.end());
        put!(seconds, start + looping.moment(clock, end - start)?.seconds);
        Ok(())
    })
}

/// Writes the root motion between two values of the clock to `motion`. Multiply the placement of the
/// character by it from the right: `condyle_rigid_multiply`. It is the identity for a clip without motion.
///
/// Errors: `CONDYLE_UNSUPPORTED` for a raw clip; `CONDYLE_INVALID_ARGUMENT` for numbers that are not finite.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_clip_motion(
    clip: *const condyle_clip,
    looping: condyle_looping,
    from: f64,
    to: f64,
    motion: *mut condyle_rigid,
    error: *mut condyle_error,
) -> condyle_status {
    guard(error, || {
        output!(motion);
        let (clip, looping) = (shared!(clip).compressed()?, crate::clip::looping(looping)?);
        put!(motion, clip.motion_over(looping, from, to)?.into());
        Ok(())
    })
}
