//! Clips with another timing: cut to a range, at another speed, reversed, or with evenly spaced keys.

use alloc::string::ToString;
use alloc::vec::Vec;

use super::keys::{Span, component_at, hermite_slope, value_at};
use super::layout::{MAX_FRAMES, MAX_PLACES};
use super::raw::{Interpolation, RawClip, Track};
use condyle_base::error::Error;

impl RawClip {
    /// Cuts the clip to the time from `start` to `end`, in seconds on its timeline. Every track gets a key at
    /// both ends. Both times are rounded to f32, like all key times.
    ///
    /// Between the ends, the curves stay the same. Existing keys are kept, a new key has the sampled value,
    /// and a new spline key has the slope of the curve. Before the first key of a track and after its last
    /// one, that key holds, as in sampling.
    ///
    /// # Errors
    /// [`Error::NotFinite`] if a time is NaN or infinite, or a new key is too large for f32;
    /// [`Error::OutOfRange`] if `end` is before `start`.
    ///
    /// ```
    /// use condyle::{Interpolation, RawClip, Target, Track};
    ///
    /// let (target, interpolation) = (Target::Vector(0), Interpolation::Linear);
    /// let light = Track { target, interpolation, timeline: 0, values: vec![0.0, 10.0, 0.0] };
    /// let clip = RawClip::new("lamp".into(), vec![vec![0.0, 1.0, 2.0]], vec![light])?;
    /// let middle = clip.cut(0.5, 1.25)?;
    /// assert_eq!(middle.timelines(), [[0.5, 1.0, 1.25]]);
    /// assert_eq!(middle.tracks()[0].values, [5.0, 10.0, 7.5]);
    /// # Ok::<(), condyle::Error>(())
    /// ```
    pub fn cut(&self, start: f64, end: f64) -> Result<Self, Error> {
        let [start, end] = [start, end].map(|seconds| seconds as f32);
        for (what, seconds) in [("start", start), ("end", end)] {
            if !seconds.is_finite() {
                return Err(Error::NotFinite { what, at: 0 });
            }
        }
        if end < start {
            return Err(Error::OutOfRange { what: "end", at: 0, needed: "at least the start" });
        }
        let within = |times: &Vec<f32>| {
            let inside = times.iter().copied().filter(|t| (start..=end).contains(t));
            let mut times: Vec<f32> = [start].into_iter().chain(inside).chain([end]).collect();
            times.dedup();
            times
        };
        let timelines: Vec<Vec<f32>> = self.timelines().iter().map(within).collect();
        let cut = |track: &Track| {
            let (old, new) = (&self.timelines()[track.timeline], &timelines[track.timeline]);
            let values = new.iter().flat_map(|&seconds| key_at(track, old, seconds)).collect();
            Track { values, ..track.clone() }
        };
        let tracks = self.tracks().iter().map(cut).collect();
        Ok(Self::new(self.name().to_string(), timelines, tracks)?.for_skeleton_of(self))
    }

    /// Returns the clip at another speed: 2 is twice as fast, and -1 is backward. The result starts at 0.
    ///
    /// Backward, a step switches at the same time as forward, so each value holds for the same duration. At
    /// the time of the switch, the track has the value after it, as steps do.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] if the speed is 0. [`Error::NotFinite`] if it is NaN or infinite, or if a slope
    /// becomes too large for f32. [`Error::KeyOrder`] if two keys get the same time.
    ///
    /// ```
    /// use condyle::{Interpolation, RawClip, Target, Track};
    ///
    /// let (target, interpolation) = (Target::Vector(0), Interpolation::Step);
    /// let light = Track { target, interpolation, timeline: 0, values: vec![1.0, 2.0, 3.0] };
    /// let clip = RawClip::new("lamp".into(), vec![vec![1.0, 2.0, 5.0]], vec![light])?;
    /// let back = clip.at_speed(-2.0)?;
    /// assert_eq!(back.timelines(), [[0.0, 1.5, 2.0]]);
    /// // The value 2 held for three seconds, the value 1 for one second.
    /// assert_eq!(back.tracks()[0].values, [2.0, 1.0, 1.0]);
    /// # Ok::<(), condyle::Error>(())
    /// ```
    pub fn at_speed(&self, speed: f32) -> Result<Self, Error> {
        if !speed.is_finite() {
            return Err(Error::NotFinite { what: "speed", at: 0 });
        }
        if speed == 0.0 {
            return Err(Error::OutOfRange { what: "speed", at: 0, needed: "non-zero" });
        }
        if speed < 0.0 {
            // `cut` adds keys at both ends of every track. Without them, a reversed step track would lose its
            // last value.
            return self.cut(self.start(), self.end())?.forwards(-speed, true);
        }
        self.forwards(speed, false)
    }

