//! From local transforms to matrices in model space.

use std::rc::Rc;

use condyle::{
    Affine, CrowdBuffer, Pose, Skeleton, Transform, local_to_model, local_to_model_crowd, reference,
};

use super::{JOINTS, case, worst_matrices};
use crate::data::Random;
use crate::harness::{Case, Subjects};
use crate::peers::{self, Chain};

/// Ten numbers read, twelve written.
const BYTES: usize = 40 + 48;

/// A matrix made of ten numbers, and multiplied by another one.
const FLOPS: usize = 36 + 63;
/// Characters of one skeleton.
const CROWD: usize = 16;

pub(super) fn cases() -> Vec<Case> {
    vec![
        case("local_to_model_67", "blocks", JOINTS, BYTES, single),
        Case { flops: FLOPS, ..case("local_to_model_crowd16", "blocks", CROWD * JOINTS, BYTES, crowd) },
    ]
}

fn single(subjects: &mut Subjects) {
    let mut random = Random(2);
    let skeleton = random.skeleton(JOINTS);
    let joints = random.transforms(JOINTS);
    let pose = Pose::from_transforms(&joints);
    let want = Rc::new(reference::local_to_model(&skeleton, &reference::locals(&pose)));
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
        (CrowdBuffer::default(), vec![Affine::IDENTITY; CROWD * JOINTS]),
        |(skeleton, poses), (buffer, models)| {
            local_to_model_crowd(skeleton, poses, buffer, models).expect("sizes agree");
        },
        move |(_, models)| worst_matrices(models.iter().copied(), looked_at.iter()),
    );
    peers::each_single!(peer(subjects, &skeleton, &characters, &want));
    #[cfg(feature = "peers")]
    {
        peer::<peers::ultraviolet::Joint>(subjects, &skeleton, &characters, &want);
        wide(subjects, &skeleton, &characters, &want);
    }
}

/// `wide` by hand: eight characters in lanes, transposed on the way in and out.
#[cfg(feature = "peers")]
fn wide(
    subjects: &mut Subjects,
    skeleton: &Skeleton,
    characters: &[Vec<Transform>],
    want: &Rc<Vec<reference::Matrix>>,
) {
    use peers::wide::{Rows8, Structs, crowd};
    let groups: Vec<Vec<Structs>> = grouped(characters);
    let room = vec![vec![[Affine::IDENTITY; 8]; JOINTS]; groups.len()];
    let want = want.clone();
    subjects.peer(
        "wide",
        (skeleton.clone(), groups),
        (vec![Rows8::ZERO; JOINTS], room),
        |(skeleton, groups), (lanes, models)| {
            for (locals, model) in groups.iter().zip(models) {
                crowd(skeleton, locals, lanes, model);
            }
        },
        move |(_, models)| {
            let rows =
                |model: &Vec<[Affine; 8]>, lane: usize| model.iter().map(|row| row[lane]).collect::<Vec<_>>();
            let got = models.iter().flat_map(|model| (0..8).flat_map(move |lane| rows(model, lane)));
            worst_matrices(got, want.iter())
        },
    );
}

/// Characters in the lanes of a peer: joint by joint, for each group of as many as there are lanes.
fn grouped<J: peers::Joints>(characters: &[Vec<Transform>]) -> Vec<Vec<J>> {
    let group = |group: &[Vec<Transform>]| {
        let of = |joint: usize| group.iter().map(|character| character[joint]).collect::<Vec<_>>();
        (0..JOINTS).map(|joint| J::pack(&peers::filled(&of(joint), J::LANES))).collect()
    };
    characters.chunks(J::LANES).map(group).collect()
}

/// What one writes: each joint as a matrix, times that of its parent. Characters lie in the lanes of a peer that has them,
/// else one after another.
fn peer<J: Chain>(
    subjects: &mut Subjects,
    skeleton: &Skeleton,
    characters: &[Vec<Transform>],
    want: &Rc<Vec<reference::Matrix>>,
) {
    let groups: Vec<Vec<J>> = grouped(characters);
    let room: Vec<Vec<J::Matrix>> =
        groups.iter().map(|group| group.iter().map(J::to_matrix).collect()).collect();
    let want = want.clone();
    subjects.peer(
        J::NAME,
        (skeleton.clone(), groups),
        room,
        |(skeleton, groups), models| {
            for (locals, model) in groups.iter().zip(models) {
                for (joint, local) in (0_u16..).zip(locals) {
                    let local = local.to_matrix();
                    model[usize::from(joint)] = match skeleton.parent(joint) {
                        Some(parent) => J::concat(&model[usize::from(parent)], &local),
                        None => local,
                    };
                }
            }
        },
        move |models| worst_matrices(by_character::<J>(models), want.iter()),
    );
}

/// All joints of the first character, then all of the second one, …
fn by_character<J: Chain>(models: &[Vec<J::Matrix>]) -> impl Iterator<Item = Affine> + '_ {
    models.iter().flat_map(|model| {
        let rows: Vec<Vec<Affine>> = model.iter().map(J::rows).collect();
        (0..J::LANES).flat_map(move |lane| rows.iter().map(|row| row[lane]).collect::<Vec<_>>())
    })
}
