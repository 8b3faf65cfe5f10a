//! Fallback tracks with shared times, and with integer values.

use super::*;
use crate::clip::fallback::{IN_PART, SHARED, SHORTS, from_short, to_short};

#[test]
fn integers_are_the_nearest_to_a_number() {
    for (v, steps) in
        [(0.0, 0), (1.0, 32767), (-1.0, -32767), (2.0, 32767), (-2.0, -32767), (0.5, 16384), (-0.5, -16384)]
    {
        assert_eq!(to_short(v), steps, "{v}");
    }
    for steps in i16::MIN + 1..=i16::MAX {
        assert_eq!(to_short(from_short(steps).into()), steps);
    }
}

/// The owner of shared times stores them itself and has the same number of keys. Only rotations without
/// tangents are integers.
#[test]
fn times_are_shared_with_tracks_that_have_their_own() {
    let line = |bytes: &[u8], at: usize| {
        Clip::from_bytes(bytes).expect("a clip").header.fallback_tracks() + FALLBACK * at
    };
    let what = Made {
        joints: 20,
        frames: 4,
        segment_frames: 4,
        bits: 5,
        motion: false,
        fallback: true,
        in_part: true,
        free_widths: &[5],
    };
    let (mut sharers, mut shorts, mut unlikes) = (0, 0, 0);
    for seed in 0..20 {
        let good = made(&mut Random(seed), what);
        let clip = Clip::from_bytes(&good).expect("a clip");
        let codes: Vec<u8> = (0..clip.header.fallback_count).map(|at| good[line(&good, at) + 1]).collect();
        let refused = |change: &dyn Fn(&mut [u8])| {
            let mut bytes = good.clone();
            change(&mut bytes);
            repair(&mut bytes);
            Clip::from_bytes(&bytes).expect_err("a missing track").to_string()
        };
        for (at, &code) in codes.iter().enumerate() {
            let own = line(&good, at);
            if code & SHARED != 0 {
                let place = u32::from_le_bytes(*good[own + 12..].first_chunk().expect("a line")) as usize;
                let owner_at = place + if code & IN_PART != 0 { 8 } else { 0 };
                // Wrong owners: the track itself, later and missing tracks, earlier ones that share too, and
                // earlier ones with another number of keys.
                let sharing = (0..at).filter(|&at| codes[at] & SHARED != 0);
                let key_count = |at: usize| *good[line(&good, at) + 8..].first_chunk::<4>().expect("a line");
                let unlike =
                    (0..at).filter(|&other| codes[other] & SHARED == 0 && key_count(other) != key_count(at));
                unlikes += unlike.clone().count();
                let wrong = [at, at + 1, 1 << 20, u32::MAX as usize].into_iter().chain(sharing).chain(unlike);
                for owner in wrong {
                    let said = refused(&|bytes| {
                        bytes[owner_at..owner_at + 4].copy_from_slice(&(owner as u32).to_le_bytes());
                    });
                    assert!(said.contains("the same number of times itself"), "{at} {owner}: {said}");
                }
                sharers += 1;
            }
            if code & SHORTS != 0 {
                // Integers occur with linear and stepped rotations, not with splines or translations.
                assert!(good[own] == Kind::Rotation as u8 && code & 3 < 2, "{at}: {code}");
                let said = refused(&|bytes| bytes[own + 1] = code & !3 | 2);
                assert!(said.contains("rotations without tangents"), "{at}: {said}");
                shorts += 1;
            }
            assert!(!refused(&|bytes| bytes[own + 1] ^= SHORTS).is_empty(), "{at}");
            assert!(!refused(&|bytes| bytes[own + 1] |= 16).is_empty(), "{at}");
        }
    }
    assert!(sharers > 50 && shorts > 20 && unlikes > 50, "{sharers} {shorts} {unlikes}");
}
