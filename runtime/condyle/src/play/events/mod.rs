//! Events at times of a clip, each returned once each time that playback passes it.
//!
//! Events are counted: the number of events before a place on the clock is one integer, and an interval
//! returns the events between two counts. No event is lost or repeated, however a frame is split. A pause of
//! a million years is one subtraction.
//!
//! A [`Head`] is the set of events before a time, and moving it delivers the events in between. A backward
//! step therefore delivers `(to, from]` in reverse. The mirrored interval `[to, from)` would deliver an
//! event twice where playback turns on it forward, and never where it turns backward.

use alloc::string::String;
use alloc::vec::Vec;

use super::clock::{Looping, check_clock, check_duration, wrapped};
use crate::clip::Clip;
use condyle_base::error::Error;

/// An event at a time of a clip: a footstep, a sound, the end of a blow.
///
/// ```
/// let step = condyle::play::Event { seconds: 0.4, name: "left foot".into() };
/// assert_eq!(step.name, "left foot");
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// Seconds since the clip's start, from 0 to its duration.
    pub seconds: f64,
    /// Name of the event, not necessarily unique.
    pub name: String,
}

/// The events of a clip, sorted by time.
///
/// ```
/// use condyle::play::{Event, Events, Head};
/// use condyle::Looping;
///
/// let event = |seconds, name: &str| Event { seconds, name: name.into() };
/// let walk = Events::new(1.0, vec![event(0.5, "right"), event(0.0, "left")])?;
/// let names = |from: Head, to: f64| -> Result<Vec<&str>, condyle::Error> {
///     Ok(walk.passed(Looping::Wrap, from, to)?.map(|passed| passed.name).collect())
/// };
/// // The first frame begins before the start, every other one where the previous one ended.
/// assert_eq!(names(Head::before(0.0), 0.1)?, ["left"]);
/// assert_eq!(names(Head::at(0.1), 0.5)?, ["right"]);
/// // A long frame, and back again.
/// assert_eq!(names(Head::at(0.5), 2.25)?, ["left", "right", "left"]);
/// assert_eq!(names(Head::at(2.25), 0.5)?, ["left", "right", "left"]);
/// # Ok::<(), condyle::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Events {
    duration: f64,
    events: Vec<Event>,
}

/// Position of playback on its clock, before or after the events at that time.
///
/// A number converts to a head after all events of that time.
///
/// ```
/// use condyle::play::Head;
///
/// assert_eq!(Head::from(1.5), Head::at(1.5));
/// assert_ne!(Head::before(1.5), Head::at(1.5));
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Head {
    seconds: f64,
    before: bool,
}

impl Head {
    /// Returns a head after the events at `seconds` of the clock.
    #[must_use]
    pub fn at(seconds: f64) -> Self {
        Self { seconds, before: false }
    }

    /// Returns a head before the events at `seconds` of the clock.
    ///
    /// Use it where playback begins, and where backward playback ends at the start of a clip. In a clip that
    /// wraps, a head at the seam is after the events at the end of the loop. It is before those at the start
    /// of the next loop.
    #[must_use]
    pub fn before(seconds: f64) -> Self {
        Self { seconds, before: true }
    }

    /// Time on the clock.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.seconds
    }

    /// Position of the head among the events of a clip of `duration` seconds.
    pub(super) fn reached(self, looping: Looping, duration: f64) -> Result<Reached, Error> {
        check_clock(self.seconds)?;
        let (loops, seconds) = if looping == Looping::Wrap && duration > 0.0 {
            let moment = wrapped(self.seconds, duration);
            (moment.loops, moment.seconds)
        } else {
            (0, self.seconds)
        };
        Ok(Reached { loops, seconds, before: self.before })
    }
}

/// Whole loops, and the position in the current loop.
pub(super) struct Reached {
    loops: i64,
    seconds: f64,
    before: bool,
}

impl Reached {
    /// Whether the head is after an event at `at` seconds, within the current loop.
    pub(super) fn has_passed(&self, at: f64) -> bool {
        at < self.seconds || (at == self.seconds && !self.before)
    }
}

