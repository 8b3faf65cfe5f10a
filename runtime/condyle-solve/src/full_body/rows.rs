//! Goals as equations: errors, the Jacobian, and the normal equations by elimination from the leaves to the
//! roots.
//!
//! # Formulas
//!
//! Joint `j` turns by a rotation vector `x_j` about axes of model space. `J_gj` is the Jacobian of goal `g`:
//! for a point at `arm` from the joint, `J_gj x = x × arm`. `e` are the errors of the goals, `back` the
//! rotations back to the input pose. One step of the search minimises
//!
//! ```text
//! |J x - e|² + Σ_j (pull |x_j - back_j|² + damping |x_j|²) / ease_j + Σ_j y_jᵀ T_j y_j
//! ```
//!
//! `y_j = x_j + y_above(j)` is the rotation of the bone of joint `j`. `T_j` is the stiffness against rotation
//! that the pull of the goals gives this bone (`tension`). In the unknowns `y` the matrix `C` of both sums
//! couples a joint only with its parent. So it is eliminated without fill-in, a joint at a time, children
//! first. With `o_j = (pull + damping) / ease_j`:
//!
//! ```text
//! A_j = S_j + o_j              pivot              E_j = A_j⁻¹                            `eases`
//! S_j = T_j + Σ_c o_c E_c S_c  Schur complement of the children c                        `stiff`
//! P_j = J_j + Σ_c (o_c P_c E_c - J_c)  Jacobian of a goal after elimination              `passed`
//! J C⁻¹ Jᵀ = Σ_j P_j E_j P_jᵀ  a block of three rows and columns for each pair of goals  `normal`
//! ```
//!
//! `(J C⁻¹ Jᵀ + 1) λ = e - J b` gives the forces λ on the goals, where `b` is the step without goals. Back
//! substitution runs from the roots to the leaves:
//!
//! ```text
//! f_j = P_jᵀ λ + (terms of back)   Jᵀ λ, accumulated                           `add_forces`, `pull_back`
//! y_j = E_j (f_j + o_j y_above)    x_j = y_j - y_above                         `give_way`
//! ```
//!
//! # Worked example: an arm
//!
//! Two bones of length 1 lie along x, and the goal of the tip at `(2, 0)` is `(2, 1)`. Only rotations about z
//! matter, so all blocks are numbers: `J_1 = 2`, `J_2 = 1`, `e = 1`, `back = 0`. With `o_1 = o_2 = 1`, `T_1 =
//! 0` and `T_2 = 1`:
//!
//! ```text
//! joint 2   S = 1                A = 2        E = 1/2   P = 1                          P E P = 1/2
//! joint 1   S = 0 + 1/2 · 1      A = 3/2      E = 2/3   P = 2 + (1 · 1/2 - 1) = 3/2    P E P = 3/2
//! goal      (1/2 + 3/2 + 1) λ = 1             λ = 1/3
//! forces    f_1 = 3/2 · 1/3 = 1/2             f_2 = 1/3
//! joint 1   y = 2/3 · 1/2 = 1/3               x = 1/3
//! joint 2   y = 1/2 (1/3 + 1 · 1/3) = 1/3     x = 0
//! ```
//!
//! The tip moves by `J x = 2/3`. The tension holds the lower bone, so the shoulder does the work. Without
//! it (`T_2 = 0`), `λ = 1/6`, `x = (1/3, 1/6)`, and the tip moves by 5/6.
//!
//! # Reasons
//!
//! 1. The normal equations have the size of the goals, and there are fewer goals than joints.
//! 2. In the unknowns `x` tension would couple each joint with all of its ancestors. In `y` the matrix is a
//!    tree.
//! 3. A goal depends on the joints from the root to its own. Two goals share the beginning of these lists,
//!    so a block sums over that beginning alone ([`Links::shared`]).
//! 4. `P_j` for all joints of a goal takes one pass, because each joint has at most one child on the way to
//!    the goal.
//!
//! # Limits
//!
//! A shift moves its joint instead of turning it. It has no parent among the unknowns and no tension, so
//! its pivot is `o_j`. Below a flat scale a joint does not move its goal: its Jacobian is zero.

use super::TURN;
use super::buffer::{BodyBuffer, Links, Row, Sought, State, mean};
use super::tree::{
    Joint, Local, Mat64, NONE, Unknown, Vec64, above, add_matrix, add_scaled, apart, gather,
    inverse_symmetric, length, multiply, sub, tension as held, transform, transform_back, turning,
};
use condyle_base::math::quats::{conjugate, product, rotate, rotation_vector};
use condyle_base::math::vectors::dot;

const IDENTITY: Mat64 = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];

