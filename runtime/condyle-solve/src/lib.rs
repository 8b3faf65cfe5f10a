//! Inverse kinematics: solvers that turn joints until a pose reaches, looks or points at a goal. The input is
//! a [`Pose`](condyle::Pose), its model-space matrices and a goal; the output is the changed pose.
//!
//! | function | turns | result |
//! |---|---|---|
//! | [`two_bone`](two_bone()) | an arm or a leg | the tip is at the goal, bent towards a pole vector or about a hinge |
//! | [`aim`](aim()), [`aim_chain`] | a head, or the chain of joints that carries it | an axis points at the target |
//! | [`chain`](chain()) | a chain of any number of joints, by one of three [methods](ChainMethod) | the end effector has the requested position and orientation |
//! | [`spline`](spline()) | a spine or a tail | its bones lie along a curve |
//! | [`example`](example()) | no joint: it finds weights for example poses | the blended pose has its joints at the goals |
//! | [`body`] | all ancestors of the goals | many goals are met simultaneously |
//! | [`feet`](foot_placement::feet()) | the pelvis and its legs, frame by frame | planted feet stay in place, also on stairs and slopes |
//! | [`springs()`] | the joints of hair, coats and tails | their springs are advanced by one frame |
//!
//! ```text
//!  condyle-base ── condyle ──┬── condyle-encode
//!                            ├── condyle-solve   <── here
//!                            └── condyle-query
//! ```
//!
//! The solvers change rotations only, so no bone is stretched. There are two exceptions: `feet` moves the
//! pelvis, and `body` translates one joint if requested.
//!
//! All solvers except `body` and `example` read the matrices that [`local_to_model`](condyle::local_to_model)
//! computed from the pose, for all ancestors of the first joint that turns. No solver updates the matrices:
//! call [`model::subtree`](condyle::model::subtree) afterwards with the first joint that turns; after `feet`,
//! with the pelvis. Joints between two turning joints move along rigidly. All scales are taken into account,
//! including non-uniform ones. [`Limits`] keep joints within their range of motion.
//!
//! No solver allocates, except that `body` and `spring_bones::crowd` grow their buffers on first use. The
//! numbers of joints, goals and iterations bound the time of a call. The arithmetic is f64 with correct
//! rounding and a fixed order of operations, so results are bit-identical on every machine and in both
//! numeric modes.
//!
//! # Features
//!
//! - `std` (default): detects the instruction set of the CPU at run time.
//! - `scalar`: also compiles the kernels without vector instructions, for debugging.
#![cfg_attr(not(feature = "std"), no_std)]
#![cfg_attr(docsrs, feature(doc_cfg))]

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
pub use self::two_bone::{PosedLimb, TwoBone, two_bone};

/// Remaining error of a solution.
///
/// ```
/// use condyle::{Affine, Pose, example, local_to_model};
/// use condyle_solve::{TwoBone, two_bone};
///
/// let skeleton = example::skeleton();
/// let mut pose = Pose::rest(&skeleton);
/// let mut model = vec![Affine::IDENTITY; skeleton.joint_count()];
/// local_to_model(&skeleton, &pose, &mut model)?;
///
/// // The arm is 0.5 m long. A goal 2.5 m above the shoulder, at [0.25, 1.5, 0], is 2 m out of reach.
/// let arm = TwoBone::new(example::ARM_L, [0.25, 4.0, 0.0]);
/// let reached = two_bone(&skeleton, &model, &arm, &mut pose)?;
/// assert!((reached.distance - 2.0).abs() < 1e-6);
/// # Ok::<(), condyle::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Reached {
    /// Distance in metres from the tip to the goal in model space, in the pose that was written. For an aim,
    /// the distance from the ray to the target.
    pub distance: f32,
    /// Angle in radians between the tip's orientation and the requested one; 0 if none was requested.
    pub angle: f32,
    /// Number of iterations; 1 for closed-form solutions.
    pub iterations: u32,
}

#[cfg(test)]
mod tests;
