//! Playback: from a clock that never ends to a moment of a clip, to the events that are passed on the way,
//! and to the clocks of clips that keep step.
//!
//! [`Looping::moment`] makes a [`Moment`] of a clock, [`Clip::moment`](crate::Clip::moment) the seconds that
//! [`sample`](crate::sample()) takes. [`Events::passed`] delivers each event once each time that playback
//! passes it. Clips of different length keep step by their [`SyncTrack`]s: one leads, at the speed that
//! [`sync_speed`] says, and [`follow`] gives the clock of every other one.

pub(crate) mod clip;
pub(crate) mod clock;
mod events;
mod sync;

pub use clock::{Looping, Moment};
pub use events::{Event, Events, Head, Passed, PassedEvents};
pub use sync::{SyncTrack, follow, sync_speed};
