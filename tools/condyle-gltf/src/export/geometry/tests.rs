use std::path::Path;

use condyle::RawClip;

use super::*;
use crate::poser::{Poser, PoserOptions};
use crate::testing::{Builder, character, chunks};
use crate::value::{Value, json};

mod limits;

const COMPRESSIONS: [MeshCompression; 2] = [MeshCompression::Ext, MeshCompression::Khr];

fn read(glb: &[u8]) -> Asset {
    Document::from_slice("packed", glb, None).and_then(Asset::from_document).unwrap_or_else(|e| panic!("{e}"))
}

/// Returns the posed positions of all vertices of an instance's primitive, at some moments of every clip.
fn paths(asset: &Asset, clips: &[RawClip], instance: usize, primitive: usize) -> Vec<Vec<[f32; 3]>> {
    let mut poser = Poser::new(asset, PoserOptions::default()).unwrap();
    let mut out = Vec::new();
    let mut add = |poser: &Poser<'_>| {
        let all = poser.posed(instance);
        let at = asset.instances[instance].primitives.iter().position(|it| it.index == primitive).unwrap();
        out.push(all[at].positions.clone());
    };
    poser.rest().unwrap();
    add(&poser);
    for clip in clips {
        for part in 0..=7 {
            poser.pose(Some(clip), clip.start() + clip.duration() * f64::from(part) / 7.0).unwrap();
            add(&poser);
        }
    }
    out
}

/// Asserts that each vertex of a triangle has a twin that stays within `budget` of it at all moments.
fn assert_near(a: &Asset, b: &Asset, budget: f64, what: &str) {
    for (at, instance) in a.instances.iter().enumerate() {
        for primitive in &instance.primitives {
            let of = |asset: &Asset| paths(asset, &asset.clips, at, primitive.index);
            let (one, other) = (of(a), of(b));
            let used: std::collections::BTreeSet<u32> = primitive.triangles().flatten().collect();
            let size = one.iter().flatten().flatten().fold(0.0_f32, |most, v| most.max(v.abs()));
            for vertex in used {
                let off = |twin: usize| {
                    let pairs = one.iter().zip(&other);
                    let distances = pairs.map(|(one, other)| {
                        let [p, q] = [one[vertex as usize], other[twin]].map(|p| p.map(f64::from));
                        measure::length(measure::difference(p, q))
                    });
                    distances.fold(0.0, f64::max)
                };
                let found = (0..other[0].len()).map(off).fold(f64::MAX, f64::min);
                assert!(found <= budget + 2e-6 * f64::from(size), "{what}: vertex {vertex} is {found} away");
            }
        }
    }
}

fn models() -> Vec<(String, Asset)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata");
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let mut files: Vec<_> = files.filter(|path| path.extension().is_some_and(|e| e == "glb")).collect();
    files.sort();
    assert!(files.len() > 8);
    files.iter().map(|path| (path.display().to_string(), Asset::open(path).unwrap())).collect()
}

#[test]
fn posed_vertices_stay_within_the_error() {
    for (name, asset) in models() {
        for budget in [1e-5_f32, 1e-3, 0.02] {
            for compression in COMPRESSIONS {
                let packed = pack_meshes(&asset, budget, compression).unwrap();
                assert_eq!(packed.problems, [], "{name}");
                assert!(!packed.meshes.is_empty(), "{name}");
                for mesh in &packed.meshes {
                    assert!(mesh.error <= f64::from(budget) * 1.001, "{name}: {mesh:?}");
                    assert!(mesh.angle.to_degrees() < 1.0, "{name}: {mesh:?}");
                }
                let again = read(&packed.glb);
                assert_eq!(again.problems, asset.problems, "{name}");
                assert_near(&asset, &again, budget.into(), &format!("{name} {budget} {compression:?}"));
            }
        }
    }
}