impl From<f64> for Head {
    fn from(seconds: f64) -> Self {
        Self::at(seconds)
    }
}

impl Events {
    /// Checks and stores the events of a clip of `duration` seconds. Sorts them by time; events with the same
    /// time keep their order.
    ///
    /// # Errors
    /// [`Error::NotFinite`] if the duration or the time of an event is NaN or infinite. [`Error::OutOfRange`]
    /// for a negative duration or for an event outside the clip.
    pub fn new(duration: f64, mut events: Vec<Event>) -> Result<Self, Error> {
        check_duration(duration)?;
        for (at, event) in events.iter_mut().enumerate() {
            if !event.seconds.is_finite() {
                return Err(Error::NotFinite { what: "events", at });
            }
            if !(0.0..=duration).contains(&event.seconds) {
                return Err(Error::OutOfRange { what: "events", at, needed: "within the clip" });
            }
        }
        events.sort_by(|a, b| a.seconds.partial_cmp(&b.seconds).unwrap_or(core::cmp::Ordering::Equal));
        Ok(Self { duration, events })
    }

    /// Stores events that are already sorted and within the clip.
    pub(crate) fn in_order(duration: f64, events: Vec<Event>) -> Self {
        Self { duration, events }
    }

    /// Duration of the clip in seconds.
    #[must_use]
    pub fn duration(&self) -> f64 {
        self.duration
    }

    /// All events by ascending time.
    #[must_use]
    pub fn as_slice(&self) -> &[Event] {
        &self.events
    }

    /// Returns the events that playback passes between two positions on its clock, in the order of passing.
    ///
    /// Forward, these are the events in `(from, to]`, each once per loop. Backward, they are the events in
    /// `(to, from]`, in reverse order. So a head is always after exactly the events up to its time, and each
    /// movement returns the difference. Consecutive intervals return the same events as the whole interval,
    /// even if the direction changes. Going back returns exactly the events that were passed before. A
    /// [`Head::before`] is before the events at its time: forward, they are included at `from` and excluded
    /// at `to`.
    ///
    /// With [`Looping::Clamp`], the clock is not clamped to the clip: an event at 0 is passed when the clock
    /// passes 0. With [`Looping::Wrap`], events at the end of the clip and at its start are passed at the
    /// same time, in this order. A clip with a duration of 0 is played once.
    ///
    /// The number of loops and events between two frames is not limited. Take as many events as needed, from
    /// either end. Nothing is allocated.
    ///
    /// # Errors
    /// [`Error::NotFinite`] if `from` or `to` is NaN or infinite.
    pub fn passed(
        &self,
        looping: Looping,
        from: impl Into<Head>,
        to: impl Into<Head>,
    ) -> Result<PassedEvents<'_>, Error> {
        PassedEvents::new(List::Kept(self), looping, [from.into(), to.into()])
    }
}

/// Storage of the events of a clip.
#[derive(Debug, Clone, Copy)]
pub(super) enum List<'a> {
    Kept(&'a Events),
    InClip(&'a Clip<'a>),
}

impl<'a> List<'a> {
    fn count(self) -> usize {
        match self {
            Self::Kept(events) => events.events.len(),
            Self::InClip(clip) => clip.event_count(),
        }
    }

    fn duration(self) -> f64 {
        match self {
            Self::Kept(events) => events.duration,
            Self::InClip(clip) => clip.duration(),
        }
    }

    fn get(self, at: usize) -> Option<(f64, &'a str)> {
        match self {
            Self::Kept(events) => events.events.get(at).map(|event| (event.seconds, &*event.name)),
            Self::InClip(clip) => clip.event(at),
        }
    }

