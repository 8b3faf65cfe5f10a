//! Every input gives a pose or an error.

use super::*;
use crate::full_body::{GoalKind, MAX_GOALS};
use condyle_base::error::Error;
use condyle_testing::cases;
use std::{vec, vec::Vec};

fn refused(goals: &[Goal<'_>], options: &BodyOptions<'_>) -> Error {
    let skeleton = chain(&[1.0, 1.0]);
    let mut pose = skeleton.rest().clone();
    let result = body(&skeleton, goals, options, &mut BodyBuffer::default(), &mut pose);
    assert_eq!(pose, *skeleton.rest());
    result.expect_err("an invalid goal")
}

#[test]
fn what_is_no_goal_is_refused() {
    let (options, what) = (BodyOptions::default(), "goals");
    let fine = Goal::pin(2);
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let not_finite = Error::NotFinite { what, at: 1 };
        let offset =
            Goal { kind: GoalKind::Position { joint: 2, offset: [0.0, bad, 0.0], place: [0.0; 3] }, ..fine };
        let masses = [(0, 1.0), (1, bad)];
        for goal in [
            Goal::position(2, [0.0, 0.0, bad]),
            offset,
            Goal { weight: bad, ..fine },
            Goal::orientation(2, [bad, 0.0, 0.0, 1.0]),
            Goal::mass(&masses[..1], [bad; 3]),
            Goal::mass(&masses, [0.0; 3]),
        ] {
            assert_eq!(refused(&[fine, goal], &options), not_finite, "{goal:?}");
        }
        for (what, options) in [
            ("pull", BodyOptions { pull: bad, ..options }),
            ("tolerance", BodyOptions { tolerance: Some(bad), ..options }),
            ("shift", BodyOptions { shift: Some((0, bad)), ..options }),
            ("ease", BodyOptions { ease: Some(&[bad, 0.0, 0.0]), ..options }),
        ] {
            assert_eq!(refused(&[fine], &options), Error::NotFinite { what, at: 0 });
        }
    }
    let index = |at, found| Error::Index { what, at, found, count: 3 };
    for goal in [
        Goal::pin(3),
        Goal::pin_orientation(3),
        Goal::position(3, [0.0; 3]),
        Goal::mass(&[(3, 1.0)], [0.0; 3]),
    ] {
        assert_eq!(refused(&[fine, goal], &options), index(1, 3));
    }
    assert_eq!(refused(&[Goal::orientation(1, [0.0; 4])], &options), Error::NotUnit { what, at: 0 });
    for goal in [Goal { weight: -1.0, ..fine }, Goal::mass(&[(1, -1.0)], [0.0; 3]), Goal::mass(&[], [0.0; 3])]
    {
        assert!(
            matches!(refused(&[goal], &options), Error::OutOfRange { what: "goals", at: 0, .. }),
            "{goal:?}"
        );
    }
    let short = BodyOptions { ease: Some(&[1.0]), ..options };
    assert_eq!(refused(&[fine], &short), Error::Length { what: "ease", found: 1, needed: 3 });
    let nowhere = BodyOptions { shift: Some((7, 1.0)), ..options };
    assert_eq!(refused(&[fine], &nowhere), Error::Index { what: "shift", at: 0, found: 7, count: 3 });
    let many = vec![fine; MAX_GOALS + 1];
    assert_eq!(refused(&many, &options), Error::TooMany { what, found: MAX_GOALS + 1, limit: MAX_GOALS });
    let skeleton = chain(&[1.0]);
    let refused = body(&skeleton, &[], &options, &mut BodyBuffer::default(), &mut Pose::identity(3));
    assert_eq!(refused, Err(Error::Length { what: "pose", found: 3, needed: 2 }));
}

#[test]
fn a_pose_that_is_no_number_is_refused() {
    let skeleton = chain(&[1.0, 1.0]);
    for at in 0..3 {
        let mut pose = skeleton.rest().clone();
        pose.set(at, &Transform { translation: [0.0, f32::NAN, 0.0], ..Transform::IDENTITY });
        let before: Vec<_> = pose.transforms().map(|t| t.rotation).collect();
        let goals = [Goal::position(1, [1.0, 0.0, 0.0])];
        let result = body(&skeleton, &goals, &BodyOptions::default(), &mut BodyBuffer::default(), &mut pose);
        // Joints that no goal depends on may have any value.
        let refused = Err(Error::NotFinite { what: "pose", at });
        assert!(if at < 2 { result == refused } else { result.is_ok_and(|reached| reached.met) });
        assert!(at == 2 || before.iter().copied().eq(pose.transforms().map(|t| t.rotation)));
    }
}

/// A random number like those in hostile data.
fn number(random: &mut Random) -> f32 {
    match random.below(8) {
        0 => 0.0,
        1 => f32::MAX,
        2 => -1e-40,
        3 => 1e-20,
        4 => -1e15,
        _ => random.range(-2.0, 2.0),
    }
}

