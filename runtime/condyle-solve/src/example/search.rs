//! Search for the weights.

use core::ops::Range;

use super::{Examples, Local};
use crate::maps::{Vec64, add, length, scaled, sub};
use condyle_base::math::quats::{Quat64, conjugate, product, rotate};
use condyle_base::math::scalar::sqrt_f64;
use condyle_base::math::vectors::{cross, dot};

const MAX: usize = Examples::MAX;
const ROWS: usize = 3 * Examples::MAX_GOALS;

/// One number for each example.
type Weights = [f64; MAX];

/// A goal in f64.
#[derive(Clone, Copy)]
pub(super) struct Aim {
    /// Index into `ends`.
    pub(super) end: usize,
    pub(super) offset: Vec64,
    pub(super) position: Vec64,
    pub(super) weight: f64,
}

impl Aim {
    pub(super) const NONE: Self = Self { end: 0, offset: [0.0; 3], position: [0.0; 3], weight: 0.0 };
}

/// Maximum number of steps from each start.
const STEPS: u32 = 40;
/// Cost of leaving the start, as a fraction of `size2`. If several blends reach the goals, it selects the one
/// nearest to the start.
const PULL: f64 = 1e-10;

/// Returns the best weights, the maximum distance with the index of its goal, and the number of steps.
pub(super) fn run(examples: &Examples, aims: &[Aim]) -> (Weights, (f64, usize), u32) {
    let mut search = Search::new(examples, aims);
    let mut best: Option<(f64, Weights)> = None;
    for start in 0..Search::STARTS {
        let (cost, weights) = search.descend(search.start(start));
        // Among equal results the first one is kept. NaN is never better.
        if best.is_none_or(|(least, _)| cost < least * (1.0 - 1e-9)) {
            best = Some((cost, weights));
        }
        if best.is_some_and(|(least, _)| least <= search.size2 * 1e-12) {
            break;
        }
    }
    let weights = best.map_or([0.0; MAX], |(_, weights)| weights);
    let mut farthest = (0.0, 0);
    for (at, aim) in aims.iter().enumerate().filter(|(_, aim)| aim.weight > 0.0) {
        let end = examples.ends[aim.end].1.clone();
        let distance = length(sub(examples.place(end, &weights, aim.offset), aim.position));
        // NaN counts as the maximum.
        if !(distance <= farthest.0 || farthest.0.is_nan()) {
            farthest = (distance, at);
        }
    }
    (weights, farthest, search.steps)
}

struct Search<'a> {
    examples: &'a Examples,
    aims: &'a [Aim],
    /// Weighted sum of squared distances from the goals, for each example.
    far2: Weights,
    /// Weighted mean of the squared distances of the examples from their mean.
    size2: f64,
    /// Jacobian of the errors with respect to the weights, and the errors.
    moved: [Weights; ROWS],
    off: [f64; ROWS],
    /// Start of this descent.
    from: Weights,
    steps: u32,
}

impl<'a> Search<'a> {
    /// Number of starts: the examples weighted by their nearness, equal weights, and each of the four nearest
    /// examples with a little of the others.
    const STARTS: usize = 6;

    fn new(examples: &'a Examples, aims: &'a [Aim]) -> Self {
        let mut far2 = [0.0; MAX];
        let (mut size2, mut middle) = (0.0, [[0.0; 3]; Examples::MAX_GOALS]);
        let count = examples.count as f64;
        let place = |aim: &Aim, at: usize| {
            let mut alone = [0.0; MAX];
            alone[at] = 1.0;
            examples.place(examples.ends[aim.end].1.clone(), &alone, aim.offset)
        };
        for (at, far2) in far2[..examples.count].iter_mut().enumerate() {
            for (aim, middle) in aims.iter().zip(&mut middle) {
                let place = place(aim, at);
                *middle = add(*middle, scaled(place, 1.0 / count));
                let off = sub(place, aim.position);
                *far2 += aim.weight * aim.weight * dot(off, off);
            }
        }
        for at in 0..examples.count {
            for (aim, middle) in aims.iter().zip(&middle) {
                let off = sub(place(aim, at), *middle);
                size2 += aim.weight * aim.weight * dot(off, off) / count;
            }
        }
        let (moved, off) = ([[0.0; MAX]; ROWS], [0.0; ROWS]);
        Self { examples, aims, far2, size2, moved, off, from: [0.0; MAX], steps: 0 }
    }

