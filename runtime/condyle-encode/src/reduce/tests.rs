use std::vec::Vec;

use super::authored::bytes;
use super::channel::own_times;
use super::*;
use crate::measure::algebra::{length, sub, turned};
use crate::{JointError, Shell, encode};
use condyle::skeleton::Joint;
use condyle::{Interpolation, Target, Track, Transform};
use condyle_base::math::Transform64;
use condyle_base::math::quats::Quat64;
use condyle_base::math::vectors::normalize;
use condyle_testing::Random;

#[test]
fn random_clips_hold_their_budget() {
    let mut random = Random(19);
    for round in 0..6 {
        let skeleton = random.skeleton(12);
        let clip = random.smooth_clip(&skeleton, 60);
        for budget in [1e-2, 1e-3, 1e-4] {
            for format in [KeyFormat::Floats, KeyFormat::Shorts, KeyFormat::Filtered] {
                let found = reduce(&clip, &skeleton, &EncodeOptions::new(budget, Shell::Balls(0.03)), format)
                    .expect("a clip");
                let case = std::format!("{round} {budget} {format:?}: {:?}", found.measured);
                assert!(found.measured.error_max <= budget, "{case}");
                // `byte_count` counts floats. With filters, more but coarser keys may take fewer bytes.
                if format != KeyFormat::Filtered {
                    assert!(found.clip.byte_count() <= clip.byte_count(), "{case}");
                }
                assert_eq!((found.clip.start(), found.clip.end()), (clip.start(), clip.end()), "{case}");
            }
        }
    }
}

#[test]
fn a_compressed_clip_comes_back() {
    let mut random = Random(5);
    let skeleton = random.skeleton(12);
    let clip = random.smooth_clip(&skeleton, 60);
    let packed = encode(&clip, &skeleton, &EncodeOptions::new(1e-3, Shell::Balls(0.03)), &mut |_| ())
        .expect("a clip")
        .into_clip();
    let options = EncodeOptions::new(1e-3 / 64.0, Shell::Balls(0.03));
    let found = reduce(AnyClip::compressed("back", packed.clone()), &skeleton, &options, KeyFormat::Floats)
        .expect("a clip");
    assert_eq!((found.clip.name(), found.clip.end()), ("back", packed.end()));
    assert!(found.measured.error_max <= options.budget, "{:?}", found.measured);
}

#[test]
fn a_long_clip_is_done_in_parts() {
    let mut random = Random(8);
    let skeleton = random.skeleton(3);
    let clip = random.smooth_clip(&skeleton, 400);
    let options = EncodeOptions::new(1e-3, Shell::Balls(0.03));
    let clip = AnyClip::from(&clip);
    let mut source = Source::new(&clip, &skeleton, &options).expect("a clip of this skeleton");
    let whole = reduce(&clip, &skeleton, &options, KeyFormat::Filtered).expect("a clip");
    source.most_moments = 4 * 70;
    let windows = source.windows().expect("keys are on frames");
    let parts: Vec<ReducedRange> = windows
        .into_iter()
        .map(|frames| {
            let mut job =
                Job::new(&skeleton, &options, &source, source.window(frames)?, true, KeyFormat::Filtered)?;
            Ok(ReducedRange { reduced: job.best()?, ends: job.bounds() })
        })
        .collect::<Result<_, Error>>()
        .expect("parts");
    assert!(parts.len() > 3);
    let joined = join(parts, &source, &skeleton).expect("one clip");
    let window = source.window(0..source.frames).expect("a window of all frames");
    let job = Job::new(&skeleton, &options, &source, window, false, KeyFormat::Floats)
        .expect("a clip of this skeleton");
    for it in [&whole, &joined] {
        let measured = job.measure(&it.clip);
        assert!(measured.error_max <= 1e-3, "{measured:?}");
        assert_eq!(measured.error_max, it.measured.error_max);
    }
}

/// Rotation about z.
fn turn(angle: f32) -> [f32; 4] {
    [0.0, 0.0, (angle / 2.0).sin(), (angle / 2.0).cos()]
}

fn linear(target: Target, values: Vec<f32>) -> Track {
    Track { target, interpolation: Interpolation::Linear, timeline: 0, values }
}

