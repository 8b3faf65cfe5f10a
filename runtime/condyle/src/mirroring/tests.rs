use super::*;
use crate::clip::{Interpolation, RawClip, Target, Track};
use crate::pose::Pose;
use crate::sampling::{self, RawCursor};
use crate::skeleton::{Joint, NO_PARENT, Skeleton};
use crate::testing::reference;
use crate::testing::{Random, SIZES, assert_close, assert_portable, tries};
use condyle_base::error::Error;
use condyle_base::math::quats::product;
use condyle_base::math::vectors::normalize;
use condyle_base::math::{Affine, Transform};
use condyle_base::simd::Dispatch;
use reference::{Local, Matrix};
use std::f64::consts::FRAC_1_SQRT_2;
use std::string::String;

const X: [f32; 3] = [1.0, 0.0, 0.0];

/// Axes of the joints of a symmetric skeleton.
#[derive(Clone, Copy, PartialEq)]
enum Frames {
    /// Axes parallel to the axes of model space.
    Plain,
    /// Axes parallel to the axes of model space, in different orders and with different signs on the two
    /// sides.
    Turned,
    /// Arbitrary axes, different on the two sides.
    Any,
    /// Like `Any`, but the root of each limb on one side has a negative scale.
    Negative,
}

/// Returns a symmetric skeleton and its pairs. Every third joint is on the mirror plane; the others are
/// pairs.
fn symmetric(
    random: &mut Random,
    joints: usize,
    normal: [f32; 3],
    frames: Frames,
) -> (Skeleton, Vec<(u16, u16)>) {
    let plane =
        Affine { rows: reference::reflection(normal.map(f64::from)).map(|row| row.map(|v| v as f32)) };
    let n = {
        let mut n = normal.map(f64::from);
        normalize(&mut n);
        n
    };
    let mut all: Vec<Joint> = Vec::new();
    let mut model: Vec<Matrix> = Vec::new();
    let mut pairs = Vec::new();
    // Partner of each joint, and whether it is on the side with the negative scale.
    let mut partners: Vec<usize> = Vec::new();
    let mut made: Vec<bool> = Vec::new();
    let mut add = |random: &mut Random,
                   model: &mut Vec<Matrix>,
                   made: &mut Vec<bool>,
                   parent: Option<usize>,
                   place: [f64; 3],
                   negative: bool| {
        let mut frame = [0.0, 0.0, 0.0, 1.0];
        match frames {
            Frames::Plain => {}
            Frames::Turned => {
                for _ in 0..3 {
                    let mut quarter = [0.0, 0.0, 0.0, FRAC_1_SQRT_2];
                    quarter[random.below(3)] = FRAC_1_SQRT_2;
                    frame = product(frame, quarter);
                }
            }
            Frames::Any | Frames::Negative => {
                frame = random.unit::<4>().map(f64::from);
                normalize(&mut frame);
            }
        }
        let up = |m: &Matrix| reference::transform_point(&reference::inverse(m), place);
        let translation = parent.map_or(place, |p| up(&model[p]));
        let scale = if negative { [1.0, 1.0, -1.0] } else { [1.0; 3] };
        let local = Local { rotation: frame, translation, scale };
        let own = reference::local_matrix(&local);
        model.push(parent.map_or(own, |p| reference::multiply(&model[p], &own)));
        made.push(negative || parent.is_some_and(|p| made[p]));
        all.push(Joint::new(
            "",
            parent.map(|p| p as u16),
            Transform {
                rotation: frame.map(|v| v as f32),
                translation: translation.map(|v| v as f32),
                scale: scale.map(|v| v as f32),
            },
        ));
    };
    while partners.len() < joints {
        let at = partners.len();
        // Joints on the plane branch from such joints; limbs branch from any recent joint.
        let middles: Vec<usize> = (0..at).filter(|&j| partners[j] == j).collect();
        let parent = match at {
            0 => None,
            at if at.is_multiple_of(3) => Some(middles[random.below(middles.len())]),
            at => Some(random.below(at.min(8)) + at.saturating_sub(8)),
        };
        let place = random.vector::<3>(0.8).map(f64::from);
        let middle = parent.is_none_or(|p| partners[p] == p);
        if middle && (at.is_multiple_of(3) || at + 1 == joints) {
            let off: f64 = place.iter().zip(n).map(|(a, b)| a * b).sum();
            let place = core::array::from_fn(|c| place[c] - off * n[c]);
            add(random, &mut model, &mut made, parent, place, false);
            partners.push(at);
        } else if at + 2 > joints {
            // No room for a pair: adds a joint on the plane, below the root.
            add(random, &mut model, &mut made, Some(0), [0.0; 3], false);
            partners.push(at);
        } else {
            let other = reference::transform_point(&reference::matrix(&plane), place);
            let negative = middle && frames == Frames::Negative;
            add(random, &mut model, &mut made, parent, place, false);
            add(random, &mut model, &mut made, parent.map(|p| partners[p]), other, negative);
            partners.extend([at + 1, at]);
            pairs.push((at as u16, at as u16 + 1));
        }
    }
    (Skeleton::new(all).expect("parents before children"), pairs)
}

