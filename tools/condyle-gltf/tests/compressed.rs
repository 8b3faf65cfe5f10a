//! Compresses every clip of every model. The measured error and the error of every vertex are within the
//! budget.

#[path = "common/suite.rs"]
mod suite;

use std::path::Path;
use std::process::ExitCode;

use condyle::{Affine, Clip, Error, Joint, NormalRule, RawClip, Skeleton, Transform};
use condyle_gltf::{Asset, ClipExporter, Document, Placement, Poser};
use rayon::prelude::*;

/// Error budgets in metres, for characters of this height.
const BUDGETS: [f64; 3] = [1e-4, 1e-3, 1e-2];
const HEIGHT: f64 = 1.8;
/// Number of times at which all vertices are compared, in addition to the time of the largest error.
const MOMENTS: u32 = 12;

fn main() -> ExitCode {
    let mut suite = suite::Suite::new();
    suite.each_model("every_clip_stays_within_its_budget", every_clip_stays_within_its_budget);
    suite.characters(
        "a_document_without_animations_moves_on_the_skeleton_of_the_whole",
        a_document_without_animations_moves_on_the_skeleton_of_the_whole,
    );
    suite.characters("a_skeleton_of_another_document_is_refused", a_skeleton_of_another_document_is_refused);
    suite.characters("a_character_has_a_height_and_a_shell", a_character_has_a_height_and_a_shell);
    suite.run()
}

/// Returns the maximum distance of a vertex from its position in the authored clip, in metres, over several
/// times.
fn worst_vertex(asset: &Asset, raw: &RawClip, clip: &Clip<'_>, worst: f64, metres: f64) -> f64 {
    let [mut a, mut b] = [(); 2].map(|()| Poser::new(asset, NormalRule::Plain.into()).expect("room"));
    let part = |i: u32| raw.start() + raw.duration() * f64::from(i) / f64::from(MOMENTS);
    let mut greatest = 0.0_f64;
    for seconds in (0..=MOMENTS).map(part).chain([worst]) {
        a.pose(Some(raw), seconds).expect("a clip of this asset");
        b.pose(Some(clip), seconds).expect("a skeleton of this document");
        for instance in 0..asset.instances.len() {
            for (p, q) in a.posed(instance).iter().zip(b.posed(instance)) {
                for (p, q) in p.positions.iter().zip(&q.positions) {
                    let square = (0..3).map(|i| (f64::from(p[i]) - f64::from(q[i])).powi(2));
                    greatest = greatest.max(metres * square.sum::<f64>().sqrt());
                }
            }
        }
    }
    greatest
}

fn every_clip_stays_within_its_budget(path: &Path) {
    let name = path.display();
    let asset = &Asset::open(path).unwrap_or_else(|e| panic!("{e}"));
    let jobs: Vec<_> = asset.clips.iter().flat_map(|clip| BUDGETS.map(|budget| (clip, budget))).collect();
    assert!(!jobs.is_empty(), "{name} has no clips");
    let failures: Vec<String> = jobs
        .par_iter()
        .filter_map(|(raw, budget)| {
            let metres = HEIGHT / asset.rest_height().expect("a character");
            let units = (budget / metres) as f32;
            let encoded = asset.encode(raw, units).expect("a clip");
            let measured = &encoded.measured;
            let vertex = worst_vertex(asset, raw, encoded.clip(), measured.seconds, metres);
            let case = format!("{name}, {}, {} mm", raw.name(), 1e3 * budget);
            // Posing rounds to f32 again.
            let room = budget + 1e-6 * HEIGHT;
            let told = measured.error_max.max(measured.error_between_max).max(measured.morph_error);
            match () {
                () if told > units => Some(format!("{case}: measured {} mm", 1e3 * f64::from(told) * metres)),
                () if vertex > room => Some(format!("{case}: a vertex is {} mm off", 1e3 * vertex)),
                () if encoded.bytes().len() >= encoded.raw_bytes.max(1000) => {
                    Some(format!("{case}: {} bytes from {}", encoded.bytes().len(), encoded.raw_bytes))
                }
                () => None,
            }
        })
        .collect();
    assert!(failures.is_empty(), "{} of {}:\n{}", failures.len(), jobs.len(), failures.join("\n"));
}

