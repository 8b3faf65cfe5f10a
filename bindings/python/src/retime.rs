//! Checked arguments of `Clip.retime`.

use condyle::RawClip;
use condyle::sampling::PoseSource;
use pyo3::prelude::*;

use crate::errors::Error;

/// Part, speed and rate of `Clip.retime`.
pub(crate) struct Retime {
    start: f64,
    end: f64,
    speed: f32,
    rate: Option<f32>,
}

impl Retime {
    /// Checks the arguments: start and end of the part, its duration or speed, and frames per second.
    pub(crate) fn new(
        clip: &impl PoseSource,
        [start, end]: [Option<f64>; 2],
        [duration, speed]: [Option<f64>; 2],
        rate: Option<f32>,
    ) -> PyResult<Self> {
        fits("start", start, "finite", f64::is_finite)?;
        let (start, end) = (start.unwrap_or(clip.start()), end.or(Some(clip.end())));
        fits("end", end, &format!("finite and at least {start}"), |end| end.is_finite() && end >= start)?;
        let (end, above) = (end.unwrap_or(start), |it: f64| it.is_finite() && it > 0.0);
        fits("duration", duration, "finite and above 0", above)?;
        fits("rate", rate.map(f64::from), "finite and above 0", above)?;
        fits("speed", speed, "finite and not 0", |it| it.is_finite() && it != 0.0)?;
        let speed = match (duration, speed) {
            (Some(duration), Some(speed)) => {
                return Err(Error::new_err(format!(
                    "duration and speed exclude each other, got duration={duration} and speed={speed}"
                )));
            }
            (Some(duration), None) if start == end => {
                return Err(Error::new_err(format!(
                    "duration must be None for an empty part from {start} to {end}, got {duration}"
                )));
            }
            (Some(duration), None) => (end - start) / duration,
            (None, speed) => speed.unwrap_or(1.0),
        };
        if let Some(duration) = duration.filter(|_| !above(f64::from(speed as f32))) {
            return Err(Error::new_err(format!(
                "duration={duration} is out of range: {} seconds cannot be stretched to it",
                end - start
            )));
        }
        Ok(Self { start, end, speed: speed as f32, rate })
    }

    pub(crate) fn applied(&self, clip: &RawClip) -> Result<RawClip, condyle::Error> {
        let clip = clip.cut(self.start, self.end)?.at_speed(self.speed)?;
        self.rate.map_or(Ok(clip.clone()), |rate| clip.resampled(rate))
    }
}

/// Returns an error if a given argument is out of range.
fn fits(name: &str, found: Option<f64>, wanted: &str, would_do: impl Fn(f64) -> bool) -> PyResult<()> {
    match found {
        Some(found) if !would_do(found) => {
            Err(Error::new_err(format!("{name} must be {wanted}, got {found}")))
        }
        _ => Ok(()),
    }
}