    fn start(&self, which: usize) -> Weights {
        let count = self.examples.count;
        let mut weights = [0.0; MAX];
        let even = 1.0 / count as f64;
        for (at, weight) in weights[..count].iter_mut().enumerate() {
            *weight = match which {
                // Shepard, "A two-dimensional interpolation function for irregularly-spaced data", 1968.
                0 => 1.0 / (self.far2[at] + 1e-6 * self.size2 + f64::MIN_POSITIVE),
                1 => even,
                _ => 0.2 * even,
            };
        }
        if let Some(alone) = which.checked_sub(2).and_then(|rank| self.nearest(rank)) {
            weights[alone] += 0.8;
        }
        let sum: f64 = weights[..count].iter().sum();
        if sum > 0.0 && sum < f64::INFINITY {
            weights.map(|w| w / sum)
        } else {
            weights[..count].fill(even);
            weights
        }
    }

    /// Index of the example with rank `rank` by distance from the goals.
    fn nearest(&self, rank: usize) -> Option<usize> {
        let far2 = &self.far2[..self.examples.count];
        let before = |a: usize, b: usize| far2[a] < far2[b] || (far2[a] == far2[b] && a < b);
        (0..far2.len()).find(|&at| (0..far2.len()).filter(|&other| before(other, at)).count() == rank)
    }

    /// Iterates from a start until there is no more progress.
    fn descend(&mut self, mut weights: Weights) -> (f64, Weights) {
        self.from = weights;
        let mut cost = self.cost(&weights);
        let mut damped = 1e-6;
        for _ in 0..STEPS {
            self.steps += 1;
            self.linearize(&weights);
            let wanted = self.wanted(&weights, damped);
            let after = self.cost(&wanted);
            if after < cost {
                let little = cost - after <= 1e-9 * cost;
                (cost, weights) = (after, wanted);
                damped = (damped * 0.1).max(1e-9);
                if little || cost <= self.size2 * 1e-14 {
                    break;
                }
            } else {
                damped *= 16.0;
                if damped > 1e6 {
                    break;
                }
            }
        }
        (cost, weights)
    }

    fn cost(&self, weights: &Weights) -> f64 {
        let mut cost = 0.0;
        for aim in self.aims {
            let end = self.examples.ends[aim.end].1.clone();
            let off = sub(self.examples.place(end, weights, aim.offset), aim.position);
            cost += aim.weight * aim.weight * dot(off, off);
        }
        let left: f64 = weights.iter().zip(&self.from).map(|(w, from)| (w - from) * (w - from)).sum();
        cost + PULL * self.size2 * left
    }

    /// Computes the errors and their Jacobian.
    fn linearize(&mut self, weights: &Weights) {
        let count = self.examples.count;
        for (row, aim) in self.aims.iter().enumerate() {
            let end = self.examples.ends[aim.end].1.clone();
            let mut moved = [[0.0; 3]; MAX];
            let place = self.examples.moves(end, weights, aim.offset, &mut moved);
            let off = sub(place, aim.position);
            for c in 0..3 {
                self.off[3 * row + c] = aim.weight * off[c];
                for (to, moved) in self.moved[3 * row + c][..count].iter_mut().zip(&moved) {
                    *to = aim.weight * moved[c];
                }
            }
        }
    }

    /// Minimises `|moved (w - weights) + off|²` plus the cost of leaving the start, over valid weights. The
    /// result would be optimal if the blend were linear in the weights.
    fn wanted(&self, weights: &Weights, damped: f64) -> Weights {
        let (count, rows) = (self.examples.count, 3 * self.aims.len());
        let scale: f64 = self.moved[..rows].iter().flat_map(|row| &row[..count]).map(|v| v * v).sum();
        let held = [damped * scale / count as f64, PULL * self.size2];
        let mut state = State { w: *weights, off: self.off };
        for _ in 0..4 {
            let done = self.exchange(&mut state, weights, held);
            if done || !self.settle(&mut state, weights, held) {
                break;
            }
        }
        let sum: f64 = state.w[..count].iter().sum();
        state.w.map(|v| v / sum)
    }

