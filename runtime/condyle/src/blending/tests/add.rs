//! Tests of [`difference`] and [`add`].

use super::*;

fn difference_of(pose: &Pose, reference: &Pose) -> Pose {
    let mut out = Pose::identity(reference.joint_count());
    difference(pose, reference, &mut out).expect("sizes agree");
    out
}

fn additives<'a>(layers: &[Layer<'a>]) -> Vec<Additive<'a>> {
    let of = |&Layer { pose, weight, mask }| Additive { mask, ..Additive::new(pose, weight) };
    layers.iter().map(of).collect()
}

fn added(base: &Pose, layers: &[Layer<'_>]) -> Pose {
    let mut out = Pose::identity(base.joint_count());
    add(base, &additives(layers), &mut out).expect("sizes agree");
    out
}

#[test]
fn a_sum_in_place_of_its_base_has_the_same_bits() {
    for &joints in SIZES {
        for count in [0, 1, 2, 3, 5] {
            let mut random = Random((3000 + joints * count) as u64);
            let (base, poses) = additive(&mut random, joints, count);
            let masks = masks(&mut random, joints, count);
            let amounts: Vec<f32> = (0..count).map(|_| random.range(-1.0, 2.0)).collect();
            for (masks, dispatch) in Dispatch::all().flat_map(|d| [(&[][..], d), (&masks, d)]) {
                let layers = masked(&poses, &amounts, masks);
                let want = dispatch.scope(|| added(&base, &layers));
                let mut pose = base.clone();
                dispatch.scope(|| add(None, &additives(&layers), &mut pose)).expect("sizes agree");
                assert_eq!(bits(&pose), bits(&want), "{dispatch}, {joints} joints, {count} layers");
            }
        }
    }
    let (mut pose, short) = (Pose::identity(5), Pose::identity(4));
    let refused = |refused| (refused, Pose::identity(5));
    let length = |what| Err(Error::Length { what, found: 4, needed: 5 });
    let of = add(None, &[Additive::new(&short, 1.0)], &mut pose);
    assert_eq!((of, pose.clone()), refused(length("difference")));
    let of = add(None, &[Additive::new(&Pose::identity(5), f32::NAN)], &mut pose);
    assert_eq!((of, pose), refused(Err(Error::NotFinite { what: "amounts", at: 0 })));
}

/// Returns a base and layers, each the difference of random poses.
fn additive(random: &mut Random, joints: usize, count: usize) -> (Pose, Vec<Pose>) {
    let all = poses(random, joints, count + 1);
    let layers = (0..count).map(|n| difference_of(&all[n], &all[n + 1])).collect();
    (random.pose(joints), layers)
}

fn factors(masks: &[Vec<f32>], weights: &[f32], n: usize, joints: usize) -> Vec<f64> {
    (0..joints).map(|joint| f64::from(weights[n] * masks.get(n).map_or(1.0, |mask| mask[joint]))).collect()
}

#[test]
fn the_difference_is_the_formula() {
    for &joints in SIZES {
        let mut random = Random(100 + joints as u64);
        let [pose, reference] = [random.pose(joints), random.pose(joints)];
        let want = reference::difference(&pose, &reference);
        for dispatch in Dispatch::all() {
            let got = dispatch.scope(|| difference_of(&pose, &reference));
            for (joint, (got, want)) in got.transforms().zip(&want).enumerate() {
                let case = format_args!("{dispatch}, joint {joint} of {joints}");
                assert_close(&got.rotation, &want.rotation, 3e-7, case);
                assert_close(&got.translation, &want.translation, 6e-8, case);
                assert_close(&got.scale, &want.scale, 1.2e-7, case);
                assert!(got.rotation[3] >= 0.0, "{case}");
            }
        }
    }
}

/// The difference is on the right of the reference, so a turn about a joint's axis stays one on any base.
#[test]
fn the_difference_turns_about_the_joints_own_axes() {
    let about = |axis: [f64; 3], angle: f64| reference::quat_exp(axis.map(|v| v * angle / 2.0));
    let pose = |q: [f64; 4]| {
        Pose::from_transforms(&[Transform { rotation: q.map(|v| v as f32), ..Transform::IDENTITY }])
    };
    let (x, z) = ([1.0, 0.0, 0.0], [0.0, 0.0, 1.0]);
    let (low, raised) = (about(z, -0.4), about(z, 1.3));
    let twisted = reference::quat_product(low, about(x, 0.5));
    let want = reference::quat_product(raised, about(x, 0.5));
    for dispatch in Dispatch::all() {
        let got = dispatch.scope(|| {
            let twist = difference_of(&pose(twisted), &pose(low));
            added(&pose(raised), &[Layer::new(&twist, 1.0)])
        });
        assert_close(&got.get(0).rotation, &want, 5e-7, dispatch);
    }
}

#[test]
fn equal_poses_differ_by_nothing() {
    let mut random = Random(101);
    let mut pose = random.pose(35);
    pose.set(3, &Transform { scale: [0.0, -2.0, 1e-40], ..random.transform() });
    for dispatch in Dispatch::all() {
        for t in dispatch.scope(|| difference_of(&pose, &pose)).transforms() {
            assert_eq!((t.translation, t.scale), ([0.0; 3], [1.0; 3]), "{dispatch}");
            assert_eq!(t.rotation[..3], [0.0; 3], "{dispatch}");
            assert!((t.rotation[3] - 1.0).abs() < 1e-7, "{dispatch}");
        }
    }
}

#[test]
fn a_scale_without_a_ratio_counts_as_one() {
    let with = |scale| Pose::from_transforms(&[Transform { scale, ..Transform::IDENTITY }]);
    for dispatch in Dispatch::all() {
        let of =
            |pose, reference| dispatch.scope(|| difference_of(&with(pose), &with(reference)).get(0).scale);
        assert_eq!(of([1.0, 2.0, 3.0], [0.0, -0.0, 1e-39]), [1.0; 3], "{dispatch}");
        assert_eq!(of([0.0, 3.0, -1.0], [2.0, 2.0, 4.0]), [0.0, 1.5, -0.25], "{dispatch}");
    }
}

#[test]
fn every_size_of_a_sum_is_the_formula() {
    for &joints in SIZES {
        for count in [1, 2, 3, 4, 5, 9] {
            let mut random = Random((1000 + joints * count) as u64);
            let (base, poses) = additive(&mut random, joints, count);
            let masks = masks(&mut random, joints, count);
            let weights: Vec<f32> = (0..count).map(|_| random.range(-1.0, 2.0)).collect();
            for masks in [&[][..], &masks] {
                let parts: Vec<_> =
                    (0..count).map(|n| (&poses[n], factors(masks, &weights, n, joints))).collect();
                let want = reference::add(&base, &parts);
                let layers = masked(&poses, &weights, masks);
                for dispatch in Dispatch::all() {
                    let got = dispatch.scope(|| added(&base, &layers));
                    for (joint, (got, want)) in got.transforms().zip(&want).enumerate() {
                        let case = format_args!("{dispatch}, joint {joint} of {joints}, {count} layers");
                        let sum = |size: &dyn Fn(Transform) -> f64| -> f64 {
                            parts.iter().map(|p| p.1[joint].abs() * size(p.0.get(joint))).sum()
                        };
                        let own = base.get(joint);
                        // Half turns at most. Two radians of an added angle are one radian of a logarithm.
                        let turns = sum(&|t| 2.0 * f64::from(t.rotation[3]).abs().min(1.0).acos());
                        assert_close(&got.rotation, &want.rotation, 5e-7 + 2.2e-7 * turns, case);
                        let moved =
                            sum(&|t| f64::from(t.translation.map(f32::abs).into_iter().fold(0.0, f32::max)));
                        assert_close(
                            &got.translation,
                            &want.translation,
                            2.4e-7 * (0.5 + moved) + 1e-8,
                            case,
                        );
                        let grown =
                            sum(&|t| t.scale.iter().map(|s| f64::from(s - 1.0).abs()).fold(0.0, f64::max));
                        let scale = f64::from(own.scale.into_iter().fold(0.0, f32::max));
                        assert_close(&got.scale, &want.scale, 2.4e-7 * scale * (1.0 + grown) + 1e-8, case);
                    }
                }
            }
        }
    }
}

/// Checks the documented accuracy of one layer over its own reference.
#[test]
fn one_layer_over_its_reference_gives_the_pose_back() {
    let mut random = Random(102);
    let joints = tries(4000);
    let [pose, reference] = [random.pose(joints), random.pose(joints)];
    for dispatch in Dispatch::all() {
        let got = dispatch.scope(|| added(&reference, &[Layer::new(&difference_of(&pose, &reference), 1.0)]));
        for joint in 0..joints {
            let (got, want, from) = (got.get(joint), pose.get(joint), reference.get(joint));
            let case = format_args!("{dispatch}, joint {joint}");
            let near = reference_dot(got.rotation, want.rotation).signum();
            assert_close(&got.rotation, &want.rotation.map(|v| f64::from(v) * near), 7e-7, case);
            for c in 0..3 {
                let size = f64::from(want.translation[c].abs().max(from.translation[c].abs()));
                assert_close(&got.translation[c..=c], &[want.translation[c].into()], 3e-7 * size, case);
                let size = f64::from(want.scale[c].abs().max(from.scale[c].abs()));
                assert_close(&got.scale[c..=c], &[want.scale[c].into()], 3e-7 * size, case);
            }
        }
    }
}

#[test]
fn any_order_of_added_layers_gives_the_same_bits() {
    for count in 2..=6 {
        let mut random = Random(110 + count as u64);
        let joints = tries(21);
        let (base, poses) = (random.pose(joints), wild_poses(&mut random, joints, count));
        let masks = masks(&mut random, joints, count - 1);
        let weights: Vec<f32> =
            (0..count).map(|n| random.range(-1.0, 1.0) * 10.0_f32.powi(n as i32 - 2)).collect();
        for dispatch in Dispatch::all() {
            for masks in [&[][..], &masks] {
                let mut layers = masked(&poses, &weights, masks);
                dispatch.scope(|| {
                    let want = bits(&added(&base, &layers));
                    permutations(&mut layers, 0, &mut |layers| {
                        assert_eq!(bits(&added(&base, layers)), want, "{dispatch}, {count} layers");
                    });
                });
            }
        }
    }
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig { cases: if cfg!(miri) { 1 } else { 48 }, failure_persistence: None, ..Default::default() })]

    #[test]
    fn random_layers_add_up_to_the_same_bits_in_a_random_order(
        seed in 0_u64..1 << 40, count in 2_usize..40, joints in 1_usize..40, size in -20_i32..5,
    ) {
        let mut random = Random(seed);
        let (base, poses) = (random.pose(joints), wild_poses(&mut random, joints, count));
        let masks = masks(&mut random, joints, count / 2);
        let weights: Vec<f32> = (0..count).map(|_| random.range(-2.0, 2.0) * 2.0_f32.powi(size)).collect();
        for dispatch in Dispatch::all() {
            let mut layers = masked(&poses, &weights, &masks);
            let want = dispatch.scope(|| bits(&added(&base, &layers)));
            for n in (1..count).rev() {
                layers.swap(n, random.below(n + 1));
            }
            proptest::prop_assert_eq!(dispatch.scope(|| bits(&added(&base, &layers))), want, "{}", dispatch);
        }
    }
}

