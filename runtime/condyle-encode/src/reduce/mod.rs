//! Key reduction: converts any clip to an authored one with as few keys as an error budget allows, for files
//! that other programs read.

mod attempts;
mod authored;
mod build;
mod channel;
mod curve_keys;
mod format;
mod job;
mod key_search;
mod key_values;
mod measure;
mod parts;
mod placed;
mod properties;
mod source;
mod space;

use alloc::vec;
use alloc::vec::Vec;

pub use self::curve_keys::curve_keys;
pub use self::format::KeyFormat;
use self::job::Job;
use self::measure::measure_all;
pub use self::measure::measure_keys;
use self::parts::holds;
use self::parts::{ReducedRange, frames_made_worse, join};
use self::source::Source;
use crate::options::{EncodeOptions, Measured};
use condyle::clip::RawClip;
use condyle::sampling::AnyClip;
use condyle::skeleton::Skeleton;
use condyle_base::error::Error;

/// Clip with fewer keys, and its error.
///
/// ```
/// use condyle_encode::{EncodeOptions, KeyFormat, Shell, reduce};
/// use condyle::{Interpolation, Joint, RawClip, Skeleton, Target, Track, Transform};
///
/// let skeleton = Skeleton::new([Joint::new("lift", None, Transform::IDENTITY)])?;
/// // A key at each of sixty frames, all on one line.
/// let times: Vec<f32> = (0..=60).map(|frame| frame as f32 / 30.0).collect();
/// let values = times.iter().flat_map(|&t| [0.0, 0.7 * t, 0.0]).collect();
/// let (target, interpolation) = (Target::Translation(0), Interpolation::Linear);
/// let up = Track { target, interpolation, timeline: 0, values };
/// let clip = RawClip::new("up".into(), vec![times], vec![up])?;
///
/// let reduced = reduce(&clip, &skeleton, &EncodeOptions::new(1e-4, Shell::Balls(0.03)), KeyFormat::Floats)?;
/// assert_eq!(reduced.clip.timelines()[0].len(), 2);
/// assert!(reduced.measured.error_max <= 1e-4);
/// # Ok::<(), condyle::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Reduced {
    /// Reduced clip.
    pub clip: RawClip,
    /// Rate in frames per second at which errors were checked, in addition to the key times.
    pub rate: f32,
    /// Error of the points of the shell. It was checked at every key and frame, at three intermediate times
    /// between frames, and more densely between keys that are closer than that. Each of
    /// [`frames`](Measured::frames) includes the interval up to the next frame; `error_p99` and
    /// `error_between_max` stay 0.
    pub measured: Measured,
}

/// Number of times that `reduce` adds moments between keys and refits the failed frames. A second refinement
/// fixed no frame in recorded walks.
const MAX_REFINEMENTS: usize = 1;

/// Reduces a clip to the fewest keys found that keep every point of the shell within the budget, between keys
/// too.
///
/// Each property uses straight lines or splines, whichever take fewer bytes, at times that tracks share. A
/// constant track has one key, a track at rest is omitted, and step tracks stay unchanged.
///
/// `format` is the number format in which the keys will be stored; the error includes its rounding.
/// [`EncodeOptions::best`], [`root_motion`](EncodeOptions::root_motion) and
/// [`events`](EncodeOptions::events) do not apply.
///
/// # Errors
/// Returns the errors of [`encode`](crate::encode()).
pub fn reduce<'a>(
    clip: impl Into<AnyClip<'a>>,
    skeleton: &Skeleton,
    options: &EncodeOptions,
    format: KeyFormat,
) -> Result<Reduced, Error> {
    options.check(skeleton.joint_count())?;
    let clip = clip.into();
    let mut source = Source::new(&clip, skeleton, options)?;
    let windows = source.windows()?;
    let pinned = windows.len() > 1;
    let mut parts: Vec<Option<ReducedRange>> = vec![None; windows.len()];
    let mut best: Option<Reduced> = None;
    for refinement in 0..=MAX_REFINEMENTS {
        for (part, frames) in parts.iter_mut().zip(&windows).filter(|(part, _)| part.is_none()) {
            let window = source.window(frames.clone())?;
            let mut job = Job::new(skeleton, options, &source, window, pinned, format)?;
            (0..refinement).for_each(|_| job.use_less());
            let ends = job.bounds();
            *part = Some(ReducedRange { reduced: job.best()?, ends });
        }
        let mut found = join(parts.iter().flatten().cloned().collect(), &source, skeleton)?;
        let unseen = source.unseen(&found.clip)?;
        let measured = match &unseen[..] {
            [] => found.measured.clone(),
            unseen => measure_all(&source.with(unseen), &found.clip, skeleton, options)?,
        };
        let worse = frames_made_worse(options, &found.measured, &measured);
        found.measured = measured;
        let is_better = |best: &Reduced| found.measured.error_max < best.measured.error_max;
        if holds(options, &found.measured) || best.as_ref().is_none_or(is_better) {
            best = Some(found);
        }
        if worse.is_empty() {
            break;
        }
        let of_worse = unseen.into_iter().filter(|&time| worse.binary_search(&source.frame_of(time)).is_ok());
        source = source.with(&of_worse.collect::<Vec<_>>());
        for (part, frames) in parts.iter_mut().zip(&windows) {
            if worse.iter().any(|frame| frames.contains(frame)) {
                *part = None;
            }
        }
    }
    best.ok_or(Error::NoKeys { timeline: 0 })
}

#[cfg(test)]
mod tests;
