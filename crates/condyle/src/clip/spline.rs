//! The curves of a clip: evenly spaced keys with straight lines or cubic splines between them.

use fearless_simd::f64x4;
use fearless_simd::prelude::*;

use condyle_base::simd::each;

/// Interpolation of the keys of a curve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Degree {
    /// One value for the whole segment.
    Constant,
    /// Straight lines between keys; slerp for rotations.
    Linear,
    /// A uniform cubic B-spline. The keys are its control points, except the first and the last, which are
    /// its ends.
    Cubic,
}

impl Degree {
    #[cfg(test)]
    pub const ALL: [Self; 3] = [Self::Constant, Self::Linear, Self::Cubic];
}

/// The keys whose weighted sum is the value at a time, and their weights.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Taps {
    /// The first key.
    pub first: usize,
    /// Number of keys, starting at `first`.
    pub count: usize,
    /// Weight of each key; they sum to 1.
    pub weights: [f64; 4],
}

impl Taps {
    /// Returns the taps at the fraction `ratio` of a curve with `intervals` intervals between its keys.
    ///
    /// A spline with one interval is a straight line. The control points before the first key and after the
    /// last one are extrapolated: `2·first - second`, and the same at the end. So the second derivative is 0
    /// at the ends, and no extra key is stored.
    #[inline(always)]
    pub fn at(degree: Degree, intervals: usize, ratio: f64) -> Self {
        // Convert through 32 bits, which takes a single instruction.
        let x = ratio * f64::from(intervals as i32);
        let interval = (x as i32).min(intervals as i32 - 1).max(0);
        let t = (x - f64::from(interval)).clamp(0.0, 1.0);
        let interval = interval as usize;
        match degree {
            Degree::Constant => Self { first: 0, count: 1, weights: [1.0, 0.0, 0.0, 0.0] },
            Degree::Linear => Self { first: interval, count: 2, weights: [1.0 - t, t, 0.0, 0.0] },
            Degree::Cubic if intervals == 1 => Self { first: 0, count: 2, weights: [1.0 - t, t, 0.0, 0.0] },
            Degree::Cubic => Self::cubic(intervals, interval, t),
        }
    }

    /// Returns the taps of a spline with two intervals or more.
    #[inline(always)]
    fn cubic(intervals: usize, interval: usize, t: f64) -> Self {
        let (t2, u) = (t * t, 1.0 - t);
        let before = u * u * u * (1.0 / 6.0);
        let after = t2 * t * (1.0 / 6.0);
        let from = (2.0 / 3.0) - t2 + 3.0 * after;
        let to = 1.0 - before - from - after;
        match (interval == 0, interval + 1 == intervals) {
            (true, _) => {
                let weights = [from + 2.0 * before, to - before, after, 0.0];
                Self { first: 0, count: 3, weights }
            }
            (_, true) => {
                let weights = [before, from - after, to + 2.0 * after, 0.0];
                Self { first: interval - 1, count: 3, weights }
            }
            _ => Self { first: interval - 1, count: 4, weights: [before, from, to, after] },
        }
    }
}

/// The taps of four curves at the same time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FourTaps {
    /// First key of each curve.
    pub first: [u32; 4],
    /// Weights by tap and curve. Unused taps have weight 0: the last ones of straight lines and at the ends
    /// of splines.
    pub weights: [[f32; 4]; 4],
}

impl FourTaps {
    /// Taps without any curve.
    pub const NONE: Self = Self { first: [0; 4], weights: [[0.0; 4]; 4] };

    /// Returns a curve in the form for [`FourTaps::at`]: the number of intervals of a spline, negated for
    /// straight lines.
    pub fn curve(degree: Degree, intervals: usize) -> f64 {
        let intervals = intervals as f64;
        if degree == Degree::Cubic { intervals } else { -intervals }
    }

