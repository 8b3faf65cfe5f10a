//! The byte layout of a clip. `docs/format.md` specifies it in words.

use super::raw::Target;
use super::spline::Degree;
use condyle_base::bytes::{checksum, u16_at, u32_at, u64_at};
use condyle_base::error::Error;

pub const MAGIC: [u8; 4] = *b"CLIP";
pub const VERSION: u16 = 3;
pub const HEADER: usize = 56;
/// Bytes of a free track's line in its table, of a fallback track's, and of an event's.
pub const FREE_TRACK: usize = 8;
pub const FALLBACK: usize = 16;
pub const EVENT: usize = 8;
/// Bytes that a kernel reads at once from where a record begins.
pub const WINDOW: usize = 32;
/// The most bits of a component: as many as an f32 can hold.
pub const MAX_BITS: u32 = 24;
/// The most bits of a joint's component: two tracks, after up to seven bits of others, then fit in the 16
/// bytes that a kernel reads.
pub const JOINT_BITS: u32 = 20;
/// Flags of the header: the clip has root motion; indices of tracks take two bytes.
pub const MOTION: u16 = 1;
pub const WIDE: u16 = 2;
/// Another flag of the header: chunks follow it.
pub const CHUNKS: u16 = 4;
/// The bit of a chunk's kind that says that a reader which does not know it must refuse the clip.
pub const REQUIRED: u32 = 1 << 31;
/// Bytes of a chunk before its data.
pub const CHUNK: usize = 8;
/// Numbers in a track: axes of a rotation, of a translation, of a scale, or three of a free track.
pub const WIDTH: usize = 3;

/// How many tracks of a segment a free track takes: one for three components. A rotation takes one, its
/// logarithm.
#[inline]
pub fn segment_tracks(target: Target, width: usize) -> usize {
    if target.rotates() { 1 } else { width.div_ceil(WIDTH) }
}

/// The most frames of a clip, and the most frames times joints or parts of free tracks. Two keys that are a
/// year apart are no animation, and the poses of so many joints take 2.7 GB.
pub const MAX_FRAMES: usize = 1 << 22;
pub const MAX_PLACES: usize = 1 << 26;
/// The most keys of all tracks for each byte of a clip. Every curve of the encoder has a bit a key at least.
pub const MAX_KEYS_A_BYTE: usize = 64;
/// As many as an index of two bytes can number.
pub const MAX_FREE_TRACKS: usize = u16::MAX as usize;

/// Components of a free rotation's logarithm are clamped to this: beyond it the sine has no correct digits.
pub const MAX_LOG: f64 = 65536.0;

/// What the three numbers of a track mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// The logarithm of the turn from the rest pose's rotation: half of the angle along the axis.
    Rotation,
    /// The difference from the rest pose's translation.
    Translation,
    /// The difference from the rest pose's scale.
    Scale,
    /// Three components of a free track, which drives no joint.
    Free,
}

impl Kind {
    pub const ALL: [Self; 4] = [Self::Rotation, Self::Translation, Self::Scale, Self::Free];
}

/// The bits of the smallest step.
pub const FIRST_STEP: u32 = (127 - 26) << 23;

/// What one step of a track's integers is worth: eight steps in each octave, from 2^-26 on.
#[inline(always)]
pub fn step(code: u8) -> f32 {
    f32::from_bits(FIRST_STEP + (u32::from(code) << 20))
}

/// The fixed part at the front of a clip.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Header {
    /// [`MOTION`], [`WIDE`], [`CHUNKS`].
    pub flags: u16,
    pub joint_count: usize,
    /// Frames in each segment but the last, which may have fewer.
    pub segment_frames: usize,
    /// Frames after the first one.
    pub frame_count: usize,
    /// As many as the frames take, at least 1.
    pub segment_count: usize,
    /// Of the skeleton that the clip is for; 0 if that is not known.
    pub fingerprint: u32,
    /// Of its rest pose; 0 if that is not known.
    pub rest_fingerprint: u32,
    /// Bytes of all chunks, with the number that says how many.
    pub chunks: usize,
    pub start: f32,
    pub end: f32,
    pub budget: f32,
    pub free_track_count: usize,
    pub event_count: usize,
    pub fallback_count: usize,
}

