//! Distances from the goals after solving.

use super::*;
use crate::full_body::GoalKind;
use crate::limits::tests::{any_limit, slack};
use crate::limits::{Limits, clamp};
use condyle_testing::{Hash, assert_portable, cases, tries};

/// One limb, whose tip reaches all points between two spheres, so that its minimum distance is known.
#[test]
fn one_limb_comes_as_near_as_it_can() {
    let mut random = Random(1);
    let (mut buffer, mut further, count) = (BodyBuffer::default(), 0, cases(100_000));
    for case in 0..count {
        let lengths: Vec<f32> = (0..2 + case % 4).map(|_| random.range(0.1, 1.0)).collect();
        let skeleton = chain(&lengths);
        let sum: f32 = lengths.iter().sum();
        let longest = lengths.iter().fold(0.0, |most: f32, &v| most.max(v));
        let pose = disturbed(&mut random, skeleton.rest(), [0.1, 1.0, 2.5][case % 3], 0.0);
        let goal: [f32; 3] = random.vector(0.8 * sum);
        let tip = lengths.len() as u16;
        let mut got = pose.clone();
        let options = BodyOptions { tolerance: Some(1e-5 * sum), ..BodyOptions::default() };
        let reached = solve(&skeleton, &[Goal::position(tip, goal)], &options, &mut buffer, &mut got);
        let distance = far(goal.map(f64::from), [0.0; 3]);
        let least = (distance - f64::from(sum)).max(f64::from(2.0 * longest - sum) - distance).max(0.0);
        let off = far(placed(&skeleton, &got)[usize::from(tip)].0, goal.map(f64::from));
        assert!(
            (off - f64::from(reached.distance)).abs() < 1e-6 * f64::from(sum),
            "case {case}: {off}, {reached:?}"
        );
        further += usize::from(off > least + 1e-4 * f64::from(sum));
        assert!(off < least + 1e-3 * f64::from(sum), "case {case}: {off} instead of {least}, {reached:?}");
        // No bone is stretched.
        for (joint, (got, was)) in got.transforms().zip(pose.transforms()).enumerate() {
            assert_eq!((got.translation, got.scale), (was.translation, was.scale), "case {case}, {joint}");
            let unit: f32 = got.rotation.iter().map(|v| v * v).sum();
            assert!((unit - 1.0).abs() < 1e-6, "case {case}, {joint}");
        }
    }
    // A few goals near the root, in the hole that the longest bone leaves, are not reached within 100 steps.
    assert!(further * 10_000 <= count, "{further} of {count}");
}

/// A whole figure gets its goals from another of its poses.
#[test]
fn what_can_be_reached_is_reached() {
    let (skeleton, mut random, mut buffer) = (figure(1.0), Random(2), BodyBuffer::default());
    let mut missed = 0;
    let count = cases(4000);
    for case in 0..count {
        let by = [0.05, 0.3, 0.6, 1.0][case % 4];
        let want = placed(&skeleton, &disturbed(&mut random, skeleton.rest(), by, 0.2));
        let mut goals = Vec::new();
        for &part in &PARTS[1 + case % 2..] {
            let (place, turn) = want[usize::from(part)];
            goals.push(Goal::position(part, narrow(place)));
            if case % 3 == 0 {
                goals.push(Goal::orientation(part, narrow(turn)));
            }
        }
        let options = BodyOptions { shift: Some((0, 1.0)), tolerance: Some(1e-3), ..BodyOptions::default() };
        let mut pose = skeleton.rest().clone();
        let reached = solve(&skeleton, &goals, &options, &mut buffer, &mut pose);
        missed += usize::from(!reached.met);
        let places = placed(&skeleton, &pose);
        for (goal, residual) in goals.iter().zip(buffer.residuals()) {
            if let GoalKind::Position { joint, place, .. } = goal.kind {
                let off = far(places[usize::from(joint)].0, place.map(f64::from));
                assert!((off - f64::from(*residual)).abs() < 2e-6, "case {case}: {off} {residual}");
                assert!(!reached.met || off < 1.002e-3, "case {case}: {off}");
            }
        }
        assert!(reached.iterations <= 100 && (reached.met || by > 0.5), "case {case}: {reached:?}");
    }
    // Some goals remain because of a local minimum.
    assert!(missed * 200 <= count, "{missed} of {count}");
}

