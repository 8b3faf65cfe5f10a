use super::*;
use crate::play::Looping;
use condyle_base::error::Error;
use condyle_base::math::{Rigid, Transform};

/// All model matrices at a time, in f64. `seconds` is in the time of the keys.
fn model(clip: &RawClip, skeleton: &Skeleton, seconds: f64) -> Vec<reference::Matrix> {
    reference::local_to_model(skeleton, &reference::sample_raw(clip, skeleton, seconds))
}

fn matrix(m: &Rigid) -> reference::Matrix {
    let local = reference::Local { rotation: m.rotation, translation: m.translation, scale: [1.0; 3] };
    reference::local_matrix(&local)
}

/// A plausible random clip: keys about 0.1 s apart, rotations of about half a radian, some steps and splines.
fn lively(random: &mut Random, skeleton: &Skeleton, start: f32) -> RawClip {
    let timelines: Vec<Vec<f32>> = (0..3)
        .map(|kind| {
            let mut time = start;
            let count = [8, 1, 5][kind];
            let key = |_| {
                let now = time;
                time += random.range(0.05, 0.2);
                now
            };
            (0..count).map(key).collect()
        })
        .collect();
    let mut tracks = Vec::new();
    for joint in 0..skeleton.joint_count() as u16 {
        let rest = skeleton.rest().get(joint.into());
        for target in [Target::Rotation(joint), Target::Translation(joint), Target::Scale(joint)] {
            if random.below(4) == 0 {
                continue;
            }
            let kinds = [Interpolation::Linear, Interpolation::Step, Interpolation::CubicSpline];
            let (interpolation, timeline) = (kinds[random.below(3)], random.below(3));
            let mut values = Vec::new();
            for _ in &timelines[timeline] {
                let value = match target {
                    Target::Rotation(_) => {
                        let turn: [f32; 4] = random.vector(0.25);
                        let mut q: [f64; 4] =
                            core::array::from_fn(|c| f64::from(rest.rotation[c]) + f64::from(turn[c]));
                        condyle_base::math::vectors::normalize(&mut q);
                        q.map(|v| v as f32).to_vec()
                    }
                    Target::Translation(_) => random.vector::<3>(1.0).to_vec(),
                    _ => random.vector::<3>(0.3).iter().zip(rest.scale).map(|(a, b)| a + b).collect(),
                };
                if interpolation == Interpolation::CubicSpline {
                    let tangent: Vec<f32> = value.iter().map(|_| random.range(-2.0, 2.0)).collect();
                    values.extend([tangent.clone(), value, tangent].concat());
                } else {
                    values.extend(value);
                }
            }
            tracks.push(Track { target, interpolation, timeline, values });
        }
    }
    tracks.push(Track {
        target: Target::Weights(3),
        interpolation: Interpolation::Linear,
        timeline: 0,
        values: vec![0.5; 16],
    });
    RawClip::new("lively".into(), timelines, tracks).expect("a valid clip")
}

fn options(random: &mut Random, joints: usize) -> RootMotionOptions {
    let rotations = [MotionRotation::None, MotionRotation::Yaw, MotionRotation::Whole];
    RootMotionOptions {
        joint: random.below(joints) as u16,
        translation: core::array::from_fn(|_| random.below(3) > 0),
        rotation: rotations[random.below(3)],
        sample_rate: random.range(5.0, 60.0),
    }
}

