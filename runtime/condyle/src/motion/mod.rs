//! Root motion: splits a clip into the motion of the whole character and the remaining pose.
//!
//! [`extract`](extract()) removes the motion from a [`RawClip`](crate::RawClip) and returns the in-place clip
//! with a [`RootMotion`]. `condyle_encode::EncodeOptions::root_motion` does the same and stores both in one
//! compressed clip.
//!
//! In each frame, [`RootMotion::over`] or [`Clip::motion_over`](crate::Clip::motion_over) returns the motion
//! between two values of a clock, over any number of loops. Multiply the character's world transform by it
//! from the right. [`over`] does the same for a motion function of the caller, and [`blend`] returns the
//! weighted mean of the motions of blended clips.
//!
//! ```
//! use condyle::math::Rigid;
//! use condyle::motion::RootMotion;
//! use condyle::{Looping, Transform};
//!
//! // A walk of one metre, at 1.5 m/s.
//! let end = Transform { translation: [0.0, 0.0, 1.5], ..Transform::IDENTITY };
//! let walk = RootMotion::new(1.0, vec![Transform::IDENTITY, end])?;
//! let (mut place, mut clock) = (Rigid::IDENTITY, 0.0);
//! for _frame in 0..240 {
//!     let now = clock + 1.0 / 60.0;
//!     place = place * walk.over(Looping::Wrap, clock, now)?;
//!     clock = now;
//! }
//! assert!((place.translation[2] - 6.0).abs() < 1e-6);
//! # Ok::<(), condyle::Error>(())
//! ```

#[doc(hidden)]
pub mod clip;
mod extract;
mod root;
#[cfg(test)]
mod tests;

pub use extract::{MotionRotation, RootMotionOptions, extract};
pub use root::{RootMotion, blend, over};
