use super::*;
use crate::testing::{Random, tries};
use proptest::prelude::*;
use std::format;

fn track(duration: f32, markers: &[(f32, &str)]) -> Result<SyncTrack, Error> {
    let marker = |&(seconds, name): &(f32, &str)| Event { seconds: seconds.into(), name: name.into() };
    SyncTrack::new(duration.into(), markers.iter().map(marker).collect())
}

/// Returns a random rotation of a cycle of names, repeated one to three times, with markers at random times.
fn random_track(random: &mut Random, cycle: &[&str]) -> SyncTrack {
    let duration = random.range(0.2, 4.0);
    let count = cycle.len() * (1 + random.below(3));
    let turn = random.below(cycle.len());
    // A minimum distance of markers bounds the errors.
    let mut times = vec![0_u16];
    while times.len() < count {
        times.insert(0, 1 + random.below(255) as u16);
        times.sort_unstable();
        times.dedup();
    }
    let shift = if random.below(3) == 0 { 0.0 } else { random.range(0.0, 1.0) };
    let times: Vec<f32> = times.iter().map(|&t| (f32::from(t) + shift) / 256.0 * duration).collect();
    let markers: Vec<_> =
        times.iter().enumerate().map(|(at, &t)| (t, cycle[(at + turn) % cycle.len()])).collect();
    track(duration, &markers).expect("within the clip")
}

const CYCLES: [&[&str]; 6] = [
    &["beat"],
    &["left", "right"],
    &["a", "b", "c"],
    &["a", "b", "b"],
    &["b", "a", "a", "a"],
    &["x", "y", "x", "z"],
];

/// Returns all markers of loops -40 to 40: the time of each, and its number from phase 0.
fn all_markers(duration: f64, markers: &[f64], cycle: &[&str], names: &[&str]) -> Vec<(f64, f64)> {
    // The first marker of loop 0 that begins the cycle.
    let begins = |at: usize| (0..cycle.len()).all(|k| names[(at + k) % names.len()] == cycle[k]);
    let first = (0..names.len()).find(|&at| begins(at)).expect("a cycle begins somewhere");
    let mut all = Vec::new();
    for number in -40..=40 {
        for (at, seconds) in markers.iter().enumerate() {
            let steps = number * markers.len() as i32 + at as i32 - first as i32;
            all.push((f64::from(number) * duration + seconds, f64::from(steps)));
        }
    }
    all
}

/// Linear interpolation in an ascending list of points.
fn between(points: impl Iterator<Item = (f64, f64)> + Clone, x: f64) -> f64 {
    let pair = points.clone().zip(points.skip(1)).find(|(a, b)| a.0 <= x && x < b.0);
    let (a, b) = pair.expect("far from both ends");
    a.1 + (b.1 - a.1) * (x - a.0) / (b.0 - a.0)
}

#[test]
fn a_cycle_is_the_shortest_row_that_repeats() {
    for (names, cycle, first) in [
        ("a", "a", 0),
        ("aaaa", "a", 0),
        ("ab", "ab", 0),
        ("ba", "ab", 1),
        ("baba", "ab", 1),
        ("aab", "aab", 0),
        ("aba", "aab", 2),
        ("abaab", "aabab", 2),
        ("cabcab", "abc", 1),
        ("bbabba", "abb", 2),
        ("xzxy", "xyxz", 2),
    ] {
        let names: Vec<String> = names.chars().map(String::from).collect();
        let markers: Vec<_> = names.iter().enumerate().map(|(at, name)| (at as f32, name.as_str())).collect();
        let track = track(names.len() as f32, &markers).expect("valid");
        assert_eq!((track.cycle.concat().as_str(), track.first), (cycle, first), "{names:?}");
        assert_eq!(track.cycle_count(), names.len() / cycle.len(), "{names:?}");
        // Compares with an exhaustive search.
        let turns = (0..cycle.len()).map(|at| format!("{}{}", &cycle[at..], &cycle[..at]));
        assert_eq!(turns.min().as_deref(), Some(cycle), "{names:?}");
    }
}

#[test]
fn bad_tracks_are_refused() {
    let out = |what, at, needed| Err(Error::OutOfRange { what, at, needed });
    assert_eq!(track(1.0, &[]), Err(Error::TooShort { what: "markers", found: 0, needed: 1 }));
    assert_eq!(track(0.0, &[(0.0, "a")]), out("duration", 0, "greater than 0"));
    assert_eq!(SyncTrack::even(0.0, 1), out("duration", 0, "greater than 0"));
    assert_eq!(SyncTrack::even(1.0, 0), out("cycles", 0, "at least 1"));
    assert_eq!(SyncTrack::even(f64::NAN, 1), Err(Error::NotFinite { what: "duration", at: 0 }));
    assert_eq!(track(1.0, &[(0.5, "a"), (1.5, "b")]), out("markers", 1, "within the clip"));
    assert_eq!(track(1.0, &[(f32::NAN, "a")]), Err(Error::NotFinite { what: "markers", at: 0 }));
    let shared = out("markers", 2, "at a different time than all others");
    assert_eq!(track(1.0, &[(0.0, "a"), (0.5, "b"), (1.0, "c")]), shared);
    assert_eq!(track(1.0, &[(-0.0, "a"), (0.5, "b"), (0.0, "c")]), shared);
}

