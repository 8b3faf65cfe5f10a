//! The byte layout of a clip. `docs/format.md` is the specification.

use super::raw::Target;
use super::spline::Degree;
use condyle_base::bytes::{checksum, u16_at, u32_at, u64_at};
use condyle_base::error::Error;

pub const MAGIC: [u8; 4] = *b"CLIP";
pub const VERSION: u16 = 3;
pub const HEADER: usize = 56;
/// Size in bytes of a line in the tables of free tracks, of fallback tracks, and of events.
pub const FREE_TRACK: usize = 8;
pub const FALLBACK: usize = 16;
pub const EVENT: usize = 8;
/// Number of bytes that a kernel reads in one load from the start of a record.
pub const WINDOW: usize = 32;
/// Maximum number of bits per component. An f32 holds 24-bit integers exactly.
pub const MAX_BITS: u32 = 24;
/// Maximum number of bits per component of a joint track. Two tracks, after up to seven bits of others, then
/// fit in the 16 bytes that a kernel reads.
pub const JOINT_BITS: u32 = 20;
/// Flags of the header: the clip has root motion; track indices take two bytes.
pub const MOTION: u16 = 1;
pub const WIDE: u16 = 2;
/// Flag of the header: chunks follow it.
pub const CHUNKS: u16 = 4;
/// Bit of a chunk's kind: a reader that does not know the chunk must reject the clip.
pub const REQUIRED: u32 = 1 << 31;
/// Size in bytes of a chunk's header.
pub const CHUNK: usize = 8;
/// Numbers per track: axes of a rotation, a translation or a scale, or three components of a free track.
pub const WIDTH: usize = 3;

/// Number of segment tracks for a free track: one for three components. A rotation takes one, for its
/// logarithm.
#[inline]
pub fn segment_tracks(target: Target, width: usize) -> usize {
    if target.rotates() { 1 } else { width.div_ceil(WIDTH) }
}

/// Maximum number of frames of a clip, and of frames times joints or parts of free tracks. They reject a clip
/// with two keys a year apart, and limit the poses of all frames to 2.7 GB.
pub const MAX_FRAMES: usize = 1 << 22;
pub const MAX_PLACES: usize = 1 << 26;
/// Maximum number of keys of all tracks per byte of a clip. Every curve of the encoder has at least one bit
/// per key.
pub const MAX_KEYS_A_BYTE: usize = 64;
/// Maximum number of free tracks that a two-byte index can address.
pub const MAX_FREE_TRACKS: usize = u16::MAX as usize;

/// Limit of the components of a free rotation's logarithm. Beyond it the sine has no correct digits.
pub const MAX_LOG: f64 = 65536.0;

/// Meaning of the three numbers of a track.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Logarithm of the rotation relative to the rest pose: half of the angle along the axis.
    Rotation,
    /// Difference from the translation of the rest pose.
    Translation,
    /// Difference from the scale of the rest pose.
    Scale,
    /// Three components of a free track, which drives no joint.
    Free,
}

impl Kind {
    pub const ALL: [Self; 4] = [Self::Rotation, Self::Translation, Self::Scale, Self::Free];
}

/// Bits of the smallest step as an f32.
pub const FIRST_STEP: u32 = (127 - 26) << 23;

/// Returns the size of one step of a track's integers: eight steps per octave, starting at 2^-26.
#[inline(always)]
pub fn step(code: u8) -> f32 {
    f32::from_bits(FIRST_STEP + (u32::from(code) << 20))
}

/// The fixed part at the start of a clip.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Header {
    /// [`MOTION`], [`WIDE`], [`CHUNKS`].
    pub flags: u16,
    pub joint_count: usize,
    /// Frames in each segment except the last, which may have fewer.
    pub segment_frames: usize,
    /// Frames after the first one.
    pub frame_count: usize,
    /// Number of segments, at least 1.
    pub segment_count: usize,
    /// Fingerprint of the clip's skeleton; 0 if unknown.
    pub fingerprint: u32,
    /// Fingerprint of the skeleton's rest pose; 0 if unknown.
    pub rest_fingerprint: u32,
    /// Size in bytes of all chunks, including the number that states the size.
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

    /// Offset of the checksum, which covers the bytes before and after it.
    pub const CHECKSUM: usize = 12;

    #[inline]
    pub fn stored_checksum(bytes: &[u8]) -> u64 {
        u64_at(bytes, Self::CHECKSUM)
    }

    /// Computes the checksum that the header should hold.
    #[inline]
    pub fn checksum(bytes: &[u8]) -> u64 {
        let part = |part: Option<&[u8]>| checksum(part.unwrap_or_default());
        part(bytes.get(..Self::CHECKSUM)) ^ part(bytes.get(Self::CHECKSUM + 8..))
    }

    /// Size of a track index in bytes.
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

    /// End of the fixed tables.
    pub fn tables_end(&self) -> usize {
        self.fallback_tracks() + FALLBACK * self.fallback_count
    }
}

