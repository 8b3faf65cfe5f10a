//! `--shell`: the radius of the balls around joints within which errors are bounded, in files and reports.

use crate::common::{Folder, models};
use serde_json::{Value, json};

/// Returns a folder with `arm.gltf`: two joints that turn continuously, without a mesh. The keys are in
/// `arm.bin`.
fn with_arm() -> Folder {
    let folder = Folder::new();
    let keys: u16 = 180;
    let turns = |axis: usize, speed: f32| {
        (0..keys).flat_map(move |key| {
            let half = 0.6 * (f32::from(key) * speed).sin();
            let mut turn = [0.0, 0.0, 0.0, half.cos()];
            turn[axis] = half.sin();
            turn
        })
    };
    let times = (0..keys).map(|key| f32::from(key) / 30.0);
    let numbers = times.chain(turns(0, 0.07)).chain(turns(2, 0.11));
    let data: Vec<u8> = numbers.flat_map(f32::to_le_bytes).collect();
    folder.write("arm.bin", &data);
    let (row, count) = (4 * usize::from(keys), keys);
    let view = |from: usize, length: usize| json!({ "buffer": 0, "byteOffset": from, "byteLength": length });
    let rotations =
        |view: usize| json!({ "bufferView": view, "componentType": 5126, "count": count, "type": "VEC4" });
    let channel = |node: usize| json!({ "sampler": node, "target": { "node": node, "path": "rotation" } });
    let arm = json!({
        "asset": { "version": "2.0" }, "scene": 0, "scenes": [{ "nodes": [0] }],
        "nodes": [
            { "name": "shoulder", "children": [1] },
            { "name": "elbow", "translation": [0, 0.3, 0] },
        ],
        "animations": [{
            "name": "swing",
            "samplers": [{ "input": 0, "output": 1 }, { "input": 0, "output": 2 }],
            "channels": [channel(0), channel(1)],
        }],
        "accessors": [
            { "bufferView": 0, "componentType": 5126, "count": count, "type": "SCALAR", "min": [0], "max": [179.0 / 30.0] },
            rotations(1),
            rotations(2),
        ],
        "bufferViews": [view(0, row), view(row, 4 * row), view(5 * row, 4 * row)],
        "buffers": [{ "byteLength": data.len(), "uri": "arm.bin" }],
    });
    folder.write("arm.gltf", arm.to_string());
    folder
}

