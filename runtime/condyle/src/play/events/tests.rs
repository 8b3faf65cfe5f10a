use super::*;
use proptest::prelude::*;
use std::{format, vec};

/// Events named by their index.
fn events(duration: f32, times: &[f32]) -> Events {
    let event = |(at, &seconds): (usize, &f32)| Event { seconds: seconds.into(), name: format!("{at}") };
    Events::new(duration.into(), times.iter().enumerate().map(event).collect()).expect("within the clip")
}

/// Names and loops of the passed events.
fn passed(events: &Events, looping: Looping, from: impl Into<Head>, to: impl Into<Head>) -> Vec<(&str, i64)> {
    let passed = events.passed(looping, from, to).expect("finite");
    passed.map(|p| (p.name, p.loops)).collect()
}

#[test]
fn events_are_sorted_and_those_of_one_time_keep_their_order() {
    let sorted = events(1.0, &[1.0, 0.5, 0.0, 0.5, -0.0, 1.0]);
    let names: Vec<&str> = sorted.as_slice().iter().map(|e| e.name.as_str()).collect();
    assert_eq!(names, ["2", "4", "1", "3", "0", "5"]);
    assert_eq!(sorted.duration(), 1.0);
}

#[test]
fn events_outside_of_the_clip_are_refused() {
    let with = |seconds| {
        let event = |seconds| Event { seconds, name: String::new() };
        Events::new(1.0, vec![event(0.5), event(seconds)]).map(|e| e.as_slice().len())
    };
    for bad in [-0.1, 1.0_f32.next_up(), f32::MAX] {
        let refused = Error::OutOfRange { what: "events", at: 1, needed: "within the clip" };
        assert_eq!(with(bad.into()), Err(refused), "{bad}");
    }
    for bad in [f32::NAN, f32::INFINITY] {
        assert_eq!(with(bad.into()), Err(Error::NotFinite { what: "events", at: 1 }), "{bad}");
    }
    assert_eq!(with(1.0), Ok(2));
    assert!(Events::new(f64::NAN, vec![]).is_err() && Events::new(-1.0, vec![]).is_err());
}

#[test]
fn the_start_is_passed_only_from_before_it() {
    let events = events(1.0, &[0.0, 1.0]);
    for looping in [Looping::Clamp, Looping::Wrap] {
        assert_eq!(passed(&events, looping, Head::before(0.0), 0.5), [("0", 0)], "{looping:?}");
        assert_eq!(passed(&events, looping, 0.0, 0.5), [], "{looping:?}");
        assert_eq!(passed(&events, looping, 0.5, Head::before(0.0)), [("0", 0)], "{looping:?}, back");
        assert_eq!(passed(&events, looping, 0.5, 0.0), [], "{looping:?}, back");
        assert_eq!(passed(&events, looping, Head::before(0.0), 0.0), [("0", 0)], "{looping:?}, nowhere");
        assert_eq!(passed(&events, looping, 0.0, 0.0), [], "{looping:?}, nowhere");
    }
}

/// The order is: end of a loop, seam, start of the next loop.
#[test]
fn both_sides_of_the_seam_are_passed_in_order() {
    let events = events(1.0, &[0.0, 1.0]);
    assert_eq!(passed(&events, Looping::Wrap, 0.5, 1.0), [("1", 0), ("0", 1)]);
    assert_eq!(passed(&events, Looping::Wrap, 1.5, 0.5), [("0", 1), ("1", 0)]);
    assert_eq!(passed(&events, Looping::Wrap, 0.5, Head::before(1.0)), [("1", 0)]);
    assert_eq!(passed(&events, Looping::Wrap, -0.5, 0.5), [("1", -1), ("0", 0)]);
    assert_eq!(passed(&events, Looping::Clamp, 0.5, 1.5), [("1", 0)]);
    assert_eq!(passed(&events, Looping::Clamp, -0.5, 7.5), [("0", 0), ("1", 0)]);
    assert_eq!(passed(&events, Looping::Clamp, 7.5, -0.5), [("1", 0), ("0", 0)]);
}

#[test]
fn a_clip_of_no_length_is_played_once() {
    let events = events(0.0, &[0.0, 0.0]);
    for looping in [Looping::Clamp, Looping::Wrap] {
        assert_eq!(passed(&events, looping, -1e9, 1e9), [("0", 0), ("1", 0)], "{looping:?}");
        assert_eq!(passed(&events, looping, Head::before(0.0), 0.1), [("0", 0), ("1", 0)], "{looping:?}");
        assert_eq!(passed(&events, looping, 0.1, -0.1), [("1", 0), ("0", 0)], "{looping:?}");
        assert_eq!(passed(&events, looping, 0.1, 1e9), [], "{looping:?}");
    }
}

