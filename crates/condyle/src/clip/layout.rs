//! Where in the bytes of a clip each thing stands. `docs/format.md` says the same in words.

use crate::Error;
use crate::bytes::{checksum, u16_at, u32_at, u64_at};
use crate::clip::spline::Degree;

pub(crate) const MAGIC: [u8; 4] = *b"CLIP";
pub(crate) const VERSION: u16 = 1;
pub(crate) const HEADER: usize = 52;
/// A morph set or a named value, a track that is kept as it was authored, and an event.
pub(crate) const SET: usize = 8;
pub(crate) const EXACT: usize = 16;
pub(crate) const EVENT: usize = 8;
/// What a kernel reads at once, from any byte on.
pub(crate) const WINDOW: usize = 32;
/// A component has at most that many bits: what an f32 holds.
pub(crate) const MAX_BITS: u32 = 24;
/// Bits of the header: the clip has root motion; indices and numbers of tracks take two bytes.
pub(crate) const MOTION: u16 = 1;
pub(crate) const WIDE: u16 = 2;
/// Numbers in a track: axes of a rotation, of a translation, of a scale, or three of a set.
pub(crate) const WIDTH: usize = 3;

/// What the numbers of a track are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// The logarithm of the turn from the rest pose's rotation: half of the angle along the axis.
    Rotation,
    /// The difference from the rest pose's translation.
    Translation,
    /// The difference from the rest pose's scale.
    Scale,
    /// Three numbers of a set.
    Values,
}

impl Kind {
    pub(crate) const ALL: [Self; 4] = [Self::Rotation, Self::Translation, Self::Scale, Self::Values];
}

/// What one step of a track's integers is worth: eight steps in each octave, from 2^-26 on.
pub(crate) fn step(code: u8) -> f32 {
    f32::from_bits(((127 - 26) << 23) + (u32::from(code) << 20))
}

/// The fixed part in front of a clip's bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Header {
    /// [`MOTION`], [`WIDE`].
    pub(crate) flags: u16,
    pub(crate) joint_count: usize,
    /// Frames in each segment but the last, which may have fewer.
    pub(crate) segment_frames: usize,
    /// Frames after the first one.
    pub(crate) frame_count: usize,
    pub(crate) segment_count: usize,
    pub(crate) start: f32,
    pub(crate) end: f32,
    pub(crate) budget: f32,
    pub(crate) set_count: usize,
    pub(crate) event_count: usize,
    pub(crate) exact_count: usize,
}

impl Header {
    /// Reads it; `from_bytes` has found that the bytes are there.
    pub(crate) fn read(bytes: &[u8]) -> Self {
        let float = |at| f32::from_bits(u32_at(bytes, at));
        Self {
            flags: u16_at(bytes, 6),
            joint_count: u16_at(bytes, 20).into(),
            segment_frames: u16_at(bytes, 22).into(),
            frame_count: u32_at(bytes, 24) as usize,
            segment_count: u32_at(bytes, 28) as usize,
            start: float(32),
            end: float(36),
            budget: float(40),
            set_count: u16_at(bytes, 44).into(),
            event_count: u16_at(bytes, 46).into(),
            exact_count: u32_at(bytes, 48) as usize,
        }
    }

    /// Where the checksum stands: between what it covers in two parts.
    pub(crate) const CHECKSUM: usize = 12;

    pub(crate) fn stored_checksum(bytes: &[u8]) -> u64 {
        u64_at(bytes, Self::CHECKSUM)
    }

    /// What it should be.
    pub(crate) fn checksum(bytes: &[u8]) -> u64 {
        let part = |part: Option<&[u8]>| checksum(part.unwrap_or_default());
        part(bytes.get(..Self::CHECKSUM)) ^ part(bytes.get(Self::CHECKSUM + 8..))
    }

    /// Bytes of an index of a joint or of a count of tracks.
    pub(crate) fn index_bytes(&self) -> usize {
        if self.flags & WIDE == 0 { 1 } else { 2 }
    }

