//! One character.

use std::rc::Rc;

use condyle::blending::{Additive, add, difference};
use condyle::math::Transform;
use condyle::skinning::palette_columns;
use condyle::{Affine, Pose as Joints, local_to_model};
use condyle_base::error::Error;
use wasm_bindgen::prelude::*;

use crate::blend::Blend;
use crate::build::{Body, Cursor};
use crate::character::{Character, Model, clip_at};
use crate::fault::{Fault, Kept};

/// A pose of a model, with everything that is computed from it.
#[wasm_bindgen]
pub struct Pose {
    pub(crate) character: Rc<Character>,
    pub(crate) joints: Joints,
    pub(crate) other: Joints,
    reference: Joints,
    added: Joints,
    blend: Blend,
    cursor: Cursor,
    local: Vec<Transform>,
    pub(crate) model: Vec<Affine>,
    columns: Vec<[f32; 16]>,
    palettes: Vec<Vec<[f32; 16]>>,
    /// Whether `model` belongs to `joints`.
    pub(crate) is_finished: bool,
    pub(crate) kept: Kept,
    pub(crate) body: Body,
}

#[wasm_bindgen]
impl Pose {
    /// Makes a pose of a model: the rest pose.
    #[wasm_bindgen(constructor)]
    pub fn new(model: &Model) -> Self {
        Self::of(&model.0)
    }

    /// Error of the last call that failed.
    pub fn error(&mut self) -> JsValue {
        self.kept.take()
    }

    /// Sets the rest pose.
    pub fn rest(&mut self) {
        self.joints.clone_from(self.character.skeleton.rest());
        self.body.rest(&self.character);
        self.is_finished = false;
    }

    /// Copies another pose of the same model.
    pub fn copy(&mut self, other: &Self) -> bool {
        let result = other.joints_for(&self.character).map(|joints| self.joints.clone_from(joints));
        self.is_finished = false;
        self.body.copy(&other.body);
        self.kept.keep(result)
    }

    /// Samples a clip.
    pub fn sample(&mut self, clip: f64, seconds: f64) -> bool {
        let result = self.sampled(clip, seconds);
        self.kept.keep(result)
    }

    /// Blends towards a clip.
    pub fn blend(&mut self, clip: f64, seconds: f64, weight: f32, mask: Option<Vec<f32>>) -> bool {
        let result = self.blended(clip, seconds, weight, mask.as_deref());
        self.kept.keep(result)
    }

    /// Adds the difference of a clip from its first moment.
    pub fn add(&mut self, clip: f64, seconds: f64, amount: f32, mask: Option<Vec<f32>>) -> bool {
        let result = self.with_added(clip, seconds, amount, mask.as_deref());
        self.kept.keep(result)
    }

    /// Sets the local transform of a joint: ten numbers, where NaN keeps the old one.
    pub fn set(&mut self, joint: usize, numbers: &[f32]) -> bool {
        let result = self.with_joint(joint, numbers);
        self.kept.keep(result)
    }

    /// Computes the model matrices.
    pub fn update(&mut self) -> bool {
        let result = self.finish();
        self.kept.keep(result)
    }

    /// Writes the local transforms, and returns their address.
    pub fn local(&mut self) -> usize {
        self.local.clear();
        self.local.extend(self.joints.transforms());
        self.local.as_ptr() as usize
    }

    /// Writes the model matrices in columns, and returns their address, or 0 for an error.
    pub fn model(&mut self) -> usize {
        let result = self.finish();
        self.columns.clear();
        self.columns.extend(self.model.iter().map(Affine::to_columns));
        if self.kept.keep(result) { 0 } else { self.columns.as_ptr() as usize }
    }

    /// Writes the palette of a skin in columns, and returns its address, or 0 for an error.
    pub fn palette(&mut self, skin: usize) -> usize {
        let result = self.finish().and_then(|()| self.with_palette(skin));
        if self.kept.keep(result) { 0 } else { self.palettes[skin].as_ptr() as usize }
    }
}

