//! Compares springs of documents with three-vrm, which shares no code with the library. `testdata/README.md`
//! describes the reference results.

use std::fs;
use std::path::PathBuf;

use condyle::{Affine, local_to_model};
use condyle_gltf::{Asset, Document, Severity};
use condyle_solve::spring_bones::{SpringState, Tick, springs};
use serde_json::Value;

/// Tolerance in radians. three-vrm rounds its results to f32 when it stores them; here, matrices are rounded
/// before a step.
const TOLERANCE: f64 = 1e-5;

fn file(name: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata/springs").join(name);
    fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn asset(name: &str) -> Asset {
    let document = Document::from_slice(name, &file(name), None).expect("a document");
    Asset::from_document(document).expect("a document")
}

fn angle(a: [f32; 4], b: [f32; 4]) -> f64 {
    let far = |sign: f64| {
        let parts = a.iter().zip(b).map(|(&a, b)| f64::from(a) - sign * f64::from(b));
        parts.map(|v| v * v).sum::<f64>().sqrt()
    };
    2.0 * far(1.0).min(far(-1.0))
}

fn swings_as_three_vrm(name: &str, count: usize) {
    let asset = asset(&format!("{name}.gltf"));
    assert!(asset.problems.iter().all(|p| p.severity == Severity::Note), "{:?}", asset.problems);
    let manifest: Value = serde_json::from_slice(&file(&format!("{name}.ref.json"))).expect("JSON");
    let whole = |key: &str| manifest[key].as_u64().expect("a whole number") as usize;
    let bytes = file(&format!("{name}.ref.bin"));
    let mut numbers = bytes.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes));
    let nodes: Vec<u64> =
        manifest["swinging"].as_array().expect("a list").iter().flat_map(Value::as_u64).collect();
    let joint_of = |node: u64| asset.skeleton.joint_by_node(node as u32).expect("a joint").into();

    let all = asset.springs.as_ref().expect("an asset with springs");
    assert_eq!((all.joint_count(), nodes.len()), (count, count));
    let (mut state, mut pose) = (SpringState::new(all), asset.skeleton.rest().clone());
    let mut model = vec![Affine::IDENTITY; asset.skeleton.joint_count()];
    let [root, head]: [usize; 2] = [0, 2].map(joint_of);
    let mut worst = 0.0_f64;
    // The displayed result is one step behind.
    let mut expected: Vec<(usize, [f32; 4])> = Vec::new();
    for frame in 0..=whole("frames") {
        pose.clone_from(asset.skeleton.rest());
        let (mut moved, mut turned) = (pose.get(root), pose.get(head));
        moved.translation = take(&mut numbers);
        turned.rotation = take(&mut numbers);
        pose.set(root, &moved);
        pose.set(head, &turned);
        local_to_model(&asset.skeleton, &pose, &mut model).expect("sizes agree");
        springs(&asset.skeleton, &model, all, &Tick::new(1.0 / 60.0), &mut state, &mut pose)
            .expect("finite values");
        for (joint, rotation) in expected.drain(..) {
            worst = worst.max(angle(pose.get(joint).rotation, rotation));
        }
        if frame > 0 && frame % whole("every") == 0 {
            expected.extend(nodes.iter().map(|&node| (joint_of(node), take(&mut numbers))));
        }
    }
    assert!(numbers.next().is_none());
    assert!(worst < TOLERANCE, "{name}: {worst}");
}

fn take<const N: usize>(numbers: &mut impl Iterator<Item = f32>) -> [f32; N] {
    [(); N].map(|()| numbers.next().expect("a number"))
}

#[test]
fn vrm_1_swings_as_three_vrm() {
    swings_as_three_vrm("vrm1", 15);
}

#[test]
fn vrm_0_swings_as_three_vrm() {
    swings_as_three_vrm("vrm0", 16);
}
