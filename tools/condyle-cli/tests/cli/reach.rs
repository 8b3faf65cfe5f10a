//! `condyle reach`: joints of poses and clips moved to requested places.

use crate::common::{Folder, transcript};
use condyle::{Affine, Pose, RawClip, local_to_model};
use condyle_gltf::{Asset, Poser, PoserOptions};
use insta::assert_snapshot;
use serde_json::{Value, json};

fn report(folder: &Folder, line: &str) -> Value {
    let output = folder.run(&format!("reach {line} --json")).assert().success();
    serde_json::from_slice(&output.get_output().stdout).expect("JSON")
}

fn number(value: &Value, key: &str) -> f64 {
    value[key].as_f64().unwrap_or_else(|| panic!("{key} of {value}"))
}

/// A file opened with the library alone.
struct Opened(Asset);

impl Opened {
    fn new(folder: &Folder, name: &str) -> Self {
        Self(Asset::open(folder.path(name)).unwrap_or_else(|e| panic!("{name}: {e}")))
    }

    fn clip(&self, name: &str) -> &RawClip {
        self.0.clip_by_name(name).expect("a clip of that name")
    }

    fn pose(&self, clip: &str, seconds: f32) -> Pose {
        let mut pose = Pose::rest(&self.0.skeleton);
        condyle::sampling::PoseSource::pose(self.clip(clip), &self.0.skeleton, seconds.into(), &mut pose)
            .expect("it fits");
        pose
    }

    /// Returns the position of a joint.
    fn place(&self, joint: &str, clip: &str, seconds: f32) -> [f64; 3] {
        let mut model = vec![Affine::IDENTITY; self.0.skeleton.joint_count()];
        local_to_model(&self.0.skeleton, &self.pose(clip, seconds), &mut model).expect("the sizes agree");
        let joint = self.0.skeleton.joint_by_name(joint).expect("a joint of that name");
        model[usize::from(joint)].rows.map(|row| f64::from(row[3]))
    }
}

fn distance(a: [f64; 3], b: [f64; 3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
}

#[test]
fn help() {
    assert_snapshot!("reach_help", transcript(&mut Folder::new().run("reach --help")));
}

/// The reported residuals are those that another reader finds in the file. Before and after the goals, the
/// clip is unchanged.
#[test]
fn a_joint_is_at_its_goals_at_their_times() {
    let folder = Folder::with_character();
    let goals = [(0.3, [0.25, 1.3, 0.45]), (0.5, [0.1, 1.55, 0.35]), (0.65, [0.45, 1.4, 0.2])];
    let options: String =
        goals.iter().map(|(time, [x, y, z])| format!(" --goal left_hand={x},{y},{z}@{time}")).collect();
    let said = report(&folder, &format!("a.glb --clip walk{options} -o b.glb --ease 0.2"));
    let (before, after) = (Opened::new(&folder, "a.glb"), Opened::new(&folder, "b.glb"));
    for (row, (time, place)) in said["goals"].as_array().expect("rows").iter().zip(goals) {
        let off = distance(after.place("left_hand", "walk", time), place);
        assert!(off < 1e-4 && (off - number(row, "residual_m")).abs() < 1e-6, "{time}: {off} {row}");
        let from = distance(before.place("left_hand", "walk", time), place);
        assert!((from - number(row, "before_m")).abs() < 1e-6 && from > 0.3, "{time}: {from} {row}");
    }
    // Between the goals, too: keys are a thirtieth of a second apart, and the hand moves at three metres per
    // second.
    let way = &said["goals"][3];
    assert_eq!(way["span_s"], json!([0.3_f32, 0.65_f32]));
    assert!(number(way, "residual_m") < 1e-4 && number(way, "between_keys_m") < 0.02, "{way}");
    let name = |at: usize| before.0.skeleton.names()[at].clone();
    for time in [0.0, 0.05, 0.09, 0.86, 0.9, 1.0] {
        let [a, b] = [&before, &after].map(|file| file.pose("walk", time));
        let differs = (0..a.joint_count()).find(|&at| {
            let near = |a: &[f32], b: &[f32]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 2e-3);
            !near(&a.get(at).rotation, &b.get(at).rotation)
        });
        assert_eq!(differs.map(name), None, "at {time} s");
    }
    // Only the arm and the back have new keys, and other clips keep theirs.
    let turned = said["joints"].as_array().expect("a list");
    assert!(turned.contains(&json!("left_upper_arm")), "{turned:?}");
    assert!(!turned.contains(&json!("hips")) && !turned.contains(&json!("right_upper_arm")), "{turned:?}");
    assert_eq!(before.clip("run").tracks(), after.clip("run").tracks());
    assert_eq!(before.clip("walk").duration(), after.clip("walk").duration());
}

