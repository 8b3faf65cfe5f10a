//! Options for opening a file, and the input file.

use std::io::Read;
use std::path::Path;

use condyle_base::problem::Refused;

use crate::error::{Misfit, OpenError};
use crate::format::Format;

/// Options for opening a file. The default changes nothing.
///
/// ```no_run
/// use condyle_io::{Options, open};
///
/// // Motion capture in centimetres, Z up.
/// let model = open("walk.bvh", &Options { unit: Some(0.01), z_up: true, ..Options::default() })?;
/// # Ok::<(), condyle_io::OpenError>(())
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct Options<'a> {
    /// Name of the model to open in a container with several. `None` opens the only one.
    pub model: Option<&'a str>,
    /// Name of a clip. Without `model`, opens the model that has it, in a container with several models.
    /// Other files ignore it.
    pub clip: Option<&'a str>,
    /// Person that body motion is applied to.
    #[cfg(feature = "body")]
    pub person: Option<Person<'a>>,
    /// Metres per unit of the file; coordinates are not scaled. `None` uses the unit of the file.
    pub unit: Option<f64>,
    /// Whether Z is up in the file. If so, skeleton, meshes and clips are rotated to +Y up, unless they were
    /// rotated before the file was written. Compressed clips cannot be rotated.
    pub z_up: bool,
}

/// Person that body motion is applied to.
#[cfg(feature = "body")]
#[derive(Debug, Clone, Copy)]
pub enum Person<'a> {
    /// This body model, shaped by the coefficients of the motion, as many as the model supports.
    Of(&'a condyle_body::BodyModel),
    /// A person with a fixed shape.
    Is(&'a condyle_body::ShapedBody),
}

/// An input file.
#[derive(Clone, Copy)]
pub(crate) struct Input<'a> {
    pub(crate) name: &'a str,
    pub(crate) data: Data<'a>,
}

#[derive(Clone, Copy)]
pub(crate) enum Data<'a> {
    File(&'a Path),
    Bytes(&'a [u8]),
    /// The document, and a function that returns its external files, which only glTF has.
    #[cfg_attr(not(feature = "gltf"), expect(dead_code, reason = "other formats have no external files"))]
    Parts(&'a [u8], &'a dyn Fn(&str) -> Option<Vec<u8>>),
}

impl<'a> Input<'a> {
    /// Reads all bytes.
    pub(crate) fn bytes(&self) -> Result<std::borrow::Cow<'a, [u8]>, OpenError> {
        match self.data {
            Data::Bytes(bytes) | Data::Parts(bytes, _) => Ok(bytes.into()),
            Data::File(path) => std::fs::read(path).map(Into::into).map_err(|error| self.unreadable(error)),
        }
    }

    /// File name without folder and extension: the clip name for formats without clip names.
    #[cfg(any(feature = "bvh", feature = "body"))]
    pub(crate) fn stem(&self) -> String {
        Path::new(self.name).file_stem().unwrap_or_default().to_string_lossy().into_owned()
    }

    pub(crate) fn refused(&self, what: impl Into<String>) -> OpenError {
        Refused::because(self.name, what).into()
    }

    pub(crate) fn misfit(&self, misfit: Misfit) -> OpenError {
        OpenError::Misfit { name: self.name.into(), misfit }
    }

    fn unreadable(&self, error: std::io::Error) -> OpenError {
        OpenError::Unreadable { name: self.name.into(), error }
    }

    /// Reads the first bytes, which identify the format.
    pub(crate) fn first(&self) -> Result<Vec<u8>, OpenError> {
        match self.data {
            Data::Bytes(bytes) | Data::Parts(bytes, _) => {
                Ok(bytes[..bytes.len().min(Format::FIRST_BYTES)].to_vec())
            }
            Data::File(path) => {
                // Opening a pipe would wait for a writer.
                if !std::fs::metadata(path).map_err(|error| self.unreadable(error))?.is_file() {
                    return Err(self.unreadable(std::io::Error::other("not a regular file")));
                }
                let mut first = Vec::new();
                let read =
                    |file: std::fs::File| file.take(Format::FIRST_BYTES as u64).read_to_end(&mut first);
                std::fs::File::open(path).and_then(read).map_err(|error| self.unreadable(error))?;
                Ok(first)
            }
        }
    }
}
