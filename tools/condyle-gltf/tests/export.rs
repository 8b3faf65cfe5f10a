//! Posed scenes as files: which parts are kept or dropped, and whether the importer reads them back.

mod common;
#[path = "common/shown.rs"]
mod shown;

use base64::Engine;
use common::{Builder, PNG, json_of, parsed};
use condyle::{Interpolation, RawClip, Target, Track, Vertices};
use condyle_gltf::{
    Asset, ClipExporter, ExportError, Exporter, JointMesh, MorphExporter, MorphFrame, Placement, PosedScene,
    Poser, PoserOptions, Severity,
};
use serde_json::json;
use shown::{assert_shows, export, import};

/// Returns a body on two joints below a moved root, a prop that shows the same mesh, and a face with a morph
/// target.
fn character() -> Builder {
    let mut it = Builder::new();
    let position = it.floats(&[[0., 0., 0.], [1., 0., 0.], [0., 1., 0.]]);
    let normal = it.floats(&[[0., 0., 1.]; 3]);
    let uv = it.floats(&[[0., 0.], [1., 0.], [0., 1.]]);
    let indices = it.bytes_accessor(5123, "SCALAR", 3, &[0, 0, 1, 0, 2, 0]);
    let joints = it.bytes_accessor(5121, "VEC4", 3, &[0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0]);
    let weights = it.floats(&[[1., 0., 0., 0.], [0.5, 0.5, 0., 0.], [1., 0., 0., 0.]]);
    let shift = it.floats(&[[0., 0., 2.], [0., 0., 0.], [0., 0., 0.]]);
    let times = it.floats(&[[0.], [1.]]);
    let turn = it.floats(&[[0., 0., 0., 1.], [0., 0., 1., 0.]]);
    let slide = it.floats(&[[0., 0., 0.], [4., 0., 0.]]);
    let grow = it.floats(&[[0.], [1.]]);
    let image = it.view(PNG);
    it.json["extras"] = json!({ "bufferView": 999, "kept": true });
    it.json["cameras"] = json!([{ "type": "perspective", "perspective": { "yfov": 1.0, "znear": 0.1 } }]);
    it.json["images"] = json!([
        { "bufferView": image, "mimeType": "image/png" },
        { "uri": format!("data:image/png;base64,{}", base64::engine::general_purpose::STANDARD.encode(PNG)) },
        { "uri": "gone.png" },
    ]);
    it.json["textures"] = json!([{ "source": 0 }, { "source": 1 }, { "source": 2 }]);
    it.json["materials"] =
        json!([{ "name": "cloth", "pbrMetallicRoughness": { "baseColorTexture": { "index": 0 } } }]);
    it.json["meshes"] = json!([
        { "name": "shirt", "primitives": [{
            "attributes": {
                "POSITION": position, "NORMAL": normal, "TEXCOORD_0": uv, "JOINTS_0": joints, "WEIGHTS_0": weights,
            },
            "indices": indices, "material": 0,
        }] },
        { "name": "face", "weights": [0.25], "extras": { "targetNames": ["smile"], "kept": 1 }, "primitives": [{
            "attributes": { "POSITION": position }, "targets": [{ "POSITION": shift }],
        }] },
    ]);
    it.json["nodes"] = json!([
        { "name": "root", "translation": [0.0, 0.0, 5.0], "children": [1, 3] },
        { "name": "hip", "children": [2] },
        { "name": "knee", "translation": [0.0, 1.0, 0.0] },
        { "name": "body", "mesh": 0, "skin": 0, "translation": [9.0, 9.0, 9.0], "camera": 0, "children": [4] },
        { "name": "prop", "mesh": 0, "translation": [0.0, 2.0, 0.0] },
        { "name": "face", "mesh": 1 },
        { "name": "second body", "mesh": 0, "skin": 0 },
    ]);
    it.json["skins"] = json!([{ "joints": [1, 2] }]);
    it.json["scene"] = json!(0);
    it.json["scenes"] = json!([{ "nodes": [0, 5, 6] }, { "nodes": [5] }, { "name": "empty" }]);
    it.json["animations"] = json!([{ "name": "move", "samplers": [
        { "input": times, "output": turn }, { "input": times, "output": slide }, { "input": times, "output": grow },
    ], "channels": [
        { "sampler": 0, "target": { "node": 1, "path": "rotation" } },
        { "sampler": 1, "target": { "node": 3, "path": "translation" } },
        { "sampler": 2, "target": { "node": 5, "path": "weights" } },
    ] }]);
    it
}