/// The pose of a single moment equals that of the whole clip.
#[test]
fn one_moment_is_as_in_the_whole_clip() {
    let folder = Folder::with_character();
    let goal = "--goal left_hand=0.25,1.3,0.45@0.5";
    report(&folder, &format!("a.glb --clip walk {goal} -o whole.glb"));
    report(&folder, &format!("a.glb --clip walk {goal} --time 0.5 -o moment.glb"));
    folder.run("skin whole.glb --clip walk --time 0.5 -o skinned.glb").assert().success();
    let [moment, skinned] = ["moment.glb", "skinned.glb"].map(|name| {
        let file = Opened::new(&folder, name).0;
        let mut poser = Poser::new(&file, PoserOptions::default()).expect("few copies");
        poser.rest().expect("the rest pose");
        poser.posed(0).iter().flat_map(|it| it.positions.clone()).collect::<Vec<_>>()
    });
    let off = moment.iter().zip(&skinned).map(|(a, b)| distance(a.map(f64::from), b.map(f64::from)));
    assert!(moment.len() == skinned.len() && off.fold(0.0, f64::max) < 1e-6);
    folder.run("check moment.glb whole.glb").assert().success();
}

#[test]
fn hips_go_down_between_feet_that_stay() {
    let folder = Folder::with_character();
    let said = report(
        &folder,
        "a.glb --clip idle --move hips=0,-20cm,0 --pin left_foot --pin right_foot -o squat.glb",
    );
    let (before, after) = (Opened::new(&folder, "a.glb"), Opened::new(&folder, "squat.glb"));
    for time in [0.0, 1.3, 4.0] {
        let [from, to] = [&before, &after].map(|file| file.place("hips", "idle", time));
        assert!(distance([from[0], from[1] - 0.2, from[2]], to) < 1e-3, "{time}: {from:?} {to:?}");
        for foot in ["left_foot", "right_foot"] {
            let moved = distance(before.place(foot, "idle", time), after.place(foot, "idle", time));
            assert!(moved < 1e-3, "{foot} at {time}: {moved}");
        }
    }
    assert_eq!(said["goals"].as_array().map(Vec::len), Some(5));
    let kinds: Vec<_> =
        said["goals"].as_array().expect("rows").iter().map(|row| row["asked"].clone()).collect();
    assert_eq!(kinds[..3], [json!("move"), json!("pin"), json!("pin, turned")]);
}

#[test]
fn a_head_is_turned_as_asked() {
    let folder = Folder::with_character();
    // A sixth of a turn to the left, about the vertical axis.
    let said =
        report(&folder, "a.glb --clip idle --orientation head=0,0.5,0,0.8660254@2 --ease 1 -o look.glb");
    assert!(number(&said["goals"][0], "residual_rad") < 1e-3, "{said}");
    assert!(number(&said["goals"][0], "before_rad") > 0.5, "{said}");
    let after = Opened::new(&folder, "look.glb");
    let mut model = vec![Affine::IDENTITY; after.0.skeleton.joint_count()];
    local_to_model(&after.0.skeleton, &after.pose("idle", 2.0), &mut model).expect("the sizes agree");
    let head = usize::from(after.0.skeleton.joint_by_name("head").expect("a head"));
    let [x, _, z] = model[head].rows.map(|row| row[2]);
    assert!((x - 0.866).abs() < 2e-3 && (z - 0.5).abs() < 2e-3, "{x} {z}");
}

