//! A model and reference results from independent programs. `testdata/README.md` describes the format.

use std::fs;
use std::path::Path;

use condyle_gltf::Asset;
use serde_json::Value;

/// One model with its manifest and its reference data.
pub(crate) struct Answers {
    /// The file name of the model.
    pub(crate) name: String,
    pub(crate) asset: Asset,
    pub(crate) manifest: Value,
    data: Vec<u8>,
}

impl Answers {
    /// Opens the model and its files `NAME.ref.json` and `NAME.ref.bin`.
    pub(crate) fn open(model: &Path) -> Self {
        let read = |extension: &str| {
            let path = model.with_extension(extension);
            fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
        };
        let manifest: Value = serde_json::from_slice(&read("ref.json")).expect("a JSON manifest");
        let name = model.file_name().expect("a file").to_string_lossy().into_owned();
        assert_eq!(manifest["model"], name.as_str());
        let asset = Asset::open(model).unwrap_or_else(|e| panic!("{e}"));
        Self { name, asset, manifest, data: read("ref.bin") }
    }

    pub(crate) fn number(&self, name: &str) -> f64 {
        self.manifest[name].as_f64().unwrap_or_else(|| panic!("{name} in the manifest"))
    }

    /// Returns the tolerance for results of three.js.
    pub(crate) fn three(&self, name: &str) -> f64 {
        self.manifest["three"][name].as_f64().unwrap_or_else(|| panic!("three.{name} in the manifest"))
    }

    pub(crate) fn list(&self, name: &str) -> &[Value] {
        list(&self.manifest[name])
    }

    pub(crate) fn floats(&self, offset: &Value, count: usize) -> Vec<f32> {
        let at = whole(offset);
        let (words, _) = self.data[at..at + 4 * count].as_chunks::<4>();
        words.iter().map(|w| f32::from_le_bytes(*w)).collect()
    }

    pub(crate) fn normals(&self, offset: &Value, count: usize) -> Vec<[f64; 3]> {
        let at = whole(offset);
        let (words, _) = self.data[at..at + 6 * count].as_chunks::<2>();
        let values: Vec<f64> = words.iter().map(|w| f64::from(i16::from_le_bytes(*w)) / 32767.0).collect();
        values.as_chunks::<3>().0.to_vec()
    }
}

pub(crate) fn whole(value: &Value) -> usize {
    value.as_u64().expect("a whole number") as usize
}

pub(crate) fn list(value: &Value) -> &[Value] {
    value.as_array().expect("a list")
}

/// Returns the document's JSON.
pub(crate) fn parsed(document: &condyle_gltf::Document) -> Value {
    serde_json::from_str(&document.json_text()).expect("JSON")
}