#[test]
fn no_events_and_no_numbers() {
    let none = events(1.0, &[]);
    assert_eq!(passed(&none, Looping::Wrap, -1e300, 1e300), []);
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        for looping in [Looping::Clamp, Looping::Wrap] {
            let refused = Some(Error::NotFinite { what: "seconds", at: 0 });
            assert_eq!(none.passed(looping, bad, 0.0).err(), refused, "from {bad}");
            assert_eq!(none.passed(looping, 0.0, bad).err(), refused, "to {bad}");
        }
    }
}

/// The number of events overflows 64 bits.
#[test]
#[cfg_attr(miri, ignore = "slow")]
fn a_hitch_of_any_length_is_one_subtraction() {
    let events = events(1e-3, &[0.0; 60_000]);
    let all = events.passed(Looping::Wrap, -1e300, 1e300).expect("finite");
    assert_eq!(all.size_hint(), (usize::MAX, None));
    assert_eq!(all.clone().count(), usize::MAX);
    let most = crate::play::Moment::MAX_LOOPS;
    assert_eq!(all.clone().last().map(|p| (p.loops, p.index)), Some((most, 59_999)));
    assert_eq!(all.clone().nth(60_001).map(|p| (p.loops, p.index)), Some((2 - most, 1)));
    let mut two = events.passed(Looping::Wrap, Head::before(0.0), 0.0).expect("finite").skip(59_998);
    assert_eq!(two.by_ref().map(|p| p.index).collect::<Vec<_>>(), [59_998, 59_999]);
    assert_eq!(two.next(), None);
}

const HAIR: f64 = 1e-12;

/// Mostly multiples of 1/16, so that heads and events often coincide.
fn clock() -> impl Strategy<Value = f64> {
    prop_oneof![
        (-80_i32..80).prop_map(|t| f64::from(t) / 16.0),
        -6.0..6.0,
        // A smaller offset would be lost to rounding where a negative clock wraps.
        (-80_i32..80, prop_oneof![Just(HAIR), Just(-HAIR)]).prop_map(|(t, hair)| f64::from(t) / 16.0 + hair),
    ]
}

fn head() -> impl Strategy<Value = Head> {
    (clock(), any::<bool>())
        .prop_map(|(seconds, before)| if before { Head::before(seconds) } else { Head::at(seconds) })
}

/// Random duration and event times, as multiples of 1/16 s.
fn clip() -> impl Strategy<Value = (f32, Vec<f32>)> {
    (0_u32..33).prop_flat_map(|length| {
        let times = prop::collection::vec((0..=length).prop_map(|t| t as f32 / 16.0), 0..7);
        (Just(length as f32 / 16.0), times)
    })
}

