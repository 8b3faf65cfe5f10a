mod keys;
mod turns;

use std::string::ToString;
use std::{format, vec};

use super::*;
use crate::clip::keys::{Span, value_at};
use crate::clip::{Interpolation, Target};
use crate::math::{Transform, quats};
use crate::motion::RootMotionOptions;
use crate::play::Event;
use crate::pose::Pose;
use crate::reference;
use crate::sample::{self, sample};
use crate::simd::Dispatch;
use crate::skeleton::Joint;
use crate::testing::Random;

/// Where the points of a skeleton's joints are, in f64 and without the encoder: per joint.
fn points(skeleton: &Skeleton, pose: &[reference::Local], shell: &[Vec<[f32; 3]>]) -> Vec<Vec<[f64; 3]>> {
    let model = reference::local_to_model(skeleton, pose);
    let of_joint = |(m, shell): (&reference::Matrix, &Vec<[f32; 3]>)| {
        shell.iter().map(|p| reference::transform_point(m, p.map(f64::from))).collect()
    };
    model.iter().zip(shell).map(of_joint).collect()
}

/// A point, or 25 all around a ball.
fn points_of(body: &body::Body) -> Vec<[f32; 3]> {
    let Some(axes) = body.axes else { return vec![body.centre.map(|v| v as f32)] };
    let around = |at: i32| {
        let z = f64::from(at) / 12.0 - 1.0;
        let (r, turn) = ((1.0 - z * z).max(0.0).sqrt(), 2.4 * f64::from(at));
        let out = algebra::apply(&axes, [r * turn.cos(), r * turn.sin(), z]);
        algebra::add(body.centre, out).map(|v| v as f32)
    };
    (0..25).map(around).collect()
}

/// Encodes, and measures again what the bytes decode to.
fn check(raw: &RawClip, skeleton: &Skeleton, options: &EncodeOptions, case: &str) -> Encoded {
    let joints = skeleton.joint_count();
    let bodies = shell::bodies(skeleton, &options.shell).expect("a shell");
    let shell: Vec<Vec<[f32; 3]>> =
        bodies.iter().map(|bodies| bodies.iter().flat_map(points_of).collect()).collect();
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
        sample(&clip, skeleton, seconds, &mut pose).expect("the sizes agree");
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
        for track in raw.tracks() {
            if let Target::FreeRotation(_) = track.target {
                let mut got = [0.0; 4];
                assert_eq!(sample::track(&clip, track.target, seconds, &mut got), Ok(true), "{case}");
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
                assert_eq!(sample::track(&clip, track.target, seconds, &mut values), Ok(true), "{case}");
                for (c, value) in values.iter().enumerate() {
                    let off = (source::component(raw, track, c, seconds) - f64::from(*value)).abs();
                    let limit = f64::from(options.track_budget) + 1e-12;
                    assert!(off <= limit, "{case}: {:?} {c} at {seconds}: {off:e}", track.target);
                }
            }
        }
    }
    // Rest poses are rotations but for the rounding of their components; and what floats cannot hold no clip
    // can.
    let rounding = 1e-6 * extent + if options.root_motion.is_some() { 4e-6 * extent } else { 0.0 };
    for (joint, off) in off.iter().enumerate() {
        let limit = budget(joint) + rounding;
        assert!(*off <= limit, "{case}: joint {joint} is off by {off:e}, of {limit:e}");
        worst = worst.max(*off);
    }
    let said = f64::from(encoded.measured.error_max);
    // The farthest points of a ball are not among those that were looked at.
    let has_balls = bodies.iter().flatten().any(|body| body.axes.is_some());
    let least = if has_balls { 0.6 * said } else { said };
    let is_so = worst <= said * (1.0 + 1e-6) + rounding && worst >= least * (1.0 - 1e-6) - rounding;
    assert!(is_so, "{case}: {said:e} said, {worst:e} found");
    assert!(encoded.measured.track_error_max <= options.track_budget, "{case}");
    assert_eq!(encoded.measured.joints.len(), joints, "{case}");
    assert_eq!(encoded.measured.frames.len(), clip.frame_count() + 1, "{case}");
    assert!(encoded.measured.error_p99 <= encoded.measured.error_max, "{case}");
    encoded
}

fn fast(budget: f32) -> EncodeOptions {
    EncodeOptions { effort: Effort::Fast, ..EncodeOptions::new(budget, Shell::Balls(0.03)) }
}

