//! `condyle reach --fit-limits` and `render --limits` on the command line.

use crate::common::{Folder, models, transcript};

#[test]
fn limits_are_learned_written_and_drawn() {
    let folder = Folder::with_character();
    folder.run("reach a.glb --fit-limits -o a.json").assert().success();
    let limits: serde_json::Value = serde_json::from_slice(&folder.read("a.json")).expect("JSON");
    assert!(limits["joints"].as_object().is_some_and(|joints| joints.len() > 5), "{limits:#}");
    // Limits from a file equal those learned by `fit`.
    let draw = |limits: &str, name: &str| {
        folder
            .run(&format!("render a.glb --clip run --time 0.2 --size 320 --skeleton {limits} -o {name}"))
            .assert()
            .success();
        folder.read(name)
    };
    let (without, file, fit) =
        (draw("", "a.png"), draw("--limits a.json", "b.png"), draw("--limits fit", "c.png"));
    assert_ne!(without, file);
    assert_eq!(file, fit);
    // Limits learned from one clip are exceeded by another clip.
    folder.run("reach a.glb --fit-limits --clip idle --margin 0 -o idle.json").assert().success();
    let red = |png: &str| {
        let picture = image::open(folder.path(png)).expect("a picture").to_rgb8();
        picture.pixels().filter(|p| p.0 == [226, 32, 36]).count()
    };
    draw("--limits idle.json", "d.png");
    assert!(red("d.png") > 10 && red("b.png") == 0, "{} {}", red("d.png"), red("b.png"));
    let report = folder.run("reach a.glb --fit-limits --json").output().expect("it runs");
    let report: serde_json::Value = serde_json::from_slice(&report.stdout).expect("JSON");
    assert_eq!(report["limits"], limits);
    let table = transcript(&mut folder.run("reach a.glb --fit-limits"));
    assert!(table.contains("joint") && table.contains("hinge"), "{table}");
}

#[test]
fn what_is_wrong_with_limits_is_said() {
    let folder = Folder::with_character();
    folder.write("bad.json", r#"{ "joints": { "hip": { "axis": [0, 1, 0] } } }"#);
    folder.write("cut.json", r#"{ "joints": {"#);
    for (line, code, words) in [
        (
            "render a.glb --rest --skeleton --limits bad.json -o a.png",
            1,
            &["bad.json", "/joints/hip", "no joint"][..],
        ),
        ("render a.glb --rest --skeleton --limits cut.json -o a.png", 1, &["cut.json", "not JSON", "line 1"]),
        ("render a.glb --rest --skeleton --limits none.json -o a.png", 1, &["none.json", "cannot be read"]),
        ("render a.glb --rest --limits fit -o a.png", 2, &["--skeleton"]),
        ("reach a.glb --fit-limits -o a.txt", 2, &["a.txt", ".json"]),
        ("reach a.glb --fit-limits --clip fly", 2, &["fly", "walk"]),
        ("reach a.glb --fit-limits --margin 90", 2, &["0 to 45"]),
        ("reach a.glb --fit-limits --soft 2", 2, &["0 to 1"]),
        ("reach a.glb --clip walk --goal head=0,1,0 --margin 3 -o b.glb", 2, &["--fit-limits"]),
        ("reach a.glb --clip walk --goal head=0,1,0 --soft 1 -o b.glb", 2, &["--fit-limits"]),
        ("reach a.glb --clip walk --clip run --goal head=0,1,0 -o b.glb", 2, &["--fit-limits", "one clip"]),
        ("reach a.glb --clip walk --goal head=0,1,0", 2, &["--output"]),
    ] {
        folder.refuses(line, code, words);
    }
}

/// `--fit-limits` rejects every option that it would ignore.
#[test]
fn options_of_goals_and_pictures_are_refused() {
    let folder = Folder::with_character();
    for option in [
        "--rest",
        "--goal head=0,1,0",
        "--move head=0,1,0",
        "--orientation head=0,0,0,1",
        "--pin head",
        "--shift hips",
        "--ease 1",
        "--name a",
        "--rate 30",
        "--height 1m",
        "--time 0",
        "--fps 10",
        "--sheet 2",
        "--turntable",
        "--size 64",
        "--skeleton",
        "--limits fit",
        "--silhouette eye",
        "--bounds",
        "--hitboxes",
        "--skinning dual",
        "--yaw 1",
        "--pitch 1",
    ] {
        let name = option.split(' ').next().expect("an option");
        folder.refuses(&format!("reach a.glb --fit-limits {option}"), 2, &["--fit-limits", name]);
    }
    for option in
        ["--json", "--force", "--max-work 2", "--unit 1cm", "--up y", "--onto a.glb", "--numeric portable"]
    {
        folder.run(&format!("reach a.glb --fit-limits {option}")).assert().success();
    }
    folder.run("encode a.glb -o a.condyle").assert().success();
    folder.run("reach a.condyle --model a --fit-limits").assert().success();
}

/// Knees and elbows of people and animals turn about one axis, in clips of different authors.
#[test]
fn knees_and_elbows_are_hinges() {
    let folder = Folder::new();
    for (model, joints) in [
        ("Knight.glb", ["lowerleg.l", "lowerleg.r", "lowerarm.l", "lowerarm.r"]),
        ("mocap_cmu_01_01.glb", ["LeftLeg", "RightLeg", "LeftForeArm", "RightForeArm"]),
        ("Fox.glb", ["b_LeftLeg02_016", "b_RightLeg02_020", "b_LeftForeArm_010", "b_RightForeArm_07"]),
    ] {
        for path in models(&[], &[model]) {
            let output = folder
                .condyle(&["reach", &path.display().to_string(), "--fit-limits", "--json"])
                .output()
                .expect("it runs");
            let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
            let limits = &report["limits"]["joints"];
            for joint in joints {
                assert_eq!(limits[joint]["swing"], "hinge", "{model}, {joint}: {:#}", limits[joint]);
            }
        }
    }
}
