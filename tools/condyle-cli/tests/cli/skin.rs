//! `condyle skin`: its output, and errors that leave no file behind.

use std::fs;

use crate::common::{BASELINE, Folder, condyle, ribbon, testdata, transcript};
use ::condyle::Isa;
use condyle_gltf::{Asset, Poser, PoserOptions};
use insta::assert_snapshot;

/// Returns the positions of the only instance of a file, at rest.
fn positions(folder: &Folder, file: &str) -> Vec<[f32; 3]> {
    let asset = Asset::open(folder.path(file)).unwrap_or_else(|e| panic!("{e}"));
    let mut poser = Poser::new(&asset, PoserOptions::default()).expect("few copies");
    poser.rest().expect("the rest pose");
    poser.posed(0)[0].positions.clone()
}

#[test]
fn a_moment_becomes_a_static_model() {
    let folder = Folder::with_ribbon();
    assert_snapshot!("one", folder.session(&["skin ribbon.gltf --clip Wave --time 1 -o posed.glb"]));
    assert_eq!(folder.written(), ["posed.glb"]);
    // The last vertex follows only the upper joint: a quarter of a turn, then 1 m up.
    let [x, y, z] = positions(&folder, "posed.glb")[3];
    assert!((x + 2.0).abs() < 1e-6 && (y - 2.0).abs() < 1e-6 && z == 0.0, "{x} {y} {z}");
}

#[test]
fn clips_go_by_name_index_and_name_in_any_case() {
    let folder = Folder::with_ribbon();
    let written = |clip: &str| {
        let arguments = ["skin", "ribbon.gltf", "--clip", clip, "--time", "1", "-o", "posed.glb"];
        folder.condyle(&arguments).assert().success();
        folder.read("posed.glb")
    };
    let step = written("Step");
    assert_eq!(written("1"), step);
    assert_eq!(written("sTEP"), step);
    assert_ne!(written("0"), step);

    let mut twins = ribbon();
    twins["animations"][0]["name"] = "STEP".into();
    folder.write("twins.gltf", twins.to_string());
    assert_snapshot!("twins", folder.session(&["skin twins.gltf --clip step -o twins.glb"]));
}

#[test]
fn several_times_and_whole_clips_are_numbered() {
    let folder = Folder::with_ribbon();
    let times = "skin ribbon.gltf --clip Step --time -1,0.5,9 -o times.glb";
    let clip = "skin ribbon.gltf --clip Step --fps 4 -o clip.glb";
    assert_snapshot!("series", folder.session(&[times, clip]));
    let names =
        |word: &str, count: usize| (0..count).map(|i| format!("{word}.{i:04}.glb")).collect::<Vec<_>>();
    assert_eq!(folder.written(), [names("clip", 5), names("times", 3)].concat());
    let left = |file: &str| positions(&folder, file)[0][0];
    // The keys are at 0 and 1 s; outside of them the nearest key holds.
    assert_eq!(["times.0000.glb", "times.0001.glb", "times.0002.glb"].map(left), [0.0, 0.0, 3.0]);
    assert_eq!(["clip.0003.glb", "clip.0004.glb"].map(left), [0.0, 3.0]);
}

#[test]
fn arrays_hold_the_posed_vertices() {
    let folder = Folder::with_ribbon();
    assert_snapshot!("arrays", folder.session(&["skin ribbon.gltf --clip Step --time 1 -o posed.npy"]));
    assert_eq!(
        folder.written(),
        ["posed.node3.primitive0.normal.npy", "posed.node3.primitive0.position.npy"]
    );
    folder.session(&["skin ribbon.gltf --clip Step --time 1 -o posed.glb"]);
    let array = folder.read("posed.node3.primitive0.position.npy");
    let want: Vec<u8> =
        positions(&folder, "posed.glb").iter().flatten().flat_map(|x| x.to_le_bytes()).collect();
    assert_eq!(array[array.len() - want.len()..], want);
}

