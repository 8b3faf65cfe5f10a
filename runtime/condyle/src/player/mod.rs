//! Playback of one clip by one character: a clock, and the results of each frame.
//!
//! Every function is one or two calls of functions in [`play`](crate::play), [`sample`] and
//! [`motion`](crate::motion). To synchronise clips or to use a clock of the game, call these directly.
//!
//! A [`Player`] is a plain value, a clock and its last step, so it can be copied, saved and sent. It holds
//! no clip. Pose, events and motion come from the same step, in any order. It continues after the end of a
//! clip that does not loop, because it does not know the duration.

use crate::clip::Clip;
use crate::motion::RootMotion;
use crate::play::clip::moment;
use crate::play::clock::check_clock;
use crate::play::{Events, Head, Looping, PassedEvents};
use crate::pose::Pose;
use crate::sampling::{PoseSource, sample};
use crate::skeleton::Skeleton;
use condyle_base::error::Error;
use condyle_base::math::Rigid;

/// The part of the clock that an advance of a [`Player`] has passed: the events after `from` up to `to`. If
/// playback goes backward, `to` is before `from`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Position before the advance.
    pub from: Head,
    /// Position after the advance.
    pub to: Head,
}

impl Interval {
    /// Length in seconds of the clock, negative for backward playback.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.to.seconds() - self.from.seconds()
    }
}

/// A clock for a clip, with its last step. A character has one player for each clip that it plays.
///
/// A player is a plain value without a clip: pass the same clip each time, or another one of the same
/// duration. In each frame, advance it once, then query pose, events and motion in any order and any number
/// of times.
///
/// The clock is 0 at the start of the clip and is unbounded. A clip that does not loop holds its last pose
/// after its end. The clock continues: [`clock`](Self::clock) is then at least the duration.
///
/// ```
/// use condyle::motion::RootMotionOptions;
/// use condyle::play::Event;
/// use condyle::{Looping, Player, Pose, example};
/// use condyle_encode::{EncodeOptions, Shell, encode};
///
/// // The walk moves 2 m forward in one second. A footstep is at its start.
/// let (skeleton, walk) = (example::skeleton(), example::walk());
/// let mut options = EncodeOptions::new(5e-4, Shell::Balls(0.03));
/// options.root_motion = Some(RootMotionOptions::default());
/// options.events = vec![Event { seconds: 0.0, name: "step".into() }];
/// let clip = encode(&walk, &skeleton, &options, &mut |_| ())?.into_clip();
///
/// let mut player = Player::new(Looping::Wrap);
/// let (mut pose, mut steps, mut way) = (Pose::rest(&skeleton), 0, 0.0);
/// for _frame in 0..24 {
///     player.advance(0.125)?;
///     player.sample(&clip, &skeleton, &mut pose)?;
///     steps += player.clip_events(&clip)?.count();
///     way += player.motion(&clip)?.translation[2];
/// }
/// // Three seconds: the first start, and the starts of three further loops.
/// assert_eq!((player.clock(), steps), (3.0, 4));
/// assert!((way - 6.0).abs() < 1e-2);
/// # Ok::<(), condyle::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Player {
    /// Behaviour of the clip when the clock is outside of it.
    pub looping: Looping,
    /// Seconds of the clock per second of an [`advance`](Self::advance): 1 is the authored speed, 0 stops,
    /// negative values play backward.
    pub speed: f64,
    last: Interval,
}

/// [`Player::new`] with the default of [`Looping`].
impl Default for Player {
    fn default() -> Self {
        Self::new(Looping::default())
    }
}

impl Player {
    /// Creates a player at the start of the clip, at speed 1. The first advance also passes the events at the
    /// start.
    #[must_use]
    pub fn new(looping: Looping) -> Self {
        let start = Head::before(0.0);
        Self { looping, speed: 1.0, last: Interval { from: start, to: start } }
    }

    /// Moves the clock without passing events. The next advance, in either direction, also passes the events
    /// exactly at `clock`.
    ///
    /// To play a clip backward from its end, seek to its duration and set the speed to -1. For a clip that
    /// wraps, that time is also the start of the next loop. The first pose is shown, and the first advance
    /// also passes the events at 0.
    ///
    /// # Errors
    /// [`Error::NotFinite`] if `clock` is NaN or infinite. The player is then unchanged.
    pub fn seek(&mut self, clock: f64) -> Result<(), Error> {
        check_clock(clock)?;
        self.last = Interval { from: Head::before(clock), to: Head::before(clock) };
        Ok(())
    }

