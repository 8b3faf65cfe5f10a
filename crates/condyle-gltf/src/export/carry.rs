//! Packs the data of a document that stays as it is: what is still referred to, decompressed, under new indices.

use serde_json::{Map, Value};

use super::bin::Bin;
use crate::appearance::IMAGE_REPLACED;
use crate::document::Document;
use crate::extensions::{remove_extension, unlist_extension};
use crate::json::whole;
use crate::problem::{Problem, Severity};
use crate::{extensions, meshopt};

/// What was carried over. References in the document are to these indices now.
pub(super) struct Carried {
    pub(super) accessors: Vec<Value>,
    pub(super) bin: Bin,
    pub(super) problems: Vec<Problem>,
}

/// Moves accessors, views and images into one buffer, and takes their lists out of `json`.
pub(super) fn carry(json: &mut Value, document: &Document) -> Carried {
    let everything = may_refer_in_unknown_ways(json);
    let mut problems = Vec::new();
    let accessors = take_list(json, "accessors");
    let views = take_list(json, "bufferViews");
    take_list(json, "buffers");

    let exists = vec![true; accessors.len()];
    let kept = renumber(json, accessor_references, &exists, everything, "/accessors", &mut problems);
    // Back into the document for a moment: views are found wherever their key stands.
    json["accessors"] = kept.into_iter().map(|i| accessors[i].clone()).collect();

    let exists: Vec<bool> = (0..views.len()).map(|i| document.buffer_view(i).is_some()).collect();
    let mut bin = Bin::default();
    for i in renumber(json, view_references, &exists, everything, "/bufferViews", &mut problems) {
        let mut view = views[i].as_object().cloned().unwrap_or_default();
        for name in meshopt::EXTENSIONS {
            remove_extension(&mut view, name);
        }
        // An unreadable view is kept only for its index, which an unknown extension may hold.
        bin.add_view(view, document.buffer_view(i).unwrap_or(&[0; 4]));
    }
    embed_images(json, document, &mut bin, &mut problems);

    let accessors = take_list(json, "accessors");
    for name in meshopt::EXTENSIONS {
        unlist_extension(json, name);
    }
    if !needs_quantization(json, &accessors) {
        unlist_extension(json, "KHR_mesh_quantization");
    }
    Carried { accessors, bin, problems }
}

fn take_list(json: &mut Value, key: &str) -> Vec<Value> {
    match json.as_object_mut().and_then(|root| root.remove(key)) {
        Some(Value::Array(list)) => list,
        _ => vec![],
    }
}

/// Whether an extension in use may hold indices of accessors or views in places that are not known here.
/// Then nothing may be left out, so that these indices stay right.
fn may_refer_in_unknown_ways(json: &Value) -> bool {
    let used = json.get("extensionsUsed").and_then(Value::as_array);
    used.into_iter().flatten().filter_map(Value::as_str).any(|name| !extensions::is_traceable(name))
}

/// What to do with a reference: it may be rewritten; `false` removes it.
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
    for node in json.get_mut("nodes").and_then(Value::as_array_mut).into_iter().flatten() {
        let instancing = node.pointer_mut("/extensions/EXT_mesh_gpu_instancing/attributes");
        if let Some(attributes) = instancing.and_then(Value::as_object_mut) {
            attributes.retain(|_, reference| edit(reference));
        }
    }
}

/// Visits every reference to a view: accessors, sparse accessors, images, extensions.
/// The depth of a parsed document is bounded, so the recursion is.
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

/// Gives the items that are referred to (or `everything`) new indices without gaps, and returns the old ones.
/// References to what does not exist are removed and reported.
fn renumber(
    json: &mut Value,
    references: fn(&mut Value, Edit<'_>),
    exists: &[bool],
    everything: bool,
    path: &str,
    problems: &mut Vec<Problem>,
) -> Vec<usize> {
    let target = |reference: &Value| {
        // The importer takes 24.0 for 24.
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
            path: path.into(),
            places: vec![path.into()],
            count,
            what: "references to an entry that does not exist or has no data".into(),
            action: "these references are left out of the written file".into(),
        });
    }
    kept
}

/// Stands for images without data, so that textures keep their indices and no refused URI is written.
const WHITE_PIXEL: &[u8] = b"\x89PNG\x0d\x0a\x1a\x0a\x00\x00\x00\x0dIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x00\x00\x00\x00:~\x9bU\x00\x00\x00\x0aIDATx\x9cc\xf8\x0f\x00\x01\x01\x01\x00\xb18\xf6\x14\x00\x00\x00\x00IEND\xaeB`\x82";

/// Brings images from files and data URIs into the buffer.
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
            mime.map(|mime| (data, mime)).ok_or_else(|| "its format is not known".into())
        });
        let (data, mime) = match found {
            Ok(found) => found,
            Err(what) => {
                problems.push(Problem {
                    severity: Severity::Warning,
                    path: format!("/images/{index}/uri"),
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

/// By the first bytes, which do not lie.
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

/// Whether a vertex attribute has a format that only `KHR_mesh_quantization` allows.
fn needs_quantization(json: &Value, accessors: &[Value]) -> bool {
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
