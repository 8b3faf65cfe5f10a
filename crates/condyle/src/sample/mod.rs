//! Sampling: the pose of a clip at a moment.

pub(crate) mod clip;
mod kernel;
mod raw;
mod source;

#[cfg(any(test, feature = "encode"))]
pub(crate) use clip::sample_by;
pub use clip::{ClipAt, crowd, joint, partial, sample, track, tracks};
pub use raw::{RawCursor, raw, raw_track};
pub use source::PoseSource;

#[cfg(test)]
mod tests;
