use std::vec;
use std::vec::Vec;

use super::store::Degree;
use super::*;
use crate::blending::{Layer, Mean, blend};
use crate::clip::tests::made::{Made, made};
use crate::clip::{Interpolation, Track};
use crate::example;
use crate::model::local_to_model;
use crate::skeleton::Joint;
use crate::testing::{Random, SIZES, assert_portable, tries};
use condyle_base::math::quats::product;
use condyle_base::math::vectors::normalize;
use condyle_base::math::{Affine, Transform, sin_cos};

const BUDGET: f32 = 1e-3;

fn smooth(random: &mut Random, joints: usize, frames: usize) -> (Skeleton, RawClip) {
    let skeleton = random.skeleton(joints);
    let clip = random.smooth_clip(&skeleton, frames);
    (skeleton, clip)
}

/// Largest displacement of the ends of the axes of each joint, 3 cm long.
fn distance(skeleton: &Skeleton, a: &Pose, b: &Pose) -> f32 {
    let models = [a, b].map(|pose| {
        let mut model = vec![Affine::IDENTITY; skeleton.joint_count()];
        local_to_model(skeleton, pose, &mut model).expect("sizes agree");
        model
    });
    let mut worst = 0.0_f32;
    for (a, b) in models[0].iter().zip(&models[1]) {
        for end in [[0.03, 0.0, 0.0], [0.0, 0.03, 0.0], [0.0, 0.0, -0.03], [0.0; 3]] {
            let [p, q] = [a, b].map(|matrix| matrix.transform_point(end));
            let square: f32 = p.iter().zip(q).map(|(p, q)| (p - q) * (p - q)).sum();
            worst = worst.max(square.sqrt());
        }
    }
    worst
}

/// The error at any moment is within the budget, with a tolerance because only some moments are measured.
#[test]
fn frames_keep_their_budget() {
    let mut random = Random(71);
    let mut kinds = [[0; 2]; 2];
    for joints in SIZES.iter().copied().filter(|&joints| joints <= 67) {
        for budget in [1e-4, 1e-3, 1e-2] {
            let (skeleton, clip) = smooth(&mut random, joints, 40);
            let options = FramesOptions::new(&skeleton, budget, 0.03);
            let Ok(frames) = clip.to_frames(&skeleton, &options) else { continue };
            assert!(frames.error() <= budget && frames.joint_count() == joints);
            assert_eq!((frames.start(), frames.end()), (clip.start(), clip.end()));
            let store = &frames.0.store;
            let is_narrow = matches!(store.rotations, Rotations::Narrow { .. });
            kinds[usize::from(store.degree == Degree::Cubic)][usize::from(is_narrow)] += 1;
            let [mut want, mut is] = [Pose::rest(&skeleton), Pose::rest(&skeleton)];
            for _ in 0..tries(200) {
                let seconds = random.range(-0.2, clip.end() as f32 + 0.2).into();
                clip.pose(&skeleton, seconds, &mut want).expect("a pose");
                frames.pose(&skeleton, seconds, &mut is).expect("a pose");
                let off = distance(&skeleton, &want, &is);
                assert!(off <= 1.2 * budget, "{joints} joints, {budget}: {off} at {seconds} s, {frames:?}");
                assert!(is.transforms().all(|t| {
                    let square: f32 = t.rotation.iter().map(|c| c * c).sum();
                    (square - 1.0).abs() < 1e-5
                }));
            }
        }
    }
    assert!(cfg!(miri) || kinds[0][1] > 0 && kinds[1][1] > 0, "{kinds:?}");
}

