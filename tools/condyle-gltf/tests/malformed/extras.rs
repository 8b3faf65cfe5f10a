//! Extras belong to the application: they are read, posed and written as text.

use allocation_counter::measure;
use condyle_gltf::{Asset, Document, Exporter, Poser, PoserOptions};
use serde_json::json;

use crate::tiny;

/// Tests memory use: as parsed values, these zeros would take 16 times the memory, and each copy the same
/// amount again.
#[test]
fn extras_take_no_more_memory_than_text() {
    let zeros = format!("[{}0]", "0,".repeat(2_000_000));
    for place in ["extras", "nodes", "meshes"] {
        let mut tiny = tiny::character();
        match place {
            "extras" => tiny.json["extras"] = json!("HERE"),
            list => tiny.json[list][0]["extras"] = json!("HERE"),
        }
        let text = tiny.json.to_string().replacen("\"HERE\"", &zeros, 1);
        let glb = tiny::glb(text.as_bytes(), &tiny.buffer);
        let mut written = Vec::new();
        let memory = measure(|| {
            let asset = Document::from_slice("zeros", &glb, None).and_then(Asset::from_document);
            let asset = asset.unwrap_or_else(|refused| panic!("{place}: {refused}"));
            let mut poser = Poser::new(&asset, PoserOptions::default()).expect("a small model");
            poser.rest().expect("a rest pose");
            let exporter = Exporter::new(&asset).expect("a small model");
            written = exporter.glb(&poser.scene()).expect("a separate pose");
        });
        let limit = 8 * glb.len() as u64;
        assert!(memory.bytes_max < limit, "{place}: {} bytes took {}", glb.len(), memory.bytes_max);
        let said = String::from_utf8_lossy(&written);
        assert!(said.contains(&zeros), "{place}: missing in the output");
    }
}