fn a_document_without_animations_moves_on_the_skeleton_of_the_whole(folder: &Path) {
    for name in ["robot.glb", "Knight.glb", "greenman.glb", "syn_morph.glb"] {
        let whole = Asset::open(folder.join(name)).expect("a reference character");
        let still = ClipExporter::new(&whole).glb(&[]).expect("a document");
        let still = Document::from_slice(name, &still, None).and_then(Asset::from_document).expect("valid");
        let back = still.on_skeleton(whole.skeleton.clone()).expect("the skeleton of this document");
        assert!(back.clips.is_empty() && back.skeleton == whole.skeleton, "{name}");
        let joints = |asset: &Asset| asset.skins.iter().map(|s| s.joints().to_vec()).collect::<Vec<_>>();
        assert_eq!(joints(&back), joints(&whole), "{name}");
        let placements = |asset: &Asset| -> Vec<Placement> {
            asset.instances.iter().map(|instance| instance.placement.clone()).collect()
        };
        assert_eq!(placements(&back), placements(&whole), "{name}");
    }
}

fn a_skeleton_of_another_document_is_refused(folder: &Path) {
    let asset = Asset::open(folder.join("Fox.glb")).expect("a reference character");
    let joint = Joint { node: Some(0), ..Joint::new("root", None, Transform::IDENTITY) };
    let other = Skeleton::new([joint]).expect("one joint");
    let error = asset.on_skeleton(other).expect_err("most joints are missing");
    assert!(matches!(error, Error::Index { what: "nodes of joints", count: 1, .. }), "{error}");
    // One additional joint, with a node that does not exist in the document.
    let asset = Asset::open(folder.join("Fox.glb")).expect("a reference character");
    let joint = |j: usize| Joint {
        name: asset.skeleton.names()[j].clone(),
        parent: asset.skeleton.parent(j as u16),
        node: asset.skeleton.node(j as u16),
        rest: asset.skeleton.rest().get(j),
    };
    let beyond = Joint { node: Some(4_000_000_000), ..joint(0) };
    let joints = (0..asset.skeleton.joint_count()).map(joint).chain([beyond]);
    let other = Skeleton::new(joints).expect("a tree");
    let error = asset.on_skeleton(other).expect_err("no such node");
    assert!(matches!(error, Error::Index { found: 4_000_000_000, .. }), "{error}");
}

fn a_character_has_a_height_and_a_shell(folder: &Path) {
    let fox = Asset::open(folder.join("Fox.glb")).expect("a reference character");
    let height = fox.rest_height().expect("finite");
    assert!((height * 0.02278 - HEIGHT).abs() < 1e-3, "{height}");
    // The shell reaches every vertex, and not much farther. In joint space, each vertex is its bind position
    // times the inverse bind matrix.
    let condyle_encode::Shell::Joints(shell) = fox.shell(3.0).expect("meshes of this asset") else {
        panic!("a shell for each joint")
    };
    let points = shell.iter().map(|joint| match joint {
        condyle_encode::JointShell::Points(points) => points.clone(),
        _ => Vec::new(),
    });
    let points: Vec<Vec<[f32; 3]>> = points.collect();
    assert_eq!(points.len(), fox.skeleton.joint_count());
    let skin = &fox.skins[0];
    let mesh = &fox.instances[0].primitives[0].mesh;
    let (starts, joints, _) = mesh.influences().as_slices();
    let farthest = |points: &[[f32; 3]]| {
        points.iter().map(|p| p.iter().map(|v| v.abs()).fold(0.0, f32::max)).fold(0.0, f32::max)
    };
    let mut own = vec![0.0_f32; points.len()];
    for (vertex, position) in mesh.vertices().positions.iter().enumerate() {
        for &joint in &joints[starts[vertex] as usize..starts[vertex + 1] as usize] {
            let inverse: &Affine = &skin.inverse_bind()[usize::from(joint)];
            let at = usize::from(skin.joints()[usize::from(joint)]);
            own[at] = own[at].max(farthest(&[inverse.transform_point(*position)]));
        }
    }
    for (joint, own) in own.iter().enumerate().filter(|(_, own)| **own > 0.0) {
        let times = farthest(&points[joint]) / own;
        assert!((1.0..1.5).contains(&times), "joint {joint}: {times}");
    }
}
