//! A folder of motion in one file: its contents, the files left out, and an interrupted run.

use condyle::container::{Container, EntryKind};
use condyle::{Pose, sample};
use serde_json::{Value, json};

use crate::bodies::{Made, doubles, npz};
use crate::common::Folder;

/// Returns a motion of `frames` frames at 60 Hz; `head` is the height of the head.
fn bvh(head: &str, frames: usize) -> String {
    let rows: String = (0..frames).map(|at| format!("{at} 1 0 0 {} 0\n", 9 * at)).collect();
    format!(
        "HIERARCHY ROOT Hips {{ OFFSET 0 0 0 CHANNELS 3 Xposition Yposition Zposition JOINT Head {{ OFFSET 0 {head} 0 \
         CHANNELS 3 Zrotation Xrotation Yrotation End Site {{ OFFSET 0 20 0 }} }} }}\n\
         MOTION Frames: {frames} Frame Time: .0166667\n{rows}"
    )
}

fn folder() -> Folder {
    let folder = Folder::with_ribbon();
    for inside in ["motion/day/old", "motion/night"] {
        std::fs::create_dir_all(folder.path(inside)).expect("a folder");
    }
    folder.write("motion/day/walk.bvh", bvh("60", 5));
    folder.write("motion/day/old/walk.bvh", bvh("60", 9));
    folder.write("motion/night/walk.BVH", bvh("50", 7));
    std::fs::copy(folder.path("ribbon.gltf"), folder.path("motion/ribbon.gltf")).expect("a copy");
    std::fs::copy(folder.path("ribbon.bin"), folder.path("motion/ribbon.bin")).ok();
    folder.write("motion/night/broken.bvh", &bvh("60", 5)[..40]);
    folder.write("motion/night/still.bvh", bvh("60", 0));
    folder.write("motion/notes.txt", "no motion");
    folder
}

fn packed(folder: &Folder, line: &str) -> Value {
    let output = folder.run(line).assert().success();
    serde_json::from_slice(&output.get_output().stdout).expect("JSON")
}

#[test]
fn a_folder_becomes_one_file() {
    let folder = folder();
    let report = packed(&folder, "encode motion -o all.condyle --unit 1cm --error 1mm --json");
    let count = |key: &str| report[key].as_u64().expect("a number");
    assert_eq!((count("files"), count("skeletons"), count("files_encoded_before")), (4, 3, 0), "{report}");
    let left_out = report["left_out"].as_array().expect("an array");
    let sources: Vec<_> = left_out.iter().map(|it| it["source"].as_str().expect("a name")).collect();
    assert_eq!(sources, ["night/broken.bvh", "night/still.bvh"]);
    assert!(left_out[1]["why"].as_str().is_some_and(|why| why.contains("no motion")), "{report}");
    assert!(!folder.path("all.condyle.parts").exists());

    let bytes = folder.read("all.condyle");
    let container = Container::from_bytes(&bytes).expect("a container");
    let clips: Vec<_> = container.entries().filter(|entry| entry.kind == EntryKind::Clip).collect();
    let names: Vec<&str> = clips.iter().map(|entry| entry.name).collect();
    assert_eq!(names[..2], ["day/old/walk", "day/walk"]);
    assert_eq!(names.iter().filter(|name| **name == "night/walk").count(), 1);
    // The first two have the same skeleton.
    assert_eq!(clips[0].model, clips[1].model);
    let model = clips[0].model.expect("a skeleton");
    assert_eq!(container.unit(model), Some(0.01));
    let skeleton = container.skeleton(model).expect("a skeleton");
    let clip = container.clip(clips[0].index).expect("a clip");
    let mut pose = Pose::rest(&skeleton);
    sample(&clip, &skeleton, 4.0 / 60.0, &mut pose).expect("a pose");
    assert!((pose.get(0).translation[0] - 4.0).abs() < 0.1, "{:?}", pose.get(0));

    let told = container.entries().last().expect("entries");
    assert_eq!((told.kind, told.name), (EntryKind::Metadata, "library"));
    let told: Value = serde_json::from_slice(container.data(told.index).expect("bytes")).expect("JSON");
    let columns = &told["columns"];
    assert_eq!(columns["name"].as_array().map(Vec::len), Some(clips.len()));
    assert_eq!((&columns["tags"][0], &columns["frames"][0]), (&json!(["day", "old"]), &json!(9)));
    assert_eq!(columns["source"][1], "day/walk.bvh");
    assert!(
        columns["error_max_m"].as_array().is_some_and(|all| all.iter().all(|e| e.as_f64() <= Some(0.001)))
    );
    assert_eq!(told["left_out"], report["left_out"]);
    // The location of the folder does not change a byte.
    let there = folder.path("motion");
    let there = there.to_str().expect("UTF-8");
    folder
        .condyle(&["encode", there, "-o", "there.condyle", "--unit", "1cm", "--error", "1mm"])
        .assert()
        .success();
    assert_eq!(folder.read("there.condyle"), bytes);
    folder.run("check all.condyle").assert().success();
}

