//! Look-at IK: a joint points an axis at a target, alone or together with the chain of joints that carries
//! it.

use self::direct::Source;
use super::Reached;
use super::chain::{Chain, Node, Row, Tip};
use super::limits::{Limit, Limits};
use super::maps::{
    Vec64, above, add, arc, check, check_distance, check_pose, check_unit, direction, length, nlerp, scaled,
    set_rotation, sub, swivel, unit,
};
use condyle::pose::Pose;
use condyle::skeleton::Skeleton;
use condyle_base::error::Error;
use condyle_base::math::Affine;
use condyle_base::math::quats::{Quat64, conjugate, product, rotate};
use condyle_base::math::vectors::dot;

/// Up vector of an aiming joint.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Up {
    /// Axis in the joint's local space.
    pub axis: [f32; 3],
    /// Direction in model space to which the axis turns as closely as possible. Ignored if it is parallel to
    /// the direction of the target.
    pub direction: [f32; 3],
}

/// Request for [`aim`](aim()): a joint, an axis and a target.
///
/// ```
/// use condyle_solve::{Aim, Up};
///
/// // A head whose face is along +Z looks at a point, upright.
/// let up = Some(Up { axis: [0.0, 1.0, 0.0], direction: [0.0, 1.0, 0.0] });
/// let look = Aim { up, weight: 0.8, ..Aim::new(5, [0.0, 0.0, 1.0], [1.0, 1.6, 3.0]) };
/// assert_eq!(look.joint, 5);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Aim<'a> {
    /// Index of the joint whose axis points at the target.
    pub joint: u16,
    /// Axis in the joint's local space, of any length except 0.
    pub axis: [f32; 3],
    /// Origin of the ray in the joint's local space, for example between the eyes. At 0 the ray starts at the
    /// joint.
    pub origin: [f32; 3],
    /// Target in model space.
    pub target: [f32; 3],
    /// Up vector, which fixes the rotation about the axis. `None` keeps the twist of the shortest rotation.
    pub up: Option<Up>,
    /// Blend factor from the input rotation to the solved one, from 0 to 1.
    pub weight: f32,
    /// Joint limits.
    pub limits: Option<&'a Limits>,
}

impl Aim<'_> {
    /// A request with weight 1 and without up vector and limits, whose ray starts at the joint.
    #[must_use]
    pub fn new(joint: u16, axis: [f32; 3], target: [f32; 3]) -> Self {
        Self { joint, axis, origin: [0.0; 3], target, up: None, weight: 1.0, limits: None }
    }
}

/// A joint of an aiming chain, and its share of the rotation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Share {
    /// Joint index.
    pub joint: u16,
    /// Share of the angle, relative to the sum of all shares; not negative.
    pub share: f32,
}

/// Request for [`aim_chain`]: a chain of joints that distributes an aim according to shares.
///
/// ```
/// use condyle_solve::{Aim, AimChain, Share};
///
/// // The head takes half of the rotation, neck and chest a quarter each.
/// let share = |joint, share| Share { joint, share };
/// let joints = [share(3, 1.0), share(4, 1.0), share(5, 2.0)];
/// let look = AimChain { joints: &joints, aim: Aim::new(5, [0.0, 0.0, 1.0], [1.0, 1.6, 3.0]) };
/// assert_eq!(look.joints.len(), 3);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AimChain<'a> {
    /// Joints that turn, at most [`Chain::MAX_JOINTS`]. Each is a descendant of the one before it, not
    /// necessarily its child. The last one is `aim.joint`.
    pub joints: &'a [Share],
    /// The axis and its target.
    pub aim: Aim<'a>,
}

