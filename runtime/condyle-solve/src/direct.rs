//! Helpers shared by the closed-form solvers for limbs and for aims.

use condyle_base::math::real::Real;
use condyle_base::math::vectors::{add, cofactors, dot, scaled};

/// Allowed range of the squared determinant of a matrix, so that no product scaled by it overflows or
/// underflows.
pub(super) const DETERMINANTS: [f64; 2] = [1e-24, 1e24];

/// Matrix of the space above a joint, and its adjugate (the inverse times the determinant).
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

    /// Whether the matrix scales all directions equally, like
    /// [`Affine64::is_even`](super::maps::Affine64::is_even).
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

    /// Applies the linear part of the matrix, without the translation.
    #[inline(always)]
    pub(super) fn linear(&self, v: [f64; 3]) -> [f64; 3] {
        let [x, y, z] = self.columns;
        add(add(scaled(x, v[0]), scaled(y, v[1])), scaled(z, v[2]))
    }

    /// Applies the inverse matrix times the determinant.
    #[inline(always)]
    pub(super) fn back(&self, v: [f64; 3]) -> [f64; 3] {
        let [p, q, r] = self.cofactors;
        [dot(p, v), dot(q, v), dot(r, v)]
    }
}

/// Sine and cosine of half an angle, from the sine and cosine of the whole angle times `size`. Both results
/// have the same unknown factor; the third value is its square.
#[inline(always)]
pub(super) fn half(sin: f64, cos: f64, size: f64) -> (f64, f64, f64) {
    let more = size + cos.abs();
    // Each form suffers cancellation where the other one is accurate.
    let back = cos.is_below(size.like(0.0));
    (f64::select(back, more.with_sign_of(sin), sin), f64::select(back, sin.abs(), more), size * more * 2.0)
}

#[inline(always)]
pub(super) fn within(v: f64, [low, high]: [f64; 2]) -> bool {
    v.like(low).is_below(v) & v.is_below(v.like(high))
}

/// Returns `1 / sqrt(square)`, for callers that also need the root.
#[inline(always)]
pub(super) fn over(square: f64) -> f64 {
    square.sqrt() * square.recip()
}

/// Whether a quaternion is close enough to unit length for [`unit`].
#[inline(always)]
pub(super) fn near_unit(q: [f64; 4]) -> bool {
    (dot4(q, q) + -1.0).abs().is_below(q[0].like(1e-4))
}

/// Normalises an almost normalised quaternion by one Newton step.
#[inline(always)]
pub(super) fn unit(q: [f64; 4]) -> [f64; 4] {
    scaled4(q, dot4(q, q) * -0.5 + 1.5)
}

/// Same result as [`super::maps::nlerp`].
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
