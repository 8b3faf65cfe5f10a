//! Mirrored poses and clips; pairs of joints from their names.

mod clip;
mod names;
mod pose;
#[cfg(test)]
mod tests;

pub use clip::clip;
pub use names::pairs;
pub use pose::{Mirror, in_place, mirror};
