//! `condyle bake`: textures, palettes, morph targets and `.obj`, read back as their descriptions document.

use std::fs;

use crate::common::{Folder, condyle, ribbon, transcript};
use condyle_gltf::{Asset, Poser, PoserOptions};
use insta::assert_snapshot;
use serde_json::{Value, json};

/// Returns the vertices of the ribbon's only primitive at a time of its first clip: positions and normals.
fn posed(folder: &Folder, file: &str, seconds: f32) -> [Vec<[f32; 3]>; 2] {
    let asset = Asset::open(folder.path(file)).unwrap_or_else(|e| panic!("{e}"));
    let mut poser = Poser::new(&asset, PoserOptions::default()).expect("few copies");
    poser.pose(asset.clips.first(), seconds.into()).expect("finite");
    let vertices = &poser.posed(0)[0];
    [vertices.positions.clone(), vertices.normals.clone()]
}

fn parsed(folder: &Folder, file: &str) -> Value {
    serde_json::from_slice(&folder.read(file)).expect("JSON")
}

fn assert_near(got: &[[f32; 3]], want: &[[f32; 3]], bound: f32, case: &str) {
    assert_eq!(got.len(), want.len(), "{case}");
    for (vertex, (got, want)) in got.iter().zip(want).enumerate() {
        let off = got.iter().zip(want).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(off <= bound, "{case}, vertex {vertex}: {got:?}, not {want:?}");
    }
}

/// Returns the values that a shader would read from a PNG with its description.
fn texels(folder: &Folder, about: &Value, what: &str, frame: usize) -> Vec<[f32; 3]> {
    let image = image::load_from_memory(&folder.read(about[what]["file"].as_str().expect("a name")));
    let image = image.expect("a picture").into_rgb16();
    let number = |key: &str| about[key].as_u64().expect("a number") as usize;
    assert_eq!([image.width() as usize, image.height() as usize], [number("width"), number("height")]);
    let vector = |key: &str, axis: usize| about[what][key][axis].as_f64().expect("a number");
    let vertices = about["primitives"][0]["vertices"].as_u64().expect("a number") as usize;
    let at = |v: usize| {
        let (column, row) = (v % number("width"), frame * number("rows_per_frame") + v / number("width"));
        let texel = image.get_pixel(column as u32, row as u32).0;
        std::array::from_fn(|axis| {
            (vector("offset", axis) + vector("scale", axis) * f64::from(texel[axis]) / 65535.0) as f32
        })
    };
    (0..vertices).map(at).collect()
}

/// A shader computes in f32, which is coarse far from the origin. The printed error includes that rounding.
#[test]
fn errors_far_from_the_origin_are_those_of_a_shader() {
    // At the first place, errors computed in f64 are 2 % smaller than those in f32.
    for place in [[-9.633, 11.936, -9.472], [54321.7, 98765.4, -77777.3]] {
        let folder = Folder::with_ribbon();
        let mut far = ribbon();
        far["nodes"][0]["translation"] = json!(place);
        folder.write("far.gltf", far.to_string());
        folder.run("bake far.gltf --clip Wave --fps 10 -o far.png").assert().success();
        let about = parsed(&folder, "far.json");
        let image = image::load_from_memory(&folder.read("far.png")).expect("a picture").into_rgb16();
        let vector =
            |key: &str, axis: usize| about["positions"][key][axis].as_f64().expect("a number") as f32;
        let mut worst = 0.0_f64;
        for frame in 0..image.height() {
            let [want, _] = posed(&folder, "far.gltf", frame as f32 / 10.0);
            for (vertex, want) in want.iter().enumerate() {
                let texel = image.get_pixel(vertex as u32, frame).0;
                let off = [0, 1, 2].map(|axis| {
                    let part = f32::from(texel[axis]) / 65535.0;
                    f64::from(vector("offset", axis) + vector("scale", axis) * part) - f64::from(want[axis])
                });
                worst = worst.max(off.iter().map(|v| v * v).sum::<f64>().sqrt());
            }
        }
        let stated = about["error"]["frames"]["mm"].as_f64().expect("a number") / 1000.0;
        assert!((stated - worst).abs() <= 1e-9 * worst, "{place:?}: {stated} stated, {worst} found");
    }
}

