//! From packed keys to a pose.
//!
//! A track is three numbers of a few bits each, one beside the other in the row of every key. Two tracks fill eight lanes: a
//! shuffle of bytes and a shift bring each number to its lane, the same for all rows, as rows begin at whole bytes. What
//! comes out is `step · (offset + Σ weight · key)`.

use fearless_simd::{f32x4, f32x8, i32x8, prelude::*, u8x16, u8x32, u32x4, u32x8};

use crate::clip::layout::{Kind, Placed, Segment, WIDTH, WINDOW, step, total_width};
use crate::clip::spline::{Degree, Taps};
use crate::exp_map;
use crate::interpolate::OneFactor;
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
}

#[inline(always)]
fn is_wanted(wanted: Option<Wanted<'_>>, joint: usize) -> bool {
    wanted.is_none_or(|wanted| wanted.has(joint))
}

/// Whether a block holds any joint that is wanted.
#[inline(always)]
fn is_block_wanted(wanted: Option<Wanted<'_>>, block: usize) -> bool {
    let Some(Wanted { first, mask: Some(mask), .. }) = wanted else { return true };
    mask.iter().skip(first + block * BLOCK).take(BLOCK).fold(false, |any, &wanted| any | wanted)
}

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
    /// Of tracks with these widths, whose numbers begin at these bits of their windows, below 8.
    #[inline(always)]
    fn new(s: S, widths: [u16; 2], bits: [usize; 2]) -> Self {
        const DOWN: [u32; 8] = [0, 5, 10, 15, 0, 5, 10, 15];
        const UP: [u32; 8] = [1 << 15, 1 << 10, 1 << 5, 1, 1 << 15, 1 << 10, 1 << 5, 1];
        // Widths of the lanes before, one and two on. The first bit comes from lane 3, which holds no number.
        const ONE_ON: [u8; 32] = lanes_on([3, 0, 1, 2]);
        const TWO_ON: [u8; 32] = lanes_on([2, 3, 0, 1]);
        const NOT_FIRST: [u32; 8] = [0, !0, !0, !0, 0, !0, !0, !0];
        const NOT_SECOND: [u32; 8] = [0, 0, !0, !0, 0, 0, !0, !0];
        let lanes = |lanes: &[u32; 8]| u32x8::from_slice(s, lanes);
        let packed = |i: usize| u32::from(widths[i]) | (bits[i] as u32) << 15;
        let packed = two(s, packed(0), packed(1));
        let widths = if S::f32s::LEN >= 8 {
            packed >> lanes(&DOWN)
        } else {
            // Bits above the first 17 fall off, of which none is wanted.
            (packed * lanes(&UP)) >> 15
        };
        let widths = widths & u32x8::splat(s, 31);
        let before = shuffle(s, widths, &ONE_ON);
        let starts = before + (shuffle(s, widths, &TWO_ON) & lanes(&NOT_FIRST));
        let starts = starts + (shuffle(s, widths, &lanes_on([1, 2, 3, 0])) & lanes(&NOT_SECOND));
        let bytes = shuffle_bytes(s, starts >> 3, &LOW_BYTES) + u32x8::splat(s, 0x0302_0100);
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
fn shuffle<S: Simd>(s: S, lanes: u32x8<S>, control: &[u8; 32]) -> u32x8<S> {
    shuffle_bytes(s, lanes, control)
}

#[inline(always)]
fn shuffle_bytes<S: Simd>(s: S, lanes: u32x8<S>, control: &[u8; 32]) -> u32x8<S> {
    let bytes: u8x32<S> = lanes.bitcast();
    s.swizzle_dyn_within_blocks_u8x32(bytes, u8x32::from_slice(s, control)).bitcast()
}

/// How offsets of each length come to the upper end of their lanes.
static OFFSETS: [[u8; 32]; 4] = [offsets(1), offsets(2), offsets(3), offsets(4)];

const fn offsets(bytes: u8) -> [u8; 32] {
    let mut control = [0; 32];
    let mut i = 0;
    while i < 32 {
        let (lane, byte) = ((i / 4 % 4) as u8, (i % 4) as u8);
        if lane < 3 && byte + bytes >= 4 {
            control[i] = lane * bytes + (byte + bytes - 4);
        }
        i += 1;
    }
    control
}

/// The parts of a segment that all its classes share, each as long as its tracks take.
#[derive(Clone, Copy)]
struct Tables<'a> {
    segment: &'a Segment<'a>,
    offsets: &'a [u8],
    widths: &'a [[u8; 2]],
    steps: &'a [u8],
    low: &'a [u8],
    /// The upper halves of indices of two bytes.
    high: &'a [u8],
}

impl<'a> Tables<'a> {
    #[inline(always)]
    fn new(segment: &'a Segment<'a>) -> Self {
        let part = |from: usize, to: usize| segment.bytes.get(from..to).unwrap_or_default();
        let tracks = segment.indices - segment.steps;
        Self {
            segment,
            offsets: part(segment.offsets, segment.widths + WINDOW),
            widths: part(segment.widths, segment.steps).as_chunks().0,
            steps: part(segment.steps, segment.indices),
            low: part(segment.indices, segment.indices + tracks),
            high: part(segment.indices + tracks, segment.end),
        }
    }

