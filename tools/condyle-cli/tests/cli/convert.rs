//! `condyle convert`: any file as an ordinary .glb.

use crate::common::{Folder, transcript};
use insta::assert_snapshot;
use serde_json::Value;

const ARM: &[u8] = include_bytes!("../../../condyle-fbx/tests/data/arm.fbx");

#[test]
fn help() {
    assert_snapshot!("convert_help", transcript(&mut Folder::new().run("convert --help")));
}

/// The commands that read a character take an FBX file, and its document is equal to it.
#[test]
fn commands_read_fbx() {
    let folder = Folder::new();
    folder.write("arm.fbx", ARM);
    let output = folder.run("convert arm.fbx -o arm.glb --json").assert().success();
    let figures: Value = serde_json::from_slice(&output.get_output().stdout).expect("JSON");
    assert_eq!((&figures["meshes"], &figures["clips"]), (&2.into(), &1.into()), "{figures}");
    let output = folder.run("compare arm.fbx arm.glb --json").assert().success();
    let row: Value = serde_json::from_slice(&output.get_output().stdout).expect("JSON");
    assert!(row["worst"]["millimetres"].as_f64().expect("a number") < 1e-3, "{row}");
    for line in [
        "info arm.fbx",
        "check arm.fbx",
        "render arm.fbx --clip Bend --time 1 --size 32x32 -o arm.png",
        "skin arm.fbx --clip Bend --time 1 -o posed.glb",
        "encode arm.fbx -o arm.condyle",
        "pack arm.fbx -o small.glb",
        "query bounds arm.fbx --clip Bend",
    ] {
        folder.run(line).assert().success();
    }
    let checked = folder.run("check arm.fbx").assert().success();
    let text = String::from_utf8_lossy(&checked.get_output().stdout).into_owned();
    assert!(text.contains("texture lining.png"), "{text}");
}

#[test]
fn compressed_files_and_other_endings_are_refused() {
    let folder = Folder::with_ribbon();
    folder.run("encode ribbon.gltf -o a.condyle").assert().success();
    folder.refuses("convert a.condyle -o a.glb", 2, &["condyle decode"]);
    folder.refuses("convert ribbon.gltf -o a.fbx", 2, &["glb"]);
    folder.write("broken.fbx", "Kaydara FBX Binary  \0\x1a\0");
    folder.refuses("convert broken.fbx -o b.glb", 1, &["broken.fbx"]);
    folder.run("convert ribbon.gltf -o b.glb").assert().success();
}

/// A folder and several files become a folder. A later run makes only what has changed.
#[test]
fn a_folder_becomes_a_folder() {
    let folder = Folder::with_ribbon();
    for inside in ["models/sub", "out/sub"] {
        std::fs::create_dir_all(folder.path(inside)).expect("a folder");
    }
    folder.write("models/arm.fbx", ARM);
    for to in ["ribbon.gltf", "ribbon.bin"] {
        std::fs::copy(folder.path(to), folder.path(&format!("models/sub/{to}"))).ok();
    }
    folder.write("models/broken.bvh", "HIERARCHY");
    let json = |line: &str| -> Value {
        let output = folder.run(line).assert().success();
        serde_json::from_slice(&output.get_output().stdout).expect("JSON")
    };
    for (command, one) in
        [("convert", "convert models/arm.fbx -o one.glb"), ("pack", "pack models/arm.fbx -o one.glb")]
    {
        let line = format!("{command} models -o {command}ed --json");
        let report = json(&line);
        let files = report["files"].as_array().expect("an array");
        let named: Vec<_> = files.iter().map(|it| (it["source"].as_str(), it["kept"] == true)).collect();
        assert_eq!(named, [(Some("arm.fbx"), false), (Some("sub/ribbon.gltf"), false)], "{report}");
        assert_eq!(report["left_out"][0]["source"], "broken.bvh");
        folder.run(one).assert().success();
        assert_eq!(folder.read(&format!("{command}ed/arm.glb")), folder.read("one.glb"));
        assert!(json(&line)["files"].as_array().expect("an array").iter().all(|it| it["kept"] == true));
        let text = folder.run(&format!("{command} models -o {command}ed")).assert().success();
        let text = String::from_utf8_lossy(&text.get_output().stdout).into_owned();
        assert!(text.contains("2 files, 2 made before") && text.contains("1 file was left out"), "{text}");
    }
    let other = json("pack models -o packed --error 2mm --json");
    assert!(other["files"].as_array().expect("an array").iter().all(|it| it["kept"] == false), "{other}");

    json("convert models/arm.fbx ribbon.gltf -o several --json");
    assert!(folder.path("several/arm.glb").is_file() && folder.path("several/ribbon.glb").is_file());
    for (line, code, why) in [
        ("convert models -o all.glb", 2, "name a folder with -o"),
        ("convert models -o models", 2, "cannot be the output folder too"),
        ("convert models -o ribbon.gltf", 2, "ribbon.gltf is a file"),
        ("convert models ribbon.gltf -o all", 2, "models is a folder"),
        ("pack ribbon.gltf models/sub/ribbon.gltf -o all", 2, "would both become"),
        ("pack out -o all", 1, "out has no motion files"),
    ] {
        folder.refuses(line, code, &[why]);
    }
}