fn lines(folder: &Folder, line: &str) -> Vec<Value> {
    let output = folder.run(line).assert().success();
    let text = String::from_utf8(output.get_output().stdout.clone()).expect("UTF-8");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// Returns the clips that `info` lists.
fn clips(folder: &Folder, file: &str) -> Vec<Value> {
    let output = folder.run(&format!("info {file} --json")).assert().success();
    let info: Value = serde_json::from_slice(&output.get_output().stdout).expect("JSON");
    info["entries"].as_array().expect("a list").iter().filter(|it| it["kind"] == "clip").cloned().collect()
}

fn text(folder: &Folder, line: &str) -> String {
    String::from_utf8(folder.run(line).assert().success().get_output().stdout.clone()).expect("UTF-8")
}

#[test]
fn a_container_states_the_shell_that_it_was_encoded_with() {
    let folder = with_arm();
    for (options, units, millimetres) in [
        ("", 0.03, "30.0"),
        ("--shell 5cm", 0.05, "50.0"),
        ("--shell 5cm --unit 1cm", 5.0, "50.0"),
        ("--unit 1cm", 3.0, "30.0"),
    ] {
        folder.run(&format!("encode arm.gltf -o arm.condyle {options}")).assert().success();
        let [clip] = &clips(&folder, "arm.condyle")[..] else { panic!("one clip") };
        assert!((clip["shell"].as_f64().expect("a number") - units).abs() < 1e-6, "{options}: {clip}");
        let metres = clip["shell_m"].as_f64();
        assert!(
            metres.is_none_or(|m| (1000.0 * m - millimetres.parse::<f64>().expect("a number")).abs() < 1e-4)
        );
        assert_eq!(metres.is_some(), options.contains("--unit"), "{options}: {clip}");
        let shown = text(&folder, "info arm.condyle");
        assert!(shown.contains(&format!("shell {millimetres} mm")), "{options}: {shown}");
    }
    // Every joint has vertices, so there is no ball.
    let covered = models(&["two_joints.glb"], &[]).swap_remove(0);
    let covered = covered.to_str().expect("a path in UTF-8");
    for (options, shell) in [(&[][..], json!(null)), (&["--shell", "25cm"], json!(0.25))] {
        folder.condyle(&["encode", covered, "-o", "covered.condyle"]).args(options).assert().success();
        assert_eq!(clips(&folder, "covered.condyle")[0]["shell"], shell, "{options:?}");
    }
}

#[test]
fn a_library_states_its_shells() {
    let folder = with_arm();
    std::fs::create_dir(folder.path("motion")).expect("a folder");
    for name in ["arm.gltf", "arm.bin"] {
        folder.write(&format!("motion/{name}"), folder.read(name));
    }
    for (options, units) in [("", 0.03), ("--shell 5cm --unit 1cm", 5.0), ("--shell 5cm", 0.05)] {
        // Parts of another run have another shell.
        folder.run(&format!("encode motion -o all.condyle --parts kept {options}")).assert().success();
        let [clip] = &clips(&folder, "all.condyle")[..] else { panic!("one clip") };
        assert!((clip["shell"].as_f64().expect("a number") - units).abs() < 1e-6, "{options}: {clip}");
    }
}

#[test]
fn compare_goes_by_the_shell_of_a_container() {
    let folder = with_arm();
    folder.run("encode arm.gltf -o narrow.condyle --shell 5cm").assert().success();
    folder.run("encode arm.gltf -o wide.condyle --shell 20cm").assert().success();
    folder.run("encode arm.gltf -o small.condyle --shell 5cm --unit 1cm").assert().success();
    for (line, millimetres, from, shown) in [
        ("arm.gltf arm.gltf", 30.0, "default", "30.0 mm of each, by default"),
        ("arm.gltf narrow.condyle", 50.0, "b", "50.0 mm of each, the shell of narrow.condyle"),
        ("wide.condyle arm.gltf", 200.0, "a", "200.0 mm of each, the shell of wide.condyle"),
        ("wide.condyle narrow.condyle", 50.0, "b", "50.0 mm of each, the shell of narrow.condyle"),
        ("narrow.condyle wide.condyle", 50.0, "a", "50.0 mm of each, the shell of narrow.condyle"),
        ("small.condyle small.condyle", 50.0, "a", "50.0 mm of each, the shell of small.condyle"),
        ("wide.condyle narrow.condyle --shell 1cm", 10.0, "shell", "10.0 mm of each, by --shell"),
    ] {
        let [found] = &lines(&folder, &format!("compare {line} --json"))[..] else { panic!("one clip") };
        assert_eq!(
            (&found["shell_millimetres"], &found["shell_from"]),
            (&json!(millimetres), &json!(from)),
            "{line}"
        );
        // The bound, at the radius that it was encoded for.
        let worst = found["worst"]["millimetres"].as_f64().expect("a number");
        let promised = 0.5 * line.matches(".condyle").count() as f64;
        assert!(worst <= promised, "{found}");
        let text = text(&folder, &format!("compare {line}"));
        assert!(text.contains(shown), "{line}: {text}");
    }
}

#[test]
fn decode_goes_by_the_shell_of_the_clip() {
    let folder = with_arm();
    folder.run("encode arm.gltf -o arm.condyle --shell 2m --error 1mm").assert().success();
    folder.run("decode arm.condyle -o back.glb").assert().success();
    // Compared at the frames, and three times between frames.
    let line = "compare arm.condyle back.glb --fps 120 --json";
    let [found] = &lines(&folder, line)[..] else { panic!("one clip") };
    assert_eq!(found["shell_millimetres"], 2000.0);
    let worst = found["worst"]["millimetres"].as_f64().expect("a number");
    // The tolerance is the precision of f32 at two metres.
    assert!(worst <= 1.0 / 16.0 + 1e-3, "{found}");
}

#[test]
fn pack_bounds_the_shell_that_it_is_given() {
    let folder = with_arm();
    let packed = |options: &str| {
        let said = lines(&folder, &format!("pack arm.gltf -o small.glb --json {options}"));
        let [found] = &lines(&folder, "compare arm.gltf small.glb --shell 2m --json")[..] else {
            panic!("one clip")
        };
        let worst = found["worst"]["millimetres"].as_f64().expect("a number");
        (1000.0 * said[0]["error_max_m"].as_f64().expect("a number"), worst)
    };
    let (printed, worst) = packed("");
    assert!(printed <= 0.5 && worst > 1.0, "{printed}, {worst}");
    let (printed, worst) = packed("--shell 2m");
    assert!(printed <= 0.5 && worst <= 0.5 && worst > 0.5 * printed, "{printed}, {worst}");
    // The error of dropped joints uses the same radius.
    let left_out = |options: &str| {
        let said = lines(&folder, &format!("pack hand.gltf -o small.glb --drop --json {options}"));
        said[0]["dropped_error_max_m"].as_f64().expect("a number")
    };
    let mut hand: Value = serde_json::from_slice(&folder.read("arm.gltf")).expect("JSON");
    hand["nodes"][1].as_object_mut().expect("an object").remove("name");
    folder.write("hand.gltf", hand.to_string());
    let (near, far) = (left_out(""), left_out("--shell 30cm"));
    assert!(near > 0.01 && (far - 10.0 * near).abs() < 1e-4 * far, "{near}, {far}");
    folder.refuses("pack arm.gltf -o small.glb --shell 0", 2, &["--shell", "auto"]);
}