#[test]
fn what_is_posed_is_what_is_read_back() {
    let asset = character().asset();
    for seconds in [0.0, 0.3, 1.0, 7.0] {
        let (glb, posed) = export(&asset, seconds);
        assert_shows(&glb, &asset, &posed, &format!("{seconds} s"));
    }
    // The hip rotates by half a turn about z, at 5 m. Half of the vertex follows the knee, 1 m further.
    let (_, posed) = export(&asset, 1.0);
    let [x, y, z] = posed.posed(0)[0].positions[1];
    assert!((x + 1.0).abs() < 1e-6 && (y + 0.5).abs() < 1e-6 && (z - 5.0).abs() < 1e-6, "{x} {y} {z}");
}

#[test]
fn nodes_keep_their_indices_and_skinned_meshes_stand_in_the_world() {
    let asset = character().asset();
    let json = json_of(&export(&asset, 1.0).0);
    let nodes = json["nodes"].as_array().expect("nodes");
    let names: Vec<_> = nodes.iter().map(|n| n["name"].as_str()).collect();
    let want = ["root", "hip", "knee", "body", "prop", "face", "second body"];
    assert_eq!(names[..7], want.map(Some));
    // The body's transform, camera and child move to a new node in its old place.
    assert_eq!(nodes[3], json!({ "name": "body", "mesh": 2 }));
    assert_eq!(nodes[7], json!({ "translation": [4.0, 0.0, 0.0], "camera": 0, "children": [4] }));
    assert_eq!(nodes[0]["children"], json!([1, 7]));
    assert_eq!(json["scenes"], json!([{ "nodes": [0, 5, 6, 3] }, { "nodes": [5] }, { "name": "empty" }]));
    // The prop shows the unchanged mesh; each body has a separate copy.
    assert_eq!((&nodes[4]["mesh"], &nodes[6]["mesh"]), (&json!(0), &json!(3)));
    assert_eq!(nodes[1]["rotation"], json!([0.0, 0.0, 1.0, 0.0]));
    // Nodes that do not move are written unchanged.
    assert_eq!(nodes[2], parsed(&asset.document)["nodes"][2]);
}

#[test]
fn indices_that_are_written_as_fractions_count_too() {
    let mut it = character();
    it.json["nodes"][0]["children"] = json!([1.0, 3.0]);
    it.json["scenes"][0]["nodes"] = json!([0.0, 5.0, 6.0]);
    let json = json_of(&export(&it.asset(), 1.0).0);
    assert_eq!(json["nodes"][0]["children"], json!([1, 7]));
    assert_eq!(json["scenes"][0]["nodes"], json!([0, 5, 6, 3]));
}

#[test]
fn clips_that_the_caller_has_added_may_name_any_joint() {
    let mut asset = character().asset();
    let (target, interpolation) = (Target::Rotation(500), Interpolation::Linear);
    let far = Track { target, interpolation, timeline: 0, values: vec![0.0, 0.0, 0.0, 1.0] };
    asset.clips.push(RawClip::new("far".into(), vec![vec![0.0]], vec![far]).expect("a clip"));
    let (glb, posed) = export(&asset, 1.0);
    assert_shows(&glb, &asset, &posed, "a separate clip");
    let refused = ClipExporter::new(&asset).glb(&asset.clips);
    assert!(matches!(refused, Err(ExportError::Clip { clip: 1, .. })));
}

