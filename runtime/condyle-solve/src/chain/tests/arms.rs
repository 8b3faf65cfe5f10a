//! Tests of arms with hinge joints, and of straight chains.

use std::vec::Vec;

use super::METHODS;
use crate::chain::{Chain, ChainMethod, Orientation, chain};
use crate::limits::tests::broken;
use crate::limits::{JointLimit, Limits, Swing};
use crate::maps::{Vec64, length, turned_above, wide};
use crate::testing::model_of;
use condyle::pose::Pose;
use condyle::skeleton::Skeleton;
use condyle::{Joint, Transform};
use condyle_base::math::Quat;
use condyle_base::math::quats::product;
use condyle_base::math::scalar::{atan2_f64, sin_cos_f64};
use condyle_testing::{Random, cases, tries};

/// Seven hinges like an industrial arm: alternately about the arm's direction and perpendicular to it.
fn arm7() -> (Skeleton, Limits) {
    let along = |z| Transform { translation: [0.0, 0.0, z], ..Transform::IDENTITY };
    let lengths = [0.0, 0.34, 0.0, 0.4, 0.0, 0.4, 0.0, 0.126];
    let joints = (0_u16..8).zip(lengths).map(|(at, z)| Joint::new("arm", at.checked_sub(1), along(z)));
    let skeleton = Skeleton::new(joints).expect("a chain");
    let hinge = |at: u16| {
        let axis = if at.is_multiple_of(2) { [0.0, 0.0, 1.0] } else { [0.0, 1.0, 0.0] };
        let most = if at.is_multiple_of(2) { 2.9 } else { 2.0 };
        (at, JointLimit::hinge(axis, [-most, most]))
    };
    let limits = Limits::new(&skeleton, (0..7).map(hinge)).expect("hinges");
    (skeleton, limits)
}

/// The arm in a random pose within its range, and the position and orientation of its last joint.
fn turned_arm(skeleton: &Skeleton, random: &mut Random) -> (Pose, Vec64, Quat) {
    let mut pose = Pose::rest(skeleton);
    for joint in 0..7_u16 {
        let most = if joint.is_multiple_of(2) { 2.9 } else { 2.0 };
        let (sin, cos) = sin_cos_f64(f64::from(random.range(-most, most)) / 2.0);
        let (sin, cos) = (sin as f32, cos as f32);
        let rotation = if joint.is_multiple_of(2) { [0.0, 0.0, sin, cos] } else { [0.0, sin, 0.0, cos] };
        pose.set(joint.into(), &Transform { rotation, ..pose.get(joint.into()) });
    }
    let place = crate::testing::point(&crate::testing::matrix(skeleton, &pose, 7), [0.0; 3]);
    let turned = product(turned_above(skeleton, &pose, 7).expect("a valid pose"), wide(pose.get(7).rotation));
    (pose, place, turned.map(|v| v as f32))
}

#[test]
fn an_arm_of_seven_hinges_reaches_places_and_poses() {
    let (skeleton, limits) = arm7();
    let joints: Vec<u16> = (0..7).collect();
    // The number of cases is not reduced in an emulator, because the bounds below are statistical.
    let all = cases(500).max(tries(500)) as u32;
    // Reached goals per thousand, and mean number of rounds. The arm starts in a random pose, or stretched
    // straight up, where every second hinge has no effect.
    let solve = |method, iterations, any: bool, poses: bool| {
        let mut random = Random(4);
        let (mut done, mut rounds) = (0, 0);
        for _ in 0..all {
            let (_, goal, turned) = turned_arm(&skeleton, &mut random);
            let (start, ..) = turned_arm(&skeleton, &mut random);
            let mut pose = if any { start } else { Pose::rest(&skeleton) };
            let asked = Chain {
                method,
                iterations,
                orientation: poses.then(|| Orientation::new(turned)),
                tolerance: 1e-3,
                limits: Some(&limits),
                ..Chain::new(&joints, 7, goal.map(|v| v as f32))
            };
            let model = model_of(&skeleton, &pose);
            let reached = chain(&skeleton, &model, &asked, &mut pose).expect("an arm");
            rounds += reached.iterations;
            done += u32::from(reached.distance <= 1.001e-3 && reached.angle <= 1.001e-3);
            for joint in 0..7_u16 {
                assert!(broken(limits.get(joint), pose.get(joint.into()).rotation) < 1e-5);
            }
        }
        [1000 * done / all, rounds / all]
    };
    let squares = ChainMethod::LeastSquares { restarts: 4 };
    for (method, iterations, any, poses, least, mean) in [
        (squares, 50, false, false, 999, 8),
        (squares, 50, false, true, 995, 10),
        (squares, 50, true, false, 999, 8),
        (squares, 50, true, true, 995, 13),
        (METHODS[1], 100, false, false, 930, 25),
        (METHODS[1], 1000, false, true, 900, 250),
    ] {
        let found = solve(method, iterations, any, poses);
        assert!(
            cfg!(miri) || found[0] >= least && found[1] <= mean,
            "{method:?}, any start: {any}, poses: {poses}: {found:?}"
        );
    }
}

