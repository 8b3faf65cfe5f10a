//! All methods to interpolate rotations, in f64. Angles are between quaternions as vectors: half the angle of
//! the rotation.
//!
//! Unless documented otherwise, quaternions have unit length, and `b` is replaced by `-b` if that is nearer
//! to `a`.

use super::algebra::{dot, quat_exp, quat_inverse, quat_log, quat_product, scaled, sum, unit};
use condyle::interpolation::eberly_table::{FACTORS, FACTORS_HALVED};

/// Returns `b` or `-b`, whichever is nearer to `a`; `b` if the distances are equal.
#[must_use]
pub fn nearer<const N: usize>(a: [f64; N], b: [f64; N]) -> [f64; N] {
    if dot(a, b) < 0.0 { scaled(b, -1.0) } else { b }
}

fn mix<const N: usize>(a: [f64; N], from: f64, b: [f64; N], to: f64) -> [f64; N] {
    sum(scaled(a, from), scaled(b, to))
}

/// Returns `1 - cos θ` between two unit vectors. Computed from the chord, which is exact where the cosine is
/// close to 1.
fn versine<const N: usize>(a: [f64; N], b: [f64; N]) -> f64 {
    let chord = mix(a, 1.0, b, -1.0);
    dot(chord, chord) / 2.0
}

/// Returns the angle between two unit vectors, from 0 to π.
fn angle<const N: usize>(a: [f64; N], b: [f64; N]) -> f64 {
    let (chord, sum) = (mix(a, 1.0, b, -1.0), sum(a, b));
    2.0 * dot(chord, chord).sqrt().atan2(dot(sum, sum).sqrt())
}

/// Eberly's estimate of `sin(tθ) / sin θ` with `z = 1 - cos θ`: `terms` terms after the first one. The last
/// term is multiplied by `factor`. Eberly 2018, equations 11 and 16.
#[must_use]
pub fn eberly_weight(z: f64, t: f64, terms: usize, factor: f64) -> f64 {
    let (mut term, mut total) = (t, t);
    for i in 1..=terms {
        let n = i as f64;
        term *= z * (n * n - t * t) / (n * (2.0 * n + 1.0));
        total += if i == terms { factor * term } else { term };
    }
    total
}

/// Eberly's slerp with the balanced last term. Eberly 2018, equations 15 and 16.
///
/// # Panics
/// If `terms` is not from 1 to 16.
#[must_use]
pub fn eberly(a: [f64; 4], b: [f64; 4], t: f64, terms: usize) -> [f64; 4] {
    series(a, nearer(a, b), t, terms, FACTORS[terms - 1])
}

fn series(a: [f64; 4], b: [f64; 4], t: f64, terms: usize, factor: f64) -> [f64; 4] {
    let weight = |t| eberly_weight(versine(a, b), t, terms, factor);
    mix(a, weight(1.0 - t), b, weight(t))
}

/// Returns the rotation halfway on the shorter arc. Eberly 2018, section 7.
#[must_use]
pub fn middle(a: [f64; 4], b: [f64; 4]) -> [f64; 4] {
    unit(sum(a, nearer(a, b)))
}

/// Eberly's slerp on the half of the arc that contains `t`. Eberly 2018, equation 18.
///
/// # Panics
/// If `terms` is not from 1 to 16.
#[must_use]
pub fn eberly_halved(a: [f64; 4], b: [f64; 4], t: f64, terms: usize) -> [f64; 4] {
    eberly_through(a, middle(a, b), b, t, terms)
}

/// [`eberly_halved`] with a given middle rotation.
///
/// # Panics
/// If `terms` is not from 1 to 16.
#[must_use]
pub fn eberly_through(a: [f64; 4], middle: [f64; 4], b: [f64; 4], t: f64, terms: usize) -> [f64; 4] {
    let middle = nearer(a, middle);
    let factor = FACTORS_HALVED[terms - 1];
    if t < 0.5 {
        series(a, middle, 2.0 * t, terms, factor)
    } else {
        series(middle, nearer(middle, b), 2.0 * t - 1.0, terms, factor)
    }
}

/// Returns `value · (c[0] + c[1] value² + c[2] value⁴ + …)`.
fn odd_polynomial(coefficients: &[f64], value: f64) -> f64 {
    coefficients.iter().rev().fold(0.0, |p, c| p * value * value + c) * value
}