/// Computes the errors of a pose, and its cost. `pull` is the weight of rotations away from the input pose.
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
    /// Computes the Jacobian of each goal, and the tension of the bones that the goals pull.
    pub(super) fn linearize(&mut self) {
        let Self { joints, unknowns, goals, shares, sums, links, now, forces, tension, .. } = self;
        let placed = &now.placed;
        tension.fill([[0.0; 3]; 3]);
        for (goal, error) in goals.iter().zip(&now.errors) {
            let range = goal.links.clone();
            let links = links.unknown[range.clone()].iter().zip(&mut links.moved[range]);
            let (point, masses) = match &goal.sought {
                Sought::Point { joint, offset, .. } => {
                    let placed = &placed[*joint];
                    (add_scaled(transform(&placed.axes, *offset), placed.at, 1.0), false)
                }
                Sought::Mass { shares: part, .. } => {
                    gather(joints, placed, &shares[part.clone()], sums);
                    ([0.0; 3], true)
                }
                Sought::Turn { .. } => {
                    for (&unknown, moved) in links {
                        *moved = if unknowns[unknown as usize].shifts { [[0.0; 3]; 3] } else { IDENTITY };
                    }
                    continue;
                }
            };
            let force = error.map(|v| v * goal.weight * goal.weight);
            // Children first, because the bone of a joint ends where the next joint that turns begins.
            for (&unknown, moved) in links.rev() {
                let Unknown { joint, shifts, above: next, .. } = unknowns[unknown as usize];
                let (own, at) = (&joints[joint as usize], placed[joint as usize].at);
                let (arm, share) = if masses {
                    let (sum, share) = sums[joint as usize];
                    (add_scaled(sum, at, -share), share)
                } else {
                    (sub(point, at), 1.0)
                };
                if shifts {
                    *moved = IDENTITY.map(|row| row.map(|v| v * share));
                    continue;
                }
                *moved = turning(own.even, above(own, placed), arm);
                let bone = add_scaled(arm, core::mem::take(&mut forces[unknown as usize]), 1.0);
                if let Some(next) = forces.get_mut(next as usize) {
                    *next = sub(*next, arm);
                }
                add_matrix(&mut tension[unknown as usize], &held(force, bone), 1.0);
            }
        }
    }

    /// Computes the normal equations by elimination from the leaves to the roots. `damped` is pull and
    /// damping together.
    pub(super) fn assemble(&mut self, damped: f64) {
        let Self { unknowns, goals, links, normal, tension, stiff, eases, carried, .. } = self;
        stiff.copy_from_slice(tension);
        for at in (0..unknowns.len()).rev() {
            let Unknown { shifts, ease, above, .. } = unknowns[at];
            let own = damped / ease;
            if shifts {
                eases[at] = IDENTITY.map(|row| row.map(|v| v / own));
                continue;
            }
            let mut all = stiff[at];
            for (c, row) in all.iter_mut().enumerate() {
                row[c] += own;
            }
            eases[at] = inverse_symmetric(&all, 1.0);
            if above != NONE {
                let passed = multiply(&eases[at], &stiff[at]);
                add_matrix(&mut stiff[above as usize], &passed, own);
            }
        }
        for goal in &*goals {
            for at in goal.links.clone().rev() {
                let unknown = links.unknown[at] as usize;
                let Unknown { shifts, ease, above, .. } = unknowns[unknown];
                let moved = &links.moved[at];
                let mut passed = *moved;
                add_matrix(&mut passed, &core::mem::take(&mut carried[unknown]), 1.0);
                let eased = multiply(&passed, &eases[unknown]);
                if let (false, Some(next)) = (shifts, carried.get_mut(above as usize)) {
                    add_matrix(next, &eased, damped / ease);
                    add_matrix(next, moved, -1.0);
                }
                (links.passed[at], links.eased[at]) = (passed, eased);
            }
        }
        let mut shared = links.shared.iter();
        for (a, first) in goals.iter().enumerate() {
            for (b, second) in (a..).zip(&goals[a..]) {
                let shared = shared.next().map_or(0, |&shared| shared as usize);
                normal.set(a, b, &pair(links, first, second, shared), first.weight * second.weight);
            }
        }
    }

    /// Adds `by · J step` to `right`, with the weight of each goal.
    pub(super) fn add_moved(&self, by: f64, right: &mut [f64]) {
        for (goal, right) in self.goals.iter().zip(right.as_chunks_mut::<3>().0) {
            let range = goal.links.clone();
            let mut sum = [0.0; 3];
            for (&unknown, moved) in self.links.unknown[range.clone()].iter().zip(&self.links.moved[range]) {
                sum = add_scaled(sum, transform(moved, self.step[unknown as usize]), 1.0);
            }
            *right = add_scaled(*right, sum, goal.weight * by);
        }
    }

    /// Accumulates `Pᵀ λ` (weighted goal forces after elimination) into the forces on the unknowns.
    pub(super) fn add_forces(&mut self, forces: &[f64]) {
        for (goal, force) in self.goals.iter().zip(forces.as_chunks::<3>().0) {
            let range = goal.links.clone();
            let force = force.map(|v| v * goal.weight);
            for (&unknown, passed) in self.links.unknown[range.clone()].iter().zip(&self.links.passed[range])
            {
                let to = &mut self.forces[unknown as usize];
                *to = add_scaled(*to, transform_back(passed, force), 1.0);
            }
        }
    }

    /// Computes the regularisation force towards the input pose, and eliminates it from the leaves to the
    /// roots.
    pub(super) fn pull_back(&mut self, pull: f64) {
        let Self { unknowns, forces, back, eases, damped, .. } = self;
        forces.fill([0.0; 3]);
        for at in (0..unknowns.len()).rev() {
            let Unknown { ease, above, .. } = unknowns[at];
            let own = back[at].map(|v| v * (pull / ease));
            let all = add_scaled(forces[at], own, 1.0);
            forces[at] = all;
            if let Some(next) = forces.get_mut(above as usize) {
                let passed = transform(&eases[at], all);
                *next = sub(add_scaled(*next, passed, *damped / ease), own);
            }
        }
    }

    /// Computes the step by back substitution, from the roots to the leaves.
    pub(super) fn give_way(&mut self) {
        let Self { unknowns, forces, eases, step, turned, damped, .. } = self;
        for (at, unknown) in unknowns.iter().enumerate() {
            let above = turned.get(unknown.above as usize).copied().unwrap_or_default();
            let force = add_scaled(forces[at], above, *damped / unknown.ease);
            turned[at] = transform(&eases[at], force);
            step[at] = sub(turned[at], above);
        }
    }

    /// Computes the step of each unknown back to the input pose, in model space.
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

    /// Largest residual of a position and of an orientation among the goals with a weight, in sizes and
    /// radians.
    pub(super) fn worst(&self) -> [f64; 2] {
        let mut worst = [0.0_f64; 2];
        for (goal, error) in self.goals.iter().zip(&self.now.errors) {
            if goal.weight > 0.0 {
                let to = &mut worst[usize::from(matches!(goal.sought, Sought::Turn { .. }))];
                let residual = goal.residual(*error);
                // NaN counts as the largest.
                *to = if residual <= *to { *to } else { residual };
            }
        }
        worst
    }

    /// Whether all goals with a weight are met, within a fraction of the size.
    pub(super) fn is_met(&self, tolerance: f64) -> bool {
        let [distance, angle] = self.worst();
        distance <= tolerance && angle * TURN <= tolerance
    }
}

