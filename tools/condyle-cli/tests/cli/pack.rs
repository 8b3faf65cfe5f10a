//! `condyle pack`: an ordinary .glb with smaller animations.

use crate::common::{Folder, models, ribbon, transcript};
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

#[test]
fn help() {
    assert_snapshot!("pack_help", transcript(&mut Folder::new().run("pack --help")));
}

/// The reported errors were measured on the file. `compare`, which checks every vertex, finds no larger ones.
#[test]
fn the_file_is_smaller_and_within_the_error() {
    let folder = Folder::with_character();
    for error in ["0.2mm", "2mm"] {
        let said = lines(&folder, &format!("pack a.glb -o small.glb --error {error} --json"));
        let (file, clips) = said.split_last().expect("lines");
        assert_eq!(clips.len(), 3);
        for clip in clips {
            assert!(0.0 < number(clip, "error_max_m"), "{clip}");
            assert!(number(clip, "error_max_m") <= number(clip, "budget_m"), "{clip}");
            assert!(2.0 * number(clip, "bytes") < number(clip, "raw_bytes"), "{clip}");
        }
        assert!(number(&file["file"], "bytes") < number(file, "source_bytes"), "{file}");
        folder.run("check small.glb").assert().success();
        for (found, said) in lines(&folder, "compare a.glb small.glb --json").iter().zip(clips) {
            let found = number(&found["worst"], "millimetres") / 1000.0;
            assert!(found <= number(said, "budget_m"), "{error}: {found}, {said}");
        }
    }
}

#[test]
fn compressed_is_smaller_still() {
    let folder = Folder::with_character();
    let bytes = |options: &str| {
        let said = lines(&folder, &format!("pack a.glb -o small.glb --json{options}"));
        for clip in &said[..3] {
            assert!(number(clip, "error_max_m") <= number(clip, "budget_m"), "{clip}");
        }
        said[..3].iter().map(|clip| number(clip, "bytes")).sum::<f64>()
    };
    let (plain, compressed) = (bytes(""), bytes(" --meshopt"));
    assert!(compressed < 0.8 * plain, "{plain}, {compressed}");
    folder.run("check small.glb").assert().success();
}

/// `compare` pairs vertices by their paths and finds no larger error than the report.
#[test]
fn meshes_are_smaller_and_within_the_error() {
    let folder = Folder::with_character();
    let size = |options: &str| {
        let said = lines(&folder, &format!("pack a.glb -o small.glb --force --error 0.5mm --json{options}"));
        let file = said.last().expect("a line").clone();
        folder.run("check small.glb").assert().success();
        for found in lines(&folder, "compare a.glb small.glb --json") {
            assert!(number(&found["worst"], "millimetres") <= 0.5, "{options}: {found}");
        }
        file
    };
    let (compressed, ext, khr) = (size(" --meshopt"), size(" --mesh"), size(" --mesh --khr"));
    let bytes = |file: &Value| number(&file["file"], "bytes");
    assert!(bytes(&ext) < 0.7 * bytes(&compressed), "{ext}");
    assert!(bytes(&khr) < bytes(&ext), "{khr}");
    assert_eq!(compressed["mesh"], Value::Null);
    let meshes = ext["mesh"]["meshes"].as_array().expect("meshes");
    assert!(!meshes.is_empty());
    for mesh in meshes {
        assert!(number(mesh, "error_max_m") <= 0.25e-3, "{mesh}");
        assert!(number(mesh, "angle_max_deg") < 1.0, "{mesh}");
    }
    for kind in ["geometry", "animation"] {
        assert!(number(&ext["bytes_after"], kind) < number(&ext["bytes_before"], kind), "{ext}");
    }
    let text = transcript(&mut folder.run("pack a.glb -o small.glb --force --mesh"));
    assert!(text.contains("geometry ") && text.contains("weights"), "{text}");
}

/// Returns the extensions that a file requires.
fn required(folder: &Folder, file: &str) -> Vec<String> {
    let glb = folder.read(file);
    serde_json::from_value(chunks(&glb).0["extensionsRequired"].clone()).expect("names")
}

