//! Maps of humanoid bones in documents: VRM 1.0, VRM 0.x, VRM animations, and the draft of
//! `KHR_character_skeleton_mapping`.

use std::collections::BTreeMap;

use crate::asset::Asset;
use crate::export::ClipExporter;
use crate::json::whole;
use crate::value::{Map, Value, json};

/// Vocabulary of VRM 1.0 in the draft of `KHR_character_skeleton_mapping`: the address in its example.
const VOCABULARY: &str = "https://github.com/vrm-c/vrm-specification/blob/\
                          70ae16e93abd6da727fdf641b67aa41010c6d933/specification/VRMC_vrm-1.0/humanoid.md";

impl Asset {
    /// Returns the joints of the document's humanoid bones, by their VRM 1.0 names. Empty without such a map.
    ///
    /// Sources in this order: `VRMC_vrm`, `VRMC_vrm_animation`, `VRM` (0.x),
    /// `KHR_character_skeleton_mapping`. The last one is a draft, so its earlier forms are read too. Bones
    /// whose nodes are not joints of the skeleton are left out.
    #[must_use]
    pub fn humanoid_bones(&self) -> BTreeMap<String, u16> {
        let joints: BTreeMap<usize, u16> =
            (0..).zip(self.skeleton.nodes()).map(|(joint, &node)| (node as usize, joint)).collect();
        let extension =
            |name: &str| self.document.json.pointer(&format!("/extensions/{name}/humanoid/humanBones"));
        let joint = |bone: &Value| joints.get(&bone.get("node").and_then(whole)?).copied();
        let new = extension("VRMC_vrm").or_else(|| extension("VRMC_vrm_animation"));
        if let Some(new) = new.and_then(Value::as_object) {
            return new.iter().filter_map(|(name, bone)| Some((name.to_string(), joint(bone)?))).collect();
        }
        if let Some(old) = extension("VRM").and_then(Value::as_array) {
            let named = old.iter().filter_map(|bone| Some((bone.get("bone")?.as_str()?, joint(bone)?)));
            return named.map(|(name, joint)| (new_name(name), joint)).collect();
        }
        let sets =
            self.document.json.pointer("/extensions/KHR_character_skeleton_mapping/skeletalRigMappings");
        let sets = sets.and_then(Value::as_object).into_iter().flat_map(Map::values);
        let sets = sets.filter_map(Value::as_object).map(|set| mapped(set, &joints, self.skeleton.names()));
        // The set with the most VRM bones: documents may have several vocabularies.
        sets.max_by_key(BTreeMap::len).unwrap_or_default()
    }
}

/// Returns the bones of one set of `KHR_character_skeleton_mapping`.
///
/// The draft of 2026 has `role: { node, name }`. Earlier drafts had `role: node`, and `joint name: role`.
fn mapped(set: &Map, joints: &BTreeMap<usize, u16>, names: &[String]) -> BTreeMap<String, u16> {
    let named = |name: &str| names.iter().position(|it| it == name).map(|at| at as u16);
    let bone = |(key, value): (&crate::value::Text, &Value)| {
        let key = key.as_str();
        let node = value.get("node").and_then(whole).or_else(|| whole(value));
        match (node, value.as_str()) {
            (Some(node), _) if is_bone(key) => Some((key.into(), *joints.get(&node)?)),
            (None, Some(role)) if is_bone(role) && named(key).is_some() => Some((role.into(), named(key)?)),
            (None, Some(name)) if is_bone(key) => Some((key.into(), named(name)?)),
            _ => None,
        }
    };
    set.iter().filter_map(bone).collect()
}

