//! Choice of the frames at which a clip is compressed.

mod grid;

use alloc::vec::Vec;

use condyle::clip::{RawClip, Track};
use condyle_base::error::Error;
use condyle_base::order::sort_numbers;

use self::grid::{Keys, TOLERANCE, nearest, whole};
use crate::options::{EncodeOptions, OffFrames, positive};
use condyle::clip::layout::{MAX_FRAMES, MAX_PLACES};

/// Number of frames that a clip may have regardless of its number of keys.
const ANY_FRAMES: f64 = 8192.0;
/// Maximum number of frames per key for longer clips. Two keys that are days apart are still two keys.
const FRAMES_PER_KEY: f64 = 64.0;

/// Evenly spaced frames from the start of a clip to its end.
#[derive(Clone, Copy)]
pub(crate) struct Frames {
    /// Number of frames after the first one.
    pub(crate) count: usize,
    /// Whether the number was lowered, so that keys are between frames.
    pub(crate) is_lowered: bool,
}

/// Frames of a clip at the rate of the options.
pub(crate) fn frames(clip: &RawClip, joints: usize, options: &EncodeOptions) -> Result<Frames, Error> {
    if let Some(rate) = options.rate {
        positive("rate", 0, rate)?;
    }
    let (count, is_lowered) = count(clip, options.rate);
    let limit = MAX_FRAMES.min(MAX_PLACES / joints.max(1));
    if count > limit as f64 {
        let found = if count < 1e9 { count as usize } else { usize::MAX };
        return Err(Error::TooMany { what: "frames", found, limit });
    }
    Ok(Frames { count: count as usize, is_lowered })
}

/// Number of frames of a clip after the first one, which may exceed the limit, and whether it was lowered.
///
/// Uses `rate` frames per second, or else the minimum number of frames at which all keys are on frames. A
/// long clip with few keys gets fewer, so that the number is proportional to the number of keys.
pub(crate) fn count(clip: &RawClip, rate: Option<f32>) -> (f64, bool) {
    let ends = ends(clip);
    let duration = ends[1] - ends[0];
    if duration <= 0.0 {
        return (0.0, false);
    }
    let keys = Keys::new(decisive(clip), ends);
    if let Some(rate) = rate.map(f64::from) {
        // If rounding moved the end past a frame, it gets no additional frame.
        let slack = (keys.slack() * rate).clamp(TOLERANCE, 0.3);
        return (whole(duration * rate, slack), false);
    }
    let count = keys.frames();
    let most_keys = clip.tracks().iter().map(|track| clip.timelines()[track.timeline].len()).max();
    let most = ANY_FRAMES.max(FRAMES_PER_KEY * most_keys.unwrap_or(0) as f64);
    (count.min(most), count > most)
}

/// Rate for `frames` frames; for a clip with a single moment, the lowest rate that is ever chosen for poses.
pub(crate) fn rate([start, end]: [f64; 2], frames: usize) -> f32 {
    if frames > 0 { (frames as f64 / (end - start)) as f32 } else { grid::SPARSE_RATE as f32 }
}

fn ends(clip: &RawClip) -> [f64; 2] {
    [clip.start(), clip.end()]
}

/// Timelines whose keys determine the rate: those of animated joints, if any, because other tracks often have
/// different keys. Step tracks do not count, because they are stored unchanged.
fn decisive(clip: &RawClip) -> impl Iterator<Item = &[f32]> + Clone {
    let is_smooth = |track: &Track| !clip.is_stepped(track);
    let moves = |track: &Track| track.target.joint().is_some() && is_smooth(track);
    let any = |wanted: &dyn Fn(&Track) -> bool| clip.tracks().iter().any(wanted);
    let decides: &dyn Fn(&Track) -> bool = match () {
        () if any(&moves) => &moves,
        () if any(&is_smooth) => &is_smooth,
        () => &|_| true,
    };
    timelines(clip, decides)
}

