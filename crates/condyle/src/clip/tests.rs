mod authored;

use std::format;
use std::string::ToString;
use std::vec;
use std::vec::Vec;

use super::layout::{AUTHORED, HEADER, JOINT_BITS, OFFSET};
use super::*;
use crate::encode::made::{Made, made};
use crate::play::Looping;
use crate::pose::Pose;
use crate::sample::{self, sample};
use crate::skeleton::Skeleton;
use crate::testing::{Random, tries};

/// Puts in the length and the checksum that the bytes should have.
fn repair(bytes: &mut [u8]) {
    if bytes.len() >= HEADER {
        let length = (bytes.len() as u32).to_le_bytes();
        bytes[8..12].copy_from_slice(&length);
        let sum = Header::checksum(bytes).to_le_bytes();
        bytes[12..20].copy_from_slice(&sum);
    }
}

/// Small clips that hold all there is.
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
            authored: true,
            in_part: false,
            free_widths: &[5, 1],
        };
        seeds.push((joints, made(&mut random, what)));
    }
    // Indices of two bytes.
    let what = Made {
        joints: 256,
        frames: 2,
        segment_frames: 2,
        bits: 3,
        motion: true,
        authored: false,
        in_part: false,
        free_widths: &[],
    };
    seeds.push((256, made(&mut random, what)));
    seeds
}

/// Asks for everything; nothing may panic, and what curves give is finite.
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
        if clip.header.authored_count == 0 {
            let mut numbers = pose
                .transforms()
                .flat_map(|t| t.rotation.into_iter().chain(t.translation).chain(t.scale).collect::<Vec<_>>());
            assert!(numbers.all(f32::is_finite), "{case} at {seconds}");
        }
        let mask: Vec<bool> = (0..skeleton.joint_count()).map(|j| j % 2 == 0).collect();
        sample::partial(&clip, &skeleton, seconds, &mask, &mut pose).ok();
        let mut all = vec![0.0; clip.free_tracks().map(|(_, width)| width).sum()];
        sample::tracks(&clip, seconds, &mut all).expect("the sizes agree");
        let mut all = &all[..];
        for (at, (target, width)) in clip.free_tracks().enumerate() {
            let mut values = vec![0.0; width];
            let found = sample::track(&clip, target, seconds, &mut values);
            let (own, others) = all.split_at(width);
            all = others;
            // The first of two free tracks with one target is found. What is authored may not be a number.
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
    // Wherever it lies.
    let (_, bytes) = seeds().remove(0);
    for shift in 0..9 {
        let mut moved = vec![0xA5; shift];
        moved.extend(&bytes);
        assert!(play(&moved[shift..], &format!("{shift} bytes on")));
    }
}

#[test]
fn every_truncation_and_every_byte_too_many_is_refused() {
    for (joints, bytes) in seeds() {
        for length in 0..bytes.len() {
            let refused = Clip::from_bytes(&bytes[..length]).expect_err("cut short");
            let expected = matches!(refused, Error::Truncated { .. }) || length == 0;
            assert!(expected, "{joints} joints, {length} bytes: {refused}");
            // As if it were meant to be so short.
            let mut short = bytes[..length].to_vec();
            repair(&mut short);
            assert!(!play(&short, &format!("{joints} joints, {length} bytes")), "{joints}: {length}");
        }
        for more in [1, 2, 31, 32, 33, 1000] {
            let mut long = bytes.clone();
            long.resize(bytes.len() + more, 0);
            assert!(matches!(Clip::from_bytes(&long), Err(Error::Length { .. })), "{more} bytes more");
            repair(&mut long);
            assert!(!play(&long, "longer"), "{joints} joints, {more} bytes more");
        }
    }
}

/// With a checksum of the damaged bytes, so that the checks behind it are what is tested.
#[test]
fn every_bit_may_be_wrong() {
    for (joints, bytes) in seeds() {
        let mut accepted = 0;
        for at in (0..bytes.len()).step_by(if joints > 9 || cfg!(miri) { 7 } else { 1 }) {
            for bit in 0..8 {
                let mut wrong = bytes.clone();
                wrong[at] ^= 1 << bit;
                let case = format!("{joints} joints, byte {at}, bit {bit}");
                if !(8..12).contains(&at) {
                    assert!(Clip::from_bytes(&wrong).is_err(), "{case}: unseen");
                }
                repair(&mut wrong);
                accepted += usize::from(play(&wrong, &case));
            }
        }
        assert!(accepted > 100 || joints == 0 || cfg!(miri), "{joints} joints: {accepted} accepted");
    }
}

