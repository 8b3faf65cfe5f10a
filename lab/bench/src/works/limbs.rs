//! Arms and legs that reach, and heads that look: one limb of each of many characters.

use std::rc::Rc;

use condyle::{Affine, Pose, Skeleton, local_to_model};
use condyle_solve::{Aim, TwoBone};
use condyle_testing::reference;

use super::{JOINTS, case, largest};
use crate::data::Random;
use crate::harness::{Case, Subjects};

/// Number of characters, used in turn. Together they fill the L1 cache.
const FEW: usize = 64;
/// Error limit in metres.
const BOUND: f64 = 1e-6;
/// Shoulder, elbow and hand.
const LIMB: [u16; 3] = [44, 45, 46];

pub(super) fn cases() -> Vec<Case> {
    vec![
        case("ik_two_bone", "", FEW, 0, |subjects| alone(subjects, |input, at| input.reach(at, false))),
        case("ik_two_bone_pole", "", FEW, 0, |subjects| alone(subjects, |input, at| input.reach(at, true))),
        case("ik_aim", "", FEW, 0, aim),
    ]
}

struct Input {
    skeleton: Skeleton,
    poses: Vec<Pose>,
    /// Model matrices of all poses, concatenated.
    models: Vec<Affine>,
    goals: Vec<[f32; 3]>,
    poles: Vec<[f32; 3]>,
}

impl Input {
    fn new(count: usize) -> Rc<Self> {
        let mut random = Random(17);
        let skeleton = random.skeleton(JOINTS);
        let (mut poses, mut models, mut goals, mut poles) = (vec![], vec![], vec![], vec![]);
        for _ in 0..count {
            let mut pose = random.pose(JOINTS);
            for joint in &LIMB[1..] {
                let t = pose.get(usize::from(*joint));
                let size = t.translation.iter().map(|v| v * v).sum::<f32>().sqrt();
                // Bones of 30 cm.
                let translation = t.translation.map(|v| 0.3 / size * v);
                pose.set(usize::from(*joint), &condyle::Transform { translation, ..t });
            }
            let mut model = vec![Affine::IDENTITY; JOINTS];
            local_to_model(&skeleton, &pose, &mut model).expect("sizes agree");
            let place = |joint: u16| model[usize::from(joint)].transform_point([0.0; 3]);
            let far = |a: [f32; 3], b: [f32; 3]| {
                a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f32>().sqrt()
            };
            let [shoulder, elbow, hand] = LIMB.map(place);
            let reach = far(shoulder, elbow) + far(elbow, hand);
            let (way, part) = (random.transforms(1)[0].translation, random.range(0.3, 0.95));
            let size = far(way, [0.0; 3]);
            goals.push([0, 1, 2].map(|c| shoulder[c] + way[c] * (part * reach / size)));
            poles.push(random.transforms(1)[0].translation);
            models.append(&mut model);
            poses.push(pose);
        }
        Rc::new(Self { skeleton, poses, models, goals, poles })
    }

    fn reach(&self, at: usize, has_pole: bool) -> TwoBone<'static> {
        TwoBone { pole: has_pole.then_some(self.poles[at]), ..TwoBone::new(LIMB, self.goals[at]) }
    }

    fn model(&self, at: usize) -> &[Affine] {
        &self.models[at * JOINTS..][..JOINTS]
    }

    /// Maximum distance from the hand to the goal over all characters.
    fn residual(&self, poses: &[Pose]) -> f64 {
        largest(poses.iter().zip(&self.goals).map(|(pose, goal)| {
            let model = reference::local_to_model(&self.skeleton, &reference::locals(pose));
            let off = model[usize::from(LIMB[2])].iter().zip(goal);
            off.map(|(row, goal)| (row[3] - f64::from(*goal)).powi(2)).sum::<f64>().sqrt()
        }))
    }

    /// Maximum distance from the goal to the ray along +Z of the shoulder.
    fn missed(&self, poses: &[Pose]) -> f64 {
        largest(poses.iter().zip(&self.goals).map(|(pose, goal)| {
            let model = reference::local_to_model(&self.skeleton, &reference::locals(pose));
            let m = model[usize::from(LIMB[0])];
            let (axis, to) = (m.map(|row| row[2]), [0, 1, 2].map(|c| f64::from(goal[c]) - m[c][3]));
            let dot = |a: [f64; 3], b: [f64; 3]| a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
            let along = (dot(axis, to) / dot(axis, axis)).max(0.0);
            let off = [0, 1, 2].map(|c| to[c] - along * axis[c]);
            dot(off, off).sqrt()
        }))
    }
}

fn alone(subjects: &mut Subjects, reach: impl Fn(&Input, usize) -> TwoBone<'static> + Copy + 'static) {
    let input = Input::new(FEW);
    let looked_at = input.clone();
    subjects.only_fast();
    subjects.kernel(
        "condyle",
        BOUND,
        &input,
        input.poses.clone(),
        move |input, poses| {
            for (at, pose) in poses.iter_mut().enumerate() {
                let reached =
                    condyle_solve::two_bone(&input.skeleton, input.model(at), &reach(input, at), pose);
                reached.expect("a limb");
            }
        },
        move |poses| looked_at.residual(poses),
    );
}

fn aim(subjects: &mut Subjects) {
    let input = Input::new(FEW);
    let looked_at = input.clone();
    subjects.only_fast();
    subjects.kernel(
        "condyle",
        BOUND,
        &input,
        input.poses.clone(),
        |input, poses| {
            for (at, pose) in poses.iter_mut().enumerate() {
                let look = Aim::new(LIMB[0], [0.0, 0.0, 1.0], input.goals[at]);
                condyle_solve::aim(&input.skeleton, input.model(at), &look, pose).expect("a joint");
            }
        },
        move |poses| looked_at.missed(poses),
    );
}
