//! Default ease of joints: near joints turn first.
//!
//! Descendants of a joint that lead to no goal only move along when the joint turns. Let `r` be their
//! distance from the goals as a multiple of the joint's own distance. The ease is `1 / (1 + (2 r)⁸)`.
//!
//! Example: a goal for a wrist. The fingers are near the wrist, so `r` of the elbow is 0.1 and its ease 1.
//! The other hand and the feet are at least as far from the wrist as the chest. So `r` of the chest is 2, and
//! it has the minimum ease.

use alloc::vec::Vec;

use crate::maps::{Affine64, Vec64, length, sub};
use condyle::pose::Pose;
use condyle::skeleton::Skeleton;
use condyle_base::error::Error;

/// Minimum ease. Stiffer joints would take more steps if goals need them.
const STIFFEST: f64 = 5e-4;

/// Ease of each joint of a skeleton.
#[derive(Debug, Clone, Default)]
pub(super) struct Readiness {
    parts: Vec<Part>,
    /// Positions of the joints of goals.
    goals: Vec<Vec64>,
    ease: Vec<f32>,
}

#[derive(Debug, Clone, Copy)]
struct Part {
    placed: Affine64,
    /// Whether the joint or one of its ancestors has a goal.
    wanted: bool,
    /// Whether a descendant has a goal.
    leads: bool,
    /// Maximum distance from the nearest goal, over descendants that lead to no goal.
    idle: f64,
}

impl Default for Part {
    fn default() -> Self {
        Self { placed: Affine64::IDENTITY, wanted: false, leads: false, idle: 0.0 }
    }
}

impl Readiness {
    pub(super) fn begin(&mut self, count: usize) {
        self.parts.clear();
        self.parts.resize(count, Part::default());
        self.goals.clear();
    }

    /// Registers a joint with a goal.
    pub(super) fn want(&mut self, joint: u16) {
        self.parts[usize::from(joint)].wanted = true;
    }

    pub(super) fn end(&mut self, skeleton: &Skeleton, pose: &Pose) {
        let Self { parts, goals, ease } = self;
        let parents = skeleton.parents();
        for joint in 0..parts.len() {
            let own = Affine64::local(&pose.get(joint).into());
            let above = parts.get(usize::from(parents[joint])).copied();
            let part = &mut parts[joint];
            part.placed = above.map_or(own, |above| above.placed.after(&own));
            if part.wanted && !above.is_some_and(|above| above.wanted) {
                goals.push(part.placed.origin);
            }
            part.wanted |= above.is_some_and(|above| above.wanted);
        }
        let far = |at: Vec64| goals.iter().fold(f64::INFINITY, |far, goal| far.min(length(sub(at, *goal))));
        ease.clear();
        ease.resize(parts.len(), 1.0);
        for joint in (0..parts.len()).rev() {
            let Part { placed, wanted, leads, mut idle } = parts[joint];
            let own = if wanted { 0.0 } else { far(placed.origin) };
            if leads && !wanted {
                let ratio = 2.0 * idle / own;
                let squared = ratio * ratio;
                let fourth = squared * squared;
                // NaN gives the minimum ease.
                ease[joint] = (1.0 / (1.0 + fourth * fourth)).max(STIFFEST) as f32;
            } else {
                idle = idle.max(own);
            }
            if let Some(parent) = parts.get_mut(usize::from(parents[joint])) {
                parent.leads |= wanted || leads;
                parent.idle = parent.idle.max(idle);
            }
        }
    }

    pub(super) fn ease(&self) -> &[f32] {
        &self.ease
    }
}

/// Computes the default of [`BodyOptions::ease`](super::BodyOptions::ease) for goals of some joints: near
/// joints turn first. Call it to modify the default before you pass it to the solver.
///
/// `pose` is the input pose, `joints` the joints of the goals. `ease` receives one number per joint of the
/// skeleton, from 0.0005 to 1. Joints that carry only parts near the goals have 1.
///
/// # Errors
/// [`Error::Length`] if `pose` or `ease` does not hold one element per joint. [`Error::Index`] if a joint
/// does not exist.
///
/// ```
/// use condyle::{Pose, example};
/// use condyle_solve::full_body::readiness;
///
/// let skeleton = example::skeleton();
/// let [chest, elbow] = [example::CHEST, example::ARM_L[1]].map(usize::from);
/// // The left hand reaches: its elbow turns readily, and the chest is fixed by setting its ease to 0.
/// let mut ease = [0.0; 15];
/// readiness(&skeleton, &Pose::rest(&skeleton), &[example::ARM_L[2]], &mut ease)?;
/// assert!(ease[elbow] == 1.0 && ease[chest] < 0.005);
/// ease[chest] = 0.0;
/// # Ok::<(), condyle::Error>(())
/// ```
pub fn readiness(skeleton: &Skeleton, pose: &Pose, joints: &[u16], ease: &mut [f32]) -> Result<(), Error> {
    let count = skeleton.joint_count();
    pose.check_joints("pose", count)?;
    Error::check_len("ease", ease.len(), count)?;
    let mut readiness = Readiness::default();
    readiness.begin(count);
    for (at, found) in joints.iter().map(|&joint| usize::from(joint)).enumerate() {
        if found >= count {
            return Err(Error::Index { what: "joints", at, found, count });
        }
        readiness.want(found as u16);
    }
    readiness.end(skeleton, pose);
    ease.copy_from_slice(readiness.ease());
    Ok(())
}
