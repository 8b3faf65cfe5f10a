//! Conversion of joints to matrices and back.

use std::rc::Rc;

use condyle::convert::{
    joints_to_columns, joints_to_matrices, matrices_to_joints, matrices_to_pose, pose_to_columns,
    pose_to_matrices,
};
use condyle::math::JointQuat;
use condyle::{Affine, Pose, Transform};
use condyle_testing::reference;

use super::{JOINTS, MANY, case, worst_joint, worst_matrices, worst_of};
use crate::data::{Random, structs, transform};
use crate::harness::{Case, Subjects};
use crate::peers::{self, FromMatrices, Matrices};

const BOUND: f64 = 5e-7;
/// Matrices are rounded, and a scale is computed from three of their elements.
const BACK: f64 = 7e-7;
/// Nine products, nine sums of them, and the scale.
const FLOPS: usize = 36;

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (work, flops, build) in [
        ("quats_to_mats", FLOPS, to_matrices as fn(&mut Subjects, _, _)),
        ("mats_to_quats", 0, from_matrices),
    ] {
        for (layout, joint) in [("blocks", 40), ("structs", 32)] {
            for n in [JOINTS, 128, 1024, MANY] {
                let build = move |subjects: &mut Subjects| build(subjects, n, layout);
                cases.push(Case { flops, ..case(work, layout, n, joint + 48, build) });
            }
        }
    }
    for (layout, joint) in [("blocks", 40), ("structs", 32)] {
        cases.push(case("quats_to_columns", layout, 1024, joint + 64, move |subjects| {
            to_columns(subjects, layout);
        }));
    }
    cases
}

/// 4x4 matrices. No peer has a separate method for them.
fn to_columns(subjects: &mut Subjects, layout: &str) {
    let joints = Random(7).any_transforms(1024);
    let want: Vec<_> =
        joints.iter().map(|joint| reference::local_matrix(&reference::Local::from(*joint))).collect();
    let out = vec![[0.0; 16]; joints.len()];
    let want = Rc::new(want);
    let wrong = move |out: &Vec<_>| worst_matrices(out.iter().map(Affine::from_columns), want.iter());
    match layout {
        "blocks" => {
            let pose = Rc::new(Pose::from_transforms(&joints));
            let call = |pose: &Pose, out: &mut Vec<_>| pose_to_columns(pose, out).expect("sizes agree");
            subjects.kernel("condyle", BOUND, &pose, out, call, wrong);
        }
        _ => {
            let call =
                |joints: &Vec<_>, out: &mut Vec<_>| joints_to_columns(joints, out).expect("sizes agree");
            subjects.kernel("condyle", BOUND, &Rc::new(structs(&joints)), out, call, wrong);
        }
    }
}

fn to_matrices(subjects: &mut Subjects, n: usize, layout: &str) {
    let joints = Random(7).any_transforms(n);
    let want: Vec<_> =
        joints.iter().map(|joint| reference::local_matrix(&reference::Local::from(*joint))).collect();
    let want = Rc::new(want);
    let (out, looked_at) = (vec![Affine::IDENTITY; n], want.clone());
    let wrong = move |out: &Vec<Affine>| worst_matrices(out.iter().copied(), looked_at.iter());
    match layout {
        "blocks" => {
            let pose = Rc::new(Pose::from_transforms(&joints));
            let call = |pose: &Pose, out: &mut Vec<Affine>| {
                pose_to_matrices(pose, out).expect("sizes agree");
            };
            subjects.kernel("condyle", BOUND, &pose, out, call, wrong);
        }
        _ => {
            let joints = Rc::new(structs(&joints));
            let call = |joints: &Vec<JointQuat>, out: &mut Vec<Affine>| {
                joints_to_matrices(joints, out).expect("sizes agree");
            };
            subjects.kernel("condyle", BOUND, &joints, out, call, wrong);
        }
    }
    let data = Joints { joints, want };
    peers::each_of_layout!(layout, data.peer(subjects));
}

/// Joints that all peers convert to matrices.
struct Joints {
    joints: Vec<Transform>,
    want: Rc<Vec<reference::Matrix>>,
}

impl Joints {
    fn peer<J: Matrices>(&self, subjects: &mut Subjects) {
        let joints: Vec<J> = peers::pack(&self.joints);
        let out = vec![joints[0].to_matrix(); joints.len()];
        let want = self.want.clone();
        let call = |joints: &Vec<J>, out: &mut Vec<J::Matrix>| {
            for (out, joint) in out.iter_mut().zip(joints) {
                *out = joint.to_matrix();
            }
        };
        subjects.peer(J::NAME, joints, out, call, move |out| {
            worst_matrices(out.iter().flat_map(J::rows), want.iter())
        });
    }
}

fn from_matrices(subjects: &mut Subjects, n: usize, layout: &str) {
    let joints = Random(8).any_transforms(n);
    let matrices: Rc<Vec<Affine>> = Rc::new(joints.iter().copied().map(Affine::from).collect());
    let want = Rc::new(joints);
    let looked_at = want.clone();
    match layout {
        "blocks" => subjects.kernel(
            "condyle",
            BACK,
            &matrices,
            Pose::identity(n),
            |matrices, pose| matrices_to_pose(matrices, pose).expect("sizes agree"),
            move |pose| error(pose.transforms(), &looked_at),
        ),
        _ => subjects.kernel(
            "condyle",
            BACK,
            &matrices,
            vec![JointQuat::IDENTITY; n],
            |matrices, joints| matrices_to_joints(matrices, joints).expect("sizes agree"),
            move |joints| error(joints.iter().map(transform), &looked_at),
        ),
    }
    let data = Placed { matrices, want };
    peers::each_single!(data.peer(subjects));
}

/// Matrices, and the joints they were computed from.
struct Placed {
    matrices: Rc<Vec<Affine>>,
    want: Rc<Vec<Transform>>,
}

impl Placed {
    fn peer<J: FromMatrices>(&self, subjects: &mut Subjects) {
        let matrices: Vec<J::Matrix> = self.matrices.iter().map(J::pack_matrix).collect();
        let out = vec![J::from_matrix(&matrices[0]); matrices.len()];
        let want = self.want.clone();
        let call = |matrices: &Vec<J::Matrix>, out: &mut Vec<J>| {
            for (out, m) in out.iter_mut().zip(matrices) {
                *out = J::from_matrix(m);
            }
        };
        subjects.peer(J::NAME, matrices, out, call, move |out| error(peers::unpack(out), &want));
    }
}

/// A rotation and its negative are the same.
fn error(got: impl Iterator<Item = Transform>, want: &[Transform]) -> f64 {
    worst_of(got, want, |got, want| {
        let of = |sign: f32| {
            worst_joint(got, &Transform { rotation: want.rotation.map(|v| sign * v), ..*want }.into())
        };
        of(1.0).min(of(-1.0))
    })
}