#[test]
fn joints_keep_to_their_limits() {
    let folder = Folder::with_character();
    let file = Opened::new(&folder, "a.glb");
    let joint = file.0.skeleton.joint_by_name("left_lower_arm").expect("a forearm");
    let cone = json!({ "joints": { "left_lower_arm": { "axis": [0, 1, 0], "swing": { "cone": 10 }, "twist": [-5, 5] } } });
    std::fs::write(folder.path("arm.json"), cone.to_string()).expect("written");
    let goal = "a.glb --clip idle --goal left_hand=0.1,1.45,0.35";
    let turned = |options: &str, out: &str| {
        report(&folder, &format!("{goal} {options} -o {out}"));
        let rest = file.0.skeleton.rest().get(joint.into()).rotation;
        let now = Opened::new(&folder, out).pose("idle", 1.0).get(joint.into()).rotation;
        let cos: f32 = rest.iter().zip(now).map(|(a, b)| a * b).sum();
        2.0 * cos.abs().min(1.0).acos().to_degrees()
    };
    let (free, held) = (turned("", "free.glb"), turned("--limits arm.json", "held.glb"));
    assert!(free > 20.0 && held < 11.5, "{free} {held}");
    folder.run(&format!("reach {goal} --limits fit --skeleton --size 200 -o fit.png")).assert().success();
    folder.refuses(&format!("reach {goal} --limits no.json -o b.glb"), 1, &["no.json", "cannot be read"]);
}

#[test]
fn what_is_out_of_reach_is_told_and_no_failure() {
    let folder = Folder::with_character();
    let output =
        folder.run("reach a.glb --rest --goal left_hand=5,1.5,0 -o far.glb --json").assert().success();
    let message = String::from_utf8_lossy(&output.get_output().stderr).into_owned();
    assert!(message.contains("left_hand is missed by") && message.contains("out of reach"), "{message}");
    let said: Value = serde_json::from_slice(&output.get_output().stdout).expect("JSON");
    let missed = number(&said["goals"][0], "residual_m");
    assert!(missed > 3.5 && missed < number(&said["goals"][0], "before_m") - 0.1, "{said}");
}

#[test]
fn the_clip_may_stay_beside_what_reaches() {
    let folder = Folder::with_character();
    report(&folder, "a.glb --clip walk --move left_hand=0,10cm,10cm --name bow -o b.glb");
    let (before, after) = (Opened::new(&folder, "a.glb"), Opened::new(&folder, "b.glb"));
    assert_eq!(after.0.clips.iter().map(RawClip::name).collect::<Vec<_>>(), ["walk", "run", "idle", "bow"]);
    assert_eq!(before.clip("walk").tracks(), after.clip("walk").tracks());
    let [from, to] = ["walk", "bow"].map(|clip| after.place("left_hand", clip, 0.5));
    assert!(distance([from[0], from[1] + 0.1, from[2] + 0.1], to) < 1e-3, "{from:?} {to:?}");
    folder.refuses(
        "reach a.glb --clip walk --move head=0,0,0.1 --name run -o c.glb",
        2,
        &["\"run\" already"],
    );
}

#[test]
fn pictures_show_goals() {
    let folder = Folder::with_character();
    let goal = "--goal left_hand=0.25,1.3,0.45@0.5 --goal left_hand=0.4,1.3,0.3@0.8";
    folder
        .run(&format!("reach a.glb --clip walk {goal} --sheet 3 --size 240 -o sheet.png"))
        .assert()
        .success();
    let sheet = image::open(folder.path("sheet.png")).expect("a picture").to_rgb8();
    assert_eq!(sheet.dimensions(), (3 * 240, 240));
    let blue = sheet.pixels().filter(|p| p.0[2] > 150 && p.0[0] < 110 && p.0[1] < 150).count();
    assert!(blue > 20, "{blue} pixels of the way");
    folder.run("reach a.glb --rest --goal left_hand=2,1.3,0 --size 200 -o far.png").assert().success();
    let far = image::open(folder.path("far.png")).expect("a picture").to_rgb8();
    let red = far.pixels().filter(|p| p.0[0] > 150 && p.0[1] < 90 && p.0[2] < 100).count();
    assert!(red > 10, "{red} pixels of what is missing");
    folder.run(&format!("reach a.glb --clip walk {goal} --fps 10 --size 32 -o a.gif")).assert().success();
}