/// Goals that contradict each other or are too far away. A reference search that continues from the result
/// rarely improves it. A reference search from the rest pose rarely ends in a better pose.
#[test]
#[cfg_attr(miri, ignore = "equations of full size take hours")]
fn what_cannot_be_reached_is_come_near_to() {
    let (skeleton, mut random, mut buffer) = (figure(1.0), Random(3), BodyBuffer::default());
    let (mut further, mut better, count) = (0, 0, cases(60));
    for case in 0..count {
        let want = placed(&skeleton, &disturbed(&mut random, skeleton.rest(), 0.6, 0.2));
        let out = [0.3, 1.0, 3.0][case % 3];
        let mut goal = |part: u16| {
            let place = want[usize::from(part)].0;
            let away: [f32; 3] = random.vector(out);
            Goal::position(part, core::array::from_fn(|c| place[c] as f32 + away[c]))
        };
        let goals = [goal(8), goal(12), goal(15), goal(18), Goal { weight: 0.5, ..Goal::pin(2) }];
        let mut pose = skeleton.rest().clone();
        let options = BodyOptions::default();
        let reached = solve(&skeleton, &goals, &options, &mut buffer, &mut pose);
        let own = goals.iter().zip(buffer.residuals());
        let own =
            own.map(|(goal, v)| f64::from(goal.weight * v * v)).sum::<f64>().sqrt() / f64::from(reached.size);
        let on = equations::settle(&skeleton, &goals, &options, skeleton.rest(), &pose, 60);
        let alone = equations::settle(&skeleton, &goals, &options, skeleton.rest(), skeleton.rest(), 200);
        further += usize::from(own > on + 1e-4);
        better += usize::from(own > alone + 1e-4);
    }
    assert!(further * 20 <= count && better * 10 <= count, "{further} {better} of {count}");
}

#[test]
fn a_straight_limb_bends_for_a_goal_on_its_line() {
    let skeleton = chain(&[0.5, 0.4, 0.3]);
    for way in [1.1, 0.9, 0.3, -0.2] {
        let mut pose = skeleton.rest().clone();
        let goals = [Goal::position(3, [0.0, way, 0.0])];
        let reached =
            solve(&skeleton, &goals, &BodyOptions::default(), &mut BodyBuffer::default(), &mut pose);
        assert!(reached.met, "{way}: {reached:?}");
    }
    // A goal out of reach on the limb's line leaves the pose unchanged.
    let mut pose = skeleton.rest().clone();
    let goals = [Goal::position(3, [0.0, 2.0, 0.0])];
    let reached = solve(&skeleton, &goals, &BodyOptions::default(), &mut BodyBuffer::default(), &mut pose);
    assert!((reached.distance - 0.8).abs() < 1e-6 && pose == *skeleton.rest(), "{reached:?}");
}

/// Tests an end effector with an offset from its joint, and a centre of mass.
#[test]
fn a_straight_limb_bends_for_what_hangs_on_it() {
    let skeleton = chain(&[1.0, 1.0]);
    let goal = [0.0, 1.2, 0.0];
    for goal in [
        Goal { kind: GoalKind::Position { joint: 1, offset: [0.0, 1.0, 0.0], place: goal }, weight: 1.0 },
        Goal::mass(&[(2, 1.0)], goal),
        Goal::mass(&[(2, 0.5), (1, 0.5)], [0.0, 0.9, 0.0]),
    ] {
        let mut pose = skeleton.rest().clone();
        let mut buffer = BodyBuffer::default();
        let reached = solve(&skeleton, &[goal], &BodyOptions::default(), &mut buffer, &mut pose);
        assert!(reached.met, "{goal:?}: {reached:?}");
    }
}