impl Row {
    /// Distance of the goal from where it was requested: in sizes, or in radians for orientations.
    pub(super) fn residual(&self, error: Vec64) -> f64 {
        length(add_scaled(error, self.beyond, 1.0))
    }
}

/// Returns the block of the normal equations for two goals: the sum over the unknowns that they share.
fn pair(links: &Links, first: &Row, second: &Row, shared: usize) -> Mat64 {
    let mut block = [[0.0; 3]; 3];
    let (from, to) = (first.links.start, second.links.start);
    if first.links.is_empty() || second.links.is_empty() {
        return block;
    }
    match (&first.sought, &second.sought) {
        // The links of a mass are all unknowns, in order.
        (Sought::Mass { .. }, _) => {
            for (at, &unknown) in second.links.clone().zip(&links.unknown[second.links.clone()]) {
                add_product(&mut block, &links.eased[from + unknown as usize], &links.passed[at]);
            }
        }
        (_, Sought::Mass { .. }) => {
            for (at, &unknown) in first.links.clone().zip(&links.unknown[first.links.clone()]) {
                add_product(&mut block, &links.passed[at], &links.eased[to + unknown as usize]);
            }
        }
        _ => {
            let passed = &links.passed[to..to + shared];
            for (a, b) in links.eased[from..from + shared].iter().zip(passed) {
                add_product(&mut block, a, b);
            }
        }
    }
    block
}

/// Adds `a bᵀ`.
fn add_product(to: &mut Mat64, a: &Mat64, b: &Mat64) {
    for (to, a) in to.iter_mut().zip(a) {
        for (to, b) in to.iter_mut().zip(b) {
            *to += dot(*a, *b);
        }
    }
}
