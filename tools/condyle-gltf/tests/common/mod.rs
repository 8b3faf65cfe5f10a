//! Documents made in code.

use base64::Engine;
use condyle_gltf::{Asset, Document};
use serde_json::{Value, json};

/// The smallest PNG image: one pixel.
pub(crate) const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x02\0\0\0\x90wS\xde\
    \0\0\0\x0cIDATx\x9cc\xf8\xcf\xc0\0\0\x03\x01\x01\0\xc9\xfe\x92\xef\0\0\0\0IEND\xaeB`\x82";

/// Returns the document's JSON.
pub(crate) fn parsed(document: &Document) -> Value {
    serde_json::from_str(&document.json_text()).expect("JSON")
}

/// A document under construction. Tests can change `json` freely.
pub(crate) struct Builder {
    pub(crate) json: Value,
    data: Vec<u8>,
}

impl Builder {
    pub(crate) fn new() -> Self {
        let json = json!({ "asset": { "version": "2.0" }, "accessors": [], "bufferViews": [] });
        Self { json, data: Vec::new() }
    }

    fn push(&mut self, list: &str, item: Value) -> usize {
        let list = self.json[list].as_array_mut().expect("a list");
        list.push(item);
        list.len() - 1
    }

    pub(crate) fn view(&mut self, bytes: &[u8]) -> usize {
        self.data.resize(self.data.len().next_multiple_of(4), 0);
        let start = self.data.len();
        self.data.extend_from_slice(bytes);
        self.push("bufferViews", json!({ "buffer": 0, "byteOffset": start, "byteLength": bytes.len() }))
    }

    pub(crate) fn bytes_accessor(&mut self, component: u32, kind: &str, count: usize, bytes: &[u8]) -> usize {
        let view = self.view(bytes);
        let accessor =
            json!({ "bufferView": view, "componentType": component, "type": kind, "count": count });
        self.push("accessors", accessor)
    }

    pub(crate) fn floats<const N: usize>(&mut self, rows: &[[f32; N]]) -> usize {
        let bytes: Vec<u8> = rows.as_flattened().iter().flat_map(|x| x.to_le_bytes()).collect();
        let kind = ["SCALAR", "VEC2", "VEC3", "VEC4"][N - 1];
        let accessor = self.bytes_accessor(5126, kind, rows.len(), &bytes);
        let bound = |pick: fn(f32, f32) -> f32| {
            rows.iter()
                .copied()
                .reduce(|a, b| std::array::from_fn(|i| pick(a[i], b[i])))
                .expect("rows")
                .to_vec()
        };
        self.json["accessors"][accessor]["min"] = bound(f32::min).into();
        self.json["accessors"][accessor]["max"] = bound(f32::max).into();
        accessor
    }

    pub(crate) fn asset(&self) -> Asset {
        let mut json = self.json.clone();
        if !self.data.is_empty() {
            let data = base64::engine::general_purpose::STANDARD.encode(&self.data);
            let uri = format!("data:application/octet-stream;base64,{data}");
            json["buffers"] = json!([{ "byteLength": self.data.len(), "uri": uri }]);
        }
        let document = Document::from_slice("made.gltf", json.to_string().as_bytes(), None);
        let document = document.unwrap_or_else(|e| panic!("{e}"));
        Asset::from_document(document).unwrap_or_else(|e| panic!("{e}"))
    }
}

/// Returns the JSON of a `.glb`.
pub(crate) fn json_of(glb: &[u8]) -> Value {
    assert_eq!((&glb[..4], &glb[16..20]), (&b"glTF"[..], &b"JSON"[..]));
    let length = u32::from_le_bytes(glb[12..16].try_into().expect("four bytes")) as usize;
    serde_json::from_slice(&glb[20..20 + length]).expect("JSON")
}
