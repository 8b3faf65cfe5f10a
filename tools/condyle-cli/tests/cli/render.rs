//! `condyle render` and `condyle demo` on the command line.

use crate::common::{Folder, ribbon};
use std::fs;

#[test]
fn the_demo_writes_what_it_says() {
    let folder = Folder::new();
    let output = folder.run("demo --json").output().expect("it runs");
    assert!(output.status.success());
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let files = report["files"].as_array().expect("a list");
    let names: Vec<&str> = files.iter().filter_map(|f| f["path"].as_str()).collect();
    assert_eq!(names.len(), 7);
    for file in files {
        let path = folder.path(file["path"].as_str().expect("a path"));
        assert_eq!(fs::metadata(&path).expect("the file").len(), file["bytes"].as_u64().expect("a size"));
    }
    let stages: Vec<&str> =
        report["stages"].as_array().expect("a list").iter().filter_map(|s| s["stage"].as_str()).collect();
    assert_eq!(stages, ["import", "sample", "local_to_model", "palette", "morph", "skin"]);
    assert!(
        report["stages"].as_array().is_some_and(|s| s.iter().all(|s| s["microseconds"].as_f64() > Some(0.0)))
    );
    let sheet = image::open(folder.path("condyle-demo/poses.png")).expect("a picture");
    assert_eq!((sheet.width(), sheet.height()), (8 * 320, 2 * 400));
    folder.run("check condyle-demo/posed.glb").assert().success();
}

#[test]
fn pictures_have_the_size_and_the_frames_asked_for() {
    let folder = Folder::with_character();
    for (line, width, height) in [
        ("--rest -o a.png", 640, 640),
        ("--clip walk --time 0.5 --size 200x100 --skeleton -o a.PNG", 200, 100),
        ("--clip run --sheet 3 --size 64 -o sheet.webp", 3 * 64, 64),
        ("--clip run --sheet 10 --size 32x48 -o sheet.png", 5 * 32, 2 * 48),
        ("--clip run --sheet 24 --size 32x48 -o sheet.png", 8 * 32, 3 * 48),
        ("--clip run --sheet 24 --skinning both --size 32x48 -o sheet.png", 2 * 3 * 32, 12 * 48),
        ("--rest --size 40 -o still.gif", 40, 40),
    ] {
        folder.run(&format!("render a.glb {line}")).assert().success();
        let name = line.rsplit(' ').next().expect("a name");
        let picture = image::open(folder.path(name)).expect("a picture");
        assert_eq!((picture.width(), picture.height()), (width, height), "{line}");
    }
    folder.run("render a.glb --clip walk --fps 10 --size 48 -o walk.webp").assert().success();
    let bytes = folder.read("walk.webp");
    let decoder = image_webp::WebPDecoder::new(std::io::Cursor::new(bytes)).expect("WebP");
    assert_eq!(decoder.num_frames(), 10);
    folder.run("render a.glb --rest --turntable --fps 5 --size 48 -o turn.gif").assert().success();
    let mut options = gif::DecodeOptions::new();
    options.set_color_output(gif::ColorOutput::RGBA);
    let decoder = options.read_info(fs::File::open(folder.path("turn.gif")).expect("a file")).expect("GIF");
    assert_eq!(decoder.into_iter().filter_map(Result::ok).count(), 20);
}

#[test]
fn a_moment_is_the_same_wherever_it_is_left_out() {
    let folder = Folder::with_character();
    for clip in ["--clip idle", "--clip idle --time 0"] {
        folder.run(&format!("render a.glb {clip} --size 32 -o {}.png", clip.len())).assert().success();
    }
    assert_eq!(folder.read("11.png"), folder.read("20.png"));
    let output = folder.run("render a.glb --clip run --sheet 2 --size 32 -o a.png --json").assert().success();
    let json: serde_json::Value = serde_json::from_slice(&output.get_output().stdout).expect("JSON");
    assert_eq!((&json["clip"], &json["frames"]), (&"run".into(), &2.into()));
    assert_eq!(json["files"][0]["bytes"], folder.read("a.png").len());
}

