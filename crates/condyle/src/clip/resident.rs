//! The resident form of a clip: the same integers as in its bytes, unpacked once into rows that lanes load
//! directly.
//!
//! Only tracks of joints are unpacked: free tracks, root motion, authored tracks and events are read where they
//! lie in the clip. What a number means does not change, nor how a moment is computed from it, so a pose has
//! the same bits from either form.
//!
//! ```text
//! table     u64 for each segment: where it begins
//! segment   u32 for each section: how many times four lines it has; 4 bytes of zeros; then the lines
//! section   rotations that are sums of their keys or stand still; those that go from key to key; all else
//! lines     four of them: f64 curves, u64 where the groups begin, u64 how long they are, u32 bytes of a group,
//!           u8 kind and KeyBytes; then u8 how many there are, 11 bytes of zeros
//! group     eight tracks of one line, in the order of their joints; the last one again in lanes that have none
//!           joints   8 x u16
//!           moving:  steps 8 x f32, offsets 3 x 8 x f32, rows: for each key 3 x 8 x u16 or u32, two rows of zeros
//!           still:   values 8 x [f32; 4]
//! ```
//!
//! Numbers are in the byte order of the machine: nobody writes this form to a file. Everything counts from the
//! first byte and begins at a multiple of 16 bytes.

use core::ops::Range;

use super::ClipView;
use super::layout::{Kind, Placed, Segment, WIDTH};
use super::spline::{Degree, FourTaps};
use crate::bytes::bits_at;
use crate::error::invariant;
use crate::simd::each;

/// Tracks in a group.
pub(crate) const GROUP: usize = 8;
/// Where steps, offsets and rows of a group of moving tracks begin, and the values of still ones.
pub(crate) const STEPS: usize = 2 * GROUP;
pub(crate) const OFFSETS: usize = STEPS + 4 * GROUP;
pub(crate) const ROWS: usize = OFFSETS + 4 * GROUP * WIDTH;
pub(crate) const VALUES: usize = STEPS;
/// Bytes of a group of still tracks.
pub(crate) const STILL: usize = VALUES + 16 * GROUP;
/// Bytes of a row of a group, where keys have two bytes.
pub(crate) const ROW: usize = 2 * GROUP * WIDTH;
/// A moment reads four rows, and of the last key two that do not exist, with weights of 0.
const PADDING_ROWS: usize = 2;

/// Bytes of an entry of the table, of a segment's head, and of four lines.
const ENTRY: usize = 8;
const HEAD: usize = 16;
const FOUR: usize = 128;
/// What else four lines have, behind their curves.
const BEGINS: usize = 32;
const SIZES: usize = 64;
const STRIDES: usize = 96;
const CODES: usize = 112;
const COUNT: usize = 116;
const SECTIONS: usize = 3;

/// How wide the keys of a track are: those of a line are equally wide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyBytes {
    /// Every key is 0: the track has one value.
    None,
    Two,
    /// More than 16 bits, which hardly any track has.
    Four,
}

impl KeyBytes {
    /// Of a track whose components have so many bits; constants have none.
    fn of(widths: [u32; WIDTH]) -> Self {
        match widths.into_iter().fold(0, Ord::max) {
            0 => Self::None,
            1..=16 => Self::Two,
            _ => Self::Four,
        }
    }
}

/// Tracks of a segment that share kind, degree, number of keys and their width.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Line<'a> {
    pub(crate) kind: Kind,
    pub(crate) key_bytes: KeyBytes,
    /// Bytes of a group.
    pub(crate) stride: usize,
    pub(crate) groups: &'a [u8],
}

impl Line<'_> {
    /// The groups that hold joints of this range, and perhaps others. Joints rise within a line.
    #[inline(always)]
    pub(crate) fn of_joints(self, joints: Range<usize>) -> Self {
        let count = self.groups.len() / self.stride.max(1);
        // The first group that begins with this joint or a later one.
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
        // The one before it may hold the joint too.
        let [begin, end] = [ends[0].saturating_sub(1), ends[1]].map(|group| group * self.stride);
        Self { groups: self.groups.get(begin..end).unwrap_or_default(), ..self }
    }
}

/// Up to four lines: the taps of a moment are computed for all of them at once.
#[derive(Clone, Copy)]
pub(crate) struct Four<'a> {
    /// The whole form.
    bytes: &'a [u8],
    lines: &'a [u8; FOUR],
}

impl<'a> Four<'a> {
    /// What [`FourTaps::at`] takes.
    #[inline(always)]
    pub(crate) fn curves(self) -> [f64; 4] {
        let mut curves = [0.0; 4];
        each!(line in [0, 1, 2, 3] => curves[line] = f64::from_bits(u64_of(self.lines, 8 * line)));
        curves
    }

    /// How many lines there are.
    #[inline(always)]
    pub(crate) fn count(self) -> usize {
        usize::from(self.lines[COUNT]).min(4)
    }

