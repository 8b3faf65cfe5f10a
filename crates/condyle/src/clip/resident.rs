//! The resident form of a clip: the same integers as in its bytes, unpacked once into rows that lanes load
//! directly.
//!
//! Only tracks of joints are unpacked: free tracks, root motion, authored tracks and events are read where they
//! lie in the clip. What a number means does not change, nor how a moment is computed from it, so a pose has
//! the same bits from either form.
//!
//! ```text
//! table     u64 for each segment: where it begins
//! segment   u32 how many lines, 12 bytes of zeros; then its lines
//! line      u8 kind, degree, KeyBytes, 0; u32 intervals; u64 bytes of a group, where the groups begin and end
//! group     eight tracks of one line, in the order of their joints
//!           joints   8 x u16, u16::MAX for none
//!           moving:  steps 8 x f32, offsets 3 x 8 x f32, rows: for each key 3 x 8 x u16 or u32, two rows of zeros
//!           still:   values 8 x [f32; 4]
//! ```
//!
//! Numbers are in the byte order of the machine: nobody writes this form to a file. Everything counts from the
//! first byte and begins at a multiple of 16 bytes.

use core::ops::Range;

use super::ClipView;
use super::layout::{Kind, Placed, Segment, WIDTH};
use super::spline::Degree;
use crate::bytes::bits_at;

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
/// The joint of a lane that has no track. A skeleton has fewer.
pub(crate) const NO_JOINT: u16 = u16::MAX;
/// A moment reads four rows, and of the last key two that do not exist, with weights of 0.
const PADDING_ROWS: usize = 2;

/// Bytes of an entry of the table, of a segment's head, and of a line.
const ENTRY: usize = 8;
const HEAD: usize = 16;
const LINE: usize = 32;

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
    const ALL: [Self; 3] = [Self::None, Self::Two, Self::Four];

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
    pub(crate) degree: Degree,
    pub(crate) key_bytes: KeyBytes,
    pub(crate) intervals: usize,
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

    /// The bytes of the lines.
    #[inline]
    fn table(self) -> &'a [[u8; LINE]] {
        let segment = self.bytes.get(self.at..).unwrap_or_default();
        let count = segment.first_chunk().map_or(0, |count| u32::from_ne_bytes(*count) as usize);
        let lines = segment.get(HEAD..).unwrap_or_default().as_chunks::<LINE>().0;
        lines.get(..count).unwrap_or_default()
    }

    /// The lines in their order: rotations, translations, scales; linear rotations after all others.
    #[inline]
    pub(crate) fn lines(self) -> impl Iterator<Item = Line<'a>> {
        self.table().iter().map(move |line| {
            let [stride, begin, end] = [8, 16, 24].map(|at| word(line, at));
            Line {
                kind: Kind::ALL[usize::from(line[0] & 3)],
                degree: degree(line),
                key_bytes: KeyBytes::ALL[usize::from(line[2] % 3)],
                intervals: intervals(line),
                stride,
                groups: self.bytes.get(begin..end).unwrap_or_default(),
            }
        })
    }
}

/// A number of a line.
#[inline(always)]
fn word(line: &[u8; LINE], at: usize) -> usize {
    line.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |word| u64::from_ne_bytes(*word) as usize)
}

#[inline(always)]
fn degree(line: &[u8; LINE]) -> Degree {
    Degree::ALL[usize::from(line[1] % 3)]
}

#[inline(always)]
fn intervals(line: &[u8; LINE]) -> usize {
    let [_, _, _, _, a, b, c, d, ..] = *line;
    u32::from_ne_bytes([a, b, c, d]) as usize
}

/// Bytes of a segment before its groups, with so many lines.
fn tables_size(lines: usize) -> usize {
    HEAD + LINE * lines
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
            // What stands still comes first, so that linear rotations are the last ones.
            KeyBytes::ALL.into_iter().filter_map(move |key_bytes| {
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

    /// Bytes of the resident form; [`usize::MAX`] for more than that.
    pub(super) fn resident_size(&self) -> usize {
        (0..self.header.segment_count).fold(self.resident_table(), |size, at| {
            let segment = self.segment(at);
            let (mut count, mut groups) = (0, 0_usize);
            for line in self.plan(&segment) {
                count += 1;
                groups = groups.saturating_add(line.groups().saturating_mul(line.stride()));
            }
            size.saturating_add(tables_size(count)).saturating_add(groups)
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
            let count = self.plan(&segment).count();
            put(to, head, (count as u32).to_ne_bytes());
            end += tables_size(count);
            let lines = end - LINE * count;
            for (number, line) in self.plan(&segment).enumerate() {
                let (class, stride) = (line.placed.class, line.stride());
                let place = lines + LINE * number;
                let next = end + stride * line.groups();
                put(to, place, [class.kind as u8, class.degree as u8, line.key_bytes as u8, 0]);
                put(to, place + 4, (class.intervals as u32).to_ne_bytes());
                for (at, word) in [(8, stride), (16, end), (24, next)] {
                    put(to, place + at, (word as u64).to_ne_bytes());
                }
                let groups = to.get_mut(end..next).unwrap_or_default();
                self.write_groups(&segment, &line, groups);
                end = next;
            }
        }
        debug_assert_eq!(end, to.len(), "as many bytes as were planned");
    }

    fn write_groups(&self, segment: &Segment<'a>, line: &Plan, groups: &mut [u8]) {
        let stride = line.stride();
        for group in groups.chunks_exact_mut(stride) {
            (0..GROUP).for_each(|lane| put(group, 2 * lane, NO_JOINT.to_ne_bytes()));
        }
        let placed = &line.placed;
        let (mut bit, mut lane) = (0, 0);
        for track in placed.track..placed.track + placed.class.count {
            let widths = segment.widths(track);
            if self.is_joint(segment, track) && KeyBytes::of(widths) == line.key_bytes {
                let begin = lane / GROUP * stride;
                let group = groups.get_mut(begin..begin + stride).unwrap_or_default();
                write_track(segment, line, (track, widths, bit), group, lane % GROUP);
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
    debug_assert!(place.is_some(), "as many bytes as were planned");
    if let Some(place) = place {
        *place = bytes;
    }
}
