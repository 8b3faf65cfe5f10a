//! Damped least squares: all joints turn simultaneously, by the smallest rotations that would bring the tip
//! to its goal if its movement were linear.
//!
//! With `J` the Jacobian of the tip and `e` its error, the step is `Jᵀ (J Jᵀ + λ)⁻¹ e`. This is a system of
//! three equations, six with an orientation, for any number of joints. The damping `λ` falls with the error,
//! and is adapted to the quality of the last prediction. Levenberg 1944, Marquardt 1963; Wampler 1986;
//! Nielsen 1999, *Damping parameter in Marquardt's method*.
//!
//! If a limit would cut a step short, the joint moves to the limit, that direction is removed from `J`, and
//! the other joints compensate. This active set is determined from scratch in each step.
//!
//! A step at a limit is solved again up to four times. A hinge loses its whole freedom, any other joint the
//! normal of the border. If nothing is gained in a corner of limits, one step is damped until it follows the
//! steepest descent, before the search ends. Hinges are sine and cosine of half their angle, so a step needs
//! no trigonometry.

#[cfg(test)]
mod tests;
mod turn;

use self::turn::Turn;
use super::descent::Wanted;
use super::nodes::{NO_TURN, Row};
use super::{Chain, SHORT};
use crate::maps::{Affine64, Vec64, add, scaled, sub};
use condyle_base::math::quats::{conjugate, product, rotate, rotation_vector, rows};
use condyle_base::math::scalar::sqrt_f64;

/// Initial damping, as a multiple of the tip's error times the length of the chain.
const START: f64 = 0.1;
/// A step that leaves more than this fraction of the cost is slow. `PATIENCE` slow steps in a row end an
/// attempt.
const SLOW: f64 = 0.9;
const PATIENCE: u32 = 3;
/// Like [`SLOW`], for the last attempt, which continues until there is almost no progress.
const STUCK: f64 = 1.0 - 1e-7;
/// Damping at which steps follow steepest descent, as a multiple of the squared length of the chain.
const STEEPEST: f64 = 100.0;
/// Maximum number of solves per step. Each one excludes the directions that limits blocked in the one before.
const PASSES: u32 = 4;

/// End of an attempt.
#[derive(Clone, Copy)]
pub(super) struct Until {
    /// Squared tolerance in metres.
    pub(super) distance2: f64,
    pub(super) angle2: f64,
    pub(super) rounds: u32,
}

/// Leaves the nodes at the best rotations found. Returns the number of rounds.
pub(super) fn run(row: &mut Row<'_, '_>, wanted: Option<Wanted>, until: Until, restarts: u32) -> u32 {
    match (row.nodes.len() <= SHORT, wanted) {
        (true, None) => search::<SHORT, 3>(row, None, until, restarts),
        (true, _) => search::<SHORT, 6>(row, wanted, until, restarts),
        (false, None) => search::<{ Chain::MAX_JOINTS }, 3>(row, None, until, restarts),
        (false, _) => search::<{ Chain::MAX_JOINTS }, 6>(row, wanted, until, restarts),
    }
}

/// Error of the tip in model space: three components in metres and, if `M` is 6, three in radians times the
/// radius.
type Off<const M: usize> = [f64; M];

struct Search<'s, 'n, 'a, const N: usize, const M: usize> {
    row: &'s mut Row<'n, 'a>,
    wanted: Option<Wanted>,
    radius: f64,
    /// Length of the chain.
    size: f64,
    turns: [Turn<M>; N],
    /// Vectors from each node's pivot to the tip, in the space of its parent, from the last measurement.
    arms: [Vec64; N],
    off: Off<M>,
    cost: f64,
    best: f64,
    rounds: u32,
}

/// Searches for chains of up to `N` joints.
fn search<const N: usize, const M: usize>(
    row: &mut Row<'_, '_>,
    wanted: Option<Wanted>,
    until: Until,
    restarts: u32,
) -> u32 {
    let mut search = Search {
        radius: wanted.map_or(1.0, |wanted| sqrt_f64(wanted.radius2)),
        size: row.reach(),
        row,
        wanted,
        turns: [Turn::<M>::NEW; N],
        arms: [[0.0; 3]; N],
        off: [0.0; M],
        cost: 0.0,
        best: f64::INFINITY,
        rounds: 0,
    };
    for (turn, node) in search.turns.iter_mut().zip(&*search.row.nodes) {
        turn.set_hinge(node);
    }
    search.run(until, restarts);
    search.row.restore();
    search.rounds
}

