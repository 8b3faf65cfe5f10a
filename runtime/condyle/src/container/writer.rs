//! Writer of containers. The same entries in the same order give the same bytes.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use super::models::{self, PlacedMesh};
use super::table::{
    ALIGNMENT, CHECKSUM, ENTRY, ENTRY_VERSION, EntryKind, HEADER, MAGIC, MAJOR, MINOR, NO_MODEL, Raw, WORD,
    stated,
};
use crate::skeleton::Skeleton;
use condyle_base::bytes::checksum;
use condyle_base::error::Error;

/// Collects entries and writes them to one file.
///
/// The bytes depend only on the entries and their order.
///
/// ```
/// use condyle::container::{Container, ContainerWriter, EntryKind};
/// use condyle::{Joint, Skeleton, Transform};
///
/// let skeleton = Skeleton::new([Joint::new("hip", None, Transform::IDENTITY)])?;
/// let mut writer = ContainerWriter::default();
/// let fox = writer.add_skeleton("fox", &skeleton)?;
/// // The bytes of a clip, from `Encoded::bytes`.
/// writer.add(EntryKind::Clip, "run", Some(fox), &[1, 2, 3])?;
/// let file = writer.finish();
/// let names: Vec<&str> = Container::from_bytes(&file)?.entries().map(|entry| entry.name).collect();
/// assert_eq!(names, ["fox", "run"]);
/// # Ok::<(), condyle::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct ContainerWriter {
    table: ContainerTable,
    /// Bytes of all entries, as in the file.
    data: Vec<u8>,
}

/// Prints a one-line summary.
impl fmt::Debug for ContainerWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ContainerWriter")
            .field("entries", &self.table.entries.len())
            .field("bytes", &self.data.len())
            .finish_non_exhaustive()
    }
}

impl ContainerWriter {
    /// Adds an entry of any kind without checking its bytes, and returns its index. `model` is the index of
    /// the skeleton of its model, which must be added first.
    ///
    /// # Errors
    /// [`Error::Index`] if the entry `model` does not exist, [`Error::Value`] if it is not a skeleton;
    /// [`Error::TooMany`] above 2^32 entries or bytes of names.
    pub fn add(
        &mut self,
        kind: EntryKind,
        name: &str,
        model: Option<usize>,
        data: &[u8],
    ) -> Result<usize, Error> {
        let at = self.table.add(kind, name, model, data)?;
        self.data.resize(self.data.len().next_multiple_of(ALIGNMENT), 0);
        self.data.extend_from_slice(data);
        Ok(at)
    }

    /// Adds a skeleton, which identifies a model, and returns its index.
    ///
    /// # Errors
    /// [`Error::TooMany`] above 2^32 bytes of names, or entries.
    pub fn add_skeleton(&mut self, name: &str, skeleton: &Skeleton) -> Result<usize, Error> {
        let mut data = Vec::new();
        models::write_skeleton(skeleton, &mut data)?;
        self.add(EntryKind::Skeleton, name, None, &data)
    }

    /// Sets the unit of a model: see [`ContainerTable::set_unit`].
    ///
    /// # Errors
    /// The errors of [`ContainerTable::set_unit`].
    pub fn set_unit(&mut self, model: usize, metres: f32) -> Result<(), Error> {
        self.table.set_unit(model, metres)
    }

    /// Sets the shell radius of a clip: see [`ContainerTable::set_shell`].
    ///
    /// # Errors
    /// The errors of [`ContainerTable::set_shell`].
    pub fn set_shell(&mut self, clip: usize, radius: f32) -> Result<(), Error> {
        self.table.set_shell(clip, radius)
    }

    /// Adds a mesh of a model and returns its index. `model` is the index of the model's skeleton.
    ///
    /// # Errors
    /// The errors of [`ContainerReader::mesh`](crate::container::ContainerReader::mesh). [`Error::Index`] if
    /// the mesh uses a joint that its skin or the skeleton lacks. [`Error::Length`] or [`Error::NotFinite`]
    /// for its weights, matrix and colour. [`Error::TooMany`] above 2^32 elements of a kind.
    pub fn add_mesh(
        &mut self,
        name: &str,
        model: usize,
        mesh: &PlacedMesh,
        skeleton: &Skeleton,
    ) -> Result<usize, Error> {
        let mut data = Vec::new();
        models::write_mesh(mesh, skeleton, &mut data)?;
        self.add(EntryKind::Mesh, name, Some(model), &data)
    }

    /// Returns the bytes of the file.
    #[must_use]
    pub fn finish(self) -> Vec<u8> {
        let mut out = self.table.finish();
        out.extend(self.data);
        out
    }
}

/// Builds the table of a container that does not fit in memory. The caller adds each entry here, and writes
/// its bytes separately.
///
/// The file consists of the bytes from [`finish`](Self::finish), then the bytes of each entry in the order of
/// `add`. Zeros before each entry pad the file to a multiple of [`ALIGNMENT`](Self::ALIGNMENT).
///
/// ```
/// use condyle::container::{ContainerTable, ContainerWriter, EntryKind};
///
/// let clips: [(&str, &[u8]); 2] = [("walk", &[1, 2, 3]), ("run", &[4])];
/// let mut table = ContainerTable::default();
/// for (name, data) in clips {
///     table.add(EntryKind::Clip, name, None, data)?;
/// }
/// let mut file = table.finish();
/// for (_, data) in clips {
///     file.resize(file.len().next_multiple_of(ContainerTable::ALIGNMENT), 0);
///     file.extend(data);
/// }
///
/// let mut writer = ContainerWriter::default();
/// for (name, data) in clips {
///     writer.add(EntryKind::Clip, name, None, data)?;
/// }
/// assert_eq!(file, writer.finish());
/// # Ok::<(), condyle::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct ContainerTable {
    entries: Vec<Pending>,
    /// Names, one after another.
    names: String,
    /// Bytes of all entries, with the padding between them.
    length: u64,
}