/// Covers all joints at any time, moving and scaled ancestors, several roots, steps and splines.
#[test]
#[cfg_attr(miri, ignore = "slow")]
fn motion_and_what_remains_are_the_original() {
    for case in 0..tries(150) as u64 {
        let mut random = Random(case);
        let count = 1 + random.below(20);
        let skeleton = random.skeleton(count);
        let start = [0.0, -1.5, 3.0][random.below(3)];
        let clip = lively(&mut random, &skeleton, start);
        let options = options(&mut random, count);
        let (remains, motion) = extract(&clip, &skeleton, &options).expect("valid");
        assert_eq!((remains.start(), remains.end()), (clip.start(), clip.end()), "case {case}");
        assert_eq!((remains.name(), motion.duration()), ("lively", clip.duration()), "case {case}");
        assert_eq!(motion.samples()[0], Transform::IDENTITY, "case {case}");
        for moment in 0..40 {
            let seconds = match moment {
                0 => clip.start(),
                1 => clip.end(),
                _ => random.range(clip.start() as f32, clip.end() as f32).into(),
            };
            let moved = matrix(&motion.at(seconds - clip.start()));
            let want = model(&clip, &skeleton, seconds);
            let size = want.iter().flatten().flatten().fold(0.0, |size: f64, v| size.max(v.abs()));
            for (joint, own) in model(&remains, &skeleton, seconds).iter().enumerate() {
                let got = reference::multiply(&moved, own);
                for (got, want) in got.as_flattened().iter().zip(want[joint].as_flattened()) {
                    let error = (got - want).abs();
                    assert!(
                        error <= 1e-5 * size,
                        "case {case}, {options:?}, {seconds} s, joint {joint} of {count}: off by {error:e} of {size}"
                    );
                }
            }
        }
    }
}

/// The extracted motion is missing from the remaining clip: the joint keeps its position on the enabled axes,
/// and its yaw or rotation.
#[test]
#[cfg_attr(miri, ignore = "slow")]
fn what_was_taken_is_gone() {
    for case in 0..tries(60) as u64 {
        let mut random = Random(1000 + case);
        let count = 1 + random.below(12);
        let skeleton = random.skeleton(count);
        let clip = lively(&mut random, &skeleton, 0.0);
        let options = options(&mut random, count);
        let (remains, motion) = extract(&clip, &skeleton, &options).expect("valid");
        let joint = usize::from(options.joint);
        let first = model(&clip, &skeleton, 0.0)[joint];
        let spans = motion.samples().len() - 1;
        let side = |a: &[f32; 4], b: &[f32; 4]| (0..4).map(|c| a[c] * b[c]).sum::<f32>() >= 0.0;
        let sides = motion.samples().windows(2).all(|w| side(&w[0].rotation, &w[1].rotation));
        assert!(sides, "case {case}: a quaternion changes its sign");
        for (at, sample) in motion.samples().iter().enumerate() {
            let seconds = clip.duration() * at as f64 / spans as f64;
            let then = model(&remains, &skeleton, seconds)[joint];
            let name = format!("case {case}, {options:?}, sample {at}");
            for c in 0..3 {
                if !options.translation[c] {
                    assert_eq!(sample.translation[c], 0.0, "{name}, axis {c}");
                }
            }
            let ground = options.translation[0] && options.translation[2];
            if ground && (options.rotation != MotionRotation::Whole || options.translation[1]) {
                for c in (0..3).filter(|&c| options.translation[c]) {
                    assert!((then[c][3] - first[c][3]).abs() < 1e-5, "{name}, axis {c}: {then:?}, {first:?}");
                }
            }
            let [x, _, z, _] = sample.rotation;
            match options.rotation {
                MotionRotation::None => assert_eq!(sample.rotation, [0.0, 0.0, 0.0, 1.0], "{name}"),
                MotionRotation::Yaw => assert_eq!([x, z], [0.0; 2], "{name}"),
                // Compares only the first axis, because scaled ancestors shear the second.
                MotionRotation::Whole => {
                    let axis = |m: &reference::Matrix| {
                        let column = m.map(|row| row[0]);
                        let length = column.iter().map(|v| v * v).sum::<f64>().sqrt();
                        column.map(|v| v / length)
                    };
                    let (got, want) = (axis(&then), axis(&first));
                    assert!(
                        got.iter().zip(want).all(|(a, b)| (a - b).abs() < 1e-5),
                        "{name}: {got:?}, {want:?}"
                    );
                }
            }
        }
    }
}