    /// One of the lines, the number of which is less than 4.
    #[inline(always)]
    pub(crate) fn line(self, line: usize) -> Line<'a> {
        let line = line % 4;
        let begin = u64_of(self.lines, BEGINS + 8 * line) as usize;
        let size = u64_of(self.lines, SIZES + 8 * line) as usize;
        let groups = self.bytes.get(begin..).and_then(|groups| groups.get(..size));
        let code = self.lines[CODES + line];
        let key_bytes = match code >> 2 {
            0 => KeyBytes::None,
            1 => KeyBytes::Two,
            _ => KeyBytes::Four,
        };
        Line {
            kind: Kind::ALL[usize::from(code & 3)],
            key_bytes,
            stride: u32_of(self.lines, STRIDES + 4 * line),
            groups: groups.unwrap_or_default(),
        }
    }
}

/// A segment in the resident form.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ResidentSegment<'a> {
    /// The whole form.
    bytes: &'a [u8],
    /// Where the segment begins.
    at: usize,
}

impl<'a> ResidentSegment<'a> {
    /// `None` if there is no resident form.
    #[inline]
    pub(super) fn new(bytes: &'a [u8], segment: usize) -> Option<Self> {
        let at = bytes.get(ENTRY * segment..)?.first_chunk()?;
        Some(Self { bytes, at: u64::from_ne_bytes(*at) as usize })
    }

    /// The lines of each section.
    #[inline(always)]
    pub(crate) fn sections(self) -> [Fours<'a>; SECTIONS] {
        let segment = self.bytes.get(self.at..).unwrap_or_default();
        let Some((head, table)) = segment.split_first_chunk::<HEAD>() else {
            return [Fours { bytes: &[], lines: &[] }; SECTIONS];
        };
        let mut lines = table.as_chunks::<FOUR>().0;
        [0, 1, 2].map(|section| {
            let count = u32_of(head, 4 * section);
            let (own, after) = lines.split_at_checked(count).unwrap_or_default();
            lines = after;
            Fours { bytes: self.bytes, lines: own }
        })
    }
}

/// The lines of a section, in fours.
#[derive(Clone, Copy)]
pub(crate) struct Fours<'a> {
    bytes: &'a [u8],
    lines: &'a [[u8; FOUR]],
}

impl<'a> Fours<'a> {
    #[inline(always)]
    pub(crate) fn is_empty(self) -> bool {
        self.lines.is_empty()
    }

    #[inline(always)]
    pub(crate) fn iter(self) -> impl Iterator<Item = Four<'a>> {
        self.lines.iter().map(move |lines| Four { bytes: self.bytes, lines })
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

/// Bytes of a segment before its groups, with so many lines in each section.
fn tables_size(lines: [usize; SECTIONS]) -> usize {
    HEAD + FOUR * lines.iter().map(|lines| lines.div_ceil(4)).sum::<usize>()
}

/// A line that is to be written.
struct Plan {
    placed: Placed,
    key_bytes: KeyBytes,
    count: usize,
}

impl Plan {
    /// Bytes of a group.
    fn stride(&self) -> usize {
        let rows = self.placed.class.key_count() + PADDING_ROWS;
        match self.key_bytes {
            KeyBytes::None => STILL,
            KeyBytes::Two => ROWS + ROW * rows,
            KeyBytes::Four => ROWS + 2 * ROW * rows,
        }
    }

    fn groups(&self) -> usize {
        self.count.div_ceil(GROUP)
    }

    /// The section that it is in: rotations that are sums of their keys or stand still, those that go from key to key,
    /// all else.
    fn section(&self) -> usize {
        let class = self.placed.class;
        match class.kind {
            Kind::Rotation if class.degree == Degree::Linear && self.key_bytes != KeyBytes::None => 1,
            Kind::Rotation => 0,
            _ => 2,
        }
    }
}

impl<'a> ClipView<'a> {
    /// Whether a track is of a joint, and so has a place in a pose.
    fn is_joint(&self, segment: &Segment<'_>, track: usize) -> bool {
        segment.index(track) < self.joint_count()
    }

    /// The lines of a segment.
    fn plan<'s>(&'s self, segment: &'s Segment<'a>) -> impl Iterator<Item = Plan> + use<'s, 'a> {
        let of_joints = segment.classes().take_while(|placed| placed.class.kind != Kind::Free);
        of_joints.flat_map(move |placed| {
            [KeyBytes::None, KeyBytes::Two, KeyBytes::Four].into_iter().filter_map(move |key_bytes| {
                let count = self.tracks_of(segment, &placed, key_bytes).count();
                (count > 0).then_some(Plan { placed, key_bytes, count })
            })
        })
    }

    /// The tracks of a line.
    fn tracks_of(
        &self,
        segment: &Segment<'a>,
        placed: &Placed,
        key_bytes: KeyBytes,
    ) -> impl Iterator<Item = usize> {
        let tracks = placed.track..placed.track + placed.class.count;
        tracks.filter(move |&track| {
            self.is_joint(segment, track) && KeyBytes::of(segment.widths(track)) == key_bytes
        })
    }

    /// How many lines each section of a segment has.
    fn sections(&self, segment: &Segment<'a>) -> [usize; SECTIONS] {
        let mut counts = [0; SECTIONS];
        self.plan(segment).for_each(|line| counts[line.section()] += 1);
        counts
    }

