//! Terms of rotations in a sum, and the rotation of a sum.

use fearless_simd::prelude::*;

use super::weights::nan_or_zero;
use condyle_base::math::exp_map::{between, exp, log, product};
use condyle_base::simd::{Lanes, Mode, each, load_all};

/// Rotations of the reference in one group of lanes.
pub(super) struct Reference<S: Simd, M> {
    mode: M,
    pub(super) rotation: [S::f32s; 4],
}

impl<S: Simd, M: Mode> Reference<S, M> {
    #[inline(always)]
    pub(super) fn new(s: S, mode: M, lanes: &[Lanes; 4], at: usize) -> Self {
        Self { mode, rotation: load_all(s, lanes, at) }
    }

    /// Returns `factor` with its sign flipped where the rotation is not in the reference's hemisphere. The
    /// quaternion times this factor is its term in a linear mean.
    ///
    /// The dot product uses no fused multiply-add in either mode: where it is almost 0, every instruction set
    /// must choose the same sign.
    #[inline(always)]
    pub(super) fn factor(&self, s: S, q: &[S::f32s; 4], factor: S::f32s) -> S::f32s {
        let r = &self.rotation;
        flip(s, factor, (q[0] * r[0] + q[1] * r[1]) + (q[2] * r[2] + q[3] * r[3]))
    }

    /// Returns the logarithm of the shorter turn from the reference to a rotation, times `factor`: its term
    /// in the mean of the exponential map.
    #[inline(always)]
    pub(super) fn log(&self, s: S, q: &[S::f32s; 4], factor: S::f32s) -> [S::f32s; 3] {
        shorter_log(s, self.mode, &between::<S>(&self.rotation, q), factor)
    }

    /// Returns the rotation of a sum of logarithms.
    #[inline(always)]
    pub(super) fn turned(&self, s: S, [x, y, z]: [S::f32s; 3]) -> [S::f32s; 4] {
        let turned = product::<S, M>(self.mode, &self.rotation, &exp(s, self.mode, &[x, y, z]));
        // Normalise, because the length of the reference may be slightly off.
        self.unit(s, &turned, S::f32s::splat(s, 0.0))
    }

    /// Returns a sum of quaternions at unit length, or the reference if the squared length is at most
    /// `least2`.
    #[inline(always)]
    pub(super) fn unit(&self, s: S, sum: &[S::f32s; 4], least2: S::f32s) -> [S::f32s; 4] {
        let (mode, q) = (self.mode, sum);
        let length2 = mode.madd(q[3], q[3], mode.madd(q[2], q[2], mode.madd(q[1], q[1], q[0] * q[0])));
        let inverse = S::f32s::splat(s, 1.0) / length2.sqrt() + nan_or_zero::<S>(length2);
        let none = length2.simd_le(least2);
        let mut out = *sum;
        each!(c in [0, 1, 2, 3] => out[c] *= inverse);
        if none.any_true() {
            each!(c in [0, 1, 2, 3] => out[c] = none.select(self.rotation[c], out[c]));
        }
        out
    }
}

/// Returns the logarithm of a rotation or of its negation, whichever turns less, times `factor`.
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

/// Returns `value` with its sign flipped where `product` is negative. -0 does not count as negative.
#[inline(always)]
pub(super) fn flip<S: Simd>(s: S, value: S::f32s, product: S::f32s) -> S::f32s {
    let sign =
        product.simd_lt(S::f32s::splat(s, 0.0)).select(S::i32s::splat(s, i32::MIN), S::i32s::splat(s, 0));
    (value.bitcast::<S::i32s>() ^ sign).bitcast()
}
