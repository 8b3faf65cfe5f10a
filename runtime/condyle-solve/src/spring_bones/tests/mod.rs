mod hostile;
mod naive;

use std::vec;
use std::vec::Vec;

use super::*;
use crate::testing::{Case, Scales, apart as far, matrix, point};
use condyle_base::simd::Dispatch;
use condyle_testing::{Random, assert_portable, cases, tries};
use naive::{Naive, Scene, angle};

/// Runs a scene at a frame rate. Returns the pose of each call.
fn run(scene: &Scene, rate: f64, calls: usize) -> Vec<Pose> {
    let mut state = SpringState::new(&scene.springs);
    let mut poses = Vec::new();
    for call in 0..calls {
        let (mut pose, model, to_world) = scene.at(call as f64 / rate);
        let tick = Tick { to_world, ..Tick::new((1.0 / rate) as f32) };
        springs(&scene.skeleton, &model, &scene.springs, &tick, &mut state, &mut pose)
            .expect("finite values");
        poses.push(pose);
    }
    poses
}

/// The output is one step behind the reference.
#[test]
fn it_is_the_specification() {
    let (mut all, mut early) = (Vec::new(), Vec::new());
    for seed in 0..cases(40) as u64 {
        let mut scene = Scene::new(seed, 12 + seed as usize % 40);
        scene.mirrored = seed % 4 == 3;
        let poses = run(&scene, 60.0, tries(90));
        let mut naive = Naive::new(&scene);
        let mut worst = 0.0_f64;
        for (call, shown) in poses[1..].iter().enumerate() {
            let (pose, _, to_world) = scene.at(call as f64 / 60.0);
            naive.step(&pose, &to_world, STEP);
            for joint in scene.springs.joints().map(usize::from) {
                worst = worst.max(angle(shown.get(joint).rotation, naive.rotations[joint]));
            }
            if call == 10 {
                early.push(worst);
            }
        }
        all.push(worst);
    }
    // The given percentile.
    let of = |all: &mut Vec<f64>, hundredths: usize| {
        all.sort_by(f64::total_cmp);
        all.get(all.len() * hundredths / 100).copied().unwrap_or_default()
    };
    let found = [of(&mut early, 98), of(&mut all, 50), of(&mut all, 90)];
    // The rounding error of f32 matrices grows if several colliders push a tail back and forth.
    assert!(found[0] < 2e-4 && found[1] < 1e-5 && found[2] < 5e-4, "{found:?}");
}

/// Returns the maximum angle between the outputs of two frame rates at the same times, and the root mean
/// square angle.
fn apart(scene: &Scene, a: f64, b: f64, seconds: usize) -> (f64, f64) {
    // Sixths of a second are whole frames at all compared rates.
    let [first, second] = [a, b].map(|rate| run(scene, rate, (rate * seconds as f64) as usize + 1));
    let (mut worst, mut sum, mut count) = (0.0_f64, 0.0, 0.0);
    for sixth in 0..6 * seconds {
        let [first, second] =
            [(a, &first), (b, &second)].map(|(rate, poses)| &poses[sixth * (rate / 6.0) as usize]);
        for joint in scene.springs.joints().map(usize::from) {
            let off = angle(first.get(joint).rotation, naive::unit(second.get(joint).rotation));
            worst = worst.max(off);
            sum += off * off;
            count += 1.0;
        }
    }
    (worst, (sum / f64::max(count, 1.0)).sqrt())
}

/// Tests that the frame rate changes the motion of hair only slightly. Figures: docs/accuracy.md, "Springs".
#[test]
fn frame_rates_agree() {
    let scene = Scene::hair(12);
    for (a, b, most, mean) in [
        (60.0, 144.0, 0.001, 0.0001),
        (60.0, 600.0, 1e-6, 1e-7),
        (30.0, 144.0, 0.02, 0.002),
        (30.0, 60.0, 0.02, 0.002),
    ] {
        let (worst, root_mean_square) = apart(&scene, a, b, tries(10));
        assert!(worst < most && root_mean_square < mean, "{a} and {b}: {worst}, {root_mean_square}");
    }
}