#[test]
fn a_run_that_was_ended_goes_on_and_ends_with_the_same_bytes() {
    let folder = folder();
    folder.run("encode motion -o all.condyle").assert().success();
    let line = "encode motion -o again.condyle --parts kept --threads 1 --json";
    packed(&folder, line);
    assert_eq!(folder.read("again.condyle"), folder.read("all.condyle"));

    // One part is lost, one is damaged, and the source of one has changed.
    std::fs::remove_file(folder.path("kept/day/walk.bvh.condyle")).expect("a part");
    let mut part = folder.read("kept/night/walk.BVH.condyle");
    *part.last_mut().expect("bytes") ^= 1;
    folder.write("kept/night/walk.BVH.condyle", part);
    folder.write("motion/day/old/walk.bvh", bvh("60", 11));
    let report = packed(&folder, line);
    assert_eq!((&report["files"], &report["files_encoded_before"]), (&json!(4), &json!(1)));
    folder.run("encode motion -o all.condyle").assert().success();
    assert_eq!(folder.read("again.condyle"), folder.read("all.condyle"));
    // The buffer of a document may be a separate file.
    let numbers = folder.path("motion/ribbon.bin");
    if numbers.exists() {
        let bytes = std::fs::read(&numbers).expect("bytes");
        std::fs::write(&numbers, bytes).expect("the same with another time");
        assert_eq!(packed(&folder, line)["files_encoded_before"], 3);
    }
    // With other settings, no part of an earlier run is used.
    assert_eq!(packed(&folder, &format!("{line} --error 2mm"))["files_encoded_before"], 0);
}

#[test]
fn what_is_no_library_is_refused() {
    let folder = folder();
    folder.refuses("pack-library ribbon.gltf -o all.condyle", 2, &["is not a folder", "condyle encode"]);
    for (options, next) in [
        ("--onto ribbon.gltf", "name the files"),
        ("--height 1.8m", "--unit"),
        ("--no-document", "leave it out"),
        ("--report a.html", "--json"),
    ] {
        let line = format!("encode motion -o all.condyle {options}");
        let option = options.split(' ').next().expect("an option");
        folder.refuses(&line, 2, &[option, "motion is a folder", next]);
    }
    for option in ["--body", "--parts"] {
        let line = format!("encode ribbon.gltf -o all.condyle {option} kept");
        folder.refuses(&line, 2, &[option, "is for a folder", "ribbon.gltf is not one"]);
    }
    folder.refuses("encode ribbon.gltf motion -o all.condyle", 2, &["motion is a folder", "one folder"]);
    folder.refuses("encode motion -o all.glb", 2, &["ends in .condyle"]);
    folder.refuses("encode motion -o all.condyle --parts ribbon.gltf/a", 2, &["ribbon.gltf is not a folder"]);
    // A write error is not reported as an error of a source file.
    std::fs::create_dir_all(folder.path("kept/day/walk.bvh.condyle")).expect("a folder");
    folder.refuses("encode motion -o all.condyle --parts kept", 1, &["walk.bvh.condyle"]);
    assert!(!folder.path("all.condyle").exists());
    std::fs::create_dir_all(folder.path("empty")).expect("a folder");
    folder.refuses(
        "encode empty -o all.condyle",
        1,
        &["has no motion files; their names end in .npz, .bvh, .fbx, .glb"],
    );
    folder.write("empty/broken.bvh", "HIERARCHY");
    folder.refuses("encode empty -o all.condyle", 1, &["left out", "none of its files can be used"]);
    assert!(!folder.path("all.condyle").exists());
}

/// Motions of two persons, and of one with a broken file. Without the body model they are left out; with it,
/// each has the skeleton of its person.
#[test]
fn motions_of_bodies_are_packed_by_who_moves() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("amass")).expect("a folder");
    folder.write("model.npz", Made::new(3, 60, 5, 2).bytes());
    let motion = |betas: &[f64], frames: usize| {
        let turns: Vec<f64> = (0..frames * 15).map(|at| 0.01 * at as f64).collect();
        let arrays = [
            ("poses", doubles(&[frames, 15], &turns)),
            ("trans", doubles(&[frames, 3], &vec![1.0; 3 * frames])),
            ("betas", doubles(&[betas.len()], betas)),
            ("mocap_framerate", doubles(&[], &[30.0])),
        ];
        npz(&arrays, zip::CompressionMethod::Stored)
    };
    folder.write("amass/tall_walk.npz", motion(&[2.0, 1.0, 0.5], 7));
    folder.write("amass/tall_run.npz", motion(&[2.0, 1.0, 0.5], 4));
    folder.write("amass/short_walk.npz", motion(&[-2.0], 7));
    folder.write("amass/broken.npz", b"PK\x03\x04");
    folder.write("amass/still.bvh", bvh("60", 3));

    let report = packed(&folder, "encode amass -o without.condyle --unit 1cm --json");
    let left_out = report["left_out"].as_array().expect("an array");
    assert_eq!((left_out.len(), report["clips"].as_u64()), (4, Some(1)), "{report}");
    assert!(left_out[1]["why"].as_str().is_some_and(|why| why.contains("--body")), "{report}");

    let report = packed(&folder, "encode amass -o all.condyle --unit 1cm --body model.npz --json");
    let count = |key: &str| report[key].as_u64().expect("a number");
    assert_eq!((count("files"), count("skeletons"), count("clips")), (4, 3, 4), "{report}");
    assert_eq!(report["left_out"][0]["source"], "broken.npz");
    let bytes = folder.read("all.condyle");
    let container = Container::from_bytes(&bytes).expect("a container");
    let clips: Vec<_> = container.entries().filter(|entry| entry.kind == EntryKind::Clip).collect();
    let named = |name: &str| clips.iter().find(|clip| clip.name == name).and_then(|clip| clip.model);
    assert_eq!(named("tall_walk"), named("tall_run"));
    assert_ne!(named("tall_walk"), named("short_walk"));
    // Bodies are in metres, whatever the unit of the other files is.
    let unit = |name| container.unit(named(name).expect("a skeleton")).unwrap_or(1.0);
    assert_eq!((unit("tall_walk"), unit("still")), (1.0, 0.01));
    let refused = folder.run("encode amass -o other.condyle --body amass/broken.npz").assert().code(1);
    assert!(String::from_utf8_lossy(&refused.get_output().stderr).contains("broken.npz cannot be used"));
}

