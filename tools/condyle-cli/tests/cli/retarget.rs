//! Motion of one humanoid on another one: files, certificates, folders, and rejected input.

use condyle_testing::humanoids::{Build, squats, walk};
use insta::assert_snapshot;
use serde_json::Value;

use crate::bodies::{Made, doubles, npz};
use crate::common::{Folder, transcript};

/// Parent and place of each joint of SMPL, in a T pose.
const SMPL: [(i64, [f64; 3]); 24] = [
    (-1, [0.0, 0.95, 0.0]),
    (0, [0.09, 0.9, 0.0]),
    (0, [-0.09, 0.9, 0.0]),
    (0, [0.0, 1.05, 0.0]),
    (1, [0.09, 0.5, 0.0]),
    (2, [-0.09, 0.5, 0.0]),
    (3, [0.0, 1.18, 0.0]),
    (4, [0.09, 0.08, -0.02]),
    (5, [-0.09, 0.08, -0.02]),
    (6, [0.0, 1.25, 0.0]),
    (7, [0.09, 0.02, 0.1]),
    (8, [-0.09, 0.02, 0.1]),
    (9, [0.0, 1.45, 0.0]),
    (9, [0.06, 1.4, 0.0]),
    (9, [-0.06, 1.4, 0.0]),
    (12, [0.0, 1.55, 0.02]),
    (13, [0.18, 1.4, 0.0]),
    (14, [-0.18, 1.4, 0.0]),
    (16, [0.45, 1.4, 0.0]),
    (17, [-0.45, 1.4, 0.0]),
    (18, [0.7, 1.4, 0.0]),
    (19, [-0.7, 1.4, 0.0]),
    (20, [0.78, 1.4, 0.0]),
    (21, [-0.78, 1.4, 0.0]),
];

/// Returns a body model in SMPL's layout: a vertex at each joint.
pub(crate) fn person() -> Made {
    let mut made = Made::new(3, 24, 24, 2);
    made.template = SMPL.iter().flat_map(|(_, at)| *at).collect();
    made.parents = SMPL.iter().map(|(parent, _)| *parent).collect();
    made.shape_dirs.fill(0.0);
    made.pose_dirs.fill(0.0);
    for own in [&mut made.regressor, &mut made.weights] {
        own.fill(0.0);
        (0..24).for_each(|at| own[25 * at] = 1.0);
    }
    made
}

/// Returns the text of a BVH with a motion of a made body.
fn bvh(build: &Build, motion: &condyle::RawClip) -> String {
    let options = condyle_bvh::WriteOptions::new(60.0);
    condyle_bvh::write(&build.skeleton(), motion, &options).expect("a motion of the body")
}

/// A folder with the demo's character, and motions of a tall body.
fn folder() -> Folder {
    let folder = Folder::with_character();
    std::fs::create_dir_all(folder.path("moves/low")).expect("a folder");
    folder.write("moves/walk.bvh", bvh(&Build::TALL, &walk(&Build::TALL)));
    folder.write("moves/low/squats.bvh", bvh(&Build::SHORT, &squats(&Build::SHORT)));
    folder
}

fn json(folder: &Folder, line: &str) -> Value {
    let output = folder.run(line).assert().success();
    serde_json::from_slice(&output.get_output().stdout).expect("JSON")
}

/// Returns the JSON of a .glb.
fn document(bytes: &[u8]) -> Value {
    let length = u32::from_le_bytes(bytes[12..16].try_into().expect("four bytes")) as usize;
    serde_json::from_slice(&bytes[20..20 + length]).expect("JSON")
}

#[test]
fn help() {
    assert_snapshot!("retarget_help", transcript(&mut Folder::new().run("retarget --help")));
}

