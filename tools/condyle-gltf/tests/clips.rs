//! Documents with other animations: clips are read back unchanged, and no other part of the document changes.

mod common;

use common::{Builder, PNG, json_of, parsed};
use condyle::{Interpolation, RawClip, Target, Track};
use condyle_gltf::{Asset, ClipExporter, Document, ExportError};
use serde_json::{Value, json};

fn import(glb: &[u8], name: &str) -> Asset {
    let document = Document::from_slice(name, glb, None).unwrap_or_else(|e| panic!("{e}"));
    Asset::from_document(document).unwrap_or_else(|e| panic!("{e}"))
}

/// Returns two joints, one placed by a matrix, a body with a morph target and an image, and no animation.
fn still() -> Builder {
    let mut it = Builder::new();
    let position = it.floats(&[[0., 0., 0.], [1., 0., 0.], [0., 1., 0.]]);
    let joints = it.bytes_accessor(5121, "VEC4", 3, &[0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0]);
    let weights = it.floats(&[[1., 0., 0., 0.], [0.5, 0.5, 0., 0.], [1., 0., 0., 0.]]);
    let shift = it.floats(&[[0., 0., 2.], [0., 0., 0.], [0., 0., 0.]]);
    let image = it.view(PNG);
    it.json["images"] = json!([{ "bufferView": image, "mimeType": "image/png" }]);
    it.json["textures"] = json!([{ "source": 0 }]);
    it.json["materials"] = json!([{ "name": "cloth", "extras": [1], "pbrMetallicRoughness": {
        "baseColorFactor": [0.5, 0.25, 1.0, 0.5], "baseColorTexture": { "index": 0 } } }]);
    it.json["meshes"] = json!([{ "name": "body", "weights": [0.25], "primitives": [{
        "attributes": { "POSITION": position, "JOINTS_0": joints, "WEIGHTS_0": weights },
        "targets": [{ "POSITION": shift }], "material": 0,
    }] }]);
    it.json["nodes"] = json!([
        { "name": "hip", "children": [1] },
        { "name": "knee", "matrix": [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 1, 0, 1] },
        { "name": "body", "mesh": 0, "skin": 0 },
    ]);
    it.json["skins"] = json!([{ "joints": [0, 1], "skeleton": 0 }]);
    it.json["scenes"] = json!([{ "nodes": [0, 2] }]);
    it.json["scene"] = json!(0);
    it
}

fn track(target: Target, interpolation: Interpolation, timeline: usize, values: &[f32]) -> Track {
    Track { target, interpolation, timeline, values: values.to_vec() }
}

/// Returns a clip with every target and every interpolation, on two timelines.
fn everything() -> RawClip {
    let splines: Vec<f32> = (0..18).map(|i| i as f32 / 8.0).collect();
    let tracks = vec![
        track(Target::Rotation(0), Interpolation::Linear, 0, &[0., 0., 0., 1., 0.6, 0., 0., 0.8]),
        track(Target::Rotation(1), Interpolation::Step, 1, &[0., 0., 1., 0.]),
        track(Target::Translation(1), Interpolation::CubicSpline, 0, &splines),
        track(Target::Scale(0), Interpolation::Linear, 0, &[1., 2., 3., 0.1, -0.0, 1e-30]),
        track(Target::Weights(2), Interpolation::CubicSpline, 1, &[0.1, 0.2, 0.3]),
    ];
    RawClip::new("everything".into(), vec![vec![0.25, 1.5], vec![0.1]], tracks).expect("a valid clip")
}

#[test]
fn every_kind_of_track_comes_back_bit_for_bit() {
    let asset = still().asset();
    let steps = track(Target::Weights(2), Interpolation::Step, 0, &[1.0, 0.5]);
    let morph = RawClip::new("morph".into(), vec![vec![0.0, 2.0]], vec![steps]).expect("a valid clip");
    let clips = [everything(), morph]
        .map(|clip| clip.for_skeleton(&asset.skeleton).expect("joints of this skeleton"));
    let packed = ClipExporter::new(&asset).packed_glb(&clips).expect("clips of this asset");
    assert_eq!(import(&packed, "packed").clips, clips);
    let glb = ClipExporter::new(&asset).glb(&clips).expect("clips of this asset");
    let written = import(&glb, "written");
    assert_eq!(written.clips, clips);
    assert_eq!(written.problems, asset.problems);
    let bits = |clip: &RawClip| -> Vec<u32> {
        clip.tracks().iter().flat_map(|t| &t.values).map(|v| v.to_bits()).collect()
    };
    assert_eq!(bits(&written.clips[0]), bits(&clips[0]));
    // An animated node cannot have a matrix; its rest transform stays the same.
    assert_eq!(
        parsed(&written.document)["nodes"][1],
        json!({ "name": "knee", "translation": [0.0, 1.0, 0.0] })
    );
    assert_eq!(written.skeleton, asset.skeleton);
}

