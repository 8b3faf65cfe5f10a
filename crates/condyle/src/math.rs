//! Plain types and the few scalar functions that everything else is made of.
//!
//! Nothing here calls the platform's mathematics library: sine, cosine and arctangent are polynomials of our
//! own, and the square root is the correctly rounded instruction. So the results have the same bits everywhere.

use fearless_simd::{Fallback, f32x4, f64x2, prelude::*};

use crate::decompose::{cofactors, columns, dot};

mod polynomials;
pub(crate) mod quats;

pub use polynomials::{atan_positive, reciprocal_sqrt, sin_half_pi};
pub(crate) use polynomials::{atan_positive_lanes, sin_half_pi_lanes};

/// A quaternion `[x, y, z, w]`, Hamilton convention; rotations are unit quaternions.
pub type Quat = [f32; 4];

/// The local transform of one joint: scale first, then rotate, then translate.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(C)]
#[cfg_attr(feature = "bytemuck", derive(bytemuck::Pod, bytemuck::Zeroable))]
pub struct Transform {
    /// Unit quaternion, `[x, y, z, w]`.
    pub rotation: Quat,
    /// Metres.
    pub translation: [f32; 3],
    /// Factor per axis.
    pub scale: [f32; 3],
}

const _: () = assert!(size_of::<Transform>() == 40);

impl Transform {
    /// No rotation, no translation, scale one.
    pub const IDENTITY: Self =
        Self { rotation: [0.0, 0.0, 0.0, 1.0], translation: [0.0; 3], scale: [1.0; 3] };
}

impl Default for Transform {
    fn default() -> Self {
        Self::IDENTITY
    }
}

/// A 3x4 affine matrix: three rows of four, the last column is the translation, column vectors.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(C, align(16))]
#[cfg_attr(feature = "bytemuck", derive(bytemuck::Pod, bytemuck::Zeroable))]
pub struct Affine {
    /// Row `r`, column `c` is `rows[r][c]`.
    pub rows: [[f32; 4]; 3],
}

const _: () = assert!(size_of::<Affine>() == 48);

impl Default for Affine {
    fn default() -> Self {
        Self::IDENTITY
    }
}

impl From<Transform> for Affine {
    fn from(t: Transform) -> Self {
        Self::from_transform(&t)
    }
}

impl core::ops::Mul for Affine {
    type Output = Self;

    /// `self * right`: first `right`, then `self`.
    fn mul(self, right: Self) -> Self {
        let mut rows = [[0.0; 4]; 3];
        for (out, a) in rows.iter_mut().zip(&self.rows) {
            for (c, out) in out.iter_mut().enumerate() {
                *out = a[0] * right.rows[0][c] + a[1] * right.rows[1][c] + a[2] * right.rows[2][c];
            }
            out[3] += a[3];
        }
        Self { rows }
    }
}

impl Affine {
    /// The matrix that undoes this one; `None` if there is none, or none that f32 can hold. A matrix that rounding alone
    /// keeps from being flat has one, of no right digits; [`model_to_local`](crate::model_to_local) refuses such matrices.
    #[must_use]
    pub fn inverse(&self) -> Option<Self> {
        let rows = self.inverse_f64().0.map(|row| row.map(|v| v as f32));
        rows.as_flattened().iter().all(|v| v.is_finite()).then_some(Self { rows })
    }

    /// The rows of the inverse, not finite where there is none, and the determinant.
    pub(crate) fn inverse_f64(self) -> ([[f64; 4]; 3], f64) {
        let m = self.to_f64();
        let (cofactors, determinant) = cofactors(columns(&m));
        let back = m.map(|row| row[3]);
        let rows = cofactors.map(|row| {
            let row = row.map(|v| v / determinant);
            [row[0], row[1], row[2], -dot(row, back)]
        });
        (rows, determinant)
    }

