mod hard;
mod keys;
mod motion;
mod turns;

use std::string::ToString;
use std::{format, vec};

use super::*;
use crate::measure::{algebra, ball, raw_clip, shell};
use condyle::clip::keys::{Span, value_at};
use condyle::clip::{Clip, RawClip, Track};
use condyle::clip::{Interpolation, Target};
use condyle::motion::RootMotionOptions;
use condyle::play::Event;
use condyle::pose::Pose;
use condyle::sampling::{self, sample};
use condyle::skeleton::Joint;
use condyle::skeleton::Skeleton;
use condyle_base::error::Error;
use condyle_base::math::{Transform, quats};
use condyle_base::simd::Dispatch;
use condyle_testing::Random;
use condyle_testing::reference;

/// Positions of the points of a skeleton's joints in f64, computed without the encoder, per joint.
fn points(skeleton: &Skeleton, pose: &[reference::Local], shell: &[Vec<[f32; 3]>]) -> Vec<Vec<[f64; 3]>> {
    let model = reference::local_to_model(skeleton, pose);
    let of_joint = |(m, shell): (&reference::Matrix, &Vec<[f32; 3]>)| {
        shell.iter().map(|p| reference::transform_point(m, p.map(f64::from))).collect()
    };
    model.iter().zip(shell).map(of_joint).collect()
}

/// A point, or 25 points around a ball.
fn points_of(ball: &ball::Ball) -> Vec<[f32; 3]> {
    let Some(axes) = ball.axes else { return vec![ball.centre.map(|v| v as f32)] };
    let around = |at: i32| {
        let z = f64::from(at) / 12.0 - 1.0;
        let (r, turn) = ((1.0 - z * z).max(0.0).sqrt(), 2.4 * f64::from(at));
        let out = algebra::apply(&axes, [r * turn.cos(), r * turn.sin(), z]);
        algebra::add(ball.centre, out).map(|v| v as f32)
    };
    (0..25).map(around).collect()
}

/// Encodes, and measures the decoded bytes again.
fn check(raw: &RawClip, skeleton: &Skeleton, options: &EncodeOptions, case: &str) -> Encoded {
    let joints = skeleton.joint_count();
    let balls = shell::balls(skeleton, &options.shell).expect("a shell");
    let shell: Vec<Vec<[f32; 3]>> =
        balls.iter().map(|balls| balls.iter().flat_map(points_of).collect()).collect();
    let encoded = encode(raw, skeleton, options, &mut |_| ()).unwrap_or_else(|e| panic!("{case}: {e}"));
    let clip = Clip::from_bytes(encoded.bytes()).unwrap_or_else(|e| panic!("{case}: {e}"));
    assert_eq!((clip.start(), clip.end(), clip.joint_count()), (raw.start(), raw.end(), joints), "{case}");

    let budget = |joint: usize| {
        let own = options.joint_budgets.iter().rfind(|(j, _)| usize::from(*j) == joint);
        f64::from(own.map_or(options.budget, |own| own.1))
    };
    let mut pose = Pose::identity(joints);
    let (mut worst, mut extent) = (0.0_f64, 0.0_f64);
    let per_frame = if options.between { 4 } else { 1 };
    let count = clip.frame_count() * per_frame;
    let mut off = vec![0.0_f64; joints];
    let span = raw.end() - raw.start();
    let even = |moment| raw.start() + f64::from(moment as u32) / count.max(1) as f64 * span;
    let mut moments: Vec<f64> = (0..=count).map(|moment| f64::from(even(moment) as f32)).collect();
    if options.between {
        let joints = raw.tracks().iter().filter(|track| track.target.joint().is_some());
        let keys = joints.flat_map(|track| &raw.timelines()[track.timeline]);
        moments.extend(keys.map(|&time| f64::from(time)));
    }
    for seconds in moments {
        sample(&clip, skeleton, seconds, &mut pose).expect("sizes agree");
        let want = points(skeleton, &reference::sample_raw(raw, skeleton, seconds), &shell);
        let got = points(skeleton, &reference::locals(&pose), &shell);
        let motion = clip.motion_at(seconds);
        for (joint, (got, want)) in got.iter().zip(&want).enumerate() {
            for (got, want) in got.iter().zip(want) {
                let got = motion.transform_point(*got);
                extent = extent.max(want.iter().fold(0.0, |m: f64, v| m.max(v.abs())));
                let d: f64 = (0..3).map(|c| (got[c] - want[c]).powi(2)).sum();
                off[joint] = off[joint].max(d.sqrt());
            }
        }
        check_free_tracks(raw, &clip, options, seconds, case);
    }
    // Rest rotations have unit length except for the rounding of their components. No clip is more accurate
    // than floats.
    let rounding = 1e-6 * extent + if options.root_motion.is_some() { 4e-6 * extent } else { 0.0 };
    for (joint, off) in off.iter().enumerate() {
        let limit = budget(joint) + rounding;
        assert!(*off <= limit, "{case}: joint {joint} is off by {off:e}, of {limit:e}");
        worst = worst.max(*off);
    }
    let said = f64::from(encoded.measured.error_max);
    // The farthest points of a ball are not among the tested points.
    let has_balls = balls.iter().flatten().any(|ball| ball.axes.is_some());
    let least = if has_balls { 0.6 * said } else { said };
    let is_so = worst <= said * (1.0 + 1e-6) + rounding && worst >= least * (1.0 - 1e-6) - rounding;
    assert!(is_so, "{case}: {said:e} said, {worst:e} found");
    assert!(encoded.measured.track_error_max <= options.track_budget, "{case}");
    assert_eq!(encoded.measured.joints.len(), joints, "{case}");
    assert_eq!(encoded.measured.frames.len(), clip.frame_count() + 1, "{case}");
    assert!(encoded.measured.error_p99 <= encoded.measured.error_max, "{case}");
    encoded
}