/// Enumerates every event of every loop that the clock can reach, and returns those between the heads.
fn enumerated(events: &Events, looping: Looping, from: Head, to: Head) -> Vec<(&str, i64)> {
    let duration = events.duration();
    let loops = if looping == Looping::Wrap && duration > 0.0 { -200..=200 } else { 0..=0 };
    // Order of the places at one time: events at the ends of loops, heads before, starts and all other
    // events, heads after.
    let place = |head: Head| (head.seconds(), if head.before { 1 } else { 3 });
    let mut line = Vec::new();
    for number in loops.clone() {
        for event in events.as_slice() {
            let time = number as f64 * duration + event.seconds;
            let ends = loops.clone().count() > 1 && event.seconds == events.duration();
            line.push(((time, if ends { 0 } else { 2 }), (event.name.as_str(), number)));
        }
    }
    let (from, to) = (place(from), place(to));
    let between = |first, last| {
        let inside = line.iter().filter(move |(at, _)| first < *at && *at < last);
        inside.map(|(_, event)| *event).collect::<Vec<_>>()
    };
    if from <= to { between(from, to) } else { between(to, from).into_iter().rev().collect() }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: if cfg!(miri) { 1 } else { 4096 }, failure_persistence: None, ..Default::default() })]

    #[test]
    fn what_is_passed_is_what_enumeration_finds((duration, times) in clip(), from in head(), to in head()) {
        let events = events(duration, &times);
        for looping in [Looping::Clamp, Looping::Wrap] {
            let want = enumerated(&events, looping, from, to);
            prop_assert_eq!(passed(&events, looping, from, to), want.clone(), "{:?}", looping);
            // From the other end, and in the opposite direction.
            let back: Vec<_> = want.into_iter().rev().collect();
            let reversed = events.passed(looping, from, to).expect("finite").rev();
            let reversed: Vec<_> = reversed.map(|p| (p.name, p.loops)).collect();
            prop_assert_eq!(&reversed, &back, "{:?}", looping);
            prop_assert_eq!(passed(&events, looping, to, from), back, "{:?}", looping);
        }
    }

    /// Frames of any length and direction: after each frame, the events passed so far add up to the whole
    /// interval.
    #[test]
    fn frames_deliver_what_the_whole_interval_does(
        (_, times) in clip(), duration in 0.01_f32..3.0, frames in prop::collection::vec((-1.0_f64..1.0, 0..4), 1..60), start in clock(),
    ) {
        let times: Vec<f32> = times.iter().map(|t| (t / 2.0).min(1.0) * duration).collect();
        let events = events(duration, &times);
        for looping in [Looping::Clamp, Looping::Wrap] {
            let mut path: Vec<(&str, i64)> = Vec::new();
            let mut at = Head::before(start);
            for &(step, kind) in &frames {
                let step = match kind {
                    0 => step * 0.02,
                    1 => step * 20.0,
                    2 => (step * 4.0).floor() * f64::from(duration),
                    _ => 0.0,
                };
                let to = Head::at(at.seconds + step);
                for event in passed(&events, looping, at, to) {
                    // Passing an event in the opposite direction undoes the earlier pass.
                    if path.last() == Some(&event) { path.pop(); } else { path.push(event); }
                }
                at = to;
                let whole = passed(&events, looping, Head::before(start), at);
                prop_assert_eq!(&path, &whole, "{:?}, from {} to {:?}", looping, start, at);
            }
        }
    }

    /// Far clocks in sixteenths, where integer arithmetic is exact: an event has been passed once per whole
    /// loop since its time.
    #[test]
    fn far_away_events_are_counted_as_integers_count_them(
        (duration, times) in clip(), a in -1_i64 << 49..1 << 49, length in prop_oneof![-100_i64..100, -1_i64 << 49..1 << 49],
    ) {
        prop_assume!(duration > 0.0);
        let events = events(duration, &times);
        let b = a + length;
        let ticks = |seconds: f64| (seconds * 16.0) as i64;
        let often = |clock: i64, event: &Event| (clock - ticks(event.seconds)).div_euclid(ticks(duration.into()));
        let passed = events.passed(Looping::Wrap, a as f64 / 16.0, b as f64 / 16.0).expect("finite");
        let want: i64 = events.as_slice().iter().map(|e| (often(b, e) - often(a, e)).abs()).sum();
        prop_assert_eq!(passed.clone().count(), usize::try_from(want).unwrap_or(usize::MAX));
        // The first and the last events, each in its loop and in order.
        let clocks: Vec<i64> = passed.clone().take(20).chain(passed.rev().take(20).collect::<Vec<_>>().into_iter().rev())
            .map(|p| p.loops * ticks(duration.into()) + ticks(p.seconds)).collect();
        let (low, high) = (a.min(b), a.max(b));
        prop_assert!(clocks.iter().all(|&c| low < c && c <= high), "{:?} in {}..{}", clocks, low, high);
        prop_assert!(want < 40 || clocks.windows(2).all(|w| (w[0] <= w[1]) == (a < b) || w[0] == w[1]), "{:?}", clocks);
    }

    /// Huge intervals: the counts of the parts add up to the count of the whole, and their ends agree.
    #[test]
    fn pieces_of_huge_intervals_add_up(
        a in prop::num::f64::NORMAL, b in prop::num::f64::NORMAL, c in prop::num::f64::NORMAL,
        scale in 0..3, (duration, times) in clip(),
    ) {
        let limit = [1e3, 1e12, f64::MAX][scale as usize];
        let [a, b, c] = [a, b, c].map(|t| t % limit);
        let events = events(duration, &times);
        for looping in [Looping::Clamp, Looping::Wrap] {
            let signed = |from: f64, to: f64| {
                let all = events.passed(looping, from, to).expect("finite");
                (all.last - all.first) * if all.backward { -1 } else { 1 }
            };
            prop_assert_eq!(signed(a, b) + signed(b, c), signed(a, c), "{:?}, {} {} {}", looping, a, b, c);
            let last = |from, to| events.passed(looping, from, to).expect("finite").next_back();
            let first = |from, to| events.passed(looping, from, to).expect("finite").next();
            prop_assert_eq!(last(a, b), first(b, a), "{:?}, {} {}", looping, a, b);
        }
    }
}
