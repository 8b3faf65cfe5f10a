//! Mirroring of poses and clips: the right side moves as the left side did, and the reverse.
//!
//! Build a [`Mirror`] once per skeleton, with the joint pairs that [`pairs`] finds by name. Then mirror each
//! pose with [`mirror`](crate::mirror()), or mirror a whole clip with [`clip`](clip()) before compression.

mod clip;
mod names;
mod pose;
#[cfg(test)]
mod tests;

pub use clip::clip;
pub use names::pairs;
pub use pose::{Mirror, mirror};