    #[inline(always)]
    fn index(&self, track: usize) -> usize {
        let byte = |bytes: &[u8]| bytes.get(track).map_or(0, |byte| usize::from(*byte));
        let low = byte(self.low);
        if self.high.is_empty() { low } else { low | byte(self.high) << 8 }
    }

    #[inline(always)]
    fn step(&self, track: usize) -> f32 {
        self.steps.get(track).map_or(0.0, |code| step(*code))
    }

    #[inline(always)]
    fn width(&self, wide: usize) -> u16 {
        self.widths.get(wide).map_or(0, |bytes| u16::from_le_bytes(*bytes))
    }
}

/// The numbers of each track of a class, handed on one by one with its index, and a fourth one that means nothing.
///
/// `TAPS` rows are summed, none for constants.
#[inline(always)]
fn tracks<S: Simd, M: Mode, const TAPS: usize>(
    s: S,
    mode: M,
    tables: &Tables<'_>,
    placed: &Placed,
    (first, weights): (usize, [f64; 4]),
    wanted: Option<Wanted<'_>>,
    mut put: impl FnMut(usize, f32x4<S>),
) {
    let Placed { class, rows, track, wide } = *placed;
    let segment = tables.segment;
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
    let offset_bytes = WIDTH * segment.offset_bytes;
    let control = u8x32::from_slice(s, &OFFSETS[(segment.offset_bytes + 3) % 4]);
    let upper = 32 - 8 * segment.offset_bytes as u32;
    let mut bit = 0;
    let mut i = 0;
    while i < class.count {
        // The last of an odd number stands for its own partner.
        let has_next = i + 1 < class.count;
        let next = if has_next { i + 1 } else { i };
        let [a, b] = [tables.index(track + i), tables.index(track + next)];
        let [has_a, has_b] = [is_wanted(wanted, a), has_next && is_wanted(wanted, b)];
        let mut widths = [0; 2];
        let mut bits = [0; 2];
        if TAPS > 0 {
            widths = [tables.width(wide + i), tables.width(wide + next)];
            bits = [bit, if has_next { bit + total_width(widths[0]) } else { bit }];
            bit = bits[1] + total_width(widths[1]);
        }
        let steps = f32x4::splat(s, tables.step(track + i)).combine(f32x4::splat(s, tables.step(track + next)));
        let at = (track + i) * offset_bytes;
        i += 2;
        if wanted.is_some() && !(has_a | has_b) {
            continue;
        }
        let Some(window) = tables.offsets.get(at..).and_then(<[u8]>::first_chunk) else { return };
        let window = two_windows(s, window, if has_next { offset_bytes } else { 0 });
        let offset: i32x8<S> = s.swizzle_dyn_within_blocks_u8x32(window, control).bitcast();
        let mut sum: f32x8<S> = (offset >> upper).to_float();
        if TAPS > 0 {
            let (at, apart) = (bits[0] >> 3, (bits[1] >> 3) - (bits[0] >> 3));
            let fields = Fields::new(s, widths, [bits[0] & 7, bits[1] & 7]);
            let mut keys = f32x8::splat(s, 0.0);
            for tap in 0..TAPS {
                let Some(window) = row[tap].get(at..).and_then(<[u8]>::first_chunk) else { return };
                keys = mode.madd(fields.take(s, two_windows(s, window, apart)), spread[tap], keys);
            }
            sum = keys + sum;
        }
        let (low, high) = (sum * steps).split();
        if has_a {
            put(a, low);
        }
        if has_b {
            put(b, high);
        }
    }
}

