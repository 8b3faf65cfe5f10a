//! Limbs with a hinge.

use super::*;
use condyle::example;
use condyle::model::local_to_model;

/// Goals in reach are met, with joints in between, scales and mirrors, and a tip at its goal stays.
#[test]
fn goals_are_met_as_a_change_of_the_pose() {
    let mut random = Random(21);
    for try_ in 0..cases(20_000) {
        let scales = [Scales::None, Scales::Even][try_ % 2];
        let mut case = Case::new(&mut random, 2, try_ % 3, scales);
        let (was, joints) = (case.pose.clone(), three(&case));
        // The normal of the bones: a bend about any other axis may not reach all distances.
        let places = joints.map(|joint| case.place(joint));
        let normal = direction(cross(sub(places[1], places[0]), sub(places[2], places[1])));
        let hinge = normal.map(|normal| normal.map(|v| v as f32));
        let goal =
            if try_ % 5 == 0 { case.place(joints[2]).map(|v| v as f32) } else { goal(&mut random, &case) };
        let pole = try_.is_multiple_of(4).then(|| random.unit());
        let reach = TwoBone { hinge, pole, ..TwoBone::new(joints, goal) };
        let [a, b, far] = lengths(&case, goal);
        let reached = two_bone(&case.skeleton, &case.model, &reach, &mut case.pose).expect("a limb");
        case.assert_only_turned(&was, try_);
        let off = apart(case.place(joints[2]), goal.map(f64::from));
        let model = 1.0 + case.place(joints[0]).iter().map(|v| v.abs()).sum::<f64>();
        assert!((off - f64::from(reached.distance)).abs() < 2e-6 * model, "{try_}: {off}, {reached:?}");
        // A limb folds up to 165 degrees.
        if far < a + b && far * far > a * a + b * b - 1.93 * a * b {
            assert!(off < 4e-6 * model, "{try_}: {off}");
        }
        if try_ % 5 == 0 && pole.is_none() {
            let turned = joints.map(|joint| {
                angle(
                    rotation_of(&was, joint).expect("finite"),
                    rotation_of(&case.pose, joint).expect("finite"),
                )
            });
            // The goal is rounded to f32, which turns short limbs a little, and nearly straight ones more.
            assert!(turned.iter().all(|angle| *angle < 5e-3), "{try_}: {turned:?}");
        }
    }
}

/// The knees of a straight leg bend to the front, and noise in the pose does not turn them aside.
#[test]
fn straight_legs_bend_about_the_hinge() {
    let skeleton = example::skeleton();
    for noise in [0.0, 1e-7, -1e-7, 0.02, -0.02] {
        let mut pose = Pose::rest(&skeleton);
        let knee = usize::from(example::LEG_L[1]);
        let local = pose.get(knee);
        pose.set(knee, &condyle::Transform { rotation: [0.0, 0.0, noise, 1.0], ..local });
        let mut placed = vec![Affine::IDENTITY; skeleton.joint_count()];
        local_to_model(&skeleton, &pose, &mut placed).expect("a pose");
        let up = placed[usize::from(example::LEG_L[2])].transform_point([0.0, 0.1, 0.0]);
        let reach = TwoBone { hinge: Some([2.0, 0.0, 0.0]), ..TwoBone::new(example::LEG_L, up) };
        let reached = two_bone(&skeleton, &placed, &reach, &mut pose).expect("a leg");
        assert!(reached.distance < 1e-5, "{noise}: {reached:?}");
        local_to_model(&skeleton, &pose, &mut placed).expect("a pose");
        let [hip, knee] = [0, 1].map(|at| placed[usize::from(example::LEG_L[at])].transform_point([0.0; 3]));
        assert!(knee[2] - hip[2] > 0.1 && (knee[0] - hip[0]).abs() < 0.04, "{noise}: {hip:?} {knee:?}");
    }
}

#[test]
fn a_hinge_must_be_finite() {
    let mut random = Random(22);
    let mut case = Case::new(&mut random, 2, 0, Scales::None);
    let reach = TwoBone { hinge: Some([f32::NAN, 0.0, 0.0]), ..TwoBone::new(three(&case), [0.0; 3]) };
    let found = two_bone(&case.skeleton, &case.model, &reach, &mut case.pose);
    assert_eq!(found, Err(Error::NotFinite { what: "hinge", at: 0 }));
}
