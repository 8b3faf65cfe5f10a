//! Sampling: the pose of a clip at a moment.

pub(crate) mod clip;
mod kernel;
mod raw;
mod source;

#[cfg(any(test, feature = "encode"))]
pub(crate) use clip::sample_by;
pub use clip::{ClipAt, sample, sample_crowd, sample_joint, sample_partial, sample_track, sample_tracks};
pub use raw::{RawCursor, sample_raw, sample_raw_track};
pub use source::PoseSource;

#[cfg(test)]
mod tests;