/// Tests compressed clips with a reader of the extension: one stream for each kind of element, and a buffer
/// without data.
#[test]
fn compressed_clips_come_back() {
    let asset = still().asset();
    let filtered = [0., 0., 0., 1., 23170. / 32767., 0., 23170. / 32767., 0.];
    // The quaternion filter cannot store rotations of another length.
    let loose = [0.707, 0., 0., 0.707, 0., 0., 0., 1.].map(|v: f32| (v * 32767.).round() / 32767.);
    // Enough keys for the streams to be smaller than uncompressed numbers.
    const PAIRS: usize = 150;
    let long = |target, values: &[f32]| track(target, Interpolation::Linear, 0, &values.repeat(PAIRS));
    let tracks = vec![
        long(Target::Rotation(0), &filtered),
        long(Target::Rotation(1), &loose),
        long(Target::Translation(0), &[0.5, 1.25, -3.0, 0.75, 1.25, 8.0]),
        long(Target::Scale(0), &[1.0, 0.1, 1.0, 2.0, 0.3, 1.0]),
        long(Target::Weights(2), &[0.5, 0.25]),
    ];
    let times = (0..2 * PAIRS).map(|key| key as f32 / 32.0).collect();
    let plain = RawClip::new("plain".into(), vec![times], tracks).expect("a valid clip");
    let empty = RawClip::new("empty".into(), vec![], vec![]).expect("a valid clip");
    let clips = [everything(), plain, empty]
        .map(|clip| clip.for_skeleton(&asset.skeleton).expect("joints of this skeleton"));
    let exporter = ClipExporter::new(&asset);
    let glb = exporter.compressed_glb(&clips).expect("clips of this asset");
    let read = import(&glb, "compressed");
    // -0.0 equals 0.0.
    assert_eq!(read.clips, clips);
    let json = json_of(&glb);
    let extension = "EXT_meshopt_compression";
    assert_eq!(json["extensionsRequired"], json!([extension]));
    assert_eq!(json["extensionsUsed"], json!([extension]));
    let list = |key: &str| json[key].as_array().expect("a list").clone();
    let compressed: Vec<Value> =
        list("bufferViews").into_iter().filter(|view| view.get("extensions").is_some()).collect();
    let number = |value: &Value| value.as_u64().expect("a whole number");
    let mut end = 0;
    let (mut filters, mut bytes) = (Vec::new(), 0);
    for view in &compressed {
        let form = &view["extensions"][extension];
        assert_eq!(
            (&view["buffer"], &form["buffer"], &form["mode"]),
            (&json!(1), &json!(0), &json!("ATTRIBUTES"))
        );
        assert_eq!(number(&view["byteLength"]), number(&form["count"]) * number(&form["byteStride"]));
        assert!(number(&view["byteOffset"]) >= end, "{view}");
        end = number(&view["byteOffset"]) + number(&view["byteLength"]);
        filters.push((form["filter"].as_str().unwrap_or("NONE").to_owned(), number(&form["byteStride"])));
        bytes += number(&form["byteLength"]);
    }
    for kind in
        [("NONE", 4), ("NONE", 8), ("NONE", 12), ("QUATERNION", 8), ("EXPONENTIAL", 4), ("EXPONENTIAL", 12)]
    {
        assert!(filters.contains(&(kind.0.to_owned(), kind.1)), "{kind:?} of {filters:?}");
    }
    filters.sort();
    filters.dedup();
    assert_eq!(filters.len(), compressed.len(), "one view for all of a kind");
    // The splines are smaller uncompressed.
    let of = |clips: &[RawClip]| exporter.compressed_bytes(clips).expect("clips of this asset") as u64;
    assert!(of(&clips) > bytes && of(&clips) < bytes + 200, "{bytes}, {}", of(&clips));
    let buffers = list("buffers");
    let fallback = json!({ "byteLength": end, "extensions": { extension: { "fallback": true } } });
    assert_eq!((buffers.len(), &buffers[1]), (2, &fallback));
    // If no stream saves space, the file does not use the extension.
    let short = std::slice::from_ref(&clips[0]);
    let plain = json_of(&exporter.compressed_glb(short).expect("a clip of this asset"));
    assert!(
        plain.get("extensionsRequired").is_none() && plain["buffers"].as_array().map(Vec::len) == Some(1)
    );
    assert_eq!(of(short), exporter.packed_bytes(short).expect("a clip of this asset") as u64);
    // Without clips, the extension is not required.
    let none = json_of(&exporter.compressed_glb(&[]).expect("no clips"));
    assert!(none.get("extensionsRequired").is_none() && none["buffers"].as_array().map(Vec::len) == Some(1));
}

