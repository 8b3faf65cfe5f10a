//! Builds the binary chunk of a `.glb`, and the container around it.

use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeSet, HashMap};
use std::hash::Hasher;
use std::ops::Range;

use super::ExportError;
use crate::extensions::require_extension;
use crate::extras;
use crate::json::whole;
use crate::value::{Map, Value, json};

const FLOAT: u32 = 5126;
const UNSIGNED_INT: u32 = 5125;
/// The `target` of buffer views with vertex attributes.
pub(super) const ARRAY_BUFFER: u32 = 34962;
pub(super) const ELEMENT_ARRAY_BUFFER: u32 = 34963;
/// The only buffer of the file, and its buffer views.
#[derive(Debug, Clone, Default)]
pub(super) struct Bin {
    bytes: Vec<u8>,
    views: Vec<Value>,
    /// Accessors by the hash of their data, their width and whether they have bounds. Data that several
    /// primitives share is stored once.
    known: HashMap<(u64, usize, bool), Vec<Known>>,
    /// Size in bytes of the fallback buffer, for the views that have only compressed data.
    fallback: usize,
    /// The compression extensions of these views.
    compressions: BTreeSet<&'static str>,
    /// The compression extension of further views, if the caller chose one.
    chosen: Option<&'static str>,
}

#[derive(Debug, Clone)]
struct Known {
    bytes: Range<usize>,
    accessor: usize,
}

impl Bin {
    /// Appends the data of a view and returns its index. `view` keeps its stride, target, name and extras.
    pub(super) fn add_view(&mut self, mut view: Map, data: &[u8]) -> usize {
        pad(&mut self.bytes, 0);
        view.insert("buffer".into(), 0.into());
        view.insert("byteOffset".into(), self.bytes.len().into());
        view.insert("byteLength".into(), data.len().into());
        self.bytes.extend_from_slice(data);
        self.views.push(view.into());
        self.views.len() - 1
    }

    /// Appends a compressed view; the extension's object in `view` describes the compression. `plain` holds
    /// the uncompressed bytes for readers without the extension; without `plain`, readers must support it.
    /// `view` holds the uncompressed length.
    pub(super) fn add_compressed(
        &mut self,
        mut view: Map,
        extension: &'static str,
        data: &[u8],
        plain: Option<&[u8]>,
    ) -> usize {
        pad(&mut self.bytes, 0);
        let form = view.get_mut("extensions").and_then(|all| all.get_mut(extension));
        if let Some(form) = form.and_then(Value::as_object_mut) {
            form.insert("buffer".into(), 0.into());
            form.insert("byteOffset".into(), self.bytes.len().into());
            form.insert("byteLength".into(), data.len().into());
        }
        self.bytes.extend_from_slice(data);
        if let Some(plain) = plain {
            return self.add_view(view, plain);
        }
        self.fallback = self.fallback.next_multiple_of(4);
        view.insert("buffer".into(), 1.into());
        view.insert("byteOffset".into(), self.fallback.into());
        self.fallback += view.get("byteLength").and_then(whole).unwrap_or_default();
        self.compressions.insert(extension);
        self.views.push(view.into());
        self.views.len() - 1
    }

