//! A module of the npm package that decodes glTF documents with meshes compressed by Draco. `js/draco.js`
//! makes a .glb without Draco of the result, which any build opens.

#[path = "../../src/fault.rs"]
#[expect(dead_code, reason = "shared with the other modules")]
mod fault;
#[path = "../../src/json.rs"]
mod json;

use condyle_gltf::Document;
use wasm_bindgen::prelude::*;

use crate::fault::Fault;

#[wasm_bindgen]
extern "C" {
    /// Returns the bytes of an external file, or undefined.
    #[wasm_bindgen(js_name = condyleFile)]
    fn condyle_file(files: &JsValue, path: &str) -> Option<Vec<u8>>;
}

/// A document with decoded meshes.
#[wasm_bindgen]
pub struct Expanded(Document);

#[wasm_bindgen]
impl Expanded {
    /// Reads a document. `files` has its external files.
    #[wasm_bindgen(constructor)]
    pub fn new(name: &str, bytes: &[u8], files: &JsValue) -> Result<Expanded, JsValue> {
        match Document::from_parts(name, bytes, |path| condyle_file(files, path)) {
            Ok(document) => Ok(Self(document)),
            Err(refused) => Err(Fault::file(name, &refused.problems).into()),
        }
    }

    /// The JSON, with accessors and buffer views for the decoded meshes.
    pub fn json(&self) -> String {
        self.0.json_text()
    }

    /// Problems that were repaired, as JSON.
    pub fn problems(&self) -> String {
        json::of_problems(self.0.problems())
    }

    /// Bytes of a buffer view.
    pub fn view(&self, index: usize) -> Option<Vec<u8>> {
        self.0.buffer_view(index).map(<[u8]>::to_vec)
    }
}