    /// Leaves every point where it is.
    pub const IDENTITY: Self =
        Self { rows: [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]] };

    /// `translation * rotation * scale`; the rotation is taken to be of unit length.
    #[must_use]
    pub fn from_transform(t: &Transform) -> Self {
        let [x, y, z, w] = t.rotation;
        let (x2, y2, z2) = (x + x, y + y, z + z);
        let (xx, xy, xz, xw) = (x * x2, x * y2, x * z2, w * x2);
        let (yy, yz, yw, zz, zw) = (y * y2, y * z2, w * y2, z * z2, w * z2);
        let [sx, sy, sz] = t.scale;
        let [tx, ty, tz] = t.translation;
        Self {
            rows: [
                [(1.0 - (yy + zz)) * sx, (xy - zw) * sy, (xz + yw) * sz, tx],
                [(xy + zw) * sx, (1.0 - (xx + zz)) * sy, (yz - xw) * sz, ty],
                [(xz - yw) * sx, (yz + xw) * sy, (1.0 - (xx + yy)) * sz, tz],
            ],
        }
    }

    /// From 16 numbers in column-major order, as glTF stores matrices. The last row is not looked at.
    #[must_use]
    pub fn from_columns(m: &[f32; 16]) -> Self {
        Self { rows: core::array::from_fn(|r| [m[r], m[4 + r], m[8 + r], m[12 + r]]) }
    }

    /// 16 numbers in column-major order, with the last row `0 0 0 1`.
    #[must_use]
    pub fn to_columns(&self) -> [f32; 16] {
        core::array::from_fn(|i| match (i % 4, i / 4) {
            (3, 3) => 1.0,
            (3, _) => 0.0,
            (r, c) => self.rows[r][c],
        })
    }

    /// The matrix applied to a point.
    #[must_use]
    pub fn transform_point(&self, p: [f32; 3]) -> [f32; 3] {
        core::array::from_fn(|r| {
            let m = self.rows[r];
            m[0] * p[0] + m[1] * p[1] + m[2] * p[2] + m[3]
        })
    }

    /// The matrix without its translation, applied to a vector.
    #[must_use]
    pub fn transform_vector(&self, v: [f32; 3]) -> [f32; 3] {
        core::array::from_fn(|r| {
            let m = self.rows[r];
            m[0] * v[0] + m[1] * v[1] + m[2] * v[2]
        })
    }
}

/// The correctly rounded square root; NaN for negative arguments. Without `std` too.
#[inline]
#[must_use]
pub fn sqrt(x: f32) -> f32 {
    f32x4::splat(Fallback::new(), x).sqrt()[0]
}

/// The correctly rounded square root in 64 bits.
#[inline]
pub(crate) fn sqrt_f64(x: f64) -> f64 {
    f64x2::splat(Fallback::new(), x).sqrt()[0]
}

/// Sine and cosine of any angle in radians, within 0.51 units in the last place. NaN for infinities.
#[must_use]
pub fn sin_cos(x: f32) -> (f32, f32) {
    if !x.is_finite() {
        return (f32::NAN, f32::NAN);
    }
    let (quadrant, r) = if x.abs() < 1.0e6 { reduce(x.into()) } else { reduce_large(x) };
    let (sin, cos) = sin_cos_quadrant(quadrant, r);
    (sin as f32, cos as f32)
}

/// The nearest multiple of π/2, and what is left. For arguments up to 10^6.
fn reduce(x: f64) -> (u32, f64) {
    // π/2 in two parts: the first has 33 bits, so that its product with the quadrant is exact.
    const HALF_PI_HIGH: f64 = 1.570_796_326_734_125_6;
    const HALF_PI_LOW: f64 = 6.077_100_506_506_192e-11;
    let turns = x * core::f64::consts::FRAC_2_PI;
    let quadrant = (turns + if turns < 0.0 { -0.5 } else { 0.5 }) as i64;
    let r = (x - quadrant as f64 * HALF_PI_HIGH) - quadrant as f64 * HALF_PI_LOW;
    (quadrant as u32, r)
}

