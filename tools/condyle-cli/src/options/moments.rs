//! `--fps`: evenly spaced moments of a whole clip.

use crate::failure::Failure;
use crate::model::playable::Playable;

/// Maximum number of moments of a series; more are assumed to be a mistake.
pub(crate) const LONGEST: usize = 100_000;

/// Returns `fps` moments per second from the start of a clip, in seconds: at least one.
pub(crate) fn every(clip: &Playable<'_>, fps: f64) -> Result<Vec<f64>, Failure> {
    let (start, end) = (clip.start(), clip.end());
    // A tolerance of a thousandth of a frame, so that rounding does not lose the last frame.
    let last = ((end - start) * fps + 1e-3).floor();
    if last >= LONGEST as f64 {
        return Err(Failure::Usage(format!(
            "--fps {fps}: the clip lasts {} s, which is more than {LONGEST} moments; \
             choose a lower --fps, or single moments with --time",
            clip.end() - clip.start(),
        )));
    }
    Ok((0..=last as u32).map(|frame| start + f64::from(frame) / fps).collect())
}
