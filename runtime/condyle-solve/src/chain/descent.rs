//! Cyclic coordinate descent: from the tip to the root, each joint in turn makes the rotation that is best on
//! its own. Wang and Chen, "A combined optimization method for solving the inverse kinematics problem of
//! mechanical manipulators", 1991.
//!
//! Placing each joint in model space would make a round quadratic in the number of joints. Instead, the goal
//! is first transformed from the root into the space of each joint. Then, from the tip back, each joint
//! turns and passes on the new place of the tip. Position, orientation and hinges share one formula: the
//! best rotation about the axis of the torque or of the hinge.

use super::nodes::{NO_TURN, Node, Row};
use crate::maps::{Vec64, add, direction, scaled, sub, turn, unit};
use condyle_base::math::quats::{Quat64, conjugate, product, rotate};
use condyle_base::math::scalar::sqrt_f64;
use condyle_base::math::vectors::{cross, dot};

/// Goal orientation in the space of the first node's parent, and the cost of a squared radian in square
/// metres.
#[derive(Clone, Copy)]
pub(crate) struct Wanted {
    pub(crate) orientation: Quat64,
    pub(crate) radius2: f64,
}

/// Runs one round. Returns the vector from the first pivot to the tip.
pub(crate) fn sweep(row: &mut Row<'_, '_>, step: f64, wanted: Option<Wanted>) -> Vec64 {
    row.pass_goal_on(wanted.map(|w| w.orientation));
    let (mut end, mut turned, even) = (row.tip, NO_TURN, row.even);
    let last = row.nodes.len() - 1;
    for (at, node) in row.nodes.iter_mut().enumerate().rev() {
        let carried = if at == last { end } else { node.carry.point(end) };
        let below = if wanted.is_some() { product(node.between, turned) } else { NO_TURN };
        let state = State { carried, below, wanted, even };
        let arm = state.improve(node, step);
        turned = if wanted.is_some() { product(node.rotation, below) } else { NO_TURN };
        end = add(arm, node.pivot);
    }
    row.nodes.first().map_or(end, |node| sub(end, node.pivot))
}

/// Maximum number of steps along a border, per joint and round.
const SLIDES: u32 = 5;

/// The part of the chain below a node, which is rigid while the node turns.
struct State {
    carried: Vec64,
    below: Quat64,
    wanted: Option<Wanted>,
    even: bool,
}

impl State {
    /// Half the squared errors of position and orientation, weighted.
    fn cost(&self, node: &Node<'_>, rotation: Quat64, arm: Vec64) -> f64 {
        let off = sub(arm, node.goal);
        let place = if self.even {
            0.5 * node.size2 * dot(off, off)
        } else {
            let off = node.to_model.vector(off);
            0.5 * dot(off, off)
        };
        // The angle's term is 1 - cos(angle), which is about half the squared angle for small angles.
        place + self.missing(node, rotation).map_or(0.0, |(d, weight)| weight * 2.0 * (1.0 - d[3] * d[3]))
    }

    /// The rotation from the tip's current to its goal orientation, and its weight.
    fn missing(&self, node: &Node<'_>, rotation: Quat64) -> Option<(Quat64, f64)> {
        let wanted = self.wanted?;
        let own = product(rotation, self.below);
        Some((product(node.orientation, conjugate(own)), wanted.radius2))
    }

    /// Turns the node. Returns the vector from its pivot to the tip.
    fn improve(&self, node: &mut Node<'_>, step: f64) -> Vec64 {
        let arm = rotate(node.rotation, self.carried);
        let Some(turned) = (if self.even { self.best(node, arm, step) } else { self.some(node, arm, step) })
        else {
            return arm;
        };
        let rotation = unit(product(turned, node.rotation));
        let Some(limit) = node.limit else {
            node.rotation = rotation;
            return rotate(rotation, self.carried);
        };
        let Some(nearest) = limit.clamp(rotation) else {
            node.rotation = rotation;
            return rotate(rotation, self.carried);
        };
        // A rotation cut by a limit may not be an improvement. Then also tries ever smaller steps along the
        // border.
        let before = self.cost(node, node.rotation, arm);
        let mut best = (before, node.rotation, arm);
        let mut judge = |rotation: Quat64| {
            let moved = rotate(rotation, self.carried);
            let cost = self.cost(node, rotation, moved);
            if cost < best.0 {
                best = (cost, rotation, moved);
            }
            cost < before
        };
        judge(nearest);
        if node.hinge.is_none() {
            let mut towards = self.slope(node, arm);
            for _ in 0..SLIDES {
                if judge(limit.slide(node.rotation, towards)) {
                    break;
                }
                towards = scaled(towards, 0.3);
            }
        }
        let (_, rotation, moved) = best;
        node.rotation = rotation;
        moved
    }

