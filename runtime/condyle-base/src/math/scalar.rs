//! Scalar square roots, sines and arctangents.

use fearless_simd::{f32x4, f64x2, prelude::*};

use crate::simd::baseline;

/// Returns the correctly rounded square root, or NaN for a negative argument. Does not need `std`.
///
/// ```
/// use condyle::math::sqrt;
///
/// assert_eq!(sqrt(2.0), std::f32::consts::SQRT_2);
/// assert!(sqrt(-1.0).is_nan());
/// ```
#[inline]
#[must_use]
pub fn sqrt(x: f32) -> f32 {
    baseline!(|s| f32x4::splat(s, x).sqrt()[0])
}

/// Returns the correctly rounded square root in f64.
#[inline]
pub fn sqrt_f64(x: f64) -> f64 {
    baseline!(|s| f64x2::splat(s, x).sqrt()[0])
}

/// Returns sine and cosine of any angle in radians, within 0.51 ULP. NaN for infinities.
///
/// ```
/// use condyle::math::sin_cos;
///
/// // A rotation about +Y as a quaternion.
/// let (y, w) = sin_cos(0.5 * 60_f32.to_radians());
/// assert!((y - 0.5).abs() < 1e-6 && (w - 0.866_025_4).abs() < 1e-6);
/// ```
#[must_use]
#[inline]
pub fn sin_cos(x: f32) -> (f32, f32) {
    if !x.is_finite() {
        return (f32::NAN, f32::NAN);
    }
    let (quadrant, r) = if x.abs() < 1.0e6 { reduce(x.into()) } else { reduce_large(x) };
    let (sin, cos) = sin_cos_quadrant(quadrant, r);
    (sin as f32, cos as f32)
}

/// Returns the nearest multiple of π/2 and the remainder, for arguments up to 10^6.
#[inline]
fn reduce(x: f64) -> (u32, f64) {
    // π/2 in two parts: the first has 33 bits, so that its product with the quadrant is exact.
    const HALF_PI_HIGH: f64 = 1.570_796_326_734_125_6;
    const HALF_PI_LOW: f64 = 6.077_100_506_506_192e-11;
    // Adding this constant rounds to an integer, whose low bits are the low bits of the sum.
    const WHOLE: f64 = 1.5 * (1_u64 << 52) as f64;
    let turns = x * core::f64::consts::FRAC_2_PI;
    // Rounds halves away from zero by additions alone, so that the compiler can vectorise a loop for SSE2
    // too.
    let beyond = turns + 0.5_f64.copysign(turns);
    let nearest = (beyond + WHOLE) - WHOLE;
    let more = if nearest.abs() > beyond.abs() { 1.0_f64.copysign(turns) } else { 0.0 };
    let quadrant = nearest - more;
    let r = (x - quadrant * HALF_PI_HIGH) - quadrant * HALF_PI_LOW;
    ((quadrant + WHOLE).to_bits() as u32, r)
}

/// [`reduce`] for arguments of at least 2^19: multiplies by the relevant bits of 2/π. Payne and Hanek 1983.
fn reduce_large(x: f32) -> (u32, f64) {
    /// A zero word, then the bits of 2/π after the binary point.
    const TWO_OVER_PI: [u32; 9] = [
        0,
        0xA2F9_836E,
        0x4E44_1529,
        0xFC27_57D1,
        0xF534_DDC0,
        0xDB62_9599,
        0x3C43_9041,
        0xFE51_63AB,
        0xDEBB_C561,
    ];
    let bits = x.to_bits();
    let mantissa = bits & 0x007F_FFFF | 0x0080_0000;
    // x is ± mantissa · 2^(e - 150). The bits of 2/π that give multiples of four quarter turns are dropped.
    // Of the others, 96 bits are kept, the first two before the binary point. The table begins 32 bits early.
    let start = (bits >> 23 & 0xFF) as usize - 120;
    let word = |at: usize| u128::from(TWO_OVER_PI[at]);
    let at = start / 32;
    let four = word(at) << 96 | word(at + 1) << 64 | word(at + 2) << 32 | word(at + 3);
    let window = (four << (start % 32)) >> 32;
    let product = (window * u128::from(mantissa)) & ((1 << 96) - 1);
    let quadrant = (product >> 94) as u32;
    let fraction = (product & ((1 << 94) - 1)) as f64 / (1_u128 << 94) as f64;
    let (quadrant, fraction) =
        if fraction > 0.5 { (quadrant + 1, fraction - 1.0) } else { (quadrant, fraction) };
    let r = fraction * core::f64::consts::FRAC_PI_2;
    if x < 0.0 { (quadrant.wrapping_neg(), -r) } else { (quadrant, r) }
}

