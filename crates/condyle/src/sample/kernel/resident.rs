//! From the rows of a resident clip to three numbers for each joint: eight tracks at a time, with the same
//! arithmetic as [`unpack`](super::unpack), and so the same bits.

use fearless_simd::{f32x4, f32x8, i32x8, prelude::*, u8x16, u8x32, u16x8};

use super::{BATCH_JOINTS, Batch, Logarithms, Moment, Out, Vectors, add_lane, rotate};
use crate::clip::layout::{Kind, WIDTH};
use crate::clip::resident::{
    GROUP, KeyBytes, Line, NO_JOINT, OFFSETS, ROW, ROWS, ResidentSegment, STEPS, STILL, VALUES,
};
use crate::clip::spline::{Degree, Taps};
use crate::simd::{BLOCK, Mode, each, transpose_halves};

/// Which vector of the batch each joint of a group has; past the end of any batch where none is wanted.
#[inline(always)]
fn places(batch: Batch<'_>, joints: [u16; GROUP]) -> [usize; GROUP] {
    let all = batch.base == 0 && batch.wanted.is_none();
    let mut places = [0; GROUP];
    for (place, joint) in places.iter_mut().zip(joints) {
        let joint = usize::from(joint);
        let has = || joint != usize::from(NO_JOINT) && batch.wanted.is_none_or(|wanted| wanted.has(joint));
        *place = if all || has() { joint.wrapping_sub(batch.base) } else { usize::MAX };
    }
    places
}

/// Samples a batch of resident keys.
#[inline(always)]
pub(super) fn sample_batch<S: Simd, M: Mode>(
    s: S,
    mode: M,
    segment: ResidentSegment<'_>,
    moment: Moment<'_>,
    batch: Batch<'_>,
    mut out: Out<'_>,
) {
    // Linear rotations are the last lines of rotations, and the ends of all others are the same. When the last
    // rotation has been added up, all are turned into quaternions.
    let (mut rotated, mut ends_are_there) = (false, false);
    // A batch that is not the only one looks for its joints, or all batches would go over all groups.
    let is_only = batch.base == 0 && batch.wanted.is_none() && out.blocks.len() < BATCH_JOINTS / BLOCK;
    let count = batch.wanted.map_or(BATCH_JOINTS, |wanted| wanted.count.min(BATCH_JOINTS));
    let joints = batch.base..batch.base + count;
    for line in segment.lines().map(Some).chain([None]) {
        let is_rotation = line.is_some_and(|line| line.kind == Kind::Rotation);
        let is_linear = line.is_some_and(|line| line.degree == Degree::Linear);
        if !ends_are_there && (is_linear || !is_rotation) {
            ends_are_there = true;
            copy_ends(&mut out);
        }
        if !is_rotation && !rotated {
            rotated = true;
            let logs = Logarithms { from: &*out.vectors, to: &*out.ends, between: moment.between };
            rotate(s, mode, logs, batch, out.rest, out.blocks);
        }
        if let Some(line) = line {
            let line = if is_only { line } else { line.of_joints(joints.clone()) };
            sum_line(s, mode, &line, moment.ratio, batch, &mut out);
        }
    }
}

#[inline(always)]
fn copy_ends(out: &mut Out<'_>) {
    out.ends.iter_mut().zip(&*out.vectors).for_each(|(end, &from)| *end = from);
}

/// Adds up the rows of one line.
#[inline(always)]
fn sum_line<S: Simd, M: Mode>(
    s: S,
    mode: M,
    line: &Line<'_>,
    ratio: f64,
    batch: Batch<'_>,
    out: &mut Out<'_>,
) {
    if line.key_bytes == KeyBytes::None {
        return still(s, line, batch, out);
    }
    let taps = Taps::at(line.degree, line.intervals, ratio);
    if line.kind == Kind::Rotation && line.degree == Degree::Linear {
        match line.key_bytes {
            KeyBytes::Four => moving::<S, M, 2, 4>(s, mode, line, &taps, batch, out),
            _ => moving::<S, M, 2, 2>(s, mode, line, &taps, batch, out),
        }
    } else {
        match line.key_bytes {
            KeyBytes::Four => moving::<S, M, 4, 4>(s, mode, line, &taps, batch, out),
            _ => moving::<S, M, 4, 2>(s, mode, line, &taps, batch, out),
        }
    }
}