/// A strip of `count` vertices that follow two joints, and a clip that bends the second joint.
fn strip(count: usize) -> Builder {
    let mut it = character();
    let place = |i: usize| [(i % 2) as f32, 0.1 * (i / 2) as f32, (0.3 * i as f32).sin()];
    let positions: Vec<f32> = (0..count).flat_map(place).collect();
    let normals: Vec<f32> = (0..count).flat_map(|i| [(i as f32).sin(), 0.0, (i as f32).cos()]).collect();
    let share = |i: usize| (i as f32 * 0.37).fract();
    let weights: Vec<f32> = (0..count).flat_map(|i| [share(i), 1.0 - share(i), 0.0, 0.0]).collect();
    let coordinates: Vec<f32> = (0..count).flat_map(|i| [share(i), 3.0 * share(i + 1)]).collect();
    let joints: Vec<u8> = (0..count).flat_map(|_| [0, 1, 0, 0]).collect();
    let ids: Vec<u8> = (0..count as u16).flat_map(u16::to_le_bytes).flat_map(|byte| [byte, 0]).collect();
    let corners: Vec<u32> = match count {
        0..3 => vec![0; 3],
        _ => (0..count as u32 - 2).flat_map(|i| [i, i + 1 + i % 2, i + 2 - i % 2]).collect(),
    };
    let indices: Vec<u8> = corners.iter().flat_map(|corner| corner.to_le_bytes()).collect();
    let deltas: Vec<f32> = (0..count).flat_map(|i| [0.0, 0.02 * (i % 5) as f32, -0.1]).collect();
    let attributes = json!({
        "POSITION": it.floats("VEC3", &positions),
        "NORMAL": it.floats("VEC3", &normals),
        "TEXCOORD_0": it.floats("VEC2", &coordinates),
        "WEIGHTS_0": it.floats("VEC4", &weights),
        "JOINTS_0": it.accessor("VEC4", 5121, count, &joints),
        "_ID": it.accessor("VEC2", 5123, count, &ids),
    });
    let indices = it.accessor("SCALAR", 5125, corners.len(), &indices);
    let target = json!({ "POSITION": it.floats("VEC3", &deltas) });
    it.json["meshes"][0] = json!({
        "name": "strip", "extras": { "own": 1 }, "weights": [0.5],
        "primitives": [{ "attributes": attributes, "indices": indices, "targets": [target], "material": 0 }],
    });
    it.json["materials"] = json!([{ "name": "red", "extras": { "x": [1, 2.5] } }]);
    let times = it.floats("SCALAR", &[0.0, 1.0]);
    let turns = it.floats("VEC4", &[0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.8, 0.6]);
    it.json["animations"] = json!([{
        "samplers": [{ "input": times, "output": turns }],
        "channels": [{ "sampler": 0, "target": { "node": 2, "path": "rotation" } }],
    }]);
    it
}

#[test]
fn every_vertex_count_comes_back() {
    for count in [1, 3, 4, 15, 16, 17, 31, 255, 256, 257, 1000] {
        let asset = strip(count).import().unwrap();
        for compression in COMPRESSIONS {
            for budget in [1e-6, 1e-4, 1e-2] {
                let packed = pack_meshes(&asset, budget, compression).unwrap();
                let mesh = &packed.meshes[0];
                // Each vertex has its own number, so none are merged.
                assert_eq!(mesh.vertices, [count, count], "{count}");
                assert!(mesh.error <= f64::from(budget) * 1.02 + 2e-6, "{count}: {mesh:?}");
                let again = read(&packed.glb);
                assert_near(&asset, &again, budget.into(), &format!("{count} vertices"));
                // The triangles have the same vertices, by their numbers.
                let numbered = |asset: &Asset| {
                    let accessor =
                        asset.document.json["meshes"][0]["primitives"][0]["attributes"]["_ID"].as_u64();
                    let ids: Vec<[f32; 2]> =
                        asset.document.vectors(accessor.unwrap() as usize, count).unwrap();
                    let of = |triangle: [u32; 3]| {
                        let [a, b, c] = triangle.map(|corner| ids[corner as usize].map(|id| id as u32));
                        [[a, b, c], [b, c, a], [c, a, b]].into_iter().min()
                    };
                    let mut all: Vec<_> = asset.instances[0].primitives[0].triangles().map(of).collect();
                    all.sort_unstable();
                    all
                };
                assert_eq!(numbered(&asset), numbered(&again), "{count}");
            }
        }
    }
}

