//! `--height`, `--unit` and `--up`: the size of a model, and its up axis.

use serde_json::{Value, json};

use crate::bodies::{Made, doubles, npz};
use crate::common::Folder;

/// Returns a person of 170 units, moving forward by 1 unit per frame: feet, head and hands around the hips.
/// `place` converts +Y up to other axes.
fn person(place: impl Fn([f64; 3]) -> [f64; 3], turn: &str, swing: impl Fn(i32) -> String) -> String {
    let text = |v: [f64; 3]| v.map(|v| v.to_string()).join(" ");
    let joint = |name: &str, offset: [f64; 3]| {
        format!(
            "JOINT {name} {{ OFFSET {} CHANNELS 3 Zrotation Yrotation Xrotation End Site {{ OFFSET 0 0 0 }} }}\n",
            text(offset)
        )
    };
    let parts = [
        ("Foot", [5.0, -92.0, 10.0]),
        ("Head", [0.0, 78.0, 0.0]),
        ("Left", [70.0, 50.0, 0.0]),
        ("Right", [-70.0, 50.0, 0.0]),
    ];
    let parts: String = parts.map(|(name, offset)| joint(name, place(offset))).concat();
    let rows: String = (0..20)
        .map(|at| {
            // The position of the hips does not depend on the direction of bones at zero rotation.
            let hips =
                if turn == "0 0 0" { place([0.0, 92.0, f64::from(at)]) } else { [0.0, 92.0, f64::from(at)] };
            format!("{} {turn}{}\n", text(hips), format!(" {}", swing(at)).repeat(4))
        })
        .collect();
    format!(
        "HIERARCHY ROOT Hips {{ OFFSET 0 0 0 CHANNELS 6 Xposition Yposition Zposition Zrotation Yrotation Xrotation\n{parts}}}\n\
         MOTION Frames: 20 Frame Time: .0333333\n{rows}"
    )
}

fn people() -> Folder {
    let folder = Folder::with_ribbon();
    folder.write("yup.bvh", person(|v| v, "0 0 0", |at| format!("{at} 0 0")));
    folder.write("zup.bvh", person(|[x, y, z]| [x, -z, y], "0 0 0", |at| format!("0 {} 0", -at)));
    folder.write("bones_x.bvh", person(|[x, y, z]| [y, -x, z], "90 0 0", |at| format!("{at} 0 0")));
    folder
}

fn json_of(folder: &Folder, line: &str) -> Value {
    let output = folder.run(line).assert().success();
    serde_json::from_slice(&output.get_output().stdout).expect("JSON")
}

/// Returns the metres per unit of the model in a container, as printed by `info`.
fn unit(folder: &Folder, file: &str) -> f64 {
    json_of(folder, &format!("info {file} --json"))["entries"][0]["metres_per_unit"].as_f64().expect("a unit")
}

fn warnings(folder: &Folder, line: &str) -> String {
    let output = folder.run(line).assert().success();
    String::from_utf8_lossy(&output.get_output().stderr).into_owned()
}

#[test]
fn a_height_is_that_of_the_first_frame_along_the_axis_that_is_up() {
    let folder = people();
    for (file, axis) in [("yup", None), ("zup", Some("along Z")), ("bones_x", None)] {
        let told = warnings(&folder, &format!("encode {file}.bvh -o {file}.condyle --height 1.7m"));
        assert!((unit(&folder, &format!("{file}.condyle")) - 0.01).abs() < 1e-6, "{file}");
        assert_eq!(axis.is_some(), told.contains("--height is taken"), "{told}");
        assert!(axis.is_none_or(|axis| told.contains(axis) && told.contains("170.0000")), "{told}");
    }
    // An explicit axis is used without a warning.
    let told = warnings(&folder, "encode zup.bvh -o named.condyle --height 1.7m --up z");
    assert!(!told.contains("is taken") && (unit(&folder, "named.condyle") - 0.01).abs() < 1e-6, "{told}");
    let told = warnings(&folder, "encode zup.bvh -o flat.condyle --height 1.7m --up y");
    assert!(
        told.contains("along Y, which is not its longest axis") && unit(&folder, "flat.condyle") > 0.1,
        "{told}"
    );
}

