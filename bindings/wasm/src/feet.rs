//! Feet on the ground.

use std::collections::HashMap;

use condyle::Looping;
use condyle::math::Rigid;
use condyle::sampling::AnyClip;
use condyle_base::error::Error;
use condyle_solve::foot_placement::{
    self, ContactOptions, Contacts, FeetFrame, FeetState, GroundPoint, Leg, Step, contacts, contacts_raw,
};
use wasm_bindgen::prelude::*;

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

/// Legs of a character, and the state of its feet.
#[wasm_bindgen]
pub struct Feet {
    feet: foot_placement::Feet,
    state: FeetState,
    /// Contacts of the clips that were used.
    contacts: HashMap<usize, Contacts>,
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
        Ok(Self { state: feet.start(), feet, contacts: HashMap::new() })
    }

    /// Forgets the last frame.
    pub fn reset(&mut self) {
        self.state = self.feet.start();
    }

    /// Puts the feet of a pose on the ground. A clip of -1 leaves all feet planted.
    #[expect(clippy::too_many_arguments, reason = "they are options in JavaScript")]
    pub fn place(
        &mut self,
        pose: &mut Pose,
        ground: &JsValue,
        seconds: f32,
        weight: f32,
        clip: f64,
        clock: f64,
        wrap: bool,
    ) -> bool {
        let result = self.placed(pose, ground, (seconds, weight), (clip, clock, wrap));
        pose.kept.keep(result)
    }
}

impl Feet {
    fn placed(
        &mut self,
        pose: &mut Pose,
        ground: &JsValue,
        (seconds, weight): (f32, f32),
        (clip, clock, wrap): (f64, f64, bool),
    ) -> Result<(), Fault> {
        pose.finish()?;
        let mut steps = vec![Step::Planted; self.feet.legs().len()];
        if clip >= 0.0 {
            self.find(pose, clip, wrap)?;
            let found = self.contacts.get(&(clip as usize));
            for (step, leg) in steps.iter_mut().zip(self.feet.legs()) {
                if let Some(contacts) = found {
                    *step = contacts.step(leg.touching().into(), clock)?;
                }
            }
        }
        let below = |[x, y, z]: [f64; 3]| {
            let mut point = [0.0; 4];
            condyle_ground(ground, x, y, z, &mut point)
                .then(|| GroundPoint { height: point[0], normal: [point[1], point[2], point[3]] })
        };
        let frame = FeetFrame { placement: Rigid::IDENTITY, ground: &below, steps: &steps, seconds, weight };
        let Pose { character, model, joints, .. } = pose;
        let it =
            foot_placement::feet(&character.skeleton, model, &self.feet, &frame, &mut self.state, joints)?;
        pose.put_limb(it);
        Ok(())
    }

    /// Finds the contacts of a clip, once. A clip in which no foot touches the ground gets no entry.
    fn find(&mut self, pose: &Pose, clip: f64, wrap: bool) -> Result<(), Fault> {
        let (clips, skeleton) = (pose.character.clips.borrow(), &pose.character.skeleton);
        let motion = clip_at(&clips, clip)?;
        if self.contacts.contains_key(&(clip as usize)) {
            return Ok(());
        }
        let joints: Vec<u16> = self.feet.legs().iter().map(Leg::touching).collect();
        let mut options = ContactOptions::for_legs(self.feet.leg_length());
        options.looping = if wrap { Looping::Wrap } else { Looping::Clamp };
        let found = match &motion.clip {
            AnyClip::Raw(clip) => contacts_raw(clip, None, skeleton, &joints, &options),
            AnyClip::Compressed { clip, .. } => contacts(clip, skeleton, &joints, &options),
        };
        match found {
            Ok(found) => {
                self.contacts.insert(clip as usize, found);
                Ok(())
            }
            Err(Error::NoContacts { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}
