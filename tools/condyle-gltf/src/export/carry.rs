//! Copies the unchanged data of a document: the accessors, views and images that are still referenced, under
//! new indices.

use super::bin::Bin;
use crate::appearance::IMAGE_REPLACED;
use crate::document::{Document, StoredView};
use crate::extensions::{remove_extension, unlist_extension};
use crate::json::whole;
use crate::problem::{Problem, Severity};
use crate::value::{Map, Value};
use crate::{extensions, meshopt};

/// The copied data. References in the document now use the new indices.
pub(super) struct Carried {
    pub(super) accessors: Vec<Value>,
    pub(super) bin: Bin,
    pub(super) problems: Vec<Problem>,
    /// Bytes of the dropped views, as the file stores them.
    pub(super) left_out: usize,
    /// Extensions that prevented the exporter from dropping data.
    pub(super) kept_for: Vec<String>,
}

/// The form in which buffer views are written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Byte for byte as the file stores the views, including compressed ones. The JSON is
    /// [`Document::stored_json`].
    Stored,
    /// Decompressed.
    Decoded,
}

/// Moves accessors, views and images into one buffer, and removes their lists from `json`.
pub(super) fn carry(json: &mut Value, document: &Document, form: Form) -> Carried {
    let kept_for = unknown_ways(json);
    let everything = !kept_for.is_empty();
    let mut problems = Vec::new();
    let accessors = take_list(json, "accessors");
    let views = take_list(json, "bufferViews");
    take_list(json, "buffers");

    let exists = vec![true; accessors.len()];
    let kept = renumber(json, accessor_references, &exists, everything, "/accessors", &mut problems);
    // Temporarily part of the document again: `view_references` finds views in the whole document.
    json["accessors"] = kept.into_iter().map(|i| accessors[i].clone()).collect();

    let exists: Vec<bool> = (0..views.len()).map(|i| document.buffer_view(i).is_some()).collect();
    let mut bin = Bin::default();
    let kept = renumber(json, view_references, &exists, everything, "/bufferViews", &mut problems);
    for &i in &kept {
        let mut view = views[i].as_object().cloned().unwrap_or_default();
        let stored = document.stored_view(i).filter(|_| form == Form::Stored);
        if let Some(StoredView { plain, compressed: Some((extension, data)) }) = stored {
            bin.add_compressed(view, extension, data, plain);
            continue;
        }
        meshopt::EXTENSIONS.iter().for_each(|name| remove_extension(&mut view, name));
        // An unreadable view is kept only to preserve its index, which an unknown extension can refer to.
        bin.add_view(view, document.buffer_view(i).unwrap_or(&[0; 4]));
    }
    let stored = |i: usize| {
        let StoredView { plain, compressed } = document.stored_view(i)?;
        Some(plain.map_or(0, <[u8]>::len) + compressed.map_or(0, |(_, data)| data.len()))
    };
    let left_out = (0..views.len()).filter(|i| kept.binary_search(i).is_err()).filter_map(stored).sum();
    embed_images(json, document, &mut bin, &mut problems);

    let accessors = take_list(json, "accessors");
    for name in meshopt::EXTENSIONS.into_iter().filter(|name| !bin.is_compressed_by(name)) {
        unlist_extension(json, name);
    }
    if form == Form::Decoded && !needs_quantization(json, &accessors) {
        unlist_extension(json, "KHR_mesh_quantization");
    }
    Carried { accessors, bin, problems, left_out, kept_for }
}

fn take_list(json: &mut Value, key: &str) -> Vec<Value> {
    match json.as_object_mut().and_then(|root| root.remove(key)) {
        Some(Value::Array(list)) => list,
        _ => vec![],
    }
}

/// Returns the used extensions that can hold accessor or view indices in places unknown to this library. If
/// there is one, nothing can be dropped, so that these indices stay valid.
fn unknown_ways(json: &Value) -> Vec<String> {
    let used = json.get("extensionsUsed").and_then(Value::as_array);
    let used = used.into_iter().flatten().filter_map(Value::as_str);
    used.filter(|name| !extensions::is_traceable(name)).map(String::from).collect()
}

/// Edits a reference. Returning `false` removes it.
type Edit<'a> = &'a mut dyn FnMut(&mut Value) -> bool;