/// Also covers a base that is not exactly of unit length, and a translation of -0.
#[test]
fn nothing_added_is_the_base_bit_for_bit() {
    let mut random = Random(103);
    let joints = tries(40);
    let (mut base, poses) = additive(&mut random, joints, 3);
    let odd =
        Transform { rotation: [0.0, 0.6, 0.0, 0.8001], translation: [-0.0; 3], scale: [-0.0, 0.3, -7.0] };
    base.set(joints - 1, &odd);
    let nan = Transform { rotation: [f32::NAN; 4], translation: [f32::INFINITY; 3], scale: [f32::NAN; 3] };
    let broken = Pose::from_transforms(&std::vec![nan; joints]);
    let zeros = std::vec![0.0; joints];
    let nothing = difference_of(&poses[0], &poses[0]);
    for dispatch in Dispatch::all() {
        let check = |layers: &[Layer<'_>], what: &str| {
            let got = dispatch.scope(|| added(&base, layers));
            assert_eq!(bits(&got), bits(&base), "{dispatch}, {what}");
        };
        check(&[], "no layers");
        check(&[Layer::new(&broken, 0.0), Layer::new(&broken, -0.0)], "no weights");
        check(&[Layer { mask: Some(&zeros), ..Layer::new(&broken, 1.0) }], "masks of 0");
        check(&[Layer::new(&nothing, 1.0)], "no difference");
        for pairs in [1, 2, 3] {
            let pair = [Layer::new(&poses[1], 0.7), Layer::new(&poses[1], -0.7)];
            check(&std::vec![pair; pairs].concat(), "layers that cancel");
        }
        check(&std::vec![Layer { mask: Some(&zeros), ..Layer::new(&broken, 1.0) }; 6], "many masks of 0");
        // Together with a layer that affects another joint.
        let first: Vec<f32> = (0..joints).map(|joint| f32::from(u8::from(joint == 0))).collect();
        let got = dispatch.scope(|| {
            added(
                &base,
                &[
                    Layer { mask: Some(&first), ..Layer::new(&poses[1], 1.0) },
                    Layer { mask: Some(&zeros), ..Layer::new(&broken, 1.0) },
                ],
            )
        });
        assert_eq!(bits(&got)[1..], bits(&base)[1..], "{dispatch}");
        assert_ne!(bits(&got)[0], bits(&base)[0], "{dispatch}");
    }
}

