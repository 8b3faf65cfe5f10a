//! Computes three numbers for each joint from the rows of a resident clip. It processes eight tracks at a
//! time, with the same arithmetic as [`unpack`](super::unpack), so the results have the same bits.

use fearless_simd::{f32x4, f32x8, i32x8, prelude::*, u8x16, u8x32, u16x8};

use super::{BATCH_JOINTS, Batch, Logarithms, Moment, Out, SMALL_BATCH_JOINTS, Vectors, add_lane, rotate};
use crate::clip::layout::{Kind, WIDTH};
use crate::clip::resident::{GROUP, Keys, Line, OFFSETS, ROW, ROWS, ResidentSegment, STEPS, STILL, VALUES};
use crate::clip::spline::FourTaps;
use condyle_base::error::invariant;
use condyle_base::simd::{BLOCK, Mode, each, transpose_halves};

/// Samples a batch of resident keys.
#[inline(always)]
pub(super) fn sample_batch<S: Simd, M: Mode>(
    s: S,
    mode: M,
    segment: &ResidentSegment<'_>,
    moment: &Moment<'_>,
    batch: &Batch<'_>,
    out: &mut Out<'_>,
) {
    let batch = *batch;
    let is_all = batch.base == 0 && batch.wanted.is_none() && out.blocks.len() <= SMALL_BATCH_JOINTS / BLOCK;
    let (mut known, mut taps) = (usize::MAX, FourTaps::NONE);
    let [rotations, others] = segment.sections();
    // One loop for both sections, so that the kernels for lines are compiled only once.
    for (are_rotated, lines) in [(false, rotations), (true, others)] {
        if are_rotated {
            let logs = Logarithms { from: &*out.vectors, to: &*out.ends, between: &moment.between };
            rotate(s, mode, logs, batch, out.rest, out.blocks);
        }
        for number in lines {
            let Some(four) = segment.four(number / 4) else {
                invariant!(false, "every line is in a group of four");
                return;
            };
            if number / 4 != known {
                known = number / 4;
                taps = FourTaps::at(s, &four.curves(), moment.ratio);
            }
            let (taps, mut line) = (LineTaps { four: &taps, lane: number % 4 }, four.line(number % 4));
            if !is_all {
                line = of_batch(line, batch);
            }
            match line.keys {
                Keys::Two if is_all && !are_rotated => {
                    moving::<S, M, 2, true>(s, mode, &line, taps, batch, out);
                }
                Keys::Two => moving::<S, M, 2, false>(s, mode, &line, taps, batch, out),
                Keys::Four => moving::<S, M, 4, false>(s, mode, &line, taps, batch, out),
                Keys::None => still(s, &line, batch, out),
                Keys::TurnsTwo => turning::<S, 2>(s, &line, taps, batch, out),
                Keys::TurnsFour => turning::<S, 4>(s, &line, taps, batch, out),
            }
        }
    }
}

/// The taps of one line: the taps of its group of four lines, and its index in that group.
#[derive(Clone, Copy)]
struct LineTaps<'a> {
    four: &'a FourTaps,
    lane: usize,
}

impl LineTaps<'_> {
    #[inline(always)]
    fn first(&self) -> usize {
        self.four.first[self.lane % 4] as usize
    }

    #[inline(always)]
    fn weights<S: Simd>(&self, s: S) -> [f32x8<S>; 4] {
        let mut weights = [f32x8::splat(s, 0.0); 4];
        each!(tap in [0, 1, 2, 3] => weights[tap] = f32x8::splat(s, self.four.weights[tap][self.lane % 4]));
        weights
    }
}

/// Returns the groups of a line that a batch needs. Without this search each of several batches would visit
/// all groups.
#[inline(always)]
fn of_batch<'a>(line: Line<'a>, batch: Batch<'_>) -> Line<'a> {
    let count = batch.wanted.map_or(BATCH_JOINTS, |wanted| wanted.count.min(BATCH_JOINTS));
    line.of_joints(batch.base..batch.base + count)
}