/// Returns the same hierarchy with a random, asymmetric rest pose.
fn askew(random: &mut Random, like: &Skeleton) -> Skeleton {
    let joint = |j: usize| {
        let rest = Transform { scale: [random.range(0.5, 1.0), 0.3, -2.0], ..random.transform() };
        Joint::new("", like.parent(j as u16), rest)
    };
    Skeleton::new((0..like.joint_count()).map(joint)).expect("parents before children")
}

/// Returns a random pose with scales close to the rest pose: one factor for all axes or, with `uneven`, one
/// per axis.
fn posed(random: &mut Random, skeleton: &Skeleton, uneven: bool) -> Pose {
    let of = |rest: Transform| {
        let t = random.transform();
        let factor = random.range(0.7, 1.4);
        Transform {
            scale: core::array::from_fn(|c| rest.scale[c] * if uneven { t.scale[c] } else { factor }),
            ..t
        }
    };
    Pose::from_transforms(&skeleton.rest().transforms().map(of).collect::<Vec<_>>())
}

fn mirrored(sides: &Mirror, pose: &Pose) -> Pose {
    let mut out = Pose::identity(pose.joint_count());
    mirror(sides, pose, &mut out).expect("sizes agree");
    out
}

fn bits(pose: &Pose) -> Vec<u32> {
    let all = |t: Transform| t.rotation.into_iter().chain(t.translation).chain(t.scale);
    pose.transforms().flat_map(all).map(f32::to_bits).collect()
}

fn model(skeleton: &Skeleton, pose: &Pose) -> Vec<Matrix> {
    reference::local_to_model(skeleton, &reference::locals(pose))
}

/// Compares each model matrix with the definition in model space, and each position with the partner's
/// reflected position. Covers all planes, kinds of frames and sizes.
#[test]
fn a_mirrored_pose_is_the_reflection_in_model_space() {
    let planes = [X, [0.0, 2.0, 0.0], [0.0, 0.0, -1.0], [0.3, -0.8, 0.5]];
    for (&joints, frames) in SIZES
        .iter()
        .flat_map(|n| [Frames::Plain, Frames::Turned, Frames::Any, Frames::Negative].map(|f| (n, f)))
    {
        let mut random = Random(500 + joints as u64);
        let normal = planes[joints % 4];
        let (skeleton, pairs) = symmetric(&mut random, joints, normal, frames);
        let sides = Mirror::new(&skeleton, &pairs, normal).expect("valid pairs");
        // Non-uniform scale causes shear if the axes are parallel to those of model space but not to the
        // plane. Otherwise it rotates with the joint.
        let uneven = matches!(frames, Frames::Plain | Frames::Turned) && joints % 4 != 3;
        let pose = posed(&mut random, &skeleton, uneven);
        let (rest, before) = (model(&skeleton, skeleton.rest()), model(&skeleton, &pose));
        let wide = normal.map(f64::from);
        let want = reference::mirror(sides.partners(), wide, &rest, &before);
        let plane = reference::reflection(wide);
        for dispatch in Dispatch::all() {
            let after = model(&skeleton, &dispatch.scope(|| mirrored(&sides, &pose)));
            for (joint, (got, want)) in after.iter().zip(&want).enumerate() {
                let case = format_args!("{dispatch}, joint {joint} of {joints}, across {normal:?}");
                let size = want.as_flattened().iter().fold(1.0_f64, |most, v| most.max(v.abs()));
                let narrow = got.map(|row| row.map(|v| v as f32));
                assert_close(narrow.as_flattened(), want.as_flattened(), 1e-5 * size, case);
                let partner = before[usize::from(sides.partners()[joint])].map(|row| row[3]);
                let reflected = reference::transform_point(&plane, partner);
                assert_close(&got.map(|row| row[3] as f32), &reflected, 1e-5 * size, case);
            }
        }
    }
}