/// Tracks of one value.
#[inline(always)]
fn still<S: Simd>(s: S, line: &Line<'_>, batch: Batch<'_>, out: &mut Out<'_>) {
    for group in line.groups.as_chunks::<STILL>().0 {
        let places = places(batch, joints(group));
        for (lane, place) in places.into_iter().enumerate() {
            let numbers: f32x4<S> = u8x16::from_slice(s, &group[VALUES + 16 * lane..][..16]).bitcast();
            put(line.kind, place, numbers, out);
            let is_linear = line.kind == Kind::Rotation && line.degree == Degree::Linear;
            if let (true, Some(end)) = (is_linear, out.ends.get_mut(place)) {
                // All its keys are the same, and so it goes nowhere.
                numbers.store_slice(end);
            }
        }
    }
}

/// Tracks with keys of `BYTES` bytes. `TAPS` is 4 for weighted sums of four rows. With 2, for linear rotations,
/// nothing is summed: the keys of the first row go to the vectors, those of the second to their ends.
#[inline(always)]
fn moving<S: Simd, M: Mode, const TAPS: usize, const BYTES: usize>(
    s: S,
    mode: M,
    line: &Line<'_>,
    taps: &Taps,
    batch: Batch<'_>,
    out: &mut Out<'_>,
) {
    let row_bytes = ROW * BYTES / 2;
    let zero = f32x8::splat(s, 0.0);
    let mut weights = [zero; 4];
    each!(tap in [0, 1, 2, 3] => weights[tap] = f32x8::splat(s, taps.weights[tap] as f32));
    let first = ROWS + taps.first * row_bytes;
    let mut groups = line.groups;
    while let Some((group, after)) = groups.split_at_checked(line.stride) {
        groups = after;
        let (Some(head), Some(rows)) =
            (group.first_chunk::<ROWS>(), group.get(first..first + TAPS * row_bytes))
        else {
            debug_assert!(false, "rows follow the last key");
            return;
        };
        let places = places(batch, joints(head));
        if batch.wanted.is_some() && places.iter().all(|&place| place >= out.vectors.len()) {
            continue;
        }
        let steps = floats(s, head, STEPS);
        let mut numbers = [zero; 4];
        if TAPS == 2 {
            each!(c in [0, 1, 2] => {
                numbers[c] = (keys::<S, BYTES>(s, rows, 0, c) + floats(s, head, OFFSETS + 4 * GROUP * c)) * steps;
            });
            store_eight(numbers, places, out.vectors);
            each!(c in [0, 1, 2] => {
                numbers[c] = (keys::<S, BYTES>(s, rows, 1, c) + floats(s, head, OFFSETS + 4 * GROUP * c)) * steps;
            });
            store_eight(numbers, places, out.ends);
            continue;
        }
        each!(c in [0, 1, 2] => {
            let sum = keys::<S, BYTES>(s, rows, 0, c) * weights[0];
            let sum = mode.madd(keys::<S, BYTES>(s, rows, 1, c), weights[1], sum);
            let sum = mode.madd(keys::<S, BYTES>(s, rows, 2, c), weights[2], sum);
            let sum = mode.madd(keys::<S, BYTES>(s, rows, 3, c), weights[3], sum);
            numbers[c] = (sum + floats(s, head, OFFSETS + 4 * GROUP * c)) * steps;
        });
        if line.kind == Kind::Rotation {
            store_eight(numbers, places, out.vectors);
        } else {
            for (i, two) in transpose_halves(numbers).into_iter().enumerate() {
                let (low, high) = two.split();
                put(line.kind, places[i], low, out);
                put(line.kind, places[i + 4], high, out);
            }
        }
    }
}

/// The joints of a group, which it begins with.
#[inline(always)]
fn joints<const N: usize>(group: &[u8; N]) -> [u16; GROUP] {
    let mut joints = [0; GROUP];
    for (joint, bytes) in joints.iter_mut().zip(group[..STEPS].as_chunks::<2>().0) {
        *joint = u16::from_ne_bytes(*bytes);
    }
    joints
}

/// Eight floats from byte `at` on.
#[inline(always)]
fn floats<S: Simd>(s: S, head: &[u8; ROWS], at: usize) -> f32x8<S> {
    u8x32::from_slice(s, &head[at..][..4 * GROUP]).bitcast()
}

/// A component of the keys of one of the rows, as floats.
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

/// Stores the numbers of eight tracks as the vectors of their joints; not those of joints outside of the batch.
#[inline(always)]
fn store_eight<S: Simd>(numbers: [f32x8<S>; 4], places: [usize; GROUP], vectors: &mut Vectors) {
    for (i, two) in transpose_halves(numbers).into_iter().enumerate() {
        let (low, high) = two.split();
        if let Some(vector) = vectors.get_mut(places[i]) {
            low.store_slice(vector);
        }
        if let Some(vector) = vectors.get_mut(places[i + 4]) {
            high.store_slice(vector);
        }
    }
}

/// The numbers of one track to where they belong.
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
