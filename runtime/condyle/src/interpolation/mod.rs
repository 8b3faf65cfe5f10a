//! Interpolation of rotations, vectors and poses.
//!
//! [`interpolate()`] interpolates one rotation, [`poses`] all joints of two poses, and [`joints`] arrays of
//! structures. A [`Method`] selects how. The default is slerp, exact except for f32 rounding.
//!
//! A result is `p + (to·q - off·p)`, where `p` is the end closer to the factor and `q` the other one. The
//! methods differ only in the two weights `to` and `off`, which depend on the angle between the ends and on
//! the factor. Exceptions are the exponential map, and [`Method::Exact`], which is the textbook formula in
//! f64.
//!
//! # Input
//!
//! Rotations must have unit length within f32 rounding, 1e-6, which is not checked. If they do not, the error
//! grows by the same amount, and some methods jump at the ends. At a length of 2 some methods return NaN.
//! Normalise keys when you load them.
//!
//! Vectors are interpolated as `a + (b - a)·t`, so their difference must be finite too: components of two
//! poses may differ by at most 1.7e38. Between the keys of a clip any finite numbers are valid.
//!
//! # Example: a camera that follows
//!
//! A camera with inertia lags behind its subject, and starts and stops smoothly. In each step an invisible
//! lead view moves a fixed fraction of the distance to the goal. The camera moves the same fraction of the
//! distance to the lead. Steps have a fixed duration, and each frame interpolates between two steps, so that
//! the camera takes the same path at any frame rate.
//!
//! ```
//! use condyle::interpolation::Method;
//! use condyle::{Quat, interpolate};
//!
//! const STEP: f32 = 1.0 / 240.0;
//! /// Fraction of the distance per step: half of the distance takes an eighth of a second.
//! const PART: f32 = 0.023;
//!
//! #[derive(Clone, Copy)]
//! struct View {
//!     eye: [f32; 3],
//!     look: Quat,
//! }
//!
//! impl View {
//!     /// View from `eye` towards `point`, with +Z ahead.
//!     fn at(eye: [f32; 3], point: [f32; 3]) -> Self {
//!         let [x, y, z]: [f32; 3] = core::array::from_fn(|k| point[k] - eye[k]);
//!         // The shortest rotation from +Z. `interpolate` requires unit length.
//!         let look = [-y, x, 0.0, (x * x + y * y + z * z).sqrt() + z];
//!         let length = look.iter().map(|v| v * v).sum::<f32>().sqrt();
//!         Self { eye, look: look.map(|v| v / length) }
//!     }
//!
//!     fn towards(self, other: Self, part: f32) -> Self {
//!         let eye = core::array::from_fn(|k| self.eye[k] + (other.eye[k] - self.eye[k]) * part);
//!         Self { eye, look: interpolate(self.look, other.look, part, Method::Nlerp) }
//!     }
//! }
//!
//! struct Camera {
//!     wanted: View,
//!     lead: View,
//!     /// The views after and before the last step.
//!     views: [View; 2],
//!     /// Seconds since the last step.
//!     rest: f32,
//! }
//!
//! impl Camera {
//!     /// View at the end of a frame, given the goal at that time.
//!     fn follow(&mut self, wanted: View, seconds: f32) -> View {
//!         let (begin, mut step) = (self.rest, STEP);
//!         while step <= begin + seconds {
//!             // If a frame is longer than a step, interpolate the goal between the ends of the frame.
//!             let goal = self.wanted.towards(wanted, (step - begin) / seconds);
//!             self.lead = self.lead.towards(goal, PART);
//!             self.views = [self.views[0].towards(self.lead, PART), self.views[0]];
//!             step += STEP;
//!         }
//!         self.rest = begin + seconds - (step - STEP);
//!         self.wanted = wanted;
//!         self.views[1].towards(self.views[0], self.rest / STEP)
//!     }
//! }
//!
//! // A subject runs past for one second and stops. The camera moves next to it.
//! let wanted = |seconds: f32| {
//!     let x = 5.0 * seconds.min(1.0);
//!     View::at([0.5 * x, 1.7, 0.0], [x, 1.0, 4.0])
//! };
//! let after = |seconds: f32, rate: u16| {
//!     let start = wanted(0.0);
//!     let mut camera = Camera { wanted: start, lead: start, views: [start; 2], rest: 0.0 };
//!     let frames = (seconds * f32::from(rate)) as u16;
//!     (1..=frames).fold(start, |_, frame| camera.follow(wanted(f32::from(frame) / f32::from(rate)), 1.0 / f32::from(rate)))
//! };
//! for seconds in [0.1, 0.5, 1.0, 1.5] {
//!     let [slow, usual, fast] = [30, 60, 240].map(|rate| after(seconds, rate));
//!     for other in [slow, fast] {
//!         assert!(usual.eye.iter().zip(other.eye).all(|(a, b)| (a - b).abs() < 2e-3));
//!         assert!(usual.look.iter().zip(other.look).all(|(a, b)| (a - b).abs() < 2e-3));
//!     }
//! }
//! // The camera starts smoothly, lags by about a third of a second, and arrives.
//! assert!(after(0.1, 60).eye[0] < 0.2 * wanted(0.1).eye[0]);
//! assert!((after(3.0, 60).eye[0] - 2.5).abs() < 1e-3);
//! ```

#[doc(hidden)]
pub mod eberly_table;
mod error_bound;
mod exact;
mod exponential_map;
mod factor;
mod formula;
mod kernel;
mod keys;
mod method;
mod one_factor;
mod plan;
mod prepared;
mod slerp_table;
mod structs;
mod vectors;
mod weights;

#[cfg(test)]
mod tests;