/// Turns a joint until one of its axes points at a target.
///
/// The joint makes the shortest rotation, then turns about the axis if there is an `up`. If `origin` is not
/// 0, the ray from there passes through the target, unless the target is too close to the joint.
///
/// Scales are taken into account: axis, origin and up axis are transformed by the joint's full matrix. With a
/// limit and a `weight` above 0, the result is within the limit, regardless of the input pose.
///
/// `model` holds the matrices of `pose`; both have one element per joint. Only `pose` is changed. Returns
/// the distance from the ray to the target.
///
/// # Errors
/// [`Error::Length`] if `model` or `pose` does not hold one element per joint. [`Error::Skeleton`] if
/// `limits` were made for other joints. [`Error::Index`] if the joint does not exist. [`Error::NotFinite`] if
/// a value of the aim, or a value that is read from the pose or the matrices, is NaN or infinite.
/// [`Error::NoDirection`] if an axis is 0. [`Error::OutOfRange`] if `weight` is not from 0 to 1, or if the
/// target is 1e38 away or more. [`Error::NotInvertible`] if the matrix above the joint is singular. After an
/// error the pose is unchanged.
///
/// ```
/// use condyle_solve::{Aim, aim};
/// use condyle::{Affine, Joint, Pose, Skeleton, Transform, local_to_model, model};
///
/// let up = Transform { translation: [0.0, 1.5, 0.0], ..Transform::IDENTITY };
/// let skeleton = Skeleton::new([Joint::new("head", None, up)])?;
/// let mut pose = Pose::rest(&skeleton);
/// let mut placed = [Affine::IDENTITY];
/// local_to_model(&skeleton, &pose, &mut placed)?;
///
/// // The face, +Z, turns to the left.
/// let reached = aim(&skeleton, &placed, &Aim::new(0, [0.0, 0.0, 1.0], [2.0, 1.5, 0.0]), &mut pose)?;
/// assert!(reached.distance < 1e-6);
/// model::subtree(&skeleton, &pose, 0, &mut placed)?;
/// let [x, y, z] = placed[0].transform_vector([0.0, 0.0, 1.0]);
/// assert!((x - 1.0).abs() < 1e-6 && y.abs() < 1e-6 && z.abs() < 1e-6);
/// # Ok::<(), condyle::Error>(())
/// ```
pub fn aim(skeleton: &Skeleton, model: &[Affine], aim: &Aim<'_>, pose: &mut Pose) -> Result<Reached, Error> {
    check(skeleton, model, pose, "joint", [aim.joint])?;
    if let Some(turned) = Source::new(skeleton, model, aim, pose).and_then(|joint| direct::solve(&joint)) {
        return Ok(direct::write(aim, turned.rotation, turned.distance, pose));
    }
    general(skeleton, model, aim, pose)
}

/// Solves any aim whose joint exists, including those that the closed form cannot.
fn general(skeleton: &Skeleton, model: &[Affine], aim: &Aim<'_>, pose: &mut Pose) -> Result<Reached, Error> {
    let joints = [Share { joint: aim.joint, share: 1.0 }];
    let mut nodes = [Node::NEW];
    solve(skeleton, model, &AimChain { joints: &joints, aim: *aim }, &mut nodes, pose)
}

/// Turns a chain of joints until an axis of the last one points at a target.
///
/// Starting with the first joint, each takes its share of the remaining angle. The last joint makes the
/// remaining rotation and applies `up`. Everything else works as in [`aim`].
///
/// # Errors
/// All errors of [`aim`]. Also [`Error::TooShort`] for an empty chain, [`Error::TooMany`] for more than
/// [`Chain::MAX_JOINTS`] joints. [`Error::OutOfRange`] if a joint is not a descendant of the one before it,
/// if the last one is not `aim.joint`, if a share is negative, or if all are 0.
///
/// ```
/// use condyle_solve::{Aim, AimChain, Share, aim_chain};
/// use condyle::{Affine, Joint, Pose, Skeleton, Transform, local_to_model};
///
/// let up = Transform { translation: [0.0, 0.2, 0.0], ..Transform::IDENTITY };
/// let spine = [Joint::new("chest", None, up), Joint::new("neck", Some(0), up), Joint::new("head", Some(1), up)];
/// let skeleton = Skeleton::new(spine)?;
/// let mut pose = Pose::rest(&skeleton);
/// let mut placed = [Affine::IDENTITY; 3];
/// local_to_model(&skeleton, &pose, &mut placed)?;
///
/// let joints = [0, 1, 2].map(|joint| Share { joint, share: 1.0 });
/// let look = AimChain { joints: &joints, aim: Aim::new(2, [0.0, 0.0, 1.0], [9.0, 0.6, 0.0]) };
/// assert!(aim_chain(&skeleton, &placed, &look, &mut pose)?.distance < 1e-5);
/// // A quarter turn to the left, one third of it per joint.
/// let half = (90.0_f32 / 3.0 / 2.0).to_radians();
/// assert!(pose.transforms().all(|t| (t.rotation[1] - half.sin()).abs() < 1e-5));
/// # Ok::<(), condyle::Error>(())
/// ```
pub fn aim_chain(
    skeleton: &Skeleton,
    model: &[Affine],
    chain: &AimChain<'_>,
    pose: &mut Pose,
) -> Result<Reached, Error> {
    let found = chain.joints.len();
    Error::check_room("joints", found, 1)?;
    if found > Chain::MAX_JOINTS {
        return Err(Error::TooMany { what: "joints", found, limit: Chain::MAX_JOINTS });
    }
    check(skeleton, model, pose, "joints", chain.joints.iter().map(|share| share.joint))?;
    let mut sum = 0.0;
    for (at, share) in chain.joints.iter().enumerate() {
        if !share.share.is_finite() {
            return Err(Error::NotFinite { what: "joints", at });
        }
        if share.share < 0.0 {
            return Err(Error::OutOfRange { what: "joints", at, needed: "given a share of at least 0" });
        }
        sum += f64::from(share.share);
    }
    let last = found - 1;
    if sum == 0.0 {
        return Err(Error::OutOfRange {
            what: "joints",
            at: last,
            needed: "given a share above 0: all joints before it have 0",
        });
    }
    if chain.joints[last].joint != chain.aim.joint {
        return Err(Error::OutOfRange { what: "joints", at: last, needed: "the joint of the aim" });
    }
    let mut nodes = [Node::NEW; Chain::MAX_JOINTS];
    solve(skeleton, model, chain, &mut nodes[..found], pose)
}