/// The ribbon's normals lie on an axis. The numbers of the grid include 0 and 1, so these normals are exact
/// to the last bit. Those of a ribbon that leans are not.
#[test]
fn errors_of_normals_are_those_of_a_shader() {
    let folder = Folder::with_ribbon();
    let mut leaning = ribbon();
    leaning["nodes"][0]["rotation"] = json!([0.12, -0.34, 0.0, 0.9327379]);
    folder.write("leaning.gltf", leaning.to_string());
    for (file, leans) in [("ribbon", false), ("leaning", true)] {
        let run = folder.session(&[&format!("bake {file}.gltf --clip Wave --fps 4 -o {file}.png")]);
        let about = parsed(&folder, &format!("{file}.json"));
        let number = |key: &str, axis: usize| about["normals"][key][axis].as_f64().expect("a number") as f32;
        let image = image::load_from_memory(&folder.read(&format!("{file}.normals.png")));
        let image = image.expect("a picture").into_rgb16();
        let mut worst = 0.0_f64;
        for frame in 0..image.height() {
            let [_, normals] = posed(&folder, &format!("{file}.gltf"), frame as f32 / 4.0);
            for (vertex, want) in normals.iter().enumerate() {
                let texel = image.get_pixel(vertex as u32, frame).0;
                let off = [0, 1, 2].map(|axis| {
                    let got =
                        number("offset", axis) + number("scale", axis) * (f32::from(texel[axis]) / 65535.0);
                    f64::from(got - want[axis])
                });
                worst = worst.max(off.iter().map(|v| v * v).sum::<f64>().sqrt().to_degrees());
            }
        }
        let stated = about["error"]["normals_degrees"].as_f64().expect("a number");
        assert!((stated - worst).abs() <= 1e-3 * worst, "{file}: {stated} stated, {worst} found");
        // Half a step along each axis is 1.5e-3 degrees.
        assert_eq!((1e-4..1.6e-3).contains(&stated), leans, "{file}: {stated}");
        let line = if leans {
            format!("normals: error up to {stated:.1e} degrees")
        } else {
            "normals: no error".into()
        };
        assert!(run.contains(&line), "{run}");
    }
}

#[test]
fn a_texture_has_a_row_for_each_frame() {
    let folder = Folder::with_ribbon();
    let lines = [
        "bake ribbon.gltf --clip Wave --fps 4 -o run.png --numeric portable",
        "bake ribbon.gltf --clip Wave --fps 4 -o half.exr --precision half --numeric portable",
        "bake ribbon.gltf --clip Wave --fps 4 -o full.exr --numeric portable",
        "bake ribbon.gltf --rest -o one.png --numeric portable",
    ];
    assert_snapshot!("textures", folder.session(&lines));
    let files = ["run.json", "run.normals.png", "run.png"];
    assert_eq!(folder.written()[9..], files);
    let about = parsed(&folder, "run.json");
    assert_eq!((&about["frames"], &about["fps"], &about["width"]), (&json!(5), &json!(4.0), &json!(4)));
    for frame in 0..5 {
        let [positions, normals] = posed(&folder, "ribbon.gltf", frame as f32 / 4.0);
        // The tolerance is half a grid step of a box three metres wide.
        assert_near(&texels(&folder, &about, "positions", frame), &positions, 3e-5, "positions");
        assert_near(&texels(&folder, &about, "normals", frame), &normals, 2e-5, "normals");
    }
    assert_eq!(parsed(&folder, "full.json")["error"]["frames"]["mm"], 0.0);
}

#[test]
fn rows_are_wrapped_where_there_are_more_vertices() {
    let folder = Folder::with_ribbon();
    let mut long = ribbon();
    let primitive = long["meshes"][0]["primitives"][0].clone();
    long["meshes"][0]["primitives"] = json!(vec![primitive; 6]);
    folder.write("ribbon.long.gltf", long.to_string());
    folder.run("bake ribbon.long.gltf --clip Wave --fps 2 -o run.png --width 16").assert().success();
    let about = parsed(&folder, "run.json");
    assert_eq!((&about["rows_per_frame"], &about["height"]), (&json!(2), &json!(6)));
    assert_eq!(about["primitives"][5]["first_vertex"], 20);
    let [positions, _] = posed(&folder, "ribbon.gltf", 0.5);
    assert_near(&texels(&folder, &about, "positions", 1), &positions, 3e-5, "the first primitive");
}