impl Header {
    /// Reads the header. `from_bytes` has checked that the bytes are there.
    pub fn read(bytes: &[u8]) -> Self {
        let float = |at| f32::from_bits(u32_at(bytes, at));
        let (segment_frames, frame_count) = (usize::from(u16_at(bytes, 22)), u32_at(bytes, 24) as usize);
        Self {
            flags: u16_at(bytes, 6),
            joint_count: u16_at(bytes, 20).into(),
            segment_frames,
            frame_count,
            segment_count: frame_count.div_ceil(segment_frames.max(1)).max(1),
            fingerprint: u32_at(bytes, 28),
            rest_fingerprint: u32_at(bytes, 52),
            chunks: match u16_at(bytes, 6) & CHUNKS {
                0 => 0,
                _ => (u32_at(bytes, HEADER) as usize).saturating_add(4),
            },
            start: float(32),
            end: float(36),
            budget: float(40),
            free_track_count: u16_at(bytes, 44).into(),
            event_count: u16_at(bytes, 46).into(),
            fallback_count: u32_at(bytes, 48) as usize,
        }
    }

    /// Where the checksum is. It covers the bytes before it and those after it.
    pub const CHECKSUM: usize = 12;

    #[inline]
    pub fn stored_checksum(bytes: &[u8]) -> u64 {
        u64_at(bytes, Self::CHECKSUM)
    }

    /// The checksum that the header should hold.
    #[inline]
    pub fn checksum(bytes: &[u8]) -> u64 {
        let part = |part: Option<&[u8]>| checksum(part.unwrap_or_default());
        part(bytes.get(..Self::CHECKSUM)) ^ part(bytes.get(Self::CHECKSUM + 8..))
    }

    /// Bytes of an index of a track.
    #[inline]
    pub fn index_bytes(&self) -> usize {
        if self.flags & WIDE == 0 { 1 } else { 2 }
    }

    #[inline]
    pub fn segments(&self) -> usize {
        HEADER.saturating_add(self.chunks)
    }

    #[inline]
    pub fn free_tracks(&self) -> usize {
        self.segments().saturating_add(4 * self.segment_count)
    }

    #[inline]
    pub fn fallback_tracks(&self) -> usize {
        self.free_tracks() + FREE_TRACK * self.free_track_count
    }

    /// Where the fixed tables end.
    pub fn tables_end(&self) -> usize {
        self.fallback_tracks() + FALLBACK * self.fallback_count
    }
}

/// Tracks of a segment that share kind, degree and number of keys. Their keys are rows of packed bits, one
/// per key.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Class {
    pub kind: Kind,
    pub degree: Degree,
    pub intervals: usize,
    pub count: usize,
    /// Bytes of a row; 0 for constants.
    pub row_bytes: usize,
}

impl Class {
    #[inline(always)]
    pub fn key_count(&self) -> usize {
        match self.degree {
            Degree::Constant => 0,
            _ => self.intervals + 1,
        }
    }

    /// Bytes of its line in the table.
    pub const LINE: usize = 7;

    /// Fails with the code of a kind or degree that is not known.
    #[inline(always)]
    fn read(bytes: &[u8], at: usize) -> Result<Self, u8> {
        // A segment is never so short that its last line is not followed by a byte.
        let line = u64_at(bytes, at);
        let code = line as u8;
        let short = |shift: u32| usize::from((line >> shift) as u16);
        let kind = Kind::ALL.get(usize::from(code & 3)).copied().ok_or(code)?;
        let degree = match code >> 2 {
            0 => Degree::Constant,
            1 => Degree::Linear,
            3 => Degree::Cubic,
            _ => return Err(code),
        };
        Ok(Self { kind, degree, intervals: short(8), row_bytes: short(24), count: short(40) })
    }

    #[inline]
    pub fn code(&self) -> u8 {
        let degree = match self.degree {
            Degree::Constant => 0,
            Degree::Linear => 1,
            Degree::Cubic => 3,
        };
        self.kind as u8 | degree << 2
    }
}

/// Some seconds of a clip: all that a moment within them needs. Offsets count from the segment's first byte.
///
/// In this order: a header, a line for each class, the rows of each class, and a record for each track, in
/// the order of their classes.
#[derive(Debug, Clone, Copy)]
pub struct Segment<'a> {
    /// From its first byte to the end of the clip: the windows that kernels read may reach past the segment.
    pub bytes: &'a [u8],
    pub class_count: usize,
    pub track_count: usize,
    /// Bytes of each component's offset in a record.
    pub offset_bytes: usize,
    pub index_bytes: usize,
    /// Where the records begin.
    pub records: usize,
    /// Whether there are linear rotations, which are interpolated from key to key.
    pub turns: bool,
    /// Whether these are interpolated by nlerp.
    pub straight: bool,
}

/// A class, and where its rows and tracks are.
#[derive(Debug, Clone, Copy)]
pub struct Placed {
    pub class: Class,
    /// Its first row.
    pub rows: usize,
    /// Its first track.
    pub track: usize,
}