/// Splines whose keys lie between the frames, and between the moments at which curves are searched for, are as near there.
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
        let options = EncodeOptions { rate: Some(30.0), ..fast(5e-4) };
        let encoded = check(&clip, &skeleton, &options, &format!("round {round}"));
        assert!(encoded.measured.error_max <= 5e-4, "{:?}", encoded.measured);
    }
}

/// With points 3 cm from the joints along their axes, instead of all that are so near.
fn on_axes(joints: usize, budget: f32) -> EncodeOptions {
    let points = || JointShell::Points(vec![[0.03, 0.0, 0.0], [0.0, 0.03, 0.0], [0.0, 0.0, 0.03]]);
    EncodeOptions { shell: Shell::Joints((0..joints).map(|_| points()).collect()), ..fast(budget) }
}

/// The promise, whatever the movement and the budget.
#[test]
fn no_point_is_farther_from_its_place_than_the_budget() {
    let mut random = Random(21);
    for joints in [0, 1, 2, 5, 17, 40] {
        for (round, budget) in [1e-5, 1e-4, 1e-3, 1e-2, 1e-1].into_iter().enumerate() {
            let skeleton = random.skeleton(joints);
            let smooth = random.smooth_clip(&skeleton, 20 + 30 * round);
            let case = format!("smooth, {joints} joints, {budget}");
            let encoded = check(&smooth, &skeleton, &fast(budget), &case);
            if budget >= 1e-2 && joints < 6 {
                // A spline of quaternions bends between its keys as no spline of logarithms does.
                let kept = encoded.authored.iter().filter(|target| **target != Target::FreeRotation(3));
                assert_eq!(kept.count(), 0, "{case}: {:?}", encoded.authored);
                let (got, raw) = (encoded.bytes().len(), encoded.raw_bytes);
                assert!(joints < 2 || got * 3 < raw, "{case}: {got} of {raw} bytes");
            }
            // Steps, splines, keys off the frames, and rotations of any size from key to key.
            let wild = random.clip(joints, 5 + 3 * round);
            let options = EncodeOptions { between: round % 2 == 0, ..fast(budget) };
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
        let options = EncodeOptions { shell, joint_budgets, ..fast(2e-3) };
        check(&clip, &skeleton, &options, "budgets of joints");
    }
    for effort in Effort::ALL {
        check(
            &clip,
            &skeleton,
            &EncodeOptions { effort, ..EncodeOptions::new(5e-4, Shell::Balls(0.03)) },
            &format!("{effort:?}"),
        );
    }
}

fn track(target: Target, interpolation: Interpolation, values: Vec<f32>) -> Track {
    Track { target, interpolation, timeline: 0, values }
}

fn chain(joints: usize, rest: impl Fn(usize) -> Transform) -> Skeleton {
    let joint = |index: usize| {
        Joint::new(format!("joint {index}"), index.checked_sub(1).map(|parent| parent as u16), rest(index))
    };
    Skeleton::new((0..joints).map(joint)).expect("parents come first")
}

fn link(_: usize) -> Transform {
    Transform { translation: [0.0, 0.3, 0.0], ..Transform::IDENTITY }
}

/// Half turns between two frames, and about an axis that turns too.
#[test]
fn flips_within_a_frame_are_followed() {
    let skeleton = chain(4, link);
    let times: Vec<f32> = (0..=30).map(|frame| frame as f32 / 30.0).collect();
    for degrees in [90.0_f32, 170.0, 178.0, 179.9] {
        let rotation = |joint: usize, frame: usize| {
            let half = (degrees * (frame / 7 + joint) as f32).to_radians() / 2.0;
            let lean = (frame / 7) as f32;
            [half.sin() * lean.cos(), half.sin() * lean.sin(), 0.0, half.cos()]
        };
        let of_joint = |joint: usize| {
            let values = (0..=30).flat_map(|frame| rotation(joint, frame)).collect();
            track(Target::Rotation(joint as u16), Interpolation::Linear, values)
        };
        let clip =
            RawClip::new("flip".into(), vec![times.clone()], (0..4).map(of_joint).collect()).expect("a clip");
        for budget in [1e-3, 1e-2] {
            check(&clip, &skeleton, &fast(budget), &format!("{degrees} degrees, {budget}"));
        }
    }
}

/// Joints that are flat, mirrored, or vanish and come back, and what hangs on them.
#[test]
fn any_scale_keeps_the_budget() {
    let mut random = Random(23);
    let times: Vec<f32> = (0..=24).map(|frame| frame as f32 / 24.0).collect();
    for (case, from, to) in [
        ("flat", [1.0, 0.0, 1.0], [1.0, 0.0, 1.0]),
        ("nothing", [0.0; 3], [0.0; 3]),
        ("mirrored", [-1.0, 1.0, 1.0], [-1.0, 1.5, 1.0]),
        ("comes out of nothing", [0.0; 3], [1.0; 3]),
        ("turns inside out", [1.0, 1.0, 1.0], [-1.0, 1.0, 1.0]),
        ("uneven", [0.2, 3.0, 1.0], [2.0, 0.5, 1.0]),
    ] {
        let skeleton = chain(5, link);
        let smooth = random.smooth_clip(&skeleton, 24);
        let mut tracks: Vec<Track> =
            smooth.tracks().iter().filter(|t| !matches!(t.target, Target::Scale(_))).cloned().collect();
        let scale = |frame: usize| -> [f32; 3] {
            core::array::from_fn(|c| from[c] + (to[c] - from[c]) * frame as f32 / 24.0)
        };
        tracks.push(track(Target::Scale(1), Interpolation::Linear, (0..=24).flat_map(scale).collect()));
        let clip = RawClip::new(case.into(), vec![times.clone()], tracks).expect("a clip");
        for budget in [1e-4, 1e-3, 1e-2] {
            check(&clip, &skeleton, &fast(budget), &format!("{case}, {budget}"));
        }
    }
}

/// A rest rotation of another length, animated or not, stays what it is.
#[test]
fn loose_rest_rotations_are_kept() {
    let loose = |index: usize| {
        let rotation = if index.is_multiple_of(2) { [0.0, 0.707, 0.0, 0.707] } else { [0.0, 0.0, 0.0, 1.0] };
        Transform { rotation, ..link(index) }
    };
    let skeleton = chain(4, loose);
    let mut random = Random(24);
    let smooth = random.smooth_clip(&skeleton, 30);
    let tracks = smooth.tracks().iter().filter(|t| t.target != Target::Rotation(2)).cloned().collect();
    let clip = RawClip::new("loose".into(), smooth.timelines().to_vec(), tracks).expect("a clip");
    let encoded = encode(&clip, &skeleton, &fast(1e-3), &mut |_| ()).expect("a clip");
    assert!(encoded.measured.error_max <= 1e-3, "{}", encoded.measured.error_max);
    let decoded = Clip::from_bytes(encoded.bytes()).expect("a clip");
    let mut pose = Pose::identity(4);
    for seconds in [0.0, 0.41, 1.0] {
        sample(&decoded, &skeleton, seconds, &mut pose).expect("the sizes agree");
        assert_eq!(pose.get(2).rotation, skeleton.rest().get(2).rotation, "at {seconds}");
    }
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
    let encoded = check(&clip, &skeleton, &fast(1e-3), "steps");
    // Lengths of rotations are rounded.
    assert_eq!(encoded.authored, []);
    assert!(encoded.measured.error_max < 1e-6, "{}", encoded.measured.error_max);
    assert_eq!(encoded.encodings, [(Encoding::Authored, 4)]);
    let decoded = Clip::from_bytes(encoded.bytes()).expect("a clip");
    let mut pose = Pose::identity(3);
    let mut value = [0.0];
    for (key, &time) in times.iter().enumerate() {
        for seconds in [time, times.get(key + 1).map_or(9.0, |next| next.next_down())] {
            sample(&decoded, &skeleton, seconds.into(), &mut pose).expect("the sizes agree");
            sample::track(&decoded, Target::Vector(8), seconds.into(), &mut value).expect("the sizes agree");
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
        let encoded = check(&clip, &skeleton, &fast(1e-4), "a single moment");
        assert_eq!(encoded.measured.frames.len(), 1);
    }
}

/// Every number of values, more of them than a byte counts, and large ones.
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
            let options = EncodeOptions { track_budget, ..fast(1e-3) };
            check(&clip, &chain(2, link), &options, &format!("{width} values up to {size}, {track_budget}"));
        }
    }
}

