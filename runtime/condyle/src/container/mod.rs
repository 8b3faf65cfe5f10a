//! The `.condyle` file format: skeletons, meshes and compressed clips in one file.
//!
//! - [`ContainerWriter`] collects entries and writes the file.
//! - [`Container`] reads a file that is in memory, loaded or mapped.
//! - [`ContainerReader`] reads only the table. The caller fetches entries one at a time, for example from a
//!   server.
//!
//! They perform no I/O. A file consists of a header, a table of entries with their names, and the bytes
//! of the entries. It is little-endian, and needs no alignment in memory. `docs/format.md` specifies every
//! byte.

mod join;
mod models;
mod table;
#[cfg(test)]
mod tests;
mod writer;

use core::fmt;

use crate::clip::Clip;
use crate::skeleton::Skeleton;
use condyle_base::bytes;
pub use condyle_base::bytes::checksum;
use condyle_base::error::Error;
pub use join::ContainerJoin;
pub use models::{MeshHead, MeshPlacement, PlacedMesh};
pub use table::EntryKind;
use table::{
    ALIGNMENT, CHECKSUM, ENTRY, ENTRY_VERSION, HEADER, MAGIC, MAJOR, NO_MODEL, Raw, WHAT, WORD, stated,
};
pub use writer::{ContainerTable, ContainerWriter};

/// One entry of a container's table.
///
/// ```
/// use condyle::container::{Container, ContainerWriter, EntryKind};
///
/// let mut writer = ContainerWriter::default();
/// writer.add(EntryKind::Clip, "run", None, &[1, 2, 3])?;
/// let file = writer.finish();
/// for entry in Container::from_bytes(&file)?.entries() {
///     println!("{:?} {:?}, {} bytes at {}", entry.kind, entry.name, entry.length, entry.offset);
///     assert_eq!((entry.index, entry.name, entry.model, entry.length), (0, "run", None, 3));
/// }
/// # Ok::<(), condyle::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Entry<'a> {
    /// Index in the table.
    pub index: usize,
    /// Kind of the contents.
    pub kind: EntryKind,
    /// Version of the entry's layout: 0 for all known kinds, see [`check_version`](Self::check_version).
    pub version: u16,
    /// Name of the entry. It may be empty, and several entries may share it.
    pub name: &'a str,
    /// Index of the skeleton entry of the model that the entry belongs to.
    pub model: Option<usize>,
    /// Offset of the entry's bytes in the file, a multiple of 16.
    pub offset: u64,
    /// Number of bytes.
    pub length: u64,
    /// [`checksum`] of the entry's bytes.
    pub checksum: u64,
}

impl Entry<'_> {
    /// Checks that this version of the library can read the entry. An entry of an unknown kind always passes,
    /// because its bytes are never interpreted.
    ///
    /// # Errors
    /// [`Error::Version`] if a newer version of the library wrote the entry.
    pub fn check_version(&self) -> Result<(), Error> {
        match (self.kind, self.version) {
            (EntryKind::Unknown(_), _) | (_, ENTRY_VERSION) => Ok(()),
            (_, found) => {
                let (what, at) = ("entries", Some(self.index));
                Err(Error::Version { what, at, found, newest: ENTRY_VERSION })
            }
        }
    }
}

/// Reader of a container's table, without the entries. The caller passes the bytes of each entry when needed.
///
/// ```
/// use condyle::container::{ContainerReader, ContainerWriter, EntryKind};
///
/// let mut writer = ContainerWriter::default();
/// writer.add(EntryKind::Clip, "run", None, &[1, 2, 3])?;
/// let file = writer.finish();
///
/// // Fetch the table from a file or a server, then one entry.
/// let mut fetched = &file[..0];
/// while fetched.len() < ContainerReader::needed(fetched)? {
///     fetched = file.get(..ContainerReader::needed(fetched)?).expect("no file is that long");
/// }
/// let reader = ContainerReader::from_prefix(fetched)?;
/// let run = reader.find(EntryKind::Clip, "run").expect("an entry that was added");
/// let entry = reader.entry(run)?;
/// let range = entry.offset as usize..(entry.offset + entry.length) as usize;
/// assert_eq!(reader.data(run, &file[range])?, [1, 2, 3]);
/// # Ok::<(), condyle::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct ContainerReader<'a> {
    entries: &'a [[u8; ENTRY]],
    names: &'a str,
    file_length: u64,
    version: (u16, u16),
}

