use alloc::vec;

use super::*;
use crate::clip::Target;
use crate::testing::Random;

const WAYS: [Interpolation; 3] = [Interpolation::Step, Interpolation::Linear, Interpolation::CubicSpline];
const WIDTHS: [(Target, usize); 3] =
    [(Target::Rotation(0), 4), (Target::Scale(1), 3), (Target::Weights(2), 5)];

/// Returns tracks of one interpolation. The last one has keys only in the middle of the clip.
fn lively(way: Interpolation) -> RawClip {
    let mut random = Random(11);
    let timelines = vec![vec![0.5, 1.0, 1.375, 2.5, 3.0], vec![1.25, 1.5, 2.0]];
    let mut tracks = vec![];
    for (timeline, (target, width)) in [0, 0, 1].into_iter().zip(WIDTHS) {
        let parts = if way == Interpolation::CubicSpline { 3 } else { 1 };
        let mut values = vec![];
        for _ in 0..timelines[timeline].len() * parts {
            let value: Vec<f32> = (0..width).map(|_| random.range(-1.0, 1.0) + 1.5).collect();
            let length = value.iter().map(|v| v * v).sum::<f32>().sqrt();
            let length = if target.rotates() { length } else { 1.0 };
            values.extend(value.iter().map(|v| v / length));
        }
        tracks.push(Track { target, interpolation: way, timeline, values });
    }
    RawClip::new("lively".into(), timelines, tracks).expect("valid")
}

/// Returns the values of all tracks at a time, in f64.
fn all_at(clip: &RawClip, seconds: f64) -> Vec<f64> {
    let at = |track: &Track| -> Vec<f64> {
        let times = &clip.timelines()[track.timeline];
        let span = Span::find(times, seconds, 0);
        match track.target.rotates() {
            true => value_at::<4>(track, span).to_vec(),
            false => (0..track.width(times.len()))
                .map(|c| component_at(track, span, track.width(times.len()), c))
                .collect(),
        }
    };
    clip.tracks().iter().flat_map(at).collect()
}

fn assert_same(found: &[f64], want: &[f64], case: core::fmt::Arguments<'_>) {
    assert_eq!(found.len(), want.len());
    let far = found.iter().zip(want).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(far < 4e-6, "{case}: {far} apart");
}

#[test]
fn a_part_of_a_clip_is_the_same_curve() {
    for way in WAYS {
        let clip = lively(way);
        for (start, end) in
            [(0.5, 3.0), (0.75, 1.25), (1.0, 1.375), (1.1, 2.9), (-1.0, 4.0), (1.3, 1.3), (3.5, 4.0)]
        {
            // Round to f32, like key times.
            let [start, end] = [start, end].map(|seconds: f64| f64::from(seconds as f32));
            let part = clip.cut(start, end).expect("a range");
            assert_eq!((part.start(), part.end()), (start, end));
            for step in 0..=200 {
                let seconds = start + (end - start) * f64::from(step) / 200.0;
                let case = format_args!("{way:?}, {start} to {end}, at {seconds}");
                assert_same(&all_at(&part, seconds), &all_at(&clip, seconds), case);
            }
        }
        // Keys are unchanged bit for bit.
        let whole = clip.cut(0.5, 3.0).expect("a range");
        assert_eq!(whole.timelines()[0], clip.timelines()[0]);
        let (found, want) = (&whole.tracks()[1].values, &clip.tracks()[1].values);
        let inner = 3..want.len() - 3;
        assert_eq!(found[inner.clone()], want[inner]);
    }
}

#[test]
fn a_clip_at_another_speed_is_the_same_curve() {
    for way in WAYS {
        let clip = lively(way);
        for speed in [0.5, 1.0, 1.7, -1.0, -0.4, -3.0] {
            let other = clip.at_speed(speed).expect("a speed");
            assert_eq!(other.start(), 0.0);
            assert!((other.duration() - clip.duration() / f64::from(speed.abs())).abs() < 1e-6);
            // No key is at one of these times.
            for step in 0..200 {
                let seconds = (f64::from(step) + 0.49) / 200.0 * clip.duration();
                let was = if speed > 0.0 { 0.5 + seconds } else { 3.0 - seconds };
                let found = all_at(&other, seconds / f64::from(speed.abs()));
                assert_same(&found, &all_at(&clip, was), format_args!("{way:?}, {speed} times, at {was}"));
            }
        }
    }
}

#[test]
fn frames_are_what_sampling_gives_there() {
    for way in WAYS {
        let clip = lively(way);
        for (rate, frames) in [(4.0, 11), (30.0, 76), (7.0, 19), (0.1, 2), (1e-30, 2)] {
            let even = clip.resampled(rate).expect("a rate");
            let times = &even.timelines()[0];
            assert_eq!(
                (times.len(), times[0], times[frames - 1]),
                (frames, 0.5, 3.0),
                "{rate} frames a second"
            );
            for &seconds in times {
                let want = all_at(&clip, seconds.into());
                assert_same(
                    &all_at(&even, seconds.into()),
                    &want,
                    format_args!("{way:?}, {rate}, {seconds}"),
                );
            }
        }
    }
}

#[test]
fn what_is_no_time_is_named() {
    let clip = lively(Interpolation::Linear);
    let end = Error::OutOfRange { what: "end", at: 0, needed: "at least the start" };
    assert_eq!(clip.cut(2.0, 1.0), Err(end));
    assert_eq!(clip.cut(f64::NAN, 1.0), Err(Error::NotFinite { what: "start", at: 0 }));
    assert_eq!(clip.cut(0.0, f64::INFINITY), Err(Error::NotFinite { what: "end", at: 0 }));
    let speed = Error::OutOfRange { what: "speed", at: 0, needed: "non-zero" };
    assert_eq!(clip.at_speed(-0.0), Err(speed));
    assert_eq!(clip.at_speed(f32::NAN), Err(Error::NotFinite { what: "speed", at: 0 }));
    assert!(matches!(clip.at_speed(1e-39), Err(Error::KeyOrder { .. })), "beyond f32");
    for rate in [0.0, -1.0] {
        let needed = "greater than 0";
        assert_eq!(clip.resampled(rate), Err(Error::OutOfRange { what: "rate", at: 0, needed }));
    }
    assert_eq!(clip.resampled(f32::NAN), Err(Error::NotFinite { what: "rate", at: 0 }));
    for rate in [1e7, f32::MAX] {
        assert!(matches!(clip.resampled(rate), Err(Error::TooMany { what: "frames", .. })));
    }
}
