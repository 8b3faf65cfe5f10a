//! Tests of the closed form.

use super::*;
use condyle_base::math::Transform;

/// The closed form agrees with the general solver, and it handles at least 99 % of the limbs.
#[test]
fn both_ways_come_to_the_same() {
    let mut random = Random(11);
    let (mut direct, mut all) = (0, 0);
    for try_ in 0..tries(20_000) {
        let scales = [Scales::None, Scales::Even, Scales::UnevenAbove][try_ % 3];
        let mut case = Case::new(&mut random, 2, 0, scales);
        if try_ % 5 == 0 {
            // Mirrored by an ancestor.
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
        let limb = Source::new(&case.skeleton, &case.model, &reach, &case.pose)
            .expect("a case for the direct solver");
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
            // The rotation is sensitive near the shoulder, if the limb is nearly straight before or after,
            // and near a half turn.
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

#[test]
fn the_worked_limb_comes_out_as_the_preface_says() {
    let at = |name: &str, parent, translation| {
        condyle::Joint::new(name, parent, Transform { translation, ..Transform::IDENTITY })
    };
    let joints = [
        at("hip", None, [0.0; 3]),
        at("knee", Some(0), [0.0, -3.0, 0.0]),
        at("ankle", Some(1), [0.0, -3.2, 2.4]),
    ];
    let skeleton = Skeleton::new(joints).expect("a skeleton");
    let pose = Pose::rest(&skeleton);
    let model = model_of(&skeleton, &pose);
    let reach = TwoBone::new([0, 1, 2], [0.0, -5.0, 0.0]);
    let limb = Source::new(&skeleton, &model, &reach, &pose).expect("a case for the direct solver");
    let ([upper, lower], distance) = direct::solve(&limb).expect("a solution");
    let near = |q: Quat64, want: Quat64| q.iter().zip(want).all(|(a, b)| (a - b).abs() < 5e-4);
    assert!(near(upper, [0.447, 0.0, 0.0, 0.894]), "{upper:?}");
    assert!(near(lower, [-0.447, 0.0, 0.0, 0.894]), "{lower:?}");
    assert!(distance < 1e-9, "{distance}");
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
            let limb = Source::new(&case.skeleton, &case.model, &reach, &case.pose)
                .expect("a case for the direct solver");
            if let Some((turned, distance)) = direct::solve(&limb) {
                let turned = turned.map(|q| q.map(|v| v as f32));
                hash.add(turned.as_flattened().iter().chain([&(distance as f32)]));
            }
        }
    });
}
