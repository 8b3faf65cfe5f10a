//! Players of clips: clocks, events and motion.

use std::sync::LazyLock;

use condyle::math::Rigid;
use condyle::motion::{RootMotion, RootMotionOptions, extract};
use condyle::play::{Event, Head};
use condyle::sampling::PoseSource;
use condyle::{
    Clip, Error, Interpolation, Joint, Looping, Player, Pose, RawClip, Skeleton, Target, Track, Transform,
    sample,
};
use condyle_encode::{EncodeOptions, Shell, encode};
use proptest::prelude::*;

/// A time step for which sums and remainders are exact.
const TICK: f64 = 1.0 / 64.0;

/// A joint that walks and turns, with key times from 3 to 4 seconds.
fn walk() -> (Skeleton, RawClip) {
    let skeleton = Skeleton::new([Joint::new("hips", None, Transform::IDENTITY)]).expect("one joint");
    let track = |target, values| Track { target, interpolation: Interpolation::Linear, timeline: 0, values };
    let half = core::f32::consts::FRAC_1_SQRT_2;
    let tracks = vec![
        track(Target::Translation(0), vec![0.0, 1.0, 0.0, 0.2, 1.1, 0.75, 0.0, 1.0, 1.5]),
        track(Target::Rotation(0), vec![0.0, 0.0, 0.0, 1.0, 0.0, 0.0, half, half, 0.0, half, 0.0, half]),
    ];
    (skeleton, RawClip::new("walk".into(), vec![vec![3.0, 3.5, 4.0]], tracks).expect("one value per key"))
}

fn walk_clip() -> (Skeleton, Clip<'static>) {
    let (skeleton, raw) = walk();
    let mut options = EncodeOptions::new(5e-4, Shell::Balls(0.03));
    options.root_motion = Some(RootMotionOptions::default());
    let clip = encode(&raw, &skeleton, &options, &mut |_| ()).expect("encodes").into_clip();
    (skeleton, clip)
}

/// A clip of `ticks` ticks with events at some of them, named by their index.
fn with_events(ticks: u32, at: &[u32]) -> Clip<'static> {
    let end = (f64::from(ticks) * TICK) as f32;
    let dim = Track {
        target: Target::Vector(0),
        interpolation: Interpolation::Linear,
        timeline: 0,
        values: vec![1.0; if ticks > 0 { 2 } else { 1 }],
    };
    let times = if ticks > 0 { vec![0.0, end] } else { vec![0.0] };
    let raw = RawClip::new(String::new(), vec![times], vec![dim]).expect("one value per key");
    let event = |(name, &at): (usize, &u32)| Event { seconds: f64::from(at) * TICK, name: name.to_string() };
    let events = at.iter().enumerate().map(event).collect();
    let mut options = EncodeOptions::new(5e-4, Shell::Balls(0.03));
    (options.rate, options.events) = (Some(1.0), events);
    let skeleton = Skeleton::new([]).expect("nothing");
    encode(&raw, &skeleton, &options, &mut |_| ()).expect("encodes").into_clip()
}

/// Names of the events of the last advance. Both functions must return the same events.
fn heard(player: &Player, clip: &Clip<'_>) -> Vec<String> {
    let events = clip.events();
    let want: Vec<_> = player.events(&events).expect("finite").collect();
    let got: Vec<_> = player.clip_events(clip).expect("finite").collect();
    assert_eq!(got, want, "{player:?}");
    got.iter().map(|passed| passed.name.to_string()).collect()
}

/// A player that a single advance moved to `clock`.
fn at(looping: Looping, clock: f64) -> Player {
    let mut player = Player::new(looping);
    player.advance(clock).expect("finite");
    player
}

#[test]
fn it_wraps_or_holds() {
    let (_, clip) = walk_clip();
    let moment = |looping, clock| at(looping, clock).moment(&clip);
    for (clock, wrap, clamp) in
        [(0.0, 3.0, 3.0), (0.25, 3.25, 3.25), (1.0, 3.0, 4.0), (7.75, 3.75, 4.0), (-0.25, 3.75, 3.0)]
    {
        assert_eq!(moment(Looping::Wrap, clock), Ok(wrap), "{clock}");
        assert_eq!(moment(Looping::Clamp, clock), Ok(clamp), "{clock}");
    }
    assert_eq!(Player::default(), Player::new(Looping::Clamp));
}