/// Joints end below the top of the head: a common unit that fits is used, and reported.
#[test]
fn joints_that_are_lower_than_their_person_have_a_usual_unit() {
    let folder = people();
    let told = warnings(&folder, "encode yup.bvh -o tall.condyle --height 1.85m");
    assert_eq!(unit(&folder, "tall.condyle"), f64::from(0.01_f32));
    assert!(told.contains("a unit is taken as 0.01 m") && told.contains("joints 1.70 m high"), "{told}");
    let told = warnings(&folder, "encode yup.bvh -o giant.condyle --height 2.5m");
    assert!((unit(&folder, "giant.condyle") - 2.5 / 170.0).abs() < 1e-8, "{told}");
    assert!(!told.contains("a unit is taken"), "{told}");
}

/// Returns two cubes of side 1, on a moving node and on its child, from y = -0.5 to 1.5.
fn rigid() -> Value {
    let corners: Vec<u8> = (0..8)
        .flat_map(|at| [0, 1, 2].map(|axis| if at >> axis & 1 == 1 { 0.5_f32 } else { -0.5 }))
        .chain([0.0, 1.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0])
        .flat_map(f32::to_le_bytes)
        .collect();
    let bytes: Vec<String> = corners.iter().map(|byte| format!("%{byte:02x}")).collect();
    json!({
        "asset": { "version": "2.0" }, "scene": 0, "scenes": [{ "nodes": [0] }],
        "nodes": [
            { "name": "base", "mesh": 0, "children": [1] },
            { "name": "head", "mesh": 0, "translation": [0, 1, 0] },
        ],
        "meshes": [{ "primitives": [{ "attributes": { "POSITION": 0 } }] }],
        "accessors": [
            { "bufferView": 0, "componentType": 5126, "type": "VEC3", "count": 8, "min": [-0.5, -0.5, -0.5], "max": [0.5, 0.5, 0.5] },
            { "bufferView": 1, "componentType": 5126, "type": "SCALAR", "count": 2, "min": [0], "max": [1] },
            { "bufferView": 2, "componentType": 5126, "type": "VEC3", "count": 2 },
        ],
        "bufferViews": [
            { "buffer": 0, "byteLength": 96 }, { "buffer": 0, "byteOffset": 96, "byteLength": 8 },
            { "buffer": 0, "byteOffset": 104, "byteLength": 24 },
        ],
        "buffers": [{ "byteLength": 128, "uri": format!("data:application/octet-stream,{}", bytes.concat()) }],
        "animations": [{
            "name": "slide", "samplers": [{ "input": 1, "output": 2 }],
            "channels": [{ "sampler": 0, "target": { "node": 0, "path": "translation" } }],
        }],
    })
}

#[test]
fn a_rigid_model_is_as_high_as_its_vertices() {
    let folder = Folder::new();
    folder.write("two.gltf", rigid().to_string());
    folder.run("encode two.gltf -o two.condyle --height 2m").assert().success();
    assert_eq!(unit(&folder, "two.condyle"), 1.0);
    let mut one = rigid();
    one["nodes"] = json!([{ "name": "base", "mesh": 0 }]);
    folder.write("one.gltf", one.to_string());
    folder.run("encode one.gltf -o one.condyle --height 2m").assert().success();
    assert_eq!(unit(&folder, "one.condyle"), 2.0);
}