impl Pose {
    pub(crate) fn of(character: &Rc<Character>) -> Self {
        let skeleton = &character.skeleton;
        let rest = || Joints::rest(skeleton);
        let matrices = |skin: &condyle::Skin| vec![[0.0; 16]; skin.joints().len()];
        Self {
            joints: rest(),
            other: rest(),
            reference: rest(),
            added: rest(),
            blend: Blend::new(skeleton),
            cursor: Cursor::default(),
            local: Vec::with_capacity(skeleton.joint_count()),
            model: vec![Affine::IDENTITY; skeleton.joint_count()],
            columns: Vec::with_capacity(skeleton.joint_count()),
            palettes: character.skins.iter().map(matrices).collect(),
            is_finished: false,
            kept: Kept::default(),
            body: Body::new(character),
            character: Rc::clone(character),
        }
    }

    /// Joints, if the pose is one of this model.
    pub(crate) fn joints_for(&self, character: &Rc<Character>) -> Result<&Joints, Fault> {
        match Rc::ptr_eq(&self.character, character) {
            true => Ok(&self.joints),
            false => Err(Fault::new("skeleton", "the other pose is one of another model")),
        }
    }

    pub(crate) fn sampled(&mut self, clip: f64, seconds: f64) -> Result<(), Fault> {
        let clips = self.character.clips.borrow();
        let clip = clip_at(&clips, clip)?;
        clip.sample(&self.character.skeleton, seconds, &mut self.cursor, &mut self.joints)?;
        self.body.sample(&self.character, clip, seconds)?;
        self.is_finished = false;
        Ok(())
    }

    /// Samples a clip into `other`.
    pub(crate) fn sampled_other(&mut self, clip: f64, seconds: f64) -> Result<(), Fault> {
        let clips = self.character.clips.borrow();
        let clip = clip_at(&clips, clip)?;
        clip.sample(&self.character.skeleton, seconds, &mut self.cursor, &mut self.other)?;
        Ok(())
    }

    fn blended(&mut self, clip: f64, seconds: f64, weight: f32, mask: Option<&[f32]>) -> Result<(), Fault> {
        self.sampled_other(clip, seconds)?;
        self.blend.towards(&self.character.skeleton, &self.other, weight, mask, &mut self.joints)?;
        self.is_finished = false;
        Ok(())
    }

    fn with_added(
        &mut self,
        clip: f64,
        seconds: f64,
        amount: f32,
        mask: Option<&[f32]>,
    ) -> Result<(), Fault> {
        self.sampled_other(clip, seconds)?;
        {
            let clips = self.character.clips.borrow();
            let clip = clip_at(&clips, clip)?;
            clip.sample(&self.character.skeleton, clip.start(), &mut self.cursor, &mut self.reference)?;
        }
        difference(&self.other, &self.reference, &mut self.added)?;
        let layer = Additive { mask, ..Additive::new(&self.added, amount) };
        add(None, &[layer], &mut self.joints)?;
        self.is_finished = false;
        Ok(())
    }

    fn with_joint(&mut self, joint: usize, numbers: &[f32]) -> Result<(), Fault> {
        let joint = self.character.check_joint(joint)?.into();
        let numbers: [f32; 10] = numbers.try_into().map_err(|_| Error::Length {
            what: "numbers of a joint",
            found: numbers.len(),
            needed: 10,
        })?;
        let mut it = self.joints.get(joint);
        let places = it.rotation.iter_mut().chain(&mut it.translation).chain(&mut it.scale);
        for (place, number) in places.zip(numbers).filter(|(_, number)| !number.is_nan()) {
            *place = number;
        }
        let length = it.rotation.iter().map(|v| v * v).sum::<f32>();
        if !(length - 1.0).abs().lt(&0.04) {
            return Err(Error::NotUnit { what: "joints", at: joint }.into());
        }
        Error::check_finite("translation of a joint", &it.translation, 3)?;
        Error::check_finite("scale of a joint", &it.scale, 3)?;
        self.joints.set(joint, &it);
        self.is_finished = false;
        Ok(())
    }

    /// Computes the model matrices, unless they are up to date.
    pub(crate) fn finish(&mut self) -> Result<(), Fault> {
        if !self.is_finished {
            self.character.constrain(&mut self.joints)?;
            local_to_model(&self.character.skeleton, &self.joints, &mut self.model)?;
            self.is_finished = true;
            self.body.moved();
        }
        Ok(())
    }

    fn with_palette(&mut self, skin: usize) -> Result<(), Fault> {
        let found = self.character.skin(skin)?;
        palette_columns(found, &self.model, &mut self.palettes[skin])?;
        Ok(())
    }
}
