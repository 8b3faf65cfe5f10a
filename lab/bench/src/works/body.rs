//! A body of 55 joints that matches goals of another pose to a millimetre, from rest or frame by frame.

use std::rc::Rc;

use condyle::{Joint, Pose, Skeleton, Transform};
use condyle_solve::full_body::{BodyBuffer, BodyOptions, Goal, body};
use condyle_testing::reference;

use super::{case, largest};
use crate::data::Random;
use crate::harness::{Case, Subjects};

/// Number of goal sets, solved from rest in turn.
const COLD: usize = 16;
/// Two seconds at 30 Hz, after which the motion repeats.
const FRAMES: usize = 60;
/// Error limit in metres.
const BOUND: f64 = 1e-3;

/// Hands, feet, head, chest and elbows.
const PARTS: [&str; 8] = ["hand.L", "hand.R", "foot.L", "foot.R", "head", "chest", "elbow.L", "elbow.R"];

pub(super) fn cases() -> Vec<Case> {
    vec![
        case("ik_body55_goals4_cold", "", COLD, 0, |subjects| cold(subjects, 4)),
        case("ik_body55_goals8_cold", "", COLD, 0, |subjects| cold(subjects, 8)),
        case("ik_body55_goals8_warm", "", FRAMES, 0, warm),
    ]
}

/// Body with fingers, jaw and eyes.
fn figure() -> Skeleton {
    let mut joints: Vec<Joint> = Vec::new();
    let mut add = |name: String, parent: Option<u16>, translation: [f32; 3]| {
        joints.push(Joint::new(name, parent, Transform { translation, ..Transform::IDENTITY }));
        joints.len() as u16 - 1
    };
    let hips = add("hips".into(), None, [0.0, 0.95, 0.0]);
    let low = add("spine".into(), Some(hips), [0.0, 0.12, 0.0]);
    let high = add("spine.2".into(), Some(low), [0.0, 0.14, 0.01]);
    let chest = add("chest".into(), Some(high), [0.0, 0.14, -0.01]);
    let neck = add("neck".into(), Some(chest), [0.0, 0.12, 0.0]);
    let head = add("head".into(), Some(neck), [0.0, 0.1, 0.02]);
    add("jaw".into(), Some(head), [0.0, 0.02, 0.06]);
    for (side, x) in [("L", 1.0_f32), ("R", -1.0)] {
        add(format!("eye.{side}"), Some(head), [0.03 * x, 0.07, 0.08]);
        let clavicle = add(format!("clavicle.{side}"), Some(chest), [0.07 * x, 0.06, 0.0]);
        let shoulder = add(format!("shoulder.{side}"), Some(clavicle), [0.12 * x, 0.0, 0.0]);
        let elbow = add(format!("elbow.{side}"), Some(shoulder), [0.2 * x, -0.2, 0.02]);
        let hand = add(format!("hand.{side}"), Some(elbow), [0.17 * x, -0.17, 0.03]);
        for finger in 0..5 {
            let mut at =
                add(format!("finger.{side}"), Some(hand), [0.07 * x, -0.05, 0.02 * (finger as f32 - 2.0)]);
            for _ in 0..2 {
                at = add(format!("finger.{side}"), Some(at), [0.025 * x, -0.015, 0.0]);
            }
        }
        let thigh = add(format!("thigh.{side}"), Some(hips), [0.1 * x, -0.05, 0.0]);
        let knee = add(format!("knee.{side}"), Some(thigh), [0.02 * x, -0.42, 0.02]);
        let foot = add(format!("foot.{side}"), Some(knee), [0.0, -0.41, -0.03]);
        add(format!("toe.{side}"), Some(foot), [0.0, -0.05, 0.14]);
    }
    assert_eq!(joints.len(), 55);
    Skeleton::new(joints).expect("parents come first")
}

/// Pose with every joint rotated about each axis by `turn`, and with the hips moved.
fn posed(skeleton: &Skeleton, mut turn: impl FnMut() -> f32) -> Pose {
    let mut pose = Pose::rest(skeleton);
    for joint in 0..pose.joint_count() {
        let mut t = pose.get(joint);
        let [x, y, z] = [turn() / 2.0, turn() / 2.0, turn() / 2.0];
        let length = (1.0 + x * x + y * y + z * z).sqrt();
        t.rotation = [x / length, y / length, z / length, 1.0 / length];
        if joint == 0 {
            t.translation.iter_mut().for_each(|v| *v += 0.3 * turn());
        }
        pose.set(joint, &t);
    }
    pose
}

