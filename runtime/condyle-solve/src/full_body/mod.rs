//! Full-body IK: many goals simultaneously, for any joints of a skeleton.
//!
//! Hands that hold on, planted feet, a head that looks, a centre of mass over the feet: each is a [`Goal`].
//! [`body`] turns the ancestors of the goals, near joints first. If an arm alone reaches its goal, the head
//! and the other limbs stay in place. The search starts from the input pose, for example a frame of a clip,
//! and stays near it.
//!
//! ```
//! use condyle::{Affine, Pose, example, local_to_model};
//! use condyle_solve::full_body::{BodyBuffer, BodyOptions, Goal, body};
//!
//! // The left hand reaches up and forward, the right one keeps its position.
//! let skeleton = example::skeleton();
//! let [left, right] = [example::ARM_L[2], example::ARM_R[2]];
//! let goals = [Goal::position(left, [0.3, 1.9, 0.2]), Goal::pin(right)];
//! let (mut buffer, mut pose) = (BodyBuffer::default(), Pose::rest(&skeleton));
//! let reached = body(&skeleton, &goals, &BodyOptions::default(), &mut buffer, &mut pose)?;
//! assert!(reached.met && reached.distance < 2e-4);
//!
//! let mut model = vec![Affine::IDENTITY; skeleton.joint_count()];
//! local_to_model(&skeleton, &pose, &mut model)?;
//! let [x, y, z] = model[usize::from(left)].transform_point([0.0; 3]);
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

/// Weight of a radian of an orientation, in sizes: about the distance that the far end of a hand or a foot
/// moves.
const TURN: f64 = 0.2;

/// Maximum number of goals of a call. The time of a step grows with the third power of the number of goals.
pub const MAX_GOALS: usize = 256;

/// Options of [`body`].
///
/// ```
/// use condyle_solve::full_body::BodyOptions;
///
/// // Hips (joint 0) with half the ease of a turning joint, and a tolerance of 0.01 mm.
/// let options = BodyOptions { shift: Some((0, 0.5)), tolerance: Some(1e-5), ..BodyOptions::default() };
/// assert_eq!(options.iterations, 100);
/// ```
#[derive(Clone, Copy)]
pub struct BodyOptions<'a> {
    /// Maximum number of steps, which bounds the time; 100 by default. Goals that near joints reach take 3 to
    /// 6 steps, goals that need the back about 10 more. Goals out of reach take some tens, until there is no
    /// more progress.
    pub iterations: u32,
    /// Residual at which a goal counts as met, in metres or the skeleton's unit of length. `None`, the
    /// default, is 1e-4 times the size ([`BodyReached::size`]). For an orientation, the tolerance is the
    /// angle that moves a point by this distance, if the point is 20 % of the size away.
    pub tolerance: Option<f32>,
    /// Weight of the regularisation towards the input pose; at least 0. It is the cost of one squared radian
    /// of the joint with the lowest ease, relative to one goal missed by the size. The default 1e-6 selects
    /// among poses that meet the goals, and does not keep a goal from being met.
    pub pull: f32,
    /// Ease of each joint of the skeleton, relative to the others; at least 0. A joint with ease 0 is not
    /// turned, and one with ease 2 turns twice as far for the same goal.
    ///
    /// `None` uses the result of [`readiness`] for the joints of all goals with a weight: near joints turn
    /// first. Joints that also carry other parts of the body turn only if the near joints do not suffice.
    /// Equal values distribute a movement over all joints.
    pub ease: Option<&'a [f32]>,
    /// A joint whose translation may change too, such as the hips or the root, and its ease. With an ease of
    /// 1, the joint moves by one size as readily as a joint of ease 1 turns by one radian. If no goal depends
    /// on the joint, this option has no effect. `None`, the default, changes no translation, so no bone is
    /// stretched.
    pub shift: Option<(u16, f32)>,
    /// Joint limits: a function that returns the allowed local rotation nearest to the given one. It is
    /// called with joint index and rotation, for each turning joint in every step. A result that is not
    /// finite is ignored.
    ///
    /// [`Limits::hold`](super::Limits::hold) is such a function. Borders must be hard: each step continues
    /// from the one before, so a soft border would reduce the rotation again in every step.
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
    /// Checks the options for a body of `count` joints.
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

    /// Returns the rotation after applying the joint's limit; the input if the limit returns NaN or infinity.
    fn limited(&self, joint: u16, rotation: Quat64) -> Quat64 {
        let Some(limit) = self.limit else { return rotation };
        let allowed = limit(joint, rotation.map(|v| v as f32)).map(f64::from);
        if allowed.iter().all(|v| v.is_finite()) { unit(allowed) } else { rotation }
    }
}

