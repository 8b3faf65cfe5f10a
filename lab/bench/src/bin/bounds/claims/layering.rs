//! Blended, added and overlaid poses, one joint at a time.

use condyle::blending::{self, Additive, Layer, Mean};
use condyle::{Dispatch, Pose, Transform};
use condyle_testing::reference;

use super::{apart, quat, start_rotation, unit, worst};
use crate::climb::{Claim, Random};

/// `blend`: errors of rotations by both means, of translations and scales, and the error per layer.
const LINEAR: f64 = 2.3e-7;
const EXPONENTIAL: f64 = 9.5e-7;
const WEIGHTED: f64 = 2.3e-7;
const MASKED: f64 = 3e-7;
/// Error with some negative weights.
const TAKEN: f64 = 2.6e-7;
const EACH_LAYER: f64 = 1e-9;
/// `add`: error of rotations, error per added radian, and error of translations and scales.
const ADDED: f64 = 5e-7;
const EACH_RADIAN: f64 = 2.2e-7;
const SUMMED: f64 = 2.4e-7;
/// `difference`: errors of rotations, translations and scale ratios.
const DIFFERENCE: [f64; 3] = [3e-7, 6e-8, 1.2e-7];
/// `overlay`: error of rotations, and of translations and scales relative to the larger input.
const OVERLAID: [f64; 2] = [2.3e-7, 1.2e-7];

/// Values of a joint and a weight: rotation, translation along x, scale along x, weight.
const JOINT: usize = 7;

fn start(random: &mut Random, case: &mut [f32]) {
    let first: [f32; 4] = {
        let mut q = [0.0; 4];
        start_rotation(random, &mut q);
        unit(&mut q);
        q
    };
    for joint in case.chunks_mut(JOINT) {
        // Arbitrary, or near the first one.
        if random.below(2) == 0 {
            start_rotation(random, &mut joint[..4]);
        } else {
            let size = random.magnitude(-9.0).abs();
            for c in 0..4 {
                joint[c] = (f64::from(first[c]) + size * random.signed()) as f32;
            }
        }
        joint[4] = random.magnitude(-6.0) as f32;
        joint[5] = random.magnitude(-3.0) as f32;
        joint[6] = random.magnitude(-6.0).abs() as f32;
    }
}

/// Requires unit quaternions, weights from 0 to 1, and translations and scales that f32 holds with full
/// precision.
fn repair(case: &mut [f32]) -> bool {
    case.chunks_mut(JOINT).all(|joint| {
        joint[6] = joint[6].abs();
        let plain = |v: f32| (1e-20..=1e6).contains(&v.abs());
        unit(&mut joint[..4]) && plain(joint[4]) && plain(joint[5]) && joint[6] <= 1.0
    })
}

fn pose(joint: &[f32]) -> Pose {
    let (translation, scale) = ([joint[4], 0.0, 0.0], [joint[5], 1.0, 1.0]);
    Pose::from_transforms(&[Transform { rotation: quat(joint), translation, scale }])
}

/// Parts of a joint with separate bounds.
const PARTS: [&str; 3] = ["rotation", "translation", "scale"];

/// Claims about poses of one joint each, one claim per part of the result. The first joint is the reference.
fn claims_of(
    name: &str,
    bounds: [f64; 3],
    joints: usize,
    dispatch: Dispatch,
    errors: impl Fn(&[&[f32]]) -> [f64; 3] + Sync + Clone + 'static,
) -> impl Iterator<Item = Claim> {
    PARTS.into_iter().enumerate().map(move |(at, part)| {
        let errors = errors.clone();
        Claim {
            what: format!("{name}, {part}"),
            way: "",
            dispatch: Some(dispatch),
            bound: bounds[at],
            width: joints * JOINT,
            start,
            repair,
            error: Box::new(move |case| {
                let joints: Vec<&[f32]> = case.chunks(JOINT).collect();
                // Half a turn from the first joint, either hemisphere is valid.
                let dot = |q: &[f32]| (0..4).map(|c| f64::from(q[c]) * f64::from(joints[0][c])).sum::<f64>();
                if joints.iter().any(|joint| dot(joint).abs() < 1e-6) {
                    return 0.0;
                }
                dispatch.scope(|| errors(&joints))[at]
            }),
        }
    })
}

