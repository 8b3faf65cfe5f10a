//! What is solved without a search has one source for one instance and for one in each lane. This is what such solvers share.

use fearless_simd::{f32x4, f64x4, prelude::*};

use crate::math::real::Real;
use crate::math::vectors::{cofactors, dot};

/// Instances that are solved together.
pub(super) const LANES: usize = 4;

/// What the square of the determinant of a matrix may be, from where to where, so that no product of numbers that are scaled by it overflows or vanishes.
pub(super) const DETERMINANTS: [f64; 2] = [1e-24, 1e24];

/// Four numbers of what is solved, or of one in each lane.
pub(super) trait Load<R> {
    fn load(&self, at: usize) -> [R; 4];
}

#[inline(always)]
pub(super) fn widen<S: Simd>(v: f32x4<S>) -> f64x4<S> {
    v.combine(v).widen().0
}

#[inline(always)]
pub(super) fn narrow<S: Simd>(v: f64x4<S>) -> f32x4<S> {
    v.narrow(v).split().0
}

/// The matrix above a joint, and the one that undoes it times the determinant.
pub(super) struct Above<R: Real> {
    pub(super) columns: [[R; 3]; 3],
    pub(super) squares: [R; 3],
    pub(super) cofactors: [[R; 3]; 3],
    pub(super) determinant: R,
    pub(super) found: R::Mask,
}

impl<R: Real> Above<R> {
    #[inline(always)]
    pub(super) fn new([a, b, c]: &[[R; 4]; 3]) -> Self {
        let columns = [[a[0], b[0], c[0]], [a[1], b[1], c[1]], [a[2], b[2], c[2]]];
        let (cofactors, determinant) = cofactors(columns);
        let [x, y, z] = columns;
        let squares = [dot(x, x), dot(y, y), dot(z, z)];
        let most = squares[0] * squares[1] * squares[2];
        Self {
            columns,
            squares,
            cofactors,
            determinant,
            found: (most * 1e-20).is_below(determinant * determinant),
        }
    }

    /// As [`Map::is_even`](super::maps::Map::is_even) has it.
    #[inline(always)]
    pub(super) fn is_even(&self) -> R::Mask {
        let ([x, y, z], [xx, yy, zz]) = (self.columns, self.squares);
        let near = xx * 4e-6;
        let [a, b, c, d, e] = [xx - yy, xx - zz, dot(x, y), dot(x, z), dot(y, z)];
        a.abs().is_below(near)
            & b.abs().is_below(near)
            & c.abs().is_below(near)
            & d.abs().is_below(near)
            & e.abs().is_below(near)
    }

    /// The matrix itself, without what it moves by.
    #[inline(always)]
    pub(super) fn linear(&self, v: [R; 3]) -> [R; 3] {
        let [x, y, z] = self.columns;
        add(add(scaled(x, v[0]), scaled(y, v[1])), scaled(z, v[2]))
    }

    /// The inverse matrix, times the determinant.
    #[inline(always)]
    pub(super) fn back(&self, v: [R; 3]) -> [R; 3] {
        let [p, q, r] = self.cofactors;
        [dot(p, v), dot(q, v), dot(r, v)]
    }
}

/// Sine and cosine of half of an angle, of which they are given times `size`. They come out times one factor, of which the square is the third number.
#[inline(always)]
pub(super) fn half<R: Real>(sin: R, cos: R, size: R) -> (R, R, R) {
    let more = size + cos.abs();
    // Either form loses its digits where the other one has them.
    let back = cos.is_below(size.like(0.0));
    (R::select(back, more.with_sign_of(sin), sin), R::select(back, sin.abs(), more), size * more * 2.0)
}

#[inline(always)]
pub(super) fn within<R: Real>(v: R, [low, high]: [f64; 2]) -> R::Mask {
    v.like(low).is_below(v) & v.is_below(v.like(high))
}

/// One through the root of a number, whose root is needed too.
#[inline(always)]
pub(super) fn over<R: Real>(square: R) -> R {
    square.sqrt() * square.recip()
}

/// Whether it is near enough to unit length for [`unit`].
#[inline(always)]
pub(super) fn near_unit<R: Real>(q: [R; 4]) -> R::Mask {
    (dot4(q, q) + -1.0).abs().is_below(q[0].like(1e-4))
}

/// To unit length, of what nearly is: a step of Newton's method.
#[inline(always)]
pub(super) fn unit<R: Real>(q: [R; 4]) -> [R; 4] {
    scaled4(q, dot4(q, q) * -0.5 + 1.5)
}

/// As [`super::maps::nlerp`] has it.
#[inline(always)]
pub(super) fn nlerp<R: Real>(from: [R; 4], to: [R; 4], factor: R) -> [R; 4] {
    let to = scaled4(to, factor.with_sign_of(dot4(from, to)));
    let from = scaled4(from, factor * -1.0 + 1.0);
    let q = [from[0] + to[0], from[1] + to[1], from[2] + to[2], from[3] + to[3]];
    scaled4(q, dot4(q, q).sqrt().recip())
}

#[inline(always)]
pub(super) fn dot4<R: Real>(a: [R; 4], b: [R; 4]) -> R {
    (a[0] * b[0] + a[1] * b[1]) + (a[2] * b[2] + a[3] * b[3])
}

#[inline(always)]
pub(super) fn scaled4<R: Real>([x, y, z, w]: [R; 4], by: R) -> [R; 4] {
    [x * by, y * by, z * by, w * by]
}

#[inline(always)]
pub(super) fn add<R: Real>(a: [R; 3], b: [R; 3]) -> [R; 3] {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
}

#[inline(always)]
pub(super) fn sub<R: Real>(a: [R; 3], b: [R; 3]) -> [R; 3] {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

#[inline(always)]
pub(super) fn scaled<R: Real>(v: [R; 3], by: R) -> [R; 3] {
    [v[0] * by, v[1] * by, v[2] * by]
}
