//! How far joints turn: what is allowed of each, and the nearest allowed rotation.
//!
//! A rotation is split into a swing of the joint's axis and a twist about it, `reference⁻¹ · rotation = swing · twist`. A swing is a point
//! in the plane, its axis times the tangent of a quarter of its angle: the stereographic projection of its quaternion, which takes a division to find and one to undo, no
//! arcs, and has no place before a full turn where it loses digits. There cones are circles, and the borders of ellipses and polygons
//! are ellipses and straight lines. Blow, "Inverse Kinematics with Quaternion Joint Limits", 2002, has the idea of a polygon in a plane of swings.

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

/// How far the axis of a joint may swing from where its reference has it. Angles in radians.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Swing {
    /// Not at all: the joint is a hinge that turns about its axis.
    Hinge,
    /// By an angle up to this one in each direction, from 0 to π.
    Cone(f32),
    /// By angles that differ from direction to direction.
    Ellipse {
        /// In the joint's own space, and not along its axis: about it the first angle counts.
        side: [f32; 3],
        /// The greatest swing about `side`, and about the direction across it and the axis (axis × side). More than 0, at most π.
        angles: [f32; 2],
    },
    /// Within a polygon of any shape that does not cross itself.
    Polygon {
        /// As of an ellipse.
        side: [f32; 3],
        /// At least three swings, in order: each a vector along its axis, as long as its angle, in terms of `side` and axis × side. At most π long.
        corners: Vec<[f32; 2]>,
    },
    /// As far as it likes.
    Free,
}

/// What a joint can do.
///
/// ```
/// use condyle_solve::{JointLimit, Limits, Swing};
/// # use condyle::{Joint, Skeleton, Transform};
/// # let joint = |name, parent| Joint::new(name, parent, Transform::IDENTITY);
/// # let skeleton = Skeleton::new([joint("shoulder", None), joint("elbow", Some(0))])?;
///
/// // A shoulder that swings its bone, which is along +Y, by 80 degrees and twists it by 45; and an elbow about +Z.
/// let turn = |degrees: f32| degrees.to_radians();
/// let shoulder = JointLimit {
///     swing: Swing::Cone(turn(80.0)),
///     twist: Some([turn(-45.0), turn(45.0)]),
///     ..JointLimit::free([0.0, 1.0, 0.0])
/// };
/// let elbow = JointLimit::hinge([0.0, 0.0, 1.0], [0.0, turn(150.0)]);
/// let limits = Limits::new(&skeleton, [(0, shoulder), (1, elbow)])?;
///
/// let (sin, cos) = turn(160.0 / 2.0).sin_cos();
/// let [.., z, w] = limits.clamp(1, [0.0, 0.0, sin, cos]);
/// assert!((2.0 * z.atan2(w) - turn(150.0)).abs() < 1e-6);
/// # Ok::<(), condyle::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct JointLimit {
    /// The local rotation from which swing and twist are counted: that of the rest pose, or one in the middle.
    pub reference: Quat,
    /// In the joint's own space: along its bone, or what a hinge turns about. Of any length but 0.
    pub axis: [f32; 3],
    /// Of the axis.
    pub swing: Swing,
    /// The least and the greatest angle about the axis, radians, at most a full turn apart; `None`: any.
    pub twist: Option<[f32; 2]>,
    /// How much of the way from the middle to the border slows down what is asked of the joint, so that it does not stop all of a sudden: 0.2 for the last fifth. There a swing or a
    /// twist falls behind, and as far beyond the border as that part begins before it, it comes to rest at the border. From 0, which is a hard border, to 1. Along an
    /// ellipse the part is that of the radius that the border has there, a polygon must be convex and becomes round at its corners. Solvers that go on from their own answers, [`body`](super::body())
    /// and [`chain`](super::chain()) by least squares, take borders as hard.
    pub soft: f32,
}

impl JointLimit {
    /// No limit, about an axis, with the identity as the reference: to be filled in.
    #[must_use]
    pub fn free(axis: [f32; 3]) -> Self {
        Self { reference: [0.0, 0.0, 0.0, 1.0], axis, swing: Swing::Free, twist: None, soft: 0.0 }
    }

    /// A hinge about an axis, from one angle to another, radians from the identity.
    #[must_use]
    pub fn hinge(axis: [f32; 3], range: [f32; 2]) -> Self {
        Self { swing: Swing::Hinge, twist: Some(range), ..Self::free(axis) }
    }
}

/// The limits of a skeleton's joints: one for each that has any.
///
/// The skeleton itself has none, so that each use of it may have its own: what a body can do, or what looks natural.
#[derive(Debug, Clone, PartialEq)]
pub struct Limits {
    joints: Vec<Option<Limit>>,
    fingerprint: u32,
}