    fn slope(&self, state: &State, weights: &Weights, [stay, pull]: [f64; 2], at: usize) -> f64 {
        let along: f64 =
            self.moved.iter().zip(&state.off[..3 * self.aims.len()]).map(|(row, off)| row[at] * off).sum();
        along + stay * (state.w[at] - weights[at]) + pull * (state.w[at] - self.from[at])
    }

    /// Repeatedly moves weight between two examples: from the one that should fall most to the one that
    /// should rise most. This determines which weights are 0. Platt, "Sequential minimal optimization", 1998.
    /// Returns whether the optimum is reached.
    fn exchange(&self, state: &mut State, weights: &Weights, held: [f64; 2]) -> bool {
        let (count, rows) = (self.examples.count, 3 * self.aims.len());
        for _ in 0..12 * count {
            let (mut up, mut down) = ((f64::INFINITY, 0), (f64::NEG_INFINITY, 0));
            for at in 0..count {
                let slope = self.slope(state, weights, held, at);
                if slope < up.0 {
                    up = (slope, at);
                }
                if slope > down.0 && state.w[at] > 0.0 {
                    down = (slope, at);
                }
            }
            let ((rise, a), (fall, b)) = (up, down);
            let apart: f64 = self.moved[..rows].iter().map(|row| (row[a] - row[b]) * (row[a] - row[b])).sum();
            let step = ((fall - rise) / (apart + 2.0 * (held[0] + held[1]))).min(state.w[b]);
            // Also stops for NaN.
            if a == b || step.is_nan() || step <= 1e-13 {
                return true;
            }
            state.w[a] += step;
            state.w[b] = if step >= state.w[b] { 0.0 } else { state.w[b] - step };
            for (off, row) in state.off.iter_mut().zip(&self.moved[..rows]) {
                *off += step * (row[a] - row[b]);
            }
        }
        false
    }

    /// Moves all non-zero weights together to their optimum with the same sum, or as far as no weight becomes
    /// negative. Returns whether the equations had a solution. The result may still not be optimal.
    fn settle(&self, state: &mut State, weights: &Weights, held: [f64; 2]) -> bool {
        let rows = &self.moved[..3 * self.aims.len()];
        let mut free = [0; MAX];
        let mut count = 0;
        for at in (0..self.examples.count).filter(|&at| state.w[at] > 0.0) {
            free[count] = at;
            count += 1;
        }
        let free = &free[..count];
        let mut matrix = [[0.0; MAX]; MAX];
        for (i, &a) in free.iter().enumerate() {
            for (j, &b) in free[..=i].iter().enumerate() {
                matrix[i][j] = rows.iter().map(|row| row[a] * row[b]).sum();
            }
            matrix[i][i] += held[0] + held[1];
        }
        if !factor(&mut matrix, count) {
            return false;
        }
        let (mut x, mut y) = ([0.0; MAX], [1.0; MAX]);
        for (x, &at) in x.iter_mut().zip(free) {
            *x = self.slope(state, weights, held, at);
        }
        for right in [&mut x, &mut y] {
            solve(&matrix, count, right);
        }
        let by = x[..count].iter().sum::<f64>() / y[..count].iter().sum::<f64>();
        let step = |i: usize| by * y[i] - x[i];
        let mut part = 1.0_f64;
        for (i, &at) in free.iter().enumerate() {
            if step(i) < 0.0 {
                part = part.min(-state.w[at] / step(i));
            }
        }
        if !part.is_finite() {
            return false;
        }
        for (i, &at) in free.iter().enumerate() {
            let moved = part * step(i);
            for (off, row) in state.off.iter_mut().zip(rows) {
                *off += moved * row[at];
            }
            let w = state.w[at] + moved;
            // A weight that reached 0 may keep a rounding error.
            state.w[at] = if w > 1e-15 { w } else { 0.0 };
        }
        true
    }
}

