//! Frames: clips unpacked into evenly spaced poses, for the fastest sampling.

use runtime::frames::{Frames, FramesOptions, MAX_LAYERS};
use runtime::sampling::AnyClip;
use runtime::{FrameLayer, sample_frames};

use crate::clip::condyle_clip;
use crate::guard::{free, guard};
use crate::pose::condyle_pose;
use crate::skeleton::condyle_skeleton;
use crate::status::{CONDYLE_MISMATCH, Fault, condyle_error, condyle_status};
use crate::types::is_shared;

/// Largest number of layers of `condyle_sample_frames`.
pub const CONDYLE_MAX_FRAME_LAYERS: usize = 8;

const _: () = assert!(CONDYLE_MAX_FRAME_LAYERS == MAX_LAYERS);

/// Clip unpacked into evenly spaced poses: about ten times the memory of a compressed clip, and about half
/// of the time for a character that blends two.
///
/// Never changes: any number of threads may use it.
pub struct condyle_frames {
    frames: Frames,
}

const _: () = is_shared::<condyle_frames>();

/// Properties of frames.
#[repr(C)]
pub struct condyle_frames_info {
    /// Size of this structure. Set it before the call.
    pub size: usize,
    /// Time of the first pose in seconds, that of the clip.
    pub start: f64,
    /// Time of the last pose in seconds, that of the clip.
    pub end: f64,
    /// Poses per second.
    pub frame_rate: f64,
    /// Bound on the displacement from the clip, in metres or the unit of the file.
    pub error_bound: f32,
    /// Memory in bytes.
    pub byte_count: usize,
}

/// Frames with their time and weight, for `condyle_sample_frames`.
#[repr(C)]
pub struct condyle_frame_layer {
    /// Unpacked clip.
    pub frames: *const condyle_frames,
    /// Time in seconds, from `start` to `end` of `condyle_frames_info`.
    pub seconds: f64,
    /// Weight, at least 0. Weights need not sum to 1.
    pub weight: f32,
    /// Factor of the weight for each joint; null for 1.
    pub mask: *const f32,
    /// Number of joints, or 0 without a mask.
    pub mask_count: usize,
}

/// Unpacks a clip. Free the frames with `condyle_frames_free`.
///
/// `error_bound` is the largest displacement from the clip, for points within `radius` of a joint, both in
/// metres or the unit of the file. 0.0002 and 0.1 are useful for people.
///
/// Errors: `CONDYLE_NO_RESULT` if no frames are accurate enough, for example because the clip jumps.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_frames_new(
    clip: *const condyle_clip,
    skeleton: *const condyle_skeleton,
    error_bound: f32,
    radius: f32,
    frames: *mut *mut condyle_frames,
    error: *mut condyle_error,
) -> condyle_status {
    guard(error, || {
        output!(frames);
        let (clip, skeleton) = (shared!(clip), &shared!(skeleton).skeleton);
        let options = FramesOptions::new(skeleton, error_bound, radius);
        let unpacked = match &clip.clip {
            AnyClip::Compressed { clip, .. } => clip.to_frames(skeleton, &options)?,
            AnyClip::Raw(raw) => raw.to_frames(skeleton, &options)?,
        };
        give!(frames, condyle_frames { frames: unpacked });
        Ok(())
    })
}

/// Frees frames. Null is ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_frames_free(frames: *mut condyle_frames) {
    free(frames);
}

/// Writes the properties of frames to `info`. Set `info->size` first.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_frames_get_info(
    frames: *const condyle_frames,
    info: *mut condyle_frames_info,
    error: *mut condyle_error,
) -> condyle_status {
    guard(error, || {
        let it = &shared!(frames).frames;
        let found = condyle_frames_info {
            size: size_of::<condyle_frames_info>(),
            start: it.start(),
            end: it.end(),
            frame_rate: it.rate(),
            error_bound: it.error(),
            byte_count: it.memory(),
        };
        put_sized!(info, found);
        Ok(())
    })
}

/// Samples and blends unpacked clips in one pass.
///
/// `layers` has `layer_count` elements, 1 to `CONDYLE_MAX_FRAME_LAYERS`.
///
/// Errors: `CONDYLE_MISMATCH` for frames of another skeleton or another number of joints or layers;
/// `CONDYLE_INVALID_ARGUMENT` for numbers that are not finite.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_sample_frames(
    skeleton: *const condyle_skeleton,
    layers: *const condyle_frame_layer,
    layer_count: usize,
    pose: *mut condyle_pose,
    error: *mut condyle_error,
) -> condyle_status {
    guard(error, || {
        let (skeleton, pose) = (&shared!(skeleton).skeleton, &mut exclusive!(pose).pose);
        let layers = elements!(layers, layer_count);
        let read = |layer: &condyle_frame_layer| -> Result<FrameLayer<'_>, Fault> {
            let frames = &shared!(layer.frames, "layers[].frames").frames;
            let mask = optional_elements!(layer.mask, "layers[].mask", layer.mask_count);
            Ok(FrameLayer { frames, seconds: layer.seconds, weight: layer.weight, mask })
        };
        let [first, ..] = layers else { return Ok(sample_frames(skeleton, &[], pose)?) };
        if layer_count > MAX_LAYERS {
            let text = format!("layers: {layer_count} elements, at most {MAX_LAYERS} are possible");
            return Err(Fault::Other(CONDYLE_MISMATCH, text));
        }
        let mut list = [read(first)?; MAX_LAYERS];
        for (place, layer) in list.iter_mut().zip(layers).skip(1) {
            *place = read(layer)?;
        }
        sample_frames(skeleton, &list[..layer_count], pose)?;
        Ok(())
    })
}
