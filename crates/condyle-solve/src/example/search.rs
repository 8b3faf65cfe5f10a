//! The search for weights.

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

/// What a goal asks for.
#[derive(Clone, Copy)]
pub(super) struct Aim {
    /// Which of the joints.
    pub(super) end: usize,
    pub(super) offset: Vec64,
    pub(super) position: Vec64,
    pub(super) weight: f64,
}

impl Aim {
    pub(super) const NONE: Self = Self { end: 0, offset: [0.0; 3], position: [0.0; 3], weight: 0.0 };
}

/// How many times a step is tried from each start.
const STEPS: u32 = 40;
/// What leaving the start costs, as a part of what distances of the size of the examples do: of blends that reach a goal it takes the nearest.
const PULL: f64 = 1e-10;

/// The best weights, the largest distance with the goal that has it, and how many steps were tried.
pub(super) fn run(examples: &Examples, aims: &[Aim]) -> (Weights, (f64, usize), u32) {
    let mut search = Search::new(examples, aims);
    let mut best: Option<(f64, Weights)> = None;
    for start in 0..Search::STARTS {
        let (cost, weights) = search.descend(search.start(start));
        // Of equals the first. NaN is not less.
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
        // NaN is the farthest.
        if !(distance <= farthest.0 || farthest.0.is_nan()) {
            farthest = (distance, at);
        }
    }
    (weights, farthest, search.steps)
}

struct Search<'a> {
    examples: &'a Examples,
    aims: &'a [Aim],
    /// Of each example, the sum of the squared distances to its goals, weighted.
    far2: Weights,
    /// The mean of the squares of how far apart the examples are, weighted.
    size2: f64,
    /// How each row of what is off moves with each weight, and what is off.
    moved: [Weights; ROWS],
    off: [f64; ROWS],
    /// Where this descent began.
    from: Weights,
    steps: u32,
}

impl<'a> Search<'a> {
    /// The examples by how near they are, all alike, and each of the nearest few with little of the rest.
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

    /// Which example is nearer to the goals than all but so many.
    fn nearest(&self, rank: usize) -> Option<usize> {
        let far2 = &self.far2[..self.examples.count];
        let before = |a: usize, b: usize| far2[a] < far2[b] || (far2[a] == far2[b] && a < b);
        (0..far2.len()).find(|&at| (0..far2.len()).filter(|&other| before(other, at)).count() == rank)
    }

    /// From a start to where it gets no better.
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

    /// How what is off moves with the weights.
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

    /// The weights that make `|moved (w - weights) + off|²` and what leaving costs least, within what they may be: what would be best if all were straight.
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

    /// Two weights at a time exchange as much as is best: the one that it is best to raise, and the one that it is best to lower. So it is found which ones are 0.
    /// Platt, "Sequential minimal optimization", 1998. Returns whether nothing is left to exchange.
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
            // NaN is no step either.
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

    /// All weights that are not 0 go at once to where they would be best, their sum unchanged, or as far as none is negative. Returns whether the way was free or has met
    /// a border, and not whether it is the best.
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
            // What is left of a weight that met the border is rounding.
            state.w[at] = if w > 1e-15 { w } else { 0.0 };
        }
        true
    }
}

/// Weights, and what would be off with them.
struct State {
    w: Weights,
    off: [f64; ROWS],
}

/// Cholesky's factors of the lower half of a matrix, in its place; whether there are any.
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

/// Solves the equations of which [`factor`] has made the factors.
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
    /// The local transform of a joint on a way, as `blend` mixes it, and how long the sum of the quaternions is.
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

    /// Where the blend has a point.
    fn place(&self, way: Range<usize>, weights: &Weights, offset: Vec64) -> Vec64 {
        self.way[way].iter().rev().fold(offset, |point, &place| {
            let (Local { translation, rotation, scale }, _) = self.blended(place, weights);
            add(rotate(rotation, times(scale, point)), translation)
        })
    }

    /// The same, and how fast it moves with each weight, while the sum of them stays what it is.
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

/// Twice the vector of `(to - from (from · to)) from⁻¹ / size`: how the mean turns while it takes more of a quaternion.
fn turning(from: Quat64, to: Quat64, size: f64) -> Vec64 {
    let [x, y, z, _] = product(to, conjugate(from));
    [x, y, z].map(|v| 2.0 * v / size)
}

fn times(a: Vec64, b: Vec64) -> Vec64 {
    [a[0] * b[0], a[1] * b[1], a[2] * b[2]]
}
