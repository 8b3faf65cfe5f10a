//! Transposition between structures of four numbers and lanes, within registers.

use fearless_simd::{f32x4, f32x8, f32x16, prelude::*};

use condyle_base::simd::{transpose, transpose_blocks};

/// SIMD vectors that gather and scatter quads: component `c` of quad `i` is lane `i` of vector `c`.
pub(crate) trait Quads<S: Simd>: SimdFloat<S, Element = f32> {
    /// Gathers one quad per lane.
    fn gather(s: S, quad: impl Fn(usize) -> [f32; 4]) -> [Self; 4];

    /// Passes the quad of each lane to `put`.
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
