//! The files that `condyle encode` writes.

use std::fmt::Display;
use std::io::Read;
use std::path::Path;

use condyle::Clip;
use condyle::sampling::AnyClip;
use condyle_io::{Format, ModelClip};

use crate::failure::Failure;
use crate::text::path_text;

/// A compressed clip with its name.
pub(crate) struct PackedClip {
    pub(crate) name: String,
    pub(crate) clip: Clip<'static>,
    /// Radius around joints within which the error is bounded, in the model's units, if the file states it.
    pub(crate) shell: Option<f32>,
}

impl PackedClip {
    /// Returns `None` for a raw clip.
    pub(super) fn of(it: ModelClip) -> Option<Self> {
        let AnyClip::Compressed { name, clip } = it.clip else { return None };
        Some(Self { name: name.into_owned(), clip, shell: it.shell })
    }

    /// Returns the clip, borrowed.
    pub(crate) fn any(&self) -> AnyClip<'_> {
        AnyClip::compressed(&*self.name, self.clip.clone())
    }
}

/// Whether `condyle encode` wrote the file, by its first bytes, whatever its name.
pub(crate) fn is_container(path: &Path) -> bool {
    has_format(path, Format::Container)
}

/// Whether a file has a format, by its first bytes.
pub(crate) fn has_format(path: &Path, format: Format) -> bool {
    let mut first = Vec::new();
    let is_file = std::fs::metadata(path).is_ok_and(|it| it.is_file());
    let mut read = || std::fs::File::open(path)?.take(Format::FIRST_BYTES as u64).read_to_end(&mut first);
    is_file && read().is_ok() && Format::of(&first, &path.to_string_lossy()) == format
}

/// Reads all bytes of a file.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    std::fs::read(path).map_err(|e| Failure::Data(format!("{} cannot be read: {e}", path_text(path))))
}

/// Returns the failure for a container that this version cannot use.
pub(crate) fn unfit(path: &Path, error: &dyn Display) -> Failure {
    Failure::Data(format!("{}: {error}; encode it again, or use a newer condyle", path_text(path)))
}
