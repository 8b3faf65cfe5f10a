//! Every shared model is imported, and what was imported, followed through in 64 bits, comes to the reference
//! answers.

#[path = "common/shared.rs"]
mod shared;

use std::path::PathBuf;

use condyle::reference::{
    blend_matrices, local_to_model, locals, morph, palette, sample_raw, sample_track, transform_point,
};
use condyle::{RawClip, Target};
use condyle_gltf::{Asset, Instance, Placement, Primitive, Severity};
use serde_json::Value;

/// A model and its reference answers.
struct Model {
    name: String,
    asset: Asset,
    manifest: Value,
    data: Vec<u8>,
}

impl Model {
    fn floats(&self, offset: &Value, count: usize) -> Vec<f64> {
        let start = number(offset);
        let bytes = &self.data[start..start + 4 * count];
        bytes.as_chunks().0.iter().map(|&b| f64::from(f32::from_le_bytes(b))).collect()
    }

    /// Skinned triangles of the default scene, in the order of the manifest.
    fn skinned(&self) -> Vec<(&Instance, usize, &Primitive)> {
        let shown = self.asset.instances.iter().filter(|i| i.in_default_scene);
        let skinned = shown.filter_map(|i| match i.placement {
            Placement::Skin(skin) => Some((i, skin)),
            _ => None,
        });
        skinned
            .flat_map(|(i, skin)| i.primitives.iter().filter(|p| p.drawable).map(move |p| (i, skin, p)))
            .collect()
    }
}

fn number(value: &Value) -> usize {
    value.as_u64().expect("a whole number") as usize
}

fn list(value: &Value) -> &[Value] {
    value.as_array().expect("a list")
}

/// All shared models; none, and a word about it, where they are not at hand.
fn models() -> Vec<Model> {
    let Some(folder) = shared::folder() else { return Vec::new() };
    let entries = std::fs::read_dir(&folder).expect("a readable folder");
    let mut manifests: Vec<PathBuf> = entries.map(|e| e.expect("an entry").path()).collect();
    manifests.retain(|p| p.to_string_lossy().ends_with(".ref.json"));
    manifests.sort();
    assert_eq!(manifests.len(), 22, "{}", folder.display());
    let load = |path: &PathBuf| {
        let manifest: Value =
            serde_json::from_slice(&std::fs::read(path).expect("a manifest")).expect("JSON");
        let name = manifest["model"].as_str().expect("a name").to_string();
        let asset = Asset::open(folder.join(&name)).unwrap_or_else(|e| panic!("{e}"));
        let data = std::fs::read(path.with_extension("bin")).expect("reference data");
        Model { name, asset, manifest, data }
    };
    manifests.iter().map(load).collect()
}

#[test]
fn counts_are_those_of_the_manifests() {
    for model in models() {
        let (name, asset) = (&model.name, &model.asset);
        for skin in list(&model.manifest["skins"]) {
            let want: Vec<usize> = list(&skin["joints"]).iter().map(number).collect();
            let joints = asset.skins[number(&skin["skin"])].joints().iter();
            let found: Vec<usize> =
                joints.map(|&j| asset.skeleton.nodes()[usize::from(j)] as usize).collect();
            assert_eq!(found, want, "{name}");
        }
        let found: Vec<_> = model
            .skinned()
            .iter()
            .map(|(i, skin, p)| {
                (i.node, i.mesh, p.index, *skin, p.mesh.vertex_count(), !p.mesh.vertices().normals.is_empty())
            })
            .collect();
        let want: Vec<_> = list(&model.manifest["prims"])
            .iter()
            .map(|p| {
                let n = |key: &str| number(&p[key]);
                (n("node"), n("mesh"), n("prim"), n("skin"), n("verts"), p["normals"] == true)
            })
            .collect();
        assert_eq!(found, want, "{name}");
        let animations = list(&asset.document.json["animations"]);
        assert_eq!(asset.clips.len(), animations.len(), "{name}");
        for case in list(&model.manifest["cases"]).iter().filter(|c| !c["clip_name"].is_null()) {
            assert_eq!(
                asset.clips[number(&case["clip"])].name(),
                case["clip_name"].as_str().unwrap(),
                "{name}"
            );
        }
    }
}

/// The morph weights of an instance at a moment.
fn weights(instance: &Instance, clip: Option<&RawClip>, seconds: f64) -> Vec<f32> {
    let target = Target::Weights(instance.node as u32);
    let track = clip.and_then(|clip| Some((clip, clip.tracks().iter().position(|t| t.target == target)?)));
    match (track, instance.morph_weights.len()) {
        (Some((clip, track)), 4) => sample_track::<4>(clip, track, seconds).map(|w| w as f32).to_vec(),
        (Some(_), other) => panic!("a model with {other} morph targets"),
        (None, _) => instance.morph_weights.clone(),
    }
}

