//! Spline IK: a spine, a tail or a rope along a curve.

mod curve;

use self::curve::Curve;
use super::Reached;
use super::chain::{Chain, Node, Row, Tip};
use super::limits::Limits;
use super::maps::{
    Affine64, Vec64, above, add, arc, check, check_distance, check_pose, check_unit, direction, length,
    nlerp, scaled, set_rotation, sub, swivel, turn, unit, wide,
};
use condyle::pose::Pose;
use condyle::skeleton::Skeleton;
use condyle_base::error::Error;
use condyle_base::math::Affine;
use condyle_base::math::quats::{conjugate, product, rotate, rows};
use condyle_base::math::vectors::dot;

/// Up vector along a curve.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SplineUp {
    /// Axis in the local space of each joint, perpendicular to its bone.
    pub axis: [f32; 3],
    /// Directions in model space to which the axis turns as closely as possible, at the first joint and at
    /// the last one. Joints in between interpolate by their position along the chain's length. Where opposite
    /// directions cancel out, neither is followed.
    pub directions: [[f32; 3]; 2],
}

/// Request for [`spline`](spline()): the joints and a curve.
///
/// ```
/// use condyle_solve::Spline;
///
/// // A spine of four joints leans to the left, then becomes upright. The neck is twisted by half a radian.
/// let points = [[0.1, 1.2, 0.0], [0.15, 1.5, 0.0]];
/// let spine = Spline { twist: [0.0, 0.5], ..Spline::new(&[1, 2, 3, 4], 5, &points) };
/// assert_eq!((spine.weight, spine.up), (1.0, None));
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spline<'a> {
    /// Joints that turn, at most [`Chain::MAX_JOINTS`]. Each is a descendant of the one before it, not
    /// necessarily its child.
    pub joints: &'a [u16],
    /// Joint at which the last bone ends: the last of `joints`, or a descendant of it.
    pub tip: u16,
    /// End of the last bone in the tip's local space.
    pub offset: [f32; 3],
    /// Points of the curve in model space, in addition to its start at the first joint. The curve is a
    /// centripetal Catmull-Rom spline, or a straight line if there is one point. Repeated points count once.
    pub points: &'a [[f32; 3]],
    /// Rotation of the first and the last joint about their bones in radians, in addition to that of the
    /// shortest rotation or of `up`. Joints in between interpolate by their position along the chain's
    /// length. At most 1000.
    pub twist: [f32; 2],
    /// Up vector. `None` turns each bone by the shortest rotation, so that nothing twists it.
    pub up: Option<SplineUp>,
    /// Blend factor from the input rotations to the solved ones, from 0 to 1.
    pub weight: f32,
    /// Joint limits.
    pub limits: Option<&'a Limits>,
}

impl<'a> Spline<'a> {
    /// A request with weight 1 and without twist, up vector and limits.
    #[must_use]
    pub fn new(joints: &'a [u16], tip: u16, points: &'a [[f32; 3]]) -> Self {
        Self { joints, tip, offset: [0.0; 3], points, twist: [0.0; 2], up: None, weight: 1.0, limits: None }
    }

    fn check(&self, skeleton: &Skeleton) -> Result<(), Error> {
        let found = self.joints.len();
        Error::check_room("joints", found, 1)?;
        if found > Chain::MAX_JOINTS {
            return Err(Error::TooMany { what: "joints", found, limit: Chain::MAX_JOINTS });
        }
        Error::check_room("points", self.points.len(), 1)?;
        Error::check_finite("points", self.points.as_flattened(), 3)?;
        Error::check_finite("offset", &self.offset, 1)?;
        Error::check_finite("twist", &self.twist, 1)?;
        if let Some(at) = self.twist.iter().position(|twist| twist.abs() > 1000.0) {
            return Err(Error::OutOfRange { what: "twist", at, needed: "within 1000 of 0" });
        }
        check_unit("weight", self.weight)?;
        if let Some(up) = &self.up {
            for vector in [up.axis, up.directions[0], up.directions[1]] {
                Error::check_finite("up", &vector, 1)?;
                direction(vector.map(f64::from)).ok_or(Error::NoDirection { what: "up" })?;
            }
        }
        self.limits.map_or(Ok(()), |limits| limits.check(skeleton))
    }
}

