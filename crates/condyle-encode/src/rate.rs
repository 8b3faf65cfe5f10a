//! The frames that a clip is compressed at.

mod grid;

use alloc::vec::Vec;

use condyle::clip::{RawClip, Track};
use condyle_base::error::Error;

use self::grid::{Keys, TOLERANCE, nearest, whole};
use super::options::OffFrames;

/// A clip may have this many frames however few keys it has.
const ANY_FRAMES: f64 = 8192.0;
/// Longer ones have at most this many for each key: two keys that are days apart are two keys.
const FRAMES_PER_KEY: f64 = 64.0;

/// Evenly spaced frames from the start of a clip to its end.
#[derive(Clone, Copy)]
pub(super) struct Frames {
    /// Number of frames after the first one.
    pub(super) count: usize,
    /// Whether there are fewer than the keys ask for, so that these are not on frames.
    pub(super) is_lowered: bool,
}

/// Number of frames of a clip after the first one, which may be too many, and whether it was lowered: at `rate` frames per second, or
/// else the fewest frames that all keys are on. A long clip of few keys has fewer, so that the frames are in proportion to the keys.
pub(super) fn count(clip: &RawClip, rate: Option<f32>) -> (f64, bool) {
    let ends = ends(clip);
    let duration = ends[1] - ends[0];
    if duration <= 0.0 {
        return (0.0, false);
    }
    let keys = Keys::new(decisive(clip), ends);
    if let Some(rate) = rate.map(f64::from) {
        // An end that rounding moved gets no frame of its own.
        let slack = (keys.slack() * rate).clamp(TOLERANCE, 0.3);
        return (whole(duration * rate, slack), false);
    }
    let count = keys.frames();
    let most_keys = clip.tracks().iter().map(|track| clip.timelines()[track.timeline].len()).max();
    let most = ANY_FRAMES.max(FRAMES_PER_KEY * most_keys.unwrap_or(0) as f64);
    (count.min(most), count > most)
}

/// The rate of so many frames; for a clip of a single moment the lowest that is ever chosen for poses.
pub(super) fn rate([start, end]: [f64; 2], frames: usize) -> f32 {
    if frames > 0 { (frames as f64 / (end - start)) as f32 } else { grid::SPARSE_RATE as f32 }
}

fn ends(clip: &RawClip) -> [f64; 2] {
    [clip.start(), clip.end()]
}

/// The timelines whose keys decide: those of joints, if any moves, because other tracks are often keyed differently. Steps do not
/// decide, because they are stored as they are.
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

/// The timelines of the tracks that are wanted, each once.
fn timelines<'a>(
    clip: &'a RawClip,
    wanted: &dyn Fn(&Track) -> bool,
) -> impl Iterator<Item = &'a [f32]> + Clone + use<'a> {
    let mut is_used = alloc::vec![false; clip.timelines().len()];
    clip.tracks().iter().filter(|track| wanted(track)).for_each(|track| is_used[track.timeline] = true);
    clip.timelines().iter().zip(is_used).filter(|(_, is_used)| *is_used).map(|(times, _)| times.as_slice())
}

/// By how many frames the rounding of the times may move a key. Steps have no say.
pub(super) fn slack(clip: &RawClip, frames: usize) -> f64 {
    if frames == 0 {
        return 0.0;
    }
    let ends = ends(clip);
    let smooth = timelines(clip, &|track| !clip.is_stepped(track));
    Keys::new(smooth, ends).slack() * frames as f64 / (ends[1] - ends[0])
}

/// Whether all keys of a track are on frames, for the [`slack`] of the clip.
pub(super) fn is_on_frames(clip: &RawClip, track: &Track, frames: usize, slack: f64) -> bool {
    let ends = ends(clip);
    clip.timelines()[track.timeline].iter().all(|&time| off(time, ends, frames, slack).is_none())
}

/// By how many frames a time is off the nearest one, if that is more than rounding explains.
fn off(time: f32, [start, end]: [f64; 2], frames: usize, slack: f64) -> Option<f64> {
    if frames == 0 {
        return None;
    }
    let time = f64::from(time);
    let frame = (time - start) / (end - start) * frames as f64;
    let off = (frame - nearest(frame)).abs();
    // f32 times are coarser the later they are.
    let rounding = 1.2e-7 * time.abs().max(end.abs()) / (end - start) * frames as f64;
    (off > slack.max(TOLERANCE + rounding)).then_some(off)
}

/// The keys of a clip that are on no frame, by more than the rounding of their times explains. Those of steps do not count.
pub(super) fn off_frames(clip: &RawClip, frames: usize) -> OffFrames {
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

/// The times of the keys that are none of `all` evenly spaced moments after the first, rising. Those of a
/// jump, which are on one moment, are among them: no moment shows more than one side of it.
///
/// # Errors
/// [`Error::TooMany`] if these are more than `limit`.
pub(super) fn keys_between(clip: &RawClip, all: usize, limit: usize) -> Result<Vec<f64>, Error> {
    let [start, end] = ends(clip);
    let moment = |time: f32| {
        let at = (f64::from(time) - start) / (end - start) * all as f64;
        Some(nearest(at)).filter(|nearest| (at - nearest).abs() <= 1e-3)
    };
    let mut found = Vec::new();
    for times in timelines(clip, &|_| true) {
        // The keys on a moment stand side by side.
        for keys in times.chunk_by(|&a, &b| moment(a).is_some() && moment(a) == moment(b)) {
            if keys.len() > 1 || keys.iter().any(|&time| moment(time).is_none()) {
                found.extend(
                    keys.iter().map(|&time| f64::from(time)).filter(|time| start < *time && *time < end),
                );
            }
        }
    }
    found.sort_unstable_by(f64::total_cmp);
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
