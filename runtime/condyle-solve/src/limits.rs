//! Joint limits: the allowed range of each joint, and the nearest allowed rotation.
//!
//! A rotation is split into a swing of the joint's axis and a twist about it, `reference⁻¹ · rotation = swing
//! · twist`. A swing is a point in a plane: its rotation axis times the tangent of a quarter of its angle.
//! This is the stereographic projection of its quaternion. It takes one division to compute and one to undo,
//! needs no inverse trigonometric function, and is accurate for all swings below a full turn.
//!
//! In this plane cones are circles, and the borders of ellipses and polygons are ellipses and straight lines.
//! The idea of a polygon in a plane of swings is from Blow, "Inverse Kinematics with Quaternion Joint
//! Limits", 2002.
//!
//! A rotation outside goes to the nearest point of the border, and twist to the nearer end, independently. A
//! step is taken in these coordinates, so the remainder of a small step along the slope still descends: a
//! search slides along the border.

mod border;
mod fit;

use alloc::vec::Vec;

use self::border::{Border, Core, ROUNDED, Twist, quarter, turn_into_ellipse};
pub use self::fit::{FitOptions, fit_limits};
use super::maps::{Vec64, across, angle, direction, scaled, set_rotation, sub, unit, wide};
use condyle::pose::Pose;
use condyle::skeleton::Skeleton;
use condyle_base::error::Error;
use condyle_base::math::Quat;
use condyle_base::math::quats::{Quat64, conjugate, is_near_unit, near as near_to, product, rotate};
use condyle_base::math::scalar::sqrt_f64;
use condyle_base::math::vectors::{cross, dot};

/// Allowed swings of a joint's axis, relative to its reference. Angles are in radians.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Swing {
    /// No swing: the joint is a hinge that only turns about its axis.
    Hinge,
    /// Swings up to this angle in every direction, from 0 to π.
    Cone(f32),
    /// Swings within an ellipse, so the largest angle depends on the direction.
    Ellipse {
        /// Direction in the joint's local space, not parallel to its axis. The first angle limits the swing
        /// about it.
        side: [f32; 3],
        /// Maximum swing about `side`, and about axis × side. Above 0, at most π.
        angles: [f32; 2],
    },
    /// Swings within a polygon of any shape that does not intersect itself.
    Polygon {
        /// Direction in the joint's local space, not parallel to its axis.
        side: [f32; 3],
        /// At least three swings, in order. Each is a rotation vector: its direction is the swing's axis in
        /// terms of `side` and axis × side, and its length is the angle, at most π.
        corners: Vec<[f32; 2]>,
    },
    /// Every swing is allowed.
    Free,
}

/// Limit of one joint: its allowed swing and twist.
///
/// ```
/// use condyle::example;
/// use condyle_solve::{JointLimit, Limits, Swing};
///
/// // A shoulder swings its bone (+Y) by up to 80 degrees and twists it by 45; the elbow bends about +Z.
/// let skeleton = example::chain(["shoulder", "elbow"], [0.0, 1.0, 0.0]);
/// let turn = |degrees: f32| degrees.to_radians();
/// let shoulder = JointLimit {
///     swing: Swing::Cone(turn(80.0)),
///     twist: Some([turn(-45.0), turn(45.0)]),
///     ..JointLimit::free([0.0, 1.0, 0.0])
/// };
/// let elbow = JointLimit::hinge([0.0, 0.0, 1.0], [0.0, turn(150.0)]);
/// let limits = Limits::new(&skeleton, [(0, shoulder), (1, elbow)])?;
///
/// // The elbow stops at 150 degrees.
/// let (sin, cos) = turn(160.0 / 2.0).sin_cos();
/// let [.., z, w] = limits.clamp(1, [0.0, 0.0, sin, cos]);
/// assert!((2.0 * z.atan2(w) - turn(150.0)).abs() < 1e-6);
/// # Ok::<(), condyle::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct JointLimit {
    /// Local rotation at which swing and twist are 0, for example that of the rest pose.
    pub reference: Quat,
    /// Twist axis in the joint's local space: the direction of its bone, or the axis of a hinge. Of any
    /// length except 0.
    pub axis: [f32; 3],
    /// Allowed swings of the axis.
    pub swing: Swing,
    /// Minimum and maximum twist about the axis in radians, at most a full turn apart. `None` allows any
    /// twist.
    pub twist: Option<[f32; 2]>,
    /// Soft part of the range, as a fraction of the distance from the middle to the border, from 0 (hard) to
    /// 1. For example, 0.2 softens the last 20 %, so that the joint does not stop abruptly.
    ///
    /// In the soft part, swing and twist lag behind the request. If the soft part begins at a distance `w`
    /// before the border, they reach the border when the request is `w` beyond it. For an ellipse the width
    /// is this fraction of the short half axis at its ends. At the ends of the long axis it is this fraction
    /// of the radius of curvature. A soft polygon must be convex, and its corners are rounded.
    ///
    /// Solvers that iterate on their own results treat borders as hard: [`body`](super::body()), and
    /// [`chain`](super::chain()) by least squares.
    pub soft: f32,
}