    pub(crate) fn segments(&self) -> usize {
        HEADER
    }

    pub(crate) fn sets(&self) -> usize {
        self.segments() + 4 * self.segment_count
    }

    pub(crate) fn exacts(&self) -> usize {
        self.sets() + SET * self.set_count
    }

    /// Where the fixed tables end.
    pub(crate) fn tables_end(&self) -> usize {
        self.exacts() + EXACT * self.exact_count
    }
}

/// Tracks of a segment that share kind, degree and number of keys. Their keys are rows of packed bits, one per key.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Class {
    pub(crate) kind: Kind,
    pub(crate) degree: Degree,
    pub(crate) intervals: usize,
    pub(crate) count: usize,
    /// Bytes of a row; 0 for constants.
    pub(crate) row_bytes: usize,
}

impl Class {
    pub(crate) fn key_count(&self) -> usize {
        match self.degree {
            Degree::Constant => 0,
            _ => self.intervals + 1,
        }
    }

    /// Bytes of its line in the table.
    pub(crate) fn line(index_bytes: usize) -> usize {
        5 + index_bytes
    }

    fn read(bytes: &[u8], at: usize, index_bytes: usize) -> Result<Self, u8> {
        let code = bytes.get(at).copied().unwrap_or_default();
        let kind = Kind::ALL.get(usize::from(code & 3)).copied().ok_or(code)?;
        let degree = match code >> 2 {
            0 => Degree::Constant,
            1 => Degree::Linear,
            3 => Degree::Cubic,
            _ => return Err(code),
        };
        Ok(Self {
            kind,
            degree,
            intervals: u16_at(bytes, at + 1).into(),
            row_bytes: u16_at(bytes, at + 3).into(),
            count: index_at(bytes, at + 5, index_bytes),
        })
    }

    pub(crate) fn code(&self) -> u8 {
        let degree = match self.degree {
            Degree::Constant => 0,
            Degree::Linear => 1,
            Degree::Cubic => 3,
        };
        self.kind as u8 | degree << 2
    }
}

/// A number of one or two bytes.
pub(crate) fn index_at(bytes: &[u8], at: usize, index_bytes: usize) -> usize {
    if index_bytes == 1 {
        bytes.get(at).copied().unwrap_or_default().into()
    } else {
        u16_at(bytes, at).into()
    }
}

/// Some seconds of a clip: all that a moment within them needs. Offsets count from the first byte of the segment.
///
/// In this order: how many classes and how long offsets are, the classes, the rows of each class, and for all tracks in the
/// order of their classes the offsets, the widths (none for constants), the steps and the indices.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Segment<'a> {
    /// From its first byte to the end of the clip: windows may reach into what follows.
    pub(crate) bytes: &'a [u8],
    pub(crate) class_count: usize,
    pub(crate) offset_bytes: usize,
    pub(crate) index_bytes: usize,
    pub(crate) offsets: usize,
    pub(crate) widths: usize,
    pub(crate) steps: usize,
    pub(crate) indices: usize,
    pub(crate) end: usize,
    /// Intervals of the linear rotations, which all have the same; 0 if there are none.
    pub(crate) turns: usize,
}

/// A class, and where what belongs to it stands.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Placed {
    pub(crate) class: Class,
    /// Its first row.
    pub(crate) rows: usize,
    /// Its first track, among all, and among those that have widths.
    pub(crate) track: usize,
    pub(crate) wide: usize,
}

const SEGMENT: usize = 2;

impl<'a> Segment<'a> {
    /// Holds nothing.
    pub(crate) const NONE: Self = Self {
        bytes: &[],
        class_count: 0,
        offset_bytes: 1,
        index_bytes: 1,
        offsets: 0,
        widths: 0,
        steps: 0,
        indices: 0,
        end: 0,
        turns: 0,
    };

