//! `condyle encode`, and the commands that read its files: info, check, compare, skin, decode, render.

use crate::common::{Folder, condyle, models, ribbon, testdata, transcript};
use condyle::container::{Container, ContainerWriter, EntryKind};
use condyle::{Interpolation, RawClip, Target, Track};

use condyle_encode::{EncodeOptions, Shell, encode};
use insta::assert_snapshot;
use serde_json::{Value, json};

fn lines(folder: &Folder, line: &str) -> Vec<Value> {
    let output = folder.run(line).assert().success();
    let text = String::from_utf8(output.get_output().stdout.clone()).expect("UTF-8");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn number(value: &Value, key: &str) -> f64 {
    value[key].as_f64().unwrap_or_else(|| panic!("{key} of {value}"))
}

/// Returns the largest distances that `compare` finds, in millimetres.
fn worst(folder: &Folder, line: &str) -> Vec<f64> {
    let found = lines(folder, &format!("compare {line} --json"));
    found.iter().map(|line| number(&line["worst"], "millimetres")).collect()
}

#[test]
fn every_clip_is_reported_and_within_its_budget() {
    let folder = Folder::with_character();
    let found = lines(&folder, "encode a.glb -o a.condyle --error 1mm --json");
    let (file, clips) = found.split_last().expect("lines");
    let names: Vec<_> = clips.iter().filter_map(|line| line["clip"].as_str()).collect();
    assert_eq!(names, ["walk", "run", "idle"]);
    for line in clips {
        let keys: Vec<_> = line.as_object().expect("an object").keys().collect();
        let wanted = [
            "model",
            "clip",
            "joints",
            "samples",
            "raw_bytes",
            "bytes",
            "budget_m",
            "error_max_m",
            "error_p99_m",
            "error_morphed_max_m",
            "error_between_max_m",
            "encoding",
            "encode_s",
            "rate_hz",
            "keys",
            "keys_off_frames",
            "off_frames_max",
            "farthest_m",
            "joint",
            "at_s",
            "vertex",
            "fallback_tracks",
            "errors",
        ];
        assert_eq!(keys, wanted);
        let own = line["errors"].as_array().expect("one for each joint").iter();
        let worst = own.map(|joint| number(joint, "error_max_m")).fold(0.0, f64::max);
        let morphed = number(line, "error_morphed_max_m");
        assert_eq!(worst.max(morphed), number(line, "error_max_m"), "{line}");
        assert!(number(&line["vertex"], "error_m") <= number(line, "error_max_m") + 1e-6, "{line}");
        let kept = line["fallback_tracks"].as_array().expect("a list");
        assert!(kept.iter().all(|name| name.as_str() == Some("weights of node 33")), "{line}");
        assert_eq!((line["model"].as_str(), number(line, "budget_m")), (Some("a.glb"), 0.001));
        let [error, p99, between] =
            ["error_max_m", "error_p99_m", "error_between_max_m"].map(|key| number(line, key));
        assert!(0.0 < p99 && p99 <= error && between <= error && error <= 0.001, "{line}");
        assert_eq!(
            number(line, "raw_bytes"),
            40.0 * number(line, "joints") * number(line, "samples"),
            "{line}"
        );
        assert!(2.0 * number(line, "bytes") < number(line, "raw_bytes"), "{line}");
    }
    assert_eq!(file["file"]["bytes"], folder.read("a.condyle").len());
    assert_eq!(number(file, "bytes"), clips.iter().map(|line| number(line, "bytes")).sum::<f64>());
    // Another command measures the bound on all vertices at the same moments.
    for (clip, found) in worst(&folder, "a.glb a.condyle --fps 120").into_iter().enumerate() {
        assert!(found > 0.1 && found < 1.5, "clip {clip}: {found} mm");
    }
}

#[test]
fn bytes_do_not_depend_on_threads() {
    let folder = Folder::with_character();
    for threads in ["1", "3", "8"] {
        folder.run(&format!("encode a.glb -o {threads}.condyle --threads {threads}")).assert().success();
        assert!(folder.read("1.condyle") == folder.read(&format!("{threads}.condyle")), "{threads} threads");
    }
}

#[test]
fn options_do_what_they_say() {
    let folder = Folder::with_character();
    // A low rate keeps the test fast.
    let encode =
        |options: &str| lines(&folder, &format!("encode a.glb -o a.condyle --json --rate 10 {options}"));
    let bytes = |options: &str| {
        encode(options).last().map(|file| number(file, "bytes")).expect("a line for the file")
    };
    let usual = bytes("--at-samples --error 1mm");
    assert_eq!(bytes("--at-samples --error 0.001"), usual);
    assert!(bytes("--at-samples --error 0.1mm") > usual && bytes("--at-samples --error 1cm") < usual);
    // An error in metres is a smaller relative error for a taller character, so the file is larger.
    assert!(bytes("--at-samples --error 1mm --height 10m") > usual);
    assert!(bytes("--at-samples --error 1mm --height 20cm") < usual);
    assert!(bytes("--at-samples --error 1mm --shell 2m") > usual);
    assert!(bytes("--error 1mm") > usual, "between the frames, too");
    let found = encode("--at-samples --error 1mm --best");
    assert!(found[..3].iter().all(|line| number(line, "error_max_m") <= 0.001), "{found:?}");
    let found = encode("--at-samples");
    assert_eq!((number(&found[0], "error_between_max_m"), number(&found[0], "samples")), (0.0, 11.0));
    let whole = folder.read("a.condyle").len();
    folder.run("encode a.glb -o a.condyle --rate 10 --at-samples --no-document").assert().success();
    assert!(folder.read("a.condyle").len() < whole);
}

#[test]
fn a_length_without_a_unit_is_in_metres_and_said_to_be_where_that_is_odd() {
    let folder = Folder::with_ribbon();
    let said = |line: &str| {
        let output = folder.run(line).assert().success();
        String::from_utf8_lossy(&output.get_output().stderr).into_owned()
    };
    let encode = "encode ribbon.gltf -o a.condyle --rate 10 --at-samples";
    for (line, option, number) in [
        (format!("{encode} --error 5"), "--error", "5"),
        (format!("{encode} --error 0.1"), "--error", "0.1"),
        (format!("{encode} --height 180"), "--height", "180"),
        (format!("{encode} --shell 3"), "--shell", "3"),
        ("compare ribbon.gltf ribbon.gltf --height 180".into(), "--height", "180"),
    ] {
        let want = format!(
            "condyle: {option} {number} has no unit and is read as metres; write {number}mm or {number}cm if you meant \
             that, else {number}m\n"
        );
        assert_eq!(said(&line), want, "{line}");
    }
    for line in [
        format!("{encode} --error 5m --height 180m --shell 3m"),
        format!("{encode} --error 0.001 --height 1.8 --shell 0.03"),
        "compare ribbon.gltf ribbon.gltf --height 1.8".into(),
    ] {
        assert_eq!(said(&line), "", "{line}");
    }
    // The number is read as metres.
    for [bare, full] in
        [["--error 0.2", "--error 20cm"], ["--height 25", "--height 25m"], ["--shell 2", "--shell 200cm"]]
    {
        let written = [bare, full].map(|options| {
            said(&format!("{encode} {options}"));
            folder.read("a.condyle")
        });
        assert!(written[0] == written[1], "{bare}");
    }
}

#[test]
fn a_budget_that_vanishes_is_the_command_lines_fault() {
    let folder = Folder::with_ribbon();
    let mut tiny = ribbon();
    tiny["nodes"][0]["scale"] = json!([1e-35, 1e-35, 1e-35]);
    folder.write("tiny.gltf", tiny.to_string());
    folder.refuses(
        "encode tiny.gltf -o a.condyle --error 1e-9 --height 1e9",
        2,
        &["tiny.gltf", "--error", "--height"],
    );
}

#[test]
fn a_decoded_document_moves_as_the_original() {
    let folder = Folder::with_character();
    folder.run("encode a.glb -o a.condyle --rate 30 --at-samples --error 1mm").assert().success();
    folder.run("decode a.condyle -o back.glb").assert().success();
    folder.run("check back.glb").assert().success();
    let frames = worst(&folder, "a.glb back.glb --fps 30");
    assert_eq!(frames.len(), 3);
    for (clip, found) in frames.into_iter().enumerate() {
        assert!(found > 0.1 && found < 1.5, "clip {clip}: {found} mm");
    }
    // The bound also holds for the decoded file, between its keys too.
    folder.run("encode a.glb -o b.condyle --error 0.5mm").assert().success();
    let output = folder.run("decode b.condyle -o b.glb --json").assert().success();
    let said: Value = serde_json::from_slice(&output.get_output().stdout).expect("JSON");
    for clip in said["clips"].as_array().expect("clips") {
        assert!(number(clip, "error_max_m") <= 0.0005 / 16.0, "{clip}");
        assert!((number(clip, "bound_m") - 0.0005).abs() < 1e-9, "{clip}");
    }
    for (clip, found) in worst(&folder, "a.glb b.glb").into_iter().enumerate() {
        assert!(found > 0.1 && found < 0.5, "clip {clip}: {found} mm");
    }
    folder.run("decode a.condyle --clip run -o run.glb").assert().success();
    let run = lines(&folder, "compare a.glb run.glb --json");
    assert_eq!((run.len(), run[0]["clip"].as_str()), (1, Some("run")));
    // Properties that the built-in character never scales have no keys.
    let info: Value =
        serde_json::from_slice(&folder.run("info back.glb --json").assert().success().get_output().stdout)
            .expect("JSON");
    let (joints, tracks) =
        (info["skeleton"]["joints"].as_array().map(Vec::len), info["clips"][0]["tracks"].as_u64());
    let (joints, tracks) = (joints.unwrap_or(0) as u64, tracks.unwrap_or(0));
    assert!(3 < tracks && tracks < 2 * joints, "{tracks} tracks of {joints} joints");
}

/// The report describes the file, which cannot store tracks of game data.
#[test]
fn figures_of_a_decoded_clip_are_those_of_the_file() {
    let folder = Folder::with_ribbon();
    folder.run("encode ribbon.gltf -o ribbon.condyle").assert().success();
    let bytes = folder.read("ribbon.condyle");
    let before = Container::from_bytes(&bytes).expect("what was written");
    let of = |kind| before.entries().find(|entry| entry.kind == kind).expect("one of each").index;
    let skeleton = before.skeleton(of(EntryKind::Skeleton)).expect("a skeleton");
    let track = |target, values: &[f32]| Track {
        target,
        interpolation: Interpolation::Linear,
        timeline: 0,
        values: values.to_vec(),
    };
    let turn = track(Target::Rotation(1), &[0.0, 0.0, 0.0, 1.0, 0.6, 0.0, 0.0, 0.8]);
    let light = track(Target::Vector(0), &[0.0, 8.0]);
    let clip = RawClip::new("lamp".into(), vec![vec![0.0, 1.0]], vec![turn, light]).expect("a clip");
    let encoded = encode(&clip, &skeleton, &EncodeOptions::new(5e-4, Shell::Balls(0.03)), &mut |_| ())
        .expect("two tracks");
    let mut writer = ContainerWriter::default();
    let model = writer.add_skeleton("ribbon", &skeleton).expect("a skeleton");
    let document = before.document(of(EntryKind::Document)).expect("a document");
    writer.add(EntryKind::Document, "ribbon", Some(model), document).expect("a document");
    writer.add(EntryKind::Clip, "lamp", Some(model), encoded.bytes()).expect("a clip");
    folder.write("lamp.condyle", writer.finish());

    let output = folder.run("decode lamp.condyle -o lamp.glb --json").assert().success();
    let said: Value = serde_json::from_slice(&output.get_output().stdout).expect("JSON");
    let warned = String::from_utf8_lossy(&output.get_output().stderr).into_owned();
    assert!(warned.contains("lamp: 1 track of game data left out"), "{warned}");
    let output = folder.run("info lamp.glb --json").assert().success();
    let info: Value = serde_json::from_slice(&output.get_output().stdout).expect("JSON");
    for key in ["tracks", "keys", "bytes"] {
        assert_eq!(said["clips"][0][key], info["clips"][0][key], "{key}");
    }
    assert_eq!(said["clips"][0]["tracks"], 1);
}

#[test]
fn morph_weights_and_meshes_on_joints_come_back() {
    let folder = Folder::new();
    for path in models(&["rigid.glb"], &["robot.glb", "syn_morph.glb"]) {
        let model = path.to_str().expect("a path in UTF-8");
        folder.condyle(&["encode", model, "-o", "a.condyle", "--height", "1.8"]).assert().success();
        folder.run("decode a.condyle -o back.glb").assert().success();
        let rate = if model.ends_with("robot.glb") { "24" } else { "60" };
        for (other, more) in [("a.condyle", &[][..]), ("back.glb", &["--fps", rate])] {
            let mut command = folder.condyle(&["compare", model, other, "--height", "1.8", "--json"]);
            let output = command.args(more).assert().success();
            for line in String::from_utf8_lossy(&output.get_output().stdout).lines() {
                let line: Value = serde_json::from_str(line).expect("JSON");
                assert!(number(&line["worst"], "millimetres") < 0.525, "{model}, {other}: {line}");
            }
        }
    }
}

/// The bound is on the vertices, so it includes morph weights. The target moves a vertex by two metres, so an
/// error of a thousandth in its weight is two millimetres. The parent of its joint has a scale of 3.
#[test]
fn the_bound_holds_for_morph_targets() {
    let folder = Folder::with_ribbon();
    let mut it = ribbon();
    let keys: u32 = 40;
    let data: Vec<f32> = (0..keys)
        .map(|key| key as f32 / 30.0)
        .chain((0..keys).map(|key| 0.5 - 0.5 * (key as f32 * 0.7).cos()))
        .chain([0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 2.0, 0.0, 0.0, 0.0, 2.0, 0.0])
        .collect();
    let bytes: Vec<u8> = data.iter().flat_map(|v| v.to_le_bytes()).collect();
    folder.write("morph.bin", &bytes);
    let buffers = it["buffers"].as_array_mut().expect("a list");
    buffers.push(json!({ "uri": "morph.bin", "byteLength": bytes.len() }));
    let views = it["bufferViews"].as_array_mut().expect("a list");
    let first = views.len();
    for (from, length) in [(0, 4 * keys), (4 * keys, 4 * keys), (8 * keys, 48)] {
        views.push(json!({ "buffer": 1, "byteOffset": from, "byteLength": length }));
    }
    let accessors = it["accessors"].as_array_mut().expect("a list");
    let at = accessors.len();
    let float = |view, count, kind| json!({ "bufferView": view, "componentType": 5126, "count": count, "type": kind });
    accessors.extend([
        float(first, keys, "SCALAR"),
        float(first + 1, keys, "SCALAR"),
        float(first + 2, 4, "VEC3"),
    ]);
    (accessors[at]["min"], accessors[at]["max"]) = (json!([0]), json!([data[keys as usize - 1]]));
    (accessors[at + 2]["min"], accessors[at + 2]["max"]) = (json!([0, 0, 0]), json!([2, 2, 1]));
    it["nodes"][1]["scale"] = json!([3, 3, 3]);
    it["meshes"][0]["primitives"][0]["targets"] = json!([{ "POSITION": at + 2 }]);
    it["animations"] = json!([{
        "name": "Swell",
        "samplers": [{ "input": at, "output": at + 1 }, { "input": 5, "output": 6 }],
        "channels": [
            { "sampler": 0, "target": { "node": 3, "path": "weights" } },
            { "sampler": 1, "target": { "node": 2, "path": "rotation" } },
        ],
    }]);
    folder.write("swell.gltf", it.to_string());
    for error in ["0.5mm", "5mm"] {
        let line = format!("encode swell.gltf -o swell.condyle --rate 30 --error {error} --json");
        let said = lines(&folder, &line).swap_remove(0);
        let [bound, whole, morphed] =
            ["budget_m", "error_max_m", "error_morphed_max_m"].map(|key| number(&said, key));
        assert!(0.1 * bound < morphed && morphed <= whole && whole <= bound, "{said}");
        folder.run("decode swell.condyle -o swell.glb").assert().success();
        for file in ["swell.condyle", "swell.glb"] {
            let found = worst(&folder, &format!("swell.gltf {file}"))[0] / 1000.0;
            assert!(found <= bound, "{error} {file}: {found}");
            assert!(file.ends_with("glb") || found <= whole + 4e-6, "{error}: {found}, {whole} was said");
        }
    }
}

#[test]
fn a_file_shows_what_is_in_it() {
    let folder = Folder::with_ribbon();
    let two = ribbon();
    folder.write("two.gltf", two.to_string());
    assert_snapshot!(
        "entries",
        folder.session(&[
            "encode ribbon.gltf two.gltf -o both.condyle --no-document --threads 1 --rate 20 --json --report r.html",
            "info both.condyle",
            "check both.condyle",
            "info both.condyle --json",
        ])
        .lines()
        // Measured errors and times depend on the machine.
        .map(|line| [",\"error_max_m\"", ",\"encode_s\""].iter().fold(line, |line, end| line.split(end).next().unwrap_or_default()))
        .collect::<Vec<_>>()
        .join("\n")
    );
}

#[test]
fn other_commands_read_it() {
    let folder = Folder::with_character();
    folder.run("encode a.glb -o a.condyle --error 0.01mm").assert().success();
    for file in ["a.glb", "a.condyle"] {
        folder.run(&format!("skin {file} --clip run --time 0.3 -o {file}.posed.glb")).assert().success();
        folder
            .run(&format!("render {file} --clip run --time 0.3 --size 64 -o {file}.png"))
            .assert()
            .success();
    }
    let picture = |name: &str| image::open(folder.path(name)).expect("a picture").into_rgb8();
    assert!(difference(&picture("a.glb.png"), &picture("a.condyle.png")) < 1.0);
    let sizes = ["a.glb.posed.glb", "a.condyle.posed.glb"].map(|name| folder.read(name).len());
    // The vertices are the same; some numbers in the JSON have fewer digits.
    assert!(sizes[0].abs_diff(sizes[1]) < 1000, "{sizes:?}");
    folder.refuses("encode a.condyle -o b.condyle", 2, &["compressed already"]);
    folder.refuses("decode a.glb -o b.glb", 2, &["not compressed"]);
    folder.refuses("skin a.condyle --clip fly -o b.glb", 2, &["fly", "walk", "run", "idle"]);
}

/// Returns the mean difference between the channels of two pictures.
fn difference(a: &image::RgbImage, b: &image::RgbImage) -> f64 {
    assert_eq!(a.dimensions(), b.dimensions());
    let sum: f64 = a.as_raw().iter().zip(b.as_raw()).map(|(a, b)| f64::from(a.abs_diff(*b))).sum();
    sum / a.as_raw().len() as f64
}

#[test]
fn a_mix_lies_between_its_clips() {
    let folder = Folder::with_character();
    let blend = |options: &str, to: &str| {
        folder
            .run(&format!("render a.glb --clip walk --clip run --size 96 {options} -o {to}"))
            .assert()
            .success();
        image::open(folder.path(to)).expect("a picture").into_rgb8()
    };
    folder.run("render a.glb --clip walk --time 0.25 --size 96 -o walk.png").assert().success();
    let walk = image::open(folder.path("walk.png")).expect("a picture").into_rgb8();
    let (alone, half) =
        (blend("--weight 1,0 --time 0.25", "a.png"), blend("--weight 0.5 --time 0.25", "b.png"));
    assert!(difference(&walk, &alone) < 0.5, "a mix of one clip is that clip");
    assert!(difference(&walk, &half) > 1.0, "a mix of two is another");
    assert_eq!(blend("--sheet 3", "sheet.png").width(), 3 * 96);
    folder
        .run("render a.glb --clip walk --clip run --weight 3 --weight 1 --size 48 -o a.gif")
        .assert()
        .success();
    for (line, words) in [
        ("--clip walk --weight 1 -o a.png", ["--clip", "two"]),
        ("--rest --weight 1 -o a.png", ["--clip", "two"]),
        ("--rest --clip walk -o a.png", ["--clip", "--rest"]),
        ("--clip walk --clip run --weight 1,2,3 -o a.png", ["3 given", "weights"]),
        ("--clip walk --clip run --weight 0,0 -o a.png", ["weights", "0"]),
        ("--clip walk --clip fly -o a.png", ["fly", "idle"]),
        ("--clip walk --clip run --weight nan -o a.png", ["--weight", "0.5"]),
    ] {
        folder.refuses(&format!("render a.glb {line}"), 2, &words);
    }
}

#[test]
fn the_report_is_one_file_and_shows_all_clips() {
    let folder = Folder::with_ribbon();
    let mut nasty = ribbon();
    nasty["animations"][0]["name"] = json!("<script>alert(1)</script>");
    nasty["animations"][1].as_object_mut().expect("an object").remove("name");
    folder.write("nasty.gltf", nasty.to_string());
    folder.run("encode nasty.gltf -o a.condyle --report a.html").assert().success();
    let page = String::from_utf8(folder.read("a.html")).expect("UTF-8");
    assert_eq!(page.matches("<svg").count(), 6);
    assert_eq!(page.matches("</svg>").count(), 6);
    for word in ["<script", "http", "src=", "NaN", "inf"] {
        assert!(!page.contains(word), "{word}");
    }
    assert!(page.contains("&lt;script&gt;"));
    let found = folder.session(&["info a.condyle"]);
    assert!(found.contains("<script>"), "{found}");
}

#[test]
fn wrong_command_lines_and_files_are_explained() {
    let folder = Folder::with_character();
    folder.run("encode a.glb -o a.condyle").assert().success();
    folder.write("b.glb", folder.read("a.glb"));
    folder.run("encode a.glb b.glb -o both.condyle --no-document").assert().success();
    std::fs::create_dir(folder.path("sub")).expect("a folder");
    folder.write("sub/a.glb", folder.read("a.glb"));
    let usage: &[(&str, &[&str])] = &[
        ("encode a.glb -o a.glb", &["a.glb", ".condyle"]),
        ("encode a.glb -o c.condyle --report c.condyle", &["c.condyle", ".html"]),
        ("decode a.condyle -o c.gltf", &["c.gltf", ".glb"]),
        ("encode a.glb -o c.condyle --error -1mm", &["--error", "0.5mm"]),
        ("encode a.glb sub/a.glb -o c.condyle", &["sub/a.glb", "rename"]),
        ("encode a.glb -o c.condyle --error 0", &["--error", "an error of 0", "0.001mm"]),
        ("encode a.glb -o c.condyle --error 0.0cm", &["--error", "an error of 0", "0.001mm"]),
        ("encode a.glb -o c.condyle --error 1e-12", &["--error", "from 1e-9 to 1e9 metres"]),
        ("encode a.glb -o c.condyle --height 0", &["--height", "above 0"]),
        ("encode a.glb -o c.condyle --error 5inch", &["0.5mm"]),
        ("encode a.glb -o c.condyle --rate fast", &["auto", "30"]),
        ("encode a.glb -o c.condyle --threads 0", &["--threads"]),
        ("encode -o c.condyle", &["MODEL"]),
        ("skin both.condyle --rest -o c.glb", &["--model", "a, b"]),
        ("skin both.condyle --model c --rest -o c.glb", &["\"c\"", "a, b"]),
        ("skin a.glb --model a --rest -o c.glb", &["--model"]),
        ("compare a.glb b.glb --model a", &["--model"]),
        ("render a.glb --rest --time 1 -o c.png", &["--time", "--clip"]),
    ];
    for (line, words) in usage {
        folder.refuses(line, 2, words);
    }
    folder.refuses("skin both.condyle --model a --rest -o c.glb", 1, &["--no-document"]);
    let whole = folder.read("a.condyle");
    let mut broken = whole.clone();
    // The document is last in the file.
    broken[whole.len() - 1000] ^= 1;
    folder.write("broken.condyle", &broken);
    folder.write("short.condyle", &whole[..whole.len() - 1]);
    for file in ["broken", "short"] {
        for command in [format!("skin {file}.condyle --rest -o c.glb"), format!("info {file}.condyle")] {
            folder.refuses(&command, 1, &["encode it again"]);
        }
        let checked = folder.session(&[&format!("check {file}.condyle")]);
        assert!(checked.contains("error") && checked.contains("exit code 1"), "{checked}");
    }
    assert!(!folder.written().iter().any(|name| name.starts_with("c.")), "{:?}", folder.written());
}

#[test]
fn help() {
    for command in ["encode", "decode", "render"] {
        assert_snapshot!(format!("{command}_help"), transcript(condyle().args([command, "--help"])));
    }
}

/// Steps come back as steps, and a clip in which nothing moves keeps its duration.
#[test]
fn steps_and_rests_come_back() {
    let folder = Folder::new();
    let times = [1.0_f32, 1.5, 3.0];
    let places = [[0.0_f32; 3], [0.0, 1.0, 0.0], [0.0, -1.0, 0.0]];
    let bytes: Vec<u8> = times.iter().chain(places.as_flattened()).flat_map(|v| v.to_le_bytes()).collect();
    folder.write("a.bin", &bytes);
    let animation = |name: &str, interpolation: &str, output: usize| {
        json!({
            "name": name,
            "channels": [{ "sampler": 0, "target": { "node": 0, "path": "translation" } }],
            "samplers": [{ "input": 0, "output": output, "interpolation": interpolation }],
        })
    };
    let accessor = |view: usize, count: usize, kind: &str| {
        let mut accessor = json!({ "bufferView": view, "componentType": 5126, "count": count, "type": kind });
        if kind == "SCALAR" {
            (accessor["min"], accessor["max"]) = (json!([1.0]), json!([3.0]));
        }
        accessor
    };
    let document = json!({
        "asset": { "version": "2.0" },
        "scene": 0,
        "scenes": [{ "nodes": [0] }],
        "nodes": [{ "name": "lamp", "mesh": 0 }],
        "meshes": [{ "primitives": [{ "attributes": { "POSITION": 3 } }] }],
        "buffers": [{ "byteLength": bytes.len(), "uri": "a.bin" }],
        "bufferViews": [
            { "buffer": 0, "byteLength": 12 },
            { "buffer": 0, "byteOffset": 12, "byteLength": 36 },
        ],
        "accessors": [
            accessor(0, 3, "SCALAR"),
            accessor(1, 3, "VEC3"),
            // An accessor without a buffer view is zeros.
            json!({ "componentType": 5126, "count": 3, "type": "VEC3" }),
            json!({ "bufferView": 1, "componentType": 5126, "count": 3, "type": "VEC3", "min": [0, -1, 0], "max": [0, 1, 0] }),
        ],
        "animations": [animation("blink", "STEP", 1), animation("idle", "LINEAR", 2)],
    });
    folder.write("a.gltf", document.to_string().as_bytes());
    folder.run("encode a.gltf -o a.condyle").assert().success();
    folder.run("decode a.condyle -o back.glb").assert().success();
    let clips = info(&folder, "back.glb")["clips"].clone();
    for (at, name) in ["blink", "idle"].into_iter().enumerate() {
        let clip = &clips[at];
        let ends = (number(clip, "start_seconds"), number(clip, "end_seconds"));
        assert_eq!((clip["name"].as_str(), ends), (Some(name), (1.0, 3.0)), "{clip}");
    }
    // Equal at moments between frames, too.
    assert_eq!(worst(&folder, "a.gltf back.glb --fps 97"), [0.0, 0.0]);
}

fn info(folder: &Folder, file: &str) -> Value {
    let output = folder.run(&format!("info {file} --json")).assert().success();
    serde_json::from_slice(&output.get_output().stdout).expect("JSON")
}

#[test]
fn decode_warns_of_more_than_a_16th_of_the_bound() {
    let folder = Folder::with_ribbon();
    folder.write("model.glb", std::fs::read(testdata("eight_influences.glb")).expect("a model of ours"));
    for (error, warns) in [("0.001mm", true), ("1mm", false)] {
        folder.run(&format!("encode model.glb -o a.condyle --error {error}")).assert().success();
        let output = folder.run("decode a.condyle -o back.glb").output().expect("it runs");
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(
            (told.contains("more than 1/16"), output.status.code()),
            (warns, Some(0)),
            "{error}: {told}"
        );
    }
}
