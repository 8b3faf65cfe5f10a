//! Unpacks the bytes of records and rows to three numbers for each joint. The documentation of
//! [`kernel`](super) has a worked example of a record.

use core::ops::Range;

use fearless_simd::{f32x4, f32x8, i32x4, i32x8, mask32x8, prelude::*, u8x16, u8x32, u32x8, u64x4};

use super::{Vectors, Wanted};
use crate::clip::layout::{self, FIRST_STEP, JOINT_BITS, OFFSET, Placed, Segment, WINDOW};
use crate::clip::spline::Taps;
use condyle_base::bytes::u32_at;
use condyle_base::error::invariant;
use condyle_base::simd::{Mode, each};

/// Number of readable bytes of a row's window. The bits of two tracks are in the first 16 bytes, at any
/// starting bit of the first byte. A key that begins in the last of these bytes is read with the three bytes
/// after it.
const ROW_WINDOW: usize = 16 + 3;
const _: () = assert!(7 + 6 * JOINT_BITS as usize <= 8 * 16 && ROW_WINDOW <= WINDOW);
/// Size of the longest record in bytes. Two such records fit in a window, and so do the 16 bytes from the
/// beginning of the second record.
const MAX_RECORD: usize = OFFSET + 3 * 3 + 1;
const _: () = assert!(2 * MAX_RECORD <= WINDOW && MAX_RECORD + 16 <= WINDOW && MAX_RECORD < 16);

/// Loads the first 16 bytes of the records of two tracks, one record in each half. The second record begins
/// `apart` bytes after the first, at most 15: the mask lets the compiler omit the bounds checks.
#[inline(always)]
fn two_records<S: Simd>(s: S, bytes: &[u8; WINDOW], apart: usize) -> u8x32<S> {
    let (a, b) = (&bytes[..16], &bytes[apart & 15..][..16]);
    u8x16::from_slice(s, a).combine(u8x16::from_slice(s, b))
}

/// Returns 2^k for k from 0 to 24.
#[inline(always)]
fn power<S: Simd>(s: S, k: u32x8<S>) -> u32x8<S> {
    if S::f32s::LEN >= 8 {
        return u32x8::splat(s, 1) << k;
    }
    // Narrow instruction sets cannot shift each lane by a separate count. Put k in the exponent of a float
    // instead.
    let exponent: f32x8<S> = ((k + u32x8::splat(s, 127)) << 23).bitcast();
    let power: i32x8<S> = exponent.to_int();
    power.bitcast()
}

/// Whether the instruction set can shuffle bytes across a register. Without such an instruction a shuffle
/// would store and load every byte, so numbers are extracted one by one.
#[inline(always)]
fn shuffles_bytes<S: Simd>(s: S) -> bool {
    match s.level() {
        #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
        fearless_simd::Level::Sse2(_) => false,
        level => !level.is_fallback(),
    }
}

/// The positions of the keys of two tracks in the window of a row.
#[derive(Clone, Copy)]
enum Fields<S: Simd> {
    Lanes(Lanes<S>),
    /// x, y, z of the first track, then of the second.
    OneByOne([Field; 6]),
}

/// The position of one key.
#[derive(Clone, Copy)]
struct Field {
    /// The byte that the key begins in, at most 15, and the first bit within that byte.
    byte: usize,
    bit: u32,
    mask: u32,
}

impl Field {
    /// Returns the field of `width` bits that begins at bit `start`.
    #[inline(always)]
    fn new(width: u64, start: u64) -> Self {
        Self { byte: (start >> 3 & 15) as usize, bit: (start & 7) as u32, mask: !(u32::MAX << (width & 31)) }
    }

    #[inline(always)]
    fn take(self, window: &[u8; ROW_WINDOW]) -> i32 {
        (u32_at(&window[self.byte & 15..][..4], 0) >> self.bit & self.mask) as i32
    }
}

/// [`Fields`] for all lanes in parallel.
#[derive(Clone, Copy)]
struct Lanes<S: Simd> {
    /// The shuffle that moves to each lane the four bytes from the beginning of its key.
    control: u8x32<S>,
    /// Right shift for each lane. Narrow instruction sets use multipliers instead, which move every key to
    /// bit 7, and then shift all lanes right by 7.
    align: u32x8<S>,
    mask: u32x8<S>,
}

