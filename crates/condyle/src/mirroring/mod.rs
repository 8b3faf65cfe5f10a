//! Mirroring: from a pose or a clip to the one in which the right side does what the left side did.
//!
//! Make a [`Mirror`] once per skeleton, with [`pairs`] that tell left from right by the names of the joints;
//! then [`mirror`](crate::mirror()) a pose, or a whole [`clip`](clip()) before it is
//! compressed.

mod clip;
mod names;
mod pose;
#[cfg(test)]
mod tests;

pub use clip::clip;
pub use names::pairs;
pub use pose::{Mirror, mirror};