/// Every kind of storage is sampled as its formula says, in f64.
#[test]
fn every_storage_is_its_formula() {
    let mut random = Random(72);
    for joints in [1, 17, 40] {
        let (skeleton, clip) = smooth(&mut random, joints, 20);
        let options = FramesOptions::new(&skeleton, BUDGET, 0.03);
        for (degree, is_narrow) in
            [(Degree::Linear, false), (Degree::Linear, true), (Degree::Cubic, false), (Degree::Cubic, true)]
        {
            let store = build::store_of(&clip, &skeleton, &options, degree, 25, is_narrow);
            let mut pose = Pose::rest(&skeleton);
            for _ in 0..20 {
                let seconds = f64::from(random.range(-0.1, 0.8));
                let (first, taps) = store.timeline.taps(degree, seconds);
                assert!((taps.iter().sum::<f64>() - 1.0).abs() < 1e-12);
                let values = |joint: usize| -> [f64; 4] {
                    let (block, lane, blocks) = (joint / 16, joint % 16, store.base.len());
                    let mut sum = [0.0; 4];
                    for (n, weight) in taps.iter().enumerate().take(degree.taps()) {
                        for (c, sum) in sum.iter_mut().enumerate() {
                            let at = (first + n) * blocks + block;
                            let value = match &store.rotations {
                                Rotations::Wide(rows) => f64::from(rows[at].0[c][lane]),
                                Rotations::Narrow { rows, step } => {
                                    (f64::from(rows[at].0[c][lane]) - f64::from(ZERO)) * f64::from(*step)
                                }
                            };
                            *sum += value * weight;
                        }
                    }
                    let length = sum.iter().map(|c| c * c).sum::<f64>().sqrt();
                    sum.map(|c| c / length)
                };
                for dispatch in Dispatch::all() {
                    store.sample(dispatch, skeleton.rest(), seconds, &mut pose);
                    for joint in 0..joints {
                        let (want, is) = (values(joint), pose.get(joint).rotation.map(f64::from));
                        let dot: f64 = want.iter().zip(is).map(|(a, b)| a * b).sum();
                        let sign = dot.signum();
                        for (want, is) in want.into_iter().zip(is) {
                            assert!((want * sign - is).abs() < 4e-7, "{dispatch}, {degree:?} {is_narrow}");
                        }
                    }
                }
            }
        }
    }
}

/// A blend of frames is the blend of their poses, except for the lengths of the sums.
#[test]
fn layers_are_blended() {
    let mut random = Random(73);
    for joints in [1, 16, 17, 67] {
        let (skeleton, first) = smooth(&mut random, joints, 30);
        let clips = [first, random.smooth_clip(&skeleton, 45), random.smooth_clip(&skeleton, 20)];
        // Close frames have nearly unit length, so that the two ways to blend agree.
        let options = FramesOptions::new(&skeleton, 1e-3, 0.03);
        let frames: Vec<Frames> =
            clips.iter().filter_map(|clip| clip.to_frames(&skeleton, &options).ok()).collect();
        let mask: Vec<f32> = (0..joints).map(|joint| (joint % 3) as f32 / 2.0).collect();
        for round in 0..tries(40) {
            let mut poses = Vec::new();
            let seconds: Vec<f64> = frames.iter().map(|_| random.range(0.0, 1.0).into()).collect();
            for (frames, &seconds) in frames.iter().zip(&seconds) {
                let mut pose = Pose::rest(&skeleton);
                sample_frames(&skeleton, &[FrameLayer::new(frames, seconds, 2.0)], &mut pose)
                    .expect("a pose");
                poses.push(pose);
            }
            let masks = [None, Some(&mask[..]), None];
            let mask_of = |at: usize| if round % 2 == 0 { None } else { masks[at] };
            let weights = [0.25, 1.5, if round % 3 == 0 { 0.0 } else { 0.75 }];
            let layers: Vec<FrameLayer<'_>> = (0..frames.len())
                .map(|at| FrameLayer {
                    mask: mask_of(at),
                    ..FrameLayer::new(&frames[at], seconds[at], weights[at])
                })
                .collect();
            let blended: Vec<Layer<'_>> = (0..frames.len())
                .map(|at| Layer { mask: mask_of(at), ..Layer::new(&poses[at], weights[at]) })
                .collect();
            let [mut want, mut is] = [Pose::rest(&skeleton), Pose::rest(&skeleton)];
            blend(&skeleton, &blended, Mean::Linear, &mut want).expect("a pose");
            sample_frames(&skeleton, &layers, &mut is).expect("a pose");
            for (joint, (want, is)) in want.transforms().zip(is.transforms()).enumerate() {
                let dot: f32 = want.rotation.iter().zip(is.rotation).map(|(a, b)| a * b).sum();
                assert!(dot.abs() > 0.999, "{joints} joints, {joint}: {want:?} {is:?}");
                for (want, is) in want.translation.into_iter().zip(is.translation) {
                    assert!((want - is).abs() < 1e-5, "{joints} joints, {joint}: {want} {is}");
                }
                for (want, is) in want.scale.into_iter().zip(is.scale) {
                    assert!((want - is).abs() < 1e-5, "{joints} joints, {joint}: {want} {is}");
                }
            }
        }
    }
}

