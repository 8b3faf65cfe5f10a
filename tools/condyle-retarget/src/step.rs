//! One pose at a time, for characters in a running program.

use condyle::{Error, Pose};

use crate::feet::{ankle_goal, drop, shift, stands, unit_heading, wanted};
use crate::maths::{Vec3, add, ease, moved, sqrt_f64, sub};
use crate::plan::Plan;
use crate::transfer::{Buffer, LegMoment, Moment};
use crate::write::{Goals, write};

/// Time constant of the heading that turns the footprints, in seconds.
const HEADING: f64 = 0.1;
/// Time constant of how much a foot stands.
const STAND: f64 = 0.03;
/// Time constants of the pelvis: down and up.
const DOWN: f64 = 0.02;
const UP_AGAIN: f64 = 0.25;

/// State of one character between poses, and its working memory.
///
/// Make one per character. [`reset`](Self::reset) it where the source jumps: at a teleport, at another clip.
#[derive(Debug, Clone, PartialEq)]
pub struct State {
    pub(crate) buffer: Buffer,
    /// `None` before the first pose.
    past: Option<Past>,
    missed: [f64; 2],
    fingerprints: [u32; 2],
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Past {
    heading: [f64; 2],
    offsets: [Vec3; 2],
    stand: [f64; 2],
    /// Distances of the pelvis down and up.
    drop: [f64; 2],
    legs: [LegMoment; 2],
}

impl State {
    /// Makes the state of a character that follows a plan.
    #[must_use]
    pub fn new(plan: &Plan) -> Self {
        Self { buffer: Buffer::new(plan), past: None, missed: [0.0; 2], fingerprints: plan.fingerprints() }
    }

    /// Returns the distances by which standing feet miss their places in the last pose, left and right.
    #[must_use]
    pub fn missed(&self) -> [f64; 2] {
        self.missed
    }

    /// Returns the weights of both feet as standing ones in the last pose, from 0 to 1, left and right.
    #[must_use]
    pub fn standing(&self) -> [f64; 2] {
        self.past.map_or([0.0; 2], |past| past.stand)
    }

    /// Forgets the last pose: the next one stands where its source stands.
    pub fn reset(&mut self) {
        self.past = None;
    }
}

/// Writes the target's pose for one pose of the source.
///
/// `seconds` is the time since the last pose. If it is 0 or not a positive number, the offsets of the
/// feet do not change. Nothing is allocated.
///
/// # Errors
/// [`Error::Length`] if a pose has another number of joints than its skeleton. [`Error::Skeleton`] if the
/// state was made for another plan. [`Error::NotFinite`] if a leg of the source is not at a place: the state
/// is then that of the pose before.
pub fn retarget(
    plan: &Plan,
    source: &Pose,
    seconds: f64,
    state: &mut State,
    target: &mut Pose,
) -> Result<(), Error> {
    source.check_joints("source", plan.source.joint_count())?;
    target.check_joints("target", plan.target.joint_count())?;
    for (found, needed) in state.fingerprints.into_iter().zip(plan.fingerprints()) {
        if found != needed {
            return Err(Error::Skeleton { what: "the state", found, needed });
        }
    }
    let State { buffer, past, missed, .. } = state;
    plan.place_source(source, &mut buffer.source);
    plan.turn_target(&buffer.source, &mut buffer.turns);
    let moment = plan.moment(&buffer.source, &plan.footing.ground);
    let measures = moment.legs.iter().flat_map(|leg| [leg.toe, leg.ankle, leg.foot, leg.hip]).flatten();
    if !measures.chain(moment.heading).all(f64::is_finite) {
        return Err(Error::NotFinite { what: "source", at: 0 });
    }
    let mut goals = step(plan, &moment, seconds, past);
    write(plan, source, buffer, &moment, &mut goals, target);
    *missed = goals.missed;
    Ok(())
}

/// Moves the state on by one pose, and returns the goals of the feet.
fn step(plan: &Plan, moment: &Moment, seconds: f64, past: &mut Option<Past>) -> Goals {
    let ground = &plan.footing.ground;
    let raw_stand = [0, 1].map(|side| stands(plan, side, ground, &moment.legs[side]));
    let seconds = if seconds.is_finite() { seconds.clamp(0.0, 1.0) } else { 0.0 };
    let mut next = past.unwrap_or(Past {
        heading: moment.heading,
        offsets: [0, 1].map(|side| wanted(plan, side, moment.heading)),
        stand: raw_stand,
        drop: [0.0; 2],
        legs: moment.legs,
    });
    if seconds > 0.0 && past.is_some() {
        let part = ease(seconds / HEADING);
        let mixed = [0, 1].map(|c| next.heading[c] + part * (moment.heading[c] - next.heading[c]));
        next.heading = unit_heading(mixed);
        for (side, &stand) in raw_stand.iter().enumerate() {
            let legs = [&next.legs[side], &moment.legs[side]];
            let shift = shift(plan, side, ground, legs, seconds);
            let offset = add(next.offsets[side], shift.by);
            let rest = sub(wanted(plan, side, next.heading), offset);
            let part = ease(seconds * sqrt_f64(shift.mobility));
            next.offsets[side] = moved(offset, rest, part);
            next.stand[side] += ease(seconds / STAND) * (stand - next.stand[side]);
        }
    }
    next.legs = moment.legs;
    let ankles = [0, 1].map(|side| ankle_goal(plan, side, ground, &moment.legs[side], next.offsets[side]));
    let need = drop(plan, moment, &ankles, next.stand);
    next.drop = match past {
        None => need,
        Some(_) => [0, 1].map(|way: usize| {
            let time = if need[way] > next.drop[way] { DOWN } else { UP_AGAIN };
            next.drop[way] + ease(seconds / time) * (need[way] - next.drop[way])
        }),
    };
    *past = Some(next);
    Goals { ankles, stand: next.stand, drop: next.drop[0] - next.drop[1], missed: [0.0; 2] }
}