impl JointLimit {
    /// A limit that allows every rotation, with the identity as reference, as a base for others.
    #[must_use]
    pub fn free(axis: [f32; 3]) -> Self {
        Self { reference: [0.0, 0.0, 0.0, 1.0], axis, swing: Swing::Free, twist: None, soft: 0.0 }
    }

    /// A hinge about an axis, with a range of angles in radians, relative to the identity.
    #[must_use]
    pub fn hinge(axis: [f32; 3], range: [f32; 2]) -> Self {
        Self { swing: Swing::Hinge, twist: Some(range), ..Self::free(axis) }
    }
}

/// Limits of a skeleton's joints.
///
/// Limits are separate from the skeleton, so that a skeleton can have several: for example anatomical limits,
/// and narrower ones that look natural.
#[derive(Debug, Clone, PartialEq)]
pub struct Limits {
    joints: Vec<Option<Limit>>,
    fingerprint: u32,
}

impl Limits {
    /// Validates limits and prepares them for the solvers. If a joint occurs twice, the later limit is used.
    ///
    /// # Errors
    /// [`Error::Index`] if a joint does not exist. For the limit of joint `at`: [`Error::NotFinite`] if it
    /// has a NaN or an infinity. [`Error::NotUnit`] if the length of its reference differs from 1 by more
    /// than 2 %. [`Error::NoDirection`] if `axis` is 0, or `side` is parallel to it. [`Error::OutOfRange`] if
    /// an angle, a range of twist, the number of corners or `soft` is out of its documented range. Also
    /// [`Error::OutOfRange`] if a soft polygon is not convex, has no area, or has more than 1000 corners.
    pub fn new(
        skeleton: &Skeleton,
        limits: impl IntoIterator<Item = (u16, JointLimit)>,
    ) -> Result<Self, Error> {
        let count = skeleton.joint_count();
        let mut joints: Vec<Option<Limit>> = alloc::vec![None; count];
        for (at, (joint, limit)) in limits.into_iter().enumerate() {
            let found = usize::from(joint);
            let place = joints.get_mut(found).ok_or(Error::Index { what: "limits", at, found, count })?;
            *place = Some(Limit::new(found, limit)?);
        }
        Ok(Self { joints, fingerprint: skeleton.fingerprint() })
    }

    /// Number of joints of the skeleton.
    #[must_use]
    pub fn joint_count(&self) -> usize {
        self.joints.len()
    }

    /// Limit of one joint; `None` if it is unlimited or does not exist.
    #[must_use]
    pub fn get(&self, joint: u16) -> Option<&JointLimit> {
        self.limit(joint).map(|limit| &limit.given)
    }