impl Limits {
    /// Checks limits and makes them ready. A joint that is named twice has the later one.
    ///
    /// # Errors
    /// [`Error::Index`] where there is no such joint. Of the limit of joint `at`: [`Error::NotFinite`] where it holds NaN or an infinity;
    /// [`Error::NotUnit`] where the length of its reference is more than 2 % from 1; [`Error::NoDirection`] where `axis` is 0, or `side` lies along it;
    /// [`Error::OutOfRange`] where an angle, a range of twist, the number of corners or `soft` is not what it says, or where a polygon whose border is soft
    /// is not convex, has no area, or has more than a thousand corners.
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

    /// How many joints the skeleton has.
    #[must_use]
    pub fn joint_count(&self) -> usize {
        self.joints.len()
    }

    /// The limit of one joint; `None` if it has none, or there is no such joint.
    #[must_use]
    pub fn get(&self, joint: u16) -> Option<&JointLimit> {
        self.limit(joint).map(|limit| &limit.given)
    }

    /// The allowed local rotation of a joint that is nearest to `rotation`, in swing and in twist.
    ///
    /// What is allowed stays, bit for bit, unless it is where a soft border slows it down; the same rotation comes back from a joint without a limit. Nearest is meant in the plane of swings (see
    /// [`Swing`]), so that a rotation that goes on outside slides along the border; where that is convex nothing jumps but from the side
    /// opposite to the middle. NaN stays.
    #[must_use]
    pub fn clamp(&self, joint: u16, rotation: Quat) -> Quat {
        narrowed(rotation, self.limit(joint).and_then(|limit| limit.clamp(wide(rotation))))
    }

    /// As [`clamp`](Self::clamp), as if no border were soft: what is allowed stays, however often it is asked for. For what goes on from its own answer, such as
    /// [`BodyOptions::limit`](super::full_body::BodyOptions::limit).
    #[must_use]
    pub fn hold(&self, joint: u16, rotation: Quat) -> Quat {
        narrowed(rotation, self.limit(joint).and_then(|limit| limit.hold(wide(rotation))))
    }

    /// By how many radians a local rotation of a joint is beyond its limit: 0 within.
    #[must_use]
    pub fn excess(&self, joint: u16, rotation: Quat) -> f32 {
        let rotation = wide(rotation);
        let nearest = self.limit(joint).and_then(|limit| limit.hold(rotation));
        nearest.map_or(0.0, |nearest| angle(nearest, unit(rotation)) as f32)
    }

    pub(super) fn limit(&self, joint: u16) -> Option<&Limit> {
        self.joints.get(usize::from(joint))?.as_ref()
    }

    /// `Ok` if these are limits of this skeleton.
    pub(super) fn check(&self, skeleton: &Skeleton) -> Result<(), Error> {
        skeleton.check_fingerprint("limits", self.fingerprint)
    }
}

fn narrowed(rotation: Quat, nearest: Option<Quat64>) -> Quat {
    nearest.map_or(rotation, |nearest| nearest.map(|v| v as f32))
}

/// Brings every joint of a pose within its limit; those that are stay as they are, unless they are where a soft border slows them down.
///
/// # Errors
/// [`Error::Length`] if the pose is of another size than the skeleton of `limits`.
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

/// What a limit says, and the same made ready.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Limit {
    given: JointLimit,
    /// From the joint's space to that of its parent in the reference, with z along the axis and x along the side.
    frame: Quat64,
    /// The same within the joint's space.
    own: Quat64,
    border: Border,
    twist: Option<Twist>,
    /// Of a hinge.
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

