//! Arbitrary bytes as a clip, and encoded clips with a few bytes replaced and with valid lengths and
//! checksums.
#![no_main]

use std::sync::OnceLock;

use arbitrary::{Result, Unstructured};
use condyle::container::checksum;
use condyle::frames::FramesOptions;
use condyle::motion::RootMotionOptions;
use condyle::play::Event;
use condyle::{
    Affine, Clip, FrameLayer, Interpolation, Joint, Looping, Pose, RawClip, Skeleton, Target, Track,
    Transform, local_to_model, sample, sample_frames, sampling,
};
use condyle_encode::encode;
use condyle_encode::{EncodeOptions, Shell};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    open(bytes);
    let mut repaired = bytes.to_vec();
    repair(&mut repaired);
    open(&repaired);
    static SEEDS: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    // If the input ends during an edit, the earlier edits still count.
    build(SEEDS.get_or_init(seeds), &mut Unstructured::new(bytes)).ok();
});

/// Writes the correct length and checksum.
fn repair(bytes: &mut [u8]) {
    if bytes.len() < 20 {
        return;
    }
    let length = (bytes.len() as u32).to_le_bytes();
    bytes[8..12].copy_from_slice(&length);
    let sum = checksum(&bytes[..12]) ^ checksum(&bytes[20..]);
    bytes[12..20].copy_from_slice(&sum.to_le_bytes());
}

fn skeleton(joints: usize) -> Skeleton {
    let joint = |index: usize| {
        Joint::new(
            "",
            index.checked_sub(1).map(|parent| parent as u16),
            Transform { translation: [0.0, 0.2, 0.0], ..Transform::IDENTITY },
        )
    };
    Skeleton::new((0..joints).map(joint)).expect("parents first")
}

/// Encoded clips with all kinds of curves and all optional parts.
fn seeds() -> Vec<Vec<u8>> {
    let times: Vec<f32> = (0..=20).map(|frame| frame as f32 / 30.0).collect();
    let wave = |rate: f32| times.iter().map(|t| (rate * t).sin()).collect::<Vec<_>>();
    let linear = |target, values| Track { target, interpolation: Interpolation::Linear, timeline: 0, values };
    let turns =
        |rate| wave(rate).iter().flat_map(|s| [*s / 2.0, 0.0, 0.0, (1.0 - s * s / 4.0).sqrt()]).collect();
    let moves = |rate| wave(rate).iter().flat_map(|s| [*s, s * 0.5, 1.0]).collect();
    let mut steps = linear(Target::Translation(2), moves(9.0));
    steps.interpolation = Interpolation::Step;
    let tracks = vec![
        linear(Target::Rotation(0), turns(3.0)),
        linear(Target::Rotation(1), turns(80.0)),
        linear(Target::Rotation(2), turns(0.0)),
        linear(Target::Translation(0), moves(2.0)),
        linear(Target::Scale(2), moves(5.0)),
        linear(Target::Weights(1), moves(4.0)),
        linear(Target::Vector(2), wave(1.0)),
        steps,
    ];
    let skeleton = skeleton(3);
    let event = |seconds, name: &str| Event { seconds, name: name.into() };
    let mut seeds = Vec::new();
    for (motion, budget) in [(None, 1e-2), (Some(RootMotionOptions::default()), 1e-4)] {
        let clip = RawClip::new(String::new(), vec![times.clone()], tracks.clone()).expect("a clip");
        let events = vec![event(0.0, "left"), event(0.5, "größer")];
        let mut options = EncodeOptions::new(budget, Shell::Balls(0.03));
        (options.root_motion, options.events) = (motion, events);
        seeds.push(encode(&clip, &skeleton, &options, &mut |_| ()).expect("a clip").bytes().to_vec());
    }
    seeds
}

/// A seed with some values replaced.
fn build(seeds: &[Vec<u8>], input: &mut Unstructured<'_>) -> Result<()> {
    let mut bytes = input.choose(seeds)?.clone();
    for _ in 0..4 {
        if input.is_empty() || bytes.is_empty() {
            break;
        }
        // Half of the edits affect the header and the tables.
        let limit = if input.arbitrary()? { bytes.len().min(120) } else { bytes.len() };
        let at = input.choose_index(limit)?;
        match input.int_in_range(0..=9)? {
            0 => bytes.truncate(at),
            1 => bytes.extend_from_slice(input.arbitrary::<[u8; 4]>()?.as_slice()),
            2..=6 => bytes[at] = input.arbitrary()?,
            _ => {
                let number = input.arbitrary::<u32>()?.to_le_bytes();
                let count = number.len().min(bytes.len() - at);
                bytes[at..at + count].copy_from_slice(&number[..count]);
            }
        }
    }
    repair(&mut bytes);
    open(&bytes);
    Ok(())
}