/// The order of the layers changes no bit.
#[test]
fn layers_have_no_order() {
    let mut random = Random(74);
    for joints in [1, 17, 67] {
        let (skeleton, first) = smooth(&mut random, joints, 30);
        let options = FramesOptions::new(&skeleton, 1e-2, 0.03);
        let other = random.smooth_clip(&skeleton, 30);
        let frames = [first, other].map(|clip| clip.to_frames(&skeleton, &options).expect("a large budget"));
        let mask: Vec<f32> = (0..joints).map(|joint| joint as f32 / 67.0).collect();
        let layers = [
            FrameLayer::new(&frames[0], 0.2, 0.3),
            FrameLayer::new(&frames[1], 0.2, 0.3),
            FrameLayer { mask: Some(&mask), ..FrameLayer::new(&frames[1], 0.2, 0.3) },
            FrameLayer::new(&frames[1], 0.4, 0.3),
            FrameLayer::new(&frames[1], 0.4, 1.0),
        ];
        for count in 1..=layers.len() {
            for dispatch in Dispatch::all() {
                let sampled = |layers: &[FrameLayer<'_>]| {
                    let mut pose = Pose::rest(&skeleton);
                    dispatch.scope(|| sample_frames(&skeleton, layers, &mut pose)).expect("a pose");
                    pose
                };
                let mut turned = layers[..count].to_vec();
                let want = sampled(&turned);
                for _ in 0..count {
                    turned.rotate_left(1);
                    assert_eq!(sampled(&turned), want, "{dispatch}, {count} layers");
                    let mut reversed = turned.clone();
                    reversed.reverse();
                    assert_eq!(sampled(&reversed), want, "{dispatch}, {count} layers");
                }
            }
        }
    }
}

/// A joint that turns from one side of the rest pose to the other is blended in the hemisphere of the rest
/// pose, as by `blend`.
#[test]
fn rotations_are_blended_in_the_hemisphere_of_the_rest_pose() {
    let skeleton = Skeleton::new([Joint::new("wheel", None, Transform::IDENTITY)]).expect("a joint");
    let turning = |from: f32, to: f32| {
        let values = (0..=20).flat_map(|key| {
            let half = (from + (to - from) * key as f32 / 20.0).to_radians() / 2.0;
            [0.0, half.sin(), 0.0, half.cos()]
        });
        let (target, interpolation) = (Target::Rotation(0), Interpolation::Linear);
        let track = Track { target, interpolation, timeline: 0, values: values.collect() };
        let times = (0..=20).map(|key| key as f32 / 20.0).collect();
        let clip = RawClip::new("turn".into(), vec![times], vec![track]).expect("a valid clip");
        clip.to_frames(&skeleton, &FramesOptions::new(&skeleton, 1e-4, 0.03)).expect("an even turn")
    };
    // A full turn, and none. Half way, the wheel is half a turn from rest.
    let (round, still) = (turning(0.0, 360.0), turning(10.0, 10.0));
    let angle = |layers: &[FrameLayer<'_>]| {
        let mut pose = Pose::rest(&skeleton);
        sample_frames(&skeleton, layers, &mut pose).expect("a pose");
        let q = pose.get(0).rotation;
        (2.0 * q[1].atan2(q[3])).to_degrees()
    };
    for (seconds, want) in [(0.1, 23.0), (0.4, 77.0), (0.6, -67.0), (0.9, -13.0)] {
        let layers = [FrameLayer::new(&round, seconds, 1.0), FrameLayer::new(&still, 0.0, 1.0)];
        let is = angle(&layers);
        assert!((is - want).abs() < 0.5, "{is} at {seconds} s, {want} wanted");
    }
}

/// A clip with a jump has no frames within a small budget; the error states how far off they are.
#[test]
fn a_jump_is_refused() {
    let skeleton = Skeleton::new([Joint::new("hip", None, Transform::IDENTITY)]).expect("a joint");
    let (target, interpolation) = (Target::Translation(0), Interpolation::Step);
    let track = Track { target, interpolation, timeline: 0, values: vec![0.0, 0.0, 0.0, 1.0, 0.0, 0.0] };
    let clip = RawClip::new("jump".into(), vec![vec![0.0, 0.731]], vec![track]).expect("a valid clip");
    let refused = clip.to_frames(&skeleton, &FramesOptions::new(&skeleton, 0.01, 0.03));
    let Err(Error::OverBudget { percent }) = refused else { panic!("{refused:?}") };
    assert!((9_000..=10_300).contains(&percent), "{percent}");
    clip.to_frames(&skeleton, &FramesOptions::new(&skeleton, 1.01, 0.03)).expect("a budget above the jump");
}

