//! The models that subcommands read, from glTF documents and from containers.

pub(crate) mod container;
pub(crate) mod document;
pub(crate) mod entries;
pub(crate) mod playable;
pub(crate) mod problems;

use std::path::Path;

use condyle_gltf::Asset;

use self::container::{PackedClip, is_container};
use self::playable::Playable;
use crate::failure::Failure;
use crate::text::path_text;

/// A model with its clips.
pub(crate) struct Model {
    /// Has no clips of its own if they are compressed.
    pub(crate) asset: Asset,
    packed: Vec<PackedClip>,
}

impl Model {
    /// All clips, in the order of the file.
    pub(crate) fn clips(&self) -> Vec<Playable<'_>> {
        let raw = self.asset.clips.iter().map(Playable::raw);
        raw.chain(self.packed.iter().map(|p| Playable::packed(&p.name, &p.clip))).collect()
    }
}

/// Opens a document or a container; of several models in a container, the one named `which`.
///
/// With `json`, a document that cannot be used is also described on standard output, as `check` does.
pub(crate) fn open(path: &Path, which: Option<&str>, json: bool) -> Result<Model, Failure> {
    if is_container(path) {
        let (asset, packed) = container::open(path, which)?;
        return Ok(Model { asset, packed });
    }
    if which.is_some() {
        return Err(Failure::Usage(format!(
            "{} is a single model; --model is for a .condyle with several",
            path_text(path)
        )));
    }
    document::open(path, json).map(|asset| Model { asset, packed: Vec::new() })
}