#[test]
fn a_walk_of_a_tall_body_stands_on_the_character() {
    let folder = folder();
    let told = json(&folder, "retarget moves/walk.bvh --on a.glb -o out.glb --json --fail-over");
    let certificate = &told["clips"][0]["certificate"];
    assert_eq!((&told["clips"][0]["name"], &certificate["frames"]), (&"walk".into(), &360.into()), "{told}");
    assert_eq!(certificate["sliding_beyond_scale_percent"], 0.0, "{told}");
    assert!(certificate["slide_mm"].as_f64().is_some_and(|it| it < 2.0), "{told}");
    let document = document(&folder.read("out.glb"));
    let animations = document["animations"].as_array().expect("a list");
    assert_eq!((animations.len(), &animations[0]["name"]), (1, &"walk".into()));
    assert_eq!(&animations[0]["extras"]["condyle_retarget"], certificate);
    folder.run("check out.glb").assert().success();
    // The other formats hold the same motion.
    json(&folder, "retarget moves/walk.bvh --on a.glb -o out.condyle --json");
    json(&folder, "retarget moves/walk.bvh --on a.glb -o out.bvh --json");
    let told = json(&folder, "retarget out.condyle --on a.glb -o again.glb --json");
    assert_eq!(told["clips"][0]["certificate"]["ratio"], 1.0, "{told}");
    json(&folder, "retarget out.bvh --on a.glb -o again.glb --json");
}

#[test]
fn a_motion_on_its_own_character_is_itself() {
    let folder = folder();
    let output = folder.run("retarget a.glb --clip walk --on a.glb -o same.glb").assert().success();
    let text = String::from_utf8_lossy(&output.get_output().stdout).into_owned();
    assert!(
        text.contains("note: walk: 1 track without a joint, such as morph weights, is left out"),
        "{text}"
    );
    let told = json(&folder, "retarget same.glb --on a.glb -o twice.glb --json");
    assert_eq!(told["clips"][0]["certificate"]["pelvis_mm"], 0.0, "{told}");
}

#[test]
fn a_folder_gives_the_same_files_for_any_number_of_threads() {
    let folder = folder();
    let first = json(&folder, "retarget moves --on a.glb -o one --threads 1 --json");
    json(&folder, "retarget moves --on a.glb -o two --threads 3 --json");
    assert_eq!(first["files"].as_array().map(Vec::len), Some(2), "{first}");
    for name in ["walk.glb", "low/squats.glb", "report.json"] {
        assert!(folder.read(&format!("one/{name}")) == folder.read(&format!("two/{name}")), "{name}");
    }
    // A later run makes only what changed.
    std::fs::remove_file(folder.path("one/walk.glb")).expect("it is there");
    let again = folder.run("retarget moves --on a.glb -o one").assert().success();
    let text = String::from_utf8_lossy(&again.get_output().stdout).into_owned();
    assert!(text.contains("1 made before"), "{text}");
    assert!(folder.read("one/walk.glb") == folder.read("two/walk.glb"));
    assert_eq!(json(&folder, "retarget moves --on a.glb -o one --json"), first);
}

/// Writes a .glb as a .gltf with its buffer in a .bin next to it.
fn write_parts(folder: &Folder, name: &str, glb: &[u8]) {
    let mut document = document(glb);
    let stem = name.rsplit('/').next().unwrap_or(name);
    document["buffers"][0]["uri"] = format!("{stem}.bin").into();
    let length = u32::from_le_bytes(glb[12..16].try_into().expect("four bytes")) as usize;
    folder.write(&format!("{name}.bin"), &glb[28 + length..]);
    folder.write(&format!("{name}.gltf"), document.to_string());
}

#[test]
fn a_changed_buffer_of_source_or_target_is_a_new_job() {
    let folder = folder();
    folder.run("retarget moves/walk.bvh --on a.glb -o walk.glb").assert().success();
    for name in ["moves/low/squats.bvh", "moves/walk.bvh"] {
        std::fs::remove_file(folder.path(name)).expect("it is there");
    }
    let (character, walk) = (folder.read("a.glb"), folder.read("walk.glb"));
    write_parts(&folder, "a", &character);
    write_parts(&folder, "moves/walk", &walk);
    let run = || {
        let again = folder.run("retarget moves --on a.gltf -o out").assert().success();
        String::from_utf8_lossy(&again.get_output().stdout).into_owned()
    };
    assert!(run().contains("1 file, all new"));
    assert!(run().contains("1 file, 1 made before"));
    let stamp = String::from_utf8(folder.read("out/walk.glb.json")).expect("text");
    assert!(
        stamp.contains("\"walk.bin\"") && !stamp.contains(&*folder.path("").to_string_lossy()),
        "{stamp}"
    );
    for name in ["a.bin", "moves/walk.bin"] {
        // The same bytes and a byte more: the output stays the same.
        let mut bytes = folder.read(name);
        bytes.push(0);
        folder.write(name, bytes);
        assert!(run().contains("1 file, all new"), "{name}");
        assert!(run().contains("1 file, 1 made before"), "{name}");
    }
    // A missing buffer is no reason to keep an old result.
    std::fs::remove_file(folder.path("moves/walk.bin")).expect("it is there");
    folder.run("retarget moves --on a.gltf -o out").assert().code(1);
}

