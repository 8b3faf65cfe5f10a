//! Sampling: evaluates a clip at a given time, as a [`Pose`](crate::Pose) or as the values of free tracks
//! (tracks that drive no joint).
//!
//! [`sample`](crate::sample()) samples a compressed [`Clip`](crate::Clip), and [`raw`](raw()) samples an
//! authored [`RawClip`](crate::RawClip). [`partial`] samples a subset of the joints (level of detail), and
//! [`joint`] a single one. [`track`], [`tracks`] and [`raw_track`] sample free tracks: morph weights,
//! scalars, vectors and rotations. [`AnyClip`] is for code that takes either form, and [`PoseSource`] for
//! code that also plays its own mix of clips.
//!
//! `seconds` is a time on the clip's own timeline. [`Clip::moment`](crate::Clip::moment) converts a running
//! clock to such a time for clips that loop or stop.

mod any;
pub(crate) mod clip;
mod kernel;
mod raw;
mod recorded;
mod source;

pub use any::AnyClip;
#[doc(hidden)]
pub use clip::sample_by;
pub use clip::{joint, partial, sample, track, tracks};
pub(crate) use raw::search_raw;
pub use raw::{RawCursor, raw, raw_track};
pub use source::PoseSource;

#[cfg(test)]
mod tests;