    /// Changes the speed, which must be above 0; `turned` reverses the clip.
    fn forwards(&self, speed: f32, turned: bool) -> Result<Self, Error> {
        let (start, end, rate) = (self.start(), self.end(), f64::from(speed));
        let place = |&seconds: &f32| {
            let seconds = f64::from(seconds);
            ((if turned { end - seconds } else { seconds - start }) / rate) as f32
        };
        let stretched = |times: &Vec<f32>| {
            let mut times: Vec<f32> = times.iter().map(place).collect();
            if turned {
                times.reverse();
            }
            times
        };
        let timelines: Vec<Vec<f32>> = self.timelines().iter().map(stretched).collect();
        let stretched = |track: &Track| {
            let keys = self.timelines()[track.timeline].len();
            let values = if turned { backwards(track, keys) } else { track.values.clone() };
            let mut track = Track { values, ..track.clone() };
            if track.interpolation == Interpolation::CubicSpline {
                let width = track.width(keys);
                for key in track.values.chunks_exact_mut(3 * width) {
                    key[..width].iter_mut().for_each(|slope| *slope *= speed);
                    key[2 * width..].iter_mut().for_each(|slope| *slope *= speed);
                }
            }
            track
        };
        let tracks = self.tracks().iter().map(stretched).collect();
        Ok(Self::new(self.name().to_string(), timelines, tracks)?.for_skeleton_of(self))
    }

    /// Resamples the clip at `rate` frames per second from its start, plus a key at its end if no frame falls
    /// there. The result is linear between keys, but step tracks stay step tracks. A step switches at the
    /// first frame at or after its time.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] if the rate is not above 0. [`Error::NotFinite`] if it is NaN or infinite, or if
    /// a value becomes too large for f32. [`Error::TooMany`] if the frames would not fit in memory.
    /// [`Error::KeyOrder`] if f32 cannot represent their times as distinct values.
    ///
    /// ```
    /// use condyle::{Interpolation, RawClip, Target, Track};
    ///
    /// let (target, interpolation) = (Target::Vector(0), Interpolation::Linear);
    /// let light = Track { target, interpolation, timeline: 0, values: vec![0.0, 9.0] };
    /// let clip = RawClip::new("lamp".into(), vec![vec![0.0, 0.75]], vec![light])?;
    /// let even = clip.resampled(4.0)?;
    /// assert_eq!(even.timelines(), [[0.0, 0.25, 0.5, 0.75]]);
    /// assert_eq!(even.tracks()[0].values, [0.0, 3.0, 6.0, 9.0]);
    /// # Ok::<(), condyle::Error>(())
    /// ```
    pub fn resampled(&self, rate: f32) -> Result<Self, Error> {
        let width = |track: &Track| track.width(self.timelines()[track.timeline].len());
        let numbers = self.tracks().iter().map(width).sum();
        let times = even_times(self.start(), self.end(), rate, numbers)?;
        let resample = |track: &Track| {
            let old = &self.timelines()[track.timeline];
            let interpolation = match track.interpolation {
                Interpolation::Step => Interpolation::Step,
                Interpolation::Linear | Interpolation::CubicSpline => Interpolation::Linear,
            };
            let values = times
                .iter()
                .flat_map(|&seconds| sampled(track, Span::find(old, seconds.into(), 0), width(track)));
            Track { interpolation, timeline: 0, values: values.collect(), ..*track }
        };
        let tracks = self.tracks().iter().map(resample).collect();
        let name = self.name().to_string();
        Ok(Self::new(name, [times.clone()].into(), tracks)?.for_skeleton_of(self))
    }
}

