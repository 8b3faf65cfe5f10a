//! Files that hold motion without a mesh: read, encoded, and played on the model of another file.

use crate::common::{Folder, ribbon};
use serde_json::{Value, json};

/// Returns the wave of the ribbon without its mesh: the joints are below another root and in another order,
/// with a tail that the ribbon lacks.
fn wave(name: &str, has_tail: bool) -> Value {
    let mut it = ribbon();
    for key in ["skins", "meshes"] {
        it.as_object_mut().expect("an object").remove(key);
    }
    it["scenes"] = json!([{ "nodes": [2] }]);
    it["nodes"] = json!([
        { "name": "upper" },
        { "name": "lower", "children": [0, 3] },
        { "name": "motion", "children": [1] },
        { "name": "tail" },
    ]);
    let channel = |node| json!({ "sampler": 0, "target": { "node": node, "path": "rotation" } });
    let channels = if has_tail { json!([channel(0), channel(3)]) } else { json!([channel(0)]) };
    it["animations"] =
        json!([{ "name": name, "samplers": [{ "input": 5, "output": 6 }], "channels": channels }]);
    it
}

fn folder() -> Folder {
    let folder = Folder::with_ribbon();
    folder.write("wave.gltf", wave("Wave", false).to_string());
    folder
}

fn json_of(folder: &Folder, line: &str) -> Value {
    let output = folder.run(line).assert().success();
    serde_json::from_slice(&output.get_output().stdout).expect("JSON")
}

/// The only clip of a file needs no name; one of several must be selected.
#[test]
fn a_single_clip_needs_no_name() {
    let folder = Folder::with_ribbon();
    let mut one = ribbon();
    one["animations"].as_array_mut().expect("a list").truncate(1);
    folder.write("one.gltf", one.to_string());
    one.as_object_mut().expect("an object").remove("animations");
    folder.write("none.gltf", one.to_string());
    folder.run("skin one.gltf --time 0.5 -o a.npy").assert().success();
    folder.run("skin one.gltf --clip Wave --time 0.5 -o b.npy").assert().success();
    let name = |stem: &str| format!("{stem}.node3.primitive0.position.npy");
    assert_eq!(folder.read(&name("a")), folder.read(&name("b")));
    folder.run("render one.gltf --size 32 -o a.gif").assert().success();
    folder.refuses(
        "skin ribbon.gltf --time 0.5 -o c.npy",
        2,
        &["2 clips", "--clip", "Wave", "Step", "--rest"],
    );
    folder.refuses("skin none.gltf -o c.npy", 2, &["no clips", "--rest"]);
}

#[test]
fn a_motion_has_a_skeleton_and_is_encoded_and_decoded() {
    let folder = folder();
    let info = json_of(&folder, "info wave.gltf --json");
    assert_eq!(info["clips"][0]["tracks"], 1, "{info}");
    folder.run("encode wave.gltf -o wave.condyle --error 1mm").assert().success();
    folder.run("decode wave.condyle -o back.glb").assert().success();
    let info = json_of(&folder, "info back.glb --json");
    assert_eq!(info["clips"][0]["tracks"], 1, "{info}");
}

#[test]
fn a_motion_plays_on_the_model_of_another_file() {
    let folder = folder();
    let vertices = |line: &str| {
        folder.run(&format!("skin {line} --time 0.5 -o out.npy")).assert().success();
        folder.read("out.node3.primitive0.position.npy")
    };
    let wanted = vertices("ribbon.gltf --clip Wave");
    assert!(vertices("wave.gltf --onto ribbon.gltf --clip Wave") == wanted);
    assert!(vertices("wave.gltf --skeleton ribbon.gltf --clip 0") == wanted, "its other name");
    assert!(vertices("ribbon.gltf --clip Step") != wanted, "the test can fail");
    for command in ["skin", "render", "bake"] {
        let line = format!("{command} wave.gltf --onto ribbon.gltf --model ribbon --clip Wave -o out.png");
        let line = line.replace("skin", "skin --format glb");
        folder.refuses(&line, 2, &["--model", "--onto"]);
    }

    folder.run("encode wave.gltf --onto ribbon.gltf -o on.condyle --error 1mm").assert().success();
    folder.run("encode ribbon.gltf -o whole.condyle --error 1mm").assert().success();
    assert!(vertices("on.condyle --clip Wave") == vertices("whole.condyle --clip Wave"));
    folder.run("render wave.gltf --onto ribbon.gltf --clip Wave -o wave.png").assert().success();
}

