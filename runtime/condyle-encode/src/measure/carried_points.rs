//! Points that each joint must move to their authored positions.

use alloc::vec;
use alloc::vec::Vec;

use crate::measure::algebra::{Affine64, Vector, length, sub, turned};
use crate::measure::ball::Ball;
use crate::measure::budget::{BudgetFractions, STATIC_THRESHOLD};
use crate::measure::joint_facts::JointFacts;
use condyle_base::math::Transform64;

/// Maximum number of points that a static joint passes to its parent: the outermost in this many directions.
/// Six, along the axes alone: targets equal, defaults +0.2 %; 26: targets less than 0.1 % smaller.
const MAX_CARRIED_POINTS: usize = 14;
/// Fraction of the limits for points that are passed on, because the points between them are not checked.
/// 0.94: targets +0.7 %, defaults +0.6 %; 1: +0.4 % and +0.9 %.
const CARRIED_LIMIT: f64 = 0.97;
/// Number of static joints that reduce the limit of a point. With all of them, a chain of 50 would leave a
/// fifth of the budget.
const MAX_REDUCTIONS: u8 = 3;

/// Point or ball in joint space, and its maximum displacement in model space.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct CarriedPoint {
    pub(crate) ball: Ball,
    pub(crate) limit: f64,
    /// Number of times that `limit` was reduced by [`CARRIED_LIMIT`].
    reductions: u8,
}

impl CarriedPoint {
    pub(crate) fn new(ball: Ball, limit: f64) -> Self {
        Self { ball, limit, reductions: 0 }
    }

    /// Returns the point in the space of the parent, to which a static joint passes it.
    fn carried(self, local: &Affine64) -> Self {
        let ball = self.ball.moved(local);
        match self.reductions {
            MAX_REDUCTIONS => Self { ball, ..self },
            reductions => Self { ball, limit: self.limit * CARRIED_LIMIT, reductions: reductions + 1 },
        }
    }
}

/// Points of each joint: its shell, the outermost points of its static children, and the origins of its
/// moving children.
pub(crate) struct CarriedPoints<'a> {
    joints: &'a [JointFacts],
    /// Authored local transforms, per joint and moment.
    source: &'a [Vec<Transform64>],
    /// Authored model matrices, per joint and moment.
    model: &'a [Vec<Affine64>],
    points: Vec<Vec<CarriedPoint>>,
    /// Points that each joint passes to its parent.
    passed: Vec<Vec<CarriedPoint>>,
    /// Whether the parent of each joint moves the joint's points to their positions.
    is_static: Vec<bool>,
    children: Vec<Vec<usize>>,
}

impl<'a> CarriedPoints<'a> {
    pub(crate) fn new(
        joints: &'a [JointFacts],
        source: &'a [Vec<Transform64>],
        model: &'a [Vec<Affine64>],
        fractions: &[BudgetFractions],
    ) -> Self {
        let count = joints.len();
        let mut children = vec![Vec::new(); count];
        for (index, joint) in joints.iter().enumerate() {
            if let Some(parent) = joint.parent {
                children[parent].push(index);
            }
        }
        let (points, passed) = (vec![Vec::new(); count], vec![Vec::new(); count]);
        let mut carried =
            Self { joints, source, model, points, passed, is_static: vec![false; count], children };
        for index in (0..count).rev() {
            carried.collect(index);
            carried.pass(&fractions[index], index);
        }
        carried
    }

    pub(crate) fn of(&self, joint: usize) -> &[CarriedPoint] {
        &self.points[joint]
    }

    pub(crate) fn is_static(&self, joint: usize) -> bool {
        self.is_static[joint]
    }

    pub(crate) fn children(&self, joint: usize) -> &[usize] {
        &self.children[joint]
    }

    /// Updates the points that a joint passes to its parent. Returns whether they have changed.
    pub(crate) fn update(&mut self, fractions: &BudgetFractions, joint: usize) -> bool {
        let before = core::mem::take(&mut self.passed[joint]);
        self.pass(fractions, joint);
        let has_changed = self.passed[joint] != before;
        if let Some(parent) = self.joints[joint].parent.filter(|_| has_changed) {
            self.collect(parent);
        }
        has_changed
    }