/// Returns `sin(r) / r` and `cos(r)` for `r2 = r²` with `r` in [-π/4, π/4], within 1e-12. Taylor series.
#[inline(always)]
pub fn sinc_cos(r2: f64) -> (f64, f64) {
    let sinc = [
        1.0,
        -1.0 / 6.0,
        1.0 / 120.0,
        -1.0 / 5_040.0,
        1.0 / 362_880.0,
        -1.0 / 39_916_800.0,
        1.0 / 6_227_020_800.0,
    ];
    let cos = [1.0, -0.5, 1.0 / 24.0, -1.0 / 720.0, 1.0 / 40_320.0, -1.0 / 3_628_800.0, 1.0 / 479_001_600.0];
    (horner(sinc, r2), horner(cos, r2))
}

/// Returns sine and cosine of `quadrant · π/2 + r` for `r` in [-π/4, π/4], within 1e-11.
#[inline]
fn sin_cos_quadrant(quadrant: u32, r: f64) -> (f64, f64) {
    let (sinc, cos) = sinc_cos(r * r);
    let sin = r * sinc;
    // Branch-free, so that the compiler can vectorise a loop over angles.
    let quadrant = u64::from(quadrant);
    let swap = (quadrant & 1).wrapping_neg() & (sin.to_bits() ^ cos.to_bits());
    let sign = |half_turn: u64| (half_turn & 2) << 62;
    let sin_bits = sin.to_bits() ^ swap ^ sign(quadrant);
    let cos_bits = cos.to_bits() ^ swap ^ sign(quadrant + 1);
    (f64::from_bits(sin_bits), f64::from_bits(cos_bits))
}

/// Evaluates a polynomial. The coefficient of the lowest power comes first.
#[inline(always)]
fn horner<const N: usize>(coefficients: [f64; N], x: f64) -> f64 {
    let [rest @ .., last] = &coefficients[..] else { return 0.0 };
    rest.iter().rev().fold(*last, |sum, c| sum * x + c)
}

/// Returns the sine of an angle of up to a million radians, within 1e-11.
#[inline]
pub fn sin_f64(x: f64) -> f64 {
    sin_cos_f64(x).0
}

/// Returns sine and cosine in f64 of an angle of up to a million radians, within 1e-11.
///
/// For code outside the hot path, such as importers.
///
/// ```
/// use condyle::math::sin_cos_f64;
///
/// let (sin, cos) = sin_cos_f64(30_f64.to_radians());
/// assert!((sin - 0.5).abs() < 1e-11 && (cos * cos - 0.75).abs() < 1e-11);
/// ```
#[inline]
#[must_use]
pub fn sin_cos_f64(x: f64) -> (f64, f64) {
    let (quadrant, r) = reduce(x);
    sin_cos_quadrant(quadrant, r)
}

/// Returns the angle of the vector `(x, y)` in radians, in `[-π, π]`, within 0.51 ULP. Zeros and infinities
/// follow IEEE 754.
///
/// ```
/// use condyle::math::atan2;
///
/// // Heading of a character that walks along `(x, z)`, where 0 is +Z.
/// let (x, z) = (1.0, -1.0);
/// assert!((atan2(x, z) - 135_f32.to_radians()).abs() < 1e-6);
/// ```
#[must_use]
#[inline]
pub fn atan2(y: f32, x: f32) -> f32 {
    atan2_f64(y.into(), x.into()) as f32
}