/// Whether a name is one of VRM 1.0's humanoid bones.
fn is_bone(name: &str) -> bool {
    const MIDDLE: [&str; 7] = ["hips", "spine", "chest", "upperChest", "neck", "head", "jaw"];
    const SIDES: [&str; 9] =
        ["Eye", "UpperLeg", "LowerLeg", "Foot", "Toes", "Shoulder", "UpperArm", "LowerArm", "Hand"];
    const FINGERS: [(&str, [&str; 3]); 5] = [
        ("Thumb", ["Metacarpal", "Proximal", "Distal"]),
        ("Index", ["Proximal", "Intermediate", "Distal"]),
        ("Middle", ["Proximal", "Intermediate", "Distal"]),
        ("Ring", ["Proximal", "Intermediate", "Distal"]),
        ("Little", ["Proximal", "Intermediate", "Distal"]),
    ];
    let Some(part) = name.strip_prefix("left").or_else(|| name.strip_prefix("right")) else {
        return MIDDLE.contains(&name);
    };
    let finger = |(finger, bones): &(&str, [&str; 3])| {
        part.strip_prefix(finger).is_some_and(|bone| bones.contains(&bone))
    };
    SIDES.contains(&part) || FINGERS.iter().any(finger)
}

/// Returns the VRM 1.0 name of a VRM 0.x bone.
fn new_name(old: &str) -> String {
    match old.strip_suffix("ThumbProximal") {
        Some(side) => format!("{side}ThumbMetacarpal"),
        None => old.replace("ThumbIntermediate", "ThumbProximal"),
    }
}

/// Returns the VRM 0.x name of a VRM 1.0 bone.
fn old_name(new: &str) -> String {
    match new.strip_suffix("ThumbProximal") {
        Some(side) => format!("{side}ThumbIntermediate"),
        None => new.replace("ThumbMetacarpal", "ThumbProximal"),
    }
}

impl ClipExporter<'_> {
    /// Sets the humanoid bones of the document: pairs of a VRM 1.0 name and a joint.
    ///
    /// A VRM 1.0 or 0.x document, and a VRM animation, gets the bones in that extension. Any other
    /// document gets `KHR_character_skeleton_mapping`, which is a draft of 2026. Joints without a node are
    /// left out.
    ///
    /// ```no_run
    /// use condyle_gltf::{Asset, ClipExporter};
    ///
    /// let asset = Asset::open("character.glb")?;
    /// let mut exporter = ClipExporter::new(&asset);
    /// exporter.set_humanoid(&[("hips", 0), ("head", 5)]);
    /// std::fs::write("mapped.glb", exporter.glb(&asset.clips)?)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_humanoid(&mut self, bones: &[(&str, u16)]) {
        let nodes = self.json["nodes"].as_array().map_or(0, Vec::len);
        let skeleton = &self.asset.skeleton;
        let node = |joint: u16| skeleton.nodes().get(usize::from(joint)).map(|&node| node as usize);
        let bones: Vec<(&str, usize, u16)> = bones
            .iter()
            .filter_map(|&(name, joint)| Some((name, node(joint)?, joint)))
            .filter(|(_, node, _)| *node < nodes)
            .collect();
        for extension in ["VRMC_vrm", "VRMC_vrm_animation"] {
            let place = self.json.pointer_mut(&format!("/extensions/{extension}/humanoid/humanBones"));
            if let Some(place) = place {
                *place = object(bones.iter().map(|&(name, node, _)| (name, json!({ "node": node }))));
                return;
            }
        }
        if let Some(place) = self.json.pointer_mut("/extensions/VRM/humanoid/humanBones") {
            let old = place.take();
            let bone = |&(name, node, _): &(&str, usize, u16)| {
                let name = old_name(name);
                let same = |it: &&Value| it.get("bone").and_then(Value::as_str) == Some(&name);
                let kept = old.as_array().and_then(|old| old.iter().find(same)).cloned();
                let mut bone = kept.unwrap_or_else(|| json!({ "bone": name, "useDefaultValues": true }));
                bone["node"] = json!(node);
                bone
            };
            *place = Value::Array(bones.iter().map(bone).collect());
            return;
        }
        let set = object(bones.iter().map(|&(name, node, joint)| {
            let joint = skeleton.names()[usize::from(joint)].as_str();
            let document =
                self.asset.document.json.pointer(&format!("/nodes/{node}/name")).and_then(Value::as_str);
            // The name is a copy of the node's, so it is left out where the skeleton has another one.
            match document {
                Some(own) if own == joint => (name, json!({ "node": node, "name": joint })),
                _ => (name, json!({ "node": node })),
            }
        }));
        let root = bones.iter().find(|(name, ..)| *name == "hips").map_or(0, |&(_, node, _)| node);
        self.use_extension("KHR_character", |old| match old {
            Some(old) => old,
            None => json!({ "rootNode": root }),
        });
        self.use_extension("KHR_character_skeleton_mapping", |old| {
            let mut mapping = old.unwrap_or_else(|| json!({}));
            mapping["skeletalRigMappings"][VOCABULARY] = set;
            mapping
        });
    }

    /// Sets an extension of the document, and lists it as used.
    fn use_extension(&mut self, name: &str, value: impl FnOnce(Option<Value>) -> Value) {
        let old = self.json.pointer(&format!("/extensions/{name}")).cloned();
        let value = value(old);
        self.json["extensions"][name] = value;
        let used = &mut self.json["extensionsUsed"];
        if !used.is_array() {
            *used = json!([]);
        }
        if let Some(list) = used.as_array_mut().filter(|list| list.iter().all(|it| it.as_str() != Some(name)))
        {
            list.push(json!(name));
        }
    }
}

