//! Root motion: from a clip to what moves its character as a whole, and to the pose that remains.
//!
//! [`extract`](extract()) takes the motion out of a [`RawClip`](crate::RawClip) and returns the clip in place
//! with a [`RootMotion`]; or `condyle_encode::EncodeOptions::root_motion` asks
//! for both in one compressed clip. In a frame, [`RootMotion::over`] and
//! [`Clip::motion_over`](crate::Clip::motion_over) say how far the character has come from one value of its
//! clock to the next, over any number of loops: its place in the world is multiplied by that, from the right.
//! [`over`] does the same for a motion of your own, and [`blend`] is the mean of the motions of clips that
//! are blended.
//!
//! ```
//! use condyle::math::Rigid;
//! use condyle::motion::RootMotion;
//! use condyle::{Looping, Transform};
//!
//! // A walk of a metre and a half a second.
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
