//! Prints the time of posing a body of SMPL's size, alone and in batches.
//!
//! Run it with `cargo run --release -p condyle-body --example batches [MODEL.npz]`.

#[path = "../tests/common/mod.rs"]
mod common;

use std::time::Instant;

use common::Made;
use condyle::{Pose, Transform};
use condyle_body::{BodyModel, Workspace};
use condyle_testing::Random;

fn main() {
    let model = match std::env::args().nth(1) {
        Some(path) => BodyModel::open(path).unwrap_or_else(|refused| panic!("{refused}")),
        None => {
            BodyModel::from_bytes("a generated model", Made::new(1, 6890, 24, 10).bytes()).expect("a model")
        }
    };
    let body = model.shaped(&[]).expect("valid shape coefficients");
    let mut random = Random(7);
    let mut pose = Pose::rest(body.skeleton());
    for joint in 0..model.joint_count() {
        let mut rotation = [0.0; 4].map(|_: f64| random.range_f64(-1.0, 1.0));
        let length = rotation.iter().map(|v| v * v).sum::<f64>().sqrt();
        rotation = rotation.map(|v| v / length);
        pose.set(joint, &Transform { rotation: rotation.map(|v| v as f32), ..pose.get(joint) });
    }
    println!("{model:?}, milliseconds per pose:");
    let mut workspace = Workspace::default();
    for batch in [1, 2, 4, 8, 32, 128] {
        let poses = vec![pose.clone(); batch];
        let mut out = vec![[0.0; 3]; batch * body.vertex_count()];
        let mut best = f64::INFINITY;
        for _ in 0..200 / batch + 5 {
            let begin = Instant::now();
            body.vertices(&poses, &mut workspace, &mut out).expect("sizes agree");
            best = best.min(begin.elapsed().as_secs_f64());
        }
        println!("batch of {batch:4}: {:.3}", 1e3 * best / batch as f64);
    }
}
