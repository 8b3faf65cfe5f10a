use std::vec::Vec;

use super::*;
use crate::limits::tests::broken;
use crate::limits::{JointLimit, Swing};
use crate::maps::{angle, wide};
use crate::testing::{Case, Scales, apart, model_of, point};
use condyle::model::local_to_model;
use condyle::skeleton::Joint;
use condyle_base::math::Transform;
use condyle_testing::{Random, assert_portable, cases, tries};

/// Reference distance between a target and a joint's ray, in f64.
fn off(case: &Case, aim: &Aim<'_>) -> f64 {
    let matrix = case.matrix(aim.joint);
    let from = point(&matrix, aim.origin.map(f64::from));
    let ahead = point(&matrix, core::array::from_fn(|c| f64::from(aim.origin[c]) + f64::from(aim.axis[c])));
    let along = direction(sub(ahead, from)).expect("an invertible matrix");
    let to = sub(aim.target.map(f64::from), from);
    apart(to, scaled(along, dot(to, along).max(0.0)))
}

fn random_aim(random: &mut Random, joint: u16) -> Aim<'static> {
    Aim::new(joint, random.vector(3.0), random.vector(4.0))
}

const SCALES: [Scales; 4] = [Scales::None, Scales::Even, Scales::UnevenAbove, Scales::Uneven];

/// Tests all kinds of non-uniform scale. Also checks that the rotation is the smallest possible one.
#[test]
fn the_ray_goes_through_the_target_by_the_shortest_way() {
    let mut random = Random(1);
    for try_ in 0..cases(100_000) {
        let mut case = Case::new(&mut random, 1, try_ % 2, SCALES[try_ % 4]);
        let was = case.pose.clone();
        let joint = case.joints[0];
        let mut aim = random_aim(&mut random, joint);
        let beside = try_ % 3 == 0;
        if beside {
            aim.origin = random.vector(0.2);
        }
        let turned_way = |case: &Case| {
            let t = case.pose.get(joint.into());
            let own: Vec64 = core::array::from_fn(|c| f64::from(t.scale[c]) * f64::from(aim.axis[c]));
            rotate(wide(t.rotation), own)
        };
        let before = turned_way(&case);
        let reached = super::aim(&case.skeleton, &case.model, &aim, &mut case.pose).expect("an aim");
        case.assert_only_turned(&was, try_);
        let off = off(&case, &aim);
        assert!((off - f64::from(reached.distance)).abs() < 2e-5, "{try_}: {off} {reached:?}");
        let pivot = case.place(joint);
        let matrix = case.matrix(joint);
        let near = apart(point(&matrix, aim.origin.map(f64::from)), pivot);
        let far = apart(aim.target.map(f64::from), pivot);
        // If the origin of the ray is farther from the joint than the target, there may be no rotation that
        // reaches the target.
        if far > 4.0 * near {
            assert!(off < 2e-5, "{try_}: {off}, {far} and {near}");
        }
        if !beside {
            let after = turned_way(&case);
            let least = condyle_base::math::scalar::atan2_f64(
                length(condyle_base::math::vectors::cross(before, after)),
                dot(before, after),
            );
            let [now, then] = [&case.pose, &was].map(|pose| wide(pose.get(joint.into()).rotation));
            assert!((angle(now, then) - least).abs() < 1e-5, "{try_}: {} {least}", angle(now, then));
        }
    }
}