#[test]
fn a_marker_at_the_end_is_one_at_the_start() {
    let same = track(2.0, &[(0.0, "a"), (0.5, "b")]);
    assert_eq!(track(2.0, &[(0.5, "b"), (2.0, "a")]), same);
    let event = |seconds, name: &str| Event { seconds, name: name.into() };
    let events =
        Events::new(2.0, std::vec![event(0.5, "b"), event(2.0, "a"), event(1.0, "noise")]).expect("within");
    assert_eq!(SyncTrack::from_events(&events, |e| e.name != "noise"), same);
}

#[test]
fn even_cycles_are_the_clock() {
    let track = SyncTrack::even(3.0, 6).expect("valid");
    assert_eq!((track.cycle_count(), track.cycle_seconds()), (6, 0.5));
    for (seconds, phase) in [(0.0, 0.0), (0.25, 0.5), (-0.25, -0.5), (3.0, 6.0), (7.5, 15.0)] {
        assert_eq!(track.phase(seconds), Ok(phase));
        assert_eq!(track.seconds(phase), Ok(seconds));
    }
}

#[test]
fn others_cannot_be_followed() {
    let [a, b] = [["left", "right"], ["left", "wrong"]]
        .map(|[x, y]| track(1.0, &[(0.0, x), (0.4, y)]).expect("valid"));
    let even = SyncTrack::even(1.0, 2).expect("valid");
    for other in [&b, &even] {
        assert_eq!(follow(&a, 0.0, other), Err(Error::MarkerOrder { what: "follower", at: 0 }));
        let refused = Err(Error::MarkerOrder { what: "layers", at: 1 });
        assert_eq!(sync_speed(&a, &[(&a, 1.0), (other, 0.0)]), refused);
    }
    for bad in [f64::NAN, f64::INFINITY] {
        assert_eq!(follow(&a, bad, &a), Err(Error::NotFinite { what: "seconds", at: 0 }));
        assert_eq!(a.phase(bad), Err(Error::NotFinite { what: "seconds", at: 0 }));
        assert_eq!(a.seconds(bad), Err(Error::NotFinite { what: "phase", at: 0 }));
        assert_eq!(sync_speed(&a, &[(&a, bad as f32)]), Err(Error::NotFinite { what: "layers", at: 0 }));
    }
    assert!(matches!(sync_speed(&a, &[(&a, -1.0)]), Err(Error::OutOfRange { .. })));
    assert_eq!(sync_speed(&a, &[]), Ok(1.0));
    assert_eq!(sync_speed(&a, &[(&a, 0.0)]), Ok(1.0));
}

#[test]
fn clocks_and_phases_of_any_size_stay_finite_and_in_order() {
    let huge = [-f64::MAX, -1e300, -1e20, -1e9, 0.0, 1e9, 1e20, 1e300, f64::MAX];
    let feet = track(1e-3, &[(1e-4, "b"), (5e-4, "a"), (7e-4, "a")]).expect("valid");
    // The number of markers in all loops overflows 64 bits.
    for track in [feet, SyncTrack::even(1e-3, u16::MAX).expect("valid")] {
        for pair in huge.windows(2) {
            let [a, b] = [pair[0], pair[1]].map(|t| track.phase(t).expect("finite"));
            assert!(a <= b && a.is_finite() && b.is_finite(), "{pair:?}: {a} {b}");
            let [a, b] = [pair[0], pair[1]].map(|t| track.seconds(t).expect("finite"));
            assert!(a <= b && a.is_finite() && b.is_finite(), "{pair:?}: {a} {b}");
        }
    }
}

/// If the leader is on a marker, the follower is on its marker, bit for bit.
#[test]
fn markers_meet_exactly() {
    let mut random = Random(6);
    for case in 0..tries(200) {
        let cycle = CYCLES[case % CYCLES.len()];
        let [leader, follower] = [(); 2].map(|()| random_track(&mut random, cycle));
        for (at, &seconds) in leader.markers.iter().enumerate() {
            let place = at as i64 - leader.first as i64 + follower.first as i64;
            let count = follower.markers.len() as i64;
            let marker = follower.markers[place.rem_euclid(count) as usize];
            let want = place.div_euclid(count) as f64 * follower.duration + marker;
            assert_eq!(follow(&leader, seconds, &follower), Ok(want), "case {case}, marker {at}");
        }
    }
}

