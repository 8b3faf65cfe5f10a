//! What every fuzz target does with a document.

use condyle_gltf::{Asset, Document};

#[path = "../../crates/condyle-gltf/tests/exercise/mod.rs"]
mod exercise;

/// Imports the document; what is accepted must pose without a panic, what is refused must say where and why.
pub fn exercise(bytes: &[u8]) {
    match Document::from_slice("fuzz", bytes, None).and_then(Asset::from_document) {
        Ok(asset) => exercise::play(&asset),
        Err(refused) => exercise::check_refusal(&refused),
    }
}