/// All joints of `blocks` at a moment `ratio` of the way through a segment. What is not wanted is left at `rest`.
#[inline(always)]
pub(super) fn pose<S: Simd, M: Mode>(
    s: S,
    mode: M,
    (segment, ratio): (&Segment<'_>, f64),
    wanted: Option<Wanted<'_>>,
    rest: &[PoseBlock],
    blocks: &mut [PoseBlock],
) {
    // Rotations first, as logarithms, four numbers for each joint. Where some go from key to key, scales have room for what they go to.
    let turns = segment.turns > 0;
    for (block, rest) in blocks.iter_mut().zip(rest) {
        block.rotation = [[0.0; BLOCK]; 4];
        block.translation = rest.translation;
        block.scale = if turns { [[0.0; BLOCK]; 3] } else { rest.scale };
    }
    let tables = Tables::new(segment);
    let first = wanted.map_or(0, |wanted| wanted.first);
    let mut factor = 0.0;
    let mut rotated = false;
    for placed in segment.classes() {
        let class = placed.class;
        let taps = Taps::at(class.degree, class.intervals, ratio * class.intervals as f64);
        if class.kind != Kind::Rotation && !rotated {
            rotate(s, mode, turns.then_some(factor), wanted, rest, blocks);
            rotated = true;
        }
        let is_linear = class.kind == Kind::Rotation && class.degree == Degree::Linear;
        if class.kind == Kind::Values {
            break;
        }
        if is_linear {
            factor = taps.weights[1] as f32;
            tracks::<S, M, 1>(s, mode, &tables, &placed, (taps.first, [1.0; 4]), wanted, |joint, log| {
                put_log(blocks, joint.wrapping_sub(first), log, false);
            });
            tracks::<S, M, 1>(s, mode, &tables, &placed, (taps.first + 1, [1.0; 4]), wanted, |joint, log| {
                let place = joint.wrapping_sub(first);
                if let Some(block) = blocks.get_mut(place / BLOCK) {
                    put_rows(&mut block.scale, place % BLOCK, log.to_array());
                }
            });
        } else if class.degree == Degree::Constant {
            let at = (0, [0.0; 4]);
            tracks::<S, M, 0>(s, mode, &tables, &placed, at, wanted, |joint, v| {
                put_any(class.kind, (rest, blocks), joint.wrapping_sub(first), v, turns);
            });
        } else {
            let at = (taps.first, taps.weights);
            tracks::<S, M, 4>(s, mode, &tables, &placed, at, wanted, |joint, v| {
                put_any(class.kind, (rest, blocks), joint.wrapping_sub(first), v, turns);
            });
        }
    }
    if !rotated {
        rotate(s, mode, turns.then_some(factor), wanted, rest, blocks);
    }
}

/// Where the numbers of a track go.
#[inline(always)]
fn put_any<S: Simd>(
    kind: Kind,
    (rest, blocks): (&[PoseBlock], &mut [PoseBlock]),
    place: usize,
    v: f32x4<S>,
    turns: bool,
) {
    if kind == Kind::Rotation {
        put_log(blocks, place, v, turns);
        return;
    }
    let (at, lane) = (place / BLOCK, place % BLOCK);
    if let (Some(rest), Some(block)) = (rest.get(at), blocks.get_mut(at)) {
        let (from, rows) = match kind {
            Kind::Scale => (&rest.scale, &mut block.scale),
            _ => (&rest.translation, &mut block.translation),
        };
        let [x, y, z, w] = v.to_array();
        put_rows(rows, lane, [from[0][lane] + x, from[1][lane] + y, from[2][lane] + z, w]);
    }
}

/// Until they become rotations, the logarithms of a block stand joint by joint.
/// With `turns`, they are also what the joint goes to: itself.
#[inline(always)]
fn put_log<S: Simd>(blocks: &mut [PoseBlock], place: usize, log: f32x4<S>, turns: bool) {
    let Some(block) = blocks.get_mut(place / BLOCK) else { return };
    log.store_slice(&mut block.rotation.as_flattened_mut().as_chunks_mut::<4>().0[place % BLOCK]);
    if turns {
        put_rows(&mut block.scale, place % BLOCK, log.to_array());
    }
}

#[inline(always)]
fn put_rows(rows: &mut [Lanes; 3], lane: usize, [x, y, z, _]: [f32; 4]) {
    let lane = lane % BLOCK;
    rows[0][lane] = x;
    rows[1][lane] = y;
    rows[2][lane] = z;
}

/// From joint by joint to component by component.
#[inline(always)]
fn components<S: Simd>(s: S, joints: &[Lanes; 4]) -> [Lanes; 4] {
    let mut rows = [[0.0; BLOCK]; 4];
    for (quad, joints) in joints.iter().enumerate() {
        let four = |i: usize| f32x4::from_slice(s, &joints[4 * i..][..4]);
        let columns = transpose([four(0), four(1), four(2), four(3)]);
        for (row, column) in rows.iter_mut().zip(columns) {
            column.store_slice(&mut row[4 * quad..][..4]);
        }
    }
    rows
}

/// From logarithms to rotations. With a factor, that part of the way on to the rotations whose logarithms the scales hold;
/// these are then those of `rest`.
#[inline(always)]
fn rotate<S: Simd, M: Mode>(
    s: S,
    mode: M,
    factor: Option<f32>,
    wanted: Option<Wanted<'_>>,
    rest: &[PoseBlock],
    blocks: &mut [PoseBlock],
) {
    let between = factor.map(|factor| OneFactor::new(factor).spread(s));
    for (at, (block, rest)) in blocks.iter_mut().zip(rest).enumerate() {
        if !is_block_wanted(wanted, at) {
            block.rotation = rest.rotation;
            block.scale = rest.scale;
            continue;
        }
        let logs = components(s, &block.rotation);
        for lane in (0..BLOCK).step_by(S::f32s::LEN) {
            let [x, y, z, _]: [S::f32s; 4] = load_all(s, &logs, lane);
            let mut turn = exp_map::exp(s, mode, &[x, y, z]);
            if let Some(between) = &between {
                let to = exp_map::exp(s, mode, &load_all(s, &block.scale, lane));
                turn = between.rotations(s, mode, turn, to);
            }
            let from: [S::f32s; 4] = load_all(s, &rest.rotation, lane);
            store_all(&mut block.rotation, lane, exp_map::product::<S, M>(mode, &from, &turn));
        }
        if between.is_some() {
            block.scale = rest.scale;
        }
    }
}
