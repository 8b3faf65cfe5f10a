//! Compressed clips play correctly in the runtime.

use condyle::blending::difference_clip;
use condyle::clip::layout::Header;
use condyle::frames::FramesOptions;
use condyle::sampling::{self, PoseSource, RawCursor, sample};
use condyle::{
    Affine, Clip, Error, Interpolation, Looping, Pose, RawClip, Skeleton, Target, Track, Transform,
    local_to_model,
};
use condyle_base::math::quats::product;
use condyle_encode::{EncodeOptions, Shell, encode};
use condyle_testing::{Random, assert_close, reference, tries};

/// Writes the correct checksum into the bytes.
fn repair(bytes: &mut [u8]) {
    let sum = Header::checksum(bytes).to_le_bytes();
    bytes[12..20].copy_from_slice(&sum);
}

fn sampled(clip: &RawClip, skeleton: &Skeleton, seconds: f64) -> Pose {
    let mut pose = Pose::identity(skeleton.joint_count());
    sampling::raw(clip, skeleton, seconds, &mut RawCursor::default(), &mut pose).expect("sizes agree");
    pose
}

/// A clip is for one skeleton: another skeleton with the same number of joints is rejected, for each form of
/// clip.
#[test]
fn a_clip_of_another_skeleton_is_refused() {
    let mut random = Random(3);
    let (skeleton, other) = (random.skeleton(6), random.skeleton(6));
    let raw = random.smooth_clip(&skeleton, 20);
    assert_eq!(raw.fingerprint(), None);
    let options = EncodeOptions::new(1e-3, Shell::Balls(0.03));
    let encoded = encode(&raw, &skeleton, &options, &mut |_| ()).expect("a clip");
    let packed = encoded.into_clip();
    assert_eq!(packed.fingerprint(), Some(skeleton.fingerprint()));
    let [found, needed] = [&skeleton, &other].map(Skeleton::fingerprint);
    assert_ne!(found, needed, "names or parents differ");
    let refused = Error::Skeleton { what: "the clip", found, needed };
    let mut pose = Pose::rest(&other);
    assert_eq!(sample(&packed, &other, 0.1, &mut pose), Err(refused.clone()));
    assert_eq!(sample(&packed, &skeleton, 0.1, &mut pose), Ok(()));
    let bound = raw.for_skeleton(&skeleton).expect("a clip of this skeleton");
    let mut cursor = sampling::RawCursor::default();
    assert_eq!(sampling::raw(&bound, &other, 0.1, &mut cursor, &mut pose), Err(refused.clone()));
    assert_eq!(encode(&bound, &other, &options, &mut |_| ()).err(), Some(refused.clone()));
    assert_eq!(bound.clone().for_skeleton(&other), Err(refused.clone()));
    let extracted = condyle::motion::extract(&bound, &other, &condyle::motion::RootMotionOptions::default());
    assert_eq!(extracted.err(), Some(refused));
}

/// Curves are relative to the rest pose: with another rest pose, every joint would be at a wrong position.
#[test]
fn a_clip_of_another_rest_pose_is_refused() {
    let mut random = Random(3);
    let skeleton = random.skeleton(6);
    let raw = random.smooth_clip(&skeleton, 20);
    let options = EncodeOptions::new(1e-3, Shell::Balls(0.03));
    let packed = encode(&raw, &skeleton, &options, &mut |_| ()).expect("a clip").into_clip();
    let longer = |t: Transform| Transform { translation: t.translation.map(|v| 1.5 * v), ..t };
    let taller: Vec<_> = skeleton.rest().transforms().map(longer).collect();
    let other = skeleton.with_rest(&Pose::from_transforms(&taller)).expect("one transform per joint");
    assert_eq!(other.fingerprint(), skeleton.fingerprint());
    assert_eq!(packed.rest_fingerprint(), Some(skeleton.rest_fingerprint()));
    let [found, needed] = [&skeleton, &other].map(Skeleton::rest_fingerprint);
    let refused = Err(Error::RestPose { what: "the clip", found, needed });
    let mut pose = Pose::rest(&other);
    assert_eq!(sample(&packed, &other, 0.1, &mut pose), refused);
    assert_eq!(sample(&packed, &skeleton, 0.1, &mut pose), Ok(()));
    // Whole transforms play on any rest pose.
    let mut cursor = sampling::RawCursor::default();
    assert_eq!(sampling::raw(&raw, &other, 0.1, &mut cursor, &mut pose), Ok(()));
}