pub use factor::{Factor, Selection};
pub(crate) use kernel::{slerp_block, vector_block};
pub use keys::{align_keys, joints_through, middle, poses_through, through};
pub use method::{Arc, Degree, InterpolateOptions, Method, Terms};
pub(crate) use one_factor::{OneFactor, Spread, straight};
pub use prepared::Prepared;
pub use vectors::vectors;

use crate::pose::Pose;
use condyle_base::error::Error;
use condyle_base::math::{JointQuat, Quat};
use factor::Factors;
use plan::Plan;

/// Writes the poses between `from` and `to` by the default method, with the factors `weight * mask`, one per
/// joint. All poses have the same size. If `from` is `None`, `out` holds the first end.
pub(crate) fn interpolate_masked(from: Option<&Pose>, to: &Pose, weight: f32, mask: &[f32], out: &mut Pose) {
    let factors = Factors { joints: mask.len(), t: Factor::PerJoint(mask), weight, extrapolate: false };
    plan::slerp_blocks(Degree::default(), from.map(Pose::blocks), to.blocks(), &factors, out.blocks_mut());
}

/// Returns the rotation between the unit quaternions `a` and `b` at the factor `t`.
///
/// The result has the same bits as in a pose or a list with one factor for all joints. For many rotations
/// with the same factor use [`Prepared`].
///
/// Three cases are exact. t = 0 returns `a`. t = 1 returns `b`, or its opposite on the hemisphere of `a`.
/// Equal or opposite quaternions return `a` at every t. A NaN factor returns NaN. Shoemake 1985.
///
/// ```
/// use condyle::interpolation::{InterpolateOptions, Method};
/// use condyle::interpolate;
///
/// let (a, b) = ([0.0, 0.0, 0.0, 1.0], [1.0, 0.0, 0.0, 0.0]);
/// let [x, y, z, w] = interpolate(a, b, 1.0 / 3.0, InterpolateOptions::default());
/// assert!((x - 0.5).abs() < 1e-6 && (w - 0.866_025_4).abs() < 1e-6 && [y, z] == [0.0; 2]);
/// assert_eq!(interpolate(a, b, 1.0, Method::Nlerp), b);
/// ```
#[must_use]
pub fn interpolate(a: Quat, b: Quat, t: f32, how: impl Into<InterpolateOptions>) -> Quat {
    Plan::from(how.into()).at(t.into()).single(a, b)
}

/// Writes the poses between `from` and `to`: rotations by the method, translations and scales linearly.
///
/// If `from` is `None`, `out` holds the first end and receives the result. All three poses must have the same
/// size. [`interpolate`] lists the cases that are exact; the ends of translations and scales are exact too.
/// The fast path is a single factor with [`Method::Slerp`], [`Method::Eberly`] or [`Method::Nlerp`] on the
/// shorter arc. Nothing is allocated.
///
/// # Errors
/// [`Error::Length`] if the poses differ in size, or if the number of factors differs from the number of
/// joints, or of listed joints. [`Error::Index`] if the list has a joint that is out of range.
/// [`Error::NotFinite`] if one factor for all joints is NaN. On error `out` is unchanged.
///
/// ```
/// use condyle::interpolation::{self, Method, Selection};
/// use condyle::{Pose, Transform};
///
/// let up = |y| Transform { translation: [0.0, y, 0.0], ..Transform::IDENTITY };
/// let (stand, jump) = (Pose::from_transforms(&[up(1.0)]), Pose::from_transforms(&[up(2.0)]));
/// let mut pose = Pose::identity(1);
/// interpolation::poses(&stand, &jump, 0.25, Selection::All, Method::default(), &mut pose)?;
/// assert_eq!(pose.get(0), up(1.25));
/// // Follow the jump: move a quarter of the remaining distance each frame.
/// interpolation::poses(None, &jump, 0.25, Selection::All, Method::default(), &mut pose)?;
/// assert_eq!(pose.get(0), up(1.4375));
/// # Ok::<(), condyle::Error>(())
/// ```
pub fn poses<'a, 'b>(
    from: impl Into<Option<&'b Pose>>,
    to: &Pose,
    t: impl Into<Factor<'a>>,
    joints: Selection<'_>,
    how: impl Into<InterpolateOptions>,
    out: &mut Pose,
) -> Result<(), Error> {
    Plan::from(how.into()).at(t.into()).poses(from.into(), to, joints, out)
}

/// Does the same as [`poses`] for joints in arrays of structures.
///
/// # Errors
/// Those of [`poses`].
///
/// ```
/// use condyle::interpolation::{self, Method, Selection};
/// use condyle::math::JointQuat;
///
/// let from = [JointQuat::IDENTITY; 2];
/// let to = [JointQuat { translation: [0.0, 4.0, 0.0], scale: 3.0, ..JointQuat::IDENTITY }; 2];
/// let mut out = [JointQuat::IDENTITY; 2];
/// // Only the second joint.
/// interpolation::joints(Some(&from), &to, 0.5, Selection::List(&[1]), Method::default(), &mut out)?;
/// assert_eq!(out[0], JointQuat::IDENTITY);
/// assert_eq!((out[1].translation, out[1].scale), ([0.0, 2.0, 0.0], 2.0));
/// # Ok::<(), condyle::Error>(())
/// ```
pub fn joints<'a>(
    from: Option<&[JointQuat]>,
    to: &[JointQuat],
    t: impl Into<Factor<'a>>,
    joints: Selection<'_>,
    how: impl Into<InterpolateOptions>,
    out: &mut [JointQuat],
) -> Result<(), Error> {
    Plan::from(how.into()).at(t.into()).joints(from, to, joints, out)
}