/// A control that the skin lists and no vertex follows does not change a picture.
#[test]
fn controls_that_move_nothing_are_not_drawn() {
    let folder = Folder::with_ribbon();
    let mut with_control = ribbon();
    with_control["nodes"][2]["children"] = serde_json::json!([4]);
    let control = serde_json::json!({ "name": "control", "translation": [3.0, 2.0, 1.0] });
    with_control["nodes"].as_array_mut().expect("a list").push(control);
    with_control["skins"][0]["joints"] = serde_json::json!([1, 2, 4]);
    folder.write("control.gltf", with_control.to_string());
    for (file, to) in [("ribbon.gltf", "a.png"), ("control.gltf", "b.png")] {
        folder.run(&format!("render {file} --clip 0 --skeleton --size 64 -o {to}")).assert().success();
    }
    assert_eq!(folder.read("a.png"), folder.read("b.png"));
}

#[test]
fn joints_without_a_mesh_are_drawn() {
    let folder = Folder::with_ribbon();
    let mut bare = ribbon();
    bare["nodes"][3] = serde_json::json!({});
    bare.as_object_mut().expect("an object").remove("meshes");
    folder.write("bare.gltf", bare.to_string());
    folder.run("render bare.gltf --clip 0 --skeleton --size 64 -o a.png").assert().success();
    folder.run("render bare.gltf --clip 0 --size 64 -o b.png").assert().success();
    assert_ne!(folder.read("a.png"), folder.read("b.png"));
}

#[test]
fn the_character_is_in_the_picture_whole() {
    let folder = Folder::with_character();
    for view in ["--yaw 0 --pitch 0", "--yaw 200 --pitch 60", "--yaw -90 --pitch -30"] {
        folder
            .run(&format!("render a.glb --clip run --sheet 4 --size 160 {view} -o a.png"))
            .assert()
            .success();
        let sheet = image::open(folder.path("a.png")).expect("a picture").into_rgb8();
        // Only the shirt has much more green than red.
        let shirt = |x, y| {
            let [r, g, _] = sheet.get_pixel(x, y).0;
            i32::from(g) - i32::from(r) > 40
        };
        let inside = (0..160).flat_map(|y| (0..640).map(move |x| (x, y))).filter(|&(x, y)| shirt(x, y));
        let (mut count, mut edge) = (0, 0);
        for (x, y) in inside {
            count += 1;
            edge += usize::from(x % 160 < 4 || x % 160 > 155 || !(4..=155).contains(&y));
        }
        assert!(count > 2000 && edge == 0, "{view}: {count} pixels of shirt, {edge} at the edge");
    }
}