#[test]
fn roots_with_skinned_meshes_stay_roots_and_their_children_stay_placed() {
    let mut it = character();
    // The second body is at the origin in the rest pose; now it moves, and has the face as a child.
    it.json["nodes"][6]["children"] = json!([5]);
    it.json["scenes"] = json!([{ "nodes": [0, 6] }]);
    it.json["animations"][0]["channels"][1]["target"]["node"] = json!(6);
    let asset = it.asset();
    let (glb, posed) = export(&asset, 1.0);
    assert_shows(&glb, &asset, &posed, "a moved root");
    let json = json_of(&glb);
    assert_eq!(json["nodes"][6], json!({ "name": "second body", "mesh": 3 }));
    assert_eq!(json["nodes"][8], json!({ "children": [5], "translation": [4.0, 0.0, 0.0] }));
    assert_eq!(json["scenes"], json!([{ "nodes": [0, 6, 3, 8] }]));

    // A node that never has a transform keeps its place.
    it = character();
    it.json["nodes"][6]["children"] = json!([5]);
    it.json["scenes"] = json!([{ "nodes": [0, 6] }]);
    let json = json_of(&export(&it.asset(), 1.0).0);
    assert_eq!(json["nodes"][6], json!({ "name": "second body", "mesh": 3, "children": [5] }));
    assert_eq!(json["scenes"], json!([{ "nodes": [0, 6, 3] }]));
}

#[test]
fn nothing_is_left_that_could_move_and_everything_else_is() {
    let mut it = character();
    it.json["samplers"] = json!([]);
    let asset = it.asset();
    let json = json_of(&export(&asset, 0.5).0);
    assert_eq!(json.get("samplers"), None);
    let text = json.to_string();
    for word in [
        "JOINTS_",
        "WEIGHTS_",
        "\"targets\"",
        "\"skin\"",
        "skins",
        "animations",
        "\"weights\"",
        "targetNames",
    ] {
        assert!(!text.contains(word), "{word} in {text}");
    }
    let source = &parsed(&asset.document);
    for part in ["extras", "cameras", "textures", "materials", "scene"] {
        assert_eq!(json[part], source[part], "{part}");
    }
    assert_eq!(json["meshes"][1]["extras"], json!({ "kept": 1 }));
    assert!(json["asset"]["generator"].as_str().is_some_and(|g| g.starts_with("Condyle")));
    // Shirt: position, normal, uv, indices. The two bodies have equal positions and normals, stored once.
    // Face: position.
    assert_eq!(json["accessors"].as_array().map(Vec::len), Some(7));
    let body = &json["meshes"][2]["primitives"][0]["attributes"];
    let bounds = &json["accessors"][body["POSITION"].as_u64().expect("an index") as usize];
    assert!(bounds["min"].is_array() && bounds["max"].is_array());
    assert_eq!(body, &json["meshes"][3]["primitives"][0]["attributes"]);
}

#[test]
fn images_move_into_the_file_and_missing_ones_are_reported() {
    let asset = character().asset();
    let exporter = Exporter::new(&asset).expect("copies within the size limit");
    let [problem] = exporter.problems() else { panic!("{:?}", exporter.problems()) };
    assert_eq!((problem.severity, problem.place.as_str()), (Severity::Warning, "/images/2/uri"));
    let glb = export(&asset, 0.0).0;
    let json = json_of(&glb);
    assert_eq!(json["images"][2].get("uri"), None);
    assert_eq!(json["images"][2]["mimeType"], "image/png");
    let written = import(&glb);
    for image in 0..2 {
        assert_eq!(json["images"][image]["mimeType"], "image/png");
        let view = json["images"][image]["bufferView"].as_u64().expect("a view") as usize;
        assert_eq!(written.document.buffer_view(view), Some(PNG), "image {image}");
    }
}

