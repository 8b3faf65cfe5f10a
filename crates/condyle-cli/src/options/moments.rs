//! `--fps`: the moments of a whole clip.

use crate::failure::Failure;
use crate::model::playable::Playable;

/// A series of more moments than this is taken for a mistake.
pub(crate) const LONGEST: usize = 100_000;

/// So many moments per second from the start of a clip on, in seconds: at least one.
pub(crate) fn every(clip: &Playable<'_>, fps: f64) -> Result<Vec<f64>, Failure> {
    let (start, end) = (clip.start(), clip.end());
    // A thousandth of a frame of tolerance, so that rounding does not lose the last frame.
    let last = ((end - start) * fps + 1e-3).floor();
    if last >= LONGEST as f64 {
        return Err(Failure::Usage(format!(
            "--fps {fps}: the clip lasts {} s, that would be more than {LONGEST} moments; \
             ask for fewer, or for single ones with --time",
            clip.end() - clip.start(),
        )));
    }
    Ok((0..=last as u32).map(|frame| start + f64::from(frame) / fps).collect())
}