/// The unit is stored in the output, and every figure in millimetres uses it.
#[test]
fn a_unit_goes_with_the_model() {
    let folder = people();
    folder.run("encode yup.bvh -o cm.condyle --unit 1cm --error 1mm").assert().success();
    assert!((unit(&folder, "cm.condyle") - 0.01).abs() < 1e-9);
    let compared = |line: &str| {
        let found = json_of(&folder, line);
        (
            found["worst"]["millimetres"].as_f64().expect("a number"),
            found["scale_from"].as_str().map(String::from),
        )
    };
    let (worst, from) = compared("compare yup.bvh cm.condyle --json");
    assert!(worst > 0.0 && worst < 5.0 && from.as_deref() == Some("b"), "{worst} {from:?}");
    let (same, from) = compared("compare yup.bvh cm.condyle --unit 1cm --json");
    assert!((same - worst).abs() < 1e-6 * worst && from.as_deref() == Some("unit"), "{same} {from:?}");
    // The unit is stored in a decoded document, and in its packed copy.
    folder.run("decode cm.condyle -o back.glb").assert().success();
    assert_eq!(json_of(&folder, "info back.glb --json")["metres_per_unit"], 0.01);
    folder.run("pack back.glb -o packed.glb --error 1mm").assert().success();
    assert_eq!(json_of(&folder, "info packed.glb --json")["metres_per_unit"], 0.01);
    let (packed, from) = compared("compare back.glb packed.glb --json");
    assert!(packed < 5.0 && from.as_deref() == Some("a"), "{packed} {from:?}");
    // The ribbon is about 0.75 units high. Rays are given in metres.
    let hit = |options: &str| {
        json_of(&folder, &format!("raycast ribbon.gltf --rest {options} --json"))["hit"].clone()
    };
    let (metres, centimetres) =
        (hit("--from 0,0.4,5 --to 0,0.4,-5"), hit("--from 0,0.4cm,5cm --to 0,0.4cm,-5cm --unit 1cm"));
    let distance = |hit: &Value| hit["distance_m"].as_f64().expect("a distance");
    assert!((distance(&metres) - 100.0 * distance(&centimetres)).abs() < 1e-4, "{metres} {centimetres}");
    folder.refuses("encode yup.bvh -o a.condyle --unit 1cm --height 1.7m", 2, &["--height", "--unit"]);
}

#[test]
fn z_up_is_turned_to_y_up() {
    let folder = people();
    for line in
        ["encode zup.bvh -o zup.condyle --up z --unit 1cm", "encode yup.bvh -o yup.condyle --unit 1cm"]
    {
        folder.run(line).assert().success();
    }
    let apart = |line: &str| json_of(&folder, line)["worst"]["millimetres"].as_f64().expect("a number");
    assert!(apart("compare zup.bvh zup.condyle --up z --json") < 1.0);
    assert!(apart("compare zup.bvh zup.condyle --json") > 100.0);
    // A decoded file is upright, and is not turned again.
    folder.run("decode zup.condyle -o back.glb").assert().success();
    assert!(apart("compare zup.bvh back.glb --up z --json") < 2.0);
    folder.run("decode zup.condyle -o back.bvh").assert().success();
    // All files have their joints at the same positions as the same person in the file with Y up, at rest and
    // moving.
    let joints = |file: &str, when: &str| -> Vec<f32> {
        folder.run(&format!("skin {file} {when} -o a.npy --joints")).assert().success();
        let rows = folder.read("a.joints.npy")[128..].to_vec();
        let rows: Vec<f32> = rows.as_chunks().0.iter().map(|four| f32::from_le_bytes(*four)).collect();
        rows.chunks_exact(4).map(|row| row[3]).collect()
    };
    for when in ["--rest", "--clip 0 --time 0", "--clip 0 --time 0.3"] {
        let want = joints("yup.bvh", when);
        for file in
            ["zup.bvh --up z", "zup.condyle", "zup.condyle --up z", "back.glb", "back.glb --up z", "back.bvh"]
        {
            let found = joints(file, when);
            let near = want.iter().zip(&found).all(|(want, found)| (want - found).abs() < 0.2);
            // A BVH has a different rest pose.
            assert!(
                near || (file == "back.bvh" && when == "--rest"),
                "{file} {when}: {found:?}, not {want:?}"
            );
        }
    }
    for (line, size) in
        [("info zup.bvh --up z --json", [140.0, 170.0, 10.0]), ("info zup.bvh --json", [140.0, 10.0, 170.0])]
    {
        let found = json_of(&folder, line);
        let found = found["size_m"].as_array().expect("sizes").iter().map(|v| v.as_f64().expect("a size"));
        assert!(found.zip(size).all(|(found, want)| (found - want).abs() < 1e-3), "{line}");
    }
    // Clips that were encoded without --up z can no longer be turned.
    folder.refuses("info zup.condyle --up z", 2, &["--up has no effect", "encode"]);
    folder.refuses("render yup.condyle --rest --up z -o a.png", 2, &["compressed", "encode"]);
    folder.refuses("encode zup.bvh -o a.condyle --up x", 2, &["--up"]);
}

