//! Feet that stand on the ground: on level ground, slopes and stairs, where they touch it, and no other time.
//!
//! [`contacts`](contacts()) finds once which joint of a clip touches the ground when, and where it stands then. If the clip walks or runs in
//! place, it finds the velocity of the ground too, and [`Contacts::motion`] moves the character along. [`Contacts::step`] says at each
//! moment what a foot does: it is planted, or in the air and comes down there and then. [`feet`] makes a pose of it:
//!
//! - A planted foot stays where it came down, to the last digit, and rolls over its toes as the clip has it.
//! - A foot in the air goes the smoothest way to where it lands, as high above the ground as in the clip, over the edges of steps; it
//!   arrives at rest. Where no landing is known it comes to rest a little later, and slides that long.
//! - It is turned to the slope. Where a step's edge would be below its sole, it lands a little before or behind it.
//! - The pelvis goes up and down with the lower foot, by a critically damped spring. Down steps that would be late, so it plans its way as feet
//!   do: when the next foot lands, it is as high over the ground there as in the clip. It is lower still where the legs need that: how straight a
//!   knee is in the clip decides how straight it may become, so that none snaps.
//! - A knee that the clip has straight bends to the side to which it bent before; at the start, to that of the rest
//!   pose or ahead of the toes. No knee folds beyond 160 degrees, unless the clip folds it farther. Rather than that
//!   a planted foot is off its place, and the distance that comes back includes it.
//!
//! Downstairs the pelvis of a recorded walk accelerates at most 1.1 times as much as in the clip (CMU 01_01 and 12_01,
//! steps of 12 in 40 cm). A clip whose pelvis hardly moves allows no such bound, because the legs have to reach each
//! step: the walk of the built-in character has 2.7 m/s² and gets 12, its run 12 and gets 78. A lower
//! [`FeetOptions::pelvis`] does not make it smoother.
//!
//! ```
//! use condyle::math::Rigid;
//! use condyle_solve::foot_placement::{Feet, FeetFrame, Leg, Plane, Step, feet};
//! use condyle::{Affine, Joint, Pose, Skeleton, Transform, local_to_model};
//!
//! let at = |name, parent, translation| Joint::new(name, parent, Transform { translation, ..Transform::IDENTITY });
//! let skeleton = Skeleton::new([
//!     at("pelvis", None, [0.0, 0.9, 0.0]),
//!     at("hip", Some(0), [0.1, 0.0, 0.0]),
//!     at("knee", Some(1), [0.0, -0.45, 0.05]),
//!     at("foot", Some(2), [0.0, -0.4, -0.05]),
//! ])?;
//! let legs = [Leg { hip: 1, knee: 2, foot: 3, toe: None }];
//! let stands = Feet::new(&skeleton, 0, &legs)?;
//! let mut state = stands.start();
//!
//! // In each frame: the ground is 20 cm above the place that the game has the character at.
//! let (mut pose, mut model) = (Pose::rest(&skeleton), [Affine::IDENTITY; 4]);
//! local_to_model(&skeleton, &pose, &mut model)?;
//! let ground = Plane::level(0.2);
//! let frame = FeetFrame { placement: Rigid::IDENTITY, ground: &ground, steps: &[Step::Planted], seconds: 0.016, weight: 1.0 };
//! feet(&skeleton, &model, &stands, &frame, &mut state, &mut pose)?;
//! local_to_model(&skeleton, &pose, &mut model)?;
//! let [_, foot, _] = model[3].transform_point([0.0; 3]);
//! assert!((foot - 0.25).abs() < 1e-5);
//! # Ok::<(), condyle::Error>(())
//! ```

mod contacts;
mod foot;
mod ground;
mod knee;
mod path;
mod pelvis;
mod step;
mod thresholds;
mod touches;
mod treadmill;

use alloc::vec;
use alloc::vec::Vec;

pub use self::contacts::{Contact, Contacts, contacts, contacts_of_events, contacts_raw};
pub use self::ground::{Ground, GroundPoint, Heights, Plane, Triangles};
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