/// Turns joints so that their bones lie along a curve.
///
/// The curve begins at the first joint, which stays in place. Each bone ends at the first point of the curve
/// whose distance from the bone's start equals its length. Therefore no bone is stretched and every joint is
/// on the curve, under any scale. A chain longer than the curve continues in a straight line; a shorter chain
/// ends before the end of the curve.
///
/// With limits, each joint turns its bone as close to the curve point as possible. With a `weight` below 1,
/// the pose is blended.
///
/// `model` holds the matrices of `pose`; both have one element per joint. Only `pose` is changed. Returns
/// the distance from the tip to the end of the curve. The time is proportional to the number of joints plus
/// points.
///
/// # Errors
/// [`Error::Length`] if `model` or `pose` does not hold one element per joint. [`Error::Skeleton`] if
/// `limits` were made for other joints. [`Error::TooShort`] if there are no joints or no points.
/// [`Error::TooMany`] for more joints than [`Chain::MAX_JOINTS`]. [`Error::Index`] if a joint does not exist.
/// [`Error::NotFinite`] if a value of the spline, or a value that is read from the pose or the matrices, is
/// NaN or infinite.
///
/// [`Error::NoDirection`] if all points are at the first joint, or a vector of `up` is 0.
/// [`Error::OutOfRange`] if a joint is not a descendant of the one before it, if `twist` or `weight` is out
/// of its documented range, or if a point is 1e38 away or more. [`Error::NotInvertible`] if the matrix above
/// the first joint is singular, or the map between two turning joints. After an error the pose is unchanged.
///
/// ```
/// use condyle_solve::{Spline, spline};
/// use condyle::{Affine, Joint, Pose, Skeleton, Transform, local_to_model, model};
///
/// let along = Transform { translation: [0.0, 0.0, 0.25], ..Transform::IDENTITY };
/// let tail = (0..5).map(|at: u16| Joint::new("tail", at.checked_sub(1), along));
/// let skeleton = Skeleton::new(tail)?;
/// let mut pose = Pose::rest(&skeleton);
/// let mut placed = vec![Affine::IDENTITY; 5];
/// local_to_model(&skeleton, &pose, &mut placed)?;
///
/// // Four bones of 25 cm along a curve that is about as long and ends 90 cm away.
/// let points = [[0.2, 0.0, 0.6], [0.0, 0.0, 1.15]];
/// let reached = spline(&skeleton, &placed, &Spline::new(&[0, 1, 2, 3], 4, &points), &mut pose)?;
/// assert!(reached.distance < 0.02);
/// model::subtree(&skeleton, &pose, 0, &mut placed)?;
/// let [x, _, z] = placed[2].transform_point([0.0; 3]);
/// assert!(x > 0.15 && (z - 0.7).abs() < 0.05);
/// # Ok::<(), condyle::Error>(())
/// ```
pub fn spline(
    skeleton: &Skeleton,
    model: &[Affine],
    spline: &Spline<'_>,
    pose: &mut Pose,
) -> Result<Reached, Error> {
    check(skeleton, model, pose, "joints", spline.joints.iter().copied())?;
    check(skeleton, model, pose, "tip", [spline.tip])?;
    spline.check(skeleton)?;
    let mut nodes = [Node::NEW; Chain::MAX_JOINTS];
    let above = above(skeleton, model, spline.joints[0])?;
    let joints = spline.joints.iter().copied();
    let tip = Tip { joint: spline.tip, offset: spline.offset.map(f64::from) };
    let nodes = &mut nodes[..spline.joints.len()];
    let mut row = Row::new(skeleton, &above, pose, joints, tip, spline.limits, nodes)?;
    let from = above.to_model.point(row.nodes[0].pivot);
    for (at, point) in spline.points.iter().enumerate() {
        check_distance("points", at, length(sub(point.map(f64::from), from)))?;
    }
    let mut curve = Curve::new(from, spline.points).ok_or(Error::NoDirection { what: "points" })?;
    lay(&mut row, spline, &above.from_model, &mut curve);
    let weight = f64::from(spline.weight);
    if weight < 1.0 {
        for (node, joint) in row.nodes.iter_mut().zip(spline.joints) {
            node.rotation = nlerp(wide(pose.get((*joint).into()).rotation), node.rotation, weight);
        }
        if weight > 0.0 {
            row.hold();
        }
    }
    let tip = add(row.nodes[0].pivot, row.arm());
    let distance = length(sub(above.to_model.point(tip), curve.end()));
    for node in row.nodes.iter() {
        check_pose(&[node.rotation])?;
    }
    check_distance("points", spline.points.len() - 1, distance)?;
    if weight > 0.0 {
        for (node, &joint) in row.nodes.iter().zip(spline.joints) {
            set_rotation(pose, joint, node.rotation);
        }
    }
    Ok(Reached { distance: distance as f32, angle: 0.0, iterations: 1 })
}

