//! Compares posed vertices with the reference, on every instruction set in both numeric modes.

use std::path::Path;

use condyle::{Dispatch, Error, NormalRule, Vertices};
use condyle_gltf::Poser;
use serde_json::Value;

use crate::answers::{Answers, list, whole};

/// Maximum error of positions, relative to the box diagonal. The tolerance in the manifest is checked too.
const BOUND: f64 = 2e-6;

/// One case of the manifest, posed with one instruction set.
struct Case<'a> {
    answers: &'a Answers,
    case: &'a Value,
    dispatch: Dispatch,
    /// The model, the case and the instruction set.
    name: String,
}

pub(crate) fn on_every_instruction_set(path: &Path) {
    let answers = Answers::open(path);
    for case in answers.list("cases") {
        for dispatch in Dispatch::all() {
            let name = format!("{}, case {}, {dispatch}", answers.name, case["id"]);
            let case = Case { answers: &answers, case, dispatch, name };
            case.positions_and_joints();
            case.normals();
        }
    }
}

/// Tests that caller-owned memory receives the same bits as the poser's buffers, with and without normals and
/// tangents.
pub(crate) fn into_memory_of_the_caller(path: &Path) {
    let answers = Answers::open(path);
    let asset = &answers.asset;
    let [mut own, mut other] =
        [(); 2].map(|()| Poser::new(asset, NormalRule::default().into()).expect("room"));
    for case in answers.list("cases") {
        let clip = case["clip"].as_u64().map(|index| &asset.clips[index as usize]);
        let seconds = case["t"].as_f64().expect("a time") as f32;
        own.pose(clip, seconds.into()).expect("the clip is the asset's");
        let posed: Vec<&Vertices> = (0..asset.instances.len()).flat_map(|at| own.posed(at)).collect();
        let mut all: Vec<Vertices> = posed.iter().map(|it| Vertices::zeroed_like(it)).collect();
        let mut out: Vec<_> = all.iter_mut().map(Vertices::as_slices_mut).collect();
        other.pose_into(clip, seconds.into(), &mut out).expect("an element for each primitive");
        assert!(all.iter().eq(posed.iter().copied()), "{}, case {}", answers.name, case["id"]);

        for it in &mut all {
            it.positions.fill([0.0; 3]);
            (it.normals, it.tangents) = (Vec::new(), Vec::new());
        }
        let mut out: Vec<_> = all.iter_mut().map(Vertices::as_slices_mut).collect();
        other.pose_into(clip, seconds.into(), &mut out).expect("positions alone");
        let positions = all.iter().map(|it| &it.positions);
        assert!(positions.eq(posed.iter().map(|it| &it.positions)), "{}, case {}", answers.name, case["id"]);
    }
    let refused = other.pose_into(asset.clips.first(), 0.0, &mut []);
    assert!(matches!(refused, Err(Error::Length { what: "out", found: 0, .. })), "{refused:?}");
}