/// Also covers a character that is not symmetric.
#[test]
fn mirrored_twice_is_the_pose_itself() {
    for frames in [Frames::Plain, Frames::Turned, Frames::Any, Frames::Negative] {
        let mut random = Random(510);
        let joints = tries(400);
        let (skeleton, pairs) = symmetric(&mut random, joints, X, frames);
        for odd in [false, true] {
            let skeleton = if odd { askew(&mut random, &skeleton) } else { skeleton.clone() };
            let sides = Mirror::new(&skeleton, &pairs, X).expect("valid pairs");
            let pose = posed(&mut random, &skeleton, true);
            for dispatch in Dispatch::all() {
                let got = dispatch.scope(|| mirrored(&sides, &mirrored(&sides, &pose)));
                if frames == Frames::Plain && !odd {
                    for (got, want) in got.transforms().zip(pose.transforms()) {
                        assert_eq!((got.rotation, got.scale), (want.rotation, want.scale), "{dispatch}");
                    }
                }
                for (joint, (got, want)) in got.transforms().zip(pose.transforms()).enumerate() {
                    let case = format_args!("{dispatch}, joint {joint}, symmetric: {}", !odd);
                    assert_close(&got.rotation, &want.rotation.map(f64::from), 5e-7, case);
                    let rest = skeleton.rest();
                    let length = |v: [f32; 3]| v.iter().map(|v| f64::from(v * v)).sum::<f64>().sqrt();
                    let partner = usize::from(sides.partners()[joint]);
                    let size = length(want.translation)
                        + length(rest.get(joint).translation)
                        + length(rest.get(partner).translation);
                    assert_close(&got.translation, &want.translation.map(f64::from), 5e-7 * size, case);
                    assert_close(&got.scale, &want.scale.map(f64::from), 2e-7 * 2.8, case);
                }
            }
        }
    }
}

/// Holds for symmetric and asymmetric skeletons.
#[test]
fn the_rest_pose_is_its_own_mirror_image() {
    for &joints in SIZES {
        let mut random = Random(520 + joints as u64);
        let (like, pairs) = symmetric(&mut random, joints, X, Frames::Negative);
        let odd = askew(&mut random, &like);
        for skeleton in [like, odd] {
            let sides = Mirror::new(&skeleton, &pairs, X).expect("valid pairs");
            for dispatch in Dispatch::all() {
                let got = dispatch.scope(|| mirrored(&sides, skeleton.rest()));
                for (joint, (got, want)) in got.transforms().zip(skeleton.rest().transforms()).enumerate() {
                    let case = format_args!("{dispatch}, joint {joint} of {joints}");
                    assert_close(&got.rotation, &want.rotation.map(f64::from), 3e-7, case);
                    assert_close(&got.translation, &want.translation.map(f64::from), 1e-6, case);
                    assert_close(&got.scale, &want.scale.map(f64::from), 4e-7, case);
                }
            }
        }
    }
}

/// Rest scales of 0 have no ratio, so the partner's scales are used unchanged.
#[test]
fn what_the_rest_pose_hides_may_be_shown_and_mirrored() {
    let joint = |parent, scale| Joint::new("", parent, Transform { scale, ..Transform::IDENTITY });
    let joints = [joint(None, [1.0; 3]), joint(Some(0), [0.0; 3]), joint(Some(0), [0.0, 2.0, 1.0])];
    let skeleton = Skeleton::new(joints).expect("parents before children");
    let sides = Mirror::new(&skeleton, &[(1, 2)], X).expect("valid pairs");
    let mut pose = Pose::rest(&skeleton);
    pose.set(1, &Transform { scale: [1.0, 2.0, 3.0], ..Transform::IDENTITY });
    for dispatch in Dispatch::all() {
        let got = dispatch.scope(|| mirrored(&sides, &pose));
        assert_eq!(
            [1, 2].map(|joint| got.get(joint).scale),
            [[0.0, 2.0, 1.0], [1.0, 2.0, 3.0]],
            "{dispatch}"
        );
    }
}

#[test]
fn in_place_gives_the_same_bits() {
    for &joints in SIZES {
        let mut random = Random(530 + joints as u64);
        let (skeleton, pairs) = symmetric(&mut random, joints, X, Frames::Any);
        let sides = Mirror::new(&skeleton, &pairs, X).expect("valid pairs");
        let pose = posed(&mut random, &skeleton, true);
        for dispatch in Dispatch::all() {
            dispatch.scope(|| {
                let mut got = pose.clone();
                mirror(&sides, None, &mut got).expect("sizes agree");
                assert_eq!(bits(&got), bits(&mirrored(&sides, &pose)), "{dispatch}, {joints} joints");
            });
        }
    }
}