/// Tests random characters with colliders. A tail that passes a collider on the other side stays there, so
/// the maximum angle has outliers. The test therefore checks its median and 90th percentile. Figures:
/// docs/accuracy.md, "Springs".
#[test]
fn frame_rates_agree_less_between_colliders() {
    for (a, b, median, nine_tenths) in [(60.0, 144.0, 0.002, 0.035), (30.0, 60.0, 0.036, 0.45)] {
        let scenes = (0..cases(40) as u64).map(|seed| Scene::new(seed, 12 + seed as usize % 40));
        let mut worst: Vec<f64> = scenes.map(|scene| apart(&scene, a, b, tries(3)).0).collect();
        worst.sort_by(f64::total_cmp);
        let found = [worst[worst.len() / 2], worst[worst.len() * 9 / 10]];
        assert!(found[0] < median && found[1] < nine_tenths, "{a} and {b}: {found:?}");
    }
}

/// Intervals with no step, and intervals with more steps than a call runs.
const SECONDS: [f32; 8] = [0.016_666_668, 0.004, 0.05, 0.0, 0.3, 1e-30, 1e9, 0.0167];

/// Bit-identical at any frame rate and for any number of characters, independent of the other characters.
#[test]
fn a_crowd_is_as_each_alone() {
    for (seed, count) in [(3, 1), (12, 4), (19, 7), (27, 9), (33, 2), (36, 17)] {
        let scene = Scene::new(seed, 12 + seed as usize);
        for dispatch in Dispatch::all() {
            let mut states = std::vec![SpringState::new(&scene.springs); count];
            let (mut alone, mut buffer) = (states.clone(), CrowdBuffer::default());
            for frame in 0..tries(24) {
                let at = |i: usize| scene.at(frame as f64 / 40.0 + i as f64);
                let ticks = |i: usize| Tick {
                    to_world: at(i).2,
                    weight: [1.0, 0.3, 0.0, 1.0][(i + frame) % 4],
                    force: [0.1 * i as f32, 0.0, 0.0],
                    ..Tick::new(SECONDS[(i * i + frame) % 8])
                };
                let mut poses: Vec<Pose> = (0..count).map(|i| at(i).0).collect();
                let models: Vec<Affine> = (0..count).flat_map(|i| at(i).1).collect();
                let mut want = poses.clone();
                if frame == 10 {
                    for states in [&mut states, &mut alone] {
                        states[count / 2].reset();
                        states[0].teleport(&at(0).2);
                    }
                }
                dispatch.scope(|| {
                    crowd(
                        &scene.skeleton,
                        &models,
                        &scene.springs,
                        ticks,
                        &mut buffer,
                        &mut states,
                        &mut poses,
                    )
                    .expect("finite values");
                });
                for (i, (pose, state)) in want.iter_mut().zip(&mut alone).enumerate() {
                    springs(&scene.skeleton, &at(i).1, &scene.springs, &ticks(i), state, pose)
                        .expect("finite values");
                }
                let bits = |poses: &[Pose]| -> Vec<[u32; 4]> {
                    let all = poses.iter().flat_map(|pose| pose.transforms());
                    all.map(|t| t.rotation.map(f32::to_bits)).collect()
                };
                assert_eq!(bits(&poses), bits(&want), "{dispatch}, seed {seed}, frame {frame}");
            }
        }
    }
}

#[test]
fn the_bits_are_the_same_everywhere() {
    assert_portable(0x83cc_8127_0803_a063, |hash| {
        let scene = Scene::new(27, 39);
        for pose in run(&scene, 45.0, 40) {
            pose.transforms().for_each(|t| hash.add(&t.rotation));
        }
    });
}