#[test]
fn units_that_make_giants_are_told() {
    let folder = folder();
    let told = |line: &str| {
        let output = folder.run(line).assert().success();
        String::from_utf8_lossy(&output.get_output().stderr).into_owned()
    };
    let warned = told("encode motion -o all.condyle --parts kept");
    assert!(
        warned.contains(
            "3 files are implausibly tall or small, for example day/old/walk.bvh with 80.00 m; set"
        ),
        "{warned}"
    );
    // The warning is also printed for files that were encoded before.
    assert!(told("encode motion -o all.condyle --parts kept --force").contains("3 files are implausibly"));
    // With the right unit, only the ribbon is too small, because it is in metres.
    let warned = told("encode motion -o small.condyle --unit 1cm");
    assert!(warned.contains("1 file is implausibly tall or small, for example ribbon.gltf with"), "{warned}");
}

/// Each command finds the model that has the clip, and needs no document for its joints.
#[test]
fn a_library_can_be_got_out_again() {
    let folder = folder();
    folder.run("encode motion -o all.condyle --unit 1cm").assert().success();
    folder.run("decode all.condyle --clip night/walk -o walk.bvh").assert().success();
    let output = folder.run("compare motion/night/walk.BVH walk.bvh --unit 1cm --json").assert().success();
    let row: Value = serde_json::from_slice(&output.get_output().stdout).expect("JSON");
    assert!(row["worst"]["millimetres"].as_f64().is_some_and(|worst| worst < 0.6), "{row}");
    for line in [
        "decode all.condyle --clip day/walk -o walk.glb",
        "decode all.condyle --clip day/walk --model day/old/walk.bvh -o same.glb",
        "render all.condyle --clip night/walk --time 0 --size 32x32 --skeleton -o walk.png",
        "compare all.condyle all.condyle --clip day/old/walk",
    ] {
        folder.run(line).assert().success();
    }
    assert_eq!(folder.read("walk.glb").len(), folder.read("same.glb").len());
    folder.refuses(
        "decode all.condyle --clip day/wolk -o a.bvh",
        2,
        &["no model", "did you mean `day/walk`"],
    );
    folder.refuses("decode all.condyle -o a.bvh", 2, &["several models", "--model"]);

    let report = folder.run("check all.condyle --motion --json").assert().success();
    let report: Value = serde_json::from_slice(&report.get_output().stdout).expect("JSON");
    let models = report["motion"]["models"].as_array().expect("several models");
    assert_eq!((models.len(), &models[0]["model"]), (3, &json!("day/old/walk.bvh")), "{report}");
    assert_eq!(models[0]["clips"].as_array().map(Vec::len), Some(2), "{report}");
    let text = folder.run("check all.condyle --motion").assert().success();
    let text = String::from_utf8_lossy(&text.get_output().stdout).into_owned();
    assert!(text.contains("motion of night/walk.BVH: 1 clip"), "{text}");
}

#[test]
fn a_folder_is_checked_file_by_file() {
    let folder = folder();
    let output = folder.run("check motion --json").assert().code(1);
    let text = String::from_utf8_lossy(&output.get_output().stdout).into_owned();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let files = lines.iter().map(|line| (line["file"].as_str().expect("a name"), line["usable"] == true));
    let slash = |name: &str| name.replace('\\', "/");
    let files: Vec<_> = files.map(|(file, usable)| (slash(file), usable)).collect();
    let wanted = [
        ("motion/day/old/walk.bvh", true),
        ("motion/day/walk.bvh", true),
        ("motion/night/broken.bvh", false),
        ("motion/night/still.bvh", true),
        ("motion/night/walk.BVH", true),
        ("motion/ribbon.gltf", true),
    ];
    let wanted = wanted.map(|(file, usable)| (file.to_owned(), usable));
    assert_eq!(files, wanted);
    std::fs::create_dir(folder.path("empty")).expect("a folder");
    folder.refuses("check empty", 1, &["empty has no files that can be checked"]);
}