/// Sampling and mirroring commute for all kinds of tracks.
#[test]
fn a_mirrored_clip_gives_mirrored_poses() {
    for (seed, frames) in [(1, Frames::Plain), (2, Frames::Any), (3, Frames::Negative), (4, Frames::Any)] {
        let mut random = Random(540 + seed);
        let joints = 40;
        let (mut skeleton, pairs) = symmetric(&mut random, joints, X, frames);
        if seed == 4 {
            skeleton = askew(&mut random, &skeleton);
        }
        let sides = Mirror::new(&skeleton, &pairs, X).expect("valid pairs");
        let clip = random.clip(joints, 12);
        let other = crate::mirroring::clip(&sides, &clip).expect("finite");
        assert_eq!((other.name(), other.timelines()), (clip.name(), clip.timelines()));
        let weights = |clip: &RawClip| {
            clip.tracks()
                .iter()
                .filter(|t| matches!(t.target, Target::Weights(_)))
                .cloned()
                .collect::<Vec<_>>()
        };
        assert_eq!(weights(&other), weights(&clip));
        assert!(clip.tracks().iter().any(|t| t.interpolation == Interpolation::CubicSpline));
        let mut cursor = RawCursor::default();
        let mut sampled = |clip: &RawClip, seconds| {
            let mut pose = Pose::identity(joints);
            sampling::raw(clip, &skeleton, seconds, &mut cursor, &mut pose).expect("sizes agree");
            pose
        };
        for frame in 0..tries(60) {
            let seconds = clip.start() - 0.1 + frame as f64 * (clip.duration() + 0.2) / 60.0;
            let want = mirrored(&sides, &sampled(&clip, seconds));
            let got = sampled(&other, seconds);
            for (joint, (got, want)) in got.transforms().zip(want.transforms()).enumerate() {
                let case = format_args!("clip {seed}, joint {joint}, {seconds} s");
                // A spline can pass close to 0, where its direction is imprecise.
                assert_close(&got.rotation, &want.rotation.map(f64::from), 2e-5, case);
                assert_close(&got.translation, &want.translation.map(f64::from), 2e-6, case);
                assert_close(&got.scale, &want.scale.map(f64::from), 2e-6, case);
            }
        }
        let back = crate::mirroring::clip(&sides, &other).expect("finite");
        for (got, want) in back.tracks().iter().zip(clip.tracks()) {
            assert_eq!(
                (got.target, got.interpolation, got.timeline),
                (want.target, want.interpolation, want.timeline)
            );
            let want: Vec<f64> = want.values.iter().map(|&v| v.into()).collect();
            assert_close(&got.values, &want, 1e-6, format_args!("clip {seed}, {:?}", got.target));
        }
    }
}

/// A sword in the right hand, with a tassel and a pair of rings.
#[test]
fn what_hangs_on_one_side_keeps_its_own_transform() {
    let mut random = Random(550);
    let names = ["hips", "hand.L", "hand.R", "sword", "tassel", "ring.L", "ring.R"];
    let parents = [None, Some(0), Some(0), Some(2), Some(3), Some(3), Some(3)];
    let joint =
        |(name, parent): (&&str, Option<u16>)| Joint::new(String::from(*name), parent, random.transform());
    let joints: Vec<Joint> = names.iter().zip(parents).map(joint).collect();
    let skeleton = Skeleton::new(joints).expect("parents before children");
    let pairs = pairs(&skeleton);
    assert_eq!(pairs, [(1, 2), (5, 6)]);
    let sides = Mirror::new(&skeleton, &pairs, X).expect("valid pairs");
    let pose = posed(&mut random, &skeleton, false);
    let got = mirrored(&sides, &pose);
    for joint in [3, 4] {
        assert_eq!(got.get(joint), pose.get(joint), "joint {joint}");
    }
    let back = mirrored(&sides, &got);
    for joint in 0..7 {
        let want = pose.get(joint);
        assert_close(&back.get(joint).rotation, &want.rotation.map(f64::from), 5e-7, joint);
        assert_close(&back.get(joint).translation, &want.translation.map(f64::from), 1e-6, joint);
    }
    assert_ne!(got.get(5), pose.get(5));
}