pub(super) fn claims(dispatch: Dispatch) -> Vec<Claim> {
    let mut claims = Vec::new();
    for (mean, rotation) in [(Mean::Linear, LINEAR), (Mean::ExponentialMap, EXPONENTIAL)] {
        for layers in [2, 3, 5] {
            let blended = move |joints: &[&[f32]]| blended(joints, mean);
            claims.extend(claims_of(
                &format!("blend of {layers}, {mean:?}"),
                [rotation, WEIGHTED, WEIGHTED],
                layers + 1,
                dispatch,
                blended,
            ));
        }
    }
    for (mean, rotation, taken_rotation) in
        [(Mean::Linear, LINEAR, TAKEN), (Mean::ExponentialMap, EXPONENTIAL, EXPONENTIAL)]
    {
        for layers in [2, 3] {
            claims.extend(claims_of(
                &format!("blend of {layers} with masks, {mean:?}"),
                [rotation, MASKED, MASKED],
                layers + 1,
                dispatch,
                move |joints: &[&[f32]]| masked(joints, mean),
            ));
        }
        for layers in [2, 3, 5] {
            claims.extend(claims_of(
                &format!("blend of {layers} of either sign, {mean:?}"),
                [taken_rotation, TAKEN, TAKEN],
                layers + 1,
                dispatch,
                move |joints: &[&[f32]]| taken(joints, mean),
            ));
        }
    }
    claims.extend(claims_of("add 1 many times", [ADDED, SUMMED, SUMMED], 2, dispatch, |joints| {
        let mut many = joints[1].to_vec();
        many[6] *= 16.0_f32.copysign(joints[1][4]);
        added(&[joints[0], &many])
    }));
    for layers in [1, 2, 3] {
        claims.extend(claims_of(
            &format!("add {layers}"),
            [ADDED, SUMMED, SUMMED],
            layers + 1,
            dispatch,
            added,
        ));
    }
    claims.extend(claims_of("difference", DIFFERENCE, 2, dispatch, differing));
    claims.extend(claims_of("overlay", [OVERLAID[0], OVERLAID[1], OVERLAID[1]], 2, dispatch, overlaid));
    claims
}

/// Largest magnitude of a value over the joints.
fn largest(joints: &[&[f32]], at: usize) -> f64 {
    worst(joints.iter().map(|joint| f64::from(joint[at].abs())))
}

/// Blend about the first joint, with all others as layers.
fn blended(joints: &[&[f32]], mean: Mean) -> [f64; 3] {
    let poses: Vec<Pose> = joints.iter().map(|joint| pose(joint)).collect();
    let layers: Vec<Layer<'_>> =
        poses[1..].iter().zip(&joints[1..]).map(|(pose, joint)| Layer::new(pose, joint[6])).collect();
    let total: f64 = layers.iter().map(|layer| f64::from(layer.weight)).sum();
    let counting: Vec<&[f32]> = joints[1..].iter().copied().filter(|joint| joint[6] > 0.0).collect();
    if counting.is_empty() {
        return [0.0; 3];
    }
    let mut got = Pose::identity(1);
    blending::about(&poses[0], &layers, mean, &mut got).expect("a joint each");
    let got = got.get(0);
    let weighted: Vec<_> = layers.iter().map(|layer| (layer.pose, vec![f64::from(layer.weight)])).collect();
    let linear = mean == Mean::Linear;
    let want = &reference::blend(&poses[0], &weighted, linear)[0];
    let layers = EACH_LAYER * counting.len() as f64;
    let rotation = apart(got.rotation, want.rotation);
    let rotation = if linear {
        let near = |joint: &[f32]| {
            let dot: f64 = (0..4).map(|c| f64::from(joint[c]) * f64::from(joints[0][c])).sum();
            dot.signum() * f64::from(joint[6]) / total
        };
        let sum = |c: usize| counting.iter().map(|joint| near(joint) * f64::from(joint[c])).sum::<f64>();
        let length = (0..4).map(|c| sum(c).powi(2)).sum::<f64>().sqrt();
        rotation * length / (LINEAR + layers)
    } else {
        rotation / (EXPONENTIAL + layers)
    };
    let part = |got: f32, want: f64, at: usize| {
        (f64::from(got) - want).abs() / ((WEIGHTED + layers) * largest(&counting, at))
    };
    let translation = part(got.translation[0], want.translation[0], 4);
    [rotation, translation, part(got.scale[0], want.scale[0], 5)]
}

