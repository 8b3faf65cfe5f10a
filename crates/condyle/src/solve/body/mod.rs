//! The whole body: many goals at once, for any joints.

mod buffer;
mod goal;
mod normal;
mod rows;
mod search;
#[cfg(test)]
mod tests;
mod tree;

pub use self::buffer::BodyBuffer;
pub use self::goal::{Aim, Goal};

use crate::error::Error;
use crate::math::Quat;
use crate::pose::Pose;
use crate::skeleton::Skeleton;
use buffer::Sought;
use tree::length;

/// What a radian of an orientation counts as, in sizes: about what the farthest part of a hand or a foot moves by.
const TURN: f64 = 0.2;

/// The most goals of a call.
pub const MAX_GOALS: usize = 256;

/// How [`body`](body()) goes about it.
#[derive(Clone, Copy)]
pub struct BodyOptions<'a> {
    /// The most steps that are tried, which bounds the time.
    pub iterations: u32,
    /// When to stop.
    pub tolerance: Option<f32>,
    /// What a turn away from the given pose costs.
    pub pull: f32,
    /// How readily each joint turns.
    pub ease: Option<&'a [f32]>,
    /// The joint that is moved.
    pub shift: Option<(u16, f32)>,
    /// What a joint may do.
    pub limit: Option<&'a dyn Fn(u16, Quat) -> Quat>,
    /// x
    pub tune: [f64; 2],
}

impl Default for BodyOptions<'_> {
    fn default() -> Self {
        Self {
            iterations: 64,
            tolerance: None,
            pull: 1e-5,
            ease: None,
            shift: None,
            limit: None,
            tune: [0.1, 1e-6],
        }
    }
}

/// How far it came.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct BodyReached {
    /// Metres.
    pub distance: f32,
    /// Radians.
    pub angle: f32,
    /// Steps.
    pub iterations: u32,
    /// All met.
    pub met: bool,
    /// Size.
    pub size: f32,
}

/// Reach.
pub fn body(
    skeleton: &Skeleton,
    goals: &[Goal<'_>],
    options: &BodyOptions<'_>,
    buffer: &mut BodyBuffer,
    pose: &mut Pose,
) -> Result<BodyReached, Error> {
    let count = skeleton.joint_count();
    pose.check_joints("pose", count)?;
    if goals.len() > MAX_GOALS {
        return Err(Error::TooMany { what: "goals", found: goals.len(), limit: MAX_GOALS });
    }
    for (at, goal) in goals.iter().enumerate() {
        goal.check(at, count)?;
    }
    buffer.prepare(skeleton, goals, options, pose)?;
    let tolerance = options.tolerance.map_or(1e-4, |tolerance| f64::from(tolerance) / buffer.size);
    let tuning = search::Tuning { start: options.tune[0], stall: options.tune[1] };
    let iterations = buffer.search(options, tolerance, &tuning);
    buffer.residuals.clear();
    for (goal, error) in buffer.goals.iter().zip(&buffer.now.errors) {
        let unit = if matches!(goal.sought, Sought::Turn { .. }) { 1.0 } else { buffer.size };
        buffer.residuals.push((length(*error) * unit) as f32);
    }
    for unknown in &buffer.unknowns {
        let at = unknown.joint as usize;
        let (joint, local) = (usize::from(buffer.joints[at].joint), &buffer.now.locals[at]);
        let mut t = pose.get(joint);
        if unknown.shifts {
            t.translation = local.translation.map(|v| (v * buffer.size) as f32);
        } else {
            t.rotation = local.rotation.map(|v| v as f32);
        }
        pose.set(joint, &t);
    }
    let [distance, angle] = buffer.worst();
    let met = buffer.is_met(tolerance);
    Ok(BodyReached {
        distance: (distance * buffer.size) as f32,
        angle: angle as f32,
        iterations,
        met,
        size: buffer.size as f32,
    })
}
