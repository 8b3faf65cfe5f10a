//! Numbers in f64, one or four lanes. Generic code gives the same bits for both.

use core::ops::{Add, BitAnd, BitOr, Div, Mul, Neg, Not, Sub};

use fearless_simd::{f64x4, mask64x4, prelude::*};

use super::scalar::sqrt_f64;

/// A number in f64, or one per lane. Every operation is correctly rounded and unfused, so a lane has the same
/// bits as a computation with one number.
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
    /// Result of a comparison, per lane.
    type Mask: Copy + BitAnd<Output = Self::Mask> + BitOr<Output = Self::Mask> + Not<Output = Self::Mask>;

    /// Returns a constant in all lanes.
    fn like(self, value: f64) -> Self;
    /// Returns the square root.
    fn sqrt(self) -> Self;
    /// Returns the magnitude of this number with the sign of `other`.
    fn with_sign_of(self, other: Self) -> Self;
    /// Whether the number is less than `other`; false if either is NaN.
    fn is_below(self, other: Self) -> Self::Mask;
    /// Returns `yes` in the lanes of the mask, `no` in the others.
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
