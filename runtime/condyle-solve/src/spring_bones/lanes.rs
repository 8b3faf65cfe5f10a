//! Loads, stores and vector operations for one character, or for one character per lane. The code is shared,
//! so that both have the same bits.

use fearless_simd::{f64x4, prelude::*};

use condyle_base::math::real::Real;
use condyle_base::math::vectors::{add, cofactors, dot, scaled};
use condyle_base::simd::each;

/// Number of characters that are simulated together.
pub(super) const LANES: usize = 4;

/// Loads and stores of numbers: of one character, or of one character per lane.
pub(super) trait Lanes: Copy {
    type Number: Real;
    /// Storage of a number: a single f64, or one f64 per lane.
    type Stored: Copy;

    fn splat(self, value: f64) -> Self::Number;
    fn load(self, from: &Self::Stored) -> Self::Number;
    fn store(self, value: Self::Number) -> Self::Stored;

    #[inline(always)]
    fn load_all<const N: usize>(self, from: &[Self::Stored; N]) -> [Self::Number; N] {
        let mut all = [self.splat(0.0); N];
        each!(k in [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11] below N => all[k] = self.load(&from[k]));
        all
    }

    #[inline(always)]
    fn store_all<const N: usize>(self, to: &mut [Self::Stored; N], values: [Self::Number; N]) {
        each!(k in [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11] below N => to[k] = self.store(values[k]));
    }

    #[inline(always)]
    fn splat3(self, [x, y, z]: [f64; 3]) -> [Self::Number; 3] {
        [self.splat(x), self.splat(y), self.splat(z)]
    }
}

/// One character.
#[derive(Clone, Copy)]
pub(super) struct Alone;

impl Lanes for Alone {
    type Number = f64;
    type Stored = f64;

    #[inline(always)]
    fn splat(self, value: f64) -> f64 {
        value
    }

    #[inline(always)]
    fn load(self, from: &f64) -> f64 {
        *from
    }

    #[inline(always)]
    fn store(self, value: f64) -> f64 {
        value
    }
}

/// One number for each lane.
#[derive(Debug, Clone, Copy, Default)]
#[repr(align(32))]
pub(super) struct Row(pub(super) [f64; LANES]);

/// A character in each lane.
#[derive(Clone, Copy)]
pub(super) struct Side<S>(pub(super) S);

impl<S: Simd> Lanes for Side<S> {
    type Number = f64x4<S>;
    type Stored = Row;

    #[inline(always)]
    fn splat(self, value: f64) -> f64x4<S> {
        f64x4::splat(self.0, value)
    }

    #[inline(always)]
    fn load(self, from: &Row) -> f64x4<S> {
        f64x4::load_array_ref(self.0, &from.0)
    }

    #[inline(always)]
    fn store(self, value: f64x4<S>) -> Row {
        Row(value.to_array())
    }
}

pub(super) type Vector<R> = [R; 3];

#[inline(always)]
pub(super) fn select<R: Real, const N: usize>(mask: R::Mask, yes: [R; N], no: [R; N]) -> [R; N] {
    let mut all = no;
    each!(k in [0, 1, 2, 3] below N => all[k] = R::select(mask, yes[k], no[k]));
    all
}

/// An affine map: three axes as columns, and an origin.
#[derive(Clone, Copy)]
pub(super) struct Frame<R> {
    pub(super) axes: [Vector<R>; 3],
    pub(super) origin: Vector<R>,
}

impl<R: Real> Frame<R> {
    #[inline(always)]
    pub(super) fn load<L: Lanes<Number = R>>(l: L, from: &[L::Stored; 12]) -> Self {
        let [a, b, c, d, e, f, g, h, i, x, y, z] = l.load_all(from);
        Self { axes: [[a, b, c], [d, e, f], [g, h, i]], origin: [x, y, z] }
    }

    #[inline(always)]
    pub(super) fn store<L: Lanes<Number = R>>(&self, l: L, to: &mut [L::Stored; 12]) {
        let ([[a, b, c], [d, e, f], [g, h, i]], [x, y, z]) = (self.axes, self.origin);
        l.store_all(to, [a, b, c, d, e, f, g, h, i, x, y, z]);
    }

    #[inline(always)]
    pub(super) fn vector(&self, v: Vector<R>) -> Vector<R> {
        let [x, y, z] = self.axes;
        add(add(scaled(x, v[0]), scaled(y, v[1])), scaled(z, v[2]))
    }

    #[inline(always)]
    pub(super) fn point(&self, p: Vector<R>) -> Vector<R> {
        add(self.vector(p), self.origin)
    }

    /// Composition: first `right`, then `self`.
    #[inline(always)]
    pub(super) fn after(&self, right: &Self) -> Self {
        let [x, y, z] = right.axes;
        Self { axes: [self.vector(x), self.vector(y), self.vector(z)], origin: self.point(right.origin) }
    }

    /// Returns the rows of the adjugate (the inverse times the determinant), the determinant, and a mask that
    /// is true where the frame is not singular.
    #[inline(always)]
    pub(super) fn adjugate<L: Lanes<Number = R>>(&self, l: L) -> ([Vector<R>; 3], R, R::Mask) {
        let [x, y, z] = self.axes;
        let (rows, determinant) = cofactors(self.axes);
        let most = dot(x, x) * dot(y, y) * dot(z, z);
        (rows, determinant, (l.splat(FLAT) * most).is_below(determinant * determinant))
    }

    /// Returns the inverse, and a mask that is true where it exists.
    #[inline(always)]
    pub(super) fn inverse<L: Lanes<Number = R>>(&self, l: L) -> (Self, R::Mask) {
        let ([a, b, c], determinant, ok) = self.adjugate(l);
        let by = l.splat(1.0) / determinant;
        let axes =
            [scaled([a[0], b[0], c[0]], by), scaled([a[1], b[1], c[1]], by), scaled([a[2], b[2], c[2]], by)];
        let turned = Self { axes, origin: self.origin }.vector(self.origin);
        (Self { axes, origin: [-turned[0], -turned[1], -turned[2]] }, ok)
    }
}

/// Minimum of the squared determinant, as a fraction of the product of the squared lengths of the axes.
const FLAT: f64 = 1e-20;
