//! Steps common to all commands: check the destinations, open the models, check the destinations against
//! every file that was read, warn about repairs, and check the work limit.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use condyle_gltf::{Asset, Document};
use condyle_io::job::{self, Files, Folder, LeftOut, Outcome, Parts, Source, Stop, file_above};

use crate::failure::Failure;
use crate::interrupt;
use crate::model::Model;
use crate::model::document::warn_of_repairs;
use crate::model::playable::Playable;
use crate::options::overwrite::Overwrite;
use crate::options::threads::Threads;
use crate::options::work::{Budget, Limit, Work};
use crate::output::{Bar, warn};
use crate::text::{path_text, printable};

/// The files of a command.
pub(crate) struct Job {
    files: Files,
}

impl Job {
    /// Checks the destinations of a command before any work is done.
    pub(crate) fn new<'a>(
        inputs: impl IntoIterator<Item = &'a (impl AsRef<Path> + ?Sized + 'a)>,
        outputs: impl IntoIterator<Item = &'a (impl AsRef<Path> + ?Sized + 'a)>,
        overwrite: Overwrite,
    ) -> Result<Self, Failure> {
        let inputs = inputs.into_iter().map(AsRef::as_ref);
        let outputs = outputs.into_iter().map(AsRef::as_ref);
        Ok(Self { files: Files::new(inputs, outputs, overwrite.force)? })
    }

    /// A command that writes nothing.
    pub(crate) fn reading(path: &Path) -> Result<Self, Failure> {
        Self::new([path], [].map(|to: &Path| to), Overwrite::default())
    }

    /// A command that writes one file.
    pub(crate) fn writing(path: &Path, output: &Path, overwrite: Overwrite) -> Result<Self, Failure> {
        Self::new([path], [output], overwrite)
    }

    /// Opens a model. No destination may be one of its files.
    pub(crate) fn open<T: AsRef<Model>>(
        &mut self,
        path: &Path,
        open: impl FnOnce() -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let opened = open()?;
        let model = opened.as_ref();
        self.also_read(&model.sources)?;
        if !model.is_reported {
            warn_of_repairs(path, &model.asset);
        }
        Ok(opened)
    }

    /// Like [`open`](Self::open), for a document without compressed clips.
    pub(crate) fn open_asset(
        &mut self,
        path: &Path,
        open: impl FnOnce() -> Result<Asset, Failure>,
    ) -> Result<Asset, Failure> {
        let asset = open()?;
        self.files.also_read(Document::files(&asset.document))?;
        warn_of_repairs(path, &asset);
        Ok(asset)
    }

    /// Adds files that were read, none of which may be overwritten.
    pub(crate) fn also_read(&mut self, files: &BTreeSet<PathBuf>) -> Result<(), Failure> {
        Ok(self.files.also_read(files.iter().cloned())?)
    }

    /// Checks another output file.
    pub(crate) fn check(&self, to: &Path) -> Result<(), Failure> {
        Ok(self.files.check(to)?)
    }

    /// Returns the canonical paths of all files that were read.
    pub(crate) fn sources(&self) -> &BTreeSet<PathBuf> {
        self.files.read()
    }

    /// Returns the work that the files allow.
    pub(crate) fn budget(&self, limit: Limit) -> Budget {
        self.files.budget(limit.factor)
    }

    /// Checks the work on the clip, or on the rest pose, against the limit for these files.
    pub(crate) fn afford(
        &self,
        limit: Limit,
        path: &Path,
        clip: Option<&Playable<'_>>,
        work: &Work,
    ) -> Result<(), Failure> {
        let clip = clip.map_or("", Playable::name);
        Ok(self.budget(limit).afford(&path_text(path), clip, work)?)
    }
}

/// Returns the files of a folder whose outputs go to another one, sorted by name, and the subfolders that
/// cannot be read. The output folder is skipped, whatever its path is, and so is `except`.
pub(crate) fn files_of(
    folder: &Path,
    output: &Path,
    endings: &[&str],
    except: Option<&Path>,
) -> Result<(Vec<Source>, Vec<LeftOut>), Failure> {
    let name = path_text(folder);
    if let Some(file) = file_above(output) {
        let file = path_text(file);
        return Err(Failure::Usage(format!(
            "{name} is a folder, and {file} is a file; name an output folder with -o"
        )));
    }
    let canonical = |path: &Path| path.canonicalize().ok();
    if canonical(output).is_some_and(|output| canonical(folder) == Some(output)) {
        return Err(Failure::Usage(format!(
            "{name} has the motions, so it cannot be the output folder too; name another one with -o"
        )));
    }
    let except: Vec<&Path> = except.into_iter().chain([output]).collect();
    let found = Folder { root: folder, endings, except: &except }.sources();
    if found.0.is_empty() {
        return Err(Failure::Data(format!("{name} has no motion files")));
    }
    Ok(found)
}

/// Returns the failure for two files that would become one.
pub(crate) fn twins([one, other]: [&Source; 2], output: &Path) -> Failure {
    Failure::Usage(format!(
        "{} and {} would both become {}; rename one",
        printable(&one.name),
        printable(&other.name),
        path_text(output)
    ))
}

/// Makes what an earlier run did not make of the files of a folder. Warns about each file that is left out,
/// and about the subfolders that cannot be read.
pub(crate) fn make_all<J: Parts<Error = Failure>>(
    parts: &J,
    sources: &[Source],
    unreadable: Vec<LeftOut>,
    what: &'static str,
    threads: Threads,
) -> Result<Outcome<J::Part>, Failure> {
    interrupt::watch().map_err(|error| Failure::Data(format!("cannot catch signals: {error}")))?;
    let made = threads.pool()?.install(|| job::make_all(parts, sources, what, &Bar::default()));
    let mut outcome = made.map_err(|stop| match stop {
        Stop::Fatal(failure) => failure,
        Stop::Ended => Failure::Data("interrupted".into()),
    })?;
    outcome.left_out.extend(unreadable);
    outcome.left_out.sort_by(|a, b| a.source.cmp(&b.source));
    outcome.left_out.iter().for_each(|it| warn(&it.path, &format!("left out: {}", it.why)));
    Ok(outcome)
}