#[test]
fn data_is_left_out_unless_an_unknown_extension_may_refer_to_it() {
    let count = |builder: Builder, list: &str| {
        json_of(&export(&builder.asset(), 0.0).0)[list].as_array().map_or(0, Vec::len)
    };
    let mut unknown = character();
    unknown.json["extensionsUsed"] = json!(["ACME_numbers"]);
    unknown.json["extensions"] = json!({ "ACME_numbers": { "table": 3 } });
    // Seven of the document's eleven accessors only serve the movement or are replaced.
    assert_eq!(count(character(), "accessors"), 4 + 3);
    assert_eq!(count(unknown, "accessors"), 11 + 3);
}

#[test]
fn broken_references_of_what_is_only_carried_are_left_out() {
    let mut it = character();
    it.json["meshes"][0]["primitives"][0]["attributes"]["TEXCOORD_7"] = json!(77);
    it.json["images"][2] = json!({ "uri": "../../secret.png" });
    it.json["extensionsUsed"] = json!(["ACME_numbers"]);
    it.json["extensions"] = json!({ "ACME_numbers": { "bufferView": 88 } });
    let asset = it.asset();
    let exporter = Exporter::new(&asset).expect("copies within the size limit");
    let paths: Vec<_> = exporter.problems().iter().map(|p| p.place.as_str()).collect();
    assert_eq!(paths, ["/bufferViews", "/images/2/uri"]);
    let place = "/meshes/0/primitives/0/attributes/TEXCOORD_7";
    assert!(asset.problems.iter().any(|p| p.place == place), "{:?}", asset.problems);
    let json = json_of(&export(&asset, 0.0).0);
    assert!(json["meshes"][0]["primitives"][0]["attributes"].get("TEXCOORD_7").is_none());
    assert_eq!(json["extensions"]["ACME_numbers"], json!({}));
    assert!(!json.to_string().contains("secret"));
}

#[test]
fn broken_meshes_that_no_node_shows_are_left_out() {
    let mut it = character();
    let meshes = it.json["meshes"].as_array_mut().expect("meshes");
    meshes.push(json!({ "name": "empty", "primitives": [{ "attributes": {} }] }));
    meshes.push(json!({ "name": "spare", "primitives": [meshes[0]["primitives"][0]] }));
    meshes.push(json!({ "name": "lost", "primitives": [{ "attributes": { "POSITION": 999 } }] }));
    let asset = it.asset();
    let warned =
        asset.problems.iter().filter(|p| p.severity == Severity::Warning && p.place.contains("/meshes/"));
    let warned: Vec<_> = warned.map(|p| p.place.as_str()).collect();
    assert_eq!(warned, ["/meshes/2/primitives/0", "/meshes/4/primitives/0/attributes/POSITION"]);
    let (glb, posed) = export(&asset, 0.5);
    assert_shows(&glb, &asset, &posed, "without broken meshes");
    let names: Vec<_> =
        json_of(&glb)["meshes"].as_array().expect("meshes").iter().map(|m| m["name"].clone()).collect();
    assert_eq!(names, ["shirt", "face", "spare", "shirt", "shirt"]);
}

#[test]
fn quantization_stays_listed_only_where_it_is_used() {
    let quantized = |of_face: bool| {
        let mut it = character();
        let small = it.bytes_accessor(
            5122,
            "VEC3",
            3,
            &[0, 0, 1, 0, 2, 0, 0, 0, 3, 0, 4, 0, 5, 0, 6, 0, 7, 0, 0, 0, 8, 0, 9, 0],
        );
        it.json["bufferViews"].as_array_mut().expect("views").last_mut().expect("a view")["byteStride"] =
            json!(8);
        it.json["extensionsUsed"] = json!(["KHR_mesh_quantization"]);
        it.json["extensionsRequired"] = json!(["KHR_mesh_quantization"]);
        // The exporter writes the face as f32; a prop keeps its quantised data.
        it.json["meshes"][usize::from(of_face)]["primitives"][0]["attributes"]["POSITION"] = json!(small);
        json_of(&export(&it.asset(), 0.0).0)
    };
    assert_eq!(quantized(false)["extensionsRequired"], json!(["KHR_mesh_quantization"]));
    let rid = quantized(true);
    assert_eq!((rid.get("extensionsUsed"), rid.get("extensionsRequired")), (None, None));
}

