//! The same joints in every layout: alone, in poses, in lists, in place, and selected.

use super::*;
use condyle_base::math::Transform;
use condyle_base::simd::BLOCK;

/// A joint alone, in a pose, in a list, in place or selected from a list: the bits are the same.
#[test]
fn a_joint_is_the_same_in_every_shape() {
    for &count in SIZES {
        let mut random = Random(count as u64);
        let mut joints = || -> Vec<JointQuat> {
            let joint = |_| JointQuat {
                rotation: random.unit(),
                translation: random.vector(2.0),
                scale: random.range(0.5, 2.0),
            };
            (0..count).map(joint).collect()
        };
        let (from, to) = (joints(), joints());
        let pose = |joints: &[JointQuat]| {
            Pose::from_transforms(&joints.iter().map(|&j| j.into()).collect::<Vec<Transform>>())
        };
        let (pose_from, pose_to) = (pose(&from), pose(&to));
        let per_joint: Vec<f32> = (0..count).map(|j| (j % 11) as f32 / 10.0).collect();
        let order: Vec<u16> = (0..count).rev().map(|j| j as u16).collect();
        let reversed: Vec<f32> = per_joint.iter().rev().copied().collect();
        for dispatch in Dispatch::all() {
            for how in methods().flat_map(|m| {
                [Arc::Shorter, Arc::AsGiven].map(|arc| InterpolateOptions {
                    method: m,
                    arc,
                    extrapolate: false,
                })
            }) {
                for (t, listed) in [
                    (Factor::Same(0.3), Factor::Same(0.3)),
                    (Factor::Same(0.9), Factor::Same(0.9)),
                    (Factor::PerJoint(&per_joint), Factor::PerJoint(&reversed)),
                ] {
                    let case = format_args!("{dispatch}, {how:?}, {t:?}, {count} joints").to_string();
                    dispatch.scope(|| {
                        let mut want = pose_from.clone();
                        poses(&pose_from, &pose_to, t, Selection::All, how, &mut want).expect("sizes agree");
                        let mut got = pose_from.clone();
                        poses(None, &pose_to, t, Selection::All, how, &mut got).expect("sizes agree");
                        assert_eq!(got, want, "{case}, in place");
                        let mut got = Pose::identity(count);
                        poses(&pose_from, &pose_to, listed, Selection::List(&order), how, &mut got)
                            .expect("sizes agree");
                        assert_eq!(got, want, "{case}, listed");
                        let mut list = vec![JointQuat::IDENTITY; count];
                        crate::interpolation::joints(Some(&from), &to, t, Selection::All, how, &mut list)
                            .expect("sizes agree");
                        assert_eq!(pose(&list), want, "{case}, structures");
                        let mut list = from.clone();
                        crate::interpolation::joints(None, &to, t, Selection::All, how, &mut list)
                            .expect("sizes agree");
                        assert_eq!(pose(&list), want, "{case}, structures in place");
                        let mut list = from.clone();
                        crate::interpolation::joints(
                            None,
                            &to,
                            listed,
                            Selection::List(&order),
                            how,
                            &mut list,
                        )
                        .expect("sizes agree");
                        assert_eq!(pose(&list), want, "{case}, structures listed in place");
                        if let (Factor::Same(t), Some(want)) = (t, want.transforms().last()) {
                            let got = interpolate(from[count - 1].rotation, to[count - 1].rotation, t, how);
                            assert_eq!(got, want.rotation, "{case}, alone");
                        }
                    });
                }
            }
        }
    }
}

#[test]
fn translations_and_scales_go_straight_and_hit_their_ends() {
    let mut random = Random(3);
    let (from, to) = (random.pose(tries(100)), random.pose(tries(100)));
    for dispatch in Dispatch::all() {
        for t in [0.0, 0.2, 0.5, 0.7, 1.0] {
            let mut out = Pose::identity(from.joint_count());
            dispatch
                .scope(|| poses(&from, &to, t, Selection::All, Method::default(), &mut out))
                .expect("sizes agree");
            for ((a, b), got) in from.transforms().zip(to.transforms()).zip(out.transforms()) {
                let line = |a: f32, b: f32| f64::from(a) * (1.0 - f64::from(t)) + f64::from(b) * f64::from(t);
                let bound = if t == 0.0 || t == 1.0 { 0.0 } else { 1.5e-7 };
                for (a, b, got) in
                    [(a.translation, b.translation, got.translation), (a.scale, b.scale, got.scale)]
                {
                    let want: [f64; 3] = core::array::from_fn(|c| line(a[c], b[c]));
                    assert_close(&got, &want, bound, format_args!("{dispatch}, t = {t}"));
                }
            }
        }
    }
}

