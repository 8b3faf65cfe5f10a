//! Movements that are difficult for curves: flips, jumps, and joints that are flat, hidden or far away.

use super::*;

/// Half turns between two frames, about an axis that rotates too.
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
            check(&clip, &skeleton, &within(budget), &format!("{degrees} degrees, {budget}"));
        }
    }
}

/// Joints that are flat, mirrored, or vanish and reappear, and their descendants.
#[test]
fn any_scale_keeps_the_budget() {
    let mut random = Random(23);
    let times: Vec<f32> = (0..=24).map(|frame| frame as f32 / 24.0).collect();
    for (case, from, to) in [
        ("flat", [1.0, 0.0, 1.0], [1.0, 0.0, 1.0]),
        ("nothing", [0.0; 3], [0.0; 3]),
        ("mirrored", [-1.0, 1.0, 1.0], [-1.0, 1.5, 1.0]),
        ("grows from scale 0", [0.0; 3], [1.0; 3]),
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
            check(&clip, &skeleton, &within(budget), &format!("{case}, {budget}"));
        }
    }
}

/// A rest rotation without unit length, animated or not, keeps its length.
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
    let encoded = encode(&clip, &skeleton, &within(1e-3), &mut |_| ()).expect("a clip");
    assert!(encoded.measured.error_max <= 1e-3, "{}", encoded.measured.error_max);
    let decoded = Clip::from_bytes(encoded.bytes()).expect("a clip");
    let mut pose = Pose::identity(4);
    for seconds in [0.0, 0.41, 1.0] {
        sample(&decoded, &skeleton, seconds, &mut pose).expect("sizes agree");
        assert_eq!(pose.get(2).rotation, skeleton.rest().get(2).rotation, "at {seconds}");
    }
}

/// Twelve joints of a star: eight jump to and fro between the frames, four swing.
#[test]
fn many_joints_without_curves_leave_the_others_theirs() {
    let root = Joint::new("root", None, Transform::IDENTITY);
    let points = (1..=12).map(|joint: usize| Joint::new(format!("point {joint}"), Some(0), link(joint)));
    let skeleton = Skeleton::new([root].into_iter().chain(points)).expect("a star");
    let mut random = Random(29);
    let coarse: Vec<f32> = (0..=120).map(|frame| frame as f32 / 30.0).collect();
    let mut fine: Vec<f32> =
        (1..1200).map(|key| (key as f32 + 0.4 * random.range(-1.0, 1.0)) / 300.0).collect();
    fine.insert(0, 0.0);
    fine.push(4.0);
    let about_z = |half: f32| [0.0, 0.0, half.sin(), half.cos()];
    let of_joint = |joint: u16| {
        let (timeline, halves): (usize, Vec<f32>) = match joint {
            1..=8 => (1, fine.iter().map(|_| random.range(-1.0, 1.0)).collect()),
            _ => (0, coarse.iter().map(|time| (time + f32::from(joint)).sin()).collect()),
        };
        let values = halves.into_iter().flat_map(about_z).collect();
        Track { timeline, ..track(Target::Rotation(joint), Interpolation::Linear, values) }
    };
    let tracks = (1..=12).map(of_joint).collect();
    let clip = RawClip::new("star".into(), vec![coarse.clone(), fine.clone()], tracks).expect("a clip");
    // With root motion the encoder does not try keys for the whole clip.
    let root_motion = Some(RootMotionOptions::default());
    let options = EncodeOptions { rate: Some(30.0), root_motion, ..within(1e-3) };
    let encoded = encode(&clip, &skeleton, &options, &mut |_| ()).expect("a clip");
    assert!(encoded.measured.error_max <= 1e-3, "{}", encoded.measured.error_max);
    // The ancestors of a joint without curves are stored with all keys too.
    let mut stored: Vec<_> = encoded.fallback.iter().filter_map(|target| target.joint()).collect();
    stored.sort_unstable();
    stored.dedup();
    assert_eq!(stored, (0..=8).collect::<Vec<_>>());
}

/// A prop that a scale of 0 hides in the rest pose and a clip shows.
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
        let encoded = check(&clip, &skeleton, &within(1e-3), &format!("hidden by {hidden}"));
        let clip = Clip::from_bytes(encoded.bytes()).expect("a clip");
        let shown = sampling::joint(&clip, &skeleton, 1.2, 2).expect("a joint");
        assert!((shown.scale[0] - 1.0).abs() < 0.04 && shown.rotation[1] > 0.9, "{hidden}: {shown:?}");
    }
}

