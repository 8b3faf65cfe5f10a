//! The requirements of a document: its glTF version and its extensions.

use std::collections::HashSet;

use crate::container::ADVICE_1_0;
use crate::json::Json;
use crate::problem::{Problems, quoted};
use crate::value::{Map, Value};

/// Use of the data of an extension.
#[derive(Clone, Copy, PartialEq)]
enum Support {
    /// Implemented, or about materials, lights and the like, which are written unchanged.
    Full,
    /// Only the humanoid bones and springs of VRM are used.
    Part,
    None,
}

/// Extension that this crate knows.
struct Known {
    /// Name of the extension, or a prefix of several names, which ends with an underscore.
    name: &'static str,
    /// A document can require an extension with full support.
    support: Support,
    /// Whether the exporter finds all accessors and buffer views that the extension refers to.
    traceable: bool,
    /// Whether the extension refers to no node by its index. It can be an object of a node.
    local: bool,
}

const fn known(name: &'static str, support: Support, traceable: bool, local: bool) -> Known {
    Known { name, support, traceable, local }
}

const KNOWN: &[Known] = &[
    known("KHR_mesh_quantization", Support::Full, true, true),
    known("EXT_meshopt_compression", Support::Full, true, true),
    known("KHR_meshopt_compression", Support::Full, true, true),
    known("KHR_draco_mesh_compression", Support::Full, true, true),
    known("KHR_texture_transform", Support::Full, true, true),
    known("KHR_texture_basisu", Support::Full, true, true),
    known("EXT_texture_webp", Support::Full, true, true),
    known("EXT_texture_avif", Support::Full, true, true),
    known("MSFT_texture_dds", Support::Full, true, true),
    known("KHR_animation_pointer", Support::Full, true, false),
    known("KHR_lights_punctual", Support::Full, true, true),
    known("EXT_lights_image_based", Support::Full, false, true),
    known("EXT_lights_ies", Support::Full, false, true),
    known("KHR_xmp", Support::Full, false, true),
    known("KHR_xmp_json_ld", Support::Full, true, true),
    known("KHR_node_selectability", Support::Full, true, true),
    known("KHR_node_hoverability", Support::Full, true, true),
    known("KHR_materials_", Support::Full, true, true),
    known("EXT_materials_", Support::Full, false, true),
    known("KHR_node_visibility", Support::None, true, true),
    known("EXT_mesh_gpu_instancing", Support::None, true, true),
    known("VRM", Support::Part, true, false),
    known("VRMC_springBone", Support::Full, true, false),
    known("VRMC_springBone_extended_collider", Support::Full, true, false),
    known("VRMC_node_constraint", Support::Full, true, false),
    known("VRMC_vrm", Support::Part, true, false),
    known("VRMC_vrm_animation", Support::Part, true, false),
    known("VRMC_", Support::None, true, false),
];

fn find(name: &str) -> Option<&'static Known> {
    KNOWN.iter().find(|k| k.name == name || (k.name.ends_with('_') && name.starts_with(k.name)))
}

fn support(name: &str) -> Support {
    find(name).map_or(Support::None, |known| known.support)
}

fn is_supported(name: &str) -> bool {
    support(name) == Support::Full
}

/// Returns whether the exporter finds all accessors and buffer views that an extension refers to.
pub(crate) fn is_traceable(name: &str) -> bool {
    find(name).is_some_and(|k| k.traceable)
}

/// Returns whether an extension refers to no node by its index.
pub(crate) fn is_local(name: &str) -> bool {
    find(name).is_some_and(|k| k.local)
}

/// Returns whether an extension only describes its object, without references into it.
pub(crate) fn describes(name: &str) -> bool {
    matches!(name, "KHR_xmp" | "KHR_xmp_json_ld")
}

/// Returns advice on an extension that is not supported.
fn advice(name: &str) -> &'static str {
    match name {
        "EXT_mesh_gpu_instancing" => "; write the instances as nodes first, for example with gltf-transform",
        _ => "",
    }
}

/// Checks `asset.version` and `asset.minVersion`.
pub(crate) fn check_version(root: &Json<'_>, problems: &mut Problems) {
    let Some(asset) = root.require("asset", problems) else { return };
    let mut parse = |version: Json<'_>| -> Option<(u32, u32)> {
        let text = version.text(problems)?;
        let parts = text.split_once('.').and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
        if parts.is_none() {
            problems.error(&version.path, format!("is {}, expected a version such as \"2.0\"", quoted(text)));
        }
        parts
    };
    let version = asset.get("version").map(&mut parse);
    let least = asset.get("minVersion").and_then(&mut parse);
    match version {
        None => problems.error(&asset.path, "`version` is missing"),
        Some(Some((1, _))) => problems.error("/asset/version", ADVICE_1_0),
        Some(Some((2, 0))) | Some(None) => {}
        Some(Some((2, minor))) => {
            problems.note("/asset/version", format!("is 2.{minor}, newer than 2.0"), "read as 2.0");
        }
        Some(Some((major, minor))) => {
            problems.error("/asset/version", format!("is {major}.{minor}, only 2.0 is supported"));
        }
    }
    if let Some((major, minor)) = least.filter(|&v| v > (2, 0)) {
        problems.error("/asset/minVersion", format!("is {major}.{minor}, only 2.0 is supported"));
    }
}

