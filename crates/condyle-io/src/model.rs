//! What a file holds.

use std::collections::BTreeSet;
use std::path::PathBuf;

use condyle::sampling::{AnyClip, PoseSource};
use condyle::{Error, Pose, RawClip, Skeleton};
use condyle_base::problem::Problem;

use crate::format::Format;

/// A character or a motion, as a file has it. The asset repeats the skeleton, the unit and the problems;
/// [`into_asset`](Self::into_asset) takes the unit and the clips from here.
#[derive(Debug)]
#[non_exhaustive]
pub struct Model {
    /// The file: a path, or the name that the caller gave.
    pub name: String,
    /// The format of the file.
    pub format: Format,
    /// All joints.
    pub skeleton: Skeleton,
    /// Nodes, meshes and skins on the skeleton, without clips: those are in `clips`. None for a file of
    /// joints and motion alone, and for a container without its document.
    #[cfg(feature = "gltf")]
    pub asset: Option<condyle_gltf::Asset>,
    /// All clips, in the order of the file.
    pub clips: Vec<ModelClip>,
    /// Metres in a unit, if the file or [`Options::unit`](crate::Options::unit) says.
    pub unit: Option<f64>,
    /// Whether it was turned to +Y up, now or before the file was written.
    pub is_turned: bool,
    /// What was odd about the file, and what was done about it. Warnings first.
    pub problems: Vec<Problem>,
    /// The files that it was read from, as canonical paths; none of them if it was read from bytes. A program
    /// that writes must not overwrite them.
    pub files: BTreeSet<PathBuf>,
}

/// A clip of a file.
#[derive(Debug, Clone)]
pub struct ModelClip {
    /// The clip with its name.
    pub clip: AnyClip<'static>,
    /// The radius of the ball around each joint within which the error of a compressed clip is bounded, in
    /// units of the model, if the file states it.
    pub shell: Option<f32>,
}

impl From<RawClip> for ModelClip {
    fn from(clip: RawClip) -> Self {
        Self { clip: clip.into(), shell: None }
    }
}

impl PoseSource for ModelClip {
    fn start(&self) -> f64 {
        self.clip.start()
    }

    fn end(&self) -> f64 {
        self.clip.end()
    }

    fn pose(&self, skeleton: &Skeleton, seconds: f64, pose: &mut Pose) -> Result<(), Error> {
        self.clip.pose(skeleton, seconds, pose)
    }

    fn weights(&self, node: u32, seconds: f64, weights: &mut [f32]) -> Result<(), Error> {
        self.clip.weights(node, seconds, weights)
    }
}

impl Model {
    /// The first clip of this name.
    #[must_use]
    pub fn clip_by_name(&self, name: &str) -> Option<&AnyClip<'static>> {
        self.clips.iter().map(|it| &it.clip).find(|clip| clip.name() == name)
    }

    /// The model as an asset with its raw clips, and its compressed clips: a file of joints and motion alone
    /// becomes a document of its joints. None for a container without its document.
    ///
    /// # Errors
    /// [`Refused`](crate::Refused) if a document cannot hold it.
    #[cfg(feature = "gltf")]
    pub fn into_asset(
        self,
    ) -> Result<Option<(condyle_gltf::Asset, Vec<ModelClip>)>, condyle_base::problem::Refused> {
        let (mut raw, mut compressed) = (Vec::new(), Vec::new());
        for it in self.clips {
            match it.clip {
                AnyClip::Raw(clip) => raw.push(clip.into_owned()),
                AnyClip::Compressed { .. } => compressed.push(it),
            }
        }
        let mut asset = match self.asset {
            Some(asset) => asset,
            None if self.format == Format::Container => return Ok(None),
            None => {
                let mut asset = condyle_gltf::Asset::of_motion(&self.name, &self.skeleton, Vec::new())?;
                if self.is_turned {
                    asset.set_turned();
                }
                // What is odd in the document, which was made here, is odd in the file, and reported by its
                // reader.
                asset.problems = self.problems;
                asset
            }
        };
        asset.clips = raw;
        if let Some(metres) = self.unit {
            let unfit = |error: condyle::Error| {
                condyle_base::problem::Refused::because(&self.name, error.to_string())
            };
            asset.set_unit(metres).map_err(unfit)?;
        }
        Ok(Some((asset, compressed)))
    }
}