/// Bytes before the classes.
pub const SEGMENT: usize = 8;
/// In the byte that says how long offsets are: there are linear rotations.
pub const TURNS: u8 = 0x80;
/// In the same byte: they are interpolated by nlerp, which the budget allows.
pub const STRAIGHT: u8 = 0x40;
/// Where the offsets of a record begin: after the step (one byte), the widths (three) and the lower byte of
/// the index.
pub const OFFSET: usize = 5;

/// Rotations of a segment that go from key to key, all of them in one class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinearRotations {
    /// Between their keys.
    pub intervals: usize,
    /// By nlerp instead of slerp.
    pub straight: bool,
}

impl<'a> Segment<'a> {
    #[inline(always)]
    pub fn new(bytes: &'a [u8], index_bytes: usize) -> Self {
        let head = u64_at(bytes, 0);
        let class_count = usize::from(head as u8);
        let offsets = (head >> 8) as u8;
        Self {
            bytes,
            class_count,
            track_count: usize::from((head >> 16) as u16),
            offset_bytes: usize::from(offsets & !(TURNS | STRAIGHT)),
            index_bytes,
            records: (SEGMENT + class_count * Class::LINE).saturating_add((head >> 32) as usize),
            turns: offsets & TURNS != 0,
            straight: offsets & STRAIGHT != 0,
        }
    }

    /// Its linear rotations; `None` if it has none.
    #[inline(always)]
    pub fn linear_rotations(&self) -> Option<LinearRotations> {
        if !self.turns {
            return None;
        }
        let is_linear = |class: &Class| class.kind == Kind::Rotation && class.degree == Degree::Linear;
        let class = self.classes().map(|placed| placed.class).find(is_linear)?;
        Some(LinearRotations { intervals: class.intervals, straight: self.straight })
    }

    /// Bytes of a record: step, widths, the lower byte of the index, offsets, and the upper byte of the index
    /// if it has one.
    #[inline(always)]
    pub fn record_bytes(&self) -> usize {
        OFFSET + WIDTH * self.offset_bytes + self.index_bytes - 1
    }

    /// Where the record of a track begins.
    pub fn record(&self, track: usize) -> usize {
        self.records.saturating_add(track * self.record_bytes())
    }

    /// Where the segment ends.
    #[inline]
    pub fn end(&self) -> usize {
        self.record(self.track_count)
    }

    /// Fails with the code of a kind or degree that is not known.
    #[inline(always)]
    pub fn class(&self, at: usize) -> Result<Class, u8> {
        Class::read(self.bytes, SEGMENT + at * Class::LINE)
    }

    /// The classes in their order, each with its place.
    #[inline(always)]
    pub fn classes(&self) -> impl Iterator<Item = Placed> + use<'a, '_> {
        let mut rows = SEGMENT + self.class_count * Class::LINE;
        let mut track = 0;
        (0..self.class_count).map_while(move |at| {
            let class = self.class(at).ok()?;
            let placed = Placed { class, rows, track };
            rows += class.key_count() * class.row_bytes;
            track += class.count;
            Some(placed)
        })
    }

    #[inline]
    pub fn index(&self, track: usize) -> usize {
        let byte = |at: usize| usize::from(self.bytes.get(at).copied().unwrap_or_default());
        let record = self.record(track);
        let low = byte(record + OFFSET - 1);
        if self.index_bytes == 1 { low } else { low | byte(record + self.record_bytes() - 1) << 8 }
    }

    /// The offset of one of a track's components, which its keys count from.
    #[inline]
    pub fn offset(&self, track: usize, component: usize) -> i32 {
        let at = self.record(track) + OFFSET + self.offset_bytes * component;
        let upper = 32_u32.saturating_sub(8 * self.offset_bytes as u32);
        (u32_at(self.bytes, at) << upper) as i32 >> upper
    }

    #[inline]
    pub fn step(&self, track: usize) -> f32 {
        step(self.bytes.get(self.record(track)).copied().unwrap_or_default())
    }

    /// Bits of each component.
    #[inline]
    pub fn widths(&self, track: usize) -> [u32; WIDTH] {
        let [_, widths @ ..] = u32_at(self.bytes, self.record(track)).to_le_bytes();
        widths.map(u32::from)
    }

    /// Bits of all of a track's components.
    #[inline]
    pub fn total_width(&self, track: usize) -> usize {
        self.widths(track).iter().sum::<u32>() as usize
    }
}

/// The error for a value in a clip that is not allowed.
#[inline]
pub fn value(what: &'static str, at: usize, found: usize, expected: &'static str) -> Error {
    Error::Value { what, at, found: found as u64, expected }
}