impl<S: Simd> Lanes<S> {
    /// Returns the lanes for two tracks with these widths and [`starts`]. Lanes that hold no key may have any
    /// width.
    #[inline(always)]
    fn new(s: S, widths: u32x8<S>, starts: u64) -> Self {
        // Copies byte k of the word to all bytes of lane k.
        const EACH: [u8; 32] = bytes_of_lanes([0, 1, 2, 3, 4, 5, 6, 7]);
        let starts: u32x8<S> = shuffle(s, u64x4::splat(s, starts).bitcast(), &EACH);
        let bytes = ((starts >> 3) & u32x8::splat(s, 0x1F1F_1F1F)) + u32x8::splat(s, 0x0302_0100);
        let odd = starts & u32x8::splat(s, 7);
        Self {
            control: bytes.bitcast(),
            align: if S::f32s::LEN >= 8 { odd } else { power(s, u32x8::splat(s, 7) - odd) },
            mask: power(s, widths & u32x8::splat(s, 31)) - u32x8::splat(s, 1),
        }
    }

    #[inline(always)]
    fn take(&self, s: S, window: &[u8; ROW_WINDOW]) -> i32x8<S> {
        let window = u8x16::from_slice(s, &window[..16]);
        // Bytes read past the end of the window differ between instruction sets; the mask clears them on all.
        let found = s.swizzle_dyn_within_blocks_u8x32(window.combine(window), self.control);
        let found: u32x8<S> = found.bitcast();
        let down = if S::f32s::LEN >= 8 { found >> self.align } else { (found * self.align) >> 7 };
        (down & self.mask).bitcast()
    }
}

impl<S: Simd> Fields<S> {
    /// Returns the keys as floats.
    #[inline(always)]
    fn take(&self, s: S, window: &[u8; ROW_WINDOW]) -> f32x8<S> {
        let keys = match self {
            Self::Lanes(lanes) => lanes.take(s, window),
            Self::OneByOne(fields) => {
                let [a, b, c, d, e, f] = fields;
                let first = [a.take(window), b.take(window), c.take(window)];
                six(s, first, [d.take(window), e.take(window), f.take(window)])
            }
        };
        keys.to_float()
    }
}

/// Returns x, y, z of two tracks in their lanes.
#[inline(always)]
fn six<S: Simd>(s: S, [a, b, c]: [i32; 3], [d, e, f]: [i32; 3]) -> i32x8<S> {
    i32x4::simd_from(s, [a, b, c, 0]).combine(i32x4::simd_from(s, [d, e, f, 0]))
}

/// The decoded records of two tracks.
struct Pair<S: Simd> {
    offsets: f32x8<S>,
    steps: f32x8<S>,
    fields: Fields<S>,
}

impl<S: Simd> Pair<S> {
    /// Decodes two records: the first is at the beginning of `window`, the second `apart` bytes after it.
    /// `heads` are the first four bytes of both records, and `starts` the beginnings of their keys (see
    /// [`starts`]).
    #[inline(always)]
    fn new(s: S, records: &Records<'_, S>, window: &[u8; WINDOW], heads: u64, starts: u64) -> Self {
        let apart = records.bytes & 15;
        if !shuffles_bytes(s) {
            let first = records.offsets_of(window, 0);
            let offsets = six(s, first, records.offsets_of(window, apart));
            let (second_heads, second_starts) = (heads >> 32, starts >> 32);
            let fields = [
                Field::new(heads >> 8, starts),
                Field::new(heads >> 16, starts >> 8),
                Field::new(heads >> 24, starts >> 16),
                Field::new(second_heads >> 8, second_starts),
                Field::new(second_heads >> 16, second_starts >> 8),
                Field::new(second_heads >> 24, second_starts >> 16),
            ];
            let first = f32x4::splat(s, layout::step(heads as u8));
            let steps = first.combine(f32x4::splat(s, layout::step(second_heads as u8)));
            return Self { offsets: offsets.to_float(), steps, fields: Fields::OneByOne(fields) };
        }
        let both = two_records(s, window, apart);
        let offsets: i32x8<S> = s.swizzle_dyn_within_blocks_u8x32(both, records.offsets).bitcast();
        let head: u32x8<S> = shuffle(s, both, &HEAD) >> 24;
        // Equivalent to `layout::step`.
        let codes = shuffle(s, head.bitcast(), &LAST) << 20;
        Self {
            offsets: (offsets >> records.upper).to_float(),
            steps: (codes + u32x8::splat(s, FIRST_STEP)).bitcast(),
            fields: Fields::Lanes(Lanes::new(s, head, starts)),
        }
    }
}

