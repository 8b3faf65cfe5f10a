//! Bytes that are not a valid clip.

use super::*;

#[test]
fn every_truncation_and_every_byte_too_many_is_refused() {
    for (joints, bytes) in seeds() {
        for length in 0..bytes.len() {
            let refused = Clip::from_bytes(&bytes[..length]).expect_err("cut short");
            let expected = matches!(refused, Error::Truncated { .. }) || length == 0;
            assert!(expected, "{joints} joints, {length} bytes: {refused}");
            // Repair length and checksum, so that the later checks are tested.
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

/// Repairs the checksum, so that the checks after it are tested.
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
        let refused = Err(Error::Version { what: "a clip", at: None, found: version, newest: 3 });
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
        (48, &[255; 4], "fallback tracks without end"),
        (56, &[0; 4], "a segment in the header"),
        (56, &[255; 4], "a segment after the clip"),
    ] {
        let refused = changed(at, with).expect_err(case);
        assert!(!refused.to_string().is_empty(), "{case}");
    }
    for length in 0..=4 {
        let refused = Clip::from_bytes(&b"CLIP"[..length]).expect_err("no clip");
        assert!(matches!(refused, Error::Truncated { needed: HEADER, .. }), "{length}: {refused}");
    }
}

/// If many segments could share a place, the same bytes would be checked many times.
#[test]
fn segments_may_not_share_their_bytes() {
    let what = Made {
        joints: 2,
        frames: 4,
        segment_frames: 1,
        bits: 4,
        motion: false,
        fallback: false,
        in_part: false,
        free_widths: &[],
    };
    let mut bytes = made(&mut Random(2), what);
    let first: [u8; 4] = bytes[HEADER..HEADER + 4].try_into().expect("four");
    bytes[HEADER + 4..HEADER + 8].copy_from_slice(&first);
    repair(&mut bytes);
    assert!(matches!(Clip::from_bytes(&bytes), Err(Error::Value { what: "segments", at: 1, .. })));
}

/// The limit on joints exists because a kernel reads two tracks from 16 bytes.
#[test]
fn joints_have_fewer_bits_than_the_root_motion_which_is_last() {
    let what = Made {
        joints: 5,
        frames: 4,
        segment_frames: 4,
        bits: 24,
        motion: true,
        fallback: false,
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
            // The width of the root motion's track is too large for a joint. If the index is invalid too,
            // that error would come first.
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

/// Otherwise the decoding time would not be bounded by the number of joints.
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
        fallback: true,
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
        let fallback: Vec<_> = clip.view().fallback_tracks().map(|track| track.target()).collect();
        assert!(
            fallback.is_sorted()
                && fallback.iter().all(|&(kind, index)| {
                    clip.view()
                        .fallback_of(kind.expect("a known kind"), index)
                        .is_some_and(|found| found.index == index)
                })
        );
        let line = clip.header.fallback_tracks();
        for at in 1..fallback.len() {
            let mut renamed = bytes.clone();
            let (before, own) = (line + FALLBACK * (at - 1), line + FALLBACK * at);
            if fallback[at].0 != fallback[at - 1].0 {
                continue;
            }
            renamed.copy_within(before + 4..before + 8, own + 4);
            repair(&mut renamed);
            let found = Clip::from_bytes(&renamed).expect_err("two fallback tracks of a joint");
            assert!(matches!(found, Error::Value { what: "fallback tracks", .. }), "{found}");
            twice += 1;
        }
    }
    assert!(twice > 100, "{twice}");
}

/// Free rotations have four numbers, and a fourth kind of free track does not exist.
#[test]
fn free_tracks_are_of_known_kinds() {
    let what = Made {
        joints: 1,
        frames: 3,
        segment_frames: 3,
        bits: 5,
        motion: false,
        fallback: false,
        in_part: false,
        free_widths: &[4, 1],
    };
    let good = made(&mut Random(9), what);
    let clip = Clip::from_bytes(&good).expect("a clip");
    assert!(clip.free_tracks().eq([(Target::FreeRotation(0), 4), (Target::Vector(1), 1)]));
    let line = clip.header.free_tracks();
    // The second track has one number, the first one four.
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

/// Returns the bytes of a clip with these chunks inserted after its header.
fn with_chunks(bytes: &[u8], chunks: &[u8]) -> Vec<u8> {
    let mut out = bytes[..HEADER].to_vec();
    out[6] |= 4;
    out.extend((chunks.len() as u32).to_le_bytes());
    out.extend(chunks);
    out.extend(&bytes[HEADER..]);
    let header = Header::read(bytes);
    let added = chunks.len() as u32 + 4;
    let places = (0..header.segment_count).map(|at| header.segments() + 4 * at);
    let fallback = (0..header.fallback_count).map(|at| header.fallback_tracks() + FALLBACK * at + 12);
    for place in places.chain(fallback).map(|place| place + added as usize) {
        let moved = condyle_base::bytes::u32_at(&out, place) + added;
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
        sample(&plain, &skeleton, seconds, &mut want).expect("sizes agree");
        for chunks in [&[][..], b"abcd\x03\0\0\0xyz", b"abcd\0\0\0\0efgh\x01\0\0\0!"] {
            let with = with_chunks(&bytes, chunks);
            let clip = Clip::from_bytes(&with).unwrap_or_else(|e| panic!("{joints} joints: {e}"));
            sample(&clip, &skeleton, seconds, &mut pose).expect("sizes agree");
            assert_eq!(pose, want, "{joints} joints, {chunks:?}");
        }
        for chunks in [&b"abc\xe4\0\0\0\0"[..], b"abcd", b"abcd\x04\0\0\0xyz"] {
            assert!(Clip::from_bytes(&with_chunks(&bytes, chunks)).is_err(), "{joints} joints, {chunks:?}");
        }
    }
}
