//! Goals and how they move with the unknowns: errors, the Jacobian, and products with it.

use super::TURN;
use super::buffer::{BodyBuffer, Links, Row, Sought, State, mean};
use super::tree::{
    Joint, Local, Mat64, Unknown, Vec64, above, add_scaled, apart, gather, sub, transform, transform_back,
    turning,
};
use crate::math::quats::{conjugate, product, rotate, rotation_vector};
use crate::math::vectors::dot;

const IDENTITY: Mat64 = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];

/// Works out the errors of a pose and what it costs. `pull` is what a turn away from the given pose costs.
pub(super) fn measure(
    joints: &[Joint],
    unknowns: &[Unknown],
    given: &[Local],
    goals: &[Row],
    shares: &[f64],
    pull: f64,
    state: &mut State,
) {
    let State { locals, placed, errors, missed, cost } = state;
    *missed = 0.0;
    for (goal, error) in goals.iter().zip(errors) {
        *error = match &goal.sought {
            Sought::Point { joint, offset, place } => {
                let placed = &placed[*joint];
                sub(*place, add_scaled(transform(&placed.axes, *offset), placed.at, 1.0))
            }
            Sought::Turn { joint, orientation } => {
                rotation_vector(product(*orientation, conjugate(placed[*joint].turn)))
            }
            Sought::Mass { shares: part, place } => sub(*place, mean(placed, &shares[part.clone()])),
        };
        *missed += goal.weight * goal.weight * dot(*error, *error);
    }
    let mut turned = 0.0;
    for unknown in unknowns {
        let at = unknown.joint as usize;
        let far = if unknown.shifts {
            let way = transform(
                &above(&joints[at], placed).axes,
                sub(given[at].translation, locals[at].translation),
            );
            dot(way, way)
        } else {
            apart(locals[at].rotation, given[at].rotation).0
        };
        turned += far / unknown.ease;
    }
    *cost = *missed + pull * turned;
}

impl BodyBuffer {
    /// Works out how each goal moves with its unknowns, and the matrix of the normal equations.
    pub(super) fn linearize(&mut self) {
        let Self { joints, unknowns, goals, shares, sums, links, normal, now, .. } = self;
        let placed = &now.placed;
        for goal in &*goals {
            let range = goal.links.clone();
            let (point, masses) = match &goal.sought {
                Sought::Point { joint, offset, .. } => {
                    let placed = &placed[*joint];
                    (add_scaled(transform(&placed.axes, *offset), placed.at, 1.0), false)
                }
                Sought::Mass { shares: part, .. } => {
                    gather(joints, placed, &shares[part.clone()], sums);
                    ([0.0; 3], true)
                }
                Sought::Turn { .. } => continue,
            };
            let mut sum = [[0.0; 3]; 3];
            let links = links.unknown[range.clone()]
                .iter()
                .zip(&mut links.moved[range.clone()])
                .zip(&mut links.sum[range]);
            for ((&unknown, moved), to) in links {
                let unknown = unknowns[unknown as usize];
                let joint = &joints[unknown.joint as usize];
                let at = placed[unknown.joint as usize].at;
                let (arm, share) = if masses {
                    let (sum, share) = sums[unknown.joint as usize];
                    (add_scaled(sum, at, -share), share)
                } else {
                    (sub(point, at), 1.0)
                };
                if unknown.shifts {
                    *moved = IDENTITY.map(|row| row.map(|v| v * share));
                } else {
                    *moved = turning(joint.even, above(joint, placed), arm);
                    for (sum, row) in sum.iter_mut().zip(moved) {
                        *sum = add_scaled(*sum, *row, unknown.ease);
                    }
                }
                *to = sum;
            }
        }
        let mut shared = links.shared.iter();
        for (a, first) in goals.iter().enumerate() {
            for (b, second) in (a..).zip(&goals[a..]) {
                let shared = shared.next().map_or(0, |&shared| shared as usize);
                let block = pair(unknowns, links, first, second, shared);
                normal.set(a, b, &block, first.weight * second.weight);
            }
        }
    }

    /// Adds to `right` what each goal moves by when the unknowns do by `step`, weighted and times `by`.
    pub(super) fn add_moved(&self, step: &[Vec64], by: f64, right: &mut [f64]) {
        for (goal, right) in self.goals.iter().zip(right.as_chunks_mut::<3>().0) {
            let range = goal.links.clone();
            let turns = matches!(goal.sought, Sought::Turn { .. });
            let mut sum = [0.0; 3];
            for (&unknown, moved) in self.links.unknown[range.clone()].iter().zip(&self.links.moved[range]) {
                let step = step[unknown as usize];
                if !turns {
                    sum = add_scaled(sum, transform(moved, step), 1.0);
                } else if !self.unknowns[unknown as usize].shifts {
                    sum = add_scaled(sum, step, 1.0);
                }
            }
            *right = add_scaled(*right, sum, goal.weight * by);
        }
    }

