//! Example-based IK: finds the weights of example poses whose blend reaches a goal.

mod search;

use alloc::vec::Vec;

use super::Reached;
use super::maps::{check_distance, wide};
use condyle::pose::Pose;
use condyle::skeleton::Skeleton;
use condyle_base::error::Error;
use condyle_base::math::quats::{Quat64, near};

/// Goal position of a joint.
///
/// ```
/// use condyle_solve::ExampleGoal;
///
/// // Goal of a fingertip, 8 cm from the hand (joint 6), with twice the weight of other goals.
/// let touch = ExampleGoal { offset: [0.0, 0.08, 0.0], weight: 2.0, ..ExampleGoal::new(6, [0.4, 1.2, 0.3]) };
/// assert_eq!(touch.joint, 6);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ExampleGoal {
    /// Joint index; one of the joints that the [`Examples`] were made for.
    pub joint: u16,
    /// Position of the end effector in the joint's local space.
    pub offset: [f32; 3],
    /// Goal position in model space.
    pub position: [f32; 3],
    /// Weight of the distance to the goal; not negative.
    pub weight: f32,
}

impl ExampleGoal {
    /// A goal for the joint itself, with weight 1.
    #[must_use]
    pub fn new(joint: u16, position: [f32; 3]) -> Self {
        Self { joint, offset: [0.0; 3], position, weight: 1.0 }
    }
}

/// Prepared example poses: the local transforms of some joints and their ancestors. They are read-only, so
/// that any number of characters can share them.
///
/// ```
/// use condyle_solve::Examples;
/// use condyle::{Joint, Pose, Skeleton, Transform};
///
/// let up = Transform { translation: [0.0, 1.0, 0.0], ..Transform::IDENTITY };
/// let skeleton = Skeleton::new([Joint::new("arm", None, up), Joint::new("hand", Some(0), up)])?;
/// let low = Pose::rest(&skeleton);
/// let examples = Examples::new(&skeleton, &[&low, &low, &low], &[1])?;
/// assert_eq!(examples.len(), 3);
/// # Ok::<(), condyle::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Examples {
    /// Joints that may have a goal. The range of `way` holds the path from the root to the joint.
    ends: Vec<(u16, core::ops::Range<usize>)>,
    /// Positions in `locals`, path after path.
    way: Vec<usize>,
    /// Transforms of each joint on a path, for all examples in turn.
    locals: Vec<Local>,
    count: usize,
}

/// Local transform of a joint in an example. Its quaternion is in the same hemisphere as that of the rest
/// pose.
#[derive(Debug, Clone, Copy)]
struct Local {
    translation: [f64; 3],
    rotation: Quat64,
    scale: [f64; 3],
}

impl Examples {
    /// Maximum number of examples.
    pub const MAX: usize = 64;
    /// Maximum number of goals in a call, and of joints that may have a goal.
    pub const MAX_GOALS: usize = 8;

    /// Reads the transforms of example poses that goals for the given joints depend on.
    ///
    /// # Errors
    /// [`Error::TooShort`] if there are no examples or no joints. [`Error::TooMany`] for more than
    /// [`Self::MAX`] examples or [`Self::MAX_GOALS`] joints. [`Error::Length`] if a pose does not hold one
    /// element per joint. [`Error::Index`] if a joint does not exist. [`Error::NotFinite`] if one of these
    /// transforms has a NaN, or an absolute value of 1e18 or more, which counts as infinite.
    pub fn new(skeleton: &Skeleton, poses: &[&Pose], joints: &[u16]) -> Result<Self, Error> {
        let bounded = |what, found, limit| {
            Error::check_room(what, found, 1)?;
            if found > limit { Err(Error::TooMany { what, found, limit }) } else { Ok(()) }
        };
        bounded("poses", poses.len(), Self::MAX)?;
        bounded("joints", joints.len(), Self::MAX_GOALS)?;
        let count = skeleton.joint_count();
        poses.iter().try_for_each(|pose| pose.check_joints("poses", count))?;
        let mut examples = Self { ends: Vec::new(), way: Vec::new(), locals: Vec::new(), count: poses.len() };
        // Index in `locals` of each joint that is on a path.
        let mut places: Vec<Option<usize>> = alloc::vec![None; count];
        for (at, &joint) in joints.iter().enumerate() {
            let found = usize::from(joint);
            if found >= count {
                return Err(Error::Index { what: "joints", at, found, count });
            }
            let start = examples.way.len();
            let mut next = Some(joint);
            while let Some(joint) = next {
                let place = match places[usize::from(joint)] {
                    Some(place) => place,
                    None => examples.read(skeleton, poses, joint)?,
                };
                places[usize::from(joint)] = Some(place);
                examples.way.push(place);
                next = skeleton.parent(joint);
            }
            examples.way[start..].reverse();
            examples.ends.push((joint, start..examples.way.len()));
        }
        Ok(examples)
    }

    fn read(&mut self, skeleton: &Skeleton, poses: &[&Pose], joint: u16) -> Result<usize, Error> {
        let place = self.locals.len();
        let rest = wide(skeleton.rest().get(joint.into()).rotation);
        for (at, pose) in poses.iter().enumerate() {
            let t = pose.get(joint.into());
            let finite = |values: &[f32]| values.iter().all(|v| v.abs() < 1e18);
            if !(finite(&t.translation) && finite(&t.rotation) && finite(&t.scale)) {
                return Err(Error::NotFinite { what: "poses", at });
            }
            self.locals.push(Local {
                translation: t.translation.map(f64::from),
                rotation: near(rest, wide(t.rotation)),
                scale: t.scale.map(f64::from),
            });
        }
        Ok(place)
    }

