//! A model in memory, which models, crowds and poses of JavaScript share.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use condyle::{Clip, Pose, Skeleton, Skin};
use condyle_base::error::Error;
use condyle_base::problem::Problem;
use wasm_bindgen::prelude::*;

use crate::build::{self, Asset, Motion};
use crate::fault::Fault;
use crate::part::Part;

/// A skeleton with its clips, skins and meshes.
pub(crate) struct Character {
    pub(crate) name: String,
    pub(crate) skeleton: Skeleton,
    pub(crate) clips: RefCell<Vec<Motion>>,
    pub(crate) skins: Vec<Skin>,
    pub(crate) meshes: Vec<Part>,
    pub(crate) problems: Vec<Problem>,
    pub(crate) unit: Cell<Option<f64>>,
    /// Place of the document in the bytes of a container.
    pub(crate) document: Option<[usize; 2]>,
    pub(crate) asset: Asset,
}

impl Character {
    pub(crate) fn skin(&self, index: usize) -> Result<&Skin, Fault> {
        self.skins.get(index).ok_or_else(|| Fault::missing("skin", index, self.skins.len()))
    }

    pub(crate) fn check_joint(&self, joint: usize) -> Result<u16, Fault> {
        let count = self.skeleton.joint_count();
        // A skeleton has at most 65,535 joints.
        (joint < count).then_some(joint as u16).ok_or_else(|| Fault::missing("joint", joint, count))
    }

    /// Applies the node constraints of the document.
    pub(crate) fn constrain(&self, pose: &mut Pose) -> Result<(), Error> {
        build::constrain(&self.asset, pose)
    }
}

/// Clip `index`, which comes from an array of floats or as a number.
pub(crate) fn clip_at(clips: &[Motion], index: f64) -> Result<&Motion, Fault> {
    let found = clips.get(index as usize).filter(|_| index >= 0.0 && index.fract() == 0.0);
    found.ok_or_else(|| match index.fract() == 0.0 {
        true => Fault::missing("clip", index as i64, clips.len()),
        // Without the number, because the player has no code to print fractions.
        false => {
            let text = format!("the index of a clip is no whole number: the model has {}", clips.len());
            Fault::new("index", text)
        }
    })
}

/// A model of JavaScript.
#[wasm_bindgen]
pub struct Model(pub(crate) Rc<Character>);

#[wasm_bindgen]
impl Model {
    /// Linear colours of the meshes.
    pub fn colors(&self) -> Vec<f32> {
        self.0.meshes.iter().flat_map(|mesh| mesh.color).collect()
    }

    /// Metres per unit.
    pub fn unit(&self) -> Option<f64> {
        self.0.unit.get()
    }

    /// Adds a compressed clip, or replaces one, and returns its index.
    pub fn add_clip(&self, name: &str, data: &[u8], replace: Option<usize>) -> Result<usize, JsValue> {
        Ok(self.add(name, data, replace)?)
    }

    /// Weights of a mask.
    pub fn mask(&self, joints: &[u16], weight: f32, feather: u16) -> Result<Vec<f32>, JsValue> {
        let roots: Vec<_> = joints.iter().map(|&joint| (joint, weight)).collect();
        for &joint in joints {
            self.0.check_joint(joint.into())?;
        }
        Ok(condyle::blending::joint_mask(&self.0.skeleton, &roots, feather).map_err(Fault::from)?)
    }
}

impl Model {
    pub(crate) fn add(&self, name: &str, data: &[u8], replace: Option<usize>) -> Result<usize, Fault> {
        let clip = Clip::from_bytes(data)?.into_owned();
        let (found, needed) = (clip.joint_count(), self.0.skeleton.joint_count());
        Error::check_len("joints of the clip", found, needed)?;
        self.put(Motion::compressed_of(name, clip), replace)
    }

    pub(crate) fn put(&self, motion: Motion, replace: Option<usize>) -> Result<usize, Fault> {
        let mut clips = self.0.clips.borrow_mut();
        let count = clips.len();
        for clip in &mut *clips {
            clip.replaced(replace);
        }
        match replace {
            None => clips.push(motion),
            Some(at) => {
                *clips.get_mut(at).ok_or_else(|| Fault::missing("clip", at, count))? = motion;
            }
        }
        Ok(replace.unwrap_or(count))
    }
}
