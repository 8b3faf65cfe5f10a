//! `condyle compare`: distances known beforehand, and rejected input.

use crate::common::{BASELINE, Folder, condyle, models, ribbon, transcript};
use condyle_gltf::{Asset, ClipExporter};
use insta::assert_snapshot;
use serde_json::{Value, json};

/// Returns a folder with `ribbon.gltf`, and with `moved.gltf`, whose step goes 1 cm farther and whose wave
/// ends slightly earlier.
fn twins() -> Folder {
    let folder = Folder::with_ribbon();
    let mut data = folder.read("ribbon.bin");
    let end = data.len();
    // The last three numbers are the target of the step.
    data[end - 12..end - 8].copy_from_slice(&3.01_f32.to_le_bytes());
    let turn: [f32; 4] = [0.0, 0.0, 0.6, 0.8];
    for (place, number) in (end - 40..end - 24).step_by(4).zip(turn) {
        data[place..place + 4].copy_from_slice(&number.to_le_bytes());
    }
    folder.write("moved.bin", data);
    let mut moved = ribbon();
    moved["buffers"][0]["uri"] = json!("moved.bin");
    folder.write("moved.gltf", moved.to_string());
    folder
}

fn lines(folder: &Folder, line: &str) -> Vec<Value> {
    let output = folder.run(line).assert().success();
    let text = String::from_utf8(output.get_output().stdout.clone()).expect("UTF-8");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn worst(line: &Value) -> f64 {
    line["worst"]["millimetres"].as_f64().expect("a number")
}

#[test]
fn distances_are_those_of_the_keys() {
    let folder = twins();
    let portable = format!("--numeric portable --isa {BASELINE}");
    let session = folder.session(&[
        &format!("compare ribbon.gltf moved.gltf {portable}"),
        &format!("compare ribbon.gltf moved.gltf --clip Step --json {portable}"),
    ]);
    assert_snapshot!("two", session.replace(BASELINE, "baseline"));
    let found = lines(&folder, "compare ribbon.gltf moved.gltf --json");
    // The step moves every vertex by a centimetre, at its key only.
    let step = &found[1];
    assert_eq!((step["clip"].as_str(), step["moments"].as_u64()), (Some("Step"), Some(5)));
    assert!((worst(step) - 10.0).abs() < 1e-3 && step["worst"]["seconds"] == 1.0, "{step}");
    assert!((step["mean_of_max_millimetres"].as_f64().expect("a number") - 2.0).abs() < 1e-3, "{step}");
    // Without inverse bind matrices, the last vertex is bound 1 m to the side of its joint and 2 m above it.
    let angle = std::f64::consts::FRAC_PI_2 - 2.0 * 0.6_f64.asin();
    let chord = 2000.0 * 5.0_f64.sqrt() * (angle / 2.0).sin();
    assert_eq!(found[0]["worst"]["vertex"], 3);
    assert!((worst(&found[0]) - chord).abs() < 1e-3 * chord, "{chord} {}", found[0]);
}

#[test]
fn a_file_is_no_distance_from_itself() {
    let folder = Folder::with_ribbon();
    for line in ["compare ribbon.gltf ribbon.gltf --json", "compare ribbon.gltf ribbon.gltf --json --fps 7"] {
        for found in lines(&folder, line) {
            assert_eq!((worst(&found), &found["percentile_99_millimetres"]), (0.0, &json!(0.0)), "{found}");
        }
    }
}

#[test]
fn a_height_scales_and_a_rate_spaces() {
    let folder = twins();
    // The ribbon is 3 m high, because it has no inverse bind matrices.
    let [scaled] = &lines(&folder, "compare ribbon.gltf moved.gltf --clip 1 --height 0.75 --json")[..] else {
        panic!("one clip")
    };
    assert!((worst(scaled) - 2.5).abs() < 1e-3 && scaled["scale"] == 0.25, "{scaled}");
    let [even] = &lines(&folder, "compare ribbon.gltf moved.gltf --clip step --fps 10 --json")[..] else {
        panic!("one clip")
    };
    assert_eq!(even["moments"], 11);
}

#[test]
fn clips_without_names_go_by_their_order() {
    let folder = twins();
    let mut moved: Value = serde_json::from_slice(&folder.read("moved.gltf")).expect("JSON");
    for animation in moved["animations"].as_array_mut().expect("animations") {
        animation.as_object_mut().expect("an object").remove("name");
    }
    folder.write("nameless.gltf", moved.to_string());
    let found = lines(&folder, "compare ribbon.gltf nameless.gltf --json");
    let names: Vec<_> = found.iter().map(|f| (f["clip"].as_str(), f["clips"][1]["name"].as_str())).collect();
    assert_eq!(names, [(Some("Wave"), Some("animation 0")), (Some("Step"), Some("animation 1"))]);
    assert!((worst(&found[1]) - 10.0).abs() < 1e-3);
    // A missing clip is named, and the others are compared.
    moved["animations"] = json!([moved["animations"][1]]);
    moved["animations"][0]["name"] = json!("Step");
    folder.write("fewer.gltf", moved.to_string());
    let lines = [
        "compare ribbon.gltf fewer.gltf",
        "compare ribbon.gltf fewer.gltf --clip Wave",
        "compare fewer.gltf ribbon.gltf",
    ];
    assert_snapshot!("fewer", folder.session(&lines));
}

#[test]
fn distances_over_time_become_a_picture() {
    let folder = twins();
    folder.run("compare ribbon.gltf moved.gltf --plot a.svg").assert().success();
    let svg = String::from_utf8(folder.read("a.svg")).expect("UTF-8");
    assert!(svg.starts_with("<svg") && svg.contains("Wave") && svg.contains("millimetres"), "{svg}");
    folder.run("compare ribbon.gltf moved.gltf --clip Wave --plot a.PNG").assert().success();
    assert!(folder.read("a.PNG").starts_with(b"\x89PNG"));
}

#[test]
fn models_that_differ_are_refused() {
    let folder = Folder::with_ribbon();
    let changed = |name: &str, change: fn(&mut Value)| {
        let mut other = ribbon();
        change(&mut other);
        folder.write(name, other.to_string());
    };
    changed("more.gltf", |m| {
        let second = json!({ "name": "second", "mesh": 0, "skin": 0 });
        m["nodes"].as_array_mut().expect("nodes").push(second);
        m["scenes"][0]["nodes"] = json!([0, 3, 4]);
    });
    changed("fewer.gltf", |m| {
        for accessor in 0..4 {
            m["accessors"][accessor]["count"] = json!(3);
        }
        m["accessors"][0]["max"] = json!([1, 2, 0]);
        m["meshes"][0]["primitives"][0].as_object_mut().expect("an object").remove("indices");
    });
    // It shares neither vertices nor joints with the ribbon.
    changed("foreign.gltf", |m| {
        m["accessors"][0]["count"] = json!(3);
        for accessor in 1..4 {
            m["accessors"][accessor]["count"] = json!(3);
        }
        m["accessors"][0]["max"] = json!([1, 2, 0]);
        m["meshes"][0]["primitives"][0].as_object_mut().expect("an object").remove("indices");
        m["nodes"][0]["name"] = json!("house");
        m["nodes"][1]["name"] = json!("door");
        m["nodes"][1]["translation"] = json!([7, 7, 7]);
        m["nodes"][2]["name"] = json!("bell");
        m["nodes"][0]["children"] = json!([1, 2]);
        m["nodes"][1].as_object_mut().expect("an object").remove("children");
    });
    changed("renamed.gltf", |m| m["nodes"][1]["name"] = json!("left"));
    changed("still.gltf", |m| {
        m.as_object_mut().expect("an object").remove("animations");
    });
    changed("other.gltf", |m| {
        m["animations"] = json!([m["animations"][0]]);
        m["animations"][0]["name"] = json!("Fly");
    });
    folder.write("broken.gltf", "{}");
    let lines = [
        "compare ribbon.gltf more.gltf",
        "compare ribbon.gltf fewer.gltf",
        "compare ribbon.gltf foreign.gltf",
        "compare ribbon.gltf still.gltf",
        "compare still.gltf ribbon.gltf --clip Wave",
        "compare ribbon.gltf other.gltf",
        "compare ribbon.gltf broken.gltf",
        "compare ribbon.gltf gone.gltf",
    ];
    assert_snapshot!("differ", folder.session(&lines));
    folder.run("compare ribbon.gltf renamed.gltf").assert().success();
}

#[test]
fn wrong_command_lines_are_explained() {
    let folder = Folder::with_ribbon();
    let lines = [
        "compare ribbon.gltf",
        "compare ribbon.gltf ribbon.gltf --clip run",
        "compare ribbon.gltf ribbon.gltf --height 0",
        "compare ribbon.gltf ribbon.gltf --fps 0",
        "compare ribbon.gltf ribbon.gltf --plot a.gif",
    ];
    assert_snapshot!("wrong", folder.session(&lines));
    assert!(folder.written().is_empty());
}

#[test]
fn what_is_written_with_its_clips_moves_the_same() {
    let folder = Folder::new();
    let own = ["two_joints.glb", "morph.glb", "cubic_step_linear.glb", "ancestors.glb", "mirrored.glb"];
    let shared = ["Fox.glb", "syn_morph.glb", "syn_cubic_step.glb", "syn_ancestors.glb"];
    for path in models(&own, &shared) {
        let name = path.display();
        let asset = Asset::open(&path).unwrap_or_else(|e| panic!("{e}"));
        folder.write("again.glb", ClipExporter::new(&asset).glb(&asset.clips).expect("its own clips"));
        let output = folder.condyle(&["compare", &path.to_string_lossy(), "again.glb", "--json"]).assert();
        let text = String::from_utf8(output.success().get_output().stdout.clone()).expect("UTF-8");
        assert_eq!(text.lines().count(), asset.clips.len(), "{name}");
        for line in text.lines() {
            let found: Value = serde_json::from_str(line).expect("JSON");
            assert_eq!(worst(&found), 0.0, "{name}: {line}");
        }
    }
    // A fox whose triangles share vertices, in another order, with rounded positions.
    for pair in models(&[], &["Fox.glb", "fox_gltfpack_meshopt.glb"]).chunks_exact(2) {
        let output = folder.condyle(&["compare", "--json"]).args(pair).assert().success();
        let text = String::from_utf8(output.get_output().stdout.clone()).expect("UTF-8");
        for line in text.lines() {
            let found: Value = serde_json::from_str(line).expect("JSON");
            assert_eq!((&found["paired"], &found["unpaired"]), (&json!("place"), &json!([0, 0])), "{found}");
        }
    }
}

#[test]
fn help() {
    assert_snapshot!("compare_help", transcript(condyle().args(["compare", "--help"])));
}

/// Returns a frame, a hinge and a bell that turn by 60 degrees, without a mesh. The keys are in `door.bin`.
fn door(folder: &Folder) -> Value {
    let turn = |half: f64| [0.0, half.sin(), 0.0, half.cos()].map(|v| v as f32);
    let keys =
        [0.0, 1.0].into_iter().chain([turn(0.0), turn(std::f64::consts::FRAC_PI_6)].into_iter().flatten());
    let data: Vec<u8> = keys.flat_map(f32::to_le_bytes).collect();
    folder.write("door.bin", &data);
    let channel = |node: usize| json!({ "sampler": 0, "target": { "node": node, "path": "rotation" } });
    json!({
        "asset": { "version": "2.0" }, "scene": 0, "scenes": [{ "nodes": [0, 3] }],
        "nodes": [
            { "name": "frame", "children": [1] },
            { "name": "hinge", "children": [2], "translation": [0, 1, 0] },
            { "name": "handle" },
            { "name": "bell", "translation": [0, 1, 0] },
        ],
        "animations": [{
            "name": "open", "samplers": [{ "input": 0, "output": 1 }],
            "channels": [channel(0), channel(1), channel(3)],
        }],
        "accessors": [
            { "bufferView": 0, "componentType": 5126, "count": 2, "type": "SCALAR", "min": [0], "max": [1] },
            { "bufferView": 1, "componentType": 5126, "count": 2, "type": "VEC4" },
        ],
        "bufferViews": [{ "buffer": 0, "byteLength": 8 }, { "buffer": 0, "byteOffset": 8, "byteLength": 32 }],
        "buffers": [{ "byteLength": data.len(), "uri": "door.bin" }],
    })
}

#[test]
fn a_joint_that_lost_its_keys_is_compared_with_the_node_of_its_name() {
    let folder = Folder::new();
    folder.write("door.gltf", door(&folder).to_string());
    // The hinge has a parent joint; the bell is a root.
    for (channel, joint) in [(1, "hinge"), (2, "bell")] {
        let mut lost = door(&folder);
        lost["animations"][0]["channels"].as_array_mut().expect("a list").remove(channel);
        folder.write("lost.gltf", lost.to_string());
        for line in [
            "compare door.gltf lost.gltf --shell 5cm --json",
            "compare lost.gltf door.gltf --shell 5cm --json",
        ] {
            let found = &lines(&folder, line)[0];
            // 60 degrees at a distance of 5 cm.
            assert!((worst(found) - 50.0).abs() < 1e-2, "{found}");
            assert_eq!((&found["worst"]["joint"], &found["unpaired"]), (&json!(joint), &json!([0, 0])));
            assert_eq!((&found["pairs"], &found["unknown"]), (&json!(3), &json!([[], []])));
        }
    }
}

#[test]
fn joints_without_a_counterpart_are_unknown() {
    let folder = Folder::new();
    folder.write("door.gltf", door(&folder).to_string());
    let mut other = door(&folder);
    other["nodes"][1]["name"] = json!("axle");
    folder.write("other.gltf", other.to_string());
    let found = &lines(&folder, "compare door.gltf other.gltf --json")[0];
    assert_eq!((&found["unknown"], &found["unpaired"]), (&json!([["hinge"], ["axle"]]), &json!([1, 1])));
    let text = folder.session(&["compare door.gltf other.gltf"]);
    for word in ["unknown: hinge of door.gltf", "unknown: axle of other.gltf", "at least "] {
        assert!(text.contains(word), "{text}");
    }
}

#[test]
fn files_without_clips_are_compared_at_rest() {
    let folder = Folder::with_ribbon();
    let mut still = ribbon();
    still.as_object_mut().expect("an object").remove("animations");
    folder.write("still.gltf", still.to_string());
    still["nodes"][3]["skin"] = Value::Null;
    folder.write("same.gltf", still.to_string());
    still["nodes"][3]["translation"] = json!([0, 0, 0.001]);
    folder.write("moved.gltf", still.to_string());
    let found = &lines(&folder, "compare same.gltf moved.gltf --json")[0];
    assert!((worst(found) - 1.0).abs() < 1e-4 && found["clip"].is_null(), "{found}");
    let text = folder.session(&["compare same.gltf moved.gltf"]);
    assert!(text.contains("at rest 1.000 mm apart") && text.contains("only the rest poses"), "{text}");
    folder.refuses("compare same.gltf moved.gltf --fps 30", 2, &["have no clips", "--fps"]);
    folder.refuses("compare ribbon.gltf still.gltf", 1, &["still.gltf has no clips", "2 clips"]);
}