#[test]
fn normals_without_a_direction_point_somewhere() {
    let mut it = character();
    // The scale of the hip flattens the whole body.
    it.json["nodes"][1]["scale"] = json!([0.0, 0.0, 0.0]);
    let none = it.floats(&[[0., 0., 0.], [0., 0., 1.], [0., 3., 0.]]);
    it.json["meshes"][0]["primitives"][0]["attributes"]["NORMAL"] = json!(none);
    let asset = it.asset();
    let (glb, posed) = export(&asset, 0.0);
    let flat = &posed.posed(0)[0].normals;
    assert!(flat.contains(&[0.0; 3]), "{flat:?}");
    let written = import(&glb);
    let normals = &written.instances[0].primitives[0].mesh.vertices().normals;
    assert_eq!(normals[..], [[0., 1., 0.], [0., 0., 1.], [0., 1., 0.]]);
}

#[test]
fn a_scene_of_another_asset_or_out_of_range_is_refused() {
    let asset = character().asset();
    let exporter = Exporter::new(&asset).expect("copies within the size limit");
    let (_, mut poser) = export(&asset, 0.0);
    let mut scene = poser.scene();
    scene.instances.pop();
    assert_eq!(exporter.glb(&scene), Err(ExportError::Mismatch { what: "instances", found: 3, needed: 4 }));
    scene = poser.scene();
    scene.instances[0][0].normals = &[];
    assert_eq!(exporter.glb(&scene), Err(ExportError::Mismatch { what: "normals", found: 0, needed: 3 }));
    let other = condyle::Pose::identity(1);
    let scene = PosedScene { pose: &other, instances: poser.scene().instances };
    let pose = ExportError::Mismatch { what: "pose", found: 1, needed: asset.skeleton.joint_count() };
    assert_eq!(exporter.glb(&scene), Err(pose));

    let mut huge = character();
    huge.json["nodes"][0]["scale"] = json!([1e30, 1e30, 1e30]);
    huge.json["nodes"][1]["scale"] = json!([1e30, 1e30, 1e30]);
    let huge = huge.asset();
    poser = Poser::new(&huge, PoserOptions::default()).expect("copies within the size limit");
    let error = poser.rest().expect_err("infinite vertices");
    assert!(error.to_string().starts_with("posed positions["), "{error}");
    let error = Exporter::new(&huge)
        .expect("copies within the size limit")
        .glb(&poser.scene())
        .expect_err("infinite vertices");
    assert!(error.to_string().starts_with("/nodes/3: vertex 0 of primitive 0"), "{error}");
}

#[test]
fn copies_out_of_proportion_are_refused() {
    let with_bodies = |count: usize| {
        let mut it = character();
        let bodies = (0..count).map(|_| json!({ "mesh": 0, "skin": 0 }));
        it.json["nodes"].as_array_mut().expect("nodes").extend(bodies);
        it
    };
    // Small objects take much more memory than their text, except for extras, which stay text.
    let small = json!({ "VENDOR_unknown": vec![json!({ "": 0 }); 1000] });
    for (key, value) in [("extras", json!("x".repeat(1 << 20))), ("extensions", small)] {
        let mut it = with_bodies(200);
        it.json["meshes"][0][key] = value;
        let error = Exporter::new(&it.asset()).expect_err("200 MB of extras");
        assert!(error.to_string().starts_with("copies of meshes"), "{error}");
    }

    // Three thousand scenes show a root with a thousand bodies below it.
    let mut it = with_bodies(1000);
    it.json["nodes"][0]["children"] = (7..1007).chain([1, 3]).collect();
    it.json["scenes"] = json!(vec![json!({ "nodes": [0] }); 3000]);
    let error = Exporter::new(&it.asset()).expect_err("three million roots");
    assert!(error.to_string().starts_with("roots of scenes"), "{error}");
    // A root is listed once, even if a scene lists it many times.
    it.json["scenes"] = json!([{ "nodes": vec![0; 1000] }]);
    let json = json_of(&export(&it.asset(), 0.0).0);
    assert_eq!(json["scenes"][0]["nodes"].as_array().map(Vec::len), Some(1 + 1 + 1000));

    let mut it = Builder::new();
    // The document has no data: an accessor without a view is all zeros.
    it.json["accessors"] = json!([{ "componentType": 5126, "type": "VEC3", "count": 100_000, "min": [0, 0, 0], "max": [0, 0, 0] }]);
    it.json["meshes"] = json!([{ "primitives": [{ "attributes": { "POSITION": 0 }, "mode": 0 }] }]);
    it.json["nodes"] = (0..100).map(|_| json!({ "mesh": 0 })).collect();
    let error = Poser::new(&it.asset(), PoserOptions::default()).expect_err("ten million vertices");
    assert!(error.to_string().contains("copies"), "{error}");
}

