//! Thresholds of contacts.

use condyle::play::Looping;
use condyle_base::error::Error;

use super::planted::{HEIGHT, LEG, SPEED};

/// Maximum number of samples of a clip.
const MAX_SAMPLES: usize = 1 << 20;

/// Thresholds of contacts.
///
/// Each pair holds the threshold below which a contact begins, and the one above which it ends. This
/// hysteresis keeps noise from splitting a contact.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ContactOptions {
    /// Height in metres above the lowest position of the joint in the clip.
    pub height: [f32; 2],
    /// Speed in metres per second over the ground.
    pub speed: [f32; 2],
    /// Speed as a fraction of the joint's mean speed within half a second. The larger of this and `speed`
    /// applies, because in a run at 6 m/s no foot is as still as in a walk. If a joint then has no contact,
    /// only its speed along the ground counts, with 1.6 times the fractions.
    pub pace: [f32; 2],
    /// Minimum duration in seconds. Shorter contacts are dropped, and shorter gaps between two contacts are
    /// closed.
    pub shortest: f32,
    /// Samples per second.
    pub sample_rate: f32,
    /// Whether the clip loops. [`for_legs`](Self::for_legs) sets [`Looping::Clamp`]. If the clip is played in
    /// a loop, set [`Looping::Wrap`]; otherwise contacts of later loops are lost.
    pub looping: Looping,
}

impl ContactOptions {
    /// Thresholds of a [planted](super::Planted) foot, proportional to the length of a leg in any unit. For a
    /// leg of 0.9 m the heights are 3 and 5 cm, the speeds 0.3 and 0.6 m/s.
    #[must_use]
    pub fn for_legs(length: f32) -> Self {
        let size = length / LEG as f32;
        Self {
            height: HEIGHT.map(|v| v as f32 * size),
            speed: SPEED.map(|v| v as f32 * size),
            pace: [0.15, 0.3],
            shortest: 0.05,
            sample_rate: 120.0,
            looping: Looping::Clamp,
        }
    }

    /// Checks the thresholds. Returns the number of intervals between the samples of a clip.
    pub(super) fn steps(&self, duration: f64) -> Result<usize, Error> {
        for (what, pair) in [("height", self.height), ("speed", self.speed), ("pace", self.pace)] {
            Error::check_finite(what, &pair, 1)?;
            if !(pair[0] >= 0.0 && pair[1] >= pair[0]) {
                return Err(Error::OutOfRange { what, at: 0, needed: "two ascending numbers, at least 0" });
            }
        }
        Error::check_number("shortest", self.shortest)?;
        Error::check_number("sample_rate", self.sample_rate)?;
        if self.sample_rate <= 0.0 {
            return Err(Error::OutOfRange { what: "sample_rate", at: 0, needed: "greater than 0" });
        }
        let wanted = duration * f64::from(self.sample_rate);
        if wanted >= MAX_SAMPLES as f64 {
            return Err(Error::TooMany { what: "samples", found: wanted as usize, limit: MAX_SAMPLES });
        }
        Ok(((wanted + 0.5) as usize).max(1))
    }
}