#[test]
fn joints_and_positions_are_those_of_the_references() {
    for model in models() {
        let (name, asset) = (&model.name, &model.asset);
        let diagonal = model.manifest["bbox_diag"].as_f64().unwrap();
        let tolerance = model.manifest["tol_pos"].as_f64().unwrap();
        let mut worst = [0.0f64; 2];
        for case in list(&model.manifest["cases"]) {
            let clip = case["clip"].as_u64().map(|clip| &asset.clips[clip as usize]);
            let seconds = case["t"].as_f64().unwrap();
            let mut pose = match clip {
                Some(clip) => sample_raw(clip, &asset.skeleton, seconds),
                None => locals(asset.skeleton.rest()),
            };
            // The references normalise after interpolation where a file's quaternions are rounded, or not at
            // all.
            for joint in &mut pose {
                let length = joint.rotation.iter().map(|c| c * c).sum::<f64>().sqrt();
                joint.rotation = joint.rotation.map(|c| c / length);
            }
            let placed = local_to_model(&asset.skeleton, &pose);

            let joint_count = number(&model.manifest["joints"]);
            let want = model.floats(&case["joints"], 16 * joint_count);
            let skins = list(&model.manifest["skins"]).iter().map(|s| &asset.skins[number(&s["skin"])]);
            let joints = skins.flat_map(condyle::Skin::joints);
            for (&joint, want) in joints.zip(want.as_chunks::<16>().0) {
                for (i, want) in want.iter().enumerate().filter(|(i, _)| i % 4 < 3) {
                    let found = placed[usize::from(joint)][i % 4][i / 4];
                    // Positions grow with the model, axes with their scale.
                    let size = if i >= 12 { diagonal } else { want.abs().max(1.0) };
                    worst[0] = worst[0].max((found - want).abs() / size);
                }
            }

            let mut found = Vec::new();
            for (instance, skin, primitive) in model.skinned() {
                let palette = palette(&asset.skins[skin], &placed);
                let [positions, ..] = morph(&primitive.mesh, &weights(instance, clip, seconds));
                for (v, position) in positions.into_iter().enumerate() {
                    let matrix = blend_matrices(&palette, primitive.mesh.influences().row(v));
                    found.extend(transform_point(&matrix, position));
                }
            }
            let error = |want: Vec<f64>| {
                assert_eq!(found.len(), want.len());
                found.iter().zip(&want).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max) / diagonal
            };
            let variants = case["pos"].as_object().unwrap().values();
            let best =
                variants.map(|offset| error(model.floats(offset, found.len()))).fold(f64::MAX, f64::min);
            worst[1] = worst[1].max(best);
        }
        eprintln!("{name}: joints within {:.1e}, positions within {:.1e}", worst[0], worst[1]);
        // Their joints are those of the rounded quaternions.
        let rounded = list(&model.manifest["pos_variants"]).iter().any(|v| v == "unit_quat");
        assert!(
            worst[0] <= if rounded { 1e-3 } else { tolerance },
            "{name}: joints are off by {:e}",
            worst[0]
        );
        assert!(worst[1] <= tolerance, "{name}: positions are off by {:e}", worst[1]);
    }
}

#[test]
fn only_the_known_oddities_are_reported() {
    let known = [
        ("CesiumMan.gltf", Severity::Warning, "/meshes/0/primitives/0/attributes/WEIGHTS_0", 210),
        ("SimpleSkin.gltf", Severity::Note, "", 1),
        ("SimpleSkin.gltf", Severity::Note, "/animations/0/samplers/0/output", 8),
        ("fox_gltfpack_meshopt.glb", Severity::Note, "/animations/0/samplers/0/output", 918),
        ("robot.glb", Severity::Note, "/nodes/45/name", 8),
        ("syn_ancestors.glb", Severity::Note, "/animations/0/channels/26/target/node", 2),
        ("syn_multiskin.glb", Severity::Note, "/nodes/19/name", 8),
        ("syn_quantized.glb", Severity::Note, "/animations/0/samplers/0/output", 46),
    ];
    for model in models() {
        let problems = model.asset.problems.iter();
        let found: Vec<_> = problems.map(|p| (&*model.name, p.severity, &*p.path, p.count)).collect();
        let want: Vec<_> = known.into_iter().filter(|k| k.0 == model.name).collect();
        assert_eq!(found, want);
    }
}