/// Solves a chain of joints that exist and whose shares have a positive sum.
fn solve<'a>(
    skeleton: &Skeleton,
    model: &[Affine],
    chain: &AimChain<'a>,
    nodes: &mut [Node<'a>],
    pose: &mut Pose,
) -> Result<Reached, Error> {
    let aim = &chain.aim;
    let axis_local = check_aim(skeleton, aim)?;
    let joints = chain.joints.iter().map(|share| share.joint);
    let above = above(skeleton, model, chain.joints[0].joint)?;
    let tip = Tip { joint: aim.joint, offset: aim.origin.map(f64::from) };
    let mut row = Row::new(skeleton, &above, pose, joints, tip, aim.limits, nodes)?;
    let last = row.nodes.len() - 1;
    let axis = row.nodes[last].carry.vector(axis_local);
    let weight = f64::from(aim.weight);
    row.aim_at(above.from_model.point(aim.target.map(f64::from)));
    let up = aim.up.map(|up| above.from_model.vector(up.direction.map(f64::from)));
    turn_nodes(&mut row, chain, axis, up);
    if weight < 1.0 {
        for node in row.nodes.iter_mut() {
            node.rotation = nlerp(node.best, node.rotation, weight);
        }
        if weight > 0.0 {
            row.hold();
        }
    }
    let distance = distance_of_ray(&row, axis);
    for node in row.nodes.iter() {
        check_pose(&[node.rotation])?;
    }
    check_distance("target", 0, distance)?;
    if weight > 0.0 {
        for (node, share) in row.nodes.iter().zip(chain.joints) {
            if node.rotation != node.best {
                set_rotation(pose, share.joint, node.rotation);
            }
        }
    }
    Ok(Reached { distance: distance as f32, angle: 0.0, iterations: 1 })
}

/// Checks the numbers of an aim and returns the direction of its axis.
fn check_aim(skeleton: &Skeleton, aim: &Aim<'_>) -> Result<Vec64, Error> {
    Error::check_finite("axis", &aim.axis, 1)?;
    Error::check_finite("origin", &aim.origin, 1)?;
    Error::check_finite("target", &aim.target, 1)?;
    check_unit("weight", aim.weight)?;
    let axis = direction(aim.axis.map(f64::from)).ok_or(Error::NoDirection { what: "axis" })?;
    if let Some(up) = &aim.up {
        Error::check_finite("up", &up.axis, 1)?;
        Error::check_finite("up", &up.direction, 1)?;
        if direction(up.axis.map(f64::from)).is_none() || direction(up.direction.map(f64::from)).is_none() {
            return Err(Error::NoDirection { what: "up" });
        }
    }
    if let Some(limits) = aim.limits {
        limits.check(skeleton)?;
    }
    Ok(axis)
}

