//! Structures of four numbers in and out of lanes, without leaving the registers.

use fearless_simd::{f32x4, f32x8, f32x16, prelude::*};

use crate::simd::transpose;

/// Vectors that quads go in and out of: component `c` of quad `i` is lane `i` of vector `c`.
pub(crate) trait Quads<S: Simd>: SimdFloat<S, Element = f32> {
    /// One quad per lane.
    fn gather(s: S, quad: impl Fn(usize) -> [f32; 4]) -> [Self; 4];

    /// The quad of each lane.
    fn scatter(components: [Self; 4], put: impl FnMut(usize, [f32; 4]));
}

impl<S: Simd> Quads<S> for f32x4<S> {
    #[inline(always)]
    fn gather(s: S, quad: impl Fn(usize) -> [f32; 4]) -> [Self; 4] {
        transpose([
            f32x4::load_array(s, quad(0)),
            f32x4::load_array(s, quad(1)),
            f32x4::load_array(s, quad(2)),
            f32x4::load_array(s, quad(3)),
        ])
    }

    #[inline(always)]
    fn scatter(components: [Self; 4], mut put: impl FnMut(usize, [f32; 4])) {
        let [a, b, c, d] = transpose(components);
        put(0, a.to_array());
        put(1, b.to_array());
        put(2, c.to_array());
        put(3, d.to_array());
    }
}

impl<S: Simd> Quads<S> for f32x8<S> {
    #[inline(always)]
    fn gather(s: S, quad: impl Fn(usize) -> [f32; 4]) -> [Self; 4] {
        let a = f32x4::load_array(s, quad(0)).combine(f32x4::load_array(s, quad(4)));
        let b = f32x4::load_array(s, quad(1)).combine(f32x4::load_array(s, quad(5)));
        let c = f32x4::load_array(s, quad(2)).combine(f32x4::load_array(s, quad(6)));
        let d = f32x4::load_array(s, quad(3)).combine(f32x4::load_array(s, quad(7)));
        transpose_blocks([a, b, c, d])
    }

    #[inline(always)]
    fn scatter(components: [Self; 4], mut put: impl FnMut(usize, [f32; 4])) {
        let [a, b, c, d] = transpose_blocks(components);
        let ((a, a2), (b, b2), (c, c2), (d, d2)) = (a.split(), b.split(), c.split(), d.split());
        put(0, a.to_array());
        put(1, b.to_array());
        put(2, c.to_array());
        put(3, d.to_array());
        put(4, a2.to_array());
        put(5, b2.to_array());
        put(6, c2.to_array());
        put(7, d2.to_array());
    }
}

impl<S: Simd> Quads<S> for f32x16<S> {
    #[inline(always)]
    fn gather(s: S, quad: impl Fn(usize) -> [f32; 4]) -> [Self; 4] {
        let two = |i: usize| f32x4::load_array(s, quad(i)).combine(f32x4::load_array(s, quad(i + 4)));
        let a = two(0).combine(two(8));
        let b = two(1).combine(two(9));
        let c = two(2).combine(two(10));
        let d = two(3).combine(two(11));
        transpose_blocks([a, b, c, d])
    }

    #[inline(always)]
    fn scatter(components: [Self; 4], mut put: impl FnMut(usize, [f32; 4])) {
        let [a, b, c, d] = transpose_blocks(components);
        let ((a, a3), (b, b3), (c, c3), (d, d3)) = (a.split(), b.split(), c.split(), d.split());
        let ((a, a2), (b, b2), (c, c2), (d, d2)) = (a.split(), b.split(), c.split(), d.split());
        let ((a3, a4), (b3, b4), (c3, c4), (d3, d4)) = (a3.split(), b3.split(), c3.split(), d3.split());
        put(0, a.to_array());
        put(1, b.to_array());
        put(2, c.to_array());
        put(3, d.to_array());
        put(4, a2.to_array());
        put(5, b2.to_array());
        put(6, c2.to_array());
        put(7, d2.to_array());
        put(8, a3.to_array());
        put(9, b3.to_array());
        put(10, c3.to_array());
        put(11, d3.to_array());
        put(12, a4.to_array());
        put(13, b4.to_array());
        put(14, c4.to_array());
        put(15, d4.to_array());
    }
}

/// [`transpose`] of each block of four lanes.
#[inline(always)]
fn transpose_blocks<S: Simd, V: SimdFloat<S, Element = f32>>(m: [V; 4]) -> [V; 4]
where
    V::ByteVector: SimdBase<S, Element = u8>,
{
    let [a, b, c, d] = m;
    let ((ac_low, ac_high), (bd_low, bd_high)) = (zip_blocks(a, c), zip_blocks(b, d));
    let ((a, b), (c, d)) = (zip_blocks(ac_low, bd_low), zip_blocks(ac_high, bd_high));
    [a, b, c, d]
}

/// `zip_low` and `zip_high` of each block of four lanes: an instruction each, which the compiler finds behind the three
/// that stand here. There is no name for it, and what it makes of halves taken apart and put together are many more.
#[inline(always)]
fn zip_blocks<S: Simd, V: SimdFloat<S, Element = f32>>(a: V, b: V) -> (V, V) {
    let s = a.token();
    let bytes = |table: &[u8; 64]| V::ByteVector::from_slice(s, &table[..V::ByteVector::LEN]);
    let (low, high) = (bytes(&LOW), bytes(&HIGH));
    let even = V::Mask::from_bitmask(s, 0x5555);
    (
        even.select(a.swizzle_dyn_within_blocks(low), b.swizzle_dyn_within_blocks(low)),
        even.select(a.swizzle_dyn_within_blocks(high), b.swizzle_dyn_within_blocks(high)),
    )
}

/// The first two lanes of each block, each twice.
const LOW: [u8; 64] = doubled(0);
/// The last two.
const HIGH: [u8; 64] = doubled(8);

const fn doubled(from: u8) -> [u8; 64] {
    let mut bytes = [0; 64];
    let mut at = 0;
    while at < 64 {
        let lane = at % 16 / 8;
        bytes[at] = from + lane as u8 * 4 + at as u8 % 4;
        at += 1;
    }
    bytes
}
