//! An arm written by hand: two bones, a skin, a blend shape, a rotation order, rotations before and after,
//! a pivot, geometric transforms, ways to inherit scale, +Z up, centimetres.

mod common;

use condyle_fbx::{Severity, read};
use condyle_gltf::{Asset, Document};

const ARM: &[u8] = include_bytes!("data/arm.fbx");

/// The smallest PNG: one transparent point.
const PNG: &[u8] = &[
    0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 0x0d, 0x49, 0x48, 0x44, 0x52, 0, 0, 0, 1, 0, 0,
    0, 1, 8, 6, 0, 0, 0, 0x1f, 0x15, 0xc4, 0x89, 0, 0, 0, 0x0d, 0x49, 0x44, 0x41, 0x54, 0x78, 0x9c, 0x63, 0,
    1, 0, 0, 5, 0, 1, 0x0d, 0x0a, 0x2d, 0xb4, 0, 0, 0, 0, 0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82,
];

fn asset(file: &mut dyn FnMut(&str) -> Option<Vec<u8>>) -> (Asset, Vec<condyle_fbx::Problem>) {
    let document = read("arm.fbx", ARM, file).expect("a valid file");
    let read = Document::from_json("arm.fbx", document.json, &document.binary).expect("a valid document");
    (Asset::from_document(read).expect("a valid asset"), document.problems)
}

#[test]
fn joints_and_vertices_are_those_of_ufbx() {
    let mut moments = 0;
    let found = common::file("arm.fbx", ARM, &mut moments).expect("both read it").expect("both read it");
    assert!(!found.sheared && found.joints == 5 && found.takes == 1 && found.bytes > 0, "{found:?}");
    assert!(moments >= 5 && found.corners >= 100, "{found:?}, {moments} moments");
    for difference in [found.rest, found.keys, found.between, found.linear, found.vertices] {
        assert!(difference <= 5e-7, "{found:?}");
    }
}

#[test]
fn nodes_have_the_names_of_the_file_and_no_helpers() {
    let (asset, _) = asset(&mut |_| None);
    let text = asset.document.json_text();
    let json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let names: Vec<&str> =
        json["nodes"].as_array().expect("nodes").iter().filter_map(|it| it["name"].as_str()).collect();
    assert_eq!(names, ["Upper", "Sleeve", "Lower", "Hand", "Box"]);
    assert_eq!(json["meshes"][0]["extras"]["targetNames"][0], "Bulge");
    assert_eq!(json["meshes"][0]["weights"][0], 0.25);
    // A primitive for each material.
    assert_eq!(json["meshes"][0]["primitives"].as_array().map(Vec::len), Some(2));
    // In metres, turned from +Z up.
    let upper = asset.skeleton.rest().transforms().next().expect("a joint");
    assert!((upper.translation[0] - 0.1).abs() < 0.02, "{upper:?}");
}

#[test]
fn curves_keep_their_keys_and_interpolation() {
    let (asset, _) = asset(&mut |_| None);
    let text = asset.document.json_text();
    let json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let animation = &json["animations"][0];
    assert_eq!(animation["name"], "Bend");
    let track = |node: &str, path: &str| {
        let channels = animation["channels"].as_array().expect("channels");
        let channel = channels.iter().find(|it| {
            let target = &it["target"];
            let index = target["node"].as_u64().expect("a node") as usize;
            target["path"] == path && json["nodes"][index]["name"] == node
        });
        let channel = channel.unwrap_or_else(|| panic!("{node} has no {path}"));
        let sampler = &animation["samplers"][channel["sampler"].as_u64().expect("an index") as usize];
        let input = &json["accessors"][sampler["input"].as_u64().expect("an index") as usize];
        let method = sampler["interpolation"].as_str().unwrap_or("LINEAR");
        (
            method.to_string(),
            input["count"].as_u64().expect("a count"),
            input["max"][0].as_f64().expect("a time"),
        )
    };
    // Constant, linear; the start of the take is at 0 s.
    assert_eq!(track("Sleeve", "weights"), ("STEP".into(), 3, 2.0));
    assert_eq!(track("Lower", "scale"), ("LINEAR".into(), 2, 2.0));
    // Euler angles have no equal in glTF.
    let (method, keys, end) = track("Upper", "rotation");
    assert!(method == "CUBICSPLINE" && (3..100).contains(&keys) && end == 2.0, "{method} {keys} {end}");
    assert_eq!(asset.clips[0].start(), 0.0);
}

#[test]
fn textures_come_from_the_file_or_are_reported() {
    let mut asked = Vec::new();
    let (without, problems) = asset(&mut |path| {
        asked.push(path.to_string());
        None
    });
    assert!(asked.iter().all(|path| !path.contains("..") && !path.contains(':')), "{asked:?}");
    assert!(
        asked.contains(&"lining.png".into()) && asked.contains(&"arm.fbm/lining.png".into()),
        "{asked:?}"
    );
    let missing =
        problems.iter().find(|it| it.severity == Severity::Warning && it.place == "texture lining.png");
    assert!(missing.is_some(), "{problems:?}");
    let json: serde_json::Value = serde_json::from_str(&without.document.json_text()).expect("JSON");
    assert!(json.get("images").is_none());
    let color = &json["materials"][0]["pbrMetallicRoughness"]["baseColorFactor"];
    assert!((color[2].as_f64().expect("a number") - 0.8).abs() < 1e-6, "{color}");

    let (with, problems) = asset(&mut |path| (path == "textures/lining.png").then(|| PNG.to_vec()));
    assert!(problems.iter().all(|it| it.severity == Severity::Note), "{problems:?}");
    let json: serde_json::Value = serde_json::from_str(&with.document.json_text()).expect("JSON");
    assert_eq!(json["images"][0]["mimeType"], "image/png");
    assert_eq!(json["materials"][1]["pbrMetallicRoughness"]["baseColorTexture"]["index"], 0);
}

