//! Motion capture in BVH files: described, checked, encoded, drawn, played on a model and written again.

use crate::common::{Folder, ribbon};
use serde_json::{Value, json};

const WALK: &str = "HIERARCHY\r
ROOT Hips\r
{\r
\tOFFSET 0 0 0\r
\tCHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation\r
\tJOINT Head\r
\t{\r
\t\tOFFSET 0 0.75 0\r
\t\tCHANNELS 3 Zrotation Xrotation Yrotation\r
\t\tEnd Site\r
\t\t{\r
\t\t\tOFFSET 0 0.25 0\r
\t\t}\r
\t}\r
}\r
MOTION\r
Frames: 4\r
Frame Time: 0.0333333\r
0 1 0 0 0 0 0 0 0\r
0 1 0.1 5 0 10 0 20 0\r
0 1 0.2 10 0 20 0 40 0\r
0 1 0.3 15 0 30 0 60 0\r
";

fn folder() -> Folder {
    let folder = Folder::with_ribbon();
    folder.write("walk.bvh", WALK);
    folder
}

fn json_of(folder: &Folder, line: &str) -> Value {
    let output = folder.run(line).assert().success();
    serde_json::from_slice(&output.get_output().stdout).expect("JSON")
}

#[test]
fn a_bvh_is_a_skeleton_with_a_clip() {
    let folder = folder();
    let info = json_of(&folder, "info walk.bvh --json");
    assert_eq!(info["clips"][0]["name"], "walk", "{info}");
    assert_eq!((&info["clips"][0]["tracks"], &info["clips"][0]["keys"]), (&json!(3), &json!(12)), "{info}");
    let shown = String::from_utf8(folder.run("info walk.bvh").assert().success().get_output().stdout.clone());
    let shown = shown.expect("UTF-8");
    assert!(
        shown.contains("3 joints") && shown.contains("Head_End") && shown.contains("0.000 to 0.100 s"),
        "{shown}"
    );
    // The name of the file does not matter.
    folder.write("walk.txt", WALK);
    assert_eq!(json_of(&folder, "info walk.txt --json")["clips"][0]["tracks"], 3);
}

#[test]
fn problems_have_their_lines() {
    let folder = folder();
    folder.write("short.bvh", WALK.replace("Frames: 4", "Frames: 9"));
    folder.write("broken.bvh", WALK.replace("0.75", "0,75"));
    folder.write("empty.bvh", "");
    let still = WALK.replace("Frames: 4", "Frames: 0");
    folder.write("still.bvh", &still[..still.find("0 1 0 0").expect("a frame")]);
    let shown = folder.session(&["check walk.bvh still.bvh short.bvh broken.bvh empty.bvh"]);
    let want = "$ condyle check walk.bvh still.bvh short.bvh broken.bvh empty.bvh
walk.bvh: no problems
still.bvh: usable, 1 warning
  warning  line 17
           `Frames:` declares 0
           -> only the skeleton is read
short.bvh: usable, 1 warning
  warning  line 17
           `Frames:` declares 9, but the file has 4
           -> the frames in the file are used
broken.bvh: cannot be used, 1 error
  error    line 8
           expected a number after OFFSET, found \"0,75\"
           -> the file is rejected
empty.bvh: cannot be used, 1 error
  error    line 1
           expected HIERARCHY, found the end of the file
           -> the file is rejected
condyle: 2 of 5 files cannot be used; correct the errors listed above
[exit code 1]

";
    assert_eq!(shown, want);
    folder.refuses("info broken.bvh", 1, &["broken.bvh cannot be used", "error at line 8"]);
}

#[test]
fn a_bvh_is_encoded_and_written_again() {
    let folder = folder();
    folder.run("encode walk.bvh -o walk.condyle --error 0.1mm").assert().success();
    let decoded = json_of(&folder, "decode walk.condyle -o back.bvh --json");
    assert_eq!(decoded["clips"], json!([{ "clip": "walk", "frames": 4, "rate_hz": 30.0 }]));
    let back = String::from_utf8(folder.read("back.bvh")).expect("UTF-8");
    let tree = |text: &str| {
        let words = text.split("MOTION").next().expect("a hierarchy").split_whitespace().map(str::to_owned);
        words.map(|word| word.parse::<f64>().map_or(word, |number| number.to_string())).collect::<Vec<_>>()
    };
    assert_eq!(tree(&back), tree(WALK));
    let row = |text: &str| -> Vec<f64> {
        let last = text.lines().last().expect("rows");
        last.split_whitespace().map(|word| word.parse().expect("a number")).collect()
    };
    let far = row(&back).iter().zip(row(WALK)).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(far < 0.1, "{far}: {back}");
    folder.run("decode walk.condyle -o back.glb").assert().success();
    assert_eq!(json_of(&folder, "info back.glb --json")["clips"][0]["name"], "walk");
}

