//! Each defect is made on purpose in a clip without defects, and found where it is.

use condyle::sampling::PoseSource;
use condyle::{Error, Pose, Skeleton, Transform, example};

use super::{Kind, duplicates, inspect};
use crate::rig::{Hints, find};

/// A clip whose poses are changed.
struct Changed<F>(F);

impl<F: Fn(f64, &mut Pose)> PoseSource for Changed<F> {
    fn start(&self) -> f64 {
        0.0
    }

    fn end(&self) -> f64 {
        2.0
    }

    fn pose(&self, skeleton: &Skeleton, seconds: f64, pose: &mut Pose) -> Result<(), Error> {
        // Breath in place: closed after two seconds.
        *pose = Pose::rest(skeleton);
        let angle = 0.1 * (core::f64::consts::PI * seconds).sin();
        turn(pose, example::HIPS, [1.0, 0.0, 0.0], 0.05 * angle);
        turn(pose, example::ARM_L[0], [0.0, 0.0, 1.0], angle);
        turn(pose, example::ARM_R[0], [0.0, 0.0, 1.0], angle);
        (self.0)(seconds, pose);
        Ok(())
    }

    fn weights(&self, _: u32, _: f64, _: &mut [f32]) -> Result<(), Error> {
        Ok(())
    }
}

fn turn(pose: &mut Pose, joint: u16, axis: [f32; 3], angle: f64) {
    let local = pose.get(joint.into());
    let (sin, cos) = (angle / 2.0).sin_cos();
    let by = [axis[0] * sin as f32, axis[1] * sin as f32, axis[2] * sin as f32, cos as f32];
    let rotation = condyle_base::math::quats::product(local.rotation.map(f64::from), by.map(f64::from));
    pose.set(joint.into(), &Transform { rotation: rotation.map(|v| v as f32), ..local });
}

fn shift(pose: &mut Pose, joint: u16, by: [f32; 3]) {
    let local = pose.get(joint.into());
    let translation = core::array::from_fn(|c| local.translation[c] + by[c]);
    pose.set(joint.into(), &Transform { translation, ..local });
}

fn kinds(change: impl Fn(f64, &mut Pose)) -> Vec<(Kind, u16, f64)> {
    let times: Vec<f64> = (0..=60).map(|frame| f64::from(frame) / 30.0).collect();
    let skeleton = example::skeleton();
    let map = find(&skeleton, &Hints::default()).expect("a humanoid").humanoid;
    let found = inspect(&skeleton, Some(&map), &Changed(change), &times).expect("a clip");
    found.iter().map(|defect| (defect.kind, defect.joint, defect.seconds)).collect()
}

#[test]
fn clips_without_faults_have_none() {
    assert_eq!(kinds(|_, _| ()), []);
    // Fast movement is no defect: a turn of 720 degrees per second.
    assert_eq!(kinds(|at, pose| turn(pose, example::ARM_L[1], [0.0, 1.0, 0.0], 12.56637 * at)), []);
    // A glide of three metres neither drifts nor jumps, and no foot stands.
    assert_eq!(kinds(|at, pose| shift(pose, example::HIPS, [0.0, 0.0, 1.5 * at as f32])), []);
}

#[test]
fn each_fault_is_found_at_its_moment() {
    let near = |at: f64, moment: f64| (at - moment).abs() < 0.01;
    let spike = |at: f64, pose: &mut Pose| {
        if near(at, 1.0) {
            turn(pose, example::ARM_L[1], [1.0, 0.0, 0.0], 0.6);
        }
    };
    assert_eq!(kinds(spike), [(Kind::Spike, example::ARM_L[1], 1.0)]);
    let flip = |at: f64, pose: &mut Pose| {
        if at > 0.49 {
            turn(pose, example::ARM_R[1], [1.0, 0.0, 0.0], 3.0);
        }
    };
    let found = kinds(flip);
    // The pose after the flip is not the first one, so the clip is not a loop.
    assert!(found.contains(&(Kind::Flip, example::ARM_R[1], 0.5)), "{found:?}");
    let jump = |at: f64, pose: &mut Pose| {
        if at > 0.99 {
            shift(pose, example::HIPS, [0.5, 0.0, 0.0]);
        }
    };
    assert_eq!(kinds(jump), [(Kind::Jump, example::HIPS, 1.0)]);
    let rest = |at: f64, pose: &mut Pose| match at {
        0.0 => *pose = Pose::rest(&example::skeleton()),
        _ => shift(pose, example::HIPS, [0.0, 0.3, 0.0]),
    };
    assert_eq!(kinds(rest)[0].0, Kind::RestFrame);
    let stretch = |at: f64, pose: &mut Pose| {
        shift(pose, example::ARM_L[1], [0.05 * (core::f32::consts::PI * at as f32).sin(), 0.0, 0.0]);
    };
    assert_eq!(kinds(stretch)[0].0, Kind::Stretch);
    let drift = |at: f64, pose: &mut Pose| {
        let sway = 0.1 * (core::f64::consts::PI * at).sin();
        shift(pose, example::HIPS, [sway as f32 + 0.02 * at as f32, 0.0, 0.0]);
    };
    let found = kinds(drift);
    // The sway of 10 cm is at most 0.31 m/s fast, so the feet slide too.
    assert_eq!(found[0], (Kind::Drift, example::HIPS, 2.0));
    assert!(found.len() == 3 && found[1..].iter().all(|(kind, ..)| *kind == Kind::Slide), "{found:?}");
    let turned = |at: f64, pose: &mut Pose| turn(pose, example::HIPS, [0.0, 1.0, 0.0], 0.05 * at);
    assert_eq!(kinds(turned), [(Kind::Turn, example::HIPS, 2.0)]);
    let slide = |at: f64, pose: &mut Pose| {
        let sway = 0.1 * (0.5 * core::f64::consts::PI * at).sin();
        shift(pose, example::HIPS, [0.0, 0.0, sway as f32]);
    };
    let found = kinds(slide);
    assert!(found.iter().filter(|(kind, ..)| *kind == Kind::Slide).count() == 2, "{found:?}");
    let seam = |at: f64, pose: &mut Pose| turn(pose, example::ARM_L[0], [0.0, 0.0, 1.0], 0.05 * at);
    let found = kinds(seam);
    assert!(matches!(found[..], [(Kind::Seam, _, 2.0)]), "{found:?}");
}

#[test]
fn equal_clips_are_found() {
    let skeleton = example::skeleton();
    let (a, b) = (Changed(|_, _: &mut Pose| ()), Changed(|_, _: &mut Pose| ()));
    let (walk, wave) = (example::walk(), example::wave());
    assert_eq!(duplicates(&skeleton, &[&walk, &a, &wave, &b]), Ok(vec![(1, 3)]));
}

#[test]
fn wrong_times_are_refused() {
    let skeleton = example::skeleton();
    let walk = example::walk();
    let refused = inspect(&skeleton, None, &walk, &[0.0, 1.0, 0.5]);
    assert_eq!(refused, Err(Error::KeyOrder { timeline: 0, key: 2 }));
    assert_eq!(inspect(&skeleton, None, &walk, &[]), Ok(Vec::new()));
    assert_eq!(inspect(&skeleton, None, &walk, &[0.5]), Ok(Vec::new()));
}
