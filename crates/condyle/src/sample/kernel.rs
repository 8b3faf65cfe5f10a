//! From packed keys to a pose.
//!
//! A track is three numbers of a few bits each, one beside the other in the row of every key. Two tracks fill eight lanes: a
//! shuffle of bytes and a shift bring each number to its lane, the same for all rows, as rows begin at whole bytes. What
//! comes out is `step · (offset + Σ weight · key)`.

use fearless_simd::{f32x4, f32x8, i32x8, prelude::*, u8x16, u8x32, u32x4, u32x8};

use crate::clip::layout::{Kind, Placed, Segment, total_width};
use crate::clip::spline::{Degree, Taps};
use crate::exp_map;
use crate::interpolate::OneFactor;
use crate::pose::{BLOCK, Lanes, PoseBlock};
use crate::simd::{Mode, load_all, store_all};

/// What of a pose is wanted.
#[derive(Clone, Copy)]
pub(super) struct Wanted<'a> {
    /// The joint of the first lane: blocks may be a part of a pose.
    pub(super) first: usize,
    /// How many joints are wanted from there on.
    pub(super) count: usize,
    /// Joints to leave at rest have `false`. Without it, all are wanted.
    pub(super) mask: Option<&'a [bool]>,
}

impl Wanted<'_> {
    pub(super) const ALL: Self = Self { first: 0, count: usize::MAX, mask: None };

    #[inline(always)]
    fn has(&self, joint: usize) -> bool {
        self.mask.is_none_or(|mask| mask.get(joint).copied().unwrap_or(false))
    }

    /// Whether a block holds any joint that is wanted.
    #[inline(always)]
    fn block(&self, block: usize) -> bool {
        let first = self.first + block * BLOCK;
        self.mask.is_none_or(|mask| {
            mask.iter().skip(first).take(BLOCK).fold(false, |any, &wanted| any | wanted)
        })
    }
}

/// The bytes from `at` on; zeros if there are not as many, which a checked clip does not ask for.
#[inline(always)]
fn window(bytes: &[u8], at: usize) -> &[u8; 16] {
    const NONE: &[u8; 16] = &[0; 16];
    bytes.get(at..).and_then(<[u8]>::first_chunk).unwrap_or(NONE)
}

/// A number in the four lanes of each of two tracks.
#[inline(always)]
fn two<S: Simd>(s: S, a: u32, b: u32) -> u32x8<S> {
    u32x4::splat(s, a).combine(u32x4::splat(s, b))
}

/// 16 bytes for each of two tracks.
#[inline(always)]
fn two_windows<S: Simd>(s: S, bytes: &[u8], at: [usize; 2]) -> u8x32<S> {
    let [a, b] = [window(bytes, at[0]), window(bytes, at[1])];
    u8x16::from_slice(s, a).combine(u8x16::from_slice(s, b))
}

/// 2^k for k from 0 to 24, by way of the exponent of a float: few instruction sets shift each lane by its own number.
#[inline(always)]
fn power<S: Simd>(s: S, k: u32x8<S>) -> u32x8<S> {
    let exponent: f32x8<S> = ((k + u32x8::splat(s, 127)) << 23).bitcast();
    let power: i32x8<S> = exponent.to_int();
    power.bitcast()
}

/// How the numbers of two tracks come out of the windows of a row.
#[derive(Clone, Copy)]
struct Fields<S: Simd> {
    control: u8x32<S>,
    /// Takes each number to the same bit, the eighth.
    align: u32x8<S>,
    mask: u32x8<S>,
}

impl<S: Simd> Fields<S> {
    /// Of tracks with these widths, whose numbers begin at these bits of their windows, below 8.
    #[inline(always)]
    fn new(s: S, widths: [u16; 2], bits: [usize; 2]) -> Self {
        const SPREAD: [u32; 8] = [1 << 15, 1 << 10, 1 << 5, 1, 1 << 15, 1 << 10, 1 << 5, 1];
        // Lane 3 is zero, so it serves as the zero that is moved in.
        const ONE_ON: [u8; 32] = lanes_on([3, 0, 1, 2]);
        const AND_ONE_MORE: [u8; 32] = lanes_on([0, 0, 1, 2]);
        let packed = two(s, widths[0].into(), widths[1].into());
        let widths = ((packed * u32x8::from_slice(s, &SPREAD)) >> 15) & u32x8::splat(s, 31);
        let before = shuffle(s, widths, &ONE_ON);
        let starts = before + shuffle(s, before, &AND_ONE_MORE);
        let starts = starts + two(s, bits[0] as u32, bits[1] as u32);
        let bytes = (starts >> 3) * u32x8::splat(s, 0x0101_0101) + u32x8::splat(s, 0x0302_0100);
        Self {
            control: bytes.bitcast(),
            align: power(s, u32x8::splat(s, 7) - (starts & u32x8::splat(s, 7))),
            mask: power(s, widths) - u32x8::splat(s, 1),
        }
    }