/// Compares the tracks that drive no joint at a time.
fn check_free_tracks(raw: &RawClip, clip: &Clip<'_>, options: &EncodeOptions, seconds: f64, case: &str) {
    for track in raw.tracks() {
        if let Target::FreeRotation(_) = track.target {
            let mut got = [0.0; 4];
            assert_eq!(sampling::track(clip, track.target, seconds, &mut got), Ok(true), "{case}");
            let got = got.map(f64::from);
            let span = Span::find(&raw.timelines()[track.timeline], seconds, 0);
            let want = quats::near(got, value_at(track, span));
            for c in 0..4 {
                let off = (got[c] - want[c]).abs();
                let limit = f64::from(options.track_budget) + 1e-7;
                assert!(off <= limit, "{case}: {:?} {c} at {seconds}: {off:e}", track.target);
            }
        } else if track.target.joint().is_none() {
            let width = track.width(raw.timelines()[track.timeline].len());
            let mut values = vec![0.0; width];
            assert_eq!(sampling::track(clip, track.target, seconds, &mut values), Ok(true), "{case}");
            for (c, value) in values.iter().enumerate() {
                let off = (raw_clip::component(raw, track, c, seconds) - f64::from(*value)).abs();
                let limit = f64::from(options.track_budget) + 1e-12;
                assert!(off <= limit, "{case}: {:?} {c} at {seconds}: {off:e}", track.target);
            }
        }
    }
}

fn within(budget: f32) -> EncodeOptions {
    EncodeOptions::new(budget, Shell::Balls(0.03))
}

/// Keys of source splines that are between frames, and between the moments of the search, are within the
/// budget too.
#[test]
fn keys_of_the_source_between_frames_are_within_the_budget() {
    let mut random = Random(31);
    for round in 0..4 {
        let skeleton = chain(4, link);
        let times: Vec<f32> = (0..40).map(|key| 0.041 * key as f32 + random.range(0.0, 0.02)).collect();
        let tracks = (0..4).map(|joint| {
            let key = |_| {
                let mut tangent = || [0; 4].map(|_| random.range(-2.0, 2.0));
                let (before, after) = (tangent(), tangent());
                let value: [f32; 4] = quats::exp(random.vector(0.2).map(f64::from)).map(|v| v as f32);
                [before, value, after]
            };
            let values = times.iter().flat_map(key).flatten().collect();
            track(Target::Rotation(joint), Interpolation::CubicSpline, values)
        });
        let clip = RawClip::new("off".into(), vec![times.clone()], tracks.collect()).expect("a clip");
        let options = EncodeOptions { rate: Some(30.0), ..within(5e-4) };
        let encoded = check(&clip, &skeleton, &options, &format!("round {round}"));
        assert!(encoded.measured.error_max <= 5e-4, "{:?}", encoded.measured);
    }
}