#[test]
fn wrong_sizes_and_joints_are_refused() {
    let (two, three) = (Pose::identity(2), Pose::identity(3));
    let how = InterpolateOptions::default();
    let mut out = Pose::identity(3);
    let mut run = |from: &Pose, to: &Pose, t: Factor<'_>, joints: Selection<'_>| {
        poses(from, to, t, joints, how, &mut out)
    };
    let length = |what, found, needed| Err(Error::Length { what, found, needed });
    assert_eq!(run(&two, &three, 0.5.into(), Selection::All), length("from", 2, 3));
    assert_eq!(run(&three, &two, 0.5.into(), Selection::All), length("to", 2, 3));
    assert_eq!(run(&three, &three, Factor::PerJoint(&[0.5]), Selection::All), length("factors", 1, 3));
    let listed = Selection::List(&[2, 0]);
    assert_eq!(run(&three, &three, Factor::PerJoint(&[0.5]), listed), length("factors", 1, 2));
    assert_eq!(run(&three, &three, Factor::PerJoint(&[0.5, 0.1]), listed), Ok(()));
    let refused = run(&three, &three, 0.5.into(), Selection::List(&[0, 3]));
    assert_eq!(refused, Err(Error::Index { what: "joints", at: 1, found: 3, count: 3 }));
    let joints = [JointQuat::IDENTITY; 3];
    let mut out = joints;
    assert_eq!(
        crate::interpolation::joints(Some(&joints[..2]), &joints, 0.5, Selection::All, how, &mut out),
        length("from", 2, 3)
    );
    assert_eq!(
        crate::interpolation::joints(None, &joints[1..], 0.5, Selection::All, how, &mut out),
        length("to", 2, 3)
    );
    assert_eq!(poses(None, &two, 0.5, Selection::All, how, &mut Pose::identity(3)), length("to", 2, 3));
    assert_eq!(poses_through(&three, &two, &three, 0.5, how, &mut Pose::identity(3)), length("middle", 2, 3));
    assert_eq!(vectors(&[1.0], &[1.0, 0.0], 0.5, &mut [0.0]), length("b", 2, 1));
}