#[test]
fn one_clip_is_written_as_a_bvh() {
    let folder = folder();
    folder.run("encode ribbon.gltf -o ribbon.condyle --error 1mm").assert().success();
    folder.refuses("decode ribbon.condyle -o a.bvh", 2, &["holds one clip", "Wave", "Step", "--clip"]);
    folder.refuses("decode ribbon.condyle -o a.fbx", 2, &[".glb", ".bvh"]);
    folder.run("decode ribbon.condyle --clip Wave -o wave.bvh").assert().success();
    let info = json_of(&folder, "info wave.bvh --json");
    assert_eq!(info["clips"][0]["name"], "wave", "{info}");
    let names = info["skeleton"]["joints"].as_array().map(Vec::len);
    assert_eq!(names, Some(3), "{info}");
}

#[test]
fn a_bvh_is_drawn_and_played_on_a_model() {
    let folder = folder();
    folder.run("render walk.bvh --clip walk --time 0.1 -o walk.png").assert().success();
    assert!(folder.read("walk.png").len() > 1000);
    let joints = ribbon();
    let name = joints["nodes"][2]["name"].as_str().expect("a name");
    folder.write("upper.bvh", WALK.replace("Head", name));
    folder.run("skin upper.bvh --onto ribbon.gltf --clip 0 --time 0.1 -o out.npy").assert().success();
    folder.run("skin ribbon.gltf --rest -o rest.npy").assert().success();
    let position = |name: &str| folder.read(&format!("{name}.node3.primitive0.position.npy"));
    assert!(position("out") != position("rest"));
}

#[test]
fn motion_far_from_the_origin_is_reported() {
    let folder = folder();
    folder.write("far.bvh", WALK.replace("\n0 1 0", "\n10000 1 0"));
    for (file, is_far) in [("walk.bvh", false), ("far.bvh", true)] {
        let run =
            folder.run(&format!("encode {file} -o out.condyle --unit 1m --error 1mm")).assert().success();
        let told = String::from_utf8(run.get_output().stderr.clone()).expect("UTF-8");
        assert_eq!(told.contains("10000 m from the origin"), is_far, "{told}");
    }
}

/// Motion of two joints at 30 Hz for a second, with the head's X rotation of each frame.
fn nod(angle: impl Fn(usize) -> f64) -> String {
    let head = WALK.split("Frames: 4").next().expect("the hierarchy");
    let row = |frame: usize| format!("0 1 0 0 0 0 0 {} 0\n", angle(frame));
    let rows: String = (0..=30).map(row).collect();
    format!("{head}Frames: 31\nFrame Time: 0.0333333\n{rows}")
}

#[test]
fn defects_of_motion_are_found_and_drawn() {
    let folder = folder();
    let smooth = |frame: usize| 10.0 * (frame as f64 / 30.0 * std::f64::consts::TAU).sin();
    folder.write("good.bvh", nod(smooth));
    folder.write("bad.bvh", nod(|frame| smooth(frame) + if frame == 12 { 40.0 } else { 0.0 }));
    let good = json_of(&folder, "check good.bvh --motion --json");
    assert_eq!(good["motion"]["clips"][0]["defects"], json!([]), "{good}");
    let bad = json_of(&folder, "check bad.bvh --motion --json --pictures worst");
    let [defect] = &bad["motion"]["clips"][0]["defects"].as_array().expect("a list")[..] else {
        panic!("{bad}");
    };
    assert_eq!((&defect["kind"], &defect["joint"]), (&json!("spike"), &json!("Head")), "{bad}");
    assert!((defect["at_s"].as_f64().expect("a time") - 0.4).abs() < 1e-3, "{bad}");
    let pictures = bad["motion"]["pictures"].as_array().expect("a list");
    assert_eq!(pictures.len(), 1, "{bad}");
    assert!(folder.path("worst/bad-01-spike.png").is_file());
    let run = folder.run("check good.bvh bad.bvh --motion").assert().success();
    let told = String::from_utf8(run.get_output().stdout.clone()).expect("UTF-8");
    assert!(told.contains("no defects") && told.contains("delete the key at this time"), "{told}");
    folder.refuses("check good.bvh --pictures worst", 2, &["--motion"]);
}
