//! Slerp with one factor for all joints, for kernels with their ends in registers.

use fearless_simd::prelude::*;

use super::formula::SLERP_NINE;
use super::kernel::{Nearer, Quats, rotations};
use super::weights::{Series, SeriesLanes, Shared, Straight};
use condyle_base::simd::Mode;

/// Nine coefficients of both weights. Equal ends are exact.
#[derive(Clone, Copy)]
pub(crate) struct OneFactor {
    weights: Series<9>,
    nearer: Nearer,
    factor: f32,
}

/// Returns the nearer end and the factor from it, in f64: `1 - t` is exact there, so it is rounded only once.
pub(super) fn nearer(t: f32) -> (Nearer, f64) {
    let t = f64::from(t);
    if t > 0.5 { (Nearer::Second, 1.0 - t) } else { (Nearer::First, t) }
}

/// Nlerp of rotations in registers, on the hemisphere of the nearer end. `t` is from 0 to 1.
#[inline(always)]
pub(crate) fn straight<S: Simd, M: Mode>(
    s: S,
    mode: M,
    t: f32,
    first: Quats<S::f32s>,
    second: Quats<S::f32s>,
) -> Quats<S::f32s> {
    let (nearer, factor) = nearer(t);
    let (near, far) = nearer.order(first, second);
    rotations::<S, M, S::f32s, _>(s, mode, &Straight, S::f32s::splat(s, factor as f32), near, far).0
}

impl OneFactor {
    /// Computes the coefficients for `t`, from 0 to 1.
    pub(crate) fn new(t: f32) -> Self {
        let (nearer, factor) = nearer(t);
        let weights = Series::new(&SLERP_NINE.at(factor));
        Self { weights, nearer, factor: factor as f32 }
    }

    /// Broadcasts every number to all lanes.
    #[inline(always)]
    pub(crate) fn spread<S: Simd>(self, s: S) -> Spread<S> {
        let weights = self.weights.spread::<S, S::f32s>(s);
        Spread { weights, nearer: self.nearer, factor: S::f32s::splat(s, self.factor) }
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Spread<S: Simd> {
    weights: SeriesLanes<S::f32s, 9>,
    nearer: Nearer,
    factor: S::f32s,
}

impl<S: Simd> Spread<S> {
    /// Slerp along the shorter arc, on the hemisphere of the nearer end.
    #[inline(always)]
    pub(crate) fn rotations<M: Mode>(
        &self,
        s: S,
        mode: M,
        first: Quats<S::f32s>,
        second: Quats<S::f32s>,
    ) -> Quats<S::f32s> {
        let (near, far) = self.nearer.order(first, second);
        rotations::<S, M, S::f32s, _>(s, mode, &self.weights, self.factor, near, far).0
    }
}
