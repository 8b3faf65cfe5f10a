//! The turning joints of a chain, each with the rigid part up to the next one.

use crate::limits::{Limit, Limits};
use crate::maps::{Above, Affine64, Vec64, across, add, length, rotation_of, scaled, sub, unit, wide};
use condyle::pose::Pose;
use condyle::skeleton::Skeleton;
use condyle_base::error::Error;
use condyle_base::math::Transform;
use condyle_base::math::quats::{Quat64, conjugate, product, rotate};
use condyle_base::math::scalar::sqrt_f64;

/// A turning joint.
#[derive(Clone, Copy)]
pub(crate) struct Node<'a> {
    pub(crate) rotation: Quat64,
    /// Rotation of the best solution so far.
    pub(crate) best: Quat64,
    /// Rotation in the straight chain.
    pub(crate) straight: Quat64,
    /// Position in the space of the joint's parent.
    pub(crate) pivot: Vec64,
    /// Map from the space of the next node's parent to the space that this node rotates, and its inverse.
    pub(crate) carry: Affine64,
    pub(crate) back: Affine64,
    /// Whether `carry` is a pure translation.
    pub(crate) plain: bool,
    /// Product of the rotations of the joints between this node and the next.
    pub(crate) between: Quat64,
    pub(crate) limit: Option<&'a Limit>,
    /// Axis of a hinge, in the space of the joint's parent.
    pub(crate) hinge: Option<Vec64>,
    /// Squared scale from the space of the joint's parent to model space.
    pub(crate) size2: f64,
    /// Map from the space of the joint's parent to model space. Only set if scales are non-uniform.
    pub(crate) to_model: Affine64,
    /// Goal relative to the pivot, in the space of the joint's parent, and the goal orientation there.
    pub(crate) goal: Vec64,
    pub(crate) orientation: Quat64,
}

pub(crate) const NO_TURN: Quat64 = [0.0, 0.0, 0.0, 1.0];

impl Node<'_> {
    pub(crate) const NEW: Self = Self {
        rotation: NO_TURN,
        best: NO_TURN,
        straight: NO_TURN,
        pivot: [0.0; 3],
        carry: Affine64::IDENTITY,
        back: Affine64::IDENTITY,
        plain: false,
        between: NO_TURN,
        limit: None,
        hinge: None,
        size2: 1.0,
        to_model: Affine64::IDENTITY,
        goal: [0.0; 3],
        orientation: NO_TURN,
    };
}

/// Returns the map from the space of the parent of `end`, a descendant of `joint`, to the space that `joint`
/// rotates. Also returns the product of the rotations in between, and whether all scales are uniform. `None`
/// if `end` is not a descendant.
#[inline]
pub(crate) fn carried(
    skeleton: &Skeleton,
    pose: &Pose,
    joint: u16,
    end: u16,
) -> Option<(Affine64, Quat64, bool)> {
    let (mut map, mut turned, mut even) = (None, NO_TURN, true);
    let mut at = skeleton.parent(end)?;
    while at != joint {
        let local = pose.get(at.into());
        let own = Affine64::local(&local.into());
        map = Some(map.map_or(own, |map| own.after(&map)));
        turned = product(wide(local.rotation), turned);
        even &= is_even(&local);
        at = skeleton.parent(at)?;
    }
    let local = pose.get(joint.into());
    let scale = Affine64::scale(local.scale.map(f64::from));
    Some((map.map_or(scale, |map| scale.after(&map)), turned, even && is_even(&local)))
}

fn is_even(t: &Transform) -> bool {
    let [x, y, z] = t.scale.map(f32::abs);
    x == y && y == z
}