/// The residual is the distance between joint and goal, at any distance.
#[test]
fn what_is_missing_of_a_far_goal_is_told() {
    let skeleton = chain(&[1.0, 1.0]);
    for far in [10.0, 1e4, 1e5, 1e8, 1e30] {
        let mut pose = skeleton.rest().clone();
        let mut buffer = BodyBuffer::default();
        let goals = [Goal::position(2, [far, 0.0, 0.0])];
        let reached = solve(&skeleton, &goals, &BodyOptions::default(), &mut buffer, &mut pose);
        for found in [reached.distance, buffer.residuals()[0]] {
            assert!((found - (far - 2.0)).abs() <= 1e-3 + 1e-4 * far && !reached.met, "{far}: {reached:?}");
        }
    }
    // Bones of almost zero length, and a goal one metre away.
    let tiny = |scale| {
        let joint = |parent| Joint::new("", parent, Transform { scale: [scale; 3], ..at([0.0, 1e-6, 0.0]) });
        Skeleton::new([None, Some(0), Some(1), Some(2), Some(3)].map(joint)).expect("a row")
    };
    let skeleton = tiny(1e-38);
    let mut pose = skeleton.rest().clone();
    let goals = [Goal::position(4, [1.0, 0.0, 0.0])];
    let reached = solve(&skeleton, &goals, &BodyOptions::default(), &mut BodyBuffer::default(), &mut pose);
    assert!(!reached.met && (reached.distance - 1.0).abs() < 1e-3, "{reached:?}");
}

/// Bit-identical: the rotation is neither normalised nor rounded.
#[test]
fn what_is_met_stays_as_it_is() {
    let skeleton = chain(&[1.0, 1.0]);
    let mut pose = skeleton.rest().clone();
    let turned = Transform { rotation: [0.6, 0.0, 0.0, 0.800_001], ..pose.get(1) };
    pose.set(1, &turned);
    let place = placed(&skeleton, &pose)[2].0;
    let given = pose.clone();
    let goals = [Goal::position(2, narrow(place))];
    let reached = solve(&skeleton, &goals, &BodyOptions::default(), &mut BodyBuffer::default(), &mut pose);
    assert!(reached.met && reached.iterations == 0 && pose == given, "{reached:?}");
}

/// Other units of length give the same rotations.
#[test]
fn centimetres_are_as_metres() {
    let mut random = Random(4);
    for case in 0..cases(300) {
        let mut answers = Vec::new();
        let seed = random.bits();
        for unit in [1.0, 100.0, 0.001] {
            let (skeleton, mut random) = (figure(unit), Random(seed));
            let mut goals = Vec::new();
            for part in [4, 8, 12, 15, 18] {
                let place = placed(&skeleton, skeleton.rest())[part].0;
                let away: [f32; 3] = random.vector(0.4);
                goals.push(Goal::position(
                    part as u16,
                    core::array::from_fn(|c| place[c] as f32 + unit * away[c]),
                ));
            }
            let mut pose = skeleton.rest().clone();
            let options = BodyOptions { shift: Some((0, 0.1)), iterations: 8, ..BodyOptions::default() };
            let reached = solve(&skeleton, &goals, &options, &mut BodyBuffer::default(), &mut pose);
            answers.push((pose, reached.distance / unit, reached.size / unit, reached.iterations));
        }
        for (pose, distance, size, iterations) in &answers[1..] {
            assert_eq!(*iterations, answers[0].3, "case {case}");
            assert!(
                (distance - answers[0].1).abs() < 1e-4 && (size - answers[0].2).abs() < 1e-5,
                "case {case}"
            );
            for (a, b) in pose.transforms().zip(answers[0].0.transforms()) {
                let off = (0..4).map(|c| (a.rotation[c] - b.rotation[c]).abs()).fold(0.0, f32::max);
                assert!(off < 1e-4, "case {case}: {a:?} {b:?}");
            }
        }
    }
}

