//! Primitives compressed by `KHR_draco_mesh_compression`.
//!
//! They are decoded when a document is read. The primitive then refers to new accessors and buffer views,
//! appended after the document's. Code that reads or writes meshes never sees the compression.

#[cfg(feature = "draco")]
mod stream;

#[cfg(feature = "draco")]
use self::stream::decode;
use crate::extensions;
use crate::format::{Component, Shape};
use crate::json::Json;
use crate::problem::Problems;
use crate::value::{Map, Value, json};

pub(crate) const EXTENSION: &str = "KHR_draco_mesh_compression";

/// The replacement for compressed primitives.
#[derive(Default)]
pub(crate) struct Expansion {
    /// The bytes of the new buffer views; `None` for data that could not be decoded, which has been reported.
    pub(crate) views: Vec<Option<Vec<u8>>>,
    view_objects: Vec<Value>,
    accessors: Vec<Value>,
    edits: Vec<Edit>,
    /// Number of buffer views in the document.
    first_view: usize,
    /// Number of accessors in the document.
    first_accessor: usize,
}

/// The references of one primitive.
struct Edit {
    mesh: usize,
    primitive: usize,
    /// Accessor index of each attribute.
    attributes: Vec<(String, usize)>,
    indices: Option<usize>,
}

/// An attribute of a compressed primitive.
#[cfg_attr(not(feature = "draco"), expect(dead_code, reason = "read only by the decoder"))]
struct Attribute<'a> {
    name: &'a str,
    /// Attribute number in the stream.
    id: u32,
    accessor: &'a Map,
    component: Component,
    width: usize,
    count: usize,
}

/// Decodes the compressed primitives of a document. If the document does not require the extension, only
/// primitives without an uncompressed form are decoded.
pub(crate) fn expand<'a>(
    root: &Json<'a>,
    view: impl Fn(usize) -> Option<&'a [u8]>,
    problems: &mut Problems,
) -> Expansion {
    let mut it = Expansion {
        first_view: root.count("bufferViews"),
        first_accessor: root.count("accessors"),
        ..Expansion::default()
    };
    let required = extensions::requires(root, EXTENSION);
    // Lists of the wrong type are reported where meshes are read.
    for (mesh, json) in root.list("meshes", &mut Problems::unheard()).iter().enumerate() {
        for (primitive, json) in json.list("primitives", &mut Problems::unheard()).iter().enumerate() {
            let Some(compressed) = json.extension(EXTENSION) else { continue };
            let attributes = attributes(root, json, &compressed);
            let hidden = |a: &Attribute<'_>| {
                !a.accessor.contains_key("bufferView") && !a.accessor.contains_key("sparse")
            };
            if !required && !attributes.iter().any(hidden) {
                continue;
            }
            let accessor_of = |place: &Json<'_>| {
                root.item("accessors", place.index("", it.first_accessor, &mut Problems::unheard())?)
            };
            let indices = json.get("indices").and_then(|place| accessor_of(&place));
            let decoded = decode(&compressed, &attributes, indices.as_ref(), it.first_view, &view, problems);
            match decoded {
                Some(decoded) => it.put(mesh, primitive, &attributes, decoded),
                None => {
                    let positions = json.get("attributes").and_then(|all| accessor_of(&all.get("POSITION")?));
                    it.hide(mesh, primitive, positions.and_then(|json| json.value.as_object().cloned()));
                }
            }
        }
    }
    it
}

/// Returns the valid attributes of a stream. Invalid accessors are reported where accessors are read.
fn attributes<'a>(root: &Json<'a>, primitive: &Json<'a>, compressed: &Json<'a>) -> Vec<Attribute<'a>> {
    let silent = &mut Problems::unheard();
    let own = primitive.entries("attributes", silent);
    let held = compressed.entries("attributes", silent);
    let known = held.into_iter().filter_map(|(name, id)| {
        let place = &own.iter().find(|a| a.0 == name)?.1;
        let accessor = root.item("accessors", place.index("", root.count("accessors"), silent)?)?;
        let shape = accessor.get("type")?.text(silent)?;
        let (columns, width) = Shape::NAMES.iter().find(|n| n.0 == shape)?.1.dimensions();
        Some(Attribute {
            name,
            id: u32::try_from(id.whole(silent)?).ok()?,
            accessor: accessor.value.as_object()?,
            component: Component::of(&accessor, silent)?,
            width: (columns == 1).then_some(width)?,
            count: accessor.get("count")?.whole(silent)?,
        })
    });
    known.collect()
}