#[test]
fn speed_is_what_the_clock_advances_by() {
    let mut player = Player::new(Looping::Wrap);
    player.speed = -2.0;
    let back = player.advance(0.25).expect("finite");
    assert_eq!((back.from, back.to, back.seconds()), (Head::at(0.0), Head::at(-0.5), -0.5));
    assert_eq!(player.interval(), back);
    player.speed = 0.0;
    assert_eq!(player.advance(100.0).map(|i| i.seconds()), Ok(0.0));
    assert_eq!(player.clock(), -0.5);
    player.speed = 0.5;
    assert_eq!(player.advance(1.0).map(|i| i.from), Ok(Head::at(-0.5)));
    assert_eq!(player.clock(), 0.0);
}

#[test]
fn what_happens_at_the_start_is_passed_by_the_first_advance_alone() {
    let clip = with_events(64, &[0, 64]);
    for first in [0.0, 0.25] {
        for looping in [Looping::Clamp, Looping::Wrap] {
            let mut player = Player::new(looping);
            assert!(heard(&player, &clip).is_empty(), "{looping:?}");
            player.advance(first).expect("finite");
            assert_eq!(heard(&player, &clip), ["0"], "{looping:?}, {first}");
            player.advance(0.5).expect("finite");
            assert!(heard(&player, &clip).is_empty(), "{looping:?}, {first}");
        }
    }
    // Backward from the end.
    let mut player = Player::new(Looping::Clamp);
    player.speed = -1.0;
    player.seek(1.0).expect("finite");
    assert!(heard(&player, &clip).is_empty());
    player.advance(0.5).expect("finite");
    assert_eq!(heard(&player, &clip), ["1"]);
    player.advance(0.75).expect("finite");
    assert_eq!(heard(&player, &clip), ["0"]);
}

#[test]
fn a_seek_passes_nothing() {
    let (_, clip) = walk_clip();
    let mut player = at(Looping::Wrap, 0.5);
    player.seek(100.25).expect("finite");
    assert_eq!((player.clock(), player.interval().seconds()), (100.25, 0.0));
    assert_eq!(player.motion(&clip), Ok(Rigid::IDENTITY));
    assert_eq!(player.advance(0.5).map(|i| i.from), Ok(Head::before(100.25)));
}

#[test]
fn what_is_no_time_changes_nothing() {
    let mut player = at(Looping::Wrap, 0.5);
    let before = player;
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        for speed in [1.0, 0.0] {
            player.speed = speed;
            assert_eq!(player.advance(bad), Err(Error::NotFinite { what: "seconds", at: 0 }));
            assert_eq!(player.seek(bad), Err(Error::NotFinite { what: "seconds", at: 0 }));
        }
        player.speed = bad;
        assert_eq!(player.advance(0.0), Err(Error::NotFinite { what: "speed", at: 0 }));
    }
    player.speed = f64::MAX;
    assert_eq!(player.advance(2.0), Err(Error::NotFinite { what: "clock", at: 0 }));
    player.speed = before.speed;
    assert_eq!(player, before);
}

#[test]
fn poses_are_those_of_the_functions_it_calls() {
    let (skeleton, clip) = walk_clip();
    let (_, raw) = walk();
    let [mut got, mut want, mut carried] = [(); 3].map(|()| Pose::identity(1));
    for clock in [0.0, 0.3, 5.7, -2.2] {
        for looping in [Looping::Clamp, Looping::Wrap] {
            let player = at(looping, clock);
            let seconds = clip.moment(looping, clock).expect("finite");
            player.sample(&clip, &skeleton, &mut got).expect("one joint");
            sample(&clip, &skeleton, seconds, &mut want).expect("one joint");
            assert_eq!(got, want, "{looping:?}, {clock}");
            player.pose(&clip, &skeleton, &mut carried).expect("one joint");
            clip.pose(&skeleton, seconds, &mut want).expect("one joint");
            assert_eq!(carried, want, "{looping:?}, {clock}");
            let source: &dyn PoseSource = &raw;
            player.pose(source, &skeleton, &mut got).expect("one joint");
            raw.pose(&skeleton, seconds, &mut want).expect("one joint");
            assert_eq!(got, want, "{looping:?}, {clock}, raw");
        }
    }
    let mut two = Pose::identity(2);
    assert!(at(Looping::Wrap, 0.1).sample(&clip, &skeleton, &mut two).is_err());
}