    /// Returns the allowed local rotation of a joint that is nearest to `rotation`, in swing and in twist.
    ///
    /// An allowed rotation is returned bit for bit, unless it is in the soft part of a limit. A joint without
    /// a limit also returns the input.
    ///
    /// Nearest refers to the plane of swings, in which a swing is its axis times the tangent of a quarter of
    /// its angle. As a rotation moves outside, its result slides along the border. If the border is convex,
    /// the result is continuous except opposite to the middle. NaN is returned unchanged.
    #[must_use]
    pub fn clamp(&self, joint: u16, rotation: Quat) -> Quat {
        narrowed(rotation, self.limit(joint).and_then(|limit| limit.clamp(wide(rotation))))
    }

    /// Like [`clamp`](Self::clamp), but with hard borders: an allowed rotation is returned unchanged, even in
    /// the soft part. Use it in iterations that start from earlier results, such as
    /// [`BodyOptions::limit`](super::full_body::BodyOptions::limit).
    #[must_use]
    pub fn hold(&self, joint: u16, rotation: Quat) -> Quat {
        narrowed(rotation, self.limit(joint).and_then(|limit| limit.hold(wide(rotation))))
    }

    /// Angle in radians by which a local rotation exceeds the joint's limit; 0 if it is allowed.
    #[must_use]
    pub fn excess(&self, joint: u16, rotation: Quat) -> f32 {
        let rotation = wide(rotation);
        let nearest = self.limit(joint).and_then(|limit| limit.hold(rotation));
        nearest.map_or(0.0, |nearest| angle(nearest, unit(rotation)) as f32)
    }

    pub(super) fn limit(&self, joint: u16) -> Option<&Limit> {
        self.joints.get(usize::from(joint))?.as_ref()
    }

    /// Checks that these are limits of this skeleton.
    pub(super) fn check(&self, skeleton: &Skeleton) -> Result<(), Error> {
        skeleton.check_fingerprint("limits", self.fingerprint)
    }
}

fn narrowed(rotation: Quat, nearest: Option<Quat64>) -> Quat {
    nearest.map_or(rotation, |nearest| nearest.map(|v| v as f32))
}

/// Brings every joint of a pose within its limit. Allowed rotations stay unchanged, except in the soft part
/// of a limit.
///
/// # Errors
/// [`Error::Length`] if the number of joints of the pose and of `limits` differ.
///
/// ```
/// use condyle_solve::{JointLimit, Limits};
/// use condyle::{Joint, Pose, Skeleton, Transform};
///
/// let skeleton = Skeleton::new([Joint::new("knee", None, Transform::IDENTITY)])?;
/// let knee = JointLimit::hinge([1.0, 0.0, 0.0], [0.0, 2.5]);
/// let limits = Limits::new(&skeleton, [(0, knee)])?;
/// let mut pose = Pose::from_transforms(&[Transform { rotation: [0.0, 0.6, 0.0, 0.8], ..Transform::IDENTITY }]);
/// condyle_solve::clamp(&limits, &mut pose)?;
/// assert_eq!(pose.get(0), Transform::IDENTITY);
/// # Ok::<(), condyle::Error>(())
/// ```
pub fn clamp(limits: &Limits, pose: &mut Pose) -> Result<(), Error> {
    pose.check_joints("pose", limits.joint_count())?;
    for (joint, limit) in (0..).zip(&limits.joints) {
        if let Some(nearest) = limit.as_ref().and_then(|l| l.clamp(wide(pose.get(joint.into()).rotation))) {
            set_rotation(pose, joint, nearest);
        }
    }
    Ok(())
}

/// A limit as given, and its precomputed form.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Limit {
    given: JointLimit,
    /// Rotation from the limit's frame to the space of the joint's parent, at the reference. In the limit's
    /// frame z is the twist axis, and x is the side.
    frame: Quat64,
    /// Rotation from the limit's frame to the joint's local space.
    own: Quat64,
    border: Border,
    twist: Option<Twist>,
    /// `Some` for a hinge.
    circle: Option<Circle>,
    soft: f64,
}

const WHAT: &str = "limits";

fn finite(at: usize, values: &[f32]) -> Result<(), Error> {
    Error::check_finite(WHAT, values, 1).map_err(|_| Error::NotFinite { what: WHAT, at })
}

