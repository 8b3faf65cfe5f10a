//! Slerp and nlerp by their textbook formulas, in f64.

use super::kernel::on_hemisphere_of;
use super::method::Arc;
use super::vectors::arc as turn_on;
use condyle_base::math::Quat;
use condyle_base::math::scalar::{atan2_f64, sin_f64, sqrt_f64};

/// Computes `(sin((1-t)θ) a + sin(tθ) b) / sin θ`. Shoemake 1985. NaN for a NaN or infinite factor.
///
/// Beyond the ends these weights grow without bound if the ends are close, so the result continues like
/// [`vectors`](super::vectors()).
pub(super) fn exact(a: Quat, b: Quat, t: f32, arc: Arc) -> Quat {
    if !t.is_finite() {
        return [f32::NAN; 4];
    }
    let b = if arc == Arc::Shorter { on_hemisphere_of(a, b) } else { b };
    let (p, q) = (a.map(f64::from), b.map(f64::from));
    let chord = sqrt_f64(square(core::array::from_fn(|c| q[c] - p[c])));
    let sum = sqrt_f64(square(core::array::from_fn(|c| q[c] + p[c])));
    if t == 0.0 || chord == 0.0 {
        return a;
    }
    if t == 1.0 {
        return b;
    }
    if sum < 1e-6 {
        // Opposite ends as given have no arc between them.
        return if t > 0.5 { b } else { a };
    }
    if !(0.0..=1.0).contains(&t) {
        let mut out = [0.0; 4];
        turn_on(&a, &b, t, &mut out);
        return out;
    }
    let t = f64::from(t);
    let theta = 2.0 * atan2_f64(chord, sum);
    // Use the half angles, which keep the digits for angles near π.
    let sin = chord * sum / 2.0;
    let (from, to) = if theta < 1e-7 {
        (1.0 - t, t)
    } else {
        (sin_f64((1.0 - t) * theta) / sin, sin_f64(t * theta) / sin)
    };
    core::array::from_fn(|c| (p[c] * from + q[c] * to) as f32)
}

/// Returns the normalised point on the straight line through `a` and `b`. NaN for a NaN or infinite factor.
pub(super) fn nlerp(a: Quat, b: Quat, t: f32, arc: Arc) -> Quat {
    let b = if arc == Arc::Shorter { on_hemisphere_of(a, b) } else { b };
    let (p, q, t) = (a.map(f64::from), b.map(f64::from), f64::from(t));
    if p == q && t.is_finite() {
        return a;
    }
    let line: [f64; 4] = core::array::from_fn(|c| p[c] + (q[c] - p[c]) * t);
    let length = sqrt_f64(square(line));
    line.map(|v| (v / length) as f32)
}

fn square(v: [f64; 4]) -> f64 {
    v[0] * v[0] + v[1] * v[1] + v[2] * v[2] + v[3] * v[3]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::assert_close;

    const ARCS: [Arc; 2] = [Arc::Shorter, Arc::AsGiven];

    #[test]
    fn any_number_is_a_factor() {
        let a = [0.0, 0.0, 0.0, 1.0];
        for b in [[0.0, 1.0, 0.0, 0.0], [0.0, 3e-8, 0.0, 1.0], [0.0, 1e-20, 0.0, 1.0], [0.6, 0.0, 0.8, 0.0]] {
            for (t, arc) in
                [1e6, 1e10, -3e20, f32::MAX, f32::MIN].into_iter().flat_map(|t| ARCS.map(|arc| (t, arc)))
            {
                let got = exact(a, b, t, arc);
                let length: f64 = got.iter().map(|&v| f64::from(v) * f64::from(v)).sum();
                assert!((length - 1.0).abs() < 2e-7, "{b:?}, {t}: {got:?}");
            }
        }
        // Close ends, with a very large factor.
        let got = exact(a, [0.0, 3e-8, 0.0, 1.0], 1e7, Arc::Shorter);
        let angle = f64::from(3e-8_f32) * 1e7;
        assert_close(&got, &[0.0, angle.sin(), 0.0, angle.cos()], 1e-7, "close ends");
    }

    #[test]
    fn nlerp_has_unit_length_far_beyond_its_ends() {
        let a = [0.6, 0.0, 0.0, 0.8];
        for b in [a, a.map(|v| -v), [0.6, 1e-4, 0.0, 0.8], [0.0, 0.0, 1.0, 0.0]] {
            for t in [-1e3, 1e3, -1e20, 1e20, f32::MIN, f32::MAX] {
                let got = nlerp(a, b, t, Arc::Shorter);
                let length: f64 = got.iter().map(|&v| f64::from(v) * f64::from(v)).sum();
                assert!((length - 1.0).abs() < 2e-7, "{b:?}, {t}: {got:?}");
            }
        }
        assert_eq!(nlerp(a, a, 1e30, Arc::Shorter), a);
        assert!(nlerp(a, a, f32::NAN, Arc::Shorter).iter().all(|v| v.is_nan()));
    }

    /// f32 and f64 may select different arcs here. Beyond the end the rotation must still continue in the
    /// same direction.
    #[test]
    fn nearly_half_turns_go_on_beyond_their_ends() {
        let a = [0.617_691_3, 0.695_016_7, 0.031_808_365, -0.366_602_66];
        let b = [-0.480_685_47, 0.068_449_534, -0.491_737_63, -0.722_807_17];
        let how = |method| crate::interpolation::InterpolateOptions {
            method,
            extrapolate: true,
            ..Default::default()
        };
        for method in crate::interpolation::Method::all() {
            let [before, after] =
                [0.99, 1.01].map(|t| crate::interpolation::interpolate(a, b, t, how(method)));
            let cos: f64 = (0..4).map(|c| f64::from(before[c]) * f64::from(after[c])).sum();
            assert!(cos.acos() > 0.5 * 0.02 * core::f64::consts::FRAC_PI_2, "{method}: {cos}");
        }
    }

    #[test]
    fn a_factor_that_is_no_number_gives_none() {
        let a = [0.0, 0.0, 0.0, 1.0];
        for b in [a, a.map(|v| -v), [0.0, 1.0, 0.0, 0.0]] {
            for (t, arc) in [f32::NAN, f32::INFINITY].into_iter().flat_map(|t| ARCS.map(|arc| (t, arc))) {
                assert!(exact(a, b, t, arc).iter().all(|v| v.is_nan()), "{b:?}, {t}");
            }
        }
    }
}