/// The morph target lifts vertices at the elbow to 31 cm above it. Without it, those of the hand are the
/// farthest from the elbow, 27 cm.
#[test]
fn morph_targets_are_within_the_radii() {
    let (skeleton, mesh, skin) = (example::skeleton(), example::mesh(), example::skin());
    let options = FramesOptions::of_meshes(&skeleton, [(&mesh, &skin)], BUDGET, 0.03).expect("valid meshes");
    let elbow = options.radii[usize::from(skin.joints()[1])];
    assert!((elbow - 0.3125_f32.hypot(0.0625)).abs() < 1e-6, "{elbow}");
}

#[test]
fn invalid_input_is_refused() {
    let mut random = Random(75);
    let (skeleton, clip) = smooth(&mut random, 5, 10);
    let valid = FramesOptions::new(&skeleton, 1e-2, 0.03);
    for budget in [0.0, -1.0, f32::NAN, f32::INFINITY] {
        assert!(clip.to_frames(&skeleton, &FramesOptions { budget, ..valid.clone() }).is_err(), "{budget}");
    }
    for radii in [vec![], vec![0.03; 4], vec![f32::NAN; 5], vec![-1.0; 5]] {
        assert!(clip.to_frames(&skeleton, &FramesOptions { radii, ..valid.clone() }).is_err());
    }
    let frames = clip.to_frames(&skeleton, &valid).expect("a large budget");
    let mut pose = Pose::identity(5);
    let mut refused = |layers: &[FrameLayer<'_>], want: Error| {
        assert_eq!(sample_frames(&skeleton, layers, &mut pose), Err(want));
        assert_eq!(pose, Pose::identity(5));
    };
    let layer = FrameLayer::new(&frames, 0.1, 1.0);
    refused(&[layer; 9], Error::TooMany { what: "layers", found: 9, limit: 8 });
    let nan = Error::NotFinite { what: "seconds", at: 0 };
    refused(&[FrameLayer { seconds: f64::NAN, ..layer }], nan);
    refused(&[layer, FrameLayer { weight: f32::NAN, ..layer }], Error::NotFinite { what: "weights", at: 1 });
    let negative = Error::OutOfRange { what: "weights", at: 0, needed: "at least 0" };
    refused(&[FrameLayer { weight: -1.0, ..layer }], negative);
    let mask = Error::Length { what: "mask", found: 1, needed: 5 };
    refused(&[FrameLayer { mask: Some(&[1.0]), ..layer }], mask);
    let other = random.skeleton(5);
    assert!(matches!(
        sample_frames(&other, &[layer], &mut pose),
        Err(Error::RestPose { .. } | Error::Skeleton { .. })
    ));
    assert!(sample_frames(&random.skeleton(6), &[layer], &mut Pose::identity(6)).is_err());
    // No layers, or none with a weight: the rest pose.
    sample_frames(&skeleton, &[], &mut pose).expect("no layers");
    assert_eq!(pose, *skeleton.rest());
    pose = Pose::identity(5);
    sample_frames(&skeleton, &[FrameLayer { weight: 0.0, ..layer }], &mut pose).expect("no weight");
    assert_eq!(pose, *skeleton.rest());
}

/// Joints without a layer rest; masks of NaN or below 0 count as 0.
#[test]
fn joints_without_a_layer_rest() {
    let mut random = Random(76);
    let (skeleton, clip) = smooth(&mut random, 20, 20);
    let frames =
        clip.to_frames(&skeleton, &FramesOptions::new(&skeleton, 1e-2, 0.03)).expect("a large budget");
    let mut mask = [1.0; 20];
    (mask[0], mask[7], mask[18]) = (0.0, f32::NAN, -2.0);
    let layer = FrameLayer { mask: Some(&mask), ..FrameLayer::new(&frames, 0.3, 0.5) };
    let [mut pose, mut whole] = [Pose::identity(20), Pose::identity(20)];
    sample_frames(&skeleton, &[layer], &mut pose).expect("a pose");
    sample_frames(&skeleton, &[FrameLayer { mask: None, ..layer }], &mut whole).expect("a pose");
    for joint in 0..20 {
        let want = if [0, 7, 18].contains(&joint) { skeleton.rest().get(joint) } else { whole.get(joint) };
        let is = pose.get(joint);
        let close = |a: &[f32], b: &[f32]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-5);
        assert!(close(&is.rotation, &want.rotation) && close(&is.translation, &want.translation), "{joint}");
        assert!(close(&is.scale, &want.scale), "{joint}");
    }
}