/// Expected events of the ticks after `from` up to `to`, or the same backward, found tick by tick. In a clip
/// that wraps, the end of a loop and the start of the next one are the same tick.
fn brute_force(ticks: i64, at: &[u32], looping: Looping, fresh: bool, from: i64, to: i64) -> Vec<String> {
    let mut order: Vec<usize> = (0..at.len()).collect();
    order.sort_by_key(|&name| at[name]);
    let is_wrapped = looping == Looping::Wrap && ticks > 0;
    let here = |tick: i64, with_end: bool| {
        let (is_seam, place) = match is_wrapped {
            true => (tick.rem_euclid(ticks) == 0, tick.rem_euclid(ticks)),
            false => (false, tick),
        };
        let ends = order.iter().filter(move |&&name| is_seam && with_end && i64::from(at[name]) == ticks);
        let others = order.iter().filter(move |&&name| i64::from(at[name]) == place);
        ends.chain(others).map(|name| name.to_string()).collect::<Vec<_>>()
    };
    if to >= from {
        let first = if fresh { here(from, false) } else { vec![] };
        first.into_iter().chain((from + 1..=to).flat_map(|tick| here(tick, true))).collect()
    } else {
        let mut passed: Vec<_> = (to + 1..=from).flat_map(|tick| here(tick, true)).collect();
        passed.reverse();
        passed
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: if cfg!(miri) { 1 } else { 256 }, failure_persistence: None, ..Default::default() })]

    #[test]
    fn no_event_is_lost_or_doubled(
        ticks in 0_u32..40, places in proptest::collection::vec(0.0_f64..=1.0, 0..6), wraps: bool,
        steps in proptest::collection::vec((0_i64..50, -3_i64..=3, 0..10), 1..20),
    ) {
        let at: Vec<u32> = places.iter().map(|place| (place * f64::from(ticks)).round() as u32).collect();
        let clip = with_events(ticks, &at);
        let looping = if wraps { Looping::Wrap } else { Looping::Clamp };
        let (mut player, mut clock, mut fresh) = (Player::new(looping), 0, true);
        for (seconds, speed, jump) in steps {
            // One step in ten seeks.
            if jump == 0 {
                clock += 17 - seconds;
                player.seek(clock as f64 * TICK).expect("finite");
                fresh = true;
            }
            player.speed = speed as f64;
            player.advance(seconds as f64 * TICK).expect("finite");
            let to = clock + seconds * speed;
            let want = brute_force(ticks.into(), &at, looping, fresh, clock, to);
            prop_assert_eq!(heard(&player, &clip), want, "{:?} of {} from {} to {}", at, ticks, clock, to);
            (clock, fresh) = (to, false);
        }
    }

    #[test]
    fn motion_is_that_of_the_interval(
        wraps: bool, steps in proptest::collection::vec((0.0_f64..2.0, -2.0_f64..2.0), 1..12),
    ) {
        static WALK: LazyLock<(Clip<'static>, RootMotion)> = LazyLock::new(|| {
            let (skeleton, raw) = walk();
            let (_, taken) = extract(&raw, &skeleton, &RootMotionOptions::default()).expect("one joint");
            (walk_clip().1, taken)
        });
        let (clip, taken) = &*WALK;
        let looping = if wraps { Looping::Wrap } else { Looping::Clamp };
        let (mut player, mut whole) = (Player::new(looping), Rigid::IDENTITY);
        for (seconds, speed) in steps {
            player.speed = speed;
            let from = player.clock();
            let to = from + seconds * speed;
            player.advance(seconds).expect("finite");
            let motion = player.motion(clip).expect("finite");
            prop_assert_eq!(motion, clip.motion_over(looping, from, to).expect("finite"));
            prop_assert_eq!(player.root_motion(taken), taken.over(looping, from, to));
            whole = whole * motion;
        }
        let want = clip.motion_over(looping, 0.0, player.clock()).expect("finite");
        for (got, want) in whole.translation.iter().zip(want.translation) {
            prop_assert!((got - want).abs() < 1e-9, "{}", format!("{whole:?}, {want}"));
        }
    }
}

/// The events of a million years are counted without iteration.
#[test]
fn a_long_way_is_counted_at_once() {
    let clip = with_events(4, &[1, 3]);
    let mut passed = clip.events_passed(Looping::Wrap, 0.0, 3e13).expect("finite");
    let loops = (3e13 / clip.duration()) as i64;
    // On 32-bit machines the number does not fit `usize`, and the count is its maximum.
    assert_eq!(passed.clone().count(), usize::try_from(2 * loops).unwrap_or(usize::MAX));
    assert_eq!(passed.next_back().map(|last| last.loops), Some(loops - 1));
}