#[test]
fn what_has_no_legs_is_refused() {
    let folder = Folder::with_ribbon();
    folder.write("walk.bvh", bvh(&Build::TALL, &walk(&Build::TALL)));
    for (line, why) in [
        ("retarget walk.bvh --on ribbon.gltf -o out.glb", "no humanoid"),
        ("retarget ribbon.gltf --on walk.bvh -o out.glb", "no humanoid"),
        ("retarget walk.bvh --on walk.bvh -o out.txt", "ends in .glb"),
        ("retarget walk.bvh --on walk.bvh -o walk.bvh", "would be overwritten"),
        ("retarget walk.bvh --on walk.bvh -o out.glb --ratio 0", "a number above 0"),
        ("retarget missing.bvh --on walk.bvh -o out.glb", "missing.bvh"),
        ("retarget . --on walk.bvh -o out.glb", "is a folder"),
    ] {
        let output = folder.run(line).assert().failure();
        let text = String::from_utf8_lossy(&output.get_output().stderr).into_owned();
        assert!(text.contains(why), "{line}: {text}");
        assert!(!folder.path("out.glb").exists(), "{line}");
    }
}

/// A wrong name for the left hand, and a map that corrects it.
#[test]
fn maps_correct_who_is_who() {
    let folder = folder();
    let text = String::from_utf8(folder.read("moves/walk.bvh")).expect("text");
    // The left hand has the name of a helper, and the helper the name of the hand.
    let swapped = text.replace("LeftHand\n", "Grip\n").replace("LeftHandMiddle1", "LeftHand");
    folder.write("odd.bvh", swapped);
    folder.run("rig odd.bvh -o odd.map").assert().success();
    let map = String::from_utf8(folder.read("odd.map")).expect("text");
    let hand = map.lines().find(|line| line.starts_with("leftHand =")).expect("a hand");
    folder.write("fixed.map", map.replace(hand, "leftHand = Grip"));
    let told = json(&folder, "retarget odd.bvh --map fixed.map --on a.glb -o out.glb --json");
    assert_eq!(told["clips"][0]["certificate"]["frames"], 360, "{told}");
    folder.write("wrong.map", "leftHand = Paw\n");
    for option in ["--map", "--on-map"] {
        let line = format!("retarget odd.bvh {option} wrong.map --on a.glb -o none.glb");
        let output = folder.run(&line).assert().code(1);
        let text = String::from_utf8_lossy(&output.get_output().stderr).into_owned();
        assert!(text.contains("wrong.map: line 1") && text.contains("Paw"), "{line}: {text}");
    }
    // Another map is another result for a folder.
    json(&folder, "retarget moves --on a.glb -o many --json");
    folder.write("same.map", "# nothing\n");
    let again = folder.run("retarget moves --map same.map --on a.glb -o many").assert().success();
    let text = String::from_utf8_lossy(&again.get_output().stdout).into_owned();
    assert!(text.contains("all new"), "{text}");
}