/// The rotations of a hinge: sine and cosine of half of the angle from the middle of its range, times `across` and `middle`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Circle {
    /// In the space of the joint's parent.
    pub(super) axis: Vec64,
    pub(super) middle: Quat64,
    pub(super) across: Quat64,
    /// Sine and cosine of half of the angle to the ends of the range, if it has any.
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

    /// What a hinge turns about, in the space of the joint's parent.
    pub(super) fn hinge(&self) -> Option<Vec64> {
        self.circle.map(|circle| circle.axis)
    }

    /// How it turns where it is a hinge.
    pub(super) fn circle(&self) -> Option<&Circle> {
        self.circle.as_ref()
    }

    /// Whether what is asked of it is slowed down before the border.
    pub(super) fn is_soft(&self) -> bool {
        self.soft > 0.0
    }

    /// What becomes of a rotation that a joint is asked for: the nearest one that is allowed, or less where the border is soft; `None` where it stays.
    pub(super) fn clamp(&self, rotation: Quat64) -> Option<Quat64> {
        self.within(rotation, self.soft)
    }

    /// The nearest rotation that is allowed; `None` where this one is.
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
        // On the same side as what was given, so that nothing that mixes them takes the longer way.
        Some(near_to(rotation, self.joined(near.unwrap_or(swing), twisted.unwrap_or(twist))))
    }

    /// Swing and twist of a rotation not more than [`ROUNDED`] away that is farther within. The nearer a swing is to half a turn, the less a rotation says
    /// which direction it has: turned in its plane, with half of the twist by as much, it is almost the same one.
    fn turned(&self, [x, y]: [f64; 2], [sin, cos]: [f64; 2]) -> Option<([f64; 2], [f64; 2])> {
        let swing = match self.border {
            Border::Ellipse(axes) => turn_into_ellipse(axes, [x, y]),
            _ => None,
        };
        let twist = self.twist.and_then(|twist| twist.turn_back([sin, cos]));
        // What rounding alone has turned is turned back by the greater of both.
        let [mut s, mut c] = match (swing, twist) {
            (Some(swing), Some(twist)) if twist[0].abs() > swing[0].abs() => twist,
            (swing, twist) => swing.or(twist)?,
        };
        let size = x * x + y * y;
        // The cosine of half of the swing is how much of a twist shows in the rotation.
        let most = ROUNDED * (1.0 + size) / (1.0 - size).abs();
        if s.abs() > most {
            s = most.copysign(s);
            c = sqrt_f64((1.0 - s) * (1.0 + s));
        }
        Some(([x * c - y * s, x * s + y * c], [sin * c + cos * s, cos * c - sin * s]))
    }

    /// The swing in its plane; and sine and cosine of half of the twist.
    fn split(&self, rotation: Quat64) -> ([f64; 2], [f64; 2]) {
        let q = product(product(conjugate(self.frame), unit(rotation)), self.own);
        let [x, y, z, w] = if q[3] < 0.0 { q.map(|v| -v) } else { q };
        let cos = sqrt_f64(z * z + w * w);
        // A swing by half a turn leaves no twist to see.
        let [s, c] = if cos > 1e-9 { [z / cos, w / cos] } else { [0.0, 1.0] };
        ([x * c - y * s, x * s + y * c].map(|v| v / (1.0 + cos)), [s, c])
    }

    fn joined(&self, swing: [f64; 2], [sin, cos]: [f64; 2]) -> Quat64 {
        let allowed = product(swung(swing), [0.0, 0.0, sin, cos]);
        unit(product(product(self.frame, allowed), conjugate(self.own)))
    }

    /// An allowed rotation after a step from one that is allowed: about `towards`, in the space of the joint's parent, and by its length, as far as
    /// the border lets it. Swing and twist go each their way and are held each on their own, so that a small step along the slope of whatever is to become
    /// less goes down along the border, too.
    pub(super) fn slide(&self, rotation: Quat64, towards: Vec64) -> Quat64 {
        let ([x, y], [sin, cos]) = self.split(rotation);
        let by = 1.0 / (1.0 + x * x + y * y);
        let swing = swung([x, y]);
        let towards = rotate(conjugate(self.frame), towards);
        // How the joint turns while a coordinate of the plane grows: twice ds/dx s⁻¹, of length 4 / (1 + x² + y²).
        let b2 = 4.0 * by * by;
        let along_x = product([2.0 * by - b2 * x * x, -b2 * x * y, 0.0, -b2 * x], conjugate(swing));
        let along_y = product([-b2 * x * y, 2.0 * by - b2 * y * y, 0.0, -b2 * y], conjugate(swing));
        let part = |q: Quat64| 2.0 * (q[0] * towards[0] + q[1] * towards[1] + q[2] * towards[2]);
        let size = 1.0 / (16.0 * by * by);
        // Beyond this the nearest of a border is where it is from here, and squares are numbers.
        let moved = [x + size * part(along_x), y + size * part(along_y)].map(|v| v.clamp(-1e6, 1e6));
        let half = 0.5 * dot(rotate(swing, [0.0, 0.0, 1.0]), towards);
        let twisted = 1.0 / sqrt_f64(1.0 + half * half);
        let twisted = [(sin + cos * half) * twisted, (cos - sin * half) * twisted];
        let moved = self.border.nearest(moved, self.soft).unwrap_or(moved);
        let twisted = self.twist.and_then(|twist| twist.nearest(twisted, self.soft)).unwrap_or(twisted);
        near_to(rotation, self.joined(moved, twisted))
    }
}

/// The quaternion of a swing.
fn swung([x, y]: [f64; 2]) -> Quat64 {
    let size = x * x + y * y;
    let by = 1.0 / (1.0 + size);
    [2.0 * x * by, 2.0 * y * by, 0.0, (1.0 - size) * by]
}

/// π, as f32 rounds it up.
const LARGEST: f64 = core::f32::consts::PI as f64;
const CONE: &str = "a cone from 0 to π";
const ELLIPSE: &str = "an ellipse of angles above 0, at most π";
const POLYGON: &str = "a polygon of at least three swings of at most π";
const CONVEX: &str = "a convex polygon of at most 1000 corners where its border is soft";
const SOFT: &str = "a part from 0 to 1 that is soft";
const TWIST: &str =
    "a twist from the lesser to the greater angle, at most a full turn apart, within 100 of 0";

fn check_angle(angle: f32, least: f64) -> Option<f64> {
    let angle = f64::from(angle);
    (angle >= least && angle <= LARGEST).then_some(angle)
}

/// The rotation that takes the axes to three directions at right angles. Shepperd 1978.
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
