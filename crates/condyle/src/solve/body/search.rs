//! From the given pose to one that meets the goals: damped least squares, as Levenberg and Marquardt have it.
//!
//! With `J` for how the goals move with the unknowns, `D` for how easily these give way, `e` for the errors and `z` for the way back to the
//! given pose, a step is `β z + D Jᵀ (J D Jᵀ + (pull + damping) 1)⁻¹ (e - β J z)`, `β` being the pull's part of both. Without damping this is the
//! step of Gauss and Newton for the sum of squared errors and of the pull times the squares of what was turned; written with a matrix of the
//! goals' size, as there are fewer of them than of joints. Nocedal and Wright, *Numerical Optimization*, chapter 10.

use super::BodyOptions;
use super::buffer::{BodyBuffer, State};
use super::rows::measure;
use super::tree::{Vec64, above, add_scaled, length, place, shift_back, turned, unit};
use crate::math::scalar::sqrt_f64;
use crate::math::vectors::dot;

/// How much of an error, in sizes, a step tries to make good: beyond that it is more of the direction that it tells.
const STRIDE: f64 = 1.0;

pub(super) struct Tuning {
    pub(super) start: f64,
    pub(super) stall: f64,
}

impl BodyBuffer {
    /// Goes through at most so many steps, taken or not, and returns how many it were.
    pub(super) fn search(&mut self, options: &BodyOptions<'_>, tolerance: f64, tuning: &Tuning) -> u32 {
        let pull = f64::from(options.pull);
        let mut damping = tuning.start;
        let mut growth = 2.0;
        let mut stalls = 0;
        let mut fresh = true;
        self.measure_now(pull);
        for iteration in 0..options.iterations {
            if self.is_met(tolerance) || self.unknowns.is_empty() {
                return iteration;
            }
            if fresh {
                self.linearize();
                self.look_back();
            }
            let missed = sqrt_f64(self.now.missed).min(1.0);
            let damped = damping * missed * self.normal.mean();
            let predicted = if self.find_step(pull, damped) { self.predict(pull) } else { -1.0 };
            if predicted > 0.0 {
                self.take_step(options);
                self.measure_next(pull);
            }
            let gain = self.now.cost - self.next.cost;
            if predicted > 0.0 && gain > 0.0 {
                let slow = gain <= tuning.stall * self.now.cost;
                core::mem::swap(&mut self.now, &mut self.next);
                fresh = true;
                stalls = if slow { stalls + 1 } else { 0 };
                if stalls == 2 {
                    return iteration + 1;
                }
                let quality = 2.0 * (gain / predicted).min(1.0) - 1.0;
                damping *= (1.0 - quality * quality * quality).max(1.0 / 8.0);
                damping = damping.max(1e-9);
                growth = 2.0;
            } else {
                fresh = false;
                damping = damping.max(1e-4) * growth;
                growth *= 2.0;
                if damping > 1e9 || predicted <= 1e-14 * self.now.cost {
                    return iteration + 1;
                }
            }
        }
        options.iterations
    }

    /// Solves for the step; false where the equations have no solution.
    fn find_step(&mut self, pull: f64, damped: f64) -> bool {
        if !self.normal.factor(pull + damped) {
            return false;
        }
        let back = if pull > 0.0 { pull / (pull + damped) } else { 0.0 };
        let mut right = core::mem::take(&mut self.right);
        for ((goal, error), right) in
            self.goals.iter().zip(&self.now.errors).zip(right.as_chunks_mut::<3>().0)
        {
            let long = length(*error);
            let by = if long > STRIDE { STRIDE / long } else { 1.0 };
            *right = error.map(|v| v * goal.weight * by);
        }
        if back > 0.0 {
            self.add_moved(&self.back, -back, &mut right);
        }
        self.normal.solve(&mut right);
        for (step, z) in self.step.iter_mut().zip(&self.back) {
            *step = z.map(|v| v * back);
        }
        self.add_forced(&right);
        self.right = right;
        self.step.as_flattened().iter().all(|v| v.is_finite())
    }

    /// By how much the cost falls if all is as straight as the equations say.
    fn predict(&mut self, pull: f64) -> f64 {
        let mut right = core::mem::take(&mut self.right);
        right.fill(0.0);
        self.add_moved(&self.step, 1.0, &mut right);
        let mut fall = 0.0;
        for ((goal, error), moved) in self.goals.iter().zip(&self.now.errors).zip(right.as_chunks::<3>().0) {
            fall += 2.0 * goal.weight * dot(*error, *moved) - dot(*moved, *moved);
        }
        for ((unknown, step), z) in self.unknowns.iter().zip(&self.step).zip(&self.back) {
            fall += pull * (2.0 * dot(*z, *step) - dot(*step, *step)) / unknown.ease;
        }
        self.right = right;
        fall
    }

    /// Writes the pose that the step leads to.
    fn take_step(&mut self, options: &BodyOptions<'_>) {
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
            local.rotation = turned(above, step, local.rotation);
            if let Some(limit) = options.limit {
                let allowed = limit(joint.joint, local.rotation.map(|v| v as f32)).map(f64::from);
                if allowed.iter().all(|v| v.is_finite()) {
                    local.rotation = unit(allowed);
                }
            }
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

    /// The largest component of the last step.
    #[cfg(test)]
    pub(super) fn largest_step(&self) -> f64 {
        self.step.iter().map(|v: &Vec64| length(*v)).fold(0.0, f64::max)
    }
}
