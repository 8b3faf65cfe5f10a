mod arms;
mod limits;
mod uneven;

use std::vec;
use std::vec::Vec;

use super::*;
use crate::limits::tests::broken;
use crate::limits::{JointLimit, Swing};
use crate::maps::length;
use crate::testing::{Case, Scales, apart};
use crate::{TwoBone, two_bone};
use condyle::Transform;
use condyle_testing::{Random, assert_portable, cases, tries};

const METHODS: [ChainMethod; 3] = [
    ChainMethod::LeastSquares { restarts: 4 },
    ChainMethod::CyclicDescent { step: 1.0 },
    ChainMethod::Fabrik,
];

/// All joints except the tip.
fn turning(case: &Case) -> &[u16] {
    &case.joints[..case.joints.len() - 1]
}

/// Position of the first pivot, and lengths of all bones in model space.
fn bones(case: &Case) -> (Vec64, Vec<f64>) {
    let places: Vec<_> = case.joints.iter().map(|&joint| case.place(joint)).collect();
    (places[0], places.windows(2).map(|w| apart(w[0], w[1])).collect())
}

/// Position of the tip in another random pose of the turning joints.
fn reachable(random: &mut Random, case: &Case) -> [f32; 3] {
    let mut pose = case.pose.clone();
    for &joint in turning(case) {
        pose.set(joint.into(), &Transform { rotation: random.unit(), ..pose.get(joint.into()) });
    }
    crate::testing::point(&crate::testing::matrix(&case.skeleton, &pose, case.tip()), [0.0; 3])
        .map(|v| v as f32)
}