/// Motion between uneven keys is found: dense keys before a long pause, and a curve that is 0 at its keys and
/// halfway between them.
#[test]
fn motion_between_keys_is_found() {
    let skeleton = Skeleton::new([Joint::new("hip", None, Transform::IDENTITY)]).expect("a joint");
    let clip = |times: Vec<f32>, tangents: &dyn Fn(usize) -> f32| {
        let values =
            (0..times.len()).flat_map(|key| [tangents(key), 0.0, tangents(key)].map(|x| [x, 0.0, 0.0]));
        let (target, interpolation) = (Target::Translation(0), Interpolation::CubicSpline);
        let values = values.flatten().collect();
        RawClip::new("spline".into(), vec![times], vec![Track { target, interpolation, timeline: 0, values }])
            .expect("a valid clip")
    };
    let dense = clip((0..=10).map(|key| key as f32 / 10.0).chain([1000.0]).collect(), &|key| match key {
        10.. => 0.0,
        _ if key % 2 == 0 => 10.0,
        _ => -10.0,
    });
    let wave = clip(vec![0.0, 1.0], &|_| 1.0);
    for (clip, budget) in [(dense, 0.01), (wave, 0.001)] {
        let frames = clip.to_frames(&skeleton, &FramesOptions::new(&skeleton, budget, 0.0));
        let [mut want, mut is] = [Pose::identity(1), Pose::identity(1)];
        match frames {
            Err(error) => assert!(matches!(error, Error::OverBudget { .. }) && budget > 0.005, "{error}"),
            Ok(frames) => {
                for moment in 0..=1000 {
                    let seconds = f64::from(moment) / 1000.0;
                    clip.pose(&skeleton, seconds, &mut want).expect("a pose");
                    frames.pose(&skeleton, seconds, &mut is).expect("a pose");
                    let off = distance(&skeleton, &want, &is);
                    assert!(off <= 1.2 * budget, "{off} at {seconds} s of {budget}");
                }
            }
        }
    }
}