/// A decoded primitive.
struct Decoded {
    vertices: usize,
    /// The data of each attribute, in the component type of its accessor, with elements aligned to four
    /// bytes.
    attributes: Vec<Vec<u8>>,
    indices: Vec<u32>,
}

/// Reports that this build lacks the feature `draco`.
#[cfg(not(feature = "draco"))]
fn decode<'a>(
    compressed: &Json<'a>,
    _: &[Attribute<'a>],
    _: Option<&Json<'a>>,
    _: usize,
    _: &impl Fn(usize) -> Option<&'a [u8]>,
    problems: &mut Problems,
) -> Option<Decoded> {
    problems.error(&compressed.path, "is compressed with Draco, which this build does not support");
    None
}

impl Attribute<'_> {
    /// Returns the bytes from one vertex to the next. Vertex attributes are aligned to four bytes.
    fn stride(&self) -> usize {
        (self.width * self.component.size()).next_multiple_of(4)
    }
}

impl Expansion {
    /// Replaces a compressed primitive by a decoded one.
    fn put(&mut self, mesh: usize, primitive: usize, attributes: &[Attribute<'_>], decoded: Decoded) {
        let Decoded { vertices, attributes: data, indices } = decoded;
        let mut references = Vec::new();
        for (attribute, bytes) in attributes.iter().zip(data) {
            let mut accessor = attribute.accessor.clone();
            for key in ["byteOffset", "sparse", "min", "max"] {
                accessor.remove(key);
            }
            accessor.insert("count".into(), vertices.into());
            if attribute.name == "POSITION" && attribute.component == Component::F32 {
                for (key, pick) in [("min", f32::min as fn(f32, f32) -> f32), ("max", f32::max)] {
                    accessor.insert(key.into(), json!(bound(&bytes, attribute.width, pick)));
                }
            }
            let stride = attribute.stride();
            let mut view = json!({ "target": 34962 });
            if stride != attribute.width * attribute.component.size() {
                view["byteStride"] = stride.into();
            }
            references.push((attribute.name.into(), self.add(accessor, view, Some(bytes))));
        }
        // glTF does not allow 65535 as a 16-bit index.
        let small = vertices <= usize::from(u16::MAX);
        let bytes = if small {
            indices.iter().flat_map(|&i| (i as u16).to_le_bytes()).collect()
        } else {
            indices.iter().flat_map(|i| i.to_le_bytes()).collect()
        };
        let mut accessor = Map::new();
        accessor.insert("componentType".into(), if small { 5123 } else { 5125 }.into());
        accessor.insert("type".into(), "SCALAR".into());
        accessor.insert("count".into(), indices.len().into());
        let indices = Some(self.add(accessor, json!({ "target": 34963 }), Some(bytes)));
        self.edits.push(Edit { mesh, primitive, attributes: references, indices });
    }

    /// Gives a primitive that could not be decoded a position accessor without data. No further problems are
    /// then reported for the primitive.
    fn hide(&mut self, mesh: usize, primitive: usize, positions: Option<Map>) {
        let Some(accessor) = positions else { return };
        let attributes = vec![("POSITION".into(), self.add(accessor, json!({}), None))];
        self.edits.push(Edit { mesh, primitive, attributes, indices: None });
    }

    /// Adds an accessor with a separate view, and returns its index.
    fn add(&mut self, mut accessor: Map, mut view: Value, bytes: Option<Vec<u8>>) -> usize {
        // The buffer index is not used, because the bytes of the view are already known.
        view["buffer"] = 0.into();
        view["byteLength"] = bytes.as_ref().map_or(1, Vec::len).into();
        accessor.insert("bufferView".into(), (self.first_view + self.views.len()).into());
        self.views.push(bytes);
        self.view_objects.push(view);
        self.accessors.push(accessor.into());
        self.first_accessor + self.accessors.len() - 1
    }

    /// Returns whether no primitive was changed.
    pub(crate) fn is_empty(&self) -> bool {
        self.edits.is_empty()
    }

    /// Writes the decoded primitives into the document's JSON.
    pub(crate) fn apply(self, json: &mut Value) {
        for (key, new) in [("bufferViews", self.view_objects), ("accessors", self.accessors)] {
            match &mut json[key] {
                Value::Array(list) => list.extend(new),
                other => *other = new.into(),
            }
        }
        for edit in self.edits {
            let primitive = &mut json["meshes"][edit.mesh]["primitives"][edit.primitive];
            for (name, accessor) in edit.attributes {
                primitive["attributes"][name] = accessor.into();
            }
            if let Some(accessor) = edit.indices {
                primitive["indices"] = accessor.into();
                // The decoded data is always a triangle list.
                primitive["mode"] = 4.into();
            }
            if let Some(primitive) = primitive.as_object_mut() {
                extensions::remove_extension(primitive, EXTENSION);
            }
        }
        let still = |mesh: &Value| {
            let primitives = mesh["primitives"].as_array().into_iter().flatten();
            primitives.into_iter().any(|primitive| !primitive["extensions"][EXTENSION].is_null())
        };
        if !json["meshes"].as_array().into_iter().flatten().any(still) {
            extensions::unlist_extension(json, EXTENSION);
        }
    }
}

/// Returns the minimum or maximum of each component of packed vectors.
fn bound(bytes: &[u8], width: usize, pick: fn(f32, f32) -> f32) -> Vec<f32> {
    let numbers = bytes.as_chunks().0.iter().map(|&four| f32::from_le_bytes(four));
    (0..width).filter_map(|i| numbers.clone().skip(i).step_by(width).reduce(pick)).collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::export::ClipExporter;
    use crate::problem::Severity;
    use crate::testing::{Builder, chunks};
    use base64::prelude::{BASE64_STANDARD, Engine};

    const PLACE: &str = "/meshes/0/primitives/0/extensions/KHR_draco_mesh_compression";

    /// Returns the cases made by `tests/data/draco.mjs`: streams, and their decoded data.
    pub(crate) fn cases() -> Vec<Value> {
        let list: Value = serde_json::from_str(include_str!("../tests/data/draco.json")).unwrap();
        list.as_array().unwrap().clone()
    }

    fn bytes(value: &Value) -> Vec<u8> {
        BASE64_STANDARD.decode(value.as_str().unwrap()).unwrap()
    }

    /// Returns a document with the mesh of a case as a stream, after `change`. It requires the extension.
    pub(crate) fn compressed(case: &Value, change: impl FnOnce(&mut Vec<u8>)) -> Builder {
        let skinned = case["attributes"].as_array().unwrap().len() > 1;
        let mut it = Builder::new(json!({
            "extensionsUsed": [EXTENSION],
            "extensionsRequired": [EXTENSION],
            "scene": 0,
            "scenes": [{"nodes": [0, 1]}],
            "nodes": [{"mesh": 0}, {"children": [2]}, {"children": [3]}, {}],
            "meshes": [{"primitives": [{"attributes": {}, "indices": 0, "extensions": {EXTENSION: {"attributes": {}}}}]}],
        }));
        if skinned {
            it.json["skins"] = json!([{"joints": [1, 2, 3]}]);
            it.json["nodes"][0]["skin"] = json!(0);
        }
        it.json["accessors"] = json!([{"componentType": 5125, "type": "SCALAR", "count": case["corners"]}]);
        let mut stream = bytes(&case["encoded"]);
        change(&mut stream);
        let view = it.view(&stream);
        it.json["meshes"][0]["primitives"][0]["extensions"][EXTENSION]["bufferView"] = json!(view);
        for (at, attribute) in case["attributes"].as_array().unwrap().iter().enumerate() {
            let mut accessor = json!({"componentType": attribute["componentType"], "type": attribute["type"], "count": case["points"]});
            if attribute["name"] == "POSITION" {
                // The bounds before compression, which differ slightly from the decoded ones.
                accessor["min"] = json!([0, 0, -0.25]);
                accessor["max"] = json!([1, 1, 0.25]);
            }
            it.json["accessors"].as_array_mut().unwrap().push(accessor);
            let name = attribute["name"].as_str().unwrap();
            primitive(&mut it)["attributes"][name] = json!(at + 1);
            primitive(&mut it)["extensions"][EXTENSION]["attributes"][name] = attribute["id"].clone();
        }
        it
    }

    fn primitive(it: &mut Builder) -> &mut Value {
        &mut it.json["meshes"][0]["primitives"][0]
    }

    fn floats(bytes: &[u8]) -> Vec<f32> {
        bytes.as_chunks().0.iter().map(|&four| f32::from_le_bytes(four)).collect()
    }

    #[test]
    fn streams_of_the_reference_encoder() {
        for case in cases() {
            let name = case["name"].as_str().unwrap();
            let it = compressed(&case, |_| ());
            assert_eq!(it.summary(), [], "{name}");
            let asset = it.import().unwrap();
            let document = &asset.document;
            let primitive = &document.json["meshes"][0]["primitives"][0];
            let accessor = |place: &Value| &document.json["accessors"][place.as_u64().unwrap() as usize];
            let data = |place: &Value| {
                document.buffer_view(accessor(place)["bufferView"].as_u64().unwrap() as usize)
            };
            for attribute in case["attributes"].as_array().unwrap() {
                let found = data(&primitive["attributes"][attribute["name"].as_str().unwrap()]).unwrap();
                assert!(found == bytes(&attribute["decoded"]), "{name}: {}", attribute["name"]);
            }
            let indices = data(&primitive["indices"]).unwrap().as_chunks().0;
            let wanted = bytes(&case["indices"]);
            let wanted = wanted.as_chunks().0.iter().map(|&four| u32::from_le_bytes(four));
            assert!(indices.iter().map(|&two| u32::from(u16::from_le_bytes(two))).eq(wanted), "{name}");
            // The mesh that the importer returns.
            let mesh = &asset.instances[0].primitives[0].mesh;
            let positions = case["attributes"].as_array().unwrap().iter().find(|a| a["name"] == "POSITION");
            assert_eq!(
                mesh.vertices().positions.as_flattened(),
                floats(&bytes(&positions.unwrap()["decoded"]))
            );
            assert_eq!(mesh.influences().joint_bound(), if name == "positions only" { 1 } else { 3 });
            assert!(!document.json_text().contains("draco"), "{name}");
        }
    }

    #[test]
    fn compressed_meshes_are_written_byte_for_byte() {
        for case in cases() {
            let name = case["name"].as_str().unwrap();
            let mut it = compressed(&case, |_| ());
            // Keys in a view before the view of the mesh.
            let (times, turns) = (it.floats("SCALAR", &[0.0]), it.floats("VEC4", &[0.0, 0.0, 0.0, 1.0]));
            it.json["animations"] = json!([{
                "samplers": [{"input": times, "output": turns}],
                "channels": [{"sampler": 0, "target": {"node": 2, "path": "rotation"}}],
            }]);
            it.json["extensionsUsed"] = json!([EXTENSION, "KHR_mesh_quantization"]);
            let asset = it.import().unwrap();
            let exporter = ClipExporter::new(&asset);
            assert_eq!((exporter.left_out_bytes(), exporter.kept_for()), (20, &[][..]), "{name}");
            let glb = exporter.glb(&[]).unwrap();
            let (json, bin) = chunks(&glb);
            for key in ["extensionsUsed", "extensionsRequired", "meshes", "skins", "nodes"] {
                assert_eq!(json.get(key), it.json.get(key), "{name}: {key}");
            }
            let accessors = it.json["accessors"].as_array().unwrap();
            assert_eq!(json["accessors"].as_array().unwrap()[..], accessors[..accessors.len() - 2]);
            let stream = bytes(&case["encoded"]);
            let view = json!([{ "buffer": 0, "byteOffset": 0, "byteLength": stream.len() }]);
            assert_eq!((&json["bufferViews"], &bin[..stream.len()]), (&view, &stream[..]), "{name}");
            let again = crate::Document::from_slice("again", &glb, None).unwrap();
            let again = crate::Asset::from_document(again).unwrap();
            let mesh = |asset: &crate::Asset| asset.instances[0].primitives[0].mesh.clone();
            assert_eq!(mesh(&again).vertices(), mesh(&asset).vertices());
            assert_eq!(mesh(&again).indices(), mesh(&asset).indices());
            assert_eq!(mesh(&again).influences(), mesh(&asset).influences());
        }
    }

    #[test]
    fn the_uncompressed_form_is_read_where_the_extension_is_not_required() {
        let case = cases().pop().unwrap();
        let mut it = compressed(&case, |_| ());
        it.json.as_object_mut().unwrap().remove("extensionsRequired");
        let positions =
            |it: &Builder| it.import().unwrap().instances[0].primitives[0].mesh.vertices().positions.clone();
        // The primitive has no uncompressed form yet.
        assert_eq!(it.summary(), []);
        assert_eq!(positions(&it).len(), 63);
        let own = it.floats("VEC3", &[7.0; 9]);
        primitive(&mut it)["attributes"]["POSITION"] = json!(own);
        let indices = it.accessor("SCALAR", 5121, 3, &[0, 1, 2]);
        primitive(&mut it)["indices"] = json!(indices);
        assert_eq!(it.summary(), []);
        assert_eq!(positions(&it), [[7.0; 3]; 3]);
        let asset = it.import().unwrap();
        assert!(asset.document.json_text().contains(EXTENSION));
        // The stream is not read.
        primitive(&mut it)["extensions"][EXTENSION]["attributes"]["POSITION"] = json!(99);
        assert_eq!(it.summary(), []);
        it.json["extensionsRequired"] = json!([EXTENSION]);
        assert_eq!(it.summary(), [(Severity::Error, PLACE.to_string(), 1)]);
    }

    #[test]
    fn a_mesh_that_cannot_be_decoded_is_one_problem() {
        let case = &cases()[0];
        let one = |it: &Builder, path: &str, word: &str| {
            let problems = it.report();
            assert_eq!(problems.len(), 1, "{problems:?}");
            let problem = &problems[0];
            assert_eq!((problem.severity, problem.place.as_str(), problem.count), (Severity::Error, path, 1));
            assert!(problem.what.contains(word), "{problem}");
        };
        one(&compressed(case, |stream| stream.truncate(100)), PLACE, "cannot be decoded");
        one(&compressed(case, |stream| *stream = b"no mesh".to_vec()), PLACE, "cannot be decoded");
        let mut it = compressed(case, |_| ());
        primitive(&mut it)["extensions"][EXTENSION]["bufferView"] = json!(9);
        one(&it, &format!("{PLACE}/bufferView"), "refers to 9");
        let mut it = compressed(case, |_| ());
        primitive(&mut it)["extensions"][EXTENSION]["attributes"]["NORMAL"] = json!(77);
        one(&it, &format!("{PLACE}/attributes/NORMAL"), "no attribute 77");
        let mut it = compressed(case, |_| ());
        it.json["accessors"][2]["type"] = json!("VEC4");
        one(&it, &format!("{PLACE}/attributes/NORMAL"), "has 3 numbers a vertex, 4 expected");
        let mut it = compressed(case, |_| ());
        it.json["accessors"][0]["count"] = json!(30);
        one(&it, PLACE, "more than the 70 vertices and 30 corners");
        let mut it = compressed(case, |_| ());
        it.json["bufferViews"][0]["byteLength"] = json!(1_000_000);
        one(&it, "/bufferViews/0", "ends 1000000 bytes");
        let mut it = compressed(case, |_| ());
        primitive(&mut it)["extensions"][EXTENSION]["attributes"] = json!({});
        one(&it, PLACE, "refers to no attribute");
    }

    #[test]
    fn counts_and_types_follow_the_document_or_the_stream() {
        let case = &cases()[0];
        let mut it = compressed(case, |_| ());
        for accessor in it.json["accessors"].as_array_mut().unwrap() {
            accessor["count"] = json!(accessor["count"].as_u64().unwrap() + 3);
        }
        let warning = (Severity::Warning, PLACE.to_string(), 1);
        assert_eq!(it.summary(), [warning.clone(), warning]);
        let mesh = it.import().unwrap().instances[0].primitives[0].mesh.clone();
        assert_eq!((mesh.vertex_count(), mesh.indices().len()), (70, 288));
        // Joints are 8-bit in the stream and 16-bit in the document; normals are bytes.
        let mut it = compressed(case, |_| ());
        it.json["accessors"][4]["componentType"] = json!(5123);
        it.json["accessors"][2]["componentType"] = json!(5120);
        let asset = it.import().unwrap();
        assert_eq!(asset.instances[0].primitives[0].mesh.influences(), mesh.influences());
        let normals = asset.document.buffer_view(asset.document.view_count() - 5).unwrap();
        // Three components, padded to four bytes.
        assert_eq!(normals.len(), 70 * 4);
        assert!(
            normals.chunks(4).all(|n| n[3] == 0 && n[..3].iter().all(|&b| (-1..=1).contains(&(b as i8))))
        );
    }

    #[test]
    fn damaged_streams_are_errors() {
        let mut state = 1_u32;
        let mut random = |below: usize| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as usize % below
        };
        for case in cases() {
            let mut refused = 0;
            for _ in 0..60 {
                let it = compressed(&case, |stream| {
                    let at = random(stream.len());
                    match random(3) {
                        0 => stream.truncate(at),
                        1 => stream[at] ^= 1 << random(8),
                        _ => stream[at] = random(256) as u8,
                    }
                });
                let Err(found) = it.import() else { continue };
                refused += 1;
                // A damaged stream can decode to any numbers, like any document.
                let first = &found.problems[0];
                assert!(first.place.starts_with("/meshes/0/primitives/0/"), "{first}");
            }
            assert!(refused > 20, "{}: {refused}", case["name"]);
        }
    }