/// A motion in centimetres on a model in metres keeps the positions of its hips.
#[test]
fn lengths_of_a_motion_are_brought_to_the_model() {
    let folder = people();
    let mut model = rigid();
    model["nodes"][0]["name"] = json!("Hips");
    folder.write("model.gltf", model.to_string());
    let joints = |line: &str| {
        folder.run(&format!("{line} -o a.npy --joints --time 0")).assert().success();
        let bytes = folder.read("a.joints.npy");
        let rows: Vec<f32> =
            bytes[128..].as_chunks().0.iter().map(|four| f32::from_le_bytes(*four)).collect();
        [rows[3], rows[7], rows[11]]
    };
    assert_eq!(joints("skin yup.bvh --onto model.gltf --clip 0"), [0.0, 92.0, 0.0]);
    assert_eq!(joints("skin yup.bvh --onto model.gltf --clip 0 --unit 1cm"), [0.0, 0.92, 0.0]);
    assert_eq!(joints("skin zup.bvh --onto model.gltf --clip 0 --unit 1cm --up z"), [0.0, 0.92, 0.0]);
}

/// A motion in centimetres on a model whose unit follows from its height: the hips are as high in metres as
/// those of the motion.
#[test]
fn lengths_of_a_motion_are_brought_to_the_height_of_the_model() {
    let folder = people();
    let mut model = rigid();
    model["nodes"][0]["name"] = json!("Hips");
    folder.write("model.gltf", model.to_string());
    let said = warnings(&folder, "encode yup.bvh --onto model.gltf --unit 1cm -o plain.condyle");
    assert!(said.contains("its unit is unknown"), "{said}");
    let said = warnings(&folder, "encode yup.bvh --onto model.gltf --unit 1cm --height 0.6m -o high.condyle");
    assert!(!said.contains("unknown"), "{said}");
    let metres = unit(&folder, "high.condyle");
    assert!((metres - 1.0).abs() > 0.1, "{metres}");
    folder.run("skin high.condyle --clip 0 --time 0 -o a.npy --joints").assert().success();
    let bytes = folder.read("a.joints.npy");
    let rows: Vec<f32> = bytes[128..].as_chunks().0.iter().map(|four| f32::from_le_bytes(*four)).collect();
    assert!((f64::from(rows[7]) * metres - 0.92).abs() < 1e-3, "{}", rows[7]);
}

/// The hips of a standing person in AMASS's layout are 0.9 along Z. They are turned on request, while the
/// body at rest stands along Y.
#[test]
fn motions_of_bodies_are_turned() {
    let folder = Folder::new();
    std::fs::create_dir_all(folder.path("amass")).expect("a folder");
    folder.write("body.npz", Made::new(3, 60, 5, 2).bytes());
    let mut frame = [0.0; 15];
    frame[0] = std::f64::consts::FRAC_PI_2;
    let arrays = [
        ("poses", doubles(&[2, 15], &frame.repeat(2))),
        ("trans", doubles(&[2, 3], &[0.5, 0.25, 0.9].repeat(2))),
        ("mocap_framerate", doubles(&[], &[60.0])),
    ];
    folder.write("amass/stand.npz", npz(&arrays, zip::CompressionMethod::Stored));
    let hips = |options: &str| {
        folder
            .run(&format!("encode amass -o a.condyle --body body.npz --error 0.01mm {options}"))
            .assert()
            .success();
        let bytes = folder.read("a.condyle");
        let container = condyle::container::Container::from_bytes(&bytes).expect("a container");
        let entries: Vec<_> = container.entries().collect();
        let clip = entries.iter().find(|it| it.kind == condyle::container::EntryKind::Clip).expect("a clip");
        let skeleton = container.skeleton(clip.model.expect("a model")).expect("a skeleton");
        let mut pose = condyle::Pose::rest(&skeleton);
        condyle::sample(&container.clip(clip.index).expect("a clip"), &skeleton, 0.0, &mut pose)
            .expect("a pose");
        (skeleton.rest().get(0), pose.get(0))
    };
    let ((rest, was), (same, is)) = (hips(""), hips("--up z"));
    assert_eq!(rest, same, "a body at rest");
    let [x, y, z] = was.translation;
    let near = |a: &[f32], b: &[f32]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 2e-4);
    assert!(near(&is.translation, &[x, z, -y]), "{was:?} {is:?}");
    // A quarter turn about X made it stand along Z; the quarter turn back gives the identity.
    assert!(near(&is.rotation, &[0.0, 0.0, 0.0, 1.0]), "{is:?}");
}
