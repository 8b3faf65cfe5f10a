//! Foot placement: feet stand on level ground, slopes and stairs while they touch the ground.
//!
//! [`contacts`](contacts()) analyses a clip once: which joint touches the ground, when and where. For an
//! in-place walk or run, it also finds the velocity of the ground, and [`Contacts::motion`] moves the
//! character. At runtime, [`Contacts::step`] returns the state of a foot: planted, or in the air with the
//! time and place of its next landing. [`feet`] then adjusts the pose:
//!
//! - A planted foot stays exactly in place, and rolls over its toes as in the clip.
//! - A foot in the air takes the smoothest path to its landing, as high above the ground as in the clip, and
//!   over the edges of steps. It arrives at rest. If no landing is known, it still slides for a short time
//!   after it touches the ground.
//! - A foot is rotated to the slope. If the edge of a step would be under its sole, it lands a little before
//!   or after that edge.
//! - The pelvis follows the lower foot by a critically damped spring. On steps down the spring alone would be
//!   late, so the pelvis plans a path, as feet do: when the next foot lands, its height above that ground
//!   equals the height in the clip. The pelvis is lower still if the legs need it. A knee may become only
//!   about as straight as in the clip, so that it does not snap.
//! - A knee that is straight in the clip bends to the side to which it bent before. At the start this is the
//!   side in the rest pose, or the direction of the toes. No knee folds beyond 160°, unless it does so in the
//!   clip. Instead, a planted foot leaves its place, and the returned distance includes that error.
//!
//! Down stairs, the acceleration of a recorded walk's pelvis is at most 1.1 times that in the clip (CMU 01_01
//! and 12_01, steps 12 cm high and 40 cm deep). If the pelvis hardly moves in the clip, no such bound exists,
//! because the legs have to reach each step. For the built-in character, the acceleration rises from 2.7 to
//! 12 m/s² in the walk, and from 12 to 78 m/s² in the run. A lower [`FeetOptions::pelvis`] does not make this
//! smoother.
//!
//! Call [`contacts`](contacts()) with [`Leg::touching`] of each leg. Then, in each frame:
//!
//! 1. Advance the [`Player`](condyle::Player), and multiply the placement on the right by
//!    [`Player::root_motion`](condyle::Player::root_motion) of [`Contacts::motion`].
//! 2. Sample the pose with [`Player::sample`](condyle::Player::sample), and call
//!    [`local_to_model`](condyle::local_to_model).
//! 3. Get the [`Contacts::step`] of each leg at [`Player::clock`](condyle::Player::clock).
//! 4. Call [`feet`], then `local_to_model` again.
//!
//! ```
//! use condyle::math::Rigid;
//! use condyle::{Affine, Pose, example, local_to_model};
//! use condyle_solve::foot_placement::{Feet, FeetFrame, Leg, Plane, Step, feet};
//!
//! let skeleton = example::skeleton();
//! let legs = [example::LEG_L, example::LEG_R].map(|[hip, knee, foot]| Leg { hip, knee, foot, toe: None });
//! let stands = Feet::new(&skeleton, example::HIPS, &legs)?;
//! let mut state = stands.start();
//!
//! // In each frame. The ground is 20 cm above the character's placement.
//! let (mut pose, mut model) = (Pose::rest(&skeleton), [Affine::IDENTITY; 15]);
//! local_to_model(&skeleton, &pose, &mut model)?;
//! let (placement, ground, steps) = (Rigid::IDENTITY, Plane::level(0.2), [Step::Planted; 2]);
//! let frame = FeetFrame { placement, ground: &ground, steps: &steps, seconds: 0.016, weight: 1.0 };
//! feet(&skeleton, &model, &stands, &frame, &mut state, &mut pose)?;
//! local_to_model(&skeleton, &pose, &mut model)?;
//! for [.., foot] in [example::LEG_L, example::LEG_R] {
//!     let [_, height, _] = model[usize::from(foot)].transform_point([0.0; 3]);
//!     assert!((height - 0.2).abs() < 1e-5);
//! }
//! # Ok::<(), condyle::Error>(())
//! ```

mod contacts;
mod foot;
mod ground;
mod knee;
mod path;
mod pelvis;
mod planted;
mod step;
mod thresholds;
mod touches;
mod treadmill;