impl<const N: usize, const M: usize> Search<'_, '_, '_, N, M> {
    fn run(&mut self, until: Until, restarts: u32) {
        let go_on = |search: &Self, reached: bool| !reached && search.rounds < until.rounds;
        let mut reached = self.attempt(until, SLOW, PATIENCE);
        if go_on(self, reached) && self.is_straight() {
            self.row.kick(1);
            reached = self.attempt(until, SLOW, PATIENCE);
        }
        let mut time = 0;
        while go_on(self, reached) && time < restarts {
            time += 1;
            for (at, (turn, node)) in self.turns.iter_mut().zip(&mut *self.row.nodes).enumerate() {
                turn.restart(node, time * N as u32 + at as u32);
            }
            reached = self.attempt(until, SLOW, PATIENCE);
        }
        if go_on(self, reached) {
            self.row.restore();
            self.attempt(until, STUCK, 2 * PATIENCE);
        }
    }

    /// Whether no joint has a gradient although the tip has an error: all bones are on a line with the goal.
    fn is_straight(&mut self) -> bool {
        self.row.restore();
        (self.off, self.cost) = self.measure();
        self.linearize();
        let (mut slope2, mut size2) = (0.0, 0.0);
        for turn in &self.turns[..self.row.nodes.len()] {
            let [slope, size] = turn.slope2(&self.off);
            slope2 += slope;
            size2 += size;
        }
        slope2 <= 1e-8 * size2 * self.cost
    }

    /// Iterates from the current pose until there is no more progress. Returns whether the goal is reached.
    fn attempt(&mut self, until: Until, slow: f64, patience: u32) -> bool {
        for (turn, node) in self.turns.iter_mut().zip(&*self.row.nodes) {
            turn.begin(node);
        }
        (self.off, self.cost) = self.measure();
        let (mut damping, mut growth, mut slowed, mut fresh) = (START, 2.0, 0, true);
        loop {
            if fresh && self.cost < self.best {
                self.best = self.cost;
                self.row.keep();
            }
            if self.is_reached(until) {
                return true;
            }
            if self.rounds >= until.rounds || slowed >= patience {
                return false;
            }
            self.rounds += 1;
            if fresh {
                self.linearize();
            }
            let Some(predicted) = self.step(damping * sqrt_f64(self.cost) * self.size) else { return false };
            let (off, cost) = self.measure();
            let gain = self.cost - cost;
            fresh = gain > 0.0;
            if fresh {
                slowed = if cost > slow * self.cost { slowed + 1 } else { 0 };
                (self.off, self.cost) = (off, cost);
                for (turn, node) in self.turns.iter_mut().zip(&*self.row.nodes) {
                    turn.take(node);
                }
                // Nielsen's rule: the better the prediction, the more the damping falls.
                let quality = 2.0 * (gain / predicted).min(1.0) - 1.0;
                damping = (damping * (1.0 - quality * quality * quality).max(1.0 / 8.0)).max(1e-9);
                growth = 2.0;
            } else {
                // If even the linearised equations predict no decrease, the attempt ends soon.
                slowed += 1;
                damping *= growth;
                growth *= 2.0;
                if (0.0..=1e-14 * self.cost).contains(&predicted) {
                    // Where limits meet, the cost may fall only along one of them. Steepest descent finds
                    // that direction.
                    let steepest = STEEPEST * self.size / sqrt_f64(self.cost);
                    if damping >= steepest {
                        return false;
                    }
                    damping = steepest;
                }
            }
        }
    }

    fn is_reached(&self, until: Until) -> bool {
        let [distance2, turned2] = halves(&self.off);
        distance2 <= until.distance2 && turned2 <= until.angle2 * (self.radius * self.radius)
    }

    /// Error of the tip, and the sum of its squares.
    fn measure(&mut self) -> (Off<M>, f64) {
        let mut end = self.row.tip;
        let last = self.row.nodes.len() - 1;
        for (at, node) in self.row.nodes.iter().enumerate().rev() {
            let carried = if at == last {
                end
            } else if node.plain {
                add(end, node.carry.origin)
            } else {
                node.carry.point(end)
            };
            self.arms[at] = rotate(node.rotation, carried);
            end = add(self.arms[at], node.pivot);
        }
        let mut off = [0.0; M];
        let (place, turned) = off.split_at_mut(3);
        place.copy_from_slice(&self.row.to_model.vector(sub(self.row.goal, end)));
        if let Some(wanted) = self.wanted {
            let missing = rotation_vector(product(wanted.orientation, conjugate(self.row.turned())));
            turned.iter_mut().zip(missing).for_each(|(to, v)| *to = v * self.radius);
        }
        let cost = halves(&off);
        (off, cost[0] + cost[1])
    }

    /// Computes the Jacobian of each joint.
    fn linearize(&mut self) {
        let (mut to_model, mut turned) = (Affine64 { origin: [0.0; 3], ..self.row.to_model }, NO_TURN);
        for ((turn, node), arm) in self.turns.iter_mut().zip(&*self.row.nodes).zip(self.arms) {
            turn.linearize(&to_model, turned, arm, self.radius);
            to_model.linear = times(&to_model.linear, &rows(node.rotation));
            if !node.plain {
                to_model.linear = times(&to_model.linear, &node.carry.linear);
            }
            if M == 6 {
                turned = product(turned, product(node.rotation, node.between));
            }
        }
    }

    /// Turns the nodes. Returns the predicted decrease of the cost, or `None` if the equations have no
    /// solution.
    fn step(&mut self, damping: f64) -> Option<f64> {
        let count = self.row.nodes.len();
        let turns = &mut self.turns[..count];
        turns.iter_mut().for_each(Turn::set_free);
        let mut rest = self.off;
        for _ in 0..PASSES {
            let force = solve(turns, rest, damping)?;
            let mut held = false;
            for (turn, node) in turns.iter_mut().zip(&*self.row.nodes) {
                turn.give_way(&force);
                held |= turn.hold(node, &mut rest);
            }
            if !held {
                break;
            }
        }
        let mut left = self.off;
        for (turn, node) in turns.iter_mut().zip(&mut *self.row.nodes) {
            turn.subtract_moved(&mut left);
            node.rotation = turn.turned(node);
        }
        let [place, turned] = halves(&left);
        Some(self.cost - (place + turned))
    }
}