/// Tracks with a single value.
#[inline(always)]
fn still<S: Simd>(s: S, line: &Line<'_>, batch: Batch<'_>, out: &mut Out<'_>) {
    for group in line.groups.as_chunks::<STILL>().0 {
        for lane in 0..GROUP {
            let numbers: f32x4<S> = u8x16::from_slice(s, &group[VALUES + 16 * lane..][..16]).bitcast();
            put(line.kind, place(batch, joint(group, lane)), numbers, out);
        }
    }
}

/// Tracks with keys of `BYTES` bytes: computes weighted sums of four rows. With `ALL`, the line must hold
/// rotations, and the batch must be small and hold all joints, all of them wanted.
#[inline(always)]
fn moving<S: Simd, M: Mode, const BYTES: usize, const ALL: bool>(
    s: S,
    mode: M,
    line: &Line<'_>,
    taps: LineTaps<'_>,
    batch: Batch<'_>,
    out: &mut Out<'_>,
) {
    let weights = taps.weights(s);
    for_groups::<4, BYTES>(
        line,
        taps,
        #[inline(always)]
        |head, rows| {
            let steps = floats(s, head, STEPS);
            let mut numbers = [f32x8::splat(s, 0.0); 4];
            each!(c in [0, 1, 2] => {
                let sum = keys::<S, BYTES>(s, rows, 0, c) * weights[0];
                let sum = mode.madd(keys::<S, BYTES>(s, rows, 1, c), weights[1], sum);
                let sum = mode.madd(keys::<S, BYTES>(s, rows, 2, c), weights[2], sum);
                let sum = mode.madd(keys::<S, BYTES>(s, rows, 3, c), weights[3], sum);
                numbers[c] = (sum + floats(s, head, OFFSETS + 4 * GROUP * c)) * steps;
            });
            if ALL || line.kind == Kind::Rotation {
                store_eight::<S, ALL>(numbers, batch, head, out.vectors);
            } else {
                let mut vectors = [[0.0; 4]; GROUP];
                let rows = transpose_halves(numbers);
                each!(i in [0, 1, 2, 3] => {
                    let (low, high) = rows[i].split();
                    low.store_slice(&mut vectors[i]);
                    high.store_slice(&mut vectors[i + 4]);
                });
                for (lane, vector) in vectors.iter().enumerate() {
                    // Lanes after the last track repeat the last track.
                    if lane > 0 && joint(head, lane) == joint(head, lane - 1) {
                        break;
                    }
                    add_lane(line.kind, place(batch, joint(head, lane)), vector, out.rest, out.blocks);
                }
            }
        },
    );
}

/// Linear rotations, which need no sum. The keys of the first row are stored in the vectors. The keys of the
/// second row, with a nonzero fourth component, are stored in the ends.
#[inline(always)]
fn turning<S: Simd, const BYTES: usize>(
    s: S,
    line: &Line<'_>,
    taps: LineTaps<'_>,
    batch: Batch<'_>,
    out: &mut Out<'_>,
) {
    for_groups::<2, BYTES>(
        line,
        taps,
        #[inline(always)]
        |head, rows| {
            let steps = floats(s, head, STEPS);
            for (row, vectors) in [&mut *out.vectors, &mut *out.ends].into_iter().enumerate() {
                let mut numbers = [f32x8::splat(s, 1.0); 4];
                each!(c in [0, 1, 2] => {
                    numbers[c] =
                        (keys::<S, BYTES>(s, rows, row, c) + floats(s, head, OFFSETS + 4 * GROUP * c)) * steps;
                });
                store_eight::<S, false>(numbers, batch, head, vectors);
            }
        },
    );
}