impl Case<'_> {
    /// Returns the positions and normals of all triangles in the manifest, posed, one after another. Also
    /// returns the poser at that time.
    fn pose(&self, rule: NormalRule) -> (Vertices, Poser<'_>) {
        let asset = &self.answers.asset;
        let clip = self.case["clip"].as_u64().map(|index| &asset.clips[index as usize]);
        let seconds = self.case["t"].as_f64().expect("a time") as f32;
        let mut poser = Poser::new(asset, rule.into()).expect("room for all instances");
        self.dispatch.scope(|| poser.pose(clip, seconds.into())).expect("the clip is the asset's");
        let mut out = Vertices::default();
        for prim in self.answers.list("prims") {
            let (node, index) = (whole(&prim["node"]), whole(&prim["prim"]));
            let instance = asset.instances.iter().position(|i| i.node == node).expect("the node has a mesh");
            let primitives = &asset.instances[instance].primitives;
            let primitive = primitives.iter().position(|p| p.index == index).expect("the primitive");
            let posed = &poser.posed(instance)[primitive];
            assert_eq!(prim["verts"], posed.positions.len(), "vertices of node {node}");
            out.positions.extend(&posed.positions);
            if prim["normals"] == true {
                assert_eq!(posed.normals.len(), posed.positions.len(), "normals of node {node}");
                out.normals.extend(&posed.normals);
            }
        }
        (out, poser)
    }

    fn positions_and_joints(&self) {
        let Self { answers, case, name, .. } = self;
        let (posed, poser) = self.pose(NormalRule::default());
        let diagonal = answers.number("bbox_diag");
        let bound = answers.number("tol_pos");
        let off = |offset: &Value| {
            let want = answers.floats(offset, 3 * posed.positions.len());
            worst(posed.positions.as_flattened(), &want) / diagonal
        };
        // One of the stored interpretations of the specification must match.
        let variants = case["pos"].as_object().expect("variants").values();
        let error = variants.map(off).fold(f64::INFINITY, f64::min);
        assert!(error <= bound.min(BOUND), "{name}: positions off by {error:e} of the diagonal");
        if let Some(offset) = case["three"].get("pos") {
            let (error, bound) = (off(offset), answers.three("tol_pos"));
            assert!(error <= bound, "{name}: positions off by {error:e} of the diagonal from three.js");
        }

        // The reference matrices use the file's rotations without normalising them.
        let bound = if case["pos"].get("unit_quat").is_some() { 1e-4 } else { bound };
        let joints = answers.list("skins").iter().flat_map(|skin| list(&skin["joints"]));
        let joints: Vec<usize> = joints.map(whole).collect();
        let want = answers.floats(&case["joints"], 16 * joints.len());
        for (&node, want) in joints.iter().zip(want.as_chunks::<16>().0) {
            let joint =
                answers.asset.skeleton.joint_by_node(node as u32).expect("the joint is in the skeleton");
            let got = poser.model()[usize::from(joint)].to_columns();
            let size = want.iter().fold(diagonal, |a, v| a.max(f64::from(v.abs())));
            let error = worst(&got, want) / size;
            assert!(error <= bound, "{name}: node {node} off by {error:e}: {got:?} instead of {want:?}");
        }
    }

    fn normals(&self) {
        let Self { answers, case, name, .. } = self;
        // Rule C is missing if it never differs from rule A.
        let Some(variants) = case["nrm"].as_object() else { return };
        for (variant, rule) in [
            ("A", NormalRule::Plain),
            ("B", NormalRule::BlendedInverseTranspose),
            (if variants.contains_key("C") { "C" } else { "A" }, NormalRule::InverseTranspose),
        ] {
            let Some(offset) = variants.get(variant) else { continue };
            let (posed, _) = self.pose(rule);
            let off = |offset: &Value| -> f64 {
                let want = answers.normals(offset, posed.normals.len());
                posed.normals.iter().zip(want).map(|(got, want)| angle(*got, want)).fold(0.0, f64::max)
            };
            let (error, bound) = (off(offset), answers.number("tol_nrm_deg"));
            assert!(error <= bound, "{name}: a {rule:?} normal is off by {error} degrees");
            if let Some(offset) = case["three"]["nrm"].get(variant) {
                let (error, bound) = (off(offset), answers.three("tol_nrm_deg"));
                assert!(error <= bound, "{name}: a {rule:?} normal is off by {error} degrees from three.js");
            }
        }
    }
}

fn worst(got: &[f32], want: &[f32]) -> f64 {
    assert_eq!(got.len(), want.len());
    let off = got.iter().zip(want).map(|(g, w)| (f64::from(*g) - f64::from(*w)).abs());
    // A NaN on either side must fail.
    off.fold(0.0, |a, b| if b <= a { a } else { b })
}

/// Returns the angle between a normal and its reference in degrees; 0 if the reference is zero.
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