/// Weights, and the linearised errors with them.
struct State {
    w: Weights,
    off: [f64; ROWS],
}

/// Cholesky decomposition of the lower triangle of a matrix, in place. Returns whether it is positive
/// definite.
fn factor(matrix: &mut [Weights; MAX], count: usize) -> bool {
    for i in 0..count {
        for j in 0..=i {
            let sum: f64 = (0..j).map(|k| matrix[i][k] * matrix[j][k]).sum();
            let left = matrix[i][j] - sum;
            if i > j {
                matrix[i][j] = left / matrix[j][j];
            } else if left > 0.0 && left < f64::INFINITY {
                matrix[i][i] = sqrt_f64(left);
            } else {
                return false;
            }
        }
    }
    true
}

/// Solves the equations with the factors from [`factor`].
fn solve(factors: &[Weights; MAX], count: usize, right: &mut Weights) {
    for i in 0..count {
        let sum: f64 = (0..i).map(|k| factors[i][k] * right[k]).sum();
        right[i] = (right[i] - sum) / factors[i][i];
    }
    for i in (0..count).rev() {
        let sum: f64 = (i + 1..count).map(|k| factors[k][i] * right[k]).sum();
        right[i] = (right[i] - sum) / factors[i][i];
    }
}

impl Examples {
    /// Local transform of a joint on a path, blended as by `blend`, and the length of the quaternions' sum.
    fn blended(&self, place: usize, weights: &Weights) -> (Local, f64) {
        let mut local = Local { translation: [0.0; 3], rotation: [0.0; 4], scale: [0.0; 3] };
        for (example, &w) in self.locals[place..place + self.count].iter().zip(weights) {
            local.translation = add(local.translation, scaled(example.translation, w));
            local.scale = add(local.scale, scaled(example.scale, w));
            for (sum, v) in local.rotation.iter_mut().zip(example.rotation) {
                *sum += w * v;
            }
        }
        let size = sqrt_f64(local.rotation.iter().map(|v| v * v).sum());
        local.rotation = if size > 1e-6 { local.rotation.map(|v| v / size) } else { [0.0, 0.0, 0.0, 1.0] };
        (local, size)
    }

    /// Position of a point in the blend.
    fn place(&self, way: Range<usize>, weights: &Weights, offset: Vec64) -> Vec64 {
        self.way[way].iter().rev().fold(offset, |point, &place| {
            let (Local { translation, rotation, scale }, _) = self.blended(place, weights);
            add(rotate(rotation, times(scale, point)), translation)
        })
    }

    /// Position of a point in the blend. Also computes its derivative with respect to each weight, at a
    /// constant sum of the weights.
    fn moves(&self, way: Range<usize>, weights: &Weights, offset: Vec64, moved: &mut [Vec64; MAX]) -> Vec64 {
        let mut point = offset;
        for &place in self.way[way].iter().rev() {
            let (Local { translation, rotation, scale }, size) = self.blended(place, weights);
            let arm = rotate(rotation, times(scale, point));
            for (moved, example) in moved.iter_mut().zip(&self.locals[place..place + self.count]) {
                let turn = if size > 1e-6 { turning(rotation, example.rotation, size) } else { [0.0; 3] };
                let below = add(times(scale, *moved), times(sub(example.scale, scale), point));
                let own = add(sub(example.translation, translation), cross(turn, arm));
                *moved = add(own, rotate(rotation, below));
            }
            point = add(arm, translation);
        }
        point
    }
}

/// Vector part of `2 (to - from (from · to)) from⁻¹ / size`: the rotation of the mean per additional weight
/// of a quaternion.
fn turning(from: Quat64, to: Quat64, size: f64) -> Vec64 {
    let [x, y, z, _] = product(to, conjugate(from));
    [x, y, z].map(|v| 2.0 * v / size)
}

fn times(a: Vec64, b: Vec64) -> Vec64 {
    [a[0] * b[0], a[1] * b[1], a[2] * b[2]]
}