/// Returns the sine of an angle from 0 to π/2, within 2.4e-9. Abramowitz and Stegun 4.3.97; van Waveren 2005.
#[must_use]
pub fn sine(angle: f64) -> f64 {
    let c = [1.0, -0.166_666_666_4, 0.008_333_331_5, -0.000_198_409_0, 0.000_002_752_6, -0.000_000_023_9];
    odd_polynomial(&c, angle)
}

/// Returns the arctangent of `y / x` for positive `y` and `x`, within 1.4e-8. Abramowitz and Stegun 4.4.49,
/// on the smaller one divided by the larger one; van Waveren 2005.
#[must_use]
pub fn arctangent(y: f64, x: f64) -> f64 {
    let c = [
        1.0,
        -0.333_331_452_8,
        0.199_935_508_5,
        -0.142_088_994_4,
        0.106_562_639_3,
        -0.075_289_640_0,
        0.042_909_613_8,
        -0.016_165_736_7,
        0.002_866_225_7,
    ];
    if y > x { std::f64::consts::FRAC_PI_2 - odd_polynomial(&c, x / y) } else { odd_polynomial(&c, y / x) }
}

/// Van Waveren's slerp: the angle by [`arctangent`], the weights by [`sine`]. Van Waveren 2005, section 5.
#[must_use]
pub fn van_waveren(a: [f64; 4], b: [f64; 4], t: f64) -> [f64; 4] {
    let b = nearer(a, b);
    let z = versine(a, b);
    let sin = (z * (2.0 - z)).sqrt();
    if sin == 0.0 {
        return a;
    }
    let theta = arctangent(sin, 1.0 - z);
    mix(a, sine((1.0 - t) * theta) / sin, b, sine(t * theta) / sin)
}

/// Normalised linear interpolation: the path of slerp at a varying velocity. Blow 2004.
#[must_use]
pub fn nlerp(a: [f64; 4], b: [f64; 4], t: f64) -> [f64; 4] {
    unit(mix(a, 1.0 - t, nearer(a, b), t))
}

/// Returns the factor for which [`nlerp`] over the angle `theta` equals slerp at `t`.
///
/// Measured from the middle of the arc, lerp with the factor τ reaches the tangent `(2τ - 1) tan(θ/2)`, and
/// slerp reaches the angle `(2t - 1) θ/2`.
#[must_use]
pub fn corrected_factor(t: f64, theta: f64) -> f64 {
    let half = theta / 2.0;
    if half == 0.0 { t } else { 0.5 + 0.5 * ((2.0 * t - 1.0) * half).tan() / half.tan() }
}

/// [`nlerp`] at constant velocity.
#[must_use]
pub fn corrected_nlerp(a: [f64; 4], b: [f64; 4], t: f64) -> [f64; 4] {
    let b = nearer(a, b);
    nlerp(a, b, corrected_factor(t, angle(a, b)))
}

/// Linear interpolation of logarithms relative to `frame`. Both rotations are first moved to the hemisphere
/// of `frame`. Grassia 1998; Blow 2004, with the identity as the frame.
///
/// The function is commutative, and a mean of several rotations does not depend on their order. On a great
/// circle through `frame`, it equals slerp. Elsewhere it leaves the shortest arc, and its velocity varies.
#[must_use]
pub fn log_lerp(frame: [f64; 4], a: [f64; 4], b: [f64; 4], t: f64) -> [f64; 4] {
    let seen = |q| quat_log(quat_product(quat_inverse(frame), nearer(frame, q)));
    quat_product(frame, quat_exp(mix(seen(a), 1.0 - t, seen(b), t)))
}

/// [`log_lerp`] relative to `a`: `a · exp(t · log(a⁻¹ b))`, which is slerp.
#[must_use]
pub fn exponential_map(a: [f64; 4], b: [f64; 4], t: f64) -> [f64; 4] {
    log_lerp(a, a, b, t)
}

/// Slerp of unit vectors of any dimension, with `b` as given. Blow 2004.
///
/// The result is `a cos(tθ) + v sin(tθ)`, where `v` is the normalised part of `b` perpendicular to `a`.
/// Between opposite vectors, all arcs have the same length; the result goes through the coordinate axis
/// closest to perpendicular.
#[must_use]
pub fn slerp_vectors<const N: usize>(a: [f64; N], b: [f64; N], t: f64) -> [f64; N] {
    // Uses `b - a` instead of `b`, which loses no digits if `a` and `b` are close. Divides by the squared
    // length of `a`, because rounding to f32 may have changed it. If `b` is nearly opposite to `a`, this
    // error would dominate the result.
    let upright = |v: [f64; N]| mix(v, 1.0, a, -dot(v, a) / dot(a, a));
    let mut across = upright(mix(b, 1.0, a, -1.0));
    if dot(across, across) == 0.0 && dot(a, b) < 0.0 {
        let least = (0..N).min_by(|&i, &j| a[i].abs().total_cmp(&a[j].abs()));
        across = upright(std::array::from_fn(|i| f64::from(u8::from(Some(i) == least))));
    }
    let theta = t * angle(a, b);
    mix(a, theta.cos(), unit(across), theta.sin())
}