/// AMASS: motion without a skeleton, Z up, and the body model of the person who moved.
#[test]
fn the_motion_of_a_person_needs_its_body_model() {
    let folder = folder();
    folder.write("model.npz", person().bytes());
    // Both knees bend and stretch again.
    let frames = 60;
    let mut poses = vec![0.0; 72 * frames];
    for frame in 0..frames {
        let bend = 0.5 - 0.5 * (std::f64::consts::TAU * frame as f64 / frames as f64).cos();
        // The body stands along Z.
        poses[72 * frame] = std::f64::consts::FRAC_PI_2;
        for joint in [4, 5] {
            poses[72 * frame + 3 * joint] = bend;
        }
    }
    let places: Vec<f64> = (0..frames).flat_map(|_| [0.0, 0.0, 0.0]).collect();
    let arrays = [
        ("poses", doubles(&[frames, 72], &poses)),
        ("trans", doubles(&[frames, 3], &places)),
        ("mocap_framerate", doubles(&[], &[60.0])),
    ];
    folder.write("moves/knees.npz", npz(&arrays, zip::CompressionMethod::Stored));
    let refused = folder.run("retarget moves/knees.npz --on a.glb -o out.glb").assert().code(1);
    let text = String::from_utf8_lossy(&refused.get_output().stderr).into_owned();
    assert!(text.contains("--body"), "{text}");
    let told = json(&folder, "retarget moves/knees.npz --body model.npz --up z --on a.glb -o out.glb --json");
    let certificate = &told["clips"][0]["certificate"];
    assert_eq!(certificate["frames"], 60, "{told}");
    assert!(certificate["knee_acceleration"].as_f64().is_some_and(|it| (0.5..2.0).contains(&it)), "{told}");
    // Files of other kinds in a folder need no body model, and the model itself is no motion.
    std::fs::copy(folder.path("model.npz"), folder.path("moves/model.npz")).expect("a copy");
    let told = json(&folder, "retarget moves --body moves/model.npz --up z --on a.glb -o many --json");
    let names: Vec<&str> =
        told["files"].as_array().expect("a list").iter().filter_map(|it| it["source"].as_str()).collect();
    assert_eq!(names, ["knees.npz", "low/squats.bvh", "walk.bvh"], "{told}");
}

/// An output folder inside the folder of the motions, whatever its path is, has no motions.
#[test]
fn outputs_are_no_motions_of_a_later_run() {
    let folder = folder();
    for line in
        ["retarget moves --on a.glb -o ./moves/out --json", "retarget ./moves --on a.glb -o moves/out --json"]
    {
        for _ in 0..2 {
            let told = json(&folder, line);
            assert_eq!(told["files"].as_array().map(Vec::len), Some(2), "{line}: {told}");
            assert_eq!(told["left_out"], serde_json::json!([]), "{line}: {told}");
        }
    }
    assert!(!folder.path("moves/out/out").exists());
    folder.refuses("retarget moves --on a.glb -o ./moves", 2, &["cannot be the output folder"]);
}

#[test]
fn files_that_are_left_out_fail_a_check() {
    let folder = folder();
    folder.write("moves/torn.bvh", "HIERARCHY\nROOT Hips\n");
    let told = json(&folder, "retarget moves --on a.glb -o out --json");
    assert_eq!(told["left_out"][0]["source"], "torn.bvh", "{told}");
    folder.refuses("retarget moves --on a.glb -o out --fail-over", 1, &["moves: 1 file is left out"]);
}

/// A folder that links to itself is reported.
#[cfg(unix)]
#[test]
fn folders_that_cannot_be_read_are_reported() {
    let folder = folder();
    std::os::unix::fs::symlink("..", folder.path("moves/low/loop")).expect("a link");
    let told = json(&folder, "retarget moves --on a.glb -o out --json");
    assert_eq!(told["left_out"][0]["source"], "low/loop", "{told}");
    assert_eq!(told["files"].as_array().map(Vec::len), Some(2), "{told}");
}