/// Constants are rounded to steps too, of which none is large enough for some.
#[test]
fn values_of_any_size_come_back() {
    let times: Vec<f32> = (0..=40).map(|frame| frame as f32 / 30.0).collect();
    for size in [0.0, 1e-9, 1e-3, 1.0, 1e3, 1e9, 1e20, 1e30] {
        let values = [size, -size / 3.0].repeat(times.len());
        let tracks = vec![track(Target::Vector(1), Interpolation::Linear, values)];
        let clip = RawClip::new("constant".into(), vec![times.clone()], tracks).expect("a clip");
        let encoded = check(&clip, &chain(1, link), &fast(1e-3), &format!("constants of {size}"));
        let kept: &[Target] = if size > 1e4 { &[Target::Vector(1)] } else { &[] };
        assert_eq!(encoded.authored, kept, "{size}");
    }
}

/// A prop that a scale of 0 hides at rest, and a clip shows.
#[test]
fn what_is_hidden_at_rest_keeps_its_budget() {
    for hidden in [0.0, 1e-3] {
        let scale = |joint| if joint == 2 { [hidden; 3] } else { [1.0; 3] };
        let skeleton = chain(3, |joint| Transform { scale: scale(joint), ..link(joint) });
        let times: Vec<f32> = (0..=40).map(|frame| frame as f32 / 30.0).collect();
        let scales = times.iter().flat_map(|t| [t.min(1.0); 3]).collect();
        let turns = times.iter().flat_map(|t| [0.0, t.sin(), 0.0, t.cos()]).collect();
        let tracks = vec![
            track(Target::Scale(2), Interpolation::Linear, scales),
            track(Target::Rotation(2), Interpolation::Linear, turns),
        ];
        let clip = RawClip::new("shown".into(), vec![times], tracks).expect("a clip");
        let encoded = check(&clip, &skeleton, &fast(1e-3), &format!("hidden by {hidden}"));
        let clip = Clip::from_bytes(encoded.bytes()).expect("a clip");
        let shown = sample::joint(&clip, &skeleton, 1.2, 2).expect("a joint");
        assert!((shown.scale[0] - 1.0).abs() < 0.04 && shown.rotation[1] > 0.9, "{hidden}: {shown:?}");
    }
}