/// Two layers are summed as floats. More layers are summed as integers of thirty bits, which hold at most a
/// million.
#[test]
fn large_weights_are_exact_up_to_a_million_and_beyond_in_a_few_layers() {
    let shift = |x: f32| Transform { translation: [x; 3], ..Transform::IDENTITY };
    let (base, layer) = (Pose::from_transforms(&[shift(0.0); 5]), Pose::from_transforms(&[shift(1.5); 5]));
    let mask = [1.0, 0.0, 1e-3, 0.0, 1.0];
    for dispatch in Dispatch::all() {
        let add = |count: usize, weight: f32, mask| {
            let one = Layer { mask, ..Layer::new(&layer, weight * (1.0 / count as f32)) };
            dispatch.scope(|| added(&base, &std::vec![one; count]))
        };
        for weight in [1e3, 65_536.0, 1e6, -1e6] {
            for count in [1, 2, 4, 8] {
                let got = add(count, weight, None).get(4).translation;
                assert_eq!(got, [1.5 * weight; 3], "{dispatch}, {weight} in {count} layers");
            }
        }
        for weight in [1_048_576.0, 1e20, 2.0_f32.powi(126)] {
            let few = add(2, weight, Some(&mask[..]));
            assert_eq!(few.get(4).translation, [1.5 * weight; 3], "{dispatch}, {weight}");
            let many = add(4, weight, Some(&mask));
            assert!(many.get(0).translation[0].is_nan() && many.get(4).rotation[1].is_nan(), "{dispatch}");
            for got in [few, many] {
                assert_eq!(bits(&got)[1], bits(&base)[1], "{dispatch}, {weight}");
            }
        }
        for count in [1_u32, 8] {
            let bound = 1.5e-9 * f64::from(count);
            let got = add(count as usize, 1e-6, None).get(0).translation;
            assert_close(&got, &[1.5e-6; 3], bound, dispatch);
        }
    }
}

