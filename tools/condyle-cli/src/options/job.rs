//! Steps common to commands that read one model: check the destination, open the model, check the destination
//! against every file that was read, warn about repairs, and check the work limit.

use std::path::Path;

use crate::failure::Failure;
use crate::model::Model;
use crate::model::document::{sources, warn_of_repairs};
use crate::model::playable::Playable;
use crate::options::overwrite::Overwrite;
use crate::options::work::{Limit, Work};
use crate::output::check_destination;
use crate::text::path_text;

/// A command that reads one model.
pub(crate) struct Job<'a> {
    /// Input file.
    pub(crate) path: &'a Path,
    /// Output file, if any.
    pub(crate) output: Option<&'a Path>,
    pub(crate) overwrite: Overwrite,
}

impl<'a> Job<'a> {
    /// A command that writes nothing.
    pub(crate) fn reading(path: &'a Path) -> Self {
        Self { path, output: None, overwrite: Overwrite::default() }
    }

    /// A command that writes a file.
    pub(crate) fn writing(path: &'a Path, output: &'a Path, overwrite: Overwrite) -> Self {
        Self { path, output: Some(output), overwrite }
    }

    /// Opens the model. The destination must not be the file or any other file that the model refers to.
    pub(crate) fn open<T: AsRef<Model>>(
        &self,
        open: impl FnOnce() -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let check = |files: &_| self.output.map_or(Ok(()), |to| check_destination(to, files, self.overwrite));
        check(&sources(self.path, None))?;
        let opened = open()?;
        let model = opened.as_ref();
        check(&model.sources)?;
        if !model.is_reported {
            warn_of_repairs(self.path, &model.asset);
        }
        Ok(opened)
    }

    /// Checks the work on the clip, or on the rest pose, against the limit for these files.
    pub(crate) fn afford(
        &self,
        limit: Limit,
        model: &Model,
        clip: Option<&Playable<'_>>,
        work: &Work,
    ) -> Result<(), Failure> {
        let clip = clip.map_or("", Playable::name);
        limit.budget(&model.sources).afford(&path_text(self.path), clip, work)
    }
}