/// Calls `group` for each group of a line, with the group's head and the `TAPS` rows for the time.
#[inline(always)]
fn for_groups<const TAPS: usize, const BYTES: usize>(
    line: &Line<'_>,
    taps: LineTaps<'_>,
    mut group: impl FnMut(&[u8; ROWS], &[u8]),
) {
    let row_bytes = ROW * BYTES / 2;
    let first = ROWS + taps.first() * row_bytes;
    let mut groups = line.groups;
    while let Some((bytes, after)) = groups.split_at_checked(line.stride) {
        groups = after;
        let (Some(head), Some(rows)) =
            (bytes.first_chunk::<ROWS>(), bytes.get(first..first + TAPS * row_bytes))
        else {
            invariant!(false, "each group contains the rows of all taps");
            return;
        };
        group(head, rows);
    }
}

/// Returns the joint of a lane of a group. A group begins with its joints.
#[inline(always)]
fn joint(group: &[u8], lane: usize) -> usize {
    usize::from(u16::from_ne_bytes([group[2 * lane], group[2 * lane + 1]]))
}

/// Returns the index of a joint's vector in the batch, or an index past any batch if the joint is not wanted.
#[inline(always)]
fn place(batch: Batch<'_>, joint: usize) -> usize {
    let has = batch.wanted.is_none_or(|wanted| wanted.has(joint));
    if has { joint.wrapping_sub(batch.base) } else { usize::MAX }
}

/// Loads eight floats from byte `at` on.
#[inline(always)]
fn floats<S: Simd>(s: S, head: &[u8; ROWS], at: usize) -> f32x8<S> {
    u8x32::from_slice(s, &head[at..][..4 * GROUP]).bitcast()
}

/// Loads one component of the keys of a row, as floats.
#[inline(always)]
fn keys<S: Simd, const BYTES: usize>(s: S, rows: &[u8], row: usize, component: usize) -> f32x8<S> {
    let bytes = &rows[GROUP * BYTES * (WIDTH * row + component)..][..GROUP * BYTES];
    let numbers: i32x8<S> = if BYTES == 2 {
        let numbers: u16x8<S> = u8x16::from_slice(s, bytes).bitcast();
        let (low, high) = s.widen_u16x8(numbers);
        low.combine(high).bitcast()
    } else {
        u8x32::from_slice(s, bytes).bitcast()
    };
    numbers.to_float()
}

/// Stores the numbers of a group's tracks as the vectors of their joints. Skips joints outside the batch.
#[inline(always)]
fn store_eight<S: Simd, const ALL: bool>(
    numbers: [f32x8<S>; 4],
    batch: Batch<'_>,
    head: &[u8; ROWS],
    vectors: &mut Vectors,
) {
    let rows = transpose_halves(numbers);
    let small = vectors.first_chunk_mut::<SMALL_BATCH_JOINTS>().filter(|_| ALL);
    if let Some(vectors) = small {
        each!(i in [0, 1, 2, 3] => {
            let (low, high) = rows[i].split();
            low.store_slice(&mut vectors[joint(head, i) % SMALL_BATCH_JOINTS]);
            high.store_slice(&mut vectors[joint(head, i + 4) % SMALL_BATCH_JOINTS]);
        });
        return;
    }
    each!(i in [0, 1, 2, 3] => {
        let (low, high) = rows[i].split();
        if let Some(vector) = vectors.get_mut(place(batch, joint(head, i))) {
            low.store_slice(vector);
        }
        if let Some(vector) = vectors.get_mut(place(batch, joint(head, i + 4))) {
            high.store_slice(vector);
        }
    });
}

/// Stores the numbers of one track: rotations as a vector, translations and scales in the block.
#[inline(always)]
fn put<S: Simd>(kind: Kind, place: usize, numbers: f32x4<S>, out: &mut Out<'_>) {
    if kind == Kind::Rotation {
        if let Some(vector) = out.vectors.get_mut(place) {
            numbers.store_slice(vector);
        }
    } else {
        add_lane(kind, place, &numbers.to_array(), out.rest, out.blocks);
    }
}
