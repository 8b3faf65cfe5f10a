//! The options of opening a file, and the file itself.

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
    /// The model to open in a container with several. None: the only one.
    pub model: Option<&'a str>,
    /// The person who moves in the motion of a body.
    #[cfg(feature = "body")]
    pub person: Option<Person<'a>>,
    /// Metres in a unit of the file. Numbers stay as they are. None: as the file says.
    pub unit: Option<f64>,
    /// Whether Z is up in the file. The skeleton, the meshes and the clips are then turned to +Y up. A file
    /// that was turned before it was written stays as it is. Compressed clips cannot be turned.
    pub z_up: bool,
}

/// The person who moves in the motion of a body.
#[cfg(feature = "body")]
#[derive(Debug, Clone, Copy)]
pub enum Person<'a> {
    /// The person with the shape numbers of the motion, as many as this model knows.
    Of(&'a condyle_body::BodyModel),
    /// This person.
    Is(&'a condyle_body::ShapedBody),
}

/// A file to read.
#[derive(Clone, Copy)]
pub(crate) struct Input<'a> {
    pub(crate) name: &'a str,
    pub(crate) data: Data<'a>,
}

#[derive(Clone, Copy)]
pub(crate) enum Data<'a> {
    File(&'a Path),
    Bytes(&'a [u8]),
}

impl<'a> Input<'a> {
    /// All bytes.
    pub(crate) fn bytes(&self) -> Result<std::borrow::Cow<'a, [u8]>, OpenError> {
        match self.data {
            Data::Bytes(bytes) => Ok(bytes.into()),
            Data::File(path) => std::fs::read(path).map(Into::into).map_err(|error| self.unreadable(error)),
        }
    }

    /// The name without folder and ending: that of the clip of a format whose clips have none.
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

    /// The first bytes, which tell what it is.
    pub(crate) fn first(&self) -> Result<Vec<u8>, OpenError> {
        match self.data {
            Data::Bytes(bytes) => Ok(bytes[..bytes.len().min(Format::FIRST_BYTES)].to_vec()),
            Data::File(path) => {
                // To open a pipe would wait for a writer.
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