/// Layers that differ only in a constant translation are ordered too.
#[test]
fn still_layers_have_no_order() {
    let skeleton = Skeleton::new([Joint::new("hip", None, Transform::IDENTITY)]).expect("a joint");
    let options = FramesOptions::new(&skeleton, 1e-3, 0.03);
    let still = [1.0, 1.1, 1.3].map(|x| {
        let (target, interpolation) = (Target::Translation(0), Interpolation::Linear);
        let track = Track { target, interpolation, timeline: 0, values: vec![x, 0.0, 0.0] };
        let clip = RawClip::new("still".into(), vec![vec![0.0]], vec![track]).expect("a valid clip");
        clip.to_frames(&skeleton, &options).expect("one pose")
    });
    let sampled = |order: [usize; 3]| {
        let mut pose = Pose::identity(1);
        let layers = order.map(|at| FrameLayer::new(&still[at], 0.0, 1.0));
        sample_frames(&skeleton, &layers, &mut pose).expect("a pose");
        pose.get(0).translation[0]
    };
    let want = sampled([0, 1, 2]);
    for order in [[0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        assert_eq!(sampled(order), want, "{order:?}");
    }
}

/// Matrices that overflow are refused.
#[test]
fn an_overflow_is_refused() {
    let joints = [Joint::new("a", None, Transform::IDENTITY), Joint::new("b", Some(0), Transform::IDENTITY)];
    let skeleton = Skeleton::new(joints).expect("two joints");
    let tracks = [0, 1].map(|joint| Track {
        target: Target::Translation(joint),
        interpolation: Interpolation::Linear,
        timeline: 0,
        values: vec![3e38, 0.0, 0.0],
    });
    let clip = RawClip::new("far".into(), vec![vec![0.0]], tracks.into()).expect("a valid clip");
    let refused = clip.to_frames(&skeleton, &FramesOptions::new(&skeleton, 1e-3, 0.03));
    assert!(matches!(refused, Err(Error::NotFinite { .. })), "{refused:?}");
}

/// A clip without duration is one pose; a clip of a skeleton without joints is an empty pose.
#[test]
fn the_smallest_clips_have_frames() {
    let mut random = Random(77);
    for (joints, frames) in [(0, 5), (3, 0), (3, 1), (3, 2)] {
        let (skeleton, clip) = smooth(&mut random, joints, frames);
        let unpacked = clip.to_frames(&skeleton, &FramesOptions::new(&skeleton, 0.05, 0.03)).expect("frames");
        let [mut want, mut is] = [Pose::identity(joints), Pose::identity(joints)];
        for seconds in [-1.0, 0.0, 0.02, 9.0] {
            clip.pose(&skeleton, seconds, &mut want).expect("a pose");
            unpacked.pose(&skeleton, seconds, &mut is).expect("a pose");
            assert!(distance(&skeleton, &want, &is) <= 0.05, "{joints} joints, {frames} frames, {seconds} s");
        }
    }
}

/// The free tracks of a clip are sampled from the clip.
#[test]
fn weights_come_from_the_clip() {
    let skeleton = crate::example::skeleton();
    let (target, interpolation) = (Target::Weights(3), Interpolation::Linear);
    let smile = Track { target, interpolation, timeline: 0, values: vec![0.0, 0.0, 0.5, 1.0] };
    let clip = RawClip::new("smile".into(), vec![vec![0.0, 2.0]], vec![smile]).expect("a valid clip");
    let frames = clip.to_frames(&skeleton, &FramesOptions::new(&skeleton, 1e-3, 0.03)).expect("frames");
    let mut weights = [9.0; 2];
    frames.weights(3, 1.0, &mut weights).expect("two weights");
    assert_eq!(weights, [0.25, 0.5]);
    frames.weights(4, 1.0, &mut weights).expect("no track");
    assert_eq!(weights, [0.25, 0.5]);
}

/// Waves from functions with the same bits on every platform, unlike [`Random::smooth_clip`].
fn waving(random: &mut Random, skeleton: &Skeleton, frames: usize) -> RawClip {
    let times: Vec<f32> = (0..=frames).map(|frame| frame as f32 / 30.0).collect();
    let mut tracks = Vec::new();
    for (joint, rest) in (0..).zip(skeleton.rest().transforms()) {
        let [pace, phase] = [random.range(0.5, 6.0), random.range(0.0, 6.0)];
        let wave = |t: f32| sin_cos(pace * t + phase);
        let turned = |t: f32| {
            let (sin, cos) = sin_cos(0.5 * wave(t).0);
            let mut q = product(rest.rotation, [0.0, sin, 0.0, cos]).map(f64::from);
            normalize(&mut q);
            q.map(|c| c as f32)
        };
        let moved = |t: f32| rest.translation.map(|c| c + 0.25 * wave(t).1);
        let mut add = |target, values| {
            tracks.push(Track { target, interpolation: Interpolation::Linear, timeline: 0, values });
        };
        add(Target::Rotation(joint), times.iter().flat_map(|&t| turned(t)).collect());
        if joint % 4 == 0 {
            add(Target::Translation(joint), times.iter().flat_map(|&t| moved(t)).collect());
        }
        if joint % 8 == 3 {
            let stretched = |t: f32| rest.scale.map(|c| c * (1.0 + 0.25 * wave(t).0));
            add(Target::Scale(joint), times.iter().flat_map(|&t| stretched(t)).collect());
        }
    }
    RawClip::new("waves".into(), vec![times], tracks).expect("a valid clip")
}

#[test]
fn the_bits_are_the_same_everywhere() {
    assert_portable(0x72dd_4002_382a_f1c0, |hash| {
        let mut random = Random(78);
        for joints in [1, 16, 17, 67] {
            let skeleton = random.skeleton(joints);
            let [first, second] = [30, 45].map(|frames| waving(&mut random, &skeleton, frames));
            for budget in [2e-2, 1e-3] {
                let options = FramesOptions::new(&skeleton, budget, 0.03);
                let Ok([a, b]) = [&first, &second]
                    .map(|clip| clip.to_frames(&skeleton, &options))
                    .into_iter()
                    .collect::<Result<Vec<_>, _>>()
                    .map(|both| <[Frames; 2]>::try_from(both).expect("two"))
                else {
                    continue;
                };
                let mask: Vec<f32> = (0..joints).map(|joint| (joint % 5) as f32 / 4.0).collect();
                let mut pose = Pose::rest(&skeleton);
                for step in 0..tries(20) {
                    let seconds = step as f64 * 0.06;
                    let other = FrameLayer::new(&b, seconds, 0.3);
                    let masked = FrameLayer { mask: Some(&mask), ..other };
                    let own = FrameLayer::new(&a, seconds, 0.8);
                    for layers in [&[own][..], &[own, other], &[own, masked], &[own, other, masked]] {
                        sample_frames(&skeleton, layers, &mut pose).expect("a pose");
                        for t in pose.transforms() {
                            hash.add(t.rotation.iter().chain(&t.translation).chain(&t.scale));
                        }
                    }
                }
            }
        }
    });
}

/// A joint has the same bits whether or not another joint of its block leaves the hemisphere of the rest
/// pose.
#[test]
fn bits_do_not_depend_on_the_block() {
    let mut random = Random(79);
    let skeleton = random.skeleton(16);
    let clips = [30, 45].map(|frames| waving(&mut random, &skeleton, frames));
    let options = FramesOptions::new(&skeleton, 1.0, 0.03);
    let store = |clip: &RawClip| build::store_of(clip, &skeleton, &options, Degree::Linear, 30, false);
    // The rest rotation of joint 5, turned by up to 240 degrees about x.
    let far = |clip: &RawClip| {
        let mut tracks = clip.tracks().to_vec();
        let track = tracks.iter_mut().find(|track| track.target == Target::Rotation(5)).expect("it turns");
        let count = clip.timelines()[track.timeline].len();
        let turn = |key: usize| {
            let (sin, cos) = sin_cos(2.1 * key as f32 / (count - 1) as f32);
            product(skeleton.rest().get(5).rotation, [sin, 0.0, 0.0, cos])
        };
        track.values = (0..count).flat_map(turn).collect();
        RawClip::new("far".into(), clip.timelines().to_vec(), tracks).expect("a valid clip")
    };
    for dispatch in Dispatch::all() {
        let of = |stores: &[Store; 2], seconds: f64| {
            let layers = stores.each_ref().map(|store| store.at(seconds, 0.5, false));
            let mut pose = Pose::rest(&skeleton);
            let input = kernel::Input { rest: skeleton.rest().blocks(), joints: 16, layers: &layers };
            run(dispatch, input, &mut pose);
            pose
        };
        let near = clips.each_ref().map(store);
        let crossing = clips.each_ref().map(|clip| store(&far(clip)));
        assert!(crossing[0].marks[0].crosses && !near[0].marks[0].crosses);
        for step in 0..40 {
            let seconds = f64::from(step) / 37.0;
            let [want, is] = [&near, &crossing].map(|stores| of(stores, seconds));
            for joint in (0..16).filter(|joint| *joint != 5) {
                assert_eq!(want.get(joint), is.get(joint), "{dispatch}, joint {joint} at {seconds}");
            }
        }
    }
}

/// A jump between segments that is larger than an encoder's error stays.
#[test]
fn large_jumps_between_segments_are_kept() {
    let mut random = Random(80);
    let what = Made {
        joints: 5,
        frames: 40,
        segment_frames: 8,
        bits: 18,
        motion: false,
        fallback: false,
        in_part: false,
        free_widths: &[],
    };
    let skeleton = random.skeleton(5);
    let bytes = made(&mut random, what);
    let clip = Clip::from_bytes(&bytes).expect("a clip");
    let options = FramesOptions::new(&skeleton, 1e-3, 0.03);
    let dispatch = Dispatch::current().portable();
    let seams: Vec<Option<[f64; 2]>> = clip.view().seams().map(|seam| Some(seam.map(f64::from))).collect();
    assert_eq!(seams.len(), 4);
    let reach = clip.duration() / 40.0;
    let mut smooth = Smooth { dispatch, clip: clip.view(), skeleton: &skeleton, seams, reach };
    // Segments of random keys do not meet.
    assert_eq!(smooth.keep_jumps(&mut Meter::new(&skeleton, &options)), Ok(0.0));
    assert_eq!(smooth.seams, [None; 4]);
    let [mut want, mut is] = [Pose::rest(&skeleton), Pose::rest(&skeleton)];
    for seconds in clip.view().seams().flatten().map(f64::from) {
        crate::sampling::sample_by(dispatch, clip.view(), &skeleton, seconds, &mut want).expect("a time");
        smooth.sample(seconds, &mut is).expect("a time");
        assert!(want == is, "at {seconds}");
    }
}
