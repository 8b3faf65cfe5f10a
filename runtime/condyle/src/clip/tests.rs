mod broken;
mod fallback;
pub(crate) mod made;

use std::format;
use std::string::ToString;
use std::vec;
use std::vec::Vec;

use super::layout::{FALLBACK, HEADER, JOINT_BITS, OFFSET};
use super::*;
use crate::clip::tests::made::{Made, made};
use crate::play::Looping;
use crate::pose::Pose;
use crate::sampling::{self, sample};
use crate::skeleton::Skeleton;
use crate::testing::{Random, tries};

/// Stores the correct length and checksum in the bytes.
fn repair(bytes: &mut [u8]) {
    if bytes.len() >= HEADER {
        let length = (bytes.len() as u32).to_le_bytes();
        bytes[8..12].copy_from_slice(&length);
        let sum = Header::checksum(bytes).to_le_bytes();
        bytes[12..20].copy_from_slice(&sum);
    }
}

/// Returns small clips that together use every feature.
fn seeds() -> Vec<(usize, Vec<u8>)> {
    let mut random = Random(5);
    let mut seeds = Vec::new();
    for (joints, frames, segment_frames, motion) in
        [(2, 5, 3, true), (3, 0, 1, false), (0, 2, 2, false), (1, 9, 9, true)]
    {
        let what = Made {
            joints,
            frames,
            segment_frames,
            bits: 9,
            motion,
            fallback: true,
            in_part: false,
            free_widths: &[5, 1],
        };
        seeds.push((joints, made(&mut random, what)));
    }
    // Two-byte indices.
    let what = Made {
        joints: 256,
        frames: 2,
        segment_frames: 2,
        bits: 3,
        motion: true,
        fallback: false,
        in_part: false,
        free_widths: &[],
    };
    seeds.push((256, made(&mut random, what)));
    seeds
}

/// Reads everything from a clip. Nothing may panic, and curves must give finite values.
fn play(bytes: &[u8], case: &str) -> bool {
    let Ok(clip) = Clip::from_bytes(bytes) else { return false };
    let joints = clip.joint_count();
    let skeleton = if joints > 1000 { Skeleton::new([]).expect("none") } else { Random(1).skeleton(joints) };
    let mut pose = Pose::identity(skeleton.joint_count());
    let (start, end) = (clip.start(), clip.end());
    for part in [0.0, 0.1, 0.37, 0.5, 0.99, 1.0, -1.0, 2.0] {
        let seconds = start + part * (end - start);
        let seconds = if seconds.is_finite() { seconds } else { 0.0 };
        let sampled = sample(&clip, &skeleton, seconds, &mut pose);
        let fits = joints == skeleton.joint_count()
            && clip.fingerprint().is_none_or(|of| of == skeleton.fingerprint())
            && clip.rest_fingerprint().is_none_or(|of| of == skeleton.rest_fingerprint());
        assert_eq!(sampled.is_ok(), fits, "{case}: {sampled:?}");
        if clip.header.fallback_count == 0 {
            let mut numbers = pose
                .transforms()
                .flat_map(|t| t.rotation.into_iter().chain(t.translation).chain(t.scale).collect::<Vec<_>>());
            assert!(numbers.all(f32::is_finite), "{case} at {seconds}");
        }
        let mask: Vec<bool> = (0..skeleton.joint_count()).map(|j| j % 2 == 0).collect();
        sampling::partial(&clip, &skeleton, seconds, &mask, &mut pose).ok();
        let mut all = vec![0.0; clip.free_tracks().map(|(_, width)| width).sum()];
        sampling::tracks(&clip, seconds, &mut all).expect("sizes agree");
        let mut all = &all[..];
        for (at, (target, width)) in clip.free_tracks().enumerate() {
            let mut values = vec![0.0; width];
            let found = sampling::track(&clip, target, seconds, &mut values);
            let (own, others) = all.split_at(width);
            all = others;
            // With two free tracks for one target, the first is found. Authored values may be NaN, so compare
            // bits.
            if clip.free_tracks().position(|(other, _)| other == target) == Some(at) {
                assert_eq!(found, Ok(true), "{case}");
                let bits = |values: &[f32]| values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
                assert_eq!(bits(&values), bits(own), "{case}: {target:?}");
            }
        }
        assert!(clip.motion_at(seconds).is_finite(), "{case} at {seconds}");
    }
    assert!(clip.motion_over(Looping::Wrap, -1.5, 1e9).is_ok(), "{case}");
    assert_eq!(clip.events().as_slice().len(), clip.event_count(), "{case}");
    assert!(clip.rate() >= 0.0 && clip.frame_count() <= u32::MAX as usize, "{case}");
    true
}

#[test]
fn what_is_written_is_accepted_and_says_what_it_is() {
    for (joints, bytes) in seeds() {
        assert!(play(&bytes, &format!("{joints} joints")), "{:?}", Clip::from_bytes(&bytes));
        let clip = Clip::from_bytes(&bytes).expect("a clip");
        assert_eq!((clip.joint_count(), clip.as_bytes().len()), (joints, bytes.len()));
        assert!(clip.duration() >= 0.0 && clip.budget() == 1e-3);
        assert_eq!(clip.event(clip.event_count()), None);
    }
    // At any alignment.
    let (_, bytes) = seeds().remove(0);
    for shift in 0..9 {
        let mut moved = vec![0xA5; shift];
        moved.extend(&bytes);
        assert!(play(&moved[shift..], &format!("{shift} bytes on")));
    }
}

