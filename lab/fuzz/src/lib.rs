//! Code shared by fuzz targets: importing and posing a document, and random values from fuzz input.

use condyle_gltf::{Asset, Document};

pub mod any;
mod edit;
#[path = "../../../tools/condyle-gltf/tests/exercise/mod.rs"]
mod exercise;

pub use edit::edit;

/// Imports a document. An accepted document must pose without a panic, and a refusal must state the location
/// and the reason.
pub fn exercise(bytes: &[u8]) {
    match Document::from_slice("fuzz", bytes, None).and_then(Asset::from_document) {
        Ok(asset) => exercise::play(&asset),
        Err(refused) => exercise::check_refusal(&refused),
    }
}
