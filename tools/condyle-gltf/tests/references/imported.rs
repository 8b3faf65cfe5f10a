//! Evaluates the imported data in f64 and compares the result with the reference.

use std::path::Path;

use condyle::{Affine, RawClip, Target};
use condyle_gltf::{Instance, Placement, Primitive, Severity};
use condyle_testing::reference::{
    blend_matrices, local_to_model, locals, morph, palette, sample_raw, sample_track, transform_point,
};

use crate::answers::{Answers, list, parsed, whole};

/// Returns the triangles of the default scene that the manifest lists: all skinned ones, and all others too
/// if it lists others.
fn drawn(model: &Answers) -> Vec<(&Instance, &Primitive)> {
    let all = model.list("prims").iter().any(|prim| prim["skin"].is_null());
    let shown = model.asset.instances.iter().filter(|i| i.in_default_scene);
    let shown = shown.filter(|i| all || matches!(i.placement, Placement::Skin(_)));
    shown.flat_map(|i| i.primitives.iter().filter(|p| p.drawable).map(move |p| (i, p))).collect()
}

pub(crate) fn as_the_manifest_says(path: &Path) {
    let model = Answers::open(path);
    let (name, asset) = (&model.name, &model.asset);
    for skin in model.list("skins") {
        let want: Vec<usize> = list(&skin["joints"]).iter().map(whole).collect();
        let joints = asset.skins[whole(&skin["skin"])].joints().iter();
        let found: Vec<usize> = joints.map(|&j| asset.skeleton.nodes()[usize::from(j)] as usize).collect();
        assert_eq!(found, want, "{name}");
    }
    let found: Vec<_> = drawn(&model)
        .into_iter()
        .map(|(i, p)| {
            let skin = match i.placement {
                Placement::Skin(skin) => Some(skin),
                _ => None,
            };
            (i.node, i.mesh, p.index, skin, p.mesh.vertex_count(), !p.mesh.vertices().normals.is_empty())
        })
        .collect();
    let want: Vec<_> = model
        .list("prims")
        .iter()
        .map(|p| {
            let n = |key: &str| whole(&p[key]);
            let skin = p["skin"].as_u64().map(|skin| skin as usize);
            (n("node"), n("mesh"), n("prim"), skin, n("verts"), p["normals"] == true)
        })
        .collect();
    assert_eq!(found, want, "{name}");
    let json = parsed(&asset.document);
    let animations = list(&json["animations"]);
    assert_eq!(asset.clips.len(), animations.len(), "{name}");
    for case in model.list("cases").iter().filter(|c| !c["clip_name"].is_null()) {
        assert_eq!(asset.clips[whole(&case["clip"])].name(), case["clip_name"].as_str().unwrap(), "{name}");
    }
}

fn in_f64(values: Vec<f32>) -> Vec<f64> {
    values.into_iter().map(f64::from).collect()
}

/// Returns the rows of a matrix in f64.
fn rows(matrix: &Affine) -> [[f64; 4]; 3] {
    let columns = matrix.to_columns();
    std::array::from_fn(|row| std::array::from_fn(|column| f64::from(columns[4 * column + row])))
}

/// Returns the morph weights of an instance at a time.
pub(crate) fn weights(instance: &Instance, clip: Option<&RawClip>, seconds: f64) -> Vec<f32> {
    let target = Target::Weights(instance.node as u32);
    let track = clip.and_then(|clip| Some((clip, clip.tracks().iter().position(|t| t.target == target)?)));
    match (track, instance.morph_weights.len()) {
        (Some((clip, track)), 2) => sample_track::<2>(clip, track, seconds).map(|w| w as f32).to_vec(),
        (Some((clip, track)), 4) => sample_track::<4>(clip, track, seconds).map(|w| w as f32).to_vec(),
        (Some(_), other) => panic!("a model with {other} morph targets"),
        (None, _) => instance.morph_weights.clone(),
    }
}

pub(crate) fn followed_through(path: &Path) {
    let model = Answers::open(path);
    let (name, asset) = (&model.name, &model.asset);
    let diagonal = model.number("bbox_diag");
    let tolerance = model.number("tol_pos");
    let mut worst = [0.0f64; 2];
    for case in model.list("cases") {
        let clip = case["clip"].as_u64().map(|clip| &asset.clips[clip as usize]);
        let seconds = case["t"].as_f64().unwrap();
        let mut pose = match clip {
            Some(clip) => sample_raw(clip, &asset.skeleton, seconds),
            None => locals(asset.skeleton.rest()),
        };
        // For files with rounded quaternions, the references normalise after interpolation, or do not
        // normalise.
        for joint in &mut pose {
            let length = joint.rotation.iter().map(|c| c * c).sum::<f64>().sqrt();
            joint.rotation = joint.rotation.map(|c| c / length);
        }
        let placed = local_to_model(&asset.skeleton, &pose);

        let joint_count = whole(&model.manifest["joints"]);
        let want = in_f64(model.floats(&case["joints"], 16 * joint_count));
        let skins = model.list("skins").iter().map(|s| &asset.skins[whole(&s["skin"])]);
        let joints = skins.flat_map(condyle::Skin::joints);
        for (&joint, want) in joints.zip(want.as_chunks::<16>().0) {
            for (i, want) in want.iter().enumerate().filter(|(i, _)| i % 4 < 3) {
                let found = placed[usize::from(joint)][i % 4][i / 4];
                // Errors of positions are relative to the model's size, errors of axes to their scale.
                let size = if i >= 12 { diagonal } else { want.abs().max(1.0) };
                worst[0] = worst[0].max((found - want).abs() / size);
            }
        }

        let mut found = Vec::new();
        for (instance, primitive) in drawn(&model) {
            let palette = match &instance.placement {
                Placement::Skin(skin) => palette(&asset.skins[*skin], &placed),
                Placement::Joint(joint) => vec![placed[usize::from(*joint)]],
                Placement::Fixed(world) => vec![rows(world)],
            };
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
            variants.map(|offset| error(in_f64(model.floats(offset, found.len())))).fold(f64::MAX, f64::min);
        worst[1] = worst[1].max(best);
    }
    // The reference joints use the rounded quaternions.
    let rounded = model.list("pos_variants").iter().any(|v| v == "unit_quat");
    assert!(worst[0] <= if rounded { 1e-3 } else { tolerance }, "{name}: joints are off by {:e}", worst[0]);
    assert!(worst[1] <= tolerance, "{name}: positions are off by {:e}", worst[1]);
}

pub(crate) fn with_the_known_oddities(path: &Path) {
    let known = [
        ("CesiumMan.gltf", Severity::Warning, "/meshes/0/primitives/0/attributes/WEIGHTS_0", 210),
        ("SimpleSkin.gltf", Severity::Note, "", 1),
        ("SimpleSkin.gltf", Severity::Note, "/animations/0/samplers/0/output", 8),
        ("fox_gltfpack_meshopt.glb", Severity::Note, "/animations/0/samplers/0/output", 918),
        ("robot.glb", Severity::Note, "/nodes/45/name", 8),
        ("syn_multiskin.glb", Severity::Note, "/nodes/19/name", 8),
        ("syn_quantized.glb", Severity::Note, "/animations/0/samplers/0/output", 46),
    ];
    let model = Answers::open(path);
    let problems = model.asset.problems.iter();
    let found: Vec<_> = problems.map(|p| (&*model.name, p.severity, &*p.place, p.count)).collect();
    let want: Vec<_> = known.into_iter().filter(|k| k.0 == model.name).collect();
    assert_eq!(found, want);
}
