//! Spring bones: tails, hair, ears and ornaments that swing, as in VRM.
//!
//! A [`Spring`] is a chain of joints. Each joint turns to follow the next one, its *tail*. The tail lags
//! behind, is pulled back to its rest position, hangs down, and stays out of [`Collider`]s. [`Springs`] holds
//! the springs of a skeleton, checked once. A [`SpringState`] is the state of one character. [`springs`]
//! turns the joints of one pose, [`crowd`](crowd()) those of many.
//!
//! A step follows the procedure of VRMC_springBone 1.0 with the shapes of VRMC_springBone_extended_collider,
//! and uses the same parameters. The result of that procedure depends on the duration of a step, so here
//! every step is 1/60 s at any frame rate.
//!
//! A call runs as many steps as are due. For each step, the joints that carry the springs are interpolated
//! linearly between the last call and this one. The output is interpolated between the last two steps, so it
//! lags by at most 1/60 s. Only the rotation of each joint lags, not its position.
//!
//! ```
//! use condyle::{Affine, Pose, example, local_to_model};
//! use condyle_solve::spring_bones::{Spring, SpringJoint, SpringState, Springs, Tick, springs};
//!
//! // A braid of three bones of 10 cm that hangs from a head.
//! let skeleton = example::chain(["head", "braid", "braid", "braid", "tip"], [0.0, -0.1, 0.0]);
//! let hair = |joint| SpringJoint { stiffness: 0.5, drag: 0.3, ..SpringJoint::new(joint) };
//! let all = Springs::new(&skeleton, &[Spring::new([1, 2, 3, 4].map(hair))], &[])?;
//!
//! // One state per character, one tick per frame. The character runs along +Z.
//! let mut state = SpringState::new(&all);
//! let mut model = vec![Affine::IDENTITY; skeleton.joint_count()];
//! let mut pose = Pose::rest(&skeleton);
//! for frame in 0..30 {
//!     pose = Pose::rest(&skeleton);
//!     local_to_model(&skeleton, &pose, &mut model)?;
//!     let mut to_world = Affine::IDENTITY;
//!     to_world.rows[2][3] = 0.05 * frame as f32;
//!     let tick = Tick { to_world, ..Tick::new(1.0 / 60.0) };
//!     springs(&skeleton, &model, &all, &tick, &mut state, &mut pose)?;
//! }
//! local_to_model(&skeleton, &pose, &mut model)?;
//! let tip = model[4].transform_point([0.0; 3]);
//! assert!(tip[2] < -0.1 && tip[1] > -0.5, "the braid flies behind: {tip:?}");
//! # Ok::<(), condyle::Error>(())
//! ```

mod crowd;
mod data;
mod gather;
mod lanes;
mod state;
mod step;
#[cfg(test)]
mod tests;

pub use self::crowd::{CrowdBuffer, crowd};
pub use self::data::{Collider, ColliderShape, Spring, SpringJoint, Springs};
pub use self::state::SpringState;
use condyle::pose::Pose;
use condyle::skeleton::Skeleton;
use condyle_base::error::Error;
use condyle_base::math::Affine;
use lanes::Alone;
use state::Schedule;
use step::When;

/// Duration of a step in seconds. VRM defines its parameters for this duration.
const STEP: f64 = 1.0 / 60.0;

/// Maximum number of steps of a call.
const MAX_STEPS: u32 = 16;

/// Inputs of one call: the elapsed time and the placement of the character.
///
/// ```
/// use condyle_solve::spring_bones::Tick;
///
/// // A character in the wind.
/// let tick = Tick { force: [0.3, 0.0, 0.0], ..Tick::new(1.0 / 144.0) };
/// assert_eq!(tick.weight, 1.0);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tick {
    /// Seconds since the last call, at least 0. The first call ignores it.
    pub seconds: f32,
    /// Placement of the character: the transform from model space to world space. The springs use the metres
    /// of the world.
    pub to_world: Affine,
    /// Blend factor from the pose's rotations to those of the springs, from 0 to 1. It has no effect on the
    /// simulation.
    pub weight: f32,
    /// Force on all tails in addition to gravity, such as wind, in the same unit: metres per second in world
    /// space.
    pub force: [f32; 3],
}

impl Tick {
    /// A tick for a character at the origin of the world, without wind.
    #[must_use]
    pub const fn new(seconds: f32) -> Self {
        Self { seconds, to_world: Affine::IDENTITY, weight: 1.0, force: [0.0; 3] }
    }
}