#[test]
fn units_are_those_of_the_real_height() {
    let folder = Folder::with_character();
    // At twice its height, a metre is half a unit.
    let said = report(&folder, "a.glb --rest --height 3.6m --goal left_hand=40cm,2.4,0.8 -o b.glb");
    let one = report(&folder, "a.glb --rest --goal left_hand=0.4,2.4,0.8 -o b.glb");
    assert!(number(&said["goals"][0], "residual_m") < 1e-3, "{said}");
    assert!(number(&one["goals"][0], "residual_m") > 0.1, "{one}");
}

#[test]
fn wrong_command_lines_are_explained() {
    let folder = Folder::with_character();
    for (line, words) in [
        (
            "--clip walk --goal left_hnad=1,2,3 -o b.glb",
            &["no joint \"left_hnad\"", "did you mean `left_hand`?"][..],
        ),
        ("--clip walk --goal left_hand=1,2 -o b.glb", &["JOINT=x,y,z"]),
        ("--clip walk -o b.glb", &["there are no goals"]),
        ("--clip walk --pin left_foot -o b.glb", &["there are no goals"]),
        ("--rest --goal left_hand=1,1,1@0.5 -o b.glb", &["left_hand", "needs a clip"]),
        (
            "--clip walk --goal left_hand=1,1,1 --goal left_hand=1,1,0 -o b.glb",
            &["left_hand", "needs a time"],
        ),
        ("--clip walk --goal head=1,1,1@1 --goal head=1,1,0@1 -o b.glb", &["head", "two goals at 1 s"]),
        ("--clip walk --goal head=1,1,1 --pin head -o b.glb", &["head", "two requests", "--pin"]),
        ("--clip walk --goal head=1,1,1 --sheet 4 -o b.glb", &["--sheet is for pictures"]),
        ("--clip walk --goal head=1,1,1 --ease 1 -o b.glb", &["--ease", "@SECONDS"]),
        ("--clip walk --goal head=1,1,1 --size 64 -o b.glb", &["--size is for pictures"]),
        ("--clip walk --goal head=1,1,1 --skeleton -o b.glb", &["--skeleton is for pictures"]),
        ("--clip walk --goal head=1,1,1 --silhouette eye -o b.glb", &["--silhouette is for pictures"]),
        ("--clip walk --goal head=1,1,1 --bounds -o b.glb", &["--bounds is for pictures"]),
        ("--clip walk --goal head=1,1,1 --hitboxes -o b.glb", &["--hitboxes is for pictures"]),
        ("--clip walk --goal head=1,1,1 --yaw 35 -o b.glb", &["--yaw is for pictures"]),
        ("--clip walk --goal head=1,1,1 --pitch 12 -o b.glb", &["--pitch is for pictures"]),
        ("--clip walk --goal head=1,1,1 --rate 30 -o b.gif", &["--rate is for the keys of a .glb"]),
        ("--clip walk --goal head=1,1,1 --rate 30 --fps 30 -o b.glb", &["give --rate alone"]),
        ("--rest --goal head=1,1,1 --rate 30 -o b.glb", &["--rate", "need a clip"]),
        ("--clip walk --goal head=1,1,1 --rate 30 --time 0 -o b.glb", &["--rate", "--time"]),
        ("--clip walk --goal head=1,1,1 --model x -o b.glb", &["--model is for a .condyle"]),
        ("--clip walk --goal head=1,1,1 --fps 100 -o b.gif", &["at most 50"]),
        ("--clip walk --goal head=1,1,1 -o b.gltf", &[".glb", ".png"]),
        ("--clip walk --goal head=1,1,1 -o b.json", &["add --fit-limits"]),
        ("--rest --time 1 --goal head=1,1,1 -o b.glb", &["--time needs a clip"]),
        ("--clip walk --goal head=1,1,1 --ease 0 -o b.glb", &["ease"]),
        ("--clip wlak --goal head=1,1,1 -o b.glb", &["did you mean `walk`?"]),
    ] {
        folder.refuses(&format!("reach a.glb {line}"), 2, words);
    }
    folder.run("encode a.glb -o a.condyle").assert().success();
    folder.refuses(
        "reach a.condyle --clip walk --goal head=1,1,1 -o b.glb",
        2,
        &["compressed", "condyle decode"],
    );
    folder.refuses("reach a.glb --clip walk --goal head=1,1,1 -o a.glb", 2, &["would be overwritten"]);
    for (line, words) in [
        (
            "--clip walk --goal head=0,1.6,0.1@3 -o b.glb",
            &["a goal at 3 s is outside the clip", "from 0 to 1 s"][..],
        ),
        ("--clip walk --goal head=1,1,1 --name x -o b.gif", &["--name is for a clip"]),
        ("--clip walk --goal head=1,1,1 --name= -o b.glb", &["--name"]),
        ("--rest --goal head=1,1,1 --fps 10 -o b.gif", &["--fps is for animations"]),
    ] {
        folder.refuses(&format!("reach a.glb {line}"), 2, words);
    }
    let line = "reach a.glb --clip walk --goal left_hand=0.2,1.3,0.4 --shift right_foot -o b.glb";
    let output = folder.run(line).assert().success();
    let message = String::from_utf8_lossy(&output.get_output().stderr).into_owned();
    assert!(message.contains("--shift right_foot: no joint below it has a goal"), "{message}");
}

