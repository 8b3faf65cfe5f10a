//! Every reference character, at every moment of its manifest, on every instruction set in both numeric modes.
//!
//! The answers come from an independent f64 program. They lie in `shared/models` beside the checkout, with a description
//! of their format; without that folder the tests say so and pass, unless `CONDYLE_REQUIRE_MODELS` is set.

#[path = "common/shared.rs"]
mod shared;

use std::fs;
use std::path::Path;

use condyle::{Dispatch, NormalRule, Vertices};
use condyle_gltf::{Asset, Poser};
use serde_json::Value;

/// One character's answers.
struct Reference {
    manifest: Value,
    data: Vec<u8>,
}

impl Reference {
    fn number(&self, name: &str) -> f64 {
        self.manifest[name].as_f64().unwrap_or_else(|| panic!("{name} in the manifest"))
    }

    fn list(&self, name: &str) -> &[Value] {
        self.manifest[name].as_array().unwrap_or_else(|| panic!("{name} in the manifest"))
    }

    fn floats(&self, offset: &Value, count: usize) -> Vec<f32> {
        let at = offset.as_u64().expect("an offset") as usize;
        let (words, _) = self.data[at..at + 4 * count].as_chunks::<4>();
        words.iter().map(|w| f32::from_le_bytes(*w)).collect()
    }

    fn normals(&self, offset: &Value, count: usize) -> Vec<[f64; 3]> {
        let at = offset.as_u64().expect("an offset") as usize;
        let (words, _) = self.data[at..at + 6 * count].as_chunks::<2>();
        let values: Vec<f64> = words.iter().map(|w| f64::from(i16::from_le_bytes(*w)) / 32767.0).collect();
        values.as_chunks::<3>().0.to_vec()
    }
}

/// All skinned triangles of the default scene, posed, one after another: positions and normals.
fn pose(
    poser: &mut Poser<'_>,
    asset: &Asset,
    clip: Option<usize>,
    seconds: f32,
    reference: &Reference,
) -> Vertices {
    poser.pose(clip.map(|index| &asset.clips[index]), seconds).expect("the clip is the asset's");
    let mut out = Vertices::default();
    for prim in reference.list("prims") {
        let (node, index) = (prim["node"].as_u64().expect("node"), prim["prim"].as_u64().expect("prim"));
        let instance =
            asset.instances.iter().position(|i| i.node as u64 == node).expect("the node carries a mesh");
        let primitives = &asset.instances[instance].primitives;
        let primitive = primitives.iter().position(|p| p.index as u64 == index).expect("the primitive");
        let posed = &poser.posed(instance)[primitive];
        assert_eq!(prim["verts"], posed.positions.len(), "vertices of node {node}");
        out.positions.extend(&posed.positions);
        if prim["normals"] == true {
            assert_eq!(posed.normals.len(), posed.positions.len(), "normals of node {node}");
            out.normals.extend(&posed.normals);
        }
    }
    out
}

fn worst(got: &[f32], want: &[f32]) -> f64 {
    assert_eq!(got.len(), want.len());
    got.iter().zip(want).map(|(g, w)| (f64::from(*g) - f64::from(*w)).abs()).fold(0.0, f64::max)
}

/// Degrees between a normal and its reference; 0 where the reference has none.
fn angle(got: [f32; 3], want: [f64; 3]) -> f64 {
    let got = got.map(f64::from);
    let dot = |a: [f64; 3], b: [f64; 3]| a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
    let cross = [
        got[1] * want[2] - got[2] * want[1],
        got[2] * want[0] - got[0] * want[2],
        got[0] * want[1] - got[1] * want[0],
    ];
    if want == [0.0; 3] { 0.0 } else { dot(cross, cross).sqrt().atan2(dot(got, want)).to_degrees() }
}