/// Compares with a search over all yaws for the quaternion with the largest dot product.
#[test]
#[cfg_attr(miri, ignore = "slow")]
fn yaw_is_the_nearest_turn_about_the_upright_axis() {
    let root = Joint::new("", None, Transform::IDENTITY);
    let skeleton = Skeleton::new([root]).expect("one root");
    let mut random = Random(9);
    for case in 0..tries(200) {
        let end: [f32; 4] = random.unit();
        let track = Track {
            target: Target::Rotation(0),
            interpolation: Interpolation::Linear,
            timeline: 0,
            values: [&[0.0, 0.0, 0.0, 1.0], &end[..]].concat(),
        };
        let clip = RawClip::new(String::new(), vec![vec![0.0, 1.0]], vec![track]).expect("valid");
        let options = RootMotionOptions { sample_rate: 1.0, ..RootMotionOptions::default() };
        let (_, motion) = extract(&clip, &skeleton, &options).expect("valid");
        let got = motion.samples()[1].rotation.map(f64::from);
        let dot = |q: [f64; 4]| (0..4).map(|c| q[c] * f64::from(end[c])).sum::<f64>().abs();
        let best = (0..20_000).map(|k| {
            let (sin, cos) = (f64::from(k) * core::f64::consts::PI / 20_000.0).sin_cos();
            dot([0.0, sin, 0.0, cos])
        });
        let best = best.fold(0.0, f64::max);
        assert!(dot(got) >= best - 1e-7, "case {case}: {got:?} is {} from {end:?}, not {best}", dot(got));
    }
}

/// All yaws are equally near if the joint is upside down, so the last one is kept.
#[test]
fn a_joint_upside_down_keeps_its_yaw() {
    let root = Joint::new("", None, Transform::IDENTITY);
    let skeleton = Skeleton::new([root]).expect("one root");
    let (sin, cos) = 0.5_f32.sin_cos();
    let values = [[0.0, 0.0, 0.0, 1.0], [0.0, sin, 0.0, cos], [1.0, 0.0, 0.0, 0.0], [0.6, 0.0, -0.8, 1e-8]];
    let track = Track {
        target: Target::Rotation(0),
        interpolation: Interpolation::Linear,
        timeline: 0,
        values: values.concat(),
    };
    let clip = RawClip::new(String::new(), vec![vec![0.0, 1.0, 2.0, 3.0]], vec![track]).expect("valid");
    let options = RootMotionOptions { sample_rate: 1.0, ..RootMotionOptions::default() };
    let (_, motion) = extract(&clip, &skeleton, &options).expect("valid");
    let turns: Vec<_> = motion.samples().iter().map(|s| s.rotation).collect();
    assert_eq!((turns[0], turns[2], turns[3]), (values[0], turns[1], turns[1]));
    crate::testing::assert_close(&turns[1], &values[1].map(f64::from), 1e-6, "the last yaw");
}

/// Rounding excess over three intervals of 1/30 s does not add a sample.
#[test]
fn samples_end_with_the_clip() {
    let skeleton = Random(6).skeleton(1);
    for (duration, rate, want) in [
        (0.1, 30.0, 4),
        (0.100_1, 30.0, 5),
        (1.0 / 3.0, 3.0, 2),
        (0.5, 1.0, 2),
        (2.0, 0.1, 2),
        (2.3, 30.0, 70),
    ] {
        let track = Track {
            target: Target::Scale(0),
            interpolation: Interpolation::Linear,
            timeline: 0,
            values: vec![1.0; 6],
        };
        let clip = RawClip::new(String::new(), vec![vec![0.0, duration]], vec![track]).expect("valid");
        let options = RootMotionOptions { sample_rate: rate, ..RootMotionOptions::default() };
        let (_, motion) = extract(&clip, &skeleton, &options).expect("valid");
        assert_eq!(motion.samples().len(), want, "{duration} s, {rate} times a second");
    }
}

