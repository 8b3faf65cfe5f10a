//! Playback: clocks, looping, events and synchronised clips.
//!
//! [`Looping::moment`] maps an unbounded clock to a [`Moment`] of a clip.
//! [`Clip::moment`](crate::Clip::moment) returns the seconds for [`sample`](crate::sample()).
//! [`Events::passed`] returns the events between two times of the clock, each once per loop. Clips of
//! different length stay in sync by their [`SyncTrack`]s. One leads at the speed that [`sync_speed`] returns,
//! and [`follow`] returns the clock of every other clip.

pub(crate) mod clip;
pub(crate) mod clock;
mod events;
mod sync;

pub use clock::{Looping, Moment};
pub use events::{Event, Events, Head, Passed, PassedEvents};
pub use sync::{SyncTrack, follow, sync_speed};