    /// Adds to `step` what forces on the goals, weighted, turn and move the unknowns by.
    pub(super) fn add_forced(&mut self, forces: &[f64]) {
        for (goal, force) in self.goals.iter().zip(forces.as_chunks::<3>().0) {
            let range = goal.links.clone();
            let turns = matches!(goal.sought, Sought::Turn { .. });
            let force = force.map(|v| v * goal.weight);
            for (&unknown, moved) in self.links.unknown[range.clone()].iter().zip(&self.links.moved[range]) {
                let Unknown { shifts, ease, .. } = self.unknowns[unknown as usize];
                let to = &mut self.step[unknown as usize];
                if !turns {
                    *to = add_scaled(*to, transform_back(moved, force), ease);
                } else if !shifts {
                    *to = add_scaled(*to, force, ease);
                }
            }
        }
    }

    /// Writes the way of each unknown back to the given pose, in model space.
    pub(super) fn look_back(&mut self) {
        for (unknown, back) in self.unknowns.iter().zip(&mut self.back) {
            let at = unknown.joint as usize;
            let above = above(&self.joints[at], &self.now.placed);
            let (given, now) = (&self.given[at], &self.now.locals[at]);
            *back = if unknown.shifts {
                transform(&above.axes, sub(given.translation, now.translation))
            } else {
                rotate(above.turn, apart(now.rotation, given.rotation).1)
            };
        }
    }

    /// The largest residual of a position and of an orientation among the goals that count, in sizes and radians.
    pub(super) fn worst(&self) -> [f64; 2] {
        let mut worst = [0.0_f64; 2];
        for (goal, error) in self.goals.iter().zip(&self.now.errors) {
            if goal.weight > 0.0 {
                let to = &mut worst[usize::from(matches!(goal.sought, Sought::Turn { .. }))];
                *to = to.max(super::tree::length(*error));
            }
        }
        worst
    }

    /// Whether all goals that count are met, to a part of the size.
    pub(super) fn is_met(&self, tolerance: f64) -> bool {
        let [distance, angle] = self.worst();
        distance <= tolerance && angle * TURN <= tolerance
    }
}

/// The block of the normal equations that belongs to two goals: the sum over the unknowns that they share of how the first moves with it, times
/// how the second does, transposed, times the ease.
fn pair(unknowns: &[Unknown], links: &Links, first: &Row, second: &Row, shared: usize) -> Mat64 {
    let moved = |goal: &Row, shared: usize| &links.moved[goal.links.start..goal.links.start + shared];
    let ids = |goal: &Row| &links.unknown[goal.links.clone()];
    let turned = |goal: &Row| match shared.checked_sub(1) {
        Some(last) => links.sum[goal.links.start + last],
        None => [[0.0; 3]; 3],
    };
    let mut block = [[0.0; 3]; 3];
    if first.links.is_empty() || second.links.is_empty() {
        return block;
    }
    match (&first.sought, &second.sought) {
        (Sought::Turn { .. }, Sought::Turn { .. }) => {
            let ease = shared.checked_sub(1).map_or(0.0, |last| links.ease[first.links.start + last]);
            return IDENTITY.map(|row| row.map(|v| v * ease));
        }
        (Sought::Point { .. }, Sought::Turn { .. }) => return turned(first),
        (Sought::Turn { .. }, Sought::Point { .. }) => return transposed(&turned(second)),
        // The links of a mass are all unknowns, in order.
        (Sought::Mass { .. }, _) => {
            for (at, &unknown) in (second.links.start..).zip(ids(second)) {
                let Unknown { shifts, ease, .. } = unknowns[unknown as usize];
                let own = &links.moved[first.links.start + unknown as usize];
                match second.sought {
                    Sought::Turn { .. } if shifts => {}
                    Sought::Turn { .. } => add_product(&mut block, own, &IDENTITY, ease),
                    _ => add_product(&mut block, own, &links.moved[at], ease),
                }
            }
        }
        (_, Sought::Mass { .. }) => return transposed(&pair(unknowns, links, second, first, 0)),
        _ => {
            let pairs = moved(first, shared).iter().zip(moved(second, shared));
            for ((a, b), &unknown) in pairs.zip(ids(first)) {
                add_product(&mut block, a, b, unknowns[unknown as usize].ease);
            }
        }
    }
    block
}

/// Adds `a bᵀ` times a factor.
fn add_product(to: &mut Mat64, a: &Mat64, b: &Mat64, by: f64) {
    for (to, a) in to.iter_mut().zip(a) {
        let a = a.map(|v| v * by);
        for (to, b) in to.iter_mut().zip(b) {
            *to += dot(a, *b);
        }
    }
}

fn transposed(m: &Mat64) -> Mat64 {
    [0, 1, 2].map(|r| [0, 1, 2].map(|c| m[c][r]))
}