impl<'a> ContainerReader<'a> {
    /// Returns the number of bytes from the start of a file to the end of the table. If `prefix` is shorter
    /// than the header, returns the size of the header: call again with that many bytes. The number comes
    /// from the file and is not checked: compare it with the length of the file before you allocate.
    ///
    /// # Errors
    /// [`Error::Magic`] if the bytes are not a container, [`Error::Version`] for an unknown major version,
    /// and [`Error::TooMany`] if `usize` cannot hold the number.
    pub fn needed(prefix: &[u8]) -> Result<usize, Error> {
        if !prefix.iter().zip(&MAGIC).all(|(found, wanted)| found == wanted) {
            return Err(Error::Magic { what: WHAT });
        }
        let Some(header) = prefix.first_chunk::<HEADER>() else { return Ok(HEADER) };
        match bytes::u16_at(header, 8) {
            MAJOR => {}
            found => return Err(Error::Version { what: WHAT, at: None, found, newest: MAJOR }),
        }
        let (entries, names) = (u64::from(bytes::u32_at(header, 12)), u64::from(bytes::u32_at(header, 16)));
        // Fits 48 bits.
        let needed =
            (HEADER + CHECKSUM) as u64 + entries * ENTRY as u64 + names.next_multiple_of(WORD as u64);
        usize::try_from(needed).map_err(|_| Error::TooMany {
            what: "the table of a container",
            found: usize::MAX,
            limit: usize::MAX,
        })
    }

    /// Checks the header and the table, which `prefix` must contain. Bytes after the table are ignored.
    ///
    /// # Errors
    /// The errors of [`Self::needed`]. [`Error::Truncated`] if the table is longer than `prefix`.
    /// [`Error::Checksum`] if it is damaged. [`Error::NotText`], [`Error::Index`], [`Error::Value`] for an
    /// invalid name, model or range.
    pub fn from_prefix(prefix: &'a [u8]) -> Result<Self, Error> {
        let needed = Self::needed(prefix)?;
        let truncated = Error::Truncated { what: "the table of a container", found: prefix.len(), needed };
        let (table, header) = prefix.get(..needed).zip(prefix.first_chunk::<HEADER>()).ok_or(truncated)?;
        let (table, stored) = table.split_at(needed - CHECKSUM);
        if checksum(table) != bytes::u64_at(stored, 0) {
            return Err(Error::Checksum { what: "the table of a container", at: None });
        }
        let (entries, names) = (bytes::u32_at(header, 12) as usize, bytes::u32_at(header, 16) as usize);
        let (entries, text) = table[HEADER..].split_at(entries * ENTRY);
        let (entries, _) = entries.as_chunks::<ENTRY>();
        let names = core::str::from_utf8(&text[..names])
            .map_err(|_| Error::NotText { what: "the names of a container", at: 0 })?;
        let it = Self {
            entries,
            names,
            file_length: bytes::u64_at(header, 24),
            version: (bytes::u16_at(header, 8), bytes::u16_at(header, 10)),
        };
        it.check_entries(needed as u64)?;
        Ok(it)
    }