fn border_of(at: usize, swing: &Swing, soft: f64) -> Result<Border, Error> {
    let out_of = |needed| Error::OutOfRange { what: WHAT, at, needed };
    Ok(match swing {
        Swing::Hinge => Border::Hinge,
        Swing::Free => Border::Free,
        Swing::Cone(angle) => {
            finite(at, &[*angle])?;
            Border::Circle(quarter(check_angle(*angle, 0.0).ok_or(out_of(CONE))?))
        }
        Swing::Ellipse { angles, .. } => {
            finite(at, angles)?;
            let [a, b] = angles.map(|a| check_angle(a, f64::MIN_POSITIVE).map(quarter));
            let (Some(a), Some(b)) = (a, b) else { return Err(out_of(ELLIPSE)) };
            Border::Ellipse([a, b])
        }
        Swing::Polygon { corners, .. } => {
            finite(at, corners.as_flattened())?;
            let mut plane = Vec::with_capacity(corners.len());
            for corner in corners {
                let [x, y] = corner.map(f64::from);
                let angle = sqrt_f64(x * x + y * y);
                if angle > LARGEST {
                    return Err(out_of(POLYGON));
                }
                let by = if angle > 0.0 { quarter(angle) / angle } else { 0.0 };
                plane.push([x * by, y * by]);
            }
            if plane.len() < 3 {
                return Err(out_of(POLYGON));
            }
            let core = if soft > 0.0 { Some(Core::new(&plane, soft).ok_or(out_of(CONVEX))?) } else { None };
            Border::Polygon { corners: plane, core }
        }
    })
}

/// Rotations of a hinge. With φ the angle from the middle of its range, a rotation is
/// `sin(φ/2) across + cos(φ/2) middle`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Circle {
    /// Axis in the space of the joint's parent.
    pub(super) axis: Vec64,
    pub(super) middle: Quat64,
    pub(super) across: Quat64,
    /// Sine and cosine of half the angle from the middle to an end of the range, if there is a range.
    pub(super) half: Option<[f64; 2]>,
}

impl Limit {
    fn new(at: usize, given: JointLimit) -> Result<Self, Error> {
        let out_of = |needed| Error::OutOfRange { what: WHAT, at, needed };
        finite(at, &given.reference)?;
        finite(at, &given.axis)?;
        finite(at, &[given.soft])?;
        if !is_near_unit(&given.reference) {
            return Err(Error::NotUnit { what: WHAT, at });
        }
        if !(0.0..=1.0).contains(&given.soft) {
            return Err(out_of(SOFT));
        }
        let axis = direction(given.axis.map(f64::from)).ok_or(Error::NoDirection { what: "axis" })?;
        let border = border_of(at, &given.swing, given.soft.into())?;
        let side = match &given.swing {
            Swing::Ellipse { side, .. } | Swing::Polygon { side, .. } => {
                finite(at, side)?;
                let side = direction(side.map(f64::from)).unwrap_or([0.0; 3]);
                let level = sub(side, scaled(axis, dot(axis, side)));
                let none = Error::NoDirection { what: "side" };
                if dot(level, level) < 1e-12 {
                    return Err(none);
                }
                direction(level).ok_or(none)?
            }
            Swing::Hinge | Swing::Cone(_) | Swing::Free => across(axis),
        };
        let twist = match given.twist {
            None => None,
            Some(range) => {
                finite(at, &range)?;
                let [least, most] = range.map(f64::from);
                if !(least <= most && most - least <= 2.0 * LARGEST && least.abs().max(most.abs()) <= 100.0) {
                    return Err(out_of(TWIST));
                }
                Some(Twist::new(least, most))
            }
        };
        let own = unit(from_axes(side, cross(axis, side), axis));
        let frame = unit(product(wide(given.reference), own));
        let soft = given.soft.into();
        let mut limit = Self { given, frame, own, border, twist, soft, circle: None };
        if limit.border == Border::Hinge {
            let ([sin, cos], half) = twist.map_or(([0.0, 1.0], None), |t| (t.middle, Some(t.half)));
            limit.circle = Some(Circle {
                axis: rotate(frame, [0.0, 0.0, 1.0]),
                middle: limit.joined([0.0; 2], [sin, cos]),
                across: limit.joined([0.0; 2], [cos, -sin]),
                half,
            });
        }
        Ok(limit)
    }

