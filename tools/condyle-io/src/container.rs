//! Containers: reads one of the models, with its document if the container has it.

use std::collections::BTreeSet;

use condyle::container::{Container, Entry, EntryKind};
use condyle::sampling::AnyClip;
use condyle_base::problem::{Problem, Refused, Severity};

use crate::error::{Misfit, OpenError};
use crate::format::Format;
use crate::input::{Input, Options};
use crate::model::{Model, ModelClip};

pub(crate) fn read(input: Input<'_>, options: &Options<'_>) -> Result<Model, OpenError> {
    let bytes = input.bytes()?;
    let container = Container::from_bytes(&bytes).map_err(|error| unfit(input, "", error))?;
    let model = chosen(input, &container, options)?;
    let skeleton = container.skeleton(model.index).map_err(|error| unfit(input, "its skeleton", error))?;
    let unit = container.unit(model.index).map(f64::from);
    #[cfg(feature = "gltf")]
    let asset = {
        let mut asset = document(input, &container, model, &skeleton)?;
        if let (Some(asset), Some(metres)) = (asset.as_mut().filter(|asset| asset.unit().is_none()), unit) {
            asset.set_unit(metres).map_err(|error| unfit(input, "its unit", error))?;
        }
        asset
    };
    let has_meshes = container.of_model(EntryKind::Mesh, model.index).next().is_some();
    let has_document = container.of_model(EntryKind::Document, model.index).next().is_some();
    let mut clips = Vec::new();
    for entry in container.of_model(EntryKind::Clip, model.index) {
        let failed = |error| unfit(input, format!("its clip {:?}", entry.name), error);
        let clip = container.clip(entry.index).map_err(failed)?;
        let (found, needed) = (clip.joint_count(), skeleton.joint_count());
        if found != needed {
            let error = condyle::Error::Length { what: "the joints of the skeleton", found, needed };
            return Err(failed(error));
        }
        let clip = AnyClip::compressed(entry.name.to_owned(), clip.into_owned());
        clips.push(ModelClip { clip, shell: container.shell(entry.index) });
    }
    #[cfg(feature = "gltf")]
    let (unit, is_turned, problems) = match &asset {
        Some(asset) => (asset.unit(), asset.was_turned(), asset.problems.clone()),
        None => (unit, false, Vec::new()),
    };
    #[cfg(not(feature = "gltf"))]
    let (is_turned, problems) = (false, Vec::new());
    Ok(Model {
        name: input.name.into(),
        format: Format::Container,
        skeleton,
        #[cfg(feature = "gltf")]
        asset,
        clips,
        unit,
        is_turned,
        problems,
        files: BTreeSet::new(),
        has_bare_meshes: has_meshes && !has_document,
    })
}

/// Reads the document that the model was built from, with the container's skeleton.
#[cfg(feature = "gltf")]
fn document(
    input: Input<'_>,
    container: &Container<'_>,
    model: Entry<'_>,
    skeleton: &condyle::Skeleton,
) -> Result<Option<condyle_gltf::Asset>, OpenError> {
    use condyle_gltf::{Asset, Document};

    let Some(entry) = container.of_model(EntryKind::Document, model.index).next() else { return Ok(None) };
    let bytes = container.document(entry.index).map_err(|error| unfit(input, "its document", error))?;
    let asset = Document::from_slice(input.name, bytes, None).and_then(Asset::from_document)?;
    asset.on_skeleton(skeleton.clone()).map(Some).map_err(|error| unfit(input, "its skeleton", error))
}

/// Returns the model with the given name, or that of the given clip, or the only one.
fn chosen<'a>(
    input: Input<'_>,
    container: &Container<'a>,
    options: &Options<'_>,
) -> Result<Entry<'a>, OpenError> {
    let models: Vec<_> = container.entries().filter(|entry| entry.kind == EntryKind::Skeleton).collect();
    let names = |entries: &[Entry<'_>]| entries.iter().map(|entry| entry.name.to_owned()).collect();
    match (options.model, options.clip, &models[..]) {
        (_, _, []) => Err(input.refused("it holds no models")),
        (None, _, [one]) => Ok(*one),
        (None, None, all) => Err(input.misfit(Misfit::SeveralModels(names(all)))),
        (None, Some(clip), all) => {
            let clips: Vec<_> = container.entries().filter(|entry| entry.kind == EntryKind::Clip).collect();
            let named: Vec<_> = clips.iter().filter(|entry| entry.name == clip).collect();
            let has = |model: &&Entry<'_>| named.iter().any(|clip| clip.model == Some(model.index));
            match all.iter().filter(has).copied().collect::<Vec<_>>()[..] {
                [] => Err(input.misfit(Misfit::NoSuchClip(clip.to_owned(), names(&clips)))),
                [one] => Ok(one),
                ref several => Err(input.misfit(Misfit::SeveralModels(names(several)))),
            }
        }
        (Some(which), _, all) => {
            let found = all.iter().find(|entry| entry.name == which).copied();
            found.ok_or_else(|| input.misfit(Misfit::NoSuchModel(which.to_owned(), names(all))))
        }
    }
}

/// Returns the error for a container that this version cannot use.
fn unfit(input: Input<'_>, place: impl Into<String>, error: condyle::Error) -> OpenError {
    let action = "encode it again, or use a newer condyle";
    let problem = Problem::new(Severity::Error, place, error.to_string(), action);
    Refused { name: input.name.into(), problems: vec![problem] }.into()
}