/// Options with points 3 cm from the joints along their axes, instead of all points at that distance.
fn on_axes(joints: usize, budget: f32) -> EncodeOptions {
    let points = || JointShell::Points(vec![[0.03, 0.0, 0.0], [0.0, 0.03, 0.0], [0.0, 0.0, 0.03]]);
    EncodeOptions { shell: Shell::Joints((0..joints).map(|_| points()).collect()), ..within(budget) }
}

/// The budget holds for any movement and any budget.
#[test]
fn no_point_is_farther_from_its_place_than_the_budget() {
    let mut random = Random(21);
    for joints in [0, 1, 2, 5, 17, 40] {
        for (round, budget) in [1e-5, 1e-4, 1e-3, 1e-2, 1e-1].into_iter().enumerate() {
            let skeleton = random.skeleton(joints);
            let smooth = random.smooth_clip(&skeleton, 20 + 30 * round);
            let case = format!("smooth, {joints} joints, {budget}");
            let encoded = check(&smooth, &skeleton, &within(budget), &case);
            if budget >= 1e-2 && joints < 6 {
                // A spline of quaternions bends differently between its keys from any spline of logarithms.
                let kept = encoded.fallback.iter().filter(|target| **target != Target::FreeRotation(3));
                assert_eq!(kept.count(), 0, "{case}: {:?}", encoded.fallback);
                let (got, raw) = (encoded.bytes().len(), encoded.raw_bytes);
                assert!(joints < 2 || got * 3 < raw, "{case}: {got} of {raw} bytes");
            }
            // Steps, splines, keys off the frames, and rotations of any size from key to key.
            let wild = random.clip(joints, 5 + 3 * round);
            let options = EncodeOptions { between: round % 2 == 0, ..within(budget) };
            check(&wild, &skeleton, &options, &format!("wild, {joints} joints, {budget}"));
        }
    }
}

#[test]
fn joints_may_have_budgets_and_points_of_their_own() {
    let mut random = Random(22);
    let skeleton = random.skeleton(12);
    let clip = random.smooth_clip(&skeleton, 60);
    let mut points: Vec<Vec<[f32; 3]>> =
        (0..12).map(|j| (0..j % 4).map(|_| random.vector(0.2)).collect()).collect();
    points[5] = vec![[0.0; 3]];
    let points = points.into_iter().map(JointShell::Points).collect();
    for shell in [Shell::Balls(0.1), Shell::Joints(points)] {
        let joint_budgets = vec![(3, 1e-4), (7, 0.05), (3, 2e-4)];
        let options = EncodeOptions { shell, joint_budgets, ..within(2e-3) };
        check(&clip, &skeleton, &options, "budgets of joints");
    }
}

/// The longer search returns the smaller of two clips.
#[test]
fn the_longer_search_is_never_larger() {
    let mut random = Random(23);
    for (joints, frames) in [(2, 40), (4, 50), (6, 70), (9, 30), (12, 60)] {
        let skeleton = random.skeleton(joints);
        let clip = random.smooth_clip(&skeleton, frames);
        let [usual, best] = [false, true].map(|best| {
            let options = EncodeOptions { best, ..within(5e-4) };
            check(&clip, &skeleton, &options, &format!("best: {best}")).bytes().len()
        });
        assert!(best <= usual, "{joints} joints, {frames} frames: {best} of {usual}");
    }
}

fn track(target: Target, interpolation: Interpolation, values: Vec<f32>) -> Track {
    Track { target, interpolation, timeline: 0, values }
}

fn chain(joints: usize, rest: impl Fn(usize) -> Transform) -> Skeleton {
    let joint = |index: usize| {
        Joint::new(format!("joint {index}"), index.checked_sub(1).map(|parent| parent as u16), rest(index))
    };
    Skeleton::new((0..joints).map(joint)).expect("parents before children")
}

fn link(_: usize) -> Transform {
    Transform { translation: [0.0, 0.3, 0.0], ..Transform::IDENTITY }
}