/// All bones are on a line with the goal, so no joint has a gradient.
#[test]
fn a_straight_chain_bends() {
    let along = |z| Transform { translation: [0.0, 0.0, z], ..Transform::IDENTITY };
    let joints = (0_u16..5).map(|at| Joint::new("joint", at.checked_sub(1), along(0.25)));
    let skeleton = Skeleton::new(joints).expect("a chain");
    let cone = |at| (at, JointLimit { swing: Swing::Cone(1.5), ..JointLimit::free([0.0, 0.0, 1.0]) });
    let hinge = |at| (at, JointLimit::hinge([1.0, 0.0, 0.0], [-1.5, 1.5]));
    let cones = Limits::new(&skeleton, (0..4).map(cone)).expect("cones");
    let hinges = Limits::new(&skeleton, (0..4).map(hinge)).expect("hinges");
    let model = model_of(&skeleton, skeleton.rest());
    for method in [ChainMethod::LeastSquares { restarts: 0 }, METHODS[1], METHODS[2]] {
        for limits in [None, Some(&cones), Some(&hinges)] {
            let mut pose = Pose::rest(&skeleton);
            let asked = Chain { method, limits, ..Chain::new(&[0, 1, 2, 3], 4, [0.0, 0.0, 0.9]) };
            let reached = chain(&skeleton, &model, &asked, &mut pose).expect("a chain");
            assert!(reached.distance <= 1e-4, "{method:?} {limits:?}: {reached:?}");
        }
    }
}

/// Compares with the global optimum for two hinges in a plane.
#[test]
fn what_limits_forbid_is_approached_as_near_as_can_be() {
    let mut random = Random(9);
    let mut missed = 0;
    let all = cases(200);
    for try_ in 0..all {
        let length = random.range(0.2, 0.6);
        let along = |x| Transform { translation: [x, 0.0, 0.0], ..Transform::IDENTITY };
        let joints = [(None, 0.0), (Some(0), length), (Some(1), 0.5)];
        let joints = joints.map(|(parent, x)| Joint::new("joint", parent, along(x)));
        let skeleton = Skeleton::new(joints).expect("an arm");
        let range = || {
            let least = random.range(-2.0, 1.0);
            [least, least + random.range(0.1, 2.0)]
        };
        let ranges: [[f32; 2]; 2] = core::array::from_fn({
            let mut range = range;
            move |_| range()
        });
        let hinge = |at: u16| (at, JointLimit::hinge([0.0, 0.0, 1.0], ranges[usize::from(at)]));
        let limits = Limits::new(&skeleton, (0..2).map(hinge)).expect("hinges");
        let goal = [random.range(-1.0, 1.0), random.range(-1.0, 1.0), 0.0];
        let mut pose = Pose::rest(&skeleton);
        // Each of the four corners of the ranges may be a local minimum.
        let method = ChainMethod::LeastSquares { restarts: 30 };
        let asked = Chain { method, limits: Some(&limits), iterations: 500, ..Chain::new(&[0, 1], 2, goal) };
        let model = model_of(&skeleton, &pose);
        let reached = chain(&skeleton, &model, &asked, &mut pose).expect("an arm");
        let want = nearest_in_plane([length.into(), 0.5], ranges, goal.map(f64::from));
        missed += usize::from(f64::from(reached.distance) > want + 1e-4);
        assert!(f64::from(reached.distance) > want - 1e-4, "{try_}: {reached:?} and {want}");
    }
    assert!(missed * 100 <= 3 * all, "{missed} of {all}");
}

/// Global optimum in closed form. Either the tip is at the goal, or the elbow is straight or folded, or a
/// joint is at the end of its range.
fn nearest_in_plane([upper, lower]: [f64; 2], ranges: [[f32; 2]; 2], goal: Vec64) -> f64 {
    let [first, second] = ranges.map(|range| range.map(f64::from));
    let round = core::f64::consts::TAU;
    let within = |angle: f64, [least, most]: [f64; 2]| {
        (-2..=2).any(|turns| (least - 1e-12..=most + 1e-12).contains(&(angle + f64::from(turns) * round)))
    };
    let direction = |[x, y]: [f64; 2]| atan2_f64(y, x);
    let arm = |bend: f64| {
        let (sin, cos) = sin_cos_f64(bend);
        [upper + lower * cos, lower * sin]
    };
    let mut all = Vec::new();
    let cos = (goal[0] * goal[0] + goal[1] * goal[1] - upper * upper - lower * lower) / (2.0 * upper * lower);
    let bend = if cos.abs() <= 1.0 { atan2_f64((1.0 - cos * cos).sqrt(), cos) } else { 0.0 };
    for bend in [bend, -bend, 0.0, round / 2.0, second[0], second[1]] {
        all.extend([
            [direction([goal[0], goal[1]]) - direction(arm(bend)), bend],
            [first[0], bend],
            [first[1], bend],
        ]);
    }
    for turn in first {
        let (sin, cos) = sin_cos_f64(turn);
        all.push([turn, direction([goal[0] - upper * cos, goal[1] - upper * sin]) - turn]);
    }
    let allowed = all.into_iter().filter(|&[turn, bend]| within(turn, first) && within(bend, second));
    let off = |[turn, bend]: [f64; 2]| {
        let ([x, y], (sin, cos)) = (arm(bend), sin_cos_f64(turn));
        length([cos * x - sin * y - goal[0], sin * x + cos * y - goal[1], 0.0])
    };
    allowed.map(off).fold(f64::INFINITY, f64::min)
}
