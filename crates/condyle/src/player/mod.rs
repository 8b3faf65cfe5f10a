//! One clip played by one character: a clock, and what each frame asks of it.
//!
//! Everything here is a call or two of what stands in [`play`](crate::play), [`sample`] and
//! [`motion`](crate::motion). Who needs more, clips in step or a clock of the game's own, calls those.

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

/// What an advance of a [`Player`] has passed on its clock: the events after `from` up to `to`, and the way
/// from one to the other. It ends before it begins where playback goes backward.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Where the advance began.
    pub from: Head,
    /// Where it ended.
    pub to: Head,
}

impl Interval {
    /// Its length in seconds of the clock, less than 0 if it goes backward.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.to.seconds() - self.from.seconds()
    }
}

/// A clock for a clip, and the last step of it: what a character keeps for each clip that it plays.
///
/// It is a plain value that holds no clip: the caller hands in the same one each time, or another of the same
/// length. A frame advances it once, then asks for the pose, the events and the motion of this frame, in any
/// order and as often as it likes.
///
/// The clock stands at 0 where the clip starts and runs on without end. A clip that does not loop holds its
/// last pose after its end, while the clock goes on: [`clock`](Self::clock) is then at least its duration.
///
/// ```
/// use condyle_encode::{EncodeOptions, Shell};
/// use condyle::motion::RootMotionOptions;
/// use condyle::play::Event;
/// use condyle::{Interpolation, Joint, Looping, Player, Pose, RawClip, Skeleton, Target, Track, Transform};
/// use condyle_encode::encode;
///
/// // The hips go one and a half metres in a second, with a step at the start.
/// let skeleton = Skeleton::new([Joint::new("hips", None, Transform::IDENTITY)])?;
/// let walk = Track {
///     target: Target::Translation(0),
///     interpolation: Interpolation::Linear,
///     timeline: 0,
///     values: vec![0.0, 1.0, 0.0, 0.0, 1.0, 1.5],
/// };
/// let raw = RawClip::new("walk".into(), vec![vec![0.0, 1.0]], vec![walk])?;
/// let mut options = EncodeOptions::new(5e-4, Shell::Balls(0.03));
/// options.root_motion = Some(RootMotionOptions::default());
/// options.events = vec![Event { seconds: 0.0, name: "step".into() }];
/// let clip = encode(&raw, &skeleton, &options, &mut |_| ())?.into_clip();
///
/// let mut player = Player::new(Looping::Wrap);
/// let (mut pose, mut steps, mut way) = (Pose::rest(&skeleton), 0, 0.0);
/// for _frame in 0..24 {
///     player.advance(0.125)?;
///     player.sample(&clip, &skeleton, &mut pose)?;
///     steps += player.clip_events(&clip)?.count();
///     way += player.motion(&clip)?.translation[2];
/// }
/// // Three seconds: the first start, and those of three loops after it.
/// assert_eq!((player.clock(), steps), (3.0, 4));
/// assert!((way - 4.5).abs() < 1e-2);
/// # Ok::<(), condyle::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Player {
    /// What the clip does where the clock is outside of it.
    pub looping: Looping,
    /// Seconds of the clock in a second of an [`advance`](Self::advance): 1 as authored, 0 stands still, less
    /// than 0 plays backward.
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
    /// At the start of the clip, at speed 1. The first advance passes what happens at the start, too.
    #[must_use]
    pub fn new(looping: Looping) -> Self {
        let start = Head::before(0.0);
        Self { looping, speed: 1.0, last: Interval { from: start, to: start } }
    }

    /// Goes to a value of the clock without passing what lies on the way. The next advance, forward or
    /// backward, passes what happens exactly there, too.
    ///
    /// To play a clip backward from its end: `seek` to its duration, with a speed of -1. For a clip that wraps
    /// that moment is the start of the next loop as well: the first pose is shown, and the first advance
    /// passes the events at 0, too.
    ///
    /// # Errors
    /// [`Error::NotFinite`] if `clock` is NaN or infinite. The player is then unchanged.
    pub fn seek(&mut self, clock: f64) -> Result<(), Error> {
        check_clock(clock)?;
        self.last = Interval { from: Head::before(clock), to: Head::before(clock) };
        Ok(())
    }

    /// Lets `seconds` go by, times the speed on the clock, and returns what of the clock was passed.
    ///
    /// Intervals of one advance after another meet, so that each event is passed once however time is cut. One
    /// that turns round delivers what it passed on its way again, in reverse, as [`Events::passed`] says.
    ///
    /// # Errors
    /// [`Error::NotFinite`] for `seconds`, a [`speed`](Self::speed) or a sum on the clock that are NaN or
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
        // At a start the head is before what happens there; to pass that on the way back it has to be after it.
        let from = if step < 0.0 { Head::at(from.seconds()) } else { from };
        self.last = Interval { from, to: Head::at(clock) };
        Ok(self.last)
    }

    /// The clock, which stands at 0 where the clip starts for the first time.
    #[must_use]
    pub fn clock(&self) -> f64 {
        self.last.to.seconds()
    }

    /// What the last [`advance`](Self::advance) has passed. Empty before the first one, and after
    /// [`seek`](Self::seek).
    #[must_use]
    pub fn interval(&self) -> Interval {
        self.last
    }

    /// The moment of a clip at the clock, in the seconds of its keys, which need not start at 0: what
    /// [`sample`] takes.
    ///
    /// # Errors
    /// [`Error::NotFinite`], [`Error::OutOfRange`] for a source whose start or end is no time, or that ends
    /// before it starts. No [`Clip`] and no [`RawClip`](crate::RawClip) is one.
    pub fn moment(&self, source: &(impl PoseSource + ?Sized)) -> Result<f64, Error> {
        moment(source.start(), source.end(), self.looping, self.clock())
    }

    /// The pose of a clip, by [`sample`]: without its root motion, if it has one, which
    /// [`motion`](Self::motion) delivers.
    ///
    /// # Errors
    /// [`Error::Length`] if the skeleton or `pose` has not as many joints as the clip. `pose` is then
    /// unchanged.
    pub fn sample(&self, clip: &Clip<'_>, skeleton: &Skeleton, pose: &mut Pose) -> Result<(), Error> {
        sample(clip, skeleton, self.moment(clip)?, pose)
    }

    /// The pose of any source, by [`PoseSource::pose`]. Of a [`Clip`] that is with its root motion: the
    /// character walks away in each loop, and is back at the start of the next one.
    ///
    /// # Errors
    /// As [`moment`](Self::moment) and [`PoseSource::pose`].
    pub fn pose(
        &self,
        source: &(impl PoseSource + ?Sized),
        skeleton: &Skeleton,
        pose: &mut Pose,
    ) -> Result<(), Error> {
        source.pose(skeleton, self.moment(source)?, pose)
    }

    /// The events that the last advance has passed, in the order of passing: [`Events::passed`]. Allocates
    /// nothing.
    ///
    /// # Errors
    /// None, as the clock is always finite; the type is that of [`Events::passed`].
    pub fn events<'a>(&self, events: &'a Events) -> Result<PassedEvents<'a>, Error> {
        events.passed(self.looping, self.last.from, self.last.to)
    }

    /// The events of a clip that the last advance has passed: [`Clip::events_passed`]. Allocates nothing.
    ///
    /// # Errors
    /// None, as the clock is always finite; the type is that of [`Clip::events_passed`].
    pub fn clip_events<'a>(&self, clip: &'a Clip<'a>) -> Result<PassedEvents<'a>, Error> {
        clip.events_passed(self.looping, self.last.from, self.last.to)
    }

    /// How far the last advance has moved the character: [`Clip::motion_over`]. What the character's place is
    /// multiplied by, from the right. The identity if the clip has no motion.
    ///
    /// # Errors
    /// None, as the clock is always finite; the type is that of [`Clip::motion_over`].
    pub fn motion(&self, clip: &Clip<'_>) -> Result<Rigid, Error> {
        clip.motion_over(self.looping, self.last.from.seconds(), self.last.to.seconds())
    }

    /// As [`motion`](Self::motion), for a motion that was taken out of a raw clip: [`RootMotion::over`].
    ///
    /// # Errors
    /// None, as the clock is always finite; the type is that of [`RootMotion::over`].
    pub fn root_motion(&self, motion: &RootMotion) -> Result<Rigid, Error> {
        motion.over(self.looping, self.last.from.seconds(), self.last.to.seconds())
    }
}