/// Floats are not fine enough so far away: no joint is to blame for that.
#[test]
fn a_motion_beyond_all_measure_costs_the_pose_nothing() {
    let skeleton = chain(2, link);
    let times: Vec<f32> = (0..=40).map(|frame| frame as f32 / 30.0).collect();
    let places = times.iter().flat_map(|t| [0.0, 0.0, 1e9 * (9.0 * t).sin()]).collect();
    let turns = times.iter().flat_map(|t| [0.0, t.sin(), 0.0, t.cos()]).collect();
    let tracks = vec![
        track(Target::Translation(0), Interpolation::Linear, places),
        track(Target::Rotation(1), Interpolation::Linear, turns),
    ];
    let clip = RawClip::new("far".into(), vec![times], tracks).expect("a clip");
    let options = EncodeOptions { root_motion: Some(RootMotionOptions::default()), ..fast(1e-4) };
    let encoded = encode(&clip, &skeleton, &options, &mut |_| ()).expect("a clip");
    // What floats leave of the root in its place is another matter.
    let kept = encoded.authored.iter().all(|t| matches!(t, Target::Rotation(0) | Target::Translation(0)));
    assert!(encoded.measured.error_max > 1e-4 && kept, "{:?}", encoded.authored);
}

/// Two keys that are days apart are no reason to fill the memory.
#[test]
fn a_clip_of_too_many_frames_is_refused() {
    let days = |joints, seconds| {
        let values = vec![0.0, 0.0, 0.0, 1.0, 0.0, 0.0];
        let tracks = vec![track(Target::Translation(0), Interpolation::Linear, values)];
        let clip = RawClip::new("long".into(), vec![vec![0.0, seconds]], tracks).expect("a clip");
        encode(&clip, &chain(joints, link), &EncodeOptions { rate: Some(24.0), ..fast(1e-3) }, &mut |_| ())
            .map(|_| ())
    };
    let refused = |at| move |e| matches!(e, Error::TooMany { what: "frames", limit, .. } if limit == at);
    assert!(days(1, 1e6).is_err_and(refused(1 << 22)));
    assert!(days(1000, 2e4).is_err_and(refused((1 << 26) / 1000)));
}

