//! Reads a hostile file, and imports the document made from it.

use condyle_gltf::{Asset, Document};

/// Returns whether the file was accepted.
pub(crate) fn exercise(bytes: &[u8]) -> bool {
    let Ok(document) = condyle_fbx::read("fuzz.fbx", bytes, &mut |_| None) else { return false };
    let read = Document::from_slice("fuzz.fbx", &document.glb, None).and_then(Asset::from_document);
    if let Err(refused) = read {
        // Limits of the runtime, such as the number of joints, and numbers that f32 cannot hold.
        assert!(!refused.problems.is_empty());
    }
    true
}
