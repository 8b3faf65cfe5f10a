//! The whole body: many goals at once, for any joints of a skeleton.
//!
//! Hands that hold on, feet that stay, a head that looks, a centre of mass over the feet: each is a [`Goal`], and [`body`] turns
//! the joints above them: near ones first, so that the head and the other limbs stay where an arm reaches alone. What a clip shows is what it starts from and what it stays near to.
//!
//! ```
//! use condyle_solve::full_body::{BodyBuffer, BodyOptions, Goal, body};
//! use condyle::{Affine, Joint, Pose, Skeleton, Transform, local_to_model};
//!
//! // A trunk with two arms of two bones each.
//! let at = |x, y| Transform { translation: [x, y, 0.0], ..Transform::IDENTITY };
//! let skeleton = Skeleton::new([
//!     Joint::new("hips", None, at(0.0, 1.0)),
//!     Joint::new("chest", Some(0), at(0.0, 0.4)),
//!     Joint::new("arm.L", Some(1), at(0.2, 0.1)),
//!     Joint::new("elbow.L", Some(2), at(0.3, 0.0)),
//!     Joint::new("hand.L", Some(3), at(0.3, 0.0)),
//!     Joint::new("arm.R", Some(1), at(-0.2, 0.1)),
//!     Joint::new("elbow.R", Some(5), at(-0.3, 0.0)),
//!     Joint::new("hand.R", Some(6), at(-0.3, 0.0)),
//! ])?;
//! // The left hand reaches up and forward, the right one stays where it is.
//! let goals = [Goal::position(4, [0.3, 1.9, 0.2]), Goal::pin(7)];
//! let (mut buffer, mut pose) = (BodyBuffer::default(), Pose::rest(&skeleton));
//! let reached = body(&skeleton, &goals, &BodyOptions::default(), &mut buffer, &mut pose)?;
//! assert!(reached.met && reached.distance < 2e-4);
//!
//! let mut model = vec![Affine::IDENTITY; skeleton.joint_count()];
//! local_to_model(&skeleton, &pose, &mut model)?;
//! let [x, y, z] = model[4].transform_point([0.0; 3]);
//! assert!((x - 0.3).abs() < 2e-4 && (y - 1.9).abs() < 2e-4 && (z - 0.2).abs() < 2e-4);
//! # Ok::<(), condyle::Error>(())
//! ```

mod buffer;
mod goal;
mod normal;
mod readiness;
mod rows;
mod search;
#[cfg(test)]
mod tests;
mod tree;

use core::fmt;

pub use self::buffer::BodyBuffer;
pub use self::goal::{Goal, GoalKind};
pub use self::readiness::readiness;
use crate::maps::check_distance;
use buffer::Sought;
use condyle::pose::Pose;
use condyle::skeleton::Skeleton;
use condyle_base::error::Error;
use condyle_base::math::Quat;
use condyle_base::math::quats::Quat64;
use tree::unit;

/// What a radian of an orientation counts as, in sizes: about what the farthest part of a hand or a foot moves by.
const TURN: f64 = 0.2;

/// The most goals of a call: the time of a step grows with the third power of their number.
pub const MAX_GOALS: usize = 256;

/// How [`body`] goes about it.
///
/// ```
/// use condyle_solve::full_body::BodyOptions;
///
/// // Hips (joint 0) that shift half as readily as joints turn, and a hundredth of a millimetre.
/// let options = BodyOptions { shift: Some((0, 0.5)), tolerance: Some(1e-5), ..BodyOptions::default() };
/// assert_eq!(options.iterations, 100);
/// ```
#[derive(Clone, Copy)]
pub struct BodyOptions<'a> {
    /// The most steps that are tried, which bounds the time; 100 by default. Goals that joints near by reach take three to six, those that need the back some ten more, and those that cannot be
    /// met some tens until nothing is gained any more.
    pub iterations: u32,
    /// The residual at which a goal is met: metres, or whatever the skeleton's lengths are in. `None`, the default, is a ten-thousandth of the size
    /// ([`BodyReached::size`]). Of an orientation it is as many radians as move a point a fifth of the size away by as much.
    pub tolerance: Option<f32>,
    /// What turning away from the given pose costs, a radian of the joint that turns least readily as much as so many goals a size away; 10⁻⁶ by default, which chooses among poses
    /// that meet the goals and does not keep any from being met. At least 0.
    pub pull: f32,
    /// How readily each joint turns, relative to the others: one number for each joint of the skeleton, at least 0. A joint of 0 is not turned at all, one of
    /// 2 turns twice as far for the same goal. `None` is what [`readiness`] writes for the joints of all goals that count: near joints turn first, and what carries much else only where
    /// they do not suffice. Ones for all share a movement among all joints.
    pub ease: Option<&'a [f32]>,
    /// A joint whose translation may change too, the hips or the root, and how readily: with 1, by a size as readily as a joint of ease 1 turns by a
    /// radian; it is passed over where no goal hangs on it. `None` by default: then no translation changes, and no bone is stretched.
    pub shift: Option<(u16, f32)>,
    /// The local rotation that a joint may have nearest to one that it may not: called with a joint and a rotation for each joint that is
    /// turned, in every step. A result that is not finite is passed over. [`Limits::hold`](super::Limits::hold) is such a function: each step goes on from the one before, which a soft
    /// border would slow down again, so that borders are hard here.
    pub limit: Option<&'a dyn Fn(u16, Quat) -> Quat>,
}

