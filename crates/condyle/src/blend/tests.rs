use super::*;
use crate::testing::{Random, SIZES, assert_close, assert_portable, tries};
use crate::{Dispatch, Transform, reference};
use std::vec;
use std::vec::Vec;

const MEANS: [Mean; 2] = [Mean::Linear, Mean::ExponentialMap];

fn blended(reference: &Pose, layers: &[Layer<'_>], mean: Mean) -> Pose {
    let mut out = Pose::identity(reference.joint_count());
    blend(reference, layers, mean, &mut out).expect("sizes agree");
    out
}

fn bits(pose: &Pose) -> Vec<[u32; 10]> {
    let bits = |t: Transform| {
        let mut all = t.rotation.iter().chain(&t.translation).chain(&t.scale);
        core::array::from_fn(|_| all.next().expect("ten numbers").to_bits())
    };
    pose.transforms().map(bits).collect()
}

/// Poses around a common one, as those of a character are; every third is turned round to the other sign.
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

/// Masks with zeros, ones and everything between.
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
        let (rest, poses) = (random.pose(joints), poses(&mut random, joints, count));
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
        let (rest, poses) = (random.pose(joints), poses(&mut random, joints, count));
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
    let mut worst = [[0.0_f64; 3]; 4];
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
                        let w = &mut worst[usize::from(with_masks) * 2 + usize::from(mean != Mean::Linear)];
                        for c in 0..4 {
                            w[0] = w[0].max((f64::from(got.rotation[c]) - want.rotation[c]).abs());
                        }
                        for c in 0..3 {
                            w[1] = w[1].max((f64::from(got.translation[c]) - want.translation[c]).abs());
                        }
                        for c in 0..3 {
                            w[2] = w[2].max((f64::from(got.scale[c]) - want.scale[c]).abs());
                        }
                        let rounding = if with_masks { 3e-7 } else { 2e-7 };
                        let turned = if mean == Mean::Linear { 2e-7 } else { 6e-7 };
                        assert_close(&got.rotation, &want.rotation, turned + 100.0, case);
                        // Magnitudes are up to 0.5 and 1.4.
                        assert_close(&got.translation, &want.translation, 0.5 * rounding + 100.0, case);
                        assert_close(&got.scale, &want.scale, 1.4 * rounding + 100.0, case);
                    }
                }
            }
        }
    }
    std::println!("{worst:?}");
}