/// Returns the shuffle that copies one byte to all four bytes of a lane, for each of eight lanes.
const fn bytes_of_lanes(lanes: [u8; 8]) -> [u8; 32] {
    let mut control = [0; 32];
    let mut i = 0;
    while i < 32 {
        control[i] = lanes[i / 4];
        i += 1;
    }
    control
}

/// The three widths and the step code of each record. After a right shift by 24, each lane holds only its
/// byte.
const HEAD: [u8; 32] = bytes_of_lanes([1, 2, 3, 0, 1, 2, 3, 0]);
/// Copies the last lane of each half to all lanes of that half.
const LAST: [u8; 32] = {
    let mut control = [0; 32];
    let mut i = 0;
    while i < 32 {
        control[i] = 12 + (i % 4) as u8;
        i += 1;
    }
    control
};

#[inline(always)]
fn shuffle<S: Simd>(s: S, bytes: u8x32<S>, control: &[u8; 32]) -> u32x8<S> {
    s.swizzle_dyn_within_blocks_u8x32(bytes, u8x32::from_slice(s, control)).bitcast()
}

/// Shuffles that move offsets of one, two or three bytes to the upper end of their lanes. A signed right
/// shift then extends the sign.
static OFFSETS: [[u8; 32]; 3] = [offsets(1), offsets(2), offsets(3)];

const fn offsets(bytes: u8) -> [u8; 32] {
    let mut control = [0; 32];
    let mut i = 0;
    while i < 32 {
        let (lane, byte) = ((i / 4 % 4) as u8, (i % 4) as u8);
        if lane < 3 && byte + bytes >= 4 {
            control[i] = OFFSET as u8 + lane * bytes + (byte + bytes - 4);
        }
        i += 1;
    }
    control
}

/// Returns the bit of a row's window at which each key of two tracks begins. The bytes of the result are x,
/// y, z and end of the first track, then x, y, z and end of the second.
///
/// `heads` holds the first four bytes of both records. `first` is the first bit of x of the first track.
#[inline(always)]
fn starts(heads: u64, first: usize) -> u64 {
    // `first` replaces the step code of the first record, and 0 that of the second. Byte k of the product is
    // the sum of bytes 0 to k. The sums are at most 7 + 6 * 20, so none carries into the next byte.
    ((heads & 0xFFFF_FF00_FFFF_FF00) + first as u64).wrapping_mul(0x0101_0101_0101_0101)
}

/// The properties that all records of a segment share.
pub(super) struct Records<'a, S: Simd> {
    segment: &'a Segment<'a>,
    /// Size in bytes of a record, and of one offset in a record.
    bytes: usize,
    offset_bytes: usize,
    /// The entry of [`OFFSETS`] for `offset_bytes`.
    offsets: u8x32<S>,
    /// Right shift for offsets after the shuffle.
    upper: u32,
    wanted: Option<Wanted<'a>>,
}

impl<'a, S: Simd> Records<'a, S> {
    #[inline(always)]
    pub(super) fn new(s: S, segment: &'a Segment<'a>, wanted: Option<Wanted<'a>>) -> Self {
        let offset_bytes = segment.offset_bytes.clamp(1, OFFSETS.len());
        Self {
            segment,
            bytes: segment.record_bytes(),
            offset_bytes,
            offsets: u8x32::from_slice(s, &OFFSETS[offset_bytes - 1]),
            upper: 32 - 8 * offset_bytes as u32,
            wanted,
        }
    }

    /// Returns the offsets of the record that begins at byte `record` of a window.
    #[inline(always)]
    fn offsets_of(&self, window: &[u8; WINDOW], record: usize) -> [i32; 3] {
        let (first, upper) = (record + OFFSET, self.upper);
        let at = [first, first + self.offset_bytes, first + 2 * self.offset_bytes];
        let mut offsets = [0; 3];
        each!(c in [0, 1, 2] => offsets[c] = (u32_at(window, at[c]) << upper) as i32 >> upper);
        offsets
    }