#[cfg(test)]
mod tests {
    use super::super::super::Random;
    use super::super::algebra::slerp;
    use super::*;
    use condyle::interpolation::eberly_table::{ERRORS, ERRORS_HALVED};
    use std::f64::consts::{FRAC_1_SQRT_2, FRAC_PI_2, PI};

    type Method = fn([f64; 4], [f64; 4], f64) -> [f64; 4];

    /// Methods, each with the maximum distance of its result from slerp.
    const SLERPS: [(&str, Method, f64); 6] = [
        ("Eberly's with 16 terms", |a, b, t| eberly(a, b, t, 16), 7e-8),
        ("Eberly's with 9 terms, halved", |a, b, t| eberly_halved(a, b, t, 9), 4e-11),
        ("van Waveren's", van_waveren, 2e-8),
        ("corrected nlerp", corrected_nlerp, 1e-14),
        ("exponential map", exponential_map, 1e-14),
        ("orthonormalising", |a, b, t| slerp_vectors(a, nearer(a, b), t), 1e-14),
    ];

    fn rotations(count: usize) -> impl Iterator<Item = ([f64; 4], [f64; 4])> {
        let mut random = Random(4);
        let mut one = move || unit(random.unit::<4>().map(f64::from));
        (0..count).map(move |_| (one(), one()))
    }

    fn far<const N: usize>(a: [f64; N], b: [f64; N]) -> f64 {
        let d = mix(a, 1.0, b, -1.0);
        dot(d, d).sqrt()
    }

    /// Returns two rotations with the angle `theta` between them, about an arbitrary axis.
    fn apart(theta: f64) -> ([f64; 4], [f64; 4]) {
        let a = unit([0.3, -0.5, 0.2, 0.7]);
        let axis = unit([0.6, 0.1, -0.4]);
        (a, quat_product(a, quat_exp(scaled(axis, theta))))
    }

    #[test]
    fn what_stands_for_slerp_is_slerp() {
        for (name, method, bound) in SLERPS {
            for (a, b) in rotations(200) {
                for t in [0.0, 0.01, 0.25, 0.5, 0.77, 1.0] {
                    let off = far(method(a, b, t), slerp(a, b, t));
                    assert!(off <= bound, "{name}: {a:?} {b:?} {t}: {off:e}");
                }
            }
        }
    }

    #[test]
    fn small_angles_keep_their_digits() {
        for (name, method, bound) in SLERPS {
            for theta in [1e-3, 1e-6, 1e-9, 1e-12, 0.0] {
                let (a, b) = apart(theta);
                let off = far(method(a, b, 0.3), slerp(a, b, 0.3));
                assert!(off <= 1e-15 + bound * theta, "{name}, {theta:e}: {off:e}");
            }
        }
    }

    #[test]
    fn the_ends_are_the_ends_and_opposite_keys_are_the_same_rotation() {
        let more: [(&str, Method, f64); 2] =
            [("nlerp", nlerp, 0.0), ("logarithms", |a, b, t| log_lerp([0.0, 0.0, 0.0, 1.0], a, b, t), 1e-14)];
        for (name, method, _) in SLERPS.into_iter().chain(more) {
            for (a, b) in rotations(50) {
                let minus = scaled(b, -1.0);
                assert_eq!(method(a, b, 0.4), method(a, minus, 0.4), "{name}");
                for (t, end) in [(0.0, a), (1.0, b)] {
                    let found = method(a, b, t);
                    assert!(far(nearer(end, found), end) < 2e-8, "{name}: {t}");
                }
            }
        }
    }

    #[test]
    fn eberlys_error_is_twice_that_of_a_weight_at_most_and_nearly_reached() {
        for terms in 1..=16 {
            for (bounds, most, halved) in [(ERRORS, FRAC_PI_2, false), (ERRORS_HALVED, FRAC_PI_2, true)] {
                let bound = bounds[terms - 1];
                let mut worst = 0.0_f64;
                for k in 0..=40 * 40 {
                    let (a, b) = apart(most * f64::from(k / 40) / 40.0);
                    let t = f64::from(k % 40) / 40.0;
                    let found = if halved { eberly_halved(a, b, t, terms) } else { eberly(a, b, t, terms) };
                    worst = worst.max(far(found, slerp(a, b, t)));
                }
                // For the last four bounds of the halved series, the f64 rounding is larger than the bound.
                assert!(worst <= 2.0 * bound + 2e-15, "{terms} {halved}: {worst:e}");
                assert!(worst >= 0.7 * bound, "{terms} {halved}: {worst:e}");
            }
        }
    }

