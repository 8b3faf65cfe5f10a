//! The steps around the work of a command that reads one model: check the destination, open the model, check
//! the destination against every file that was read, warn of repairs, and refuse work out of proportion to
//! the files.

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
    /// The file that it reads.
    pub(crate) path: &'a Path,
    /// The file that it writes, if any.
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

    /// Opens the model. Neither the file nor any other that it names may be the destination.
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

    /// A failure if the work on the clip, or on the rest pose, is out of proportion to the files.
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