/// Turns the nodes one after another, each by its share of the remaining angle. `up` is in the parent space
/// of the first node.
fn turn_nodes(row: &mut Row<'_, '_>, chain: &AimChain<'_>, axis: Vec64, mut up: Option<Vec64>) {
    let aim = &chain.aim;
    let last = row.nodes.len() - 1;
    let mut left: f64 = chain.joints.iter().map(|share| f64::from(share.share)).sum();
    let mut goal = row.goal;
    for (at, share) in chain.joints.iter().enumerate() {
        // The later nodes still have their input rotations here.
        let (from, along) = ray(row, at, axis);
        let node = &mut row.nodes[at];
        let to = sub(goal, node.pivot);
        let share = f64::from(share.share);
        let part = if share < left { share / left } else { 1.0 };
        left -= share;
        if share > 0.0 {
            // The last node brings the ray to the target. The nodes before it only make the ray parallel to
            // the line from its current origin to the target.
            let mut turned = if at == last { towards(from, along, to) } else { arc(along, sub(to, from)) };
            if let (Some(up), Some(aim)) = (up.filter(|_| at == last), &aim.up) {
                let own = rotate(turned, rotate(node.rotation, node.carry.vector(aim.axis.map(f64::from))));
                turned = upright(turned, own, to, up);
            }
            let whole = unit(product(turned, node.rotation));
            node.rotation = if part < 1.0 { partly(node.rotation, whole, part) } else { whole };
        }
        if let Some(nearest) =
            node.limit.filter(|_| aim.weight > 0.0).and_then(|limit: &Limit| limit.clamp(node.rotation))
        {
            node.rotation = nearest;
        }
        let undo = conjugate(node.rotation);
        goal = node.back.point(rotate(undo, to));
        up = up.map(|up| node.back.vector(rotate(undo, up)));
    }
}

/// Adds a rotation about the direction to the target that brings the joint's up axis `own` nearest to `up`.
/// The target stays on the ray.
fn upright(turned: Quat64, own: Vec64, to: Vec64, up: Vec64) -> Quat64 {
    let across = sub(own, scaled(to, dot(own, to) / dot(to, to)));
    if dot(across, across) > 1e-12 * dot(own, own) {
        return product(swivel(to, across, up), turned);
    }
    turned
}

/// Returns the distance between the ray and the target in model space. The ray does not extend behind its
/// origin.
fn distance_of_ray(row: &Row<'_, '_>, axis: Vec64) -> f64 {
    let (from, along) = ray(row, 0, axis);
    let [off, along] = [sub(sub(row.goal, row.nodes[0].pivot), from), along].map(|v| row.to_model.vector(v));
    match direction(along) {
        Some(along) => length(sub(off, scaled(along, dot(off, along).max(0.0)))),
        None => length(off),
    }
}

/// Origin of the ray relative to a node's pivot, and its direction, in the space of the node's parent.
fn ray(row: &Row<'_, '_>, first: usize, axis: Vec64) -> (Vec64, Vec64) {
    let (mut from, mut along) = (row.tip, axis);
    let last = row.nodes.len() - 1;
    for at in (first..=last).rev() {
        let node = &row.nodes[at];
        if at < last {
            from = node.carry.point(add(from, row.nodes[at + 1].pivot));
            along = node.carry.vector(along);
        }
        from = rotate(node.rotation, from);
        along = rotate(node.rotation, along);
    }
    (from, along)
}

/// Shortest rotation about the pivot that brings the ray to the target: it moves the point of the ray that is
/// as far from the pivot as the target. If all points of the ray are farther away, only the direction of the
/// ray is turned towards the target.
fn towards(from: Vec64, along: Vec64, to: Vec64) -> Quat64 {
    let Some(along) = direction(along) else { return [0.0, 0.0, 0.0, 1.0] };
    // Solves |from + t along| = |to| for t > 0.
    let half = dot(from, along);
    let root = half * half - dot(from, from) + dot(to, to);
    let ahead = if root > 0.0 { condyle_base::math::scalar::sqrt_f64(root) - half } else { -1.0 };
    let meets = dot(from, from) == 0.0 || ahead > 0.0;
    arc(if meets && dot(from, from) > 0.0 { add(from, scaled(along, ahead)) } else { along }, to)
}

/// Interpolates between two rotations at constant angular velocity.
fn partly(from: Quat64, to: Quat64, part: f64) -> Quat64 {
    let mut turn = condyle_base::math::quats::rotation_vector(product(to, conjugate(from)));
    turn = scaled(turn, part);
    unit(product(condyle_base::math::quats::from_rotation_vector(turn), from))
}

pub(super) mod direct;
#[cfg(test)]
mod tests;
