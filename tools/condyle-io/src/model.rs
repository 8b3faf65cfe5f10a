//! Contents of a file.

use std::collections::BTreeSet;
use std::path::PathBuf;

use condyle::sampling::{AnyClip, PoseSource};
use condyle::{Error, Pose, RawClip, Skeleton};
use condyle_base::problem::Problem;

use crate::format::Format;

/// A character or a motion from a file.
///
/// The asset has a skeleton, a unit and problems too. [`into_asset`](Self::into_asset) takes the unit, the
/// clips and the problems from this structure.
#[derive(Debug)]
#[non_exhaustive]
pub struct Model {
    /// Path of the file, or the name that the caller passed.
    pub name: String,
    /// Format of the file.
    pub format: Format,
    /// All joints.
    pub skeleton: Skeleton,
    /// Nodes, meshes and skins on the skeleton, without the clips, which are in `clips`. `None` for a file
    /// with only joints and motion, and for a container without its document.
    #[cfg(feature = "gltf")]
    pub asset: Option<condyle_gltf::Asset>,
    /// All clips, in file order.
    pub clips: Vec<ModelClip>,
    /// Metres per unit, if the file or [`Options::unit`](crate::Options::unit) states it. Otherwise glTF is
    /// in metres, and the unit of a BVH file is unknown.
    pub unit: Option<f64>,
    /// Whether the model was rotated to +Y up, while opening the file or before it was written.
    pub is_turned: bool,
    /// Recoverable problems of the file, and how they were handled. Warnings first.
    pub problems: Vec<Problem>,
    /// Canonical paths of all files that were read; empty for a model from bytes. A program must not
    /// overwrite them.
    pub files: BTreeSet<PathBuf>,
    /// Whether a container has meshes of the model without the document that places them.
    pub has_bare_meshes: bool,
}

/// A clip of a file.
#[derive(Debug, Clone)]
pub struct ModelClip {
    /// The clip with its name.
    pub clip: AnyClip<'static>,
    /// Radius of the ball around each joint in which the error of a compressed clip is bounded, in units of
    /// the model. `None` if the file does not state it.
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
    /// Returns the first clip with this name.
    #[must_use]
    pub fn clip_by_name(&self, name: &str) -> Option<&AnyClip<'static>> {
        self.clips.iter().map(|it| &it.clip).find(|clip| clip.name() == name)
    }

    /// Converts the model to an asset with its raw clips, and returns the compressed clips separately.
    ///
    /// A file with only joints and motion becomes a document of its joints. Returns `None` for a container
    /// without its document.
    ///
    /// # Errors
    /// [`Refused`](crate::Refused) if a document cannot represent the model.
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
                // The reader of the file has already found every problem of the new document.
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
