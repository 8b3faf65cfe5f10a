//! The resident form of a clip: the same integers as in its bytes, unpacked once into rows that SIMD lanes
//! load directly.
//!
//! Only joint tracks and root motion are unpacked. Free tracks, fallback tracks and events are read from the
//! clip's bytes. The integers have the same meaning in both forms, and are evaluated in the same way. So a
//! pose has the same bits from either form.
//!
//! ```text
//! table     for each segment: u64 offset of the segment
//! segment   u32 number of fours; u32 first line of translations and scales; u32 number of lines; u32 intervals of
//!           linear rotations, 0 without any; u32 1 if these use nlerp; 4 zero bytes; u64 offset of the root
//!           motion; then the fours
//! four      four lines: f64 curve of each, u64 begin of the groups of each, u64 end of the groups of each, u32
//!           bytes of a group of each, u8 kind and keys of each; 12 zero bytes
//! group     eight tracks of one line, in joint order; unused lanes repeat the last track
//!           joints   8 x u16
//!           moving:  steps 8 x f32, offsets 3 x 8 x f32, rows: for each key 3 x 8 x u16 or u32, two rows of zeros
//!           still:   values 8 x [f32; 4]
//! motion    rotation, then translation: f64 curve, 0 if absent, 1 for a constant; f64 step, offsets 3 x f64, u64
//!           offset of the keys, each 3 x u32
//! ```
//!
//! Numbers are in the byte order of the machine, because this form is never written to a file. Offsets count
//! from the first byte, and all parts begin at a multiple of 16 bytes.

use core::ops::Range;

use super::ClipView;
use super::layout::{Class, Kind, LinearRotations, Placed, Segment, WIDTH};
use super::spline::{Degree, FourTaps, Taps};
use condyle_base::bytes::bits_at;
use condyle_base::error::invariant;
use condyle_base::simd::each;

/// Tracks in a group.
pub(crate) const GROUP: usize = 8;
/// Offsets in a group: steps, offsets and rows of moving tracks, and values of still tracks.
pub(crate) const STEPS: usize = 2 * GROUP;
pub(crate) const OFFSETS: usize = STEPS + 4 * GROUP;
pub(crate) const ROWS: usize = OFFSETS + 4 * GROUP * WIDTH;
pub(crate) const VALUES: usize = STEPS;
/// Size in bytes of a group of still tracks.
pub(crate) const STILL: usize = VALUES + 16 * GROUP;
/// Size in bytes of a row of a group with two-byte keys.
pub(crate) const ROW: usize = 2 * GROUP * WIDTH;
/// Number of zero rows after the last key. A time always reads four rows, the missing ones with a weight of
/// 0.
const PADDING_ROWS: usize = 2;

/// Size in bytes of an entry of the table, of the head of a segment, and of four lines.
const ENTRY: usize = 8;
const HEAD: usize = 32;
const FOUR: usize = 128;
/// Alignment of segments and groups.
const ALIGN: usize = 16;
/// Offsets in the head of a segment: lines, linear rotations, root motion.
const FOURS: usize = 0;
const OTHERS: usize = 4;
const END: usize = 8;
const INTERVALS: usize = 12;
const STRAIGHT: usize = 16;
const MOTION: usize = 24;
/// Size in bytes of a track of the root motion; offsets of its parts after the curve; size in bytes of a key.
const MOTION_TRACK: usize = 48;
const MOTION_STEP: usize = 8;
const MOTION_OFFSETS: usize = 16;
const MOTION_KEYS: usize = 40;
const MOTION_KEY: usize = 4 * WIDTH;
/// Offsets of the parts of four lines after their curves.
const BEGINS: usize = 32;
const ENDS: usize = 64;
const STRIDES: usize = 96;
const CODES: usize = 112;
/// Bit position of the [`Keys`] in the code of a line. Its [`Kind`] is in the bits below.
const KEYS: u32 = 2;

