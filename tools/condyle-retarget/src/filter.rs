//! Filters over the frames of a clip. All take time in proportion to the number of frames, for any radius.

use std::collections::VecDeque;

/// Replaces each value by the mean over `radius` frames on both sides, with the weights of a quadratic
/// B-spline: three moving means. At the ends the first and last value repeat.
pub(crate) fn smoothed(values: &mut [f64], radius: f64) {
    let each = (radius / 3.0).round().max(0.0) as usize;
    for _ in 0..3 {
        moving_mean(values, each);
    }
}

fn moving_mean(values: &mut [f64], radius: usize) {
    let Some((&first, &last)) = values.first().zip(values.last()) else { return };
    let radius = radius.min(values.len());
    if radius == 0 {
        return;
    }
    let count = (2 * radius + 1) as f64;
    let again = radius.max(4096);
    let before: Vec<f64> = values.to_vec();
    let at = |index: usize| -> f64 {
        // Frame `index - radius`.
        match index.checked_sub(radius) {
            None => first,
            Some(index) => before.get(index).copied().unwrap_or(last),
        }
    };
    let mut sum: f64 = (0..2 * radius).map(at).sum();
    for (frame, value) in values.iter_mut().enumerate() {
        // Now and then the sum starts again from its window, so that rounding errors do not add up.
        if frame % again == 0 {
            sum = (frame..frame + 2 * radius).map(at).sum();
        }
        sum += at(frame + 2 * radius);
        *value = sum / count;
        sum -= at(frame);
    }
}

/// Replaces each value by the maximum over `radius` frames on both sides.
pub(crate) fn running_max(values: &mut [f64], radius: usize) {
    let mut queue: VecDeque<(usize, f64)> = VecDeque::new();
    let count = values.len();
    let before: Vec<f64> = values.to_vec();
    let mut next = 0;
    for (frame, value) in values.iter_mut().enumerate() {
        while next < count && next <= frame + radius {
            while queue.back().is_some_and(|last| last.1 <= before[next]) {
                queue.pop_back();
            }
            queue.push_back((next, before[next]));
            next += 1;
        }
        while queue.front().is_some_and(|first| first.0 + radius < frame) {
            queue.pop_front();
        }
        *value = queue.front().map_or(*value, |first| first.1);
    }
}

/// Solves a symmetric tridiagonal system: `diagonal`, the numbers next to it, and three right sides, which
/// become the solution.
pub(crate) fn tridiagonal(diagonal: &mut [f64], off_diagonal: &[f64], right: &mut [[f64; 2]]) {
    for k in 1..diagonal.len() {
        let factor = off_diagonal[k - 1] / diagonal[k - 1];
        diagonal[k] -= factor * off_diagonal[k - 1];
        let before = right[k - 1];
        right[k] = [0, 1].map(|c| right[k][c] - factor * before[c]);
    }
    let Some(last) = diagonal.len().checked_sub(1) else { return };
    right[last] = right[last].map(|v| v / diagonal[last]);
    for k in (0..last).rev() {
        let after = right[k + 1];
        right[k] = [0, 1].map(|c| (right[k][c] - off_diagonal[k] * after[c]) / diagonal[k]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use condyle_testing::Random;

    fn random(count: usize) -> Vec<f64> {
        let mut random = Random(7);
        (0..count).map(|_| random.range_f64(-1.0, 1.0)).collect()
    }

    #[test]
    fn the_running_maximum_is_that_of_each_window() {
        for (count, radius) in
            [(0, 3), (1, 0), (1, 5), (40, 0), (40, 1), (40, 7), (40, 100), (40, usize::MAX / 2)]
        {
            let before = random(count);
            let mut values = before.clone();
            running_max(&mut values, radius);
            for (frame, &value) in values.iter().enumerate() {
                let window =
                    &before[frame.saturating_sub(radius)..(frame.saturating_add(radius) + 1).min(count)];
                assert_eq!(
                    value,
                    window.iter().copied().fold(f64::NEG_INFINITY, f64::max),
                    "{count} {radius}"
                );
            }
        }
    }

    #[test]
    fn moving_means_keep_constants_and_ramps() {
        for radius in [0.0, 1.0, 9.0, 1e9] {
            let mut same = vec![3.0; 50];
            smoothed(&mut same, radius);
            assert!(same.iter().all(|v| (v - 3.0_f64).abs() < 1e-12), "{radius}");
        }
        let ramp: Vec<f64> = (0..60).map(f64::from).collect();
        let mut values = ramp.clone();
        smoothed(&mut values, 12.0);
        assert!((12..48).all(|at| (values[at] - ramp[at]).abs() < 1e-9), "{values:?}");
        smoothed(&mut [], 3.0);
    }

    /// A long list has the sums of a short one: rounding errors do not add up.
    #[test]
    fn long_lists_are_as_exact_as_short_ones() {
        let long = random(20_000);
        let mut all = long.clone();
        smoothed(&mut all, 30.0);
        let mut part = long[15_000..15_200].to_vec();
        smoothed(&mut part, 30.0);
        assert!((40..160).all(|at| (part[at] - all[15_000 + at]).abs() < 1e-12));
    }

    #[test]
    fn tridiagonal_systems_are_solved() {
        let mut random = Random(8);
        for count in [0, 1, 2, 30] {
            let off_diagonal: Vec<f64> = (1..count).map(|_| -random.range_f64(0.0, 1e6)).collect();
            let side = |at: usize| off_diagonal.get(at).map_or(0.0, |v| -v);
            let diagonal: Vec<f64> =
                (0..count).map(|at| 0.02 + side(at) + at.checked_sub(1).map_or(0.0, side)).collect();
            let want: Vec<[f64; 2]> =
                (0..count).map(|_| [0, 1].map(|_| random.range_f64(-1.0, 1.0))).collect();
            let mut right: Vec<[f64; 2]> = (0..count)
                .map(|at| {
                    [0, 1].map(|c| {
                        let before = at.checked_sub(1).map_or(0.0, |up| off_diagonal[up] * want[up][c]);
                        let after = want.get(at + 1).map_or(0.0, |next| off_diagonal[at] * next[c]);
                        before + diagonal[at] * want[at][c] + after
                    })
                })
                .collect();
            tridiagonal(&mut diagonal.clone(), &off_diagonal, &mut right);
            for (got, want) in right.iter().flatten().zip(want.iter().flatten()) {
                assert!((got - want).abs() < 1e-7, "{got} {want}");
            }
        }
    }
}
