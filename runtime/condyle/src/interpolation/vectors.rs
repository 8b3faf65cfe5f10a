//! Slerp of vectors of any dimension.

use core::f64::consts::TAU;

use condyle_base::error::Error;
use condyle_base::math::scalar::{atan2_f64, sin_cos_f64, sqrt_f64};

/// Interpolates unit vectors of any dimension on the arc from `a` to `b`, as given.
///
/// The result is `a cos(tθ) + u sin(tθ)`, where `u` is the normalised part of `b` that is perpendicular to
/// `a`. Blow 2004.
///
/// `t` is any number. 0 returns `a`, 1 returns `b`, and equal ends return `a`, all exactly. A NaN or infinite
/// factor returns NaN. For unit vectors the error of a component is at most 1e-7 plus `|t|` times 1e-12. Far
/// beyond the ends the result is still on the circle, but rounding destroys its position there.
///
/// Between opposite vectors (within f32 rounding) all arcs have the same length. The result is on the arc
/// through the axis that is most perpendicular to `a`.
///
/// # Errors
/// [`Error::Length`] if the dimensions of `a`, `b` and `out` differ.
///
/// ```
/// use condyle::interpolation;
///
/// // A third of the angle from +Z to +X: 30 degrees, and still unit length.
/// let mut sun = [0.0; 3];
/// interpolation::vectors(&[0.0, 0.0, 1.0], &[1.0, 0.0, 0.0], 1.0 / 3.0, &mut sun)?;
/// assert!((sun[0] - 0.5).abs() < 1e-6 && (sun[2] - 0.866_025_4).abs() < 1e-6);
/// # Ok::<(), condyle::Error>(())
/// ```
pub fn vectors(a: &[f32], b: &[f32], t: f32, out: &mut [f32]) -> Result<(), Error> {
    Error::check_len("b", b.len(), a.len())?;
    Error::check_len("out", out.len(), a.len())?;
    arc(a, b, t, out);
    Ok(())
}

/// [`vectors`] for slices of the same length.
pub(super) fn arc(a: &[f32], b: &[f32], t: f32, out: &mut [f32]) {
    if !t.is_finite() {
        return out.fill(f32::NAN);
    }
    if t == 0.0 || a == b {
        return out.copy_from_slice(a);
    }
    if t == 1.0 {
        return out.copy_from_slice(b);
    }
    // Use b - a instead of b, so that no digits cancel if they are close.
    let way = |at: usize| f64::from(b[at]) - f64::from(a[at]);
    let (along, length) = perpendicular(a, way);
    let size = sqrt_f64(a.iter().map(|&a| f64::from(a) * f64::from(a)).sum());
    let angle = f64::from(t) * atan2_f64(length, (1.0 + along) * size) % TAU;
    if length <= 1e-7 && along < -1.0 {
        let least = (0..a.len()).min_by(|&i, &j| a[i].abs().total_cmp(&a[j].abs()));
        turn(a, |at| f64::from(u8::from(Some(at) == least)), angle, out);
    } else if length <= 1e-12 {
        // The directions are equal and the lengths differ: the perpendicular part is only rounding.
        out.copy_from_slice(a);
    } else {
        turn(a, way, angle, out);
    }
}

/// Returns the projection of `v` on `a`, relative to `a`, and the length of the perpendicular part.
fn perpendicular(a: &[f32], v: impl Fn(usize) -> f64) -> (f64, f64) {
    let sum = |term: &dyn Fn(usize, f64) -> f64| -> f64 {
        a.iter().enumerate().map(|(at, &a)| term(at, a.into())).sum()
    };
    let along = sum(&|at, a| a * v(at)) / sum(&|_, a| a * a);
    let rest = sum(&|at, a| (v(at) - along * a) * (v(at) - along * a));
    (along, sqrt_f64(rest))
}

