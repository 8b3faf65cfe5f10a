//! glTF documents.

use std::collections::BTreeSet;

use condyle_gltf::{Asset, Document};

use crate::error::OpenError;
use crate::format::Format;
use crate::input::{Data, Input, Options};
use crate::model::{Model, ModelClip};

pub(crate) fn read(input: Input<'_>, _: &Options<'_>) -> Result<Model, OpenError> {
    let mut asset = match input.data {
        Data::File(path) => Asset::open(path)?,
        Data::Bytes(bytes) => Document::from_slice(input.name, bytes, None).and_then(Asset::from_document)?,
        Data::Parts(bytes, file) => {
            Document::from_parts(input.name, bytes, file).and_then(Asset::from_document)?
        }
    };
    let clips = std::mem::take(&mut asset.clips);
    Ok(Model {
        name: input.name.into(),
        format: Format::Gltf,
        skeleton: asset.skeleton.clone(),
        clips: clips.into_iter().map(ModelClip::from).collect(),
        unit: asset.unit(),
        is_turned: asset.was_turned(),
        problems: asset.problems.clone(),
        files: asset.document.files().into_iter().collect::<BTreeSet<_>>(),
        asset: Some(asset),
        has_bare_meshes: false,
    })
}
