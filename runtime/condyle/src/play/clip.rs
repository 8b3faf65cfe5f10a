//! Clips on a clock: the time to sample, and the events of a compressed clip.

use super::clock::Looping;
use super::events::{Event, Events, Head, List, PassedEvents};
use crate::clip::{Clip, RawClip};
use condyle_base::error::Error;

/// Returns the time in the clip's keys at a value of the clock, which is 0 at the start of the clip.
pub(crate) fn moment(start: f64, end: f64, looping: Looping, clock: f64) -> Result<f64, Error> {
    let moment = looping.moment(clock, end - start)?;
    Ok((start + moment.seconds).clamp(start, end))
}

impl RawClip {
    /// Returns the `seconds` for [`sampling::raw`](crate::sampling::raw) at a value of an unbounded clock.
    ///
    /// The clock is 0 at the start of the clip. The result is [`Looping::moment`] plus
    /// [`start`](Self::start).
    ///
    /// # Errors
    /// [`Error::NotFinite`] for a clock that is NaN or infinite.
    pub fn moment(&self, looping: Looping, clock: f64) -> Result<f64, Error> {
        moment(self.start(), self.end(), looping, clock)
    }
}

impl Clip<'_> {
    /// Returns the `seconds` for [`sample`](crate::sample()) and [`motion_at`](Self::motion_at) at a value of
    /// an unbounded clock.
    ///
    /// The clock is 0 at the start of the clip. The result is [`Looping::moment`] plus
    /// [`start`](Self::start).
    ///
    /// ```
    /// use condyle::{Interpolation, Looping, RawClip, Target, Track, example};
    /// use condyle_encode::{EncodeOptions, Shell, encode};
    ///
    /// // A light that goes out from second 3 to second 5.
    /// let (target, interpolation) = (Target::Vector(0), Interpolation::Linear);
    /// let dim = Track { target, interpolation, timeline: 0, values: vec![1.0, 0.0] };
    /// let raw = RawClip::new("dim".into(), vec![vec![3.0, 5.0]], vec![dim])?;
    /// let options = EncodeOptions::new(5e-4, Shell::Balls(0.03));
    /// let clip = encode(&raw, &example::skeleton(), &options, &mut |_| ())?.into_clip();
    /// assert_eq!(clip.moment(Looping::Wrap, 4.5)?, 3.5);
    /// assert_eq!(clip.moment(Looping::Clamp, 4.5)?, 5.0);
    /// # Ok::<(), condyle::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::NotFinite`] for a clock that is NaN or infinite.
    pub fn moment(&self, looping: Looping, clock: f64) -> Result<f64, Error> {
        moment(self.start(), self.end(), looping, clock)
    }

    /// Returns all events, for [`Events::passed`]. Allocates, so call it once per clip, not per frame.
    ///
    /// ```
    /// use condyle::example;
    /// use condyle::play::Event;
    /// use condyle_encode::{EncodeOptions, Shell, encode};
    ///
    /// let mut options = EncodeOptions::new(5e-4, Shell::Balls(0.03));
    /// options.events = vec![Event { seconds: 0.25, name: "step".into() }];
    /// let encoded = encode(&example::walk(), &example::skeleton(), &options, &mut |_| ())?;
    /// let clip = encoded.clip();
    /// assert_eq!(clip.event(0), Some((0.25, "step")));
    /// assert_eq!(clip.events().as_slice(), options.events);
    /// # Ok::<(), condyle::Error>(())
    /// ```
    #[must_use]
    pub fn events(&self) -> Events {
        let all = (0..self.event_count()).filter_map(|at| self.event(at));
        let all = all.map(|(seconds, name)| Event { seconds, name: name.into() });
        Events::in_order(self.duration(), all.collect())
    }

    /// Calls [`Events::passed`] on the events in the clip's bytes. Allocates nothing and needs no [`Events`].
    ///
    /// ```
    /// use condyle::play::{Event, Head};
    /// use condyle::{Looping, example};
    /// use condyle_encode::{EncodeOptions, Shell, encode};
    ///
    /// let mut options = EncodeOptions::new(5e-4, Shell::Balls(0.03));
    /// options.events = vec![Event { seconds: 0.0, name: "step".into() }];
    /// let clip = encode(&example::walk(), &example::skeleton(), &options, &mut |_| ())?.into_clip();
    /// let mut passed = clip.events_passed(Looping::Clamp, Head::before(0.0), 0.1)?;
    /// assert_eq!(passed.next().map(|it| (it.clock, it.name)), Some((0.0, "step")));
    /// # Ok::<(), condyle::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::NotFinite`] if `from` or `to` is NaN or infinite.
    pub fn events_passed(
        &self,
        looping: Looping,
        from: impl Into<Head>,
        to: impl Into<Head>,
    ) -> Result<PassedEvents<'_>, Error> {
        PassedEvents::new(List::InClip(self), looping, [from.into(), to.into()])
    }
}
