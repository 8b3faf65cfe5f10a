//! Root motion and events.

use super::*;
use condyle::play::Events;
use condyle_base::math::vectors::normalize;

/// Motion and pose together reproduce all positions, and the motion alone equals the extracted one.
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
            condyle::motion::MotionRotation::None,
            condyle::motion::MotionRotation::Yaw,
            condyle::motion::MotionRotation::Whole,
        ] {
            for sample_rate in [30.0, 50.0] {
                let mut wanted = RootMotionOptions::default();
                wanted.joint = [0, 1, 4][round];
                wanted.translation = [true, rotation == condyle::motion::MotionRotation::Whole, true];
                (wanted.rotation, wanted.sample_rate) = (rotation, sample_rate);
                let case = format!("{wanted:?}, {budget}");
                let options = EncodeOptions { root_motion: Some(wanted), ..within(budget) };
                let encoded = check(&clip, &skeleton, &options, &case);
                let decoded = Clip::from_bytes(encoded.bytes()).expect("a clip");
                assert!(decoded.has_motion(), "{case}");
                let mut per_frame = wanted;
                per_frame.sample_rate = 29.999_99;
                let (_, motion) = condyle::motion::extract(&clip, &skeleton, &per_frame).expect("motion");
                assert_eq!(motion.samples().len(), 61, "{case}");
                for _ in 0..40 {
                    let (from, to) = (f64::from(random.range(-4.0, 4.0)), f64::from(random.range(-4.0, 4.0)));
                    for looping in [condyle::play::Looping::Clamp, condyle::play::Looping::Wrap] {
                        let got = decoded.motion_over(looping, from, to).expect("finite");
                        let want = motion.over(looping, from, to).expect("finite");
                        // Each loop adds an error, which is rotated by the loops after it.
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
                assert!(decoded.motion_over(condyle::play::Looping::Wrap, 0.0, f64::NAN).is_err(), "{case}");
            }
        }
    }
    let still = encode(
        &RawClip::new("".into(), vec![], vec![]).expect("none"),
        &chain(1, link),
        &within(1e-3),
        &mut |_| (),
    );
    let still = still.expect("a clip");
    let still = Clip::from_bytes(still.bytes()).expect("a clip");
    assert_eq!((still.has_motion(), still.motion_at(0.5)), (false, condyle_base::math::Rigid::IDENTITY));
}

#[test]
fn events_come_back_in_the_order_of_time() {
    let skeleton = chain(2, link);
    let clip = Random(30).smooth_clip(&skeleton, 30);
    let event = |seconds, name: &str| Event { seconds, name: name.to_string() };
    let events =
        vec![event(0.5, "right"), event(0.0, "left"), event(0.5, ""), event(clip.duration(), "Übergang 終")];
    let options = EncodeOptions { events: events.clone(), ..within(1e-3) };
    let encoded = encode(&clip, &skeleton, &options, &mut |_| ()).expect("a clip");
    let decoded = Clip::from_bytes(encoded.bytes()).expect("a clip");
    let want = Events::new(clip.duration(), events).expect("events");
    assert_eq!(decoded.events(), want);
    assert_eq!((decoded.event_count(), decoded.event(0), decoded.event(4)), (4, Some((0.0, "left")), None));
    let mut many = want.as_slice().to_vec();
    many.resize(65_536, event(0.25, "x"));
    let options = EncodeOptions { events: many, ..within(1e-3) };
    let refused = encode(&clip, &skeleton, &options, &mut |_| ());
    assert!(matches!(refused, Err(Error::TooMany { what: "events", found: 65_536, limit: 65_535 })));
}

/// Corners at every frame, with slerp between keys: the decoder must interpolate in the same way.
#[test]
fn a_root_that_turns_at_random_keeps_the_budget() {
    let mut random = Random(31);
    // Away from the origin, straight lines of the motion are not straight in the pose.
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
        let mut motion = RootMotionOptions::default();
        (motion.translation, motion.rotation) = ([true; 3], condyle::motion::MotionRotation::Whole);
        let options = EncodeOptions { root_motion: Some(motion), ..within(budget) };
        let encoded = check(&clip, &skeleton, &options, &format!("a turning root, {budget}"));
        assert_eq!(encoded.fallback, [], "{budget}");
        assert!(
            encoded.encodings.iter().any(|&(kind, _)| kind == Encoding::Linear),
            "{:?}",
            encoded.encodings
        );
    }
}