/// Calls every function of a clip.
fn open(bytes: &[u8]) {
    let clip = match Clip::from_bytes(bytes) {
        Ok(clip) => clip,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let joints = clip.joint_count();
    // Limits the joints, because the cost depends on the pose, which may have any number of joints.
    let skeleton = skeleton(joints.min(600));
    let own = joints == skeleton.joint_count()
        && clip.fingerprint().is_none_or(|needed| needed == skeleton.fingerprint())
        && clip.rest_fingerprint().is_none_or(|needed| needed == skeleton.rest_fingerprint());
    let mut pose = Pose::rest(&skeleton);
    let wanted: Vec<bool> = (0..skeleton.joint_count()).map(|joint| joint % 3 != 0).collect();
    for part in [0.0, 0.25, 0.6, 1.0, 1.5] {
        let seconds = clip.start() + part * clip.duration();
        let seconds = if seconds.is_finite() { seconds } else { clip.end() };
        let sampled = sample(&clip, &skeleton, seconds, &mut pose);
        assert_eq!(sampled.is_ok(), own);
        if joints > 0 && sampled.is_ok() {
            let one = sampling::joint(&clip, &skeleton, seconds, joints as u16 - 1).expect("the last one");
            let all = pose.get(joints - 1);
            // Compares text, because authored values may be NaN.
            assert_eq!(format!("{one:?}"), format!("{all:?}"));
        }
        sampling::partial(&clip, &skeleton, seconds, &wanted, &mut pose).ok();
        let mut all = vec![0.0; clip.free_tracks().map(|(_, width)| width).sum()];
        sampling::tracks(&clip, seconds, &mut all).expect("the sizes agree");
        let mut all = &all[..];
        for (at, (target, width)) in clip.free_tracks().take(20).enumerate() {
            let mut one = vec![0.0; width];
            let found = sampling::track(&clip, target, seconds, &mut one);
            let own = all.split_off(..width).expect("the numbers of all free tracks");
            // Checks only the first track of a target, because targets may repeat. Compares text because of
            // NaN.
            if clip.free_tracks().position(|(other, _)| other == target) == Some(at) {
                assert_eq!(found, Ok(true));
                assert_eq!(format!("{one:?}"), format!("{own:?}"));
            }
        }
        assert!(clip.motion_at(seconds).translation.iter().all(|v| v.is_finite()));
    }
    assert!(clip.motion_over(Looping::Wrap, -1.0, 1e9).is_ok());
    // The time to unpack a clip is proportional to joints, frames and seconds.
    let joints = skeleton.joint_count();
    if own && joints * clip.frame_count() < 1000 && clip.duration() * (joints as f64) < 500.0 {
        unpack(&clip, &skeleton);
    }
    assert_eq!(clip.events().as_slice().len(), clip.event_count());
}

/// Frames are within their budget of the clip, or are refused.
fn unpack(clip: &Clip<'_>, skeleton: &Skeleton) {
    let options = FramesOptions::new(skeleton, 0.1, 0.0);
    let Ok(frames) = clip.to_frames(skeleton, &options) else { return };
    assert!(frames.error() <= options.budget);
    let [mut want, mut got] = [Pose::rest(skeleton), Pose::rest(skeleton)];
    sample(clip, skeleton, clip.start(), &mut want).expect("a valid time");
    sample_frames(skeleton, &[FrameLayer::new(&frames, clip.start(), 1.0)], &mut got).expect("a valid time");
    let mut models = [(); 2].map(|()| vec![Affine::IDENTITY; skeleton.joint_count()]);
    for (pose, model) in [&want, &got].into_iter().zip(&mut models) {
        local_to_model(skeleton, pose, model).expect("the sizes agree");
    }
    let translations = models[0].iter().flat_map(|model| model.rows.map(|row| row[3].abs()));
    let farthest = translations.fold(0.0, f32::max);
    for (want, got) in models[0].iter().zip(&models[1]) {
        for (want, got) in want.rows.iter().zip(&got.rows) {
            // Frames pass between segments. Model space is computed in f32.
            let (want, got) = (want[3], got[3]);
            let bound = options.budget + 2.0 * frames.seam_error() + 1e-4 * farthest;
            assert!((want - got).abs() <= bound, "{want} {got}");
        }
    }
}