    #[test]
    fn a_given_middle_serves_whatever_its_sign() {
        for (a, b) in rotations(50) {
            let given = scaled(middle(a, b), -1.0);
            for t in [0.1, 0.5, 0.9] {
                assert!(far(eberly_through(a, given, b, t, 5), eberly_halved(a, b, t, 5)) < 1e-15);
            }
        }
    }

    #[test]
    fn the_polynomials_err_as_their_sources_say() {
        let steps = 20_000;
        let (mut sine_off, mut tangent_off) = (0.0_f64, 0.0_f64);
        for k in 0..=steps {
            let angle = FRAC_PI_2 * f64::from(k) / f64::from(steps);
            sine_off = sine_off.max((sine(angle) - angle.sin()).abs());
            tangent_off = tangent_off.max((arctangent(angle.sin(), angle.cos()) - angle).abs());
        }
        assert!((2.2e-9..2.4e-9).contains(&sine_off), "{sine_off:e}");
        assert!((1.3e-8..1.4e-8).contains(&tangent_off), "{tangent_off:e}");
    }

    #[test]
    fn nlerp_keeps_to_the_arc_but_not_to_the_time() {
        let (a, b) = apart(FRAC_PI_2);
        for t in [0.1, 0.3, 0.5, 0.8] {
            let found = nlerp(a, b, t);
            let along = angle(a, found) / angle(a, b);
            assert!(far(found, slerp(a, b, along)) < 1e-14);
            assert!((along - t).abs() > 0.02 || t == 0.5, "{t}: {along}");
            assert!((corrected_factor(along, FRAC_PI_2) - t).abs() < 1e-14);
        }
    }

    #[test]
    fn logarithms_are_commutative_and_slerp_from_their_frame_only() {
        let mut most = 0.0_f64;
        for (a, b) in rotations(100) {
            let frame = [0.0, 0.0, 0.0, 1.0];
            let (there, back) = (log_lerp(frame, a, b, 0.3), log_lerp(frame, b, a, 0.7));
            assert!(far(there, back) < 1e-15);
            assert!((dot(there, there) - 1.0).abs() < 1e-14);
            most = most.max(far(nearer(there, slerp(a, b, 0.3)), there));
            assert!(far(quat_exp(quat_log(a)), a) < 1e-15);
        }
        assert!(most > 0.1);
    }

    #[test]
    fn products_are_rotations_one_after_the_other() {
        let x = [FRAC_1_SQRT_2, 0.0, 0.0, FRAC_1_SQRT_2];
        let y = [0.0, FRAC_1_SQRT_2, 0.0, FRAC_1_SQRT_2];
        let turned = super::super::algebra::rotate(quat_product(x, y), [0.0, 0.0, 1.0]);
        // A quarter turn about y maps z to x; a quarter turn about x keeps x.
        assert!(far(turned, [1.0, 0.0, 0.0]) < 1e-15);
        assert!(far(quat_product(x, quat_inverse(x)), [0.0, 0.0, 0.0, 1.0]) < 1e-15);
    }

    #[test]
    fn vectors_of_any_dimension_go_the_way_they_are_told() {
        let half = FRAC_1_SQRT_2;
        assert!(far(slerp_vectors([1.0, 0.0], [0.0, 1.0], 0.5), [half, half]) < 1e-15);
        assert!(
            far(slerp_vectors([1.0, 0.0, 0.0], [-half, half, 0.0], 1.0 / 3.0), [half, half, 0.0]) < 1e-15
        );
        let six = slerp_vectors([0.0, 0.0, 1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0, 0.0, 1.0], 1.0 / 3.0);
        assert!(far(six, [0.0, 0.0, (PI / 6.0).cos(), 0.0, 0.0, 0.5]) < 1e-15);
        for opposite in [[1.0, 0.0, 0.0], [0.6, 0.0, 0.8]] {
            let found = slerp_vectors(opposite, scaled(opposite, -1.0), 0.5);
            assert!(dot(found, opposite).abs() < 1e-15 && (dot(found, found) - 1.0).abs() < 1e-15);
        }
    }
}