    /// Finds everything. Fails with the place and the code of a class that is not known. Where the end is beyond all memory, as no
    /// segment's is, it is the greatest number.
    pub(crate) fn read(bytes: &'a [u8], index_bytes: usize) -> Result<Self, (usize, u8)> {
        let (class_count, offset_bytes) = match bytes {
            [classes, offset, ..] => (usize::from(*classes), usize::from(*offset)),
            _ => (0, 1),
        };
        let mut segment = Self {
            bytes,
            class_count,
            offset_bytes,
            index_bytes,
            offsets: SEGMENT + class_count * Class::line(index_bytes),
            widths: 0,
            steps: 0,
            indices: 0,
            end: 0,
            turns: 0,
        };
        let (mut tracks, mut wide) = (0, 0);
        for at in 0..class_count {
            let class = segment.class(at).map_err(|code| (at, code))?;
            let rows = class.key_count().saturating_mul(class.row_bytes);
            segment.offsets = segment.offsets.saturating_add(rows);
            tracks += class.count;
            if class.degree != Degree::Constant {
                wide += class.count;
            }
            if class.kind == Kind::Rotation && class.degree == Degree::Linear {
                segment.turns = class.intervals;
            }
        }
        segment.widths = segment.offsets.saturating_add(tracks.saturating_mul(WIDTH * offset_bytes));
        segment.steps = segment.widths.saturating_add(2 * wide);
        segment.indices = segment.steps.saturating_add(tracks);
        segment.end = segment.indices.saturating_add(index_bytes * tracks);
        Ok(segment)
    }

    fn class(&self, at: usize) -> Result<Class, u8> {
        Class::read(self.bytes, SEGMENT + at * Class::line(self.index_bytes), self.index_bytes)
    }

    /// The classes in their order, each with its place.
    pub(crate) fn classes(&self) -> impl Iterator<Item = Placed> + use<'a, '_> {
        let mut rows = SEGMENT + self.class_count * Class::line(self.index_bytes);
        let (mut track, mut wide) = (0, 0);
        (0..self.class_count).filter_map(move |at| {
            let class = self.class(at).ok()?;
            let placed = Placed { class, rows, track, wide };
            rows += class.key_count() * class.row_bytes;
            track += class.count;
            if class.degree != Degree::Constant {
                wide += class.count;
            }
            Some(placed)
        })
    }

    pub(crate) fn index(&self, track: usize) -> usize {
        // The lower bytes of all, then the upper ones.
        let byte = |at: usize| usize::from(self.bytes.get(at).copied().unwrap_or_default());
        let low = byte(self.indices + track);
        if self.index_bytes == 1 { low } else { low | byte(2 * self.indices - self.steps + track) << 8 }
    }

    pub(crate) fn step(&self, track: usize) -> f32 {
        step(self.bytes.get(self.steps + track).copied().unwrap_or_default())
    }

    /// Three times five bits.
    pub(crate) fn width(&self, wide: usize) -> u16 {
        u16_at(self.bytes, self.widths + 2 * wide)
    }

    /// What the keys of one of a track's components count from.
    pub(crate) fn offset(&self, track: usize, component: usize) -> i32 {
        let at = self.offsets + self.offset_bytes * (WIDTH * track + component);
        let upper = 32_u32.saturating_sub(8 * self.offset_bytes as u32);
        (u32_at(self.bytes, at) << upper) as i32 >> upper
    }
}

/// Bits of each component.
pub(crate) fn unpack_widths(packed: u16) -> [u32; WIDTH] {
    [0, 5, 10].map(|shift| u32::from(packed) >> shift & 31)
}

/// Bits of all of a track's components.
#[inline(always)]
pub(crate) fn total_width(packed: u16) -> usize {
    let packed = usize::from(packed);
    (packed & 31) + (packed >> 5 & 31) + (packed >> 10 & 31)
}

/// Errors of what a clip holds.
pub(crate) fn value(what: &'static str, at: usize, found: usize, expected: &'static str) -> Error {
    Error::Value { what, at, found: found as u64, expected }
}
