//! Local transforms to model-space matrices, and back.

use std::rc::Rc;

use condyle::model::{self, model_to_local};
use condyle::{Affine, Pose, Skeleton, Transform, local_to_model};
use condyle_testing::reference;

use super::{JOINTS, case, worst_matrices};
use crate::data::Random;
use crate::harness::{Case, Subjects};
use crate::peers::{self, Chain, FromMatrices, Invert};

/// Ten values are read, twelve written.
const BYTES: usize = 40 + 48;

/// A matrix from ten values, and a product of two matrices.
const FLOPS: usize = 36 + 63;
/// Characters of one skeleton.
const CROWD: usize = 16;
/// Root of the half of the character that is updated.
const LIMB: u16 = 4;

pub(super) fn cases() -> Vec<Case> {
    let limb = Random(2).skeleton(JOINTS).subtree(LIMB).len();
    vec![
        case("local_to_model_67", "blocks", JOINTS, BYTES, single),
        case("local_to_model_subtree_67", "blocks", limb, BYTES, subtree),
        Case { flops: FLOPS, ..case("local_to_model_crowd16", "blocks", CROWD * JOINTS, BYTES, crowd) },
        case("model_to_local_67", "structs", JOINTS, 2 * 48, back),
    ]
}

/// One character: skeleton, joints, the same joints as a pose, and reference matrices.
fn character() -> (Skeleton, Vec<Transform>, Pose, Rc<Vec<reference::Matrix>>) {
    let mut random = Random(2);
    let skeleton = random.skeleton(JOINTS);
    let joints = random.transforms(JOINTS);
    let pose = Pose::from_transforms(&joints);
    let want = reference::local_to_model(&skeleton, &reference::locals(&pose));
    (skeleton, joints, pose, Rc::new(want))
}

fn single(subjects: &mut Subjects) {
    let (skeleton, joints, pose, want) = character();
    let looked_at = want.clone();
    subjects.kernel(
        "condyle",
        1e-5,
        &Rc::new((skeleton.clone(), pose)),
        vec![Affine::IDENTITY; JOINTS],
        |(skeleton, pose), model| local_to_model(skeleton, pose, model).expect("sizes agree"),
        move |model| worst_matrices(model.iter().copied(), looked_at.iter()),
    );
    let characters = [joints];
    peers::each_single!(peer(subjects, &skeleton, &characters, &want));
}

/// Part of the work of [`single`], on matrices that are already correct elsewhere.
fn subtree(subjects: &mut Subjects) {
    let (skeleton, joints, pose, want) = character();
    let looked_at = want.clone();
    let mut model = vec![Affine::IDENTITY; JOINTS];
    local_to_model(&skeleton, &pose, &mut model).expect("sizes agree");
    for &joint in skeleton.subtree(LIMB) {
        model[usize::from(joint)] = Affine::IDENTITY;
    }
    subjects.kernel(
        "condyle",
        1e-5,
        &Rc::new((skeleton.clone(), pose)),
        model,
        |(skeleton, pose), model| model::subtree(skeleton, pose, LIMB, model).expect("sizes agree"),
        move |model| worst_matrices(model.iter().copied(), looked_at.iter()),
    );
    peers::each_single!(subtree_peer(subjects, &skeleton, &joints, &want));
}

/// Loop for a peer crate over a list of joints.
fn subtree_peer<J: Chain>(
    subjects: &mut Subjects,
    skeleton: &Skeleton,
    joints: &[Transform],
    want: &Rc<Vec<reference::Matrix>>,
) {
    let locals: Vec<J> = peers::pack(joints);
    let mut model: Vec<J::Matrix> = locals.iter().map(J::to_matrix).collect();
    place(skeleton, (0..).zip(&locals), &mut model);
    for &joint in skeleton.subtree(LIMB) {
        model[usize::from(joint)] = locals[usize::from(joint)].to_matrix();
    }
    let want = want.clone();
    subjects.peer(
        J::NAME,
        (skeleton.clone(), locals),
        model,
        |(skeleton, locals), model| {
            let joints = skeleton.subtree(LIMB).iter();
            place(skeleton, joints.map(|&joint| (joint, &locals[usize::from(joint)])), model);
        },
        move |model| worst_matrices(model.iter().flat_map(J::rows), want.iter()),
    );
}