/// Tests skinned meshes, a mesh on a joint, and a mesh with a morph target: all are in world space and play
/// without joints.
#[test]
fn a_clip_becomes_morph_targets() {
    let asset = character().asset();
    let times = [0.0, 0.3, 1.0];
    let posed = moments(&asset, &times);
    let frames: Vec<_> = posed.iter().map(Moment::frame).collect();
    let exporter = MorphExporter::new(&asset).expect("copies within the size limit");
    let written = import(&exporter.glb("dance", &frames).expect("frames of this asset"));
    assert!(written.skins.is_empty() && written.clips[0].name() == "dance");
    assert_eq!(written.instances.len(), asset.instances.len());
    let mut again = Poser::new(&written, PoserOptions::default()).expect("copies within the size limit");
    for Moment { seconds, instances, .. } in &posed {
        again.pose(written.clips.first(), f64::from(*seconds)).expect("finite");
        for (at, want) in instances.iter().enumerate() {
            for (got, want) in again.posed(at).iter().zip(want) {
                for (got, want) in got.positions.as_flattened().iter().zip(want.positions.as_flattened()) {
                    assert!((got - want).abs() < 2e-6, "instance {at} at {seconds} s: {got}, not {want}");
                }
            }
        }
    }
    let still = import(&exporter.glb("", &frames[..1]).expect("one frame"));
    assert!(still.clips.is_empty());
    let refused = exporter.glb("", &vec![frames[0].clone(); 5000]);
    assert!(matches!(refused, Err(ExportError::TooLarge { .. })));
    let other = MorphFrame { instances: vec![], ..frames[0].clone() };
    assert!(matches!(exporter.glb("", &[other]), Err(ExportError::Mismatch { what: "instances", .. })));
}

/// A pose of the first clip at one time.
struct Moment {
    seconds: f32,
    mirrored: Vec<bool>,
    instances: Vec<Vec<Vertices>>,
}

impl Moment {
    fn frame(&self) -> MorphFrame<'_> {
        let instances =
            self.instances.iter().map(|own| own.iter().map(Vertices::as_slices).collect()).collect();
        MorphFrame { seconds: self.seconds.into(), mirrored: self.mirrored.clone(), instances }
    }
}

fn moments(asset: &Asset, times: &[f32]) -> Vec<Moment> {
    let mut poser = Poser::new(asset, PoserOptions::default()).expect("copies within the size limit");
    let mut moment = |&seconds: &f32| {
        poser.pose(asset.clips.first(), seconds.into()).expect("finite");
        let instances = (0..asset.instances.len()).map(|at| poser.posed(at).to_vec()).collect();
        let mirrored = asset.instances.iter().map(|it| it.is_mirrored(poser.model())).collect();
        Moment { seconds, mirrored, instances }
    };
    times.iter().map(&mut moment).collect()
}

