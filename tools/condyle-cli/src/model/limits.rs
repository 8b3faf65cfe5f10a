//! Joint limits: read from a file, learned from clips, and written.

mod json;
mod repeated;

use std::path::{Path, PathBuf};

use condyle::sampling::PoseSource;
use condyle_solve::{FitOptions, Limits, fit_limits};

pub(crate) use self::json::{read, to_json};
use crate::failure::Failure;
use crate::model::Model;
use crate::model::playable::Playable;
use crate::options::work::{Budget, Work};
use crate::text::path_text;

/// `--limits`: the source of joint limits.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Choice {
    /// All clips of the model.
    Fit,
    File(PathBuf),
}

/// Parses `fit`, or the path of a file; `./fit` is a file of that name.
pub(crate) fn parse_choice(text: &str) -> Result<Choice, String> {
    Ok(if text == "fit" { Choice::Fit } else { Choice::File(text.into()) })
}

impl Choice {
    /// Returns the limits for the skeleton of a model that was opened from `path`.
    pub(crate) fn limits(&self, path: &Path, model: &Model, budget: &mut Budget) -> Result<Limits, Failure> {
        match self {
            Self::Fit => fit(path, model, &model.clips(), &FitOptions::default(), budget),
            Self::File(file) => read(file, &model.asset.skeleton),
        }
    }
}

/// Learns limits from clips of a model.
pub(crate) fn fit(
    path: &Path,
    model: &Model,
    clips: &[Playable<'_>],
    options: &FitOptions,
    budget: &mut Budget,
) -> Result<Limits, Failure> {
    let file = path_text(path);
    if clips.is_empty() {
        return Err(Failure::Usage(format!(
            "{file} has no clips to learn limits from; name a file with clips, or write the limits by hand"
        )));
    }
    for clip in clips {
        // The conversion to an integer saturates if the clip is too long.
        let moments = ((clip.end() - clip.start()) * f64::from(options.rate)) as usize;
        let moments = moments.saturating_add(2);
        budget.afford(&file, clip.name(), &Work::play(&[&model.asset], moments))?;
    }
    let sources: Vec<&dyn PoseSource> = clips.iter().map(|clip| clip as &dyn PoseSource).collect();
    fit_limits(&model.asset.skeleton, &sources, options)
        .map_err(|e| Failure::Data(format!("{file}: {e}; no limits can be learned from its clips")))
}
