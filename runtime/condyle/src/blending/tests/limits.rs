//! Many layers, large and tiny numbers, NaN and infinities.

use super::*;

/// Terms are rounded to nearest, so the errors of different layers average out.
#[test]
fn hundreds_of_layers_are_as_exact_as_a_few() {
    let joints = 6;
    for count in [200, 1000] {
        let mut random = Random(count as u64);
        let (rest, poses) = (random.pose(joints), poses(&mut random, joints, count));
        let masks = masks(&mut random, joints, count);
        let mut weights: Vec<f32> = (0..count).map(|_| random.range(0.01, 1.0)).collect();
        for heavy in [false, true] {
            if heavy {
                // A layer that outweighs all others together. None of the others may be lost.
                weights[count / 2] = 2e5;
            }
            check_many(&rest, &poses, &weights, &[], 2e-7);
            check_many(&rest, &poses, &weights, &masks, 3e-7);
        }
        // The errors of equal layers do not average out.
        let same = std::vec![poses[0].clone(); count];
        check_many(&rest, &same, &std::vec![1.0; count], &[], 2e-7 + 1e-9 * count as f64);
        check_many(&rest, &same, &weights, &masks, 3e-7 + 1e-9 * count as f64);
    }
}

/// Compares with the reference implementation, within `bound` of the largest magnitudes.
fn check_many(rest: &Pose, poses: &[Pose], weights: &[f32], masks: &[Vec<f32>], bound: f64) {
    let joints = rest.joint_count();
    let factor = |n: usize, joint: usize| masks.get(n).map_or(1.0, |mask| mask[joint]);
    let weight = |n: usize, joint: usize| f64::from(weights[n] * factor(n, joint));
    let part = |(n, pose)| (pose, (0..joints).map(|joint| weight(n, joint)).collect());
    let parts: Vec<_> = poses.iter().enumerate().map(part).collect();
    let layers = masked(poses, weights, masks);
    for mean in MEANS {
        let want = reference::blend(rest, &parts, mean == Mean::Linear);
        for dispatch in Dispatch::all() {
            let got = dispatch.scope(|| blended(rest, &layers, mean));
            for (joint, (got, want)) in got.transforms().zip(&want).enumerate() {
                let case = format_args!("{dispatch}, {mean:?}, joint {joint}, {} layers", poses.len());
                assert_close(&got.rotation, &want.rotation, bound + 3e-7, case);
                // Magnitudes are up to 0.5 and 1.4.
                assert_close(&got.translation, &want.translation, 0.5 * bound, case);
                assert_close(&got.scale, &want.scale, 1.4 * bound, case);
            }
        }
    }
}

/// The worst case for the integers: half of the normalised weights are negative, and their magnitudes sum to
/// almost a power of two.
#[test]
fn many_layers_do_not_overflow() {
    let mut wild = Transform { translation: [1.999_999_9; 3], ..Transform::IDENTITY };
    let there = Pose::from_transforms(&[wild; 3]);
    wild.translation = wild.translation.map(|v| -v);
    let back = Pose::from_transforms(&[wild; 3]);
    let ones = [1.0; 3];
    // For the first two cases the terms end in a half, which is rounded up.
    for (count, ratio) in [(13770, 1.999_997_9), (13228, 1.999_997_9), (9000, 2.0), (9000, 3.999_99)] {
        let plus = (ratio as f32 + 1.0) / 2.0;
        let layer = |n| if n % 2 == 0 { Layer::new(&there, plus) } else { Layer::new(&back, 1.0 - plus) };
        let layers: Vec<_> = (0..count).map(layer).collect();
        let all = layers.iter().map(|&layer| Layer { mask: Some(&ones), ..layer }).collect();
        for (dispatch, layers) in Dispatch::all().flat_map(|d| [(d, &layers), (d, &all)]) {
            let got = dispatch.scope(|| blended(&there, layers, Mean::Linear));
            let want = f64::from(2.0 * plus - 1.0) * 1.999_999_9;
            assert_close(
                &got.get(1).translation,
                &[want; 3],
                want * 1e-5,
                format_args!("{dispatch}, {ratio}"),
            );
        }
    }
}

#[test]
fn masks_that_are_not_finite_break_their_joints_only() {
    let mut random = Random(27);
    let joints = 21;
    let (rest, poses) = (random.pose(joints), poses(&mut random, joints, 3));
    for weights in [[0.5, 0.7, 0.2], [1.0, -1.0, 0.5], [1.0, -1.0, 0.0]] {
        let clean = std::vec![std::vec![1.0; joints]; 3];
        for (at, bad) in (0..3).flat_map(|at| [f32::NAN, f32::INFINITY, f32::NEG_INFINITY].map(|b| (at, b))) {
            let mut broken = clean.clone();
            (broken[at][7], broken[at][20]) = (bad, bad);
            for (dispatch, mean) in Dispatch::all().flat_map(|d| MEANS.map(|mean| (d, mean))) {
                let of = |masks| dispatch.scope(|| blended(&rest, &masked(&poses, &weights, masks), mean));
                let (got, want) = (of(&broken), of(&clean));
                for (joint, (got, want)) in got.transforms().zip(want.transforms()).enumerate() {
                    let case =
                        format_args!("{dispatch}, {mean:?}, {weights:?}, {bad} at {at}, joint {joint}");
                    let mut all = got.rotation.iter().chain(&got.translation).chain(&got.scale);
                    if (joint == 7 || joint == 20) && weights[at] != 0.0 {
                        assert!(all.all(|v| v.is_nan()), "{case}: {got:?}");
                    } else {
                        assert_eq!(got, want, "{case}");
                    }
                }
            }
        }
    }
}