/// Checks 100 rotations about the direction to the target; none brings the up axis nearer.
#[test]
fn up_is_as_near_as_it_comes() {
    let mut random = Random(2);
    for try_ in 0..cases(3_000) {
        let mut case = Case::new(&mut random, 1, 0, [Scales::None, Scales::Even][try_ % 2]);
        let joint = case.joints[0];
        let up = Up { axis: random.unit(), direction: random.vector(2.0) };
        let aim = Aim { up: Some(up), ..random_aim(&mut random, joint) };
        super::aim(&case.skeleton, &case.model, &aim, &mut case.pose).expect("an aim");
        assert!(off(&case, &aim) < 1e-5, "{try_}");
        let matrix = case.matrix(joint);
        let linear = |v: [f32; 3]| {
            direction(sub(point(&matrix, v.map(f64::from)), point(&matrix, [0.0; 3])))
                .expect("an invertible matrix")
        };
        let (line, axis) = (linear(aim.axis), linear(up.axis));
        let wanted = direction(up.direction.map(f64::from)).expect("a direction");
        let best = dot(axis, wanted);
        for part in 0..100 {
            let (sin, cos) = (f64::from(part) * 0.0314).sin_cos();
            let [x, y, z] = scaled(line, sin);
            assert!(dot(rotate([x, y, z, cos], axis), wanted) < best + 1e-5, "{try_}");
        }
    }
}

#[test]
fn shares_are_shares_and_the_last_joint_does_the_rest() {
    let mut random = Random(3);
    for try_ in 0..cases(20_000) {
        let case = Case::new(&mut random, 2 + try_ % 4, try_ % 2, SCALES[try_ % 4]);
        let turning = &case.joints[..case.joints.len() - 1];
        let joints: Vec<_> =
            turning.iter().map(|&joint| Share { joint, share: random.range(0.0, 1.0) }).collect();
        let last = *turning.last().expect("joints");
        let target = random.vector(8.0);
        let aim = Aim { origin: [0.0; 3], target, ..random_aim(&mut random, last) };
        let asked = AimChain { joints: &joints, aim };
        let mut got = case.clone();
        let reached = aim_chain(&case.skeleton, &case.model, &asked, &mut got.pose).expect("an aim");
        got.assert_only_turned(&case.pose, try_);
        // Non-uniform scales amplify the f32 rounding of an angle.
        assert!((off(&got, &aim) - f64::from(reached.distance)).abs() < 5e-5, "{try_}: {reached:?}");
        assert!(off(&got, &aim) < 5e-5, "{try_}: {reached:?}");
        // A share of 0 leaves its joint unchanged, and a weight of 0 leaves all joints unchanged.
        let none = AimChain { aim: Aim { weight: 0.0, ..aim }, ..asked };
        let mut same = case.pose.clone();
        aim_chain(&case.skeleton, &case.model, &none, &mut same).expect("an aim");
        assert_eq!(same, case.pose, "{try_}");
        let mut some = joints.clone();
        some[0].share = 0.0;
        aim_chain(&case.skeleton, &case.model, &AimChain { joints: &some, aim }, &mut same).expect("an aim");
        assert_eq!(same.get(turning[0].into()), case.pose.get(turning[0].into()), "{try_}");
    }
}

/// Tests chains of one to three joints.
#[test]
fn a_weight_is_how_much_of_the_way_is_gone() {
    let joint = |parent| Joint::new("", parent, Transform::IDENTITY);
    let skeleton = Skeleton::new([None, Some(0), Some(1)].map(joint)).expect("a neck");
    let model = [Affine::IDENTITY; 3];
    let share = |joint| Share { joint, share: 1.0 };
    for joints in [&[share(0), share(1), share(2)][..], &[share(1), share(2)], &[share(2)]] {
        for (weight, degrees) in [(0.25, 21.6_f64), (0.5, 45.0), (0.75, 68.4)] {
            let aim = Aim { weight, ..Aim::new(2, [0.0, 0.0, 1.0], [4.0, 0.0, 0.0]) };
            let mut pose = Pose::rest(&skeleton);
            aim_chain(&skeleton, &model, &AimChain { joints, aim }, &mut pose).expect("an aim");
            let mut placed = model;
            local_to_model(&skeleton, &pose, &mut placed).expect("sizes agree");
            let [x, _, z] = placed[2].rows.map(|row| f64::from(row[2]));
            let turned = condyle_base::math::scalar::atan2_f64(x, z) * 180.0 / core::f64::consts::PI;
            // Several small rotations are closer to constant angular velocity than one large rotation.
            assert!((turned - degrees).abs() < 1.0, "{} joints, {weight}: {turned}", joints.len());
        }
    }
}