/// Readers of the output support only the extension that the input requires.
#[test]
fn the_required_compression_is_kept() {
    let folder = Folder::with_character();
    folder.run("pack a.glb -o khr.glb --mesh --khr").assert().success();
    folder.run("pack khr.glb -o again.glb --mesh").assert().success();
    folder.run("pack khr.glb -o keys.glb").assert().success();
    folder.run("pack a.glb -o ext.glb --mesh").assert().success();
    for (file, extension) in [
        ("khr.glb", "KHR_meshopt_compression"),
        ("again.glb", "KHR_meshopt_compression"),
        ("keys.glb", "KHR_meshopt_compression"),
        ("ext.glb", "EXT_meshopt_compression"),
    ] {
        let (mut found, mut wanted) = (required(&folder, file), [extension, "KHR_mesh_quantization"]);
        found.sort_unstable();
        wanted.sort_unstable();
        assert_eq!(found, wanted, "{file}");
    }
}

/// A file without animations has no compressed keys, but compressed meshes.
#[test]
fn required_extensions_are_printed() {
    let folder = Folder::with_character();
    folder.run("skin a.glb --rest -o still.glb").assert().success();
    for (options, expected) in [("", false), (" --meshopt", false), (" --mesh", true)] {
        let line = format!("pack still.glb -o small.glb --force{options}");
        let said = lines(&folder, &format!("{line} --json"));
        let file = said.last().expect("a line");
        assert_eq!(file["meshopt"], expected, "{options}: {file}");
        let names = file["extensions_required"].as_array().expect("names");
        let text = transcript(&mut folder.run(&line));
        assert_eq!(names.is_empty(), !expected, "{file}");
        let printed = text.contains("readers must support EXT_meshopt_compression and KHR_mesh_quantization");
        let other = text.contains("readers must support KHR_mesh_quantization and EXT_meshopt_compression");
        assert_eq!(printed || other, expected, "{text}");
    }
}

/// The search for the precision of meshes is work, too.
#[test]
fn meshes_count_as_work() {
    let folder = Folder::with_character();
    folder.run("pack a.glb -o small.glb --max-work 0.02 --meshopt").assert().success();
    folder.refuses(
        "pack a.glb -o b.glb --max-work 0.02 --mesh",
        1,
        &["a.glb", "--mesh", "meshes", "--max-work"],
    );
}

/// Splines, steps, morph weights, scales and meshes on joints.
#[test]
fn every_kind_of_track_is_within_the_error() {
    let folder = Folder::new();
    for path in models(&["rigid.glb"], &["syn_morph.glb", "syn_cubic_step.glb", "CesiumMan.gltf"]) {
        let model = path.to_str().expect("a path in UTF-8");
        for form in [&[][..], &["--meshopt"]] {
            let pack = [&["pack", model, "-o", "small.glb", "--height", "1.8"], form].concat();
            folder.condyle(&pack).assert().success();
            let compare = ["compare", model, "small.glb", "--height", "1.8", "--json"];
            let output = folder.condyle(&compare).assert().success();
            for line in String::from_utf8_lossy(&output.get_output().stdout).lines() {
                let line: Value = serde_json::from_str(line).expect("JSON");
                assert!(number(&line["worst"], "millimetres") <= 0.5, "{model} {form:?}: {line}");
            }
        }
    }
}

/// Returns the JSON of a .glb, and its binary chunk.
fn chunks(glb: &[u8]) -> (Value, &[u8]) {
    let length = |at: usize| u32::from_le_bytes(glb[at..at + 4].try_into().expect("four bytes")) as usize;
    let (json, bin) = glb[20..].split_at(length(12));
    (serde_json::from_slice(json).expect("JSON"), &bin[8..])
}

/// Everything except the animations is unchanged, to the last byte of every view.
#[test]
fn what_is_no_animation_is_not_touched() {
    let folder = Folder::with_ribbon();
    let mut before = ribbon();
    before["materials"] = json!([{
        "name": "cloth", "extras": { "price": 2.5 }, "doubleSided": true,
        "extensions": { "KHR_materials_unlit": {} }, "pbrMetallicRoughness": { "metallicFactor": 0.5 },
    }]);
    before["extensionsUsed"] = json!(["KHR_materials_unlit"]);
    before["meshes"][0]["primitives"][0]["material"] = json!(0);
    before["meshes"][0]["extras"] = json!([1]);
    before["animations"][1]["extras"] = json!({ "loops": false });
    folder.write("cloth.gltf", before.to_string());
    folder.run("pack cloth.gltf -o small.glb").assert().success();
    let (glb, data) = (folder.read("small.glb"), folder.read("ribbon.bin"));
    let (after, bin) = chunks(&glb);
    for key in ["scene", "scenes", "nodes", "meshes", "skins", "materials", "extensionsUsed"] {
        assert_eq!(before[key], after[key], "{key}");
    }
    let view = |json: &Value, data: &[u8], accessor: usize| {
        let accessor = &json["accessors"][accessor];
        let view = &json["bufferViews"][number(accessor, "bufferView") as usize];
        let from = view["byteOffset"].as_u64().expect("an offset") as usize;
        let data = data[from..from + number(view, "byteLength") as usize].to_vec();
        (["componentType", "type", "count"].map(|key| accessor[key].clone()), data)
    };
    // Accessors of the mesh come first, with the same indices.
    for accessor in 0..5 {
        assert_eq!(view(&before, &data, accessor), view(&after, bin, accessor), "accessor {accessor}");
    }
    let animation = |at: usize, key: &str| (&before["animations"][at][key], &after["animations"][at][key]);
    for (at, key) in [(0, "name"), (1, "name"), (0, "extras"), (1, "extras")] {
        assert_eq!(animation(at, key).0, animation(at, key).1, "{at}, {key}");
    }
}

