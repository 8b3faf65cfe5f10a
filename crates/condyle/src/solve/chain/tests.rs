use std::vec;
use std::vec::Vec;

use super::*;
use crate::solve::limits::tests::broken;
use crate::solve::limits::{JointLimit, Swing};
use crate::solve::maps::length;
use crate::solve::testing::{Case, Scales, apart, model_of};
use crate::testing::{Random, assert_portable, tries};
use crate::{Joint, Transform};

const CCD: Method = Method::CyclicDescent { step: 1.0, orientation: None };

/// All joints but the tip.
fn turning(case: &Case) -> &[u16] {
    &case.joints[..case.joints.len() - 1]
}

/// The lengths of all bones in model space, and the place of the first pivot.
fn bones(case: &Case) -> (Vec64, Vec<f64>) {
    let places: Vec<_> = case.joints.iter().map(|&joint| case.place(joint)).collect();
    (places[0], places.windows(2).map(|w| apart(w[0], w[1])).collect())
}

/// Where the tip is in another pose of the joints that turn.
fn reachable(random: &mut Random, case: &Case) -> [f32; 3] {
    let mut pose = case.pose.clone();
    for &joint in turning(case) {
        pose.set(joint.into(), &Transform { rotation: random.unit(), ..pose.get(joint.into()) });
    }
    crate::solve::testing::point(&crate::solve::testing::matrix(&case.skeleton, &pose, case.tip()), [0.0; 3])
        .map(|v| v as f32)
}

#[test]
fn both_methods_come_as_near_as_bones_let_them() {
    let mut random = Random(1);
    let mut rounds = [0_u64; 2];
    let mut missed = [0_u32; 2];
    let all = tries(50_000);
    for try_ in 0..all {
        let case = Case::new(
            &mut random,
            2 + try_ % 6,
            usize::from(try_ % 5 == 0),
            [Scales::None, Scales::Even][try_ % 2],
        );
        let (root, lengths) = bones(&case);
        let reach: f64 = lengths.iter().sum();
        let longest = lengths.iter().fold(0.0_f64, |a, &b| a.max(b));
        let goal = if try_ % 3 == 0 {
            let way = random.unit::<3>().map(f64::from);
            let far = f64::from(random.range(0.0, 2.0)) * reach;
            core::array::from_fn(|c| (root[c] + far * way[c]) as f32)
        } else {
            reachable(&mut random, &case)
        };
        let far = apart(root, goal.map(f64::from));
        let want = (far - reach).max(2.0 * longest - reach - far).max(0.0);
        for (at, method) in [CCD, Method::Fabrik].into_iter().enumerate() {
            let mut got = Case { pose: case.pose.clone(), ..case.clone() };
            let asked = Chain {
                method,
                iterations: 500,
                tolerance: (5e-5 * reach) as f32,
                ..Chain::new(turning(&case), case.tip(), goal)
            };
            let reached = chain(&case.skeleton, &case.model, &asked, &mut got.pose).expect("a chain");
            got.assert_only_turned(&case.pose, try_);
            let (_, now) = bones(&got);
            for (now, was) in now.iter().zip(&lengths) {
                assert!((now - was).abs() < 1e-6 * reach, "{try_}: a bone of {was}");
            }
            let off = apart(got.place(case.tip()), goal.map(f64::from));
            let size = reach + length(root);
            assert!((off - f64::from(reached.distance)).abs() < 3e-6 * size, "{try_}: {off}, {reached:?}");
            missed[at] += u32::from(off > want + 1e-4 * reach);
            rounds[at] += u64::from(reached.iterations);
        }
    }
    assert_eq!(missed, [0; 2], "of {all}");
    let mean = rounds.map(|rounds| rounds as f64 / all as f64);
    assert!(cfg!(miri) || mean[0] < 21.0 && mean[1] < 6.0, "{mean:?} rounds");
}

