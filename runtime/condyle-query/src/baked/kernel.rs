//! Kernel: interpolation between two frames.

use fearless_simd::{f32x8, i32x8, prelude::*, u16x8};

use super::Grid;
use condyle_base::simd::{Mode, each, transpose_halves};

/// Number of vertices per group.
pub(super) const GROUP: usize = 8;

/// Packed numbers of eight vertices, by axis.
pub(super) type Group = [[u16; GROUP]; 3];

/// Floats of a group, plus one: each vector is stored as four floats, and the next vector overwrites the
/// fourth.
const PACKED: usize = 3 * GROUP + 1;

/// Two frames and the interpolation factor.
#[derive(Clone, Copy)]
pub(super) struct Between<'a> {
    pub(super) from: &'a [Group],
    pub(super) to: &'a [Group],
    /// Interpolation factor, from 0 to 1.
    pub(super) factor: f32,
}

/// Computes `origin + step · (from + factor · (to - from))` for each vertex. With `is_unit`, normalises the
/// result, except zeros.
#[inline(always)]
pub(super) fn unpack<S: Simd, M: Mode>(
    s: S,
    mode: M,
    grid: &Grid,
    between: Between<'_>,
    is_unit: bool,
    out: &mut [[f32; 3]],
) {
    let mut tail = [0.0; PACKED];
    let mut rest = out.as_flattened_mut();
    for (from, to) in between.from.iter().zip(between.to) {
        let values = group(s, mode, grid, [from, to], between.factor);
        let values = if is_unit { unit(s, mode, values) } else { values };
        match rest.first_chunk_mut() {
            Some(packed) => store(s, values, packed),
            // The last group may have fewer vertices.
            None => {
                store(s, values, &mut tail);
                rest.iter_mut().zip(tail).for_each(|(to, from)| *to = from);
            }
        }
        rest = rest.get_mut(3 * GROUP..).unwrap_or(&mut []);
    }
}

/// Components of eight interpolated vectors.
#[inline(always)]
fn group<S: Simd, M: Mode>(
    s: S,
    mode: M,
    grid: &Grid,
    [from, to]: [&Group; 2],
    factor: f32,
) -> [f32x8<S>; 3] {
    let factor = f32x8::splat(s, factor);
    let mut out = [factor; 3];
    each!(axis in [0, 1, 2] => {
        // The difference is exact, so both ends are exact.
        let (from, to) = (floats(s, &from[axis]), floats(s, &to[axis]));
        let number = mode.madd(to - from, factor, from);
        let (origin, step) = (f32x8::splat(s, grid.origin()[axis]), f32x8::splat(s, grid.step()[axis]));
        // Rounds the product in both modes: 32,767 times the rounded 1/32,767 is 1 and minus 1 is 0, but not
        // with a fused multiply-add.
        out[axis] = number * step + origin;
    });
    out
}

#[inline(always)]
fn floats<S: Simd>(s: S, numbers: &[u16; GROUP]) -> f32x8<S> {
    let (low, high) = s.widen_u16x8(u16x8::from_slice(s, numbers));
    let wide: i32x8<S> = low.combine(high).bitcast();
    wide.to_float()
}

/// Normalises vectors. Vectors of almost zero length, from interpolation between opposite ones, become zero.
#[inline(always)]
fn unit<S: Simd, M: Mode>(s: S, mode: M, [x, y, z]: [f32x8<S>; 3]) -> [f32x8<S>; 3] {
    let square = mode.madd(z, z, mode.madd(y, y, x * x));
    let has_length = square.simd_gt(f32x8::splat(s, 1e-30));
    let by = f32x8::splat(s, 1.0) / has_length.select(square, f32x8::splat(s, f32::INFINITY)).sqrt();
    [x * by, y * by, z * by]
}

/// Stores the vectors one after another.
#[inline(always)]
fn store<S: Simd>(s: S, [x, y, z]: [f32x8<S>; 3], packed: &mut [f32; PACKED]) {
    // Row `k` holds vertex `k` in its low half and vertex `k + 4` in its high half.
    let rows = transpose_halves([x, y, z, f32x8::splat(s, 0.0)]);
    // The order matters: each store overwrites the fourth float of the previous one.
    each!(k in [0, 1, 2, 3] => rows[k].split().0.store_slice(&mut packed[3 * k..3 * k + 4]));
    each!(k in [0, 1, 2, 3] => rows[k].split().1.store_slice(&mut packed[3 * k + 12..3 * k + 16]));
}