#[test]
fn everything_else_stays() {
    let mut it = strip(40);
    it.json["extras"] = json!({ "made": "by hand" });
    it.json["nodes"][1]["extras"] = json!({ "socket": true });
    let asset = it.import().unwrap();
    let (json, _) = chunks(&pack_meshes(&asset, 1e-3, MeshCompression::Ext).unwrap().glb);
    for key in ["materials", "nodes", "scenes", "extras"] {
        assert_eq!(json[key], it.json[key], "{key}");
    }
    assert_eq!(json["meshes"][0]["name"], "strip");
    assert_eq!(json["meshes"][0]["extras"], it.json["meshes"][0]["extras"]);
    assert_eq!(json["meshes"][0]["primitives"][0]["material"], 0);
    let names: Vec<&str> =
        json["extensionsRequired"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert!(names.contains(&"KHR_mesh_quantization"), "{names:?}");
}

#[test]
fn weights_add_up_to_one() {
    let asset = strip(300).import().unwrap();
    for budget in [1e-5, 1e-4, 1e-3, 1e-1] {
        let again = read(&pack_meshes(&asset, budget, MeshCompression::Ext).unwrap().glb);
        assert_eq!(again.problems, [], "{budget}");
        // The importer rescales weights, so the stored numbers are read.
        let accessor = again.document.json["meshes"][0]["primitives"][0]["attributes"]["WEIGHTS_0"].as_u64();
        let count = again.instances[0].primitives[0].mesh.vertex_count();
        let stored: Vec<[f32; 4]> = again.document.vectors(accessor.unwrap() as usize, count).unwrap();
        for weights in stored {
            let sum: f32 = weights.iter().sum();
            assert!((sum - 1.0).abs() < 1e-6, "{budget}: {weights:?}");
        }
    }
}

#[test]
fn nodes_without_a_skin_take_the_transform_if_they_can() {
    let without_skin = |change: &dyn Fn(&mut Builder)| {
        let mut it = strip(60);
        let node = it.json["nodes"][0].as_object_mut().unwrap();
        node.remove("skin");
        node.insert("translation".into(), json!([1, 2, 3]));
        node.insert("rotation".into(), json!([0.6, 0, 0, 0.8]));
        node.insert("scale".into(), json!([1, 2, 0.5]));
        change(&mut it);
        let asset = it.import().unwrap();
        let packed = pack_meshes(&asset, 1e-3, MeshCompression::Ext).unwrap();
        assert!(packed.meshes[0].error <= 1e-3, "{:?}", packed.meshes);
        let again = read(&packed.glb);
        assert_near(&asset, &again, 1e-3, "without a skin");
        (chunks(&packed.glb).0["nodes"][0]["scale"] != it.json["nodes"][0]["scale"], packed)
    };
    let (moved, packed) = without_skin(&|_| ());
    assert!(moved && packed.meshes[0].floats.is_empty());
    for local in [
        "KHR_meshopt_compression",
        "KHR_mesh_quantization",
        "KHR_xmp_json_ld",
        "MSFT_texture_dds",
        "EXT_materials_bump",
        "KHR_node_selectability",
    ] {
        let (moved, _) = without_skin(&|it| it.json["extensionsUsed"] = json!([local]));
        assert!(moved, "{local}");
    }
    let (moved, packed) = without_skin(&|it| it.json["extensionsUsed"] = json!(["VRM"]));
    assert!(!moved && packed.meshes[0].floats[0].contains("VRM"), "{:?}", packed.meshes);
    let (moved, packed) = without_skin(&|it| {
        let node = it.json["nodes"][0].as_object_mut().unwrap();
        ["translation", "rotation", "scale"].iter().for_each(|key| drop(node.remove(key)));
        let matrix = [0., 2., 0., 0., -1., 0., 0., 0., 0., 0., 1., 0., 5., 6., 7., 1.];
        node.insert("matrix".into(), json!(matrix));
    });
    assert!(!moved && packed.meshes[0].floats.is_empty());
    // Children, and animation of the node.
    let (moved, packed) = without_skin(&|it| {
        it.json["nodes"][0]["children"] = json!([3]);
        it.json["nodes"].as_array_mut().unwrap().push(json!({}));
    });
    assert!(!moved && packed.meshes[0].floats[0].contains("`children`"), "{:?}", packed.meshes);
    let (moved, packed) = without_skin(&|it| {
        it.json["animations"][0]["channels"][0]["target"]["node"] = json!(0);
    });
    assert!(!moved && packed.meshes[0].floats[0].contains("animated"), "{:?}", packed.meshes);
}

#[test]
fn other_primitives_stay_with_a_reason() {
    let unpacked = |change: &dyn Fn(&mut Value)| {
        let mut it = strip(20);
        change(&mut it.json);
        let asset = it.import().unwrap();
        let packed = pack_meshes(&asset, 1e-3, MeshCompression::Ext).unwrap();
        let again = read(&packed.glb);
        let mesh = |asset: &Asset| asset.instances[0].primitives[0].mesh.vertices().clone();
        assert_eq!(mesh(&again), mesh(&asset));
        assert_eq!(packed.meshes.len(), 0);
        let [UnpackedPrimitive { mesh: 0, primitive: 0, why }] = &packed.unpacked[..] else {
            panic!("{:?}", packed.unpacked)
        };
        why.clone()
    };
    let of = |it: &mut Value, key: &str, value: &Value| {
        it["meshes"][0]["primitives"][0][key] = value.clone();
    };
    assert!(unpacked(&|it| of(it, "mode", &json!(0))).contains("list of triangles"));
    assert!(unpacked(&|it| of(it, "mode", &json!(5))).contains("list of triangles"));
    let outlines = json!({ "ACME_outline": { "indices": 3 } });
    assert!(unpacked(&|it| of(it, "extensions", &outlines)).contains("ACME_outline"));
    let copies = json!({ "EXT_mesh_gpu_instancing": { "attributes": {} } });
    let shown = |it: &mut Value| {
        let nodes = it["nodes"].as_array_mut().unwrap();
        nodes.iter_mut().for_each(|node| node["extensions"] = copies.clone());
    };
    assert!(unpacked(&shown).contains("EXT_mesh_gpu_instancing"));
}

/// A primitive that cannot be packed needs the same inverse bind matrices as before.
#[test]
fn a_skin_that_is_shared_with_unpacked_primitives_stays() {
    let mut it = strip(20);
    let mut lines = it.json["meshes"][0]["primitives"][0].clone();
    lines["mode"] = json!(1);
    it.json["meshes"][0]["primitives"].as_array_mut().unwrap().push(lines);
    let asset = it.import().unwrap();
    let packed = pack_meshes(&asset, 1e-3, MeshCompression::Ext).unwrap();
    assert!(packed.meshes[0].floats[0].contains("is not packed"), "{:?}", packed.meshes);
    let again = read(&packed.glb);
    assert_near(&asset, &again, 1e-3, "triangles and lines");
}

#[test]
fn a_mesh_can_be_shown_with_and_without_its_skin() {
    let mut it = strip(50);
    let nodes = it.json["nodes"].as_array_mut().unwrap();
    nodes.extend([json!({ "mesh": 0, "translation": [3, 0, 0] }), json!({ "mesh": 0, "scale": [2, 2, 2] })]);
    it.json["scenes"][0]["nodes"] = json!([0, 1, 3, 4]);
    let asset = it.import().unwrap();
    let packed = pack_meshes(&asset, 1e-3, MeshCompression::Ext).unwrap();
    assert!(packed.meshes[0].floats.is_empty() && packed.meshes[0].error <= 1e-3, "{:?}", packed.meshes);
    // The larger node needs a smaller step.
    assert!(packed.meshes[0].step < 0.7e-3, "{:?}", packed.meshes);
    assert_near(&asset, &read(&packed.glb), 1e-3, "with and without a skin");
}

#[test]
fn weights_outside_the_range_of_f32_are_refused() {
    let mut it = strip(20);
    let node = strip(20).import().unwrap().instances[0].node;
    let times = it.floats("SCALAR", &[0.0, 1e9]);
    let spline = it.floats("SCALAR", &[0.0, 0.0, 3e38, -3e38, 1.0, 0.0]);
    it.json["animations"] = json!([{
        "samplers": [{ "input": times, "output": spline, "interpolation": "CUBICSPLINE" }],
        "channels": [{ "sampler": 0, "target": { "node": node, "path": "weights" } }],
    }]);
    let refused = pack_meshes(&it.import().unwrap(), 1e-3, MeshCompression::Ext).unwrap_err();
    assert!(matches!(refused, ExportError::Pose(Error::NotFinite { .. })), "{refused}");
}

#[test]
fn odd_vertices_stay_floats() {
    // A normal of zero, and an error below the precision of 16 bits.
    let mut it = strip(20);
    let normals = it.floats("VEC3", &[0.0; 60]);
    it.json["meshes"][0]["primitives"][0]["attributes"]["NORMAL"] = json!(normals);
    let asset = it.import().unwrap();
    let packed = pack_meshes(&asset, 1e-6, MeshCompression::Ext).unwrap();
    let floats = &packed.meshes[0].floats;
    assert!(floats.iter().any(|what| what.contains("16 bits")), "{floats:?}");
    assert!(floats.iter().any(|what| what.contains("unit length")), "{floats:?}");
    let again = read(&packed.glb);
    assert_eq!(again.instances[0].primitives[0].mesh.vertices().normals, [[0.0; 3]; 20]);
}

#[test]
fn damaged_files_are_refused_or_read_without_a_panic() {
    let asset = strip(100).import().unwrap();
    for compression in COMPRESSIONS {
        let glb = pack_meshes(&asset, 1e-3, compression).unwrap().glb;
        for end in (0..glb.len()).step_by(7) {
            assert!(Document::from_slice("cut", &glb[..end], None).is_err(), "{end}");
        }
        for at in (20..glb.len()).step_by(3) {
            let mut damaged = glb.clone();
            damaged[at] ^= 0xff;
            let asset = Document::from_slice("damaged", &damaged, None).and_then(Asset::from_document);
            // A damaged file that is read can be packed again.
            if let (Ok(asset), 0) = (asset, at % 20) {
                let _ = pack_meshes(&asset, 1e-3, compression);
            }
        }
    }
}

#[test]
fn equal_vertices_are_merged_and_unused_ones_dropped() {
    let mut it = character();
    let corner = |i: usize| [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 1.0, 0.0]][i];
    let positions: Vec<f32> = [0, 1, 2, 2, 1, 3, 3].into_iter().flat_map(corner).collect();
    let primitive = json!({
        "attributes": {
            "POSITION": it.floats("VEC3", &positions),
            "JOINTS_0": it.accessor("VEC4", 5121, 7, &[0; 28]),
            "WEIGHTS_0": it.floats("VEC4", &[1.0, 0.0, 0.0, 0.0].repeat(7)),
        },
        "indices": it.accessor("SCALAR", 5121, 6, &[0, 1, 2, 3, 4, 5]),
    });
    it.json["meshes"][0]["primitives"][0] = primitive;
    let asset = it.import().unwrap();
    let packed = pack_meshes(&asset, 1e-3, MeshCompression::Ext).unwrap();
    assert_eq!((packed.meshes[0].vertices, packed.meshes[0].triangles), ([7, 4], 2));
}

