//! From packed keys to a pose.
//!
//! A track is three numbers of a few bits each, one beside the other in the row of every key. Two tracks fill eight lanes: a
//! shuffle of bytes and a shift bring each number to its lane, the same for all rows, as rows begin at whole bytes. What
//! comes out is `step · (offset + Σ weight · key)`.

use core::ops::Range;

use fearless_simd::{f32x4, f32x8, i32x8, prelude::*, u8x16, u8x32, u32x8, u64x4};

use crate::bytes::u32_at;
use crate::clip::layout::{Class, FIRST_STEP, JOINT_BITS, Kind, OFFSET, Placed, Segment, WINDOW};
use crate::clip::spline::{Degree, Taps};
use crate::interpolate::{OneFactor, straight};
use crate::math::exp_map;
use crate::pose::PoseBlock;
use crate::simd::{BLOCK, Lanes, Mode, load_all, store_all, transpose_halves};

/// Which joints are wanted, if not all.
#[derive(Clone, Copy)]
pub(super) struct Wanted<'a> {
    /// The joint of the first lane: blocks may be a part of a pose.
    pub(super) first: usize,
    /// How many joints are wanted from there on.
    pub(super) count: usize,
    /// Joints to leave at rest have `false`.
    pub(super) mask: Option<&'a [bool]>,
}

impl Wanted<'_> {
    #[inline(always)]
    pub(super) fn has(&self, joint: usize) -> bool {
        joint.wrapping_sub(self.first) < self.count
            && self.mask.is_none_or(|mask| mask.get(joint).copied().unwrap_or(false))
    }

    /// Whether any of `count` joints from this one on is wanted.
    #[inline(always)]
    fn any(&self, joint: usize, count: usize) -> bool {
        let Some(mask) = self.mask else { return true };
        mask.iter().skip(joint).take(count).any(|&wanted| wanted)
    }
}

/// Joints that are done at a time. Most characters have fewer: what is not needed is not cleared either.
const GROUP: usize = 256;
const FEW: usize = 96;

/// Three numbers of each joint of a group, and a fourth one that means nothing.
type Group = [[f32; 4]];

/// What is read of a row at once: the bits of two tracks, wherever they begin in their first byte.
const ROW_WINDOW: usize = 16;
const _: () = assert!(7 + 6 * JOINT_BITS as usize <= 8 * ROW_WINDOW);
/// Records have at most so many bytes: two of them, and what is read of the second one, are in a window.
const RECORD: usize = OFFSET + 3 * 3 + 1;
const _: () = assert!(2 * RECORD <= WINDOW && RECORD + 16 <= WINDOW && RECORD < 16);

/// The beginnings of the records of two tracks, the second one at most 15 bytes behind the first, as compilers are to see.
#[inline(always)]
fn two_records<S: Simd>(s: S, bytes: &[u8; WINDOW], apart: usize) -> u8x32<S> {
    let (a, b) = (&bytes[..16], &bytes[apart & 15..][..16]);
    u8x16::from_slice(s, a).combine(u8x16::from_slice(s, b))
}

/// 2^k for k from 0 to 24.
#[inline(always)]
fn power<S: Simd>(s: S, k: u32x8<S>) -> u32x8<S> {
    if S::f32s::LEN >= 8 {
        return u32x8::splat(s, 1) << k;
    }
    // By way of the exponent of a float: narrow instruction sets do not shift each lane by its own number.
    let exponent: f32x8<S> = ((k + u32x8::splat(s, 127)) << 23).bitcast();
    let power: i32x8<S> = exponent.to_int();
    power.bitcast()
}

/// How the numbers of two tracks come out of the window of a row.
#[derive(Clone, Copy)]
struct Fields<S: Simd> {
    control: u8x32<S>,
    /// How far each number is to be shifted down; for narrow instruction sets, what takes it to the eighth bit.
    align: u32x8<S>,
    mask: u32x8<S>,
}