    /// Axis of a hinge, in the space of the joint's parent.
    pub(super) fn hinge(&self) -> Option<Vec64> {
        self.circle.map(|circle| circle.axis)
    }

    /// Rotations that a hinge allows; `None` for other limits.
    pub(super) fn circle(&self) -> Option<&Circle> {
        self.circle.as_ref()
    }

    /// Whether the limit has a soft part.
    pub(super) fn is_soft(&self) -> bool {
        self.soft > 0.0
    }

    /// Returns the nearest allowed rotation, reduced in the soft part. `None` if it equals the input.
    pub(super) fn clamp(&self, rotation: Quat64) -> Option<Quat64> {
        self.within(rotation, self.soft)
    }

    /// Returns the nearest allowed rotation with hard borders; `None` if the input is allowed.
    pub(super) fn hold(&self, rotation: Quat64) -> Option<Quat64> {
        self.within(rotation, 0.0)
    }

    fn within(&self, rotation: Quat64, soft: f64) -> Option<Quat64> {
        let (swing, twist) = self.split(rotation);
        let (swing, twist) = self.turned(swing, twist).unwrap_or((swing, twist));
        let near = self.border.nearest(swing, soft);
        let twisted = self.twist.and_then(|t| t.nearest(twist, soft));
        if near.is_none() && twisted.is_none() {
            return None;
        }
        // The sign of the input is kept, so that blending between both takes the shorter arc.
        Some(near_to(rotation, self.joined(near.unwrap_or(swing), twisted.unwrap_or(twist))))
    }

    /// Returns an equivalent swing and twist that is farther inside, at most [`ROUNDED`] away from the input.
    /// Near half a turn a rotation hardly determines the direction of its swing. Rotating the swing in its
    /// plane, and half of the twist by the same angle, then gives almost the same rotation.
    fn turned(&self, [x, y]: [f64; 2], [sin, cos]: [f64; 2]) -> Option<([f64; 2], [f64; 2])> {
        let swing = match self.border {
            Border::Ellipse(axes) => turn_into_ellipse(axes, [x, y]),
            _ => None,
        };
        let twist = self.twist.and_then(|twist| twist.turn_back([sin, cos]));
        // Rounding has turned both by the same angle, so the larger correction applies.
        let [mut s, mut c] = match (swing, twist) {
            (Some(swing), Some(twist)) if twist[0].abs() > swing[0].abs() => twist,
            (swing, twist) => swing.or(twist)?,
        };
        let size = x * x + y * y;
        // The effect of a twist on the rotation is scaled by the cosine of half the swing angle.
        let most = ROUNDED * (1.0 + size) / (1.0 - size).abs();
        if s.abs() > most {
            s = most.copysign(s);
            c = sqrt_f64((1.0 - s) * (1.0 + s));
        }
        Some(([x * c - y * s, x * s + y * c], [sin * c + cos * s, cos * c - sin * s]))
    }

    /// Returns the swing in its plane, and sine and cosine of half the twist.
    fn split(&self, rotation: Quat64) -> ([f64; 2], [f64; 2]) {
        let q = product(product(conjugate(self.frame), unit(rotation)), self.own);
        let [x, y, z, w] = if q[3] < 0.0 { q.map(|v| -v) } else { q };
        let cos = sqrt_f64(z * z + w * w);
        // After a swing by half a turn the twist is undefined.
        let [s, c] = if cos > 1e-9 { [z / cos, w / cos] } else { [0.0, 1.0] };
        ([x * c - y * s, x * s + y * c].map(|v| v / (1.0 + cos)), [s, c])
    }

    fn joined(&self, swing: [f64; 2], [sin, cos]: [f64; 2]) -> Quat64 {
        let allowed = product(swung(swing), [0.0, 0.0, sin, cos]);
        unit(product(product(self.frame, allowed), conjugate(self.own)))
    }