    /// Checks names, which are contiguous, and ranges, which ascend with possible gaps, in a single pass.
    fn check_entries(&self, table: u64) -> Result<(), Error> {
        let (mut name, mut end) = (0, table);
        for (at, entry) in self.entries.iter().enumerate() {
            let raw = Raw::of(entry);
            let value = |what, found, expected| Err(Error::Value { what, at, found, expected });
            let name_end = raw.name_end as usize;
            if name_end < name || name_end > self.names.len() {
                let expected = "an offset in the names, at least the end of the previous name";
                return value("ends of names", raw.name_end.into(), expected);
            }
            if !self.names.is_char_boundary(name_end) {
                return Err(Error::NotText { what: "the names of a container", at });
            }
            name = name_end;
            // The model field of an unknown kind may mean anything.
            let is_known = !matches!(EntryKind::from(raw.kind), EntryKind::Unknown(_));
            if is_known && raw.model != NO_MODEL {
                let (found, count) = (raw.model as usize, self.entries.len());
                let model = self.entries.get(found);
                let model = model.ok_or(Error::Index { what: "models", at, found, count })?;
                if EntryKind::from(Raw::of(model).kind) != EntryKind::Skeleton {
                    return value("models", raw.model.into(), "the index of a skeleton");
                }
            }
            if !raw.offset.is_multiple_of(ALIGNMENT as u64) {
                return value("offsets", raw.offset, "a multiple of 16");
            }
            if raw.offset < end {
                let expected = "an offset after the table and the previous entry";
                return value("offsets", raw.offset, expected);
            }
            end = match raw.offset.checked_add(raw.length) {
                Some(end) if end <= self.file_length => end,
                _ => return value("lengths", raw.length, "at most the rest of the file"),
            };
        }
        if end > self.file_length {
            let expected = "at least the size of the table";
            return Err(Error::Value {
                what: "length of the file",
                at: 0,
                found: self.file_length,
                expected,
            });
        }
        Ok(())
    }

    /// Version of the format that the file was written in, major and minor.
    #[must_use]
    pub fn version(&self) -> (u16, u16) {
        self.version
    }

    /// Number of bytes of the whole file.
    #[must_use]
    pub fn file_length(&self) -> u64 {
        self.file_length
    }

    /// Number of entries, including those of unknown kinds.
    #[must_use]
    pub fn entry_count(&self) -> usize {
        self.entries.len()
    }

    /// Returns all entries, in the order of the file.
    pub fn entries(&self) -> impl ExactSizeIterator<Item = Entry<'a>> + use<'a> {
        let it = *self;
        (0..it.entries.len()).map(move |index| it.line(index))
    }

    /// Returns the index of the skeleton that a record of the table refers to, if any.
    fn model_of(&self, raw: &Raw) -> Option<usize> {
        let model = raw.model as usize;
        let kind = self.entries.get(model).map(|entry| EntryKind::from(Raw::of(entry).kind));
        (kind == Some(EntryKind::Skeleton)).then_some(model)
    }

