//! Opening of files.

use std::rc::Rc;

use condyle::Skin;
use condyle::container::{Container, EntryKind};
use wasm_bindgen::prelude::*;

use crate::build::open;
use crate::character::Model;
use crate::fault::Fault;

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
pub(crate) fn shared(skins: &mut Vec<Skin>, skin: Skin) -> usize {
    skins.iter().position(|it| *it == skin).unwrap_or_else(|| {
        skins.push(skin);
        skins.len() - 1
    })
}

/// Index of a primitive among those of its node, which follow each other.
#[derive(Default)]
pub(crate) struct Primitives(Option<(u32, usize)>);

impl Primitives {
    pub(crate) fn next(&mut self, node: u32) -> usize {
        let at = match self.0 {
            Some((last, at)) if last == node => at + 1,
            _ => 0,
        };
        self.0 = Some((node, at));
        at
    }
}

/// Place of the document of a model in the bytes of a container.
pub(crate) fn document_of(container: &Container<'_>, model: usize, bytes: &[u8]) -> Option<[usize; 2]> {
    let entry = container.of_model(EntryKind::Document, model).next()?;
    let document = container.document(entry.index).ok()?;
    let start = document.as_ptr() as usize - bytes.as_ptr() as usize;
    Some([start, start + document.len()])
}

pub(crate) fn several(name: &str, names: &[String]) -> Fault {
    let text = format!("{name} holds several models; set the option model to one of {}", names.join(", "));
    Fault::choice("several-models", text, names)
}

pub(crate) fn no_such_model(name: &str, wanted: &str, names: &[String]) -> Fault {
    let text = format!("{name} has no model {wanted:?}; it has {}", names.join(", "));
    Fault::choice("no-such-model", text, names)
}