/// Visits every reference to an accessor.
fn accessor_references(json: &mut Value, edit: Edit<'_>) {
    for mesh in json.get_mut("meshes").and_then(Value::as_array_mut).into_iter().flatten() {
        for primitive in mesh.get_mut("primitives").and_then(Value::as_array_mut).into_iter().flatten() {
            if let Some(primitive) = primitive.as_object_mut() {
                primitive.retain(|key, reference| key != "indices" || edit(reference));
            }
            if let Some(attributes) = primitive.get_mut("attributes").and_then(Value::as_object_mut) {
                attributes.retain(|_, reference| edit(reference));
            }
            let targets = primitive.get_mut("targets").and_then(Value::as_array_mut);
            for target in targets.into_iter().flatten().filter_map(Value::as_object_mut) {
                target.retain(|_, reference| edit(reference));
            }
        }
    }
    for skin in json.get_mut("skins").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(skin) = skin.as_object_mut() {
            skin.retain(|key, reference| key != "inverseBindMatrices" || edit(reference));
        }
    }
    for animation in json.get_mut("animations").and_then(Value::as_array_mut).into_iter().flatten() {
        for sampler in animation.get_mut("samplers").and_then(Value::as_array_mut).into_iter().flatten() {
            if let Some(sampler) = sampler.as_object_mut() {
                sampler
                    .retain(|key, reference| !matches!(key.as_str(), "input" | "output") || edit(reference));
            }
        }
    }
    for node in json.get_mut("nodes").and_then(Value::as_array_mut).into_iter().flatten() {
        let instancing = node.pointer_mut("/extensions/EXT_mesh_gpu_instancing/attributes");
        if let Some(attributes) = instancing.and_then(Value::as_object_mut) {
            attributes.retain(|_, reference| edit(reference));
        }
    }
}

/// Visits every reference to a view: in accessors, sparse accessors, images and extensions. The depth of a
/// parsed document is limited, so recursion is safe.
fn view_references(value: &mut Value, edit: Edit<'_>) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| view_references(item, edit)),
        Value::Object(map) => {
            map.retain(|key, reference| key != "bufferView" || edit(reference));
            for (key, inner) in map {
                if key != "extras" {
                    view_references(inner, edit);
                }
            }
        }
        _ => {}
    }
}