#[test]
fn limits_are_never_broken() {
    let mut random = Random(4);
    for try_ in 0..cases(20_000) {
        let mut case = Case::new(&mut random, 3, 0, SCALES[try_ % 4]);
        let turning = case.joints[..3].to_vec();
        let limits = turning.iter().map(|&joint| {
            let swing = if try_ % 3 == 0 { Swing::Hinge } else { Swing::Cone(random.range(0.1, 1.0)) };
            let limit = JointLimit { reference: random.unit(), swing, ..JointLimit::free(random.unit()) };
            (joint, JointLimit { twist: Some([-0.5, 0.6]), ..limit })
        });
        let limits = Limits::new(&case.skeleton, limits.collect::<Vec<_>>()).expect("limits");
        let joints: Vec<_> = turning.iter().map(|&joint| Share { joint, share: 1.0 }).collect();
        let weight = random.range(0.01, 1.0);
        let aim = Aim { limits: Some(&limits), weight, ..random_aim(&mut random, turning[2]) };
        let reached =
            aim_chain(&case.skeleton, &case.model, &AimChain { joints: &joints, aim }, &mut case.pose)
                .expect("an aim");
        assert!((off(&case, &aim) - f64::from(reached.distance)).abs() < 2e-5, "{try_}: {reached:?}");
        for &joint in &turning {
            let over = broken(limits.get(joint), case.pose.get(joint.into()).rotation);
            assert!(over < 1e-5, "{try_}: {over}");
        }
    }
}

#[test]
fn hostile_input_is_an_error_or_finite() {
    let mut random = Random(5);
    let bad = [f32::NAN, f32::INFINITY, f32::MAX, f32::MIN_POSITIVE, 0.0, 1e-30, -1.0];
    for try_ in 0..cases(20_000) {
        let mut case = Case::new(&mut random, 2, 0, SCALES[try_ % 4]);
        let mut joints: Vec<_> = case.joints[..2].iter().map(|&joint| Share { joint, share: 1.0 }).collect();
        let mut aim = random_aim(&mut random, case.joints[1]);
        let value = bad[random.below(bad.len())];
        let at = random.below(3);
        let some: [f32; 3] = core::array::from_fn(|c| if c == at { value } else { 0.0 });
        match random.below(10) {
            0 => aim.target = some,
            1 => aim.axis = some,
            2 => aim.origin = some,
            3 => aim.up = Some(Up { axis: some, direction: [0.0, 1.0, 0.0] }),
            4 => aim.up = Some(Up { axis: [1.0, 0.0, 0.0], direction: some }),
            5 => aim.weight = value,
            6 => joints[at % 2].share = value,
            7 => joints[at % 2].joint = random.below(9) as u16,
            8 => case.model[at].rows[at] = [value; 4],
            _ => {
                let joint = usize::from(case.joints[at % 2]);
                let mut t = case.pose.get(joint);
                [t.rotation[at], t.translation[at], t.scale[at]] = [value; 3];
                case.pose.set(joint, &t);
            }
        }
        let was = case.pose.clone();
        let asked = AimChain { joints: &joints, aim };
        let bits = |pose: &Pose| pose.transforms().map(|t| t.rotation.map(f32::to_bits)).collect::<Vec<_>>();
        match aim_chain(&case.skeleton, &case.model, &asked, &mut case.pose) {
            Ok(reached) => {
                assert!(reached.distance.is_finite(), "{try_}: {reached:?}");
                for share in &joints {
                    let q = case.pose.get(share.joint.into()).rotation;
                    assert!(q.iter().all(|v| v.is_finite()), "{try_}: {q:?}");
                }
            }
            Err(error) => assert_eq!(bits(&case.pose), bits(&was), "{try_}: {error} changed the pose"),
        }
    }
}