/// Timelines of the `wanted` tracks, each once.
fn timelines<'a>(
    clip: &'a RawClip,
    wanted: &dyn Fn(&Track) -> bool,
) -> impl Iterator<Item = &'a [f32]> + Clone + use<'a> {
    let mut is_used = alloc::vec![false; clip.timelines().len()];
    clip.tracks().iter().filter(|track| wanted(track)).for_each(|track| is_used[track.timeline] = true);
    clip.timelines().iter().zip(is_used).filter(|(_, is_used)| *is_used).map(|(times, _)| times.as_slice())
}

/// Maximum distance in frames by which rounding of the times may move a key. Ignores step tracks.
pub(crate) fn slack(clip: &RawClip, frames: usize) -> f64 {
    if frames == 0 {
        return 0.0;
    }
    let ends = ends(clip);
    let smooth = timelines(clip, &|track| !clip.is_stepped(track));
    Keys::new(smooth, ends).slack() * frames as f64 / (ends[1] - ends[0])
}

/// Whether all keys of a track are on frames, within the [`slack`] of the clip.
pub(crate) fn is_on_frames(clip: &RawClip, track: &Track, frames: usize, slack: f64) -> bool {
    let ends = ends(clip);
    clip.timelines()[track.timeline].iter().all(|&time| off(time, ends, frames, slack).is_none())
}

/// Distance of a time from the nearest frame, in frames, if rounding does not explain it.
fn off(time: f32, [start, end]: [f64; 2], frames: usize, slack: f64) -> Option<f64> {
    if frames == 0 {
        return None;
    }
    let time = f64::from(time);
    let frame = (time - start) / (end - start) * frames as f64;
    let off = (frame - nearest(frame)).abs();
    // Later f32 times are coarser.
    let rounding = 1.2e-7 * time.abs().max(end.abs()) / (end - start) * frames as f64;
    (off > slack.max(TOLERANCE + rounding)).then_some(off)
}

/// Counts the keys that are off the frames by more than rounding explains. Ignores step tracks.
pub(crate) fn off_frames(clip: &RawClip, frames: usize) -> OffFrames {
    let ends = ends(clip);
    let mut found = OffFrames::default();
    if frames == 0 {
        return found;
    }
    let used = timelines(clip, &|track| !clip.is_stepped(track));
    let slack = slack(clip, frames);
    for &time in used.flatten() {
        found.all += 1;
        if let Some(off) = off(time, ends, frames, slack) {
            found.keys += 1;
            found.frames = found.frames.max(off as f32);
        }
    }
    found
}

/// Key times, ascending, that are not among the first moment and `all` evenly spaced moments after it.
///
/// The keys of a jump at such a moment are included, because the moment shows only one side of the jump.
///
/// # Errors
/// [`Error::TooMany`] for more than `limit` times.
pub(crate) fn keys_between(clip: &RawClip, all: usize, limit: usize) -> Result<Vec<f64>, Error> {
    let [start, end] = ends(clip);
    let moment = |time: f32| {
        let at = (f64::from(time) - start) / (end - start) * all as f64;
        Some(nearest(at)).filter(|nearest| (at - nearest).abs() <= 1e-3)
    };
    let mut found = Vec::new();
    for times in timelines(clip, &|_| true) {
        // Keys at the same moment are adjacent.
        for keys in times.chunk_by(|&a, &b| moment(a).is_some() && moment(a) == moment(b)) {
            if keys.len() > 1 || keys.iter().any(|&time| moment(time).is_none()) {
                found.extend(
                    keys.iter().map(|&time| f64::from(time)).filter(|time| start < *time && *time < end),
                );
            }
        }
    }
    sort_numbers(&mut found);
    found.dedup();
    let count = found.len();
    if count > limit {
        Err(Error::TooMany { what: "keys between frames", found: count, limit })
    } else {
        Ok(found)
    }
}

#[cfg(test)]
mod tests;