#[test]
fn hostile_numbers_give_numbers() {
    let (mut random, mut buffer) = (Random(11), BodyBuffer::default());
    for case in 0..cases(4000) {
        let joints = 1 + random.below(20);
        let skeleton = random.skeleton(joints);
        let mut pose = random.pose(joints);
        for joint in 0..joints {
            let t = pose.get(joint);
            let hostile = random.below(4) == 0;
            let translation = if hostile { [0; 3].map(|_| number(&mut random)) } else { t.translation };
            let scale = if random.below(6) == 0 { [0; 3].map(|_| number(&mut random)) } else { t.scale };
            let rotation = if random.below(9) == 0 { [0.0; 4] } else { t.rotation };
            pose.set(joint, &Transform { rotation, translation, scale });
        }
        let masses: Vec<_> = (0..joints as u16).map(|joint| (joint, number(&mut random).abs())).collect();
        let mut goals = Vec::new();
        for _ in 0..random.below(7) {
            let joint = random.below(joints) as u16;
            let place = [0; 3].map(|_| number(&mut random));
            let goal = match random.below(6) {
                0 => Goal::orientation(joint, random.unit()),
                1 => Goal::pin(joint),
                2 => Goal::pin_orientation(joint),
                3 if masses.iter().any(|m| m.1 > 0.0) => Goal::mass(&masses, place),
                4 => Goal {
                    kind: GoalKind::Position { joint, offset: [0; 3].map(|_| number(&mut random)), place },
                    weight: 1.0,
                },
                _ => Goal::position(joint, place),
            };
            goals.push(Goal { weight: number(&mut random).abs(), ..goal });
        }
        let ease: Vec<f32> = (0..joints).map(|_| number(&mut random).abs()).collect();
        let options = BodyOptions {
            iterations: 60,
            tolerance: [None, Some(0.0), Some(number(&mut random).abs())][random.below(3)],
            pull: [0.0, 1e-6, number(&mut random).abs()][random.below(3)],
            ease: [None, Some(&ease[..])][random.below(2)],
            shift: [None, Some((random.below(joints) as u16, number(&mut random).abs()))][random.below(2)],
            limit: None,
        };
        let before = pose.clone();
        match body(&skeleton, &goals, &options, &mut buffer, &mut pose) {
            Ok(reached) => {
                let numbers = [reached.distance, reached.angle, reached.size];
                assert!(
                    numbers.iter().chain(buffer.residuals()).all(|v| *v >= 0.0),
                    "case {case}: {reached:?}"
                );
                assert!(reached.iterations <= 60 && buffer.residuals().len() == goals.len());
            }
            Err(error) => {
                let far = matches!(error, Error::OutOfRange { what: "goals", .. });
                assert!(far || error == Error::NotFinite { what: "pose", at: 0 }, "case {case}: {error}");
                assert_eq!(pose, before, "case {case}");
            }
        }
        for t in pose.transforms() {
            let all = t.rotation.iter().chain(&t.translation).chain(&t.scale);
            assert!(all.into_iter().all(|v| v.is_finite()), "case {case}: {t:?}");
        }
    }
}

#[test]
fn bones_of_no_length_and_pins_that_contradict_each_other() {
    let skeleton = chain(&[0.0, 0.0]);
    let mut pose = skeleton.rest().clone();
    let goals = [Goal::position(2, [1.0, 0.0, 0.0])];
    let reached = solve(&skeleton, &goals, &BodyOptions::default(), &mut BodyBuffer::default(), &mut pose);
    assert!(!reached.met && reached.distance == 1.0 && pose == *skeleton.rest());
    // The result is halfway between two positions, or nearer to the one with the larger weight.
    let skeleton = chain(&[0.5, 0.5, 0.5]);
    for (weight, x) in [(1.0, 0.5), (3.0, 0.35)] {
        let mut pose = skeleton.rest().clone();
        let goals =
            [Goal { weight, ..Goal::position(3, [0.2, 0.8, 0.0]) }, Goal::position(3, [0.8, 0.8, 0.0])];
        let reached =
            solve(&skeleton, &goals, &BodyOptions::default(), &mut BodyBuffer::default(), &mut pose);
        let tip = placed(&skeleton, &pose)[3].0;
        assert!(!reached.met && far(tip, [x, 0.8, 0.0]) < 1e-3, "{tip:?}");
    }
}

#[test]
fn nothing_to_do_is_done() {
    let skeleton = chain(&[1.0]);
    let mut pose = skeleton.rest().clone();
    let mut buffer = BodyBuffer::default();
    let reached = solve(&skeleton, &[], &BodyOptions::default(), &mut buffer, &mut pose);
    assert!(reached.met && reached.iterations == 0 && buffer.residuals().is_empty());
    let none = Skeleton::new([]).expect("no joints");
    let reached = solve(&none, &[], &BodyOptions::default(), &mut buffer, &mut Pose::identity(0));
    assert!(reached.met);
}