/// Storage and interpolation of the keys of a track: the same for all tracks of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keys {
    /// Two bytes per key; the value is a sum of four keys.
    Two,
    /// Four bytes per key, for the few tracks whose keys need more than 16 bits.
    Four,
    /// All keys are 0: the track is constant.
    None,
    /// Linear rotations, interpolated from key to key, in two bytes or four.
    TurnsTwo,
    TurnsFour,
}

impl Keys {
    const ALL: [Self; 5] = [Self::Two, Self::Four, Self::None, Self::TurnsTwo, Self::TurnsFour];

    /// Returns the storage for a track with these component widths in bits; the widths of constants are 0.
    fn new(class: Class, widths: [u32; WIDTH]) -> Self {
        let turns = class.kind == Kind::Rotation && class.degree == Degree::Linear;
        match (widths.into_iter().fold(0, Ord::max), turns) {
            (0, _) => Self::None,
            (..=16, false) => Self::Two,
            (_, false) => Self::Four,
            (..=16, true) => Self::TurnsTwo,
            (_, true) => Self::TurnsFour,
        }
    }

    #[inline(always)]
    fn of(code: u8) -> Self {
        Self::ALL.get(usize::from(code)).copied().unwrap_or(Self::None)
    }

    /// Size in bytes of a row of a group.
    fn row_bytes(self) -> usize {
        match self {
            Self::None => 0,
            Self::Two | Self::TurnsTwo => ROW,
            Self::Four | Self::TurnsFour => 2 * ROW,
        }
    }
}

/// Tracks of a segment with the same kind, degree, number of keys, and key storage.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Line<'a> {
    pub(crate) kind: Kind,
    pub(crate) keys: Keys,
    /// Size of a group in bytes.
    pub(crate) stride: usize,
    pub(crate) groups: &'a [u8],
}

impl Line<'_> {
    /// Returns the groups that may hold joints of this range. Joints ascend within a line.
    #[inline(always)]
    pub(crate) fn of_joints(self, joints: Range<usize>) -> Self {
        let count = self.groups.len() / self.stride.max(1);
        // Find the first group that begins with this joint or a later one.
        let mut ends = [0; 2];
        for (end, joint) in ends.iter_mut().zip([joints.start.saturating_add(1), joints.end]) {
            let (mut low, mut high) = (0, count);
            while low < high {
                let middle = low.midpoint(high);
                let first = self.groups.get(middle * self.stride..).and_then(<[u8]>::first_chunk);
                let is_before = first.is_some_and(|first| usize::from(u16::from_ne_bytes(*first)) < joint);
                (low, high) = if is_before { (middle + 1, high) } else { (low, middle) };
            }
            *end = low;
        }
        // The group before it may hold the joint too.
        let [begin, end] = [ends[0].saturating_sub(1), ends[1]].map(|group| group * self.stride);
        Self { groups: self.groups.get(begin..end).unwrap_or_default(), ..self }
    }
}

/// A segment in the resident form.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ResidentSegment<'a> {
    /// All bytes of the resident form.
    bytes: &'a [u8],
    head: &'a [u8; HEAD],
    /// The lines, in fours, because the taps of a time are computed for four lines together.
    fours: &'a [[u8; FOUR]],
}

impl<'a> ResidentSegment<'a> {
    /// Returns the segment, or `None` if there is no resident form.
    #[inline(always)]
    pub(super) fn new(bytes: &'a [u8], segment: usize) -> Option<Self> {
        let at = bytes.get(ENTRY * segment..)?.first_chunk()?;
        let (head, lines) = bytes.get(u64::from_ne_bytes(*at) as usize..)?.split_first_chunk()?;
        let fours = lines.as_chunks().0.get(..u32_of(head, FOURS))?;
        Some(Self { bytes, head, fours })
    }