/// Positions of these parts.
fn places(skeleton: &Skeleton, pose: &Pose, parts: &[u16]) -> Vec<[f64; 3]> {
    let model = reference::local_to_model(skeleton, &reference::locals(pose));
    parts.iter().map(|&part| model[usize::from(part)].map(|row| row[3])).collect()
}

struct Input {
    skeleton: Skeleton,
    parts: Vec<u16>,
    /// Goals of each target pose or frame.
    goals: Vec<Vec<Goal<'static>>>,
}

impl Input {
    fn new(parts: usize, poses: impl Fn(&Skeleton) -> Vec<Pose>) -> Rc<Self> {
        let skeleton = figure();
        let part = |name: &&str| skeleton.joint_by_name(name).expect("it has one");
        let parts: Vec<u16> = PARTS[..parts].iter().map(part).collect();
        let goals = poses(&skeleton).into_iter().map(|pose| {
            let places = places(&skeleton, &pose, &parts);
            parts
                .iter()
                .zip(places)
                .map(|(&part, place)| Goal::position(part, place.map(|v| v as f32)))
                .collect()
        });
        let goals = goals.collect();
        Rc::new(Self { skeleton, parts, goals })
    }

    fn solve(&self, at: usize, buffer: &mut BodyBuffer, pose: &mut Pose) {
        // Slightly below the limit, because the result is rounded.
        let options =
            BodyOptions { shift: Some((0, 1.0)), tolerance: Some(0.99e-3), ..BodyOptions::default() };
        body(&self.skeleton, &self.goals[at], &options, buffer, pose).expect("valid goals");
    }

    /// Largest residual.
    fn error(&self, at: usize, pose: &Pose) -> f64 {
        let got = places(&self.skeleton, pose, &self.parts);
        largest(got.iter().zip(&self.goals[at]).map(|(got, goal)| {
            let condyle_solve::full_body::GoalKind::Position { place, .. } = goal.kind else {
                return f64::NAN;
            };
            got.iter().zip(place).map(|(got, want)| (got - f64::from(want)).powi(2)).sum::<f64>().sqrt()
        }))
    }
}

fn cold(subjects: &mut Subjects, parts: usize) {
    let input = Input::new(parts, |skeleton| {
        let mut random = Random(14);
        (0..COLD).map(|_| posed(skeleton, || random.range(-0.6, 0.6))).collect()
    });
    let looked_at = input.clone();
    subjects.only_fast();
    subjects.kernel(
        "condyle",
        BOUND,
        &input,
        (BodyBuffer::default(), vec![Pose::rest(&input.skeleton); COLD]),
        |input, (buffer, poses)| {
            for (at, pose) in poses.iter_mut().enumerate() {
                pose.clone_from(input.skeleton.rest());
                input.solve(at, buffer, pose);
            }
        },
        move |(_, poses)| largest((0..COLD).map(|at| looked_at.error(at, &poses[at]))),
    );
}

fn warm(subjects: &mut Subjects) {
    let input = Input::new(PARTS.len(), |skeleton| {
        let frame = |frame: usize| {
            let (mut random, turns) = (Random(14), frame as f32 / FRAMES as f32);
            // Every angle swings once or twice in these two seconds.
            let swing = || {
                let (size, at, times) =
                    (random.range(0.1, 0.5), random.range(0.0, 1.0), random.range(1.0, 3.0) as i32);
                size * (std::f32::consts::TAU * (times as f32 * turns + at)).sin()
            };
            posed(skeleton, swing)
        };
        (0..FRAMES).map(frame).collect()
    });
    let looked_at = input.clone();
    subjects.only_fast();
    let rest = Pose::rest(&input.skeleton);
    subjects.kernel(
        "condyle",
        BOUND,
        &input,
        (BodyBuffer::default(), rest.clone(), vec![rest; FRAMES]),
        |input, (buffer, pose, poses)| {
            for (at, kept) in poses.iter_mut().enumerate() {
                input.solve(at, buffer, pose);
                kept.clone_from(pose);
            }
        },
        move |(_, _, poses)| largest((0..FRAMES).map(|at| looked_at.error(at, &poses[at]))),
    );
}
