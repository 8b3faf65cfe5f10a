//! Buffer views of packed meshes: one for all vertex attributes of one size, one for all matrices, and one
//! for all triangles.

use std::collections::HashMap;

use super::super::bin::{ARRAY_BUFFER, Bin, ELEMENT_ARRAY_BUFFER};
use super::columns::{Column, FLOAT, PLAIN, UNSIGNED_INT, UNSIGNED_SHORT, decoded};
use crate::meshopt::{encode, triangles, versioned};
use crate::value::{Map, Value, json};

/// Bytes of the JSON that describes a compressed view.
const DESCRIPTION: usize = 150;
/// Bytes of a matrix of 4 x 4 floats.
const MATRIX: usize = 64;

/// Elements that share a buffer view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Kind {
    is_vertices: bool,
    stride: usize,
    filter: &'static str,
}

#[derive(Debug)]
struct Stream {
    kind: Kind,
    elements: Vec<u8>,
    /// Accessors of the document that read the stream.
    accessors: Vec<usize>,
}

/// Triangles with indices of one size.
#[derive(Debug, Default)]
struct Corners {
    lists: Vec<Vec<[u32; 3]>>,
    accessors: Vec<usize>,
    /// Triangles in all lists.
    count: usize,
}

/// All data of packed meshes. Equal data is stored once.
#[derive(Debug, Default)]
pub(super) struct Streams {
    streams: Vec<Stream>,
    known: HashMap<(String, Vec<u8>), usize>,
    short: Corners,
    long: Corners,
}

/// How streams are compressed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Codec {
    /// Name of the extension.
    pub(super) extension: &'static str,
    /// Version of the attribute stream.
    pub(super) version: u8,
}

impl Streams {
    /// Adds an attribute and returns its accessor.
    pub(super) fn attribute(&mut self, accessors: &mut Vec<Value>, column: &Column) -> usize {
        let kind = Kind { is_vertices: true, stride: column.form.stride, filter: column.form.filter };
        self.add(accessors, kind, &column.elements, |offset| column.accessor(offset))
    }

    /// Adds 4 x 4 matrices, column by column, and returns their accessor.
    pub(super) fn matrices(&mut self, accessors: &mut Vec<Value>, matrices: &[[f32; 16]]) -> usize {
        let bytes: Vec<u8> = matrices.as_flattened().iter().flat_map(|v| v.to_le_bytes()).collect();
        let kind = Kind { is_vertices: false, stride: MATRIX, filter: PLAIN };
        self.add(accessors, kind, &bytes, |offset| {
            let mut accessor = json!({
                "bufferView": 0, "componentType": FLOAT, "count": matrices.len(), "type": "MAT4",
            });
            if offset > 0 {
                accessor["byteOffset"] = offset.into();
            }
            accessor
        })
    }

    fn add(
        &mut self,
        accessors: &mut Vec<Value>,
        kind: Kind,
        elements: &[u8],
        accessor: impl Fn(usize) -> Value,
    ) -> usize {
        let key = (format!("{kind:?} {}", accessor(0)), elements.to_vec());
        if let Some(&known) = self.known.get(&key) {
            return known;
        }
        let at = self.streams.iter().position(|stream| stream.kind == kind).unwrap_or_else(|| {
            self.streams.push(Stream { kind, elements: Vec::new(), accessors: Vec::new() });
            self.streams.len() - 1
        });
        let stream = &mut self.streams[at];
        accessors.push(accessor(stream.elements.len()));
        stream.elements.extend_from_slice(elements);
        let new = accessors.len() - 1;
        stream.accessors.push(new);
        self.known.insert(key, new);
        new
    }

    /// Adds triangles and returns the accessor of their indices.
    pub(super) fn triangles(
        &mut self,
        accessors: &mut Vec<Value>,
        list: Vec<[u32; 3]>,
        vertex_count: usize,
    ) -> usize {
        // The largest index of a type restarts strips.
        let is_short = vertex_count <= usize::from(u16::MAX);
        let (corners, component, size) =
            if is_short { (&mut self.short, UNSIGNED_SHORT, 2) } else { (&mut self.long, UNSIGNED_INT, 4) };
        let mut accessor = json!({
            "bufferView": 0, "componentType": component, "count": 3 * list.len(), "type": "SCALAR",
        });
        if corners.count > 0 {
            accessor["byteOffset"] = (3 * size * corners.count).into();
        }
        accessors.push(accessor);
        corners.accessors.push(accessors.len() - 1);
        corners.count += list.len();
        corners.lists.push(list);
        accessors.len() - 1
    }

    /// Appends the buffer views. A view that compression would enlarge is not compressed.
    pub(super) fn finish(&self, accessors: &mut [Value], bin: &mut Bin, codec: Option<Codec>) {
        for Stream { kind: Kind { is_vertices, stride, filter }, elements, accessors: owners } in
            &self.streams
        {
            let mut form = json!({ "mode": "ATTRIBUTES" });
            if *filter != PLAIN {
                form["filter"] = (*filter).into();
            }
            let mut view = Map::new();
            if *is_vertices {
                view.insert("byteStride".into(), (*stride).into());
                view.insert("target".into(), ARRAY_BUFFER.into());
            }
            let packed = match codec {
                Some(Codec { version: 1, .. }) => versioned::attributes(elements, *stride),
                _ => encode::attributes(elements, *stride),
            };
            let data = Data { plain: decoded(elements, filter), packed, stride: *stride, form };
            data.add(view, codec, bin, owners, accessors);
        }
        for (corners, size) in [(&self.short, 2), (&self.long, 4)].into_iter().filter(|(it, _)| it.count > 0)
        {
            let all = corners.lists.iter().flatten().flatten();
            let plain = all.flat_map(|corner| corner.to_le_bytes().into_iter().take(size)).collect();
            let packed = triangles::triangles(corners.lists.iter().map(Vec::as_slice));
            let data = Data { plain, packed, stride: size, form: json!({ "mode": "TRIANGLES" }) };
            let view = Map::from_iter([("target".into(), ELEMENT_ARRAY_BUFFER.into())]);
            data.add(view, codec, bin, &corners.accessors, accessors);
        }
    }
}

/// The data of a view, uncompressed and compressed.
struct Data {
    plain: Vec<u8>,
    packed: Vec<u8>,
    stride: usize,
    /// Mode and filter of the compressed data.
    form: Value,
}

impl Data {
    /// Appends the smaller form, and refers to it in the accessors `owners`.
    fn add(
        mut self,
        mut view: Map,
        codec: Option<Codec>,
        bin: &mut Bin,
        owners: &[usize],
        accessors: &mut [Value],
    ) {
        let index = match codec.filter(|_| self.packed.len() + DESCRIPTION < self.plain.len()) {
            None => bin.add_view(view, &self.plain),
            Some(Codec { extension, .. }) => {
                self.form["byteStride"] = self.stride.into();
                self.form["count"] = (self.plain.len() / self.stride).into();
                view.insert("byteLength".into(), self.plain.len().into());
                view.insert("extensions".into(), json!({ extension: self.form }));
                bin.add_compressed(view, extension, &self.packed, None)
            }
        };
        owners.iter().for_each(|&at| accessors[at]["bufferView"] = index.into());
    }
}