#[test]
fn arrays_are_named_for_what_they_are_and_numbered_in_order() {
    let folder = Folder::with_ribbon();
    folder.run("skin ribbon.gltf --rest --format npy -o a.png").assert().success();
    assert_eq!(folder.written(), ["a.node3.primitive0.normal.npy", "a.node3.primitive0.position.npy"]);
    // A destination that cannot be written is found before any file is written.
    let folder = Folder::with_ribbon();
    fs::create_dir(folder.path("a.node3.primitive0.normal.npy")).expect("a folder");
    folder.run("skin ribbon.gltf --clip Wave --fps 1 -o a.npy").assert().code(2);
    assert_eq!(folder.written().len(), 1);
}

/// Returns the shape that the header of an array states, and its numbers.
fn array(folder: &Folder, file: &str) -> (String, Vec<f32>) {
    let bytes = folder.read(file);
    let start = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    let header = std::str::from_utf8(&bytes[10..start]).expect("text");
    let shape = header.split_once("'shape': ").and_then(|(_, rest)| rest.split_once(", }")).expect("a shape");
    let numbers = bytes[start..].as_chunks().0.iter().map(|&four| f32::from_le_bytes(four));
    (shape.0.into(), numbers.collect())
}

#[test]
fn a_series_of_arrays_is_one_file_for_each_attribute() {
    let folder = Folder::with_ribbon();
    let lines = [
        "skin ribbon.gltf --clip Wave --fps 4 --joints -o run.npy",
        "skin ribbon.gltf --clip Step --time 0.5,1 -o two.npy --json",
        "skin ribbon.gltf --rest --joints -o rest.npy",
    ];
    let shown = folder.session(&lines);
    assert_snapshot!("arrays_of_a_series", shown.replace(condyle::Isa::best().name(), "best"));
    assert_eq!(
        folder.written(),
        [
            "rest.joints.npy",
            "rest.node3.primitive0.normal.npy",
            "rest.node3.primitive0.position.npy",
            "run.joints.npy",
            "run.node3.primitive0.normal.npy",
            "run.node3.primitive0.position.npy",
            "two.node3.primitive0.normal.npy",
            "two.node3.primitive0.position.npy",
        ]
    );
    // The frames equal single moments, one after another.
    for (attribute, kind) in
        [("joints", 36), ("node3.primitive0.position", 12), ("node3.primitive0.normal", 12)]
    {
        let (shape, run) = array(&folder, &format!("run.{attribute}.npy"));
        let count = if attribute == "joints" { "3, 3, 4" } else { "4, 3" };
        assert_eq!(shape, format!("(5, {count})"));
        for (frame, seconds) in ["0", "0.25", "0.5", "0.75", "1"].iter().enumerate() {
            let line = format!("skin ribbon.gltf --clip Wave --time {seconds} --joints -o one.npy");
            folder.run(&line).assert().success();
            let (shape, one) = array(&folder, &format!("one.{attribute}.npy"));
            assert_eq!((shape, one.len()), (format!("({count})"), kind));
            assert_eq!(one, run[frame * kind..][..kind], "{attribute} at {seconds}");
        }
    }
    // The upper joint is one metre above the lower one; its matrix has rows that a point is multiplied by.
    let (_, rest) = array(&folder, "rest.joints.npy");
    assert_eq!(rest[24..], [1., 0., 0., 0., 0., 1., 0., 1., 0., 0., 1., 0.]);
}

