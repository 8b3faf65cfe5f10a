//! The time that a clip is asked to have.

use condyle::RawClip;
use condyle::sampling::PoseSource;
use pyo3::prelude::*;

use crate::errors::Error;

/// What `Clip.retime` does.
pub(crate) struct Retime {
    start: f64,
    end: f64,
    speed: f32,
    rate: Option<f32>,
}

impl Retime {
    /// Of a clip: the part, then its duration or speed, then frames a second.
    pub(crate) fn new(
        clip: &impl PoseSource,
        [start, end]: [Option<f64>; 2],
        [duration, speed]: [Option<f64>; 2],
        rate: Option<f32>,
    ) -> PyResult<Self> {
        fits("start", start, "seconds", f64::is_finite)?;
        let (start, end) = (start.unwrap_or(clip.start()), end.or(Some(clip.end())));
        fits("end", end, &format!("seconds from {start} on"), |end| end.is_finite() && end >= start)?;
        let (end, above) = (end.unwrap_or(start), |it: f64| it.is_finite() && it > 0.0);
        fits("duration", duration, "seconds above 0", above)?;
        fits("rate", rate.map(f64::from), "frames a second above 0", above)?;
        fits("speed", speed, "a number other than 0", |it| it.is_finite() && it != 0.0)?;
        let speed = match (duration, speed) {
            (Some(duration), Some(speed)) => {
                return Err(Error::new_err(format!(
                    "duration is {duration} and speed is {speed}, one of them is wanted"
                )));
            }
            (Some(duration), None) if start == end => {
                return Err(Error::new_err(format!(
                    "duration is {duration}, None is wanted for a part from {start} to {end}"
                )));
            }
            (Some(duration), None) => (end - start) / duration,
            (None, speed) => speed.unwrap_or(1.0),
        };
        if let Some(duration) = duration.filter(|_| !above(f64::from(speed as f32))) {
            return Err(Error::new_err(format!(
                "duration is {duration}, {} seconds cannot be brought to that",
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

/// An error in words if an argument that is given is none that would do.
fn fits(name: &str, found: Option<f64>, wanted: &str, would_do: impl Fn(f64) -> bool) -> PyResult<()> {
    match found {
        Some(found) if !would_do(found) => {
            Err(Error::new_err(format!("{name} is {found}, {wanted} is wanted")))
        }
        _ => Ok(()),
    }
}