#[test]
fn only_what_goals_hang_on_turns() {
    let skeleton = figure(1.0);
    let mut pose = disturbed(&mut Random(5), skeleton.rest(), 0.5, 0.0);
    let before = pose.clone();
    let places = placed(&skeleton, &pose);
    let ease: Vec<f32> = (0..19).map(|joint| if joint == 1 { 0.0 } else { 1.0 }).collect();
    let options = BodyOptions { ease: Some(&ease), tolerance: Some(1e-4), ..BodyOptions::default() };
    let away = core::array::from_fn(|c| places[8].0[c] as f32 + 0.1);
    let goals = [
        Goal::position(8, away),
        Goal::pin(15),
        Goal::pin_orientation(8),
        Goal { weight: 0.0, ..Goal::position(12, [9.0; 3]) },
    ];
    let mut buffer = BodyBuffer::default();
    let reached = solve(&skeleton, &goals, &options, &mut buffer, &mut pose);
    assert!(reached.met && buffer.residuals()[3] > 5.0, "{reached:?}");
    for joint in [1, 3, 4, 9, 10, 11, 12, 15, 16, 17, 18] {
        assert_eq!(pose.get(joint), before.get(joint), "joint {joint}");
    }
    let after = placed(&skeleton, &pose);
    assert!(far(after[15].0, places[15].0) < 1.1e-4 && far(after[8].0, away.map(f64::from)) < 1.1e-4);
    let turned: f64 = after[8].1.iter().zip(places[8].1).map(|(a, b)| a * b).sum();
    assert!(turned.abs() > 1.0 - 1e-6, "{turned}");
}

#[test]
fn a_mass_comes_to_its_place() {
    let skeleton = figure(1.0);
    let masses: Vec<(u16, f32)> = (0..19).map(|joint| (joint, 1.0 + joint as f32 % 3.0)).collect();
    let mean = |pose: &Pose| {
        let places = placed(&skeleton, pose);
        let sum: f32 = masses.iter().map(|m| m.1).sum();
        let of = |c: usize| {
            masses.iter().map(|&(joint, m)| places[usize::from(joint)].0[c] * f64::from(m / sum)).sum()
        };
        [of(0), of(1), of(2)]
    };
    let mut pose = skeleton.rest().clone();
    let [x, y, z] = mean(&pose);
    let place = [x + 0.08, y - 0.1, z + 0.05];
    let options = BodyOptions { shift: Some((0, 1.0)), tolerance: Some(1e-4), ..BodyOptions::default() };
    let goals = [Goal::pin(15), Goal::pin(18), Goal::pin_orientation(4), Goal::mass(&masses, narrow(place))];
    let reached = solve(&skeleton, &goals, &options, &mut BodyBuffer::default(), &mut pose);
    assert!(reached.met && far(mean(&pose), place) < 1.1e-4, "{reached:?}");
}

/// Elbows that bend about one axis only, in one direction.
#[test]
fn limits_are_kept() {
    let (skeleton, mut random, mut buffer) = (figure(1.0), Random(6), BodyBuffer::default());
    let hinge = |joint: u16, [x, y, z, w]: [f32; 4]| {
        if joint != 7 && joint != 11 {
            return [x, y, z, w];
        }
        let (z, w) = if w < 0.0 { (-z, -w) } else { (z, w) };
        let long = (z * z + w * w).sqrt();
        if z < 0.0 || long == 0.0 { [0.0, 0.0, 0.0, 1.0] } else { [0.0, 0.0, z / long, w / long] }
    };
    let options = BodyOptions { limit: Some(&hinge), tolerance: Some(1e-3), ..BodyOptions::default() };
    let mut met = 0;
    let count = cases(500);
    for case in 0..count {
        let start = disturbed(&mut random, skeleton.rest(), 0.5, 0.0);
        let mut want = disturbed(&mut random, skeleton.rest(), 0.5, 0.0);
        for joint in [7, 11] {
            let t = want.get(joint);
            want.set(joint, &Transform { rotation: hinge(joint as u16, t.rotation), ..t });
        }
        let want = placed(&skeleton, &want);
        let goals = [8, 12, 4].map(|part: u16| Goal::position(part, narrow(want[usize::from(part)].0)));
        let mut pose = start;
        let reached = solve(&skeleton, &goals, &options, &mut buffer, &mut pose);
        met += usize::from(reached.met);
        for joint in [7, 11] {
            let [x, y, z, w] = pose.get(joint).rotation;
            assert!(x.abs() < 1e-6 && y.abs() < 1e-6 && z * w >= -1e-6, "case {case}: {:?}", pose.get(joint));
        }
    }
    assert!(met * 100 >= count * 97, "{met} of {count}");
}