/// A NaN factor for all joints is an error, and nothing is written. A NaN factor of one joint affects only
/// that joint. Infinite factors are clamped to the ends.
#[test]
fn a_factor_that_is_no_number_is_refused() {
    let mut random = Random(35);
    let (from, to) = (random.pose(20), random.pose(20));
    let lists = [&from, &to].map(list_of);
    let refused = Err(Error::NotFinite { what: "factor", at: 0 });
    for method in methods() {
        for extrapolate in [false, true] {
            let how = InterpolateOptions { extrapolate, ..method.into() };
            let prepared = Prepared::new(f32::NAN, how);
            for joints in [Selection::All, Selection::List(&[3, 1])] {
                let case = format_args!("{method}, {joints:?}, extrapolate: {extrapolate}");
                let mut pose = from.clone();
                assert_eq!(poses(&to, &to, f32::NAN, joints, how, &mut pose), refused, "{case}");
                assert_eq!(poses(None, &to, f32::NAN, joints, how, &mut pose), refused, "{case}");
                assert_eq!(prepared.poses(&to, &to, joints, &mut pose), refused, "{case}");
                assert_eq!(prepared.poses(None, &to, joints, &mut pose), refused, "{case}");
                assert_eq!(pose, from, "{case}");
                let mut list = lists[0].clone();
                let t = f32::NAN;
                assert_eq!(
                    crate::interpolation::joints(Some(&lists[1]), &lists[1], t, joints, how, &mut list),
                    refused,
                    "{case}"
                );
                assert_eq!(
                    crate::interpolation::joints(None, &lists[1], t, joints, how, &mut list),
                    refused,
                    "{case}"
                );
                assert_eq!(prepared.joints(Some(&lists[1]), &lists[1], joints, &mut list), refused, "{case}");
                assert_eq!(prepared.joints(None, &lists[1], joints, &mut list), refused, "{case}");
                assert_eq!(list, lists[0], "{case}");
            }
            let mut pose = from.clone();
            assert_eq!(poses_through(&to, &to, &to, f32::NAN, how, &mut pose), refused, "{method}");
            assert_eq!(pose, from, "{method}");
            let mut list = lists[0].clone();
            let [_, to] = &lists;
            assert_eq!(joints_through(to, to, to, f32::NAN, how, &mut list), refused, "{method}");
            assert_eq!(list, lists[0], "{method}");
        }
        let mut factors = [0.5; 20];
        factors[7] = f32::NAN;
        let mut pose = from.clone();
        poses(&from, &to, &factors[..], Selection::All, method, &mut pose).expect("sizes agree");
        for (joint, t) in pose.transforms().enumerate() {
            assert_eq!(t.rotation.iter().all(|v| v.is_nan()), joint == 7, "{method}, joint {joint}");
        }
        for (t, end) in [(f32::INFINITY, 1.0), (f32::NEG_INFINITY, 0.0)] {
            let mut want = from.clone();
            poses(&from, &to, t, Selection::All, method, &mut pose).expect("sizes agree");
            poses(&from, &to, end, Selection::All, method, &mut want).expect("sizes agree");
            assert_eq!(pose, want, "{method}, {t}");
        }
    }
    let refused = poses(&from, &to, f32::NAN, Selection::All, Method::default(), &mut Pose::identity(20));
    assert_eq!(std::format!("{}", refused.expect_err("no number")), "`factor` is not finite");
}

/// Joints that are not listed are unchanged. A joint that is listed twice moves twice in place.
#[test]
fn a_list_picks_joints() {
    let mut random = Random(9);
    let (from, to) = (random.pose(40), random.pose(40));
    let mut pose = from.clone();
    poses(None, &to, 0.5, Selection::List(&[7, 31, 7]), Method::default(), &mut pose).expect("sizes agree");
    for joint in 0..40 {
        let (a, b) = (from.get(joint).rotation, to.get(joint).rotation);
        let step = |q| interpolate(q, b, 0.5, Method::default());
        let want = match joint {
            7 => step(step(a)),
            31 => step(a),
            _ => a,
        };
        assert_eq!(pose.get(joint).rotation, want, "joint {joint}");
    }
}

#[test]
fn a_result_does_not_depend_on_its_lane() {
    let (mut from, mut to, mut t) = cases(BLOCK + 6);
    for dispatch in Dispatch::all() {
        for method in methods() {
            dispatch.scope(|| {
                let mut want = between(&from, &to, Factor::PerJoint(&t), method);
                want.rotate_left(5);
                from.rotate_left(5);
                to.rotate_left(5);
                t.rotate_left(5);
                assert_eq!(between(&from, &to, Factor::PerJoint(&t), method), want, "{dispatch}, {method}");
            });
        }
    }
}

#[test]
fn the_portable_mode_gives_the_same_bits_everywhere() {
    let (from, to, t) = cases(tries(400));
    assert_portable(0x52ee_4a3a_0248_3672, |hash| {
        for how in Method::all().flat_map(|m| {
            [Arc::Shorter, Arc::AsGiven].map(|arc| InterpolateOptions { method: m, arc, extrapolate: false })
        }) {
            for t in [Factor::Same(0.3), Factor::Same(0.8), Factor::PerJoint(&t)] {
                hash.add(between(&from, &to, t, how).as_flattened());
            }
            let beyond = InterpolateOptions { extrapolate: true, ..how };
            for (a, b) in from.iter().zip(&to).take(tries(20)) {
                hash.add(&interpolate(*a, *b, 1.7, beyond));
                hash.add(&through(*a, middle(*a, *b), *b, 0.4, how));
            }
        }
    });
}