/// The weight and the mask are finite, but their product is not.
#[test]
fn a_mask_too_large_for_its_weight_breaks_its_joint_only() {
    let mut random = Random(31);
    let (rest, poses) = (random.pose(5), poses(&mut random, 5, 2));
    let small = std::vec![std::vec![1.0; 5]; 2];
    let mut large = small.clone();
    large[1][3] = 1e10;
    for (dispatch, mean) in Dispatch::all().flat_map(|d| MEANS.map(|mean| (d, mean))) {
        let of = |masks| dispatch.scope(|| blended(&rest, &masked(&poses, &[1e30; 2], masks), mean));
        let (got, want) = (of(&large), of(&small));
        for (joint, (got, want)) in got.transforms().zip(want.transforms()).enumerate() {
            let mut all = got.rotation.iter().chain(&got.translation).chain(&got.scale);
            let right = if joint == 3 { all.all(|v| v.is_nan()) } else { got == want };
            assert!(right, "{dispatch}, {mean:?}, joint {joint}: {got:?}");
        }
    }
}

#[test]
fn masks_are_factors_of_any_size() {
    let mut random = Random(28);
    let joints = tries(40);
    let (rest, poses) = (random.pose(joints), poses(&mut random, joints, 3));
    let mask =
        |low, high, random: &mut Random| (0..joints).map(|_| random.range(low, high)).collect::<Vec<f32>>();
    let masks = [mask(2.0, 900.0, &mut random), mask(-1.0, 0.0, &mut random), mask(1.0, 2.0, &mut random)];
    let weights = [0.5, 0.25, 1.0];
    let weight = |n: usize, joint: usize| f64::from(weights[n] * masks[n][joint]);
    let part = |n: usize| (&poses[n], (0..joints).map(|joint| weight(n, joint)).collect());
    let want = reference::blend(&rest, &[part(0), part(1), part(2)], true);
    for dispatch in Dispatch::all() {
        let got = dispatch.scope(|| blended(&rest, &masked(&poses, &weights, &masks), Mean::Linear));
        for (got, want) in got.transforms().zip(&want) {
            assert_close(&got.translation, &want.translation, 4e-7, dispatch);
            assert_close(&got.scale, &want.scale, 1.2e-6, dispatch);
        }
    }
}

/// Weights down to the smallest f32 with full precision, alone in some joints.
#[test]
fn tiny_weights_and_masks_count() {
    let mut random = Random(29);
    let (rest, poses) = (random.pose(9), poses(&mut random, 9, 5));
    for tiny in [1e-20, 1e-30, f32::MIN_POSITIVE] {
        let mut masks = std::vec![std::vec![0.0; 9]; 5];
        (0..5).for_each(|n| masks[n][n] = tiny);
        masks[0][7] = tiny;
        masks[1][7] = 3.0 * tiny;
        let layers = masked(&poses, &[1.0; 5], &masks);
        for dispatch in Dispatch::all() {
            let got = dispatch.scope(|| blended(&rest, &layers, Mean::Linear));
            for (joint, pose) in poses.iter().enumerate() {
                let want = pose.get(joint).translation;
                assert_eq!(got.get(joint).translation, want, "{dispatch}, {tiny}");
            }
            let [a, b] = [0, 1].map(|n| poses[n].get(7).translation.map(f64::from));
            let want = [0, 1, 2].map(|c| 0.25 * a[c] + 0.75 * b[c]);
            assert_close(&got.get(7).translation, &want, 2e-7, format_args!("{dispatch}, {tiny}"));
        }
    }
}

/// The first two floats would sum to infinity in one order, and to 0 in another.
#[test]
fn sums_that_overflow_on_the_way_do_so_in_no_order() {
    let rest = Pose::identity(5);
    let pose = |x: f32| Pose::from_transforms(&[Transform { translation: [x; 3], ..Transform::IDENTITY }; 5]);
    let poses = [3e38, 3e38, -3e38, 1.5e38].map(pose);
    for (count, weights, want) in [(3, [1.0, 1.0, -1.0, 0.0], 3e38), (4, [1.0, 1.0, 1.0, -2.0], 0.0)] {
        let poses = if count == 3 { [0, 1, 1, 0].map(|n| poses[n].clone()) } else { poses.clone() };
        let mut layers = masked(&poses[..count], &weights, &[]);
        for dispatch in Dispatch::all() {
            permutations(&mut layers, 0, &mut |layers| {
                let got = dispatch.scope(|| blended(&rest, layers, Mean::Linear));
                assert_eq!(got.get(3).translation, [want; 3], "{dispatch}, {count} layers");
            });
        }
    }
}