    /// Computes [`Taps::at`] for four curves in lanes, with the same bits.
    #[inline(always)]
    pub fn at<S: Simd>(s: S, curves: &[f64; 4], ratio: f64) -> Self {
        /// Doubles from 2^52 on have no fraction. Adding 2^52 rounds to an integer, which is then in the low
        /// bits.
        const INTEGER: f64 = (1_u64 << 52) as f64;
        let number = |v: f64| f64x4::splat(s, v);
        let (zero, one, integer) = (number(0.0), number(1.0), number(INTEGER));
        let curves = f64x4::from_slice(s, curves);
        // A spline with one interval is a straight line.
        let straight = curves.simd_lt(number(1.5));
        let intervals = curves.abs();
        let x = intervals * ratio;
        let near = (x + integer) - integer;
        let below = near - near.simd_gt(x).select(one, zero);
        let interval = below.min(intervals - one).max(zero);
        let t = (x - interval).max(zero).min(one);

        let (t2, u) = (t * t, one - t);
        let before = u * u * u * (1.0 / 6.0);
        let after = t2 * t * (1.0 / 6.0);
        let from = number(2.0 / 3.0) - t2 + after * 3.0;
        let to = one - before - from - after;
        let is_first = interval.simd_eq(zero);
        let is_last = (interval + one).simd_eq(intervals);
        let first = (straight | is_first).select(interval, interval - one);
        let weights = [
            straight.select(u, is_first.select(from + before * 2.0, before)),
            straight.select(t, is_first.select(to - before, is_last.select(from - after, from))),
            straight.select(zero, is_first.select(after, is_last.select(to + after * 2.0, to))),
            (straight | is_first | is_last).select(zero, after),
        ];
        let (keys, mut taps) = ((first + integer).to_array(), Self { first: [0; 4], weights: [[0.0; 4]; 4] });
        each!(line in [0, 1, 2, 3] => taps.first[line] = keys[line].to_bits() as u32);
        each!(tap in [0, 1, 2, 3] => {
            let weights = weights[tap].to_array();
            each!(line in [0, 1, 2, 3] => taps.weights[tap][line] = weights[line] as f32);
        });
        taps
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use condyle_base::simd::{Dispatch, dispatch};
    use std::format;

    fn value(degree: Degree, keys: &[f64], x: f64) -> f64 {
        let taps = Taps::at(degree, keys.len() - 1, x / (keys.len() - 1) as f64);
        (0..taps.count).map(|i| taps.weights[i] * keys[taps.first + i]).sum()
    }

    #[test]
    fn weights_sum_to_one_and_stay_inside() {
        for degree in Degree::ALL {
            for intervals in 1..9 {
                for step in -3..=8 * 9 {
                    let x = f64::from(step) / 8.0;
                    let taps = Taps::at(degree, intervals, x / intervals as f64);
                    let case = format!("{degree:?}, {intervals} intervals, {x}: {taps:?}");
                    assert!((taps.weights.iter().sum::<f64>() - 1.0).abs() < 1e-15, "{case}");
                    assert!(taps.first + taps.count <= intervals + 1, "{case}");
                    assert!(taps.weights[taps.count..].iter().all(|&w| w == 0.0), "{case}");
                }
            }
        }
    }

    #[test]
    fn four_at_a_time_have_the_same_bits() {
        for dispatch in Dispatch::all() {
            for intervals in 1..40 {
                let curves = [
                    (Degree::Linear, intervals),
                    (Degree::Cubic, intervals),
                    (Degree::Cubic, 1),
                    (Degree::Cubic, 65_535 / intervals),
                ];
                // At the keys, near them and between them.
                for step in 0..=8 * intervals {
                    for nudge in [-1e-17, 0.0, 1e-16, 0.003] {
                        let ratio = (step as f64 / (8 * intervals) as f64 + nudge).clamp(0.0, 1.0);
                        let lanes = curves.map(|(degree, intervals)| FourTaps::curve(degree, intervals));
                        let found = dispatch!(dispatch, |s| FourTaps::at(s, &lanes, ratio));
                        for (i, (degree, intervals)) in curves.into_iter().enumerate() {
                            let want = Taps::at(degree, intervals, ratio);
                            let weights = found.weights.map(|weights| weights[i].to_bits());
                            let case = format!("{dispatch}, {degree:?}, {intervals} intervals, {ratio}");
                            assert_eq!(found.first[i] as usize, want.first, "{case}");
                            assert_eq!(weights, want.weights.map(|w| (w as f32).to_bits()), "{case}");
                        }
                    }
                }
            }
        }
    }

    /// Both degrees reproduce straight lines, and start and end at their first and last key.
    #[test]
    fn straight_lines_stay_straight_and_ends_are_keys() {
        for count in 2..9 {
            let straight: std::vec::Vec<f64> = (0..count).map(|i| 3.0 - f64::from(i)).collect();
            let bent: std::vec::Vec<f64> = (0..count).map(|i| f64::from(i * i % 5)).collect();
            for degree in [Degree::Linear, Degree::Cubic] {
                for step in 0..=(count - 1) * 4 {
                    let x = f64::from(step) / 4.0;
                    assert!(
                        (value(degree, &straight, x) - (3.0 - x)).abs() < 1e-14,
                        "{degree:?} {count} {x}"
                    );
                }
                let last = f64::from(count - 1);
                assert!((value(degree, &bent, 0.0) - bent[0]).abs() < 1e-15);
                assert!(
                    (value(degree, &bent, last) - bent[bent.len() - 1]).abs() < 1e-15,
                    "{degree:?} {count}"
                );
            }
        }
    }

    /// The value and both derivatives are continuous from one interval to the next.
    #[test]
    fn a_spline_is_smooth_where_its_intervals_meet() {
        let keys = [0.0, 3.0, -1.0, 2.0, 2.0, 7.0];
        let h = 1e-4;
        for knot in 1..5 {
            let x = f64::from(knot);
            let at = |x| value(Degree::Cubic, &keys, x);
            let (left, right) = ((at(x) - at(x - h)) / h, (at(x + h) - at(x)) / h);
            assert!((left - right).abs() < 1e-2, "slope at {knot}");
            let bend = |x: f64| (at(x + h) - 2.0 * at(x) + at(x - h)) / (h * h);
            assert!((bend(x - 2.0 * h) - bend(x + 2.0 * h)).abs() < 1e-1, "bend at {knot}");
        }
    }
}