/// Turns each bone to its end on the curve, starting with the first joint.
fn lay(row: &mut Row<'_, '_>, spline: &Spline<'_>, from_model: &Affine64, curve: &mut Curve<'_>) {
    let [first, last] = spline.twist.map(f64::from);
    let parts = Parts::of(row);
    let mut from_model = *from_model;
    // Rotation of the previous bone about itself, which its descendants inherit.
    let mut twisted = 0.0;
    for at in 0..row.nodes.len() {
        let own = row.bone(at);
        let node = &mut row.nodes[at];
        let begin = from_model.point(curve.place());
        let end = curve.advance(|p| length(sub(from_model.point(p), begin)), length(own));
        let bone = rotate(node.rotation, own);
        let to = sub(from_model.point(end), node.pivot);
        node.rotation = product(arc(bone, to), node.rotation);
        let part = parts.at(at);
        let mut about = first + (last - first) * part - twisted;
        if let Some(up) = &spline.up {
            let axis = rotate(node.rotation, node.carry.vector(up.axis.map(f64::from)));
            let across = sub(axis, scaled(to, dot(axis, to) / dot(to, to)));
            if dot(across, across) > 1e-12 * dot(axis, axis) {
                node.rotation = product(swivel(to, across, upward(up, part, &from_model)), node.rotation);
                about += twisted;
            }
        }
        twisted = first + (last - first) * part;
        if let Some(along) = direction(to).filter(|_| about != 0.0) {
            let (sin, cos) = condyle_base::math::scalar::sin_cos_f64(about);
            node.rotation = product(turn(along, sin, cos), node.rotation);
        }
        node.rotation = unit(node.rotation);
        if let Some(nearest) = node.limit.and_then(|limit| limit.clamp(node.rotation)) {
            node.rotation = nearest;
        }
        let undo = conjugate(node.rotation);
        let back = Affine64 { linear: rows(undo), origin: scaled(rotate(undo, node.pivot), -1.0) };
        from_model = node.back.after(&back.after(&from_model));
    }
}

/// Up direction at a fraction of the chain, in the space of a joint's parent.
fn upward(up: &SplineUp, part: f64, from_model: &Affine64) -> Vec64 {
    let [first, last] = up.directions.map(|v| direction(v.map(f64::from)).unwrap_or([0.0; 3]));
    let between = add(scaled(first, 1.0 - part), scaled(last, part));
    // Maps the direction as a vector, not as the normal of a plane. With uniform scales both give the same
    // result.
    if dot(between, between) > 1e-12 { from_model.vector(between) } else { [0.0; 3] }
}

/// Positions of joints along the chain's length, from 0 at the first joint to 1 at the last one.
struct Parts {
    lengths: [f64; Chain::MAX_JOINTS],
    all: f64,
}

impl Parts {
    fn of(row: &Row<'_, '_>) -> Self {
        let mut lengths = [0.0; Chain::MAX_JOINTS];
        let (mut all, mut size) = (0.0, 1.0);
        for (at, before) in lengths[..row.nodes.len()].iter_mut().enumerate() {
            *before = all;
            // The lengths are summed only up to the last joint. Non-uniform scales count as their root mean
            // square.
            if at + 1 < row.nodes.len() {
                all += length(row.bone(at)) * size;
                let [a, b, c] = row.nodes[at].carry.linear;
                size *= condyle_base::math::scalar::sqrt_f64((dot(a, a) + dot(b, b) + dot(c, c)) / 3.0);
            }
        }
        Self { lengths, all }
    }

    fn at(&self, joint: usize) -> f64 {
        if self.all > 0.0 { self.lengths[joint] / self.all } else { 0.0 }
    }
}

#[cfg(test)]
mod tests;