#[test]
fn half_turns_and_opposite_quaternions_are_added_as_turns() {
    let about = |rotation| Pose::from_transforms(&[Transform { rotation, ..Transform::IDENTITY }; 17]);
    let half = core::f32::consts::FRAC_1_SQRT_2;
    let rest = about([0.0, 0.0, 0.0, 1.0]);
    for dispatch in Dispatch::all() {
        let add =
            |q, weight| dispatch.scope(|| added(&rest, &[Layer::new(&about(q), weight)]).get(16).rotation);
        assert_close(&add([0.0, 1.0, 0.0, 0.0], 0.5), &[0.0, half, 0.0, half].map(f64::from), 3e-7, dispatch);
        assert_close(
            &add([0.0, -1.0, 0.0, 0.0], 0.5),
            &[0.0, -half, 0.0, half].map(f64::from),
            3e-7,
            dispatch,
        );
        // Twice half a turn is the identity rotation, but the quaternion has the opposite sign.
        assert_close(&add([0.0, 1.0, 0.0, 0.0], 2.0), &[0.0, 0.0, 0.0, -1.0], 4e-7, dispatch);
        let (q, minus) = ([0.0, half, 0.0, half], [0.0, -half, 0.0, -half]);
        assert_eq!(add(q, 0.3), add(minus, 0.3), "{dispatch}");
        assert_close(&add(q, -1.0), &[0.0, -half, 0.0, half].map(f64::from), 3e-7, dispatch);
    }
}

