//! FBX files, which are read as glTF documents.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use condyle_base::problem::Refused;
use condyle_gltf::{Asset, Document};

use crate::error::OpenError;
use crate::format::Format;
use crate::input::{Data, Input, Options};
use crate::model::{Model, ModelClip};

pub(crate) fn read(input: Input<'_>, _: &Options<'_>) -> Result<Model, OpenError> {
    let bytes = input.bytes()?;
    let files = RefCell::new(BTreeSet::new());
    let folder = match input.data {
        Data::File(path) => {
            path.parent().map(|it| if it.as_os_str().is_empty() { Path::new(".") } else { it })
        }
        Data::Bytes(_) | Data::Parts(..) => None,
    };
    let mut file = |path: &str| match input.data {
        Data::Parts(_, file) => file(path),
        _ => {
            let (bytes, found) = below(folder?, path)?;
            files.borrow_mut().insert(found);
            Some(bytes)
        }
    };
    let fbx = condyle_fbx::read(input.name, &bytes, &mut file)?;
    let mut asset = Document::from_json(input.name, fbx.json, &fbx.binary).and_then(Asset::from_document)?;
    asset = asset
        .with_joints(&fbx.bones)
        .map_err(|error| Refused::at(input.name, "the skeleton", error.to_string()))?;
    asset.problems.extend(fbx.problems);
    asset.problems.sort_by_key(|problem| problem.severity);
    let clips = std::mem::take(&mut asset.clips);
    Ok(Model {
        name: input.name.into(),
        format: Format::Fbx,
        skeleton: asset.skeleton.clone(),
        clips: clips.into_iter().map(ModelClip::from).collect(),
        unit: asset.unit(),
        is_turned: false,
        problems: asset.problems.clone(),
        files: files.into_inner(),
        asset: Some(asset),
        has_bare_meshes: false,
    })
}

/// Reads a regular file of a folder or below, and returns its bytes and canonical path.
fn below(folder: &Path, path: &str) -> Option<(Vec<u8>, PathBuf)> {
    let folder = folder.canonicalize().ok()?;
    let found = folder.join(path).canonicalize().ok()?;
    if !found.starts_with(&folder) || !found.is_file() {
        return None;
    }
    Some((std::fs::read(&found).ok()?, found))
}