#[test]
fn movement_that_is_not_kept_is_named() {
    let folder = Folder::with_ribbon();
    let mut it = ribbon();
    it["extensionsUsed"] = json!(["KHR_animation_pointer"]);
    let glow = json!({ "sampler": 0, "target": {
        "path": "pointer",
        "extensions": { "KHR_animation_pointer": { "pointer": "/materials/0/emissiveFactor" } },
    } });
    it["animations"][0]["channels"].as_array_mut().expect("a list").push(glow);
    folder.write("glow.gltf", it.to_string());
    let output = folder.run("pack glow.gltf -o small.glb").assert().success();
    let said = String::from_utf8_lossy(&output.get_output().stderr).into_owned();
    for word in ["/animations/0/channels/1", "\"/materials/0/emissiveFactor\"", "this motion is dropped"] {
        assert!(said.contains(word), "{said}");
    }
}

#[test]
fn joints_that_move_no_vertex_may_be_left_out() {
    let folder = Folder::with_ribbon();
    let mut it = ribbon();
    it["scenes"][0]["nodes"] = json!([0, 3, 4]);
    let nodes = it["nodes"].as_array_mut().expect("a list");
    nodes.extend([json!({ "name": "control", "children": [5] }), json!({ "name": "socket" })]);
    for node in [4, 5] {
        let channel = json!({ "sampler": 0, "target": { "node": node, "path": "rotation" } });
        it["animations"][0]["channels"].as_array_mut().expect("a list").push(channel);
    }
    folder.write("controls.gltf", it.to_string());
    let tracks = |options: &str| {
        let said = lines(&folder, &format!("pack controls.gltf -o small.glb --json{options}"));
        (number(&said[0], "tracks") as u64, said[2]["dropped"].clone())
    };
    assert_eq!(tracks(""), (3, json!([])));
    assert_eq!(tracks(" --drop"), (1, json!(["control", "socket"])));
    // The joint above the socket stays, too.
    assert_eq!(tracks(" --drop --keep socket"), (3, json!([])));
    folder.refuses("pack controls.gltf -o small.glb --drop --keep soket", 2, &["no joint \"soket\"", "info"]);
    folder.refuses("pack controls.gltf -o small.glb --keep socket", 2, &["--drop"]);
}

/// Writes the ribbon with a control that no vertex follows and whose keys are at 0 and 2 seconds, after
/// applying `more`.
fn with_control(folder: &Folder, more: impl FnOnce(&mut Value)) {
    let mut it = ribbon();
    let push = |it: &mut Value, list: &str, item: Value| {
        let list = it[list].as_array_mut().expect("a list");
        list.push(item);
        list.len() - 1
    };
    let times = json!({ "uri": "data:application/octet-stream;base64,AAAAAAAAAEA=", "byteLength": 8 });
    let buffer = push(&mut it, "buffers", times);
    let view = push(&mut it, "bufferViews", json!({ "buffer": buffer, "byteLength": 8 }));
    let accessor = json!({ "bufferView": view, "componentType": 5126, "type": "SCALAR", "count": 2, "min": [0], "max": [2] });
    let times = push(&mut it, "accessors", accessor);
    it["scenes"][0]["nodes"] = json!([0, 3, 4]);
    push(&mut it, "nodes", json!({ "name": "control" }));
    for animation in [0, 1] {
        let animation = &mut it["animations"][animation];
        let sampler = push(animation, "samplers", json!({ "input": times, "output": 6 }));
        let target = json!({ "node": 4, "path": "rotation" });
        push(animation, "channels", json!({ "sampler": sampler, "target": target }));
    }
    more(&mut it);
    folder.write("control.gltf", it.to_string());
}

