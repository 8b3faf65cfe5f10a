//! Opening of files of any format.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use condyle::Skin;
use condyle::container::{Container, EntryKind, MeshPlacement, PlacedMesh};
use condyle_gltf::{Asset, Placement};
use condyle_io::{Format, Misfit, OpenError, Options};
use wasm_bindgen::prelude::*;

use super::{Motion, Source};
use crate::character::Character;
use crate::fault::Fault;
use crate::open::{Primitives, document_of, no_such_model, several, shared};
use crate::part::{Follows, Part};

#[wasm_bindgen]
extern "C" {
    /// Returns the bytes of an external file, or undefined.
    #[wasm_bindgen(js_name = condyleFile)]
    fn condyle_file(files: &JsValue, path: &str) -> Option<Vec<u8>>;
}

/// Opens a file of any format.
pub(crate) fn open(
    name: &str,
    bytes: &[u8],
    files: &JsValue,
    model: Option<&str>,
    unit: Option<f64>,
    z_up: bool,
) -> Result<Character, Fault> {
    let options = Options { model, unit, z_up, ..Options::default() };
    let opened = condyle_io::from_parts(name, bytes, &|path| condyle_file(files, path), &options);
    let mut opened = opened.map_err(|error| failed(name, &error))?;
    let problems = std::mem::take(&mut opened.problems);
    let (unit, skeleton) = (Cell::new(opened.unit), opened.skeleton.clone());
    let clips = std::mem::take(&mut opened.clips);
    let clips = RefCell::new(clips.into_iter().map(|it| Motion::new(it.clip, it.shell)).collect());
    let is_container = opened.format == Format::Container;
    let asset = opened.into_asset().map_err(|refused| Fault::file(name, &refused.problems))?;
    let asset = asset.map(|(asset, _)| asset);
    let (mut skins, mut meshes) = (Vec::new(), Vec::new());
    let mut document = None;
    if is_container {
        let container = Container::from_bytes(bytes)?;
        document = document_of(&container, model_of(&container, model), bytes);
    }
    match &asset {
        Some(asset) => (skins, meshes) = (asset.skins.clone(), parts(asset)?),
        None if is_container => {
            let container = Container::from_bytes(bytes)?;
            let mut primitives = Primitives::default();
            for entry in container.of_model(EntryKind::Mesh, model_of(&container, model)) {
                let placed = container.mesh(entry.index, &skeleton)?;
                let primitive = primitives.next(placed.node);
                meshes.push(placed_part(entry.name, placed, primitive, &mut skins)?);
            }
        }
        None => {}
    }
    let (name, asset) = (name.to_owned(), RefCell::new(asset));
    Ok(Character { name, skeleton, clips, skins, meshes, problems, unit, document, asset })
}

/// Index of the model with a name, or of the only one.
fn model_of(container: &Container<'_>, name: Option<&str>) -> usize {
    let mut all = container.entries().filter(|it| it.kind == EntryKind::Skeleton);
    all.find(|it| name.is_none_or(|name| it.name == name)).map_or(0, |it| it.index)
}

/// Meshes of a document.
fn parts(asset: &Asset) -> Result<Vec<Part>, Fault> {
    let is_shown: Vec<usize> = asset.shown().map(|(at, _)| at).collect();
    let mut parts = Vec::new();
    for (at, instance) in asset.instances.iter().enumerate() {
        let (follows, fixed) = match &instance.placement {
            Placement::Skin(skin) => (Follows::Skin(*skin), None),
            Placement::Joint(joint) => (Follows::Joint(*joint), None),
            Placement::Fixed(matrix) => (Follows::Nothing, Some(*matrix)),
        };
        for primitive in &instance.primitives {
            let mesh = Source::new(
                Arc::clone(&primitive.mesh),
                instance.morph_weights.clone(),
                (follows, fixed),
                &asset.skins,
            )?;
            parts.push(Part {
                name: instance.name.clone(),
                follows,
                node: instance.node as u32,
                primitive: primitive.index,
                color: [1.0; 4],
                shown: primitive.drawable && is_shown.binary_search(&at).is_ok(),
                mesh,
            });
        }
    }
    Ok(parts)
}

fn placed_part(
    name: &str,
    placed: PlacedMesh,
    primitive: usize,
    skins: &mut Vec<Skin>,
) -> Result<Part, Fault> {
    let (follows, fixed) = match placed.placement {
        MeshPlacement::Skin(skin) => (Follows::Skin(shared(skins, skin)), None),
        MeshPlacement::Joint(joint) => (Follows::Joint(joint), None),
        MeshPlacement::Fixed(matrix) => (Follows::Nothing, Some(matrix)),
    };
    Ok(Part {
        name: name.to_owned(),
        follows,
        node: placed.node,
        primitive,
        color: placed.color,
        shown: placed.shown && placed.drawable,
        mesh: Source::new(Arc::new(placed.mesh), placed.morph_weights, (follows, fixed), skins)?,
    })
}

fn failed(name: &str, error: &OpenError) -> Fault {
    match error {
        OpenError::Misfit { misfit: Misfit::SeveralModels(names), .. } => several(name, names),
        OpenError::Misfit { misfit: Misfit::NoSuchModel(wanted, names), .. } => {
            no_such_model(name, wanted, names)
        }
        OpenError::Misfit { .. } => Fault::new("option", error.to_string()),
        other => Fault::file(name, &other.problems()),
    }
}
