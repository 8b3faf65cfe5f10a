//! The weights of each method in f64: the coefficients that a call's factor makes of a method's polynomials.
//!
//! Throughout, `z` is `1 - cos θ`, where `θ` is the angle between the quaternions as vectors.

use super::eberly_table::{FACTORS, FACTORS_HALVED};
use super::method::{Degree, Method, Terms};
use super::slerp_table::{CHORD_8, SLERP_4, SLERP_6, SLERP_9};
use crate::math::scalar::sqrt_f64;

/// The most coefficients that a polynomial has.
pub(super) const MAX_COEFFICIENTS: usize = 16;

/// The coefficients of `z, z², …` in the weight `t + …` that stands for `sin(tθ) / sin θ`. Unused ones are
/// zero.
pub(super) type Coefficients = [f64; MAX_COEFFICIENTS];

/// `t(1 - t²)` times the rows of a table, each a polynomial in t².
fn fitted<const N: usize>(table: &[[f64; N]; N], t: f64) -> Coefficients {
    let (t2, front) = (t * t, t * (1.0 - t * t));
    let mut out = [0.0; MAX_COEFFICIENTS];
    for (i, (out, row)) in out.iter_mut().zip(table).enumerate() {
        // Row `i` has `i + 1` coefficients.
        *out = front * row[..=i].iter().rev().fold(0.0, |sum, c| sum * t2 + c);
    }
    out
}

/// Those of a fitted polynomial.
pub(super) fn slerp_coefficients(degree: Degree, t: f64) -> Coefficients {
    match degree {
        Degree::Four => fitted(&SLERP_4, t),
        Degree::Six => fitted(&SLERP_6, t),
        Degree::Nine => fitted(&SLERP_9, t),
    }
}

/// Those of the power series at `cos θ = 1`, its last term balanced. Eberly 2018, equations 11 and 16.
pub(super) fn eberly_coefficients(terms: Terms, factor: f64, t: f64) -> Coefficients {
    let mut out = [0.0; MAX_COEFFICIENTS];
    let mut term = t;
    for (i, out) in out.iter_mut().enumerate().take(usize::from(terms.count())) {
        let n = (i + 1) as f64;
        term *= (n * n - t * t) / (n * (2.0 * n + 1.0));
        *out = term;
        if i + 1 == usize::from(terms.count()) {
            *out *= factor;
        }
    }
    out
}

/// The balanced factor for angles up to π/2.
pub(super) fn factor(terms: Terms) -> f64 {
    FACTORS[usize::from(terms.count() - 1)]
}

/// The balanced factor for angles up to π/4.
pub(super) fn factor_halved(terms: Terms) -> f64 {
    FACTORS_HALVED[usize::from(terms.count() - 1)]
}

/// Where on the chord slerp's `t` is, from one end: `t` plus a polynomial in `z`.
fn chord(z: f64, t: f64) -> f64 {
    let tau = 2.0 * t - 1.0;
    t + 0.5 * evaluate(&fitted(&CHORD_8, tau), z)
}

fn evaluate(coefficients: &Coefficients, z: f64) -> f64 {
    coefficients.iter().rev().fold(0.0, |sum, c| (sum + c) * z)
}

/// The weights of the first and the second quaternion, `None` for methods that have slerp's own.
pub(super) fn weights(method: Method, z: f64, t: f64) -> Option<(f64, f64)> {
    let series = |terms, factor, z, t| t + evaluate(&eberly_coefficients(terms, factor, t), z);
    let nlerp = |t: f64| {
        let length = sqrt_f64(1.0 - 2.0 * t * (1.0 - t) * z);
        ((1.0 - t) / length, t / length)
    };
    Some(match method {
        Method::Slerp(degree) => {
            let weight = |t| t + evaluate(&slerp_coefficients(degree, t), z);
            (weight(1.0 - t), weight(t))
        }
        Method::Eberly(terms) => {
            (series(terms, factor(terms), z, 1.0 - t), series(terms, factor(terms), z, t))
        }
        Method::EberlyHalved(terms) => {
            let cos = sqrt_f64(1.0 - z / 2.0);
            let weight = |t| series(terms, factor_halved(terms), 1.0 - cos, t);
            // From the first quaternion to the middle one, which is the sum of both over 2 cos(θ/2).
            let (s, swapped) = if t > 0.5 { (2.0 - 2.0 * t, true) } else { (2.0 * t, false) };
            let far = weight(s) / (2.0 * cos);
            let near = weight(1.0 - s) + far;
            if swapped { (far, near) } else { (near, far) }
        }
        Method::Nlerp => nlerp(t),
        Method::CorrectedNlerp => nlerp(chord(z, t)),
        Method::VanWaveren | Method::Exact | Method::ExponentialMap => return None,
    })
}
