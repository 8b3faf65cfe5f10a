//! Reads a hostile file, and imports the document made from it.

use condyle_gltf::{Asset, Document};

/// Returns whether the file was accepted.
pub(crate) fn exercise(bytes: &[u8]) -> bool {
    let Ok(document) = condyle_fbx::read("fuzz.fbx", bytes, &mut |_| None) else { return false };
    let Ok(glb) = document.glb() else { return true };
    let written = Document::from_slice("fuzz.fbx", &glb, None);
    let given = Document::from_json("fuzz.fbx", document.json, &document.binary);
    match (&given, &written) {
        (Ok(given), Ok(written)) => {
            assert_eq!(given.json_text(), written.json_text());
            assert_eq!(given.problems(), written.problems());
        }
        (Err(given), Err(written)) => assert_eq!(given.problems, written.problems),
        (given, written) => panic!("{given:?}, {written:?}"),
    }
    if let Err(refused) = given.and_then(Asset::from_document) {
        // Limits of the runtime, such as the number of joints, and numbers that f32 cannot hold.
        assert!(!refused.problems.is_empty());
    }
    true
}