/// Addition of all other joints, as differences, to the first one.
fn added(joints: &[&[f32]]) -> [f64; 3] {
    let poses: Vec<Pose> = joints.iter().map(|joint| pose(joint)).collect();
    let layers: Vec<Additive<'_>> =
        poses[1..].iter().zip(&joints[1..]).map(|(pose, joint)| Additive::new(pose, joint[6])).collect();
    let mut got = Pose::identity(1);
    blending::add(&poses[0], &layers, &mut got).expect("a joint each");
    let got = got.get(0);
    let amounts: Vec<_> =
        layers.iter().map(|layer| (layer.difference, vec![f64::from(layer.amount)])).collect();
    let want = &reference::add(&poses[0], &amounts)[0];
    let amount = |joint: &[f32]| f64::from(joint[6].abs());
    let turned: f64 = joints[1..]
        .iter()
        .map(|joint| {
            let sine = (0..3).map(|c| f64::from(joint[c]).powi(2)).sum::<f64>().sqrt();
            2.0 * sine.atan2(f64::from(joint[3].abs())) * amount(joint)
        })
        .sum();
    let rotation = apart(got.rotation, want.rotation) / (ADDED + EACH_RADIAN * turned);
    let most =
        |at: usize, less: f64| worst(joints[1..].iter().map(|joint| (f64::from(joint[at]) - less).abs()));
    let all = joints[1..].iter().map(|joint| amount(joint)).sum::<f64>().max(1.0);
    let each = |at: usize, less: f64| EACH_LAYER * (joints.len() - 1) as f64 * most(at, less) * all;
    let sum = |at: usize, less: f64| {
        joints[1..].iter().map(|joint| (f64::from(joint[at]) - less).abs() * amount(joint)).sum::<f64>()
    };
    let moved = f64::from(joints[0][4].abs()) + sum(4, 0.0);
    let translation =
        (f64::from(got.translation[0]) - want.translation[0]).abs() / (SUMMED * moved + each(4, 0.0));
    let size = f64::from(joints[0][5].abs());
    let grown = size * (1.0 + sum(5, 1.0));
    let scale = (f64::from(got.scale[0]) - want.scale[0]).abs() / (SUMMED * grown + size * each(5, 1.0));
    [rotation, translation, scale]
}

/// Difference of the second joint from the first one.
fn differing(joints: &[&[f32]]) -> [f64; 3] {
    let (from, to) = (pose(joints[0]), pose(joints[1]));
    let mut got = Pose::identity(1);
    blending::difference(&to, &from, &mut got).expect("a joint each");
    let (got, want) = (got.get(0), &reference::difference(&to, &from)[0]);
    let part = |got: f32, want: f64| if want == 0.0 { 0.0 } else { (f64::from(got) / want - 1.0).abs() };
    [
        apart(got.rotation, want.rotation) / DIFFERENCE[0],
        part(got.translation[0], want.translation[0]) / DIFFERENCE[1],
        part(got.scale[0], want.scale[0]) / DIFFERENCE[2],
    ]
}

/// Blend about the first joint, three of whose values are masks of the other joints.
fn masked(joints: &[&[f32]], mean: Mean) -> [f64; 3] {
    let factor = |at: usize| joints[0][4 + at].abs();
    let poses: Vec<Pose> = joints.iter().map(|joint| pose(joint)).collect();
    let masks: Vec<[f32; 1]> = (0..joints.len() - 1).map(|at| [factor(at)]).collect();
    let layers: Vec<Layer<'_>> = poses[1..]
        .iter()
        .zip(&joints[1..])
        .zip(&masks)
        .map(|((pose, joint), mask)| Layer { mask: Some(mask), ..Layer::new(pose, joint[6]) })
        .collect();
    let weights =
        layers.iter().zip(&masks).map(|(layer, mask)| f64::from(layer.weight) * f64::from(mask[0])).collect();
    mixed(joints, &poses, &layers, weights, mean, [LINEAR, MASKED])
}

