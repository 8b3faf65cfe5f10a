//! `condyle compare` of files that hold the same model in another form: with other orders, seams, meshes,
//! names or rounding, or without a mesh.

use crate::common::{Folder, transcript};
use insta::assert_snapshot;
use serde_json::{Value, json};

/// A vertex: its position, the weight of the second joint, and the offset of its morph target.
#[derive(Clone, Copy)]
struct Vertex {
    place: [f32; 3],
    bend: f32,
    morph: [f32; 3],
}

/// Contents of a file.
#[derive(Clone)]
struct Made {
    /// Names, and vertices.
    meshes: Vec<(&'static str, Vec<Vertex>)>,
    /// Names, the first of which is the root; `None` for a joint without a name.
    joints: [Option<&'static str>; 3],
    clip: Option<&'static str>,
    /// Maximum of integer positions; `None` for floats.
    steps: Option<u16>,
    /// Half of the rotation of the second joint at the end of the clip.
    turn: f32,
    morphs: bool,
    /// Position of the first joint at rest.
    at: f32,
}

/// Size of the model, whose corner is the origin.
const SIZE: f32 = 2.0;

/// Returns a tube of two metres that bends in the middle.
fn tube() -> Made {
    let ring = |at: usize| {
        let y = SIZE * at as f32 / 40.0;
        (0..10).map(move |side| {
            let (sin, cos) = (side as f32 * 0.628).sin_cos();
            // No two distances between neighbours are equal.
            let place = [0.3 + 0.2 * sin, y * (1.0 - 1e-4 * side as f32), 0.3 + 0.2 * cos];
            Vertex { place, bend: (y - 0.5).clamp(0.0, 1.0), morph: [0.0; 3] }
        })
    };
    Made {
        meshes: vec![("tube", (0..=40).flat_map(ring).collect())],
        joints: [Some("root"), Some("lower"), Some("upper")],
        clip: Some("Bend"),
        steps: None,
        turn: 0.4,
        morphs: false,
        at: 0.0,
    }
}

impl Made {
    /// Returns the vertices of all meshes in another order, in one mesh with another name.
    fn shuffled(&self) -> Self {
        let all: Vec<Vertex> = self.meshes.iter().flat_map(|mesh| mesh.1.iter().copied()).collect();
        // A prime that does not divide the count reaches each vertex once.
        let order = (0..all.len()).map(|at| all[(at * 7919 + 13) % all.len()]);
        Self { meshes: vec![("everything", order.collect())], ..self.clone() }
    }

    fn write(&self, folder: &Folder, name: &str) {
        let (mut data, mut views, mut accessors) = (Vec::<u8>::new(), Vec::new(), Vec::new());
        let mut add = |bytes: Vec<u8>, mut accessor: Value| {
            views.push(json!({ "buffer": 0, "byteOffset": data.len(), "byteLength": bytes.len() }));
            data.extend(bytes);
            data.resize(data.len().next_multiple_of(4), 0);
            accessor["bufferView"] = json!(views.len() - 1);
            accessors.push(accessor);
            accessors.len() - 1
        };
        let floats = |numbers: &[f32]| numbers.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>();
        let of = |kind: &str, count: usize| json!({ "componentType": 5126, "type": kind, "count": count });
        let scale = self.steps.map_or(1.0, |steps| SIZE / f32::from(steps));
        let mut nodes = vec![
            json!({ "children": [1] }),
            json!({ "children": [2], "translation": [self.at, 0.0, 0.0] }),
            json!({ "translation": [0.3, 1.0, 0.3] }),
        ];
        for (node, name) in nodes.iter_mut().zip(self.joints) {
            if let Some(name) = name {
                node["name"] = json!(name);
            }
        }
        let mut meshes = Vec::new();
        for (name, vertices) in &self.meshes {
            let count = vertices.len();
            let places: Vec<f32> = vertices.iter().flat_map(|v| v.place).map(|x| x / scale).collect();
            let corners = |pick: fn(f32, f32) -> f32, from: f32| {
                let axis = |axis: usize| places.iter().skip(axis).step_by(3).fold(from, |a, &b| pick(a, b));
                json!([axis(0), axis(1), axis(2)])
            };
            let (min, max) = (corners(f32::min, f32::MAX), corners(f32::max, f32::MIN));
            let mut position = of("VEC3", count);
            let bytes = match self.steps {
                None => {
                    (position["min"], position["max"]) = (min, max);
                    floats(&places)
                }
                Some(_) => {
                    let whole = |corner: &Value| {
                        json!(
                            corner
                                .as_array()
                                .expect("three")
                                .iter()
                                .map(|x| x.as_f64().expect("one").round())
                                .collect::<Vec<_>>()
                        )
                    };
                    (position["min"], position["max"]) = (whole(&min), whole(&max));
                    position["componentType"] = json!(5123);
                    let row = |p: &[f32]| {
                        let [x, y, z] = [p[0], p[1], p[2]].map(|x| x.round() as u16);
                        [x, y, z, 0].into_iter().flat_map(u16::to_le_bytes)
                    };
                    places.chunks_exact(3).flat_map(row).collect()
                }
            };
            let position = add(bytes, position);
            let joints = add(
                [0, 1, 0, 0].repeat(count),
                json!({ "componentType": 5121, "type": "VEC4", "count": count }),
            );
            let weights: Vec<f32> = vertices.iter().flat_map(|v| [1.0 - v.bend, v.bend, 0.0, 0.0]).collect();
            let weights = add(floats(&weights), of("VEC4", count));
            let attributes = json!({ "POSITION": position, "JOINTS_0": joints, "WEIGHTS_0": weights });
            let mut primitive = json!({ "mode": 0, "attributes": attributes });
            if self.morphs {
                let moved: Vec<f32> = vertices.iter().flat_map(|v| v.morph).collect();
                let mut target = of("VEC3", count);
                (target["min"], target["max"]) = (json!([-1, -1, -1]), json!([1, 1, 1]));
                primitive["targets"] = json!([{ "POSITION": add(floats(&moved), target) }]);
            }
            nodes.push(json!({ "name": name, "mesh": meshes.len(), "skin": 0 }));
            meshes.push(json!({ "primitives": [primitive] }));
        }
        // With integers, the inverse bind matrices restore the size, as in files of gltfpack.
        let bind =
            |[x, y, z]: [f32; 3]| [scale, 0., 0., 0., 0., scale, 0., 0., 0., 0., scale, 0., -x, -y, -z, 1.];
        let binds = [bind([0.0; 3]), bind([0.3, 1.0, 0.3])].concat();
        let binds = add(floats(&binds), of("MAT4", 2));
        let mut times = of("SCALAR", 2);
        (times["min"], times["max"]) = (json!([0.0]), json!([1.0]));
        let times = add(floats(&[0.0, 1.0]), times);
        let (sin, cos) = self.turn.sin_cos();
        let turns = add(floats(&[0.0, 0.0, 0.0, 1.0, 0.0, 0.0, sin, cos]), of("VEC4", 2));
        let places = add(floats(&[0.0; 6]), of("VEC3", 2));
        let mut channels = vec![
            json!({ "sampler": 0, "target": { "node": 2, "path": "rotation" } }),
            json!({ "sampler": 1, "target": { "node": 1, "path": "translation" } }),
        ];
        let mut samplers =
            vec![json!({ "input": times, "output": turns }), json!({ "input": times, "output": places })];
        if self.morphs {
            let weights = add(floats(&[0.0, 1.0]), of("SCALAR", 2));
            samplers.push(json!({ "input": times, "output": weights }));
            channels.push(json!({ "sampler": 2, "target": { "node": 3, "path": "weights" } }));
        }
        let mut clip = json!({ "samplers": samplers, "channels": channels });
        if let Some(name) = self.clip {
            clip["name"] = json!(name);
        }
        for accessor in accessors.iter().filter(|accessor| accessor["componentType"] == 5123) {
            views[accessor["bufferView"].as_u64().expect("a view") as usize]["byteStride"] = json!(8);
        }
        let bin = name.replace(".gltf", ".bin");
        let roots: Vec<usize> = std::iter::once(0).chain(3..nodes.len()).collect();
        let mut model = json!({
            "asset": { "version": "2.0" },
            "scene": 0,
            "scenes": [{ "nodes": roots }],
            "nodes": nodes,
            "skins": [{ "joints": [1, 2], "inverseBindMatrices": binds }],
            "animations": [clip],
            "accessors": accessors,
            "bufferViews": views,
            "buffers": [{ "uri": bin, "byteLength": data.len() }],
        });
        if !meshes.is_empty() {
            model["meshes"] = json!(meshes);
        }
        if self.steps.is_some() {
            model["extensionsUsed"] = json!(["KHR_mesh_quantization"]);
            model["extensionsRequired"] = json!(["KHR_mesh_quantization"]);
        }
        folder.write(&bin, data);
        folder.write(name, model.to_string());
    }
}

/// Compares the only clip of both files.
fn compared(a: &Made, b: &Made) -> Value {
    let folder = Folder::new();
    a.write(&folder, "a.gltf");
    b.write(&folder, "b.gltf");
    line(&folder, "compare a.gltf b.gltf --json")
}

fn line(folder: &Folder, line: &str) -> Value {
    let output = folder.run(line).assert().success();
    serde_json::from_slice(&output.get_output().stdout).expect("one line of JSON")
}

fn number(of: &Value) -> f64 {
    of.as_f64().unwrap_or_else(|| panic!("a number, not {of}"))
}

fn worst(found: &Value) -> f64 {
    number(&found["worst"]["millimetres"])
}

#[test]
fn vertices_in_another_order_are_paired_by_place() {
    let tube = tube();
    let found = compared(&tube, &tube.shuffled());
    assert_eq!((found["paired"].as_str(), &found["unpaired"]), (Some("place"), &json!([0, 0])), "{found}");
    assert!(worst(&found) < 1e-3 && number(&found["rest"]["worst"]["millimetres"]) < 1e-3, "{found}");
    // An error of the animation is distinguished from the order of vertices: the end of the tube turns by
    // 0.02 more.
    let found = compared(&tube, &Made { turn: 0.41, ..tube.shuffled() });
    let reach = 1000.0 * (1.0_f64.powi(2) + 0.2_f64.powi(2)).sqrt();
    let most = 2.0 * reach * 0.01_f64.sin();
    assert!((0.95 * most..1.05 * most).contains(&worst(&found)), "{most} {found}");
    assert_eq!(found["worst"]["mesh"], "tube");
    // Vertices are paired by order without a search by position.
    assert_eq!(compared(&tube, &tube)["paired"], "order");
}

#[test]
fn seams_and_meshes_may_be_split_and_merged() {
    let whole = tube();
    let vertices = &whole.meshes[0].1;
    // Three copies of each vertex, as in triangles without indices, and two meshes that overlap in a ring.
    let soup: Vec<Vertex> = vertices.iter().flat_map(|&v| [v; 3]).collect();
    let soup = Made { meshes: vec![("soup", soup)], ..whole.clone() }.shuffled();
    let halves = Made {
        meshes: vec![("top", vertices[200..].to_vec()), ("bottom", vertices[..210].to_vec())],
        joints: [Some("Armature"), Some("lower"), Some("upper")],
        ..whole.clone()
    };
    for (a, b) in [(&whole, &soup), (&soup, &whole), (&whole, &halves), (&halves, &soup), (&soup, &halves)] {
        let found = compared(a, b);
        assert_eq!(
            (found["paired"].as_str(), &found["unpaired"]),
            (Some("place"), &json!([0, 0])),
            "{found}"
        );
        assert!(worst(&found) < 1e-3, "{found}");
    }
}

#[test]
fn rounded_positions_are_in_one_place_all_the_same() {
    let tube = tube();
    for (steps, order) in [(16_383, true), (1023, true), (16_383, false), (1023, false)] {
        let rounded = Made { steps: Some(steps), ..if order { tube.clone() } else { tube.shuffled() } };
        let found = compared(&tube, &rounded);
        let half = 1000.0 * f64::from(SIZE) / f64::from(steps) / 2.0 * 3_f64.sqrt();
        let rest = number(&found["rest"]["worst"]["millimetres"]);
        assert!((0.5 * half..1.01 * half).contains(&rest), "{steps} {order}: {found}");
        // Rounded vertices turn with their joint.
        assert!((0.9 * rest..1.1 * half).contains(&worst(&found)), "{steps} {order}: {found}");
        let paired = if order { "order" } else { "place" };
        assert_eq!((found["paired"].as_str(), &found["unpaired"]), (Some(paired), &json!([0, 0])), "{found}");
    }
}

#[test]
fn of_vertices_in_one_place_those_that_move_alike_are_paired() {
    // Two tubes at the same positions at rest, one of which does not move.
    let mut double = tube();
    let still = double.meshes[0].1.iter().map(|&v| Vertex { bend: 0.0, ..v }).collect::<Vec<_>>();
    double.meshes[0].1.extend(still);
    for b in [double.shuffled(), Made { steps: Some(16_383), ..double.shuffled() }] {
        let found = compared(&double, &b);
        assert!(worst(&found) < 0.2 && found["paired"] == "place", "{found}");
    }
    // Closed lips: one joint moves them, and a morph target opens them.
    let mut lips = tube();
    lips.morphs = true;
    let lip = |by: f32| move |&v: &Vertex| Vertex { morph: [0.0, by, 0.0], ..v };
    let vertices = &tube().meshes[0].1;
    lips.meshes[0].1 = vertices.iter().map(lip(0.05)).chain(vertices.iter().map(lip(-0.05))).collect();
    let found = compared(&lips, &lips.shuffled());
    assert!(worst(&found) < 1e-3 && found["paired"] == "place", "{found}");
}

#[test]
fn what_has_no_counterpart_is_counted() {
    let folder = Folder::new();
    let whole = tube();
    // Three quarters of the model, and one more vertex.
    let mut part = whole.shuffled();
    part.meshes[0].1.retain(|v| v.place[1] < 1.5);
    part.meshes[0].1.push(Vertex { place: [5.0, 0.0, 0.0], bend: 0.0, morph: [0.0; 3] });
    whole.write(&folder, "whole.gltf");
    part.write(&folder, "part.gltf");
    let found = line(&folder, "compare whole.gltf part.gltf --json");
    let left = whole.meshes[0].1.iter().filter(|v| v.place[1] >= 1.5).count();
    assert_eq!((&found["unpaired"], &found["pairs"]), (&json!([left, 1]), &json!(410 - left)), "{found}");
    assert_eq!(found["rest"]["meshes"][0]["unpaired"], left, "{found}");
    assert_snapshot!("unpaired", transcript(&mut folder.run("compare whole.gltf part.gltf")));
}

#[test]
fn one_model_may_rest_in_two_poses() {
    // The clip moves the first joint to the same position.
    let found = compared(&tube(), &Made { at: 0.25, ..tube() });
    assert_eq!(found["paired"], "order");
    assert!((number(&found["rest"]["worst"]["millimetres"]) - 250.0).abs() < 1e-3, "{found}");
    assert!(worst(&found) < 1e-3, "{found}");
    // Joints with other names belong to another model, unless they have the same place in the same skeleton.
    let renamed = Made { at: 0.25, joints: [Some("Armature"), Some("hip"), Some("knee")], ..tube() };
    assert_eq!(compared(&tube(), &renamed)["paired"], "order");
}

#[test]
fn joints_stand_for_meshes_that_cannot_be_paired() {
    let bare = Made { meshes: Vec::new(), ..tube() };
    let turned = Made { turn: 0.45, ..bare.clone() };
    // At the end, the second joint has turned by 0.1 more. All points within 3 cm of it are compared.
    let chord = 1000.0 * 0.03 * 2.0 * 0.05_f64.sin();
    let found = compared(&tube(), &turned);
    assert_eq!((found["paired"].as_str(), &found["unpaired"]), (Some("joints"), &json!([0, 0])), "{found}");
    assert_eq!((found["worst"]["joint"].as_str(), &found["pairs"]), (Some("upper"), &json!(3)), "{found}");
    assert!((worst(&found) - chord).abs() < 1e-3 * chord, "{chord} {found}");
    assert!((worst(&compared(&turned, &tube())) - chord).abs() < 1e-3 * chord);
    // Another mesh on the same joints, and joints without names, paired by order.
    let mut other = Made { turn: 0.45, joints: [None; 3], ..tube() };
    other.meshes[0].1.iter_mut().for_each(|v| v.place = v.place.map(|x| 0.6 * x + 0.1));
    other.meshes[0].1.pop();
    let found = compared(&tube(), &other);
    assert_eq!((found["paired"].as_str(), found["worst"]["joint"].as_str()), (Some("joints"), Some("upper")));
    assert!((worst(&found) - chord).abs() < 1e-3 * chord, "{chord} {found}");

    let folder = Folder::new();
    tube().write(&folder, "tube.gltf");
    turned.write(&folder, "bare.gltf");
    other.write(&folder, "other.gltf");
    Made { joints: [Some("a"), Some("b"), None], ..bare }.write(&folder, "foreign.gltf");
    let lines = [
        "compare tube.gltf bare.gltf",
        "compare bare.gltf other.gltf --height 1m",
        "compare tube.gltf other.gltf",
        "compare bare.gltf foreign.gltf",
    ];
    assert_snapshot!("joints", folder.session(&lines));
}

#[test]
fn clips_without_names_are_not_told_by_their_numbers() {
    let folder = Folder::new();
    let nameless = Made { clip: None, ..tube() };
    nameless.write(&folder, "one.gltf");
    let mut model: Value = serde_json::from_slice(&folder.read("one.gltf")).expect("JSON");
    let clip = model["animations"][0].clone();
    model["animations"] = json!([{ "samplers": clip["samplers"], "channels": [clip["channels"][1]] }, clip]);
    folder.write("two.gltf", model.to_string());
    // The only clip of the first file is the second clip of the other one, but no name shows that.
    assert_snapshot!("nameless", folder.session(&["compare one.gltf two.gltf", "compare two.gltf two.gltf"]));
}

#[test]
fn a_container_knows_the_height_that_it_was_made_with() {
    let folder = Folder::new();
    tube().write(&folder, "a.gltf");
    Made { turn: 0.41, ..tube() }.write(&folder, "b.gltf");
    let metres = worst(&line(&folder, "compare a.gltf b.gltf --json"));
    for name in ["a", "b"] {
        folder
            .run(&format!("encode {name}.gltf -o {name}.condyle --height 20cm --error 0.001mm"))
            .assert()
            .success();
    }
    folder.run("encode b.gltf -o plain.condyle --error 0.001mm").assert().success();
    // Two metres of the file are 20 cm.
    for files in ["a.gltf b.condyle", "a.condyle b.gltf", "a.condyle b.condyle"] {
        let found = line(&folder, &format!("compare {files} --json"));
        assert!((worst(&found) - 0.1 * metres).abs() < 0.01 * metres, "{files}: {found}");
        assert!((number(&found["scale"]) - 0.1).abs() < 1e-6, "{files}: {found}");
    }
    let found = line(&folder, "compare a.condyle b.condyle --height 1m --json");
    assert!(
        (worst(&found) - 0.5 * metres).abs() < 0.01 * metres && found["scale_from"] == "height",
        "{found}"
    );
    assert_eq!(line(&folder, "compare a.gltf plain.condyle --json")["scale"], 1.0);
    let text = transcript(&mut folder.run("compare a.gltf b.condyle"));
    assert!(text.contains("a unit is 100.0 mm, as stated by b.condyle"), "{text}");
    let text = transcript(&mut folder.run("info b.condyle"));
    assert!(text.contains("1 unit = 0.1 m"), "{text}");
    let info: Value = line(&folder, "info plain.condyle --json");
    assert_eq!(info["entries"][0]["metres_per_unit"], Value::Null, "{info}");
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let folder = Folder::new();
    tube().write(&folder, "a.gltf");
    Made { turn: 0.41, steps: Some(4095), ..tube().shuffled() }.write(&folder, "b.gltf");
    let run = |threads: &str| {
        let mut command = folder.run("compare a.gltf b.gltf --fps 1000 --json");
        transcript(command.env("RAYON_NUM_THREADS", threads))
    };
    let one = run("1");
    assert!(one.contains("\"moments\":1001"), "{one}");
    assert_eq!([run("2"), run("5")], [one.clone(), one]);
}