/// [`atan2`] in f64, within 1e-12.
///
/// ```
/// use condyle::math::atan2_f64;
///
/// assert!((atan2_f64(1.0, -1.0) - 135_f64.to_radians()).abs() < 1e-12);
/// ```
#[must_use]
#[inline]
pub fn atan2_f64(y: f64, x: f64) -> f64 {
    use core::f64::consts::{FRAC_PI_2, PI};
    if x.is_nan() || y.is_nan() {
        return f64::NAN;
    }
    // An infinite component outweighs a finite one; two infinite components count as equal.
    let infinite = x.is_infinite() || y.is_infinite();
    let weight = |v: f64| match (v.is_infinite(), infinite) {
        (true, _) => v.signum(),
        (false, true) => v * 0.0,
        (false, false) => v,
    };
    let (y, x) = (weight(y), weight(x));
    let (small, large) = if y.abs() > x.abs() { (x.abs(), y.abs()) } else { (y.abs(), x.abs()) };
    let ratio = if large == 0.0 { 0.0 } else { small / large };
    // arctan(a) = arctan(b) + arctan((a - b) / (1 + a b)). With b = 0.5 or 0, the remainder is below 1/3.
    const ATAN_HALF: f64 = 0.463_647_609_000_806_1;
    let (base, a) = if ratio > 0.3 { (ATAN_HALF, (ratio - 0.5) / (1.0 + 0.5 * ratio)) } else { (0.0, ratio) };
    let a2 = a * a;
    let angle = base + a * horner(ATAN, a2);
    let angle = if y.abs() > x.abs() { FRAC_PI_2 - angle } else { angle };
    let angle = if x.is_sign_negative() { PI - angle } else { angle };
    if y.is_sign_negative() { -angle } else { angle }
}

/// Coefficients of the arctangent series: 1, -1/3, 1/5, …
const ATAN: [f64; 12] = {
    let mut terms = [1.0; 12];
    let mut k = 1;
    while k < 12 {
        terms[k] = if k % 2 == 0 { 1.0 } else { -1.0 } / (2 * k + 1) as f64;
        k += 1;
    }
    terms
};

/// Returns the maximum of non-negative errors, or NaN if any is NaN; `f64::max` would ignore it.
pub fn worst(errors: impl IntoIterator<Item = f64>) -> f64 {
    errors.into_iter().fold(0.0, |worst, error| if error > worst || error.is_nan() { error } else { worst })
}

/// Returns 0 below 0, 1 above 1, and a smooth step between: `3 t² - 2 t³`.
#[inline]
#[must_use]
pub fn smooth(t: f64) -> f64 {
    let t = t.clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}