/// Gives the referenced items (or all, if `everything` is set) consecutive new indices, and returns their old
/// indices. References to missing items are removed and reported.
fn renumber(
    json: &mut Value,
    references: fn(&mut Value, Edit<'_>),
    exists: &[bool],
    everything: bool,
    path: &str,
    problems: &mut Vec<Problem>,
) -> Vec<usize> {
    let target = |reference: &Value| {
        // The importer accepts 24.0 as 24.
        let index =
            reference.as_f64().filter(|i| i.fract() == 0.0 && *i >= 0.0).map_or(usize::MAX, |i| i as usize);
        exists.get(index).is_some_and(|&exists| exists).then_some(index)
    };
    let mut used = vec![everything; exists.len()];
    references(json, &mut |reference| {
        if let Some(index) = target(reference) {
            used[index] = true;
        }
        true
    });
    let kept: Vec<usize> = (0..used.len()).filter(|&i| used[i]).collect();
    let mut new = vec![0; used.len()];
    for (index, &old) in kept.iter().enumerate() {
        new[old] = index;
    }
    let mut count = 0;
    references(json, &mut |reference| match target(reference) {
        Some(old) => {
            *reference = new[old].into();
            true
        }
        None => {
            count += 1;
            false
        }
    });
    if count > 0 {
        problems.push(Problem {
            severity: Severity::Warning,
            place: path.into(),
            places: vec![path.into()],
            count,
            what: "references to an entry that does not exist or has no data".into(),
            action: "these references are omitted from the written file".into(),
        });
    }
    kept
}

/// Replaces images without data, so that textures keep their indices and no refused URI is written.
const WHITE_PIXEL: &[u8] = b"\x89PNG\x0d\x0a\x1a\x0a\x00\x00\x00\x0dIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x00\x00\x00\x00:~\x9bU\x00\x00\x00\x0aIDATx\x9cc\xf8\x0f\x00\x01\x01\x01\x00\xb18\xf6\x14\x00\x00\x00\x00IEND\xaeB`\x82";

/// Copies images from files and data URIs into the buffer.
fn embed_images(json: &mut Value, document: &Document, bin: &mut Bin, problems: &mut Vec<Problem>) {
    let images = json.get_mut("images").and_then(Value::as_array_mut);
    for (index, image) in images.into_iter().flatten().enumerate() {
        let Some(image) = image.as_object_mut() else { continue };
        if image.contains_key("bufferView") {
            continue;
        }
        let uri = image.get("uri").and_then(Value::as_str).unwrap_or_default();
        let declared = image.get("mimeType").and_then(Value::as_str);
        let found = document.resource(uri).and_then(|data| {
            let mime = mime_type(&data).or(declared).map(String::from);
            mime.map(|mime| (data, mime)).ok_or_else(|| "its format is unknown".into())
        });
        let (data, mime) = match found {
            Ok(found) => found,
            Err(what) => {
                problems.push(Problem {
                    severity: Severity::Warning,
                    place: format!("/images/{index}/uri"),
                    places: vec![format!("/images/{index}/uri")],
                    count: 1,
                    what,
                    action: IMAGE_REPLACED.into(),
                });
                (WHITE_PIXEL.to_vec(), "image/png".into())
            }
        };
        image.remove("uri");
        image.insert("mimeType".into(), mime.into());
        image.insert("bufferView".into(), bin.add_view(Map::new(), &data).into());
    }
}

/// Detects the MIME type from the first bytes, because the declared type can be wrong.
fn mime_type(data: &[u8]) -> Option<&'static str> {
    match data {
        [0x89, b'P', b'N', b'G', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        [0xab, b'K', b'T', b'X', b' ', b'2', b'0', ..] => Some("image/ktx2"),
        [b'D', b'D', b'S', b' ', ..] => Some("image/vnd-ms.dds"),
        _ => None,
    }
}

/// Returns whether any vertex attribute has a format that requires `KHR_mesh_quantization`.
pub(super) fn needs_quantization(json: &Value, accessors: &[Value]) -> bool {
    const FLOAT: u64 = 5126;
    const UNSIGNED: [u64; 2] = [5121, 5123];
    let meshes = json.get("meshes").and_then(Value::as_array).into_iter().flatten();
    let primitives = meshes.filter_map(|mesh| mesh.get("primitives")?.as_array()).flatten();
    let mut attributes = primitives.flat_map(|primitive| {
        let targets = primitive.get("targets").and_then(Value::as_array).into_iter().flatten();
        primitive.get("attributes").into_iter().chain(targets).filter_map(Value::as_object).flatten()
    });
    attributes.any(|(name, accessor)| {
        let accessor = whole(accessor).and_then(|i| accessors.get(i));
        let component = accessor.and_then(|a| a.get("componentType")?.as_u64()).unwrap_or(FLOAT);
        let normalized = accessor.and_then(|a| a.get("normalized")?.as_bool()).unwrap_or(false);
        match name.as_str() {
            "POSITION" | "NORMAL" | "TANGENT" => component != FLOAT,
            _ if name.starts_with("TEXCOORD_") => {
                component != FLOAT && !(normalized && UNSIGNED.contains(&component))
            }
            _ => false,
        }
    })
}

#[cfg(test)]
mod tests {
    use crate::value::json;
    use base64::prelude::{BASE64_STANDARD, Engine};

    use super::*;
    use crate::asset::Asset;
    use crate::export::{ClipExporter, Exporter};
    use crate::meshopt::encode;
    use crate::poser::{Poser, PoserOptions};
    use crate::testing::{Builder, character, chunks};

    /// Returns the character with positions compressed by `extension`, and the compressed stream. Buffer 1 is
    /// the fallback.
    fn compressed(extension: &str) -> (Builder, Vec<u8>) {
        let mut it = character();
        let positions = [0.0_f32, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0];
        let stream = encode::attributes(positions.map(f32::to_le_bytes).as_flattened(), 12);
        let view = it.view(&stream);
        let mut view = it.json["bufferViews"].as_array_mut().unwrap().remove(view);
        for (key, value) in [("byteStride", json!(12)), ("count", json!(3)), ("mode", json!("ATTRIBUTES"))] {
            view[key] = value;
        }
        let form = json!({ extension: view });
        it.json["bufferViews"][0] = json!({ "buffer": 1, "byteLength": 36, "name": "p", "extensions": form });
        it.json["extensionsUsed"] = json!([extension, "KHR_mesh_quantization"]);
        it.json["extensionsRequired"] = json!([extension]);
        (it, stream)
    }

    /// Imports a builder's document with a second buffer.
    fn import(it: &Builder, fallback: Value) -> Asset {
        let mut json: Value = serde_json::from_slice(&it.text()).unwrap();
        json["buffers"].as_array_mut().unwrap().push(fallback);
        let text = serde_json::to_vec(&json).unwrap();
        Asset::from_document(Document::from_slice("test", &text, None).unwrap()).unwrap()
    }

    #[test]
    fn compressed_views_keep_their_bytes() {
        for extension in meshopt::EXTENSIONS {
            let (it, stream) = compressed(extension);
            let mark = json!({ extension: { "fallback": true } });
            let asset = import(&it, json!({ "byteLength": 36, "extensions": mark }));
            let glb = ClipExporter::new(&asset).glb(&[]).unwrap();
            let (json, bin) = chunks(&glb);
            for key in ["extensionsUsed", "extensionsRequired"] {
                assert_eq!(json[key], it.json[key], "{extension}");
            }
            let view = &json["bufferViews"][0];
            assert_eq!(
                (&view["buffer"], &view["byteLength"], &view["name"]),
                (&json!(1), &json!(36), &json!("p"))
            );
            let form = &view["extensions"][extension];
            let start = whole(&form["byteOffset"]).unwrap();
            assert_eq!(bin[start..start + stream.len()], stream, "{extension}");
            assert_eq!((&form["buffer"], &form["count"]), (&json!(0), &json!(3)));
            assert_eq!(json["buffers"][1], json!({ "byteLength": 36, "extensions": mark }));
            let again = Asset::from_document(Document::from_slice("again", &glb, None).unwrap()).unwrap();
            let mesh = |asset: &Asset| asset.instances[0].primitives[0].mesh.clone();
            assert_eq!(mesh(&again).vertices(), mesh(&asset).vertices());
            // A posed scene has other vertices, so it does not use the extension.
            let mut poser = Poser::new(&asset, PoserOptions::default()).unwrap();
            poser.rest().unwrap();
            let posed = Exporter::new(&asset).unwrap().glb(&poser.scene()).unwrap();
            assert!(!chunks(&posed).0.to_string().contains(extension));
        }
    }

    #[test]
    fn both_forms_stay_where_readers_may_lack_the_extension() {
        let extension = meshopt::EXTENSIONS[1];
        let (mut it, stream) = compressed(extension);
        it.json.as_object_mut().unwrap().remove("extensionsRequired");
        let plain: Vec<u8> = (0..36).collect();
        let uri = format!("data:;base64,{}", BASE64_STANDARD.encode(&plain));
        let mark = json!({ extension: { "fallback": true } });
        let write = |fallback| {
            let asset = import(&it, fallback);
            chunks(&ClipExporter::new(&asset).glb(&[]).unwrap())
        };
        let (json, bin) = write(json!({ "byteLength": 36, "uri": uri, "extensions": mark }));
        let view = &json["bufferViews"][0];
        for (place, data) in [(view, &plain), (&view["extensions"][extension], &stream)] {
            let start = whole(&place["byteOffset"]).unwrap();
            assert_eq!((&place["buffer"], &bin[start..start + data.len()]), (&json!(0), &data[..]));
        }
        assert_eq!((json["buffers"].as_array().unwrap().len(), json.get("extensionsRequired")), (1, None));
        // Without fallback data, readers must support the extension.
        let (json, _) = write(json!({ "byteLength": 36, "uri": "gone.bin", "extensions": mark }));
        assert_eq!(json["extensionsRequired"], json!([extension]));
    }

    #[test]
    fn unknown_extensions_keep_everything() {
        let mut it = character();
        it.floats("SCALAR", &[0.0]);
        let asset = it.import().unwrap();
        let exporter = ClipExporter::new(&asset);
        assert_eq!((exporter.left_out_bytes(), exporter.kept_for().len()), (4, 0));
        it.json["extensionsUsed"] = json!(["ACME_motion"]);
        let asset = it.import().unwrap();
        let exporter = ClipExporter::new(&asset);
        assert_eq!((exporter.left_out_bytes(), exporter.kept_for()), (0, &["ACME_motion".to_string()][..]));
    }
}