#[test]
fn what_is_still_between_jumps_has_keys_at_the_jumps() {
    let mut random = Random(4);
    let skeleton = random.skeleton(3);
    let times: Vec<f32> = (0..600).map(|frame| frame as f32 / 30.0).collect();
    // The rotation jumps every two seconds, from one frame to the next.
    let values = (0..600).flat_map(|frame| turn((frame / 60) as f32 * 0.3)).collect();
    let clip =
        RawClip::new("jumps".into(), vec![times], vec![linear(Target::Rotation(1), values)]).expect("a clip");
    let found = reduce(&clip, &skeleton, &EncodeOptions::new(1e-4, Shell::Balls(0.03)), KeyFormat::Shorts)
        .expect("a clip");
    assert!(found.measured.error_max <= 1e-4, "{:?}", found.measured);
    let [track] = found.clip.tracks() else { panic!("{:?}", found.clip) };
    assert_eq!(found.clip.timelines()[track.timeline].len(), 20);
}

#[test]
fn steps_that_go_nowhere_are_constant() {
    let skeleton = Random(4).skeleton(3);
    let step = |target, values| Track { interpolation: Interpolation::Step, ..linear(target, values) };
    let times: Vec<f32> = (0..6).map(|frame| frame as f32 / 2.0).collect();
    let rest = skeleton.rest().get(2).translation;
    let tracks = vec![
        step(Target::Translation(0), [1.0, 2.0, 3.0].repeat(6)),
        step(Target::Translation(2), rest.repeat(6)),
        step(Target::Scale(1), [[1.0; 9], [2.0; 9]].concat()),
    ];
    let clip = RawClip::new("steps".into(), vec![times], tracks).expect("a clip");
    let found = reduce(&clip, &skeleton, &EncodeOptions::new(1e-4, Shell::Balls(0.03)), KeyFormat::Shorts)
        .expect("a clip")
        .clip;
    let keys: Vec<(Target, usize)> =
        found.tracks().iter().map(|track| (track.target, found.timelines()[track.timeline].len())).collect();
    // The constant track keeps the duration.
    assert_eq!(keys, [(Target::Translation(0), 2), (Target::Scale(1), 2)]);
    let whole = reduce(&clip, &skeleton, &EncodeOptions::new(1e-4, Shell::Balls(0.03)), KeyFormat::Shorts)
        .expect("a clip");
    assert_eq!(whole.measured.error_max, 0.0);
}

#[test]
fn one_joint_that_nothing_serves_for_costs_its_own_keys() {
    // A parent scales a joint by a million, so f32 itself is too coarse for its descendants.
    let joint =
        |parent, x| Joint::new("", parent, Transform { translation: [x, 0.0, 0.0], ..Transform::IDENTITY });
    let skeleton =
        Skeleton::new([joint(None, 0.0), joint(Some(0), 1.0), joint(Some(0), 1.0)]).expect("a skeleton");
    let times: Vec<f32> = (0..=90).map(|frame| frame as f32 / 30.0).collect();
    let turns = |by: f32| times.iter().flat_map(|t| turn(by * t)).collect::<Vec<f32>>();
    let sizes = times.iter().flat_map(|t| [1e6 * t.sin().abs(); 3]).collect();
    let tracks = vec![
        linear(Target::Rotation(1), turns(2.0)),
        linear(Target::Rotation(2), turns(1.0)),
        linear(Target::Scale(1), sizes),
    ];
    let clip = RawClip::new("large".into(), vec![times.clone()], tracks).expect("a clip");
    let found = reduce(&clip, &skeleton, &EncodeOptions::new(1e-5, Shell::Balls(0.03)), KeyFormat::Shorts)
        .expect("a clip");
    let keys = |target| {
        let track = found.clip.tracks().iter().find(|track| track.target == target).expect("a track");
        found.clip.timelines()[track.timeline].len()
    };
    assert_eq!(keys(Target::Rotation(1)), 91);
    assert!(keys(Target::Rotation(2)) < 40, "{}", keys(Target::Rotation(2)));
}

