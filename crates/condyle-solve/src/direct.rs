//! Helpers shared by the closed-form solvers of a limb and of a joint that points.

use condyle_base::math::real::Real;
use condyle_base::math::vectors::{add, cofactors, dot, scaled};

/// What the square of the determinant of a matrix may be, from where to where, so that no product of numbers that are scaled by it overflows or vanishes.
pub(super) const DETERMINANTS: [f64; 2] = [1e-24, 1e24];

/// The matrix above a joint, and the one that undoes it times the determinant.
pub(super) struct Above {
    pub(super) columns: [[f64; 3]; 3],
    pub(super) squares: [f64; 3],
    pub(super) cofactors: [[f64; 3]; 3],
    pub(super) determinant: f64,
    pub(super) found: bool,
}

impl Above {
    #[inline(always)]
    pub(super) fn new([a, b, c]: &[[f64; 4]; 3]) -> Self {
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

    /// Whether the matrix scales all directions alike: [`Affine64::is_even`](super::maps::Affine64::is_even).
    #[inline(always)]
    pub(super) fn is_even(&self) -> bool {
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
    pub(super) fn linear(&self, v: [f64; 3]) -> [f64; 3] {
        let [x, y, z] = self.columns;
        add(add(scaled(x, v[0]), scaled(y, v[1])), scaled(z, v[2]))
    }

    /// The inverse matrix, times the determinant.
    #[inline(always)]
    pub(super) fn back(&self, v: [f64; 3]) -> [f64; 3] {
        let [p, q, r] = self.cofactors;
        [dot(p, v), dot(q, v), dot(r, v)]
    }
}

/// Sine and cosine of half of an angle, of which they are given times `size`. They come out times one factor, of which the square is the third number.
#[inline(always)]
pub(super) fn half(sin: f64, cos: f64, size: f64) -> (f64, f64, f64) {
    let more = size + cos.abs();
    // Either form loses its digits where the other one has them.
    let back = cos.is_below(size.like(0.0));
    (f64::select(back, more.with_sign_of(sin), sin), f64::select(back, sin.abs(), more), size * more * 2.0)
}

#[inline(always)]
pub(super) fn within(v: f64, [low, high]: [f64; 2]) -> bool {
    v.like(low).is_below(v) & v.is_below(v.like(high))
}

/// One through the root of a number, whose root is needed too.
#[inline(always)]
pub(super) fn over(square: f64) -> f64 {
    square.sqrt() * square.recip()
}

/// Whether it is near enough to unit length for [`unit`].
#[inline(always)]
pub(super) fn near_unit(q: [f64; 4]) -> bool {
    (dot4(q, q) + -1.0).abs().is_below(q[0].like(1e-4))
}

/// To unit length, of what nearly is: a step of Newton's method.
#[inline(always)]
pub(super) fn unit(q: [f64; 4]) -> [f64; 4] {
    scaled4(q, dot4(q, q) * -0.5 + 1.5)
}

/// As [`super::maps::nlerp`] has it.
#[inline(always)]
pub(super) fn nlerp(from: [f64; 4], to: [f64; 4], factor: f64) -> [f64; 4] {
    let to = scaled4(to, factor.with_sign_of(dot4(from, to)));
    let from = scaled4(from, -factor + 1.0);
    let q = [from[0] + to[0], from[1] + to[1], from[2] + to[2], from[3] + to[3]];
    scaled4(q, dot4(q, q).sqrt().recip())
}

#[inline(always)]
pub(super) fn dot4(a: [f64; 4], b: [f64; 4]) -> f64 {
    (a[0] * b[0] + a[1] * b[1]) + (a[2] * b[2] + a[3] * b[3])
}

#[inline(always)]
pub(super) fn scaled4([x, y, z, w]: [f64; 4], by: f64) -> [f64; 4] {
    [x * by, y * by, z * by, w * by]
}