#[test]
fn any_numbers_may_stand_in_any_place() {
    let mut random = Random(11);
    for (joints, bytes) in seeds() {
        for round in 0..tries(6000) {
            let mut wrong = bytes.clone();
            for _ in 0..1 + random.below(4) {
                let limit = if round % 2 == 0 { HEADER.min(wrong.len()) } else { wrong.len() };
                let at = random.below(limit);
                let number = match random.below(5) {
                    0 => 0,
                    1 => u32::MAX,
                    2 => random.below(300) as u32,
                    3 => random.below(300) as u32 * 0x0101,
                    _ => random.bits() as u32,
                };
                let bytes = number.to_le_bytes();
                let count = [1, 2, 4][random.below(3)].min(wrong.len() - at);
                wrong[at..at + count].copy_from_slice(&bytes[..count]);
            }
            repair(&mut wrong);
            play(&wrong, &format!("{joints} joints, round {round}"));
        }
    }
}

#[test]
fn what_is_no_clip_is_refused_for_what_it_is() {
    let (_, bytes) = seeds().remove(0);
    let changed = |at: usize, with: &[u8]| {
        let mut wrong = bytes.clone();
        wrong[at..at + with.len()].copy_from_slice(with);
        repair(&mut wrong);
        Clip::from_bytes(&wrong).map(|_| ())
    };
    assert_eq!(changed(0, b"clip"), Err(Error::Magic { what: "a clip" }));
    assert_eq!(changed(0, b"C"), Ok(()));
    for version in [0, 1, 2, 4, u16::MAX] {
        let refused = Err(Error::Version { what: "a clip", found: version, newest: 3 });
        assert_eq!(changed(4, &version.to_le_bytes()), refused);
    }
    let mut damaged = bytes.clone();
    damaged[30] ^= 1;
    assert_eq!(Clip::from_bytes(&damaged), Err(Error::Checksum { what: "a clip", at: None }));
    for (at, with, case) in [
        (6, &[8, 0][..], "a flag that is not known"),
        (6, &[0, 128], "a flag that is not known"),
        (22, &[0, 0], "segments without frames"),
        (24, &[255; 4], "frames beyond the segments"),
        (32, &[0, 0, 192, 127], "a start that is NaN"),
        (36, &[0, 0, 128, 127], "an end that is infinite"),
        (36, &[0, 0, 0, 192], "an end before the start"),
        (44, &[255; 2], "free tracks without end"),
        (46, &[255; 2], "events without end"),
        (48, &[255; 4], "authored tracks without end"),
        (56, &[0; 4], "a segment in the header"),
        (56, &[255; 4], "a segment behind the clip"),
    ] {
        let refused = changed(at, with).expect_err(case);
        assert!(!refused.to_string().is_empty(), "{case}");
    }
    for length in 0..=4 {
        let refused = Clip::from_bytes(&b"CLIP"[..length]).expect_err("no clip");
        assert!(matches!(refused, Error::Truncated { needed: HEADER, .. }), "{length}: {refused}");
    }
}

/// Many segments in the same place would be checked as often as they are named.
#[test]
fn segments_may_not_share_their_bytes() {
    let what = Made {
        joints: 2,
        frames: 4,
        segment_frames: 1,
        bits: 4,
        motion: false,
        authored: false,
        in_part: false,
        free_widths: &[],
    };
    let mut bytes = made(&mut Random(2), what);
    let first: [u8; 4] = bytes[HEADER..HEADER + 4].try_into().expect("four");
    bytes[HEADER + 4..HEADER + 8].copy_from_slice(&first);
    repair(&mut bytes);
    assert!(matches!(Clip::from_bytes(&bytes), Err(Error::Value { what: "segments", at: 1, .. })));
}

