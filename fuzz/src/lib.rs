//! What several fuzz targets do: to a document, or to get numbers from what they are given.

use condyle_gltf::{Asset, Document};

pub mod any;
#[path = "../../crates/condyle-gltf/tests/exercise/mod.rs"]
mod exercise;

/// Imports the document; what is accepted must pose without a panic, what is refused must say where and why.
pub fn exercise(bytes: &[u8]) {
    match Document::from_slice("fuzz", bytes, None).and_then(Asset::from_document) {
        Ok(asset) => exercise::play(&asset),
        Err(refused) => exercise::check_refusal(&refused),
    }
}
