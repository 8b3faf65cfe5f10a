//! Feet on the ground.

use std::collections::HashMap;
use std::iter;
use std::rc::Rc;

use condyle::math::Rigid;
use condyle::sampling::AnyClip;
use condyle_base::error::Error;
use condyle_solve::foot_placement::{
    self, ContactOptions, Contacts, FeetFrame, FeetState, GroundPoint, Leg, Step, contacts, contacts_raw,
};
use wasm_bindgen::prelude::*;

use super::looping;
use super::solve::world_matrix;
use crate::character::{Model, clip_at};
use crate::fault::Fault;
use crate::pose::Pose;

#[wasm_bindgen]
extern "C" {
    /// Calls the ground of JavaScript: writes a height and a normal to `point`, or returns false. It never
    /// throws.
    #[wasm_bindgen(js_name = condyleGround)]
    fn condyle_ground(ground: &JsValue, x: f64, y: f64, z: f64, point: &mut [f64]) -> bool;
}

/// Contacts of a clip.
struct Touches {
    /// Identity of the clip.
    id: Rc<()>,
    /// `None` if no foot touches the ground.
    contacts: Option<Contacts>,
}

/// Legs of a character, and the state of its feet.
#[wasm_bindgen]
pub struct Feet {
    feet: foot_placement::Feet,
    state: FeetState,
    /// Contacts by the index of the clip, and whether it loops.
    touches: HashMap<(usize, bool), Touches>,
}

#[wasm_bindgen]
impl Feet {
    /// Finds legs. `legs` has hip, knee, foot and toe of each; 65,535 for no toe.
    #[wasm_bindgen(constructor)]
    pub fn new(model: &Model, pelvis: u16, legs: &[u16]) -> Result<Feet, JsValue> {
        let (legs, _) = legs.as_chunks::<4>();
        let leg = |&[hip, knee, foot, toe]: &[u16; 4]| Leg {
            hip,
            knee,
            foot,
            toe: (toe != u16::MAX).then_some(toe),
        };
        let legs: Vec<Leg> = legs.iter().map(leg).collect();
        let feet = foot_placement::Feet::new(&model.0.skeleton, pelvis, &legs).map_err(Fault::from)?;
        Ok(Self { state: feet.start(), feet, touches: HashMap::new() })
    }

    /// Forgets the last frame.
    pub fn reset(&mut self) {
        self.state = self.feet.start();
    }

    /// Puts the feet of a pose on the ground. A clip of -1 leaves all feet planted. `world` has 16 numbers in
    /// columns, or none for the identity. The result also has 1 if a foot touches the ground in the
    /// clip, otherwise 0, and then the velocity of a clip that walks in place.
    #[expect(clippy::too_many_arguments, reason = "they are options in JavaScript")]
    pub fn place(
        &mut self,
        pose: &mut Pose,
        ground: &JsValue,
        seconds: f32,
        weight: f32,
        clip: f64,
        time: f64,
        wrap: bool,
        world: &[f64],
    ) -> bool {
        let result = Placement::new(world).and_then(|placement| {
            let mut steps = vec![Step::Planted; self.feet.legs().len()];
            let touches = match clip < 0.0 {
                true => (true, None),
                false => self.find_steps(pose, (clip, time, wrap), &mut steps)?,
            };
            self.placed(pose, ground, &placement, &steps, (seconds, weight))?;
            let (has_contacts, velocity) = touches;
            let velocity = velocity.into_iter().flatten().map(f64::from);
            pose.body.out.extend(iter::once(f64::from(u8::from(has_contacts))).chain(velocity));
            Ok(())
        });
        pose.kept.keep(result)
    }
}

/// Placement of a character in the world, in units of the file.
struct Placement {
    rigid: Rigid,
    /// Units of the world per unit of the file.
    scale: f64,
}

impl Placement {
    fn new(world: &[f64]) -> Result<Self, Fault> {
        if world.is_empty() {
            return Ok(Self { rigid: Rigid::IDENTITY, scale: 1.0 });
        }
        let (joint, residual) = world_matrix(world)?.to_joint();
        let scale = f64::from(joint.scale);
        if !(residual < 1e-3 && scale > 0.0) {
            let needed = "a rotation, a translation, and one scale above 0";
            return Err(Error::OutOfRange { what: "world", at: 0, needed }.into());
        }
        let translation = std::array::from_fn(|axis| world[12 + axis] / scale);
        Ok(Self { rigid: Rigid { rotation: joint.rotation.map(f64::from), translation }, scale })
    }
}

impl Feet {
    fn placed(
        &mut self,
        pose: &mut Pose,
        ground: &JsValue,
        placement: &Placement,
        steps: &[Step],
        (seconds, weight): (f32, f32),
    ) -> Result<(), Fault> {
        pose.finish()?;
        let scale = placement.scale;
        let below = |point: [f64; 3]| {
            let ([x, y, z], mut found) = (point.map(|v| v * scale), [0.0; 4]);
            condyle_ground(ground, x, y, z, &mut found)
                .then(|| GroundPoint { height: found[0] / scale, normal: [found[1], found[2], found[3]] })
        };
        let frame = FeetFrame { placement: placement.rigid, ground: &below, steps, seconds, weight };
        let Pose { character, model, joints, .. } = pose;
        let it =
            foot_placement::feet(&character.skeleton, model, &self.feet, &frame, &mut self.state, joints)?;
        pose.put_limb(it);
        Ok(())
    }

    /// Writes the state of each foot at a time of a clip. Returns whether a foot touches the ground in the
    /// clip, and the velocity of a clip that walks in place. If no foot does, all feet follow the clip.
    fn find_steps(
        &mut self,
        pose: &Pose,
        (clip, time, wrap): (f64, f64, bool),
        steps: &mut [Step],
    ) -> Result<(bool, Option<[f32; 3]>), Fault> {
        let (clips, skeleton) = (pose.character.clips.borrow(), &pose.character.skeleton);
        let motion = clip_at(&clips, clip)?;
        let key = (clip as usize, wrap);
        // Another clip may have taken this index.
        if self.touches.get(&key).is_none_or(|it| !Rc::ptr_eq(&it.id, &motion.id)) {
            let joints: Vec<u16> = self.feet.legs().iter().map(Leg::touching).collect();
            let mut options = ContactOptions::for_legs(self.feet.leg_length());
            options.looping = looping(wrap);
            let found = match &motion.clip {
                AnyClip::Raw(clip) => contacts_raw(clip, None, skeleton, &joints, &options),
                AnyClip::Compressed { clip, .. } => contacts(clip, skeleton, &joints, &options),
            };
            let contacts = match found {
                Ok(found) => Some(found),
                Err(Error::NoContacts { .. }) => None,
                Err(error) => return Err(error.into()),
            };
            self.touches.insert(key, Touches { id: Rc::clone(&motion.id), contacts });
        }
        let contacts = self.touches.get(&key).and_then(|it| it.contacts.as_ref());
        for (at, step) in steps.iter_mut().enumerate() {
            *step = match contacts {
                Some(contacts) => contacts.step(at, time - motion.start())?,
                None => Step::Swing(None),
            };
        }
        Ok((contacts.is_some(), contacts.and_then(Contacts::treadmill)))
    }
}