/// A kernel reads two tracks from 16 bytes.
#[test]
fn joints_have_fewer_bits_than_the_root_motion_which_is_last() {
    let what = Made {
        joints: 5,
        frames: 4,
        segment_frames: 4,
        bits: 24,
        motion: true,
        authored: false,
        in_part: false,
        free_widths: &[],
    };
    let mut random = Random(5);
    let (mut wide, mut misplaced) = (0, 0);
    for _ in 0..50 {
        let bytes = made(&mut random, what);
        let clip = Clip::from_bytes(&bytes).expect("a clip");
        let segment = clip.view().segment(0);
        let start = bytes.len() - segment.bytes.len();
        for placed in segment.classes() {
            let last = placed.track + placed.class.count - 1;
            if segment.index(last) != 5 {
                continue;
            }
            // What the root motion has is too much for a joint; that this may be no place for one would be
            // said first.
            let mut renamed = bytes.clone();
            renamed[start + segment.record(last) + OFFSET - 1] = 4;
            repair(&mut renamed);
            if segment.widths(last).iter().any(|&bits| bits > JOINT_BITS) {
                let found = Clip::from_bytes(&renamed).expect_err("a joint of many bits");
                wide += usize::from(matches!(found, Error::Value { what: "widths", .. }));
            }
            if placed.class.count > 1 {
                misplaced += 1;
                renamed[start + segment.record(last - 1) + OFFSET - 1] = 5;
                repair(&mut renamed);
                let found = Clip::from_bytes(&renamed).expect_err("root motion in the middle");
                assert!(matches!(found, Error::Value { what: "tracks", .. }), "{found}");
            }
        }
    }
    assert!(wide > 10 && misplaced > 10, "{wide} {misplaced}");
}

/// Otherwise a decoder's time would not be in proportion to the joints.
#[test]
fn each_joint_has_one_track_of_a_kind() {
    let mut random = Random(6);
    let mut twice = 0;
    let what = Made {
        joints: 5,
        frames: 4,
        segment_frames: 4,
        bits: 9,
        motion: false,
        authored: true,
        in_part: false,
        free_widths: &[7],
    };
    for _ in 0..20 {
        let bytes = made(&mut random, what);
        let clip = Clip::from_bytes(&bytes).expect("a clip");
        let segment = clip.view().segment(0);
        let start = bytes.len() - segment.bytes.len();
        let tracks: Vec<(Kind, usize)> = segment
            .classes()
            .flat_map(|placed| {
                (placed.track..placed.track + placed.class.count).map(move |t| (placed.class.kind, t))
            })
            .collect();
        for &(kind, track) in &tracks {
            for &(_, before) in tracks.iter().filter(|(other, t)| *other == kind && *t < track) {
                let mut renamed = bytes.clone();
                renamed[start + segment.record(track) + OFFSET - 1] = segment.index(before) as u8;
                repair(&mut renamed);
                let found = Clip::from_bytes(&renamed).expect_err("two tracks of a joint");
                assert!(matches!(found, Error::Value { what: "tracks", .. }), "{found}");
                twice += 1;
            }
        }
        let authored: Vec<_> = clip.view().authored_tracks().map(|track| track.target()).collect();
        assert!(
            authored.is_sorted()
                && authored.iter().all(|&(kind, index)| {
                    clip.view()
                        .authored_of(kind.expect("a known kind"), index)
                        .is_some_and(|found| found.index == index)
                })
        );
        let line = clip.header.authored_tracks();
        for at in 1..authored.len() {
            let mut renamed = bytes.clone();
            let (before, own) = (line + AUTHORED * (at - 1), line + AUTHORED * at);
            if authored[at].0 != authored[at - 1].0 {
                continue;
            }
            renamed.copy_within(before + 4..before + 8, own + 4);
            repair(&mut renamed);
            let found = Clip::from_bytes(&renamed).expect_err("two authored tracks of a joint");
            assert!(matches!(found, Error::Value { what: "authored tracks", .. }), "{found}");
            twice += 1;
        }
    }
    assert!(twice > 100, "{twice}");
}

/// Free rotations have four numbers, and no free track is of a fourth kind.
#[test]
fn free_tracks_are_of_known_kinds() {
    let what = Made {
        joints: 1,
        frames: 3,
        segment_frames: 3,
        bits: 5,
        motion: false,
        authored: false,
        in_part: false,
        free_widths: &[4, 1],
    };
    let good = made(&mut Random(9), what);
    let clip = Clip::from_bytes(&good).expect("a clip");
    assert!(clip.free_tracks().eq([(Target::FreeRotation(0), 4), (Target::Vector(1), 1)]));
    let line = clip.header.free_tracks();
    // The second one has one number, the first one four.
    for (at, byte) in [(4, 3), (4, 5), (6, 3), (4, 0), (12, 0)] {
        let mut bytes = good.clone();
        bytes[line + at] = byte;
        repair(&mut bytes);
        let found = Clip::from_bytes(&bytes).expect_err("an unknown kind");
        assert!(
            matches!(found, Error::Value { what: "free tracks", at: found, .. } if found == at / 8),
            "{at}: {found}"
        );
    }
}