    fn line(&self, index: usize) -> Entry<'a> {
        let raw = Raw::of(&self.entries[index]);
        let start = index.checked_sub(1).map_or(0, |before| Raw::of(&self.entries[before]).name_end);
        Entry {
            index,
            kind: raw.kind.into(),
            version: raw.version,
            // The constructor has checked the range.
            name: self.names.get(start as usize..raw.name_end as usize).unwrap_or_default(),
            model: self.model_of(&raw),
            offset: raw.offset,
            length: raw.length,
            checksum: raw.checksum,
        }
    }

    /// Returns one entry.
    ///
    /// # Errors
    /// [`Error::Index`] if the entry does not exist.
    pub fn entry(&self, index: usize) -> Result<Entry<'a>, Error> {
        let count = self.entries.len();
        if index < count {
            Ok(self.line(index))
        } else {
            Err(Error::Index { what: "entries", at: index, found: index, count })
        }
    }

    /// Metres per unit of a model, where `model` is its skeleton entry. `None` if the file does not state it;
    /// units are then metres.
    ///
    /// ```
    /// use condyle::container::{Container, ContainerWriter};
    /// use condyle::example;
    ///
    /// let mut writer = ContainerWriter::default();
    /// let model = writer.add_skeleton("walker", &example::skeleton())?;
    /// writer.set_unit(model, 0.01)?;
    /// assert_eq!(Container::from_bytes(&writer.finish())?.unit(model), Some(0.01));
    /// # Ok::<(), condyle::Error>(())
    /// ```
    #[must_use]
    pub fn unit(&self, model: usize) -> Option<f32> {
        let raw = Raw::of(self.entries.get(model)?);
        stated(raw.length_field).filter(|_| EntryKind::from(raw.kind) == EntryKind::Skeleton)
    }

    /// Radius of the ball around each joint in which the [budget](Clip::budget) of a clip holds, in units of
    /// its model.
    ///
    /// `clip` is the entry of the clip. A clip that was encoded for meshes keeps the budget at all vertices,
    /// and in the balls around joints without vertices. `None` if the file does not state it.
    ///
    /// ```
    /// use condyle::container::{Container, ContainerWriter, EntryKind};
    /// use condyle::example;
    /// use condyle_encode::{EncodeOptions, Shell, encode};
    ///
    /// let skeleton = example::skeleton();
    /// let options = EncodeOptions::new(5e-4, Shell::Balls(0.05));
    /// let walk = encode(&example::walk(), &skeleton, &options, &mut |_| ())?;
    /// let mut writer = ContainerWriter::default();
    /// let model = writer.add_skeleton("walker", &skeleton)?;
    /// let clip = writer.add(EntryKind::Clip, "walk", Some(model), walk.bytes())?;
    /// if let Some(radius) = walk.shell {
    ///     writer.set_shell(clip, radius)?;
    /// }
    /// assert_eq!(Container::from_bytes(&writer.finish())?.shell(clip), Some(0.05));
    /// # Ok::<(), condyle::Error>(())
    /// ```
    #[must_use]
    pub fn shell(&self, clip: usize) -> Option<f32> {
        let raw = Raw::of(self.entries.get(clip)?);
        stated(raw.length_field).filter(|_| EntryKind::from(raw.kind) == EntryKind::Clip)
    }

    /// Returns the first entry of this kind and name.
    #[must_use]
    pub fn find(&self, kind: EntryKind, name: &str) -> Option<usize> {
        self.entries().find(|entry| entry.kind == kind && entry.name == name).map(|entry| entry.index)
    }

    /// Returns the entries of this kind that belong to a model, where `model` is its skeleton entry.
    pub fn of_model(&self, kind: EntryKind, model: usize) -> impl Iterator<Item = Entry<'a>> + use<'a> {
        self.entries().filter(move |entry| entry.kind == kind && entry.model == Some(model))
    }

    /// Checks the bytes of an entry of any kind against its length and checksum, and returns them.
    ///
    /// # Errors
    /// [`Error::Index`] if the entry does not exist, [`Error::Length`] or [`Error::Checksum`] if `data` is
    /// not its bytes, and [`Error::Version`] as in [`Entry::check_version`].
    pub fn data<'d>(&self, index: usize, data: &'d [u8]) -> Result<&'d [u8], Error> {
        let entry = self.entry(index)?;
        entry.check_version()?;
        if data.len() as u64 != entry.length {
            let needed = usize::try_from(entry.length).unwrap_or(usize::MAX);
            return Err(Error::Length { what: "the data of an entry", found: data.len(), needed });
        }
        if checksum(data) == entry.checksum {
            Ok(data)
        } else {
            Err(Error::Checksum { what: "entries", at: Some(index) })
        }
    }

    /// Like [`Self::data`], for an entry that must be of this kind.
    fn data_of<'d>(&self, kind: EntryKind, index: usize, data: &'d [u8]) -> Result<&'d [u8], Error> {
        let found = self.entry(index)?.kind;
        if found != kind {
            let expected = match kind {
                EntryKind::Skeleton => "1 (a skeleton)",
                EntryKind::Mesh => "2 (a mesh)",
                EntryKind::Clip => "3 (a clip)",
                EntryKind::Document => "4 (a document)",
                EntryKind::Metadata => "5 (metadata)",
                EntryKind::Unknown(_) => "another kind",
            };
            let found = u16::from(found).into();
            return Err(Error::Value { what: "kinds of entries", at: index, found, expected });
        }
        self.data(index, data)
    }

    /// Reads a skeleton entry from its bytes `data`.
    ///
    /// # Errors
    /// The errors of [`Self::data`] and [`Skeleton::new`]. [`Error::Value`] if the entry is not a skeleton.
    /// [`Error::Truncated`], [`Error::Length`], [`Error::NotText`] if its contents are invalid.
    pub fn skeleton(&self, index: usize, data: &[u8]) -> Result<Skeleton, Error> {
        models::read_skeleton(self.data_of(EntryKind::Skeleton, index, data)?)
    }

    /// Reads a clip entry from its bytes `data`, which the clip borrows.
    ///
    /// # Errors
    /// The errors of [`Self::data`] and [`Clip::from_bytes`]; [`Error::Value`] if the entry is not a clip.
    pub fn clip<'d>(&self, index: usize, data: &'d [u8]) -> Result<Clip<'d>, Error> {
        Clip::from_bytes(self.data_of(EntryKind::Clip, index, data)?)
    }

    /// Reads a mesh entry from its bytes `data`; `skeleton` is the skeleton of its model.
    ///
    /// # Errors
    /// The errors of [`Self::skeleton`], and [`Error::Index`] if the mesh uses a joint that the skeleton
    /// lacks.
    pub fn mesh(&self, index: usize, data: &[u8], skeleton: &Skeleton) -> Result<PlacedMesh, Error> {
        models::read_mesh(self.data_of(EntryKind::Mesh, index, data)?, skeleton)
    }

    /// Reads a mesh entry from its bytes `data` without the vertices, which are not checked.
    ///
    /// # Errors
    /// The errors of [`Self::mesh`].
    pub fn mesh_head(&self, index: usize, data: &[u8], skeleton: &Skeleton) -> Result<MeshHead, Error> {
        models::read_mesh_head(self.data_of(EntryKind::Mesh, index, data)?, skeleton)
    }
}