    /// Collects the points of a joint from its children and its shell.
    fn collect(&mut self, index: usize) {
        let joint = &self.joints[index];
        let own = joint.shell.iter().map(|&ball| CarriedPoint::new(ball, joint.budget));
        let passed = self.children[index].iter().rev().flat_map(|&child| &self.passed[child]).copied();
        self.points[index] = passed.chain(own).collect();
    }

    /// Finds the points that a joint passes to its parent, and whether it is static.
    fn pass(&mut self, fractions: &BudgetFractions, index: usize) {
        let (joint, source, model) = (&self.joints[index], &self.source[index], self.model);
        let points = &self.points[index];
        let middle = source[source.len() / 2];
        let Some(parent) = joint.parent else { return };
        let outer = model[parent][source.len() / 2].reach();
        let reach = reach(points, &model[index][source.len() / 2]);
        let shift = |local: &Transform64| length(sub(local.translation, middle.translation)) * outer;
        let moves = |local: &Transform64| {
            let stretched = length(sub(local.scale, middle.scale)) * reach;
            turned(middle.rotation, local.rotation) * reach + shift(local) + stretched
        };
        let threshold = joint.budget * STATIC_THRESHOLD;
        let is_kept = joint.fallback.iter().any(|&fallback| fallback);
        self.is_static[index] = !is_kept && source.iter().all(|local| moves(local) < threshold);
        if self.is_static[index] {
            let matrix = Affine64::local(&middle);
            let mut carried: Vec<CarriedPoint> = points.iter().map(|point| point.carried(&matrix)).collect();
            outermost(&mut carried);
            self.passed[index] = carried;
            return;
        }
        let mut passed = Vec::new();
        if source.iter().all(|local| shift(local) < threshold) {
            let ball = Ball::point(middle.translation);
            passed.push(CarriedPoint::new(ball, joint.budget * fractions.place));
        }
        if let Some(swing) = fractions.swing {
            for axis in 0..3 {
                let mut local = middle.translation;
                local[axis] += reach / outer.max(f64::MIN_POSITIVE);
                passed.push(CarriedPoint::new(Ball::point(local), joint.budget * swing));
            }
        }
        self.passed[index] = passed;
    }
}

/// Keeps the outermost points.
fn outermost(points: &mut Vec<CarriedPoint>) {
    if points.len() <= MAX_CARRIED_POINTS {
        return;
    }
    let mut kept: Vec<usize> = Vec::with_capacity(MAX_CARRIED_POINTS);
    for direction in 0..MAX_CARRIED_POINTS {
        // Directions along the axes, then along the diagonals, both ways.
        let d: Vector = match direction {
            0..6 => core::array::from_fn(|c| match (c == direction / 2, direction % 2) {
                (true, 0) => 1.0,
                (true, _) => -1.0,
                _ => 0.0,
            }),
            _ => core::array::from_fn(|c| if (direction - 6) >> c & 1 == 0 { 1.0 } else { -1.0 }),
        };
        // Points with tighter limits count as farther out.
        let far = |at: usize| points[at].ball.along(d) / points[at].limit;
        let best = (0..points.len()).fold(0, |best, at| if far(at) > far(best) { at } else { best });
        if !kept.contains(&best) {
            kept.push(best);
        }
    }
    kept.sort_unstable();
    *points = kept.into_iter().map(|at| points[at]).collect();
}

/// Distance of the outermost point from the joint, in model space.
pub(crate) fn reach(points: &[CarriedPoint], model: &Affine64) -> f64 {
    points.iter().map(|point| point.ball.reach(&model.linear)).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn static_joints_keep_most_of_the_budget() {
        let local = Affine64::local(&Transform64::IDENTITY);
        let point =
            (0..1000).fold(CarriedPoint::new(Ball::point([1.0; 3]), 1e-3), |point, _| point.carried(&local));
        assert!(point.limit > 0.9e-3, "{point:?}");
    }
}
