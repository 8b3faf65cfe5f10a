//! Limbs that are bent at once, alone and as a crowd.

use super::*;

/// What is found at once is what takes more thought, too; and it is what most limbs are.
#[test]
fn both_ways_come_to_the_same() {
    let mut random = Random(11);
    let (mut direct, mut all) = (0, 0);
    for try_ in 0..tries(20_000) {
        let scales = [Scales::None, Scales::Even, Scales::UnevenAbove][try_ % 3];
        let mut case = Case::new(&mut random, 2, 0, scales);
        if try_ % 5 == 0 {
            // Mirrored above.
            let mut t = case.pose.get(0);
            t.scale[try_ / 5 % 3] *= -1.0;
            case.pose.set(0, &t);
            case.model = model_of(&case.skeleton, &case.pose);
        }
        let reach = TwoBone {
            pole: (try_ % 2 == 0).then(|| random.vector(3.0)),
            soft: if try_ % 4 < 2 { 0.1 } else { 0.0 },
            weight: if try_ % 7 == 0 { random.range(0.0, 1.0) } else { 1.0 },
            ..TwoBone::new(three(&case), goal(&mut random, &case))
        };
        let limb = Source::new(&case.skeleton, &case.model, &reach, &case.pose).expect("it is direct");
        all += usize::from(scales != Scales::UnevenAbove);
        let Some((turned, distance)) = direct::solve(&limb) else { continue };
        let (turned, distance) = (turned.map(|q| q.map(|v| v as f32)), distance as f32);
        direct += usize::from(scales != Scales::UnevenAbove);
        let [shoulder, elbow, hand] = three(&case).map(|joint| case.place(joint));
        let bend = cross(sub(elbow, shoulder), sub(hand, elbow));
        let mut pose = case.pose.clone();
        let reached = general(&case.skeleton, &case.model, &reach, &mut pose).expect("a limb");
        assert!((distance - reached.distance).abs() < 1e-6, "{try_}: {distance} and {reached:?}");
        for (joint, turned) in reach.joints.into_iter().zip(turned) {
            let want = if reach.weight > 0.0 { pose.get(joint.into()).rotation } else { turned };
            let off = angle(unit(wide(turned)), unit(wide(want)));
            // Near the shoulder a small step is a great turn, and where a limb is nearly straight, before or after, or turns half round, all that is
            // small decides.
            let given = wide(case.pose.get(joint.into()).rotation);
            let [a, b, far] = lengths(&case, reach.goal);
            let steady = length(bend) > 0.05 * a * b && far > 1.05 * (a - b).abs() && far < 0.95 * (a + b);
            let steady = steady && angle(unit(wide(want)), given) < 3.0;
            let bound = if steady { 2e-6 * (1.0 + (a + b) / far) } else { 1e-3 };
            assert!(off < bound, "{try_}: {off}, {turned:?} and {want:?}");
            let length2: f32 = turned.iter().map(|v| v * v).sum();
            assert!((length2 - 1.0).abs() < 5e-7, "{try_}: {turned:?}");
        }
    }
    assert!(direct * 100 >= all * 99 || cfg!(miri), "{direct} of {all}");
}

