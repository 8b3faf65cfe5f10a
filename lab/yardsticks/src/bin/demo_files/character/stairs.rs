//! The walk up stairs, with the feet planted on them.

use condyle::math::Rigid;
use condyle::sampling::PoseSource;
use condyle::skeleton::NO_PARENT;
use condyle::{Affine, Error, Interpolation, Looping, Pose, RawClip, Skeleton, local_to_model};
use condyle_draw::FPS;
use condyle_draw::solid::Solid;
use condyle_draw::vector::Vec3;
use condyle_gltf::Asset;
use condyle_solve::foot_placement::{
    ContactOptions, Contacts, Feet, FeetFrame, FeetState, GroundPoint, Leg, Step, contacts_raw, feet,
};
use serde_json::{Value, json};

use super::motion::{Channel, Clip, Property, WALK_SPEED};
use super::rig::Joint;

/// Number of steps, depth of each along +Z, height, and width to either side.
const STEPS: usize = 4;
const DEPTH: f64 = 0.5 * WALK_SPEED as f64;
const HEIGHT: f64 = 0.16;
const WIDE: f32 = 0.55;
/// Positions along +Z: edge of the first step, start of the walk, end of the walk.
const EDGE: f64 = 0.0;
const FROM: f64 = -0.8;
const TO: f64 = STEPS as f64 * DEPTH + 0.5;
/// Solver calls per frame of the picture.
const FINE: usize = 4;
const STONE: [Vec3; 2] = [[0.50, 0.47, 0.43], [0.44, 0.41, 0.38]];

/// Returns the height of the stairs at `z`.
fn height(z: f64) -> f64 {
    ((z - EDGE) / DEPTH + 1.0).floor().clamp(0.0, STEPS as f64) * HEIGHT
}

fn solids() -> Vec<Solid> {
    let step = |n: usize| {
        let begin = EDGE + n as f64 * DEPTH;
        let end = if n + 1 == STEPS { TO + 0.5 } else { begin + DEPTH };
        let top = (n + 1) as f64 * HEIGHT;
        let (low, high) = ([-WIDE, 0.0, begin as f32], [WIDE, top as f32, end as f32]);
        Solid { low, high, color: STONE[n % 2] }
    };
    (0..STEPS).map(step).collect()
}

/// Plays the walk of the built-in character up the stairs.
pub(super) fn climb(asset: &Asset) -> Result<Climb, Box<dyn std::error::Error>> {
    let walk = asset.clip_by_name("walk").ok_or("the character has no walk")?;
    let (pelvis, legs) = legs(&asset.skeleton).ok_or("the character has no legs")?;
    Ok(climbed(&asset.skeleton, walk, pelvis, &legs)?)
}

/// Returns the pelvis and both legs.
fn legs(skeleton: &Skeleton) -> Option<(u16, [Leg; 2])> {
    let leg = |side: &str| {
        let joint = |name: &str| skeleton.joint_by_name(&format!("{side}_{name}"));
        let [hip, knee, foot] = ["upper_leg", "lower_leg", "foot"].map(joint);
        Some(Leg { hip: hip?, knee: knee?, foot: foot?, toe: Some(joint("toes")?) })
    };
    Some((skeleton.joint_by_name("hips")?, [leg("left")?, leg("right")?]))
}

/// Maximum distance of planted feet from their contact points, along the ground and vertically, in metres.
#[derive(Debug, Clone, Copy, Default)]
struct Moved {
    slide: f64,
    sink: f64,
}

/// The character at a frame of the picture.
struct Moment {
    seconds: f64,
    pose: Pose,
    /// Points that touch the ground.
    planted: Vec<Vec3>,
    /// Maximum movement up to this moment.
    moved: Moved,
}

/// Frames of the climb.
pub(super) struct Climb {
    moments: Vec<Moment>,
}

impl Climb {
    /// Returns the moments as keys: rotations of all joints, and translations of the root and the hips.
    pub(super) fn clip(&self, skeleton: &Skeleton, rig: &[Joint]) -> Clip {
        let times: Vec<f32> = self.moments.iter().map(|moment| moment.seconds as f32).collect();
        let rest = Pose::rest(skeleton);
        let mut channels = vec![];
        for joint in 0..skeleton.joint_count() {
            let locals = || self.moments.iter().map(move |moment| moment.pose.get(joint));
            let mut add = |target, values| {
                let (interpolation, times) = (Interpolation::Linear, times.clone());
                channels.push(Channel { target, interpolation, times, values });
            };
            let name = &skeleton.names()[joint];
            let at = rig.iter().position(|joint| joint.name == *name);
            if let Some(at) = at {
                add(Property::Rotation(at), locals().flat_map(|local| local.rotation).collect());
            }
            if locals().any(|local| local.translation != rest.get(joint).translation) {
                let target = at.map_or(Property::Root, Property::Translation);
                add(target, locals().flat_map(|local| local.translation).collect());
            }
        }
        Clip { name: "stairs", channels }
    }

    /// Returns the stairs, and what planted feet do at each moment.
    pub(super) fn extras(&self) -> Value {
        let solid = |it: &Solid| json!({ "low": it.low, "high": it.high, "color": it.color });
        let moment =
            |it: &Moment| json!({ "planted": it.planted, "slide": it.moved.slide, "sink": it.moved.sink });
        json!({
            "solids": solids().iter().map(solid).collect::<Vec<_>>(),
            "moments": self.moments.iter().map(moment).collect::<Vec<_>>(),
        })
    }
}