fn back(subjects: &mut Subjects) {
    let mut random = Random(2);
    let (skeleton, pose) = (random.skeleton(JOINTS), random.pose(JOINTS));
    let mut model = vec![Affine::IDENTITY; JOINTS];
    local_to_model(&skeleton, &pose, &mut model).expect("sizes agree");
    let wide: Vec<_> = model.iter().map(reference::matrix).collect();
    let want = Rc::new(reference::model_to_local(&skeleton, &wide));
    let looked_at = want.clone();
    let input = Rc::new((skeleton, model));
    subjects.kernel(
        "condyle",
        1e-6,
        &input,
        vec![Affine::IDENTITY; JOINTS],
        |(skeleton, model), local| model_to_local(skeleton, model, local).expect("nothing is flat"),
        move |local| worst_matrices(local.iter().copied(), looked_at.iter()),
    );
    peers::each_single!(back_peer(subjects, &input.0, &input.1, &want));
}

/// Loop for a peer crate: the inverse of the parent's matrix times the joint's matrix.
fn back_peer<J: Invert + FromMatrices>(
    subjects: &mut Subjects,
    skeleton: &Skeleton,
    model: &[Affine],
    want: &Rc<Vec<reference::Matrix>>,
) {
    let model: Vec<J::Matrix> = model.iter().map(J::pack_matrix).collect();
    let (out, want) = (model.clone(), want.clone());
    subjects.peer(
        J::NAME,
        (skeleton.clone(), model),
        out,
        |(skeleton, model), local| {
            for ((joint, own), local) in (0_u16..).zip(model).zip(local) {
                *local = match skeleton.parent(joint) {
                    Some(parent) => J::concat(&J::inverse(&model[usize::from(parent)]), own),
                    None => *own,
                };
            }
        },
        move |local| worst_matrices(local.iter().flat_map(J::rows), want.iter()),
    );
}

fn crowd(subjects: &mut Subjects) {
    let mut random = Random(2);
    let skeleton = random.skeleton(JOINTS);
    let characters: Vec<_> = (0..CROWD).map(|_| random.transforms(JOINTS)).collect();
    let poses: Vec<Pose> = characters.iter().map(|joints| Pose::from_transforms(joints)).collect();
    let want = poses.iter().flat_map(|pose| reference::local_to_model(&skeleton, &reference::locals(pose)));
    let want: Rc<Vec<_>> = Rc::new(want.collect());
    let looked_at = want.clone();
    subjects.kernel(
        "condyle",
        1e-5,
        &Rc::new((skeleton.clone(), poses)),
        vec![Affine::IDENTITY; CROWD * JOINTS],
        |(skeleton, poses), models| {
            for (pose, model) in poses.iter().zip(models.chunks_mut(JOINTS)) {
                local_to_model(skeleton, pose, model).expect("sizes agree");
            }
        },
        move |models| worst_matrices(models.iter().copied(), looked_at.iter()),
    );
    peers::each_single!(peer(subjects, &skeleton, &characters, &want));
}

/// Loop for a peer crate over whole characters, one after another.
fn peer<J: Chain>(
    subjects: &mut Subjects,
    skeleton: &Skeleton,
    characters: &[Vec<Transform>],
    want: &Rc<Vec<reference::Matrix>>,
) {
    let characters: Vec<Vec<J>> = characters.iter().map(|joints| peers::pack(joints)).collect();
    let room: Vec<Vec<J::Matrix>> =
        characters.iter().map(|joints| joints.iter().map(J::to_matrix).collect()).collect();
    let want = want.clone();
    subjects.peer(
        J::NAME,
        (skeleton.clone(), characters),
        room,
        |(skeleton, characters), models| {
            for (locals, model) in characters.iter().zip(models) {
                place(skeleton, (0..).zip(locals), model);
            }
        },
        move |models| worst_matrices(models.iter().flatten().flat_map(J::rows), want.iter()),
    );
}

/// Computes the matrix of each of these joints, times that of its parent.
fn place<'a, J: Chain>(
    skeleton: &Skeleton,
    locals: impl Iterator<Item = (u16, &'a J)>,
    model: &mut [J::Matrix],
) {
    for (joint, local) in locals {
        let local = local.to_matrix();
        model[usize::from(joint)] = match skeleton.parent(joint) {
            Some(parent) => J::concat(&model[usize::from(parent)], &local),
            None => local,
        };
    }
}