use alloc::vec;
use alloc::vec::Vec;

pub use self::contacts::{Contact, Contacts, contacts, contacts_of_events, contacts_raw};
pub use self::ground::{Ground, GroundPoint, Heights, Plane, Triangles};
pub use self::planted::{Planted, ground_under};
pub use self::step::{Landing, Step};
pub use self::thresholds::ContactOptions;

use self::foot::{Foot, Seen, World};
use self::knee::{Bend, carried_over, fold_distances, kept_above, side_at_rest};
use self::pelvis::{Pelvis, kept_below};
use super::maps::{
    Vec64, above, check, check_pose, check_unit, direction, length, nlerp, rotation_of, scaled, set_rotation,
    sub, turned_above,
};
use super::{Reached, TwoBone, two_bone};
use condyle::pose::Pose;
use condyle::skeleton::Skeleton;
use condyle_base::error::Error;
use condyle_base::math::quats::{conjugate, product, rotate};
use condyle_base::math::{Affine, Rigid, Transform};

/// Joint indices of a leg. Each joint is a descendant of the one before it, not necessarily its child.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Leg {
    /// Joint that rotates the leg relative to the pelvis.
    pub hip: u16,
    /// Joint that bends the leg.
    pub knee: u16,
    /// Joint that rotates with the slope.
    pub foot: u16,
    /// Ball of the foot, over which it rolls. This joint stands on the ground. With `None`, `foot` does.
    pub toe: Option<u16>,
}

impl Leg {
    /// Returns the joint that touches the ground, for [`contacts`](contacts()).
    #[must_use]
    pub fn touching(&self) -> u16 {
        self.toe.unwrap_or(self.foot)
    }

    fn joints(&self) -> [u16; 4] {
        [self.hip, self.knee, self.foot, self.touching()]
    }
}

/// Options of [`feet`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FeetOptions {
    /// Maximum rotation of a foot with the slope, in radians.
    pub slope: f32,
    /// Distance in metres between the edge of a step and a foot that passes over it.
    pub clearance: f32,
    /// Maximum height of a step up, in metres above the ground under the foot.
    pub step: f32,
    /// Time in seconds in which a foot stops, or reaches its height above the ground, if no landing is
    /// known.
    pub settle: f32,
    /// Rate of the pelvis spring, per second. The spring covers half of a height change in `2.7 / rate`
    /// seconds. If a foot lands lower, or all feet land together, the pelvis arrives at the landing, but
    /// takes at least `1.6 / rate` seconds.
    pub pelvis: f32,
    /// Length of the sole in metres, in front of the joint that touches the ground and behind it.
    pub sole: [f32; 2],
}

/// The legs of a skeleton that share a pelvis, with options.
#[derive(Debug, Clone, PartialEq)]
pub struct Feet {
    pelvis: u16,
    legs: Vec<Leg>,
    /// Directions to which straight lower legs bend, in the spaces that the hips rotate.
    sides: Vec<Option<Vec64>>,
    options: FeetOptions,
    /// Length of the longest leg.
    size: f64,
    /// Distance from the foot's joint to the toe's joint.
    foot: f64,
    fingerprint: u32,
}

/// State of [`feet`] between calls: where feet stand, and how they move.
///
/// A plain value: a copy continues in the same way.
#[derive(Debug, Clone, PartialEq)]
pub struct FeetState {
    feet: Vec<Option<Foot>>,
    pelvis: Option<Pelvis>,
    /// Directions to which lower legs bend, as in [`Feet`].
    sides: Vec<Option<Vec64>>,
    /// Placement of the character in the last call.
    placement: Option<Rigid>,
    /// Scratch space of one call, kept here so that no call allocates.
    next: Vec<Option<Foot>>,
    limbs: Vec<Limb>,
}

