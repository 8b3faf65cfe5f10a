//! From local transforms to matrices in model space.

use std::rc::Rc;

use condyle::{Affine, Pose, Skeleton, Transform, local_to_model, reference};

use super::{JOINTS, case, worst_matrices};
use crate::data::Random;
use crate::harness::{Case, Subjects};
use crate::peers::{self, Chain};

/// Ten numbers read, twelve written.
const BYTES: usize = 40 + 48;

pub(super) fn cases() -> Vec<Case> {
    vec![case("local_to_model_67", "blocks", JOINTS, BYTES, single)]
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
    peer::<peers::plain::Joint>(subjects, &skeleton, &characters, &want);
    #[cfg(feature = "peers")]
    {
        peer::<peers::glam::Joint>(subjects, &skeleton, &characters, &want);
        peer::<peers::nalgebra::Joint>(subjects, &skeleton, &characters, &want);
        peer::<peers::cgmath::Joint>(subjects, &skeleton, &characters, &want);
    }
}

/// What one writes: each joint as a matrix, times that of its parent. Characters lie in the lanes of a peer that has them,
/// else one after another.
fn peer<J: Chain>(
    subjects: &mut Subjects,
    skeleton: &Skeleton,
    characters: &[Vec<Transform>],
    want: &Rc<Vec<reference::Matrix>>,
) {
    let groups: Vec<Vec<J>> = characters
        .chunks(J::LANES)
        .map(|group| {
            let of = |joint: usize| group.iter().map(|character| character[joint]).collect::<Vec<_>>();
            (0..JOINTS).map(|joint| J::pack(&peers::filled(&of(joint), J::LANES))).collect()
        })
        .collect();
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
