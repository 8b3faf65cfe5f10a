//! Sums whose bits do not depend on the order of the parts.

use super::scalar::worst;

/// Number of bits that the sum keeps of the largest part. Smaller parts keep fewer bits.
const BITS: i32 = 90;

/// Adds the parts as integer multiples of a unit, which depends on the largest magnitude of each component.
///
/// The error per part is at most 2^-90 of that magnitude. The result is NaN if a part is not finite. At most
/// 2^36 parts are supported. If all parts are below 2^-1000, the sum is 0.
pub fn sum_in_any_order<const N: usize>(parts: impl Iterator<Item = [f64; N]> + Clone) -> [f64; N] {
    let mut largest = [0.0; N];
    for part in parts.clone() {
        largest = core::array::from_fn(|c| worst([largest[c], part[c].abs()]));
    }
    let shift = largest.map(|largest| {
        let exponent = (largest.to_bits() >> 52) as i32 - 1023;
        // The smallest numbers have fewer bits, because their unit would be out of the range of floats.
        if largest > 0.0 && largest.is_finite() { (BITS - exponent).min(1000) } else { 0 }
    });
    let mut sum = [0_i128; N];
    for part in parts {
        for c in 0..N {
            // Parts that are not finite are detected by `largest`.
            sum[c] = sum[c].wrapping_add((part[c] * power(shift[c])) as i128);
        }
    }
    core::array::from_fn(|c| if largest[c].is_finite() { sum[c] as f64 * power(-shift[c]) } else { f64::NAN })
}

/// 2^k.
fn power(k: i32) -> f64 {
    f64::from_bits(((1023 + k) as u64) << 52)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Random, tries};

    fn sum(parts: &[f64]) -> f64 {
        let [sum, negated] = sum_in_any_order(parts.iter().map(|&v| [v, -v]));
        assert!(sum == -negated || sum.is_nan(), "{parts:?}");
        sum
    }

    #[test]
    fn a_sum_is_near_the_plain_one_and_has_no_order() {
        let mut random = Random(1);
        for case in 0..tries(2000) {
            let count = 1 + random.below(20);
            let part = |_| {
                let size = [1e-30_f64, 1e-3, 1.0, 1e9, 1e300, 1e-310][random.below(1 + case % 6)];
                f64::from(random.range(-1.0, 1.0)) * size
            };
            let mut parts: std::vec::Vec<f64> = (0..count).map(part).collect();
            let got = sum(&parts);
            let size: f64 = parts.iter().map(|v| v.abs()).sum();
            let want: f64 = parts.iter().sum();
            assert!((got - want).abs() <= 1e-14 * size + 1e-300, "case {case}: {got} instead of {want}");
            for _ in 0..4 {
                let (a, b) = (random.below(count), random.below(count));
                parts.swap(a, b);
                assert_eq!(got.to_bits(), sum(&parts).to_bits(), "case {case}: {parts:?}");
            }
        }
    }

    #[test]
    fn single_numbers_stay_and_what_is_no_number_shows() {
        for v in [0.0, 1.0, -0.1, f64::MAX, 1e-280, -3e-280] {
            assert_eq!(sum(&[v]), v);
            assert_eq!(sum(&[v, v, -v]), v);
        }
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert!(sum(&[1.0, bad]).is_nan() && sum(&[bad, 1.0, bad]).is_nan(), "{bad}");
        }
        assert_eq!(sum(&[]), 0.0);
        // Near the lower limit of floats, fewer digits remain.
        assert!((sum(&[1e-295, 1e-295]) / 2e-295 - 1.0).abs() < 1e-5);
        for tiny in [1e-305, 1e-310, f64::MIN_POSITIVE, -5e-324] {
            assert!(sum(&[tiny, tiny]).abs() <= 2.0 * tiny.abs(), "{tiny}");
        }
    }
}