/// The joints of a leg, each below the one before it, with others in between or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Leg {
    /// Turns in the pelvis.
    pub hip: u16,
    /// Bends.
    pub knee: u16,
    /// Turns with the slope.
    pub foot: u16,
    /// The ball of the foot, over which it rolls. If there is one, it is what stands on the ground, else the foot's joint.
    pub toe: Option<u16>,
}

impl Leg {
    /// The joint that touches the ground, for [`contacts`](contacts()).
    #[must_use]
    pub fn touching(&self) -> u16 {
        self.toe.unwrap_or(self.foot)
    }

    fn joints(&self) -> [u16; 4] {
        [self.hip, self.knee, self.foot, self.touching()]
    }
}

/// How feet stand and go.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FeetOptions {
    /// Radians that a foot turns with a slope at most.
    pub slope: f32,
    /// Metres between the edge of a step and a foot that goes over it.
    pub clearance: f32,
    /// Metres that ground may be higher than the ground below a foot, for the foot to step on it.
    pub step: f32,
    /// Seconds in which a foot comes to rest, or to its height above the ground, where no landing is known.
    pub settle: f32,
    /// How quickly the pelvis goes up and down: the rate of its spring, per second. Half of the way takes 2.7 times the reciprocal. Where a
    /// foot lands lower, or all land at once, it is there by then, in 1.6 times the reciprocal at least.
    pub pelvis: f32,
    /// Metres of the sole ahead of the joint that touches the ground, and behind it.
    pub sole: [f32; 2],
}

/// The legs of a skeleton that hang on one pelvis.
#[derive(Debug, Clone, PartialEq)]
pub struct Feet {
    pelvis: u16,
    legs: Vec<Leg>,
    /// Directions to which straight lower legs bend, in the spaces that the hips turn.
    sides: Vec<Option<Vec64>>,
    options: FeetOptions,
    /// The length of the longest leg.
    size: f64,
    /// From the foot's joint to the toe's.
    foot: f64,
    fingerprint: u32,
}

/// What is kept from call to call: where feet stand and how they are moving.
///
/// A plain value: a copy of it goes on as it does.
#[derive(Debug, Clone, PartialEq)]
pub struct FeetState {
    feet: Vec<Option<Foot>>,
    pelvis: Option<Pelvis>,
    /// Directions to which lower legs bend, as in [`Feet`].
    sides: Vec<Option<Vec64>>,
    /// Where the character was.
    placement: Option<Rigid>,
    /// Of this call only, kept so that nothing is allocated.
    next: Vec<Option<Foot>>,
    limbs: Vec<Limb>,
}

/// A leg in a call.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Limb {
    /// Where the foot's joint is to be in the world, and how it is turned in model space.
    goal: Vec64,
    orientation: [f64; 4],
    /// Hip, knee and foot in the pose as it was.
    before: [Transform; 3],
    /// The bend in the clip, as it shows in the world.
    hip: Vec64,
    ankle: Vec64,
    length: f64,
    /// Distances of the foot from the hip below which the knee is kept from folding.
    folds: [f64; 2],
    /// How much the foot need not be just where it is.
    free: f64,
    /// Rotation of a straight knee, bent a little. A bent knee stays as in the clip, to the last bit.
    knee: Option<[f64; 4]>,
    /// Direction to which the knee bends.
    side: Option<Vec64>,
    /// How high the ground counts below the foot where it stands or will, and the seconds until it does.
    floor: f64,
    until: f64,
}

/// What [`feet`] needs to know in a call.
#[derive(Clone, Copy)]
pub struct FeetFrame<'a> {
    /// Where the character is in the world: what its model matrices are multiplied by, from the left. Its height does not matter
    /// where there is ground, so that it may jump from step to step.
    pub placement: Rigid,
    /// What it stands on.
    pub ground: &'a dyn Ground,
    /// What each foot does, in the order of the legs.
    pub steps: &'a [Step],
    /// Since the last call.
    pub seconds: f32,
    /// How much of the way the pose goes, from 0 to 1.
    pub weight: f32,
}