/// Instances of every kind, in groups that are alike and in others.
#[test]
fn a_crowd_has_the_bits_of_each_alone() {
    let mut random = Random(12);
    let case = Case::new(&mut random, 2, 0, Scales::None);
    let limits = limits(&mut random, &case, 0);
    for count in [0, 1, 3, 4, 5, 17, 130] {
        let (mut poses, mut models, mut reaches) = (Vec::new(), Vec::new(), Vec::new());
        for at in 0..count {
            let mut pose = case.pose.clone();
            for joint in 0..pose.joint_count() {
                pose.set(joint, &Transform { rotation: random.unit(), ..pose.get(joint) });
            }
            match at {
                // Uneven, straight, folded away, no numbers.
                40 => pose.set(2, &Transform { scale: [1.0, 2.0, 1.0], ..pose.get(2) }),
                44 => pose.set(0, &Transform { scale: [1.0, 2.0, -1.0], ..pose.get(0) }),
                48 => pose.set(3, &Transform { translation: [0.0; 3], ..pose.get(3) }),
                52 => pose.set(3, &Transform { rotation: [f32::NAN; 4], ..pose.get(3) }),
                _ => {}
            }
            models.extend(model_of(&case.skeleton, &pose));
            let mut reach = TwoBone::new(three(&case), goal(&mut random, &case));
            reach.pole = (at % 24 < 12 || at % 5 == 0).then(|| random.unit());
            match at {
                20 => reach.weight = 0.5,
                21 => reach.weight = 0.0,
                60 => reach.soft = 0.1,
                61 => reach.goal = [90.0; 3],
                64 => reach.limits = Some(&limits),
                68 => reach.orientation = Some(random.unit()),
                72 => reach.goal[1] = f32::NAN,
                76 => reach.joints[1] = 99,
                80 => reach.joints.swap(0, 1),
                84 => reach.soft = f32::NAN,
                _ => {}
            }
            poses.push(pose);
            reaches.push(reach);
        }
        let joints = case.skeleton.joint_count();
        for dispatch in Dispatch::all() {
            let mut crowd = poses.clone();
            let mut results = std::vec![Ok(Reached::default()); count];
            let solved = dispatch.scope(|| {
                two_bone_crowd(&case.skeleton, &models, |at| reaches[at], &mut crowd, &mut results)
            });
            solved.expect("sizes agree");
            for (at, (pose, result)) in crowd.iter().zip(&results).enumerate() {
                let mut alone = poses[at].clone();
                let want =
                    two_bone(&case.skeleton, &models[at * joints..][..joints], &reaches[at], &mut alone);
                assert_eq!(result, &want, "{dispatch}, {at} of {count}");
                for (got, want) in pose.transforms().zip(alone.transforms()) {
                    let same = got.rotation.map(f32::to_bits) == want.rotation.map(f32::to_bits);
                    assert!(same, "{dispatch}, {at} of {count}: {got:?} instead of {want:?}");
                }
            }
        }
    }
    let (mut poses, mut results) = (std::vec![case.pose.clone(); 2], std::vec![Ok(Reached::default()); 2]);
    let reach = |_| TwoBone::new(three(&case), [0.0; 3]);
    let refused = two_bone_crowd(&case.skeleton, &case.model, reach, &mut poses, &mut results);
    let joints = case.skeleton.joint_count();
    assert_eq!(refused, Err(Error::Length { what: "models", found: joints, needed: 2 * joints }));
    let refused = two_bone_crowd(&case.skeleton, &case.model, reach, &mut poses[..1], &mut results);
    assert_eq!(refused, Err(Error::Length { what: "results", found: 2, needed: 1 }));
}

#[test]
fn what_is_found_at_once_has_the_same_bits_everywhere() {
    assert_portable(0xbd70_f9ea_7928_d8a9, |hash| {
        let mut random = Random(13);
        for try_ in 0..tries(300) {
            let case = Case::new(&mut random, 2, 0, [Scales::None, Scales::Even][try_ % 2]);
            let reach = TwoBone {
                pole: (try_ % 3 == 0).then(|| random.unit()),
                weight: if try_ % 5 == 0 { 0.7 } else { 1.0 },
                soft: if try_ % 4 == 0 { 0.05 } else { 0.0 },
                ..TwoBone::new(three(&case), goal(&mut random, &case))
            };
            let limb = Source::new(&case.skeleton, &case.model, &reach, &case.pose).expect("it is direct");
            if let Some((turned, distance)) = direct::solve(&limb) {
                let turned = turned.map(|q| q.map(|v| v as f32));
                hash.add(turned.as_flattened().iter().chain([&(distance as f32)]));
            }
        }
    });
}