#[test]
fn wrong_command_lines_are_explained() {
    let folder = Folder::with_character();
    let usage: &[(&str, &[&str])] = &[
        ("render a.glb --rest -o a.jpg", &["a.jpg", ".png", ".gif", ".webp"]),
        ("render a.glb --rest -o a.glb", &[".png"]),
        ("render a.glb -o a.png", &["--clip", "--rest"]),
        ("render a.glb --clip fly -o a.png", &["fly", "walk", "run", "idle"]),
        ("render a.glb --clip walk --turntable -o a.png", &["--turntable", ".gif"]),
        ("render a.glb --clip walk --fps 10 -o a.png", &["--fps", ".webp"]),
        ("render a.glb --clip walk --size 9 -o a.png", &["640x480"]),
        ("render a.glb --clip walk --size 99999 -o a.png", &["2048"]),
        ("render a.glb --clip walk --sheet 0 -o a.png", &["--sheet"]),
        ("render a.glb --clip walk --sheet 100 --size 2048 -o a.png", &["16000", "--size"]),
        ("render a.glb --clip walk --fps 1000 -o a.gif", &["50"]),
        ("render a.glb --rest --fps 10 -o a.gif", &["--fps", "--turntable"]),
        ("render a.glb --clip idle --turntable --fps 50 -o a.gif --time 1", &["--time"]),
        ("render a.glb --rest --yaw nan -o a.png", &["-360"]),
    ];
    for (line, words) in usage {
        folder.refuses(line, 2, words);
    }
    folder.write("empty.gltf", r#"{"asset":{"version":"2.0"}}"#);
    folder.refuses("render empty.gltf --rest -o a.png", 1, &["empty.gltf", "nothing can be drawn"]);
    assert!(!folder.path("a.png").exists());
}

/// Returns a document with a square in front of the camera, whose texture is green on its right half only.
fn painted_square(folder: &Folder) -> serde_json::Value {
    let mut texture = image::RgbaImage::from_pixel(8, 8, image::Rgba([20, 20, 220, 255]));
    (0..8).for_each(|y| (4..8).for_each(|x| texture.put_pixel(x, y, image::Rgba([20, 220, 20, 255]))));
    (0..8).for_each(|x| texture.put_pixel(x, 7, image::Rgba([220, 20, 20, 0])));
    texture.save(folder.path("t.png")).expect("a picture");
    let corners = [[0.0_f32, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]];
    let positions = corners.iter().flat_map(|[x, y]| [*x, *y, 0.0]);
    // Image rows go down.
    let uvs = corners.iter().flat_map(|[x, y]| [*x, 1.0 - *y]);
    let mut bytes: Vec<u8> = positions.chain(uvs).flat_map(f32::to_le_bytes).collect();
    bytes.extend([0, 1, 2, 0, 2, 3]);
    folder.write("a.bin", &bytes);
    serde_json::json!({
        "asset": { "version": "2.0" },
        "scenes": [{ "nodes": [0] }],
        "nodes": [{ "mesh": 0 }],
        "meshes": [{ "primitives": [{
            "attributes": { "POSITION": 0, "TEXCOORD_0": 1 }, "indices": 2, "material": 0,
        }] }],
        "materials": [{
            "pbrMetallicRoughness": { "baseColorTexture": { "index": 0 } },
            "alphaMode": "MASK",
        }],
        "textures": [{ "source": 0, "sampler": 0 }],
        "samplers": [{ "magFilter": 9728, "wrapS": 33071, "wrapT": 33071 }],
        "images": [{ "uri": "t.png" }],
        "buffers": [{ "uri": "a.bin", "byteLength": bytes.len() }],
        "bufferViews": [
            { "buffer": 0, "byteOffset": 0, "byteLength": 48 },
            { "buffer": 0, "byteOffset": 48, "byteLength": 32 },
            { "buffer": 0, "byteOffset": 80, "byteLength": 6 },
        ],
        "accessors": [
            { "bufferView": 0, "componentType": 5126, "type": "VEC3", "count": 4,
              "min": [0.0, 0.0, 0.0], "max": [1.0, 1.0, 0.0] },
            { "bufferView": 1, "componentType": 5126, "type": "VEC2", "count": 4 },
            { "bufferView": 2, "componentType": 5121, "type": "SCALAR", "count": 6 },
        ],
    })
}

/// Returns whether a pixel of a picture is green, and whether it is blue.
fn hue(picture: &image::RgbImage, x: u32, y: u32) -> (bool, bool) {
    let [r, g, b] = picture.get_pixel(x, y).0.map(i32::from);
    (g > r + 60 && g > b + 60, b > r + 60 && b > g + 60)
}

/// Renders a document from `yaw` degrees around it; returns the picture and the printed text.
fn drawn(folder: &Folder, json: &serde_json::Value, yaw: u32) -> (image::RgbImage, String) {
    folder.write("a.gltf", json.to_string());
    let output = folder
        .run(&format!("render a.gltf --rest --yaw {yaw} --pitch 0 --size 200 -o a.png"))
        .assert()
        .success();
    let said = String::from_utf8_lossy(&output.get_output().stderr).into_owned();
    (image::open(folder.path("a.png")).expect("a picture").into_rgb8(), said)
}

#[test]
fn textures_colours_and_holes_are_drawn() {
    let folder = Folder::new();
    let (picture, said) = drawn(&folder, &painted_square(&folder), 0);
    assert_eq!(said, "");
    assert_eq!(hue(&picture, 60, 90), (false, true), "left");
    assert_eq!(hue(&picture, 140, 90), (true, false), "right");
    assert_eq!(hue(&picture, 140, 183), (false, false), "the lowest row is a hole");
}

#[test]
fn the_diffuse_colour_of_the_older_kind_of_material_is_drawn() {
    let folder = Folder::new();
    let mut json = painted_square(&folder);
    json["extensionsUsed"] = serde_json::json!(["KHR_materials_pbrSpecularGlossiness"]);
    let glossy = |own: serde_json::Value| serde_json::json!({ "KHR_materials_pbrSpecularGlossiness": own });
    json["materials"][0] =
        serde_json::json!({ "extensions": glossy(serde_json::json!({ "diffuseTexture": { "index": 0 } })) });
    let (picture, _) = drawn(&folder, &json, 0);
    assert_eq!([hue(&picture, 60, 90), hue(&picture, 140, 90)], [(false, true), (true, false)]);
    // With a green factor without blue, blue pixels become dark.
    let green = serde_json::json!({ "diffuseFactor": [0.1, 1.0, 0.1, 1.0] });
    json["materials"][0]["pbrMetallicRoughness"] =
        serde_json::json!({ "baseColorFactor": [0.0, 0.0, 1.0, 1.0] });
    json["materials"][0]["extensions"] = glossy(green);
    let (picture, _) = drawn(&folder, &json, 0);
    assert_eq!([hue(&picture, 60, 90), hue(&picture, 140, 90)], [(true, false); 2]);
}

#[test]
fn images_that_cannot_be_read_are_a_note_and_leave_the_plain_colour() {
    let folder = Folder::new();
    let mut json = painted_square(&folder);
    json["materials"][0] = serde_json::json!({ "pbrMetallicRoughness": { "baseColorFactor": [0.0, 1.0, 0.0, 1.0], "baseColorTexture": { "index": 0 } } });
    folder.write("cloth.ktx2", b"\xabKTX 20\xbb\r\n\x1a\n and more");
    folder.write("cut.png", &folder.read("t.png")[..50]);
    let extended = |name: &str| serde_json::json!({ "extensions": { name: { "source": 0 } } });
    for (image, texture, word) in [
        ("cloth.ktx2", extended("KHR_texture_basisu"), "KTX2"),
        ("cloth.ktx2", serde_json::json!({ "source": 0 }), "KTX2"),
        ("gone.png", serde_json::json!({ "source": 0 }), "gone.png"),
        ("cut.png", serde_json::json!({ "source": 0 }), "cannot be decoded"),
        ("cut.png", extended("EXT_texture_webp"), "cannot be decoded"),
    ] {
        json["images"] = serde_json::json!([{ "uri": image }]);
        json["textures"] = serde_json::json!([texture]);
        json["extensionsUsed"] = serde_json::json!(["KHR_texture_basisu", "EXT_texture_webp"]);
        let (picture, said) = drawn(&folder, &json, 0);
        let note = format!("condyle: a.gltf: note: /images/0 ({image}): ");
        assert_eq!(said.lines().filter(|line| line.starts_with(&note)).count(), 1, "{said}");
        assert!(said.lines().all(|line| line.starts_with(&note) || line.contains("1 problem was")), "{said}");
        assert!(said.contains(word) && said.contains("plain colour"), "{said}");
        let output = folder.run("render a.gltf --rest --size 16 -o b.png --json").assert().success();
        let report: serde_json::Value = serde_json::from_slice(&output.get_output().stdout).expect("JSON");
        let notes = report["notes"].as_array().expect("notes");
        assert_eq!(notes.len(), 1, "{report}");
        assert!(notes[0].as_str().is_some_and(|note| said.contains(note)), "{report}");
        assert_eq!([hue(&picture, 60, 90), hue(&picture, 140, 90)], [(true, false); 2], "{image}");
    }
}

/// Models of VRM 0.x face -Z; those of VRM 1.0 and all others face +Z.
#[test]
fn characters_face_the_camera_whatever_their_kind() {
    let folder = Folder::new();
    let mut json = painted_square(&folder);
    let front = drawn(&folder, &json, 0).0;
    let back = drawn(&folder, &json, 180).0;
    assert_eq!([hue(&back, 60, 90), hue(&back, 140, 90)], [(true, false), (false, true)]);
    for (extensions, seen) in [
        (serde_json::json!({ "VRM": { "specVersion": "0.0" } }), &back),
        (serde_json::json!({ "VRMC_vrm": { "specVersion": "1.0" } }), &front),
        (serde_json::json!({ "VRM": {}, "VRMC_vrm": {} }), &front),
    ] {
        json["extensionsUsed"] = serde_json::json!(["VRM", "VRMC_vrm"]);
        json["extensions"] = extensions;
        assert!(drawn(&folder, &json, 0).0 == *seen, "{}", json["extensions"]);
    }
}

#[test]
fn captions_keep_the_case_of_names_and_fit() {
    let folder = Folder::with_ribbon();
    // Only the caption is dark in the lowest rows of the first picture.
    let caption = |name: &str, size: u32| {
        let mut json = ribbon();
        json["animations"][0]["name"] = name.into();
        folder.write("ribbon.named.gltf", json.to_string());
        let line = format!("render ribbon.named.gltf --clip 0 --sheet 1 --size {size} -o ribbon.a.png");
        folder.run(&line).assert().success();
        let picture = image::open(folder.path("ribbon.a.png")).expect("a picture").into_rgb8();
        let all = (0..size).flat_map(|x| (0..size).map(move |y| (x, y)));
        all.filter(|&(x, y)| picture.get_pixel(x, y).0 == [52, 58, 68]).collect::<Vec<_>>()
    };
    assert_ne!(caption("RUN", 200), caption("run", 200));
    assert_ne!(caption("Armature|Run", 200), caption("Armature/Run", 200));
    for (name, size) in [
        ("Walk", 200),
        ("a rather long name of a clip that nobody would ever read whole", 200),
        ("Walk", 64),
        ("Walk", 16),
    ] {
        let pixels = caption(name, size);
        let right = pixels.iter().map(|pixel| pixel.0).max();
        assert!(right.is_none_or(|right| right < size - 4), "{name} at {size}: {right:?}");
        assert_eq!(pixels.is_empty(), size == 16, "{name} at {size}");
    }
}

#[test]
fn outlines_are_drawn_from_where_they_are_asked_for() {
    let folder = Folder::with_character();
    let look = "render a.glb --clip walk --time 0.2 --size 200";
    let mut pictures = vec![folder_picture(&folder, &format!("{look} -o plain.png"), "plain.png")];
    for (at, seen) in ["eye", "0.3,1,0.2", "-1,0,0"].iter().enumerate() {
        let name = format!("{at}.png");
        pictures.push(folder_picture(&folder, &format!("{look} --silhouette {seen} -o {name}"), &name));
    }
    let pink = |picture: &image::RgbImage| picture.pixels().filter(|it| it.0 == [226, 44, 110]).count();
    let counts: Vec<usize> = pictures.iter().map(pink).collect();
    assert!(counts[0] == 0 && counts[1..].iter().all(|count| *count > 20), "{counts:?}");
    assert!(pictures.iter().enumerate().all(|(at, picture)| !pictures[..at].contains(picture)));

    for wrong in ["0,0,0", "1,2", "up", "1,2,nan"] {
        let refused = folder.run(&format!("{look} --silhouette {wrong} -o no.png")).assert().code(2);
        let text = String::from_utf8_lossy(&refused.get_output().stderr).into_owned();
        assert!(text.contains("such as 0.3,1,0.2"), "{text}");
    }
    // A ribbon has a border, which is reported.
    let ribbon = Folder::with_ribbon();
    let output =
        ribbon.run("render ribbon.gltf --rest --size 64 --silhouette eye -o a.png --json").assert().success();
    let json: serde_json::Value = serde_json::from_slice(&output.get_output().stdout).expect("JSON");
    assert!(json["notes"][0].as_str().is_some_and(|note| note.contains("on one side only")), "{json}");
}

fn folder_picture(folder: &Folder, line: &str, name: &str) -> image::RgbImage {
    folder.run(line).assert().success();
    image::open(folder.path(name)).expect("a picture").to_rgb8()
}

#[test]
fn both_ways_of_skinning_are_drawn_side_by_side() {
    let folder = Folder::with_character();
    let moment = "render a.glb --clip run --time 0.2 --size 64x48";
    for (way, width) in [("linear", 64), ("dual", 64), ("both", 3 * 64)] {
        folder.run(&format!("{moment} --skinning {way} -o {way}.png")).assert().success();
        let picture = image::open(folder.path(&format!("{way}.png"))).expect("a picture");
        assert_eq!((picture.width(), picture.height()), (width, 48), "{way}");
    }
    folder.run(&format!("{moment} -o plain.png")).assert().success();
    assert_eq!(folder.read("plain.png"), folder.read("linear.png"));
    assert_ne!(folder.read("dual.png"), folder.read("linear.png"));

    let output =
        folder.run(&format!("{moment} --skinning both -o b.png --json --force")).output().expect("it runs");
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let metres = json["difference"]["metres"].as_f64().expect("a distance");
    assert!(metres > 1e-4 && metres < 0.1, "{json}");
    assert!(json["difference"]["of_diagonal"].as_f64().expect("a part") < metres);

    folder.run("render a.glb --clip run --sheet 2 --size 48 --skinning both -o sheet.png").assert().success();
    let sheet = image::open(folder.path("sheet.png")).expect("a picture");
    assert_eq!((sheet.width(), sheet.height()), (2 * 3 * 48, 48));
    folder.run("render a.glb --clip run --fps 5 --size 32 --skinning both -o run.gif").assert().success();
    let movie = gif::DecodeOptions::new().read_info(fs::File::open(folder.path("run.gif")).expect("a file"));
    assert_eq!(movie.expect("GIF").width(), 3 * 32);

    // The difference is zero if the clip leaves every joint in the bind pose.
    folder.run("render a.glb --rest --size 48 --skinning both -o rest.png").assert().success();
}

#[test]
fn what_follows_one_joint_is_the_same_both_ways() {
    let folder = Folder::with_ribbon();
    let mut rigid = ribbon();
    rigid["nodes"][3].as_object_mut().expect("an object").remove("skin");
    folder.write("rigid.gltf", rigid.to_string());
    let refused = folder.run("render rigid.gltf --clip 0 --time 0 --skinning both -o a.png").assert().code(1);
    let said = String::from_utf8_lossy(&refused.get_output().stderr).into_owned();
    assert!(said.contains("no vertex follows several joints"), "{said}");
    folder.run("render rigid.gltf --clip 0 --time 0 --skinning dual -o a.png").assert().success();
    folder.run("skin ribbon.gltf --rest --skinning both -o a.glb").assert().code(2);
    folder.run("render ribbon.gltf --rest --bounds --skinning dual -o a.png").assert().code(2);
    folder.run("reach ribbon.gltf --rest --goal upper=0,1,0 --skinning dual -o a.glb").assert().code(2);
    folder.run("bake ribbon.gltf --clip 0 --as palettes --skinning dual -o a.exr").assert().code(2);
    folder.run("skin ribbon.gltf --clip 0 --time 0.5 --skinning dual -o dual.npy").assert().success();
    folder.run("skin ribbon.gltf --clip 0 --time 0.5 -o linear.npy").assert().success();
    folder.run("bake ribbon.gltf --clip 0 --skinning dual -o dual.obj --time 0.5").assert().success();
}