/// Returns the covered fraction of a distance after the time `x`, in time constants: `1 - (1 + x / 8)^-8`.
/// This is near `1 - exp(-x)` and needs no exponential.
#[inline]
#[must_use]
pub fn approach(x: f64) -> f64 {
    let base = 1.0 + x / 8.0;
    let power = base * base;
    let power = power * power;
    1.0 - 1.0 / (power * power)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Random, tries};

    /// Returns the error of `got` in ULP of `want`.
    fn ulps(got: f32, want: f64) -> f64 {
        let size = (want.abs() as f32).max(f32::MIN_POSITIVE);
        let spacing = f64::from(f32::from_bits(size.to_bits() + 1)) - f64::from(size);
        (f64::from(got) - want).abs() / spacing
    }

    #[test]
    fn sine_and_cosine_are_the_nearest_floats() {
        let mut random = Random(1);
        for case in 0..tries(200_000) {
            // Draws arguments from several ranges and, in every fifth case, any bit pattern.
            let size = [1.0, 10.0, 1e3, 1e6][case % 4];
            let any = f32::from_bits(random.bits() as u32);
            let x = if case % 5 == 0 && any.is_finite() { any } else { random.range(-size, size) };
            let (sin, cos) = sin_cos(x);
            let (want_sin, want_cos) = f64::from(x).sin_cos();
            assert!(ulps(sin, want_sin) < 0.51 && ulps(cos, want_cos) < 0.51, "{x}: {sin} {cos}");
        }
        assert_eq!(sin_cos(0.0), (0.0, 1.0));
        for x in [1e6_f32, 999_999.94, 2e12, 1e20, f32::MAX, -f32::MAX] {
            let ((sin, cos), (want_sin, want_cos)) = (sin_cos(x), f64::from(x).sin_cos());
            assert!(ulps(sin, want_sin) < 0.51 && ulps(cos, want_cos) < 0.51, "{x}: {sin} {cos}");
        }
        assert!(sin_cos(f32::INFINITY).0.is_nan() && sin_cos(f32::NAN).1.is_nan());
    }

    /// `sin_cos_f64` gives the same bits as a version that uses an integer quadrant and branches.
    #[test]
    fn sine_and_cosine_are_those_of_their_quadrants() {
        let mut random = Random(3);
        for case in 0..tries(200_000) {
            // Includes arguments halfway between two quadrants, which round away from zero.
            let half = (case as f64 - 1000.0) * core::f64::consts::FRAC_PI_4;
            let x = [half, random.range(-4.0, 4.0).into(), random.range(-1e6, 1e6).into()][case % 3];
            let turns = x * core::f64::consts::FRAC_2_PI;
            let quadrant = (turns + if turns < 0.0 { -0.5 } else { 0.5 }) as i64;
            let (index, r) = reduce(x);
            assert_eq!(i64::from(index % 4), quadrant.rem_euclid(4), "{x}");
            assert!((x - quadrant as f64 * core::f64::consts::FRAC_PI_2 - r).abs() < 1e-9, "{x}: {r}");
            let (sinc, cos) = sinc_cos(r * r);
            let want = match quadrant.rem_euclid(4) {
                0 => (r * sinc, cos),
                1 => (cos, -(r * sinc)),
                2 => (-(r * sinc), -cos),
                _ => (-cos, r * sinc),
            };
            let bits = |(sin, cos): (f64, f64)| (sin.to_bits(), cos.to_bits());
            assert_eq!(bits(sin_cos_f64(x)), bits(want), "{x}");
        }
        assert!(sin_cos_f64(-0.0).0.is_sign_negative());
    }

    #[test]
    fn the_arctangent_is_the_nearest_float_in_all_quadrants() {
        let mut random = Random(2);
        for case in 0..tries(200_000) {
            let size = [1.0, 1e-6, 1e6][case % 3];
            let (y, x) = (random.range(-size, size), random.range(-1.0, 1.0));
            let (got, want) = (atan2(y, x), f64::from(y).atan2(f64::from(x)));
            assert!(ulps(got, want) < 0.51, "atan2({y}, {x}) = {got}, not {want}");
        }
        let values = [0.0, -0.0, 1.0, -1.0, f32::MIN_POSITIVE, f32::MAX, f32::INFINITY, f32::NEG_INFINITY];
        for (y, x) in values.iter().flat_map(|&y| values.map(|x| (y, x))) {
            let (got, want) = (atan2(y, x), f64::from(y).atan2(f64::from(x)));
            assert!(
                ulps(got, want) < 0.51 && got.is_sign_negative() == want.is_sign_negative(),
                "atan2({y}, {x}) = {got}"
            );
        }
        assert!(atan2(f32::NAN, 1.0).is_nan() && atan2(1.0, f32::NAN).is_nan());
    }

    #[test]
    fn the_square_root_is_the_processors() {
        for x in [0.0_f32, -0.0, 1.0, 2.0, 1e-40, 3.4e38, f32::INFINITY] {
            assert_eq!(sqrt(x).to_bits(), x.sqrt().to_bits());
            assert_eq!(sqrt_f64(x.into()).to_bits(), f64::from(x).sqrt().to_bits());
        }
        assert!(sqrt(-1.0).is_nan());
    }
}