    /// Finds the tracks of a class whose joints are in the range `joints`. The search begins at the end of
    /// `before`, the part for the preceding joints, because indices within a class are in ascending order.
    #[inline(always)]
    pub(super) fn part(&self, placed: &Placed, before: Part, joints: Range<usize>) -> Part {
        let end = placed.track + placed.class.count;
        let mut track = placed.track + before.first + before.count;
        let mut records = self.segment.bytes.get(self.segment.record(track)..).unwrap_or_default();
        let mut bits_until = |joint: usize| {
            let mut bits = 0;
            while track < end {
                let Some(head) = records.first_chunk::<WINDOW>() else { break };
                if self.joint(head) >= joint {
                    break;
                }
                // The third byte of the product is the sum of the three widths.
                let widths = u32_at(head, 0) >> 8;
                bits += usize::from((widths.wrapping_mul(0x01_0101) >> 16) as u8);
                records = records.get(self.bytes..).unwrap_or_default();
                track += 1;
            }
            (track - placed.track, bits)
        };
        let (first, passed) = bits_until(joints.start);
        let (next, own) = bits_until(joints.end);
        let bit = before.next_bit + passed;
        Part { first, count: next - first, bit, next_bit: bit + own }
    }

    /// Returns a record's joint.
    #[inline(always)]
    fn joint(&self, record: &[u8]) -> usize {
        let byte = |at: usize| record.get(at).map_or(0, |&byte| usize::from(byte));
        let high = if self.segment.index_bytes == 1 { 0 } else { byte(self.bytes - 1) };
        byte(OFFSET - 1) | high << 8
    }

    /// Returns the index of a record's joint in a batch that begins with joint `base`. If the joint is not
    /// wanted, the index is past any batch.
    #[inline(always)]
    fn place(&self, record: &[u8], base: usize) -> usize {
        let joint = self.joint(record);
        let has = self.wanted.is_none_or(|wanted| wanted.has(joint));
        if has { joint.wrapping_sub(base) } else { usize::MAX }
    }
}

/// Consecutive tracks of a class.
#[derive(Clone, Copy, Default)]
pub(super) struct Part {
    /// The first track, counted from the first track of the class.
    pub(super) first: usize,
    pub(super) count: usize,
    /// The bit of each row at which their keys begin.
    pub(super) bit: usize,
    /// The bit of each row at which the keys of the next part begin.
    pub(super) next_bit: usize,
}

/// The input of [`unpack`]: some tracks of a class, at one time.
#[derive(Clone, Copy)]
pub(super) struct Source<'a, S: Simd> {
    pub(super) records: &'a Records<'a, S>,
    pub(super) placed: &'a Placed,
    pub(super) part: Part,
    pub(super) taps: &'a Taps,
}