/// Clips can be kept anywhere and shared between threads, and one that owns its bytes is the one that borrows
/// them.
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
        sample(&owned, &skeleton, seconds, &mut one).expect("the sizes agree");
        sample(&borrowed, &skeleton, seconds, &mut other).expect("the sizes agree");
        assert_eq!(one, other, "{joints} joints");
        // A clone, and a clip that owned its bytes before, is a reference more to the same.
        let place = owned.as_bytes().as_ptr();
        assert_eq!(owned.clone().as_bytes().as_ptr(), place);
        assert_eq!(owned.into_owned().as_bytes().as_ptr(), place);
        assert_ne!(borrowed.clone().into_owned().as_bytes().as_ptr(), bytes.as_ptr());
        assert_eq!(borrowed.into_owned().as_bytes(), bytes);
        assert_eq!(Clip::from_owned(&bytes[1..]), Clip::from_bytes(&bytes[1..]), "no clip");
        let mut damaged = bytes.clone();
        damaged[30] ^= 1;
        let refused = Clip::from_owned(damaged).expect_err("damaged");
        assert_eq!(refused.to_string(), "a clip is damaged: its bytes are not those that were written");
    }
}

/// A line, however much it holds.
#[test]
fn what_is_printed_of_a_clip_is_short() {
    let mut random = Random(3);
    let what = Made {
        joints: 256,
        frames: 60,
        segment_frames: 20,
        bits: 9,
        motion: true,
        authored: true,
        in_part: false,
        free_widths: &[5, 1],
    };
    let bytes = made(&mut random, what);
    let clip = Clip::from_bytes(&bytes).expect("a clip");
    let raw = random.clip(256, 50);
    let container = crate::container::ContainerWriter::default().finish();
    let container = crate::container::Container::from_bytes(&container).expect("an empty one");
    let joints = vec![crate::math::Affine::IDENTITY; 256];
    let bound = crate::mesh::Skin::new((0..256).collect(), joints.clone()).expect("as many");
    let mut palette = crate::skin::Palette::default();
    crate::skin::palette(&bound, &joints, crate::skin::NormalRule::default(), &mut palette).expect("as many");
    let mut options = crate::encode::EncodeOptions::new(5e-4, crate::encode::Shell::Balls(0.03));
    options.effort = crate::encode::Effort::Fast;
    let still = RawClip::new("still".into(), vec![], vec![]).expect("valid");
    let encoded =
        crate::encode::encode(&still, &random.skeleton(256), &options, &mut |_| ()).expect("a clip");
    for (text, told) in [
        (std::format!("{palette:?}"), "matrices: 256".into()),
        (std::format!("{encoded:?}"), "joints: 256".into()),
        (std::format!("{:?}", encoded.measured), "error_max: 0.0".into()),
        (std::format!("{clip:?}"), std::format!("bytes: {}", bytes.len())),
        (std::format!("{:?}", clip.clone().into_owned()), "joints: 256".into()),
        (std::format!("{raw:?}"), std::format!("tracks: {}", raw.tracks().len())),
        (std::format!("{:?}", raw.tracks()[0]), std::format!("numbers: {}", raw.tracks()[0].values.len())),
        (std::format!("{container:?}"), "entries: 0".into()),
    ] {
        assert!(text.len() < 300 && text.contains(&told), "{text}");
    }
}