/// Away from the times of its goals, a clip keeps its bits, even if it exceeds the limits.
#[test]
fn where_nothing_is_asked_the_clip_is_as_it_was() {
    let folder = Folder::with_character();
    let goal = "--goal left_hand=0.25,1.3,0.45@0.3 --ease 0.1";
    report(&folder, &format!("a.glb --clip walk {goal} --limits fit -o b.glb"));
    let (before, after) = (Opened::new(&folder, "a.glb"), Opened::new(&folder, "b.glb"));
    let clip = after.clip("walk");
    // The solved clip has more keys than the original.
    let times = clip.timelines().last().expect("a timeline");
    for &time in times.iter().filter(|time| !(0.2..=0.4).contains(*time)) {
        let [a, b] = [&before, &after].map(|file| file.pose("walk", time));
        assert!((0..a.joint_count()).all(|joint| a.get(joint) == b.get(joint)), "{time}");
    }
    let said = report(&folder, &format!("a.glb --clip walk {goal} --time 0.8 -o c.glb"));
    assert_eq!((&said["goals"][0]["residual_m"], &said["joints"]), (&json!(null), &json!([])));
    // A picture shows the time of the goal.
    let said = report(&folder, &format!("a.glb --clip walk {goal} --size 64 -o c.png"));
    assert!((number(&said["goals"][0], "at_s") - 0.3).abs() < 1e-6, "{said}");
}

/// Joints that move no vertex do not belong to the character: its trunk carries the joints that do.
#[test]
fn control_bones_do_not_count() {
    let folder = Folder::with_ribbon();
    let mut rig = crate::common::ribbon();
    rig["nodes"].as_array_mut().expect("a list").push(json!({ "name": "control" }));
    rig["nodes"][0]["children"] = json!([1, 4]);
    rig["skins"][0]["joints"] = json!([1, 2, 4]);
    folder.write("rig.gltf", rig.to_string());
    let output = folder.run("reach rig.gltf --rest --goal upper=0.5,0.8,0 -o a.glb").assert().success();
    let message = String::from_utf8_lossy(&output.get_output().stderr).into_owned();
    assert!(message.contains("no joint may move for it; allow one with --shift"), "{message}");
    let said = report(&folder, "rig.gltf --rest --goal upper=0.5,0.8,0 --shift lower -o b.glb");
    assert!(number(&said["goals"][0], "residual_m") < 1e-4, "{said}");
}
