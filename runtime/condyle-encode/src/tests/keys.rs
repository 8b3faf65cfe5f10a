//! Clips whose keys are far apart, between frames, or adversarial.

use super::*;
use crate::encode::compress;
use crate::measure::job::ClipJob;
use crate::measure::rate::frames;
use condyle::clip::fallback::SHORTS;
use condyle::clip::layout::FALLBACK;

/// The encoder ends soon for any clip, and returns a valid clip or an error.
#[test]
fn hostile_clips_are_refused_or_encoded() {
    let mut random = Random(31);
    let huge = [1e38_f32, 1e30, 1e18, 1e9, 1.0, 1e-9, 1e-30, 1e-44];
    for round in 0..12 {
        let mut at = 0.0_f32;
        let step = huge[random.below(huge.len())];
        let mut times = vec![0.0];
        for _ in 0..random.below(4) {
            let next = at + step * random.range(0.5, 1.5);
            if next > at && next.is_finite() {
                times.push(next);
                at = next;
            }
        }
        let size = huge[random.below(huge.len())];
        let interpolation =
            [Interpolation::Step, Interpolation::Linear, Interpolation::CubicSpline][random.below(3)];
        let per_key = if interpolation == Interpolation::CubicSpline { 3 } else { 1 };
        let mut track = |target, width: usize| {
            let values = (0..times.len() * per_key * width).map(|_| random.range(-1.0, 1.0) * size);
            Track { target, interpolation, timeline: 0, values: values.collect() }
        };
        let tracks = vec![
            track(Target::Translation(0), 3),
            track(Target::Translation(1), 3),
            track(Target::Scale(1), 3),
            track(Target::Weights(0), 2),
        ];
        let Ok(clip) = RawClip::new("hostile".into(), vec![times], tracks) else { continue };
        let case = format!("{round}: {clip:?}, {step:e} s, {size:e}");
        match encode(&clip, &chain(2, link), &within(1e-3), &mut |_| ()) {
            Ok(encoded) => {
                assert!(encoded.measured.error_max.is_finite(), "{case}");
                assert!(Clip::from_bytes(encoded.bytes()).is_ok(), "{case}");
            }
            Err(error) => assert!(!error.to_string().is_empty(), "{case}"),
        }
        if let Ok(reduced) = reduce(&clip, &chain(2, link), &within(1e-3), KeyFormat::Filtered) {
            assert!(reduced.clip.tracks().len() <= 4, "{case}");
        }
    }
}

/// Keys that are off the frames and rotate too fast for curves. Only this track becomes a fallback track,
/// with as many keys as needed.
#[test]
fn keys_that_jitter_take_no_more_than_they_did() {
    let mut random = Random(3);
    let mut at = 0.0_f32;
    let times: Vec<f32> = core::iter::from_fn(|| {
        at += random.range(0.0264, 0.0269);
        Some(at)
    })
    .take(300)
    .collect();
    let mut angle = 0.0_f32;
    let turns = (0..times.len()).flat_map(|_| {
        angle += random.range(-0.8, 0.8);
        [0.0, 0.0, (angle / 2.0).sin(), (angle / 2.0).cos()]
    });
    let turns = track(Target::Rotation(1), Interpolation::Linear, turns.collect());
    let places = track(Target::Translation(1), Interpolation::Linear, [0.0, 0.3, 0.0].repeat(times.len()));
    let clip = RawClip::new("jitter".into(), vec![times], vec![turns, places]).expect("a clip");
    let source = clip.timelines()[0].len() * 4 * (1 + 4 + 3);
    let encoded = encode(&clip, &chain(3, link), &within(1e-5), &mut |_| ()).expect("a clip");
    assert!(encoded.measured.error_max <= 1e-5, "{:?}", encoded.measured);
    assert!(encoded.bytes().len() < source * 3 / 4, "{} of {source}", encoded.bytes().len());
    assert_eq!(encoded.fallback, [Target::Rotation(1)]);
}

