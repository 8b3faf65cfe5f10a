//! Least-squares fit of a curve with evenly spaced keys.

use alloc::vec;
use alloc::vec::Vec;

use condyle::clip::spline::{Degree, Taps};
use condyle_base::math::scalar::sqrt_f64;

/// Bandwidth of the normal equations: a cubic B-spline overlaps three neighbours on each side.
const BAND: usize = 3;

/// Kind of curve over a segment, with all data that depends only on its degree and number of keys.
#[derive(Debug, Clone)]
pub(crate) struct Shape {
    pub(crate) degree: Degree,
    pub(crate) intervals: usize,
    /// Keys that contribute to each moment, and their weights.
    taps: Vec<Taps>,
    /// Banded Cholesky factor of the normal equations, with its diagonal inverted.
    factor: Vec<[f64; BAND + 1]>,
}

impl Shape {
    /// Creates a shape fitted at `moments` evenly spaced moments of the segment.
    pub(crate) fn new(degree: Degree, intervals: usize, moments: usize) -> Self {
        let last = (moments - 1).max(1) as f64;
        let at = |moment: usize| Taps::at(degree, intervals, moment as f64 / last);
        let taps: Vec<Taps> = (0..moments).map(at).collect();
        let keys = intervals + 1;
        let mut factor = vec![[0.0; BAND + 1]; keys];
        for Taps { first, count, weights } in &taps {
            for i in 0..*count {
                for j in 0..=i {
                    factor[first + i][i - j] += weights[i] * weights[j];
                }
            }
        }
        for i in 0..keys {
            for back in (0..=BAND.min(i)).rev() {
                let mut v = factor[i][back];
                for further in 1..=BAND - back {
                    if i >= back + further {
                        v -= factor[i][back + further] * factor[i - back][further];
                    }
                }
                factor[i][back] =
                    if back == 0 { 1.0 / sqrt_f64((v + 1e-9).max(1e-9)) } else { v * factor[i - back][0] };
            }
        }
        Self { degree, intervals, taps, factor }
    }

    pub(crate) fn key_count(&self) -> usize {
        self.intervals + 1
    }

    /// Least-squares keys for `values`, one value per moment.
    pub(crate) fn solve(&self, values: &[[f64; 3]], keys: &mut Vec<[f64; 3]>) {
        keys.clear();
        // Room for taps after the last key, whose weights are 0: a fixed number of taps per moment is faster
        // than a variable one.
        keys.resize(self.key_count() + BAND, [0.0; 3]);
        let mut left = values;
        for taps in self.taps.chunk_by(|a, b| a.first == b.first) {
            let (values, others) = left.split_at(taps.len());
            left = others;
            if let Some(keys) = keys[taps[0].first..].first_chunk_mut::<{ BAND + 1 }>() {
                // The sums of an interval stay in registers.
                let mut sums = *keys;
                for (Taps { weights, .. }, value) in taps.iter().zip(values) {
                    for (sum, weight) in sums.iter_mut().zip(weights) {
                        for (sum, value) in sum.iter_mut().zip(value) {
                            *sum += weight * value;
                        }
                    }
                }
                *keys = sums;
            }
        }
        keys.truncate(self.key_count());
        for i in 0..keys.len() {
            let mut sum = keys[i];
            for back in 1..=BAND.min(i) {
                let (factor, key) = (self.factor[i][back], keys[i - back]);
                sum = [sum[0] - factor * key[0], sum[1] - factor * key[1], sum[2] - factor * key[2]];
            }
            keys[i] = sum.map(|v| v * self.factor[i][0]);
        }
        for i in (0..keys.len()).rev() {
            let mut sum = keys[i];
            for on in 1..=BAND.min(keys.len() - 1 - i) {
                let (factor, key) = (self.factor[i + on][on], keys[i + on]);
                sum = [sum[0] - factor * key[0], sum[1] - factor * key[1], sum[2] - factor * key[2]];
            }
            keys[i] = sum.map(|v| v * self.factor[i][0]);
        }
    }

    /// Value of the curve at a moment.
    pub(crate) fn value(&self, keys: &[[f64; 3]], moment: usize) -> [f64; 3] {
        let Taps { first, count, weights } = &self.taps[moment];
        let mut sum = [0.0; 3];
        let mut add = |key: &[f64; 3], weight: &f64| {
            for (sum, key) in sum.iter_mut().zip(key) {
                *sum += weight * key;
            }
        };
        // A fixed number of taps per moment is faster than a variable one; the weights of the others are 0.
        if let Some(keys) = keys[*first..].first_chunk::<{ BAND + 1 }>() {
            keys.iter().zip(weights).for_each(|(key, weight)| add(key, weight));
        } else {
            keys[*first..first + count].iter().zip(weights).for_each(|(key, weight)| add(key, weight));
        }
        sum
    }

    /// Interval that contains a moment, and the fraction of the interval before it.
    pub(crate) fn interval(&self, moment: usize) -> (usize, f64) {
        let taps = &self.taps[moment];
        (taps.first, taps.weights[1])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::format;

    /// A curve of the shape is reproduced from its values.
    #[test]
    fn a_curve_of_the_shape_is_found_again() {
        for degree in [Degree::Linear, Degree::Cubic] {
            for intervals in [1, 2, 3, 4, 7, 20] {
                for moments in [intervals + 1, 4 * intervals + 1, 100] {
                    if moments <= intervals {
                        continue;
                    }
                    let shape = Shape::new(degree, intervals, moments);
                    let keys: Vec<[f64; 3]> =
                        (0..=intervals).map(|k| [0.5, (k * k % 7) as f64, -(k as f64)]).collect();
                    let values: Vec<_> = (0..moments).map(|m| shape.value(&keys, m)).collect();
                    let mut found = Vec::new();
                    shape.solve(&values, &mut found);
                    let off = |m: usize| {
                        let (a, b) = (shape.value(&found, m), values[m]);
                        (0..3).map(|c| (a[c] - b[c]).abs()).fold(0.0, f64::max)
                    };
                    let worst = (0..moments).map(off).fold(0.0, f64::max);
                    assert!(worst < 1e-5, "{}", format!("{degree:?} {intervals} {moments}: {worst:e}"));
                }
            }
        }
    }
}
