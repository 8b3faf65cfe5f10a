//! Symmetric systems of equations `A x = b` with three rows per goal, solved by Cholesky decomposition.

use alloc::vec::Vec;

use super::tree::Mat64;
use condyle_base::math::scalar::sqrt_f64;

/// The upper triangle of a matrix, row by row; the lower triangle is unused. Overwritten by its factor.
#[derive(Debug, Clone, Default)]
pub(super) struct Normal {
    size: usize,
    factor: Vec<f64>,
    /// Reciprocals of the diagonal of the factor.
    pivots: Vec<f64>,
}

impl Normal {
    /// Sets the number of rows.
    pub(super) fn resize(&mut self, size: usize) {
        self.size = size;
        self.factor.clear();
        self.factor.resize(size * size, 0.0);
        self.pivots.clear();
        self.pivots.resize(size, 0.0);
    }

    /// Writes the block in the rows of goal `a` and the columns of goal `b`, times a factor. Requires `a <=
    /// b`.
    pub(super) fn set(&mut self, a: usize, b: usize, block: &Mat64, by: f64) {
        for (r, row) in block.iter().enumerate() {
            let at = (3 * a + r) * self.size + 3 * b;
            for (to, v) in self.factor[at..at + 3].iter_mut().zip(row) {
                *to = v * by;
            }
        }
    }

    /// Decomposes the matrix with an addition to its diagonal: `UᵀU = A + damping`. Returns false if it is
    /// not positive definite, because of rounding or a value that is not finite.
    pub(super) fn factor(&mut self, damping: f64) -> bool {
        let n = self.size;
        for k in 0..n {
            let (above, below) = self.factor.split_at_mut((k + 1) * n);
            let row = &mut above[k * n + k..];
            let pivot = row[0] + damping;
            if !(pivot > 0.0 && pivot < f64::INFINITY) {
                return false;
            }
            let by = 1.0 / sqrt_f64(pivot);
            self.pivots[k] = by;
            for v in &mut *row {
                *v *= by;
            }
            // Updates the remaining matrix one row at a time, because whole rows vectorise well.
            for (i, rest) in (1..row.len()).zip(below.chunks_exact_mut(n)) {
                let factor = row[i];
                for (to, v) in rest[k + i..].iter_mut().zip(&row[i..]) {
                    *to -= factor * v;
                }
            }
        }
        true
    }

    /// Solves the last decomposed system in place of its right-hand side.
    pub(super) fn solve(&self, x: &mut [f64]) {
        let n = self.size;
        for k in 0..n {
            let (done, rest) = x.split_at_mut(k + 1);
            let v = done[k] * self.pivots[k];
            done[k] = v;
            for (to, u) in rest.iter_mut().zip(&self.factor[k * n + k + 1..(k + 1) * n]) {
                *to -= u * v;
            }
        }
        for k in (0..n).rev() {
            let row = &self.factor[k * n + k + 1..(k + 1) * n];
            // Four independent sums, so that no addition waits for the one before.
            let mut sums = [0.0; 4];
            let (u, v) = (row.chunks_exact(4), x[k + 1..].chunks_exact(4));
            let rest = u.remainder().iter().zip(v.remainder()).map(|(u, v)| u * v).sum::<f64>();
            for (u, v) in u.zip(v) {
                for (sum, (u, v)) in sums.iter_mut().zip(u.iter().zip(v)) {
                    *sum += u * v;
                }
            }
            let sum = (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest;
            x[k] = (x[k] - sum) * self.pivots[k];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use condyle_testing::{Random, tries};
    use std::{vec, vec::Vec};

    #[test]
    fn a_system_is_solved() {
        let mut random = Random(5);
        for case in 0..tries(200) {
            let goals = 1 + case % 9;
            let n = 3 * goals;
            let mut number = || f64::from(random.range(-1.0, 1.0));
            let root: Vec<f64> = (0..n * n).map(|_| number()).collect();
            let want: Vec<f64> = (0..n).map(|_| number()).collect();
            let entry = |r: usize, c: usize| {
                let own = if r == c { 0.1 } else { 0.0 };
                (0..n).map(|k| root[r * n + k] * root[c * n + k]).sum::<f64>() + own
            };
            let mut normal = Normal::default();
            normal.resize(n);
            for a in 0..goals {
                for b in a..goals {
                    let block = [0, 1, 2].map(|r| [0, 1, 2].map(|c| entry(3 * a + r, 3 * b + c) / 2.0));
                    normal.set(a, b, &block, 2.0);
                }
            }
            let mut x: Vec<f64> = (0..n)
                .map(|r| (0..n).map(|c| (entry(r, c) + if r == c { 0.5 } else { 0.0 }) * want[c]).sum())
                .collect();
            assert!(normal.factor(0.5), "case {case}");
            normal.solve(&mut x);
            let off = x.iter().zip(&want).map(|(x, want)| (x - want).abs()).fold(0.0, f64::max);
            assert!(off < 1e-10, "case {case}: {off:e}");
        }
    }

    #[test]
    fn what_is_not_positive_is_told() {
        let mut normal = Normal::default();
        normal.resize(3);
        assert!(!normal.factor(0.0));
        for bad in [f64::NAN, f64::INFINITY, -1.0] {
            normal.set(0, 0, &[[1.0, 0.0, 0.0], [0.0, bad, 0.0], [0.0, 0.0, 1.0]], 1.0);
            assert!(!normal.factor(0.0), "{bad}");
        }
        let mut none = vec![];
        normal.resize(0);
        assert!(normal.factor(0.0));
        normal.solve(&mut none);
    }
}