    /// Bytes of the resident form; [`usize::MAX`] for more than that.
    pub(super) fn resident_size(&self) -> usize {
        (0..self.header.segment_count).fold(self.resident_table(), |size, at| {
            let segment = self.segment(at);
            let mut groups = 0_usize;
            for line in self.plan(&segment) {
                groups = groups.saturating_add(line.groups().saturating_mul(line.stride()));
            }
            size.saturating_add(tables_size(self.sections(&segment))).saturating_add(groups)
        })
    }

    fn resident_table(&self) -> usize {
        (ENTRY * self.header.segment_count).next_multiple_of(HEAD)
    }

    /// Writes the resident form. `to` has [`Self::resident_size`] bytes.
    pub(super) fn write_resident(&self, to: &mut [u8]) {
        to.fill(0);
        let mut end = self.resident_table();
        for at in 0..self.header.segment_count {
            let segment = self.segment(at);
            put(to, ENTRY * at, (end as u64).to_ne_bytes());
            let head = end;
            let counts = self.sections(&segment);
            let mut next = [0; SECTIONS];
            let mut four = 0;
            for (section, count) in counts.into_iter().enumerate() {
                put(to, head + 4 * section, (count.div_ceil(4) as u32).to_ne_bytes());
                next[section] = 4 * four;
                four += count.div_ceil(4);
            }
            end += tables_size(counts);
            // Where there is no line, its curve is one that has taps.
            for line in 0..4 * four {
                put(to, head + HEAD + FOUR * (line / 4) + 8 * (line % 4), 1.0_f64.to_ne_bytes());
            }
            for line in self.plan(&segment) {
                let number = &mut next[line.section()];
                let (four, lane) = (head + HEAD + FOUR * (*number / 4), *number % 4);
                *number += 1;
                let (class, stride) = (line.placed.class, line.stride());
                let after = end + stride * line.groups();
                put(to, four + 8 * lane, FourTaps::curve(class.degree, class.intervals.max(1)).to_ne_bytes());
                put(to, four + BEGINS + 8 * lane, (end as u64).to_ne_bytes());
                put(to, four + SIZES + 8 * lane, ((after - end) as u64).to_ne_bytes());
                put(to, four + COUNT, [lane as u8 + 1]);
                put(to, four + STRIDES + 4 * lane, (stride as u32).to_ne_bytes());
                put(to, four + CODES + lane, [class.kind as u8 | (line.key_bytes as u8) << 2]);
                let groups = to.get_mut(end..after).unwrap_or_default();
                self.write_groups(&segment, &line, groups);
                end = after;
            }
        }
        invariant!(end == to.len(), "as many bytes as were planned");
    }

    fn write_groups(&self, segment: &Segment<'a>, line: &Plan, groups: &mut [u8]) {
        let stride = line.stride();
        let placed = &line.placed;
        let (mut bit, mut lane) = (0, 0);
        for track in placed.track..placed.track + placed.class.count {
            let widths = segment.widths(track);
            if self.is_joint(segment, track) && KeyBytes::of(widths) == line.key_bytes {
                let begin = lane / GROUP * stride;
                let group = groups.get_mut(begin..begin + stride).unwrap_or_default();
                // The last one is written again by the lanes behind it: its joint gets the same numbers from each.
                let is_last = lane + 1 == line.count;
                let lanes = lane % GROUP..if is_last { GROUP } else { lane % GROUP + 1 };
                lanes.for_each(|lane| write_track(segment, line, (track, widths, bit), group, lane));
                lane += 1;
            }
            bit += widths.iter().sum::<u32>() as usize;
        }
    }
}

/// Writes one track, of these widths and with its keys from this bit of each row on, to a lane of a group.
fn write_track(
    segment: &Segment<'_>,
    line: &Plan,
    (track, widths, bit): (usize, [u32; WIDTH], usize),
    group: &mut [u8],
    lane: usize,
) {
    put(group, 2 * lane, (segment.index(track) as u16).to_ne_bytes());
    let (step, placed) = (segment.step(track), &line.placed);
    if line.key_bytes != KeyBytes::None {
        put(group, STEPS + 4 * lane, step.to_ne_bytes());
    }
    let mut bit = bit;
    for (c, width) in widths.into_iter().enumerate() {
        // In 24 bits, which f32 holds.
        let offset = segment.offset(track, c) as f32;
        if line.key_bytes == KeyBytes::None {
            put(group, VALUES + 16 * lane + 4 * c, (offset * step).to_ne_bytes());
            continue;
        }
        put(group, OFFSETS + 4 * (GROUP * c + lane), offset.to_ne_bytes());
        for key in 0..placed.class.key_count() {
            let row = segment.bytes.get(placed.rows + key * placed.class.row_bytes..).unwrap_or_default();
            let number = bits_at(row, bit, width);
            let place = GROUP * (WIDTH * key + c) + lane;
            if line.key_bytes == KeyBytes::Two {
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
    invariant!(place.is_some(), "as many bytes as were planned");
    if let Some(place) = place {
        *place = bytes;
    }
}
