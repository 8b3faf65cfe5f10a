//! Opening of files.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use condyle::Skin;
use condyle::container::{Container, EntryKind};
use wasm_bindgen::prelude::*;

use crate::character::{Character, Model, Motion};
use crate::fault::Fault;
use crate::part::{Follows, Part};

#[cfg(not(feature = "whole"))]
use player::open;
#[cfg(feature = "whole")]
use whole::open;

#[wasm_bindgen]
impl Model {
    /// Opens a file. `file` is called for the external files of a .gltf.
    pub fn open(
        name: &str,
        bytes: &[u8],
        file: &JsValue,
        model: Option<String>,
        unit: Option<f64>,
        z_up: bool,
    ) -> Result<Model, JsValue> {
        Ok(Self(Rc::new(open(name, bytes, file, model.as_deref(), unit, z_up)?)))
    }
}

/// Index of a skin in `skins`. Equal skins of a container become one.
fn shared(skins: &mut Vec<Skin>, skin: Skin) -> usize {
    skins.iter().position(|it| *it == skin).unwrap_or_else(|| {
        skins.push(skin);
        skins.len() - 1
    })
}

/// Index of a primitive among those of its node, which follow each other.
#[derive(Default)]
struct Primitives(Option<(u32, usize)>);

impl Primitives {
    fn next(&mut self, node: u32) -> usize {
        let at = match self.0 {
            Some((last, at)) if last == node => at + 1,
            _ => 0,
        };
        self.0 = Some((node, at));
        at
    }
}

/// Place of the document of a model in the bytes of a container.
fn document_of(container: &Container<'_>, model: usize, bytes: &[u8]) -> Option<[usize; 2]> {
    let entry = container.of_model(EntryKind::Document, model).next()?;
    let document = container.document(entry.index).ok()?;
    let start = document.as_ptr() as usize - bytes.as_ptr() as usize;
    Some([start, start + document.len()])
}

fn several(name: &str, names: &[String]) -> Fault {
    let text = format!("{name} holds several models; set the option model to one of {}", names.join(", "));
    Fault::choice("several-models", text, names)
}

fn no_such_model(name: &str, wanted: &str, names: &[String]) -> Fault {
    let text = format!("{name} has no model {wanted:?}; it has {}", names.join(", "));
    Fault::choice("no-such-model", text, names)
}

#[cfg(not(feature = "whole"))]
mod player {
    use condyle::container::MeshPlacement;
    use condyle_base::error::Error;
    use condyle_base::problem::{Problem, Severity};

    use super::*;