/// Squared errors of position and of orientation.
fn halves<const M: usize>(off: &Off<M>) -> [f64; 2] {
    let (place, turned) = off.split_at(3);
    [place, turned].map(|half| half.iter().map(|v| v * v).sum())
}

fn times(a: &[Vec64; 3], b: &[Vec64; 3]) -> [Vec64; 3] {
    let row = |r: Vec64| add(add(scaled(b[0], r[0]), scaled(b[1], r[1])), scaled(b[2], r[2]));
    [row(a[0]), row(a[1]), row(a[2])]
}

/// Returns `(J Jᵀ + damping)⁻¹ rest` by Cholesky decomposition. `J` holds the free directions of all joints.
/// `None` if the matrix is not positive definite.
fn solve<const M: usize>(turns: &[Turn<M>], rest: Off<M>, damping: f64) -> Option<Off<M>> {
    // The upper triangle, overwritten by the factor `U` with UᵀU equal to the matrix.
    let mut upper = [[0.0; M]; M];
    turns.iter().for_each(|turn| turn.add_squares(&mut upper));
    let mut pivots = [0.0; M];
    let mut x = rest;
    for k in 0..M {
        let (above, below) = upper.split_at_mut(k + 1);
        let row = &mut above[k];
        let pivot = row[k] + damping;
        // Also rejects NaN.
        if !(pivot > 0.0 && pivot < f64::INFINITY) {
            return None;
        }
        pivots[k] = 1.0 / sqrt_f64(pivot);
        row.iter_mut().for_each(|v| *v *= pivots[k]);
        x[k] *= pivots[k];
        for (i, rest) in (k + 1..).zip(below) {
            let by = row[i];
            rest[i..].iter_mut().zip(&row[i..]).for_each(|(to, v)| *to -= by * v);
            x[i] -= by * x[k];
        }
    }
    for k in (0..M).rev() {
        let known: f64 = upper[k][k + 1..].iter().zip(&x[k + 1..]).map(|(u, x)| u * x).sum();
        x[k] = (x[k] - known) * pivots[k];
    }
    Some(x)
}