/// Blend about the first joint, with some negative weights.
fn taken(joints: &[&[f32]], mean: Mean) -> [f64; 3] {
    let poses: Vec<Pose> = joints.iter().map(|joint| pose(joint)).collect();
    // The sign comes from an otherwise unused value: the scale of the reference, or of the previous layer.
    let weights: Vec<f32> = joints.windows(2).map(|pair| pair[1][6].copysign(pair[0][5])).collect();
    let layers: Vec<Layer<'_>> =
        poses[1..].iter().zip(&weights).map(|(pose, weight)| Layer::new(pose, *weight)).collect();
    let exact = weights.iter().map(|weight| f64::from(*weight)).collect();
    mixed(joints, &poses, &layers, exact, mean, [TAKEN, TAKEN])
}

/// Errors of a blend. The two bounds apply to a rotation by the linear mean, and to translations and scales.
fn mixed(
    joints: &[&[f32]],
    poses: &[Pose],
    layers: &[Layer<'_>],
    weights: Vec<f64>,
    mean: Mean,
    [linear, weighted]: [f64; 2],
) -> [f64; 3] {
    let (total, magnitudes) =
        (weights.iter().sum::<f64>(), weights.iter().map(|weight| weight.abs()).sum::<f64>());
    // If the weights cancel, the result is the reference.
    if magnitudes == 0.0 || total.abs() < 2e-6 * magnitudes {
        return [0.0; 3];
    }
    let more = magnitudes / total.abs();
    let mut got = Pose::identity(1);
    blending::about(&poses[0], layers, mean, &mut got).expect("a joint each");
    let got = got.get(0);
    let parts: Vec<(&Pose, Vec<f64>)> =
        poses[1..].iter().zip(&weights).map(|(pose, weight)| (pose, vec![*weight])).collect();
    let want = &reference::blend(&poses[0], &parts, mean == Mean::Linear)[0];
    let each = EACH_LAYER * layers.len() as f64;
    let rotation = apart(got.rotation, want.rotation);
    let rotation = if mean == Mean::Linear {
        let (first, mut sum) = (quat(joints[0]), [0.0; 4]);
        for (joint, weight) in joints[1..].iter().zip(&weights) {
            let near = (0..4).map(|c| f64::from(joint[c]) * f64::from(first[c])).sum::<f64>().signum();
            (0..4).for_each(|c| sum[c] += near * weight / total * f64::from(joint[c]));
        }
        let length = sum.iter().map(|v| v * v).sum::<f64>().sqrt();
        // If the sum has no length, the result is the rotation of the reference.
        if length < 2e-6 * more { 0.0 } else { rotation * length / ((linear + each) * more) }
    } else {
        rotation / ((EXPONENTIAL + each) * more)
    };
    let counting: Vec<&[f32]> = joints[1..]
        .iter()
        .zip(&weights)
        .filter(|(_, weight)| **weight != 0.0)
        .map(|(joint, _)| *joint)
        .collect();
    let part = |got: f32, want: f64, at: usize| {
        (f64::from(got) - want).abs() / ((weighted + each) * largest(&counting, at) * more)
    };
    [rotation, part(got.translation[0], want.translation[0], 4), part(got.scale[0], want.scale[0], 5)]
}

/// Overlay of the second joint over the first one, with its weight.
fn overlaid(joints: &[&[f32]]) -> [f64; 3] {
    let (base, over, amount) = (pose(joints[0]), pose(joints[1]), joints[1][6]);
    let mut got = Pose::identity(1);
    blending::overlay(&base, &over, amount, None, &mut got).expect("a joint each");
    let got = got.get(0);
    let [a, b] = [joints[0], joints[1]].map(|joint| quat(joint).map(f64::from));
    let t = f64::from(amount);
    let part = |got: f32, at: usize| {
        let [a, b] = [joints[0][at], joints[1][at]].map(f64::from);
        (f64::from(got) - (a + (b - a) * t)).abs() / (OVERLAID[1] * largest(joints, at))
    };
    [
        apart(got.rotation, reference::slerp(a, b, t)) / OVERLAID[0],
        part(got.translation[0], 4),
        part(got.scale[0], 5),
    ]
}