#[derive(Debug, Clone)]
struct Pending {
    kind: EntryKind,
    model: Option<usize>,
    name_end: u32,
    /// Field of [`Raw`].
    length_field: u32,
    /// Offset from the first entry, a multiple of [`ALIGNMENT`].
    offset: u64,
    length: u64,
    checksum: u64,
}

impl ContainerTable {
    /// Alignment of each entry's bytes in the file.
    pub const ALIGNMENT: usize = ALIGNMENT;

    /// Returns the padding before the next entry in a file that is `length` bytes long so far.
    #[must_use]
    pub fn zeros(length: u64) -> &'static [u8] {
        &[0; ALIGNMENT][..(length.next_multiple_of(ALIGNMENT as u64) - length) as usize]
    }

    /// Adds an entry to the table and returns its index. Only the length and the checksum of `data` are
    /// stored.
    ///
    /// # Errors
    /// The errors of [`ContainerWriter::add`].
    pub fn add(
        &mut self,
        kind: EntryKind,
        name: &str,
        model: Option<usize>,
        data: &[u8],
    ) -> Result<usize, Error> {
        let (at, limit) = (self.entries.len(), NO_MODEL as usize);
        if let Some(found) = model {
            let entry =
                self.entries.get(found).ok_or(Error::Index { what: "models", at, found, count: at })?;
            if entry.kind != EntryKind::Skeleton {
                let expected = "the index of a skeleton";
                return Err(Error::Value { what: "models", at, found: found as u64, expected });
            }
        }
        if at >= limit {
            return Err(Error::TooMany { what: "entries", found: at + 1, limit });
        }
        let found = self.names.len() + name.len();
        let name_end = u32::try_from(found).map_err(|_| Error::TooMany { what: "names", found, limit })?;
        self.names.push_str(name);
        let (offset, length) = (self.length.next_multiple_of(ALIGNMENT as u64), data.len() as u64);
        self.length = offset + length;
        // Normalise `Unknown` with the number of a known kind to that kind.
        let kind = EntryKind::from(u16::from(kind));
        let checksum = checksum(data);
        self.entries.push(Pending { kind, model, name_end, length_field: 0, offset, length, checksum });
        Ok(at)
    }

    /// Sets the metres per unit of a model: its real height divided by its height in the file. `model` is the
    /// index of its skeleton. The stored numbers do not change.
    ///
    /// # Errors
    /// [`Error::Index`] if the entry `model` does not exist, [`Error::Value`] if it is not a skeleton.
    /// [`Error::OutOfRange`] if `metres` is not a finite number above 0.
    pub fn set_unit(&mut self, model: usize, metres: f32) -> Result<(), Error> {
        let named = ["models", "the index of a skeleton", "metres"];
        self.set_length(EntryKind::Skeleton, model, metres, named)
    }

    /// Sets the radius of the ball around each joint in which the error bound of a clip holds, in units of
    /// its model. Pass `condyle_encode::Encoded::shell`. `clip` is the index of the clip, whose bytes do not
    /// change.
    ///
    /// # Errors
    /// [`Error::Index`] if the entry `clip` does not exist, [`Error::Value`] if it is not a clip.
    /// [`Error::OutOfRange`] if `radius` is not a finite number above 0.
    pub fn set_shell(&mut self, clip: usize, radius: f32) -> Result<(), Error> {
        self.set_length(EntryKind::Clip, clip, radius, ["clips", "the index of a clip", "radius"])
    }

    fn set_length(
        &mut self,
        kind: EntryKind,
        index: usize,
        length: f32,
        [what, expected, length_name]: [&'static str; 3],
    ) -> Result<(), Error> {
        let count = self.entries.len();
        let missing = Error::Index { what, at: count, found: index, count };
        let entry = self.entries.get_mut(index).ok_or(missing)?;
        if entry.kind != kind {
            return Err(Error::Value { what, at: count, found: index as u64, expected });
        }
        if stated(length.to_bits()).is_none() {
            let needed = "a finite number above 0";
            return Err(Error::OutOfRange { what: length_name, at: 0, needed });
        }
        entry.length_field = length.to_bits();
        Ok(())
    }

    /// Returns the header, the table and the names.
    #[must_use]
    pub fn finish(self) -> Vec<u8> {
        let names = self.names.len().next_multiple_of(WORD);
        let table = HEADER + self.entries.len() * ENTRY + names + CHECKSUM;
        let start = table.next_multiple_of(ALIGNMENT);
        let end = if self.entries.is_empty() { table as u64 } else { start as u64 + self.length };

        let mut out = Vec::with_capacity(start);
        out.extend(MAGIC);
        out.extend([MAJOR, MINOR].into_iter().flat_map(u16::to_le_bytes));
        // `add` has limited both to 32 bits.
        out.extend(
            [self.entries.len() as u32, self.names.len() as u32, 0].into_iter().flat_map(u32::to_le_bytes),
        );
        out.extend(end.to_le_bytes());
        for entry in &self.entries {
            let raw = Raw {
                kind: entry.kind.into(),
                version: ENTRY_VERSION,
                model: entry.model.map_or(NO_MODEL, |model| model as u32),
                name_end: entry.name_end,
                length_field: entry.length_field,
                offset: start as u64 + entry.offset,
                length: entry.length,
                checksum: entry.checksum,
            };
            raw.write(&mut out);
        }
        out.extend(self.names.as_bytes());
        out.resize(table - CHECKSUM, 0);
        out.extend(checksum(&out).to_le_bytes());
        if !self.entries.is_empty() {
            out.resize(start, 0);
        }
        out
    }
}