    /// Returns the line numbers of rotations, and of translations and scales.
    #[inline(always)]
    pub(crate) fn sections(self) -> [Range<usize>; 2] {
        let others = u32_of(self.head, OTHERS);
        [0..others, others..u32_of(self.head, END)]
    }

    /// Returns the linear rotations, if any.
    #[inline(always)]
    pub(crate) fn linear_rotations(self) -> Option<LinearRotations> {
        let (intervals, straight) = (u32_of(self.head, INTERVALS), u32_of(self.head, STRAIGHT) != 0);
        (intervals > 0).then_some(LinearRotations { intervals, straight })
    }

    /// Returns the rotation and the translation of the root motion, if they exist.
    #[inline(always)]
    pub(crate) fn motion(&self) -> [Option<MotionTrack<'a>>; 2] {
        let tracks = self.bytes.get(u64_of(self.head, MOTION) as usize..).unwrap_or_default();
        [0, 1].map(
            #[inline(always)]
            |at| {
                let track = tracks.get(MOTION_TRACK * at..)?.first_chunk()?;
                let keys = self.bytes.get(u64_of(track, MOTION_KEYS) as usize..)?;
                (u64_of(track, 0) != 0).then_some(MotionTrack { track, keys })
            },
        )
    }

    /// Returns four lines of the segment.
    #[inline(always)]
    pub(crate) fn four(self, at: usize) -> Option<Four<'a>> {
        self.fours.get(at).map(|lines| Four { bytes: self.bytes, lines })
    }
}

/// A track of the root motion.
#[derive(Clone, Copy)]
pub(crate) struct MotionTrack<'a> {
    track: &'a [u8; MOTION_TRACK],
    /// The keys, and the bytes after them.
    keys: &'a [u8],
}

impl MotionTrack<'_> {
    /// Returns the curve. A constant has a cubic curve, because only straight lines are negative.
    #[inline(always)]
    pub(crate) fn curve(&self) -> (Degree, usize) {
        let curve = f64::from_bits(u64_of(self.track, 0));
        // The number of intervals fits 16 bits, and converting to 32 bits takes one instruction.
        (if curve < 0.0 { Degree::Linear } else { Degree::Cubic }, curve.abs() as i32 as usize)
    }

    /// Returns the weighted sum of the keys of the taps.
    #[inline(always)]
    pub(crate) fn sum(&self, taps: &Taps) -> [f64; WIDTH] {
        let number = |at: usize| f64::from_bits(u64_of(self.track, at));
        let mut sums = [0.0; WIDTH];
        each!(c in [0, 1, 2] => sums[c] = number(MOTION_OFFSETS + 8 * c));
        for (key, &weight) in (taps.first..).zip(&taps.weights[..taps.count]) {
            let key = self.keys.get(MOTION_KEY * key..).and_then(<[u8]>::first_chunk::<MOTION_KEY>);
            invariant!(key.is_some(), "every tap of a curve has a key");
            let key = key.unwrap_or(&[0; MOTION_KEY]);
            each!(c in [0, 1, 2] => sums[c] += f64::from(u32_of(key, 4 * c) as u32) * weight);
        }
        sums.map(|sum| sum * number(MOTION_STEP))
    }
}

/// Up to four lines.
#[derive(Clone, Copy)]
pub(crate) struct Four<'a> {
    /// All bytes of the resident form.
    bytes: &'a [u8],
    lines: &'a [u8; FOUR],
}

impl<'a> Four<'a> {
    /// Returns the curves, as input of [`FourTaps::at`].
    #[inline(always)]
    pub(crate) fn curves(self) -> [f64; 4] {
        let mut curves = [0.0; 4];
        each!(line in [0, 1, 2, 3] => curves[line] = f64::from_bits(u64_of(self.lines, 8 * line)));
        curves
    }