    #[test]
    fn what_a_refused_extension_means_is_not_looked_at() {
        let mut it = crate::testing::character();
        it.json["extensionsUsed"] = json!(["ACME_cloud"]);
        it.json["extensionsRequired"] = json!(["ACME_cloud"]);
        let own = json!({"ACME_cloud": {}});
        it.json["bufferViews"].as_array_mut().unwrap().push(json!({"extensions": own}));
        it.json["accessors"].as_array_mut().unwrap().push(json!({"extensions": own, "bufferView": 99}));
        it.json["accessors"]
            .as_array_mut()
            .unwrap()
            .push(json!({"componentType": 5126, "type": "VEC3", "count": 3, "bufferView": 3}));
        it.json["meshes"][0]["primitives"] = json!([
            {"attributes": {"POSITION": 3, "JOINTS_0": 1, "WEIGHTS_0": 2}},
            {"attributes": {"POSITION": 4, "JOINTS_0": 1, "WEIGHTS_0": 2}},
            {"attributes": {"POSITION": 2}, "extensions": own},
        ]);
        let paths = |it: &Builder| it.report().into_iter().map(|p| p.place).collect::<Vec<_>>();
        assert_eq!(paths(&it), ["/extensionsRequired/0"]);
        // If the extension is only used and not required, the importer checks these objects and reports
        // errors.
        it.json.as_object_mut().unwrap().remove("extensionsRequired");
        let found = paths(&it);
        for path in ["/bufferViews/3", "/accessors/3", "/meshes/0/primitives/2/attributes/POSITION"] {
            assert!(found.iter().any(|p| p.starts_with(path)), "{path}: {found:?}");
        }
    }
}
