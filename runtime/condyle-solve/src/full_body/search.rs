//! The search: damped least squares by the method of Levenberg and Marquardt, from the input pose to one that
//! meets the goals.
//!
//! The step is the Gauss-Newton step for the squared errors `e` plus `pull` times the squared rotations. With
//! the Jacobian `J`, the stiffness `C` of the unknowns and the step `b` without goals, it is `b + C⁻¹ Jᵀ (J
//! C⁻¹ Jᵀ + 1)⁻¹ (e - J b)`. That matrix has the size of the goals, which are fewer than the joints.
//!
//! `C` holds the pull, the damping and, for goals out of reach, the stiffness that their pull gives the
//! bones. The latter is the term that Gauss-Newton lacks compared with Newton. Without it a stretched arm
//! takes hundreds of steps. Nocedal and Wright, *Numerical Optimization*, chapter 10; Nielsen 1999, *Damping
//! parameter in Marquardt's method*.
//!
//! The pull towards the input pose ends where goals are met to a thousandth of the size. Otherwise the
//! search for the smallest rotation zigzags between equally near poses. Of 300 bodies with 4 unreachable
//! goals, 3 were more than 0.1 mm from their end after 64 steps, without the stiffness 30; it takes 1.5
//! times the time. A step for 8 goals takes 8 µs. The f64 code is one copy for all instruction sets and both
//! modes.

use super::BodyOptions;
use super::buffer::{BodyBuffer, Sought, State, mean};
use super::rows::measure;
use super::tree::{above, add_scaled, length, place, shift_back, sub, transform, turned};
use crate::maps::across;
use condyle_base::math::scalar::sqrt_f64;
use condyle_base::math::vectors::{cross, dot};

/// Initial damping, as a multiple of the length of all errors. A smaller value takes fewer steps for near
/// goals, and more for far ones.
const START: f64 = 0.3;
/// A step with a gain below this, in sizes, counts as no progress. Two in a row end the search.
const STALL: f64 = 3e-7;
/// If the weighted sum of squared errors, in squared sizes, is below this, the regularisation is switched
/// off. Then the search finishes its approach instead of following the valley of poses that are equally near
/// to the goals.
const NEAR: f64 = 1e-6;
/// Maximum number of times that [`BodyBuffer::nudge`] bends straight limbs.
const NUDGES: u32 = 2;

/// Minimum ease of a joint in the first search, which uses only near joints.
const READY: f32 = 0.5;

impl BodyBuffer {
    /// Searches first with only the joints near the goals, which often suffice, then with all joints. If
    /// limits block that search, a last one uses the same ease for all joints. Returns the number of steps.
    pub(super) fn search_near_first(&mut self, options: &BodyOptions<'_>, tolerance: f64) -> u32 {
        let all = options.iterations;
        let up_to = |iterations: u32| BodyOptions { iterations, ..*options };
        let stiff = self.has_less_ready(options, READY);
        let mut done = 0;
        if options.shift.is_none() && stiff {
            self.take(options, READY);
            done = self.search(&up_to(all / 2), tolerance);
            if done > 0 && self.is_met(tolerance) {
                return done;
            }
        }
        let corners = options.limit.is_some() && options.ease.is_none() && stiff;
        if corners {
            self.restart();
        }
        self.take(options, 0.0);
        let left = all - done;
        done += self.search(&up_to(if corners { left / 2 } else { left }), tolerance);
        if corners && !self.is_met(tolerance) {
            self.restart();
            self.take_alike();
            done += self.search(&up_to(all - done), tolerance);
        }
        done
    }

    /// Runs at most `options.iterations` steps (accepted or rejected). Returns the number run.
    pub(super) fn search(&mut self, options: &BodyOptions<'_>, tolerance: f64) -> u32 {
        let mut pull = f64::from(options.pull);
        // Limits the pull on the stiffest joint to the requested one, and the others to less. Otherwise the
        // pull could keep goals from being met.
        pull *= self.unknowns.iter().fold(1.0, |least: f64, unknown| least.min(unknown.ease));
        self.keep_limits(options);
        self.measure_now(pull);
        self.best.cost = f64::INFINITY;
        let (mut damping, mut growth, mut stalls, mut nudges) = (START, 2.0, 0, 0);
        let mut fresh = true;
        let mut iteration = 0;
        while iteration < options.iterations && !self.is_met(tolerance) && !self.unknowns.is_empty() {
            iteration += 1;
            if self.now.missed < NEAR && pull > 0.0 {
                pull = 0.0;
                self.measure_now(pull);
            }
            if fresh {
                self.linearize();
                self.look_back();
            }
            self.damped = pull + damping * sqrt_f64(self.now.missed);
            let predicted = if self.find_step(pull) { self.predict(pull) } else { -1.0 };
            if predicted > 0.0 {
                self.take_step(options);
                self.measure_next(pull);
            }
            let gain = self.now.cost - self.next.cost;
            fresh = predicted > 0.0 && gain > 0.0;
            let done = if fresh {
                let slow = gain <= 2.0 * STALL * sqrt_f64(self.now.cost);
                stalls = if slow { stalls + 1 } else { 0 };
                core::mem::swap(&mut self.now, &mut self.next);
                // Nielsen's rule: the better the prediction, the more the damping falls.
                let quality = 2.0 * (gain / predicted).min(1.0) - 1.0;
                damping = (damping * (1.0 - quality * quality * quality).max(1.0 / 8.0)).max(1e-9);
                growth = 2.0;
                stalls == 2
            } else {
                let hopeless = (0.0..=1e-14 * self.now.cost).contains(&predicted);
                damping = damping.max(1e-4) * growth;
                growth *= 2.0;
                damping > 1e9 || hopeless
            };
            if done {
                if nudges == NUDGES || !self.nudge(options, tolerance) {
                    break;
                }
                self.measure_now(pull);
                (damping, growth, stalls, fresh) = (START, 2.0, 0, true);
                nudges += 1;
            }
        }
        if self.best.cost < self.now.cost {
            core::mem::swap(&mut self.now, &mut self.best);
        }
        iteration
    }