/// Many frames of a blend with changing weights: the clips stay in phase, and advance by the cycle of the
/// blend.
#[test]
fn a_blend_advances_by_the_mean_cycle() {
    let mut random = Random(4);
    for case in 0..tries(100) {
        let cycle = CYCLES[case % CYCLES.len()];
        let tracks = [(); 3].map(|()| random_track(&mut random, cycle));
        let weights = [random.range(0.0, 1.0), random.range(0.0, 1.0), random.range(0.1, 1.0)];
        let layers: Vec<_> = tracks.iter().zip(weights).collect();
        let mean: f64 = layers.iter().map(|(t, w)| t.cycle_seconds() * f64::from(*w)).sum::<f64>()
            / weights.iter().map(|&w| f64::from(w)).sum::<f64>();
        // A whole number of cycles of the leader, in many small steps.
        let leader = &tracks[0];
        let speed = sync_speed(leader, &layers).expect("valid");
        let (steps, cycles) = (1000, 3 * leader.cycle_count());
        let start = f64::from(random.range(-3.0, 3.0));
        let mut clock = start;
        for _ in 0..steps {
            clock += speed * (mean * cycles as f64 / f64::from(steps));
        }
        for (at, follower) in tracks.iter().enumerate() {
            let [from, to] = [start, clock].map(|t| follow(leader, t, follower).expect("one cycle"));
            let phases = follower.phase(to).expect("finite") - follower.phase(from).expect("finite");
            assert!((phases - cycles as f64).abs() < 1e-9, "case {case}, clip {at}: {phases} of {cycles}");
        }
        let backward: Vec<_> = layers.iter().rev().copied().collect();
        assert_eq!(sync_speed(leader, &backward).map(f64::to_bits), Ok(speed.to_bits()), "case {case}");
        let alone = sync_speed(leader, &[(leader, weights[2]), (&tracks[1], 0.0)]).expect("valid");
        assert!((alone - 1.0).abs() < 1e-15, "case {case}: {alone}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: if cfg!(miri) { 1 } else { 2048 }, failure_persistence: None, ..Default::default() })]

    /// Compares with a list of all markers of all loops.
    #[test]
    fn phases_are_those_of_a_list_of_all_markers(seed in any::<u64>(), at in -6.0_f64..6.0, on_marker in any::<bool>()) {
        let mut random = Random(seed);
        let cycle = CYCLES[random.below(CYCLES.len())];
        let [leader, follower] = [(); 2].map(|()| random_track(&mut random, cycle));
        let lists = [&leader, &follower].map(|track| {
            let cycle: Vec<&str> = track.cycle.iter().map(String::as_str).collect();
            // The marker names of a loop, rotated back from the cycle.
            let names: Vec<&str> = (0..track.markers.len())
                .map(|at| cycle[(at + cycle.len() - track.first % cycle.len()) % cycle.len()])
                .collect();
            all_markers(track.duration, &track.markers, &cycle, &names)
        });
        let seconds = if on_marker { lists[0][lists[0].len() / 2 - 30 + random.below(60)].0 } else { at * leader.duration };
        let want = between(lists[0].iter().copied(), seconds);
        let phase = leader.phase(seconds).expect("finite") * cycle.len() as f64;
        // The slope changes at a marker, and rounding can select either side.
        prop_assert!((phase - want).abs() < 1e-9, "{} instead of {}", phase, want);
        let got = follow(&leader, seconds, &follower).expect("one cycle");
        let clock = between(lists[1].iter().map(|&(seconds, steps)| (steps, seconds)), want);
        prop_assert!((got - clock).abs() < 1e-8, "{} instead of {}", got, clock);
        // Back to the leader's clock.
        let back = follow(&follower, got, &leader).expect("one cycle");
        prop_assert!((back - seconds).abs() < 1e-8, "{} instead of {}", back, seconds);
        let back = leader.seconds(leader.phase(seconds).expect("finite")).expect("finite");
        prop_assert!((back - seconds).abs() < 1e-9, "{} instead of {}", back, seconds);
    }

    /// Neither the phase nor the follower's clock ever decreases.
    #[test]
    fn what_follows_never_turns_back(seed in any::<u64>(), a in -100.0_f64..100.0, step in prop_oneof![0.0_f64..1e-9, 0.0..0.1]) {
        let mut random = Random(seed);
        let cycle = CYCLES[random.below(CYCLES.len())];
        let [leader, follower] = [(); 2].map(|()| random_track(&mut random, cycle));
        let [first, later] = [a, a + step].map(|t| follow(&leader, t, &follower).expect("one cycle"));
        prop_assert!(first <= later + 1e-12, "{} {}", first, later);
    }
}