/// Returns the times of frames at an even rate, plus the end. `numbers` is the count of numbers per frame,
/// for the limit.
pub(crate) fn even_times(start: f64, end: f64, rate: f32, numbers: usize) -> Result<Vec<f32>, Error> {
    if !rate.is_finite() {
        return Err(Error::NotFinite { what: "rate", at: 0 });
    }
    if rate <= 0.0 {
        return Err(Error::OutOfRange { what: "rate", at: 0, needed: "greater than 0" });
    }
    let rate = f64::from(rate);
    let frames = (end - start) * rate;
    // The fraction of a frame by which f32 rounding may have moved the end, due to the times and the rate.
    let near = (1e-3 + 1.2e-7 * (frames + start.abs().max(end.abs()) * rate)).min(0.3);
    let limit = MAX_FRAMES.min(MAX_PLACES / numbers.max(1));
    // `as` saturates, so a huge number of frames does not overflow.
    let found = (frames as usize).saturating_add(2);
    if found > limit {
        return Err(Error::TooMany { what: "frames", found, limit });
    }
    let is_before = |frame: &f64| frame + near < frames || *frame == 0.0 && start < end;
    let before = (0..found).map(|frame| frame as f64).take_while(is_before);
    let mut times: Vec<f32> = before.map(|frame| (start + frame / rate) as f32).collect();
    times.push(end as f32);
    Ok(times)
}

/// Returns the value of a track at a time. Rotations have unit length.
fn sampled(track: &Track, span: Span, width: usize) -> Vec<f32> {
    if track.target.rotates() {
        return value_at::<4>(track, span).map(|v| v as f32).to_vec();
    }
    (0..width).map(|component| component_at(track, span, width, component) as f32).collect()
}

/// Returns the key that a track has at a time, or the key that could be inserted there without changing the
/// curve.
fn key_at(track: &Track, times: &[f32], seconds: f32) -> Vec<f32> {
    let (width, span) = (track.width(times.len()), Span::find(times, seconds.into(), 0));
    let spline = track.interpolation == Interpolation::CubicSpline;
    let size = track.values_per_key() * width;
    let mut key = if span.factor == 0.0 {
        track.values[span.key * size..][..size].to_vec()
    } else if spline {
        // Do not normalise rotations here: sampling does it, and before that a part of a spline is a spline.
        let slopes = || (0..width).map(|c| hermite_slope(track, span, width, c) as f32);
        let value = (0..width).map(|c| component_at(track, span, width, c) as f32);
        slopes().chain(value).chain(slopes()).collect()
    } else {
        sampled(track, span, width)
    };
    if spline {
        // Outside its keys, the track is constant.
        if seconds <= times[0] {
            key[..width].fill(0.0);
        }
        if seconds < times[0] {
            key[2 * width..].fill(0.0);
        }
        let last = times[times.len() - 1];
        if seconds >= last {
            key[2 * width..].fill(0.0);
        }
        if seconds > last {
            key[..width].fill(0.0);
        }
    }
    key
}

/// Returns the keys in reverse order.
fn backwards(track: &Track, keys: usize) -> Vec<f32> {
    let width = track.width(keys);
    let keys = track.values.chunks_exact(track.values_per_key() * width).rev();
    match track.interpolation {
        Interpolation::Linear => keys.flatten().copied().collect(),
        Interpolation::Step => {
            // Backward, a key gets the value that held before it.
            let first = track.values[..width].iter();
            keys.skip(1).flatten().chain(first).copied().collect()
        }
        Interpolation::CubicSpline => {
            let turned = |key: &[f32]| {
                let (before, rest) = key.split_at(width);
                let (value, after) = rest.split_at(width);
                let slopes = |slopes: &[f32]| slopes.iter().map(|slope| -slope).collect::<Vec<_>>();
                [slopes(after), value.to_vec(), slopes(before)].concat()
            };
            keys.flat_map(turned).collect()
        }
    }
}

#[cfg(test)]
mod tests;