/// Data of one leg during a call.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Limb {
    /// Goal position of the foot's joint in world space.
    goal: Vec64,
    /// Goal orientation of the foot's joint in model space.
    orientation: [f64; 4],
    /// Hip, knee and foot in the input pose.
    before: [Transform; 3],
    /// Position of the hip in the clip's pose, in world space.
    hip: Vec64,
    /// Position of the ankle in the clip's pose, in world space.
    ankle: Vec64,
    length: f64,
    /// Distances of the foot from the hip at which the knee begins to fold more slowly and stops folding.
    folds: [f64; 2],
    /// Freedom of the foot to leave its place, from 0 to 1.
    free: f64,
    /// Rotation of a straight knee, bent a little. `None` for a bent knee, which keeps its rotation bit for
    /// bit.
    knee: Option<[f64; 4]>,
    /// Direction to which the knee bends.
    side: Option<Vec64>,
    /// Height of the ground where the foot stands or will stand.
    floor: f64,
    /// Seconds until the foot stands.
    until: f64,
}

/// Input of one call of [`feet`].
#[derive(Clone, Copy)]
pub struct FeetFrame<'a> {
    /// Placement of the character in the world: the transform that multiplies its model matrices from the
    /// left. Where there is ground, the height of the placement has no effect, so it may jump from step to
    /// step.
    pub placement: Rigid,
    /// Ground under the character.
    pub ground: &'a dyn Ground,
    /// State of each foot, in the order of the legs.
    pub steps: &'a [Step],
    /// Time in seconds since the last call.
    pub seconds: f32,
    /// Blend factor from the input pose to the solved one, from 0 to 1.
    pub weight: f32,
}

impl Feet {
    /// Checks the legs, measures them in the rest pose, and derives options from their size. The step height
    /// is 60 % of a leg's length. The sole reaches from the toe's joint 60 % of the foot's length forward and
    /// 120 % backward.
    ///
    /// # Errors
    /// [`Error::Index`] if a joint does not exist. [`Error::OutOfRange`] if the pelvis, hip, knee, foot and
    /// toe of a leg are not each a descendant of the one before it.
    pub fn new(skeleton: &Skeleton, pelvis: u16, legs: &[Leg]) -> Result<Self, Error> {
        let mut model = vec![Affine::IDENTITY; skeleton.joint_count()];
        let joints = legs.iter().flat_map(Leg::joints).chain([pelvis]);
        check(skeleton, &model, skeleton.rest(), "legs", joints)?;
        condyle::local_to_model(skeleton, skeleton.rest(), &mut model)?;
        for (at, leg) in legs.iter().enumerate() {
            let hangs = |w: &[u16]| w[0] != w[1] && skeleton.subtree(w[0]).contains(&w[1]);
            let leg_hangs = [pelvis, leg.hip, leg.knee, leg.foot].windows(2).all(hangs);
            if !leg_hangs || !leg.toe.is_none_or(|toe| hangs(&[leg.foot, toe])) {
                return Err(Error::OutOfRange {
                    what: "legs",
                    at,
                    needed: "a chain of joints, each a descendant of the one before it",
                });
            }
        }
        let place = |joint: u16| model[usize::from(joint)].rows.map(|row| f64::from(row[3]));
        let far = |a: u16, b: u16| length(sub(place(a), place(b)));
        let (mut size, mut foot) = (0.0_f64, 0.0_f64);
        for leg in legs {
            size = size.max(far(leg.hip, leg.knee) + far(leg.knee, leg.foot));
            foot = foot.max(far(leg.foot, leg.touching()));
        }
        let options = FeetOptions {
            slope: 0.6,
            clearance: (0.02 * size) as f32,
            step: (0.6 * size) as f32,
            settle: 0.2,
            pelvis: 8.0,
            sole: [(0.6 * foot) as f32, (1.2 * foot) as f32],
        };
        let side = |leg: &Leg| {
            let turned = product(
                turned_above(skeleton, skeleton.rest(), leg.hip)?,
                rotation_of(skeleton.rest(), leg.hip)?,
            );
            let side = side_at_rest(skeleton, &model, leg);
            Ok(side.map(|side| rotate(conjugate(turned), side)))
        };
        let sides = legs.iter().map(side).collect::<Result<_, Error>>()?;
        Ok(Self {
            pelvis,
            legs: legs.to_vec(),
            sides,
            options,
            size,
            foot,
            fingerprint: skeleton.fingerprint(),
        })
    }

    /// Returns the options.
    #[must_use]
    pub fn options(&self) -> &FeetOptions {
        &self.options
    }