/// Result of [`body`]. [`BodyBuffer::residuals`] returns the residual of each goal.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct BodyReached {
    /// Largest residual of a position or centre of mass with a weight above 0, in metres.
    pub distance: f32,
    /// Largest residual of an orientation with a weight above 0, in radians.
    pub angle: f32,
    /// Number of steps.
    pub iterations: u32,
    /// Whether every goal with a weight above 0 is met, within the tolerance.
    pub met: bool,
    /// Size of the problem in metres: the longest path along bones from a root to the point of a goal, in the
    /// input pose. All lengths are divided by it, so that the result does not depend on the unit of length.
    pub size: f32,
}

/// Turns the joints of a body so that many goals are met simultaneously, or as well as possible.
///
/// The search starts at `pose` and stays near it: among the poses that meet the goals, the result is one
/// with small rotations. It minimises the weighted sum of squared residuals, plus [`BodyOptions::pull`] times
/// the squared rotations. For goals that are out of reach or contradict each other, the result is a local
/// optimum.
///
/// Only the rotations of a goal's ancestors change, and the translation of [`BodyOptions::shift`]. Joints may
/// have any scale. A joint below a singular matrix is not turned.
///
/// The method is Levenberg-Marquardt (Nocedal and Wright, *Numerical Optimization*, chapter 10) with the
/// curvature of goals that are out of reach. Lengths are in metres, or in the skeleton's unit of length. The
/// time is at most proportional to [`BodyOptions::iterations`].
///
/// After the first call of this size, a call with the same `buffer` does not allocate. Results are
/// bit-identical on all machines and in both numeric modes. Rotations are normalised first.
///
/// # Errors
/// [`Error::Length`] if `pose` or `ease` does not hold one element per joint. [`Error::TooMany`] for more
/// than [`MAX_GOALS`] goals. For goal `at`: [`Error::Index`] if its joint does not exist,
/// [`Error::NotFinite`] if it has a NaN or an infinity, [`Error::NotUnit`] if the length of its orientation
/// differs from 1 by more than 2 %. [`Error::OutOfRange`] if a goal's weight or mass is negative, if its
/// masses are all 0, or if its position is 1e38 away or more.
///
/// For options: [`Error::NotFinite`], [`Error::OutOfRange`] and [`Error::Index`]. Also [`Error::NotFinite`]
/// if the transform of a goal's joint or of one of its ancestors is not finite, in local or in model space.
/// In model space, an absolute value of 1e60 or more counts as infinite. After an error the pose is
/// unchanged.
///
/// ```
/// use condyle::{Pose, example};
/// use condyle_solve::full_body::{BodyBuffer, BodyOptions, Goal, body};
///
/// // Two bones of 1 m form a straight vertical line. To lower the hand by half a metre, they have to bend.
/// let skeleton = example::chain(["shoulder", "elbow", "hand"], [0.0, 1.0, 0.0]);
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
    /// Checks that all residuals fit f32.
    fn check_residuals(&self) -> Result<(), Error> {
        for (at, (goal, error)) in self.goals.iter().zip(&self.now.errors).enumerate() {
            if !matches!(goal.sought, Sought::Turn { .. }) {
                check_distance("goals", at, goal.residual(*error) * self.size)?;
            }
        }
        Ok(())
    }

    /// Writes the solution, and the residual of each goal.
    fn write(&mut self, pose: &mut Pose) {
        self.residuals.clear();
        for (goal, error) in self.goals.iter().zip(&self.now.errors) {
            let unit = if matches!(goal.sought, Sought::Turn { .. }) { 1.0 } else { self.size };
            self.residuals.push((goal.residual(*error) * unit) as f32);
        }
        for unknown in &self.unknowns {
            let at = unknown.joint as usize;
            let (joint, local) = (usize::from(self.joints[at].joint), &self.now.locals[at]);
            // Unchanged rotations keep their bits.
            if *local == self.given[at] {
                continue;
            }
            let mut t = pose.get(joint);
            if unknown.shifts {
                // A translation that would round to infinity is clamped.
                t.translation = local.translation.map(|v| ((v * self.size) as f32).clamp(f32::MIN, f32::MAX));
            } else {
                t.rotation = local.rotation.map(|v| v as f32);
            }
            pose.set(joint, &t);
        }
    }
}