/// Unpacks tracks of a class, two at a time, into the vectors of their joints. `base` is the joint of the
/// first vector.
///
/// `TAPS` is 4 for weighted sums of four rows, and 0 for constants, which have no rows. It is 2 for linear
/// rotations, which need no sum. The keys of the first row are then stored in `vectors`, and the keys of the
/// second row in `ends`, with a nonzero fourth component.
#[inline(always)]
pub(super) fn unpack<S: Simd, M: Mode, const TAPS: usize, const PLAIN: bool>(
    s: S,
    mode: M,
    source: Source<'_, S>,
    base: usize,
    vectors: &mut Vectors,
    ends: &mut Vectors,
) {
    let Source { records, part, .. } = source;
    let track = source.placed.track;
    let bytes = records.segment.bytes;
    let Some(before_last) = part.count.checked_sub(1) else { return };
    let Some(WeightedRows { row, weights }) = weighted_rows::<S, TAPS>(s, &source) else { return };
    let apart = records.bytes & 15;
    let last = records.bytes * (before_last & !1);
    let from = records.segment.records + records.bytes * (track + part.first);
    // The slice ends with the window of the last pair. After the last pair there is no further window, which
    // ends the loop.
    let Some(all) = bytes.get(from..).and_then(|records| records.get(..last + WINDOW)) else {
        invariant!(false, "the window of the last record is within the clip");
        return;
    };
    // With an odd number of tracks, the second record of the last pair is not in this part.
    let alone = if part.count % 2 == 0 { usize::MAX } else { last };
    // 32 bits are enough: no sum overflows.
    let (mut bit, mut next, pair_bytes) = (part.bit, 0_u32, 2 * records.bytes as u32);
    loop {
        let pair = next as usize;
        let Some(window) = all.get(pair..pair + WINDOW).and_then(<[u8]>::first_chunk::<WINDOW>) else {
            break;
        };
        let is_alone = pair == alone;
        next += pair_bytes;
        let heads = u64::from(u32_at(window, 0)) | u64::from(u32_at(&window[apart..], 0)) << 32;
        let starts = starts(heads, bit & 7);
        let at = bit >> 3;
        bit = (bit & !7) + (starts >> 56) as usize;
        let mut places = [usize::from(window[OFFSET - 1]), usize::from(window[apart + OFFSET - 1])];
        if !PLAIN {
            places = [records.place(window, base), records.place(&window[apart..], base)];
            if places.iter().all(|&place| place >= vectors.len()) {
                continue;
            }
        }
        if is_alone {
            places[1] = usize::MAX;
        }
        let Pair { offsets, steps, fields } = Pair::new(s, records, window, heads, starts);
        let mut sum = offsets;
        if TAPS > 0 {
            let mut keys = f32x8::splat(s, 0.0);
            for tap in 0..TAPS {
                let Some(window) = row[tap].get(at..).and_then(<[u8]>::first_chunk) else {
                    invariant!(false, "a window past the last row is within the clip");
                    return;
                };
                let numbers = fields.take(s, window);
                if TAPS != 2 {
                    keys =
                        if tap == 0 { numbers * weights[0] } else { mode.madd(numbers, weights[tap], keys) };
                } else if tap == 0 {
                    keys = numbers;
                } else {
                    let fourth = mask32x8::from_bitmask(s, 0x88);
                    let end = fourth.select(f32x8::splat(s, 1.0), (numbers + offsets) * steps);
                    store_two(end, places, ends);
                }
            }
            sum = keys + offsets;
        }
        store_two(sum * steps, places, vectors);
    }
}

/// The rows of a class for one time, with their weights.
struct WeightedRows<'a, S: Simd, const TAPS: usize> {
    row: [&'a [u8]; TAPS],
    /// The weight of each row, in all lanes.
    weights: [f32x8<S>; TAPS],
}

/// Returns the row and the weight of each tap.
#[inline(always)]
fn weighted_rows<'a, S: Simd, const TAPS: usize>(
    s: S,
    source: &Source<'a, S>,
) -> Option<WeightedRows<'a, S, TAPS>> {
    let (Placed { class, rows, .. }, taps) = (*source.placed, source.taps);
    let mut row = [&[][..]; TAPS];
    let mut weights = [f32x8::splat(s, 0.0); TAPS];
    let Some(mut after) = source.records.segment.bytes.get(rows + taps.first * class.row_bytes..) else {
        invariant!(false, "the first row of {class:?} begins after the clip");
        return None;
    };
    for tap in 0..TAPS {
        row[tap] = after;
        weights[tap] = f32x8::splat(s, taps.weights[tap] as f32);
        // A tap past the last row has weight 0 and reads the last row again.
        let is_last = taps.first + tap >= class.intervals;
        let Some(next) = after.get(if is_last { 0 } else { class.row_bytes }..) else {
            invariant!(false, "row {} of {class:?} begins after the clip", taps.first + tap + 1);
            return None;
        };
        after = next;
    }
    // Cut all rows to the length of the last one, so that one comparison in the loop covers all of them.
    for row in &mut row {
        let Some(same) = row.get(..after.len()) else {
            invariant!(false, "each row begins after the one before it");
            return None;
        };
        *row = same;
    }
    Some(WeightedRows { row, weights })
}

