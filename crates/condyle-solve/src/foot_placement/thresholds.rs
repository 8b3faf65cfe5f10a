//! Thresholds of touches.

use condyle::play::Looping;
use condyle_base::error::Error;

/// Maximum number of moments at which a clip is sampled.
const MAX_SAMPLES: usize = 1 << 20;

/// Thresholds of a touch.
///
/// Each pair holds the threshold below which a touch begins and the one above which it ends. Between them nothing changes, so that
/// noise does not break a touch into many.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ContactOptions {
    /// Metres above the lowest place that the joint has in the clip.
    pub height: [f32; 2],
    /// Metres per second over the ground.
    pub speed: [f32; 2],
    /// Fractions of the joint's mean speed within half a second. The larger one of both speeds counts: in a run at 6 m/s no foot stands as
    /// still as in a walk. A joint that touches nowhere by that is judged by its speed along the ground alone, at 1.6 times the fractions.
    pub pace: [f32; 2],
    /// Seconds. A shorter touch is dropped, and a shorter break between two touches is closed.
    pub shortest: f32,
    /// Moments per second at which the clip is sampled.
    pub sample_rate: f32,
    /// Whether the clip goes on from its end to its start.
    pub looping: Looping,
}

impl ContactOptions {
    /// Thresholds in proportion to the length of a leg, in any unit. For a leg of 0.9 m the heights are 3 and 5 cm, the speeds 0.3 and
    /// 0.6 m/s.
    #[must_use]
    pub fn for_legs(length: f32) -> Self {
        let size = length / 0.9;
        Self {
            height: [0.03, 0.05].map(|v| v * size),
            speed: [0.3, 0.6].map(|v| v * size),
            pace: [0.15, 0.3],
            shortest: 0.05,
            sample_rate: 120.0,
            looping: Looping::Clamp,
        }
    }

    /// Checks the thresholds, and returns the number of spans between moments at which a clip is sampled.
    pub(super) fn steps(&self, duration: f64) -> Result<usize, Error> {
        for (what, pair) in [("height", self.height), ("speed", self.speed), ("pace", self.pace)] {
            Error::check_finite(what, &pair, 1)?;
            if !(pair[0] >= 0.0 && pair[1] >= pair[0]) {
                return Err(Error::OutOfRange { what, at: 0, needed: "of rising numbers, at least 0" });
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