#[test]
fn nothing_but_the_animations_changes() {
    let asset = still().asset();
    let exporter = ClipExporter::new(&asset);
    assert_eq!(exporter.problems(), []);
    let (with, without) = (exporter.glb(&[everything()]), exporter.glb(&[]));
    let (with, without) = (json_of(&with.expect("a clip")), json_of(&without.expect("no clips")));
    assert!(without.get("animations").is_none());
    for key in ["materials", "textures", "meshes", "skins", "scenes", "scene", "nodes", "images"] {
        assert_eq!(without[key], parsed(&asset.document)[key], "{key}");
        // A matrix is replaced by the animated properties.
        assert!(with[key] == without[key] || key == "nodes", "{key}");
    }
    // The stored data comes first and keeps its indices.
    let list = |json: &Value, key: &str| json[key].as_array().expect("a list").clone();
    for key in ["accessors", "bufferViews"] {
        let (with, without) = (list(&with, key), list(&without, key));
        assert!(with.len() > without.len() && with.starts_with(&without), "{key}");
    }
    // Times have bounds, and buffer views of keys are not marked as vertex data.
    let input = &with["accessors"]
        [with["animations"][0]["samplers"][0]["input"].as_u64().expect("an index") as usize];
    assert_eq!((&input["min"], &input["max"]), (&json!([0.25]), &json!([1.5])));
    let view = &with["bufferViews"][input["bufferView"].as_u64().expect("an index") as usize];
    assert!(view.get("target").is_none());
}

#[test]
fn what_only_the_animations_held_is_left_out() {
    let mut it = still();
    let input = it.floats(&[[0.0], [1.0]]);
    let output = it.floats(&[[0.0, 0.0, 0.0, 1.0]; 2]);
    it.json["animations"] = json!([{ "channels": [{ "sampler": 0, "target": { "node": 0, "path": "rotation" } }],
        "samplers": [{ "input": input, "output": output }] }]);
    it.json["extensionsUsed"] = json!(["KHR_animation_pointer"]);
    let (moving, still) = (it.asset(), still().asset());
    let (moving, still) = (ClipExporter::new(&moving).glb(&[]), ClipExporter::new(&still).glb(&[]));
    assert_eq!(moving.expect("no clips"), still.expect("no clips"));
    // An unknown extension can refer to any accessor.
    it.json["extensionsUsed"] = json!(["ACME_springs"]);
    let json = json_of(&ClipExporter::new(&it.asset()).glb(&[]).expect("no clips"));
    assert_eq!(json["accessors"].as_array().map(Vec::len), Some(output + 1));
}