/// Stores the numbers of two tracks as the vectors of their joints. Skips joints outside the batch.
#[inline(always)]
fn store_two<S: Simd>(numbers: f32x8<S>, places: [usize; 2], vectors: &mut Vectors) {
    let (low, high) = numbers.split();
    if let Some(place) = vectors.get_mut(places[0]) {
        low.store_slice(place);
    }
    if let Some(place) = vectors.get_mut(places[1]) {
        high.store_slice(place);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::assert_close;
    use condyle_base::simd::{Dispatch, dispatch};
    use std::vec::Vec;

    /// Key widths of the four tracks in the worked example: 43 bits for the first pair, then the second pair.
    const WIDTHS: [[u8; 3]; 4] = [[7, 7, 7], [8, 7, 7], [6, 5, 0], [4, 7, 5]];
    /// The keys of the four rows: x, y, z of each track.
    const KEYS: [[[u32; 3]; 4]; 4] = [
        [[99, 1, 127], [255, 0, 0b101_0000], [10, 3, 0], [0, 0, 0]],
        [[98, 2, 126], [254, 9, 17], [20, 5, 0], [3, 64, 31]],
        [[97, 3, 125], [253, 8, 16], [40, 7, 0], [9, 64, 31]],
        [[96, 4, 124], [252, 7, 15], [50, 9, 0], [12, 0, 0]],
    ];

    /// A segment of one class, in the layout of `docs/format.md`.
    fn segment() -> Vec<u8> {
        // One class, one-byte offsets, four tracks, four rows of nine bytes.
        let mut bytes: Vec<u8> = [1, 1, 4, 0, 36, 0, 0, 0].into();
        // Translations on cubic splines: three intervals, nine bytes in a row, four tracks.
        bytes.extend([1 + 4 * 3, 3, 0, 9, 0, 4, 0]);
        for row in KEYS {
            let (mut bits, mut at) = (0_u128, 0);
            for (&key, width) in row.as_flattened().iter().zip(WIDTHS.as_flattened()) {
                bits |= u128::from(key) << at;
                at += width;
            }
            assert_eq!(at, 70);
            bytes.extend(&bits.to_le_bytes()[..9]);
        }
        bytes.extend([0x70, 7, 7, 7, 0, 1, 2, 3]);
        bytes.extend([0x71, 8, 7, 7, 2, 4, 5, 6]);
        bytes.extend([0x82, 0x06, 0x05, 0x00, 0x03, 0xF6, 0x14, 0x08]);
        bytes.extend([0x80, 0x04, 0x07, 0x05, 0x07, 0x00, 0xF0, 0x05]);
        bytes.extend([0; 24]);
        bytes
    }

    #[test]
    fn the_worked_record_comes_out_as_the_preface_says() {
        let bytes = segment();
        let segment = Segment::new(&bytes, 1);
        let placed = segment.classes().next().expect("one class");
        assert_eq!((placed.class.count, segment.record_bytes()), (4, 8));
        assert_eq!(bytes[placed.rows + 5..][..3], [0x55, 0x06, 0x00]);
        assert_eq!(starts(0x0507_0480_0005_0682, 3).to_le_bytes(), [3, 9, 14, 14, 14, 18, 25, 30]);
        let taps = Taps::at(placed.class.degree, placed.class.intervals, 0.5);
        assert_close(&taps.weights.map(|w| (48.0 * w) as f32), &[1.0, 23.0, 23.0, 1.0], 1e-6, "weights");
        for dispatch in Dispatch::all() {
            let mut vectors = [[f32::NAN; 4]; 8];
            dispatch!(dispatch, |s, mode| {
                let records = Records::new(s, &segment, None);
                let part = Part { count: 4, ..Part::default() };
                let source = Source { records: &records, placed: &placed, part, taps: &taps };
                unpack::<_, _, 4, true>(s, mode, source, 0, &mut vectors, &mut []);
            });
            let case = |joint: usize| std::format!("{dispatch}, joint {joint}");
            assert_close(&vectors[3][..3], &[20.0, 26.0, 8.0].map(|v| v * 1.25 / 1024.0), 1e-8, case(3));
            assert_close(&vectors[3][..3], &[0.024_414, 0.031_738, 0.009_766], 5e-7, case(3));
            let second = [(23.0 * 12.0 + 12.0) / 48.0, 23.0 * 128.0 / 48.0 - 16.0, 23.0 * 62.0 / 48.0 + 5.0];
            assert_close(&vectors[7][..3], &second.map(|v| v / 1024.0), 1e-8, case(7));
            assert!(vectors[1][0].is_nan() && vectors[0][0].is_finite(), "{vectors:?}");
        }
    }
}