    /// Returns one of the lines; `line` is less than 4.
    #[inline(always)]
    pub(crate) fn line(self, line: usize) -> Line<'a> {
        let line = line % 4;
        let place = |at: usize| u64_of(self.lines, at + 8 * line) as usize;
        let code = self.lines[CODES + line];
        Line {
            kind: Kind::ALL[usize::from(code & 3)],
            keys: Keys::of(code >> KEYS),
            stride: u32_of(self.lines, STRIDES + 4 * line),
            groups: self.bytes.get(place(BEGINS)..place(ENDS)).unwrap_or_default(),
        }
    }
}

#[inline(always)]
fn u32_of<const N: usize>(bytes: &[u8; N], at: usize) -> usize {
    bytes.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |word| u32::from_ne_bytes(*word) as usize)
}

#[inline(always)]
fn u64_of<const N: usize>(bytes: &[u8; N], at: usize) -> u64 {
    bytes.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |word| u64::from_ne_bytes(*word))
}

/// Size in bytes of the tables of a segment before its groups, with `lines` lines.
fn tables_size(lines: usize) -> usize {
    HEAD + FOUR * lines.div_ceil(4)
}

/// A line to be written.
struct Plan {
    placed: Placed,
    keys: Keys,
    count: usize,
}

impl Plan {
    /// Size of a group in bytes.
    fn stride(&self) -> usize {
        let rows = self.placed.class.key_count() + PADDING_ROWS;
        if self.keys == Keys::None { STILL } else { ROWS + self.keys.row_bytes() * rows }
    }

    fn groups(&self) -> usize {
        self.count.div_ceil(GROUP)
    }

    fn is_rotation(&self) -> bool {
        self.placed.class.kind == Kind::Rotation
    }

    fn code(&self) -> u8 {
        self.placed.class.kind as u8 | (self.keys as u8) << KEYS
    }
}

impl<'a> ClipView<'a> {
    /// Returns whether a track belongs to a joint, so that it has a place in a pose.
    fn is_joint(&self, segment: &Segment<'_>, track: usize) -> bool {
        segment.index(track) < self.joint_count()
    }