#[test]
fn clips_stay_as_long_whatever_is_left_out() {
    let folder = Folder::with_ribbon();
    // The second clip moves only the control.
    with_control(&folder, |it| {
        it["animations"][1]["channels"].as_array_mut().expect("a list").remove(0);
    });
    for form in ["", " --meshopt"] {
        let said = lines(&folder, &format!("pack control.gltf -o small.glb --drop --json{form}"));
        assert_eq!(said[2]["dropped"], json!(["control"]));
        assert!(number(&said[0], "error_max_m") <= 5e-4, "{}", said[0]);
        let output = folder.run("info small.glb --json").assert().success();
        let info: Value = serde_json::from_slice(&output.get_output().stdout).expect("JSON");
        for clip in [0, 1] {
            let seconds = |key| number(&info["clips"][clip], key);
            assert_eq!((seconds("start_seconds"), seconds("end_seconds")), (0.0, 2.0), "{clip}{form}");
        }
    }
}

#[test]
fn what_carries_a_camera_or_a_light_is_not_left_out() {
    let folder = Folder::with_ribbon();
    let dropped = |more: &dyn Fn(&mut Value)| {
        with_control(&folder, |it| more(it));
        lines(&folder, "pack control.gltf -o small.glb --drop --json").swap_remove(2)["dropped"].clone()
    };
    let camera = |it: &mut Value, node: usize| {
        it["cameras"] = json!([{ "type": "perspective", "perspective": { "yfov": 1, "znear": 0.1 } }]);
        it["nodes"][node]["camera"] = json!(0);
    };
    assert_eq!(dropped(&|_| ()), json!(["control"]));
    assert_eq!(dropped(&|it| camera(it, 4)), json!([]));
    // The camera is on a node that only its parent moves.
    let with_arm = |it: &mut Value| {
        it["nodes"][4]["children"] = json!([5]);
        it["nodes"].as_array_mut().expect("a list").extend([json!({ "children": [6.0] }), json!({})]);
    };
    assert_eq!(dropped(&with_arm), json!(["control"]));
    assert_eq!(dropped(&|it| (with_arm(it), camera(it, 6)).1), json!([]));
    let light = |it: &mut Value| {
        it["extensionsUsed"] = json!(["KHR_lights_punctual"]);
        it["extensions"] = json!({ "KHR_lights_punctual": { "lights": [{ "type": "point" }] } });
        it["nodes"][4]["extensions"] = json!({ "KHR_lights_punctual": { "light": 0 } });
    };
    assert_eq!(dropped(&light), json!([]));
}

#[test]
fn all_joints_of_a_name_are_kept() {
    let folder = Folder::with_ribbon();
    with_control(&folder, |it| {
        it["nodes"].as_array_mut().expect("a list").push(json!({ "name": "control" }));
        it["scenes"][0]["nodes"] = json!([0, 3, 4, 5]);
        let mut channel = it["animations"][0]["channels"][1].clone();
        channel["target"]["node"] = json!(5);
        it["animations"][0]["channels"].as_array_mut().expect("a list").push(channel);
    });
    let file = |options: &str| {
        lines(&folder, &format!("pack control.gltf -o small.glb --json --drop{options}")).swap_remove(2)
    };
    assert_eq!(file("")["dropped"], json!(["control", "control"]));
    assert_eq!(file(" --keep control")["dropped"], json!([]));
}

