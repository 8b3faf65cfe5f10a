//! Poses that others are examples of: the weights by which they are to be blended.

mod search;

use alloc::vec::Vec;

use super::Reached;
use super::maps::{check_distance, wide};
use condyle::pose::Pose;
use condyle::skeleton::Skeleton;
use condyle_base::error::Error;
use condyle_base::math::quats::{Quat64, near};

/// Where a joint is to be.
///
/// ```
/// use condyle_solve::ExampleGoal;
///
/// // The tip of a finger, 8 cm from the hand, which is joint 6; it matters twice as much as another goal.
/// let touch = ExampleGoal { offset: [0.0, 0.08, 0.0], weight: 2.0, ..ExampleGoal::new(6, [0.4, 1.2, 0.3]) };
/// assert_eq!(touch.joint, 6);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ExampleGoal {
    /// Which joint: one of those that the [`Examples`] were made for.
    pub joint: u16,
    /// The point that is to be there, in the joint's own space.
    pub offset: [f32; 3],
    /// Where, in model space.
    pub position: [f32; 3],
    /// How much its distance counts; not negative.
    pub weight: f32,
}

impl ExampleGoal {
    /// The joint itself.
    #[must_use]
    pub fn new(joint: u16, position: [f32; 3]) -> Self {
        Self { joint, offset: [0.0; 3], position, weight: 1.0 }
    }
}

/// Example poses made ready: of each, the local transforms of all that some joints hang on. Made once, and read by any number of characters.
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
    /// Of each joint that goals may be for: the joint, and its way from a root down, a part of `way`.
    ends: Vec<(u16, core::ops::Range<usize>)>,
    /// Places in `locals`, one after another.
    way: Vec<usize>,
    /// Of each joint on a way, of all examples in turn.
    locals: Vec<Local>,
    count: usize,
}

/// The local transform of a joint in an example, the rotation on the side of the rest pose's.
#[derive(Debug, Clone, Copy)]
struct Local {
    translation: [f64; 3],
    rotation: Quat64,
    scale: [f64; 3],
}

impl Examples {
    /// The greatest number of examples.
    pub const MAX: usize = 64;
    /// The greatest number of joints that goals can be for, and of goals in a call.
    pub const MAX_GOALS: usize = 8;

    /// Reads what matters of example poses for goals of some joints.
    ///
    /// # Errors
    /// [`Error::TooShort`] and [`Error::TooMany`] for no examples or joints, and for more than [`Self::MAX`] and [`Self::MAX_GOALS`]; [`Error::Length`] if a pose does not hold one
    /// element per joint; [`Error::Index`] if there is no such joint; [`Error::NotFinite`] if what matters of a pose is NaN or an infinity.
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
        // Which joints are on a way, and where.
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

    /// How many example poses there are.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "there is at least one")]
    pub fn len(&self) -> usize {
        self.count
    }
}

/// Finds the weights of example poses whose blend brings joints to their goals.
///
/// None is negative, and their sum is 1: what comes out is between the examples, as they are mixed by [`blend`](condyle::blend()) about the rest pose ([`Mean::Linear`](condyle::blending::Mean)), and has
/// their style. Goals that no blend reaches are approached as near as the search sees, by the sum of their squared distances, times the squares of their weights. Of many blends that
/// reach them it takes one near to where it starts: the examples that have the joints nearest to their goals.
///
/// `weights` receives one number per example. The distance that comes back is the largest of the goals that count. The time is bounded by the numbers of examples, goals and joints above
/// them. Root motion and an instance's place are not in it: goals are where the roots' parent is the origin.
///
/// The weights go down the slope of the true blend: Gauss and Newton's step within what weights may be, first by pairs of weights that exchange what makes the most of it, then by all
/// that are not 0. Rose, Sloan and Cohen,
/// "Artist-Directed Inverse-Kinematics Using Radial Basis Function Interpolation", 2001, have the idea; here the weights are solved for, and not interpolated.
///
/// # Errors
/// [`Error::Length`] if `weights` are not as many as the examples; [`Error::TooMany`] for more than [`Examples::MAX_GOALS`] goals; [`Error::OutOfRange`] for a goal of a joint that the examples were not
/// made for, of a negative weight, or 1e38 away or more; [`Error::NotFinite`] if a number of a goal is NaN or an infinity, or the blend is. `weights` are then unchanged.
///
/// ```
/// use condyle::blending::Mean;
/// use condyle_solve::{ExampleGoal, Examples, example};
/// use condyle::{Affine, Joint, Layer, Pose, Skeleton, Transform, blend, local_to_model};
///
/// let up = Transform { translation: [0.0, 0.5, 0.0], ..Transform::IDENTITY };
/// let skeleton = Skeleton::new([Joint::new("arm", None, up), Joint::new("hand", Some(0), up)])?;
/// // An arm that points up, to the left, and to the front.
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
            return Err(Error::OutOfRange { what: "goals", at, needed: "a weight of 0 or more" });
        }
        let end = examples.ends.iter().position(|(joint, _)| *joint == goal.joint);
        let end =
            end.ok_or(Error::OutOfRange { what: "goals", at, needed: "a joint that the examples are for" })?;
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
