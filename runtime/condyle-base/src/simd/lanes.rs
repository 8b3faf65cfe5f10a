//! Loads, stores and shuffles of lanes.

use fearless_simd::prelude::*;

use super::each;

/// Joints per block. Divisible by 1, 4, 8 and 16 lanes, so no kernel has a tail.
pub const BLOCK: usize = 16;

/// One component of sixteen joints.
pub type Lanes = [f32; BLOCK];

/// Vectors of f32 of any width.
pub trait Floats<S: Simd>: SimdFloat<S, Element = f32> {}

impl<S: Simd, V: SimdFloat<S, Element = f32>> Floats<S> for V {}

/// Loads the lanes of one component from index `at`.
#[inline(always)]
pub fn load<S: Simd>(s: S, lanes: &Lanes, at: usize) -> S::f32s {
    S::f32s::from_slice(s, &lanes[at..at + S::f32s::LEN])
}

/// Stores lanes where [`load`] reads them.
#[inline(always)]
pub fn store<S: Simd>(lanes: &mut Lanes, at: usize, value: S::f32s) {
    value.store_slice(&mut lanes[at..at + S::f32s::LEN]);
}

/// Loads the lanes from index `at` of each component.
#[inline(always)]
pub fn load_all<S: Simd, V: Floats<S>, const N: usize>(s: S, lanes: &[Lanes; N], at: usize) -> [V; N] {
    let mut out = [V::splat(s, 0.0); N];
    each!(k in [0, 1, 2, 3] below N => out[k] = V::from_slice(s, &lanes[k][at..at + V::LEN]));
    out
}

/// Stores lanes where [`load_all`] reads them.
#[inline(always)]
pub fn store_all<S: Simd, V: Floats<S>, const N: usize>(lanes: &mut [Lanes; N], at: usize, values: [V; N]) {
    each!(k in [0, 1, 2, 3] below N => values[k].store_slice(&mut lanes[k][at..at + V::LEN]));
}

/// Transposes a 4x4 matrix.
#[inline(always)]
pub fn transpose<S: Simd>(m: [fearless_simd::f32x4<S>; 4]) -> [fearless_simd::f32x4<S>; 4] {
    let [a, b, c, d] = m;
    let (ac_low, ac_high) = (a.zip_low(c), a.zip_high(c));
    let (bd_low, bd_high) = (b.zip_low(d), b.zip_high(d));
    [ac_low.zip_low(bd_low), ac_low.zip_high(bd_low), ac_high.zip_low(bd_high), ac_high.zip_high(bd_high)]
}

/// Copies lane `LANE` to all four lanes.
#[inline(always)]
pub fn spread<S: Simd, const LANE: usize>(v: fearless_simd::f32x4<S>) -> fearless_simd::f32x4<S> {
    let twice = if LANE < 2 { v.zip_low(v) } else { v.zip_high(v) };
    if LANE.is_multiple_of(2) { twice.zip_low(twice) } else { twice.zip_high(twice) }
}

/// Copies lane `LANE` of each half to all four lanes of that half. One shuffle replaces a load per value.
#[inline(always)]
pub fn spread_halves<S: Simd, const LANE: usize>(v: fearless_simd::f32x8<S>) -> fearless_simd::f32x8<S> {
    let (low, high) = v.split();
    spread::<S, LANE>(low).combine(spread::<S, LANE>(high))
}

/// Transposes two 4x4 matrices, one in the low halves and one in the high halves.
#[inline(always)]
pub fn transpose_halves<S: Simd>(v: [fearless_simd::f32x8<S>; 4]) -> [fearless_simd::f32x8<S>; 4] {
    if S::f32s::LEN > 4 {
        return transpose_blocks(v);
    }
    let ((a, e), (b, f), (c, g), (d, h)) = (v[0].split(), v[1].split(), v[2].split(), v[3].split());
    let [a, b, c, d] = transpose([a, b, c, d]);
    let [e, f, g, h] = transpose([e, f, g, h]);
    [a.combine(e), b.combine(f), c.combine(g), d.combine(h)]
}

/// Applies [`transpose`] to each block of four lanes.
///
/// Moves pairs of lanes first, then selects even and odd lanes. Some processors execute twice as many such
/// selections per cycle as interleaving shuffles, which [`transpose`] uses.
#[inline(always)]
pub fn transpose_blocks<S: Simd, V: Floats<S>>(m: [V; 4]) -> [V; 4] {
    let [a, b, c, d] = m;
    let (low, high) = (pick::<S, V, 0, 1>, pick::<S, V, 2, 3>);
    let ((ab, ab_high), (cd, cd_high)) = ((low(a, b), high(a, b)), (low(c, d), high(c, d)));
    let (even, odd) = (pick::<S, V, 0, 2>, pick::<S, V, 1, 3>);
    [even(ab, cd), odd(ab, cd), even(ab_high, cd_high), odd(ab_high, cd_high)]
}

/// Returns lanes `I` and `J` of each block of `a`, then those of `b`. The compiler merges the three
/// operations into one shuffle instruction, which `fearless_simd` does not expose. Splitting and combining
/// halves compiles to many more instructions.
#[inline(always)]
fn pick<S: Simd, V: Floats<S>, const I: u8, const J: u8>(a: V, b: V) -> V {
    let s = a.token();
    let bytes: [u8; 64] = const { twice(I, J) };
    let table = V::ByteVector::from_slice(s, &bytes[..V::ByteVector::LEN]);
    let first = V::Mask::from_bitmask(s, 0x3333);
    first.select(a.swizzle_dyn_within_blocks(table), b.swizzle_dyn_within_blocks(table))
}

/// Shuffle table that alternates between lanes `i` and `j` of a block: one byte index per byte.
const fn twice(i: u8, j: u8) -> [u8; 64] {
    let mut bytes = [0; 64];
    let mut at = 0;
    while at < 64 {
        let lane = if at / 4 % 2 == 0 { i } else { j };
        bytes[at] = lane * 4 + at as u8 % 4;
        at += 1;
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::{Dispatch, dispatch};

    #[test]
    fn transpose_swaps_rows_and_columns() {
        #[inline(always)]
        fn kernel<S: Simd>(s: S) -> [[f32; 4]; 4] {
            let m = core::array::from_fn(|r| fearless_simd::f32x4::from_fn(s, |c| (10 * r + c) as f32));
            transpose(m).map(|row| row.to_array())
        }
        for dispatch in Dispatch::all() {
            let got = dispatch.scope(|| dispatch!(|s| kernel(s)));
            let want: [[f32; 4]; 4] = core::array::from_fn(|r| core::array::from_fn(|c| (10 * c + r) as f32));
            assert_eq!(got, want, "{dispatch}");
        }
    }
}