/// Tracks of a segment with the same kind, degree and number of keys. Their keys are rows of packed bits, one
/// per key.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Class {
    pub kind: Kind,
    pub degree: Degree,
    pub intervals: usize,
    pub count: usize,
    /// Size of a row in bytes; 0 for constants.
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

    /// Size in bytes of a class in the table of classes.
    pub const LINE: usize = 7;

    /// Reads a class. Returns the code as the error if its kind or degree is unknown.
    #[inline(always)]
    fn read(bytes: &[u8], at: usize) -> Result<Self, u8> {
        // A segment is long enough that at least one byte follows its last line.
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

/// A part of a clip that holds everything for the times within it. Offsets count from the segment's first
/// byte.
///
/// The order is: a header, a line for each class, the rows of each class, and a record for each track.
/// Records are in the order of the classes.
#[derive(Debug, Clone, Copy)]
pub struct Segment<'a> {
    /// Bytes from the start of the segment to the end of the clip, because the windows of kernels may reach
    /// past the segment.
    pub bytes: &'a [u8],
    pub class_count: usize,
    pub track_count: usize,
    /// Size in bytes of each component's offset in a record.
    pub offset_bytes: usize,
    pub index_bytes: usize,
    /// Offset of the records.
    pub records: usize,
    /// Whether there are linear rotations, which are interpolated from key to key.
    pub turns: bool,
    /// Whether these are interpolated by nlerp.
    pub straight: bool,
}

/// A class, and the offsets of its rows and tracks.
#[derive(Debug, Clone, Copy)]
pub struct Placed {
    pub class: Class,
    /// Offset of the first row.
    pub rows: usize,
    /// First track.
    pub track: usize,
}

/// Number of a class, and the offsets of its rows and tracks.
#[derive(Debug, Clone, Copy)]
pub struct ClassPlace {
    at: usize,
    rows: usize,
    track: usize,
}

impl ClassPlace {
    /// Moves on to the class after `class`, which is at this place.
    #[inline(always)]
    pub fn pass(&mut self, class: &Class) {
        self.at += 1;
        self.rows += class.key_count() * class.row_bytes;
        self.track += class.count;
    }
}

/// Size in bytes of a segment's header, before the classes.
pub const SEGMENT: usize = 8;
/// Flag in the byte with the size of offsets: there are linear rotations.
pub const TURNS: u8 = 0x80;
/// Flag in the same byte: they are interpolated by nlerp, because the budget allows it.
pub const STRAIGHT: u8 = 0x40;
/// Position of the component offsets in a record: after the step (one byte), the widths (three) and the low
/// byte of the index.
pub const OFFSET: usize = 5;

/// Rotations of a segment that are interpolated from key to key, all in one class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinearRotations {
    /// Number of intervals between their keys.
    pub intervals: usize,
    /// Whether they use nlerp instead of slerp.
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

    /// Returns the linear rotations, if any.
    #[inline(always)]
    pub fn linear_rotations(&self) -> Option<LinearRotations> {
        if !self.turns {
            return None;
        }
        let is_linear = |class: &Class| class.kind == Kind::Rotation && class.degree == Degree::Linear;
        let class = self.classes().map(|placed| placed.class).find(is_linear)?;
        Some(LinearRotations { intervals: class.intervals, straight: self.straight })
    }

    /// Size of a record in bytes: step, widths, the low byte of the index, offsets, and the high byte of a
    /// two-byte index.
    #[inline(always)]
    pub fn record_bytes(&self) -> usize {
        OFFSET + WIDTH * self.offset_bytes + self.index_bytes - 1
    }

    /// Returns the offset of a track's record.
    pub fn record(&self, track: usize) -> usize {
        self.records.saturating_add(track * self.record_bytes())
    }

    /// Returns the end of the segment.
    #[inline]
    pub fn end(&self) -> usize {
        self.record(self.track_count)
    }

    /// Returns a class, or the code as the error if its kind or degree is unknown.
    #[inline(always)]
    pub fn class(&self, at: usize) -> Result<Class, u8> {
        Class::read(self.bytes, SEGMENT + at * Class::LINE)
    }

    /// Returns the place of the first class.
    #[inline(always)]
    pub fn first_class(&self) -> ClassPlace {
        ClassPlace { at: 0, rows: SEGMENT + self.class_count * Class::LINE, track: 0 }
    }

    /// Returns the class at a place, or `None` after the last one.
    #[inline(always)]
    pub fn placed(&self, &ClassPlace { at, rows, track }: &ClassPlace) -> Option<Placed> {
        if at >= self.class_count {
            return None;
        }
        let class = self.class(at).ok()?;
        Some(Placed { class, rows, track })
    }

    /// Returns the classes in order, each with its place.
    #[inline(always)]
    pub fn classes(&self) -> impl Iterator<Item = Placed> + use<'a, '_> {
        let mut place = self.first_class();
        core::iter::from_fn(move || {
            let placed = self.placed(&place)?;
            place.pass(&placed.class);
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

    /// Returns the offset of a component, to which its keys are added.
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

    /// Returns the number of bits of each component.
    #[inline]
    pub fn widths(&self, track: usize) -> [u32; WIDTH] {
        let [_, widths @ ..] = u32_at(self.bytes, self.record(track)).to_le_bytes();
        widths.map(u32::from)
    }

    /// Returns the number of bits of all components of a track.
    #[inline]
    pub fn total_width(&self, track: usize) -> usize {
        self.widths(track).iter().sum::<u32>() as usize
    }
}

/// Returns the error for an invalid value in a clip.
#[inline]
pub fn value(what: &'static str, at: usize, found: usize, expected: &'static str) -> Error {
    Error::Value { what, at, found: found as u64, expected }
}