impl Default for BodyOptions<'_> {
    fn default() -> Self {
        Self { iterations: 100, tolerance: None, pull: 1e-6, ease: None, shift: None, limit: None }
    }
}

impl fmt::Debug for BodyOptions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { iterations, tolerance, pull, ease, shift, limit } = self;
        f.debug_struct("BodyOptions")
            .field("iterations", iterations)
            .field("tolerance", tolerance)
            .field("pull", pull)
            .field("ease", ease)
            .field("shift", shift)
            .field("limit", &limit.map(|_| "a function"))
            .finish()
    }
}

impl BodyOptions<'_> {
    /// `Ok` for a body of so many joints.
    fn check(&self, count: usize) -> Result<(), Error> {
        let not_negative = |what, at, value: f32| {
            if !value.is_finite() {
                Err(Error::NotFinite { what, at })
            } else if value < 0.0 {
                Err(Error::OutOfRange { what, at, needed: "at least 0" })
            } else {
                Ok(())
            }
        };
        not_negative("pull", 0, self.pull)?;
        self.tolerance.map_or(Ok(()), |tolerance| not_negative("tolerance", 0, tolerance))?;
        if let Some(ease) = self.ease {
            Error::check_len("ease", ease.len(), count)?;
            for (at, &ease) in ease.iter().enumerate() {
                not_negative("ease", at, ease)?;
            }
        }
        if let Some((joint, ease)) = self.shift {
            not_negative("shift", 0, ease)?;
            let found = usize::from(joint);
            if found >= count {
                return Err(Error::Index { what: "shift", at: 0, found, count });
            }
        }
        Ok(())
    }

    /// What a joint may have of a rotation.
    fn limited(&self, joint: u16, rotation: Quat64) -> Quat64 {
        let Some(limit) = self.limit else { return rotation };
        let allowed = limit(joint, rotation.map(|v| v as f32)).map(f64::from);
        if allowed.iter().all(|v| v.is_finite()) { unit(allowed) } else { rotation }
    }
}

/// How far a body came towards its goals; [`BodyBuffer::residuals`] tells it of each.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct BodyReached {
    /// The largest residual of a position or of a centre of mass whose weight is not 0, metres.
    pub distance: f32,
    /// The largest residual of an orientation whose weight is not 0, radians.
    pub angle: f32,
    /// How many steps were tried.
    pub iterations: u32,
    /// Whether every goal whose weight is not 0 is met, to the tolerance.
    pub met: bool,
    /// The longest way along bones from a root to where a goal applies, in the given pose, metres. All lengths are parts of it, so that the answer is the
    /// same whatever they are measured in.
    pub size: f32,
}

