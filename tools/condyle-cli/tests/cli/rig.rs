//! `condyle rig`: the map of a humanoid, corrections, files and refusals.

use insta::assert_snapshot;
use serde_json::Value;

use crate::common::{Folder, condyle, transcript};

#[test]
fn help() {
    assert_snapshot!("rig_help", transcript(condyle().args(["rig", "--help"])));
}

fn report(folder: &Folder, line: &str) -> Value {
    let output = folder.run(&format!("{line} --json")).assert().success();
    serde_json::from_slice(&output.get_output().stdout).expect("JSON")
}

fn joint<'a>(report: &'a Value, role: &str) -> &'a str {
    let roles = report["roles"].as_array().expect("roles");
    let found = roles.iter().find(|it| it["role"] == role);
    found.map_or("", |it| it["joint"].as_str().expect("a name"))
}

#[test]
fn the_map_is_printed_and_written_and_read_again() {
    let folder = Folder::with_character();
    assert_snapshot!("rig", folder.session(&["rig a.glb"]));
    folder.run("rig a.glb -o out/a.map").assert().success();
    let text = String::from_utf8(folder.read("out/a.map")).expect("text");
    assert!(text.contains("\nleftUpperArm = ") && text.contains("\njaw = -\n"), "{text}");
    let whole = report(&folder, "rig a.glb");
    let again = report(&folder, "rig a.glb --map out/a.map");
    let all = whole["roles"].as_array().expect("roles");
    assert!(all.len() > 15, "{whole}");
    for one in all {
        let role = one["role"].as_str().expect("a role");
        assert_eq!(joint(&whole, role), joint(&again, role), "{role}");
    }
    assert!(again["roles"].as_array().expect("roles").iter().all(|it| it["evidence"] == "given"));
    // Corrections decide, and the rest is found.
    folder.write("some.map", "leftToes = -   # a boot\n");
    let fewer = report(&folder, "rig a.glb --map some.map");
    assert_eq!((joint(&fewer, "leftToes"), joint(&fewer, "rightToes")), ("", joint(&whole, "rightToes")));
}

#[test]
fn a_model_carries_its_map() {
    let folder = Folder::with_character();
    folder.write(
        "swap.map",
        format!(
            "leftHand = {}\nleftLowerArm = {}\nleftUpperArm = {}\nleftShoulder = -\n",
            joint(&report(&folder, "rig a.glb"), "leftLowerArm"),
            joint(&report(&folder, "rig a.glb"), "leftUpperArm"),
            joint(&report(&folder, "rig a.glb"), "leftShoulder")
        ),
    );
    folder.run("rig a.glb --map swap.map -o b.glb").assert().success();
    let (own, guessed) = (report(&folder, "rig b.glb"), report(&folder, "rig b.glb --guess"));
    assert_eq!(joint(&own, "leftHand"), joint(&guessed, "leftLowerArm"));
    assert_eq!(joint(&guessed, "leftHand"), joint(&report(&folder, "rig a.glb"), "leftHand"));
    folder.run("compare a.glb b.glb").assert().success();
}

#[test]
fn the_picture_shows_the_joints() {
    let folder = Folder::with_character();
    folder.run("rig a.glb --picture out/a.png").assert().success();
    let picture = image::load_from_memory(&folder.read("out/a.png")).expect("a picture").to_rgb8();
    let has = |color: [u8; 3]| picture.pixels().any(|pixel| pixel.0 == color);
    assert!(has([255, 120, 90]) && has([70, 170, 255]) && has([235, 80, 190]) && has([70, 215, 150]));
}

#[test]
fn what_cannot_be_used_is_refused() {
    let folder = Folder::with_ribbon();
    folder.refuses("rig ribbon.gltf", 1, &["ribbon.gltf", "no humanoid", "leftUpperLeg"]);
    let folder = Folder::with_character();
    folder.write("bad.map", "hips = pelviss\n");
    folder.refuses("rig a.glb --map bad.map", 1, &["bad.map: line 1", "pelviss"]);
    folder.write("bad.map", "# none\n\nhip = x\n");
    folder.refuses("rig a.glb --map bad.map", 1, &["bad.map: line 3", "leftUpperArm"]);
    folder.write("bad.map", "head = -\n");
    folder.refuses("rig a.glb --map bad.map", 1, &["a.glb", "head"]);
    folder.refuses("rig a.glb --map gone.map", 1, &["gone.map"]);
    folder.refuses("rig a.glb -o a.glb", 2, &["a.glb"]);
    folder.refuses("rig a.glb -o a.vrm", 2, &["licence", ".glb"]);
    folder.refuses("rig a.glb -o a.json", 2, &[".map"]);
    folder.refuses("rig a.glb --picture a.gif", 2, &[".png"]);
}
