//! A model in memory, which models, crowds and poses of JavaScript share.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

#[cfg(feature = "whole")]
use condyle::frames::Frames;
use condyle::sampling::sample;
use condyle::{Clip, Pose, Skeleton, Skin};
use condyle_base::error::Error;
use condyle_base::problem::Problem;
use wasm_bindgen::prelude::*;

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
    /// Document without its clips.
    #[cfg(feature = "whole")]
    pub(crate) asset: RefCell<Option<condyle_gltf::Asset>>,
}

/// A clip. The player has compressed clips only, and no code that samples others.
pub(crate) struct Motion {
    #[cfg(feature = "whole")]
    pub(crate) clip: condyle::sampling::AnyClip<'static>,
    #[cfg(not(feature = "whole"))]
    clip: (String, Clip<'static>),
    /// The clip unpacked: poses are sampled from it.
    #[cfg(feature = "whole")]
    pub(crate) frames: Option<Frames>,
    /// Identity of the clip, for caches.
    #[cfg(feature = "whole")]
    pub(crate) id: Rc<()>,
    #[cfg(feature = "encode")]
    pub(crate) shell: Option<f32>,
    /// Clip that `encode` compressed to this one.
    #[cfg(feature = "encode")]
    pub(crate) made_of: Option<usize>,
}

/// State of a character that samples uncompressed clips.
#[cfg(feature = "whole")]
pub(crate) type Cursor = condyle::sampling::RawCursor;
#[cfg(not(feature = "whole"))]
#[derive(Default, Clone)]
pub(crate) struct Cursor {}

impl Motion {
    pub(crate) fn compressed_of(name: &str, clip: Clip<'static>, shell: Option<f32>) -> Self {
        #[cfg(not(feature = "encode"))]
        let _ = shell;
        Self {
            #[cfg(feature = "whole")]
            clip: condyle::sampling::AnyClip::compressed(name.to_owned(), clip),
            #[cfg(not(feature = "whole"))]
            clip: (name.to_owned(), clip),
            #[cfg(feature = "whole")]
            frames: None,
            #[cfg(feature = "whole")]
            id: Rc::default(),
            #[cfg(feature = "encode")]
            shell,
            #[cfg(feature = "encode")]
            made_of: None,
        }
    }
}

#[cfg(feature = "whole")]
impl Motion {
    pub(crate) fn new(clip: condyle::sampling::AnyClip<'static>, shell: Option<f32>) -> Self {
        #[cfg(not(feature = "encode"))]
        let _ = shell;
        Self {
            clip,
            frames: None,
            id: Rc::default(),
            #[cfg(feature = "encode")]
            shell,
            #[cfg(feature = "encode")]
            made_of: None,
        }
    }

    pub(crate) fn name(&self) -> &str {
        self.clip.name()
    }

    pub(crate) fn compressed(&self) -> Option<&Clip<'static>> {
        self.clip.as_compressed()
    }

    pub(crate) fn start(&self) -> f64 {
        condyle::sampling::PoseSource::start(&self.clip)
    }

    pub(crate) fn end(&self) -> f64 {
        condyle::sampling::PoseSource::end(&self.clip)
    }

    pub(crate) fn byte_count(&self) -> usize {
        match &self.clip {
            condyle::sampling::AnyClip::Raw(clip) => clip.byte_count(),
            condyle::sampling::AnyClip::Compressed { clip, .. } => clip.as_bytes().len(),
        }
    }

    /// Samples the frames, or the clip if it is not unpacked.
    pub(crate) fn sample(
        &self,
        skeleton: &Skeleton,
        seconds: f64,
        cursor: &mut Cursor,
        pose: &mut Pose,
    ) -> Result<(), Error> {
        if let Some(frames) = &self.frames {
            let layer = condyle::FrameLayer::new(frames, seconds, 1.0);
            return condyle::sample_frames(skeleton, &[layer], pose);
        }
        match &self.clip {
            condyle::sampling::AnyClip::Raw(clip) => {
                condyle::sampling::raw(clip, skeleton, seconds, cursor, pose)
            }
            condyle::sampling::AnyClip::Compressed { clip, .. } => sample(clip, skeleton, seconds, pose),
        }
    }
}

#[cfg(not(feature = "whole"))]
impl Motion {
    pub(crate) fn name(&self) -> &str {
        &self.clip.0
    }

    pub(crate) fn compressed(&self) -> Option<&Clip<'static>> {
        Some(&self.clip.1)
    }

    pub(crate) fn start(&self) -> f64 {
        self.clip.1.start()
    }

    pub(crate) fn end(&self) -> f64 {
        self.clip.1.end()
    }

    pub(crate) fn byte_count(&self) -> usize {
        self.clip.1.as_bytes().len()
    }

    pub(crate) fn sample(
        &self,
        skeleton: &Skeleton,
        seconds: f64,
        _: &mut Cursor,
        pose: &mut Pose,
    ) -> Result<(), Error> {
        sample(&self.clip.1, skeleton, seconds, pose)
    }
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
    #[cfg(feature = "whole")]
    pub(crate) fn constrain(&self, pose: &mut Pose) -> Result<(), Error> {
        self.asset.borrow().as_ref().map_or(Ok(()), |asset| asset.constrain(pose))
    }

    #[cfg(not(feature = "whole"))]
    pub(crate) fn constrain(&self, _: &mut Pose) -> Result<(), Error> {
        Ok(())
    }
}

/// How a clip goes on outside of its time.
#[cfg(feature = "whole")]
pub(crate) fn looping(wrap: bool) -> condyle::Looping {
    if wrap { condyle::Looping::Wrap } else { condyle::Looping::Clamp }
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
        self.put(Motion::compressed_of(name, clip, None), replace)
    }

    pub(crate) fn put(&self, motion: Motion, replace: Option<usize>) -> Result<usize, Fault> {
        let mut clips = self.0.clips.borrow_mut();
        let count = clips.len();
        #[cfg(feature = "encode")]
        for it in &mut *clips {
            it.made_of = it.made_of.filter(|&of| replace != Some(of));
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