/// A solver that read NaN as the identity would find the axis already aimed and leave the NaN in the pose.
#[test]
fn a_rotation_that_is_no_number_is_refused_where_nothing_would_turn() {
    let case = Case::new(&mut Random(11), 2, 0, Scales::None);
    let free = case.joints[..2].iter().map(|&joint| (joint, JointLimit::free([1.0, 0.0, 0.0])));
    let free = Limits::new(&case.skeleton, free.collect::<Vec<_>>()).expect("limits");
    for (at, limits) in [(0, None), (1, None), (0, Some(&free)), (1, Some(&free))] {
        let mut pose = case.pose.clone();
        let joint = case.joints[at];
        let mut broken = pose.get(joint.into());
        broken.rotation[2] = f32::NAN;
        pose.set(joint.into(), &broken);
        let shares = [0.0, 1.0];
        let joints = [0, 1].map(|at: usize| Share { joint: case.joints[at], share: shares[at] });
        let aim = Aim { limits, ..Aim::new(case.joints[1], [0.0, 0.0, 1.0], [0.5, 0.25, 2.0]) };
        let refused = aim_chain(&case.skeleton, &case.model, &AimChain { joints: &joints, aim }, &mut pose);
        assert_eq!(refused, Err(Error::NotFinite { what: "pose", at: joint.into() }), "{at}, {limits:?}");
    }
}

#[test]
fn what_is_wrong_is_said() {
    let case = Case::new(&mut Random(6), 3, 0, Scales::None);
    let [a, b, c, _] = case.joints[..] else { panic!("three joints and a tip") };
    let right = Aim::new(c, [0.0, 0.0, 1.0], [1.0; 3]);
    let one = |aim: Aim<'_>| {
        super::aim(&case.skeleton, &case.model, &aim, &mut case.pose.clone()).expect_err("refused")
    };
    assert_eq!(one(Aim { axis: [0.0; 3], ..right }), Error::NoDirection { what: "axis" });
    assert_eq!(
        one(Aim { weight: 2.0, ..right }),
        Error::OutOfRange { what: "weight", at: 0, needed: "from 0 to 1" }
    );
    assert_eq!(
        one(Aim { joint: 99, ..right }),
        Error::Index { what: "joint", at: 0, found: 99, count: case.skeleton.joint_count() }
    );
    let chain = |joints: &[u16], shares: f32| {
        let joints: Vec<_> = joints.iter().map(|&joint| Share { joint, share: shares }).collect();
        aim_chain(
            &case.skeleton,
            &case.model,
            &AimChain { joints: &joints, aim: right },
            &mut case.pose.clone(),
        )
        .expect_err("refused")
    };
    let range = |at, needed| Error::OutOfRange { what: "joints", at, needed };
    assert_eq!(chain(&[], 1.0), Error::TooShort { what: "joints", found: 0, needed: 1 });
    assert_eq!(chain(&[a, b], 1.0), range(1, "the joint of the aim"));
    assert_eq!(chain(&[b, a, c], 1.0), range(1, "a descendant of the joint before it"));
    assert_eq!(chain(&[a, b, c], -1.0), range(0, "given a share of at least 0"));
    assert_eq!(chain(&[a, b, c], 0.0), range(2, "given a share above 0: all joints before it have 0"));
    assert_eq!(chain(&[c; 65], 1.0), Error::TooMany { what: "joints", found: 65, limit: 64 });
}

