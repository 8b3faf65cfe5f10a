//! Inverse kinematics: a pose that is made to reach, look or point. In go a [`Pose`](condyle::Pose), its matrices in model
//! space and a goal; out comes the pose with some joints turned.
//!
//! | call | turns | until |
//! |---|---|---|
//! | [`two_bone`](two_bone()) | an arm or a leg | its tip is at a goal, bent towards a pole |
//! | [`aim`](aim()), [`aim_chain`] | a head, or the joints that carry it | an axis points at a target |
//! | [`chain`](chain()) | any number of joints in a row, by one of three [methods](ChainMethod) | its tip is at a goal, and turned as asked |
//! | [`spline`](spline()) | a spine or a tail | its bones lie along a curve |
//! | [`example`](example()) | nothing: it weighs poses | their blend has joints at goals |
//! | [`body`] | all joints above its goals | many goals are reached at once |
//! | [`feet`](foot_placement::feet()) | the pelvis and its legs, frame by frame | feet stand where they came down, on stairs and slopes |
//!
//! | [`springs()`] | the joints of hair, coats and tails | they have swung for one frame |
//!
//! ```text
//!  condyle-base ── condyle ──┬── condyle-encode
//!                            ├── condyle-solve   <── here
//!                            └── condyle-query
//! ```
//!
//! All of them turn joints and do nothing else, but for `feet`, which moves the pelvis, and `body`, which moves one joint if it is asked to: other translations and scales stay what they are, so no bone is stretched. They read the
//! matrices that [`local_to_model`](condyle::local_to_model) made of the pose, for all that lies above the first joint that they turn,
//! and leave them as they are: [`model::subtree`](condyle::model::subtree) places the limb anew. Joints between those that
//! turn are carried along, and every scale counts, uneven ones too. [`Limits`] keep joints within what they can do.
//!
//! Nothing is allocated. The time is bounded by what is asked, whatever the numbers are. The arithmetic is plain f64, correctly rounded and
//! in one order: the same bits on every machine, in either numeric mode.
//!
//! # Features
//!
//! - `std` (default): detects the instruction set of the CPU at run time.
//! - `scalar`: compiles kernels without vector instructions too, for debugging.
#![cfg_attr(not(feature = "std"), no_std)]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod aim;
mod chain;
mod direct;
mod example;
pub mod foot_placement;
pub mod full_body;
mod limits;
mod maps;
mod sphere;
mod spline;
pub mod spring_bones;
#[cfg(test)]
mod testing;
mod two_bone;

pub use self::aim::{Aim, AimChain, Share, Up, aim, aim_chain};
pub use self::chain::{Chain, ChainMethod, Orientation, chain};
pub use self::example::{ExampleGoal, Examples, example};
pub use self::full_body::body;
pub use self::limits::{FitOptions, JointLimit, Limits, Swing, clamp, fit_limits};
pub use self::spline::{Spline, SplineUp, spline};
pub use self::spring_bones::springs;
pub use self::two_bone::{TwoBone, two_bone};

/// How far a solver came.
///
/// ```
/// use condyle_solve::{TwoBone, two_bone};
/// # use condyle::{Affine, Joint, Pose, Skeleton, Transform, local_to_model};
/// # let up = Transform { translation: [0.0, 1.0, 0.0], ..Transform::IDENTITY };
/// # let joint = |name, parent| Joint::new(name, parent, up);
/// # let skeleton = Skeleton::new([joint("a", None), joint("b", Some(0)), joint("c", Some(1))])?;
/// # let mut pose = Pose::rest(&skeleton);
/// # let mut model = vec![Affine::IDENTITY; 3];
/// # local_to_model(&skeleton, &pose, &mut model)?;
///
/// // Two bones of a metre each, from a shoulder a metre up: five metres up are two too many.
/// let reached = two_bone(&skeleton, &model, &TwoBone::new([0, 1, 2], [0.0, 5.0, 0.0]), &mut pose)?;
/// assert!((reached.distance - 2.0).abs() < 1e-6);
/// # Ok::<(), condyle::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Reached {
    /// Metres from the tip to the goal in model space, in the pose that was written. Of an aim, from the ray to the target.
    pub distance: f32,
    /// Radians that the tip is turned from what was asked for; 0 where no orientation was.
    pub angle: f32,
    /// How many rounds it took; 1 for what is solved at once.
    pub iterations: u32,
}

#[cfg(test)]
mod tests;