#[test]
fn joints_need_no_mesh_and_meshes_no_joints() {
    let folder = Folder::with_ribbon();
    let mut bare = ribbon();
    bare["nodes"][3] = serde_json::json!({});
    bare.as_object_mut().expect("an object").remove("meshes");
    folder.write("bare.gltf", bare.to_string());
    folder.refuses("skin bare.gltf --rest -o a.npy", 1, &["bare.gltf", "no meshes"]);
    folder.run("skin bare.gltf --clip Wave --fps 2 --joints -o a.npy").assert().success();
    assert_eq!(array(&folder, "a.joints.npy").0, "(3, 3, 3, 4)");
    folder.refuses("skin ribbon.gltf --rest --joints -o a.glb", 2, &["--joints", ".npy"]);
    folder.write("empty.gltf", r#"{"asset":{"version":"2.0"}}"#);
    folder.refuses("skin empty.gltf --rest --joints -o a.npy", 1, &["empty.gltf", "no joints"]);
}

/// More arrays than may be open together, and a failure in the middle that leaves no file.
#[test]
fn any_number_of_arrays_is_written_whole_or_not_at_all() {
    let folder = Folder::with_ribbon();
    let mut many = ribbon();
    let primitive = many["meshes"][0]["primitives"][0].clone();
    many["meshes"][0]["primitives"] = serde_json::json!(vec![primitive; 150]);
    folder.write("ribbon.many.gltf", many.to_string());
    folder.run("skin ribbon.many.gltf --clip Wave --fps 2 -o a.npy").assert().success();
    let written = folder.written();
    assert_eq!(written.len(), 300);
    let first = folder.read("a.node3.primitive0.position.npy");
    assert_eq!(array(&folder, "a.node3.primitive0.position.npy").0, "(3, 4, 3)");
    assert_eq!(folder.read("a.node3.primitive149.position.npy"), first);
    for name in written {
        fs::remove_file(folder.path(&name)).expect("a file");
    }
    // The last moment is outside the range of f32.
    let mut huge = many;
    huge["nodes"][0]["scale"] = serde_json::json!([1e38, 1e38, 1e38]);
    folder.write("ribbon.huge.gltf", huge.to_string());
    folder.run("skin ribbon.huge.gltf --rest -o a.npy").assert().success();
    for name in folder.written() {
        fs::remove_file(folder.path(&name)).expect("a file");
    }
    folder.run("skin ribbon.huge.gltf --clip Step --fps 2 -o a.npy").assert().code(1);
    assert_eq!(folder.written(), [""; 0]);
}

#[test]
fn figures_come_as_json_too() {
    let folder = Folder::with_ribbon();
    let line =
        format!("skin ribbon.gltf --clip Wave --fps 1 -o a.glb --json --isa {BASELINE} --numeric portable");
    assert_snapshot!("json", folder.session(&[&line]).replace(BASELINE, "baseline"));
    folder.write("broken.gltf", "{}");
    for line in ["skin broken.gltf --rest -o b.glb", "render broken.gltf --rest -o b.png", "info broken.gltf"]
    {
        let output = folder.run(&format!("{line} --json")).assert().code(1);
        let json: serde_json::Value = serde_json::from_slice(&output.get_output().stdout).expect("JSON");
        assert_eq!(json["usable"], false, "{line}");
        assert_eq!(json["problems"][0]["severity"], "error", "{line}");
    }
}

#[test]
fn nothing_that_is_read_is_written_over() {
    let folder = Folder::with_ribbon();
    let mut painted = ribbon();
    painted["images"] = serde_json::json!([{ "uri": "a.0001.png" }, { "uri": "b.png" }]);
    painted["buffers"][0]["uri"] = "a.node3.primitive0.normal.npy".into();
    folder.write("painted.gltf", painted.to_string());
    folder.write("a.node3.primitive0.normal.npy", folder.read("ribbon.bin"));
    for name in ["a.0001.png", "b.png"] {
        folder.write(name, "a picture");
    }
    let before: Vec<_> = folder.written().iter().map(|name| folder.read(name)).collect();
    for line in [
        "skin painted.gltf --rest --format glb -o b.png",
        "skin painted.gltf --rest --format glb -o painted.gltf",
        "skin painted.gltf --clip Wave --fps 1 --format glb -o a.png",
        "skin painted.gltf --rest -o a.npy",
        "render painted.gltf --rest -o ./b.png",
    ] {
        folder.run(line).assert().code(2);
        let now: Vec<_> = folder.written().iter().map(|name| folder.read(name)).collect();
        assert_eq!(now, before, "{line}");
    }
}

#[test]
fn pictures_beside_the_model_travel_in_the_file_and_missing_ones_are_named() {
    let folder = Folder::with_ribbon();
    let mut painted = ribbon();
    painted["images"] = serde_json::json!([{ "uri": "red%20cloth.png" }, { "uri": "gone.png" }]);
    folder.write("painted.gltf", painted.to_string());
    let picture = b"\x89PNG\r\n\x1a\nthe rest of a picture";
    folder.write("red cloth.png", picture);
    assert_snapshot!("pictures", folder.session(&["skin painted.gltf --rest -o posed.glb"]));
    assert!(folder.read("posed.glb").windows(picture.len()).any(|bytes| bytes == picture));
}

#[test]
fn portable_bits_do_not_depend_on_the_instruction_set() {
    let folder = Folder::new();
    let model = testdata("morph.glb");
    let written = |isa: Isa| {
        let arguments = [
            "skin",
            &model,
            "--clip",
            "0",
            "--time",
            "0.7",
            "-o",
            "posed.glb",
            "--numeric",
            "portable",
            "--isa",
            isa.name(),
        ];
        folder.condyle(&arguments).assert().success();
        folder.read("posed.glb")
    };
    let files: Vec<_> = Isa::all().map(|isa| (isa, written(isa))).collect();
    for (isa, file) in &files {
        assert!(*file == files[0].1, "{isa} and {}", files[0].0);
    }
}

#[test]
fn normal_rules_differ_under_uneven_scale() {
    let folder = Folder::new();
    let model = testdata("uneven_scale.glb");
    let mut files = ["inverse-transpose", "plain", "blended-inverse-transpose"].map(|rule| {
        let arguments =
            ["skin", &model, "--clip", "0", "--time", "0.5", "-o", "posed.glb", "--normals", rule];
        folder.condyle(&arguments).assert().success();
        folder.read("posed.glb")
    });
    files.sort();
    assert!(files[0] != files[1] && files[1] != files[2]);
}

#[test]
fn wrong_command_lines_are_explained() {
    let folder = Folder::with_ribbon();
    fs::create_dir(folder.path("folder.glb")).expect("a folder");
    folder.write("still.gltf", {
        let mut still = ribbon();
        still.as_object_mut().expect("an object").remove("animations");
        still.to_string()
    });
    let before = folder.written();
    let lines = [
        "skin ribbon.gltf -o a.glb",
        "skin ribbon.gltf --rest --time 1 -o a.glb",
        "skin ribbon.gltf --clip 0 --time 1 --fps 3 -o a.glb",
        "skin ribbon.gltf --clip 0 --time 0,nan -o a.glb",
        "skin ribbon.gltf --clip 0 --time inf -o a.glb",
        "skin ribbon.gltf --clip 0 --fps 0 -o a.glb",
        "skin ribbon.gltf --clip 0 --fps 1e9 -o a.glb",
        "skin ribbon.gltf --clip run -o a.glb",
        "skin still.gltf --clip run -o a.glb",
        "skin ribbon.gltf --rest -o a.obj",
        "skin ribbon.gltf --rest -o folder.glb",
        "skin ribbon.gltf --rest --format glb -o ./ribbon.gltf",
        "skin ribbon.gltf --rest --isa mmx -o a.glb",
    ];
    assert_snapshot!("wrong_command_lines", folder.session(&lines));
    assert_eq!(folder.written(), before);
}

#[test]
fn broken_models_are_refused_with_their_faults() {
    let folder = Folder::with_ribbon();
    let mut broken = ribbon();
    broken["skins"][0]["joints"] = serde_json::json!([1, 77]);
    broken["meshes"][0]["primitives"][0]["attributes"]["POSITION"] = serde_json::json!(99);
    folder.write("broken.gltf", broken.to_string());
    folder.write("a.glb", "what was there before");
    let lines = ["skin broken.gltf --rest -o a.glb", "skin gone.gltf --rest -o a.glb"];
    assert_snapshot!("broken_models", folder.session(&lines));
    assert_eq!(folder.read("a.glb"), b"what was there before");
    assert_eq!(folder.written(), ["a.glb", "broken.gltf"]);
}

#[test]
fn a_pose_beyond_all_numbers_is_refused() {
    let folder = Folder::with_ribbon();
    let mut huge = ribbon();
    for node in [0, 1] {
        huge["nodes"][node]["scale"] = serde_json::json!([1e30, 1e30, 1e30]);
    }
    folder.write("huge.gltf", huge.to_string());
    let lines = ["skin huge.gltf --clip Wave -o a.glb", "skin huge.gltf --clip Wave -o a.npy"];
    assert_snapshot!("beyond_numbers", folder.session(&lines));
    assert_eq!(folder.written(), ["huge.gltf"]);
}

#[test]
fn a_forced_instruction_set_that_does_not_exist_is_refused() {
    let folder = Folder::with_ribbon();
    let mut command = folder.condyle(&["skin", "ribbon.gltf", "--rest", "-o", "a.glb"]);
    assert_snapshot!("forced_isa", transcript(command.env("CONDYLE_ISA", "mmx")));
    // The command line overrides the environment.
    let line = format!("skin ribbon.gltf --rest -o a.glb --isa {BASELINE} --numeric portable");
    let mut command = folder.run(&line);
    command.env("CONDYLE_ISA", "mmx").env("CONDYLE_NUMERIC", "exact").assert().success();
}

#[test]
fn no_command_takes_an_environment_that_means_nothing() {
    let folder = Folder::with_ribbon();
    folder.run("encode ribbon.gltf -o a.condyle").assert().success();
    let before = folder.written();
    for line in [
        "info ribbon.gltf",
        "info a.condyle",
        "check ribbon.gltf",
        "encode ribbon.gltf -o b.condyle",
        "decode a.condyle -o b.glb",
        "compare ribbon.gltf ribbon.gltf",
        "render ribbon.gltf --rest -o b.png",
        "render ribbon.gltf --clip 0 --clip 1 -o b.png",
        "reach ribbon.gltf --clip 0 --move upper=0,0,1 -o b.png",
        "demo -o b",
    ] {
        for (variable, name) in [("CONDYLE_ISA", "mmx"), ("CONDYLE_NUMERIC", "exact")] {
            let output = folder.run(line).env(variable, name).assert().code(2);
            let message = String::from_utf8_lossy(&output.get_output().stderr).into_owned();
            assert!(
                message.contains(&format!("{variable}={name}: unknown name, expected one of ")),
                "{line}: {message}"
            );
            assert!(output.get_output().stdout.is_empty(), "{line}");
        }
    }
    assert_eq!(folder.written(), before);
    folder.run("completions bash").env("CONDYLE_ISA", "mmx").assert().success();
}

#[test]
fn a_time_outside_of_the_clip_is_said_to_be_clamped() {
    let folder = Folder::with_ribbon();
    let said = |line: &str| {
        let output = folder.run(line).assert().success();
        String::from_utf8_lossy(&output.get_output().stderr).into_owned()
    };
    for (line, times) in [
        ("skin ribbon.gltf --clip Wave --time 500 -o a.glb", "500"),
        ("skin ribbon.gltf --clip Wave --time 0.5,-1,1.01 -o a.glb", "-1, 1.01"),
        ("skin ribbon.gltf --clip Wave --time 2,3,4,5,6,7 -o a.glb", "2, 3, 4, 5, 6, ..."),
        ("render ribbon.gltf --clip Wave --time 500 --size 16 -o a.png", "500"),
    ] {
        let want =
            format!("condyle: ribbon.gltf: --time {times} is clamped: Wave lasts from 0.000 to 1.000 s\n");
        assert_eq!(said(line), want, "{line}");
    }
    let blended = said("render ribbon.gltf --clip Wave --clip Step --time 3 --size 16 -o a.png");
    assert!(blended.contains("--time 3 is clamped: Wave and Step lasts from 0.000 to 1.000 s"), "{blended}");
    for line in [
        "skin ribbon.gltf --clip Wave -o a.glb",
        "skin ribbon.gltf --clip Wave --time 0,1.0002 -o a.glb",
        "skin ribbon.gltf --clip Wave --fps 3 -o a.glb",
        "render ribbon.gltf --clip Wave --size 16 -o a.gif",
    ] {
        assert_eq!(said(line), "", "{line}");
    }
}

#[test]
fn a_name_that_is_nearly_right_is_answered_with_the_right_one() {
    let folder = Folder::with_ribbon();
    let mut many = ribbon();
    let animation = many["animations"][0].clone();
    let named = |at: usize| {
        let mut animation = animation.clone();
        animation["name"] = format!("Armature|Move{at}").into();
        animation
    };
    let animations = many["animations"].as_array_mut().expect("animations");
    animations.extend((0..32).map(named));
    folder.write("many.gltf", many.to_string());
    for (line, guess) in [
        ("skin many.gltf --clip Waev -o a.glb", "`Wave`"),
        ("render many.gltf --clip move17 -o a.png", "`Armature|Move17`"),
        ("blend many.gltf --clip Wave --clip Stpe -o a.png", "`Step`"),
        ("compare many.gltf many.gltf --clip wav", "`Wave`"),
    ] {
        let list = "give --clip the name or index of one of these:\n   0  Wave";
        folder.refuses(line, 2, &[&format!(" (did you mean {guess}?); {list}")]);
    }
    folder.run("encode many.gltf ribbon.gltf -o both.condyle").assert().success();
    folder.refuses(
        "decode both.condyle --model ribon -o a.glb",
        2,
        &["(did you mean `ribbon`?); --model takes one of"],
    );
    folder.refuses("decode both.condyle --model many --clip stepp -o a.glb", 2, &["did you mean `Step`?"]);
}

#[cfg(unix)]
#[test]
fn written_files_are_readable_by_others_and_devices_are_left_alone() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::with_ribbon();
    folder.write("mine", "");
    let wanted = fs::metadata(folder.path("mine")).expect("a file").permissions().mode();
    folder.condyle(&["skin", "ribbon.gltf", "--rest", "-o", "a.glb"]).assert().success();
    let got = fs::metadata(folder.path("a.glb")).expect("a file").permissions().mode();
    assert_eq!(got & 0o777, wanted & 0o777);
    let mut command =
        folder.condyle(&["skin", "ribbon.gltf", "--rest", "--format", "glb", "-o", "/dev/null"]);
    command.assert().code(2);
    assert!(!fs::metadata("/dev/null").expect("a device").is_file());
}