#[test]
fn keys_within_a_frame_are_refused_where_they_are_too_many() {
    let skeleton = Random(4).skeleton(900);
    let count = 40_000;
    let times: Vec<f32> = (0..count).map(|key| key as f32 * 1e-6).chain([100.0]).collect();
    let values = (0..=count).flat_map(|key| [key as f32, 0.0, 0.0]).collect();
    let clip = RawClip::new("dense".into(), vec![times], vec![linear(Target::Translation(0), values)])
        .expect("a clip");
    let options = EncodeOptions { rate: Some(1.0), ..EncodeOptions::new(1e-4, Shell::Balls(0.03)) };
    let refused = |e| matches!(e, Error::TooMany { what: "keys within a frame", .. });
    assert!(reduce(&clip, &skeleton, &options, KeyFormat::Floats).is_err_and(refused));
}

#[test]
fn weights_that_a_file_lost_are_off_by_all_they_are() {
    let skeleton = Random(4).skeleton(2);
    let weights = linear(Target::Weights(3), vec![0.25, 0.75]);
    let clip = RawClip::new("face".into(), vec![vec![0.0, 1.0]], vec![weights]).expect("a clip");
    let none = RawClip::new("face".into(), vec![], vec![]).expect("a clip");
    let measured =
        measure_keys(&clip, &none, &skeleton, &EncodeOptions::new(1e-3, Shell::Balls(0.03))).expect("a clip");
    assert_eq!(measured.track_error_max, 0.75);
}

#[test]
fn rotations_that_are_a_little_long_count_for_readers_that_take_them_so() {
    let skeleton = Skeleton::new([Joint::new("", None, Transform::IDENTITY)]).expect("a skeleton");
    let half_turn = |length: f32| {
        let track = linear(Target::Rotation(0), vec![0.0, 0.0, length, 0.0]);
        RawClip::new("half".into(), vec![vec![0.0]], vec![track]).expect("a clip")
    };
    let options = EncodeOptions::new(1e-3, Shell::Balls(10.0));
    let of = |length| {
        let measured = measure_keys(half_turn(1.0), &half_turn(length), &skeleton, &options);
        measured.expect("a clip").error_max
    };
    // A squared length of 1.0002 stretches a full rotation matrix by twice as much.
    assert!((of(1.0001) - 4e-3).abs() < 1e-5, "{}", of(1.0001));
    assert_eq!(of(1.0), 0.0);
    // An authored key like this stays unchanged.
    let found = reduce(half_turn(1.0001), &skeleton, &options, KeyFormat::Floats).expect("a clip");
    assert_eq!(
        (found.clip.tracks()[0].values.as_slice(), found.measured.error_max),
        (&[0.0, 0.0, 1.0, 0.0][..], 0.0)
    );
}

/// Keys of each joint at separate moments: the best keys for each joint alone take more bytes together than
/// the authored keys.
#[test]
fn a_larger_error_takes_no_more_bytes_than_the_authored_keys() {
    let mut random = Random(23);
    let joints = 12;
    for round in 0..4 {
        let skeleton = random.skeleton(joints);
        let (mut timelines, mut tracks) = (Vec::new(), Vec::new());
        for joint in 0..joints as u16 {
            let mut frame = 0;
            let mut times = std::vec![0.0];
            while times.len() < 9 {
                frame += 1 + random.below(25);
                times.push(frame as f32 / 60.0);
            }
            let values = (0..9).flat_map(|_| turn(random.range(-1.0, 1.0))).collect();
            timelines.push(times);
            tracks.push(Track { timeline: usize::from(joint), ..linear(Target::Rotation(joint), values) });
        }
        let clip = RawClip::new("apart".into(), timelines, tracks).expect("a clip");
        // If integers are too coarse, the authored keys are floats.
        for (budget, number) in [(1e-5, 4), (1e-3, 2), (4e-3, 2), (1e-2, 2)] {
            let found =
                reduce(&clip, &skeleton, &EncodeOptions::new(budget, Shell::Balls(0.03)), KeyFormat::Shorts)
                    .expect("a clip");
            let authored = joints * (own_times(9) + 4 * number * 9);
            let case = std::format!("{round} {budget}: {} of {authored}", bytes(&found.clip));
            assert!(bytes(&found.clip) <= authored, "{case}");
            assert!(found.measured.error_max <= budget, "{case} {:?}", found.measured);
        }
    }
}