/// Clips are `'static` and can be shared between threads. A clip that owns its bytes equals the clip that
/// borrows them.
#[test]
fn a_clip_may_own_its_bytes() {
    fn shared<T: Send + Sync + Clone + 'static>(_: &T) {}
    for (joints, bytes) in seeds() {
        let owned = Clip::from_owned(bytes.clone()).expect("a clip");
        shared(&owned);
        let borrowed = Clip::from_bytes(&bytes).expect("a clip");
        assert_eq!(owned, borrowed, "{joints} joints");
        let skeleton = Random(1).skeleton(joints);
        let [mut one, mut other] = [Pose::identity(joints), Pose::identity(joints)];
        let seconds = 0.3 * borrowed.start() + 0.7 * borrowed.end();
        sample(&owned, &skeleton, seconds, &mut one).expect("sizes agree");
        sample(&borrowed, &skeleton, seconds, &mut other).expect("sizes agree");
        assert_eq!(one, other, "{joints} joints");
        // A clone, and `into_owned` of an owned clip, share the same bytes.
        let place = owned.as_bytes().as_ptr();
        assert_eq!(owned.clone().as_bytes().as_ptr(), place);
        assert_eq!(owned.into_owned().as_bytes().as_ptr(), place);
        assert_ne!(borrowed.clone().into_owned().as_bytes().as_ptr(), bytes.as_ptr());
        assert_eq!(borrowed.into_owned().as_bytes(), bytes);
        assert_eq!(Clip::from_owned(&bytes[1..]), Clip::from_bytes(&bytes[1..]), "no clip");
        let mut damaged = bytes.clone();
        damaged[30] ^= 1;
        let refused = Clip::from_owned(damaged).expect_err("damaged");
        assert_eq!(refused.to_string(), "a clip is damaged: its bytes do not match its checksum");
    }
}

/// Debug output is one short line, for any amount of data.
#[test]
fn what_is_printed_of_a_clip_is_short() {
    let mut random = Random(3);
    let what = Made {
        joints: 256,
        frames: 60,
        segment_frames: 20,
        bits: 9,
        motion: true,
        fallback: true,
        in_part: false,
        free_widths: &[5, 1],
    };
    let bytes = made(&mut random, what);
    let clip = Clip::from_bytes(&bytes).expect("a clip");
    let raw = random.clip(256, 50);
    let container = crate::container::ContainerWriter::default().finish();
    let container = crate::container::Container::from_bytes(&container).expect("an empty one");
    let joints = vec![condyle_base::math::Affine::IDENTITY; 256];
    let bound = crate::mesh::Skin::new((0..256).collect(), joints.clone()).expect("as many");
    let mut palette = crate::skinning::Palette::default();
    crate::skinning::palette(&bound, &joints, crate::skinning::NormalRule::default(), &mut palette)
        .expect("as many");
    for (text, told) in [
        (std::format!("{palette:?}"), "matrices: 256".into()),
        (std::format!("{clip:?}"), std::format!("bytes: {}", bytes.len())),
        (std::format!("{:?}", clip.clone().into_owned()), "joints: 256".into()),
        (std::format!("{raw:?}"), std::format!("tracks: {}", raw.tracks().len())),
        (std::format!("{:?}", raw.tracks()[0]), std::format!("numbers: {}", raw.tracks()[0].values.len())),
        (std::format!("{container:?}"), "entries: 0".into()),
    ] {
        assert!(text.len() < 300 && text.contains(&told), "{text}");
    }
}

/// The times of `sample` are key times; the clock counts from the start of the clip.
#[test]
fn a_moment_is_in_the_time_of_the_keys() {
    let mut random = Random(8);
    let what = Made {
        joints: 2,
        frames: 5,
        segment_frames: 3,
        bits: 9,
        motion: true,
        fallback: true,
        in_part: false,
        free_widths: &[],
    };
    let bytes = made(&mut random, what);
    let clip = Clip::from_bytes(&bytes).expect("a clip");
    let (start, end, duration) = (clip.start(), clip.end(), clip.duration());
    assert_eq!(clip.moment(Looping::Clamp, -1.0), Ok(start));
    assert_eq!(clip.moment(Looping::Clamp, 2.0 * duration), Ok(end));
    assert_eq!(clip.moment(Looping::Wrap, 3.0 * duration), Ok(start));
    let raw = RawClip::new(
        "late".into(),
        vec![vec![3.0, 5.0]],
        vec![Track {
            target: Target::Vector(0),
            interpolation: Interpolation::Linear,
            timeline: 0,
            values: vec![0.0, 1.0],
        }],
    )
    .expect("valid");
    assert_eq!(raw.moment(Looping::Wrap, 4.5), Ok(3.5));
    assert_eq!(raw.moment(Looping::Clamp, 4.5), Ok(5.0));
    assert!(raw.moment(Looping::Clamp, f64::NAN).is_err());
}