    /// Returns the lines of a segment.
    fn plan<'s>(&'s self, segment: &'s Segment<'a>) -> impl Iterator<Item = Plan> + use<'s, 'a> {
        let of_joints = segment.classes().take_while(|placed| placed.class.kind != Kind::Free);
        of_joints.flat_map(move |placed| {
            Keys::ALL.into_iter().filter_map(move |keys| {
                let count = self.tracks_of(segment, &placed, keys).count();
                (count > 0).then_some(Plan { placed, keys, count })
            })
        })
    }

    /// Returns the tracks of a line.
    fn tracks_of(&self, segment: &Segment<'a>, placed: &Placed, keys: Keys) -> impl Iterator<Item = usize> {
        let class = placed.class;
        (placed.track..placed.track + class.count).filter(move |&track| {
            self.is_joint(segment, track) && Keys::new(class, segment.widths(track)) == keys
        })
    }

    /// Number of bytes of the resident form; [`usize::MAX`] if it does not fit.
    pub(super) fn resident_size(&self) -> usize {
        (0..self.header.segment_count).fold(self.resident_table(), |size, at| {
            let segment = self.segment(at);
            let mut groups = 0_usize;
            for line in self.plan(&segment) {
                groups = groups.saturating_add(line.groups().saturating_mul(line.stride()));
            }
            let motion = self.motion_plan(&segment).map_or(0, |tracks| motion_size(&tracks));
            size.saturating_add(tables_size(self.plan(&segment).count()))
                .saturating_add(groups)
                .saturating_add(motion)
        })
    }

    fn resident_table(&self) -> usize {
        (ENTRY * self.header.segment_count).next_multiple_of(ALIGN)
    }

    /// Writes the resident form. `to` has [`Self::resident_size`] bytes.
    pub(super) fn write_resident(&self, to: &mut [u8]) {
        to.fill(0);
        let mut end = self.resident_table();
        for at in 0..self.header.segment_count {
            let segment = self.segment(at);
            put(to, ENTRY * at, (end as u64).to_ne_bytes());
            let head = end;
            let lines = self.plan(&segment).count();
            let others = self.plan(&segment).filter(Plan::is_rotation).count();
            let linear = segment.linear_rotations();
            for (at, number) in [
                (FOURS, lines.div_ceil(4)),
                (OTHERS, others),
                (END, lines),
                (INTERVALS, linear.map_or(0, |linear| linear.intervals)),
                (STRAIGHT, linear.is_some_and(|linear| linear.straight).into()),
            ] {
                put(to, head + at, (number as u32).to_ne_bytes());
            }
            end += tables_size(lines);
            // Unused lines get a valid curve, so that they have taps.
            for line in 0..lines.next_multiple_of(4) {
                put(to, head + HEAD + FOUR * (line / 4) + 8 * (line % 4), 1.0_f64.to_ne_bytes());
            }
            for (number, line) in self.plan(&segment).enumerate() {
                let (four, lane) = (head + HEAD + FOUR * (number / 4), number % 4);
                let (class, stride) = (line.placed.class, line.stride());
                let after = end + stride * line.groups();
                put(to, four + 8 * lane, FourTaps::curve(class.degree, class.intervals.max(1)).to_ne_bytes());
                put(to, four + BEGINS + 8 * lane, (end as u64).to_ne_bytes());
                put(to, four + ENDS + 8 * lane, (after as u64).to_ne_bytes());
                put(to, four + STRIDES + 4 * lane, (stride as u32).to_ne_bytes());
                put(to, four + CODES + lane, [line.code()]);
                let groups = to.get_mut(end..after).unwrap_or_default();
                self.write_groups(&segment, &line, groups);
                end = after;
            }
            if let Some(tracks) = self.motion_plan(&segment) {
                put(to, head + MOTION, (end as u64).to_ne_bytes());
                let after = end + motion_size(&tracks);
                write_motion(&segment, &tracks, to, end);
                end = after;
            }
        }
        invariant!(end == to.len(), "the written bytes match the planned size");
    }

    /// Returns the classes of the rotation and the translation of the root motion. Its track is the last one
    /// of each.
    fn motion_plan(&self, segment: &Segment<'a>) -> Option<[Option<Placed>; 2]> {
        if !self.has_motion() {
            return None;
        }
        // Indices ascend in a class, and the root motion has the largest index of all.
        let is_motions =
            |placed: &Placed| segment.index(placed.track + placed.class.count - 1) == self.joint_count();
        let of_kind = |kind| segment.classes().filter(is_motions).find(|placed| placed.class.kind == kind);
        Some([Kind::Rotation, Kind::Translation].map(of_kind))
    }

    fn write_groups(&self, segment: &Segment<'a>, line: &Plan, groups: &mut [u8]) {
        let stride = line.stride();
        let placed = &line.placed;
        let (mut bit, mut lane) = (0, 0);
        for track in placed.track..placed.track + placed.class.count {
            let widths = segment.widths(track);
            if self.is_joint(segment, track) && Keys::new(placed.class, widths) == line.keys {
                let begin = lane / GROUP * stride;
                let group = groups.get_mut(begin..begin + stride).unwrap_or_default();
                // The unused lanes after the last track repeat it, so that they write the same values to its
                // joint.
                let is_last = lane + 1 == line.count;
                let lanes = lane % GROUP..if is_last { GROUP } else { lane % GROUP + 1 };
                lanes.for_each(|lane| {
                    write_track(segment, line, TrackBits { track, widths, bit }, group, lane);
                });
                lane += 1;
            }
            bit += widths.iter().sum::<u32>() as usize;
        }
    }
}