    /// Returns the same legs with other options.
    ///
    /// # Errors
    /// [`Error::NotFinite`] if an option is NaN or infinite. [`Error::OutOfRange`] if one is below 0, or if
    /// `pelvis` is 0.
    pub fn with_options(self, options: FeetOptions) -> Result<Self, Error> {
        let FeetOptions { slope, clearance, step, settle, pelvis, sole } = options;
        let named = [
            ("slope", slope),
            ("clearance", clearance),
            ("step", step),
            ("settle", settle),
            ("pelvis", pelvis),
            ("sole", sole[0]),
            ("sole", sole[1]),
        ];
        for (what, value) in named {
            Error::check_number(what, value)?;
            if value < 0.0 || (what == "pelvis" && value == 0.0) {
                return Err(Error::OutOfRange {
                    what,
                    at: 0,
                    needed: "at least 0, and above 0 for `pelvis`",
                });
            }
        }
        Ok(Self { options, ..self })
    }

    /// Returns the legs, in the order of [`FeetFrame::steps`].
    #[must_use]
    pub fn legs(&self) -> &[Leg] {
        &self.legs
    }

    /// Length of the longest leg in the rest pose in metres, for [`ContactOptions::for_legs`].
    #[must_use]
    pub fn leg_length(&self) -> f32 {
        self.size as f32
    }

    /// Returns the state before the first call, which puts the character on the ground immediately.
    #[must_use]
    pub fn start(&self) -> FeetState {
        let none = vec![None; self.legs.len()];
        FeetState {
            feet: none.clone(),
            pelvis: None,
            sides: vec![None; self.legs.len()],
            placement: None,
            next: none,
            limbs: vec![Limb::default(); self.legs.len()],
        }
    }
}