#[test]
fn steps_come_back_to_the_bit_and_so_do_single_moments() {
    let skeleton = chain(3, link);
    let times = vec![0.0, 0.21, 0.5, 0.9];
    let rotations = [[0.0, 0.0, 0.0, 1.0], [1.0, 0.0, 0.0, 0.0], [0.0, 0.6, 0.8, 0.0], [0.5; 4]];
    let vectors: Vec<f32> = (0..12).map(|i| i as f32 / 7.0).collect();
    let tracks = vec![
        track(Target::Rotation(1), Interpolation::Step, rotations.as_flattened().to_vec()),
        track(Target::Translation(2), Interpolation::Step, vectors.clone()),
        track(Target::Scale(0), Interpolation::Step, vectors.clone()),
        track(Target::Vector(8), Interpolation::Step, vectors[..4].to_vec()),
    ];
    let clip = RawClip::new("steps".into(), vec![times.clone()], tracks).expect("a clip");
    let encoded = check(&clip, &skeleton, &within(1e-3), "steps");
    // The lengths of rotations are rounded.
    assert_eq!(encoded.fallback, []);
    assert!(encoded.measured.error_max < 1e-6, "{}", encoded.measured.error_max);
    assert_eq!(encoded.encodings, [(Encoding::Fallback, 4)]);
    let decoded = Clip::from_bytes(encoded.bytes()).expect("a clip");
    let mut pose = Pose::identity(3);
    let mut value = [0.0];
    for (key, &time) in times.iter().enumerate() {
        for seconds in [time, times.get(key + 1).map_or(9.0, |next| next.next_down())] {
            sample(&decoded, &skeleton, seconds.into(), &mut pose).expect("sizes agree");
            sampling::track(&decoded, Target::Vector(8), seconds.into(), &mut value).expect("sizes agree");
            assert_eq!(pose.get(1).rotation, rotations[key], "at {seconds}");
            assert_eq!(pose.get(2).translation[..], vectors[3 * key..][..3], "at {seconds}");
            assert_eq!((&pose.get(0).scale[..], value[0]), (&vectors[3 * key..][..3], vectors[key]));
        }
    }
    for keys in [vec![], vec![2.5]] {
        let tracks =
            keys.iter().map(|_| track(Target::Translation(1), Interpolation::Linear, vec![3.0, 2.0, 1.0]));
        let timelines = if keys.is_empty() { vec![] } else { vec![keys.clone()] };
        let clip = RawClip::new("moment".into(), timelines, tracks.collect()).expect("a clip");
        let encoded = check(&clip, &skeleton, &within(1e-4), "a single moment");
        assert_eq!(encoded.measured.frames.len(), 1);
    }
}

/// Different numbers of values, up to more than 255, and large values.
#[test]
fn values_keep_their_own_budget() {
    let mut random = Random(25);
    let times: Vec<f32> = (0..=40).map(|frame| frame as f32 / 30.0).collect();
    for (width, size) in [(1, 1.0), (2, 1.0), (3, 50.0), (4, 1.0), (5, 1e-3), (6, 1.0), (7, 1.0), (900, 1.0)]
    {
        let waves: Vec<[f32; 3]> = (0..width).map(|_| random.vector(6.0)).collect();
        let value = |t: f32| waves.iter().map(move |w| size * (w[0] * t + w[1]).sin()).collect::<Vec<_>>();
        let values: Vec<f32> = times.iter().flat_map(|&t| value(t)).collect();
        let targets = [Target::Weights(3), Target::Vector(3)];
        let tracks = targets.map(|target| track(target, Interpolation::Linear, values.clone())).to_vec();
        let clip = RawClip::new("values".into(), vec![times.clone()], tracks).expect("a clip");
        for track_budget in [1e-4, 1e-2] {
            let options = EncodeOptions { track_budget, ..within(1e-3) };
            check(&clip, &chain(2, link), &options, &format!("{width} values up to {size}, {track_budget}"));
        }
    }
}

/// Constants are rounded to steps too, and no step is large enough for some of them.
#[test]
fn values_of_any_size_come_back() {
    let times: Vec<f32> = (0..=40).map(|frame| frame as f32 / 30.0).collect();
    for size in [0.0, 1e-9, 1e-3, 1.0, 1e3, 1e9, 1e20, 1e30] {
        let values = [size, -size / 3.0].repeat(times.len());
        let tracks = vec![track(Target::Vector(1), Interpolation::Linear, values)];
        let clip = RawClip::new("constant".into(), vec![times.clone()], tracks).expect("a clip");
        let encoded = check(&clip, &chain(1, link), &within(1e-3), &format!("constants of {size}"));
        let kept: &[Target] = if size > 1e4 { &[Target::Vector(1)] } else { &[] };
        assert_eq!(encoded.fallback, kept, "{size}");
    }
}