/// Twice as many free tracks take twice as long. Before, 60,000 tracks took 54 s.
#[test]
fn many_free_tracks_take_time_in_proportion() {
    let skeleton = Random(4).skeleton(1);
    let tracks = |count: u32| {
        let track = |at: u32| linear(Target::Vector(at), vec![0.0, at as f32]);
        let tracks = (0..count).map(track).collect();
        let clip = RawClip::new("many".into(), vec![vec![0.0, 0.1]], tracks).expect("a clip");
        let options = EncodeOptions::new(1e-3, Shell::Balls(0.03));
        let clip = encode(&clip, &skeleton, &options, &mut |_| ()).expect("a clip").into_clip();
        let one = |_| {
            let started = std::time::Instant::now();
            let source = AnyClip::compressed("many", clip.clone());
            let found = reduce(&source, &skeleton, &options, KeyFormat::Floats).expect("a clip");
            assert_eq!(found.clip.tracks().len(), count as usize);
            started.elapsed().as_secs_f64()
        };
        // Takes the minimum, because other processes may use the machine.
        (0..4).map(one).fold(f64::INFINITY, f64::min)
    };
    let [few, many] = [2000, 32_000].map(tracks);
    // 16x more tracks; quadratic time would be 256x.
    assert!(many < 120.0 * few, "{few} s, {many} s");
}

/// Maximum distance between points 3 cm from a joint in two clips, at the moments.
fn apart(
    packed: &condyle::Clip<'_>,
    keys: &RawClip,
    (skeleton, joint): (&Skeleton, usize),
    moments: &[f64],
) -> f64 {
    let mut pose = condyle::Pose::rest(skeleton);
    let tracks = crate::measure::raw_clip::joint_tracks(keys, skeleton.joint_count());
    let is = crate::measure::raw_clip::joint(keys, skeleton, joint, &tracks[joint], moments);
    let off = moments.iter().zip(is).map(|(&seconds, is)| {
        condyle::sample(packed, skeleton, seconds, &mut pose).expect("a pose");
        let want = Transform64::from(pose.get(joint));
        length(sub(is.translation, want.translation)).max(0.03 * turned(is.rotation, want.rotation))
    });
    off.fold(0.0, f64::max)
}

/// Keys at all moments where errors are checked leave no moment between them. Straight lines were off by up
/// to half of the encoder's budget there, while 1/16 was requested and 0 was reported.
#[test]
fn curves_that_no_keys_follow_have_keys_close_enough() {
    let skeleton = Skeleton::new([Joint::new("one", None, Transform::IDENTITY)]).expect("a joint");
    let wave = |key: usize, speeds: [f32; 3]| [0, 1, 2].map(|c| (speeds[c] * key as f32 + c as f32).sin());
    for (keys, tangent) in [(4, 0.3), (6, 0.7)] {
        let times: Vec<f32> = (0..keys).map(|key| key as f32 / 7.5).collect();
        let (mut turns, mut places) = (Vec::new(), Vec::new());
        for key in 0..keys {
            let mut q = wave(key, [1.3, 2.1, 0.7]).map(|v| 0.03 * f64::from(v)).to_vec();
            q.push(1.0);
            let mut q: Quat64 = q.try_into().expect("four numbers");
            normalize(&mut q);
            let slope = wave(key, [2.9, 1.7, 2.3]).map(|v| tangent * v);
            let slope = [slope[0], slope[1], slope[2], 0.0];
            turns.extend([slope, q.map(|v| v as f32), slope].concat());
            let slope = wave(key, [2.5, 1.2, 3.3]).map(|v| tangent * v);
            places.extend([slope, wave(key, [1.1, 2.7, 1.9]).map(|v| 0.03 * v), slope].concat());
        }
        let spline =
            |target, values| Track { interpolation: Interpolation::CubicSpline, ..linear(target, values) };
        let tracks = vec![spline(Target::Rotation(0), turns), spline(Target::Translation(0), places)];
        let clip = RawClip::new("slow".into(), vec![times], tracks).expect("a clip");
        let options = EncodeOptions::new(5e-4, Shell::Balls(0.03));
        let packed = encode(&clip, &skeleton, &options, &mut |_| ()).expect("a clip").into_clip();
        let budget = 5e-4 / 16.0;
        let options = EncodeOptions::new(budget, Shell::Balls(0.03));
        let source = AnyClip::compressed("back", packed.clone());
        let found = reduce(&source, &skeleton, &options, KeyFormat::Floats).expect("a clip");
        let moments: Vec<f64> = (0..=4000).map(|at| packed.end() * f64::from(at) / 4000.0).collect();
        let off = apart(&packed, &found.clip, (&skeleton, 0), &moments);
        assert!(off <= 1.2 * f64::from(budget), "{keys} {tangent}: {off}, measured {:?}", found.measured);
        let measured = measure_keys(&source, &found.clip, &skeleton, &options).expect("the same joints");
        assert!(measured.error_max <= budget, "{keys} {tangent}: {measured:?}");
    }
}