fn morphs(asset: &Asset, moments: &[Moment]) -> Result<Vec<u8>, ExportError> {
    let frames: Vec<_> = moments.iter().map(Moment::frame).collect();
    MorphExporter::new(asset).expect("copies within the size limit").glb("", &frames)
}

/// Tests that the prop on a mirrored joint and the mirrored face with a morph target are reversed. The
/// skinned body is not, although its joints mirror.
#[test]
fn mirrored_nodes_are_baked_the_right_way_out() {
    // Triangles, a strip, a fan.
    for mode in [4, 5, 6] {
        let mut it = character();
        it.json["nodes"][1]["scale"] = json!([-1.0, 1.0, 1.0]);
        it.json["nodes"][4]["scale"] = json!([-1.0, 1.0, 1.0]);
        it.json["nodes"][5]["scale"] = json!([2.0, 3.0, -0.1]);
        it.json["meshes"][0]["primitives"][0]["mode"] = json!(mode);
        let asset = it.asset();
        let mut all = moments(&asset, &[0.0, 0.5, 1.0]);
        let [body, prop, face] = [0, 1, 2];
        let corners = |all: &[Moment]| {
            let written = import(&morphs(&asset, all).expect("frames of this asset"));
            [body, prop, face].map(|at| {
                let primitive = &written.instances[at].primitives[0];
                let Vertices { positions: p, normals, .. } = primitive.mesh.vertices();
                let triangles: Vec<_> = primitive.triangles().collect();
                let [a, b, c] = triangles[0].map(|corner| p[corner as usize]);
                // A triangle that is flat in z faces in the direction of its normals.
                let across = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
                assert!(at != prop || all.len() < 3 || across * normals[0][2] > 0.0, "{across} {normals:?}");
                triangles
            })
        };
        let own =
            [body, prop, face].map(|at| asset.instances[at].primitives[0].triangles().collect::<Vec<_>>());
        let turned = own.clone().map(|own| own.iter().map(|&[a, b, c]| [a, c, b]).collect::<Vec<_>>());
        assert_eq!(corners(&all), [&own[body], &turned[prop], &turned[face]].map(Vec::clone), "mode {mode}");
        // The prop mirrors in one frame of two, which is not a majority.
        all.truncate(2);
        assert!(matches!(asset.instances[prop].placement, Placement::Joint(_)));
        all[1].mirrored[prop] = false;
        assert_eq!(corners(&all), [&own[body], &own[prop], &turned[face]].map(Vec::clone), "mode {mode}");
    }
}

#[test]
fn frames_whose_times_do_not_rise_are_refused() {
    let asset = character().asset();
    for (times, frame) in [
        (&[f32::NAN][..], 0),
        (&[f32::INFINITY], 0),
        (&[-0.5], 0),
        (&[0.0, 0.0], 1),
        (&[0.0, 1.0, 0.5], 2),
        (&[0.0, 0.5, f32::NAN], 2),
    ] {
        let mut all = moments(&asset, &vec![0.0; times.len()]);
        all.iter_mut().zip(times).for_each(|(moment, seconds)| moment.seconds = *seconds);
        let refused = morphs(&asset, &all).expect_err("no clip");
        assert!(
            matches!(refused, ExportError::Time { frame: at, .. } if at == frame),
            "{times:?}: {refused}"
        );
        assert!(refused.to_string().starts_with(&format!("frame {frame} is at ")), "{refused}");
    }
    assert!(morphs(&asset, &moments(&asset, &[-0.0, 1e-45, 1.0])).is_ok());
}

#[test]
fn ways_that_f32_does_not_hold_are_refused() {
    let asset = character().asset();
    let mut all = moments(&asset, &[0.0, 0.5, 1.0]);
    all[0].instances[1][0].positions[2][1] = f32::MAX;
    all[2].instances[1][0].positions[2][1] = -f32::MAX;
    let refused = morphs(&asset, &all);
    assert_eq!(refused, Err(ExportError::TooFar { node: 4, vertex: (0, 2), frame: 2 }));
    let mut all = moments(&asset, &[0.0]);
    all[0].mirrored.pop();
    assert!(matches!(morphs(&asset, &all), Err(ExportError::Mismatch { what: "mirrored instances", .. })));
}

