//! The header and the table of a container.

use crate::bytes;

pub(super) const WHAT: &str = "a container";
pub(super) const MAGIC: [u8; 8] = *b"CONDYLE\0";
pub(super) const MAJOR: u16 = 1;
pub(super) const MINOR: u16 = 1;
/// Bytes of the header, of an entry in the table, and of the checksum that ends the table.
pub(super) const HEADER: usize = 32;
pub(super) const ENTRY: usize = 40;
pub(super) const CHECKSUM: usize = 8;
/// Alignment of each entry's bytes in the file, and of the end of the names.
pub(super) const WORD: usize = 8;
pub(super) const ALIGNMENT: usize = 16;
/// Stands for no model.
pub(super) const NO_MODEL: u32 = u32::MAX;

/// What an entry of a container holds.
///
/// ```
/// use condyle::container::EntryKind;
///
/// assert_eq!(EntryKind::from(3), EntryKind::Clip);
/// assert_eq!(u32::from(EntryKind::Skeleton), 1);
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
    /// The document that a model was made from, without its animations, as a `.glb`.
    Document,
    /// What is to be known of the file or of a model besides, as JSON: of a library the names, tags and figures of its clips.
    Metadata,
    /// A kind unknown to this version: its bytes are available as they are.
    Unknown(u32),
}

impl From<u32> for EntryKind {
    fn from(code: u32) -> Self {
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

impl From<EntryKind> for u32 {
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

/// The metres that a stored unit says: version 1.0 left zeros there, and no number there is refused.
pub(super) fn unit_of(stored: u32) -> Option<f32> {
    Some(f32::from_bits(stored)).filter(|metres| metres.is_finite() && *metres > 0.0)
}

/// One record of the table, as stored.
pub(super) struct Raw {
    pub(super) kind: u32,
    pub(super) model: u32,
    pub(super) name_end: u32,
    /// See [`unit_of`].
    pub(super) unit: u32,
    pub(super) offset: u64,
    pub(super) length: u64,
    pub(super) checksum: u64,
}

impl Raw {
    pub(super) fn of(entry: &[u8; ENTRY]) -> Self {
        Self {
            kind: bytes::u32_at(entry, 0),
            model: bytes::u32_at(entry, 4),
            name_end: bytes::u32_at(entry, 8),
            unit: bytes::u32_at(entry, 12),
            offset: bytes::u64_at(entry, 16),
            length: bytes::u64_at(entry, 24),
            checksum: bytes::u64_at(entry, 32),
        }
    }

    pub(super) fn write(&self, out: &mut alloc::vec::Vec<u8>) {
        for number in [self.kind, self.model, self.name_end, self.unit] {
            out.extend(number.to_le_bytes());
        }
        for number in [self.offset, self.length, self.checksum] {
            out.extend(number.to_le_bytes());
        }
    }
}