/// Keys minutes apart and 1/30 s apart: too few keys for all the frames between them.
#[test]
fn few_keys_in_a_long_clip_are_kept() {
    let times = vec![0.0, 100.0, 100.033, 600.0];
    let values = vec![0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, -1.0, 0.0, 0.0, 1.0, 0.0];
    let moves = track(Target::Translation(1), Interpolation::Linear, values);
    let clip = RawClip::new("long".into(), vec![times], vec![moves]).expect("a clip");
    let skeleton = chain(3, link);
    let encoded = encode(&clip, &skeleton, &within(1e-4), &mut |_| ()).expect("a clip").into_clip();
    let mut poses = [Pose::rest(&skeleton), Pose::rest(&skeleton)];
    for seconds in [99.99, 100.0, 100.01, 100.02, 100.033, 100.05] {
        sample(&encoded, &skeleton, seconds, &mut poses[0]).expect("a pose");
        sampling::raw(&clip, &skeleton, seconds, &mut sampling::RawCursor::default(), &mut poses[1])
            .expect("a pose");
        let [is, want] = poses.each_ref().map(|pose| pose.get(1).translation[1]);
        assert!((is - want).abs() <= 1e-4, "{seconds}: {is} {want}");
    }
}

/// Keys that are far apart with fast rotation between them. A curve needs many keys, but the authored keys
/// are few, share their times, and can be integers.
#[test]
fn a_clip_takes_no_more_than_its_authored_numbers() {
    let mut random = Random(17);
    let joints = 12;
    let mut are_keys = 0;
    for (keys, seconds, budget) in [(12, 0.5, 1e-3), (25, 1.0 / 24.0, 5e-4), (9, 0.37, 1e-3)] {
        let clip = turns(&mut random, joints, evenly(keys, seconds));
        let skeleton = chain(joints.into(), link);
        let encoded = encode(&clip, &skeleton, &within(budget), &mut |_| ()).expect("a clip");
        let source = 4 * keys * (1 + 4 * usize::from(joints));
        let case = format!("{keys} keys: {} of {source}, {:?}", encoded.bytes().len(), encoded.encodings);
        assert!(encoded.bytes().len() <= source, "{case}");
        assert!(encoded.measured.error_max <= budget, "{case} {:?}", encoded.measured);
        let parts: usize = encoded.joint_bytes.iter().sum();
        assert!(parts < encoded.bytes().len(), "{case} {parts}");
        if encoded.encodings == [(Encoding::Fallback, joints.into())] {
            // The remaining bytes are the header and an empty segment.
            assert_eq!(parts + 68, encoded.bytes().len(), "{case}");
            are_keys += 1;
        }
        assert_eq!(Clip::from_bytes(encoded.bytes()).as_ref(), Ok(encoded.clip()), "{case}");
    }
    assert_eq!(are_keys, 2);
}

/// A single track with the minimum number of keys, so that the header dominates.
#[test]
fn a_clip_of_few_keys_is_never_much_more_than_they_are() {
    let times = vec![0.0, 1.0, 2.0];
    let values = [0.0, 0.0, 0.0, 1.0, 2.0, 0.0, 0.0, -1.0, 0.5].map(|v| [0.0, v, 0.0]).concat();
    let moves = track(Target::Translation(1), Interpolation::CubicSpline, values);
    let clip = RawClip::new("spline".into(), vec![times], vec![moves]).expect("a clip");
    let encoded = encode(&clip, &chain(2, link), &within(1e-4), &mut |_| ()).expect("a clip");
    // The same number of numbers, plus the bytes that any clip and any track take.
    assert!(encoded.bytes().len() <= 4 * (3 + 27) + 84, "{} {:?}", encoded.bytes().len(), encoded.encodings);
    assert!(encoded.measured.error_max <= 1e-4, "{:?}", encoded.measured);
}