/// Puts feet on the ground.
///
/// `model` holds the matrices of `pose`, which come from a clip; both have one element per joint. `model` is
/// not changed. In the clip, the ground is at height 0 in model space, and up is the direction that the
/// placement rotates to the world's `y`. The function changes the rotations of hips, knees and feet, and the
/// translation of the pelvis.
///
/// `state` advances by `frame.seconds`; before the first call it is [`Feet::start`]. If a foot moves by more
/// than a leg length between two calls, for example after a long frame, it is placed again from scratch. If
/// the placement moves that far, all feet and the pelvis are placed again.
///
/// The returned distance is the maximum distance of a planted foot from its place. It is not 0 if a leg is
/// too short, or if a knee would fold too far.
///
/// # Errors
/// [`Error::Skeleton`] if `feet` was made for other joints. [`Error::Length`] if `model`, `pose`, `steps` or
/// `state` has the wrong length. [`Error::NotFinite`] if a value of the frame, or a value that is read from
/// the pose or the matrices, is NaN or infinite. In the placement and in a landing of `steps`, an absolute
/// value of 1e15 or more counts as infinite. [`Error::OutOfRange`] if `weight` is not from 0 to 1, or
/// `seconds` is below 0. [`Error::NotInvertible`] if the matrix above the pelvis or a hip is singular. After
/// an error, pose and state are unchanged. If the ground returns a value that is not finite, it counts as no
/// ground.
pub fn feet(
    skeleton: &Skeleton,
    model: &[Affine],
    feet: &Feet,
    frame: &FeetFrame<'_>,
    state: &mut FeetState,
    pose: &mut Pose,
) -> Result<Reached, Error> {
    check_frame(skeleton, model, feet, frame, state, pose)?;
    let world = World { placement: &frame.placement, ground: frame.ground, seconds: frame.seconds.into() };
    let (turn, back) = (frame.placement.rotation, conjugate(frame.placement.rotation));
    // A teleport by more than a leg length resets everything.
    let elsewhere = state
        .placement
        .is_some_and(|before| length(sub(frame.placement.translation, before.translation)) > feet.size);
    for (at, (leg, step)) in feet.legs.iter().zip(frame.steps).enumerate() {
        let [hip, knee, ankle, touching] =
            leg.joints().map(|joint| world.place_of(&model[usize::from(joint)]));
        check_pose(&[hip, knee, ankle, touching])?;
        let sole = sub(touching, ankle);
        let seen = Seen { place: touching, ahead: direction([sole[0], 0.0, sole[2]]) };
        let before = state.feet[at].filter(|_| !elsewhere);
        let mut foot = before.unwrap_or_else(|| Foot::new(feet, &world, &seen));
        foot.advance(feet, &world, &seen, step);
        let tilt = foot.tilt();
        let turned = product(turned_above(skeleton, pose, leg.foot)?, rotation_of(pose, leg.foot)?);
        let side = state.sides[at].filter(|_| !elsewhere);
        let (thigh, shin) = (length(sub(hip, knee)), length(sub(knee, ankle)));
        let (knee, side) = bent_knee(
            skeleton,
            model,
            pose,
            leg,
            KneeSides { before: side, at_rest: feet.sides[at], seconds: world.seconds },
        )?;
        state.next[at] = Some(foot);
        state.limbs[at] = Limb {
            goal: sub(foot.place, rotate(tilt, sole)),
            orientation: product(product(back, product(tilt, turn)), turned),
            before: [leg.hip, leg.knee, leg.foot].map(|joint| pose.get(joint.into())),
            hip,
            ankle,
            length: thigh + shin,
            folds: fold_distances(thigh, shin, length(sub(ankle, hip))),
            free: foot.freedom(),
            knee,
            side,
            floor: foot.stands_at(),
            until: foot.until(),
        };
    }
    if feet.legs.is_empty() {
        return Ok(Reached::default());
    }
    let before = state.pelvis.filter(|_| !elsewhere);
    let mut pelvis = before.unwrap_or_else(|| Pelvis::over(&state.limbs));
    let raised = pelvis.advance(feet, &state.limbs, world.seconds);
    let up = rotate(back, [0.0, raised - frame.placement.translation[1], 0.0]);
    let moved = scaled(up, frame.weight.into());
    // The pelvis moves all of its descendants by the same vector. For the legs this is equivalent to moving
    // their goals by the opposite vector.
    let above = above(skeleton, model, feet.pelvis)?;
    let mut local = pose.get(feet.pelvis.into());
    let by = above.from_model.vector(moved);
    local.translation = core::array::from_fn(|c| (f64::from(local.translation[c]) + by[c]) as f32);
    check_pose(&[local.translation.map(f64::from)])?;
    for limb in &mut state.limbs {
        let now = limb.hip[1] + raised - limb.goal[1];
        limb.goal[1] += limb.free * (now - kept_below(limb.hip[1] - limb.ankle[1], now, feet.size));
    }
    let reached = reach(skeleton, model, feet, frame, &PelvisMove { up_model: up, raised }, state, pose)?;
    pose.set(feet.pelvis.into(), &local);
    state.feet.copy_from_slice(&state.next);
    state.pelvis = Some(pelvis);
    for (side, limb) in state.sides.iter_mut().zip(&state.limbs) {
        *side = limb.side;
    }
    state.placement = Some(frame.placement);
    Ok(reached)
}

/// Sides to which a knee bent earlier.
struct KneeSides {
    /// Side in the last frame.
    before: Option<Vec64>,
    at_rest: Option<Vec64>,
    /// Time since the last frame.
    seconds: f64,
}

/// Returns the rotation of the knee of a straight leg, bent a little, and the side to which it bends.
fn bent_knee(
    skeleton: &Skeleton,
    model: &[Affine],
    pose: &Pose,
    leg: &Leg,
    sides: KneeSides,
) -> Result<(Option<[f64; 4]>, Option<Vec64>), Error> {
    let KneeSides { before, at_rest, seconds } = sides;
    let given = rotation_of(pose, leg.knee)?;
    let hip = product(turned_above(skeleton, pose, leg.hip)?, rotation_of(pose, leg.hip)?);
    let places = [leg.hip, leg.knee, leg.foot]
        .map(|joint| model[usize::from(joint)].rows.map(|row| f64::from(row[3])));
    let Some(bend) = Bend::new(places, hip) else { return Ok((None, before)) };
    let side = bend.side(before, at_rest, seconds);
    let Some(turn) = side.and_then(|side| bend.turn(side)) else { return Ok((None, side)) };
    let bent = product(carried_over(turn, hip, turned_above(skeleton, pose, leg.knee)?), given);
    Ok((Some(bent), side))
}

