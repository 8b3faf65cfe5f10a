//! Functions of single numbers.

use condyle::math;

use super::worst;
use crate::climb::{Claim, Random};

/// `sin_half_pi` and `atan_positive`.
const POLYNOMIALS: [f64; 2] = [1.8e-7, 2e-7];
/// `reciprocal_sqrt`, and `sin_cos` and `atan2`, in units in the last place (ULP).
const RECIPROCAL_SQRT: f64 = 1.5;
const SCALAR: f64 = 0.51;

/// Claims that are the same on all instruction sets.
pub(super) fn claims() -> Vec<Claim> {
    const HALF: f32 = std::f32::consts::FRAC_PI_2;
    fn claim(
        what: &str,
        bound: f64,
        width: usize,
        repair: fn(&mut [f32]) -> bool,
        error: fn(&[f32]) -> f64,
    ) -> Claim {
        let start = |random: &mut Random, case: &mut [f32]| {
            case.fill_with(|| {
                let least = [-2.0, -8.0, -40.0][random.below(3)];
                (4.0 * random.magnitude(least)) as f32
            });
        };
        Claim {
            what: what.into(),
            way: "",
            dispatch: None,
            bound,
            width,
            start,
            repair,
            error: Box::new(error),
        }
    }
    /// Error in units in the last place of the exact value in f32.
    fn units(got: f32, want: f64) -> f64 {
        let place = f64::from((want.abs() as f32).next_up()) - f64::from(want.abs() as f32);
        (f64::from(got) - want).abs() / place
    }
    fn positive(case: &mut [f32]) -> bool {
        case.iter_mut().for_each(|v| *v = v.abs());
        case.iter().all(|v| v.is_finite()) && case.iter().any(|v| *v > 1e-30)
    }
    let finite = |case: &mut [f32]| case.iter().all(|v| v.is_finite());
    vec![
        claim(
            "sin_half_pi",
            POLYNOMIALS[0],
            1,
            |case| {
                case[0] = case[0].abs();
                case[0] <= HALF
            },
            |case| (f64::from(math::sin_half_pi(case[0])) - f64::from(case[0]).sin()).abs() / POLYNOMIALS[0],
        ),
        claim("atan_positive", POLYNOMIALS[1], 2, positive, |case| {
            let want = f64::from(case[0]).atan2(case[1].into());
            (f64::from(math::atan_positive(case[0], case[1])) - want).abs() / POLYNOMIALS[1]
        }),
        claim("reciprocal_sqrt", RECIPROCAL_SQRT, 1, positive, |case| {
            units(math::reciprocal_sqrt(case[0]), 1.0 / f64::from(case[0]).sqrt()) / RECIPROCAL_SQRT
        }),
        claim("sin_cos", SCALAR, 1, finite, |case| {
            let (sin, cos) = math::sin_cos(case[0]);
            let x = f64::from(case[0]);
            worst([units(sin, x.sin()), units(cos, x.cos())]) / SCALAR
        }),
        claim("atan2", SCALAR, 2, finite, |case| {
            let want = f64::from(case[0]).atan2(case[1].into());
            units(math::atan2(case[0], case[1]), want) / SCALAR
        }),
    ]
}
