//! Seeded random limbs and chains for the tests of the solvers, and reference positions of their joints.

use std::format;
use std::vec::Vec;

use condyle::model::local_to_model;
use condyle::pose::Pose;
use condyle::skeleton::{Joint, Skeleton};
use condyle_base::math::{Affine, Transform};
use condyle_testing::Random;

/// Scales of a test's joints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scales {
    /// All scales are 1.
    None,
    /// Uniform scales.
    Even,
    /// Non-uniform scales above the turning joints, uniform ones below.
    UnevenAbove,
    /// Non-uniform scales everywhere.
    Uneven,
}

/// A skeleton with a chain, other joints above it and in between, and a pose.
#[derive(Clone)]
pub(super) struct Case {
    pub(super) skeleton: Skeleton,
    pub(super) pose: Pose,
    pub(super) model: Vec<Affine>,
    /// The turning joints, and the tip.
    pub(super) joints: Vec<u16>,
}

impl Case {
    /// Two joints above, `turning` turning joints and a tip, with `between` other joints before each of them
    /// except the first.
    pub(super) fn new(random: &mut Random, turning: usize, between: usize, scales: Scales) -> Self {
        let mut joints = Vec::new();
        let count = 2 + turning + 1 + turning * between;
        let mut all = Vec::new();
        for at in 0..count {
            let below = at.checked_sub(2);
            let turns = below.is_some_and(|below| below % (between + 1) == 0);
            if turns {
                joints.push(at as u16);
            }
            let uneven = match scales {
                Scales::None | Scales::Even => false,
                Scales::UnevenAbove => below.is_none(),
                Scales::Uneven => true,
            };
            let even = random.range(0.6, 1.6);
            let scale = match (scales, uneven) {
                (Scales::None, _) => [1.0; 3],
                (_, false) => [even; 3],
                (_, true) => core::array::from_fn(|_| random.range(0.6, 1.6)),
            };
            let rest = Transform { rotation: random.unit(), translation: random.vector(0.4), scale };
            all.push(Joint::new(format!("joint {at}"), at.checked_sub(1).map(|p| p as u16), rest));
        }
        let skeleton = Skeleton::new(all).expect("a chain");
        let pose = Pose::rest(&skeleton);
        let model = model_of(&skeleton, &pose);
        Self { skeleton, pose, model, joints }
    }

    /// Position of a joint.
    pub(super) fn place(&self, joint: u16) -> [f64; 3] {
        point(&self.matrix(joint), [0.0; 3])
    }

    /// Model-space matrix of a joint.
    pub(super) fn matrix(&self, joint: u16) -> [[f64; 4]; 3] {
        matrix(&self.skeleton, &self.pose, joint)
    }

    pub(super) fn tip(&self) -> u16 {
        *self.joints.last().expect("a tip")
    }

    /// Checks that only rotations of the chain's joints changed, and that rotations are normalised.
    #[track_caller]
    pub(super) fn assert_only_turned(&self, from: &Pose, case: impl core::fmt::Display) {
        for (joint, (got, was)) in self.pose.transforms().zip(from.transforms()).enumerate() {
            assert_eq!((got.translation, got.scale), (was.translation, was.scale), "{case}, joint {joint}");
            if !self.joints.contains(&(joint as u16)) {
                assert_eq!(got.rotation, was.rotation, "{case}, joint {joint}");
            }
            let length2: f64 = got.rotation.iter().map(|&v| f64::from(v) * f64::from(v)).sum();
            assert!((length2 - 1.0).abs() < 5e-7, "{case}, joint {joint}: {:?}", got.rotation);
        }
    }
}

pub(super) fn model_of(skeleton: &Skeleton, pose: &Pose) -> Vec<Affine> {
    let mut model = std::vec![Affine::IDENTITY; skeleton.joint_count()];
    local_to_model(skeleton, pose, &mut model).expect("sizes agree");
    model
}

/// Reference matrix in f64: translation times rotation times scale, from the root to the joint.
pub(super) fn matrix(skeleton: &Skeleton, pose: &Pose, joint: u16) -> [[f64; 4]; 3] {
    let t = pose.get(joint.into());
    let q = t.rotation.map(f64::from);
    let size = q.iter().map(|v| v * v).sum::<f64>().sqrt();
    let [x, y, z, w] = q.map(|v| v / size);
    let r = [
        [w * w + x * x - y * y - z * z, 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)],
        [2.0 * (x * y + w * z), w * w - x * x + y * y - z * z, 2.0 * (y * z - w * x)],
        [2.0 * (x * z - w * y), 2.0 * (y * z + w * x), w * w - x * x - y * y + z * z],
    ];
    let own: [[f64; 4]; 3] = core::array::from_fn(|row| {
        core::array::from_fn(|c| {
            if c < 3 { r[row][c] * f64::from(t.scale[c]) } else { f64::from(t.translation[row]) }
        })
    });
    let Some(parent) = skeleton.parent(joint) else { return own };
    let above = matrix(skeleton, pose, parent);
    core::array::from_fn(|row| {
        core::array::from_fn(|c| {
            (0..3).map(|k| above[row][k] * own[k][c]).sum::<f64>() + if c == 3 { above[row][3] } else { 0.0 }
        })
    })
}

pub(super) fn point(m: &[[f64; 4]; 3], p: [f64; 3]) -> [f64; 3] {
    m.map(|r| r[0] * p[0] + r[1] * p[1] + r[2] * p[2] + r[3])
}

pub(super) fn apart(a: [f64; 3], b: [f64; 3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
}