/// If only a part of a track is a fallback track, both sides of a jump in it are reproduced.
#[test]
fn jumps_of_a_part_of_a_clip_come_back() {
    let skeleton = Random(3).skeleton(3);
    let time = |frame: u32| ((f64::from(frame) / 30.0 * 1e4).round() / 1e4) as f32;
    let mut times: Vec<f32> = (0..120).map(time).collect();
    let jump = times[100];
    times.insert(100, jump.next_down());
    let lift = |&t: &f32| [0.0, (t * 2.0).sin() + if t >= jump { 0.2 } else { 0.0 }, 0.0];
    let values = times.iter().flat_map(lift).collect();
    let clip = RawClip::new("jump".into(), vec![times], vec![linear(Target::Translation(1), values)]);
    let clip = clip.expect("a clip");
    let options = EncodeOptions::new(1e-4, Shell::Balls(0.03));
    let packed = encode(&clip, &skeleton, &options, &mut |_| ()).expect("a clip").into_clip();
    let options = EncodeOptions::new(1e-4 / 16.0, Shell::Balls(0.03));
    let found = reduce(AnyClip::compressed("back", packed.clone()), &skeleton, &options, KeyFormat::Floats);
    let found = found.expect("a clip");
    let moments = [jump - 0.005, jump - 0.001, jump.next_down(), jump, jump + 0.001].map(f64::from);
    let off = apart(&packed, &found.clip, (&skeleton, 1), &moments);
    assert!(off <= 2e-5, "{off}");
}

/// The pose jumps between two segments. Keys on one side only turned the jump into a ramp, with errors of up
/// to two budgets.
#[test]
fn steps_between_segments_come_back() {
    let mut random = Random(8);
    let skeleton = random.skeleton(1);
    let clip = random.smooth_clip(&skeleton, 400);
    let (bound, shell) = (1e-3, Shell::Balls(0.03));
    let packed = encode(&clip, &skeleton, &EncodeOptions::new(bound, shell.clone()), &mut |_| ());
    let packed = packed.expect("a clip").into_clip();
    let options = EncodeOptions::new(bound / 16.0, shell);
    let source = AnyClip::compressed("back", packed.clone());
    let found = reduce(&source, &skeleton, &options, KeyFormat::Floats).expect("a clip");
    let seams: Vec<[f32; 2]> = packed.view().seams().collect();
    assert!(seams.len() > 2);
    let frame = (packed.end() - packed.start()) / packed.frame_count() as f64;
    for [last, first] in seams.into_iter().map(|seam| seam.map(f64::from)) {
        let moments = [last - 0.2 * frame, last - 0.03 * frame, last, first, first + 0.03 * frame];
        let moments = moments.map(|seconds| f64::from(seconds as f32));
        let off = apart(&packed, &found.clip, (&skeleton, 0), &moments);
        assert!(off <= f64::from(options.budget), "{off} at {last}");
    }
}

/// Joint 1 has a smaller budget than joint 0, and exceeds it between keys only.
#[test]
fn tight_joints_are_refined_beside_loose_ones() {
    let mut options = EncodeOptions::new(1.0, Shell::Balls(0.03));
    options.joint_budgets = vec![(1, 0.1)];
    let of = |errors: [f32; 2], frames: [f32; 2]| Measured {
        joints: errors.map(|error| JointError { error, ..JointError::default() }).to_vec(),
        frames: frames.to_vec(),
        ..Measured::default()
    };
    let at_moments = of([0.9, 0.05], [0.9, 0.05]);
    assert_eq!(frames_made_worse(&options, &at_moments, &at_moments), []);
    // Frame errors name no joint, so frame 0 is refined too because its error has grown.
    let between = of([0.95, 0.3], [0.95, 0.3]);
    assert_eq!(frames_made_worse(&options, &at_moments, &between), [0, 1]);
    let between = of([0.9, 0.3], [0.9, 0.3]);
    assert_eq!(frames_made_worse(&options, &at_moments, &between), [1]);
}
