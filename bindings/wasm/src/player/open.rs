//! Opening of containers.

use std::cell::{Cell, RefCell};

use condyle::container::{Container, EntryKind, MeshPlacement};
use condyle_base::error::Error;
use condyle_base::problem::{Problem, Severity};
use wasm_bindgen::JsValue;

use super::{Asset, Motion, Source};
use crate::character::Character;
use crate::fault::Fault;
use crate::open::{Primitives, document_of, no_such_model, several, shared};
use crate::part::{Follows, Part};

/// Opens a container.
pub(crate) fn open(
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
        clips.push(Motion::compressed_of(entry.name, clip));
    }
    let (mut skins, mut meshes, mut primitives) = (Vec::new(), Vec::new(), Primitives::default());
    for entry in container.of_model(EntryKind::Mesh, model) {
        let head = container.mesh_head(entry.index, &skeleton).map_err(|error| broken(entry.name, error))?;
        let mesh = Source::new(&head);
        meshes.push(Part {
            name: entry.name.to_owned(),
            follows: match head.placement {
                MeshPlacement::Skin(skin) => Follows::Skin(shared(&mut skins, skin)),
                MeshPlacement::Joint(joint) => Follows::Joint(joint),
                MeshPlacement::Fixed(_) => Follows::Nothing,
            },
            node: head.node,
            primitive: primitives.next(head.node),
            color: head.color,
            shown: head.shown && head.drawable,
            mesh,
        });
    }
    let unit = Cell::new(unit.or_else(|| container.unit(model).map(f64::from)));
    let document = document_of(&container, model, bytes);
    let (name, clips) = (name.to_owned(), RefCell::new(clips));
    let problems = Vec::new();
    Ok(Character { name, skeleton, clips, skins, meshes, problems, unit, document, asset: Asset })
}