/// The walk, with the ground contact of its feet, moved onto the stairs.
struct Walker<'a> {
    skeleton: &'a Skeleton,
    clip: &'a RawClip,
    contacts: Contacts,
    feet: Feet,
    state: FeetState,
    pose: Pose,
    model: Vec<Affine>,
    /// Contact points of the planted feet.
    stood: [Option<[f64; 3]>; 2],
    moved: Moved,
}

fn climbed(skeleton: &Skeleton, clip: &RawClip, pelvis: u16, legs: &[Leg; 2]) -> Result<Climb, Error> {
    let mut walker = Walker::new(skeleton, clip, pelvis, legs)?;
    let fine = 1.0 / (FPS * FINE as f64);
    let frames = ((TO - FROM) / f64::from(WALK_SPEED) * FPS).round() as usize;
    let mut moments = vec![];
    for call in 0..=frames * FINE {
        let seconds = call as f64 * fine;
        let planted = walker.go(seconds, if call == 0 { 0.0 } else { fine as f32 })?;
        if call % FINE == 0 {
            let (pose, moved) = (walker.pose.clone(), walker.moved);
            // Rounded like the key that stores it.
            let seconds = f64::from(seconds as f32);
            moments.push(Moment { seconds, pose, planted, moved });
        }
    }
    Ok(Climb { moments })
}

impl<'a> Walker<'a> {
    fn new(skeleton: &'a Skeleton, clip: &'a RawClip, pelvis: u16, legs: &[Leg; 2]) -> Result<Self, Error> {
        let feet = Feet::new(skeleton, pelvis, legs)?;
        let options =
            ContactOptions { looping: Looping::Wrap, ..ContactOptions::for_legs(feet.leg_length()) };
        let contacts = contacts_raw(clip, None, skeleton, &legs.map(|leg| leg.touching()), &options)?;
        Ok(Self {
            skeleton,
            clip,
            contacts,
            state: feet.start(),
            feet,
            pose: Pose::rest(skeleton),
            model: vec![Affine::IDENTITY; skeleton.joint_count()],
            stood: [None; 2],
            moved: Moved::default(),
        })
    }

    /// Advances to a moment, poses the character in world space, and returns the points that touch the
    /// ground.
    fn go(&mut self, clock: f64, since: f32) -> Result<Vec<Vec3>, Error> {
        let seconds = self.clip.moment(Looping::Wrap, clock)?;
        self.clip.pose(self.skeleton, seconds, &mut self.pose)?;
        local_to_model(self.skeleton, &self.pose, &mut self.model)?;
        let [_, _, gone] = self.contacts.motion().over(Looping::Wrap, 0.0, clock)?.translation;
        let translation = [0.0, 0.0, FROM + gone];
        let mut steps = [Step::Planted; 2];
        for (foot, step) in steps.iter_mut().enumerate() {
            *step = self.contacts.step(foot, clock)?;
        }
        let stairs = |from: [f64; 3]| Some(GroundPoint::level(height(from[2])));
        let frame = FeetFrame {
            placement: Rigid { translation, ..Rigid::IDENTITY },
            ground: &stairs,
            steps: &steps,
            seconds: since,
            weight: 1.0,
        };
        feet(self.skeleton, &self.model, &self.feet, &frame, &mut self.state, &mut self.pose)?;
        for (joint, &parent) in self.skeleton.parents().iter().enumerate() {
            if parent == NO_PARENT {
                let mut local = self.pose.get(joint);
                local.translation[2] += translation[2] as f32;
                self.pose.set(joint, &local);
            }
        }
        local_to_model(self.skeleton, &self.pose, &mut self.model)?;
        Ok(self.look(&steps))
    }

    /// Returns the positions of the planted feet, and records their distance from the contact points.
    fn look(&mut self, steps: &[Step; 2]) -> Vec<Vec3> {
        let mut planted = vec![];
        for ((leg, step), stood) in self.feet.legs().iter().zip(steps).zip(&mut self.stood) {
            if !matches!(step, Step::Planted) {
                *stood = None;
                continue;
            }
            let place = self.model[usize::from(leg.touching())].transform_point([0.0; 3]);
            planted.push(place);
            let now = place.map(f64::from);
            let then = *stood.get_or_insert(now);
            let [x, y, z] = core::array::from_fn(|k| now[k] - then[k]);
            self.moved.slide = self.moved.slide.max(x.hypot(z));
            self.moved.sink = self.moved.sink.max(y.abs());
        }
        planted
    }
}

#[cfg(test)]
mod tests {
    use condyle_gltf::Document;

    use super::*;

    #[test]
    fn the_feet_stand_on_every_step_and_do_not_move_there() {
        let document = Document::from_slice("character.glb", &super::super::glb(), None).unwrap();
        let climb = climb(&Asset::from_document(document).unwrap()).unwrap();
        let moved = climb.moments.last().unwrap().moved;
        assert!(moved.slide < 1e-5 && moved.sink < 1e-5, "{moved:?}");
        let mut trodden = [false; STEPS + 1];
        for place in climb.moments.iter().flat_map(|moment| &moment.planted) {
            let ground = height(place[2].into());
            let over = f64::from(place[1]) - ground;
            assert!((0.02..0.04).contains(&over), "{over} m over the step at {place:?}");
            trodden[(ground / HEIGHT).round() as usize] = true;
        }
        assert_eq!(trodden, [true; STEPS + 1]);
    }

    #[test]
    fn the_steps_are_drawn_where_they_are() {
        for solid in solids() {
            for z in [solid.low[2] + 1e-3, solid.high[2] - 1e-3] {
                assert!((height(z.into()) - f64::from(solid.high[1])).abs() < 1e-6, "{z}");
            }
        }
        assert_eq!((height(EDGE - 1e-9), height(EDGE)), (0.0, HEIGHT));
    }
}
