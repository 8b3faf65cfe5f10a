//! Sampling: the pose of a clip at a moment.

pub(crate) mod clip;
mod kernel;
mod raw;

pub(crate) use clip::sample_by;
pub use clip::{Character, sample, sample_crowd, sample_joint, sample_masked, sample_set, sample_sets};
pub use raw::{RawCursor, sample_raw, sample_raw_set};

#[cfg(test)]
mod tests;