/// If the pose has the rotations of the last step, its tails are at the simulated positions, for all kinds of
/// scale.
#[test]
fn tails_are_where_the_pose_has_them() {
    for scales in [Scales::Even, Scales::UnevenAbove, Scales::Uneven] {
        let mut random = Random(7);
        for case in 0..tries(50) {
            let it = Case::new(&mut random, 4, case % 3, scales);
            let settings = it.joints.iter().map(|&joint| SpringJoint {
                gravity: random.vector(3.0),
                drag: 0.2,
                ..SpringJoint::new(joint)
            });
            let list = [Spring { end: Some([0.1, 0.2, 0.0]), ..Spring::new(settings.collect::<Vec<_>>()) }];
            let all = Springs::new(&it.skeleton, &list, &[]).expect("valid springs");
            let mut state = SpringState::new(&all);
            let mut pose = it.pose.clone();
            let mut to_world = Affine::IDENTITY;
            for frame in 0..20 {
                to_world.rows[0][3] = 0.1 * frame as f32;
                let tick = Tick { to_world, ..Tick::new(1.0 / 60.0) };
                springs(&it.skeleton, &it.model, &all, &tick, &mut state, &mut pose).expect("finite values");
            }
            step::show(Alone, &all, &mut state.work, 1.0);
            gather::scatter(&all, &state.work, 0, 1.0, &mut pose);
            for (joint, tails) in all.swinging.iter().zip(&state.work.tails) {
                let place = match joint.tail {
                    data::Tail::Joint(tail) => point(&matrix(&it.skeleton, &pose, tail), [0.0; 3]),
                    data::Tail::Point(end) => {
                        point(&matrix(&it.skeleton, &pose, joint.joint), end.map(f64::from))
                    }
                };
                let off = far(place, tails.now);
                // Rotations are rounded to f32, and each joint depends on up to four others.
                assert!(off < 4e-6, "{scales:?}, case {case}, joint {}: {off}", joint.joint);
            }
        }
    }
}

/// The worked step of the preface of `step.rs`.
#[test]
fn the_worked_step() {
    let skeleton = condyle::example::chain(["root", "tail", "tip"], [0.5, 0.0, 0.0]);
    let joint = SpringJoint { stiffness: 0.9, gravity: [0.0, -6.0, 0.0], ..SpringJoint::new(1) };
    let shape = ColliderShape::Plane { offset: [0.0, -0.125, 0.0], normal: [0.0, 1.0, 0.0] };
    let spring = Spring { colliders: vec![0], ..Spring::new([joint, SpringJoint::new(2)]) };
    let all = Springs::new(&skeleton, &[spring], &[Collider { joint: None, shape }]).expect("a spring");
    // At rest: the joint is at (1, 0, 0), because the root is at 0.5 m.
    let (mut state, mut pose) = (SpringState::new(&all), Pose::rest(&skeleton));
    let mut model = [Affine::IDENTITY; 3];
    condyle::local_to_model(&skeleton, &pose, &mut model).expect("sizes agree");
    springs(&skeleton, &model, &all, &Tick::new(0.0), &mut state, &mut pose).expect("finite values");

    let work = &mut state.work;
    (work.tails[0].before, work.tails[0].now) = ([1.48, -0.14, 0.0], [1.4, -0.3, 0.0]);
    let tick = Tick { force: [0.0, -1.2, 0.0], ..Tick::new(0.0) };
    // Factor 0: the joints are where they were in the call.
    let when = When { factor: 0.0, takes: true, rests: false, force: gather::force(&tick) };
    step::step(Alone, &all, work, &when);
    step::show(Alone, &all, work, 1.0);
    let tail = work.tails[0];
    let root = 26.0_f64.sqrt();
    let expected = [
        (&tail.before[..], &[1.4, -0.3, 0.0][..]),
        (&tail.now, &[1.0 + 6.0 / 13.0, -2.5 / 13.0, 0.0]),
        (&tail.direction, &[12.0 / 13.0, -5.0 / 13.0, 0.0]),
        (&work.turned[0], &[0.0, 0.0, -1.0 / root, 5.0 / root]),
    ];
    for (found, expected) in expected {
        let off = found.iter().zip(expected).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        // The parameters are f32.
        assert!(off < 1e-7, "{found:?}, expected {expected:?}");
    }
}