#[cfg(unix)]
#[test]
fn what_a_link_leads_to_is_written_and_the_link_stays() {
    use std::os::unix::fs::symlink;
    let folder = Folder::with_ribbon();
    folder.write("real.glb", "");
    symlink("real.glb", folder.path("link.glb")).expect("a link");
    symlink("ribbon.gltf", folder.path("model.glb")).expect("a link");
    symlink("gone", folder.path("gone.glb")).expect("a link");
    folder.run("skin ribbon.gltf --rest -o link.glb").assert().success();
    assert!(fs::symlink_metadata(folder.path("link.glb")).expect("the link").is_symlink());
    assert!(folder.read("real.glb").starts_with(b"glTF"));
    for name in ["model.glb", "gone.glb"] {
        folder.run(&format!("skin ribbon.gltf --rest -o {name}")).assert().code(2);
    }
    assert!(folder.read("ribbon.gltf").starts_with(b"{"));
}

#[test]
fn help_explains_each_argument() {
    assert_snapshot!("skin_help", transcript(condyle().args(["skin", "--help"])));
}

/// Local transforms as an array and as JSON, which also has events and tracks.
#[test]
fn local_transforms_are_written_and_printed() {
    let folder = Folder::with_ribbon();
    let out =
        folder.run("skin ribbon.gltf --clip Wave --time 0,0.5 --local -o run.npy --json").assert().success();
    let told: serde_json::Value = serde_json::from_slice(&out.get_output().stdout).expect("JSON");
    let (shape, numbers) = array(&folder, "run.local.npy");
    assert_eq!(shape, "(2, 3, 10)");
    let moments = told["moments"].as_array().expect("two moments");
    assert_eq!(moments.len(), 2);
    let printed = moments.iter().flat_map(|moment| moment["local"].as_array().expect("joints"));
    let printed = printed.flat_map(|joint| joint.as_array().expect("numbers"));
    let printed: Vec<f32> = printed.map(|v| v.as_f64().expect("a number") as f32).collect();
    assert_eq!(printed, numbers);
    assert_eq!(told["events"], serde_json::json!([]));
    folder.run("skin ribbon.gltf --rest --local -o a.glb").assert().code(2);
}
