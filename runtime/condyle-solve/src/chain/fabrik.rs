//! Forward and backward reaching. The backward pass places the bones from the goal back to the root, and
//! ignores the position of the root. The forward pass then turns the joints towards these bones, root first.
//! Aristidou and Lasenby, "FABRIK: a fast, iterative solver for the inverse kinematics problem", 2011.
//!
//! Both passes use full rotations, not only positions. In the backward pass, a limit constrains a bone
//! relative to the one after it, and a goal orientation fixes the last bone. The forward pass rotates the
//! joints themselves, so limits, hinges and scales are exact.

use super::descent::Wanted;
use super::nodes::{NO_TURN, Row};
use crate::maps::{Affine64, Vec64, arc, scaled, sub, turn, unit};
use condyle_base::math::quats::{Quat64, conjugate, product, rotate, rows};
use condyle_base::math::vectors::{cross, dot};

/// A bone in the space of the first node's parent.
#[derive(Clone, Copy)]
pub(super) struct Bone {
    /// Vector from the bone's joint to the bone's end.
    way: Vec64,
    end: Vec64,
    /// Product of the rotations of the bone's joint and all joints before it.
    turned: Quat64,
}

impl Bone {
    pub(super) const NEW: Self = Self { way: [0.0; 3], end: [0.0; 3], turned: NO_TURN };
}

/// Runs one round, with one bone per node. Returns the vector from the first pivot to the tip.
pub(crate) fn sweep(row: &mut Row<'_, '_>, wanted: Option<Wanted>, bones: &mut [Bone]) -> Vec64 {
    place(row, bones);
    draw(row, wanted.map(|wanted| wanted.orientation), bones);
    follow(row, wanted.map(|wanted| wanted.orientation), bones)
}

/// Computes the current bones.
fn place(row: &Row<'_, '_>, bones: &mut [Bone]) {
    let (mut outer, mut turned) = (Affine64::IDENTITY, NO_TURN);
    for (at, (node, bone)) in row.nodes.iter().zip(bones).enumerate() {
        let own = outer.after(&Affine64 { linear: rows(node.rotation), origin: node.pivot });
        turned = product(turned, node.rotation);
        let way = row.bone(at);
        *bone = Bone { way: own.vector(way), end: own.point(way), turned };
        outer = own.after(&node.carry);
        turned = product(turned, node.between);
    }
}

/// Backward pass: each bone keeps its length and ends where the next one begins.
fn draw(row: &Row<'_, '_>, wanted: Option<Quat64>, bones: &mut [Bone]) {
    let mut end = row.goal;
    let mut next: Option<Quat64> = None;
    for (at, (node, bone)) in row.nodes.iter().zip(bones).enumerate().rev() {
        let was = bone.turned;
        bone.turned = match (next, wanted) {
            (None, Some(wanted)) => product(wanted, conjugate(node.between)),
            _ => {
                let start = sub(bone.end, bone.way);
                product(arc(bone.way, sub(end, start)), was)
            }
        };
        // If the next joint would exceed its limit, this bone turns instead of the next one.
        if let (Some(next), Some(limit)) = (next, row.nodes.get(at + 1).and_then(|next| next.limit)) {
            let own = product(conjugate(product(bone.turned, node.between)), next);
            if let Some(nearest) = limit.clamp(own) {
                bone.turned = product(product(next, conjugate(nearest)), conjugate(node.between));
            }
        }
        bone.turned = unit(bone.turned);
        // Rotates rigidly, which is inexact for non-uniform scales. The forward pass is exact.
        bone.way = rotate(product(bone.turned, conjugate(was)), bone.way);
        bone.end = end;
        end = sub(end, bone.way);
        next = Some(bone.turned);
    }
}

/// Forward pass: each joint turns its bone towards the end that the backward pass gave it.
fn follow(row: &mut Row<'_, '_>, wanted: Option<Quat64>, bones: &[Bone]) -> Vec64 {
    let (mut back, mut wanted) = (Affine64::IDENTITY, wanted);
    let last = bones.len() - 1;
    for (at, drawn) in bones.iter().enumerate() {
        let own = row.bone(at);
        let node = &mut row.nodes[at];
        let bone = rotate(node.rotation, own);
        let to = sub(back.point(drawn.end), node.pivot);
        node.rotation = match (wanted, node.hinge) {
            (Some(wanted), _) if at == last => product(wanted, conjugate(node.between)),
            (_, None) => product(arc(bone, to), node.rotation),
            (_, Some(axis)) => {
                let (sin, cos) =
                    (dot(axis, cross(bone, to)), dot(bone, to) - dot(axis, bone) * dot(axis, to));
                product(turn(axis, sin, cos), node.rotation)
            }
        };
        node.rotation = unit(node.rotation);
        if let Some(nearest) = node.limit.and_then(|limit| limit.clamp(node.rotation)) {
            node.rotation = nearest;
        }
        let undo = conjugate(node.rotation);
        let local = Affine64 { linear: rows(undo), origin: scaled(rotate(undo, node.pivot), -1.0) };
        back = node.back.after(&local.after(&back));
        wanted = wanted.map(|wanted| product(conjugate(node.between), product(undo, wanted)));
    }
    row.arm()
}
