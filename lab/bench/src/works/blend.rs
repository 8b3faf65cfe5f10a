//! Weighted means of several poses.

use std::rc::Rc;

use condyle::blending::Mean;
use condyle::{Layer, Pose, Transform, blending};
use condyle_testing::reference;

use super::{JOINTS, MANY, case, worst_joints};
use crate::data::Random;
use crate::harness::{Case, Subjects};
use crate::peers::{self, Blend, LAYERS};

const WEIGHTS: [f32; LAYERS] = [0.4, 0.1, 0.2, 0.3];

/// A dot product, and ten multiply-adds.
const FLOPS: usize = 7 + 20;

/// Reads ten values per layer. The output is shared by all layers.
pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (work, mean, flops) in
        [("blend_layer", Mean::Linear, FLOPS), ("blend_layer_exponential", Mean::ExponentialMap, 0)]
    {
        for n in [JOINTS, 1024, MANY] {
            let build = move |subjects: &mut Subjects| build(subjects, n, mean);
            let case = case(work, "blocks", n, 40 + 40 / LAYERS, build);
            cases.push(Case { times: LAYERS, flops, ..case });
        }
    }
    cases
}

type Want = Vec<reference::Local>;

fn build(subjects: &mut Subjects, n: usize, mean: Mean) {
    let mut random = Random(9);
    let (first, second) = random.pairs(n);
    let layers = [first.clone(), second, random.beside(&first), random.beside(&first)];
    let poses = layers.each_ref().map(|layer| Pose::from_transforms(layer));
    // The first layer serves as the rest pose, whose hemisphere the rotations are moved to.
    let weighted: Vec<_> =
        poses.iter().zip(WEIGHTS).map(|(pose, weight)| (pose, vec![weight.into(); n])).collect();
    let want: Rc<Want> = Rc::new(reference::blend(&poses[0], &weighted, mean == Mean::Linear));
    let (out, looked_at) = (poses[0].clone(), want.clone());
    let call = move |poses: &[Pose; LAYERS], out: &mut Pose| {
        let [a, b, c, d] = poses;
        let [e, f, g, h] = WEIGHTS;
        let layers = [Layer::new(a, e), Layer::new(b, f), Layer::new(c, g), Layer::new(d, h)];
        blending::about(a, &layers, mean, out).expect("sizes agree");
    };
    let wrong = move |out: &Pose| worst_joints(out.transforms(), &looked_at);
    subjects.kernel("condyle", 7e-7, &Rc::new(poses), out, call, wrong);
    if mean != Mean::Linear {
        return;
    }
    peers::each_of_layout!("blocks", peer(subjects, &layers, &want));
}

/// Loop for a peer crate.
fn peer<J: Blend>(subjects: &mut Subjects, layers: &[Vec<Transform>; LAYERS], want: &Rc<Want>) {
    let layers: [Vec<J>; LAYERS] = layers.each_ref().map(|layer| peers::pack(layer));
    let (out, want) = (layers[0].clone(), want.clone());
    let call = |[a, b, c, d]: &[Vec<J>; LAYERS], out: &mut Vec<J>| {
        for ((((out, a), b), c), d) in out.iter_mut().zip(a).zip(b).zip(c).zip(d) {
            *out = J::blend([a, b, c, d], &WEIGHTS);
        }
    };
    subjects.peer(J::NAME, layers, out, call, move |out| worst_joints(peers::unpack(out), &want));
}