/// The same for any argument from 2^19: multiplication by as many bits of 2/π as matter. Payne and Hanek 1983.
fn reduce_large(x: f32) -> (u32, f64) {
    /// A word of zeros, then the bits of 2/π after the binary point.
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
    // x is ± mantissa · 2^(e - 150). Bits of 2/π that give multiples of four quarter turns fall off: 96 bits are kept,
    // the first two before the point; the table begins 32 bits early.
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

/// Sine and cosine of `quadrant · π/2 + r`, for `r` in [-π/4, π/4], within 1e-11.
fn sin_cos_quadrant(quadrant: u32, r: f64) -> (f64, f64) {
    let r2 = r * r;
    // Taylor series.
    let polynomial = |coefficients: &[f64]| coefficients.iter().rev().fold(0.0, |p, c| p * r2 + c);
    let sin =
        r * polynomial(&[1.0, -1.0 / 6.0, 1.0 / 120.0, -1.0 / 5_040.0, 1.0 / 362_880.0, -1.0 / 39_916_800.0]);
    let cos = polynomial(&[
        1.0,
        -0.5,
        1.0 / 24.0,
        -1.0 / 720.0,
        1.0 / 40_320.0,
        -1.0 / 3_628_800.0,
        1.0 / 479_001_600.0,
    ]);
    match quadrant % 4 {
        0 => (sin, cos),
        1 => (cos, -sin),
        2 => (-sin, -cos),
        _ => (-cos, sin),
    }
}

/// Sine of any moderate angle, within 1e-11.
pub(crate) fn sin_f64(x: f64) -> f64 {
    let (quadrant, r) = reduce(x);
    sin_cos_quadrant(quadrant, r).0
}

/// Cosine of any moderate angle, within 1e-11.
pub(crate) fn cos_f64(x: f64) -> f64 {
    let (quadrant, r) = reduce(x);
    sin_cos_quadrant(quadrant, r).1
}

/// The angle of the vector `(x, y)` in `[-π, π]`, radians, within 0.51 units in the last place.
/// Zeros and infinities as in IEEE 754.
#[must_use]
pub fn atan2(y: f32, x: f32) -> f32 {
    atan2_f64(y.into(), x.into()) as f32
}

/// [`atan2`] within 1e-12.
pub(crate) fn atan2_f64(y: f64, x: f64) -> f64 {
    use core::f64::consts::{FRAC_PI_2, PI};
    if x.is_nan() || y.is_nan() {
        return f64::NAN;
    }
    // An infinity outweighs every number; two of them balance.
    let infinite = x.is_infinite() || y.is_infinite();
    let weight = |v: f64| match (v.is_infinite(), infinite) {
        (true, _) => v.signum(),
        (false, true) => v * 0.0,
        (false, false) => v,
    };
    let (y, x) = (weight(y), weight(x));
    let (small, large) = if y.abs() > x.abs() { (x.abs(), y.abs()) } else { (y.abs(), x.abs()) };
    let ratio = if large == 0.0 { 0.0 } else { small / large };
    // arctan(a) = arctan(b) + arctan((a - b) / (1 + a b)): with b = 0.5 or 0 what is left is below 1/3.
    const ATAN_HALF: f64 = 0.463_647_609_000_806_1;
    let (base, a) = if ratio > 0.3 { (ATAN_HALF, (ratio - 0.5) / (1.0 + 0.5 * ratio)) } else { (0.0, ratio) };
    let a2 = a * a;
    let series = (0..12).rev().fold(0.0, |p, k| {
        let term = 1.0 / f64::from(2 * k + 1);
        p * a2 + if k % 2 == 0 { term } else { -term }
    });
    let angle = base + a * series;
    let angle = if y.abs() > x.abs() { FRAC_PI_2 - angle } else { angle };
    let angle = if x.is_sign_negative() { PI - angle } else { angle };
    if y.is_sign_negative() { -angle } else { angle }
}

/// Spherical interpolation of keys that are not of unit length, to the letter of glTF 2.0, appendix C: the angle is
/// the arccosine of the product of the keys as they are, and the result is normalised.
pub(crate) fn slerp_f64(a: [f32; 4], b: [f32; 4], t: f64) -> [f64; 4] {
    let (a, b) = (a.map(f64::from), b.map(f64::from));
    let cos: f64 = a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3];
    let sign = if cos < 0.0 { -1.0 } else { 1.0 };
    let cos = cos.abs().min(1.0);
    let sin = sqrt_f64(1.0 - cos * cos);
    let theta = atan2_f64(sin, cos);
    let sine = |angle: f64| {
        let (quadrant, r) = reduce(angle);
        sin_cos_quadrant(quadrant, r).0
    };
    // Below that, straight lines are as exact as f32 can tell.
    let (from, to) =
        if theta < 1e-4 { (1.0 - t, t) } else { (sine((1.0 - t) * theta) / sin, sine(t * theta) / sin) };
    let mut q = core::array::from_fn(|c| a[c] * from + b[c] * to * sign);
    normalize(&mut q);
    q
}