/// `seconds` of a sample count from the time of the keys, the clock from the clip's start.
#[test]
fn a_moment_is_in_the_time_of_the_keys() {
    let mut random = Random(8);
    let what = Made {
        joints: 2,
        frames: 5,
        segment_frames: 3,
        bits: 9,
        motion: true,
        authored: true,
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

/// The resident form takes memory of any kind, and goes where the clip goes.
#[test]
fn a_resident_clip_is_the_clip() {
    let mut random = Random(11);
    let what = Made {
        joints: 20,
        frames: 40,
        segment_frames: 16,
        bits: 18,
        motion: true,
        authored: true,
        in_part: false,
        free_widths: &[5, 1],
    };
    let bytes = made(&mut random, what);
    let clip = Clip::from_bytes(&bytes).expect("a clip");
    let size = clip.resident_size();
    let skeleton = random.skeleton(20);
    let poses = |clip: &Clip<'_>| -> Vec<Pose> {
        let pose = |part: u8| {
            let mut pose = Pose::identity(20);
            let seconds = clip.start() + clip.duration() * f64::from(part) / 7.0;
            sample(clip, &skeleton, seconds, &mut pose).expect("sizes agree");
            pose
        };
        (0..8).map(pose).collect()
    };
    let want = poses(&clip);

    let mut short = vec![7; size - 1];
    let refused = clip.resident(&mut short).err();
    assert_eq!(refused, Some(Error::TooShort { what: "memory", found: size - 1, needed: size }));
    assert!(short.iter().all(|&byte| byte == 7));

    // More than is needed, at any place; what is behind stays.
    let mut memory = vec![7; size + 9];
    for at in [0, 1, 6] {
        let resident = clip.resident(&mut memory[at..]).expect("it fits");
        assert!(resident.is_resident() && !clip.is_resident());
        assert!(poses(&resident) == want && resident == clip, "at {at}");
        assert_eq!(resident.as_bytes(), clip.as_bytes());
        let again = resident.clone().into_resident().expect("it fits");
        let place = |clip: &Clip<'_>| clip.view().resident.as_ptr();
        assert_ne!(place(&again), place(&resident), "memory of its own");
        assert_eq!(place(&again.clone().into_resident().expect("it fits")), place(&again), "but once");
        let owned = resident.into_owned();
        assert!(owned.is_resident() && poses(&owned) == want && poses(&again) == want);
        assert_eq!(owned.motion_at(0.1), clip.motion_at(0.1));
    }
    assert_eq!(memory[size + 6..], [7; 3]);

    // Nobody has to fear a file for what it would take: a key of one bit takes 48 bytes.
    for (_, bytes) in seeds() {
        let size = Clip::from_bytes(&bytes).expect("a clip").resident_size();
        assert!(size <= 64 * bytes.len(), "{size} bytes for {}", bytes.len());
    }
}

/// A clip is for one skeleton: with another one of as many joints it is refused, whichever form it has.
#[test]
fn a_clip_of_another_skeleton_is_refused() {
    let mut random = Random(3);
    let (skeleton, other) = (random.skeleton(6), random.skeleton(6));
    let raw = random.smooth_clip(&skeleton, 20);
    assert_eq!(raw.fingerprint(), None);
    let options = crate::encode::EncodeOptions::new(1e-3, crate::encode::Shell::Balls(0.03));
    let encoded = crate::encode::encode(&raw, &skeleton, &options, &mut |_| ()).expect("a clip");
    let packed = encoded.into_clip();
    assert_eq!(packed.fingerprint(), Some(skeleton.fingerprint()));
    let [found, needed] = [&skeleton, &other].map(Skeleton::fingerprint);
    assert_ne!(found, needed, "names or parents differ");
    let refused = Error::Skeleton { what: "the clip", found, needed };
    let mut pose = Pose::rest(&other);
    for clip in [packed.clone(), packed.into_resident().expect("memory")] {
        assert_eq!(sample(&clip, &other, 0.1, &mut pose), Err(refused.clone()));
        let at = [sample::ClipAt::new(&clip, 0.1)];
        assert_eq!(sample::crowd(&at, &other, core::slice::from_mut(&mut pose)), Err(refused.clone()));
        assert_eq!(sample(&clip, &skeleton, 0.1, &mut pose), Ok(()));
    }
    let bound = raw.for_skeleton(&skeleton).expect("its own");
    let mut cursor = sample::RawCursor::default();
    assert_eq!(sample::raw(&bound, &other, 0.1, &mut cursor, &mut pose), Err(refused.clone()));
    assert_eq!(crate::encode::encode(&bound, &other, &options, &mut |_| ()).err(), Some(refused.clone()));
    assert_eq!(bound.clone().for_skeleton(&other), Err(refused.clone()));
    let extracted = crate::motion::extract(&bound, &other, &crate::motion::RootMotionOptions::default());
    assert_eq!(extracted.err(), Some(refused));
}

/// Curves are relative to the rest pose: on another one, every joint would be somewhere else.
#[test]
fn a_clip_of_another_rest_pose_is_refused() {
    let mut random = Random(3);
    let skeleton = random.skeleton(6);
    let raw = random.smooth_clip(&skeleton, 20);
    let options = crate::encode::EncodeOptions::new(1e-3, crate::encode::Shell::Balls(0.03));
    let packed = crate::encode::encode(&raw, &skeleton, &options, &mut |_| ()).expect("a clip").into_clip();
    let longer = |t: crate::math::Transform| crate::math::Transform {
        translation: t.translation.map(|v| 1.5 * v),
        ..t
    };
    let taller: Vec<_> = skeleton.rest().transforms().map(longer).collect();
    let other = skeleton.with_rest(&Pose::from_transforms(&taller)).expect("it fits");
    assert_eq!(other.fingerprint(), skeleton.fingerprint());
    assert_eq!(packed.rest_fingerprint(), Some(skeleton.rest_fingerprint()));
    let [found, needed] = [&skeleton, &other].map(Skeleton::rest_fingerprint);
    let refused = Err(Error::RestPose { what: "the clip", found, needed });
    let mut pose = Pose::rest(&other);
    assert_eq!(sample(&packed, &other, 0.1, &mut pose), refused);
    assert_eq!(sample(&packed, &skeleton, 0.1, &mut pose), Ok(()));
    // Whole transforms play on any rest pose.
    let mut cursor = sample::RawCursor::default();
    assert_eq!(sample::raw(&raw, &other, 0.1, &mut cursor, &mut pose), Ok(()));
}

/// The bytes of a clip with these chunks after its header.
fn with_chunks(bytes: &[u8], chunks: &[u8]) -> Vec<u8> {
    let mut out = bytes[..HEADER].to_vec();
    out[6] |= 4;
    out.extend((chunks.len() as u32).to_le_bytes());
    out.extend(chunks);
    out.extend(&bytes[HEADER..]);
    let header = Header::read(bytes);
    let added = chunks.len() as u32 + 4;
    let places = (0..header.segment_count).map(|at| header.segments() + 4 * at);
    let authored = (0..header.authored_count).map(|at| header.authored_tracks() + AUTHORED * at + 12);
    for place in places.chain(authored).map(|place| place + added as usize) {
        let moved = crate::bytes::u32_at(&out, place) + added;
        out[place..place + 4].copy_from_slice(&moved.to_le_bytes());
    }
    repair(&mut out);
    out
}

#[test]
fn chunks_are_passed_over_unless_they_are_required() {
    for (joints, bytes) in seeds() {
        let plain = Clip::from_bytes(&bytes).expect("a clip");
        let skeleton = Random(1).skeleton(joints);
        let [mut pose, mut want] = [Pose::identity(joints), Pose::identity(joints)];
        let seconds = 0.3 * plain.start() + 0.7 * plain.end();
        sample(&plain, &skeleton, seconds, &mut want).expect("the sizes agree");
        for chunks in [&[][..], b"abcd\x03\0\0\0xyz", b"abcd\0\0\0\0efgh\x01\0\0\0!"] {
            let with = with_chunks(&bytes, chunks);
            let clip = Clip::from_bytes(&with).unwrap_or_else(|e| panic!("{joints} joints: {e}"));
            sample(&clip, &skeleton, seconds, &mut pose).expect("the sizes agree");
            assert_eq!(pose, want, "{joints} joints, {chunks:?}");
        }
        for chunks in [&b"abc\xe4\0\0\0\0"[..], b"abcd", b"abcd\x04\0\0\0xyz"] {
            assert!(Clip::from_bytes(&with_chunks(&bytes, chunks)).is_err(), "{joints} joints, {chunks:?}");
        }
    }
}

/// Rows without bits take no bytes: 65,535 intervals of each of many tracks would be gigabytes where keys are unpacked.
#[test]
fn a_clip_has_keys_in_proportion_to_its_bytes() {
    // A skeleton of many joints, each of which turns: one class of tracks with bits.
    let skeleton = Random(2).skeleton(300);
    let raw = Random(2).smooth_clip(&skeleton, 9);
    let options = crate::encode::EncodeOptions::new(1e-3, crate::encode::Shell::Balls(0.03));
    let bytes =
        crate::encode::encode(&raw, &skeleton, &options, &mut |_| ()).expect("a clip").bytes().to_vec();
    let header = Header::read(&bytes);
    let segment = crate::bytes::u32_at(&bytes, header.segments()) as usize;
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