/// Size in bytes of the root motion.
fn motion_size(tracks: &[Option<Placed>; 2]) -> usize {
    let keys: usize = tracks.iter().flatten().map(|placed| motion_keys(&placed.class)).sum();
    (2 * MOTION_TRACK + MOTION_KEY * keys).next_multiple_of(ALIGN)
}

/// Number of keys of a track of the root motion. A constant has two, which are 0.
fn motion_keys(class: &Class) -> usize {
    class.key_count().max(2)
}

/// Writes the root motion, starting at `begin`.
fn write_motion(segment: &Segment<'_>, tracks: &[Option<Placed>; 2], to: &mut [u8], begin: usize) {
    let mut keys = begin + 2 * MOTION_TRACK;
    for (at, placed) in tracks.iter().enumerate() {
        let (Some(placed), line) = (placed, begin + MOTION_TRACK * at) else { continue };
        let (class, track) = (placed.class, placed.track + placed.class.count - 1);
        let curve = if class.degree == Degree::Constant {
            1.0
        } else {
            FourTaps::curve(class.degree, class.intervals)
        };
        put(to, line, curve.to_ne_bytes());
        put(to, line + MOTION_STEP, f64::from(segment.step(track)).to_ne_bytes());
        put(to, line + MOTION_KEYS, (keys as u64).to_ne_bytes());
        let mut bit = (placed.track..track).map(|track| segment.total_width(track)).sum::<usize>();
        for (c, width) in segment.widths(track).into_iter().enumerate() {
            put(to, line + MOTION_OFFSETS + 8 * c, f64::from(segment.offset(track, c)).to_ne_bytes());
            for key in 0..class.key_count() {
                let row = segment.bytes.get(placed.rows + key * class.row_bytes..).unwrap_or_default();
                put(to, keys + MOTION_KEY * key + 4 * c, bits_at(row, bit, width).to_ne_bytes());
            }
            bit += width as usize;
        }
        keys += MOTION_KEY * motion_keys(&class);
    }
}

/// The keys of one track in the rows of its class.
#[derive(Clone, Copy)]
struct TrackBits {
    track: usize,
    /// Number of bits of each component.
    widths: [u32; WIDTH],
    /// First bit in each row.
    bit: usize,
}

/// Writes one track to a lane of a group.
fn write_track(
    segment: &Segment<'_>,
    line: &Plan,
    TrackBits { track, widths, bit }: TrackBits,
    group: &mut [u8],
    lane: usize,
) {
    put(group, 2 * lane, (segment.index(track) as u16).to_ne_bytes());
    let (step, placed) = (segment.step(track), &line.placed);
    if line.keys != Keys::None {
        put(group, STEPS + 4 * lane, step.to_ne_bytes());
    }
    let mut bit = bit;
    for (c, width) in widths.into_iter().enumerate() {
        // Exact, because offsets have at most 24 bits.
        let offset = segment.offset(track, c) as f32;
        if line.keys == Keys::None {
            put(group, VALUES + 16 * lane + 4 * c, (offset * step).to_ne_bytes());
            continue;
        }
        put(group, OFFSETS + 4 * (GROUP * c + lane), offset.to_ne_bytes());
        for key in 0..placed.class.key_count() {
            let row = segment.bytes.get(placed.rows + key * placed.class.row_bytes..).unwrap_or_default();
            let number = bits_at(row, bit, width);
            let place = GROUP * (WIDTH * key + c) + lane;
            if line.keys.row_bytes() == ROW {
                put(group, ROWS + 2 * place, (number as u16).to_ne_bytes());
            } else {
                put(group, ROWS + 4 * place, number.to_ne_bytes());
            }
        }
        bit += width as usize;
    }
}

fn put<const N: usize>(to: &mut [u8], at: usize, bytes: [u8; N]) {
    let place = to.get_mut(at..).and_then(<[u8]>::first_chunk_mut);
    invariant!(place.is_some(), "the written bytes match the planned size");
    if let Some(place) = place {
        *place = bytes;
    }
}
