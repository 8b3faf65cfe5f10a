//! State of springs between calls, and the times of steps.

use core::fmt;

use super::data::Springs;
use super::step::Work;
use super::{MAX_STEPS, STEP};
use crate::maps::{Affine64, Vec64, add, sub};
use condyle_base::error::Error;
use condyle_base::math::Affine;

/// State of one character's springs between calls: positions of the tails, and the character's last
/// placement.
///
/// A state belongs to one character and one set of springs.
///
/// ```
/// use condyle::{Affine, example};
/// use condyle_solve::spring_bones::{Spring, SpringJoint, SpringState, Springs};
///
/// let skeleton = example::chain(["head", "braid", "tip"], [0.0, -0.1, 0.0]);
/// let springs = Springs::new(&skeleton, &[Spring::new([1, 2].map(SpringJoint::new))], &[])?;
/// let mut state = SpringState::new(&springs);
/// // After a teleport, the motion continues in the new place, or is reset.
/// let elsewhere = Affine { rows: [[1.0, 0.0, 0.0, 50.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]] };
/// state.teleport(&elsewhere);
/// state.reset();
/// # Ok::<(), condyle::Error>(())
/// ```
#[derive(Clone)]
pub struct SpringState {
    pub(super) work: Work<f64>,
    pub(super) time: Time,
}

/// State without the tails.
#[derive(Clone, Copy)]
pub(super) struct Time {
    /// Whether there was a call.
    pub(super) started: bool,
    /// Seconds from the last step to the last call, less than a step.
    pub(super) late: f64,
    /// Map from model space to the world in the last call.
    pub(super) to_world: Affine64,
}

/// Prints the number of swinging joints, and whether there was a call.
impl fmt::Debug for SpringState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut all = f.debug_struct("SpringState");
        all.field("joint_count", &self.work.joints.len()).field("started", &self.time.started);
        all.finish_non_exhaustive()
    }
}

impl SpringState {
    /// A state at rest: the first call places the tails and moves nothing.
    #[must_use]
    pub fn new(springs: &Springs) -> Self {
        let mut work = Work::default();
        work.resize(springs);
        Self { work, time: Time { started: false, late: 0.0, to_world: Affine64::IDENTITY } }
    }

    /// Resets all tails to rest: the next call is like the first one.
    pub fn reset(&mut self) {
        self.time.started = false;
    }

    /// Moves the springs along with a teleported character, so that the teleport does not make them swing.
    ///
    /// `to_world` is the placement after the teleport. The next call may differ from it by the character's
    /// own movement.
    pub fn teleport(&mut self, to_world: &Affine) {
        let to_world = Affine64::from(to_world);
        let before = Affine64 { origin: [0.0; 3], ..self.time.to_world };
        let Some(back) = before.inverse() else {
            return self.reset();
        };
        // Frames and tails are already relative to the model's position.
        let by = Affine64 { origin: [0.0; 3], ..to_world }.after(&back);
        let frames = self.work.before.iter_mut().chain(&mut self.work.centers);
        for frame in frames.flat_map(|frame| frame.as_chunks_mut::<3>().0) {
            *frame = by.vector(*frame);
        }
        for tails in &mut self.work.tails {
            tails.now = by.vector(tails.now);
            tails.before = by.vector(tails.before);
        }
        self.time.to_world = to_world;
    }

    pub(super) fn check(&self, springs: &Springs) -> Result<(), Error> {
        let (found, needed) = (self.work.joints.len(), springs.swinging.len());
        Error::check_len("state", found, needed)?;
        if self.work.fits(springs) {
            return Ok(());
        }
        Err(Error::OutOfRange { what: "state", at: 0, needed: "made for these springs" })
    }

    /// Displacement of the state that makes it relative to the model's current position.
    pub(super) fn shift(&self, to_world: &Affine64) -> Vec64 {
        sub(self.time.to_world.origin, to_world.origin)
    }

    /// Moves the whole state.
    pub(super) fn move_by(&mut self, shift: Vec64) {
        if shift == [0.0; 3] {
            return;
        }
        for frame in self.work.before.iter_mut().chain(&mut self.work.centers) {
            if let Some(origin) = frame.last_chunk_mut() {
                *origin = add(*origin, shift);
            }
        }
        for tails in &mut self.work.tails {
            tails.now = add(tails.now, shift);
            tails.before = add(tails.before, shift);
        }
    }
}

/// Steps of one call.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Schedule {
    /// Number of steps. If `rests` is true, the first one resets all to rest.
    pub(super) count: u32,
    pub(super) rests: bool,
    seconds: f64,
    /// Seconds from the last step to this call.
    pub(super) late: f64,
}

impl Schedule {
    /// Computes the steps of a call. `seconds` is the time since the last call; at least 0.
    pub(super) fn new(time: &Time, seconds: f32) -> Self {
        if !time.started {
            return Self { count: 1, rests: true, seconds: 0.0, late: 0.0 };
        }
        let seconds = f64::from(seconds);
        let all = time.late + seconds;
        let due = (all / STEP) as u64;
        // With large numbers, the product may be off by more than a step.
        let late = (all - due as f64 * STEP).clamp(0.0, STEP);
        let rests = due > MAX_STEPS.into();
        let count = if rests { MAX_STEPS + 1 } else { due as u32 };
        Self { count, rests, seconds, late }
    }

    /// Time of a step between the last call (0) and this one (1).
    pub(super) fn factor(&self, step: u32) -> f64 {
        let back = self.late + f64::from(self.count.saturating_sub(step + 1)) * STEP;
        if self.seconds > 0.0 { (1.0 - back / self.seconds).clamp(0.0, 1.0) } else { 1.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(late: f64) -> Time {
        Time { started: true, late, to_world: Affine64::IDENTITY }
    }

    #[test]
    fn steps_are_a_sixtieth_of_a_second_apart() {
        let begin = Schedule::new(&Time { started: false, ..time(0.0) }, 3.0);
        assert_eq!((begin.count, begin.rests, begin.factor(0), begin.late), (1, true, 1.0, 0.0));
        assert_eq!(
            Schedule::new(&time(0.001), 0.0),
            Schedule { count: 0, rests: false, seconds: 0.0, late: 0.001 }
        );
        // A call 1/30 s after one that was 5 ms after its last step.
        let two = Schedule::new(&time(0.005), 1.0 / 30.0);
        assert_eq!((two.count, two.rests), (2, false));
        assert!((two.late - 0.005).abs() < 1e-8);
        assert!((two.factor(0) - 0.35).abs() < 1e-6 && (two.factor(1) - 0.85).abs() < 1e-6);
    }

    #[test]
    fn no_call_takes_more_than_so_many() {
        for seconds in [0.3, 1.0, 1e4, 1e12, f32::MAX] {
            let long = Schedule::new(&time(0.01), seconds);
            assert_eq!((long.count, long.rests), (MAX_STEPS + 1, true), "{seconds}");
            assert!((0.0..=STEP).contains(&long.late), "{seconds}: {}", long.late);
            assert!((0..long.count).all(|step| (0.0..=1.0).contains(&long.factor(step))), "{seconds}");
        }
        let time_of = |count: u32| count as f32 / 60.0 + 0.001;
        assert!(!Schedule::new(&time(0.0), time_of(MAX_STEPS)).rests);
        assert!(Schedule::new(&time(0.0), time_of(MAX_STEPS + 1)).rests);
    }
}
