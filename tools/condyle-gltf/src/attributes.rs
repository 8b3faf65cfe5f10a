//! Checks the vertex attributes that posing does not change: texture coordinates, colours and custom
//! attributes.

use std::collections::HashMap;

use crate::accessor::{Accessors, check_finite};
use crate::format::{Component, Format, Shape, Usage};
use crate::influences::check_count;
use crate::json::Json;
use crate::problem::Problems;

const FRACTIONS: &[Format] =
    &[Format::plain(Component::F32), Format::normalized(Component::U8), Format::normalized(Component::U16)];
const COORDINATES: Usage = Usage {
    shape: Shape::Vec2,
    formats: FRACTIONS,
    quantized: &[
        Format::plain(Component::I8),
        Format::plain(Component::U8),
        Format::plain(Component::I16),
        Format::plain(Component::U16),
        Format::normalized(Component::I8),
        Format::normalized(Component::I16),
    ],
};
const COLOR: Usage = Usage { shape: Shape::Vec4, formats: FRACTIONS, quantized: &[] };
const COLOR_WITHOUT_ALPHA: Usage = Usage { shape: Shape::Vec3, formats: FRACTIONS, quantized: &[] };

/// An invalid attribute, which the exporter drops.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Faulty {
    pub(crate) mesh: usize,
    pub(crate) primitive: usize,
    pub(crate) name: String,
}

/// Warns of invalid attributes in all meshes, and returns them. None of them prevents posing.
pub(crate) fn check(root: &Json<'_>, accessors: &Accessors<'_>, problems: &mut Problems) -> Vec<Faulty> {
    let mut checker = Checker { root, accessors, known: HashMap::new() };
    let mut faulty = Vec::new();
    for (mesh, json) in root.list("meshes", &mut Problems::unheard()).iter().enumerate() {
        for (primitive, json) in json.list("primitives", &mut Problems::unheard()).iter().enumerate() {
            for (name, place) in json.entries("attributes", &mut Problems::unheard()) {
                let sound = problems.as_warnings("the attribute is ignored", |problems| {
                    checker.check(name, &place, json, problems)
                });
                if sound.is_none() {
                    faulty.push(Faulty { mesh, primitive, name: name.into() });
                }
            }
        }
    }
    faulty
}

struct Checker<'a> {
    root: &'a Json<'a>,
    accessors: &'a Accessors<'a>,
    /// Whether the numbers of each checked accessor are finite. Many primitives can share an accessor.
    known: HashMap<usize, bool>,
}

impl Checker<'_> {
    fn check(
        &mut self,
        name: &str,
        place: &Json<'_>,
        primitive: &Json<'_>,
        problems: &mut Problems,
    ) -> Option<()> {
        let kind = name.trim_end_matches(|c: char| c.is_ascii_digit());
        let usage = match kind {
            // Attributes that posing changes are checked where the meshes are loaded.
            "POSITION" | "NORMAL" | "TANGENT" | "JOINTS_" | "WEIGHTS_" => return Some(()),
            "TEXCOORD_" => &COORDINATES,
            "COLOR_"
                if self.accessors.json(place).and_then(|a| a.get("type")).is_some_and(|t| t == "VEC3") =>
            {
                &COLOR_WITHOUT_ALPHA
            }
            "COLOR_" => &COLOR,
            _ if name.starts_with('_') => {
                return place.index("accessors", self.root.count("accessors"), problems).map(|_| ());
            }
            _ => {
                let what = "is neither an attribute of glTF nor begins with an underscore";
                problems.error(&place.path, what);
                return None;
            }
        };
        let accessor = self.accessors.get(place, usage, problems)?;
        let position = primitive.get("attributes").and_then(|a| a.get("POSITION"));
        let count = position.and_then(|p| self.accessors.json(&p)?.get("count")?.as_u64());
        if let Some(count) = count {
            check_count(accessor.count, count as usize, place, problems)?;
        }
        let index = place.whole(problems)?;
        let finite = match self.known.get(&index) {
            Some(&finite) => finite,
            None => {
                let finite = check_finite(&accessor.floats(problems)?, place, problems).is_some();
                self.known.insert(index, finite);
                finite
            }
        };
        finite.then_some(())
    }
}

#[cfg(test)]
mod tests {
    use crate::problem::Severity;
    use crate::testing::character;
    use crate::value::json;

    #[test]
    fn a_large_asset_prints_as_a_line() {
        let mut it = character();
        it.view(&[0; 100_000]);
        it.json["nodes"][1]["extras"] = json!(vec![0; 10_000]);
        let asset = it.import().unwrap();
        for text in [format!("{asset:?}"), format!("{:?}", asset.document)] {
            assert!(text.len() < 300 && text.contains("\"test\""), "{text}");
        }
    }

    #[test]
    fn faulty_attributes_are_left_out() {
        let mut it = character();
        let two = it.floats("VEC2", &[0.0; 4]);
        let nan = it.floats("VEC2", &[0.0, 1.0, f32::NAN, 0.0, f32::INFINITY, 0.0]);
        let good = it.floats("VEC2", &[0.5; 6]);
        let rgb = it.accessor("VEC3", 5126, 3, &[0; 36]);
        let attributes = &mut it.json["meshes"][0]["primitives"][0]["attributes"];
        for (name, accessor) in [
            ("TEXCOORD_0", good),
            ("TEXCOORD_1", 999),
            ("TEXCOORD_2", two),
            ("TEXCOORD_3", nan),
            ("TEXCOORD_4", rgb),
            ("COLOR_0", rgb),
            ("COLOR_1", good),
            ("COLOR_2", 999),
            ("_OWN", good),
            ("_LOST", 999),
            ("FOO", good),
        ] {
            attributes[name] = json!(accessor);
        }
        let path = |name: &str| format!("/meshes/0/primitives/0/attributes/{name}");
        let warning = |name, count| (Severity::Warning, path(name), count);
        assert_eq!(
            it.summary(),
            [
                warning("TEXCOORD_1", 1),
                warning("TEXCOORD_2", 1),
                warning("TEXCOORD_3", 2),
                warning("TEXCOORD_4", 1),
                warning("COLOR_1", 1),
                warning("COLOR_2", 1),
                warning("_LOST", 1),
                warning("FOO", 1),
            ]
        );
        let faulty: Vec<_> = it.import().unwrap().faulty.into_iter().map(|f| f.name).collect();
        let want =
            ["TEXCOORD_1", "TEXCOORD_2", "TEXCOORD_3", "TEXCOORD_4", "COLOR_1", "COLOR_2", "_LOST", "FOO"];
        assert_eq!(faulty, want);
    }
}
