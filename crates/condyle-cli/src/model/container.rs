//! Opening the files that `condyle encode` writes.

use std::fmt::Display;
use std::io::Read;
use std::path::Path;

use condyle::Clip;
use condyle::container::{Container, EntryKind};
use condyle_gltf::{Asset, Document};

use super::Model;
use super::document::refusal;
use crate::failure::Failure;
use crate::text::{did_you_mean, path_text, printable};

/// A compressed clip with its name.
pub(crate) struct PackedClip {
    pub(crate) name: String,
    pub(crate) clip: Clip<'static>,
    /// The radius around joints within which its error is bounded, in the model's units, if the file states
    /// it.
    pub(crate) shell: Option<f32>,
}

/// Whether `condyle encode` wrote the file: its first bytes tell, whatever its name is.
pub(crate) fn is_container(path: &Path) -> bool {
    let mut first = [0; 8];
    let is_file = std::fs::metadata(path).is_ok_and(|it| it.is_file());
    let mut read = || std::fs::File::open(path)?.read_exact(&mut first);
    is_file && read().is_ok() && first == *b"CONDYLE\0"
}

/// All bytes of a file.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    std::fs::read(path).map_err(|e| Failure::Data(format!("{} cannot be read: {e}", path_text(path))))
}

/// The failure for a container that this version cannot use.
pub(crate) fn unfit(path: &Path, error: &dyn Display) -> Failure {
    Failure::Data(format!("{}: {error}; encode it again, or use a newer condyle", path_text(path)))
}

/// Opens a model of a container, its document on the container's skeleton, with its compressed clips.
pub(super) fn open(path: &Path, which: Option<&str>) -> Result<Model, Failure> {
    let bytes = read(path)?;
    let unfit = |what: &str, error: condyle::Error| unfit(path, &format!("{what}: {error}"));
    let container = Container::from_bytes(&bytes).map_err(|e| unfit("the file", e))?;
    let models: Vec<_> = container.entries().filter(|entry| entry.kind == EntryKind::Skeleton).collect();
    let names = || models.iter().map(|entry| printable(entry.name)).collect::<Vec<_>>().join(", ");
    let found = match (which, models.as_slice()) {
        (Some(name), _) => models.iter().find(|entry| entry.name == name),
        (None, [one]) => Some(one),
        (None, _) => None,
    };
    let Some(model) = found else {
        let name = path_text(path);
        return Err(match (models.is_empty(), which) {
            (true, _) => Failure::Data(format!("{name} holds no models")),
            (false, Some(which)) => {
                let guess = did_you_mean(which, models.iter().map(|entry| entry.name));
                Failure::Usage(format!(
                    "{name} has no model {which:?}{guess}; --model takes one of {}",
                    names()
                ))
            }
            (false, None) => {
                Failure::Usage(format!("{name} holds several models; choose one with --model: {}", names()))
            }
        });
    };
    let Some(document) = container.of_model(EntryKind::Document, model.index).next() else {
        return Err(Failure::Data(format!(
            "{}: the model {} is kept without its document, which meshes and nodes are read from; \
             for this command encode the model itself, without --no-document",
            path_text(path),
            printable(model.name)
        )));
    };
    let skeleton = container.skeleton(model.index).map_err(|e| unfit("its skeleton", e))?;
    let document = container.document(document.index).map_err(|e| unfit("its document", e))?;
    let document = Document::from_slice(&path.display().to_string(), document, None);
    let asset = document.and_then(Asset::from_document).map_err(|refused| refusal(path, &refused))?;
    let mut asset = asset.on_skeleton(skeleton).map_err(|e| unfit("its skeleton", e))?;
    if let (None, Some(metres)) = (asset.unit(), container.unit(model.index)) {
        asset.set_unit(metres.into()).map_err(|e| unfit("its unit", e))?;
    }
    let mut packed = Vec::new();
    for entry in container.of_model(EntryKind::Clip, model.index) {
        let what = || format!("its clip {}", printable(entry.name));
        let clip = container.clip(entry.index).map_err(|e| unfit(&what(), e))?;
        let (found, needed) = (clip.joint_count(), asset.skeleton.joint_count());
        if found != needed {
            let error = condyle::Error::Length { what: "the joints of the skeleton", found, needed };
            return Err(unfit(&what(), error));
        }
        let shell = container.shell(entry.index);
        packed.push(PackedClip { name: entry.name.into(), clip: clip.into_owned(), shell });
    }
    Ok(Model { asset, sources: super::document::sources(path, None), packed })
}
