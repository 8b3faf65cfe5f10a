//! The frame rate that a clip was authored at.

use alloc::vec::Vec;

use crate::clip::{RawClip, Track};

/// Usual authoring rates, tried first: from rounded key times alone the rate would come out slightly off.
const COMMON_RATES: [f32; 12] = [24.0, 25.0, 30.0, 48.0, 50.0, 60.0, 90.0, 100.0, 120.0, 144.0, 200.0, 240.0];
/// How far a key may be from a frame and count as on it, in frames: it accepts times rounded to a millisecond
/// up to 40 Hz.
const FRAME_TOLERANCE: f64 = 0.02;
/// The rate of a clip whose keys fit none.
const DEFAULT_RATE: f32 = 60.0;
/// Keys closer than this are not taken as frames.
const MAX_RATE: f32 = 1000.0;
/// Slower clips are sampled at a multiple of their own rate.
const MIN_RATE: f32 = 24.0;

/// A clip may have this many frames however few keys it has.
const ANY_FRAMES: f64 = 8192.0;
/// Longer ones have at most this many for each key: two keys that are days apart are two keys.
const FRAMES_PER_KEY: f64 = 64.0;

/// The rate at which all keys of a clip fall on frames: a usual one, or that of the closest two keys, up to
/// 1000; 60 if there is none. A long clip of few keys has a lower one, so that the frames are in proportion to the keys.
pub(super) fn of(clip: &RawClip) -> f32 {
    lowered(clip).unwrap_or_else(|| authored(clip))
}

/// Whether the frames are limited by the keys, which then do not fall on frames.
pub(super) fn is_lowered(clip: &RawClip) -> bool {
    lowered(clip).is_some()
}

fn lowered(clip: &RawClip) -> Option<f32> {
    let keys = clip.tracks().iter().map(|track| clip.timelines()[track.timeline].len()).max().unwrap_or(0);
    let most = ANY_FRAMES.max(FRAMES_PER_KEY * keys as f64);
    let (rate, duration) = (f64::from(authored(clip)), clip.duration());
    (rate * duration > most).then(|| (most / duration) as f32)
}

fn authored(clip: &RawClip) -> f32 {
    // Joint tracks decide if there are any: other tracks are often keyed differently.
    let moves = |track: &&Track| track.target.joint().is_some();
    let moving: Vec<&Track> = clip.tracks().iter().filter(moves).collect();
    let tracks: Vec<&Track> = if moving.is_empty() { clip.tracks().iter().collect() } else { moving };
    let fits = |rate: f32| tracks.iter().all(|track| is_on_frames(clip, track, rate));
    if let Some(&rate) = COMMON_RATES.iter().find(|&&rate| fits(rate)) {
        return rate;
    }
    let timelines = tracks.iter().map(|track| &clip.timelines()[track.timeline]);
    let gaps = timelines.flat_map(|times| times.windows(2)).map(|pair| pair[1] - pair[0]);
    let own = 1.0 / gaps.fold(f32::INFINITY, f32::min);
    if !own.is_finite() || own > MAX_RATE || own <= 0.0 || !fits(own) {
        return DEFAULT_RATE;
    }
    // A multiple, rounded up. Of keys that are days apart none is needed: the frames are limited by other means.
    let times = MIN_RATE / own;
    if times > 1e6 {
        return MIN_RATE;
    }
    let whole = f64::from(times) as u64;
    own * (whole + u64::from((whole as f32) < times)).max(1) as f32
}

/// Whether all keys of a track fall on frames.
pub(super) fn is_on_frames(clip: &RawClip, track: &Track, rate: f32) -> bool {
    clip.timelines()[track.timeline].iter().all(|&time| {
        let frame = (f64::from(time) - clip.start()) * f64::from(rate);
        let nearest = ((frame + 0.5) as i64) as f64;
        // f32 times are coarser the later they are.
        (frame - nearest).abs() < FRAME_TOLERANCE + f64::from(time.abs()) * 1e-7 * f64::from(rate)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clip::{Interpolation, Target};
    use std::vec;

    fn clip(times: &[f32]) -> RawClip {
        let values = vec![1.0; times.len() * 3];
        let track =
            Track { target: Target::Scale(0), interpolation: Interpolation::Linear, timeline: 0, values };
        RawClip::new("clip".into(), vec![times.to_vec()], vec![track]).expect("valid")
    }

    #[test]
    fn keys_tell_the_rate() {
        let every =
            |rate: f32, start: f32| -> Vec<f32> { (0..50).map(|i| start + i as f32 / rate).collect() };
        for rate in [24.0, 25.0, 30.0, 60.0, 120.0] {
            for start in [0.0, 0.0333, 10.0] {
                assert_eq!(of(&clip(&every(rate, start))), rate, "{rate} from {start}");
            }
        }
        // Keys of their own spacing, and slow ones.
        assert!((of(&clip(&every(37.0, 0.0))) - 37.0).abs() < 0.1);
        assert_eq!(of(&clip(&[0.0, 1.0, 2.0])), 24.0);
        assert!((of(&clip(&[0.0, 1.3, 2.6])) * 1.3 % 1.0) < 0.01);
        assert_eq!(of(&clip(&[0.0, 0.001, 1.234_567])), DEFAULT_RATE);
        assert_eq!(of(&clip(&[0.5])), 24.0);
        assert!((of(&clip(&every(480.0, 0.0))) - 480.0).abs() < 1.0);
        // However far apart keys are, there are as many frames as the keys deserve.
        for last in [170_000.0, 1e9, 1e18, f32::MAX] {
            let rate = of(&clip(&[0.0, last]));
            assert!(rate > 0.0 && rate * last <= 8193.0, "{last}: {rate}");
            let rate = of(&clip(&[0.0, last * 0.3, last]));
            assert!(rate > 0.0 && rate * last <= 8193.0, "{last}: {rate}");
        }
        // Ordinary ones are not concerned: an hour at 120 Hz.
        assert_eq!(
            of(&clip(&(0..432_000).map(|i| (f64::from(i) / 120.0) as f32).collect::<Vec<_>>())),
            120.0
        );
    }
}
