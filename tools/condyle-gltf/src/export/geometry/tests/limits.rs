//! Bounds that hold for all uses of a packed file, and inputs that are refused.

use super::*;
use crate::json::Json;
use crate::problem::Problems;
use crate::scene::Scene;

fn packed(it: &Builder, budget: f32) -> (Asset, PackedMeshes) {
    let asset = it.import().unwrap();
    let packed = pack_meshes(&asset, budget, MeshCompression::Ext).unwrap();
    (asset, packed)
}

/// A strip with three morph targets, which no clip drives.
fn face() -> Builder {
    let mut it = strip(300);
    let target = |it: &mut Builder, phase: f32| {
        let delta = |i: usize| {
            let angle = phase + 0.7 * i as f32;
            [0.2 * angle.sin(), 0.1 * angle.cos(), 0.05 * (3.0 * angle).sin()]
        };
        let deltas: Vec<f32> = (0..300).flat_map(delta).collect();
        json!({ "POSITION": it.floats("VEC3", &deltas) })
    };
    let targets = [0.0, 1.0, 2.0].map(|phase| target(&mut it, phase));
    it.json["meshes"][0]["primitives"][0]["targets"] = json!(targets);
    it.json["meshes"][0].as_object_mut().unwrap().remove("weights");
    it
}

/// An application can set weights that no clip has.
#[test]
fn targets_that_no_clip_drives_stay_within_the_error() {
    for budget in [1e-3_f32, 2e-2] {
        let (mut asset, packed) = packed(&face(), budget);
        let mut again = read(&packed.glb);
        for weights in [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.5, 0.25, 0.25]] {
            asset.instances[0].morph_weights = weights.to_vec();
            again.instances[0].morph_weights = weights.to_vec();
            assert_near(&asset, &again, budget.into(), &format!("{budget} {weights:?}"));
        }
    }
}

/// Primitives can share one accessor, so this file has few bytes.
#[test]
fn work_does_not_grow_with_the_product_of_primitives_and_keys() {
    let mut it = strip(4);
    let primitive = it.json["meshes"][0]["primitives"][0].clone();
    it.json["meshes"][0]["primitives"] = vec![primitive; 100].into();
    let few = pack_meshes_work(&it.import().unwrap());
    let times: Vec<f32> = (0..10_000).map(|at| at as f32).collect();
    let turns = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.8, 0.6].repeat(5_000);
    it.json["animations"][0]["samplers"] = json!([{
        "input": it.floats("SCALAR", &times), "output": it.floats("VEC4", &turns), "interpolation": "STEP",
    }]);
    let asset = it.import().unwrap();
    let most = (23 * 60_000_000 + 400_000_000) * 6;
    assert!(pack_meshes_work(&asset) <= most && few < most / 100, "{few} {}", pack_meshes_work(&asset));
    let all = Moments::of(&asset.clips);
    assert_eq!((all.count(), all.at_most(1000).count(), all.at_most(0).count()), (39_998, 1000, 1));
}

/// A step below the smallest f32 becomes 0, and positions NaN.
#[test]
fn an_error_of_nan_is_the_largest() {
    let it = strip(4).import().unwrap();
    let shape = Shape::of(&it.instances[0].primitives[0].mesh);
    let grid = Grid::integers([0.0; 3], 1e-50);
    let mut rounded = shape.clone();
    rounded.positions[0] = grid.nearest(shape.positions[0]);
    let palette = [[[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]]];
    let posed = |shape| measure::PosedShape { shape, palette: &palette };
    let apart = |b| measure::apart(posed(&shape), posed(b), &[0.5], None).worst;
    assert_eq!(apart(&shape), 0.0);
    assert!(apart(&rounded).is_nan(), "{rounded:?}");
    assert!(larger(f64::NAN, 1.0).is_nan() && larger(1.0, f64::NAN).is_nan());
    assert_eq!((larger(1.0, 2.0), larger(2.0, 1.0)), (2.0, 2.0));
}

/// The importer drops these attributes, so they are not in the written file.
#[test]
fn invalid_attributes_are_not_written() {
    let mut it = strip(20);
    let coordinates = it.floats("VEC2", &[f32::NAN; 40]);
    it.json["meshes"][0]["primitives"][0]["attributes"]["TEXCOORD_0"] = json!(coordinates);
    it.json["meshes"][0]["primitives"][0]["attributes"]["BATCHID"] = json!(coordinates);
    let (asset, packed) = packed(&it, 1e-3);
    assert!(asset.problems.len() >= 2 && packed.meshes.len() == 1, "{:?}", asset.problems);
    let attributes = &chunks(&packed.glb).0["meshes"][0]["primitives"][0]["attributes"];
    assert!(
        attributes["POSITION"].as_u64().is_some() && attributes["_ID"].as_u64().is_some(),
        "{attributes}"
    );
    assert!(attributes["TEXCOORD_0"].is_null() && attributes["BATCHID"].is_null(), "{attributes}");
    assert_eq!(read(&packed.glb).problems, []);
}