    /// The numbers, as floats.
    #[inline(always)]
    fn take(&self, s: S, windows: u8x32<S>) -> f32x8<S> {
        let found: u32x8<S> = s.swizzle_dyn_within_blocks_u8x32(windows, self.control).bitcast();
        let numbers: i32x8<S> = (((found * self.align) >> 7) & self.mask).bitcast();
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

#[inline(always)]
fn shuffle<S: Simd>(s: S, lanes: u32x8<S>, control: &[u8; 32]) -> u32x8<S> {
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

/// The numbers of each track of a class, handed on one by one with its index.
#[inline(always)]
fn tracks<S: Simd, M: Mode>(
    s: S,
    mode: M,
    segment: &Segment<'_>,
    placed: &Placed,
    taps: &Taps,
    wanted: impl Fn(usize) -> bool,
    mut put: impl FnMut(usize, [f32; 3]),
) {
    let Placed { class, rows, track, wide } = *placed;
    let bytes = segment.bytes;
    let weights = taps.weights.map(|w| f32x8::splat(s, w as f32));
    let control = u8x32::from_slice(s, &OFFSETS[(segment.offset_bytes + 3) % 4]);
    let upper = 32 - 8 * segment.offset_bytes as u32;
    let moves = class.degree != Degree::Constant;
    let first = rows + taps.first * class.row_bytes;
    let mut bit = 0;
    let mut i = 0;
    while i < class.count {
        // The last of an odd number stands for its own partner.
        let pair = [i, if i + 1 < class.count { i + 1 } else { i }];
        let indices = [segment.index(track + pair[0]), segment.index(track + pair[1])];
        let widths = if moves { [segment.width(wide + pair[0]), segment.width(wide + pair[1])] } else { [0; 2] };
        let bits = [bit, if pair[1] == i { bit } else { bit + total_width(widths[0]) }];
        bit = bits[1] + total_width(widths[1]);
        i += 2;
        let [first_wanted, second_wanted] = [wanted(indices[0]), pair[1] != pair[0] && wanted(indices[1])];
        if !(first_wanted | second_wanted) {
            continue;
        }
        let offsets = two_windows(s, bytes, [segment.offset(track + pair[0]), segment.offset(track + pair[1])]);
        let offsets: i32x8<S> = s.swizzle_dyn_within_blocks_u8x32(offsets, control).bitcast();
        let mut sum: f32x8<S> = f32x8::splat(s, 0.0);
        if moves {
            let fields = Fields::new(s, widths, bits.map(|bit| bit & 7));
            let mut at = bits.map(|bit| first + (bit >> 3));
            for &weight in weights.iter().take(taps.count) {
                sum = mode.madd(fields.take(s, two_windows(s, bytes, at)), weight, sum);
                at = [at[0] + class.row_bytes, at[1] + class.row_bytes];
            }
        }
        let offsets: f32x8<S> = (offsets >> upper).to_float();
        let steps = f32x4::splat(s, segment.step(track + pair[0]))
            .combine(f32x4::splat(s, segment.step(track + pair[1])));
        let numbers = ((sum + offsets) * steps).to_array();
        let [ax, ay, az, _, bx, by, bz, _] = numbers;
        if first_wanted {
            put(indices[0], [ax, ay, az]);
        }
        if second_wanted {
            put(indices[1], [bx, by, bz]);
        }
    }
}

/// Where a joint's numbers go.
#[inline(always)]
fn put(rows: &mut [Lanes; 3], lane: usize, [x, y, z]: [f32; 3]) {
    let lane = lane % BLOCK;
    rows[0][lane] = x;
    rows[1][lane] = y;
    rows[2][lane] = z;
}

/// All joints of `blocks` at a moment `ratio` of the way through a segment. What is not wanted is left at `rest`.
#[inline(always)]
pub(super) fn pose<S: Simd, M: Mode>(
    s: S,
    mode: M,
    (segment, ratio): (&Segment<'_>, f64),
    wanted: Wanted<'_>,
    rest: &[PoseBlock],
    blocks: &mut [PoseBlock],
) {
    // Rotations first, as logarithms. Where some go from key to key, scales have room for what they go to.
    let turns = segment.turns > 0;
    for (block, rest) in blocks.iter_mut().zip(rest) {
        block.rotation = [[0.0; BLOCK]; 4];
        block.translation = rest.translation;
        block.scale = if turns { [[0.0; BLOCK]; 3] } else { rest.scale };
    }
    let mut factor = 0.0;
    let place = |joint: usize| joint.wrapping_sub(wanted.first);
    let limit = (blocks.len() * BLOCK).min(wanted.count);
    let is_wanted = |joint: usize| place(joint) < limit && wanted.has(joint);
    for placed in segment.classes() {
        let class = placed.class;
        let x = ratio * class.intervals as f64;
        let taps = Taps::at(class.degree, class.intervals, x);
        match class.kind {
            Kind::Rotation if class.degree == Degree::Linear => {
                factor = taps.weights[1] as f32;
                let one = |first| Taps { first, count: 1, weights: [1.0, 0.0, 0.0, 0.0] };
                tracks(s, mode, segment, &placed, &one(taps.first), is_wanted, |joint, v| {
                    if let Some(block) = blocks.get_mut(place(joint) / BLOCK)
                        && let [x, y, z, _] = &mut block.rotation
                    {
                        let lane = place(joint) % BLOCK;
                        (x[lane], y[lane], z[lane]) = (v[0], v[1], v[2]);
                    }
                });
                tracks(s, mode, segment, &placed, &one(taps.first + 1), is_wanted, |joint, v| {
                    if let Some(block) = blocks.get_mut(place(joint) / BLOCK) {
                        put(&mut block.scale, place(joint), v);
                    }
                });
            }
            Kind::Rotation => tracks(s, mode, segment, &placed, &taps, is_wanted, |joint, v| {
                if let Some(block) = blocks.get_mut(place(joint) / BLOCK) {
                    let [x, y, z, _] = &mut block.rotation;
                    let lane = place(joint) % BLOCK;
                    (x[lane], y[lane], z[lane]) = (v[0], v[1], v[2]);
                    if turns {
                        put(&mut block.scale, place(joint), v);
                    }
                }
            }),
            _ => {}
        }
    }
    rotate(s, mode, turns.then_some(factor), wanted, rest, blocks);
    for placed in segment.classes() {
        let class = placed.class;
        if !matches!(class.kind, Kind::Translation | Kind::Scale) {
            continue;
        }
        let taps = Taps::at(class.degree, class.intervals, ratio * class.intervals as f64);
        tracks(s, mode, segment, &placed, &taps, is_wanted, |joint, v| {
            let (at, lane) = (place(joint) / BLOCK, place(joint) % BLOCK);
            if let (Some(rest), Some(block)) = (rest.get(at), blocks.get_mut(at)) {
                let (rest, rows) = match class.kind {
                    Kind::Scale => (&rest.scale, &mut block.scale),
                    _ => (&rest.translation, &mut block.translation),
                };
                put(rows, lane, [rest[0][lane] + v[0], rest[1][lane] + v[1], rest[2][lane] + v[2]]);
            }
        });
    }
}

/// From logarithms to rotations. With a factor, that part of the way on to the rotations whose logarithms the scales hold;
/// these are then those of `rest`.
#[inline(always)]
fn rotate<S: Simd, M: Mode>(
    s: S,
    mode: M,
    factor: Option<f32>,
    wanted: Wanted<'_>,
    rest: &[PoseBlock],
    blocks: &mut [PoseBlock],
) {
    let between = factor.map(|factor| OneFactor::new(factor).spread(s));
    for (at, (block, rest)) in blocks.iter_mut().zip(rest).enumerate() {
        if !wanted.block(at) {
            block.rotation = rest.rotation;
            block.scale = rest.scale;
            continue;
        }
        for lane in (0..BLOCK).step_by(S::f32s::LEN) {
            let [x, y, z, _]: [S::f32s; 4] = load_all(s, &block.rotation, lane);
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