/// Checks one character; returns its largest position error over the box diagonal.
fn check(folder: &Path, stem: &str) -> f64 {
    let read = |name: String| fs::read(folder.join(&name)).unwrap_or_else(|e| panic!("{name}: {e}"));
    let manifest = read(format!("{stem}.ref.json"));
    let manifest: Value = serde_json::from_slice(&manifest).expect("a JSON manifest");
    let reference = Reference { manifest, data: read(format!("{stem}.ref.bin")) };
    let model = reference.manifest["model"].as_str().expect("a model");
    let asset = Asset::open(folder.join(model)).unwrap_or_else(|e| panic!("{e}"));
    let poser = |rule| Poser::new(&asset, rule).expect("room for all instances");
    let diagonal = reference.number("bbox_diag");
    let (bound, normal_bound) = (reference.number("tol_pos"), reference.number("tol_nrm_deg"));
    let mut largest = 0.0_f64;
    for case in reference.list("cases") {
        let clip = usize::try_from(case["clip"].as_i64().expect("a clip")).ok();
        let seconds = case["t"].as_f64().expect("a time") as f32;
        for dispatch in Dispatch::all() {
            let name = format!("{model}, case {}, {dispatch}", case["id"]);
            let mut whole = poser(NormalRule::default());
            let posed = dispatch.scope(|| pose(&mut whole, &asset, clip, seconds, &reference));

            // Any of the stored readings of the specification will do.
            let variants = case["pos"].as_object().expect("variants").values();
            let error = variants
                .map(|offset| {
                    let want = reference.floats(offset, 3 * posed.positions.len());
                    worst(posed.positions.as_flattened(), &want) / diagonal
                })
                .fold(f64::INFINITY, f64::min);
            assert!(error <= bound, "{name}: positions off by {error:e} of the diagonal");
            largest = largest.max(error);

            // The matrices are stored with rotations as they are in the file, of whatever length.
            let bound = if case["pos"].get("unit_quat").is_some() { 1e-4 } else { bound };
            let joints = reference.list("skins").iter().flat_map(|s| s["joints"].as_array().expect("joints"));
            let joints: Vec<u32> = joints.map(|j| j.as_u64().expect("a node") as u32).collect();
            let want = reference.floats(&case["joints"], 16 * joints.len());
            for (node, want) in joints.iter().zip(want.as_chunks::<16>().0) {
                let joint = asset.skeleton.joint_by_node(*node).expect("the joint is in the skeleton");
                let got = whole.model()[usize::from(joint)].to_columns();
                let size = want.iter().fold(diagonal, |a, v| a.max(f64::from(v.abs())));
                let error = worst(&got, want) / size;
                assert!(error <= bound, "{name}: node {node} off by {error:e}: {got:?} instead of {want:?}");
            }

            // Rule C is left out where it never differs from rule A.
            let Some(normals) = case["nrm"].as_object() else { continue };
            for (variant, rule) in [
                ("A", NormalRule::Plain),
                ("B", NormalRule::BlendedInverseTranspose),
                (if normals.contains_key("C") { "C" } else { "A" }, NormalRule::InverseTranspose),
            ] {
                let Some(offset) = normals.get(variant) else { continue };
                let posed = dispatch.scope(|| pose(&mut poser(rule), &asset, clip, seconds, &reference));
                let want = reference.normals(offset, posed.normals.len());
                for (vertex, (got, want)) in posed.normals.iter().zip(want).enumerate() {
                    let error = angle(*got, want);
                    assert!(error <= normal_bound, "{name}: {rule:?} normal {vertex} off by {error} degrees");
                }
            }
        }
    }
    largest
}

macro_rules! references {
    ($($name:ident: $stem:literal, $bound:literal;)*) => {
        const STEMS: &[&str] = &[$($stem),*];
        $(
            /// The bound is over the box diagonal; the manifest's own is checked for every case.
            #[test]
            fn $name() {
                if let Some(folder) = shared::folder() {
                    let largest = check(&folder, $stem);
                    println!("{:24} {largest:.1e}", $stem);
                    assert!(largest <= $bound, "{}: off by {largest:e} of the diagonal", $stem);
                }
            }
        )*
    };
}

references! {
    fox: "Fox", 2e-6;
    cesium_man: "CesiumMan", 2e-6;
    rigged_simple: "RiggedSimple", 2e-6;
    simple_skin: "SimpleSkin", 2e-6;
    knight: "Knight", 2e-6;
    robot: "robot", 2e-6;
    greenman: "greenman", 2e-6;
    mocap_cmu_01_01: "mocap_cmu_01_01", 2e-6;
    mocap_body_60k: "mocap_body_60k", 2e-6;
    fox_gltfpack_meshopt: "fox_gltfpack_meshopt", 2e-6;
    syn_cubic_step: "syn_cubic_step", 2e-6;
    syn_multiprim: "syn_multiprim", 2e-6;
    syn_ancestors: "syn_ancestors", 2e-6;
    syn_noibm: "syn_noibm", 2e-6;
    syn_morph: "syn_morph", 2e-6;
    syn_joints130: "syn_joints130", 2e-6;
    syn_8influences: "syn_8influences", 2e-6;
    syn_multiskin: "syn_multiskin", 2e-6;
    syn_sparse: "syn_sparse", 2e-6;
    syn_quantized: "syn_quantized", 2e-6;
    syn_scale: "syn_scale", 2e-6;
    syn_tails: "syn_tails", 2e-6;
}

/// A model that is added beside the others must not be forgotten here.
#[test]
fn every_model_with_a_reference_is_tested() {
    let Some(folder) = shared::folder() else { return };
    for entry in fs::read_dir(folder).expect("a readable folder") {
        let name = entry.expect("an entry").file_name().to_string_lossy().into_owned();
        if let Some(stem) = name.strip_suffix(".ref.json") {
            assert!(STEMS.contains(&stem), "{stem} has a reference but no test");
        }
    }
}
