//! Sine, arctangent and reciprocal square root of van Waveren's slerp (2005), in lanes and for single values.

use fearless_simd::{f32x4, prelude::*};

use super::scalar::sqrt;
use crate::simd::{Floats, Mode, Portable, baseline};

/// Sine on [0, π/2]: 4.3.97 of Abramowitz and Stegun, Handbook of Mathematical Functions.
#[allow(clippy::excessive_precision, reason = "all digits of the source")]
const SINE: [f32; 6] = [1.0, -0.166_666_666_4, 0.008_333_331_5, -0.000_198_409, 2.7526e-6, -2.39e-8];

/// Arctangent on [0, 1]: 4.4.49 of Abramowitz and Stegun.
#[allow(clippy::excessive_precision, reason = "all digits of the source")]
const ARCTANGENT: [f32; 9] = [
    1.0,
    -0.333_331_452_8,
    0.199_935_508_5,
    -0.142_088_994_4,
    0.106_562_639_3,
    -0.075_289_64,
    0.042_909_613_8,
    -0.016_165_736_7,
    0.002_866_225_7,
];

/// Returns `x` times a polynomial in `x²`.
#[inline(always)]
fn odd<S: Simd, M: Mode, V: Floats<S>>(s: S, mode: M, coefficients: &[f32], x: V) -> V {
    let square = x * x;
    let mut sum = V::splat(s, 0.0);
    for c in coefficients.iter().rev() {
        sum = mode.madd(sum, square, V::splat(s, *c));
    }
    x * sum
}

/// [`sin_half_pi`] of each lane.
#[inline(always)]
pub fn sin_half_pi_lanes<S: Simd, M: Mode, V: Floats<S>>(s: S, mode: M, x: V) -> V {
    odd(s, mode, &SINE, x)
}

/// [`atan_positive`] of each lane.
#[inline(always)]
pub fn atan_positive_lanes<S: Simd, M: Mode, V: Floats<S>>(s: S, mode: M, y: V, x: V) -> V {
    let steep = y.simd_gt(x);
    let ratio = steep.select(x, y) / steep.select(y, x);
    let angle = odd(s, mode, &ARCTANGENT, ratio);
    steep.select(V::splat(s, core::f32::consts::FRAC_PI_2) - angle, angle)
}

/// Returns the sine of an angle from 0 to π/2, in radians, within 1.8e-7. For other angles, use
/// [`sin_cos`](super::sin_cos): this polynomial is wrong there.
///
/// ```
/// use condyle::math::sin_half_pi;
///
/// assert!((sin_half_pi(std::f32::consts::FRAC_PI_6) - 0.5).abs() < 3e-7);
/// ```
#[inline]
#[must_use]
pub fn sin_half_pi(x: f32) -> f32 {
    baseline!(|s| sin_half_pi_lanes(s, Portable, f32x4::splat(s, x))[0])
}

/// Returns the angle of the vector `(x, y)` in radians, from 0 to π/2, within 2e-7.
///
/// Both components must be positive, or one positive and the other zero. For other vectors, use
/// [`atan2`](super::atan2): this function returns a wrong angle there.
///
/// ```
/// use condyle::math::atan_positive;
///
/// assert!((atan_positive(1.0, 1.0) - std::f32::consts::FRAC_PI_4).abs() < 3e-7);
/// ```
#[inline]
#[must_use]
pub fn atan_positive(y: f32, x: f32) -> f32 {
    baseline!(|s| atan_positive_lanes(s, Portable, f32x4::splat(s, y), f32x4::splat(s, x))[0])
}

/// Returns `1 / √x`, within 1.5 ULP. Infinity for zero, NaN for negative numbers.
///
/// Uses a correctly rounded root and division, because hardware estimates differ between processors.
///
/// ```
/// use condyle::math::reciprocal_sqrt;
///
/// assert_eq!(reciprocal_sqrt(4.0), 0.5);
/// assert_eq!(reciprocal_sqrt(0.0), f32::INFINITY);
/// ```
#[inline]
#[must_use]
pub fn reciprocal_sqrt(x: f32) -> f32 {
    1.0 / sqrt(x)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::{Dispatch, Isa, Lanes, Numeric, dispatch, load, store};
    use crate::testing::{Random, assert_close, tries};
    use core::f32::consts::FRAC_PI_2;

    #[test]
    fn sine_and_arctangent_keep_their_bounds() {
        let mut random = Random(1);
        for case in 0..tries(300_000) {
            let x = match case {
                0 => 0.0,
                1 => FRAC_PI_2,
                _ => random.range(0.0, FRAC_PI_2),
            };
            assert_close(&[sin_half_pi(x)], &[f64::from(x).sin()], 1.8e-7, x);
            let size = [1.0, 1e-3, 1e-6][case % 3];
            let (y, x) = (random.range(0.0, size), random.range(1e-9, 1.0));
            assert_close(
                &[atan_positive(y, x)],
                &[f64::from(y).atan2(x.into())],
                2e-7,
                format_args!("{y}, {x}"),
            );
            assert_close(
                &[atan_positive(x, y)],
                &[f64::from(x).atan2(y.into())],
                2e-7,
                format_args!("{x}, {y}"),
            );
            let (got, want) = (reciprocal_sqrt(x), 1.0 / f64::from(x).sqrt());
            assert_close(&[got / want as f32], &[1.0], 1.8e-7, x);
        }
        assert_eq!(
            (sin_half_pi(0.0), atan_positive(0.0, 1.0), atan_positive(1.0, 0.0)),
            (0.0, 0.0, FRAC_PI_2)
        );
        assert!(reciprocal_sqrt(0.0) == f32::INFINITY && reciprocal_sqrt(-1.0).is_nan());
    }

    /// A single value and a lane give the same bits in the portable mode.
    #[test]
    fn one_value_is_as_many_are() {
        let mut random = Random(2);
        let values: [f32; 16] = core::array::from_fn(|_| random.range(0.0, FRAC_PI_2));
        for isa in Isa::all() {
            let mut got = [0.0; 16];
            Dispatch::new(isa, Numeric::Portable).expect("available").scope(|| {
                dispatch!(|s, mode| both(s, mode, &values, &mut got));
            });
            assert_eq!(got, values.map(|x| atan_positive(sin_half_pi(x), x)), "{isa}");
        }
    }

    #[inline(always)]
    fn both<S: Simd, M: Mode>(s: S, mode: M, values: &Lanes, out: &mut Lanes) {
        for at in (0..values.len()).step_by(S::f32s::LEN) {
            let x = load(s, values, at);
            let y = sin_half_pi_lanes(s, mode, x);
            store::<S>(out, at, atan_positive_lanes(s, mode, y, x));
        }
    }
}