#[test]
fn palettes_are_the_rows_of_matrices() {
    let folder = Folder::with_ribbon();
    assert_snapshot!(
        "palettes",
        folder.session(&["bake ribbon.gltf --clip Wave --fps 2 -o run.exr --as palettes --numeric portable"])
    );
    let about = parsed(&folder, "run.json");
    assert_eq!(about["instances"][0]["joints"], json!(["lower", "upper"]));
    // The last scan line: channels are stored one after another, alpha first. Each of the two joints has
    // three rows.
    let bytes = folder.read("run.exr");
    let floats: Vec<f32> =
        bytes[bytes.len() - 96..].as_chunks().0.iter().map(|four| f32::from_le_bytes(*four)).collect();
    let row = |texel: usize| [3, 2, 1, 0].map(|channel| floats[6 * channel + texel]);
    assert_eq!([0, 1, 2].map(row), [[1., 0., 0., 0.], [0., 1., 0., 0.], [0., 0., 1., 0.]]);
    let upper = [3, 4, 5].map(row);
    for (got, want) in upper.as_flattened().iter().zip([0., -1., 0., 0., 1., 0., 0., 1., 0., 0., 1., 0.]) {
        assert!((got - want).abs() < 1e-6, "{upper:?}");
    }
}

#[test]
fn morph_targets_play_in_any_reader() {
    let folder = Folder::with_ribbon();
    let lines = [
        "bake ribbon.gltf --clip Wave --fps 8 -o all.glb --numeric portable",
        "bake ribbon.gltf --clip Wave --fps 8 -o few.glb --error 20cm --numeric portable",
        "bake ribbon.gltf --clip Step --fps 4 -o step.glb --error 1mm --numeric portable",
        "bake ribbon.gltf --rest -o still.glb",
    ];
    assert_snapshot!("morphs", folder.session(&lines));
    let asset = Asset::open(folder.path("all.glb")).expect("a document");
    assert!(asset.problems.is_empty(), "{:?}", asset.problems);
    assert!(asset.skins.is_empty() && asset.clips[0].name() == "Wave");
    assert_eq!(asset.instances[0].primitives[0].mesh.morph_targets().len(), 8);
    for frame in 0..=8 {
        let seconds = frame as f32 / 8.0;
        let [want, _] = posed(&folder, "ribbon.gltf", seconds);
        let [got, _] = posed(&folder, "all.glb", seconds);
        assert_near(&got, &want, 1e-6, "each frame");
        let [few, _] = posed(&folder, "few.glb", seconds);
        assert_near(&few, &want, 0.2, "few frames");
    }
    let targets = |file: &str| {
        let asset = Asset::open(folder.path(file)).expect("a document");
        asset.instances[0].primitives[0].mesh.morph_targets().len()
    };
    assert!((1..8).contains(&targets("few.glb")), "{}", targets("few.glb"));
    // The ribbon stands still until the second to last frame, and then jumps.
    assert_eq!((targets("step.glb"), targets("still.glb")), (2, 0));
}

#[test]
fn meshes_of_wavefront_have_groups_and_numbers_from_one() {
    let folder = Folder::with_ribbon();
    let mut two = ribbon();
    let primitive = two["meshes"][0]["primitives"][0].clone();
    two["meshes"][0]["primitives"] = json!([primitive, primitive]);
    two["nodes"][3]["name"] = json!("a\nf 1 2 3");
    folder.write("ribbon.two.gltf", two.to_string());
    folder
        .run("bake ribbon.two.gltf --clip Wave --time 1 -o posed.obj --numeric portable")
        .assert()
        .success();
    assert_snapshot!("obj", String::from_utf8_lossy(&folder.read("posed.obj")));
    let lines = [
        "bake ribbon.gltf --clip Wave --fps 2 -o run.obj --numeric portable",
        "bake ribbon.gltf --rest -o rest.obj --json --numeric portable",
    ];
    assert_snapshot!("objs", folder.session(&lines).replace(::condyle::Isa::best().name(), "best"));
}

#[test]
fn frames_end_where_the_clip_ends() {
    let folder = Folder::with_ribbon();
    folder.run("bake ribbon.gltf --clip Wave --fps 2.2 -o run.png").assert().success();
    let about = parsed(&folder, "run.json");
    assert_eq!((&about["frames"], &about["fps"], &about["seconds"]), (&json!(4), &json!(3.0), &json!(1.0)));
    let [last, _] = posed(&folder, "ribbon.gltf", 1.0);
    assert_near(&texels(&folder, &about, "positions", 3), &last, 3e-5, "the end");
}

