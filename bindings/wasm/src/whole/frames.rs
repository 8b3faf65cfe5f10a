//! Unpacked clips.

use condyle::frames::{FramesOptions, MAX_LAYERS};
use condyle::sampling::AnyClip;
use condyle::{FrameLayer, sample_frames};
use condyle_base::error::Error;
use wasm_bindgen::prelude::*;

use crate::character::{Character, Model, clip_at};
use crate::fault::Fault;
use crate::part::Follows;
use crate::pose::Pose;

#[wasm_bindgen]
impl Model {
    /// Unpacks a clip. Without a radius, the vertices of the meshes are measured.
    pub fn to_frames(&self, clip: f64, error: f32, radius: Option<f32>) -> Result<(), JsValue> {
        Ok(self.unpack(clip, error, radius)?)
    }

    /// Frees the frames of a clip.
    pub fn drop_frames(&self, clip: usize) {
        if let Some(motion) = self.0.clips.borrow_mut().get_mut(clip) {
            motion.frames = None;
        }
    }
}

/// Radius in metres of the balls around joints without vertices.
const SMALL: f64 = 0.03;

impl Character {
    fn frames_options(&self, error: f32, radius: Option<f32>) -> Result<FramesOptions, Error> {
        if let Some(radius) = radius {
            return Ok(FramesOptions::new(&self.skeleton, error, radius));
        }
        let radius = (SMALL / self.unit.get().unwrap_or(1.0)) as f32;
        let moved = self.meshes.iter().filter(|it| !matches!(it.follows, Follows::Nothing));
        let meshes = moved.map(|it| (&*it.mesh.mesh, &it.mesh.skin));
        FramesOptions::of_meshes(&self.skeleton, meshes, error, radius)
    }
}

impl Model {
    fn unpack(&self, clip: f64, error: f32, radius: Option<f32>) -> Result<(), Fault> {
        let it = &*self.0;
        let options = it.frames_options(error, radius)?;
        let mut clips = it.clips.borrow_mut();
        let frames = match &clip_at(&clips, clip)?.clip {
            AnyClip::Raw(clip) => clip.to_frames(&it.skeleton, &options)?,
            AnyClip::Compressed { clip, .. } => clip.to_frames(&it.skeleton, &options)?,
        };
        clips[clip as usize].frames = Some(frames);
        Ok(())
    }
}

#[wasm_bindgen]
impl Pose {
    /// Samples and blends the first `count` unpacked clips. Each has three numbers: index, time and weight.
    /// `masks` has a factor for each joint of each layer, or is empty.
    pub fn sample_frames(&mut self, layers: &[f64], masks: &[f32], count: usize) -> bool {
        let (layers, _) = layers.as_chunks();
        let result = self.with_frames(&layers[..count.min(layers.len())], masks);
        self.kept.keep(result)
    }
}

impl Pose {
    fn with_frames(&mut self, layers: &[[f64; 3]], masks: &[f32]) -> Result<(), Fault> {
        let it = &*self.character;
        let (clips, joints) = (it.clips.borrow(), it.skeleton.joint_count());
        if layers.len() > MAX_LAYERS {
            return Err(Error::TooMany { what: "layers", found: layers.len(), limit: MAX_LAYERS }.into());
        }
        let read = |at: usize| {
            let [clip, seconds, weight] = layers[at];
            let motion = clip_at(&clips, clip)?;
            let missing = || {
                let text = format!("clip {:?} is not unpacked: call model.toFrames() before", motion.name());
                Fault::new("unsupported", text)
            };
            let frames = motion.frames.as_ref().ok_or_else(missing)?;
            // Empty without masks.
            let mask = masks.get(at * joints..(at + 1) * joints);
            Ok::<_, Fault>(FrameLayer { mask, ..FrameLayer::new(frames, seconds, weight as f32) })
        };
        let [[first, seconds, _], ..] = *layers else {
            return Err(Error::TooShort { what: "layers", found: 0, needed: 1 }.into());
        };
        let mut list = [read(0)?; MAX_LAYERS];
        for (at, place) in list.iter_mut().enumerate().take(layers.len()).skip(1) {
            *place = read(at)?;
        }
        sample_frames(&it.skeleton, &list[..layers.len()], &mut self.joints)?;
        self.body.sample(it, clip_at(&clips, first)?, seconds)?;
        self.is_finished = false;
        Ok(())
    }
}
