//! Numbers in f64, one or four side by side: what is written once for both has the same bits in either.

use core::ops::{Add, BitAnd, BitOr, Div, Mul, Neg, Not, Sub};

use fearless_simd::{f64x4, mask64x4, prelude::*};

use super::scalar::sqrt_f64;

/// A number in f64, or one for each lane. Every operation is rounded correctly and by itself, so that a lane is what the number alone would be.
pub trait Real:
    Copy
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + Add<f64, Output = Self>
    + Mul<f64, Output = Self>
{
    /// What a comparison says, for each lane.
    type Mask: Copy + BitAnd<Output = Self::Mask> + BitOr<Output = Self::Mask> + Not<Output = Self::Mask>;

    /// A constant.
    fn like(self, value: f64) -> Self;
    /// The square root.
    fn sqrt(self) -> Self;
    /// The size of this number with the sign of another one.
    fn with_sign_of(self, other: Self) -> Self;
    /// Whether it is less than another number; not where either is NaN.
    fn is_below(self, other: Self) -> Self::Mask;
    /// `yes` in the lanes of the mask, `no` in the others.
    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self;
    /// Whether any lane is in the mask.
    fn any(mask: Self::Mask) -> bool;
}

impl Real for f64 {
    type Mask = bool;

    #[inline(always)]
    fn like(self, value: f64) -> Self {
        value
    }

    #[inline(always)]
    fn sqrt(self) -> Self {
        sqrt_f64(self)
    }

    #[inline(always)]
    fn with_sign_of(self, other: Self) -> Self {
        self.copysign(other)
    }

    #[inline(always)]
    fn is_below(self, other: Self) -> bool {
        self < other
    }

    #[inline(always)]
    fn select(mask: bool, yes: Self, no: Self) -> Self {
        if mask { yes } else { no }
    }

    #[inline(always)]
    fn any(mask: bool) -> bool {
        mask
    }
}

impl<S: Simd> Real for f64x4<S> {
    type Mask = mask64x4<S>;

    #[inline(always)]
    fn like(self, value: f64) -> Self {
        Self::splat(self.token(), value)
    }

    #[inline(always)]
    fn sqrt(self) -> Self {
        <Self as SimdFloat<S>>::sqrt(self)
    }

    #[inline(always)]
    fn with_sign_of(self, other: Self) -> Self {
        self.copysign(other)
    }

    #[inline(always)]
    fn is_below(self, other: Self) -> mask64x4<S> {
        self.simd_lt(other)
    }

    #[inline(always)]
    fn select(mask: mask64x4<S>, yes: Self, no: Self) -> Self {
        mask.select(yes, no)
    }

    #[inline(always)]
    fn any(mask: mask64x4<S>) -> bool {
        mask.any_true()
    }
}