#[test]
fn what_is_not_finite_in_an_added_layer_stays_in_its_joint() {
    let mut random = Random(104);
    const JOINTS: usize = 35;
    for count in [1, 2, 3, 6] {
        let (base, clean) = additive(&mut random, JOINTS, count);
        let weights: Vec<f32> = (0..count).map(|_| random.range(0.1, 1.0)).collect();
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            for at in 0..count {
                let mut broken = clean.clone();
                let mut t = broken[at].get(18);
                t.rotation[at % 4] = bad;
                t.translation[1] = bad;
                t.scale[2] = bad;
                broken[at].set(18, &t);
                for dispatch in Dispatch::all() {
                    let [got, want] = [&broken, &clean]
                        .map(|poses| dispatch.scope(|| added(&base, &masked(poses, &weights, &[]))));
                    let case = format_args!("{dispatch}, layer {at} of {count}, {bad}");
                    for joint in (0..JOINTS).filter(|&j| j != 18) {
                        assert_eq!(got.get(joint), want.get(joint), "{case}");
                    }
                    let (got, want) = (got.get(18), want.get(18));
                    assert!(got.rotation.iter().all(|v| v.is_nan()), "{case}: {got:?}");
                    assert!(!got.translation[1].is_finite() && !got.scale[2].is_finite(), "{case}: {got:?}");
                    assert_eq!(
                        [got.translation[0], got.scale[0]],
                        [want.translation[0], want.scale[0]],
                        "{case}"
                    );
                }
            }
        }
    }
}

#[test]
fn wrong_sizes_and_weights_of_additive_layers_are_refused() {
    let (rest, short) = (Pose::identity(5), Pose::identity(4));
    let mut out = Pose::identity(5);
    let length = |what| Err(Error::Length { what, found: 4, needed: 5 });
    assert_eq!(difference(&short, &rest, &mut out), length("pose"));
    assert_eq!(difference(&rest, &rest, &mut short.clone()), length("out"));
    assert_eq!(
        add(&rest, &[Additive::new(&rest, 1.0), Additive::new(&short, 1.0)], &mut out),
        length("difference")
    );
    let mask = Additive { mask: Some(&[1.0; 4]), ..Additive::new(&rest, 1.0) };
    assert_eq!(add(&rest, &[mask], &mut out), length("mask"));
    assert_eq!(add(&rest, &[], &mut short.clone()), length("out"));
    let refused = add(&rest, &[Additive::new(&rest, 1.0), Additive::new(&rest, f32::NAN)], &mut out);
    assert_eq!(refused, Err(Error::NotFinite { what: "amounts", at: 1 }));
}

#[test]
fn sums_have_the_same_portable_bits_everywhere() {
    assert_portable(0x9732_9623_8cb1_0d70, |hash| {
        for count in [1, 2, 3, 5, 40] {
            let mut random = Random(120 + count as u64);
            let joints = tries(67);
            let base = random.pose(joints);
            let all = poses(&mut random, joints, count + 1);
            let layers: Vec<Pose> = (0..count).map(|n| difference_of(&all[n], &all[n + 1])).collect();
            let masks = masks(&mut random, joints, count);
            let weights: Vec<f32> = (0..count).map(|_| random.range(-1.0, 1.5)).collect();
            for t in added(&base, &masked(&layers, &weights, &masks)).transforms() {
                hash.add(t.rotation.iter().chain(&t.translation).chain(&t.scale));
            }
        }
    });
}