/// Tests that primitives without positions are dropped, because all primitives of a mesh must have the same
/// number of targets.
#[test]
fn primitives_that_nothing_shows_are_not_baked() {
    let mut it = character();
    let primitives = it.json["meshes"][0]["primitives"].as_array_mut().expect("a list");
    primitives.insert(0, json!({ "attributes": {} }));
    primitives.push(json!({ "attributes": { "TEXCOORD_0": 2 } }));
    let asset = it.asset();
    assert_eq!(asset.instances[0].primitives.len(), 1);
    let glb = morphs(&asset, &moments(&asset, &[0.0, 1.0])).expect("frames of this asset");
    let written = import(&glb);
    for instance in &written.instances {
        let [primitive] = &instance.primitives[..] else { panic!("{}", instance.name) };
        assert_eq!(primitive.mesh.morph_targets().len(), 1);
    }
    let json = json_of(&glb);
    let nodes = json["nodes"].as_array().expect("a list");
    for mesh in nodes.iter().filter_map(|node| node["mesh"].as_u64()) {
        assert_eq!(json["meshes"][mesh as usize]["primitives"].as_array().map(Vec::len), Some(1));
    }
}

#[test]
fn meshes_that_are_attached_follow_their_joints() {
    let asset = character().asset();
    let knee = asset.skeleton.names().iter().position(|name| name == "knee").expect("a knee") as u16;
    let mesh = JointMesh {
        joint: knee,
        name: "cap".into(),
        positions: vec![[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]],
        normals: vec![[0.0, 0.0, 1.0]; 3],
        triangles: vec![[0, 1, 2]],
    };
    let mut exporter = ClipExporter::new(&asset);
    for (what, broken) in [
        ("joint", JointMesh { joint: 500, ..mesh.clone() }),
        ("positions", JointMesh { positions: vec![], normals: vec![], ..mesh.clone() }),
        ("normals", JointMesh { normals: vec![], ..mesh.clone() }),
        ("finite", JointMesh { normals: vec![[f32::NAN; 3]; 3], ..mesh.clone() }),
        ("triangles", JointMesh { triangles: vec![], ..mesh.clone() }),
        ("corner", JointMesh { triangles: vec![[0, 1, 3]], ..mesh.clone() }),
    ] {
        let refused = exporter.attach(&[mesh.clone(), broken], [1.0; 4]).expect_err(what);
        assert!(refused.to_string().contains(what), "{refused}");
    }
    let before = ClipExporter::new(&asset).glb(&asset.clips);
    assert_eq!(exporter.glb(&asset.clips), before);
    exporter.attach(std::slice::from_ref(&mesh), [1.0, 0.0, 0.0, 0.5]).expect("a mesh on a joint");
    let written = import(&exporter.glb(&asset.clips).expect("clips of this asset"));
    let [.., cap] = &written.instances[..] else { panic!("no instances") };
    assert_eq!((cap.name.as_str(), cap.in_default_scene), ("cap", true));
    let mut poser = Poser::new(&written, PoserOptions::default()).expect("copies within the size limit");
    let mut own = Poser::new(&asset, PoserOptions::default()).expect("copies within the size limit");
    for seconds in [0.0, 0.4, 1.0] {
        poser.pose(written.clips.first(), seconds).expect("finite");
        own.pose(asset.clips.first(), seconds).expect("finite");
        let want = mesh.positions.iter().map(|&p| own.model()[usize::from(knee)].transform_point(p));
        let got = &poser.posed(written.instances.len() - 1)[0].positions;
        for (got, want) in got.as_flattened().iter().zip(want.flatten()) {
            assert!((got - want).abs() < 1e-6, "{seconds} s: {got}, not {want}");
        }
    }
}
