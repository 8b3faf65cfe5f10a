//! Compression of raw clips.

use std::ffi::c_char;

use condyle_encode::{EncodeOptions, Shell, encode};
use runtime::motion::{MotionRotation, RootMotionOptions};
use runtime::play::Event;
use runtime::sampling::AnyClip;

use crate::clip::condyle_clip;
use crate::guard::guard;
use crate::open::{condyle_model, flag};
use crate::status::{CONDYLE_UNSUPPORTED, Fault, condyle_error, condyle_status};
use crate::types::CONDYLE_NO_JOINT;

/// Event that is stored in a clip.
#[repr(C)]
pub struct condyle_new_event {
    /// Time in seconds from the start of the clip.
    pub seconds: f64,
    /// Name, UTF-8.
    pub name: *const c_char,
}

/// Options of `condyle_encode`. `CONDYLE_ENCODE_OPTIONS` has the defaults.
#[repr(C)]
pub struct condyle_encode_options {
    /// Size of this structure: `CONDYLE_ENCODE_OPTIONS` sets it.
    pub size: usize,
    /// Largest displacement of any vertex, in metres or the unit of the file. Default 0.0005.
    pub error_bound: f32,
    /// Radius of the ball that stands for the vertices of a joint without any, or 0 for 3 cm.
    pub radius: f32,
    /// 1 searches for a smaller clip, in up to five times the time, otherwise 0.
    pub best: u32,
    /// 1 also bounds the error between frames, otherwise 0.
    pub between_frames: u32,
    /// Joint whose ground motion becomes root motion: x, z and yaw. `CONDYLE_NO_JOINT` keeps it in the pose.
    pub motion_joint: u16,
    /// 1 extracts the height of this joint too, otherwise 0.
    pub motion_height: u32,
    /// 1 extracts its rotation about y, otherwise 0.
    pub motion_yaw: u32,
    /// Events to store, in any order.
    pub events: *const condyle_new_event,
    /// Number of events.
    pub event_count: usize,
}

/// Result of `condyle_encode`.
#[repr(C)]
pub struct condyle_encode_info {
    /// Size of this structure. Set it before the call.
    pub size: usize,
    /// Bytes of the raw clip at the same rate, 40 per joint and frame.
    pub raw_bytes: usize,
    /// Bytes of the compressed clip.
    pub bytes: usize,
    /// Largest measured displacement of a vertex.
    pub error_max: f32,
    /// Joint of that vertex.
    pub joint: u16,
    /// Time of that displacement in seconds.
    pub seconds: f64,
}

/// Compresses a raw clip for the skeleton and the meshes of a model. Without meshes, balls around the joints
/// stand for vertices. Free the result with `condyle_clip_free`. Takes milliseconds to seconds; several
/// threads may encode at the same time.
///
/// `options` may be null for the defaults. `info` may be null.
///
/// Errors: `CONDYLE_UNSUPPORTED` for a clip that is compressed already; `CONDYLE_MISMATCH` for a clip of
/// another skeleton; `CONDYLE_INVALID_ARGUMENT` for options out of range.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_encode(
    model: *const condyle_model,
    clip: *const condyle_clip,
    options: *const condyle_encode_options,
    encoded: *mut *mut condyle_clip,
    info: *mut condyle_encode_info,
    error: *mut condyle_error,
) -> condyle_status {
    guard(error, || {
        output!(encoded);
        let (model, clip) = (shared!(model), shared!(clip));
        let unsupported = |text: String| Fault::Other(CONDYLE_UNSUPPORTED, text);
        let raw = clip.clip.as_raw();
        let raw =
            raw.ok_or_else(|| unsupported(format!("clip {:?} is compressed already", clip.clip.name())))?;
        let mut budget = 5e-4;
        let mut radius = Shell::radius(if model.unit > 0.0 { model.unit } else { 1.0 });
        if !options.is_null() {
            let it = sized!(options);
            budget = it.error_bound;
            radius = if it.radius == 0.0 { radius } else { it.radius };
        }
        let mut made = match &model.asset {
            Some(asset) => asset.encode_options(raw, budget, radius)?,
            None if model.meshes.is_empty() => EncodeOptions::new(budget, Shell::Balls(radius)),
            None => {
                return Err(unsupported(
                    "the model is a .condyle, and has no document with meshes".to_owned(),
                ));
            }
        };
        if !options.is_null() {
            let it = sized!(options);
            made.best = flag("options->best", it.best)?;
            made.between = flag("options->between_frames", it.between_frames)?;
            if it.motion_joint != CONDYLE_NO_JOINT {
                let height = flag("options->motion_height", it.motion_height)?;
                let yaw = flag("options->motion_yaw", it.motion_yaw)?;
                let mut motion = RootMotionOptions::default();
                motion.joint = it.motion_joint;
                motion.translation = [true, height, true];
                motion.rotation = if yaw { MotionRotation::Yaw } else { MotionRotation::None };
                made.root_motion = Some(motion);
            }
            for event in elements!(it.events, "options->events", it.event_count) {
                let name = text!(event.name, "options->events[].name").to_owned();
                made.events.push(Event { seconds: event.seconds, name });
            }
        }
        let done = encode(raw, &model.skeleton.skeleton, &made, &mut |_| ())?;
        let morph_error = match &model.asset {
            Some(asset) => asset.morph_error(raw, &done.measured)?,
            None => 0.0,
        };
        let found = condyle_encode_info {
            size: size_of::<condyle_encode_info>(),
            raw_bytes: done.raw_bytes,
            bytes: done.bytes().len(),
            error_max: done.measured.error_max.max(morph_error),
            // A skeleton has at most 65535 joints.
            joint: done.measured.joint as u16,
            seconds: done.measured.seconds,
        };
        if !info.is_null() {
            put_sized!(info, found);
        }
        give!(encoded, condyle_clip::new(AnyClip::compressed(raw.name().to_owned(), done.into_clip())));
        Ok(())
    })
}
