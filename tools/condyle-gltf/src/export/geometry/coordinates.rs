//! The precision of texture coordinates.

use crate::json::whole;
use crate::value::Value;

/// Exponent of the step of texture coordinates without a transform: 2^-12, so the error is at most 1/8192
/// of the texture.
const EXPONENT: i32 = -12;

/// Returns the exponent of the step of a set of texture coordinates. It is smaller if a material of the
/// primitive repeats a texture by `KHR_texture_transform`, so that the error in the texture stays the same.
pub(super) fn exponent(document: &Value, primitive: &Value, set: usize) -> i32 {
    let variants = &primitive["extensions"]["KHR_materials_variants"]["mappings"];
    let variants = variants.as_array().into_iter().flatten().map(|mapping| &mapping["material"]);
    let materials = variants.chain([&primitive["material"]]).filter_map(whole);
    let repeats = materials.map(|material| repeats(&document["materials"][material], set));
    EXPONENT - repeats.fold(1.0, f64::max).log2().ceil() as i32
}

/// Largest scale of the transforms of all textures of a material that use a set of coordinates.
fn repeats(material: &Value, set: usize) -> f64 {
    let mut largest = 1.0_f64;
    let mut open = vec![material];
    while let Some(value) = open.pop() {
        let members = value.as_object().into_iter().flatten().map(|(_, member)| member);
        open.extend(members.chain(value.as_array().into_iter().flatten()));
        let transform = &value["extensions"]["KHR_texture_transform"];
        let own = whole(&transform["texCoord"]).or(whole(&value["texCoord"])).unwrap_or(0);
        if own == set {
            let scales = transform["scale"].as_array().into_iter().flatten().filter_map(Value::as_f64);
            largest = scales.map(f64::abs).fold(largest, f64::max);
        }
    }
    largest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::json;

    #[test]
    fn a_repeated_texture_has_a_smaller_step() {
        let textured = |set, transform: Value| {
            let transform = json!({ "KHR_texture_transform": serde_json::to_value(transform).unwrap() });
            let transform = serde_json::to_value(transform).unwrap();
            let info = serde_json::json!({ "index": 0, "texCoord": set, "extensions": transform });
            json!({ "materials": [{}, { "extensions": { "KHR_materials_sheen": { "sheenColorTexture": info } } }] })
        };
        let fixed = json!({ "material": 1 });
        let mapping = serde_json::json!({ "mappings": [{ "material": 1, "variants": [0] }] });
        let variant = json!({ "material": 0, "extensions": { "KHR_materials_variants": mapping } });
        for primitive in [fixed, variant] {
            for (scale, bits) in [([1.0, 1.0], 0), ([50.0, 2.0], 6), ([0.1, -64.0], 6), ([65.0, 1.0], 7)] {
                let document = textured(1, json!({ "scale": scale }));
                assert_eq!(exponent(&document, &primitive, 1), -12 - bits, "{scale:?}");
                assert_eq!(exponent(&document, &primitive, 0), -12);
                let moved = textured(1, json!({ "scale": scale, "texCoord": 0 }));
                assert_eq!([0, 1].map(|set| exponent(&moved, &primitive, set)), [-12 - bits, -12]);
            }
        }
        assert_eq!(exponent(&json!({}), &json!({ "material": 7 }), 0), -12);
    }
}
