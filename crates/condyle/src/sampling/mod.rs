//! Sampling: from a clip and a moment to a [`Pose`](crate::Pose), or to the values of the tracks that drive
//! no joint.
//!
//! [`sample`](crate::sample()) takes a compressed [`Clip`](crate::Clip), [`raw`](raw()) a
//! [`RawClip`](crate::RawClip) as it was authored. For less than a whole pose there are [`partial`], a level
//! of detail, and [`joint`]; for morph weights and scalar, vector and rotation
//! tracks [`track`] and [`tracks`], or [`raw_track`]. [`AnyClip`] is for code that takes either
//! form, [`PoseSource`] for code that plays a mix of its own as well.
//!
//! `seconds` are those of the clip's keys. [`Clip::moment`](crate::Clip::moment) makes them of a clock that
//! never ends, for clips that loop or stop.

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
pub use raw::{RawCursor, raw, raw_track};
pub use source::PoseSource;

#[cfg(test)]
mod tests;
