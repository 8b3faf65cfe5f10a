//! Sampling: the pose of a clip at a moment.

mod clip;
mod kernel;
mod motion;
mod raw;

pub(crate) use clip::sample_by;
pub use clip::{Character, sample, sample_crowd, sample_joint, sample_masked, sample_set, sample_sets};
pub use raw::{RawCursor, sample_raw, sample_raw_set};
pub(crate) use raw::{Span, component_at, hermite, value_at};

#[cfg(test)]
mod tests;
