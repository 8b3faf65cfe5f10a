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