    /// Number of example poses.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "it is never empty")]
    pub fn len(&self) -> usize {
        self.count
    }
}

/// Finds the weights of example poses whose blend brings joints to their goals.
///
/// The weights are not negative and their sum is 1, so the result is between the examples and has their
/// style. They are for [`blend`](condyle::blend()) with [`Mean::Linear`](condyle::blending::Mean), which
/// blends about the rest pose.
///
/// The cost is the sum of the squared distances times the squared weights of the goals. For goals that no
/// blend reaches, the result is a local minimum of the cost. If many blends reach the goals, the result is
/// one near the start: the examples whose joints are nearest to the goals.
///
/// `weights` receives one number per example. The returned distance is the maximum over the goals with a
/// weight. The time is bounded by the numbers of examples, goals and their ancestors. Root motion and the
/// placement of an instance are not included: goals are relative to the parent space of the roots.
///
/// The method is Gauss-Newton on the true blend, with constraints on the weights. In each step, weight first
/// moves between pairs of examples, by the amount that lowers the cost most. Then all non-zero weights are
/// solved together. The idea is from Rose, Sloan and Cohen, "Artist-Directed Inverse-Kinematics Using Radial
/// Basis Function Interpolation", 2001. Here, the solver computes the weights instead of interpolating them.
///
/// # Errors
/// [`Error::Length`] if `weights` does not hold one element per example. [`Error::TooMany`] for more than
/// [`Examples::MAX_GOALS`] goals. [`Error::OutOfRange`] if the examples were not made for the joint of a
/// goal, if its weight is negative, or if it is 1e38 away or more. [`Error::NotFinite`] if a value of a goal,
/// or the blend, is NaN or infinite. After an error `weights` is unchanged.
///
/// ```
/// use condyle::blending::Mean;
/// use condyle_solve::{ExampleGoal, Examples, example};
/// use condyle::{Affine, Layer, Pose, Transform, blend, local_to_model};
///
/// let skeleton = condyle::example::chain(["arm", "hand"], [0.0, 0.5, 0.0]);
/// let up = skeleton.rest().get(0);
/// // Three poses of an arm: up, to the left, and to the front.
/// let turned = |x: f32, z: f32| {
///     let rotation = [x, 0.0, z, 0.5_f32.sqrt()];
///     Pose::from_transforms(&[Transform { rotation, ..up }, up])
/// };
/// let poses = [Pose::rest(&skeleton), turned(0.0, -(0.5_f32.sqrt())), turned(0.5_f32.sqrt(), 0.0)];
/// let examples = Examples::new(&skeleton, &[&poses[0], &poses[1], &poses[2]], &[1])?;
///
/// let goal = [0.25, 0.9, 0.15];
/// let mut weights = [0.0; 3];
/// let reached = example(&examples, &[ExampleGoal::new(1, goal)], &mut weights)?;
/// assert!(reached.distance < 0.02);
///
/// let mut pose = Pose::rest(&skeleton);
/// let layers = [0, 1, 2].map(|at: usize| Layer::new(&poses[at], weights[at]));
/// blend(&skeleton, &layers, Mean::Linear, &mut pose)?;
/// let mut model = [Affine::IDENTITY; 2];
/// local_to_model(&skeleton, &pose, &mut model)?;
/// let hand = model[1].transform_point([0.0; 3]);
/// assert!(hand.iter().zip(goal).all(|(hand, goal)| (hand - goal).abs() < 0.02));
/// # Ok::<(), condyle::Error>(())
/// ```
pub fn example(examples: &Examples, goals: &[ExampleGoal], weights: &mut [f32]) -> Result<Reached, Error> {
    Error::check_len("weights", weights.len(), examples.count)?;
    let (found, limit) = (goals.len(), Examples::MAX_GOALS);
    if found > limit {
        return Err(Error::TooMany { what: "goals", found, limit });
    }
    let mut aims = [search::Aim::NONE; Examples::MAX_GOALS];
    for (at, (goal, aim)) in goals.iter().zip(&mut aims).enumerate() {
        for values in [&goal.offset[..], &goal.position, &[goal.weight]] {
            if !values.iter().all(|v| v.is_finite()) {
                return Err(Error::NotFinite { what: "goals", at });
            }
        }
        if goal.weight < 0.0 {
            return Err(Error::OutOfRange { what: "goals", at, needed: "given a weight of at least 0" });
        }
        let end = examples.ends.iter().position(|(joint, _)| *joint == goal.joint);
        let end = end.ok_or(Error::OutOfRange {
            what: "goals",
            at,
            needed: "for a joint that the examples were made for",
        })?;
        *aim = search::Aim {
            end,
            offset: goal.offset.map(f64::from),
            position: goal.position.map(f64::from),
            weight: goal.weight.into(),
        };
    }
    let (found, (distance, farthest), iterations) = search::run(examples, &aims[..goals.len()]);
    check_distance("goals", farthest, distance)?;
    for (weight, found) in weights.iter_mut().zip(found) {
        *weight = found as f32;
    }
    Ok(Reached { distance: distance as f32, angle: 0.0, iterations })
}

#[cfg(test)]
mod tests;