    /// Returns the extension for compressing further views: one that readers of the file must support anyway,
    /// or else the most widely supported one.
    pub(super) fn compression(&self) -> &'static str {
        let required = self.compressions.first().copied();
        self.chosen.or(required).unwrap_or("EXT_meshopt_compression")
    }

    /// Chooses the extension for compressing further views.
    pub(super) fn choose(&mut self, extension: &'static str) {
        self.chosen = Some(extension);
    }

    /// Returns whether any view is compressed by an extension.
    pub(super) fn is_compressed_by(&self, extension: &str) -> bool {
        let own = |view: &Value| view.get("extensions").is_some_and(|all| all.get(extension).is_some());
        self.views.iter().any(own)
    }

    /// Appends vectors as an accessor, or returns an existing accessor with exactly these numbers. `target`
    /// is the view's `target`, if it needs one. `bounds` requests the minimum and maximum.
    pub(super) fn add_accessor<const N: usize>(
        &mut self,
        accessors: &mut Vec<Value>,
        vectors: &[[f32; N]],
        target: Option<u32>,
        bounds: bool,
    ) -> usize {
        let data: Vec<u8> = vectors.as_flattened().iter().flat_map(|x| x.to_le_bytes()).collect();
        let mut hasher = DefaultHasher::new();
        hasher.write(&data);
        let key = (hasher.finish(), N, bounds);
        let mut same = self.known.get(&key).into_iter().flatten();
        if let Some(known) = same.find(|known| self.bytes[known.bytes.clone()] == data) {
            return known.accessor;
        }
        let view = target.map(|target| ("target".into(), target.into()));
        let view = self.add_view(Map::from_iter(view), &data);
        let kind = if N == 1 { "SCALAR".into() } else { format!("VEC{N}") };
        let mut accessor = json!({
            "bufferView": view, "componentType": FLOAT, "count": vectors.len(), "type": kind,
        });
        if bounds {
            let bound = |pick: fn(f32, f32) -> f32| {
                vectors.iter().copied().reduce(|a, b| std::array::from_fn(|i| pick(a[i], b[i])))
            };
            if let (Some(min), Some(max)) = (bound(f32::min), bound(f32::max)) {
                accessor["min"] = min.as_slice().into();
                accessor["max"] = max.as_slice().into();
            }
        }
        accessors.push(accessor);
        let accessor = accessors.len() - 1;
        let end = self.bytes.len();
        self.known.entry(key).or_default().push(Known { bytes: end - data.len()..end, accessor });
        accessor
    }

    /// Appends the vertex indices of triangles as an accessor.
    pub(super) fn add_triangles(&mut self, accessors: &mut Vec<Value>, triangles: &[[u32; 3]]) -> usize {
        let corners = triangles.as_flattened();
        let data: Vec<u8> = corners.iter().flat_map(|corner| corner.to_le_bytes()).collect();
        let view = self.add_view(Map::from_iter([("target".into(), ELEMENT_ARRAY_BUFFER.into())]), &data);
        accessors.push(json!({
            "bufferView": view, "componentType": UNSIGNED_INT, "count": corners.len(), "type": "SCALAR",
        }));
        accessors.len() - 1
    }

    /// Returns the whole file: header, JSON chunk and binary chunk.
    pub(super) fn into_glb(mut self, mut json: Value) -> Result<Vec<u8>, ExportError> {
        pad(&mut self.bytes, 0);
        if !self.views.is_empty() {
            json["bufferViews"] = self.views.into();
            let mut buffers = vec![json!({ "byteLength": self.bytes.len() })];
            if self.fallback > 0 {
                let mark = |&name: &&str| (name.into(), json!({ "fallback": true }));
                let marks: Map = self.compressions.iter().map(mark).collect();
                buffers.push(json!({ "byteLength": self.fallback, "extensions": marks }));
                self.compressions.iter().for_each(|name| require_extension(&mut json, name));
            }
            json["buffers"] = buffers.into();
        }
        let mut text = extras::to_text(&json).into_bytes();
        pad(&mut text, b' ');
        let chunks: [(&[u8; 4], &[u8]); 2] = [(b"JSON", &text), (b"BIN\0", &self.bytes)];
        let used = chunks.iter().filter(|(_, data)| !data.is_empty());
        let length = 12 + used.clone().map(|(_, data)| 8 + data.len()).sum::<usize>();
        let total = u32::try_from(length).map_err(|_| ExportError::TooLarge {
            what: "the .glb file",
            bytes: length,
            limit: u32::MAX as usize,
        })?;
        let mut glb = Vec::with_capacity(length);
        glb.extend_from_slice(b"glTF");
        glb.extend_from_slice(&2_u32.to_le_bytes());
        glb.extend_from_slice(&total.to_le_bytes());
        for (kind, data) in used {
            // The length fits because the total length does.
            glb.extend_from_slice(&(data.len() as u32).to_le_bytes());
            glb.extend_from_slice(*kind);
            glb.extend_from_slice(data);
        }
        Ok(glb)
    }
}

/// Pads to a multiple of four bytes: chunks require it, and all component types are aligned.
fn pad(bytes: &mut Vec<u8>, with: u8) {
    bytes.resize(bytes.len().next_multiple_of(4), with);
}