#[test]
fn what_an_animation_holds_beside_its_keys_stays() {
    let mut it = still();
    let (times, values) = (it.floats(&[[0.0], [1.0]]), it.floats(&[[0.0; 3], [1.0; 3]]));
    let animation = |name: &str| {
        json!({
            "name": name,
            "extras": { "loop": true, "speed": [1, 2.50] },
            "samplers": [{ "input": times, "output": values }],
            "channels": [{ "sampler": 0, "target": { "node": 0, "path": "translation" } }],
        })
    };
    let mut run = animation("run");
    run["extensions"] = json!({ "KHR_xmp_json_ld": { "packet": 0 }, "MAKER_events": { "channel": 0 } });
    it.json["animations"] = json!([animation("walk"), run]);
    it.json["extensionsUsed"] = json!(["KHR_xmp_json_ld", "MAKER_events"]);
    it.json["extensions"] = json!({ "KHR_xmp_json_ld": { "packets": [{}] } });
    let asset = it.asset();
    let exporter = ClipExporter::new(&asset);
    let problems: Vec<_> = exporter.problems().iter().map(|p| (p.place.as_str(), p.what.as_str())).collect();
    let lost = "the extension \"MAKER_events\" may refer to keys that are rewritten";
    assert_eq!(problems, [("/animations/1/extensions", lost)]);
    for glb in
        [exporter.glb(&asset.clips), exporter.packed_glb(&asset.clips), exporter.compressed_glb(&asset.clips)]
    {
        let json = json_of(&glb.expect("clips of this asset"));
        for animation in [0, 1] {
            let extras = &json["animations"][animation]["extras"];
            assert_eq!(*extras, json!({ "loop": true, "speed": [1, 2.5] }));
        }
        assert_eq!(json["animations"][0].get("extensions"), None);
        assert_eq!(json["animations"][1]["extensions"], json!({ "KHR_xmp_json_ld": { "packet": 0 } }));
    }
    // Another clip at this index does not get the extras.
    let json = json_of(&exporter.glb(&asset.clips[1..]).expect("a clip of this asset"));
    assert_eq!((&json["animations"][0]["name"], json["animations"][0].get("extras")), (&json!("run"), None));
}

#[test]
fn an_empty_clip_keeps_its_place() {
    let asset = still().asset();
    let empty = RawClip::new("nothing".into(), vec![], vec![]).expect("a valid clip");
    let clips = [empty, everything()]
        .map(|clip| clip.for_skeleton(&asset.skeleton).expect("joints of this skeleton"));
    let written = import(&ClipExporter::new(&asset).glb(&clips).expect("clips of this asset"), "written");
    assert_eq!(written.clips, clips);
}

#[test]
fn clips_of_another_asset_are_refused() {
    let asset = still().asset();
    let refused = |track: Track| {
        let strange = RawClip::new("strange".into(), vec![vec![0.0]], vec![track]).expect("a valid clip");
        ClipExporter::new(&asset).glb(&[everything(), strange]).expect_err("a clip of another asset")
    };
    let error = refused(track(Target::Scale(2), Interpolation::Linear, 0, &[1.0; 3]));
    assert_eq!(error, ExportError::Clip { clip: 1, node: 2, what: "joints", found: 3, count: 2 });
    let error = refused(track(Target::Weights(2), Interpolation::Linear, 0, &[1.0; 2]));
    assert_eq!(error, ExportError::Clip { clip: 1, node: 2, what: "morph weights", found: 2, count: 1 });
    let error = refused(track(Target::Weights(77), Interpolation::CubicSpline, 0, &[1.0; 3]));
    assert_eq!(error, ExportError::Clip { clip: 1, node: 77, what: "morph weights", found: 1, count: 0 });
    assert!(error.to_string().starts_with("clip 1 was not made for this asset"), "{error}");
}

#[test]
fn placed_meshes_have_the_colour_of_their_material() {
    let mut it = still();
    let color = |it: &Builder| it.asset().placed_meshes().expect("one").map(|(_, mesh)| mesh.color).next();
    assert_eq!(color(&it), Some([0.5, 0.25, 1.0, 0.5]));
    let material = &mut it.json["materials"][0]["pbrMetallicRoughness"];
    material["baseColorFactor"] = json!([1, 2, 3]);
    assert_eq!(color(&it), Some([1.0; 4]));
}

#[test]
fn copies_out_of_proportion_are_refused() {
    let mut it = Builder::new();
    // The document has no data: an accessor without a view is all zeros.
    it.json["accessors"] = json!([{ "componentType": 5126, "type": "VEC3", "count": 100_000, "min": [0, 0, 0], "max": [0, 0, 0] }]);
    it.json["meshes"] = json!([{ "primitives": [{ "attributes": { "POSITION": 0 }, "mode": 0 }] }]);
    it.json["nodes"] = (0..100).map(|_| json!({ "mesh": 0 })).collect();
    let asset = it.asset();
    let error = asset.placed_meshes().map(|_| ()).expect_err("ten million vertices");
    assert!(error.to_string().contains("copies"), "{error}");
}