/// Floats are too coarse so far away, but this makes no joint except the root a fallback track.
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
    let options = EncodeOptions { root_motion: Some(RootMotionOptions::default()), ..within(1e-4) };
    let encoded = encode(&clip, &skeleton, &options, &mut |_| ()).expect("a clip");
    // The in-place root keeps rounding errors of its position, so its tracks may be fallback tracks.
    let kept = encoded.fallback.iter().all(|t| matches!(t, Target::Rotation(0) | Target::Translation(0)));
    assert!(encoded.measured.error_max > 1e-4 && kept, "{:?}", encoded.fallback);
}

/// Two keys that are days apart do not exhaust the memory.
#[test]
fn a_clip_of_too_many_frames_is_refused() {
    let days = |joints, seconds| {
        let values = vec![0.0, 0.0, 0.0, 1.0, 0.0, 0.0];
        let tracks = vec![track(Target::Translation(0), Interpolation::Linear, values)];
        let clip = RawClip::new("long".into(), vec![vec![0.0, seconds]], tracks).expect("a clip");
        encode(&clip, &chain(joints, link), &EncodeOptions { rate: Some(24.0), ..within(1e-3) }, &mut |_| ())
            .map(|_| ())
    };
    let refused = |at| move |e| matches!(e, Error::TooMany { what: "frames", limit, .. } if limit == at);
    assert!(days(1, 1e6).is_err_and(refused(1 << 22)));
    assert!(days(1000, 2e4).is_err_and(refused((1 << 26) / 1000)));
}

/// Tracks without a suitable curve are kept and reported.
#[test]
fn what_cannot_be_a_curve_is_authored() {
    let skeleton = chain(2, link);
    // Five jumps per frame.
    let times: Vec<f32> = (0..=150).map(|key| key as f32 / 150.0).collect();
    let values = (0..=150).flat_map(|key| [(key * 7919 % 13) as f32, 0.0, 0.0]).collect();
    let tracks = vec![track(Target::Translation(1), Interpolation::Linear, values)];
    let clip = RawClip::new("noise".into(), vec![times], tracks).expect("a clip");
    let options = EncodeOptions { rate: Some(30.0), ..within(1e-4) };
    let encoded = check(&clip, &skeleton, &options, "noise");
    assert_eq!(encoded.fallback, [Target::Translation(1)]);
    assert!(encoded.encodings.contains(&(Encoding::Fallback, 1)), "{:?}", encoded.encodings);
}

/// The first frame has a different pose, as some exporters write it, and no curve follows the jump from it.
/// Only the first segment loses its curves.
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
    let options = EncodeOptions { root_motion: Some(RootMotionOptions::default()), ..within(1e-3) };
    let smooth = check(&walk(&[]), &skeleton, &options, "no jump");
    assert_eq!(smooth.fallback, []);
    let bytes = smooth.bytes().len();
    for (jumps, part) in [(&[0][..], 0..1), (&[220], 2..3), (&[100, 220], 1..3)] {
        let encoded = check(&walk(jumps), &skeleton, &options, &format!("a jump at {jumps:?}"));
        assert_eq!(encoded.fallback, [Target::Rotation(0), Target::Translation(0)], "{jumps:?}");
        let clip = encoded.clip();
        for track in clip.view().fallback_tracks() {
            assert_eq!(track.segments, Some(part.clone()), "{jumps:?}");
        }
        // No track that a program could take for the whole clip.
        assert_eq!(clip.fallback_tracks().count(), 0, "{jumps:?}");
        let kept = jumps.len() * 5 * bytes;
        assert!(encoded.bytes().len() < bytes + kept, "{jumps:?}: {} of {bytes}", encoded.bytes().len());
    }
    // With a jump in every segment, the tracks are kept as a whole.
    let everywhere: Vec<usize> = (0..4).map(|segment| 96 * segment + 30).collect();
    let encoded = check(&walk(&everywhere), &skeleton, &options, "a jump everywhere");
    assert_eq!(encoded.clip().fallback_tracks().count(), 2);
}