/// Rotations of each joint of a chain that no curve with few keys follows.
fn turns(random: &mut Random, joints: u16, times: Vec<f32>) -> RawClip {
    let turn = |joint| {
        let values = (0..times.len()).flat_map(|_| {
            let angle = random.range(-0.7, 0.7);
            [angle.sin(), 0.0, 0.0, angle.cos()]
        });
        track(Target::Rotation(joint), Interpolation::Linear, values.collect())
    };
    let tracks = (0..joints).map(turn).collect();
    RawClip::new("turns".into(), vec![times], tracks).expect("a clip")
}

fn evenly(keys: usize, seconds: f32) -> Vec<f32> {
    (0..keys).map(|key| key as f32 * seconds).collect()
}

/// Number of fallback tracks that are integers.
fn shorts(clip: &Clip<'_>) -> usize {
    let header = clip.view().header();
    let code = |at: usize| clip.as_bytes()[header.fallback_tracks() + FALLBACK * at + 1];
    (0..header.fallback_count).filter(|&at| code(at) & SHORTS != 0).count()
}

/// Curves play faster than keys. A saving of less than an eighth of their bytes does not justify keys, unless
/// curves take more than the authored numbers.
#[test]
fn curves_are_given_up_for_an_eighth_of_their_bytes() {
    let (mut kept, mut given_up) = (0, 0);
    for (calm, count, apart) in
        [(8_u16, 40, 1.0_f32), (8, 60, 1.0), (6, 20, 1.0), (6, 40, 4.0), (12, 20, 1.0)]
    {
        let mut random = Random(41);
        // Translations that jump between frames, which no curve follows, and joints that swing slowly.
        let mut at = 0.0_f32;
        let times: Vec<f32> = core::iter::from_fn(|| {
            at += random.range(0.0264, 0.0269);
            Some(at)
        })
        .take(count)
        .collect();
        let jumps = times.iter().flat_map(|_| [0, 1, 2].map(|_| random.range(-1.0, 1.0))).collect();
        let slow = evenly(1 + (at * 30.0 / apart) as usize, apart / 30.0);
        let swing = |joint: u16| {
            let angle = |seconds: f32| 0.4 * (seconds * (1.0 + 0.3 * f32::from(joint))).sin();
            let values = slow.iter().flat_map(|&t| [angle(t).sin(), 0.0, 0.0, angle(t).cos()]).collect();
            Track { timeline: 1, ..track(Target::Rotation(joint + 1), Interpolation::Linear, values) }
        };
        let jumps = track(Target::Translation(0), Interpolation::Linear, jumps);
        let tracks = (0..calm).map(swing).chain([jumps]).collect();
        let clip = RawClip::new("jumps".into(), vec![times, slow.clone()], tracks).expect("a clip");
        let (skeleton, options) = (chain((calm + 1).into(), link), on_axes(usize::from(calm) + 1, 1e-3));
        let job = ClipJob::new(
            &clip,
            &skeleton,
            &options,
            frames(&clip, skeleton.joint_count(), &options).expect("few"),
            None,
        )
        .expect("a clip");
        let curves = compress(&job, &mut |_| ()).expect("a clip");
        let bytes = curves.bytes().len();
        let keys = job.fewest_keys(true, bytes).map(|keys| keys.bytes().len());
        let chosen = job.or_keys(curves.clone());
        let case =
            format!("{calm}, {count}, {apart}: {bytes}, keys {keys:?}, authored {}", job.authored_bytes());
        match keys {
            Some(keys) if bytes > job.authored_bytes() || 8 * keys < 7 * bytes => {
                assert_eq!(chosen.bytes().len(), keys, "{case}");
                given_up += 1;
            }
            _ => {
                assert_eq!(chosen, curves, "{case}");
                kept += usize::from(keys.is_some());
            }
        }
    }
    assert!(kept > 0 && given_up > 0, "{kept} {given_up}");
}