/// Hinges and balls, and goals that some allowed pose reaches.
#[test]
fn limits_are_never_broken_and_goals_within_them_are_mostly_reached() {
    let mut random = Random(2);
    let mut reached_by = [0_u32; 2];
    let all = tries(10_000);
    for try_ in 0..all {
        let scales = [Scales::None, Scales::Even, Scales::UnevenAbove, Scales::Uneven][try_ % 4];
        let case = Case::new(&mut random, 3 + try_ % 4, 0, scales);
        let limits = turning(&case).iter().map(|&joint| {
            let side = random.unit();
            let swing = match random.below(4) {
                0 => Swing::Hinge,
                1 => Swing::Cone(random.range(0.3, 1.5)),
                2 => Swing::Ellipse { side, angles: [random.range(0.3, 1.5), random.range(0.3, 1.5)] },
                _ => {
                    Swing::Polygon { side, corners: vec![[0.9, 0.1], [0.2, 1.2], [-0.8, 0.3], [-0.1, -0.7]] }
                }
            };
            let twist = Some([random.range(-1.2, -0.2), random.range(0.2, 1.2)]);
            (joint, JointLimit { reference: random.unit(), swing, twist, ..JointLimit::free(random.unit()) })
        });
        let limits = Limits::new(&case.skeleton, limits.collect::<Vec<_>>()).expect("limits");
        let mut other = Case { pose: case.pose.clone(), ..case.clone() };
        for &joint in turning(&case) {
            let rotation = limits.clamp(joint, random.unit());
            other.pose.set(joint.into(), &Transform { rotation, ..case.pose.get(joint.into()) });
        }
        let goal = other.place(case.tip()).map(|v| v as f32);
        let size: f64 = bones(&case).1.iter().sum();
        for (at, method) in [CCD, Method::Fabrik].into_iter().enumerate() {
            let mut got = Case { pose: case.pose.clone(), ..case.clone() };
            let weight = if try_ % 5 == 0 { 0.5 } else { 1.0 };
            let asked = Chain {
                method,
                iterations: 100,
                limits: Some(&limits),
                weight,
                ..Chain::new(turning(&case), case.tip(), goal)
            };
            let reached = chain(&case.skeleton, &case.model, &asked, &mut got.pose).expect("a chain");
            got.assert_only_turned(&case.pose, try_);
            for &joint in turning(&case) {
                let over = broken(limits.get(joint), got.pose.get(joint.into()).rotation);
                assert!(over < 1e-5, "{try_} {method:?}: {over} {:?}", limits.get(joint));
            }
            let off = apart(got.place(case.tip()), goal.map(f64::from));
            assert!((off - f64::from(reached.distance)).abs() < 1e-5, "{try_}: {off}, {reached:?}");
            reached_by[at] += u32::from(off < 1e-3 * size || weight < 1.0);
        }
    }
    // Reaching to and fro knows nothing of limits on the way back to the root.
    let [descent, fabrik] = reached_by.map(|count| count as usize * 100 / all);
    assert!(cfg!(miri) || descent >= 88 && fabrik >= 40, "{descent} % and {fabrik} %");
}

#[test]
fn uneven_scales_are_no_obstacle() {
    let mut random = Random(3);
    let mut missed = [0_u32; 2];
    let all = tries(5_000);
    for try_ in 0..all {
        let scales = [Scales::UnevenAbove, Scales::Uneven][try_ % 2];
        let case = Case::new(&mut random, 3 + try_ % 4, try_ % 2, scales);
        let goal = reachable(&mut random, &case);
        for (at, method) in [CCD, Method::Fabrik].into_iter().enumerate() {
            let mut got = Case { pose: case.pose.clone(), ..case.clone() };
            let asked = Chain { method, iterations: 200, ..Chain::new(turning(&case), case.tip(), goal) };
            let reached = chain(&case.skeleton, &case.model, &asked, &mut got.pose).expect("a chain");
            let off = apart(got.place(case.tip()), goal.map(f64::from));
            assert!((off - f64::from(reached.distance)).abs() < 1e-5, "{try_}: {off}, {reached:?}");
            missed[at] += u32::from(off > 2e-4);
        }
    }
    let missed = missed.map(|count| count as usize * 100 / all);
    assert!(cfg!(miri) || missed[0] <= 2 && missed[1] <= 4, "{missed:?} %");
}