/// The problem to solve: nodes, starting next to the root, and a tip.
pub(crate) struct Row<'n, 'a> {
    pub(crate) nodes: &'n mut [Node<'a>],
    /// Position in the space that the last node rotates.
    pub(crate) tip: Vec64,
    pub(crate) to_model: Affine64,
    /// Position in the space of the first node's parent.
    pub(crate) goal: Vec64,
    /// Whether all scales are uniform.
    pub(crate) even: bool,
    /// Whether all scales among the joints are uniform. Then bones keep their lengths in the space of the
    /// first node's parent.
    pub(crate) even_below: bool,
}

/// End effector of a chain.
#[derive(Clone, Copy)]
pub(crate) struct Tip {
    pub(crate) joint: u16,
    /// Position in the joint's local space.
    pub(crate) offset: Vec64,
}

impl<'n, 'a> Row<'n, 'a> {
    /// Fills the nodes of the given joints. The last of them is the tip's joint or an ancestor of it.
    pub(crate) fn new(
        skeleton: &Skeleton,
        above: &Above,
        pose: &Pose,
        joints: impl ExactSizeIterator<Item = u16> + Clone,
        tip: Tip,
        limits: Option<&'a Limits>,
        nodes: &'n mut [Node<'a>],
    ) -> Result<Self, Error> {
        let mut even = true;
        let count = joints.len();
        let next = joints.clone().skip(1).map(Some).chain([None]);
        let Tip { joint: tip, offset } = tip;
        let mut end = offset;
        for (at, ((joint, next), node)) in joints.zip(next).zip(nodes.iter_mut()).enumerate() {
            let local = pose.get(joint.into());
            let hangs = || Error::OutOfRange {
                what: "joints",
                at: at + 1,
                needed: "a descendant of the joint before it",
            };
            let (carry, between, evenly) = match next {
                Some(next) => carried(skeleton, pose, joint, next).ok_or_else(hangs)?,
                None if joint == tip => (Affine64::scale(local.scale.map(f64::from)), NO_TURN, true),
                None => {
                    let (map, turned, even) =
                        carried(skeleton, pose, joint, tip).ok_or(Error::OutOfRange {
                            what: "tip",
                            at: 0,
                            needed: "the last of the joints or a descendant of it",
                        })?;
                    let own = pose.get(tip.into());
                    (map.after(&Affine64::local(&own.into())), product(turned, wide(own.rotation)), even)
                }
            };
            even &= evenly;
            let back = if at + 1 == count {
                end = carry.point(offset);
                Affine64::IDENTITY
            } else {
                carry.inverse().ok_or(Error::NotInvertible { what: "pose", at: joint.into() })?
            };
            let rotation = unit(rotation_of(pose, joint)?);
            let limit = limits.and_then(|limits| limits.limit(joint));
            *node = Node {
                rotation,
                best: rotation,
                pivot: local.translation.map(f64::from),
                carry,
                back,
                plain: carry.linear == Affine64::IDENTITY.linear,
                between,
                limit,
                hinge: limit.and_then(Limit::hinge),
                ..Node::NEW
            };
        }
        let (to_model, even_below) = (above.to_model, even);
        Ok(Self { nodes, tip: end, to_model, goal: [0.0; 3], even: even && to_model.is_even(), even_below })
    }

    /// Sets the goal, and the scale of each node's space.
    pub(crate) fn aim_at(&mut self, goal: Vec64) {
        self.goal = goal;
        let column = |m: &Affine64| {
            let [a, b, c] = m.linear;
            a[0] * a[0] + b[0] * b[0] + c[0] * c[0]
        };
        let mut size2 = column(&self.to_model);
        for node in self.nodes.iter_mut() {
            node.size2 = size2;
            size2 *= column(&node.carry);
        }
    }

    /// Brings every node within its limit.
    pub(crate) fn clamp(&mut self) {
        for node in self.nodes.iter_mut() {
            if let Some(nearest) = node.limit.and_then(|limit| limit.clamp(node.rotation)) {
                node.rotation = nearest;
            }
        }
    }

    /// Brings every node within its limit with hard borders. Use it for rotations that were within limits
    /// before blending, so that soft borders are not applied twice.
    pub(crate) fn hold(&mut self) {
        for node in self.nodes.iter_mut() {
            if let Some(nearest) = node.limit.and_then(|limit| limit.hold(node.rotation)) {
                node.rotation = nearest;
            }
        }
    }

    /// Vector from the pivot of the first node to the tip, in the space of its parent.
    pub(crate) fn arm(&self) -> Vec64 {
        let mut end = self.tip;
        let mut nodes = self.nodes.iter().rev();
        if let Some(node) = nodes.next() {
            end = add(rotate(node.rotation, end), node.pivot);
        }
        for node in nodes {
            end = add(rotate(node.rotation, node.carry.point(end)), node.pivot);
        }
        self.nodes.first().map_or(end, |node| sub(end, node.pivot))
    }

    /// Distance of the tip from the goal in model space, for the vector from the first pivot to the tip.
    pub(crate) fn distance(&self, arm: Vec64) -> f64 {
        let pivot = self.nodes.first().map_or([0.0; 3], |node| node.pivot);
        length(self.to_model.vector(sub(add(pivot, arm), self.goal)))
    }

    /// Product of the rotations of all nodes and of the joints between them.
    pub(crate) fn turned(&self) -> Quat64 {
        self.nodes.iter().fold(NO_TURN, |turned, node| product(turned, product(node.rotation, node.between)))
    }

    /// Sum of the lengths of all bones in model space, from the first pivot to the tip. Requires uniform
    /// scales.
    pub(crate) fn reach(&self) -> f64 {
        (0..self.nodes.len()).map(|at| length(self.bone(at)) * sqrt_f64(self.nodes[at].size2)).sum()
    }

    /// Vector from a node's pivot to that of the next one or to the tip, in the space that the node rotates.
    pub(crate) fn bone(&self, at: usize) -> Vec64 {
        self.nodes.get(at + 1).map_or(self.tip, |next| self.nodes[at].carry.point(next.pivot))
    }

    pub(crate) fn keep(&mut self) {
        self.nodes.iter_mut().for_each(|node| node.best = node.rotation);
    }

    pub(crate) fn restore(&mut self) {
        self.nodes.iter_mut().for_each(|node| node.rotation = node.best);
    }

    /// Perturbs every joint from its best rotation, more each time. This moves the chain out of straight
    /// lines, where no joint has a gradient, and out of corners of limits.
    pub(super) fn kick(&mut self, time: u32) {
        self.restore();
        for at in 0..self.nodes.len() {
            let bone = self.bone(at);
            let node = &mut self.nodes[at];
            let axis = node.hinge.unwrap_or_else(|| across(rotate(node.rotation, bone)));
            // Values spread evenly from -1 to 1, different each time.
            let spread = (f64::from(time) * 0.618_033_988_749_895 + at as f64 * 0.414_213_562_373_095) % 1.0;
            let [x, y, z] = scaled(axis, (2.0 * spread - 1.0) * 0.15 * f64::from(time));
            node.rotation = unit(product([x, y, z, 1.0], node.rotation));
        }
        self.clamp();
    }

    /// Computes the goal relative to each pivot, first node first, for the current rotations.
    pub(crate) fn pass_goal_on(&mut self, orientation: Option<Quat64>) {
        let (mut goal, mut wanted) = (self.goal, orientation.unwrap_or(NO_TURN));
        let mut to_model = self.to_model;
        for node in self.nodes.iter_mut() {
            node.goal = sub(goal, node.pivot);
            let undo = conjugate(node.rotation);
            goal = node.back.point(rotate(undo, node.goal));
            if orientation.is_some() {
                node.orientation = wanted;
                wanted = product(conjugate(node.between), product(undo, wanted));
            }
            if !self.even {
                node.to_model = to_model;
                let turn =
                    Affine64 { linear: condyle_base::math::quats::rows(node.rotation), origin: node.pivot };
                to_model = to_model.after(&turn.after(&node.carry));
            }
        }
    }
}
