//! The rotations that constraints give, in f64: *VRMC_node_constraint 1.0*, "Evaluation of rotations".
//!
//! With the rest rotation `d` of the constrained node, `s` of its source and the current rotation `q` of the
//! source, the target is
//! - roll: `d` times the twist about the axis in the source's turn `q s⁻¹`, in the space of the constrained
//!   node: `d⁻¹ (q s⁻¹) d`;
//! - aim: the smallest rotation that takes the axis at rest to the direction of the source, times `d`, in the
//!   space of the parent. In the world it is the same one, unless a parent is scaled unevenly or mirrors:
//!   there the axis still meets the source;
//! - rotation: `d s⁻¹ q`.
//!
//! The weight blends from `d` to the target by slerp, along the shorter arc. Translation and scale do not
//! change.

use condyle::math::Transform64;
use condyle::{Pose, Skeleton};
use condyle_base::math::quats::{Quat64, conjugate, product};
use condyle_base::math::vectors::{cross, dot};

use super::{Constraint, Kind};
use crate::rows::{Rows, multiply};

type Vector = [f64; 3];

/// Below this, two directions are taken as opposite: `|a + b|`.
const OPPOSITE: f64 = 1e-9;

impl Constraint {
    /// Turns the constrained joint of a pose of the skeleton.
    pub(crate) fn apply(&self, skeleton: &Skeleton, pose: &mut Pose) {
        let (joint, source) = (usize::from(self.joint), usize::from(self.source));
        let rest = unit(skeleton.rest().get(joint).rotation);
        let source_rest = unit(skeleton.rest().get(source).rotation);
        let now = unit(pose.get(source).rotation);
        let target = match self.kind {
            Kind::Roll(axis) => {
                let turn = product(now, conjugate(source_rest));
                product(rest, twist(product(conjugate(rest), product(turn, rest)), axis))
            }
            // Without a direction, as where a scale is 0, the joint stays at rest.
            Kind::Aim(axis) => self
                .direction(skeleton, pose)
                .map_or(rest, |direction| product(from_to(rotate(rest, axis), direction), rest)),
            Kind::Rotation => product(rest, product(conjugate(source_rest), now)),
        };
        let mut transform = pose.get(joint);
        transform.rotation = slerp(rest, target, self.weight).map(|c| c as f32);
        pose.set(joint, &transform);
    }

    /// The direction from the constrained joint to its source, in the space of the parent.
    fn direction(&self, skeleton: &Skeleton, pose: &Pose) -> Option<Vector> {
        let place = |rows: &Rows| rows.map(|row| row[3]);
        let from = place(&model(skeleton, pose, self.joint));
        let to = place(&model(skeleton, pose, self.source));
        let apart = [to[0] - from[0], to[1] - from[1], to[2] - from[2]];
        let Some(parent) = skeleton.parent(self.joint) else { return normalized(apart) };
        let [a, b, c] = model(skeleton, pose, parent).map(|row| [row[0], row[1], row[2]]);
        // By the inverse of the parent's matrix, without the length: cofactors, and the determinant's sign.
        let (bc, ca, ab) = (cross(b, c), cross(c, a), cross(a, b));
        let sign = dot(a, bc).partial_cmp(&0.0).filter(|sign| sign.is_ne())?;
        let sign = if sign.is_gt() { 1.0 } else { -1.0 };
        let column = |i: usize| bc[i] * apart[0] + ca[i] * apart[1] + ab[i] * apart[2];
        normalized([0, 1, 2].map(|i| sign * column(i)))
    }
}

/// The model matrix of a joint.
fn model(skeleton: &Skeleton, pose: &Pose, joint: u16) -> Rows {
    let local = |joint: u16| Transform64::from(pose.get(usize::from(joint))).to_rows();
    let above = std::iter::successors(skeleton.parent(joint), |&at| skeleton.parent(at));
    above.fold(local(joint), |rows, at| multiply(&local(at), &rows))
}

/// The part of a rotation that turns about an axis. The remaining part is the smallest rotation that turns the
/// axis. If that is half a turn, there is no twist, because every twist is as good.
fn twist(q: Quat64, axis: Vector) -> Quat64 {
    let along = dot([q[0], q[1], q[2]], axis);
    let length = along.hypot(q[3]);
    if length < OPPOSITE {
        return [0.0, 0.0, 0.0, 1.0];
    }
    let [x, y, z] = axis.map(|c| c * along / length);
    [x, y, z, q[3] / length]
}

/// The smallest rotation from one direction to another. Between opposite ones, about any axis.
fn from_to(from: Vector, to: Vector) -> Quat64 {
    let sum = [from[0] + to[0], from[1] + to[1], from[2] + to[2]];
    let length = dot(sum, sum).sqrt();
    if length < OPPOSITE {
        let across = if from[0].abs() < 0.6 { [1.0, 0.0, 0.0] } else { [0.0, 1.0, 0.0] };
        let [x, y, z] = normalized(cross(from, across)).unwrap_or([0.0, 0.0, 1.0]);
        return [x, y, z, 0.0];
    }
    // The sum is twice the cosine of half the angle long.
    let [x, y, z] = cross(from, to).map(|c| c / length);
    [x, y, z, length / 2.0]
}

fn slerp(from: Quat64, to: Quat64, weight: f64) -> Quat64 {
    let cosine: f64 = from.iter().zip(to).map(|(a, b)| a * b).sum();
    let to = if cosine < 0.0 { to.map(|c| -c) } else { to };
    let length = |q: [f64; 4]| q.iter().map(|c| c * c).sum::<f64>().sqrt();
    let both = |combine: fn(f64, f64) -> f64| length(std::array::from_fn(|i| combine(from[i], to[i])));
    let angle = 2.0 * both(|a, b| a - b).atan2(both(|a, b| a + b));
    let (a, b) = match angle.sin() {
        sine if sine > 1e-9 => (((1.0 - weight) * angle).sin() / sine, (weight * angle).sin() / sine),
        _ => (1.0 - weight, weight),
    };
    let mixed = std::array::from_fn(|i| a * from[i] + b * to[i]);
    let size = length(mixed);
    mixed.map(|c| c / size)
}

/// A rotation of a pose with unit length; none where it has no length.
fn unit(q: [f32; 4]) -> Quat64 {
    let q = q.map(f64::from);
    let length = q.iter().map(|c| c * c).sum::<f64>().sqrt();
    if length > 0.0 && length.is_finite() { q.map(|c| c / length) } else { [0.0, 0.0, 0.0, 1.0] }
}

fn rotate(q: Quat64, [x, y, z]: Vector) -> Vector {
    let [x, y, z, _] = product(product(q, [x, y, z, 0.0]), conjugate(q));
    [x, y, z]
}

/// The direction of a vector, if it has one.
fn normalized(v: Vector) -> Option<Vector> {
    let most = v.iter().fold(0.0_f64, |most, c| most.max(c.abs()));
    if !(most > 0.0 && v.iter().all(|c| c.is_finite())) {
        return None;
    }
    let v = v.map(|c| c / most);
    let length = dot(v, v).sqrt();
    Some(v.map(|c| c / length))
}