/// Returns a mesh without a skin, on a node that mirrors.
fn mirrored() -> Value {
    let mut it = ribbon();
    it["nodes"][3] = json!({ "name": "ribbon", "mesh": 0, "scale": [-1.0, 1.0, 1.0] });
    it
}

#[test]
fn what_is_mirrored_is_the_right_way_out() {
    let folder = Folder::with_ribbon();
    folder.write("ribbon.mirrored.gltf", mirrored().to_string());
    for (file, faces) in [
        ("ribbon.gltf", ["f 1//1 2//2 3//3", "f 3//3 2//2 4//4"]),
        ("ribbon.mirrored.gltf", ["f 1//1 3//3 2//2", "f 3//3 4//4 2//2"]),
    ] {
        folder.run(&format!("bake {file} --rest -o a.obj")).assert().success();
        let text = String::from_utf8(folder.read("a.obj")).expect("UTF-8");
        assert!(text.lines().filter(|line| line.starts_with('f')).eq(faces), "{file}: {text}");
        folder.run(&format!("bake {file} --rest -o a.png")).assert().success();
        let is_mirrored = file == "ribbon.mirrored.gltf";
        assert_eq!(parsed(&folder, "a.json")["primitives"][0]["mirrored"], is_mirrored);
    }
}

#[test]
fn only_the_default_scene_is_baked() {
    let folder = Folder::with_ribbon();
    let mut more = ribbon();
    more["nodes"].as_array_mut().expect("a list").push(json!({ "name": "spare", "mesh": 0, "skin": 0 }));
    more["scenes"].as_array_mut().expect("a list").push(json!({ "nodes": [4] }));
    folder.write("ribbon.more.gltf", more.to_string());
    let names = |about: &Value, list: &str| {
        let parts = about[list].as_array().expect("a list");
        parts.iter().map(|part| part["name"].clone()).collect::<Vec<_>>()
    };
    folder.run("bake ribbon.more.gltf --clip Wave -o a.png").assert().success();
    assert_eq!(names(&parsed(&folder, "a.json"), "primitives"), ["ribbon"]);
    folder.run("bake ribbon.more.gltf --clip Wave -o a.exr --as palettes").assert().success();
    assert_eq!(names(&parsed(&folder, "a.json"), "instances"), ["ribbon"]);
    folder.run("bake ribbon.more.gltf --rest -o a.obj").assert().success();
    let text = String::from_utf8(folder.read("a.obj")).expect("UTF-8");
    assert!(text.lines().filter(|line| line.starts_with('g')).eq(["g ribbon.primitive0"]), "{text}");
    // A document keeps all scenes.
    folder.run("bake ribbon.more.gltf --clip Wave --fps 4 -o a.glb").assert().success();
    let asset = Asset::open(folder.path("a.glb")).expect("a document");
    let targets = asset.instances.iter().map(|it| it.primitives[0].mesh.morph_targets().len());
    assert_eq!(targets.collect::<Vec<_>>(), [4, 4]);
    assert_eq!(asset.instances.iter().map(|it| it.in_default_scene).collect::<Vec<_>>(), [true, false]);
}

#[test]
fn primitives_say_whether_they_have_normals() {
    let folder = Folder::with_ribbon();
    let mut two = ribbon();
    let primitives = two["meshes"][0]["primitives"].as_array_mut().expect("a list");
    let mut bare = primitives[0].clone();
    bare["attributes"].as_object_mut().expect("an object").remove("NORMAL");
    primitives.push(bare);
    folder.write("ribbon.two.gltf", two.to_string());
    folder.run("bake ribbon.two.gltf --rest -o a.png").assert().success();
    let about = parsed(&folder, "a.json");
    assert_eq!([0, 1].map(|part| about["primitives"][part]["normals"].clone()), [true, false]);
}

