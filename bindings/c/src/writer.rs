//! Writing of .condyle files.

use std::collections::BTreeSet;
use std::ffi::c_char;

use runtime::container::{ContainerWriter, EntryKind};

use crate::clip::condyle_clip;
use crate::guard::{free, guard};
use crate::mesh::condyle_mesh;
use crate::skeleton::condyle_skeleton;
use crate::status::{
    CONDYLE_INVALID_ARGUMENT, CONDYLE_NOT_FOUND, CONDYLE_UNSUPPORTED, Fault, condyle_error, condyle_status,
};

/// Builds a .condyle file of skeletons, meshes and compressed clips in memory.
///
/// One thread at a time may use it.
pub struct condyle_writer {
    writer: Option<ContainerWriter>,
    /// Skeletons of the models, to check meshes and clips.
    models: Vec<(usize, runtime::Skeleton)>,
    names: BTreeSet<String>,
    file: Vec<u8>,
}

/// Creates an empty file. Free it with `condyle_writer_free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_writer_new(
    writer: *mut *mut condyle_writer,
    error: *mut condyle_error,
) -> condyle_status {
    guard(error, || {
        let writer_of = || Some(ContainerWriter::default());
        give!(
            writer,
            condyle_writer {
                writer: writer_of(),
                models: Vec::new(),
                names: BTreeSet::new(),
                file: Vec::new()
            }
        );
        Ok(())
    })
}

/// Frees a writer and its file. Null is ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_writer_free(writer: *mut condyle_writer) {
    free(writer);
}

impl condyle_writer {
    fn open(&mut self) -> Result<&mut ContainerWriter, Fault> {
        let finished = || Fault::Other(CONDYLE_UNSUPPORTED, "the file is finished already".to_owned());
        self.writer.as_mut().ok_or_else(finished)
    }

    fn model(&self, model: usize) -> Result<(usize, &runtime::Skeleton), Fault> {
        let missing = || {
            let text = format!("model {model}: {} were added", self.models.len());
            Fault::Other(CONDYLE_NOT_FOUND, text)
        };
        self.models.get(model).map(|(at, skeleton)| (*at, skeleton)).ok_or_else(missing)
    }
}

/// Adds a skeleton. `model` receives its index, for the other calls. `unit` is in metres, or 0 if unknown.
///
/// Errors: `CONDYLE_INVALID_ARGUMENT` for an invalid unit, and for the name of a model that was added.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_writer_add_skeleton(
    writer: *mut condyle_writer,
    name: *const c_char,
    skeleton: *const condyle_skeleton,
    unit: f32,
    model: *mut usize,
    error: *mut condyle_error,
) -> condyle_status {
    guard(error, || {
        output!(model);
        let (it, name, skeleton) = (exclusive!(writer), text!(name), &shared!(skeleton).skeleton);
        it.open()?;
        // Before the file changes.
        if unit != 0.0 && !(unit.is_finite() && unit > 0.0) {
            let needed = "0 or a finite number above 0";
            return Err(runtime::Error::OutOfRange { what: "unit", at: 0, needed }.into());
        }
        if it.names.contains(name) {
            let text = format!("name: the file has a model \"{name}\" already");
            return Err(Fault::Other(CONDYLE_INVALID_ARGUMENT, text));
        }
        let at = it.open()?.add_skeleton(name, skeleton)?;
        it.names.insert(name.to_owned());
        if unit != 0.0 {
            it.open()?.set_unit(at, unit)?;
        }
        it.models.push((at, skeleton.clone()));
        put!(model, it.models.len() - 1);
        Ok(())
    })
}

/// Adds a mesh to a model.
///
/// Errors: `CONDYLE_MISMATCH` for a mesh of another skeleton.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_writer_add_mesh(
    writer: *mut condyle_writer,
    model: usize,
    name: *const c_char,
    mesh: *const condyle_mesh,
    error: *mut condyle_error,
) -> condyle_status {
    guard(error, || {
        let (it, name, mesh) = (exclusive!(writer), text!(name), shared!(mesh));
        let (at, skeleton) = it.model(model)?;
        let skeleton = skeleton.clone();
        it.open()?.add_mesh(name, at, &mesh.placed, &skeleton)?;
        Ok(())
    })
}

/// Adds a compressed clip to a model, under its name.
///
/// Errors: `CONDYLE_UNSUPPORTED` for a raw clip; `CONDYLE_MISMATCH` for a clip of another skeleton.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_writer_add_clip(
    writer: *mut condyle_writer,
    model: usize,
    clip: *const condyle_clip,
    error: *mut condyle_error,
) -> condyle_status {
    guard(error, || {
        let (it, clip) = (exclusive!(writer), shared!(clip));
        let (at, skeleton) = it.model(model)?;
        let compressed = clip.compressed()?;
        runtime::Error::check_len("clip", compressed.joint_count(), skeleton.joint_count())?;
        if let Some(found) = compressed.fingerprint().filter(|found| *found != skeleton.fingerprint()) {
            let needed = skeleton.fingerprint();
            return Err(runtime::Error::Skeleton { what: "clip", found, needed }.into());
        }
        it.open()?.add(EntryKind::Clip, clip.clip.name(), Some(at), compressed.as_bytes())?;
        Ok(())
    })
}

/// Finishes the file. `bytes` and `byte_count` receive its contents, which live as long as the writer.
///
/// Errors: `CONDYLE_UNSUPPORTED` at the second call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn condyle_writer_finish(
    writer: *mut condyle_writer,
    bytes: *mut *const u8,
    byte_count: *mut usize,
    error: *mut condyle_error,
) -> condyle_status {
    guard(error, || {
        output!(bytes);
        output!(byte_count);
        let it = exclusive!(writer);
        it.open()?;
        it.file = it.writer.take().map(ContainerWriter::finish).unwrap_or_default();
        put!(bytes, it.file.as_ptr());
        put!(byte_count, it.file.len());
        Ok(())
    })
}