impl<S: Simd> Fields<S> {
    /// Of two tracks with these widths, which may have more than five bits where there is no number, and these [`starts`].
    #[inline(always)]
    fn new(s: S, widths: u32x8<S>, starts: u64) -> Self {
        // Byte by byte of the word of starts.
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

    /// The numbers, as floats.
    #[inline(always)]
    fn take(&self, s: S, window: &[u8; ROW_WINDOW]) -> f32x8<S> {
        let window = u8x16::from_slice(s, window);
        // A byte behind the window is another one on each instruction set, and masked on all.
        let found = s.swizzle_dyn_within_blocks_u8x32(window.combine(window), self.control);
        let found: u32x8<S> = found.bitcast();
        let down = if S::f32s::LEN >= 8 { found >> self.align } else { (found * self.align) >> 7 };
        let numbers: i32x8<S> = (down & self.mask).bitcast();
        numbers.to_float()
    }
}

/// A byte for each lane, in all bytes of it.
const fn bytes_of_lanes(lanes: [u8; 8]) -> [u8; 32] {
    let mut control = [0; 32];
    let mut i = 0;
    while i < 32 {
        control[i] = lanes[i / 4];
        i += 1;
    }
    control
}

/// Three widths and the step of two records, each in the upper byte of a lane.
const HEAD: [u8; 32] = bytes_of_lanes([1, 2, 3, 0, 1, 2, 3, 0]);
/// The last lane of each half, in all of its lanes.
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

/// How offsets of each length come to the upper end of their lanes.
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

/// At which bit the numbers of two tracks begin, a byte each, of the first four bytes of their records: those of the one in the lower half
/// in the first three, those of the other in the fifth to seventh. The last byte is where both end.
#[inline(always)]
fn starts(heads: u64, first: usize) -> u64 {
    // Each byte is the sum of all that are lower: `first`, which stands where the step did, and the widths of the numbers before.
    ((heads & 0xFFFF_FF00_FFFF_FF00) + first as u64).wrapping_mul(0x0101_0101_0101_0101)
}

/// What the records of a segment have in common.
struct Records<'a, S: Simd> {
    segment: &'a Segment<'a>,
    /// Bytes of each.
    bytes: usize,
    /// Brings the offsets of two records to the upper ends of their lanes.
    offsets: u8x32<S>,
    /// How far they have to be shifted down from there.
    upper: u32,
    wanted: Option<Wanted<'a>>,
}

impl<'a, S: Simd> Records<'a, S> {
    #[inline(always)]
    fn new(s: S, segment: &'a Segment<'a>, wanted: Option<Wanted<'a>>) -> Self {
        let offset_bytes = segment.offset_bytes.clamp(1, OFFSETS.len());
        Self {
            segment,
            bytes: segment.record_bytes(),
            offsets: u8x32::from_slice(s, &OFFSETS[offset_bytes - 1]),
            upper: 32 - 8 * offset_bytes as u32,
            wanted,
        }
    }

    /// The tracks of a class whose joints are in a range, which rise, behind an earlier part.
    #[inline(always)]
    fn part(&self, placed: &Placed, before: Part, joints: Range<usize>) -> Part {
        let end = placed.track + placed.class.count;
        let mut track = placed.track + before.first + before.count;
        let mut bits_until = |joint: usize| {
            let mut bits = 0;
            while track < end && self.segment.index(track) < joint {
                bits += self.segment.total_width(track);
                track += 1;
            }
            (track - placed.track, bits)
        };
        let (first, passed) = bits_until(joints.start);
        let (next, own) = bits_until(joints.end);
        let bit = before.next_bit + passed;
        Part { first, count: next - first, bit, next_bit: bit + own }
    }

    /// The place of the joint of a record in the group that begins with joint `base`: beyond all of them for what is not wanted.
    #[inline(always)]
    fn place(&self, record: &[u8], base: usize) -> usize {
        let byte = |at: usize| record.get(at).map_or(0, |&byte| usize::from(byte));
        let high = if self.segment.index_bytes == 1 { 0 } else { byte(self.bytes - 1) };
        let joint = byte(OFFSET - 1) | high << 8;
        let has = self.wanted.is_none_or(|wanted| wanted.has(joint));
        if has { joint.wrapping_sub(base) } else { usize::MAX }
    }
}

/// Some tracks of a class, one behind another.
#[derive(Clone, Copy, Default)]
struct Part {
    first: usize,
    count: usize,
    /// Where in each row their numbers begin, and where those behind them do.
    bit: usize,
    next_bit: usize,
}