/// Turns the joints of a body so that many goals are met at once, or as well as they can be.
///
/// `pose` is where it starts and what it stays near to: of the poses that meet the goals, one that is turned little. It minimises the sum of the squared
/// residuals, each times the weight of its goal, and the squares of what was turned, times [`BodyOptions::pull`]. A goal out of reach, or one
/// that contradicts another, leaves the nearest pose, as far as the search can see from where it starts. Only rotations of joints that a goal
/// hangs on change, and the translation of [`BodyOptions::shift`]. Joints may have any scale; a joint whose ancestors are flat is not turned.
///
/// It is the method of Levenberg and Marquardt (Nocedal and Wright, *Numerical Optimization*, chapter 10) with the curvature of goals that are out of reach.
/// Lengths are metres, or what the skeleton's are in. The time is at most in proportion to [`BodyOptions::iterations`]. Nothing is
/// allocated once `buffer` has served a call of this size, and the bits are the same on all machines in both numeric modes. Rotations that are not of unit length are
/// taken to be.
///
/// # Errors
/// [`Error::Length`] if `pose` or the ease is not of the skeleton's size. [`Error::TooMany`] above [`MAX_GOALS`]. Of goal `at`: [`Error::Index`] for a joint that is not
/// there, [`Error::NotFinite`] where it holds NaN or an infinity, [`Error::NotUnit`] where an orientation's length is more than 2 % from 1,
/// [`Error::OutOfRange`] for a negative weight or mass, no mass at all, or a place 1e38 away or more. Of options, [`Error::NotFinite`], [`Error::OutOfRange`] and
/// [`Error::Index`]. [`Error::NotFinite`] too where the pose of a joint that a goal hangs on is not finite, or where its
/// place is not. The pose is then as it was.
///
/// ```
/// use condyle_solve::full_body::{BodyBuffer, BodyOptions, Goal, body};
/// # use condyle::{Joint, Pose, Skeleton, Transform};
/// # let up = Transform { translation: [0.0, 1.0, 0.0], ..Transform::IDENTITY };
/// # let joint = |name, parent| Joint::new(name, parent, up);
/// # let skeleton = Skeleton::new([joint("a", None), joint("b", Some(0)), joint("c", Some(1))])?;
///
/// // The tip of two bones that stand upright is to come down by half a metre: straight as they are, they bend.
/// let mut pose = Pose::rest(&skeleton);
/// let goals = [Goal::position(2, [0.0, 2.5, 0.0])];
/// let reached = body(&skeleton, &goals, &BodyOptions::default(), &mut BodyBuffer::default(), &mut pose)?;
/// assert!(reached.met && pose.get(1).rotation[3] < 0.9);
/// # Ok::<(), condyle::Error>(())
/// ```
pub fn body(
    skeleton: &Skeleton,
    goals: &[Goal<'_>],
    options: &BodyOptions<'_>,
    buffer: &mut BodyBuffer,
    pose: &mut Pose,
) -> Result<BodyReached, Error> {
    let count = skeleton.joint_count();
    pose.check_joints("pose", count)?;
    options.check(count)?;
    if goals.len() > MAX_GOALS {
        return Err(Error::TooMany { what: "goals", found: goals.len(), limit: MAX_GOALS });
    }
    for (at, goal) in goals.iter().enumerate() {
        goal.check(at, count)?;
    }
    buffer.prepare(skeleton, goals, options, pose)?;
    let tolerance = options.tolerance.map_or(1e-4, |tolerance| f64::from(tolerance) / buffer.size);
    let iterations = buffer.search_near_first(options, tolerance);
    buffer.check_residuals()?;
    buffer.write(pose);
    let [distance, angle] = buffer.worst();
    Ok(BodyReached {
        distance: (distance * buffer.size) as f32,
        angle: angle as f32,
        iterations,
        met: buffer.is_met(tolerance),
        size: buffer.size as f32,
    })
}

impl BodyBuffer {
    /// `Ok` if f32 holds all residuals.
    fn check_residuals(&self) -> Result<(), Error> {
        for (at, (goal, error)) in self.goals.iter().zip(&self.now.errors).enumerate() {
            if !matches!(goal.sought, Sought::Turn { .. }) {
                check_distance("goals", at, goal.residual(*error) * self.size)?;
            }
        }
        Ok(())
    }

    /// Writes what was found, and how far each goal is from being met.
    fn write(&mut self, pose: &mut Pose) {
        self.residuals.clear();
        for (goal, error) in self.goals.iter().zip(&self.now.errors) {
            let unit = if matches!(goal.sought, Sought::Turn { .. }) { 1.0 } else { self.size };
            self.residuals.push((goal.residual(*error) * unit) as f32);
        }
        for unknown in &self.unknowns {
            let at = unknown.joint as usize;
            let (joint, local) = (usize::from(self.joints[at].joint), &self.now.locals[at]);
            // What is left as it was keeps its bits.
            if *local == self.given[at] {
                continue;
            }
            let mut t = pose.get(joint);
            if unknown.shifts {
                // What rounds to an infinity is far enough.
                t.translation = local.translation.map(|v| ((v * self.size) as f32).clamp(f32::MIN, f32::MAX));
            } else {
                t.rotation = local.rotation.map(|v| v as f32);
            }
            pose.set(joint, &t);
        }
    }
}