    /// Opens a container.
    pub(super) fn open(
        name: &str,
        bytes: &[u8],
        _: &JsValue,
        which: Option<&str>,
        unit: Option<f64>,
        z_up: bool,
    ) -> Result<Character, Fault> {
        let broken = |place: &str, error: Error| {
            let action = "encode it again, or use a newer condyle";
            Fault::file(name, &[Problem::new(Severity::Error, place, error.to_string(), action)])
        };
        let container = Container::from_bytes(bytes).map_err(|error| match error {
            Error::Magic { .. } => Fault::new(
                "unsupported",
                format!("{name} is not a .condyle file, and condyle/player opens no others: import condyle"),
            ),
            error => broken("", error),
        })?;
        if z_up {
            let text = format!("{name}: condyle/player cannot turn a file; turn it before it is packed");
            return Err(Fault::new("unsupported", text));
        }
        let models: Vec<_> = container.entries().filter(|it| it.kind == EntryKind::Skeleton).collect();
        let names: Vec<String> = models.iter().map(|it| it.name.to_owned()).collect();
        let model = match (which, &models[..]) {
            (None, [one]) => one.index,
            (None, []) => return Err(Fault::new("file", format!("{name} holds no models"))),
            (None, _) => return Err(several(name, &names)),
            (Some(which), all) => {
                let found = all.iter().find(|it| it.name == which).map(|it| it.index);
                found.ok_or_else(|| no_such_model(name, which, &names))?
            }
        };
        let skeleton = container.skeleton(model).map_err(|error| broken("its skeleton", error))?;
        let mut clips = Vec::new();
        for entry in container.of_model(EntryKind::Clip, model) {
            let clip = container.clip(entry.index).map_err(|error| broken(entry.name, error))?.into_owned();
            Error::check_len("joints of the clip", clip.joint_count(), skeleton.joint_count())
                .map_err(|error| broken(entry.name, error))?;
            clips.push(Motion::compressed_of(entry.name, clip, None));
        }
        let (mut skins, mut meshes, mut primitives) = (Vec::new(), Vec::new(), Primitives::default());
        for entry in container.of_model(EntryKind::Mesh, model) {
            let head =
                container.mesh_head(entry.index, &skeleton).map_err(|error| broken(entry.name, error))?;
            meshes.push(Part {
                name: entry.name.to_owned(),
                follows: match head.placement {
                    MeshPlacement::Skin(skin) => Follows::Skin(shared(&mut skins, skin)),
                    MeshPlacement::Joint(joint) => Follows::Joint(joint),
                    MeshPlacement::Fixed(matrix) => Follows::Nothing(matrix),
                },
                node: head.node,
                primitive: primitives.next(head.node),
                vertices: head.vertex_count,
                triangles: head.index_count / 3,
                morph_targets: head.morph_target_count,
                color: head.color,
                shown: head.shown && head.drawable,
            });
        }
        let unit = Cell::new(unit.or_else(|| container.unit(model).map(f64::from)));
        let document = document_of(&container, model, bytes);
        let (name, clips) = (name.to_owned(), RefCell::new(clips));
        Ok(Character { name, skeleton, clips, skins, meshes, problems: Vec::new(), unit, document })
    }
}

#[cfg(feature = "whole")]
mod whole {
    use std::sync::Arc;

    use condyle::container::{MeshPlacement, PlacedMesh};
    use condyle_gltf::{Asset, Placement};
    use condyle_io::{Format, Misfit, OpenError, Options};

    use super::*;
    use crate::part::Source;

    #[wasm_bindgen]
    extern "C" {
        /// Returns the bytes of an external file, or undefined.
        #[wasm_bindgen(js_name = condyleFile)]
        fn condyle_file(files: &JsValue, path: &str) -> Option<Vec<u8>>;
    }

    /// Opens a file of any format.
    pub(super) fn open(
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
            let follows = match &instance.placement {
                Placement::Skin(skin) => Follows::Skin(*skin),
                Placement::Joint(joint) => Follows::Joint(*joint),
                Placement::Fixed(matrix) => Follows::Nothing(*matrix),
            };
            for primitive in &instance.primitives {
                let mesh = Source::new(
                    Arc::clone(&primitive.mesh),
                    instance.morph_weights.clone(),
                    follows,
                    &asset.skins,
                )?;
                parts.push(Part {
                    name: instance.name.clone(),
                    follows,
                    node: instance.node as u32,
                    primitive: primitive.index,
                    vertices: primitive.mesh.vertex_count(),
                    triangles: primitive.mesh.indices().len() / 3,
                    morph_targets: primitive.mesh.morph_targets().len(),
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
        let follows = match placed.placement {
            MeshPlacement::Skin(skin) => Follows::Skin(shared(skins, skin)),
            MeshPlacement::Joint(joint) => Follows::Joint(joint),
            MeshPlacement::Fixed(matrix) => Follows::Nothing(matrix),
        };
        Ok(Part {
            name: name.to_owned(),
            follows,
            node: placed.node,
            primitive,
            vertices: placed.mesh.vertex_count(),
            triangles: placed.mesh.indices().len() / 3,
            morph_targets: placed.mesh.morph_targets().len(),
            color: placed.color,
            shown: placed.shown && placed.drawable,
            mesh: Source::new(Arc::new(placed.mesh), placed.morph_weights, follows, skins)?,
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
}
