//! Libraries: the skeletons and clips of many containers in one file. A program reads any clip without the
//! others.

use std::borrow::Cow;
use std::fmt;
use std::io::{self, Write};
use std::path::Path;

use condyle::Error;
use condyle::container::{Container, ContainerJoin, ContainerTable, checksum};

/// A container that goes into a library.
#[derive(Debug, Clone, Copy)]
pub struct Part<'a> {
    /// Its bytes.
    pub data: PartData<'a>,
    /// Metres in a unit of skeletons that do not state it.
    pub unit: Option<f64>,
    /// The checksum that its bytes must have, if it is known.
    pub checksum: Option<u64>,
}

/// The bytes of a part, or the file that has them.
#[derive(Debug, Clone, Copy)]
pub enum PartData<'a> {
    /// In memory.
    Bytes(&'a [u8]),
    /// In a file, which is read twice. One part at a time is in memory.
    File(&'a Path),
}

impl<'a> Part<'a> {
    fn bytes(&self) -> io::Result<Cow<'a, [u8]>> {
        match self.data {
            PartData::Bytes(bytes) => Ok(bytes.into()),
            // To open a pipe would wait for a writer.
            PartData::File(path) if !std::fs::metadata(path)?.is_file() => {
                Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no file"))
            }
            PartData::File(path) => std::fs::read(path).map(Into::into),
        }
    }
}

/// A library to write.
#[derive(Debug, Clone, Copy, Default)]
pub struct Library<'a> {
    /// The containers, in their order in the library. A skeleton that several containers hold is written
    /// once.
    pub parts: &'a [Part<'a>],
    /// The names of all clips in their order. None: the clips keep their names.
    pub names: Option<&'a [String]>,
    /// The metadata that describes the clips, as JSON.
    pub metadata: Option<&'a str>,
}

/// The counts of a library that was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Written {
    /// Skeletons.
    pub skeletons: usize,
    /// Clips.
    pub clips: usize,
}

/// An error of writing a library.
#[derive(Debug)]
#[non_exhaustive]
pub enum LibraryError {
    /// A part, by its index, cannot be read.
    Unreadable(usize, io::Error),
    /// A part, by its index, cannot be used.
    Unfit(usize, Error),
    /// The bytes of a part, by its index, have changed.
    Changed(usize),
    /// The number of names is not the number of clips.
    Names {
        /// Names.
        found: usize,
        /// Clips.
        needed: usize,
    },
    /// The metadata do not fit.
    Metadata(Error),
    /// The library cannot be written.
    Output(io::Error),
    /// The caller ended it.
    Ended,
}

impl fmt::Display for LibraryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(at, error) => write!(f, "part {at} cannot be read: {error}"),
            Self::Unfit(at, error) => write!(f, "part {at}: {error}"),
            Self::Changed(at) => write!(f, "part {at} has changed while it was read"),
            Self::Names { found, needed } => {
                write!(f, "there are {found} names for {needed} clips, where one for each is expected")
            }
            Self::Metadata(error) => write!(f, "the metadata: {error}"),
            Self::Output(error) => write!(f, "the library cannot be written: {error}"),
            Self::Ended => write!(f, "the call was ended"),
        }
    }
}

impl std::error::Error for LibraryError {}

impl Library<'_> {
    /// Writes the library: the table first, which needs to know each entry, then the bytes of one part after
    /// the other. The bytes are the same however the parts were grouped: a part may be a library.
    ///
    /// `step` is called twice for each part, and ends the call if it returns false.
    ///
    /// ```
    /// use condyle::container::{Container, ContainerWriter};
    /// use condyle_io::{Library, Part, PartData};
    ///
    /// let mut part = ContainerWriter::default();
    /// part.add_skeleton("arm", &condyle::Skeleton::new([])?)?;
    /// let part = part.finish();
    /// let part = Part { data: PartData::Bytes(&part), unit: Some(0.01), checksum: None };
    /// let mut file = Vec::new();
    /// let written = Library { parts: &[part, part], ..Library::default() }.write(&mut file, &mut || true)?;
    /// assert_eq!((written.skeletons, written.clips), (1, 0));
    /// assert_eq!(Container::from_bytes(&file)?.unit(0), Some(0.01));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`LibraryError`]. `out` is then incomplete.
    pub fn write(
        &self,
        out: &mut dyn Write,
        step: &mut dyn FnMut() -> bool,
    ) -> Result<Written, LibraryError> {
        let mut join = ContainerJoin::default();
        // The entries of each part that are copied, and the checksum of the part.
        let mut copied = Vec::with_capacity(self.parts.len());
        let mut clips = 0;
        for (at, part) in self.parts.iter().enumerate() {
            let bytes = self.bytes(at, part.checksum)?;
            let failed = |error| LibraryError::Unfit(at, error);
            let container = Container::from_bytes(&bytes).map_err(failed)?;
            let name = |own: &str| {
                let given = self.names.and_then(|names| names.get(clips).cloned());
                clips += 1;
                given.unwrap_or_else(|| own.into())
            };
            let entries =
                join.add(&container, part.unit.map(|metres| metres as f32), name).map_err(failed)?;
            copied.push((entries, checksum(&bytes)));
            go_on(step)?;
        }
        if let Some(found) = self.names.map(<[String]>::len).filter(|found| *found != clips) {
            return Err(LibraryError::Names { found, needed: clips });
        }
        if let Some(metadata) = self.metadata {
            join.add_metadata("library", metadata.as_bytes()).map_err(LibraryError::Metadata)?;
        }
        let skeletons = join.skeleton_count();
        let mut out = Padded { out, length: 0 };
        out.append(&join.finish())?;
        for (at, (entries, known)) in copied.into_iter().enumerate() {
            let bytes = self.bytes(at, Some(known))?;
            let failed = |error| LibraryError::Unfit(at, error);
            let container = Container::from_bytes(&bytes).map_err(failed)?;
            for entry in entries {
                out.append(container.data(entry).map_err(failed)?)?;
            }
            go_on(step)?;
        }
        if let Some(metadata) = self.metadata {
            out.append(metadata.as_bytes())?;
        }
        Ok(Written { skeletons, clips })
    }

    fn bytes(&self, at: usize, known: Option<u64>) -> Result<Cow<'_, [u8]>, LibraryError> {
        let bytes = self.parts[at].bytes().map_err(|error| LibraryError::Unreadable(at, error))?;
        if known.is_some_and(|known| known != checksum(&bytes)) {
            return Err(LibraryError::Changed(at));
        }
        Ok(bytes)
    }
}

fn go_on(step: &mut dyn FnMut() -> bool) -> Result<(), LibraryError> {
    if step() { Ok(()) } else { Err(LibraryError::Ended) }
}

/// A file in which each part begins where the container expects it.
struct Padded<'a> {
    out: &'a mut dyn Write,
    length: u64,
}

impl Padded<'_> {
    fn append(&mut self, data: &[u8]) -> Result<(), LibraryError> {
        let zeros = ContainerTable::zeros(self.length);
        self.length += (zeros.len() + data.len()) as u64;
        let written = self.out.write_all(zeros).and_then(|()| self.out.write_all(data));
        written.map_err(LibraryError::Output)
    }
}