    /// Brings the turning joints within their limits.
    fn keep_limits(&mut self, options: &BodyOptions<'_>) {
        if options.limit.is_none() {
            return;
        }
        let Self { joints, unknowns, now: State { locals, placed, .. }, .. } = self;
        for unknown in unknowns.iter().filter(|unknown| !unknown.shifts) {
            let at = unknown.joint as usize;
            locals[at].rotation = options.limited(joints[at].joint, locals[at].rotation);
        }
        place(joints, locals, placed);
    }

    /// Bends straight limbs whose goal is on their line, in the direction of the root: there the gradient is
    /// zero. Returns whether there was such a limb.
    fn nudge(&mut self, options: &BodyOptions<'_>, tolerance: f64) -> bool {
        let Self { joints, unknowns, goals, shares, links, now, next, best, .. } = self;
        next.locals.copy_from_slice(&now.locals);
        let mut any = false;
        for (goal, error) in goals.iter().zip(&now.errors) {
            let tip = match &goal.sought {
                Sought::Point { joint, offset, .. } => {
                    let placed = &now.placed[*joint];
                    add_scaled(transform(&placed.axes, *offset), placed.at, 1.0)
                }
                Sought::Mass { shares: part, .. } => mean(&now.placed, &shares[part.clone()]),
                Sought::Turn { .. } => continue,
            };
            let long = length(*error);
            let straight = |&unknown: &u32| {
                let unknown = &unknowns[unknown as usize];
                let arm = sub(tip, now.placed[unknown.joint as usize].at);
                let most = long * length(arm);
                let turn = cross(arm, *error);
                !unknown.shifts && dot(arm, *error) < -0.5 * most && dot(turn, turn) < 1e-6 * most * most
            };
            let links = &links.unknown[goal.links.clone()];
            if long <= tolerance || links.iter().filter(|unknown| straight(unknown)).count() < 2 {
                continue;
            }
            any = true;
            let axis = across(*error);
            for (at, &unknown) in links.iter().filter(|unknown| straight(unknown)).enumerate() {
                let at_joint = unknowns[unknown as usize].joint as usize;
                let (joint, local) = (&joints[at_joint], &mut next.locals[at_joint]);
                let by = if at % 2 == 0 { 0.1 } else { -0.2 };
                let bent = turned(above(joint, &now.placed), axis.map(|v| v * by), local.rotation);
                local.rotation = options.limited(joint.joint, bent);
            }
        }
        if any {
            if now.cost < best.cost {
                best.copy(now);
            }
            core::mem::swap(now, next);
            place(joints, &now.locals, &mut now.placed);
        }
        any
    }

    /// Solves for the step. Returns false if the equations have no solution.
    pub(super) fn find_step(&mut self, pull: f64) -> bool {
        self.assemble(self.damped);
        if !self.normal.factor(1.0) {
            return false;
        }
        let mut right = core::mem::take(&mut self.right);
        for ((goal, error), right) in
            self.goals.iter().zip(&self.now.errors).zip(right.as_chunks_mut::<3>().0)
        {
            *right = error.map(|v| v * goal.weight);
        }
        self.pull_back(pull);
        self.give_way();
        self.add_moved(-1.0, &mut right);
        self.normal.solve(&mut right);
        self.add_forces(&right);
        self.give_way();
        self.right = right;
        self.step.as_flattened().iter().all(|v| v.is_finite())
    }

    /// Predicted decrease of the linearised cost.
    fn predict(&mut self, pull: f64) -> f64 {
        let mut right = core::mem::take(&mut self.right);
        right.fill(0.0);
        self.add_moved(1.0, &mut right);
        let mut fall = 0.0;
        for ((goal, error), moved) in self.goals.iter().zip(&self.now.errors).zip(right.as_chunks::<3>().0) {
            fall += 2.0 * goal.weight * dot(*error, *moved) - dot(*moved, *moved);
        }
        for ((unknown, step), z) in self.unknowns.iter().zip(&self.step).zip(&self.back) {
            fall += pull * (2.0 * dot(*z, *step) - dot(*step, *step)) / unknown.ease;
        }
        for (turned, tension) in self.turned.iter().zip(&self.tension) {
            fall -= dot(*turned, transform(tension, *turned));
        }
        self.right = right;
        fall
    }

    /// Computes the pose after the step.
    pub(super) fn take_step(&mut self, options: &BodyOptions<'_>) {
        let Self { joints, unknowns, now, next, step, .. } = self;
        next.locals.copy_from_slice(&now.locals);
        for (unknown, &step) in unknowns.iter().zip(&*step) {
            let at = unknown.joint as usize;
            let joint = &joints[at];
            let above = above(joint, &now.placed);
            let local = &mut next.locals[at];
            if unknown.shifts {
                local.translation = add_scaled(local.translation, shift_back(above, step), 1.0);
                continue;
            }
            local.rotation = options.limited(joint.joint, turned(above, step, local.rotation));
        }
    }

    fn measure_now(&mut self, pull: f64) {
        let Self { joints, unknowns, given, goals, shares, now, .. } = self;
        measure(joints, unknowns, given, goals, shares, pull, now);
    }

    fn measure_next(&mut self, pull: f64) {
        let Self { joints, unknowns, given, goals, shares, next, .. } = self;
        let State { locals, placed, .. } = next;
        place(joints, locals, placed);
        measure(joints, unknowns, given, goals, shares, pull, next);
    }
}