#[test]
fn the_bytes_are_the_same_on_every_instruction_set_and_platform() {
    let mut random = Random(26);
    let skeleton = random.skeleton(9);
    let clip = random.smooth_clip(&skeleton, 70);
    let options = EncodeOptions { root_motion: Some(RootMotionOptions::default()), ..fast(1e-3) };
    let run = || encode(&clip, &skeleton, &options, &mut |_| ()).expect("a clip");
    let first = run();
    assert_eq!(
        crate::bytes::checksum(first.bytes()),
        17_176_286_565_939_683_491,
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
    let base = fast(1e-3);
    assert_eq!(run(&base), Ok(()));
    for bad in [0.0, -1.0, f32::NAN, f32::INFINITY] {
        let refused = |what| Err(Error::OutOfRange { what, at: 0, needed: "finite and greater than 0" });
        assert_eq!(run(&fast(bad)), refused("budget"), "{bad}");
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
    let root_motion = Some(RootMotionOptions { joint: 2, ..RootMotionOptions::default() });
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
    for (effort, frames) in [(Effort::Fast, 200), (Effort::Normal, 10), (Effort::Best, 60)] {
        let clip = random.clip(6, frames);
        let mut told = vec![0.0];
        let options = EncodeOptions { effort, ..fast(1e-3) };
        encode(&clip, &skeleton, &options, &mut |done| told.push(done)).expect("a clip");
        assert!(told.windows(2).all(|pair| pair[0] < pair[1]), "{effort:?}: {told:?}");
        assert_eq!(told.last(), Some(&1.0), "{effort:?}");
    }
}

/// What no curve serves for is kept, and said.
#[test]
fn what_cannot_be_a_curve_is_authored() {
    let skeleton = chain(2, link);
    // Five jumps a frame.
    let times: Vec<f32> = (0..=150).map(|key| key as f32 / 150.0).collect();
    let values = (0..=150).flat_map(|key| [(key * 7919 % 13) as f32, 0.0, 0.0]).collect();
    let tracks = vec![track(Target::Translation(1), Interpolation::Linear, values)];
    let clip = RawClip::new("noise".into(), vec![times], tracks).expect("a clip");
    let options = EncodeOptions { rate: Some(30.0), ..fast(1e-4) };
    let encoded = check(&clip, &skeleton, &options, "noise");
    assert_eq!(encoded.authored, [Target::Translation(1)]);
    assert!(encoded.encodings.contains(&(Encoding::Authored, 1)), "{:?}", encoded.encodings);
}

/// A pose of another kind in the first frame, as exporters leave it: no curve follows the way from there. That costs
/// the first segment its curves, and no other one.
#[test]
fn a_jump_is_kept_in_the_segments_where_it_is() {
    let skeleton = chain(3, link);
    // Four segments.
    let frames = 4 * 96;
    let times: Vec<f32> = (0..=frames).map(|frame| frame as f32 / 30.0).collect();
    let walk = |jumps: &[usize]| {
        let (mut turns, mut places) = (Vec::new(), Vec::new());
        for (frame, &time) in times.iter().enumerate() {
            let (half, place) = match jumps.contains(&frame) {
                true => (1.4_f32, [0.3, 1.0, -2.0]),
                false => (0.1 * time, [2.0 * (0.2 * time).sin(), 1.0 + 0.02 * (9.0 * time).sin(), time]),
            };
            turns.extend([0.1 * (7.0 * time).sin(), half.sin(), 0.0, half.cos()]);
            places.extend(place);
        }
        for turn in turns.as_chunks_mut::<4>().0 {
            let length = turn.iter().map(|v| v * v).sum::<f32>().sqrt();
            turn.iter_mut().for_each(|v| *v /= length);
        }
        let swing = times.iter().flat_map(|t| [(5.0 * t).sin() * 0.3, 0.0, 0.0, 1.0]);
        let swing: Vec<f32> = swing
            .collect::<Vec<_>>()
            .as_chunks::<4>()
            .0
            .iter()
            .flat_map(|q| {
                let length = q.iter().map(|v| v * v).sum::<f32>().sqrt();
                q.map(|v| v / length)
            })
            .collect();
        let tracks = vec![
            track(Target::Rotation(0), Interpolation::Linear, turns),
            track(Target::Translation(0), Interpolation::Linear, places),
            track(Target::Rotation(1), Interpolation::Linear, swing),
        ];
        RawClip::new("walk".into(), vec![times.clone()], tracks).expect("a clip")
    };
    let options = EncodeOptions { root_motion: Some(RootMotionOptions::default()), ..fast(1e-3) };
    let smooth = check(&walk(&[]), &skeleton, &options, "no jump");
    assert_eq!(smooth.authored, []);
    let bytes = smooth.bytes().len();
    for (jumps, part) in [(&[0][..], 0..1), (&[220], 2..3), (&[100, 220], 1..3)] {
        let encoded = check(&walk(jumps), &skeleton, &options, &format!("a jump at {jumps:?}"));
        assert_eq!(encoded.authored, [Target::Rotation(0), Target::Translation(0)], "{jumps:?}");
        let clip = encoded.clip();
        for track in clip.view().authored_tracks() {
            assert_eq!(track.segments, Some(part.clone()), "{jumps:?}");
        }
        // Nothing that a program could take for the whole clip.
        assert_eq!(clip.authored().count(), 0, "{jumps:?}");
        let kept = jumps.len() * 5 * bytes;
        assert!(encoded.bytes().len() < bytes + kept, "{jumps:?}: {} of {bytes}", encoded.bytes().len());
    }
    // A jump in each segment, and only there: as before.
    let everywhere: Vec<usize> = (0..4).map(|segment| 96 * segment + 30).collect();
    let encoded = check(&walk(&everywhere), &skeleton, &options, "a jump everywhere");
    assert_eq!(encoded.clip().authored().count(), 2);
}

/// Motion and pose together are where everything was; motion alone is the one that was taken out.
#[test]
fn motion_is_taken_out_and_kept_within_the_budget() {
    let mut random = Random(29);
    for (round, budget) in [1e-4, 1e-3, 1e-2].into_iter().enumerate() {
        let skeleton = random.skeleton(13);
        let mut tracks = random.smooth_clip(&skeleton, 60).tracks().to_vec();
        for walk in tracks.iter_mut().filter(|t| t.target == Target::Translation(0)) {
            for (frame, place) in walk.values.as_chunks_mut::<3>().0.iter_mut().enumerate() {
                place[2] += 0.05 * frame as f32;
            }
        }
        let times: Vec<f32> = (0..=60).map(|frame| 1.0 + frame as f32 / 30.0).collect();
        let clip = RawClip::new("walk".into(), vec![times], tracks).expect("a clip");
        for rotation in [
            crate::motion::MotionRotation::None,
            crate::motion::MotionRotation::Yaw,
            crate::motion::MotionRotation::Whole,
        ] {
            for sample_rate in [30.0, 50.0] {
                let wanted = RootMotionOptions {
                    joint: [0, 1, 4][round],
                    translation: [true, rotation == crate::motion::MotionRotation::Whole, true],
                    rotation,
                    sample_rate,
                };
                let case = format!("{wanted:?}, {budget}");
                let options = EncodeOptions { root_motion: Some(wanted), ..fast(budget) };
                let encoded = check(&clip, &skeleton, &options, &case);
                let decoded = Clip::from_bytes(encoded.bytes()).expect("a clip");
                assert!(decoded.has_motion(), "{case}");
                let per_frame = RootMotionOptions { sample_rate: 29.999_99, ..wanted };
                let (_, motion) = crate::motion::extract(&clip, &skeleton, &per_frame).expect("motion");
                assert_eq!(motion.samples().len(), 61, "{case}");
                for _ in 0..40 {
                    let (from, to) = (f64::from(random.range(-4.0, 4.0)), f64::from(random.range(-4.0, 4.0)));
                    for looping in [crate::play::Looping::Clamp, crate::play::Looping::Wrap] {
                        let got = decoded.motion_over(looping, from, to).expect("finite");
                        let want = motion.over(looping, from, to).expect("finite");
                        // An error for each loop, which turns what lies behind it.
                        let limit = 20.0 * f64::from(budget);
                        let off = (0..3).map(|c| (got.translation[c] - want.translation[c]).abs());
                        let off = off.fold(0.0, f64::max);
                        assert!(off <= limit, "{case}: {from} to {to}, {looping:?}: {off:e}");
                    }
                    let seconds = from.abs() / 2.0;
                    let (got, want) = (decoded.motion_at(1.0 + seconds), motion.at(seconds));
                    for p in [0, 1, 2].map(|axis| core::array::from_fn(|c| f64::from(u8::from(c == axis)))) {
                        let (got, want) = (got.transform_point(p), want.transform_point(p));
                        let off = (0..3).map(|c| (got[c] - want[c]).abs()).fold(0.0, f64::max);
                        assert!(off <= f64::from(budget), "{case}: {seconds} s: {off:e}");
                    }
                }
                assert_eq!(decoded.motion_at(f64::NAN), decoded.motion_at(0.0), "{case}");
                assert_eq!(decoded.motion_at(f64::INFINITY), decoded.motion_at(3.0), "{case}");
                assert!(decoded.motion_over(crate::play::Looping::Wrap, 0.0, f64::NAN).is_err(), "{case}");
            }
        }
    }
    let still = encode(
        &RawClip::new("".into(), vec![], vec![]).expect("none"),
        &chain(1, link),
        &fast(1e-3),
        &mut |_| (),
    );
    let still = still.expect("a clip");
    let still = Clip::from_bytes(still.bytes()).expect("a clip");
    assert_eq!((still.has_motion(), still.motion_at(0.5)), (false, crate::math::Rigid::IDENTITY));
}

#[test]
fn events_come_back_in_the_order_of_time() {
    let skeleton = chain(2, link);
    let clip = Random(30).smooth_clip(&skeleton, 30);
    let event = |seconds, name: &str| Event { seconds, name: name.to_string() };
    let events =
        vec![event(0.5, "right"), event(0.0, "left"), event(0.5, ""), event(clip.duration(), "Übergang 終")];
    let options = EncodeOptions { events: events.clone(), ..fast(1e-3) };
    let encoded = encode(&clip, &skeleton, &options, &mut |_| ()).expect("a clip");
    let decoded = Clip::from_bytes(encoded.bytes()).expect("a clip");
    let want = Events::new(clip.duration(), events).expect("events");
    assert_eq!(decoded.events(), want);
    assert_eq!((decoded.event_count(), decoded.event(0), decoded.event(4)), (4, Some((0.0, "left")), None));
    let mut many = want.as_slice().to_vec();
    many.resize(65_536, event(0.25, "x"));
    let options = EncodeOptions { events: many, ..fast(1e-3) };
    let refused = encode(&clip, &skeleton, &options, &mut |_| ());
    assert!(matches!(refused, Err(Error::TooMany { what: "events", found: 65_536, limit: 65_535 })));
}

/// Corners at every frame, where rotations go from key to key by slerp: the decoder must go the same way.
#[test]
fn a_root_that_turns_at_random_keeps_the_budget() {
    let mut random = Random(31);
    // Away from the origin the straight lines of a motion are no lines of the pose.
    let skeleton = chain(3, |joint| if joint == 0 { Transform::IDENTITY } else { link(joint) });
    let times: Vec<f32> = (0..=30).map(|frame| frame as f32 / 30.0).collect();
    let mut q = [0.0, 0.0, 0.0, 1.0];
    let turn = |_| {
        q = reference::quat_product(q, reference::quat_exp(random.vector::<3>(0.6).map(f64::from)));
        normalize(&mut q);
        q.map(|v| v as f32)
    };
    let values: Vec<f32> = times.iter().flat_map(turn).collect();
    let bent = [0.6, 0.0, 0.0, 0.8].repeat(times.len());
    let tracks = vec![
        track(Target::Rotation(0), Interpolation::Linear, values),
        track(Target::Rotation(1), Interpolation::Linear, bent),
    ];
    let clip = RawClip::new("turn".into(), vec![times], tracks).expect("a clip");
    for budget in [1e-3, 1e-2] {
        let motion = RootMotionOptions {
            translation: [true; 3],
            rotation: crate::motion::MotionRotation::Whole,
            ..RootMotionOptions::default()
        };
        let options = EncodeOptions { root_motion: Some(motion), ..fast(budget) };
        let encoded = check(&clip, &skeleton, &options, &format!("a turning root, {budget}"));
        assert_eq!(encoded.authored, [], "{budget}");
        assert!(
            encoded.encodings.iter().any(|&(kind, _)| kind == Encoding::Linear),
            "{:?}",
            encoded.encodings
        );
        // Between two frames no joint turns but the root, which is not in the pose.
        let packed = encoded.clip();
        let resident = packed.clone().into_resident().expect("memory");
        let [want, got] = [packed, &resident].map(|clip| {
            let mut pose = Pose::identity(3);
            sample(clip, &skeleton, 10.5 / 30.0, &mut pose).expect("the sizes agree");
            pose
        });
        assert_eq!(got, want, "{budget}: {:?}, {:?}", got.get(1), want.get(1));
    }
}