/// Checks lengths and that all inputs are finite.
fn check_frame(
    skeleton: &Skeleton,
    model: &[Affine],
    feet: &Feet,
    frame: &FeetFrame<'_>,
    state: &FeetState,
    pose: &Pose,
) -> Result<(), Error> {
    let (found, needed) = (feet.fingerprint, skeleton.fingerprint());
    if found != needed {
        return Err(Error::Skeleton { what: "feet", found, needed });
    }
    check(skeleton, model, pose, "legs", [feet.pelvis])?;
    Error::check_len("steps", frame.steps.len(), feet.legs.len())?;
    Error::check_len("state", state.feet.len(), feet.legs.len())?;
    Error::check_number("seconds", frame.seconds)?;
    if frame.seconds < 0.0 {
        return Err(Error::OutOfRange { what: "seconds", at: 0, needed: "at least 0" });
    }
    check_unit("weight", frame.weight)?;
    // Farther away, f64 would have no accurate digits left for centimetres.
    let Rigid { rotation, translation } = frame.placement;
    if !rotation.iter().chain(&translation).all(|v| v.abs() < 1e15) {
        return Err(Error::NotFinite { what: "placement", at: 0 });
    }
    for (at, step) in frame.steps.iter().enumerate() {
        let Step::Swing(Some(landing)) = step else { continue };
        let Landing { seconds, place, from, velocity } = landing;
        if ![place, from, velocity].into_iter().flatten().chain([seconds]).all(|v| v.abs() < 1e15) {
            return Err(Error::NotFinite { what: "steps", at });
        }
    }
    Ok(())
}

/// Movement of the pelvis.
struct PelvisMove {
    up_model: Vec64,
    /// World-space height by which the hips rise.
    raised: f64,
}

/// Brings the feet to their goals, with the pelvis moved. If one goal cannot be solved, the pose is
/// unchanged.
fn reach(
    skeleton: &Skeleton,
    model: &[Affine],
    feet: &Feet,
    frame: &FeetFrame<'_>,
    pelvis: &PelvisMove,
    state: &FeetState,
    pose: &mut Pose,
) -> Result<Reached, Error> {
    let &PelvisMove { up_model, raised } = pelvis;
    let to_model = frame.placement.inverse();
    let mut farthest = Reached { iterations: 1, ..Reached::default() };
    for (at, (leg, limb)) in feet.legs.iter().zip(&state.limbs).enumerate() {
        // Keeps every knee from folding too far, including the knee of a planted foot.
        let hip = [limb.hip[0], limb.hip[1] + raised, limb.hip[2]];
        let line = sub(limb.goal, hip);
        let far = length(line);
        let kept = kept_above(limb.folds, far);
        let wanted = match direction(line) {
            Some(line) if kept > far => super::maps::add(hip, scaled(line, kept)),
            None => [hip[0], hip[1] - kept, hip[2]],
            _ => limb.goal,
        };
        // Uses the goals of the full weight, so that partial weights blend towards the same pose.
        let goal = sub(to_model.transform_point(wanted), up_model);
        if let Some(bent) = limb.knee.filter(|_| frame.weight > 0.0) {
            let given = rotation_of(pose, leg.knee)?;
            set_rotation(pose, leg.knee, nlerp(given, bent, frame.weight.into()));
        }
        let reach = TwoBone {
            orientation: Some(limb.orientation.map(|v| v as f32)),
            weight: frame.weight,
            ..TwoBone::new([leg.hip, leg.knee, leg.foot], goal.map(|v| v as f32))
        };
        let reached = two_bone(skeleton, model, &reach, pose);
        let planted = state.next[at].is_some_and(|foot| foot.is_planted());
        match reached {
            Ok(reached) if planted => {
                let distance = reached.distance + length(sub(wanted, limb.goal)) as f32;
                farthest.distance = farthest.distance.max(distance);
            }
            Ok(_) => {}
            Err(error) => {
                for (leg, limb) in feet.legs.iter().zip(&state.limbs).take(at + 1) {
                    for (joint, before) in leg.joints().into_iter().zip(&limb.before) {
                        pose.set(joint.into(), before);
                    }
                }
                return Err(error);
            }
        }
    }
    Ok(farthest)
}

#[cfg(test)]
mod tests;