fn object<'a>(members: impl Iterator<Item = (&'a str, Value)>) -> Value {
    let mut all = json!({});
    for (name, value) in members {
        all[name] = value;
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Builder;
    use crate::value::Text;

    /// Returns a document of hips and head with extensions.
    fn body(extensions: Value) -> Asset {
        let mut it = Builder::new(json!({
            "scenes": [{ "nodes": [0] }],
            "nodes": [{ "name": "Pelvis", "children": [1] }, { "name": "Skull", "translation": [0, 1, 0] }],
        }));
        let times = it.floats("SCALAR", &[0.0]);
        let turn = it.floats("VEC4", &[0.0, 0.0, 0.0, 1.0]);
        let channel = |node: u32| json!({ "sampler": 0, "target": { "node": node, "path": "rotation" } });
        it.json["animations"] = json!([{
            "samplers": [{ "input": times, "output": turn }],
            "channels": [channel(0), channel(1)],
        }]);
        let used: Vec<&str> = extensions.as_object().unwrap().keys().map(Text::as_str).collect();
        if !used.is_empty() {
            it.json["extensionsUsed"] = json!(used);
            it.json["extensions"] = extensions;
        }
        it.import().unwrap()
    }

    fn map(bones: &[(&str, u16)]) -> BTreeMap<String, u16> {
        bones.iter().map(|&(name, joint)| (name.into(), joint)).collect()
    }

    #[test]
    fn every_form_of_a_map_is_read() {
        let wanted = map(&[("hips", 0), ("head", 1)]);
        let humanoid = |bones: Value| json!({ "humanoid": { "humanBones": bones } });
        let khr = |set: Value| json!({ "skeletalRigMappings": { "other": { "a": "b" }, "vrm": set } });
        let new = json!({ "hips": { "node": 0 }, "head": { "node": 1 }, "neck": { "node": 9 } });
        let old = json!([{ "bone": "hips", "node": 0 }, { "bone": "head", "node": 1 }, {}, 7]);
        let cases = [
            ("VRMC_vrm", humanoid(new.clone())),
            ("VRMC_vrm_animation", humanoid(new.clone())),
            ("VRM", humanoid(old)),
            ("KHR_character_skeleton_mapping", khr(new)),
            ("KHR_character_skeleton_mapping", khr(json!({ "hips": 0, "head": 1, "jaw": -1, "neck": [] }))),
            (
                "KHR_character_skeleton_mapping",
                khr(json!({ "Pelvis": "hips", "Skull": "head", "x": "neck" })),
            ),
            (
                "KHR_character_skeleton_mapping",
                khr(json!({ "hips": "Pelvis", "head": "Skull", "neck": "x" })),
            ),
        ];
        for (name, extension) in cases {
            let asset = body(json!({ name: extension.clone() }));
            assert_eq!(asset.humanoid_bones(), wanted, "{name}: {extension}");
        }
        assert!(body(json!({})).humanoid_bones().is_empty());
        let thumbs = json!([{ "bone": "leftThumbProximal", "node": 0 }, { "bone": "leftThumbIntermediate", "node": 1 }]);
        let thumbs = body(json!({ "VRM": humanoid(thumbs) })).humanoid_bones();
        assert_eq!(thumbs, map(&[("leftThumbMetacarpal", 0), ("leftThumbProximal", 1)]));
    }

    #[test]
    fn bones_of_a_motion_file_are_joints_without_keys_too() {
        let file = |extension: &str| {
            let mut it = Builder::new(json!({
                "scenes": [{ "nodes": [0] }],
                "nodes": [{ "children": [1, 3] }, { "children": [2] }, {}, {}],
                "extensionsUsed": [extension],
            }));
            let bones =
                json!({ "hips": { "node": 1 }, "head": { "node": 2 }, "jaw": { "node": 99 }, "neck": 3 });
            it.json["extensions"] = json!({ extension: { "humanoid": { "humanBones": bones } } });
            it.import().unwrap()
        };
        let asset = file("VRMC_vrm_animation");
        assert_eq!(asset.skeleton.nodes(), [0, 1, 2]);
        assert_eq!(asset.humanoid_bones(), map(&[("hips", 1), ("head", 2)]));
        // A character has skins, which list its joints.
        assert!(file("VRMC_vrm").skeleton.nodes().is_empty());
    }

    #[test]
    fn a_written_map_is_read_again() {
        let humanoid = |bones: Value| json!({ "humanoid": { "humanBones": bones } });
        let bones = [("hips", 1), ("leftThumbMetacarpal", 0)];
        for extensions in [
            json!({}),
            json!({ "KHR_character": { "rootNode": 0 } }),
            json!({ "VRMC_vrm": humanoid(json!({})) }),
            json!({ "VRM": humanoid(json!([{ "bone": "hips", "node": 0, "axisLength": 3 }])) }),
        ] {
            let asset = body(extensions.clone());
            let mut exporter = ClipExporter::new(&asset);
            exporter.set_humanoid(&bones);
            exporter.set_humanoid(&bones);
            let glb = exporter.glb(&asset.clips).unwrap();
            let document = crate::Document::from_slice("a.glb", &glb, None).unwrap();
            let again = Asset::from_document(document).unwrap();
            assert_eq!(again.humanoid_bones(), map(&bones), "{extensions}");
            let text = again.document.json_text();
            match extensions.as_object().unwrap().keys().next().map(Text::as_str) {
                Some("VRM") => assert!(text.contains("axisLength"), "{text}"),
                Some("VRMC_vrm") => assert!(!text.contains("KHR_"), "{text}"),
                _ => {
                    let used = again.document.json_at("/extensionsUsed").unwrap();
                    assert_eq!(used, r#"["KHR_character","KHR_character_skeleton_mapping"]"#);
                    assert!(text.contains(r#""hips":{"node":1,"name":"Skull"}"#), "{text}");
                }
            }
        }
    }

    #[test]
    fn all_55_bones_are_known() {
        let names = ["hips", "jaw", "leftEye", "rightThumbMetacarpal", "leftLittleDistal", "rightToes"];
        assert!(names.iter().all(|name| is_bone(name)));
        assert!(["Hips", "leftHips", "leftThumbIntermediate", "left", ""].iter().all(|name| !is_bone(name)));
    }

    #[test]
    fn thumbs_have_other_names_in_vrm_0() {
        let old = ["leftThumbProximal", "leftThumbIntermediate", "leftThumbDistal", "hips"];
        let new = ["leftThumbMetacarpal", "leftThumbProximal", "leftThumbDistal", "hips"];
        assert_eq!(old.map(new_name), new);
        assert_eq!(new.map(old_name), old);
    }
}