/// Seven hinges, as industrial arms have them: about the arm and across it in turn.
pub(super) fn arm7() -> (Skeleton, Limits) {
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

#[test]
fn an_arm_of_seven_hinges_reaches_places_and_poses() {
    let mut random = Random(4);
    let (skeleton, limits) = arm7();
    let joints: Vec<u16> = (0..7).collect();
    let (mut place, mut posed, mut rounds) = (0, 0, [0_u64; 2]);
    let all = tries(500) as u32;
    for _ in 0..all {
        let mut there = Pose::rest(&skeleton);
        for joint in 0..7_u16 {
            let most = if joint % 2 == 0 { 2.9 } else { 2.0 };
            let (sin, cos) = (f64::from(random.range(-most, most)) / 2.0).sin_cos();
            let rotation = if joint % 2 == 0 {
                [0.0, 0.0, sin as f32, cos as f32]
            } else {
                [0.0, sin as f32, 0.0, cos as f32]
            };
            there.set(joint.into(), &Transform { rotation, ..there.get(joint.into()) });
        }
        let goal =
            crate::solve::testing::point(&crate::solve::testing::matrix(&skeleton, &there, 7), [0.0; 3]);
        let turned = product(turned_above(&skeleton, &there, 7), wide(there.get(7).rotation));
        let model = model_of(&skeleton, skeleton.rest());
        for (at, orientation) in
            [None, Some(Orientation::new(turned.map(|v| v as f32)))].into_iter().enumerate()
        {
            let mut pose = Pose::rest(&skeleton);
            let asked = Chain {
                method: Method::CyclicDescent { step: 1.0, orientation },
                iterations: [100, 1000][at],
                tolerance: 1e-3,
                limits: Some(&limits),
                ..Chain::new(&joints, 7, goal.map(|v| v as f32))
            };
            let reached = chain(&skeleton, &model, &asked, &mut pose).expect("an arm");
            rounds[at] += u64::from(reached.iterations);
            let done = u32::from(reached.distance <= 1e-3 && reached.angle <= 1e-3);
            if at == 0 {
                place += done;
            } else {
                posed += done;
            }
            for joint in 0..7_u16 {
                assert!(broken(limits.get(joint), pose.get(joint.into()).rotation) < 1e-5);
            }
        }
    }
    // From the arm stretched straight up, where every second hinge turns nothing.
    let mean = rounds.map(|rounds| rounds / u64::from(all));
    assert!(cfg!(miri) || place * 100 >= 93 * all && posed * 100 >= 90 * all, "{place} and {posed} of {all}");
    assert!(cfg!(miri) || mean[0] < 25 && mean[1] < 250, "{mean:?} rounds");
}

#[test]
fn hostile_input_is_an_error_or_finite() {
    let mut random = Random(5);
    let bad = [f32::NAN, f32::INFINITY, -f32::INFINITY, f32::MAX, f32::MIN_POSITIVE, 0.0, 1e-30, 1e20, -1.0];
    for try_ in 0..tries(10_000) {
        let scales = [Scales::None, Scales::Uneven][try_ % 2];
        let mut case = Case::new(&mut random, 1 + try_ % 4, try_ % 2, scales);
        let mut joints = turning(&case).to_vec();
        let goal = reachable(&mut random, &case);
        let limits = joints.iter().map(|&joint| (joint, JointLimit::hinge(random.unit(), [-1.0, 1.0])));
        let limits = Limits::new(&case.skeleton, limits.collect::<Vec<_>>()).expect("hinges");
        let value = bad[random.below(bad.len())];
        let at = random.below(3);
        let mut step = 1.0;
        let mut wanted = Orientation::new(random.unit());
        let mut asked = Chain { iterations: 20, ..Chain::new(&[], case.tip(), goal) };
        asked.limits = (try_ % 3 == 0).then_some(&limits);
        match random.below(13) {
            0 => asked.goal[at] = value,
            1 => asked.offset[at] = value,
            2 => asked.tolerance = value,
            3 => asked.weight = value,
            4 => asked.tip = random.below(9) as u16,
            5 => step = value,
            6 => wanted.rotation[at] = value,
            7 => wanted.radius = Some(value),
            8 => wanted.tolerance = value,
            9 => joints[0] = random.below(9) as u16,
            10 => case.model[at.min(2)].rows[at] = [value; 4],
            11 => {
                let joint = usize::from(joints[at.min(joints.len() - 1)]);
                let mut t = case.pose.get(joint);
                match random.below(3) {
                    0 => t.translation = [value; 3],
                    1 => t.scale[at] = value,
                    _ => t.rotation[at] = value,
                }
                case.pose.set(joint, &t);
            }
            _ => {
                for &joint in &case.joints[1..] {
                    case.pose.set(joint.into(), &Transform::IDENTITY);
                }
                asked.goal = case.place(case.joints[0]).map(|v| v as f32);
            }
        }
        asked.joints = &joints;
        asked.method = match try_ % 4 {
            0 => Method::Fabrik,
            1 => Method::CyclicDescent { step, orientation: None },
            _ => Method::CyclicDescent { step, orientation: Some(wanted) },
        };
        let was = case.pose.clone();
        let bits = |pose: &Pose| pose.transforms().map(|t| t.rotation.map(f32::to_bits)).collect::<Vec<_>>();
        match chain(&case.skeleton, &case.model, &asked, &mut case.pose) {
            Ok(reached) => {
                assert!(reached.distance.is_finite() && reached.angle.is_finite(), "{try_}: {reached:?}");
                assert!(reached.iterations <= 20, "{try_}: {reached:?}");
                for &joint in &joints {
                    let q = case.pose.get(joint.into()).rotation;
                    assert!(q.iter().all(|v| v.is_finite()), "{try_}: {q:?}");
                }
            }
            Err(error) => assert_eq!(bits(&case.pose), bits(&was), "{try_}: {error} changed the pose"),
        }
    }
}

#[test]
fn what_is_wrong_is_said() {
    let case = Case::new(&mut Random(6), 3, 0, Scales::None);
    let [a, b, c, tip] = case.joints[..] else { panic!("three joints and a tip") };
    let solve = |asked: &Chain<'_>| {
        chain(&case.skeleton, &case.model, asked, &mut case.pose.clone()).expect_err("refused")
    };
    let all = [a, b, c];
    let right = Chain::new(&all, tip, [0.0; 3]);
    let range = |what, at, needed| Error::OutOfRange { what, at, needed };
    assert_eq!(
        solve(&Chain { joints: &[], ..right }),
        Error::TooShort { what: "joints", found: 0, needed: 1 }
    );
    assert_eq!(
        solve(&Chain { joints: &[a; 65], ..right }),
        Error::TooMany { what: "joints", found: 65, limit: 64 }
    );
    assert_eq!(solve(&Chain { joints: &[b, a, c], ..right }), range("joints", 1, "below the one before it"));
    assert_eq!(solve(&Chain { tip: a, ..right }), range("tip", 0, "the last of the joints or below it"));
    assert_eq!(solve(&Chain { weight: -0.1, ..right }), range("weight", 0, "from 0 to 1"));
    assert_eq!(solve(&Chain { tolerance: -1.0, ..right }), range("tolerance", 0, "0 or more"));
    let method = Method::CyclicDescent { step: 0.0, orientation: None };
    assert_eq!(solve(&Chain { method, ..right }), range("step", 0, "more than 0"));
    assert_eq!(
        solve(&Chain { goal: [0.0, 0.0, f32::NAN], ..right }),
        Error::NotFinite { what: "goal", at: 2 }
    );
    let mut pose = case.pose.clone();
    pose.set(b.into(), &Transform { scale: [0.0; 3], ..pose.get(b.into()) });
    assert_eq!(
        chain(&case.skeleton, &case.model, &right, &mut pose),
        Err(Error::NotInvertible { what: "pose", at: b.into() })
    );
}