impl Feet {
    /// Checks and measures legs in the rest pose, and takes options in proportion to them: steps of 60 % of a leg's length, a sole that
    /// reaches from the toe's joint 60 % of the foot's length ahead and 120 % back.
    ///
    /// # Errors
    /// [`Error::Index`] for a joint that does not exist, [`Error::OutOfRange`] if the joints of a leg, or it and the pelvis, do not hang on each other.
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
                    needed: "joints that hang on the one before",
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

    /// How they stand and go.
    #[must_use]
    pub fn options(&self) -> &FeetOptions {
        &self.options
    }

    /// The same legs with other options.
    ///
    /// # Errors
    /// [`Error::NotFinite`] for an option that is NaN or an infinity, [`Error::OutOfRange`] for one below 0, and a rate of 0.
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
                return Err(Error::OutOfRange { what, at: 0, needed: "at least 0, and a rate above" });
            }
        }
        Ok(Self { options, ..self })
    }

    /// The legs, in the order in which steps are given.
    #[must_use]
    pub fn legs(&self) -> &[Leg] {
        &self.legs
    }

    /// The length of the longest leg in the rest pose, in metres: for [`ContactOptions::for_legs`].
    #[must_use]
    pub fn leg_length(&self) -> f32 {
        self.size as f32
    }

    /// The state before the first call, which puts the character on the ground at once.
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
/// `model` are the matrices of `pose`, which a clip made: both hold one element per joint, `model` is not changed. In model space the ground of the clip is at
/// 0 and up is what the placement makes the world's `y`. `pose` gets other rotations of hips, knees and feet and another translation of the pelvis.
/// `state` goes on by `frame.seconds`; before the first call it is [`Feet::start`]. A hitch puts feet down anew, and a character
/// whose placement has moved by more than its legs are long begins anew, its pelvis too.
///
/// The distance that comes back is that of the planted foot which is farthest from where it is to stand, because its leg is too short or its knee would fold up.
///
/// # Errors
/// [`Error::Skeleton`] if `feet` was made for other joints; [`Error::Length`] if `model`, `pose`, `steps` or `state` do not have their sizes; [`Error::NotFinite`]
/// if a number is NaN or an infinity, in the frame or where the pose or its matrices matter; [`Error::OutOfRange`] if `weight` is not from 0 to 1 or
/// `seconds` is below 0; [`Error::NotInvertible`] if the matrix above the pelvis or a hip is flat. Pose and state are then unchanged. What is not finite in
/// an answer of the ground counts as no ground.
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
    // Put elsewhere at once, by more than legs are long: all of it begins anew.
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
    // The pelvis moves all that hangs on it alike: to the legs it is the same as if their goals moved the other way.
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

/// The sides to which a knee bent earlier.
struct KneeSides {
    /// The side in the frame before.
    before: Option<Vec64>,
    at_rest: Option<Vec64>,
    /// Time since the frame before.
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

/// Sizes, and numbers that are some.
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
    // A place that is farther away than any world is wide, would be one of no digits.
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

/// The movement of the pelvis.
struct PelvisMove {
    up_model: Vec64,
    /// The height by which the hips rise in the world.
    raised: f64,
}

/// Brings the feet to their goals, with the pelvis moved. If one goal cannot be solved, the pose stays as
/// it was.
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
        // No knee folds up, not even of a foot that stands.
        let hip = [limb.hip[0], limb.hip[1] + raised, limb.hip[2]];
        let line = sub(limb.goal, hip);
        let far = length(line);
        let kept = kept_above(limb.folds, far);
        let wanted = match direction(line) {
            Some(line) if kept > far => super::maps::add(hip, scaled(line, kept)),
            None => [hip[0], hip[1] - kept, hip[2]],
            _ => limb.goal,
        };
        // With a part of the weight legs turn a part of the way to where the whole one would have them.
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