/// If integers are too coarse for joints with descendants, they can be accurate enough near the ends of
/// limbs.
#[test]
fn as_many_rotations_are_integers_as_the_budget_allows() {
    let joints = 12;
    let clip = turns(&mut Random(17), joints, evenly(12, 0.5));
    let skeleton = chain(joints.into(), link);
    let found: Vec<usize> = (1..12)
        .map(|halving| {
            let budget = 2e-3 / f32::from(1_u16 << halving);
            let options = on_axes(joints.into(), budget);
            let encoded = encode(&clip, &skeleton, &options, &mut |_| ()).expect("a clip");
            assert!(encoded.measured.error_max <= budget, "{budget}: {:?}", encoded.measured);
            shorts(encoded.clip())
        })
        .collect();
    assert!(found.is_sorted_by(|a, b| a >= b), "{found:?}");
    let some = |range: core::ops::RangeInclusive<usize>| found.iter().any(|count| range.contains(count));
    assert!(some(12..=12) && some(4..=8) && some(1..=3) && some(0..=0), "{found:?}");
}

/// Each joint stays within its budget, even if keys are rounded.
#[test]
fn integers_hold_the_budget_of_each_joint() {
    let joints = 12;
    let clip = turns(&mut Random(17), joints, evenly(12, 0.5));
    let options = EncodeOptions { joint_budgets: vec![(11, 2e-5)], ..within(2e-3) };
    let encoded = encode(&clip, &chain(joints.into(), link), &options, &mut |_| ()).expect("a clip");
    assert_eq!(encoded.encodings, [(Encoding::Fallback, 12)]);
    assert!(encoded.measured.joints[11].error <= 2e-5, "{:?}", encoded.measured.joints[11]);
}

/// Keys on straight lines are removed, next to tracks that stay and are integers.
#[test]
fn keys_on_a_line_are_left_out_beside_integers() {
    let mut random = Random(3);
    let mut at = 0.0_f32;
    let times: Vec<f32> = core::iter::from_fn(|| {
        at += random.range(0.0264, 0.0269);
        Some(at)
    })
    .take(300)
    .collect();
    let rises = times.iter().flat_map(|t| [0.0, 0.1 * t, 0.0]).collect();
    let jitter = turns(&mut random, 2, times);
    let rises = track(Target::Translation(1), Interpolation::Linear, rises);
    let tracks = jitter.tracks().iter().cloned().chain([rises]).collect();
    let clip = RawClip::new("rises".into(), jitter.timelines().to_vec(), tracks).expect("a clip");
    let encoded = encode(&clip, &chain(3, link), &within(1e-3), &mut |_| ()).expect("a clip");
    assert_eq!(shorts(encoded.clip()), 2, "{:?}", encoded.encodings);
    // Two rotations with separate times, and 1/3 of the size of the translations.
    assert!(encoded.bytes().len() < 300 * (4 + 4 + 8 + 8 + 4), "{}", encoded.bytes().len());
    assert!(encoded.measured.error_max <= 1e-3, "{:?}", encoded.measured);
}

/// Bit-exact: a negative zero is not an integer.
#[test]
fn steps_are_integers_where_nothing_is_lost() {
    let third = condyle::clip::fallback::from_short(10_923);
    let rest = |third: f32| (1.0 - third * third).sqrt();
    let near = condyle::clip::write::rounded(rest(third));
    for (key, count) in
        [([-0.0, 0.0, third, near], 0), ([0.0, 0.0, third, near], 1), ([0.0, 0.0, 0.3, rest(0.3)], 0)]
    {
        let values = [key, [0.0, 0.0, 0.0, 1.0], key].concat();
        let jumps = track(Target::Rotation(0), Interpolation::Step, values.clone());
        let clip = RawClip::new("steps".into(), vec![vec![0.0, 0.5, 1.0]], vec![jumps]).expect("a clip");
        let encoded = encode(&clip, &chain(1, link), &within(1e-3), &mut |_| ()).expect("a clip");
        assert_eq!(shorts(encoded.clip()), count, "{key:?}");
        let fallback = encoded.clip().view().fallback_tracks().next().expect("steps");
        let found = fallback.to_track(Target::Rotation(0)).1.values;
        let bits = |values: &[f32]| values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&found), bits(&values), "{key:?}");
    }
}

