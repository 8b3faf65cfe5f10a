//! The weights of each method in f64: the coefficients of a method's polynomials for the factor of a call.
//!
//! `z` is `1 - cos θ` throughout, where `θ` is the angle between the quaternions as vectors.
//!
//! The default degree of slerp is 9: within 5e-9 of the weights, and 1.5e-7 in a component. Degree 8 is
//! within 3e-8, and saves two of about seventy multiplications and additions.

use fearless_simd::{f64x2, prelude::*};

use super::eberly_table::{FACTORS, FACTORS_HALVED};
use super::method::{Degree, Method, Terms};
use super::slerp_table::{CHORD_8, SLERP_4, SLERP_6, SLERP_9};
use condyle_base::math::scalar::sqrt_f64;
use condyle_base::simd::baseline;

/// Coefficients of `z, z², …` in the weight `t + …` that approximates `sin(tθ) / sin θ`, for `t` and for
/// `1 - t`.
pub(super) type Coefficients<const N: usize> = [[f64; 2]; N];

/// A table of polynomials, with each number twice for the two factors. Row `i` has `i + 1` coefficients.
pub(super) struct Table<const N: usize>([[[f64; 2]; N]; N]);

pub(super) static SLERP_FOUR: Table<4> = Table::new(&SLERP_4);
pub(super) static SLERP_SIX: Table<6> = Table::new(&SLERP_6);
pub(super) static SLERP_NINE: Table<9> = Table::new(&SLERP_9);
static CHORD_EIGHT: Table<8> = Table::new(&CHORD_8);

impl<const N: usize> Table<N> {
    const fn new(table: &[[f64; N]; N]) -> Self {
        let mut rows = [[[0.0; 2]; N]; N];
        let mut i = 0;
        while i < N * N {
            rows[i / N][i % N] = [table[i / N][i % N]; 2];
            i += 1;
        }
        Self(rows)
    }

    /// Returns the coefficients of a fitted polynomial: `t(1 - t²)` times the rows, each a polynomial in t².
    pub(super) fn at(&self, t: f64) -> Coefficients<N> {
        baseline!(|s| self.lanes(s, t))
    }

    #[inline(always)]
    fn lanes<S: Simd>(&self, s: S, t: f64) -> Coefficients<N> {
        let one = f64x2::splat(s, 1.0);
        let t = f64x2::simd_from(s, [t, 1.0 - t]);
        let t2 = t * t;
        let front = t * (one - t2);
        let mut out = [[0.0; 2]; N];
        for (i, (out, row)) in out.iter_mut().zip(&self.0).enumerate() {
            let mut sum = f64x2::load_array_ref(s, &row[i]);
            for c in row[..i].iter().rev() {
                sum = sum * t2 + f64x2::load_array_ref(s, c);
            }
            *out = (front * sum).to_array();
        }
        out
    }
}

/// Returns the coefficients of the power series at `cos θ = 1` with a balanced last term; later ones are 0.
/// Eberly 2018, equations 11 and 16.
pub(super) fn eberly<const N: usize>(terms: Terms, factor: f64, t: f64) -> Coefficients<N> {
    let mut out = [[0.0; 2]; N];
    for (lane, t) in [t, 1.0 - t].into_iter().enumerate() {
        let mut term = t;
        for (i, out) in out.iter_mut().enumerate().take(usize::from(terms.count())) {
            let n = (i + 1) as f64;
            term *= (n * n - t * t) / (n * (2.0 * n + 1.0));
            out[lane] = if i + 1 == usize::from(terms.count()) { term * factor } else { term };
        }
    }
    out
}

/// Returns the balancing factor for angles up to π/2.
pub(super) fn factor(terms: Terms) -> f64 {
    FACTORS[usize::from(terms.count() - 1)]
}

/// Returns the balancing factor for angles up to π/4.
pub(super) fn factor_halved(terms: Terms) -> f64 {
    FACTORS_HALVED[usize::from(terms.count() - 1)]
}

/// Returns the position of slerp's `t` on the chord, from one end: `t` plus a polynomial in `z`.
fn chord(z: f64, t: f64) -> f64 {
    let tau = 2.0 * t - 1.0;
    let [more, _] = evaluate(&CHORD_EIGHT.at(tau), z);
    t + 0.5 * more
}

fn evaluate(coefficients: &[[f64; 2]], z: f64) -> [f64; 2] {
    [0, 1].map(|lane| coefficients.iter().rev().fold(0.0, |sum, c| (sum + c[lane]) * z))
}

/// Returns the weights of the first and the second quaternion, or `None` for methods with slerp's exact
/// weights.
pub(super) fn weights(method: Method, z: f64, t: f64) -> Option<(f64, f64)> {
    // Adds the polynomials to the linear weights of the first and the second quaternion.
    let ends = |t: f64, [to, from]: [f64; 2]| (1.0 - t + from, t + to);
    let series = |terms, factor, z, t| ends(t, evaluate(&eberly::<16>(terms, factor, t), z));
    let nlerp = |t: f64| {
        let length = sqrt_f64(1.0 - 2.0 * t * (1.0 - t) * z);
        ((1.0 - t) / length, t / length)
    };
    Some(match method {
        Method::Slerp(degree) => {
            let more = match degree {
                Degree::Four => evaluate(&SLERP_FOUR.at(t), z),
                Degree::Six => evaluate(&SLERP_SIX.at(t), z),
                Degree::Nine => evaluate(&SLERP_NINE.at(t), z),
            };
            ends(t, more)
        }
        Method::Eberly(terms) => series(terms, factor(terms), z, t),
        Method::EberlyHalved(terms) => {
            let cos = sqrt_f64(1.0 - z / 2.0);
            // From the first quaternion to the middle, which is the sum of both divided by 2 cos(θ/2).
            let (s, swapped) = if t > 0.5 { (2.0 - 2.0 * t, true) } else { (2.0 * t, false) };
            let (near, far) = series(terms, factor_halved(terms), 1.0 - cos, s);
            let far = far / (2.0 * cos);
            let near = near + far;
            if swapped { (far, near) } else { (near, far) }
        }
        Method::Nlerp => nlerp(t),
        Method::CorrectedNlerp => nlerp(chord(z, t)),
        Method::VanWaveren | Method::Exact | Method::ExponentialMap => return None,
    })
}
