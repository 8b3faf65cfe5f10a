use std::vec;
use std::vec::Vec;

use super::*;
use condyle::clip::{Interpolation, Target};
use condyle_testing::Random;

fn track(target: Target, timeline: usize, keys: usize) -> Track {
    let width = if target.rotates() { 4 } else { 3 };
    let values = vec![0.5; keys * width];
    Track { target, interpolation: Interpolation::Linear, timeline, values }
}

fn several(timelines: &[&[f32]]) -> RawClip {
    let tracks =
        timelines.iter().enumerate().map(|(at, times)| track(Target::Scale(at as u16), at, times.len()));
    let timelines = timelines.iter().map(|times| times.to_vec()).collect();
    RawClip::new("clip".into(), timelines, tracks.collect()).expect("valid")
}

fn frames(times: &[f32]) -> f64 {
    count(&several(&[times]), None).0
}

/// Returns the chosen rate.
fn hertz(times: &[f32]) -> f32 {
    let clip = several(&[times]);
    super::rate([clip.start(), clip.end()], count(&clip, None).0 as usize)
}

/// A jump has its first key one f32 before its time, which therefore has many decimals.
#[test]
fn jumps_do_not_hide_the_decimals_of_times() {
    for rate in [30.0, 60.0, 120.0, 59.94] {
        let rounded = |frame: u32| ((f64::from(frame) / rate * 1e3).round() / 1e3) as f32;
        let mut times: Vec<f32> = (0..40).map(rounded).collect();
        let without = frames(&times);
        times.push(times[17].next_down());
        times.push(times[30].next_down());
        times.sort_by(f32::total_cmp);
        assert_eq!((without, frames(&times)), (39.0, 39.0), "{rate}");
    }
}

#[test]
fn keys_tell_the_rate() {
    for rate in [24.0, 25.0, 30.0, 60.0, 120.0] {
        for start in [0.0, 0.0333, 10.0] {
            let times: Vec<f32> = (0..50).map(|i| start + i as f32 / rate).collect();
            assert_eq!(frames(&times), 49.0, "{rate} from {start}");
        }
    }
    let is = |times: &[f32], rate: f32| (hertz(times) - rate).abs() < 1e-5 * rate;
    // Poses that are far apart: a usual rate, or a multiple of the rate of the poses.
    assert!(is(&[0.0, 1.0, 2.0], 24.0), "{}", hertz(&[0.0, 1.0, 2.0]));
    assert!(is(&[0.0, 1.0], 24.0), "{}", hertz(&[0.0, 1.0]));
    assert!(is(&[0.0, 0.2, 0.6], 25.0), "{}", hertz(&[0.0, 0.2, 0.6]));
    assert!(is(&[0.0, 1.3, 2.6], 30.0), "{}", hertz(&[0.0, 1.3, 2.6]));
    assert_eq!(frames(&[0.0, 1.037, 2.074]) % 2.0, 0.0);
    assert!((24.0..30.0).contains(&hertz(&[0.0, 1.037, 2.074])));
    // Slow rates are not doubled.
    for rate in [8.0, 10.0, 12.0, 12.5, 15.0] {
        assert!(is(&(0..20).map(|i| i as f32 / rate).collect::<Vec<_>>(), rate), "{rate}");
        assert!(is(&[0.0, 1.0 / rate], rate), "{}", hertz(&[0.0, 1.0 / rate]));
        assert!(
            is(&[0.0, 2.0 / rate, 5.0 / rate, 7.0 / rate], rate),
            "{}",
            hertz(&[0.0, 2.0 / rate, 5.0 / rate, 7.0 / rate])
        );
    }
    assert_eq!(frames(&[0.5]), 0.0);
    // Without a matching rate: 60, or the number of keys per second.
    assert_eq!(frames(&[0.0, 0.001, 1.234_567]), 75.0);
    let mut random = Random(1);
    let mut uneven: Vec<f32> = (0..400).map(|_| random.range(0.0, 4.0)).collect();
    uneven.sort_by(f32::total_cmp);
    uneven.dedup();
    let rate = f64::from(hertz(&uneven));
    assert!((95.0..105.0).contains(&rate), "{rate}");
}

/// The number of frames is limited by the number of keys, even if keys are far apart.
#[test]
fn long_clips_of_few_keys_have_few_frames() {
    for last in [170_000.0, 1e9, 1e18, f32::MAX] {
        assert!((1.0..=8192.0).contains(&frames(&[0.0, last])), "{last}");
        assert!((1.0..=8192.0).contains(&frames(&[0.0, last * 0.3, last])), "{last}");
        assert!(count(&several(&[&[0.0, last]]), None).1);
    }
    // Does not affect ordinary clips: an hour at 120 Hz.
    let hour: Vec<f32> = (0..432_000).map(|i| (f64::from(i) / 120.0) as f32).collect();
    assert_eq!(frames(&hour), 431_999.0);
}

/// Forms in which exporters write times.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Times {
    Exact,
    InF32,
    Decimals(i32),
    /// Truncated instead of rounded.
    Cut(i32),
    /// Multiples of a frame time with six decimals.
    Step,
}

impl Times {
    const ALL: [Self; 7] = [
        Self::Exact,
        Self::InF32,
        Self::Decimals(3),
        Self::Decimals(4),
        Self::Decimals(6),
        Self::Cut(3),
        Self::Step,
    ];