    /// Rotation vector to the minimum of a paraboloid of revolution that approximates the cost.
    fn slope(&self, node: &Node<'_>, arm: Vec64) -> Vec64 {
        let (mut torque, mut size) = if self.even {
            (scaled(cross(arm, node.goal), node.size2), node.size2 * dot(arm, arm))
        } else {
            let off = node.to_model.vector(sub(node.goal, arm));
            let size = node.to_model.vector(arm);
            (cross(arm, node.to_model.transposed(off)), dot(size, size))
        };
        if let Some((d, weight)) = self.missing(node, node.rotation) {
            torque = add(torque, scaled([d[0], d[1], d[2]], weight * 2.0 * d[3]));
            size += weight;
        }
        if size > 0.0 { scaled(torque, 1.0 / size) } else { [0.0; 3] }
    }

    /// Rotation about the axis of steepest descent, or about the axis of a hinge, that minimises the cost.
    /// For this angle `cos · cosine + sin · sine` is maximal.
    fn best(&self, node: &Node<'_>, arm: Vec64, step: f64) -> Option<Quat64> {
        let goal = node.goal;
        let mut torque = cross(arm, goal);
        let mut missing = None;
        if let Some((d, weight)) = self.missing(node, node.rotation) {
            let weight = weight / node.size2;
            torque = add(torque, scaled([d[0], d[1], d[2]], weight * 2.0 * d[3]));
            missing = Some((d, weight));
        }
        let axis = match node.hinge {
            Some(axis) => axis,
            None => direction(torque)?,
        };
        let sin = dot(axis, torque);
        let mut cos = dot(arm, goal) - dot(axis, arm) * dot(axis, goal);
        if let Some((d, weight)) = missing {
            let along = dot(axis, [d[0], d[1], d[2]]);
            cos += weight * (d[3] * d[3] - along * along);
        }
        // Interpolates linearly between the identity and the whole rotation.
        let [x, y, z, w] = turn(axis, sin, cos);
        if step == 1.0 {
            return Some([x, y, z, w]);
        }
        Some(unit([step * x, step * y, step * z, 1.0 - step + step * w]))
    }

    /// Rotation by a Gauss-Newton step, shortened until the cost falls. Used for non-uniform scales, under
    /// which the tip moves along an ellipse.
    fn some(&self, node: &Node<'_>, arm: Vec64, step: f64) -> Option<Quat64> {
        let off = node.to_model.vector(sub(node.goal, arm));
        let mut torque = cross(arm, node.to_model.transposed(off));
        let missing = self.missing(node, node.rotation);
        if let Some((d, weight)) = missing {
            torque = add(torque, scaled([d[0], d[1], d[2]], weight * 2.0 * d[3]));
        }
        let axis = match node.hinge {
            Some(axis) => axis,
            None => direction(torque)?,
        };
        let along = node.to_model.vector(cross(axis, arm));
        let mut size = dot(along, along);
        if let Some((d, weight)) = missing {
            let about = dot(axis, [d[0], d[1], d[2]]);
            size += weight * (d[3] * d[3] - about * about).max(0.1);
        }
        // Also returns for NaN.
        if size.is_nan() || size <= 0.0 {
            return None;
        }
        let before = self.cost(node, node.rotation, arm);
        let mut half = 0.5 * step * dot(axis, torque) / size;
        for _ in 0..6 {
            let by = 1.0 / sqrt_f64(1.0 + half * half);
            let [x, y, z] = scaled(axis, half * by);
            let turned = [x, y, z, by];
            let rotation = product(turned, node.rotation);
            if self.cost(node, rotation, rotate(turned, arm)) < before {
                return Some(turned);
            }
            half *= 0.25;
        }
        None
    }
}