#[test]
fn errors_that_are_no_length_are_refused() {
    let asset = strip(20).import().unwrap();
    for budget in [0.0, -1.0, f32::NAN, f32::INFINITY] {
        let refused = pack_meshes(&asset, budget, MeshCompression::Ext).unwrap_err();
        assert!(matches!(refused, ExportError::Budget { .. }), "{refused}");
    }
    for budget in [f32::MIN_POSITIVE, f32::MAX] {
        let packed = pack_meshes(&asset, budget, MeshCompression::Ext).unwrap();
        assert!(!packed.meshes[0].error.is_nan(), "{budget}");
    }
}

#[test]
fn scenes_of_too_many_vertices_are_refused() {
    let mut it = strip(20_000);
    let nodes = (0..7_000).map(|at| json!({ "mesh": 0, "translation": [at, 0, 0] }));
    it.json["nodes"].as_array_mut().unwrap().extend(nodes);
    it.json["scenes"][0]["nodes"] = (0..7_003).filter(|at| *at != 2).collect();
    let asset = it.import().unwrap();
    let refused = pack_meshes(&asset, 1e-3, MeshCompression::Ext).unwrap_err();
    assert!(matches!(refused, ExportError::TooMuchWork { work: 400_000_000.., .. }), "{refused}");
    assert!(!refused.to_string().contains("bytes"), "{refused}");
}

/// Rounded weights add up to 1, which moves vertices whose weights do not.
#[test]
fn weights_that_do_not_add_up_to_one_are_the_reason_for_floats() {
    let mut it = strip(100);
    let share = |i: usize| (i as f32 * 0.37).fract();
    let row = |i: usize| [0.9995 * share(i), 0.9995 * (1.0 - share(i)), 0.0, 0.0];
    let weights: Vec<f32> = (0..100).flat_map(row).collect();
    let weights = it.floats("VEC4", &weights);
    it.json["meshes"][0]["primitives"][0]["attributes"]["WEIGHTS_0"] = json!(weights);
    let (_, packed) = packed(&it, 1e-4);
    let floats = &packed.meshes[0].floats;
    assert!(floats.iter().any(|what| what.contains("weights") && what.contains("add up")), "{floats:?}");
}

/// Places the vertices of the first instance, which has no skin, in f64.
fn placed(asset: &Asset) -> Vec<[f64; 3]> {
    let scene = Scene::load(&Json::root(&asset.document.json), &mut Problems::unheard());
    let instance = &asset.instances[0];
    let world = scene.global()[instance.node];
    let positions = &instance.primitives[0].mesh.vertices().positions;
    positions.iter().map(|p| measure::apply(&world, p.map(f64::from))).collect()
}

/// The rounding of world matrices to f32 would be larger than the error.
#[test]
fn meshes_far_from_the_origin_stay_within_the_error() {
    for (far, budget) in [(3e3, 5e-4_f32), (1e4, 1e-4), (1e6, 5e-4)] {
        for in_vertices in [false, true] {
            let mut it = strip(60);
            let node = it.json["nodes"][0].as_object_mut().unwrap();
            node.remove("skin");
            node.insert("rotation".into(), json!([0.6, 0, 0, 0.8]));
            node.insert("translation".into(), json!([far / 3.0, 0, far / 7.0]));
            it.json["nodes"].as_array_mut().unwrap().push(json!({
                "children": [0], "rotation": [0, 0.28, 0, 0.96], "translation": [far / 9.0, 1, 0],
            }));
            it.json["scenes"][0]["nodes"] = json!([3, 1]);
            if in_vertices {
                let positions: Vec<f32> = (0..180).map(|i| far as f32 + (i as f32).sin()).collect();
                let positions = it.floats("VEC3", &positions);
                it.json["meshes"][0]["primitives"][0]["attributes"]["POSITION"] = json!(positions);
            }
            let (asset, packed) = packed(&it, budget);
            let near = placed(&read(&packed.glb));
            let apart = |p: &[f64; 3]| {
                let distances = near.iter().map(|q| measure::length(measure::difference(*p, *q)));
                distances.fold(f64::INFINITY, f64::min)
            };
            let worst = placed(&asset).iter().map(apart).fold(0.0, f64::max);
            let reported = packed.meshes[0].error;
            assert!(worst <= reported * 1.001 + 1e-9, "{far}, {in_vertices}: {worst} {reported}");
            assert!(reported <= f64::from(budget), "{far}, {in_vertices}: {reported}");
        }
    }
}

#[test]
fn unpacked_primitives_have_one_reason() {
    let why = |change: &dyn Fn(&mut Builder)| {
        let mut it = strip(20);
        it.json["meshes"].as_array_mut().unwrap().push(json!({ "primitives": [{ "attributes": {} }] }));
        change(&mut it);
        let (_, packed) = packed(&it, 1e-3);
        packed.unpacked.iter().map(|it| (it.mesh, it.why.clone())).collect::<Vec<_>>()
    };
    assert_eq!(why(&|_| ()), [(1, "no node of a scene shows it".into())]);
    let shown = why(&|it| {
        it.json["nodes"].as_array_mut().unwrap().push(json!({ "mesh": 1 }));
        it.json["scenes"][0]["nodes"].as_array_mut().unwrap().push(json!(3));
    });
    assert_eq!(shown, [(1, "it has no positions that can be read".into())]);
}