/// Played over several loops, the character follows the original path.
#[test]
#[cfg_attr(miri, ignore = "slow")]
fn a_character_walks_on_over_the_seam() {
    let joint =
        |parent, y| Joint::new("", parent, Transform { translation: [0.0, y, 0.0], ..Transform::IDENTITY });
    let skeleton = Skeleton::new([joint(None, 0.0), joint(Some(0), 1.0)]).expect("parents before children");
    // The hips move on a circle with a radius of two metres, a quarter turn per second, and bob. The root
    // does not move.
    let (mut times, mut turns, mut places) = (vec![], vec![], vec![]);
    for k in 0..=60 {
        let angle = core::f32::consts::FRAC_PI_2 * k as f32 / 60.0;
        times.push(2.0 + k as f32 / 60.0);
        turns.extend([0.0, (angle / 2.0).sin(), 0.0, (angle / 2.0).cos()]);
        places.extend([2.0 - 2.0 * angle.cos(), 1.0 + 0.1 * (4.0 * angle).sin(), 2.0 * angle.sin()]);
    }
    let track = |target, values| Track { target, interpolation: Interpolation::Linear, timeline: 0, values };
    let tracks = vec![track(Target::Rotation(1), turns), track(Target::Translation(1), places)];
    let clip = RawClip::new("circle".into(), vec![times], tracks).expect("valid");
    let options = RootMotionOptions { joint: 1, ..RootMotionOptions::default() };
    let (remains, motion) = extract(&clip, &skeleton, &options).expect("valid");
    assert_eq!(motion.samples().len(), 31);
    let (mut cursor, mut pose) = (RawCursor::default(), Pose::rest(&skeleton));
    let mut model = vec![condyle_base::math::Affine::IDENTITY; 2];
    let mut place = Rigid::IDENTITY;
    let mut clock = 0.0;
    for frame in 0..400 {
        let step = [0.013, 0.2, 1.7, -0.4][frame % 4];
        place = place * motion.over(Looping::Wrap, clock, clock + step).expect("finite");
        clock += step;
        let moment = Looping::Wrap.moment(clock, motion.duration()).expect("finite");
        sampling::raw(&remains, &skeleton, remains.start() + moment.seconds, &mut cursor, &mut pose)
            .expect("sizes agree");
        local_to_model(&skeleton, &pose, &mut model).expect("sizes agree");
        let got = place.transform_point(model[1].transform_point([0.0; 3]).map(f64::from));
        let angle = core::f64::consts::FRAC_PI_2 * clock;
        let bob = 0.1 * (4.0 * core::f64::consts::FRAC_PI_2 * moment.seconds).sin();
        let want = [2.0 - 2.0 * angle.cos(), 1.0 + bob, 2.0 * angle.sin()];
        // The keys are chords of the circle, 1/60 s long.
        for c in 0..3 {
            assert!((got[c] - want[c]).abs() < 1e-3, "frame {frame}, {clock} s: {got:?} instead of {want:?}");
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "slow")]
fn what_is_not_asked_for_stays() {
    let mut random = Random(5);
    let skeleton = random.skeleton(14);
    let clip = lively(&mut random, &skeleton, 0.5);
    let nothing =
        RootMotionOptions { translation: [false; 3], rotation: MotionRotation::None, ..Default::default() };
    let (remains, motion) = extract(&clip, &skeleton, &nothing).expect("valid");
    assert_eq!(remains, clip);
    assert!(motion.samples().iter().all(|s| *s == Transform::IDENTITY));
    let (remains, _) = extract(&clip, &skeleton, &RootMotionOptions::default()).expect("valid");
    let roots: Vec<u16> = (0..14).filter(|&j| skeleton.parent(j).is_none()).collect();
    assert_eq!(roots, [0, 13]);
    for track in clip.tracks() {
        let replaced =
            matches!(track.target, Target::Rotation(j) | Target::Translation(j) if roots.contains(&j));
        let same = remains.tracks().iter().any(|t| {
            t.target == track.target
                && t.values == track.values
                && remains.timelines()[t.timeline] == clip.timelines()[track.timeline]
        });
        assert_eq!(same, !replaced, "{:?}", track.target);
    }
    let used: Vec<usize> = remains.tracks().iter().map(|t| t.timeline).collect();
    assert!((0..remains.timelines().len()).all(|t| used.contains(&t)));
}

/// A clip with a single key has no duration and no motion.
#[test]
fn a_clip_of_one_moment_has_no_motion() {
    let skeleton = Random(6).skeleton(3);
    let values = vec![5.0, 6.0, 7.0];
    let track =
        Track { target: Target::Translation(0), interpolation: Interpolation::Linear, timeline: 0, values };
    let clip = RawClip::new(String::new(), vec![vec![0.25]], vec![track.clone()]).expect("valid");
    let (remains, motion) = extract(&clip, &skeleton, &Default::default()).expect("valid");
    assert_eq!((motion.samples(), motion.duration()), (&[Transform::IDENTITY][..], 0.0));
    assert_eq!(
        remains.tracks().iter().find(|t| t.target == track.target).map(|t| &t.values),
        Some(&track.values)
    );
    let empty = RawClip::new(String::new(), vec![], vec![]).expect("valid");
    assert!(extract(&empty, &skeleton, &Default::default()).is_ok());
}

/// If the motion has no rotation, the rotation tracks of a root are unchanged.
#[test]
fn a_motion_without_rotation_leaves_rotations_alone() {
    let mut random = Random(8);
    let skeleton = random.skeleton(1);
    let clip = loop {
        let clip = lively(&mut random, &skeleton, 0.0);
        if clip.tracks()[0].target == Target::Rotation(0) {
            break clip;
        }
    };
    let options = RootMotionOptions { rotation: MotionRotation::None, ..Default::default() };
    let (remains, _) = extract(&clip, &skeleton, &options).expect("valid");
    assert_eq!(remains.tracks()[0].values, clip.tracks()[0].values);
    assert_eq!(remains.tracks()[0].interpolation, clip.tracks()[0].interpolation);
}

#[test]
#[cfg_attr(miri, ignore = "slow")]
fn the_bits_are_the_same_everywhere() {
    crate::testing::assert_portable(0x358b_7f56_8aaa_1f52, |hash| {
        for seed in 0..tries(20) as u64 {
            let mut random = Random(seed);
            let skeleton = random.skeleton(6);
            let clip = lively(&mut random, &skeleton, 0.5);
            let options = options(&mut random, 6);
            let (remains, motion) = extract(&clip, &skeleton, &options).expect("valid");
            for sample in motion.samples() {
                hash.add(sample.rotation.iter().chain(&sample.translation));
            }
            remains.timelines().iter().for_each(|times| hash.add(times));
            remains.tracks().iter().for_each(|track| hash.add(&track.values));
            let over = motion.over(Looping::Wrap, -1.0, 1e3).expect("finite");
            let mean = blend(&[(over, 0.3), (motion.at(0.1), 0.4)]).expect("finite");
            let mean = Transform::from(mean);
            hash.add(mean.rotation.iter().chain(&mean.translation));
        }
    });
}

#[test]
fn wrong_options_are_refused() {
    let mut random = Random(7);
    let (skeleton, clip) = (random.skeleton(3), random.clip(3, 4));
    let extract = |clip: &RawClip, options| extract(clip, &skeleton, &options).err();
    let with_rate = |sample_rate| RootMotionOptions { sample_rate, ..Default::default() };
    let lost = RootMotionOptions { joint: 3, ..Default::default() };
    assert_eq!(extract(&clip, lost), Some(Error::Index { what: "joint", at: 0, found: 3, count: 3 }));
    for bad in [f32::NAN, f32::INFINITY] {
        let refused = Some(Error::NotFinite { what: "sample_rate", at: 0 });
        assert_eq!(extract(&clip, with_rate(bad)), refused, "{bad}");
    }
    for bad in [0.0, -30.0] {
        assert!(matches!(extract(&clip, with_rate(bad)), Some(Error::OutOfRange { .. })), "{bad}");
    }
    let limit = 1 << 20;
    assert!(matches!(extract(&clip, with_rate(1e30)), Some(Error::TooMany { limit: l, .. }) if l == limit));
    let other = random.clip(9, 4);
    assert!(matches!(
        extract(&other, Default::default()),
        Some(Error::Index { what: "tracks", count: 3, .. })
    ));
    let ends = |values| {
        let track = Track {
            target: Target::Translation(0),
            interpolation: Interpolation::Linear,
            timeline: 0,
            values,
        };
        RawClip::new(String::new(), vec![vec![0.0, 1.0]], vec![track]).expect("valid")
    };
    let far = ends(vec![-3e38, 0.0, 0.0, 3e38, 0.0, 0.0]);
    assert!(matches!(extract(&far, Default::default()), Some(Error::NotFinite { what: "samples", .. })));
}
