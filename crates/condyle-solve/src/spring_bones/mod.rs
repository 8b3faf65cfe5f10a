//! Tails, hair, ears and ornaments that swing: the spring bones of VRM.
//!
//! A [`Spring`] is a row of joints. Each turns so that the next one, its *tail*, lags behind what moves it, is drawn back to where it is at rest, hangs
//! down, and stays out of [`Collider`]s. [`Springs`] are those of a skeleton, checked once; a [`SpringState`] is what one character remembers;
//! [`springs`] turns the joints of a pose, [`crowd`](crowd()) those of many.
//!
//! What a step does is the procedure of VRMC_springBone 1.0, with the shapes of VRMC_springBone_extended_collider, and its numbers mean the same. That procedure
//! depends on how long a step is, so here every step is a sixtieth of a second, whatever the frame rate: a call takes as many as are due, each with what moves the springs
//! at its own time, on a straight line from the call before to this one. What is shown is between the last two steps, at most a sixtieth of a second
//! behind; it is the turn of each joint that lags, not its place.
//!
//! ```
//! use condyle_solve::spring_bones::{Spring, SpringJoint, SpringState, Springs, Tick, springs};
//! use condyle::{Affine, Joint, Pose, Skeleton, Transform, local_to_model};
//!
//! // A braid of three bones that hangs from a head.
//! let at = |y| Transform { translation: [0.0, y, 0.0], ..Transform::IDENTITY };
//! let mut joints = vec![Joint::new("head", None, at(1.6))];
//! joints.extend((0..4).map(|bone| Joint::new("braid", Some(bone), at(-0.1))));
//! let skeleton = Skeleton::new(joints)?;
//! let braid = Spring::new([1, 2, 3, 4].map(|joint| SpringJoint { stiffness: 0.5, drag: 0.3, ..SpringJoint::new(joint) }));
//! let all = Springs::new(&skeleton, &[braid], &[])?;
//!
//! // What each character keeps, and each frame does. The character runs along +Z.
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
//! assert!(tip[2] < -0.1 && tip[1] > 1.2, "the braid flies behind: {tip:?}");
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

/// How long a step is, in seconds: what VRM's numbers are made for.
const STEP: f64 = 1.0 / 60.0;

/// The most steps of a call.
const MAX_STEPS: u32 = 16;

/// What happened since the call before.
///
/// ```
/// use condyle_solve::spring_bones::Tick;
///
/// // In the wind.
/// let tick = Tick { force: [0.3, 0.0, 0.0], ..Tick::new(1.0 / 144.0) };
/// assert_eq!(tick.weight, 1.0);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tick {
    /// Seconds since the call before, at least 0; the first call does not look at it.
    pub seconds: f32,
    /// Where the character is: from model space to the world, whose metres the springs are in.
    pub to_world: Affine,
    /// How much of the way the rotations go from those of the pose to those of the springs, from 0 to 1. The springs swing all the same.
    pub weight: f32,
    /// What draws at all tails besides gravity, as wind does, and in the same terms: metres per second in world space.
    pub force: [f32; 3],
}

impl Tick {
    /// A character that is not moved as a whole, in still air.
    #[must_use]
    pub const fn new(seconds: f32) -> Self {
        Self { seconds, to_world: Affine::IDENTITY, weight: 1.0, force: [0.0; 3] }
    }
}

/// Swings the joints of springs until a time has passed.
///
/// `model` are the matrices of `pose`, of which only those of joints that no spring moves are read; both hold one element per joint. `pose` is changed, `model` is not:
/// [`local_to_model`](condyle::local_to_model) or [`model::subtree`](condyle::model::subtree) places the joints anew. Of the joints that swing the rotations are
/// replaced; what they were matters only where [`Tick::weight`] is less than 1, and a joint swings about the rotation of the skeleton's rest pose.
///
/// The first call, and the first after [`SpringState::reset`], shows the springs at rest. After a pause of more than 16 steps, 0.27 seconds, they come to rest and swing
/// from there through the last 16, so that the time of a call is bounded. A joint that has no length, or hangs on one that is
/// scaled to nothing, is at rest. Nothing is allocated, and the bits are the same on every machine.
///
/// # Errors
/// [`Error::Length`] if `model`, `pose` or `state` are of other sizes; [`Error::Skeleton`] if the springs were made for other joints; [`Error::OutOfRange`] if `state` is
/// that of fewer or more springs, if `seconds` is negative or `weight` not from 0 to 1; [`Error::NotFinite`] if a number that matters is NaN or an infinity. The pose and
/// the state are then unchanged.
///
/// ```
/// use condyle_solve::spring_bones::{Spring, SpringJoint, SpringState, Springs, Tick, springs};
/// # use condyle::{Affine, Joint, Pose, Skeleton, Transform, local_to_model};
/// # let along = Transform { translation: [0.1, 0.0, 0.0], ..Transform::IDENTITY };
/// # let joint = |name, parent| Joint::new(name, parent, along);
/// # let skeleton = Skeleton::new([joint("hips", None), joint("tail", Some(0)), joint("tip", Some(1))])?;
/// # let mut model = vec![Affine::IDENTITY; 3];
/// # local_to_model(&skeleton, skeleton.rest(), &mut model)?;
///
/// // A tail that sticks out and is too heavy for its stiffness.
/// let heavy = SpringJoint { stiffness: 0.1, gravity: [0.0, -1.0, 0.0], ..SpringJoint::new(1) };
/// let all = Springs::new(&skeleton, &[Spring::new([heavy, SpringJoint::new(2)])], &[])?;
/// let (mut state, mut pose) = (SpringState::new(&all), Pose::rest(&skeleton));
/// for _ in 0..100 {
///     springs(&skeleton, &model, &all, &Tick::new(1.0 / 30.0), &mut state, &mut pose)?;
/// }
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

/// `Ok` if a call has what it needs.
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