/// Unpacks tracks of a class, two at a time, into the places of their joints in the group that begins with joint `base`. Four rows are
/// summed, or none for constants; of two, the second goes to `to`.
#[inline(always)]
fn unpack<S: Simd, M: Mode, const TAPS: usize, const PLAIN: bool>(
    s: S,
    mode: M,
    (records, placed): (&Records<'_, S>, &Placed),
    (first, weights): (usize, [f64; 4]),
    (base, part): (usize, Part),
    group: &mut Group,
    to: &mut Group,
) {
    let Placed { class, rows, track } = *placed;
    let bytes = records.segment.bytes;
    let Some(before_last) = part.count.checked_sub(1) else { return };
    let mut row = [&[][..]; TAPS];
    let mut spread = [f32x8::splat(s, 0.0); TAPS];
    let Some(mut behind) = bytes.get(rows + first * class.row_bytes..) else { return };
    for tap in 0..TAPS {
        row[tap] = behind;
        spread[tap] = f32x8::splat(s, weights[tap] as f32);
        // What has no weight may lie behind the last row.
        let Some(next) = behind.get(if first + tap < class.intervals { class.row_bytes } else { 0 }..) else {
            return;
        };
        behind = next;
    }
    // Rows of one length, so that one comparison tells of all.
    for row in &mut row {
        let Some(same) = row.get(..behind.len()) else { return };
        *row = same;
    }
    let apart = records.bytes & 15;
    let last = records.bytes * (before_last & !1);
    let from = records.segment.records + records.bytes * (track + part.first);
    // Ends where the window of the last pair does, so that there is none when all pairs are done.
    let Some(all) = bytes.get(from..).and_then(|records| records.get(..last + WINDOW)) else { return };
    // What stands behind the last one of an odd number is not of this part.
    let alone = if part.count % 2 == 0 { usize::MAX } else { last };
    // In 32 bits no sum overflows.
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
            if places.iter().all(|&place| place >= group.len()) {
                continue;
            }
        }
        if is_alone {
            places[1] = usize::MAX;
        }
        let both = two_records(s, window, apart);
        let offsets: i32x8<S> = s.swizzle_dyn_within_blocks_u8x32(both, records.offsets).bitcast();
        let offsets: f32x8<S> = (offsets >> records.upper).to_float();
        let head: u32x8<S> = shuffle(s, both, &HEAD) >> 24;
        // As `layout::step`.
        let codes = shuffle(s, head.bitcast(), &LAST) << 20;
        let steps: f32x8<S> = (codes + u32x8::splat(s, FIRST_STEP)).bitcast();
        let mut sum = offsets;
        if TAPS > 0 {
            let fields = Fields::new(s, head, starts);
            let mut keys = f32x8::splat(s, 0.0);
            for tap in 0..TAPS {
                let Some(window) = row[tap].get(at..).and_then(<[u8]>::first_chunk) else { return };
                let numbers = fields.take(s, window);
                if TAPS != 2 {
                    keys = if tap == 0 { numbers * spread[0] } else { mode.madd(numbers, spread[tap], keys) };
                } else if tap == 0 {
                    keys = numbers;
                } else {
                    store_two((numbers + offsets) * steps, places, to);
                }
            }
            sum = keys + offsets;
        }
        store_two(sum * steps, places, group);
    }
}

/// Puts the numbers of two tracks in their places.
#[inline(always)]
fn store_two<S: Simd>(numbers: f32x8<S>, places: [usize; 2], group: &mut Group) {
    let (low, high) = numbers.split();
    if let Some(place) = group.get_mut(places[0]) {
        low.store_slice(place);
    }
    if let Some(place) = group.get_mut(places[1]) {
        high.store_slice(place);
    }
}

/// Whether all joints are wanted, and are in one group by indices of one byte: then nothing has to be looked at.
pub(super) fn is_plain(segment: &Segment<'_>, wanted: Option<Wanted<'_>>, blocks: &[PoseBlock]) -> bool {
    wanted.is_none() && segment.index_bytes == 1 && blocks.len() * BLOCK <= GROUP
}