#[test]
fn more_targets_than_engines_take_are_warned_of() {
    let folder = Folder::with_ribbon();
    for (fps, words) in
        [(64, &[][..]), (65, &["65 morph targets", "Bevy takes 64"]), (257, &["257", "Filament"])]
    {
        let mut command = folder.run(&format!("bake ribbon.gltf --clip Wave --fps {fps} -o a.glb --json"));
        let output = command.output().expect("it runs");
        let (told, report) =
            (String::from_utf8_lossy(&output.stderr), String::from_utf8_lossy(&output.stdout));
        let report: Value = serde_json::from_str(&report).expect("JSON");
        assert_eq!(report["warnings"].as_array().map(Vec::len), Some(words.len().min(1)), "{report}");
        for word in words {
            assert!(
                told.contains(word) && report["warnings"][0].as_str().is_some_and(|it| it.contains(word)),
                "{told}"
            );
        }
        assert_eq!(told.is_empty(), words.is_empty(), "{told}");
    }
}

#[test]
fn options_that_would_do_nothing_are_refused() {
    let folder = Folder::with_ribbon();
    for (line, words) in [
        ("--clip Wave -o a.glb --width 64", ["--width", ".exr or .png"]),
        ("--rest -o a.obj --width 4096", ["--width", "textures"]),
        ("--clip Wave -o a.exr --as palettes --normals plain", ["--normals", "palettes"]),
        ("--clip Wave -o a.exr --as palettes --normals inverse-transpose", ["--normals", "palettes"]),
        ("--clip Wave -o a.png --precision float", ["--precision", ".exr"]),
        ("--rest -o a.obj --height 1.8m", ["--height", ".obj"]),
        ("--rest -o a.png --fps 24", ["--fps", "--rest"]),
    ] {
        folder.refuses(&format!("bake ribbon.gltf {line}"), 2, &words);
    }
    assert_eq!(folder.written(), [""; 0]);
}

#[test]
fn wrong_command_lines_and_models_write_nothing() {
    let folder = Folder::with_ribbon();
    let lines = [
        "bake ribbon.gltf -o a.png",
        "bake ribbon.gltf --clip Wave -o a.npy",
        "bake ribbon.gltf --clip Wave -o a.png --as palettes",
        "bake ribbon.gltf --clip Wave -o a.png --as morphs",
        "bake ribbon.gltf --clip Wave -o a.exr --error 1mm",
        "bake ribbon.gltf --clip Wave -o a.png --precision half",
        "bake ribbon.gltf --clip Wave -o a.glb --time 1",
        "bake ribbon.gltf --clip Wave -o a.png --width 8",
        "bake ribbon.gltf --clip Wave -o a.png --fps 0",
    ];
    assert_snapshot!("wrong", folder.session(&lines));
    folder.refuses("bake ribbon.gltf --clip Step --limit 0 -o a.png", 1, &["--max-work"]);
    let mut long = ribbon();
    long["accessors"][5]["max"] = json!([1e7]);
    folder.write("ribbon.long.gltf", long.to_string());
    let mut data = folder.read("ribbon.bin");
    data[192..196].copy_from_slice(&1e7_f32.to_le_bytes());
    folder.write("ribbon.bin", data);
    folder.refuses(
        "bake ribbon.long.gltf --clip Wave --fps 1000 -o a.png",
        2,
        &["--fps 1000", "100000 frames"],
    );
    folder.write("ribbon.empty.gltf", r#"{"asset":{"version":"2.0"}}"#);
    folder.refuses("bake ribbon.empty.gltf --rest -o a.png", 1, &["no meshes"]);
    assert_eq!(folder.written(), [""; 0]);
    // The outputs must not overwrite an input.
    let folder = Folder::with_ribbon();
    fs::create_dir(folder.path("a.normals.png")).expect("a folder");
    folder.run("bake ribbon.gltf --clip Wave -o a.png").assert().code(2);
    assert_eq!(folder.written(), ["a.normals.png"]);
}

#[test]
fn a_pose_beyond_all_numbers_leaves_no_file() {
    let folder = Folder::with_ribbon();
    let mut huge = ribbon();
    huge["nodes"][0]["scale"] = json!([1e38, 1e38, 1e38]);
    folder.write("ribbon.huge.gltf", huge.to_string());
    for to in ["a.png", "a.exr", "a.glb", "a.obj"] {
        folder.run(&format!("bake ribbon.huge.gltf --clip Step --fps 2 -o {to}")).assert().code(1);
    }
    assert_eq!(folder.written(), [""; 0]);
}

#[test]
fn help_has_examples() {
    assert_snapshot!("bake_help", transcript(condyle().args(["bake", "--help"])));
}
