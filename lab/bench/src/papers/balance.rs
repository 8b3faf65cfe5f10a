//! Eberly's error balancing: the factor on the last term of the series that minimises its largest error.
//!
//! Source: Eberly 2018, "A Fast and Accurate Estimate for SLERP", sections 4, 5 and 7, with `z = 1 - x = 1 -
//! cos θ`. All terms of the series are then positive, and the truncated terms are summed directly. No digits
//! are lost in a difference, so f64 arithmetic yields errors of 1e-17 with twelve digits.

/// Maximum number of terms after the first that Eberly considers.
pub(crate) const MOST_TERMS: usize = 16;

/// Location of the largest error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Extreme {
    /// Magnitude of the error.
    pub(crate) error: f64,
    /// Cosine of the angle.
    pub(crate) x: f64,
    /// Interpolation factor.
    pub(crate) t: f64,
}

/// Series whose last term is scaled so that its largest errors above and below are equal.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Balance {
    /// Factor on the last term, from 1 to 2.
    pub(crate) factor: f64,
    /// Largest excess of the exact weight over the estimate.
    pub(crate) above: Extreme,
    /// Largest excess of the estimate over the exact weight.
    pub(crate) below: Extreme,
}

/// Largest error of the series truncated after `terms`, for cosines from `min_cos` to 1.
#[must_use]
pub(crate) fn truncation(terms: usize, min_cos: f64) -> Extreme {
    highest(terms, 1.0, min_cos)
}

/// Factor that balances the errors of a series of `terms`, for cosines from `min_cos` to 1.
#[must_use]
pub(crate) fn balance(terms: usize, min_cos: f64) -> Balance {
    // With a larger factor, errors above decrease and errors below increase. At 1 no error is below, at 2 no
    // error is above.
    let (mut low, mut high) = (1.0, 2.0);
    let level = |factor| highest(terms, factor, min_cos).error - lowest(terms, factor, min_cos).error;
    let (mut at_low, mut at_high) = (level(low), level(high));
    // Illinois method: false position, with the value at an end halved when that end stays too long.
    let mut kept = 0;
    for _ in 0..60 {
        let factor = (low * at_high - high * at_low) / (at_high - at_low);
        if factor <= low || factor >= high {
            break;
        }
        let at = level(factor);
        if at >= 0.0 {
            (low, at_low) = (factor, at);
            at_high *= if kept == 1 { 0.5 } else { 1.0 };
            kept = 1;
        } else {
            (high, at_high) = (factor, at);
            at_low *= if kept == -1 { 0.5 } else { 1.0 };
            kept = -1;
        }
        if high - low < 1e-15 || at == 0.0 {
            break;
        }
    }
    let factor = if at_low.abs() < at_high.abs() { low } else { high };
    Balance { factor, above: highest(terms, factor, min_cos), below: lowest(terms, factor, min_cos) }
}

/// Exact weight minus its estimate.
fn error(terms: usize, factor: f64, z: f64, t: f64) -> f64 {
    let ratio = |i: usize| {
        let i = i as f64;
        z * (i * i - t * t) / (i * (2.0 * i + 1.0))
    };
    let last = (1..=terms).map(ratio).product::<f64>() * t;
    let (mut term, mut rest, mut i) = (last, 0.0, terms);
    while term > 1e-18 * rest && term > 0.0 {
        i += 1;
        term *= ratio(i);
        rest += term;
    }
    rest - (factor - 1.0) * last
}

/// Errors above the estimate increase with the angle, so the largest is at `min_cos`.
fn highest(terms: usize, factor: f64, min_cos: f64) -> Extreme {
    let (t, error) = peak(|t| error(terms, factor, 1.0 - min_cos, t));
    Extreme { error, x: min_cos, t }
}

fn lowest(terms: usize, factor: f64, min_cos: f64) -> Extreme {
    let span = 1.0 - min_cos;
    let over_t = |part: f64| peak(|t| -error(terms, factor, span * part, t));
    let (part, error) = peak(|part| over_t(part).1);
    Extreme { error, x: 1.0 - span * part, t: over_t(part).0 }
}

