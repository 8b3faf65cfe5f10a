//! `condyle pack`: an ordinary .glb with fewer bytes of animation.

use crate::common::{Folder, models, ribbon, transcript};
use insta::assert_snapshot;
use serde_json::{Value, json};

fn lines(folder: &Folder, line: &str) -> Vec<Value> {
    let output = folder.run(line).assert().success();
    let text = String::from_utf8(output.get_output().stdout.clone()).expect("UTF-8");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn number(value: &Value, key: &str) -> f64 {
    value[key].as_f64().unwrap_or_else(|| panic!("{key} of {value}"))
}

#[test]
fn help() {
    assert_snapshot!("pack_help", transcript(&mut Folder::new().run("pack --help")));
}

/// What is said was measured on the file, and another command, which looks at every vertex, finds no more.
#[test]
fn the_file_is_smaller_and_within_the_error() {
    let folder = Folder::with_character();
    for error in ["0.2mm", "2mm"] {
        let said = lines(&folder, &format!("pack a.glb -o small.glb --error {error} --json"));
        let (file, clips) = said.split_last().expect("lines");
        assert_eq!(clips.len(), 3);
        for clip in clips {
            assert!(0.0 < number(clip, "error_max_m"), "{clip}");
            assert!(number(clip, "error_max_m") <= number(clip, "budget_m"), "{clip}");
            assert!(2.0 * number(clip, "bytes") < number(clip, "raw_bytes"), "{clip}");
        }
        assert!(number(&file["file"], "bytes") < number(file, "source_bytes"), "{file}");
        folder.run("check small.glb").assert().success();
        for (found, said) in lines(&folder, "compare a.glb small.glb --json").iter().zip(clips) {
            let found = number(&found["worst"], "millimetres") / 1000.0;
            assert!(found <= number(said, "budget_m"), "{error}: {found}, {said}");
        }
    }
}

#[test]
fn compressed_is_smaller_still() {
    let folder = Folder::with_character();
    let bytes = |options: &str| {
        let said = lines(&folder, &format!("pack a.glb -o small.glb --json{options}"));
        for clip in &said[..3] {
            assert!(number(clip, "error_max_m") <= number(clip, "budget_m"), "{clip}");
        }
        said[..3].iter().map(|clip| number(clip, "bytes")).sum::<f64>()
    };
    let (plain, compressed) = (bytes(""), bytes(" --meshopt"));
    assert!(compressed < 0.8 * plain, "{plain}, {compressed}");
    folder.run("check small.glb").assert().success();
}

/// Splines, steps, morph weights, scales and meshes on joints.
#[test]
fn every_kind_of_track_is_within_the_error() {
    let folder = Folder::new();
    for path in models(&["rigid.glb"], &["syn_morph.glb", "syn_cubic_step.glb", "CesiumMan.gltf"]) {
        let model = path.to_str().expect("a path in UTF-8");
        for form in [&[][..], &["--meshopt"]] {
            let pack = [&["pack", model, "-o", "small.glb", "--height", "1.8"], form].concat();
            folder.condyle(&pack).assert().success();
            let compare = ["compare", model, "small.glb", "--height", "1.8", "--json"];
            let output = folder.condyle(&compare).assert().success();
            for line in String::from_utf8_lossy(&output.get_output().stdout).lines() {
                let line: Value = serde_json::from_str(line).expect("JSON");
                assert!(number(&line["worst"], "millimetres") <= 0.5, "{model} {form:?}: {line}");
            }
        }
    }
}

/// All but the animations is what it was, to the last byte of every view.
#[test]
fn what_is_no_animation_is_not_touched() {
    let folder = Folder::with_ribbon();
    folder.run("pack ribbon.gltf -o small.glb").assert().success();
    let vertices = |model: &str| {
        folder.run(&format!("skin {model} --rest -o rest.npy")).assert().success();
        ["position", "normal"].map(|name| folder.read(&format!("rest.node3.primitive0.{name}.npy")))
    };
    assert_eq!(vertices("ribbon.gltf"), vertices("small.glb"));
    let info = |model: &str| -> Value {
        let output = folder.run(&format!("info {model} --json")).assert().success();
        serde_json::from_slice(&output.get_output().stdout).expect("JSON")
    };
    let (before, after) = (info("ribbon.gltf"), info("small.glb"));
    assert_eq!((&before["skeleton"], &before["meshes"]), (&after["skeleton"], &after["meshes"]));
}

#[test]
fn joints_that_move_no_vertex_may_be_left_out() {
    let folder = Folder::with_ribbon();
    let mut it = ribbon();
    it["scenes"][0]["nodes"] = json!([0, 3, 4]);
    let nodes = it["nodes"].as_array_mut().expect("a list");
    nodes.extend([json!({ "name": "control", "children": [5] }), json!({ "name": "socket" })]);
    for node in [4, 5] {
        let channel = json!({ "sampler": 0, "target": { "node": node, "path": "rotation" } });
        it["animations"][0]["channels"].as_array_mut().expect("a list").push(channel);
    }
    folder.write("controls.gltf", it.to_string());
    let tracks = |options: &str| {
        let said = lines(&folder, &format!("pack controls.gltf -o small.glb --json{options}"));
        (number(&said[0], "tracks") as u64, said[2]["dropped"].clone())
    };
    assert_eq!(tracks(""), (3, json!([])));
    assert_eq!(tracks(" --drop"), (1, json!(["control", "socket"])));
    // What it hangs on stays too.
    assert_eq!(tracks(" --drop --keep socket"), (3, json!([])));
    folder.refuses("pack controls.gltf -o small.glb --drop --keep soket", 2, &["no joint \"soket\"", "info"]);
    folder.refuses("pack controls.gltf -o small.glb --keep socket", 2, &["--drop"]);
}

#[test]
fn wrong_command_lines_are_explained() {
    let folder = Folder::with_ribbon();
    folder.refuses("pack ribbon.gltf -o small.gltf", 2, &["ends in .glb"]);
    folder.refuses("pack ribbon.gltf -o small.glb --error 0", 2, &["--error"]);
    folder.run("encode ribbon.gltf -o ribbon.condyle").assert().success();
    folder.refuses("pack ribbon.condyle -o small.glb", 2, &["compressed already", "condyle decode"]);
    folder.refuses("pack gone.glb -o small.glb", 1, &["gone.glb"]);
    assert!(!folder.path("small.glb").exists());
}