    /// Advances the clock by `seconds` times the speed, and returns the passed interval.
    ///
    /// Consecutive intervals meet, so each event is passed once for any frame times. If playback changes
    /// direction, the events that were passed are returned again in reverse order, as documented for
    /// [`Events::passed`].
    ///
    /// # Errors
    /// [`Error::NotFinite`] if `seconds`, the [`speed`](Self::speed) or the resulting clock is NaN or
    /// infinite. The player is then unchanged.
    pub fn advance(&mut self, seconds: f64) -> Result<Interval, Error> {
        check_clock(seconds)?;
        if !self.speed.is_finite() {
            return Err(Error::NotFinite { what: "speed", at: 0 });
        }
        let step = seconds * self.speed;
        let from = self.last.to;
        let clock = from.seconds() + step;
        if !clock.is_finite() {
            return Err(Error::NotFinite { what: "clock", at: 0 });
        }
        // At a start, the head is before the events at its time. Backward, it must be after them to pass
        // them.
        let from = if step < 0.0 { Head::at(from.seconds()) } else { from };
        self.last = Interval { from, to: Head::at(clock) };
        Ok(self.last)
    }

    /// The clock in seconds, 0 at the first start of the clip.
    #[must_use]
    pub fn clock(&self) -> f64 {
        self.last.to.seconds()
    }

    /// The interval that the last [`advance`](Self::advance) has passed. Empty before the first advance and
    /// after [`seek`](Self::seek).
    #[must_use]
    pub fn interval(&self) -> Interval {
        self.last
    }

    /// Returns the time of a clip at the clock, for [`sample`]. It is in the seconds of the clip's keys,
    /// which need not start at 0.
    ///
    /// # Errors
    /// [`Error::NotFinite`] or [`Error::OutOfRange`] for a source whose start or end is not finite, or that
    /// ends before it starts. A [`Clip`] or [`RawClip`](crate::RawClip) never causes these errors.
    pub fn moment(&self, source: &(impl PoseSource + ?Sized)) -> Result<f64, Error> {
        moment(source.start(), source.end(), self.looping, self.clock())
    }

    /// Samples the pose of a clip with [`sample`], without its root motion, which [`motion`](Self::motion)
    /// returns.
    ///
    /// # Errors
    /// [`Error::Length`] if the joint count of the skeleton or `pose` differs from that of the clip. `pose`
    /// is then unchanged.
    pub fn sample(&self, clip: &Clip<'_>, skeleton: &Skeleton, pose: &mut Pose) -> Result<(), Error> {
        sample(clip, skeleton, self.moment(clip)?, pose)
    }

    /// Samples the pose of any source with [`PoseSource::pose`]. The pose of a [`Clip`] includes its root
    /// motion: the character moves away during each loop and returns at the start of the next one.
    ///
    /// # Errors
    /// The errors of [`moment`](Self::moment) and [`PoseSource::pose`].
    pub fn pose(
        &self,
        source: &(impl PoseSource + ?Sized),
        skeleton: &Skeleton,
        pose: &mut Pose,
    ) -> Result<(), Error> {
        source.pose(skeleton, self.moment(source)?, pose)
    }

    /// Returns the events that the last advance has passed, in the order of passing: [`Events::passed`].
    /// Allocates nothing.
    ///
    /// # Errors
    /// Never fails, because the clock is finite. The return type matches [`Events::passed`].
    pub fn events<'a>(&self, events: &'a Events) -> Result<PassedEvents<'a>, Error> {
        events.passed(self.looping, self.last.from, self.last.to)
    }

    /// Returns the events of a clip that the last advance has passed: [`Clip::events_passed`]. Allocates
    /// nothing.
    ///
    /// # Errors
    /// Never fails, because the clock is finite. The return type matches [`Clip::events_passed`].
    pub fn clip_events<'a>(&self, clip: &'a Clip<'a>) -> Result<PassedEvents<'a>, Error> {
        clip.events_passed(self.looping, self.last.from, self.last.to)
    }

    /// Returns the root motion of the last advance: [`Clip::motion_over`]. The identity if the clip has no
    /// motion.
    ///
    /// Multiply the character's world transform by it from the right.
    ///
    /// # Errors
    /// Never fails, because the clock is finite. The return type matches [`Clip::motion_over`].
    pub fn motion(&self, clip: &Clip<'_>) -> Result<Rigid, Error> {
        clip.motion_over(self.looping, self.last.from.seconds(), self.last.to.seconds())
    }

    /// Like [`motion`](Self::motion), for a motion that was extracted from a raw clip: [`RootMotion::over`].
    ///
    /// # Errors
    /// Never fails, because the clock is finite. The return type matches [`RootMotion::over`].
    pub fn root_motion(&self, motion: &RootMotion) -> Result<Rigid, Error> {
        motion.over(self.looping, self.last.from.seconds(), self.last.to.seconds())
    }
}