/// Returns the arm with a value of the sleeve's visibility, and with keys of it if there are any.
fn arm_with_visibility(at_rest: f64, keys: &[f64], node: u32) -> Vec<u8> {
    let text = std::str::from_utf8(ARM).expect("ASCII");
    let name = ["Upper", "Lower", "Hand", "Sleeve", "Box"][node as usize - 1];
    let head = text.lines().position(|line| line.contains(&format!("Model::{name}\""))).expect("the node");
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    // After `Version` and `Properties70`.
    lines.insert(head + 3, format!("P: \"Visibility\", \"Visibility\", \"\", \"A\",{at_rest}"));
    let text = lines.join("\n");
    if keys.is_empty() {
        return text.into();
    }
    let (mut times, mut values) = (String::new(), String::new());
    for (at, key) in keys.iter().enumerate() {
        let comma = if at > 0 { "," } else { "" };
        times += &format!("{comma}{}", 46_186_158_000_u64 * (at as u64 + 1));
        values += &format!("{comma}{key}");
    }
    let count = keys.len();
    let curve = format!(
        r#"AnimationCurveNode: 64, "AnimCurveNode::Visibility", "" {{
            Properties70: {{ P: "d|Visibility", "Visibility", "", "A",{at_rest} }}
        }}
        AnimationCurve: 75, "AnimCurve::", "" {{
            KeyVer: 4009
            KeyTime: *{count} {{ a: {times} }}
            KeyValueFloat: *{count} {{ a: {values} }}
            KeyAttrFlags: *1 {{ a: 2 }}
            KeyAttrDataFloat: *4 {{ a: 0,0,0,0 }}
            KeyAttrRefCount: *1 {{ a: {count} }}
        }}
    }}
    Connections: {{
        C: "OO",64,51
        C: "OP",64,{node}, "Visibility"
        C: "OP",75,64, "d|Visibility""#
    );
    text.replacen("}\nConnections:  {", &curve, 1).into()
}

#[test]
fn hidden_meshes_are_left_out_and_reported() {
    let all = ["Sleeve", "Box"];
    for (at_rest, keys, node, meshes, problem) in [
        (1.0, &[][..], 4, &all[..], None),
        (0.0, &[], 4, &all[1..], Some("node Sleeve: it is hidden")),
        (0.0, &[], 5, &all[..1], Some("node Box: it is hidden")),
        // Keys that never show it.
        (0.0, &[0.0, 0.0], 4, &all[1..], Some("node Sleeve: it is hidden")),
        // Hidden at first, hidden later, and a flat curve.
        (0.0, &[0.0, 1.0, 0.0], 4, &all, Some("node Sleeve: its visibility is animated")),
        (1.0, &[1.0, 0.0], 4, &all, Some("node Sleeve: its visibility is animated")),
        (1.0, &[1.0, 1.0], 4, &all, None),
        // An opacity.
        (0.5, &[], 4, &all, None),
        // A joint above the box, and all joints.
        (0.0, &[], 3, &all, Some("node Box: it is below a hidden node")),
        (0.0, &[], 1, &all, Some("node Box: it is below a hidden node")),
    ] {
        let case = format!("{at_rest} {keys:?} {node}");
        let bytes = arm_with_visibility(at_rest, keys, node);
        let document = read("arm.fbx", &bytes, &mut |_| None).expect("a valid file");
        let found = document.problems.iter().map(|it| format!("{}: {}", it.place, it.what));
        let found: Vec<String> = found.filter(|it| it.contains("hidden") || it.contains("visib")).collect();
        assert_eq!(found, problem.into_iter().collect::<Vec<_>>(), "{case}");
        let glb = document.glb().expect("a small document");
        let read = Document::from_slice("arm.fbx", &glb, None).expect("a valid document");
        let asset = Asset::from_document(read).expect("a valid asset");
        let json: serde_json::Value = serde_json::from_str(&asset.document.json_text()).expect("JSON");
        let nodes = json["nodes"].as_array().expect("nodes");
        let with_mesh = nodes.iter().filter(|node| node.get("mesh").is_some());
        let with_mesh: Vec<&str> = with_mesh.filter_map(|node| node["name"].as_str()).collect();
        assert_eq!((with_mesh, nodes.len()), (meshes.to_vec(), 5), "{case}");
        // The weights of the sleeve have keys only with the sleeve.
        let channels = json["animations"][0]["channels"].as_array().expect("channels");
        let has_weights = channels.iter().any(|it| it["target"]["path"] == "weights");
        assert_eq!(has_weights, meshes.contains(&"Sleeve"), "{case}");
    }
}

#[test]
fn every_truncation_and_many_damaged_files_are_answered() {
    for length in (0..ARM.len()).step_by(97) {
        _ = read("cut.fbx", &ARM[..length], &mut |_| None);
    }
    let mut bytes = ARM.to_vec();
    let mut random = 1_u64;
    for _ in 0..400 {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let at = (random >> 33) as usize % bytes.len();
        let old = std::mem::replace(&mut bytes[at], b"0192-,{}\"x"[(random >> 20) as usize % 10]);
        _ = read("damaged.fbx", &bytes, &mut |_| None);
        bytes[at] = old;
    }
}
