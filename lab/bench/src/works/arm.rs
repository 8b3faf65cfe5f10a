//! A robot arm with seven hinges that reaches goals for the position, or for position and orientation. Every
//! goal belongs to an allowed pose. Each solve starts from the arm stretched straight up.

use std::rc::Rc;

use condyle::{Affine, Joint, Pose, Skeleton, Transform, local_to_model};
use condyle_solve::{Chain, JointLimit, Limits, Orientation, chain};
use condyle_testing::reference;

use super::{case, largest};
use crate::data::Random;
use crate::harness::{Case, Subjects};

/// Number of goals. All of them must be reached.
const GOALS: usize = 500;
/// Error limit in metres and radians.
const BOUND: f64 = 1e-3;
/// Joints that rotate, and the tip.
const TURNING: [u16; 7] = [0, 1, 2, 3, 4, 5, 6];
const TIP: u16 = 7;

pub(super) fn cases() -> Vec<Case> {
    vec![
        case("ik_arm7_position", "", GOALS, 0, |subjects| reach(subjects, false)),
        case("ik_arm7_pose", "", GOALS, 0, |subjects| reach(subjects, true)),
    ]
}

/// Limit of a hinge to either side: hinges along the arm and hinges across it.
fn most(joint: u16) -> f32 {
    if joint.is_multiple_of(2) { 2.9 } else { 2.0 }
}

fn axis(joint: u16) -> [f32; 3] {
    if joint.is_multiple_of(2) { [0.0, 0.0, 1.0] } else { [0.0, 1.0, 0.0] }
}

/// Position and rotation of the tip.
type Place = ([f32; 3], [f32; 4]);

fn place(skeleton: &Skeleton, pose: &Pose) -> Place {
    let matrix = reference::local_to_model(skeleton, &reference::locals(pose))[usize::from(TIP)];
    let turned = pose.transforms().fold([0.0, 0.0, 0.0, 1.0], |turned, joint| {
        reference::quat_product(turned, joint.rotation.map(f64::from))
    });
    (matrix.map(|row| row[3] as f32), turned.map(|v| v as f32))
}

struct Input {
    skeleton: Skeleton,
    /// Model matrices of the rest pose.
    model: Vec<Affine>,
    limits: Limits,
    goals: Vec<Place>,
    poses: bool,
}

impl Input {
    fn new(poses: bool) -> Self {
        let lengths = [0.0, 0.34, 0.0, 0.4, 0.0, 0.4, 0.0, 0.126];
        let joint = |(at, z): (u16, f32)| {
            let rest = Transform { translation: [0.0, 0.0, z], ..Transform::IDENTITY };
            Joint::new(format!("joint {at}"), at.checked_sub(1), rest)
        };
        let skeleton = Skeleton::new((0..).zip(lengths).map(joint)).expect("parents come first");
        let hinge = |joint| (joint, JointLimit::hinge(axis(joint), [-most(joint), most(joint)]));
        let limits = Limits::new(&skeleton, TURNING.map(hinge)).expect("hinges");
        let mut model = vec![Affine::IDENTITY; skeleton.joint_count()];
        local_to_model(&skeleton, skeleton.rest(), &mut model).expect("sizes agree");
        let mut random = Random(14);
        let mut goal = || {
            let mut pose = Pose::rest(&skeleton);
            for joint in TURNING {
                let (sin, cos) = (random.range(-most(joint), most(joint)) / 2.0).sin_cos();
                let [x, y, z] = axis(joint).map(|v| v * sin);
                let at = usize::from(joint);
                pose.set(at, &Transform { rotation: [x, y, z, cos], ..pose.get(at) });
            }
            place(&skeleton, &pose)
        };
        let goals = (0..GOALS).map(|_| goal()).collect();
        Self { skeleton, model, limits, goals, poses }
    }

    fn solve(&self, (goal, turned): &Place, pose: &mut Pose) {
        // Slightly below the limit, because the result is rounded.
        let orientation = Orientation { tolerance: 0.99e-3, ..Orientation::new(*turned) };
        let asked = Chain {
            orientation: self.poses.then_some(orientation),
            tolerance: 0.99e-3,
            limits: Some(&self.limits),
            ..Chain::new(&TURNING, TIP, *goal)
        };
        chain(&self.skeleton, &self.model, &asked, pose).expect("valid goals");
    }

    /// Larger of the position error in metres and the angle error in radians.
    fn error(&self, (goal, wanted): &Place, pose: &Pose) -> f64 {
        let (got, turned) = place(&self.skeleton, pose);
        let square = |(a, b): (&f32, &f32)| (f64::from(*a) - f64::from(*b)).powi(2);
        let distance = got.iter().zip(goal).map(square).sum::<f64>().sqrt();
        if !self.poses {
            return distance;
        }
        // The distance between two quaternions is twice the sine of a quarter of the angle.
        let back = turned.map(|v| -v);
        let apart = [turned, back].map(|q| q.iter().zip(wanted).map(square).sum::<f64>().sqrt());
        distance.max(4.0 * (apart[0].min(apart[1]) / 2.0).asin())
    }
}

fn reach(subjects: &mut Subjects, poses: bool) {
    let input = Rc::new(Input::new(poses));
    let looked_at = input.clone();
    subjects.only_fast();
    subjects.kernel(
        "condyle",
        BOUND,
        &input,
        vec![Pose::rest(&input.skeleton); GOALS],
        |input, poses| {
            for (goal, pose) in input.goals.iter().zip(poses) {
                pose.clone_from(input.skeleton.rest());
                input.solve(goal, pose);
            }
        },
        move |poses| {
            largest(looked_at.goals.iter().zip(poses).map(|(goal, pose)| looked_at.error(goal, pose)))
        },
    );
}