    /// Returns the allowed rotation after a step from an allowed one. `towards` is the step as a rotation
    /// vector, in the space of the joint's parent. Swing and twist move separately and are clamped
    /// separately. Therefore a small step along the gradient of a cost also descends along the border.
    pub(super) fn slide(&self, rotation: Quat64, towards: Vec64) -> Quat64 {
        let ([x, y], [sin, cos]) = self.split(rotation);
        let by = 1.0 / (1.0 + x * x + y * y);
        let swing = swung([x, y]);
        let towards = rotate(conjugate(self.frame), towards);
        // Rotation of the joint per unit of a plane coordinate: 2 ds/dx s⁻¹, of length 4 / (1 + x² + y²).
        let b2 = 4.0 * by * by;
        let along_x = product([2.0 * by - b2 * x * x, -b2 * x * y, 0.0, -b2 * x], conjugate(swing));
        let along_y = product([-b2 * x * y, 2.0 * by - b2 * y * y, 0.0, -b2 * y], conjugate(swing));
        let part = |q: Quat64| 2.0 * (q[0] * towards[0] + q[1] * towards[1] + q[2] * towards[2]);
        let size = 1.0 / (16.0 * by * by);
        // From farther away the nearest border point is the same, and the squares would overflow.
        let moved = [x + size * part(along_x), y + size * part(along_y)].map(|v| v.clamp(-1e6, 1e6));
        let half = 0.5 * dot(rotate(swing, [0.0, 0.0, 1.0]), towards);
        let twisted = 1.0 / sqrt_f64(1.0 + half * half);
        let twisted = [(sin + cos * half) * twisted, (cos - sin * half) * twisted];
        let moved = self.border.nearest(moved, self.soft).unwrap_or(moved);
        let twisted = self.twist.and_then(|twist| twist.nearest(twisted, self.soft)).unwrap_or(twisted);
        near_to(rotation, self.joined(moved, twisted))
    }
}

/// Quaternion of a swing.
fn swung([x, y]: [f64; 2]) -> Quat64 {
    let size = x * x + y * y;
    let by = 1.0 / (1.0 + size);
    [2.0 * x * by, 2.0 * y * by, 0.0, (1.0 - size) * by]
}

/// π rounded up to f32.
const LARGEST: f64 = core::f32::consts::PI as f64;
const CONE: &str = "a cone with an angle from 0 to π";
const ELLIPSE: &str = "an ellipse with angles above 0 and at most π";
const POLYGON: &str = "a polygon of at least three swings, each at most π";
const CONVEX: &str = "a convex polygon of at most 1000 corners, because its border is soft";
const SOFT: &str = "given a soft fraction from 0 to 1";
const TWIST: &str =
    "given a twist from the minimum to the maximum angle, at most a full turn apart, within 100 of 0";

fn check_angle(angle: f32, least: f64) -> Option<f64> {
    let angle = f64::from(angle);
    (angle >= least && angle <= LARGEST).then_some(angle)
}

/// Rotation that takes the coordinate axes to three orthogonal directions. Shepperd 1978.
fn from_axes(x: Vec64, y: Vec64, z: Vec64) -> Quat64 {
    let squares = [
        1.0 + x[0] - y[1] - z[2],
        1.0 - x[0] + y[1] - z[2],
        1.0 - x[0] - y[1] + z[2],
        1.0 + x[0] + y[1] + z[2],
    ];
    let (mut most, mut at) = (squares[3], 3);
    for (c, &square) in squares.iter().enumerate().take(3) {
        if square > most {
            (most, at) = (square, c);
        }
    }
    match at {
        0 => [most, x[1] + y[0], z[0] + x[2], y[2] - z[1]],
        1 => [x[1] + y[0], most, y[2] + z[1], z[0] - x[2]],
        2 => [z[0] + x[2], y[2] + z[1], most, x[1] - y[0]],
        _ => [y[2] - z[1], z[0] - x[2], x[1] - y[0], most],
    }
}

#[cfg(test)]
pub(super) mod tests;
