//! Clips in a new document, read back before it is written, so that the report matches the file.

use std::path::Path;

use condyle::sampling::AnyClip;
use condyle::{Error, JointMap, RawClip};
use condyle_encode::{EncodeOptions, Measured, measure_keys};
use condyle_gltf::{Asset, Document};

use super::document::refusal;
use crate::failure::Failure;
use crate::text::path_text;

/// Reads the clips from the bytes of a document that was made from the asset, for its skeleton.
pub(crate) fn clips(to: &Path, glb: &[u8], asset: &Asset) -> Result<Vec<RawClip>, Failure> {
    let name = path_text(to);
    let written = Document::from_slice(&name, glb, None).and_then(Asset::from_document);
    let written = written.map_err(|refused| refusal(to, &refused))?;
    // A document with fewer tracks may have fewer joints.
    let map = JointMap::by_node(&written.skeleton, &asset.skeleton);
    let clips = written.clips.iter().map(|clip| map.clip(clip)).collect::<Result<_, Error>>();
    clips.map_err(|e| Failure::Data(format!("{name}: {e}")))
}

/// A clip of a document, and the error of its keys.
pub(crate) struct Keys {
    pub(crate) clip: RawClip,
    pub(crate) measured: Measured,
    /// Maximum error of a vertex, morph targets included, in units of the asset.
    pub(crate) error: f32,
}

impl Keys {
    /// Measures the clip against `original`.
    pub(crate) fn measure(
        clip: RawClip,
        original: &AnyClip<'_>,
        asset: &Asset,
        options: &EncodeOptions,
    ) -> Result<Self, Error> {
        let measured = measure_keys(original, &clip, &asset.skeleton, options)?;
        let error = measured.error_max.max(asset.morph_error(original, &measured)?);
        Ok(Self { clip, measured, error })
    }

    pub(crate) fn count(&self) -> usize {
        self.clip.tracks().iter().map(|track| self.clip.timelines()[track.timeline].len()).sum()
    }
}
