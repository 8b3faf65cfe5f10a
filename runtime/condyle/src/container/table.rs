//! Header and table of a container.

use condyle_base::bytes;

pub(super) const WHAT: &str = "a container";
pub(super) const MAGIC: [u8; 8] = *b"CONDYLE\0";
pub(super) const MAJOR: u16 = 1;
pub(super) const MINOR: u16 = 1;
/// Size in bytes of the header, of an entry in the table, and of the checksum at the end of the table.
pub(super) const HEADER: usize = 32;
pub(super) const ENTRY: usize = 40;
pub(super) const CHECKSUM: usize = 8;
/// Alignment of the end of the names, and of each entry's bytes in the file.
pub(super) const WORD: usize = 8;
pub(super) const ALIGNMENT: usize = 16;
/// Version of the entry layout that this reader knows: the same for all kinds.
pub(super) const ENTRY_VERSION: u16 = 0;
/// Value for an entry without a model.
pub(super) const NO_MODEL: u32 = u32::MAX;

/// Kind of an entry in a container.
///
/// ```
/// use condyle::container::EntryKind;
///
/// assert_eq!(EntryKind::from(3), EntryKind::Clip);
/// assert_eq!(u16::from(EntryKind::Skeleton), 1);
/// assert_eq!(EntryKind::from(99), EntryKind::Unknown(99));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EntryKind {
    /// A [`Skeleton`](crate::skeleton::Skeleton).
    Skeleton,
    /// A [`PlacedMesh`](super::PlacedMesh).
    Mesh,
    /// A compressed clip.
    Clip,
    /// The document that a model was imported from, without its animations, as a `.glb`.
    Document,
    /// Additional data about the file or a model, as JSON. In a library: names, tags and figures of its
    /// clips.
    Metadata,
    /// A kind unknown to this version. Its bytes are available without interpretation.
    Unknown(u16),
}

impl From<u16> for EntryKind {
    fn from(code: u16) -> Self {
        match code {
            1 => Self::Skeleton,
            2 => Self::Mesh,
            3 => Self::Clip,
            4 => Self::Document,
            5 => Self::Metadata,
            other => Self::Unknown(other),
        }
    }
}

impl From<EntryKind> for u16 {
    fn from(kind: EntryKind) -> Self {
        match kind {
            EntryKind::Skeleton => 1,
            EntryKind::Mesh => 2,
            EntryKind::Clip => 3,
            EntryKind::Document => 4,
            EntryKind::Metadata => 5,
            EntryKind::Unknown(code) => code,
        }
    }
}

/// Returns the length that a record states: a finite number above 0. Other values, like the zeros of version
/// 1.0, mean that the file does not state one.
pub(super) fn stated(length: u32) -> Option<f32> {
    Some(f32::from_bits(length)).filter(|length| length.is_finite() && *length > 0.0)
}

/// One record of the table, as stored.
pub(super) struct Raw {
    pub(super) kind: u16,
    /// Version of the entry's layout.
    pub(super) version: u16,
    pub(super) model: u32,
    pub(super) name_end: u32,
    /// Metres per unit of a skeleton, or shell radius of a clip: see [`stated`].
    pub(super) length_field: u32,
    pub(super) offset: u64,
    pub(super) length: u64,
    pub(super) checksum: u64,
}

impl Raw {
    pub(super) fn of(entry: &[u8; ENTRY]) -> Self {
        Self {
            kind: bytes::u16_at(entry, 0),
            version: bytes::u16_at(entry, 2),
            model: bytes::u32_at(entry, 4),
            name_end: bytes::u32_at(entry, 8),
            length_field: bytes::u32_at(entry, 12),
            offset: bytes::u64_at(entry, 16),
            length: bytes::u64_at(entry, 24),
            checksum: bytes::u64_at(entry, 32),
        }
    }

    pub(super) fn write(&self, out: &mut alloc::vec::Vec<u8>) {
        for number in [self.kind, self.version] {
            out.extend(number.to_le_bytes());
        }
        for number in [self.model, self.name_end, self.length_field] {
            out.extend(number.to_le_bytes());
        }
        for number in [self.offset, self.length, self.checksum] {
            out.extend(number.to_le_bytes());
        }
    }
}
