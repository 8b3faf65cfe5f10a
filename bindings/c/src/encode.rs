//! Compression of raw clips.

use std::ffi::c_char;

use condyle_encode::{EncodeOptions, Encoded, Shell, encode};
use runtime::motion::{MotionRotation, RootMotionOptions};
use runtime::play::Event;
use runtime::sampling::AnyClip;
use runtime::{RawClip, Skeleton};

use crate::clip::condyle_clip;
use crate::guard::guard;
use crate::mesh::{self, condyle_mesh};
use crate::open::{condyle_model, flag};
use crate::skeleton::condyle_skeleton;
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
    /// 1 also bounds the error between frames, otherwise 0. Default 1.
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

/// Compresses a raw clip for the skeleton and the meshes of a model. `condyle_encode_for_meshes` takes those
/// of the caller. Without meshes, balls around the joints
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
        let raw = raw_of(clip)?;
        let (budget, radius) = bound(options, model.unit)?;
        let skeleton = &model.skeleton.skeleton;
        let made = match &model.asset {
            Some(asset) => asset.encode_options(raw, budget, radius)?,
            None => around(skeleton, model.meshes.iter(), budget, radius)?,
        };
        let done = encode(raw, skeleton, &with(made, options)?, &mut |_| ())?;
        let morph_error = match &model.asset {
            Some(asset) => asset.morph_error(raw, &done.measured)?,
            None => 0.0,
        };
        if !info.is_null() {
            put_sized!(info, found(&done, morph_error));
        }
        give!(encoded, condyle_clip::new(AnyClip::compressed(raw.name().to_owned(), done.into_clip())));
        Ok(())
    })
}

/// Compresses a raw clip for a skeleton and meshes of the caller, for engines that have an importer. The rest
/// is as for `condyle_encode`.
///
/// Morph targets count with every weight from 0 to 1. Without meshes, balls around the joints stand for
/// vertices.
///
/// Errors: those of `condyle_encode`; `CONDYLE_MISMATCH` for a mesh of another skeleton.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_encode_for_meshes(
    skeleton: *const condyle_skeleton,
    meshes: *const *const condyle_mesh,
    mesh_count: usize,
    clip: *const condyle_clip,
    options: *const condyle_encode_options,
    encoded: *mut *mut condyle_clip,
    info: *mut condyle_encode_info,
    error: *mut condyle_error,
) -> condyle_status {
    guard(error, || {
        output!(encoded);
        let (skeleton, clip) = (&shared!(skeleton).skeleton, shared!(clip));
        let raw = raw_of(clip)?;
        let (budget, radius) = bound(options, 1.0)?;
        let meshes = mesh::meshes(meshes, mesh_count, skeleton.joint_count())?;
        let made = around(skeleton, meshes.into_iter(), budget, radius)?;
        let done = encode(raw, skeleton, &with(made, options)?, &mut |_| ())?;
        if !info.is_null() {
            put_sized!(info, found(&done, 0.0));
        }
        give!(encoded, condyle_clip::new(AnyClip::compressed(raw.name().to_owned(), done.into_clip())));
        Ok(())
    })
}

fn raw_of(clip: &condyle_clip) -> Result<&RawClip, Fault> {
    let compressed = || {
        let text = format!("clip {:?} is compressed already", clip.clip.name());
        Fault::Other(CONDYLE_UNSUPPORTED, text)
    };
    clip.clip.as_raw().ok_or_else(compressed)
}

/// Bound, and radius of joints without vertices. `unit` is in metres; 0 is unknown.
fn bound(options: *const condyle_encode_options, unit: f64) -> Result<(f32, f32), Fault> {
    let radius = Shell::radius(if unit > 0.0 { unit } else { 1.0 });
    if options.is_null() {
        return Ok((5e-4, radius));
    }
    let it = sized!(options);
    Ok((it.error_bound, if it.radius == 0.0 { radius } else { it.radius }))
}

/// Options that bound the error of all vertices of these meshes, with morph weights from 0 to 1.
fn around<'a>(
    skeleton: &Skeleton,
    meshes: impl Iterator<Item = &'a condyle_mesh>,
    budget: f32,
    radius: f32,
) -> Result<EncodeOptions, Fault> {
    let moved: Vec<&condyle_mesh> = meshes.filter(|mesh| !mesh.is_fixed).collect();
    if moved.is_empty() {
        return Ok(EncodeOptions::new(budget, Shell::Balls(radius)));
    }
    let range = |&weight: &f32| [weight.min(0.0), weight.max(1.0)];
    let ranges = |mesh: &&condyle_mesh| mesh.placed.morph_weights.iter().map(range).collect();
    let ranges: Vec<Vec<[f32; 2]>> = moved.iter().map(ranges).collect();
    let parts = moved.iter().zip(&ranges);
    let parts = parts.map(|(mesh, ranges)| (&mesh.placed.mesh, &mesh.skin, ranges.as_slice()));
    Ok(EncodeOptions::new(budget, Shell::of_morphed_meshes(skeleton, parts, radius)?))
}

/// Adds the options of the caller that do not concern vertices.
fn with(mut made: EncodeOptions, options: *const condyle_encode_options) -> Result<EncodeOptions, Fault> {
    if options.is_null() {
        return Ok(made);
    }
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
    Ok(made)
}

fn found(done: &Encoded, morph_error: f32) -> condyle_encode_info {
    condyle_encode_info {
        size: size_of::<condyle_encode_info>(),
        raw_bytes: done.raw_bytes,
        bytes: done.bytes().len(),
        error_max: done.measured.error_max.max(morph_error),
        // A skeleton has at most 65535 joints.
        joint: done.measured.joint as u16,
        seconds: done.measured.seconds,
    }
}