/// All joints of `blocks` at a moment `ratio` of the way through a segment. What is not wanted is left at `rest`.
///
/// With `PLAIN`, where [`is_plain`], the loops over tracks hold no more than they need, and all of that in registers.
#[inline(always)]
pub(super) fn pose<S: Simd, M: Mode, const PLAIN: bool>(
    s: S,
    mode: M,
    (segment, ratio, between): (&Segment<'_>, f64, &Between),
    wanted: Option<Wanted<'_>>,
    rest: &[PoseBlock],
    blocks: &mut [PoseBlock],
) {
    let (mut few, mut many, mut few_ends, mut many_ends);
    let is_small = blocks.len() * BLOCK <= FEW;
    let group: &mut Group = if is_small {
        few = [[0.0; 4]; FEW];
        &mut few
    } else {
        many = [[0.0; 4]; GROUP];
        &mut many
    };
    // What rotations that go from key to key go to.
    let to: &mut Group = match (segment.turns, is_small) {
        (false, _) => &mut [],
        (true, true) => {
            few_ends = [[0.0; 4]; FEW];
            &mut few_ends
        }
        (true, false) => {
            many_ends = [[0.0; 4]; GROUP];
            &mut many_ends
        }
    };
    let records = Records::new(s, segment, wanted);
    // The last part of each class, if there are several groups.
    let mut several;
    let parts: &mut [Part] = if PLAIN || blocks.len() * BLOCK <= GROUP {
        &mut []
    } else {
        several = [Part::default(); u8::MAX as usize];
        &mut several
    };
    let mut base = wanted.map_or(0, |wanted| wanted.first);
    let start = base;
    for (blocks, rest) in blocks.chunks_mut(GROUP / BLOCK).zip(rest.chunks(GROUP / BLOCK)) {
        if wanted.is_some_and(|wanted| !wanted.any(base, GROUP)) {
            blocks.iter_mut().zip(rest).for_each(|(block, rest)| {
                keep(s, &rest.rotation, &mut block.rotation);
                keep(s, &rest.translation, &mut block.translation);
                keep(s, &rest.scale, &mut block.scale);
            });
            base += GROUP;
            continue;
        }
        if base > start {
            group.fill([0.0; 4]);
        }
        // Rotations are first, and values last.
        let classes = segment.classes().take_while(|placed| placed.class.kind != Kind::Values);
        let mut rotated = false;
        for (at, placed) in classes.map(Some).chain([None]).enumerate() {
            let is_rotation = placed.is_some_and(|placed| placed.class.kind == Kind::Rotation);
            if !is_rotation && !rotated {
                rotate(s, mode, (group, to, between), (base, wanted), rest, blocks);
                rotated = true;
            }
            let Some(placed) = placed else { break };
            let class = placed.class;
            let taps = Taps::at(class.degree, class.intervals, ratio);
            let from = (&records, &placed);
            let mut part = Part { count: class.count, ..Part::default() };
            let count = wanted.map_or(GROUP, |wanted| wanted.count.min(GROUP));
            if !parts.is_empty() || count < GROUP {
                let before = parts.get(at).copied().unwrap_or_default();
                part = records.part(&placed, before, base..base + count);
                parts.get_mut(at).into_iter().for_each(|last| *last = part);
            }
            if class.degree == Degree::Constant {
                unpack::<S, M, 0, PLAIN>(s, mode, from, (0, [0.0; 4]), (base, part), group, &mut []);
            } else if is_rotation && class.degree == Degree::Linear {
                // One class has them, and it stands behind all other rotations, which stay where they are.
                to.iter_mut().zip(&*group).for_each(|(to, &from)| *to = from);
                unpack::<S, M, 2, PLAIN>(s, mode, from, (taps.first, [1.0; 4]), (base, part), group, to);
            } else {
                unpack::<S, M, 4, PLAIN>(
                    s,
                    mode,
                    from,
                    (taps.first, taps.weights),
                    (base, part),
                    group,
                    &mut [],
                );
            }
            if !is_rotation {
                put(&placed, part, segment, (base, wanted), group, rest, blocks);
            }
        }
        base += GROUP;
    }
}

/// Adds the numbers of tracks of a class to what their joints have at rest.
#[inline(always)]
fn put(
    placed: &Placed,
    part: Part,
    segment: &Segment<'_>,
    (base, wanted): (usize, Option<Wanted<'_>>),
    group: &Group,
    rest: &[PoseBlock],
    blocks: &mut [PoseBlock],
) {
    let class = placed.class;
    let first = placed.track + part.first;
    for track in first..first + part.count {
        let joint = segment.index(track);
        let place = joint.wrapping_sub(base);
        let (at, lane) = (place / BLOCK, place % BLOCK);
        let (Some(rest), Some(block), Some([x, y, z, _])) =
            (rest.get(at), blocks.get_mut(at), group.get(place))
        else {
            continue;
        };
        if wanted.is_some_and(|wanted| !wanted.has(joint)) {
            continue;
        }
        let (from, rows) = match class.kind {
            Kind::Scale => (&rest.scale, &mut block.scale),
            _ => (&rest.translation, &mut block.translation),
        };
        rows[0][lane] = from[0][lane] + x;
        rows[1][lane] = from[1][lane] + y;
        rows[2][lane] = from[2][lane] + z;
    }
}

/// Eight joints at a time from numbers joint by joint to component by component.
#[inline(always)]
fn components<S: Simd>(s: S, joints: &[[f32; 4]; BLOCK]) -> [Lanes; 3] {
    let mut rows = [[0.0; BLOCK]; 3];
    for (eight, joints) in joints.as_chunks::<8>().0.iter().enumerate() {
        let two = |i: usize| f32x4::from_slice(s, &joints[i]).combine(f32x4::from_slice(s, &joints[i + 4]));
        let [x, y, z, _] = transpose_halves([two(0), two(1), two(2), two(3)]);
        x.store_slice(&mut rows[0][8 * eight..][..8]);
        y.store_slice(&mut rows[1][8 * eight..][..8]);
        z.store_slice(&mut rows[2][8 * eight..][..8]);
    }
    rows
}

/// How far rotations go on to others.
#[derive(Clone, Copy)]
pub(super) enum Between {
    Nothing,
    Straight(f32),
    Slerp(OneFactor),
}

impl Between {
    /// A moment `ratio` of the way through a segment.
    pub(super) fn new(segment: &Segment<'_>, ratio: f64) -> Self {
        let is_turn = |class: &Class| class.kind == Kind::Rotation && class.degree == Degree::Linear;
        let turn = segment.classes().map(|placed| placed.class).filter(|_| segment.turns).find(is_turn);
        let Some(class) = turn else { return Self::Nothing };
        let taps = Taps::at(Degree::Linear, class.intervals, ratio);
        let factor = taps.weights[1] as f32;
        if segment.straight { Self::Straight(factor) } else { Self::Slerp(OneFactor::new(factor)) }
    }
}

/// Copies rows of lanes, a register at a time: more at once would be a call of memcpy.
#[inline(always)]
fn keep<S: Simd, const N: usize>(s: S, from: &[Lanes; N], to: &mut [Lanes; N]) {
    for (from, to) in from.iter().zip(to) {
        for lane in (0..BLOCK).step_by(S::f32s::LEN) {
            S::f32s::from_slice(s, &from[lane..lane + S::f32s::LEN])
                .store_slice(&mut to[lane..lane + S::f32s::LEN]);
        }
    }
}

/// From logarithms to rotations, a part of the way on to others if there are any; translations and scales are those of `rest`.
#[inline(always)]
fn rotate<S: Simd, M: Mode>(
    s: S,
    mode: M,
    (group, to, between): (&Group, &Group, &Between),
    (base, wanted): (usize, Option<Wanted<'_>>),
    rest: &[PoseBlock],
    blocks: &mut [PoseBlock],
) {
    let slerp = match between {
        Between::Slerp(factor) => Some(factor.spread(s)),
        _ => None,
    };
    let groups = group.as_chunks::<BLOCK>().0;
    for (at, ((block, rest), logs)) in blocks.iter_mut().zip(rest).zip(groups).enumerate() {
        keep(s, &rest.translation, &mut block.translation);
        keep(s, &rest.scale, &mut block.scale);
        if wanted.is_some_and(|wanted| !wanted.any(base + at * BLOCK, BLOCK)) {
            keep(s, &rest.rotation, &mut block.rotation);
            continue;
        }
        let logs = components(s, logs);
        let Some(ends) = to.as_chunks::<BLOCK>().0.get(at).filter(|_| !matches!(between, Between::Nothing))
        else {
            for lane in (0..BLOCK).step_by(S::f32s::LEN) {
                let turn = exp_map::exp(s, mode, &load_all(s, &logs, lane));
                turned(s, mode, lane, turn, rest, block);
            }
            continue;
        };
        let ends = components(s, ends);
        for lane in (0..BLOCK).step_by(S::f32s::LEN) {
            let turn = exp_map::exp(s, mode, &load_all(s, &logs, lane));
            let to = exp_map::exp(s, mode, &load_all(s, &ends, lane));
            let turn = match (between, &slerp) {
                (&Between::Straight(factor), _) => straight(s, mode, factor, turn, to),
                (_, Some(slerp)) => slerp.rotations(s, mode, turn, to),
                _ => turn,
            };
            turned(s, mode, lane, turn, rest, block);
        }
    }
}

/// Turns joints away from where they rest.
#[inline(always)]
fn turned<S: Simd, M: Mode>(
    s: S,
    mode: M,
    lane: usize,
    turn: [S::f32s; 4],
    rest: &PoseBlock,
    block: &mut PoseBlock,
) {
    let from: [S::f32s; 4] = load_all(s, &rest.rotation, lane);
    store_all(&mut block.rotation, lane, exp_map::product::<S, M>(mode, &from, &turn));
}
