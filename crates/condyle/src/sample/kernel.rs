//! From packed keys to a pose.
//!
//! A track is three numbers of a few bits each, one beside the other in the row of every key. Two tracks fill eight lanes: a
//! shuffle of bytes and a shift bring each number to its lane, the same for all rows, as rows begin at whole bytes. What
//! comes out is `step · (offset + Σ weight · key)`.

use fearless_simd::{f32x4, f32x8, i32x8, prelude::*, u8x16, u8x32, u32x4, u32x8};

use crate::bytes::u32_at;
use crate::clip::layout::{Class, FIRST_STEP, Kind, OFFSET, Placed, Segment, WINDOW};
use crate::clip::spline::{Degree, Taps};
use crate::exp_map;
use crate::interpolate::{OneFactor, straight};
use crate::pose::{BLOCK, Lanes, PoseBlock};
use crate::simd::{Mode, load_all, store_all, transpose};

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

    /// Whether a block that begins with this joint holds any that is wanted.
    fn any(&self, joint: usize) -> bool {
        let Some(mask) = self.mask else { return true };
        mask.iter().skip(joint).take(BLOCK).any(|&wanted| wanted)
    }
}

/// Joints that are done at a time. Most characters have fewer: what is not needed is not cleared either.
const GROUP: usize = 256;
const FEW: usize = 96;

/// Three numbers of each joint of a group, and a fourth one that means nothing.
type Group = [[f32; 4]];

/// A number in the four lanes of each of two tracks.
#[inline(always)]
fn two<S: Simd>(s: S, a: u32, b: u32) -> u32x8<S> {
    u32x4::splat(s, a).combine(u32x4::splat(s, b))
}