/// The greatest of errors, none of which is negative; NaN where one is, which `f64::max` would pass over.
pub(crate) fn worst(errors: impl IntoIterator<Item = f64>) -> f64 {
    errors.into_iter().fold(0.0, |worst, error| if error > worst || error.is_nan() { error } else { worst })
}

/// How far the squared length of a unit quaternion may be from 1 by the rounding of its components.
pub(crate) const ROUNDED: f64 = 1e-6;

/// Whether a rotation is not of unit length.
pub(crate) fn is_loose(q: &[f64; 4]) -> bool {
    (q.iter().map(|v| v * v).sum::<f64>() - 1.0).abs() > ROUNDED
}

/// To unit length; the identity rotation where there is no direction.
pub(crate) fn normalize<const N: usize>(q: &mut [f64; N]) {
    let length = sqrt_f64(q.iter().map(|v| v * v).sum());
    if length > 0.0 {
        *q = q.map(|v| v / length);
    } else {
        *q = core::array::from_fn(|c| if c + 1 == N { 1.0 } else { 0.0 });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Random, tries};
    use crate::{Affine, reference};

    /// How far `got` is from `want`, in units of the last place of `want`.
    fn ulps(got: f32, want: f64) -> f64 {
        let size = (want.abs() as f32).max(f32::MIN_POSITIVE);
        let spacing = f64::from(f32::from_bits(size.to_bits() + 1)) - f64::from(size);
        (f64::from(got) - want).abs() / spacing
    }

    #[test]
    fn sine_and_cosine_are_the_nearest_floats() {
        let mut random = Random(1);
        for case in 0..tries(200_000) {
            // Every exponent, and every float once among few bits.
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

    #[test]
    fn matrices_compose_and_convert() {
        let mut random = Random(3);
        for _ in 0..tries(100) {
            let [a, b] = [random.transform(), random.transform()].map(Affine::from);
            let p = random.vector(2.0);
            let want = reference::transform_point(
                &reference::multiply(&reference::matrix(&a), &reference::matrix(&b)),
                p.map(f64::from),
            );
            crate::testing::assert_close(&(a * b).transform_point(p), &want, 4e-6, "product");
            assert_eq!(Affine::from_columns(&a.to_columns()), a);
            let v = a.transform_vector(p);
            let t = a.to_columns();
            assert_eq!(a.transform_point([0.0; 3]), [t[12], t[13], t[14]]);
            assert_eq!(v, Affine { rows: a.rows.map(|r| [r[0], r[1], r[2], 0.0]) }.transform_point(p));
        }
        for _ in 0..tries(100) {
            let m = Affine::from(random.transform());
            let back = (m.inverse().expect("scales are far from zero") * m).rows;
            let identity = Affine::IDENTITY
                .rows
                .as_flattened()
                .iter()
                .map(|&v| f64::from(v))
                .collect::<std::vec::Vec<_>>();
            crate::testing::assert_close(back.as_flattened(), &identity, 1e-6, "inverse");
        }
        let flat = Transform { scale: [1.0, 0.0, 1.0], ..Transform::IDENTITY };
        assert_eq!(Affine::from(flat).inverse(), None);
        assert_eq!(Affine::IDENTITY * Affine::IDENTITY, Affine::from(Transform::IDENTITY));
    }
}