#[test]
fn clips_of_several_files_with_one_name_get_those_of_their_files() {
    let folder = folder();
    folder.write("run.gltf", wave("Wave", false).to_string());
    folder.write("jump.gltf", wave("Jump", false).to_string());
    let line = "encode wave.gltf run.gltf jump.gltf --onto ribbon.gltf -o all.condyle";
    folder.run(line).assert().success();
    folder.run("decode all.condyle -o all.glb").assert().success();
    let info = json_of(&folder, "info all.glb --json");
    let names: Vec<_> =
        info["clips"].as_array().expect("clips").iter().filter_map(|clip| clip["name"].as_str()).collect();
    assert_eq!(names, ["wave", "run", "Jump"]);
}

/// Files with the same name in two folders, and one file with a repeated name.
#[test]
fn each_clip_has_a_name_of_its_own() {
    let folder = folder();
    for name in ["a", "b"] {
        std::fs::create_dir(folder.path(name)).expect("a folder");
        folder.write(&format!("{name}/wave.gltf"), wave("Wave", false).to_string());
        folder.write(&format!("{name}/ribbon.bin"), folder.read("ribbon.bin"));
    }
    let names = |line: &str| {
        let output = folder.run(&format!("encode {line} -o all.condyle")).assert().success();
        let said = String::from_utf8_lossy(&output.get_output().stderr).into_owned();
        let output = folder.run("decode all.condyle -o all.glb --json").assert().success();
        let decoded: Value = serde_json::from_slice(&output.get_output().stdout).expect("JSON");
        let names = decoded["clips"].as_array().expect("clips").iter().map(|clip| clip["clip"].clone());
        (Value::from_iter(names), said)
    };
    let (found, said) = names("a/wave.gltf b/wave.gltf --onto ribbon.gltf");
    assert_eq!(found, json!(["wave", "wave 2"]));
    assert!(said.contains("b/wave.gltf: its clip Wave is renamed to wave 2"), "{said}");

    let mut twice = ribbon();
    twice["animations"][1]["name"] = json!("Wave");
    folder.write("twice.gltf", twice.to_string());
    let (found, said) = names("twice.gltf");
    assert_eq!(found, json!(["Wave", "Wave 2"]));
    assert!(said.contains("twice.gltf: several clips are named Wave; clip 1 is renamed to Wave 2"), "{said}");
    // Both sides of a comparison use these names.
    let compared = folder.run("compare twice.gltf all.condyle --height 1.8").assert().success();
    assert_eq!(String::from_utf8_lossy(&compared.get_output().stderr), "");

    folder.refuses(
        "skin twice.gltf --clip Wave -o a.glb",
        2,
        &["several clips \"Wave\"", "the index of one", "0  Wave", "1  Wave"],
    );
    folder.run("skin twice.gltf --clip 1 -o a.glb").assert().success();
}

#[test]
fn what_is_lost_is_said() {
    let folder = folder();
    folder.write("tail.gltf", wave("Wave", true).to_string());
    let line = "encode tail.gltf --onto ribbon.gltf -o tail.condyle";
    let output = folder.run(line).assert().success();
    let said = String::from_utf8_lossy(&output.get_output().stderr).into_owned();
    assert!(said.contains("no joint \"tail\"") && said.contains("this motion is dropped"), "{said}");

    let mut strange = wave("Wave", false);
    strange["nodes"][0]["name"] = "bone".into();
    folder.write("strange.gltf", strange.to_string());
    let line = "encode strange.gltf --onto ribbon.gltf -o strange.condyle";
    folder.refuses(line, 1, &["it moves no joint of", "ribbon.gltf"]);
    assert!(!folder.path("strange.condyle").exists());
    folder.refuses("skin strange.gltf --onto ribbon.gltf --clip 0 -o s.glb", 1, &["it moves no joint of"]);
    folder.refuses(
        "skin wave.gltf --onto ribbon.gltf --clip 0 --format glb -o ribbon.gltf",
        2,
        &["overwritten"],
    );
    folder.run("encode ribbon.gltf -o ribbon.condyle").assert().success();
    folder.refuses("skin ribbon.condyle --onto ribbon.gltf --clip 0 -o s.glb", 2, &["compressed already"]);

    // A clip that animates only a material pointer has no usable tracks.
    let mut pointer = wave("Glow", false);
    pointer["extensionsUsed"] = json!(["KHR_animation_pointer"]);
    pointer["animations"][0]["channels"][0]["target"] = json!({
        "path": "pointer",
        "extensions": { "KHR_animation_pointer": { "pointer": "/materials/0/emissiveFactor" } },
    });
    folder.write("glow.gltf", pointer.to_string());
    let output = folder.run("encode glow.gltf -o glow.condyle").assert().success();
    let said = String::from_utf8_lossy(&output.get_output().stderr).into_owned();
    assert!(said.contains("the clip Glow has no usable tracks"), "{said}");
    let output = folder.run("check glow.gltf").assert().success();
    let said = String::from_utf8_lossy(&output.get_output().stdout).into_owned();
    assert!(said.contains("\"/materials/0/emissiveFactor\"") && said.contains("warning"), "{said}");
}