#[test]
fn the_bytes_are_the_same_on_every_instruction_set_and_platform() {
    let mut random = Random(26);
    let skeleton = random.skeleton(9);
    let clip = random.smooth_clip(&skeleton, 70);
    let options = EncodeOptions { root_motion: Some(RootMotionOptions::default()), ..within(1e-3) };
    let run = || encode(&clip, &skeleton, &options, &mut |_| ()).expect("a clip");
    let first = run();
    assert_eq!(
        condyle_base::bytes::checksum(first.bytes()),
        8_996_772_089_718_672_153,
        "{} bytes",
        first.bytes().len()
    );
    for dispatch in Dispatch::all() {
        assert_eq!(dispatch.scope(run), first, "{dispatch}");
    }
}

#[test]
fn options_that_mean_nothing_are_refused() {
    let skeleton = chain(2, link);
    let clip = Random(27).smooth_clip(&skeleton, 4);
    let run = |options: &EncodeOptions| encode(&clip, &skeleton, options, &mut |_| ()).map(|_| ());
    let base = within(1e-3);
    assert_eq!(run(&base), Ok(()));
    for bad in [0.0, -1.0, f32::NAN, f32::INFINITY] {
        let refused = |what| Err(Error::OutOfRange { what, at: 0, needed: "finite and greater than 0" });
        assert_eq!(run(&within(bad)), refused("budget"), "{bad}");
        assert_eq!(run(&EncodeOptions { rate: Some(bad), ..base.clone() }), refused("rate"), "{bad}");
        assert_eq!(
            run(&EncodeOptions { shell: Shell::Balls(bad), ..base.clone() }),
            refused("shell"),
            "{bad}"
        );
        assert_eq!(
            run(&EncodeOptions { track_budget: bad, ..base.clone() }),
            refused("track_budget"),
            "{bad}"
        );
        assert_eq!(
            run(&EncodeOptions { joint_budgets: vec![(0, bad)], ..base.clone() }),
            refused("joint budgets"),
            "{bad}"
        );
    }
    let options = EncodeOptions { joint_budgets: vec![(0, 1.0), (2, 1.0)], ..base.clone() };
    assert_eq!(run(&options), Err(Error::Index { what: "joint budgets", at: 1, found: 2, count: 2 }));
    let of = |joints: Vec<JointShell>| EncodeOptions { shell: Shell::Joints(joints), ..base.clone() };
    let none = || JointShell::Points(vec![]);
    assert!(matches!(run(&of(vec![none()])), Err(Error::Length { found: 1, needed: 2, .. })));
    let options = of(vec![none(), JointShell::Points(vec![[f32::NAN; 3]])]);
    assert!(matches!(run(&options), Err(Error::NotFinite { at: 1, .. })));
    let options = of(vec![none(), JointShell::Ball(0.0)]);
    assert!(matches!(run(&options), Err(Error::OutOfRange { what: "shell", at: 1, .. })));
    let options = EncodeOptions { rate: Some(1e9), ..base.clone() };
    assert!(matches!(run(&options), Err(Error::TooMany { what: "frames", .. })));
    let small = encode(&clip, &chain(1, link), &base, &mut |_| ());
    assert!(matches!(small, Err(Error::Index { what: "tracks", found: 1, count: 1, .. })));
    let mut of_joint = RootMotionOptions::default();
    of_joint.joint = 2;
    let root_motion = Some(of_joint);
    let options = EncodeOptions { root_motion, ..base.clone() };
    assert!(matches!(run(&options), Err(Error::Index { what: "joint", found: 2, count: 2, .. })));
    for seconds in [-0.1, 1.0, f32::NAN] {
        let events = vec![Event { seconds: seconds.into(), name: "late".into() }];
        let options = EncodeOptions { events, ..base.clone() };
        assert!(run(&options).is_err(), "an event at {seconds}");
    }
}

#[test]
fn progress_rises_to_one() {
    let mut random = Random(28);
    let skeleton = random.skeleton(6);
    for (best, frames) in [(false, 200), (false, 10), (true, 60), (true, 200)] {
        let clip = random.clip(6, frames);
        let mut told = vec![0.0];
        let options = EncodeOptions { best, ..within(1e-3) };
        encode(&clip, &skeleton, &options, &mut |done| told.push(done)).expect("a clip");
        assert!(told.windows(2).all(|pair| pair[0] < pair[1]), "best {best}: {told:?}");
        assert_eq!(told.last(), Some(&1.0), "best {best}");
    }
}