#[test]
fn the_bits_are_the_same_everywhere() {
    assert_portable(0x3ead_5f1d_c2c3_39af, |hash| {
        let mut random = Random(7);
        for try_ in 0..tries(500) {
            let mut case = Case::new(&mut random, 3, try_ % 2, SCALES[try_ % 4]);
            let joints: Vec<_> = case.joints[..3]
                .iter()
                .map(|&joint| Share { joint, share: random.range(0.1, 1.0) })
                .collect();
            let up = Some(Up { axis: random.unit(), direction: random.unit() });
            let aim = Aim { up, origin: random.vector(0.1), ..random_aim(&mut random, case.joints[2]) };
            let asked = AimChain { joints: &joints, aim };
            let reached = aim_chain(&case.skeleton, &case.model, &asked, &mut case.pose).expect("an aim");
            hash.add(&[reached.distance]);
            for &joint in &case.joints {
                hash.add(&case.pose.get(joint.into()).rotation);
            }
        }
    });
}

/// The closed form agrees with the general solver, and it handles at least 95 % of the aims.
#[test]
fn both_ways_come_to_the_same() {
    let mut random = Random(11);
    let (mut direct, mut all) = (0, 0);
    for try_ in 0..cases(20_000) {
        let scales = [Scales::None, Scales::Even, Scales::Uneven][try_ % 3];
        let mut case = Case::new(&mut random, 1, 0, scales);
        if try_ % 5 == 0 {
            // Mirrored by an ancestor.
            let mut t = case.pose.get(0);
            t.scale[try_ / 5 % 3] *= -1.0;
            case.pose.set(0, &t);
            case.model = model_of(&case.skeleton, &case.pose);
        }
        let aim = Aim {
            origin: if try_ % 2 == 0 { random.vector(0.05) } else { [0.0; 3] },
            up: (try_ % 4 < 2).then(|| Up { axis: random.unit(), direction: random.unit() }),
            weight: if try_ % 7 == 0 { random.range(0.0, 1.0) } else { 1.0 },
            ..Aim::new(case.joints[0], random.unit(), random.vector(3.0))
        };
        let joint =
            Source::new(&case.skeleton, &case.model, &aim, &case.pose).expect("a case for the direct solver");
        all += 1;
        let Some(direct::Turned { rotation: turned, distance }) = direct::solve(&joint) else { continue };
        direct += 1;
        let mut pose = case.pose.clone();
        let reached = general(&case.skeleton, &case.model, &aim, &mut pose).expect("a joint");
        assert!((distance - reached.distance).abs() < 4e-6, "{try_}: {distance} and {reached:?}");
        let given = case.pose.get(aim.joint.into()).rotation.map(f64::from);
        let want = pose.get(aim.joint.into()).rotation.map(f64::from);
        let off = angle(unit(turned.map(f64::from)), unit(want));
        // The rotation is sensitive near a half turn, and if `up` is nearly parallel to the direction of the
        // target.
        let steady = angle(unit(want), given) < 3.0 && aim.up.is_none();
        assert!(aim.weight == 0.0 || off < if steady { 4e-6 } else { 1e-3 }, "{try_}: {off}");
        let length2: f32 = turned.iter().map(|v| v * v).sum();
        assert!((length2 - 1.0).abs() < 5e-7, "{try_}: {turned:?}");
    }
    assert!(direct * 100 >= all * 95 || cfg!(miri), "{direct} of {all}");
}

#[test]
fn what_is_found_at_once_has_the_same_bits_everywhere() {
    assert_portable(0xe825_75c6_7290_b421, |hash| {
        let mut random = Random(13);
        for try_ in 0..tries(300) {
            let case = Case::new(&mut random, 1, 0, [Scales::None, Scales::Uneven][try_ % 2]);
            let weight = if try_ % 5 == 0 { 0.7 } else { 1.0 };
            let aim = Aim { weight, limits: None, ..random_aim(&mut random, case.joints[0]) };
            let joint = Source::new(&case.skeleton, &case.model, &aim, &case.pose)
                .expect("a case for the direct solver");
            if let Some(direct::Turned { rotation, distance }) = direct::solve(&joint) {
                hash.add(rotation.iter().chain([&distance]));
            }
        }
    });
}