/// Checks `extensionsRequired` and `extensionsUsed`.
pub(crate) fn check(root: &Json<'_>, problems: &mut Problems) {
    let used = root.list("extensionsUsed", problems);
    let used: Vec<(&str, &Json<'_>)> =
        used.iter().filter_map(|item| Some((item.text(problems)?, item))).collect();
    let names: HashSet<&str> = used.iter().map(|u| u.0).collect();
    for item in root.list("extensionsRequired", problems) {
        let Some(name) = item.text(problems) else { continue };
        if !is_supported(name) {
            let supported: Vec<_> =
                KNOWN.iter().filter(|k| k.support == Support::Full).map(|k| k.name).collect();
            let supported = supported.join(", ");
            let what = format!(
                "the extension {} is required, but not supported{}; supported are {supported} \
                 (a trailing underscore stands for all names with that prefix)",
                quoted(name),
                advice(name),
            );
            problems.error(item.path, what);
        } else if !names.contains(name) {
            problems.warning(
                item.path,
                format!("{} is not listed in `extensionsUsed`", quoted(name)),
                "treated as listed",
            );
        }
    }
    let mut listed = names;
    if has_undeclared(root.value, &listed) {
        report_undeclared(root, &mut listed, problems);
    }
    let refused = refused(root);
    for (name, item) in used {
        let (what, action) = match support(name) {
            Support::Part => ("is supported in part", "only its humanoid bones and springs are used"),
            Support::None if !refused.contains(name) => ("is unknown", "its data is ignored"),
            _ => continue,
        };
        problems.note(&item.path, format!("the extension {} {what}", quoted(name)), action);
    }
}

/// Returns whether an extension has objects but is not listed. Needs no paths, unlike the report.
fn has_undeclared(value: &Value, listed: &HashSet<&str>) -> bool {
    match value {
        Value::Object(map) => {
            let own = map.get("extensions").and_then(Value::as_object);
            own.is_some_and(|own| own.keys().any(|name| !listed.contains(name.as_str())))
                || map.iter().any(|(key, inner)| *key != "extras" && has_undeclared(inner, listed))
        }
        Value::Array(items) => items.iter().any(|inner| has_undeclared(inner, listed)),
        _ => false,
    }
}

/// Warns once of each extension that has objects but is not listed.
fn report_undeclared<'a>(json: &Json<'a>, listed: &mut HashSet<&'a str>, problems: &mut Problems) {
    match json.value {
        Value::Object(map) => {
            if let Some(Value::Object(extensions)) = map.get("extensions") {
                for name in extensions.keys().filter(|name| listed.insert(name)) {
                    let what = format!("{} is not listed in `extensionsUsed`", quoted(name));
                    problems.warning(json.path.child("extensions"), what, "treated as listed");
                }
            }
            let inner = map.iter().filter(|(key, value)| *key != "extras" && is_nested(value));
            for child in inner.filter_map(|(key, _)| json.get(key)) {
                report_undeclared(&child, listed, problems);
            }
        }
        Value::Array(items) => {
            let inner = (0..items.len()).filter(|index| is_nested(&items[*index]));
            for child in inner.filter_map(|index| json.element(index)) {
                report_undeclared(&child, listed, problems);
            }
        }
        _ => {}
    }
}

fn is_nested(value: &Value) -> bool {
    value.is_object() || value.is_array()
}

/// Returns whether the document lists the extension `name` as used or required.
pub(crate) fn uses(root: &Json<'_>, name: &str) -> bool {
    ["extensionsUsed", "extensionsRequired"].iter().any(|key| {
        root.list(key, &mut Problems::unheard()).iter().any(|item| item.value.as_str() == Some(name))
    })
}

/// Returns whether the document requires the extension `name`.
pub(crate) fn requires(root: &Json<'_>, name: &str) -> bool {
    let required = root.list("extensionsRequired", &mut Problems::unheard());
    required.iter().any(|item| item.value.as_str() == Some(name))
}

/// Returns the required extensions that are not supported. They make the importer refuse the document.
pub(crate) fn refused<'a>(root: &Json<'a>) -> HashSet<&'a str> {
    let required = root.list("extensionsRequired", &mut Problems::unheard());
    required.iter().filter_map(|item| item.value.as_str()).filter(|name| !is_supported(name)).collect()
}

/// Returns whether an object uses an extension that makes the importer refuse the document. The meaning of
/// such an object is unknown, so the importer cannot check it.
pub(crate) fn hides(refused: &HashSet<&str>, object: &Value) -> bool {
    if refused.is_empty() {
        return false;
    }
    let own = object.get("extensions").and_then(Value::as_object);
    own.is_some_and(|own| own.keys().any(|name| refused.contains(name.as_str())))
}