/// Rows without bits take no bytes: 65,535 intervals of each of many tracks would unpack to gigabytes of
/// keys.
#[test]
fn a_clip_has_keys_in_proportion_to_its_bytes() {
    // A skeleton with many joints, each of which rotates: one class of tracks with bits.
    let skeleton = Random(2).skeleton(300);
    let raw = Random(2).smooth_clip(&skeleton, 9);
    let options = EncodeOptions::new(1e-3, Shell::Balls(0.03));
    let bytes = encode(&raw, &skeleton, &options, &mut |_| ()).expect("a clip").bytes().to_vec();
    let header = Header::read(&bytes);
    let segment = condyle_base::bytes::u32_at(&bytes, header.segments()) as usize;
    let curves: Vec<usize> =
        (0..usize::from(bytes[segment])).filter(|class| bytes[segment + 8 + 7 * class] >> 2 != 0).collect();
    let mut wrong = bytes;
    for class in curves {
        wrong[segment + 8 + 7 * class + 1..][..2].copy_from_slice(&u16::MAX.to_le_bytes());
    }
    repair(&mut wrong);
    let refused = Clip::from_bytes(&wrong).expect_err("too many");
    assert!(matches!(refused, Error::TooMany { what: "keys of a clip", .. }), "{refused}");
}

#[test]
fn an_additive_clip_can_be_compressed() {
    let mut random = Random(62);
    let skeleton = random.skeleton(5);
    let clip = random.smooth_clip(&skeleton, 20);
    let made = difference_clip(&clip, &skeleton, skeleton.rest()).expect("a difference");
    let additive = skeleton.additive();
    let options = EncodeOptions::new(5e-4, Shell::Balls(0.03));
    let encoded = encode(&made, &additive, &options, &mut |_| ()).expect("encodes");
    assert!(encoded.measured.error_max <= options.budget);
    let packed = Clip::from_bytes(encoded.bytes()).expect("just written");
    let mut got = Pose::identity(5);
    sample(&packed, &additive, 0.31, &mut got).expect("sizes agree");
    for (got, want) in got.transforms().zip(sampled(&made, &additive, 0.31).transforms()) {
        let near =
            f64::from(got.rotation.iter().zip(want.rotation).map(|(a, b)| a * b).sum::<f32>().signum());
        let bound = f64::from(options.budget) * 40.0;
        assert_close(&got.rotation, &want.rotation.map(|v| f64::from(v) * near), bound, "decoded");
    }
}

/// A clip of an hour at 120 Hz, whose one joint moves at 4.55 m/s. Rounding a time to f32 changes it by up to
/// 0.12 ms. That is 0.56 mm between keys of the authored clip and of the compressed one.
#[test]
fn moments_between_the_frames_of_an_hour_are_exact() {
    const FRAMES: u32 = 3600 * 120;
    let skeleton = Random(1).skeleton(1);
    let times: Vec<f32> = (0..=FRAMES).map(|frame| (f64::from(frame) / 120.0) as f32).collect();
    let place = |&seconds: &f32| [4.55 * (f64::from(seconds) % 2.0 - 1.0).abs() as f32, 0.0, 0.0];
    let go = Track {
        target: Target::Translation(0),
        interpolation: Interpolation::Linear,
        timeline: 0,
        values: times.iter().flat_map(place).collect(),
    };
    let raw = RawClip::new("an hour".into(), vec![times], vec![go]).expect("rising");
    let off = |got: &Pose, seconds: f64| {
        let want = reference::sample_raw(&raw, &skeleton, seconds)[0].translation[0];
        (f64::from(got.get(0).translation[0]) - want).abs()
    };
    let mut random = Random(3);
    let mut unit = || (random.bits() >> 11) as f64 / (1_u64 << 53) as f64;
    let (mut pose, mut cursor) = (Pose::identity(1), RawCursor::default());
    for _ in 0..tries(2000) {
        // The last two seconds, where f32 is coarsest.
        let seconds = 3598.0 + 2.0 * unit();
        sampling::raw(&raw, &skeleton, seconds, &mut cursor, &mut pose).expect("one joint");
        assert!(off(&pose, seconds) < 1e-6, "{seconds}: {} m", off(&pose, seconds));
        PoseSource::pose(&raw, &skeleton, seconds, &mut pose).expect("one joint");
        assert!(off(&pose, seconds) < 1e-6, "{seconds}: {} m", off(&pose, seconds));
    }
    // The fraction between frames is computed in f64, so the clip is as accurate as its keys.
    let mut options = EncodeOptions::new(1e-4, Shell::Balls(0.03));
    options.rate = Some(120.0);
    let late = raw.cut(3590.0, 3600.0).expect("within");
    let clip = encode(&late, &skeleton, &options, &mut |_| ()).expect("one joint").into_clip();
    for _ in 0..tries(2000) {
        let seconds = 3592.1 + 0.8 * unit();
        sample(&clip, &skeleton, seconds, &mut pose).expect("one joint");
        assert!(off(&pose, seconds) < 1.2e-4, "{seconds}: {} m", off(&pose, seconds));
        assert_eq!(clip.moment(Looping::Clamp, seconds - 3590.0), Ok(seconds));
    }
}

/// Debug output of a large result is short.
#[test]
fn results_are_printed_in_a_line() {
    let options = EncodeOptions::new(5e-4, Shell::Balls(0.03));
    let still = RawClip::new("still".into(), vec![], vec![]).expect("valid");
    let encoded = encode(&still, &Random(3).skeleton(256), &options, &mut |_| ()).expect("a clip");
    for (text, told) in
        [(format!("{encoded:?}"), "joints: 256"), (format!("{:?}", encoded.measured), "error_max: 0.0")]
    {
        assert!(text.len() < 300 && text.contains(told), "{text}");
    }
}

