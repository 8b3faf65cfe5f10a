//! Clips whose keys are far apart, between frames, or hostile.

use super::*;

/// Whatever a clip holds, the encoder ends soon, and gives a clip that is accepted or an error.
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
        match encode(&clip, &chain(2, link), &fast(1e-3), &mut |_| ()) {
            Ok(encoded) => {
                assert!(encoded.measured.error_max.is_finite(), "{case}");
                assert!(Clip::from_bytes(encoded.bytes()).is_ok(), "{case}");
            }
            Err(error) => assert!(!error.to_string().is_empty(), "{case}"),
        }
        if let Ok(reduced) = reduce(&clip, &chain(2, link), &fast(1e-3), KeyFormat::Filtered) {
            assert!(reduced.clip.tracks().len() <= 4, "{case}");
        }
    }
}

/// Keys that are on no frames, and turn too fast for curves between them: as many as are needed, and of nothing else.
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
    let encoded = encode(&clip, &chain(3, link), &fast(1e-5), &mut |_| ()).expect("a clip");
    assert!(encoded.measured.error_max <= 1e-5, "{:?}", encoded.measured);
    assert!(encoded.bytes().len() < source * 3 / 4, "{} of {source}", encoded.bytes().len());
    assert_eq!(encoded.authored, [Target::Rotation(1)]);
}

/// Minutes apart, and as near as a thirtieth of a second: too few keys for all the frames between them.
#[test]
fn few_keys_in_a_long_clip_are_kept() {
    let times = vec![0.0, 100.0, 100.033, 600.0];
    let values = vec![0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, -1.0, 0.0, 0.0, 1.0, 0.0];
    let moves = track(Target::Translation(1), Interpolation::Linear, values);
    let clip = RawClip::new("long".into(), vec![times], vec![moves]).expect("a clip");
    let skeleton = chain(3, link);
    let encoded = encode(&clip, &skeleton, &fast(1e-4), &mut |_| ()).expect("a clip").into_clip();
    let mut poses = [Pose::rest(&skeleton), Pose::rest(&skeleton)];
    for seconds in [99.99, 100.0, 100.01, 100.02, 100.033, 100.05] {
        sample(&encoded, &skeleton, seconds, &mut poses[0]).expect("a pose");
        sample::raw(&clip, &skeleton, seconds, &mut sample::RawCursor::default(), &mut poses[1])
            .expect("a pose");
        let [is, want] = poses.each_ref().map(|pose| pose.get(1).translation[1]);
        assert!((is - want).abs() <= 1e-4, "{seconds}: {is} {want}");
    }
}

/// Keys that are far apart and turn fast between: many of a curve, but few as they are, with one set of times and integers.
#[test]
fn a_clip_takes_no_more_than_its_authored_numbers() {
    let mut random = Random(17);
    let joints = 12;
    for (keys, seconds, budget) in [(12, 0.5, 1e-3), (25, 1.0 / 24.0, 5e-4), (9, 0.37, 1e-3)] {
        let times: Vec<f32> = (0..keys).map(|key| key as f32 * seconds).collect();
        let turns = (0..joints).map(|joint| {
            let values = (0..keys).flat_map(|_| {
                let angle = random.range(-0.7, 0.7);
                [angle.sin(), 0.0, 0.0, angle.cos()]
            });
            track(Target::Rotation(joint), Interpolation::Linear, values.collect())
        });
        let clip = RawClip::new("turns".into(), vec![times], turns.collect()).expect("a clip");
        let skeleton = chain(joints.into(), link);
        let encoded = encode(&clip, &skeleton, &fast(budget), &mut |_| ()).expect("a clip");
        let source = 4 * keys * (1 + 4 * usize::from(joints));
        let case = format!("{keys} keys: {} of {source}, {:?}", encoded.bytes().len(), encoded.encodings);
        assert!(encoded.bytes().len() <= source, "{case}");
        assert!(encoded.measured.error_max <= budget, "{case} {:?}", encoded.measured);
        let parts: usize = encoded.joint_bytes.iter().sum();
        assert!(parts < encoded.bytes().len(), "{case} {parts}");
        assert_eq!(Clip::from_bytes(encoded.bytes()).as_ref(), Ok(encoded.clip()), "{case}");
    }
}

/// A single track with as few keys as there can be: the header is what is left.
#[test]
fn a_clip_of_few_keys_is_never_much_more_than_they_are() {
    let times = vec![0.0, 1.0, 2.0];
    let values = [0.0, 0.0, 0.0, 1.0, 2.0, 0.0, 0.0, -1.0, 0.5].map(|v| [0.0, v, 0.0]).concat();
    let moves = track(Target::Translation(1), Interpolation::CubicSpline, values);
    let clip = RawClip::new("spline".into(), vec![times], vec![moves]).expect("a clip");
    let encoded = encode(&clip, &chain(2, link), &fast(1e-4), &mut |_| ()).expect("a clip");
    // As many numbers, and what any clip and any track have besides.
    assert!(encoded.bytes().len() <= 4 * (3 + 27) + 80, "{} {:?}", encoded.bytes().len(), encoded.encodings);
    assert!(encoded.measured.error_max <= 1e-4, "{:?}", encoded.measured);
}
