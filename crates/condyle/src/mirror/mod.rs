//! Mirrored poses and clips; pairs of joints from their names.

mod clip;
mod names;
mod pose;
#[cfg(test)]
mod tests;

pub use clip::mirror_clip;
pub use names::mirror_pairs;
pub use pose::{Mirror, mirror, mirror_in_place};
