//! Handmade documents for the tests.

use base64::prelude::{BASE64_STANDARD, Engine};

use crate::asset::Asset;
use crate::document::Document;
use crate::problem::{Problem, Refused, Severity};
use crate::uri::Files;
use crate::value::{Value, json};

/// A document under construction: any JSON, and one buffer for its accessors.
pub(crate) struct Builder {
    pub(crate) json: Value,
    bytes: Vec<u8>,
}

impl Builder {
    /// Starts a document. `json` needs no `asset`, buffers, buffer views or accessors.
    pub(crate) fn new(mut json: Value) -> Self {
        json["asset"] = json!({"version": "2.0"});
        json["accessors"] = json!([]);
        json["bufferViews"] = json!([]);
        Self { json, bytes: Vec::new() }
    }

    /// Adds bytes as a buffer view and returns its index.
    pub(crate) fn view(&mut self, bytes: &[u8]) -> usize {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
        let view = json!({"buffer": 0, "byteOffset": self.bytes.len(), "byteLength": bytes.len()});
        self.bytes.extend(bytes);
        push(&mut self.json["bufferViews"], view)
    }

    /// Adds an accessor with a separate buffer view and returns its index.
    pub(crate) fn accessor(&mut self, shape: &str, code: u32, count: usize, bytes: &[u8]) -> usize {
        let view = self.view(bytes);
        let accessor = json!({"bufferView": view, "componentType": code, "type": shape, "count": count});
        push(&mut self.json["accessors"], accessor)
    }

    /// Adds an accessor of floats; `values` holds whole elements.
    pub(crate) fn floats(&mut self, shape: &str, values: &[f32]) -> usize {
        let width = match shape {
            "SCALAR" => 1,
            "MAT4" => 16,
            vector => vector[3..].parse().expect("VEC2 to VEC4"),
        };
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        let index = self.accessor(shape, 5126, values.len() / width, &bytes);
        let bound = |pick: fn(f32, f32) -> f32| -> Vec<f32> {
            (0..width).filter_map(|i| values.iter().skip(i).step_by(width).copied().reduce(pick)).collect()
        };
        self.json["accessors"][index]["min"] = json!(bound(f32::min));
        self.json["accessors"][index]["max"] = json!(bound(f32::max));
        index
    }

    /// Returns the document as the text of a .gltf.
    pub(crate) fn text(&self) -> Vec<u8> {
        let mut json = self.json.clone();
        let uri = format!("data:application/octet-stream;base64,{}", BASE64_STANDARD.encode(&self.bytes));
        json["buffers"] = json!([{"byteLength": self.bytes.len(), "uri": uri}]);
        serde_json::to_vec(&json).expect("JSON can be written")
    }

    /// Returns the document, which still has its problems.
    pub(crate) fn document(&self) -> Result<Document, Refused> {
        Document::from_slice("test", &self.text(), None)
    }

    pub(crate) fn import(&self) -> Result<Asset, Refused> {
        Asset::from_document(self.document()?)
    }

    /// Returns all reported problems, of an asset or of a refusal.
    pub(crate) fn problems(&self) -> Vec<Problem> {
        match self.import() {
            Ok(asset) => asset.problems,
            Err(refused) => {
                assert_eq!(refused.problems[0].severity, Severity::Error);
                refused.problems
            }
        }
    }

    /// Returns the problems of all stages, as for a file: later stages run even after an error.
    pub(crate) fn report(&self) -> Vec<Problem> {
        let read =
            Document::gather_slice("test", &self.text(), |_| Files::None).and_then(Asset::from_document);
        read.map_or_else(|refused| refused.problems, |asset| asset.problems)
    }

    /// Returns severity, path and count of each problem.
    pub(crate) fn summary(&self) -> Vec<(Severity, String, usize)> {
        self.problems().into_iter().map(|p| (p.severity, p.place, p.count)).collect()
    }
}

fn push(list: &mut Value, item: Value) -> usize {
    let list = list.as_array_mut().expect("a list");
    list.push(item);
    list.len() - 1
}

/// Returns a skinned triangle: node 0 shows it, nodes 1 and 2 are its joints, and node 2 is the child of node
/// 1. `POSITION` is accessor 0, `JOINTS_0` is 1 and `WEIGHTS_0` is 2.
pub(crate) fn character() -> Builder {
    let mut it = Builder::new(json!({
        "scene": 0,
        "scenes": [{"nodes": [0, 1]}],
        "nodes": [
            {"name": "body", "mesh": 0, "skin": 0},
            {"name": "hip", "children": [2]},
            {"name": "knee", "translation": [0, 1, 0]},
        ],
        "skins": [{"joints": [1, 2]}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0, "JOINTS_0": 1, "WEIGHTS_0": 2}}]}],
    }));
    it.floats("VEC3", &[0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0]);
    it.accessor("VEC4", 5121, 3, &[0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]);
    it.floats("VEC4", &[0.5, 0.5, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]);
    it
}

/// Returns the JSON of a .glb and its binary chunk.
pub(crate) fn chunks(glb: &[u8]) -> (Value, Vec<u8>) {
    let length = |at: usize| u32::from_le_bytes(glb[at..at + 4].try_into().expect("four bytes")) as usize;
    let (json, bin) = glb[20..].split_at(length(12));
    (serde_json::from_slice(json).expect("JSON"), bin.get(8..).unwrap_or_default().to_vec())
}
