//! Weighted means of several poses.

use std::rc::Rc;

use condyle::{Layer, Mean, Pose, Transform, blend};

use super::{case, largest, worst};
use crate::data::Random;
use crate::harness::{Case, Subjects};
use crate::peers::{self, Blend, LAYERS};

const JOINTS: usize = 1024;
const WEIGHTS: [f32; LAYERS] = [0.4, 0.1, 0.2, 0.3];

/// Ten numbers of each layer read; what is written is shared by all layers.
pub(super) fn cases() -> Vec<Case> {
    vec![Case { times: LAYERS, ..case("blend_layer", "blocks", JOINTS, 40 + 40 / LAYERS, build) }]
}

/// Rotation and translation.
type Want = Vec<([f64; 4], [f64; 3])>;

fn build(subjects: &mut Subjects) {
    let mut random = Random(9);
    let (first, second) = random.pairs(JOINTS);
    let layers = [first.clone(), second, random.beside(&first), random.beside(&first)];
    let want: Rc<Want> =
        Rc::new((0..JOINTS).map(|joint| want(layers.each_ref().map(|layer| layer[joint]))).collect());
    let poses = layers.each_ref().map(|layer| Pose::from_transforms(layer));
    let (out, looked_at) = (poses[0].clone(), want.clone());
    let call = |poses: &[Pose; LAYERS], out: &mut Pose| {
        let [a, b, c, d] = poses;
        let [e, f, g, h] = WEIGHTS;
        let layers = [Layer::new(a, e), Layer::new(b, f), Layer::new(c, g), Layer::new(d, h)];
        // The first layer stands for the rest pose, whose side the rotations are brought to.
        blend(a, &layers, Mean::default(), out).expect("sizes agree");
    };
    subjects
        .kernel("condyle", 3e-7, &Rc::new(poses), out, call, move |out| error(out.transforms(), &looked_at));
    peer::<peers::plain::Block>(subjects, &layers, &want);
    #[cfg(feature = "peers")]
    {
        peer::<peers::wide::Block>(subjects, &layers, &want);
        peer::<peers::glam::Joint>(subjects, &layers, &want);
        peer::<peers::ultraviolet::Joint>(subjects, &layers, &want);
        peer::<peers::nalgebra::Joint>(subjects, &layers, &want);
        peer::<peers::cgmath::Joint>(subjects, &layers, &want);
    }
}

/// All rotations lie on the side of the first one.
fn want(joints: [Transform; LAYERS]) -> ([f64; 4], [f64; 3]) {
    let (mut rotation, mut translation) = ([0.0; 4], [0.0; 3]);
    for (joint, weight) in joints.iter().zip(WEIGHTS.map(f64::from)) {
        rotation = std::array::from_fn(|c| rotation[c] + weight * f64::from(joint.rotation[c]));
        translation = std::array::from_fn(|c| translation[c] + weight * f64::from(joint.translation[c]));
    }
    let length = rotation.iter().map(|v| v * v).sum::<f64>().sqrt();
    (rotation.map(|v| v / length), translation)
}

fn error(got: impl Iterator<Item = Transform>, want: &Want) -> f64 {
    largest(got.zip(want).map(|(got, (rotation, translation))| {
        worst(got.rotation.iter().zip(*rotation)).max(worst(got.translation.iter().zip(*translation)))
    }))
}

/// What one writes.
fn peer<J: Blend>(subjects: &mut Subjects, layers: &[Vec<Transform>; LAYERS], want: &Rc<Want>) {
    let layers: [Vec<J>; LAYERS] = layers.each_ref().map(|layer| peers::pack(layer));
    let (out, want) = (layers[0].clone(), want.clone());
    let call = |[a, b, c, d]: &[Vec<J>; LAYERS], out: &mut Vec<J>| {
        for ((((out, a), b), c), d) in out.iter_mut().zip(a).zip(b).zip(c).zip(d) {
            *out = J::blend([a, b, c, d], &WEIGHTS);
        }
    };
    subjects.peer(J::NAME, layers, out, call, move |out| error(peers::unpack(out), &want));
}