/// Cones, hinges and ellipses of any ratio at all joints: a pose that starts within them stays within them.
#[test]
fn limits_of_any_shape_are_never_broken() {
    let (skeleton, mut random, mut buffer) = (figure(1.0), Random(10), BodyBuffer::default());
    for case in 0..cases(300) {
        let own: Vec<_> = (0..19).map(|joint| (joint, any_limit(&mut random))).collect();
        let limits = Limits::new(&skeleton, own).expect("limits");
        let mut pose = skeleton.rest().clone();
        clamp(&limits, &mut pose).expect("a pose");
        let goals = [4, 8, 12, 15, 18].map(|part: u16| Goal::position(part, random.vector(1.5)));
        let nearest = |joint, rotation| limits.clamp(joint, rotation);
        let options = BodyOptions { limit: Some(&nearest), ..BodyOptions::default() };
        solve(&skeleton, &goals, &options, &mut buffer, &mut pose);
        for joint in 0..19_u16 {
            let rotation = pose.get(joint.into()).rotation;
            let (over, limit) = (limits.excess(joint, rotation), limits.limit(joint));
            let most = limit.map_or(0.0, |limit| slack(limit, rotation));
            assert!(over <= most, "case {case}: {over} rad beyond {:?}", limits.get(joint));
        }
    }
}

#[test]
fn the_bits_are_the_same_everywhere() {
    let run = |hash: &mut Hash| {
        let mut random = Random(7);
        let (mut buffer, skeleton) = (BodyBuffer::default(), figure(1.0));
        for case in 0..tries(30) {
            let want = placed(&skeleton, &disturbed(&mut random, skeleton.rest(), 0.7, 0.2));
            let mut goals: Vec<_> =
                PARTS.map(|part| Goal::position(part, narrow(want[usize::from(part)].0))).to_vec();
            goals.push(Goal::orientation(4, narrow(want[4].1)));
            let masses = [(4, 1.0), (8, 2.0), (18, 0.5)];
            if case % 2 == 0 {
                goals.push(Goal::mass(&masses, random.vector(2.0)));
            }
            let mut pose = skeleton.rest().clone();
            solve(&skeleton, &goals, &BodyOptions::default(), &mut buffer, &mut pose);
            pose.transforms().for_each(|t| hash.add(&t.rotation));
            hash.add(buffer.residuals());
        }
    };
    assert_portable(0xc0db_c1a1_031d_6c59, run);
}

#[test]
fn what_was_there_before_does_not_matter() {
    let (skeleton, mut random, mut buffer) = (figure(1.0), Random(9), BodyBuffer::default());
    for _ in 0..tries(20) {
        let count = 1 + random.below(6);
        let goals: Vec<_> =
            (0..count).map(|_| Goal::position(random.below(19) as u16, random.vector(1.5))).collect();
        let [mut used, mut fresh] = [skeleton.rest().clone(), skeleton.rest().clone()];
        let again = solve(&skeleton, &goals, &BodyOptions::default(), &mut buffer, &mut used);
        let mut new = BodyBuffer::default();
        let first = solve(&skeleton, &goals, &BodyOptions::default(), &mut new, &mut fresh);
        assert_eq!((again, used, buffer.residuals()), (first, fresh, new.residuals()));
    }
}