    fn of(self, start: f64, frame: u32, rate: f64) -> f32 {
        let time = start + f64::from(frame) / rate;
        match self {
            Self::Exact => time as f32,
            Self::InF32 => start as f32 + frame as f32 / rate as f32,
            Self::Decimals(digits) => ((time * 10_f64.powi(digits)).round() / 10_f64.powi(digits)) as f32,
            // The offset keeps f64 rounding from truncating an exact decimal.
            Self::Cut(digits) => ((time * 10_f64.powi(digits) + 1e-6).floor() / 10_f64.powi(digits)) as f32,
            Self::Step => (f64::from(frame) * (1e6 / rate).round() / 1e6) as f32,
        }
    }
}

/// Rates from 8 to 500 Hz, 2 to 100,000 frames, with keys missing: the number of frames must
/// match the true rate.
#[test]
fn every_rate_is_found() {
    let rates = [
        8.0, 10.0, 12.0, 12.5, 15.0, 16.0, 20.0, 23.976_024, 24.0, 25.0, 29.970_03, 30.0, 37.0, 48.0, 50.0,
        59.940_06, 60.0, 77.7, 90.0, 100.0, 119.880_12, 120.0, 144.0, 200.0, 240.0, 250.0, 300.0, 333.3,
        400.0, 480.0, 500.0,
    ];
    let mut random = Random(29);
    for rate in rates {
        for last in [1, 2, 3, 10, 149, 300, 3000, 99_999] {
            // The longest clips take most of the time.
            let all = if last > 50_000 && !(rate as u32).is_multiple_of(4) {
                &Times::ALL[2..3]
            } else {
                &Times::ALL
            };
            for &kind in all {
                let start = [0.0, 0.0333, 1.0 / 24.0, 10.0][random.below(4)];
                let all: Vec<f32> = (0..=last).map(|frame| kind.of(start, frame, rate)).collect();
                let case = format_args!("{rate} Hz, {last} frames from {start}, {kind:?}");
                assert_eq!(frames(&all), f64::from(last), "{case}");
                let asked = count(&several(&[&all]), Some(rate as f32)).0;
                // With missing keys, times in milliseconds do not determine rates above 125 Hz.
                let is_vague = rate > 125.0 && matches!(kind, Times::Decimals(3) | Times::Cut(3));
                // Steps of six decimals are another rate.
                if kind != Times::Step && !is_vague {
                    assert_eq!(asked, f64::from(last), "{case}, asked");
                }
                if last >= 149 && !is_vague {
                    let half: Vec<f32> = all
                        .iter()
                        .enumerate()
                        .filter(|(at, _)| *at == 0 || *at == last as usize || random.below(2) == 0)
                        .map(|(_, &time)| time)
                        .collect();
                    assert_eq!(frames(&half), f64::from(last), "{case}, half of the keys");
                }
            }
        }
    }
}

#[test]
fn several_timelines_have_one_rate() {
    let times = |first: u32, step: usize, last: u32| -> Vec<f32> {
        (first..=last).step_by(step).map(|frame| (f64::from(frame) / 29.970_03) as f32).collect()
    };
    let [all, some, few] = [times(3, 1, 250), times(0, 10, 300), times(17, 17, 300)];
    for clip in [several(&[&all, &some, &few]), several(&[&some, &few]), several(&[&few, &some, &all])] {
        assert_eq!(count(&clip, None), (300.0, false));
        assert_eq!(off_frames(&clip, 300).keys, 0);
    }
    // Two keys at one time count as one, and a few keys between frames only change the count of keys off the
    // frames.
    let mut jump = all.clone();
    jump.insert(101, all[100].next_down());
    jump.insert(101, all[100].next_down());
    jump.sort_by(f32::total_cmp);
    jump.dedup();
    assert_eq!(count(&several(&[&jump, &some]), None).0, 300.0);
    let odd = [all[50] + 0.0123, all[120] + 0.0078];
    let clip = several(&[&all, &some, &odd]);
    assert_eq!(count(&clip, None).0, 300.0);
    let off = off_frames(&clip, 300);
    assert_eq!((off.keys, off.all), (2, all.len() + some.len() + 2));
    assert!((0.23..0.38).contains(&off.frames), "{off:?}");
    // Free tracks and step tracks do not decide, unless there are no other tracks.
    let mut tracks = vec![track(Target::Scale(0), 0, all.len()), track(Target::Vector(0), 1, 3)];
    let steps = Track { interpolation: Interpolation::Step, ..track(Target::Translation(0), 1, 3) };
    tracks.push(Track { values: (0..9_u8).map(f32::from).collect(), ..steps.clone() });
    let odd = vec![all[0], 0.777, all[247]];
    let clip = RawClip::new("clip".into(), vec![all.clone(), odd.clone()], tracks).expect("a clip");
    assert_eq!(count(&clip, None).0, 247.0);
    assert_eq!((off_frames(&clip, 247).keys, off_frames(&clip, 247).all), (1, 251));
}

#[test]
fn a_rate_that_was_asked_for_is_raised_to_the_end() {
    let asked = |last: f32, rate: f32| count(&several(&[&[0.0, last]]), Some(rate)).0;
    assert_eq!([asked(1.0, 30.0), asked(1.005, 30.0), asked(1.0003, 30.0)], [30.0, 31.0, 30.0]);
    assert_eq!([asked(0.001, 30.0), asked(2.0, 0.1), asked(8.341_675, 29.970_03)], [1.0, 1.0, 250.0]);
}
