//! The curves of a clip: evenly spaced keys with straight lines or cubic splines between them.

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

#[cfg(test)]
mod tests {
    use super::*;
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
