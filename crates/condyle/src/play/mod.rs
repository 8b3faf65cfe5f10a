//! From an endless clock to a moment of a clip; what is passed on the way; clips that keep step.

pub(crate) mod clip;
pub(crate) mod clock;
mod events;
mod sync;

pub use clock::{Looping, Moment};
pub use events::{Event, Events, Head, Passed, PassedEvents};
pub use sync::{SyncTrack, follow, sync_speed};