/// 16 bytes for each of two tracks, the second one at most 15 bytes behind the first.
#[inline(always)]
fn two_windows<S: Simd>(s: S, bytes: &[u8; WINDOW], apart: usize) -> u8x32<S> {
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

/// How the numbers of two tracks come out of the windows of a row.
#[derive(Clone, Copy)]
struct Fields<S: Simd> {
    control: u8x32<S>,
    /// How far each number is to be shifted down; for narrow instruction sets, what takes it to the eighth bit.
    align: u32x8<S>,
    mask: u32x8<S>,
}

impl<S: Simd> Fields<S> {
    /// Of two tracks with these records, whose numbers begin at these bits of their windows, below 8.
    #[inline(always)]
    fn new(s: S, records: u8x32<S>, bits: [usize; 2]) -> Self {
        const WIDTHS: [u8; 32] = bytes_of_lanes([0, 1, 0, 1]);
        const DOWN: [u32; 8] = [0, 5, 10, 15, 0, 5, 10, 15];
        const UP: [u32; 8] = [1 << 15, 1 << 10, 1 << 5, 1, 1 << 15, 1 << 10, 1 << 5, 1];
        // Widths of the lanes before, one and two on.
        const ONE_ON: [u8; 32] = lanes_on([3, 0, 1, 2]);
        const TWO_ON: [u8; 32] = lanes_on([2, 3, 0, 1]);
        const BEYOND_FIRST: [u32; 8] = [0, !0, !0, !0, 0, !0, !0, !0];
        const BEYOND_SECOND: [u32; 8] = [0, 0, !0, !0, 0, 0, !0, !0];
        let lanes = |lanes: &[u32; 8]| u32x8::from_slice(s, lanes);
        let packed: u32x8<S> = shuffle(s, records, &WIDTHS);
        let widths = if S::f32s::LEN >= 8 {
            packed >> lanes(&DOWN)
        } else {
            // Bits above the first 17 fall off, of which none is wanted.
            (packed * lanes(&UP)) >> 15
        };
        let widths = widths & u32x8::splat(s, 31);
        let starts = two(s, bits[0] as u32, bits[1] as u32);
        let starts = starts + (shuffle(s, widths.bitcast(), &ONE_ON) & lanes(&BEYOND_FIRST));
        let starts = starts + (shuffle(s, widths.bitcast(), &TWO_ON) & lanes(&BEYOND_SECOND));
        let bytes = shuffle(s, (starts >> 3).bitcast(), &LOW_BYTES) + u32x8::splat(s, 0x0302_0100);
        let odd = starts & u32x8::splat(s, 7);
        Self {
            control: bytes.bitcast(),
            align: if S::f32s::LEN >= 8 { odd } else { power(s, u32x8::splat(s, 7) - odd) },
            mask: power(s, widths) - u32x8::splat(s, 1),
        }
    }

    /// The numbers, as floats.
    #[inline(always)]
    fn take(&self, s: S, windows: u8x32<S>) -> f32x8<S> {
        let found: u32x8<S> = s.swizzle_dyn_within_blocks_u8x32(windows, self.control).bitcast();
        let down = if S::f32s::LEN >= 8 { found >> self.align } else { (found * self.align) >> 7 };
        let numbers: i32x8<S> = (down & self.mask).bitcast();
        numbers.to_float()
    }
}

/// The bytes that move whole lanes of four bytes within each half.
const fn lanes_on(from: [u8; 4]) -> [u8; 32] {
    let mut control = [0; 32];
    let mut i = 0;
    while i < 32 {
        control[i] = from[i / 4 % 4] * 4 + (i % 4) as u8;
        i += 1;
    }
    control
}

/// The same four bytes of each half in all of its lanes.
const fn bytes_of_lanes(bytes: [u8; 4]) -> [u8; 32] {
    let mut control = [0; 32];
    let mut i = 0;
    while i < 32 {
        control[i] = bytes[i % 4];
        i += 1;
    }
    control
}

/// The lowest byte of each lane in all four.
const LOW_BYTES: [u8; 32] = {
    let mut control = [0; 32];
    let mut i = 0;
    while i < 32 {
        control[i] = (i / 4 % 4 * 4) as u8;
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

/// Bits that two tracks take, by their widths in the halves of a word.
#[inline(always)]
fn two_widths(records: u64) -> [usize; 2] {
    const FIVE: u64 = 0x1F_0000_001F;
    let sum = (records & FIVE) + (records >> 5 & FIVE) + (records >> 10 & FIVE);
    [(sum & 0xFF) as usize, (sum >> 32) as usize]
}

/// Unpacks the tracks of a class, two at a time, into the places of those joints that are `wanted`, if not all are, and in
/// the group that begins with joint `base`. Four rows are summed, or none for constants; of two, the second goes to `to`, which gets the
/// same as the group otherwise; it may be empty.
#[inline(always)]
fn unpack<S: Simd, M: Mode, const TAPS: usize>(
    s: S,
    mode: M,
    (segment, placed): (&Segment<'_>, &Placed),
    (first, weights): (usize, [f64; 4]),
    (base, wanted): (usize, Option<Wanted<'_>>),
    group: &mut Group,
    to: &mut Group,
) {
    const STEPS: [u8; 32] = bytes_of_lanes([0, 1, 2, 3]);
    let Placed { class, rows, track } = *placed;
    // Rows of one length, so that one comparison tells of all.
    let length = class.row_bytes + WINDOW;
    let mut row = [&[][..]; TAPS];
    let mut spread = [f32x8::splat(s, 0.0); TAPS];
    for tap in 0..TAPS {
        // What has no weight may lie behind the last row.
        let from = rows + (first + tap).min(class.intervals) * class.row_bytes;
        let Some(bytes) = segment.bytes.get(from..from + length) else { return };
        row[tap] = bytes;
        spread[tap] = f32x8::splat(s, weights[tap] as f32);
    }
    let control = u8x32::from_slice(s, &OFFSETS[(segment.offset_bytes + 2) % 3]);
    let upper = 32 - 8 * segment.offset_bytes as u32;
    let record_bytes = segment.record_bytes();
    let Some(mut records) = segment.bytes.get(segment.record(track)..) else { return };
    // All joints are wanted and in the first group: nothing has to be looked at.
    let plain = wanted.is_none() && segment.index_bytes == 1 && base == 0;
    let mut bit = 0;
    // Two by two; the last of an odd number stands for its own partner.
    let (mut left, mut apart, mut both_count) = (class.count / 2, record_bytes & 15, !0);
    let mut is_odd = class.count % 2 == 1;
    loop {
        if left == 0 {
            if !is_odd {
                return;
            }
            (left, apart, both_count, is_odd) = (1, 0, 0, false);
        }
        left -= 1;
        let Some(window) = records.first_chunk::<WINDOW>() else { return };
        let heads = u64::from(u32_at(window, 0)) | u64::from(u32_at(&window[apart..], 0)) << 32;
        let widths = two_widths(heads);
        let first = bit;
        let second = first + (widths[0] & both_count);
        bit = second + widths[1];
        let Some(behind) = records.get(2 * record_bytes..) else { return };
        records = behind;
        let mut places = [usize::from(window[OFFSET - 1]), usize::from(window[apart + OFFSET - 1])];
        if !plain {
            for (place, at) in places.iter_mut().zip([0, apart]) {
                let joint = record_index(segment, &window[at..]);
                let has = wanted.is_none_or(|wanted| wanted.has(joint));
                *place = if has { joint.wrapping_sub(base) } else { usize::MAX };
            }
            if places[0] >= group.len() && places[1] >= group.len() {
                continue;
            }
        }
        let both = two_windows(s, window, apart);
        let offsets: i32x8<S> = s.swizzle_dyn_within_blocks_u8x32(both, control).bitcast();
        let offsets: f32x8<S> = (offsets >> upper).to_float();
        // As `layout::step`.
        let codes: u32x8<S> = shuffle(s, both, &STEPS);
        let codes = (codes & u32x8::splat(s, 0x00FF_0000)) << 4;
        let steps: f32x8<S> = (codes + u32x8::splat(s, FIRST_STEP)).bitcast();
        let mut sum = offsets;
        if TAPS > 0 {
            let fields = Fields::new(s, both, [first & 7, second & 7]);
            let (at, apart) = (first >> 3, (second >> 3) - (first >> 3));
            let mut keys = f32x8::splat(s, 0.0);
            for tap in 0..TAPS {
                let Some(window) = row[tap].get(at..).and_then(<[u8]>::first_chunk) else { return };
                let numbers = fields.take(s, two_windows(s, window, apart));
                if TAPS != 2 {
                    keys = mode.madd(numbers, spread[tap], keys);
                } else if tap == 0 {
                    keys = numbers;
                } else {
                    store_two((numbers + offsets) * steps, places, to);
                }
            }
            sum = keys + offsets;
        }
        let numbers = sum * steps;
        store_two(numbers, places, group);
        if TAPS != 2 {
            // What goes nowhere goes to where it is.
            store_two(numbers, places, to);
        }
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

/// The index in a record.
#[inline(always)]
fn record_index(segment: &Segment<'_>, record: &[u8]) -> usize {
    let byte = |at: usize| record.get(at).map_or(0, |byte| usize::from(*byte));
    let low = byte(OFFSET - 1);
    if segment.index_bytes == 1 { low } else { low | byte(segment.record_bytes() - 1) << 8 }
}

/// All joints of `blocks` at a moment `ratio` of the way through a segment. What is not wanted is left at `rest`.
#[inline(always)]
pub(super) fn pose<S: Simd, M: Mode>(
    s: S,
    mode: M,
    (segment, ratio, between): (&Segment<'_>, f64, Between),
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
    let mut base = wanted.map_or(0, |wanted| wanted.first);
    let start = base;
    for (blocks, rest) in blocks.chunks_mut(GROUP / BLOCK).zip(rest.chunks(GROUP / BLOCK)) {
        if base > start {
            group.fill([0.0; 4]);
            to.fill([0.0; 4]);
        }
        let mut rotated = false;
        for placed in segment.classes() {
            let class = placed.class;
            let taps = Taps::at(class.degree, class.intervals, ratio * class.intervals as f64);
            if class.kind != Kind::Rotation && !rotated {
                rotate(s, mode, (group, to, between), (base, wanted), rest, blocks);
                rotated = true;
            }
            if class.kind == Kind::Values {
                break;
            }
            let from = (segment, &placed);
            if class.degree == Degree::Constant {
                unpack::<S, M, 0>(s, mode, from, (0, [0.0; 4]), (base, wanted), group, to);
            } else if class.kind == Kind::Rotation && class.degree == Degree::Linear {
                unpack::<S, M, 2>(s, mode, from, (taps.first, [1.0; 4]), (base, wanted), group, to);
            } else {
                unpack::<S, M, 4>(s, mode, from, (taps.first, taps.weights), (base, wanted), group, to);
            }
            if class.kind != Kind::Rotation {
                put(&placed, segment, (base, wanted), group, rest, blocks);
            }
        }
        if !rotated {
            rotate(s, mode, (group, to, between), (base, wanted), rest, blocks);
        }
        base += GROUP;
    }
}

/// Adds the numbers of a class to what the joints have at rest.
#[inline(always)]
fn put(
    placed: &Placed,
    segment: &Segment<'_>,
    (base, wanted): (usize, Option<Wanted<'_>>),
    group: &Group,
    rest: &[PoseBlock],
    blocks: &mut [PoseBlock],
) {
    let class = placed.class;
    for track in placed.track..placed.track + class.count {
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

/// Four joints at a time from numbers joint by joint to component by component.
#[inline(always)]
fn components<S: Simd>(s: S, joints: &[[f32; 4]]) -> [Lanes; 3] {
    let mut rows = [[0.0; BLOCK]; 3];
    for (quad, joints) in joints.as_chunks::<4>().0.iter().enumerate().take(BLOCK / 4) {
        let four = |i: usize| f32x4::from_slice(s, &joints[i]);
        let [x, y, z, _] = transpose([four(0), four(1), four(2), four(3)]);
        x.store_slice(&mut rows[0][4 * quad..][..4]);
        y.store_slice(&mut rows[1][4 * quad..][..4]);
        z.store_slice(&mut rows[2][4 * quad..][..4]);
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
        let taps = Taps::at(Degree::Linear, class.intervals, ratio * class.intervals as f64);
        let factor = taps.weights[1] as f32;
        if segment.straight { Self::Straight(factor) } else { Self::Slerp(OneFactor::new(factor)) }
    }
}

/// From logarithms to rotations, a part of the way on to others if there are any; translations and scales are those of `rest`.
#[inline(always)]
fn rotate<S: Simd, M: Mode>(
    s: S,
    mode: M,
    (group, to, between): (&Group, &Group, Between),
    (base, wanted): (usize, Option<Wanted<'_>>),
    rest: &[PoseBlock],
    blocks: &mut [PoseBlock],
) {
    let slerp = match between {
        Between::Slerp(factor) => Some(factor.spread(s)),
        _ => None,
    };
    for (at, (block, rest)) in blocks.iter_mut().zip(rest).enumerate() {
        for lane in (0..BLOCK).step_by(S::f32s::LEN) {
            store_all::<S, S::f32s, 3>(&mut block.translation, lane, load_all(s, &rest.translation, lane));
            store_all::<S, S::f32s, 3>(&mut block.scale, lane, load_all(s, &rest.scale, lane));
        }
        if wanted.is_some_and(|wanted| !wanted.any(base + at * BLOCK)) {
            for lane in (0..BLOCK).step_by(S::f32s::LEN) {
                store_all::<S, S::f32s, 4>(&mut block.rotation, lane, load_all(s, &rest.rotation, lane));
            }
            continue;
        }
        let part = |group: &Group| components(s, group.get(at * BLOCK..).unwrap_or_default());
        let logs = part(group);
        if matches!(between, Between::Nothing) {
            for lane in (0..BLOCK).step_by(S::f32s::LEN) {
                let turn = exp_map::exp(s, mode, &load_all(s, &logs, lane));
                turned(s, mode, lane, turn, rest, block);
            }
            continue;
        }
        let ends = part(to);
        for lane in (0..BLOCK).step_by(S::f32s::LEN) {
            let turn = exp_map::exp(s, mode, &load_all(s, &logs, lane));
            let to = exp_map::exp(s, mode, &load_all(s, &ends, lane));
            let turn = match (between, &slerp) {
                (Between::Straight(factor), _) => straight(s, mode, factor, turn, to),
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