/// A whole container in borrowed memory: a file that was loaded or mapped.
///
/// The constructor checks the table; an entry is checked when it is read. Derefs to [`ContainerReader`] for
/// everything in the table.
///
/// ```
/// use condyle::container::{Container, ContainerWriter, EntryKind};
/// use condyle::example;
/// use condyle_encode::{EncodeOptions, Shell, encode};
///
/// let skeleton = example::skeleton();
/// let options = EncodeOptions::new(5e-4, Shell::Balls(0.03));
/// let walk = encode(&example::walk(), &skeleton, &options, &mut |_| ())?;
/// let mut writer = ContainerWriter::default();
/// let model = writer.add_skeleton("walker", &skeleton)?;
/// writer.add(EntryKind::Clip, "walk", Some(model), walk.bytes())?;
/// let file = writer.finish();
///
/// let container = Container::from_bytes(&file)?;
/// let model = container.find(EntryKind::Skeleton, "walker").expect("an entry that was added");
/// assert_eq!(container.skeleton(model)?, skeleton);
/// for entry in container.of_model(EntryKind::Clip, model) {
///     assert_eq!((entry.name, container.clip(entry.index)?), ("walk", walk.clip().clone()));
/// }
/// # Ok::<(), condyle::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct Container<'a> {
    reader: ContainerReader<'a>,
    bytes: &'a [u8],
}

impl<'a> core::ops::Deref for Container<'a> {
    type Target = ContainerReader<'a>;

    fn deref(&self) -> &Self::Target {
        &self.reader
    }
}