/// `--ratio NUMBER` is in metres, so both units must be known.
/// Motion in the air stays there, unless the clip decides on the ground.
#[test]
fn the_ground_is_chosen() {
    let folder = folder();
    let walk = walk(&Build::TALL);
    let mut tracks = walk.tracks().to_vec();
    for track in tracks.iter_mut().filter(|track| track.target == condyle::Target::Translation(0)) {
        track.values.iter_mut().skip(1).step_by(3).for_each(|y| *y += 1.0);
    }
    let lifted =
        condyle::RawClip::new("swim".into(), walk.timelines().to_vec(), tracks).expect("as many keys");
    folder.write("swim.bvh", bvh(&Build::TALL, &lifted));
    let made = |options: &str| {
        json(&folder, &format!("retarget swim.bvh --on a.glb -o out.bvh --force --json {options}"));
        folder.read("out.bvh")
    };
    let (usual, rest, clip) = (made(""), made("--ground rest"), made("--ground clip"));
    assert!(usual == rest && usual != clip);
    folder.refuses("retarget swim.bvh --on a.glb -o out.bvh --ground sky", 2, &["rest, clip"]);
}

#[test]
fn a_ratio_is_in_metres() {
    let folder = folder();
    let ratio = |options: &str, want: f64| {
        let line = format!("retarget moves/walk.bvh --on a.glb -o out.glb --json {options}");
        let told = json(&folder, &line);
        let ratio = told["clips"][0]["certificate"]["ratio"].as_f64().expect("a number");
        assert!((ratio - want).abs() < 1e-4, "{line}: {ratio}");
    };
    ratio("--ratio 0.8 --unit 1m", 0.8);
    ratio("--ratio 0.8 --unit 0.5m", 0.4);
    ratio("--ratio 0.8 --unit 1m --on-unit 2m", 0.4);
    for (line, words) in [
        ("moves/walk.bvh --on a.glb -o out.glb --ratio 1", ["walk.bvh states no unit", "--unit 1cm"]),
        ("a.glb --on moves/walk.bvh -o out.glb --ratio 1", ["walk.bvh states no unit", "--on-unit 1cm"]),
        ("moves/walk.bvh --on a.glb -o out.glb --unit 1cm", ["--unit has no effect", "--on-unit"]),
    ] {
        folder.refuses(&format!("retarget {line}"), 2, &words);
    }
}

/// A BVH states neither its unit nor its up axis.
#[test]
fn a_character_has_a_unit_and_an_up_axis() {
    let folder = folder();
    // Y up to Z up, at 100 units per metre, without frames.
    let text = String::from_utf8(folder.read("moves/walk.bvh")).expect("text");
    let turned = |line: &str| {
        let Some(numbers) = line.trim().strip_prefix("OFFSET") else { return format!("{line}\n") };
        let at: Vec<f64> =
            numbers.split_whitespace().map(|it| 100.0 * it.parse::<f64>().expect("a number")).collect();
        format!("OFFSET {} {} {}\n", at[0], -at[2], at[1])
    };
    let hierarchy = text.lines().take_while(|line| *line != "MOTION").map(turned).collect::<String>();
    folder.write("hero.bvh", hierarchy + "MOTION\nFrames: 0\nFrame Time: 0.1\n");
    let line = "retarget moves/low/squats.bvh --on hero.bvh --on-up z --json";
    let plain = json(&folder, &format!("{line} -o plain.glb"));
    let told = json(&folder, &format!("{line} -o out.glb --on-unit 1cm --fail-over"));
    let same = json(&folder, "retarget moves/low/squats.bvh --on moves/walk.bvh -o same.glb --json");
    let figure = |told: &Value, name: &str| told["clips"][0]["certificate"][name].as_f64().expect("a number");
    for name in ["height_mm", "pelvis_mm", "slide_mm", "ground_mm"] {
        let [plain, told, same] = [&plain, &told, &same].map(|told| figure(told, name));
        assert!((plain - 100.0 * told).abs() < 0.1, "{name}: {plain} {told}");
        assert!((same - told).abs() < 0.5, "{name}: {same} {told}");
    }
    let line = "retarget moves/low/squats.bvh --on hero.bvh --on-up z -o out.glb --fail-over";
    folder.refuses(line, 2, &["hero.bvh states no unit", "--on-unit 1cm"]);
}

#[test]
fn the_certificates_fit_a_terminal() {
    let folder = folder();
    let output = folder.run("retarget moves/walk.bvh --on a.glb -o out.glb").assert().success();
    let text = String::from_utf8_lossy(&output.get_output().stdout).into_owned();
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    assert_snapshot!("retarget_text", text);
}