/// Advances the springs by the elapsed time and turns their joints.
///
/// `model` holds the matrices of `pose`; both have one element per joint. Only the matrices of joints that no
/// spring moves are read. `pose` is changed, `model` is not: update it by
/// [`local_to_model`](condyle::local_to_model) or [`model::subtree`](condyle::model::subtree).
///
/// The rotations of swinging joints are replaced. Their input rotations matter only if [`Tick::weight`] is
/// below 1, because a joint swings about its rotation in the skeleton's rest pose.
///
/// The first call, and the first after [`SpringState::reset`], outputs the springs at rest. After a pause of
/// more than 16 steps (0.27 s), the call resets the springs to rest and runs only the last 16 steps. This
/// bounds the time of a call. A joint of zero length, or below a joint whose scale is zero, stays at rest.
/// Nothing is allocated, and results are bit-identical on every machine.
///
/// # Errors
/// [`Error::Length`] if `model`, `pose` or `state` has the wrong length. [`Error::Skeleton`] if the springs
/// were made for other joints. [`Error::OutOfRange`] if `state` belongs to other springs, if `seconds` is
/// negative, or if `weight` is not from 0 to 1. [`Error::NotFinite`] if a value that the call reads is NaN or
/// infinite. After an error, pose and state are unchanged.
///
/// ```
/// use condyle::{Affine, Pose, example, local_to_model};
/// use condyle_solve::spring_bones::{Spring, SpringJoint, SpringState, Springs, Tick, springs};
///
/// // A horizontal tail with a bone of 10 cm that is too heavy for its stiffness.
/// let skeleton = example::chain(["hips", "tail", "tip"], [0.1, 0.0, 0.0]);
/// let heavy = SpringJoint { stiffness: 0.1, gravity: [0.0, -1.0, 0.0], ..SpringJoint::new(1) };
/// let all = Springs::new(&skeleton, &[Spring::new([heavy, SpringJoint::new(2)])], &[])?;
/// let (mut state, mut pose) = (SpringState::new(&all), Pose::rest(&skeleton));
/// let mut model = vec![Affine::IDENTITY; 3];
/// local_to_model(&skeleton, &pose, &mut model)?;
/// for _ in 0..100 {
///     springs(&skeleton, &model, &all, &Tick::new(1.0 / 30.0), &mut state, &mut pose)?;
/// }
/// // The tip was at [0.3, 0, 0], and now hangs below the tail, which is at [0.2, 0, 0].
/// local_to_model(&skeleton, &pose, &mut model)?;
/// let [x, y, _] = model[2].transform_point([0.0; 3]);
/// assert!(y < -0.09 && x < 0.22);
/// # Ok::<(), condyle::Error>(())
/// ```
pub fn springs(
    skeleton: &Skeleton,
    model: &[Affine],
    springs: &Springs,
    tick: &Tick,
    state: &mut SpringState,
    pose: &mut Pose,
) -> Result<(), Error> {
    check(skeleton, model, springs, tick, state, pose)?;
    swing_alone(skeleton, model, springs, tick, state, pose);
    Ok(())
}

/// Checks the arguments of a call.
fn check(
    skeleton: &Skeleton,
    model: &[Affine],
    springs: &Springs,
    tick: &Tick,
    state: &SpringState,
    pose: &Pose,
) -> Result<(), Error> {
    springs.check(skeleton)?;
    pose.check_joints("pose", skeleton.joint_count())?;
    Error::check_len("model", model.len(), skeleton.joint_count())?;
    state.check(springs)?;
    gather::check_numbers(skeleton, springs, model, tick, pose)
}

fn swing_alone(
    skeleton: &Skeleton,
    model: &[Affine],
    springs: &Springs,
    tick: &Tick,
    state: &mut SpringState,
    pose: &mut Pose,
) {
    let to_world = (&tick.to_world).into();
    let schedule = Schedule::new(&state.time, tick.seconds);
    state.move_by(state.shift(&to_world));
    let work = &mut state.work;
    gather::gather(skeleton, springs, model, &to_world, pose, 0, work);
    for at in 0..schedule.count {
        let rests = schedule.rests && at == 0;
        let when = When { factor: schedule.factor(at), takes: true, rests, force: gather::force(tick) };
        step::step(Alone, springs, work, &when);
    }
    step::show(Alone, springs, work, schedule.late / STEP);
    gather::scatter(springs, work, 0, tick.weight, pose);
    core::mem::swap(&mut work.before, &mut work.now);
    state.time = state::Time { started: true, late: schedule.late, to_world };
}
