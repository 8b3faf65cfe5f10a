//! The terms that rotations add to a sum, and the rotation that comes of a sum.

use fearless_simd::prelude::*;

use super::weights::nan_or_zero;
use condyle_base::math::exp_map::{between, exp, log, product};
use condyle_base::simd::{Lanes, Mode, each, load_all};

/// Rotations relative to those of the reference, in one group of lanes.
pub(super) struct Reference<S: Simd, M> {
    mode: M,
    pub(super) rotation: [S::f32s; 4],
}

impl<S: Simd, M: Mode> Reference<S, M> {
    #[inline(always)]
    pub(super) fn new(s: S, mode: M, lanes: &[Lanes; 4], at: usize) -> Self {
        Self { mode, rotation: load_all(s, lanes, at) }
    }

    /// `factor`, its sign changed where a rotation is not in the reference's hemisphere: a quaternion times
    /// this adds to a linear mean.
    ///
    /// The product is not fused in either mode: where it is almost 0, every instruction set must choose the
    /// same sign.
    #[inline(always)]
    pub(super) fn factor(&self, s: S, q: &[S::f32s; 4], factor: S::f32s) -> S::f32s {
        let r = &self.rotation;
        flip(s, factor, (q[0] * r[0] + q[1] * r[1]) + (q[2] * r[2] + q[3] * r[3]))
    }

    /// The logarithm of the shorter turn from the reference to a rotation, times `factor`: what it adds to
    /// the mean of the exponential map.
    #[inline(always)]
    pub(super) fn log(&self, s: S, q: &[S::f32s; 4], factor: S::f32s) -> [S::f32s; 3] {
        shorter_log(s, self.mode, &between::<S>(&self.rotation, q), factor)
    }

    /// The rotation of a sum of logarithms.
    #[inline(always)]
    pub(super) fn turned(&self, s: S, [x, y, z]: [S::f32s; 3]) -> [S::f32s; 4] {
        let turned = product::<S, M>(self.mode, &self.rotation, &exp(s, self.mode, &[x, y, z]));
        // As long as the reference, whose length may be slightly off.
        self.unit(s, &turned, S::f32s::splat(s, 0.0))
    }

    /// A sum of quaternions at unit length; the reference where it is not longer than the root of `least2`.
    #[inline(always)]
    pub(super) fn unit(&self, s: S, sum: &[S::f32s; 4], least2: S::f32s) -> [S::f32s; 4] {
        let (mode, q) = (self.mode, sum);
        let length2 = mode.madd(q[3], q[3], mode.madd(q[2], q[2], mode.madd(q[1], q[1], q[0] * q[0])));
        let inverse = S::f32s::splat(s, 1.0) / length2.sqrt() + nan_or_zero::<S>(length2);
        let none = length2.simd_le(least2);
        let mut out = *sum;
        each!(c in [0, 1, 2, 3] => out[c] = none.select(self.rotation[c], out[c] * inverse));
        out
    }
}

/// The logarithm of a rotation or of its opposite, whichever turns less, times `factor`.
#[inline(always)]
pub(super) fn shorter_log<S: Simd, M: Mode>(
    s: S,
    mode: M,
    &[x, y, z, w]: &[S::f32s; 4],
    factor: S::f32s,
) -> [S::f32s; 3] {
    let [x, y, z] = log::<S, M, false>(s, mode, &[x, y, z, w.abs()]);
    let factor = flip(s, factor, w);
    [x * factor, y * factor, z * factor]
}

/// `value`, its sign changed where `product` is negative, which -0 is not.
#[inline(always)]
pub(super) fn flip<S: Simd>(s: S, value: S::f32s, product: S::f32s) -> S::f32s {
    let sign =
        product.simd_lt(S::f32s::splat(s, 0.0)).select(S::i32s::splat(s, i32::MIN), S::i32s::splat(s, 0));
    (value.bitcast::<S::i32s>() ^ sign).bitcast()
}