#[test]
fn all_methods_come_as_near_as_bones_let_them() {
    let mut random = Random(1);
    let mut rounds = [0_u64; 3];
    let mut missed = [0_u32; 3];
    let all = cases(50_000);
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
        for (at, method) in METHODS.into_iter().enumerate() {
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
    let mean = rounds.map(|rounds| rounds as f64 / all as f64);
    assert_eq!(missed, [0; 3], "of {all}");
    assert!(cfg!(miri) || mean[0] < 9.0 && mean[1] < 21.0 && mean[2] < 6.0, "{mean:?} rounds");
}

/// Hinges and ball joints, with goals that some allowed pose reaches.
#[test]
fn limits_are_never_broken_and_goals_within_them_are_mostly_reached() {
    let mut random = Random(2);
    let mut reached_by = [0_u32; 3];
    let all = cases(10_000);
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
        for (at, method) in METHODS.into_iter().enumerate() {
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
    let [squares, descent, fabrik] = reached_by.map(|count| count as usize * 100 / all);
    assert!(
        cfg!(miri) || squares >= 99 && descent >= 90 && fabrik >= 69,
        "{squares}, {descent} and {fabrik} %"
    );
}

#[test]
fn uneven_scales_are_no_obstacle() {
    let mut random = Random(3);
    let mut missed = [0_u32; 3];
    let all = cases(5_000);
    for try_ in 0..all {
        let scales = [Scales::UnevenAbove, Scales::Uneven][try_ % 2];
        let case = Case::new(&mut random, 3 + try_ % 4, try_ % 2, scales);
        let goal = reachable(&mut random, &case);
        for (at, method) in METHODS.into_iter().enumerate() {
            let mut got = Case { pose: case.pose.clone(), ..case.clone() };
            let asked = Chain { method, iterations: 200, ..Chain::new(turning(&case), case.tip(), goal) };
            let reached = chain(&case.skeleton, &case.model, &asked, &mut got.pose).expect("a chain");
            let off = apart(got.place(case.tip()), goal.map(f64::from));
            assert!((off - f64::from(reached.distance)).abs() < 1e-5, "{try_}: {off}, {reached:?}");
            missed[at] += u32::from(off > 2e-4);
        }
    }
    assert_eq!(missed, [0; 3], "of {all}");
}

/// If NaN were normalised to the identity, the product of the ancestors' rotations would be wrong without an
/// error.
#[test]
fn a_rotation_above_that_is_no_number_is_refused_where_it_decides() {
    let case = Case::new(&mut Random(12), 2, 0, Scales::None);
    let mut pose = case.pose.clone();
    let mut broken = pose.get(0);
    broken.rotation[1] = f32::NAN;
    pose.set(0, &broken);
    let goal = case.place(case.tip()).map(|v| v as f32);
    let mut asked = Chain::new(turning(&case), case.tip(), goal);
    assert!(chain(&case.skeleton, &case.model, &asked, &mut pose.clone()).is_ok());
    let mut limb = TwoBone::new([case.joints[0], case.joints[1], case.tip()], goal);
    assert!(two_bone(&case.skeleton, &case.model, &limb, &mut pose.clone()).is_ok());
    asked.orientation = Some(Orientation::new([0.0, 0.0, 0.0, 1.0]));
    limb.orientation = Some([0.0, 0.0, 0.0, 1.0]);
    let refused = chain(&case.skeleton, &case.model, &asked, &mut pose.clone());
    assert_eq!(refused, Err(Error::NotFinite { what: "pose", at: 0 }));
    let refused = two_bone(&case.skeleton, &case.model, &limb, &mut pose);
    assert_eq!(refused, Err(Error::NotFinite { what: "pose", at: 0 }));
}

#[test]
fn hostile_input_is_an_error_or_finite() {
    let mut random = Random(5);
    let bad = [f32::NAN, f32::INFINITY, -f32::INFINITY, f32::MAX, f32::MIN_POSITIVE, 0.0, 1e-30, 1e20, -1.0];
    for try_ in 0..cases(10_000) {
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
        asked.orientation = (try_ % 4 > 1).then_some(wanted);
        asked.method = [
            ChainMethod::LeastSquares { restarts: 2 },
            ChainMethod::CyclicDescent { step },
            ChainMethod::Fabrik,
        ][try_ / 4 % 3];
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
    assert_eq!(
        solve(&Chain { joints: &[b, a, c], ..right }),
        range("joints", 1, "a descendant of the joint before it")
    );
    assert_eq!(
        solve(&Chain { tip: a, ..right }),
        range("tip", 0, "the last of the joints or a descendant of it")
    );
    assert_eq!(solve(&Chain { weight: -0.1, ..right }), range("weight", 0, "from 0 to 1"));
    assert_eq!(solve(&Chain { tolerance: -1.0, ..right }), range("tolerance", 0, "0 or more"));
    let method = ChainMethod::CyclicDescent { step: 0.0 };
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

/// Goals are the positions and orientations of random poses.
#[test]
fn all_methods_turn_the_tip() {
    let mut random = Random(10);
    let mut reached_by = [0_usize; 3];
    let all = cases(2_000);
    for try_ in 0..all {
        let scales = [Scales::None, Scales::Even, Scales::UnevenAbove, Scales::Uneven][try_ % 4];
        let case = Case::new(&mut random, 3 + try_ % 5, try_ % 2, scales);
        let mut other = case.clone();
        for &joint in turning(&case) {
            other
                .pose
                .set(joint.into(), &Transform { rotation: random.unit(), ..case.pose.get(joint.into()) });
        }
        let goal = other.place(case.tip()).map(|v| v as f32);
        let turned = |case: &Case| {
            unit(product(
                turned_above(&case.skeleton, &case.pose, case.tip()).expect("a valid pose"),
                wide(case.pose.get(case.tip().into()).rotation),
            ))
        };
        let orientation = Some(Orientation::new(turned(&other).map(|v| v as f32)));
        for (at, method) in METHODS.into_iter().enumerate() {
            let mut got = case.clone();
            let asked = Chain {
                method,
                orientation,
                iterations: 200,
                ..Chain::new(turning(&case), case.tip(), goal)
            };
            let reached = chain(&case.skeleton, &case.model, &asked, &mut got.pose).expect("a chain");
            let off = apart(got.place(case.tip()), goal.map(f64::from));
            let size = bones(&got).1.iter().sum::<f64>() + length(bones(&got).0) + 1.0;
            assert!(
                (off - f64::from(reached.distance)).abs() < 2e-6 * size.max(5.0),
                "{try_}: {off}, {reached:?}"
            );
            let off = angle(turned(&got), turned(&other));
            assert!((off - f64::from(reached.angle)).abs() < 1e-5, "{try_}: {off}, {reached:?}");
            reached_by[at] += usize::from(reached.distance < 1.1e-4 && reached.angle < 1.1e-3);
        }
    }
    let [squares, descent, fabrik] = reached_by.map(|count| count * 100 / all);
    assert!(
        cfg!(miri) || squares >= 99 && descent >= 82 && fabrik >= 90,
        "{squares}, {descent} and {fabrik} %"
    );
}

/// Partial steps share the rotation more evenly among the joints, and all goals are reached.
#[test]
fn smaller_steps_take_more_rounds() {
    let mut random = Random(7);
    let mut rounds = [0; 2];
    for try_ in 0..cases(500) {
        let case = Case::new(&mut random, 4, 0, Scales::None);
        let goal = reachable(&mut random, &case);
        for (at, step) in [1.0, 0.4].into_iter().enumerate() {
            let asked = Chain {
                method: ChainMethod::CyclicDescent { step },
                iterations: 1000,
                ..Chain::new(turning(&case), case.tip(), goal)
            };
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
    assert_portable(0x467c_c8f0_59bc_399a, |hash| {
        let mut random = Random(8);
        for try_ in 0..tries(200) {
            let scales = [Scales::None, Scales::Even, Scales::UnevenAbove, Scales::Uneven][try_ % 4];
            let mut case = Case::new(&mut random, 3 + try_ % 8, try_ % 2, scales);
            let limits = JointLimit { swing: Swing::Cone(0.8), ..JointLimit::free(random.unit()) };
            let hinge =
                JointLimit { reference: random.unit(), ..JointLimit::hinge(random.unit(), [-1.5, 1.0]) };
            let limits = [(case.joints[1], limits), (case.joints[2], hinge)];
            let limits = Limits::new(&case.skeleton, limits).expect("a cone and a hinge");
            let orientation = (try_ % 2 == 0).then(|| Orientation::new(random.unit()));
            let method = match try_ % 3 {
                0 => ChainMethod::Fabrik,
                1 => ChainMethod::CyclicDescent { step: 0.7 },
                _ => ChainMethod::LeastSquares { restarts: 3 },
            };
            let goal = reachable(&mut random, &case);
            let joints = turning(&case).to_vec();
            let asked = Chain {
                method,
                orientation,
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

#[test]
fn soft_limits_are_never_broken_either() {
    let mut random = Random(12);
    for try_ in 0..cases(2_000) {
        let case = Case::new(&mut random, 3 + try_ % 4, 0, Scales::None);
        let limits = turning(&case).iter().map(|&joint| {
            let swing = match random.below(3) {
                0 => Swing::Hinge,
                1 => Swing::Cone(random.range(0.3, 1.5)),
                _ => Swing::Ellipse { side: random.unit(), angles: [random.range(0.3, 1.5), 0.7] },
            };
            let (twist, soft) = (Some([random.range(-1.2, -0.2), 0.8]), random.range(0.0, 1.0));
            let free = JointLimit::free(random.unit());
            (joint, JointLimit { reference: random.unit(), swing, twist, soft, ..free })
        });
        let limits = Limits::new(&case.skeleton, limits.collect::<Vec<_>>()).expect("limits");
        let goal = random.vector(1.0);
        for method in METHODS {
            let weight = if try_ % 5 == 0 { 0.5 } else { 1.0 };
            let mut pose = case.pose.clone();
            let asked = Chain {
                method,
                limits: Some(&limits),
                weight,
                ..Chain::new(turning(&case), case.tip(), goal)
            };
            chain(&case.skeleton, &case.model, &asked, &mut pose).expect("a chain");
            for &joint in turning(&case) {
                let over = broken(limits.get(joint), pose.get(joint.into()).rotation);
                assert!(over < 1e-5, "{try_} {method:?}: {over} {:?}", limits.get(joint));
            }
        }
    }
}