/// Rotates `a` by an angle towards `v`.
fn turn(a: &[f32], v: impl Fn(usize) -> f64, angle: f64, out: &mut [f32]) {
    let (sin, cos) = sin_cos_f64(angle);
    let (along, length) = perpendicular(a, &v);
    // The perpendicular part is 0 in one dimension.
    let sin = if length > 0.0 { sin / length } else { 0.0 };
    for (at, (out, &a)) in out.iter_mut().zip(a).enumerate() {
        let a = f64::from(a);
        *out = (a * cos + (v(at) - along * a) * sin) as f32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::reference;
    use crate::testing::{Random, assert_close, assert_portable, tries};

    fn between<const N: usize>(a: [f32; N], b: [f32; N], t: f32) -> [f32; N] {
        let mut out = [0.0; N];
        vectors(&a, &b, t, &mut out).expect("one dimension");
        out
    }

    /// Nearly equal vectors with very large factors rotate towards `b`, and not towards some axis.
    #[test]
    fn nearly_equal_vectors_are_not_opposite_ones() {
        let a = [1.0, 0.0, 0.0];
        for hair in [6e-8_f32, 1e-9, 1e-11] {
            for t in [0.5, -0.5, 1e6, 1e7, -3e7] {
                let angle = f64::from(t) * f64::from(hair);
                let want = [angle.cos(), 0.0, angle.sin()];
                assert_close(&between(a, [1.0, 0.0, hair], t), &want, 1e-7, format_args!("{hair}, {t}"));
            }
        }
        // The ends differ only in length.
        assert_eq!(between([1.0, 0.0], [1.000_000_1, 0.0], f32::MAX), [1.0, 0.0]);
        // Nearly opposite: the given arc, except for the last digits of f32.
        assert_close(&between(a, [-1.0, 0.0, 1e-6], 0.5), &[0.0, 0.0, 1.0], 1e-6, "nearly opposite");
        assert_close(&between(a, [-1.0, 0.0, 1e-8], 0.5), &[0.0, 1.0, 0.0], 1e-6, "opposite");
        assert_close(&between([1.0], [-1.0], 0.75), &[-core::f64::consts::FRAC_1_SQRT_2], 1e-7, "a line");
    }

    #[test]
    fn any_number_is_a_factor() {
        let (a, b) = ([0.6, 0.0, 0.8], [0.0, 1.0, 0.0]);
        for t in [1e5_f32, -1e5, 1e10, 3e20, f32::MAX, f32::MIN] {
            let got = between(a, b, t);
            let length: f64 = got.iter().map(|&v| f64::from(v) * f64::from(v)).sum();
            assert!((length - 1.0).abs() < 2e-7, "{t}: {got:?}");
            if t.abs() < 1e6 {
                // A quarter turn times a multiple of four.
                assert_close(&got, &[0.6, 0.0, 0.8], 2e-7, t);
            }
        }
        for t in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            assert!(between(a, b, t).iter().chain(&between(a, a, t)).all(|v| v.is_nan()), "{t}");
        }
    }

    #[test]
    fn vectors_of_any_dimension() {
        let mut random = Random(11);
        fn check<const N: usize>(random: &mut Random) {
            for case in 0..tries(500) {
                let (a, mut b) = (random.unit::<N>(), random.unit::<N>());
                if case % 3 == 0 {
                    // Nearly equal vectors.
                    let moved: [f64; N] = core::array::from_fn(|c| f64::from(a[c]) + f64::from(b[c]) * 1e-4);
                    let length = moved.iter().map(|v| v * v).sum::<f64>().sqrt();
                    b = moved.map(|v| (v / length) as f32);
                }
                let t = random.range(-0.5, 1.5);
                let want = reference::slerp_vectors(a.map(f64::from), b.map(f64::from), t.into());
                let mut got = [0.0; N];
                vectors(&a, &b, t, &mut got).expect("one dimension");
                assert_close(&got, &want, 1e-7, format_args!("{N} dimensions, case {case}, t = {t}"));
                vectors(&a, &b, 0.0, &mut got).expect("one dimension");
                assert_eq!(got, a);
                vectors(&a, &b, 1.0, &mut got).expect("one dimension");
                assert_eq!(got, b);
                vectors(&a, &a, t, &mut got).expect("one dimension");
                assert_eq!(got, a);
                // Opposite vectors: any arc, with unit length.
                vectors(&a, &a.map(|v| -v), 0.5, &mut got).expect("one dimension");
                let length: f64 = got.iter().map(|&v| f64::from(v) * f64::from(v)).sum();
                assert!((length - 1.0).abs() < 1e-6, "{N} dimensions: {got:?}");
            }
        }
        check::<2>(&mut random);
        check::<3>(&mut random);
        check::<4>(&mut random);
        check::<7>(&mut random);
    }

    #[test]
    fn the_bits_are_the_same_everywhere() {
        assert_portable(0x0870_ba67_7a3c_9336, |hash| {
            let mut random = Random(12);
            for _ in 0..tries(200) {
                let (a, b, mut out) = (random.unit::<5>(), random.unit::<5>(), [0.0; 5]);
                for t in [0.3, -2.0, 1e9] {
                    vectors(&a, &b, t, &mut out).expect("one dimension");
                    hash.add(&out);
                }
            }
        });
    }
}
