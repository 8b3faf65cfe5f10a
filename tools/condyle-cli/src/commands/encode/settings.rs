//! Encoder options for files and folders.

use std::path::Path;

use condyle::RawClip;
use condyle_encode::{EncodeOptions, Shell, frame_count};
use condyle_gltf::Asset;

use super::row::Job;
use super::unfit;
use crate::failure::Failure;
use crate::options::heading::PRECISION;
use crate::options::quantity::{Length, Rate, at_most, parse_error, parse_rate};
use crate::options::shell::Bounded;
use crate::options::work::Work;
use crate::text::path_text;

#[derive(Debug, clap::Args)]
pub(crate) struct Settings {
    /// Maximum error of a vertex
    #[arg(long, value_name = "LENGTH", default_value = "0.5mm", allow_hyphen_values = true, value_parser = parse_error)]
    pub(crate) error: Length,
    /// Frames per second of the compressed clips. auto: the lowest rate from 8 to 1000 whose frames contain
    /// all keys, or at least 24 if keys are farther apart than at 8 Hz
    #[arg(long, value_name = "auto|HZ", default_value = "auto", allow_hyphen_values = true, value_parser = parse_rate)]
    #[arg(help_heading = PRECISION)]
    rate: Rate,
    #[command(flatten)]
    bounded: Bounded,
    /// Bound the error at the frames only, not between them
    #[arg(long, help_heading = PRECISION)]
    at_samples: bool,
    /// Search longer for a smaller file
    #[arg(long, help_heading = PRECISION)]
    best: bool,
}

/// Time of [`EncodeOptions::best`] as a multiple of the usual time.
const BEST_TIME: u64 = 5;

impl Settings {
    /// Warns about lengths that were probably meant in another unit.
    pub(crate) fn warn_of_sizes(&self) {
        self.error.warn_above(0.02, "--error");
        self.bounded.warn_of_size();
    }

    /// Returns the job for an opened model whose units are `metres` metres.
    pub(crate) fn job<'a>(&self, path: &'a Path, asset: Asset, metres: f64) -> Result<Job<'a>, Failure> {
        let shell = Shell::Balls(self.bounded.radius(metres));
        let mut options = EncodeOptions::new(at_most(self.error.metres / metres), shell);
        if options.budget == 0.0 {
            return Err(Failure::Usage(format!(
                "{}: with units of this size the error rounds to 0 in f32; raise --error, or correct the size",
                path_text(path)
            )));
        }
        options.rate = match self.rate {
            Rate::Auto => None,
            Rate::Hertz(rate) => Some(rate),
        };
        options.between = !self.at_samples;
        options.best = self.best;
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Job { path, name, asset, options, bounded: self.bounded, metres })
    }

    /// Returns the work of a clip.
    pub(crate) fn work(&self, job: &Job<'_>, clip: &RawClip) -> Result<Work, Failure> {
        let frames = frame_count(clip, job.asset.skeleton.joint_count(), &job.options);
        let frames = frames.map_err(|e| unfit(job, clip.name(), &e))?;
        // Keys between the frames are evaluated once, too.
        let keys = clip.timelines().iter().map(Vec::len).sum::<usize>();
        let frames = frames.saturating_add(keys.saturating_sub(frames) / 4);
        Ok(Work::fit(&job.asset, frames, if self.best { BEST_TIME } else { 1 }))
    }
}