/// Position and value of the maximum of `f` in [0, 1]. The position is accurate to half of the digits.
fn peak(f: impl Fn(f64) -> f64) -> (f64, f64) {
    const STEPS: u32 = 16;
    let node = |k: u32| f64::from(k) / f64::from(STEPS);
    let best = (0..=STEPS).max_by(|&a, &b| f(node(a)).total_cmp(&f(node(b)))).unwrap_or(0);
    let (mut low, mut high) = (node(best.saturating_sub(1)), node((best + 1).min(STEPS)));
    // Golden-section search: each step keeps 0.618 of the interval and one of the two values.
    let golden = (5.0_f64.sqrt() - 1.0) / 2.0;
    let inner = |low: f64, high: f64| (high - golden * (high - low), low + golden * (high - low));
    let (mut left, mut right) = inner(low, high);
    let (mut at_left, mut at_right) = (f(left), f(right));
    while high - low > 1e-9 {
        if at_left > at_right {
            (high, right, at_right) = (right, left, at_left);
            left = inner(low, high).0;
            at_left = f(left);
        } else {
            (low, left, at_left) = (left, right, at_right);
            right = inner(low, high).1;
            at_right = f(right);
        }
    }
    let (place, value) = if at_left > at_right { (left, at_left) } else { (right, at_right) };
    let ends = [(0.0, f(0.0)), (1.0, f(1.0))];
    ends.into_iter().fold((place, value), |best, end| if end.1 > best.1 { end } else { best })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::FRAC_1_SQRT_2;

    #[test]
    fn the_truncation_errors_are_those_of_eberlys_first_table() {
        let printed = [
            (1, 8.260_470e-2, 0.536_171),
            (2, 3.534_481e-2, 0.526_101),
            (8, 3.463_652e-4, 0.510_053),
            (16, 1.009_723e-6, 0.505_580),
        ];
        for (terms, error, t) in printed {
            let found = truncation(terms, 0.0);
            assert!((found.error / error - 1.0).abs() < 1e-6, "{terms}: {found:?}");
            assert!((found.t - t).abs() < 2e-6, "{terms}: {found:?}");
        }
    }

    #[test]
    fn the_factors_are_those_of_eberlys_second_table() {
        for (terms, factor, error) in
            [(1, 1.514_970, 1.824_927e-2), (8, 1.852_981, 1.908_783e-5), (16, 1.916_669, 3.084_173e-8)]
        {
            let found = balance(terms, 0.0);
            assert!((found.factor - factor).abs() < 5e-6, "{terms}: {found:?}");
            assert!((found.above.error / error - 1.0).abs() < 1e-4, "{terms}: {found:?}");
        }
    }

    #[test]
    fn the_third_table_is_right_where_the_printed_one_is_rounded_away() {
        // The first row is as printed. The others were verified in 50-digit arithmetic.
        let exact = [
            (5, 1.146_802, 7.179_2e-8),
            (9, 1.156_426_6, 1.533_55e-11),
            (14, 1.161_371_2, 5.631_31e-16),
            (15, 1.161_996_2, 7.488_04e-17),
            (16, 1.162_548_9, 1.001_54e-17),
        ];
        for (terms, factor, error) in exact {
            let found = balance(terms, FRAC_1_SQRT_2);
            assert!((found.factor - factor).abs() < 1e-6, "{terms}: {found:?}");
            assert!((found.above.error / error - 1.0).abs() < 1e-5, "{terms}: {found:?}");
        }
    }

    #[test]
    fn balanced_errors_are_level_and_nothing_between_exceeds_them() {
        for (terms, min_cos) in [(1, 0.0), (3, FRAC_1_SQRT_2), (8, 0.0), (16, FRAC_1_SQRT_2)] {
            let found = balance(terms, min_cos);
            assert!((found.above.error / found.below.error - 1.0).abs() < 1e-9, "{terms}: {found:?}");
            for k in 0..=200 * 200 {
                let (z, t) = (f64::from(k / 200) / 200.0 * (1.0 - min_cos), f64::from(k % 200) / 200.0);
                let off = error(terms, found.factor, z, t).abs();
                assert!(off <= found.above.error * (1.0 + 1e-9), "{terms}, z {z}, t {t}: {off:e}");
            }
        }
    }
}