    /// Number of events that a head has passed since the clock was 0, over all loops. All results are
    /// differences of two such counts, so no event is lost or returned twice.
    fn passed_count(self, looping: Looping, head: Head) -> Result<i128, Error> {
        let reached = head.reached(looping, self.duration())?;
        // Binary search for the first event that has not been passed.
        let (mut low, mut high) = (0, self.count());
        while low < high {
            let middle = low.midpoint(high);
            if self.get(middle).is_some_and(|event| reached.has_passed(event.0)) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Ok(i128::from(reached.loops) * self.count() as i128 + low as i128)
    }

    /// Returns the event that follows `number` others, counted as in [`Self::passed_count`].
    fn nth(self, number: i128) -> Option<Passed<'a>> {
        let count = self.count().max(1) as i128;
        let (loops, index) = (number.div_euclid(count) as i64, number.rem_euclid(count) as usize);
        let (seconds, name) = self.get(index)?;
        let clock = loops as f64 * self.duration() + seconds;
        Some(Passed { name, seconds, index, loops, clock })
    }
}

/// An event that playback passes.
///
/// ```
/// use condyle::play::{Event, Events};
/// use condyle::Looping;
///
/// let events = Events::new(2.0, vec![Event { seconds: 0.5, name: "clap".into() }])?;
/// let passed = events.passed(Looping::Wrap, 3.0, 5.0)?.next().expect("one of loop 2");
/// assert_eq!((passed.index, passed.loops, passed.clock), (0, 2, 4.5));
/// # Ok::<(), condyle::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Passed<'a> {
    /// Name of the event.
    pub name: &'a str,
    /// Time in the clip, in seconds since its start.
    pub seconds: f64,
    /// Index among the clip's events, for tables of the caller.
    pub index: usize,
    /// Loop in which the event is passed.
    pub loops: i64,
    /// Time on the clock, except for rounding. Use it to start a sound at the right time within a frame.
    pub clock: f64,
}

/// Iterator over the events that playback passes, in the order of passing. Returned by [`Events::passed`] and
/// [`Clip::events_passed`]. Skipping events is free.
///
/// ```
/// use condyle::play::{Event, Events};
/// use condyle::Looping;
///
/// let events = Events::new(1.0, vec![Event { seconds: 0.5, name: "tick".into() }])?;
/// // After a million years: the last two of them.
/// let passed = events.passed(Looping::Wrap, 0.0, 3.15576e13)?;
/// let loops: Vec<i64> = passed.rev().take(2).map(|tick| tick.loops).collect();
/// assert_eq!(loops, [31_557_599_999_999, 31_557_599_999_998]);
/// # Ok::<(), condyle::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct PassedEvents<'a> {
    events: List<'a>,
    /// Event counts: the events `first..last` remain.
    first: i128,
    last: i128,
    backward: bool,
}

impl<'a> PassedEvents<'a> {
    pub(super) fn new(events: List<'a>, looping: Looping, ends: [Head; 2]) -> Result<Self, Error> {
        let [from, to] = ends.map(|head| events.passed_count(looping, head));
        let (from, to) = (from?, to?);
        Ok(Self { events, first: from.min(to), last: from.max(to), backward: to < from })
    }

    /// Returns an event from the front or the back after skipping `skip` others.
    fn take_one(&mut self, front: bool, skip: usize) -> Option<Passed<'a>> {
        let left = self.last - self.first;
        let skip = skip as i128;
        if skip >= left {
            self.first = self.last;
            return None;
        }
        if front {
            self.first += skip + 1;
            self.events.nth(self.first - 1)
        } else {
            self.last -= skip + 1;
            self.events.nth(self.last)
        }
    }
}

impl<'a> Iterator for PassedEvents<'a> {
    type Item = Passed<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        self.nth(0)
    }

    fn nth(&mut self, skip: usize) -> Option<Self::Item> {
        self.take_one(!self.backward, skip)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = usize::try_from(self.last - self.first).ok();
        (left.unwrap_or(usize::MAX), left)
    }

    /// The maximum of the type if the number does not fit.
    fn count(self) -> usize {
        self.size_hint().0
    }

    fn last(mut self) -> Option<Self::Item> {
        self.next_back()
    }
}

impl DoubleEndedIterator for PassedEvents<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.nth_back(0)
    }

    fn nth_back(&mut self, skip: usize) -> Option<Self::Item> {
        self.take_one(self.backward, skip)
    }
}

impl core::iter::FusedIterator for PassedEvents<'_> {}

#[cfg(test)]
mod tests;
