//! Libraries: the skeletons and clips of many containers in one file. A program can read each clip
//! separately.

use std::borrow::Cow;
use std::fmt;
use std::io::{self, Write};
use std::path::Path;

use condyle::Error;
use condyle::container::{Container, ContainerJoin, ContainerTable, checksum};

/// A container to add to a library.
#[derive(Debug, Clone, Copy)]
pub struct Part<'a> {
    /// Bytes of the container.
    pub data: PartData<'a>,
    /// Metres per unit of skeletons that do not state it.
    pub unit: Option<f64>,
    /// Expected checksum of the bytes, if known.
    pub checksum: Option<u64>,
}

/// Bytes of a part, or the file that contains them.
#[derive(Debug, Clone, Copy)]
pub enum PartData<'a> {
    /// Bytes in memory.
    Bytes(&'a [u8]),
    /// A file. It is read twice, and only one part at a time is in memory.
    File(&'a Path),
}

impl<'a> Part<'a> {
    fn bytes(&self) -> io::Result<Cow<'a, [u8]>> {
        match self.data {
            PartData::Bytes(bytes) => Ok(bytes.into()),
            // Opening a pipe would wait for a writer.
            PartData::File(path) if !std::fs::metadata(path)?.is_file() => {
                Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"))
            }
            PartData::File(path) => std::fs::read(path).map(Into::into),
        }
    }
}

/// Input of [`Library::write`].
#[derive(Debug, Clone, Copy, Default)]
pub struct Library<'a> {
    /// Containers, in library order. A skeleton that occurs in several containers is written once.
    pub parts: &'a [Part<'a>],
    /// Names of all clips, in order. `None` keeps the original names.
    pub names: Option<&'a [String]>,
    /// Metadata of the clips, as JSON.
    pub metadata: Option<&'a str>,
}

/// Counts of a written library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Written {
    /// Number of skeletons.
    pub skeletons: usize,
    /// Number of clips.
    pub clips: usize,
}

/// Error when writing a library.
#[derive(Debug)]
#[non_exhaustive]
pub enum LibraryError {
    /// The part with this index cannot be read.
    Unreadable(usize, io::Error),
    /// The part with this index cannot be used.
    Unfit(usize, Error),
    /// The bytes of the part with this index do not match the expected checksum, or changed between the two
    /// reads.
    Changed(usize),
    /// The number of names differs from the number of clips.
    Names {
        /// Number of names.
        found: usize,
        /// Number of clips.
        needed: usize,
    },
    /// The metadata cannot be added.
    Metadata(Error),
    /// The library cannot be written.
    Output(io::Error),
    /// `step` returned false.
    Ended,
}

impl fmt::Display for LibraryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(at, error) => write!(f, "part {at} cannot be read: {error}"),
            Self::Unfit(at, error) => write!(f, "part {at}: {error}"),
            Self::Changed(at) => write!(f, "part {at} changed while it was read"),
            Self::Names { found, needed } => {
                write!(f, "{found} names for {needed} clips, expected one for each")
            }
            Self::Metadata(error) => write!(f, "the metadata cannot be added: {error}"),
            Self::Output(error) => write!(f, "the library cannot be written: {error}"),
            Self::Ended => write!(f, "the caller stopped the call"),
        }
    }
}

impl std::error::Error for LibraryError {}

impl Library<'_> {
    /// Writes the library: first the table, which needs the size of each entry, then the bytes of each part.
    ///
    /// A part may be a library. Parts can be grouped into libraries in any way without changing the output.
    ///
    /// Calls `step` twice per part, and stops if it returns false.
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
    /// [`LibraryError`]. The output is then incomplete.
    pub fn write(
        &self,
        out: &mut dyn Write,
        step: &mut dyn FnMut() -> bool,
    ) -> Result<Written, LibraryError> {
        let mut join = ContainerJoin::default();
        // Copied entries of each part, and the checksum of the part.
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

/// Output that pads each part to the alignment of the container.
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