/// Frames pass between the segments of a clip, which meet within twice the budget of the encoder.
#[test]
fn frames_are_smooth_where_segments_meet() {
    let mut random = Random(12);
    let skeleton = random.skeleton(9);
    let times: Vec<f32> = (0..300).map(|key| key as f32 / 30.0).collect();
    // Ten seconds of slow swings about the rest pose.
    let swing = |joint: usize| {
        let rest = skeleton.rest().get(joint).rotation;
        let half = times.iter().map(|t| 0.2 * (2.0 * t + joint as f32).sin());
        let turn = |half: f32| [half.sin(), 0.0, 0.0, half.cos()];
        let values = half.flat_map(|half| product(rest, turn(half))).collect();
        let target = Target::Rotation(joint as u16);
        Track { target, interpolation: Interpolation::Linear, timeline: 0, values }
    };
    let raw =
        RawClip::new("swings".into(), vec![times.clone()], (0..9).map(swing).collect()).expect("a clip");
    let budget = 2e-3;
    let options = EncodeOptions::new(budget, Shell::Balls(0.03));
    let clip = encode(&raw, &skeleton, &options, &mut |_| ()).expect("a clip").into_clip();
    let seams: Vec<[f32; 2]> = clip.view().seams().collect();
    assert!(seams.len() > 1, "the clip has several segments");
    // Far less than the jumps.
    let options = FramesOptions::new(&skeleton, budget / 10.0, 0.03);
    let frames = clip.to_frames(&skeleton, &options).expect("no other jumps");
    assert!(frames.error() <= options.budget);
    let jump = frames.seam_error();
    assert!(jump > 0.0 && jump <= 1.01 * budget, "{jump}");
    let at = |source: &dyn PoseSource, seconds: f64| {
        let (mut pose, mut model) = (Pose::rest(&skeleton), vec![Affine::IDENTITY; 9]);
        source.pose(&skeleton, seconds, &mut pose).expect("a valid time");
        local_to_model(&skeleton, &pose, &mut model).expect("the sizes agree");
        model.iter().map(|joint| [0, 1, 2].map(|r| joint.rows[r][3])).collect::<Vec<_>>()
    };
    let apart = |p: &[[f32; 3]], q: &[[f32; 3]]| {
        let off =
            p.iter().zip(q).map(|(p, q)| p.iter().zip(q).map(|(p, q)| (p - q) * (p - q)).sum::<f32>().sqrt());
        off.fold(0.0, f32::max)
    };
    for [last, next] in seams {
        let [before, after] = [last, next].map(|seconds| at(&frames, seconds.into()));
        assert!(apart(&before, &after) < 1e-5, "at {last}");
        let [left, right] = [last, next].map(|seconds| at(&clip, seconds.into()));
        let middle: Vec<_> =
            left.iter().zip(&right).map(|(l, r)| [0, 1, 2].map(|c| (l[c] + r[c]) / 2.0)).collect();
        assert!(apart(&before, &middle) <= 1.2 * options.budget, "at {last}");
    }
}

/// A jump of the motion is refused, also where it is exactly between two segments.
#[test]
fn frames_do_not_smooth_authored_jumps() {
    let mut random = Random(13);
    let skeleton = random.skeleton(3);
    let times: Vec<f32> = (0..1500).map(|key| key as f32 / 30.0).collect();
    let swing = times.iter().flat_map(|t| {
        let half = 0.4 * (2.0 * t).sin();
        product(skeleton.rest().get(1).rotation, [half.sin(), 0.0, 0.0, half.cos()])
    });
    let swing = Track {
        target: Target::Rotation(1),
        interpolation: Interpolation::Linear,
        timeline: 0,
        values: swing.collect(),
    };
    let with_step = |frame: usize| {
        let step = Track {
            target: Target::Translation(0),
            interpolation: Interpolation::Step,
            timeline: 1,
            values: vec![0.0, 0.0, 0.0, 1.0, 0.0, 0.0],
        };
        let timelines = vec![times.clone(), vec![times[0], times[frame]]];
        let raw = RawClip::new("step".into(), timelines, vec![swing.clone(), step]).expect("a clip");
        let options = EncodeOptions::new(1e-3, Shell::Balls(0.03));
        encode(&raw, &skeleton, &options, &mut |_| ()).expect("a clip").into_clip()
    };
    let mut between_segments = 0;
    for [_, next] in with_step(1).view().seams().collect::<Vec<_>>() {
        let frame = (next * 30.0).round() as usize;
        let clip = with_step(frame);
        between_segments += clip.view().seams().filter(|seam| seam[1] == times[frame]).count();
        let refused = clip.to_frames(&skeleton, &FramesOptions::new(&skeleton, 1e-3, 0.03));
        assert!(matches!(refused, Err(Error::OverBudget { .. })), "frame {frame}: {refused:?}");
    }
    assert!(between_segments > 0);
}