impl<'a> Container<'a> {
    /// Checks the header and the table of a file.
    ///
    /// # Errors
    /// The errors of [`ContainerReader::from_prefix`]; [`Error::Truncated`] or [`Error::Length`] if the file
    /// is shorter or longer than its header states.
    pub fn from_bytes(bytes: &'a [u8]) -> Result<Self, Error> {
        let reader = ContainerReader::from_prefix(bytes)?;
        let found = bytes.len();
        let needed = usize::try_from(reader.file_length()).unwrap_or(usize::MAX);
        match found.cmp(&needed) {
            core::cmp::Ordering::Less => Err(Error::Truncated { what: WHAT, found, needed }),
            core::cmp::Ordering::Equal => Ok(Self { reader, bytes }),
            core::cmp::Ordering::Greater => {
                Err(Error::Length { what: "the bytes of a container", found, needed })
            }
        }
    }

    /// Returns the bytes of the whole file.
    #[must_use]
    pub fn as_bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Returns the unchecked bytes of an entry. Empty if the entry does not exist: the caller's check then
    /// reports it.
    fn range(&self, index: usize) -> &'a [u8] {
        let range = self.reader.entry(index).ok().and_then(|entry| {
            // At most the length of the file, which equals the length of `bytes`.
            self.bytes.get(entry.offset as usize..(entry.offset + entry.length) as usize)
        });
        range.unwrap_or_default()
    }

    /// Returns the checked bytes of an entry of any kind. They start at a multiple of 16 in the file.
    ///
    /// # Errors
    /// The errors of [`ContainerReader::data`].
    pub fn data(&self, index: usize) -> Result<&'a [u8], Error> {
        self.reader.data(index, self.range(index))
    }

    /// Reads a skeleton entry.
    ///
    /// # Errors
    /// The errors of [`ContainerReader::skeleton`].
    pub fn skeleton(&self, index: usize) -> Result<Skeleton, Error> {
        self.reader.skeleton(index, self.range(index))
    }

    /// Reads a mesh entry; `skeleton` is the skeleton of its model.
    ///
    /// # Errors
    /// The errors of [`ContainerReader::mesh`].
    pub fn mesh(&self, index: usize, skeleton: &Skeleton) -> Result<PlacedMesh, Error> {
        self.reader.mesh(index, self.range(index), skeleton)
    }

    /// Reads a mesh entry without its vertices, which are not checked; `skeleton` is the skeleton of its
    /// model.
    ///
    /// # Errors
    /// The errors of [`ContainerReader::mesh`].
    pub fn mesh_head(&self, index: usize, skeleton: &Skeleton) -> Result<MeshHead, Error> {
        self.reader.mesh_head(index, self.range(index), skeleton)
    }

    /// Reads a clip entry in place: the clip borrows the file. [`Clip::into_owned`] makes a copy that
    /// outlives the file.
    ///
    /// # Errors
    /// The errors of [`ContainerReader::clip`].
    pub fn clip(&self, index: usize) -> Result<Clip<'a>, Error> {
        self.reader.clip(index, self.range(index))
    }

    /// Returns the bytes of a document entry, a `.glb`.
    ///
    /// # Errors
    /// The errors of [`ContainerReader::data`], and [`Error::Value`] if the entry is not a document.
    pub fn document(&self, index: usize) -> Result<&'a [u8], Error> {
        self.reader.data_of(EntryKind::Document, index, self.range(index))
    }
}

/// Prints a one-line summary.
impl fmt::Debug for ContainerReader<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ContainerReader")
            .field("version", &self.version)
            .field("entries", &self.entries.len())
            .field("bytes", &self.file_length)
            .finish_non_exhaustive()
    }
}

/// Prints a one-line summary.
impl fmt::Debug for Container<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Container")
            .field("version", &self.version())
            .field("entries", &self.entry_count())
            .field("bytes", &self.bytes.len())
            .finish_non_exhaustive()
    }
}
