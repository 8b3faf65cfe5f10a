//! Test bodies, and reference positions of their joints.

mod equations;
mod hostile;
mod near;
mod reach;

use std::vec::Vec;

use super::{BodyBuffer, BodyOptions, BodyReached, Goal, body};
use condyle::pose::Pose;
use condyle::skeleton::{Joint, Skeleton};
use condyle_base::math::Transform;
use condyle_base::math::quats::{Quat64, product};
use condyle_base::math::vectors::normalize;
use condyle_testing::Random;

type Vec64 = [f64; 3];

fn at(translation: [f32; 3]) -> Transform {
    Transform { translation, ..Transform::IDENTITY }
}

/// A row of bones along `y`; the last joint is the tip.
fn chain(lengths: &[f32]) -> Skeleton {
    let joint = |(index, &y): (usize, &f32)| {
        Joint::new("", index.checked_sub(1).map(|parent| parent as u16), at([0.0, y, 0.0]))
    };
    let lengths: Vec<f32> = [0.0].iter().chain(lengths).copied().collect();
    Skeleton::new(lengths.iter().enumerate().map(joint)).expect("a chain")
}

/// Joints of `figure`: hips, chest, head, left hand, right hand, left foot, right foot.
const PARTS: [u16; 7] = [0, 2, 4, 8, 12, 15, 18];

/// A trunk, a head, two arms and two legs, in a given unit of length.
fn figure(unit: f32) -> Skeleton {
    let parts: [(i32, [f32; 3]); 19] = [
        (-1, [0.0, 0.95, 0.0]),
        (0, [0.0, 0.2, 0.0]),
        (1, [0.0, 0.25, 0.01]),
        (2, [0.0, 0.15, 0.0]),
        (3, [0.0, 0.12, 0.02]),
        (2, [0.07, 0.08, 0.0]),
        (5, [0.12, 0.0, 0.0]),
        (6, [0.2, -0.2, 0.02]),
        (7, [0.17, -0.17, 0.03]),
        (2, [-0.07, 0.08, 0.0]),
        (9, [-0.12, 0.0, 0.0]),
        (10, [-0.2, -0.2, 0.02]),
        (11, [-0.17, -0.17, 0.03]),
        (0, [0.1, -0.05, 0.0]),
        (13, [0.02, -0.42, 0.02]),
        (14, [0.0, -0.41, -0.03]),
        (0, [-0.1, -0.05, 0.0]),
        (16, [-0.02, -0.42, 0.02]),
        (17, [0.0, -0.41, -0.03]),
    ];
    let joint = |(parent, place): (i32, [f32; 3])| {
        Joint::new("", u16::try_from(parent).ok(), at(place.map(|v| v * unit)))
    };
    Skeleton::new(parts.map(joint)).expect("parents before children")
}

/// The pose with every joint turned by up to `by` radians about each axis, and the first one moved.
fn disturbed(random: &mut Random, pose: &Pose, by: f32, shift: f32) -> Pose {
    let mut pose = pose.clone();
    for joint in 0..pose.joint_count() {
        let mut t = pose.get(joint);
        let [x, y, z] = random.vector::<3>(by / 2.0).map(f64::from);
        let mut turned = product(t.rotation.map(f64::from), [x, y, z, 1.0]);
        normalize(&mut turned);
        t.rotation = turned.map(|v| v as f32);
        if joint == 0 {
            t.translation = core::array::from_fn(|c| t.translation[c] + random.range(-shift, shift));
        }
        pose.set(joint, &t);
    }
    pose
}

/// Positions and orientations of all joints.
fn placed(skeleton: &Skeleton, pose: &Pose) -> Vec<(Vec64, Quat64)> {
    let model =
        condyle_testing::reference::local_to_model(skeleton, &condyle_testing::reference::locals(pose));
    let mut turns: Vec<Quat64> = Vec::new();
    for (joint, t) in (0..).zip(pose.transforms()) {
        let own = t.rotation.map(f64::from);
        turns.push(skeleton.parent(joint).map_or(own, |parent| product(turns[usize::from(parent)], own)));
    }
    model.iter().map(|m| [m[0][3], m[1][3], m[2][3]]).zip(turns).collect()
}

fn narrow<const N: usize>(v: [f64; N]) -> [f32; N] {
    v.map(|v| v as f32)
}

fn far(a: Vec64, b: Vec64) -> f64 {
    (0..3).map(|c| (a[c] - b[c]) * (a[c] - b[c])).sum::<f64>().sqrt()
}

fn solve(
    skeleton: &Skeleton,
    goals: &[Goal<'_>],
    options: &BodyOptions<'_>,
    buffer: &mut BodyBuffer,
    pose: &mut Pose,
) -> BodyReached {
    body(skeleton, goals, options, buffer, pose).expect("valid goals")
}