/// With a part of each step the joints share the turn more evenly, and all come there.
#[test]
fn smaller_steps_take_more_rounds() {
    let mut random = Random(7);
    let mut rounds = [0; 2];
    for try_ in 0..tries(500) {
        let case = Case::new(&mut random, 4, 0, Scales::None);
        let goal = reachable(&mut random, &case);
        for (at, step) in [1.0, 0.4].into_iter().enumerate() {
            let method = Method::CyclicDescent { step, orientation: None };
            let asked = Chain { method, iterations: 1000, ..Chain::new(turning(&case), case.tip(), goal) };
            let reached =
                chain(&case.skeleton, &case.model, &asked, &mut case.pose.clone()).expect("a chain");
            assert!(reached.distance < 1.1e-4, "{try_}: {reached:?}");
            rounds[at] += reached.iterations;
        }
    }
    assert!(cfg!(miri) || rounds[1] > rounds[0], "{rounds:?}");
}

#[test]
fn the_bits_are_the_same_everywhere() {
    assert_portable(0xcf0a_d3b7_802f_5e57, |hash| {
        let mut random = Random(8);
        for try_ in 0..tries(200) {
            let scales = [Scales::None, Scales::Even, Scales::UnevenAbove, Scales::Uneven][try_ % 4];
            let mut case = Case::new(&mut random, 3 + try_ % 8, try_ % 2, scales);
            let limits = JointLimit { swing: Swing::Cone(0.8), ..JointLimit::free(random.unit()) };
            let limits = Limits::new(&case.skeleton, [(case.joints[1], limits)]).expect("a cone");
            let orientation = (try_ % 2 == 0).then(|| Orientation::new(random.unit()));
            let method = match try_ % 3 {
                0 => Method::Fabrik,
                1 => Method::CyclicDescent { step: 0.7, orientation },
                _ => Method::CyclicDescent { step: 1.0, orientation },
            };
            let goal = reachable(&mut random, &case);
            let joints = turning(&case).to_vec();
            let asked = Chain {
                method,
                limits: (try_ % 5 < 3).then_some(&limits),
                ..Chain::new(&joints, case.tip(), goal)
            };
            let reached = chain(&case.skeleton, &case.model, &asked, &mut case.pose).expect("a chain");
            hash.add(&[reached.distance, reached.angle]);
            for &joint in &case.joints {
                hash.add(&case.pose.get(joint.into()).rotation);
            }
        }
    });
}
