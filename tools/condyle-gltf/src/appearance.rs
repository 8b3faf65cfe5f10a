//! Checks the parts of a document that do not move: materials, textures, images, cameras and lights.

use crate::document::Document;
use crate::json::Json;
use crate::problem::Problems;
use crate::uri::{self, Resource};
use crate::value::Value;

const ABSENT: &str = "treated as absent";
/// The action for an image without data.
pub(crate) const IMAGE_REPLACED: &str = "ignored; written files contain a white pixel instead";

const LIGHTS: &str = "KHR_lights_punctual";

/// Reports invalid references. None of them prevents posing.
pub(crate) fn check(document: &Document, problems: &mut Problems) {
    let root = Json::root(&document.json);
    let count = |key| root.count(key);
    let lights = root.extension(LIGHTS).map_or(0, |e| e.count("lights"));
    for node in root.list("nodes", &mut Problems::unheard()) {
        check_index(node.get("camera"), "cameras", count("cameras"), problems);
        let light = node.extension(LIGHTS).and_then(|e| e.get("light"));
        check_index(light, "lights", lights, problems);
    }
    for texture in root.objects("textures", problems) {
        check_index(texture.get("sampler"), "samplers", count("samplers"), problems);
        check_index(texture.get("source"), "images", count("images"), problems);
        for extension in ["KHR_texture_basisu", "EXT_texture_webp", "EXT_texture_avif", "MSFT_texture_dds"] {
            let source = texture.extension(extension).and_then(|e| e.get("source"));
            check_index(source, "images", count("images"), problems);
        }
    }
    for image in root.objects("images", problems) {
        check_index(image.get("bufferView"), "buffer views", count("bufferViews"), problems);
        if let Some(uri) = image.get("uri")
            && let Some(text) = problems.as_warnings(IMAGE_REPLACED, |problems| uri.text(problems))
        {
            match uri::locate(text, document.external()) {
                Ok(Resource::File(file)) if !file.is_file() => {
                    problems.warning(uri.path, "is not a regular file", IMAGE_REPLACED);
                }
                Ok(_) => {}
                Err(what) => problems.warning(uri.path, what, IMAGE_REPLACED),
            }
        }
        if image.get("bufferView").is_none() && image.get("uri").is_none() {
            problems.warning(image.path, "has neither a URI nor a buffer view", IMAGE_REPLACED);
        }
    }
    for material in root.objects("materials", problems) {
        check_textures(&material, count("textures"), problems);
    }
}

/// Checks all texture references of a material and its extensions: objects whose key ends in `Texture`.
fn check_textures(json: &Json<'_>, texture_count: usize, problems: &mut Problems) {
    let Value::Object(map) = json.value else { return };
    for (key, _) in map.iter().filter(|(_, value)| value.is_object() || value.is_array()) {
        let Some(child) = json.get(key) else { continue };
        if key.ends_with("Texture") {
            check_index(child.get("index"), "textures", texture_count, problems);
        }
        // The recursion is as deep as the JSON, whose parser allows 128 levels.
        check_textures(&child, texture_count, problems);
    }
}

fn check_index(reference: Option<Json<'_>>, what: &str, count: usize, problems: &mut Problems) {
    if let Some(json) = reference {
        problems.as_warnings(ABSENT, |problems| json.index(what, count, problems));
    }
}

#[cfg(test)]
mod tests {
    use crate::problem::Severity;
    use crate::testing::character;
    use crate::value::json;

    #[test]
    fn references_that_lead_nowhere_are_warned_of() {
        let mut it = character();
        it.json["nodes"][0]["camera"] = json!(0);
        it.json["textures"] = json!([
            {"source": 0, "sampler": 3},
            {"extensions": {"EXT_texture_webp": {"source": 9}}},
        ]);
        it.json["images"] = json!([
            {"bufferView": 0},
            {"uri": "../../secret.png"},
            {"uri": "data:,x"},
            {"bufferView": 77},
            {},
            {"uri": "data:;base64,!!!"},
        ]);
        it.json["extensionsUsed"] = json!(["KHR_lights_punctual", "EXT_texture_webp", "KHR_materials_sheen"]);
        it.json["extensions"] = json!({"KHR_lights_punctual": {"lights": [{"type": "point"}]}});
        it.json["nodes"][0]["extensions"] = json!({"KHR_lights_punctual": {"light": 0}});
        it.json["nodes"][1]["extensions"] = json!({"KHR_lights_punctual": {"light": 1}});
        it.json["materials"] = json!([{
            "normalTexture": {"index": 1},
            "pbrMetallicRoughness": {"baseColorTexture": {"index": 2}},
            "extensions": {"KHR_materials_sheen": {"sheenColorTexture": {"index": "x"}}},
        }]);
        let warning = |path: &str| (Severity::Warning, path.to_string(), 1);
        assert_eq!(
            it.summary(),
            [
                warning("/nodes/0/camera"),
                warning("/nodes/1/extensions/KHR_lights_punctual/light"),
                warning("/textures/0/sampler"),
                warning("/textures/1/extensions/EXT_texture_webp/source"),
                warning("/images/1/uri"),
                warning("/images/3/bufferView"),
                warning("/images/4"),
                warning("/images/5/uri"),
                warning("/materials/0/pbrMetallicRoughness/baseColorTexture/index"),
                warning("/materials/0/extensions/KHR_materials_sheen/sheenColorTexture/index"),
            ]
        );
    }
}
