//! Evaluates constraints in f64. Source: *VRMC_node_constraint 1.0*, "Evaluation of rotations".
//!
//! `d` is the rest rotation of the constrained node, `s` that of its source, and `q` the current rotation of
//! the source. The target rotation depends on the kind:
//!
//! - Roll: `d` times a twist about the axis. The source's rotation from rest is `q s⁻¹`. The twist is taken
//!   from that rotation in the space of the constrained node: `d⁻¹ (q s⁻¹) d`.
//! - Aim: `r d`, in the space of the parent. `r` is the smallest rotation from the axis in the rest pose to
//!   the direction of the source. In world space this is the same rotation, except under a parent that
//!   mirrors or has a non-uniform scale. There the axis still points at the source.
//! - Rotation: `d s⁻¹ q`.
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

/// Two directions count as opposite if `|a + b|` is smaller than this.
const OPPOSITE: f64 = 1e-9;

impl Constraint {
    /// Rotates the constrained joint of a pose.
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
            // Without a direction, for example at a scale of 0, the joint keeps its rest rotation.
            Kind::Aim(axis) => self
                .direction(skeleton, pose)
                .map_or(rest, |direction| product(from_to(rotate(rest, axis), direction), rest)),
            Kind::Rotation => product(rest, product(conjugate(source_rest), now)),
        };
        let mut transform = pose.get(joint);
        transform.rotation = slerp(rest, target, self.weight).map(|c| c as f32);
        pose.set(joint, &transform);
    }

    /// Returns the direction from the constrained joint to its source, in the space of the parent.
    fn direction(&self, skeleton: &Skeleton, pose: &Pose) -> Option<Vector> {
        let place = |rows: &Rows| rows.map(|row| row[3]);
        let from = place(&model(skeleton, pose, self.joint));
        let to = place(&model(skeleton, pose, self.source));
        let apart = [to[0] - from[0], to[1] - from[1], to[2] - from[2]];
        let Some(parent) = skeleton.parent(self.joint) else { return normalized(apart) };
        let [a, b, c] = model(skeleton, pose, parent).map(|row| [row[0], row[1], row[2]]);
        // Applies the inverse of the parent's matrix without its length: the cofactors, times the sign of the
        // determinant.
        let (bc, ca, ab) = (cross(b, c), cross(c, a), cross(a, b));
        let sign = dot(a, bc).partial_cmp(&0.0).filter(|sign| sign.is_ne())?;
        let sign = if sign.is_gt() { 1.0 } else { -1.0 };
        let column = |i: usize| bc[i] * apart[0] + ca[i] * apart[1] + ab[i] * apart[2];
        normalized([0, 1, 2].map(|i| sign * column(i)))
    }
}

/// Returns the model matrix of a joint.
fn model(skeleton: &Skeleton, pose: &Pose, joint: u16) -> Rows {
    let local = |joint: u16| Transform64::from(pose.get(usize::from(joint))).to_rows();
    let above = std::iter::successors(skeleton.parent(joint), |&at| skeleton.parent(at));
    above.fold(local(joint), |rows, at| multiply(&local(at), &rows))
}

/// Returns the twist part of a rotation about an axis. The remaining part is the smallest rotation that moves
/// the axis. If that is half a turn, the twist is not defined and the identity is returned.
fn twist(q: Quat64, axis: Vector) -> Quat64 {
    let along = dot([q[0], q[1], q[2]], axis);
    let length = along.hypot(q[3]);
    if length < OPPOSITE {
        return [0.0, 0.0, 0.0, 1.0];
    }
    let [x, y, z] = axis.map(|c| c * along / length);
    [x, y, z, q[3] / length]
}

/// Returns the smallest rotation from one direction to another. For opposite directions, the axis is
/// arbitrary.
fn from_to(from: Vector, to: Vector) -> Quat64 {
    let sum = [from[0] + to[0], from[1] + to[1], from[2] + to[2]];
    let length = dot(sum, sum).sqrt();
    if length < OPPOSITE {
        let across = if from[0].abs() < 0.6 { [1.0, 0.0, 0.0] } else { [0.0, 1.0, 0.0] };
        let [x, y, z] = normalized(cross(from, across)).unwrap_or([0.0, 0.0, 1.0]);
        return [x, y, z, 0.0];
    }
    // The length of the sum is twice the cosine of half the angle.
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

/// Returns a pose's rotation at unit length; the identity if it cannot be normalised.
fn unit(q: [f32; 4]) -> Quat64 {
    let q = q.map(f64::from);
    let length = q.iter().map(|c| c * c).sum::<f64>().sqrt();
    if length > 0.0 && length.is_finite() { q.map(|c| c / length) } else { [0.0, 0.0, 0.0, 1.0] }
}

fn rotate(q: Quat64, [x, y, z]: Vector) -> Vector {
    let [x, y, z, _] = product(product(q, [x, y, z, 0.0]), conjugate(q));
    [x, y, z]
}

/// Returns the direction of a vector; `None` for zero or non-finite vectors.
fn normalized(v: Vector) -> Option<Vector> {
    let most = v.iter().fold(0.0_f64, |most, c| most.max(c.abs()));
    if !(most > 0.0 && v.iter().all(|c| c.is_finite())) {
        return None;
    }
    let v = v.map(|c| c / most);
    let length = dot(v, v).sqrt();
    Some(v.map(|c| c / length))
}
