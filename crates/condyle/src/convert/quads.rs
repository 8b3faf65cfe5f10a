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

/// Transposes of the lower and of the upper halves.
#[inline(always)]
fn transpose_halves<S: Simd>(m: [f32x8<S>; 4]) -> [f32x8<S>; 4] {
    let [a, b, c, d] = m;
    let ((ac_low, ac_high), (bd_low, bd_high)) = (zip_halves(a, c), zip_halves(b, d));
    let ((a, b), (c, d)) = (zip_halves(ac_low, bd_low), zip_halves(ac_high, bd_high));
    [a, b, c, d]
}

/// What [`zip_low`](SimdBase::zip_low) and `zip_high` make of the lower and of the upper halves: an instruction each.
#[inline(always)]
fn zip_halves<S: Simd>(a: f32x8<S>, b: f32x8<S>) -> (f32x8<S>, f32x8<S>) {
    let ((a, b), (a2, b2)) = ((a.zip_low(b)).split(), (a.zip_high(b)).split());
    (a.combine(a2), b.combine(b2))
}

impl<S: Simd> Quads<S> for f32x8<S> {
    #[inline(always)]
    fn gather(s: S, quad: impl Fn(usize) -> [f32; 4]) -> [Self; 4] {
        let a = f32x4::load_array(s, quad(0)).combine(f32x4::load_array(s, quad(4)));
        let b = f32x4::load_array(s, quad(1)).combine(f32x4::load_array(s, quad(5)));
        let c = f32x4::load_array(s, quad(2)).combine(f32x4::load_array(s, quad(6)));
        let d = f32x4::load_array(s, quad(3)).combine(f32x4::load_array(s, quad(7)));
        transpose_halves([a, b, c, d])
    }

    #[inline(always)]
    fn scatter(components: [Self; 4], mut put: impl FnMut(usize, [f32; 4])) {
        let [a, b, c, d] = transpose_halves(components);
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
        let [x, y, z, w] = f32x8::gather(s, |i| quad(i));
        let [x2, y2, z2, w2] = f32x8::gather(s, |i| quad(8 + i));
        [x.combine(x2), y.combine(y2), z.combine(z2), w.combine(w2)]
    }

    #[inline(always)]
    fn scatter(components: [Self; 4], mut put: impl FnMut(usize, [f32; 4])) {
        let [x, y, z, w] = components;
        let ((x, x2), (y, y2), (z, z2), (w, w2)) = (x.split(), y.split(), z.split(), w.split());
        f32x8::scatter([x, y, z, w], |i, quad| put(i, quad));
        f32x8::scatter([x2, y2, z2, w2], |i, quad| put(8 + i, quad));
    }
}