#[test]
fn colors_become_bytes_and_stay_near() {
    for (scale, component, most) in [(1.0_f32, 5121, 255.0), (0.01, 5123, 65_535.0)] {
        let mut it = strip(60);
        let colors: Vec<f32> = (0..180).map(|i| scale * (0.3 + 0.7 * (i as f32 / 180.0))).collect();
        it.json["meshes"][0]["primitives"][0]["attributes"]["COLOR_0"] = json!(it.floats("VEC3", &colors));
        it.json["meshes"][0]["primitives"][0]["attributes"]["COLOR_1"] =
            json!(it.floats("VEC4", &[2.5_f32; 240]));
        let asset = it.import().unwrap();
        let again = read(&pack_meshes(&asset, 1e-3, MeshCompression::Ext).unwrap().glb);
        let json = &again.document.json;
        let attributes = &json["meshes"][0]["primitives"][0]["attributes"];
        let accessor = |name: &str| attributes[name].as_u64().unwrap() as usize;
        let of = |name: &str| json["accessors"][accessor(name)]["componentType"].as_u64();
        assert_eq!((of("COLOR_0"), of("COLOR_1")), (Some(component), Some(5126)), "{scale}");
        let vectors = |asset: &Asset, accessor: usize| asset.document.vectors::<3>(accessor, 60).unwrap();
        let before = it.json["meshes"][0]["primitives"][0]["attributes"]["COLOR_0"].as_u64().unwrap();
        let (mut a, mut b) = (vectors(&asset, before as usize), vectors(&again, accessor("COLOR_0")));
        // The colours rise from vertex to vertex, and the file has another order.
        a.sort_by(|a, b| a[0].total_cmp(&b[0]));
        b.sort_by(|a, b| a[0].total_cmp(&b[0]));
        for (a, b) in a.as_flattened().iter().zip(b.as_flattened()) {
            assert!((a - b).abs() <= 0.5001 / most, "{a} {b}");
        }
    }
}
