mod add;
mod clip;
mod inertialize;
mod limits;
mod overlay;

use super::*;
use crate::testing::reference;
use crate::testing::{Random, SIZES, assert_close, assert_portable, tries};
use condyle_base::math::Transform;
use condyle_base::simd::Dispatch;
use std::vec::Vec;

const MEANS: [Mean; 2] = [Mean::Linear, Mean::ExponentialMap];

fn blended(reference: &Pose, layers: &[Layer<'_>], mean: Mean) -> Pose {
    let mut out = Pose::identity(reference.joint_count());
    about(reference, layers, mean, &mut out).expect("sizes agree");
    out
}

fn bits(pose: &Pose) -> Vec<[u32; 10]> {
    let bits = |t: Transform| {
        let mut all = t.rotation.iter().chain(&t.translation).chain(&t.scale);
        core::array::from_fn(|_| all.next().expect("ten numbers").to_bits())
    };
    pose.transforms().map(bits).collect()
}

/// Returns random poses with some joints that are unlike any character. In every third pose, half of the
/// rotations are negated quaternions.
fn wild_poses(random: &mut Random, joints: usize, count: usize) -> Vec<Pose> {
    let mut poses = poses(random, joints, count);
    for pose in &mut poses {
        for joint in (5..joints).step_by(7) {
            let mut t = pose.get(joint);
            let mut wild = || random.range(-1.0, 1.0) * 10.0_f32.powi(random.below(76) as i32 - 38);
            t.translation = core::array::from_fn(|_| wild());
            t.scale[joint % 3] = wild();
            pose.set(joint, &t);
        }
    }
    poses
}

/// Returns random poses. In every third pose, half of the rotations are negated quaternions.
fn poses(random: &mut Random, joints: usize, count: usize) -> Vec<Pose> {
    let mut poses: Vec<Pose> = (0..count).map(|_| random.pose(joints)).collect();
    for pose in poses.iter_mut().step_by(3) {
        for joint in (0..joints).step_by(2) {
            let t = pose.get(joint);
            pose.set(joint, &Transform { rotation: t.rotation.map(|v| -v), ..t });
        }
    }
    poses
}

/// Returns masks with zeros, ones and values between them.
fn masks(random: &mut Random, joints: usize, count: usize) -> Vec<Vec<f32>> {
    let mut factor = || match random.below(4) {
        0 => 0.0,
        1 => 1.0,
        _ => random.range(0.0, 1.0),
    };
    (0..count).map(|_| (0..joints).map(|_| factor()).collect()).collect()
}

fn masked<'a>(poses: &'a [Pose], weights: &[f32], masks: &'a [Vec<f32>]) -> Vec<Layer<'a>> {
    let layer = |(n, pose): (usize, &'a Pose)| Layer {
        mask: masks.get(n).map(Vec::as_slice),
        ..Layer::new(pose, weights[n])
    };
    poses.iter().enumerate().map(layer).collect()
}

/// Calls `f` with every order of the layers.
fn permutations<'a>(layers: &mut Vec<Layer<'a>>, fixed: usize, f: &mut impl FnMut(&[Layer<'a>])) {
    if fixed == layers.len() {
        return f(layers);
    }
    for n in fixed..layers.len() {
        layers.swap(fixed, n);
        permutations(layers, fixed + 1, f);
        layers.swap(fixed, n);
    }
}

#[test]
fn any_order_of_the_layers_gives_the_same_bits() {
    for count in 2..=5 {
        let mut random = Random(count as u64);
        let joints = tries(21);
        let (rest, poses) = (random.pose(joints), wild_poses(&mut random, joints, count));
        let masks = masks(&mut random, joints, count - 1);
        let weights: Vec<f32> =
            (0..count).map(|n| random.range(-0.1, 1.0) * 10.0_f32.powi(n as i32 - 2)).collect();
        for (dispatch, mean) in Dispatch::all().flat_map(|d| MEANS.map(|mean| (d, mean))) {
            for masks in [&[][..], &masks] {
                let mut layers = masked(&poses, &weights, masks);
                dispatch.scope(|| {
                    let want = bits(&blended(&rest, &layers, mean));
                    permutations(&mut layers, 0, &mut |layers| {
                        assert_eq!(
                            bits(&blended(&rest, layers, mean)),
                            want,
                            "{dispatch}, {count} layers, {mean:?}"
                        );
                    });
                });
            }
        }
    }
}

#[test]
fn many_layers_in_random_orders_give_the_same_bits() {
    for count in [6, 8, 16, 40] {
        let mut random = Random(count as u64);
        let joints = tries(35);
        let (rest, poses) = (random.pose(joints), wild_poses(&mut random, joints, count));
        let masks = masks(&mut random, joints, count / 2);
        let weights: Vec<f32> = (0..count).map(|_| random.range(-0.2, 1.0)).collect();
        for (dispatch, mean) in Dispatch::all().flat_map(|d| MEANS.map(|mean| (d, mean))) {
            for masks in [&[][..], &masks] {
                let mut layers = masked(&poses, &weights, masks);
                dispatch.scope(|| {
                    let want = bits(&blended(&rest, &layers, mean));
                    for _ in 0..tries(10) {
                        for n in (1..count).rev() {
                            layers.swap(n, random.below(n + 1));
                        }
                        assert_eq!(
                            bits(&blended(&rest, &layers, mean)),
                            want,
                            "{dispatch}, {count} layers, {mean:?}"
                        );
                    }
                });
            }
        }
    }
}

#[test]
fn every_size_is_the_formula() {
    for &joints in SIZES {
        for count in [1, 2, 3, 4, 5, 9] {
            let mut random = Random((joints * count) as u64);
            let (rest, poses) = (random.pose(joints), poses(&mut random, joints, count));
            let masks = masks(&mut random, joints, count);
            let weights: Vec<f32> = (0..count).map(|_| random.range(0.01, 1.0)).collect();
            for (mean, with_masks) in MEANS.into_iter().flat_map(|mean| [(mean, false), (mean, true)]) {
                let factor = |n: usize, joint: usize| if with_masks { masks[n][joint] } else { 1.0 };
                let parts: Vec<(&Pose, Vec<f64>)> = (0..count)
                    .map(|n| {
                        (
                            &poses[n],
                            (0..joints).map(|joint| f64::from(weights[n] * factor(n, joint))).collect(),
                        )
                    })
                    .collect();
                let want = reference::blend(&rest, &parts, mean == Mean::Linear);
                let layers = masked(&poses, &weights, if with_masks { &masks } else { &[] });
                for dispatch in Dispatch::all() {
                    let got = dispatch.scope(|| blended(&rest, &layers, mean));
                    for (joint, (got, want)) in got.transforms().zip(&want).enumerate() {
                        let case =
                            format_args!("{dispatch}, {mean:?}, joint {joint} of {joints}, {count} layers");
                        let rounding = if with_masks { 3e-7 } else { 2e-7 };
                        let turned = if mean == Mean::Linear { 2e-7 } else { 5e-7 };
                        assert_close(&got.rotation, &want.rotation, turned, case);
                        // Magnitudes are up to 0.5 and 1.4.
                        assert_close(&got.translation, &want.translation, 0.5 * rounding, case);
                        assert_close(&got.scale, &want.scale, 1.4 * rounding, case);
                    }
                }
            }
        }
    }
}

#[test]
fn negative_weights_lead_away_within_the_bound() {
    let mut random = Random(20);
    let joints = tries(100);
    for count in [2, 3, 4, 6] {
        let (rest, poses) = (random.pose(joints), poses(&mut random, joints, count));
        let weights: Vec<f32> = (0..count).map(|n| if n == 0 { 1.5 } else { -0.5 / count as f32 }).collect();
        let total: f64 = weights.iter().map(|&w| f64::from(w)).sum();
        let growth = weights.iter().map(|&w| f64::from(w.abs())).sum::<f64>() / total;
        let parts: Vec<_> =
            poses.iter().zip(&weights).map(|(p, &w)| (p, std::vec![f64::from(w); joints])).collect();
        let layers = masked(&poses, &weights, &[]);
        let want = reference::blend(&rest, &parts, true);
        for dispatch in Dispatch::all() {
            let got = dispatch.scope(|| blended(&rest, &layers, Mean::Linear));
            for (got, want) in got.transforms().zip(&want) {
                let case = format_args!("{dispatch}, {count} layers");
                assert_close(&got.translation, &want.translation, 0.5 * 2e-7 * growth, case);
                assert_close(&got.scale, &want.scale, 1.4 * 2e-7 * growth, case);
                // Short sums of quaternions are less exact.
                assert_close(&got.rotation, &want.rotation, 3e-6, case);
            }
        }
    }
}

#[test]
fn one_layer_is_given_back() {
    let mut random = Random(21);
    let joints = tries(50);
    let (rest, poses) = (random.pose(joints), poses(&mut random, joints, 7));
    let alone = |n: usize| (0..joints).map(|joint| f32::from(u8::from(joint % 7 == n))).collect();
    let masks: Vec<Vec<f32>> = (0..7).map(alone).collect();
    for (dispatch, mean) in Dispatch::all().flat_map(|d| MEANS.map(|mean| (d, mean))) {
        let single = dispatch.scope(|| blended(&rest, &[Layer::new(&poses[0], 0.37)], mean));
        let layers = masked(&poses, &[0.1, 0.3, 0.7, 1.1, 5e-7, 1e6, 1.0], &masks);
        let split = dispatch.scope(|| blended(&rest, &layers, mean));
        for joint in 0..joints {
            for (got, want) in
                [(single.get(joint), poses[0].get(joint)), (split.get(joint), poses[joint % 7].get(joint))]
            {
                assert_eq!(
                    (got.translation, got.scale),
                    (want.translation, want.scale),
                    "{dispatch}, joint {joint}"
                );
                let near = reference_dot(rest.get(joint).rotation, want.rotation).signum();
                let rotation = want.rotation.map(|v| f64::from(v) * near);
                let bound = if mean == Mean::Linear { 1.5e-7 } else { 5e-7 };
                assert_close(
                    &got.rotation,
                    &rotation,
                    bound,
                    format_args!("{dispatch}, {mean:?}, joint {joint}"),
                );
            }
        }
    }
}

fn reference_dot(a: [f32; 4], b: [f32; 4]) -> f64 {
    a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(b)).sum()
}

#[test]
fn layers_of_no_weight_change_nothing_whatever_they_hold() {
    let mut random = Random(22);
    let joints = tries(40);
    let nan = Transform { rotation: [f32::NAN; 4], translation: [f32::NAN; 3], scale: [f32::INFINITY; 3] };
    let broken = Pose::from_transforms(&std::vec![nan; joints]);
    let (zeros, nans) = (std::vec![0.0; joints], std::vec![f32::NAN; joints]);
    let nothing = [
        Layer::new(&broken, 0.0),
        Layer::new(&broken, -0.0),
        Layer { mask: Some(&nans), ..Layer::new(&broken, 0.0) },
    ];
    for count in [1, 2, 4, 6] {
        let (rest, poses) = (random.pose(joints), poses(&mut random, joints, count));
        let masks = masks(&mut random, joints, count);
        let weights: Vec<f32> = (0..count).map(|_| random.range(0.1, 1.0)).collect();
        for (dispatch, mean) in Dispatch::all().flat_map(|d| MEANS.map(|mean| (d, mean))) {
            dispatch.scope(|| {
                for masks in [&[][..], &masks] {
                    let plain = masked(&poses, &weights, masks);
                    let want = bits(&blended(&rest, &plain, mean));
                    let more = [&plain[..], &nothing].concat();
                    assert_eq!(
                        bits(&blended(&rest, &more, mean)),
                        want,
                        "{dispatch}, {mean:?}, {count} layers"
                    );
                }
                let plain = masked(&poses, &weights, &masks);
                let more = [&plain[..], &[Layer { mask: Some(&zeros), ..Layer::new(&broken, 1.0) }]].concat();
                for (got, want) in
                    blended(&rest, &more, mean).transforms().zip(blended(&rest, &plain, mean).transforms())
                {
                    let want = reference::Local::from(want);
                    let case = format_args!("{dispatch}, {mean:?}, {count} layers");
                    assert_close(&got.rotation, &want.rotation, 2e-6, case);
                    assert_close(&got.translation, &want.translation, 2e-7, case);
                    assert_close(&got.scale, &want.scale, 4e-7, case);
                }
            });
        }
    }
}

#[test]
fn weights_that_sum_to_nothing_leave_the_reference() {
    let mut random = Random(23);
    let joints = tries(40);
    let (rest, poses) = (random.pose(joints), poses(&mut random, joints, 6));
    let zeros = std::vec![0.0; joints];
    for (dispatch, mean) in Dispatch::all().flat_map(|d| MEANS.map(|mean| (d, mean))) {
        dispatch.scope(|| {
            assert!(blended(&rest, &[], mean) == rest, "{dispatch}");
            for weights in [[0.0; 6], [0.1, 0.2, -0.3, 0.0, 0.0, 0.0], [1e30, -1e30, 3e-30, 0.0, 1e30, -1e30]]
            {
                assert_eq!(
                    blended(&rest, &masked(&poses, &weights, &[]), mean),
                    rest,
                    "{dispatch}, {weights:?}"
                );
                let ones = std::vec![std::vec![1.0; joints]; 6];
                assert_eq!(
                    blended(&rest, &masked(&poses, &weights, &ones), mean),
                    rest,
                    "{dispatch}, {weights:?}"
                );
            }
            let masks = std::vec![zeros.clone(); 6];
            assert!(blended(&rest, &masked(&poses, &[1.0; 6], &masks), mean) == rest, "{dispatch}");
        });
    }
}

/// Negating all quaternions changes nothing, for any number of layers.
#[test]
fn the_sign_of_a_rotation_changes_nothing() {
    let mut random = Random(24);
    let joints = tries(60);
    for count in [1, 2, 3, 4, 5, 8] {
        let (rest, poses) = (random.pose(joints), poses(&mut random, joints, count));
        let turned: Vec<Pose> = poses
            .iter()
            .map(|pose| {
                let turn = |t: Transform| Transform { rotation: t.rotation.map(|v| -v), ..t };
                Pose::from_transforms(&pose.transforms().map(turn).collect::<Vec<_>>())
            })
            .collect();
        let weights: Vec<f32> = (0..count).map(|_| random.range(0.1, 1.0)).collect();
        for (dispatch, mean) in Dispatch::all().flat_map(|d| MEANS.map(|mean| (d, mean))) {
            dispatch.scope(|| {
                let got = blended(&rest, &masked(&turned, &weights, &[]), mean);
                let want = blended(&rest, &masked(&poses, &weights, &[]), mean);
                assert_eq!(bits(&got), bits(&want), "{dispatch}, {mean:?}, {count} layers");
                for (got, rest) in got.transforms().zip(rest.transforms()) {
                    assert!(reference_dot(got.rotation, rest.rotation) > -1e-6, "{dispatch}, {mean:?}");
                }
            });
        }
    }
}

/// Rotations half a turn from the reference are used as given. If they cancel, the result is the reference.
#[test]
fn half_turns_are_taken_as_given_and_may_cancel() {
    let rest = Pose::identity(17);
    let about = |rotation| Pose::from_transforms(&[Transform { rotation, ..Transform::IDENTITY }; 17]);
    let (there, back) = (about([0.0, 1.0, 0.0, 0.0]), about([0.0, -1.0, 0.0, 0.0]));
    for (dispatch, mean) in Dispatch::all().flat_map(|d| MEANS.map(|mean| (d, mean))) {
        dispatch.scope(|| {
            for n in [1, 2, 3, 4, 6] {
                let one_way = blended(&rest, &std::vec![Layer::new(&there, 1.0); n], mean);
                for t in one_way.transforms() {
                    assert_close(
                        &t.rotation,
                        &[0.0, 1.0, 0.0, 0.0],
                        5e-7,
                        format_args!("{dispatch}, {mean:?}"),
                    );
                }
                let mut layers = std::vec![Layer::new(&there, 1.0); n];
                layers.extend(std::vec![Layer::new(&back, 1.0); n]);
                assert_eq!(blended(&rest, &layers, mean), rest, "{dispatch}, {mean:?}, {n}");
            }
        });
    }
}

#[test]
fn what_is_not_finite_stays_in_its_joint() {
    let mut random = Random(25);
    const JOINTS: usize = 35;
    for count in [1, 2, 3, 4, 6] {
        let (rest, clean) = (random.pose(JOINTS), poses(&mut random, JOINTS, count));
        let weights: Vec<f32> = (0..count).map(|_| random.range(0.1, 1.0)).collect();
        let ones = std::vec![std::vec![1.0; JOINTS]; count];
        for bad in [f32::NAN, -f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            for at in 0..count {
                let mut broken = clean.clone();
                let mut t = broken[at].get(18);
                t.rotation[at % 4] = bad;
                t.translation[1] = bad;
                t.scale[2] = bad;
                broken[at].set(18, &t);
                for (dispatch, mean) in Dispatch::all().flat_map(|d| MEANS.map(|mean| (d, mean))) {
                    for masks in [&[][..], &ones] {
                        let (got, want) = dispatch.scope(|| {
                            let of = |poses| blended(&rest, &masked(poses, &weights, masks), mean);
                            (of(&broken), of(&clean))
                        });
                        let case = format_args!("{dispatch}, {mean:?}, layer {at} of {count}, {bad}");
                        for joint in (0..JOINTS).filter(|&j| j != 18) {
                            assert_eq!(got.get(joint), want.get(joint), "{case}");
                        }
                        let (got, want) = (got.get(18), want.get(18));
                        assert!(got.rotation.iter().all(|v| v.is_nan()), "{case}: {got:?}");
                        assert!(
                            !got.translation[1].is_finite() && !got.scale[2].is_finite(),
                            "{case}: {got:?}"
                        );
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
}

#[test]
fn a_joint_does_not_depend_on_its_lane() {
    let mut random = Random(26);
    const JOINTS: usize = 22;
    for count in [2, 4, 5] {
        let (rest, poses) = (random.pose(JOINTS), poses(&mut random, JOINTS, count));
        let masks = masks(&mut random, JOINTS, count);
        let weights: Vec<f32> = (0..count).map(|_| random.range(0.1, 1.0)).collect();
        let moved = |pose: &Pose| {
            let mut all: Vec<Transform> = pose.transforms().collect();
            all.rotate_left(5);
            Pose::from_transforms(&all)
        };
        let moved_poses: Vec<Pose> = poses.iter().map(moved).collect();
        let mut moved_masks = masks.clone();
        moved_masks.iter_mut().for_each(|mask| mask.rotate_left(5));
        for (dispatch, mean) in Dispatch::all().flat_map(|d| MEANS.map(|mean| (d, mean))) {
            dispatch.scope(|| {
                for (here, there) in [(&[][..], &[][..]), (&masks, &moved_masks)] {
                    let want = moved(&blended(&rest, &masked(&poses, &weights, here), mean));
                    let got = blended(&moved(&rest), &masked(&moved_poses, &weights, there), mean);
                    assert_eq!(bits(&got), bits(&want), "{dispatch}, {mean:?}, {count} layers");
                }
            });
        }
    }
}

/// A dot product of -0 does not flip the sign.
#[test]
fn a_half_turn_is_taken_as_given_whatever_the_signs_of_its_zeros() {
    let rest = Pose::identity(17);
    let half = Transform { rotation: [-1.0, -0.0, -0.0, -0.0], ..Transform::IDENTITY };
    let pose = Pose::from_transforms(&[half; 17]);
    for (dispatch, mean) in Dispatch::all().flat_map(|d| MEANS.map(|mean| (d, mean))) {
        for n in [1, 2, 3, 4, 6] {
            let got = dispatch.scope(|| blended(&rest, &std::vec![Layer::new(&pose, 1.0); n], mean));
            for t in got.transforms() {
                let case = format_args!("{dispatch}, {mean:?}, {n} layers");
                assert_close(&t.rotation, &[-1.0, 0.0, 0.0, 0.0], 5e-7, case);
            }
        }
    }
}

/// Rotations to both sides of the reference, up to almost half a turn each. Their sum is short.
#[test]
fn the_error_of_a_mean_rotation_is_that_of_its_length() {
    let mut random = Random(30);
    for case in 0..tries(300) {
        let rest = random.pose(1);
        let axis: [f32; 3] = random.unit();
        let side = |angle: f64| {
            let [x, y, z] = axis.map(|v| f64::from(v) * angle.sin());
            let q = reference::quat_product(rest.get(0).rotation.map(f64::from), [x, y, z, angle.cos()]);
            Pose::from_transforms(&[Transform { rotation: q.map(|v| v as f32), ..rest.get(0) }])
        };
        let angle = f64::from(random.range(0.1, 1.56));
        let count = [2, 4, 6][case % 3];
        let poses: Vec<Pose> = (0..count).map(|n| side(if n % 2 == 0 { angle } else { -angle })).collect();
        let weights: Vec<f32> = (0..count).map(|_| random.range(0.9, 1.1)).collect();
        let parts: Vec<_> = poses.iter().zip(&weights).map(|(p, &w)| (p, std::vec![f64::from(w)])).collect();
        let want = reference::blend(&rest, &parts, true)[0].rotation;
        // All rotations lie in one plane, so the dot product with the reference gives the length of the mean.
        let (near, total) = (reference_dot(rest.get(0).rotation, want.map(|v| v as f32)), angle.cos());
        for dispatch in Dispatch::all() {
            let got = dispatch.scope(|| blended(&rest, &masked(&poses, &weights, &[]), Mean::Linear));
            assert_close(
                &got.get(0).rotation,
                &want,
                2e-7 * near / total,
                format_args!("{dispatch}, {count}, {angle}"),
            );
        }
    }
}

#[test]
fn a_blend_is_about_the_rest_pose() {
    let mut random = Random(25);
    let skeleton = random.skeleton(19);
    let poses = poses(&mut random, 19, 3);
    for mean in MEANS {
        for layers in [&[][..], &masked(&poses, &[0.2, 0.5, -0.1], &[])] {
            let mut out = Pose::identity(19);
            blend(&skeleton, layers, mean, &mut out).expect("sizes agree");
            assert_eq!(bits(&out), bits(&blended(skeleton.rest(), layers, mean)), "{mean:?}");
        }
    }
    let refused = blend(&skeleton, &[], Mean::Linear, &mut Pose::identity(4));
    assert_eq!(refused, Err(Error::Length { what: "out", found: 4, needed: 19 }));
}

/// The mean lies in the hemisphere of the reference. About the rest pose, the mean of +100 and -100 degrees
/// is 0, and so is the mean of 179 and -179 degrees. About the first pose, both means are 180 degrees.
#[test]
fn signs_are_those_of_the_reference() {
    let turned = |degrees: f32| {
        let (sin, cos) = (degrees.to_radians() / 2.0).sin_cos();
        Pose::from_transforms(&[Transform { rotation: [0.0, sin, 0.0, cos], ..Transform::IDENTITY }])
    };
    let rest = Pose::identity(1);
    for (a, b) in [(100.0, -100.0), (179.0, -179.0)] {
        let (first, second) = (turned(a), turned(b));
        let layers = [Layer::new(&first, 0.5), Layer::new(&second, 0.5)];
        for mean in MEANS {
            for (reference, want) in [(&rest, 0.0_f32), (&first, 1.0)] {
                let found = blended(reference, &layers, mean).get(0).rotation[1].abs();
                assert!((found - want).abs() < 1e-5, "{a} and {b} degrees by {mean:?}: {found}");
            }
        }
    }
}

#[test]
fn wrong_sizes_and_weights_are_refused() {
    let (rest, short) = (Pose::identity(5), Pose::identity(4));
    let mut out = Pose::identity(5);
    let length = |what| Err(Error::Length { what, found: 4, needed: 5 });
    let refused = about(&rest, &[Layer::new(&rest, 1.0), Layer::new(&short, 1.0)], Mean::Linear, &mut out);
    assert_eq!(refused, length("layer"));
    let mask = Layer { mask: Some(&[1.0; 4]), ..Layer::new(&rest, 1.0) };
    assert_eq!(about(&rest, &[mask], Mean::Linear, &mut out), length("mask"));
    assert_eq!(about(&rest, &[], Mean::Linear, &mut short.clone()), length("out"));
    for weight in [f32::NAN, f32::INFINITY] {
        let refused =
            about(&rest, &[Layer::new(&rest, 1.0), Layer::new(&rest, weight)], Mean::Linear, &mut out);
        assert_eq!(refused, Err(Error::NotFinite { what: "weights", at: 1 }));
    }
}

#[test]
fn the_portable_mode_gives_the_same_bits_on_every_instruction_set_and_platform() {
    assert_portable(0x9394_e7f6_8d2e_8c29, |hash| {
        for count in [1, 2, 3, 4, 5, 9, 40] {
            let mut random = Random(count as u64);
            let joints = tries(67);
            let (rest, poses) = (random.pose(joints), wild_poses(&mut random, joints, count));
            let masks = masks(&mut random, joints, count);
            let weights: Vec<f32> = (0..count).map(|_| random.range(-0.1, 1.0)).collect();
            for (mean, masks) in MEANS.into_iter().flat_map(|mean| [(mean, &[][..]), (mean, &masks)]) {
                for t in blended(&rest, &masked(&poses, &weights, masks), mean).transforms() {
                    hash.add(t.rotation.iter().chain(&t.translation).chain(&t.scale));
                }
            }
        }
    });
}