/// Clip with keys at 30 Hz and two at frame 15: `before` up to the jump, and `after` from it on.
fn jump(target: Target, before: &[f32], after: &[f32]) -> (RawClip, f32) {
    let mut times: Vec<f32> = (0..=30).map(|frame| frame as f32 / 30.0).collect();
    let last = times[15].next_down();
    times.insert(15, last);
    let values = [before.repeat(16), after.repeat(16)].concat();
    let track = track(target, Interpolation::Linear, values);
    (RawClip::new("jump".into(), vec![times], vec![track]).expect("a clip"), last)
}

/// No moment between frames shows the value just before a jump.
#[test]
fn the_budget_holds_just_before_a_jump_of_a_joint() {
    for angle in [0.02_f32, 0.03, 0.042, 0.05] {
        let turned = [0.0, 0.0, (angle / 2.0).sin(), (angle / 2.0).cos()];
        let (clip, last) = jump(Target::Rotation(0), &[0.0, 0.0, 0.0, 1.0], &turned);
        let skeleton = chain(1, link);
        let encoded = encode(&clip, &skeleton, &within(5e-4), &mut |_| ()).expect("a clip");
        assert!(encoded.measured.error_max <= 5e-4, "{angle}: {:?}", encoded.measured);
        let mut pose = Pose::rest(&skeleton);
        for seconds in [f64::from(last), f64::from(last.next_up())] {
            sample(encoded.clip(), &skeleton, seconds, &mut pose).expect("a pose");
            let is = 2.0 * pose.get(0).rotation[2].asin();
            let want = if seconds <= f64::from(last) { 0.0 } else { angle };
            assert!(0.03 * (is - want).abs() <= 5.01e-4, "{angle} at {seconds}: {is}");
        }
    }
}

/// The same for a morph weight.
#[test]
fn the_budget_holds_just_before_a_jump_of_a_weight() {
    for size in [1.2e-3_f32, 2e-3, 3e-3, 1.0] {
        let target = Target::Weights(0);
        let (clip, last) = jump(target, &[0.0], &[size]);
        let encoded = encode(&clip, &chain(1, link), &within(1e-3), &mut |_| ()).expect("a clip");
        assert!(encoded.measured.track_error_max <= 1e-3, "{size}: {:?}", encoded.measured);
        for (seconds, want) in [(last, 0.0), (last.next_up(), size)] {
            let mut is = [f32::NAN];
            assert_eq!(sampling::track(encoded.clip(), target, seconds.into(), &mut is), Ok(true));
            assert!((is[0] - want).abs() <= 1.001e-3, "{size} at {seconds}: {is:?}");
        }
    }
}

/// Times rounded to milliseconds count as on frames for tracks that drive no joint too.
#[test]
fn weights_at_rounded_times_are_curves() {
    let times: Vec<f32> =
        (0..=240).map(|frame| ((f64::from(frame) / 120.0 * 1e3).round() / 1e3) as f32).collect();
    let values = times.iter().map(|time| 0.2 * (3.0 * time).sin()).collect();
    let smiles = track(Target::Weights(0), Interpolation::Linear, values);
    let clip = RawClip::new("smile".into(), vec![times], vec![smiles]).expect("a clip");
    let encoded = encode(&clip, &chain(1, link), &within(1e-3), &mut |_| ()).expect("a clip");
    assert_eq!((encoded.off_frames.keys, encoded.fallback.len()), (0, 0), "{}", encoded.rate);
    assert!(encoded.measured.track_error_max <= 1e-3, "{:?}", encoded.measured);
}