/// Removes an extension's object, and the `extensions` object if it becomes empty.
pub(crate) fn remove_extension(owner: &mut Map, name: &str) {
    let Some(extensions) = owner.get_mut("extensions").and_then(Value::as_object_mut) else { return };
    extensions.remove(name);
    if extensions.is_empty() {
        owner.remove("extensions");
    }
}

/// Removes an extension from `extensionsUsed` and `extensionsRequired`, and removes a list that becomes
/// empty.
pub(crate) fn unlist_extension(json: &mut Value, name: &str) {
    let Some(root) = json.as_object_mut() else { return };
    for key in ["extensionsUsed", "extensionsRequired"] {
        let Some(list) = root.get_mut(key).and_then(Value::as_array_mut) else { continue };
        list.retain(|listed| listed != name);
        if list.is_empty() {
            root.remove(key);
        }
    }
}

/// Adds an extension to `extensionsUsed` and `extensionsRequired`.
pub(crate) fn require_extension(json: &mut Value, name: &str) {
    for key in ["extensionsUsed", "extensionsRequired"] {
        match json.get_mut(key).and_then(Value::as_array_mut) {
            Some(list) if list.iter().any(|listed| listed == name) => {}
            Some(list) => list.push(name.into()),
            None => json[key] = vec![name].into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::Severity;
    use crate::value::json;

    fn problems(value: &Value) -> Vec<(Severity, String, String)> {
        let mut problems = Problems::new(0);
        check_version(&Json::root(value), &mut problems);
        check(&Json::root(value), &mut problems);
        problems.list().iter().map(|p| (p.severity, p.place.clone(), p.what.clone())).collect()
    }

    /// Humanoid bones and springs are read, so the extension is not unknown.
    #[test]
    fn vrm_is_supported_in_part() {
        for name in ["VRM", "VRMC_vrm", "VRMC_vrm_animation"] {
            let found = problems(&json!({"asset": {"version": "2.0"}, "extensionsUsed": [name]}));
            let [(Severity::Note, _, what)] = &found[..] else { panic!("{found:?}") };
            assert!(what.ends_with("is supported in part"), "{what}");
        }
    }

    #[test]
    fn versions() {
        let of = |asset: Value| {
            problems(&json!({"asset": asset})).into_iter().map(|p| (p.0, p.1)).collect::<Vec<_>>()
        };
        let error = |path: &str| vec![(Severity::Error, path.to_string())];
        assert_eq!(of(json!({"version": "2.0"})), []);
        assert_eq!(of(json!({"version": "2.1"})), [(Severity::Note, "/asset/version".to_string())]);
        assert_eq!(
            of(json!({"version": "2.1", "minVersion": "2.1"})).last(),
            error("/asset/minVersion").last()
        );
        assert_eq!(of(json!({"version": "1.0"})), error("/asset/version"));
        assert_eq!(of(json!({"version": "3.0"})), error("/asset/version"));
        assert_eq!(of(json!({"version": "two"})), error("/asset/version"));
        assert_eq!(of(json!({"version": 2.0})), error("/asset/version"));
        assert_eq!(of(json!({})), error("/asset"));
        assert_eq!(problems(&json!({})).len(), 1);
    }

    #[test]
    fn extensions() {
        let of = |required: Value, used: Value| {
            problems(
                &json!({"asset": {"version": "2.0"}, "extensionsRequired": required, "extensionsUsed": used}),
            )
        };
        let known = json!(["KHR_mesh_quantization", "KHR_materials_unlit"]);
        assert_eq!(of(known.clone(), known), []);
        let instancing = json!(["EXT_mesh_gpu_instancing"]);
        let found = of(instancing.clone(), instancing);
        assert_eq!((found[0].0, found[0].1.as_str()), (Severity::Error, "/extensionsRequired/0"));
        assert!(found[0].2.contains("EXT_mesh_gpu_instancing") && found[0].2.contains("gltf-transform"));
        assert_eq!(found.len(), 1);
        assert_eq!(of(json!([]), json!(["VRM"]))[0].0, Severity::Note);
        assert_eq!(of(json!(["KHR_xmp"]), json!([]))[0].0, Severity::Warning);
        // Without this extension, hidden nodes would be visible.
        let hidden = json!(["KHR_node_visibility"]);
        assert_eq!(of(hidden.clone(), hidden)[0].0, Severity::Error);
    }

    #[test]
    fn extensions_that_are_not_listed() {
        let found = problems(&json!({
            "asset": {"version": "2.0"},
            "extensionsUsed": ["A"],
            "nodes": [{"extensions": {"A": {}}}, {"extensions": {"B": {"extensions": {"C": {}}}}}],
            "extensions": {"B": {}},
            "extras": {"extensions": {"D": {}}},
        }));
        let warned = found.iter().filter(|p| p.0 == Severity::Warning).map(|p| p.1.as_str());
        assert_eq!(warned.collect::<Vec<_>>(), ["/extensions", "/nodes/1/extensions/B/extensions"]);
    }
}