/// Motion capture has no joint that moves a vertex, because the joints are the content of the file.
#[test]
fn without_a_mesh_named_joints_are_not_left_out() {
    let folder = Folder::with_ribbon();
    let mut it = ribbon();
    it["nodes"][3] = json!({});
    for key in ["meshes", "skins"] {
        it.as_object_mut().expect("an object").remove(key);
    }
    let channel = json!({ "sampler": 0, "target": { "node": 3, "path": "rotation" } });
    it["animations"][0]["channels"].as_array_mut().expect("a list").push(channel);
    folder.write("motion.gltf", it.to_string());
    let said = lines(&folder, "pack motion.gltf -o small.glb --drop --json");
    assert_eq!((number(&said[0], "tracks"), &said[2]["dropped"]), (1.0, &json!(["node 3"])));
    // A joint without a name turns by 90 degrees: a chord at 3 cm from its origin.
    assert!((number(&said[0], "dropped_error_max_m") - 0.03 * 2_f64.sqrt()).abs() < 1e-6, "{}", said[0]);
    assert_eq!(number(&said[1], "dropped_error_max_m"), 0.0);
    let text = folder.session(&["pack motion.gltf -o again.glb --drop"]);
    assert!(text.contains("tracks of 1 joint, which no vertex follows: error up to 42.4 mm"), "{text}");
    // Without a name it has no counterpart, and `compare` lists it.
    for found in lines(&folder, "compare motion.gltf small.glb --json") {
        assert_eq!(found["unknown"], json!([["node 3"], []]), "{found}");
    }
    // The error of a dropped joint is also reported if the file has a mesh.
    let folder = Folder::with_ribbon();
    with_control(&folder, |_| ());
    let said = lines(&folder, "pack control.gltf -o small.glb --drop --json");
    assert!(number(&said[0], "dropped_error_max_m") > 0.01, "{}", said[0]);
}

#[test]
fn a_larger_file_is_explained() {
    let folder = Folder::with_ribbon();
    let mut it = ribbon();
    // An unknown extension may refer to any view, so the old keys stay.
    it["extensionsUsed"] = json!(["ACME_motion"]);
    it["buffers"][0]["uri"] = json!("ribbon.bin");
    folder.write("plain.gltf", ribbon().to_string());
    folder.write("acme.gltf", it.to_string());
    // The same model as one file, which is as small as possible.
    folder.run("pack plain.gltf -o plain.glb --error 0.001mm").assert().success();
    let said = lines(&folder, "pack plain.glb -o again.glb --error 0.001mm --json");
    assert_eq!(said[2]["larger"], Value::Null, "{}", said[2]);
    folder.run("pack acme.gltf -o acme.glb --error 0.001mm").assert().success();
    let said = lines(&folder, "pack acme.glb -o again.glb --error 0.001mm --json");
    let larger = &said[2]["larger"];
    assert_eq!(larger["kept_for"], json!(["ACME_motion"]));
    let growth = number(&said[2]["file"], "bytes") - number(&said[2], "source_bytes");
    assert!(growth > 0.0 && number(larger, "bytes") == growth, "{}", said[2]);
    assert_eq!(growth, ["json", "keys", "rest"].iter().map(|part| number(larger, part)).sum::<f64>());
    let text = folder.session(&["pack acme.glb -o again.glb --error 0.001mm"]);
    assert!(
        text.contains("larger than before by") && text.contains("because ACME_motion may refer"),
        "{text}"
    );
}

/// Clips are not compressed if that makes them larger, and keys that take fewer bytes without the filter are
/// stored without it.
#[test]
fn no_clip_is_larger_compressed() {
    let folder = Folder::new();
    for path in
        models(&["rigid.glb", "two_joints.glb"], &["Fox.glb", "syn_ancestors.glb", "syn_8influences.glb"])
    {
        let model = path.to_str().expect("a path in UTF-8");
        // Bytes of each clip, and of the file.
        let bytes = |form: &[&str]| -> Vec<f64> {
            let pack = [&["pack", model, "-o", "small.glb", "--json", "--height", "1.8"], form].concat();
            let output = folder.condyle(&pack).assert().success();
            let text = String::from_utf8_lossy(&output.get_output().stdout).into_owned();
            let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
            lines
                .map(|line| number(if line.get("clip").is_some() { &line } else { &line["file"] }, "bytes"))
                .collect()
        };
        let (plain, compressed) = (bytes(&[]), bytes(&["--meshopt"]));
        assert!(plain.iter().zip(&compressed).all(|(p, c)| c <= p), "{model}: {plain:?}, {compressed:?}");
    }
}

#[test]
fn wrong_command_lines_are_explained() {
    let folder = Folder::with_ribbon();
    folder.refuses("pack ribbon.gltf -o small.gltf", 2, &["ends in .glb"]);
    folder.refuses("pack ribbon.gltf -o small.glb --error 0", 2, &["--error"]);
    folder.run("encode ribbon.gltf -o ribbon.condyle").assert().success();
    folder.refuses("pack ribbon.condyle -o small.glb", 2, &["compressed already", "condyle decode"]);
    folder.refuses("pack gone.glb -o small.glb", 1, &["gone.glb"]);
    assert!(!folder.path("small.glb").exists());
}