/// Mirroring keeps the sign of a rotation, so a continuous rotation stays continuous.
#[test]
fn what_moves_without_a_jump_is_mirrored_without_one() {
    let mut random = Random(560);
    let joints = tries(60);
    let (skeleton, pairs) = symmetric(&mut random, joints, X, Frames::Any);
    let sides = Mirror::new(&skeleton, &pairs, X).expect("valid pairs");
    let pose = posed(&mut random, &skeleton, false);
    let opposite = |t: Transform| Transform { rotation: t.rotation.map(|v| -v), ..t };
    let turned = Pose::from_transforms(&pose.transforms().map(opposite).collect::<Vec<_>>());
    let (got, want) = (mirrored(&sides, &turned), mirrored(&sides, &pose));
    for (got, want) in got.transforms().zip(want.transforms()) {
        assert_eq!(got.rotation, opposite(want).rotation);
    }
}

#[test]
fn wrong_pairs_sizes_and_planes_are_refused() {
    let joint = |parent| Joint::new("", parent, Transform::IDENTITY);
    let skeleton = Skeleton::new([None, Some(0), Some(0), Some(1), Some(2)].map(joint))
        .expect("parents before children");
    let refused = |pairs: &[(u16, u16)], normal| Mirror::new(&skeleton, pairs, normal).expect_err("refused");
    let index = |at, found| Error::Index { what: "pairs", at, found, count: 5 };
    assert_eq!(refused(&[(1, 2), (3, 5)], X), index(1, 5));
    assert_eq!(refused(&[(NO_PARENT, 0)], X), index(0, 65_535));
    assert_eq!(refused(&[(1, 2), (2, 3)], X), Error::PairedTwice { pair: 1, joint: 2 });
    assert_eq!(refused(&[(1, 2), (2, 1)], X), Error::PairedTwice { pair: 1, joint: 2 });
    assert_eq!(refused(&[(1, 1), (1, 2)], X), Error::PairedTwice { pair: 1, joint: 1 });
    assert_eq!(refused(&[(3, 4)], X), Error::PairParents { pair: 0 });
    assert_eq!(refused(&[(0, 1)], X), Error::PairParents { pair: 0 });
    for normal in [[0.0; 3], [f32::NAN, 1.0, 0.0], [f32::INFINITY, 0.0, 0.0]] {
        assert_eq!(refused(&[], normal), Error::NoDirection { what: "normal" });
    }
    let sides = Mirror::new(&skeleton, &[(1, 2), (4, 3), (0, 0)], [1e-20, 0.0, 0.0]).expect("valid pairs");
    assert_eq!((sides.partners(), sides.joint_count()), (&[0, 2, 1, 4, 3][..], 5));
    let (rest, short) = (Pose::rest(&skeleton), Pose::identity(4));
    let length = |what| Err(Error::Length { what, found: 4, needed: 5 });
    assert_eq!(mirror(&sides, &short, &mut rest.clone()), length("pose"));
    assert_eq!(mirror(&sides, &rest, &mut short.clone()), length("out"));
    assert_eq!(mirror(&sides, None, &mut short.clone()), length("out"));
    let track = Track {
        target: Target::Scale(5),
        interpolation: Interpolation::Step,
        timeline: 0,
        values: vec![1.0; 3],
    };
    let clip = RawClip::new("far".into(), vec![vec![0.0]], vec![track]).expect("valid");
    assert_eq!(
        crate::mirroring::clip(&sides, &clip),
        Err(Error::Index { what: "tracks", at: 0, found: 5, count: 5 })
    );
}

#[test]
fn the_portable_mode_gives_the_same_bits_on_every_instruction_set_and_platform() {
    assert_portable(0xc60a_57cc_e100_ca1a, |hash| {
        for frames in [Frames::Any, Frames::Negative] {
            let mut random = Random(570);
            let joints = tries(67);
            let (skeleton, pairs) = symmetric(&mut random, joints, [0.6, 0.0, 0.8], frames);
            let sides = Mirror::new(&skeleton, &pairs, [0.6, 0.0, 0.8]).expect("valid pairs");
            for t in mirrored(&sides, &posed(&mut random, &skeleton, true)).transforms() {
                hash.add(t.rotation.iter().chain(&t.translation).chain(&t.scale));
            }
            for track in clip(&sides, &random.clip(joints, 9)).expect("finite").tracks() {
                hash.add(&track.values);
            }
        }
    });
}
