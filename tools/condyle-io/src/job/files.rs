//! The input and output files of a job, and the checks of its destinations.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{fmt, fs, io};

use super::text::path_text;
use super::work::Budget;

/// Files that a job reads and writes. No destination may be an input file.
#[derive(Debug)]
pub struct Files {
    read: BTreeSet<PathBuf>,
    destinations: Vec<PathBuf>,
    replaces_read_only: bool,
}

impl Files {
    /// Checks the destinations before any work is done. `replaces_read_only` allows read-only destinations.
    ///
    /// # Errors
    /// [`DestinationError`] for the first destination that cannot be written.
    pub fn new<'a>(
        inputs: impl IntoIterator<Item = &'a Path>,
        destinations: impl IntoIterator<Item = &'a Path>,
        replaces_read_only: bool,
    ) -> Result<Self, DestinationError> {
        let destinations = destinations.into_iter().map(Path::to_path_buf).collect();
        let mut files = Self { read: BTreeSet::new(), destinations, replaces_read_only };
        files.also_read(inputs.into_iter().filter_map(|path| path.canonicalize().ok()))?;
        Ok(files)
    }

    /// Adds the canonical paths of files that were read, such as the buffers of a document, and checks the
    /// destinations again.
    ///
    /// # Errors
    /// [`DestinationError`] if a destination is one of them.
    pub fn also_read(&mut self, files: impl IntoIterator<Item = PathBuf>) -> Result<(), DestinationError> {
        self.read.extend(files);
        self.destinations.iter().try_for_each(|to| self.check(to))
    }

    /// Checks another destination of the job: its folder must be a folder or not exist. The destination must
    /// not be a folder, a device or an input file. A read-only file must be allowed.
    ///
    /// # Errors
    /// [`DestinationError`] if it cannot be written.
    pub fn check(&self, to: &Path) -> Result<(), DestinationError> {
        let refused = |why| Err(DestinationError { path: to.to_path_buf(), why });
        if let Some(file) = file_above(&folder_of(to)) {
            return refused(Refusal::FolderIsFile(file.to_path_buf()));
        }
        if to.file_name().is_none() {
            return refused(Refusal::NoName);
        }
        if fs::symlink_metadata(to).is_err() {
            return Ok(());
        }
        if !fs::metadata(to).is_ok_and(|kind| kind.is_file()) {
            return refused(Refusal::NoFile);
        }
        if fs::canonicalize(to).is_ok_and(|to| self.read.contains(&to)) {
            return refused(Refusal::Input);
        }
        if !self.replaces_read_only && is_read_only(to) {
            return refused(Refusal::ReadOnly);
        }
        Ok(())
    }

    /// Returns the canonical paths of all input files.
    #[must_use]
    pub fn read(&self) -> &BTreeSet<PathBuf> {
        &self.read
    }

    /// Returns the size of all input files.
    #[must_use]
    pub fn byte_count(&self) -> u64 {
        self.read.iter().map(|file| fs::metadata(file).map_or(0, |it| it.len())).sum()
    }

    /// Returns the work that these input files allow, times `factor`.
    #[must_use]
    pub fn budget(&self, factor: f64) -> Budget {
        Budget::new(factor, self.byte_count())
    }
}

/// Why a file cannot be written to a path.
#[derive(Debug)]
pub struct DestinationError {
    path: PathBuf,
    why: Refusal,
}

#[derive(Debug)]
enum Refusal {
    FolderIsFile(PathBuf),
    NoName,
    NoFile,
    Input,
    ReadOnly,
}

impl DestinationError {
    /// Whether the path has no file name.
    #[must_use]
    pub fn has_no_name(&self) -> bool {
        matches!(self.why, Refusal::NoName)
    }

    /// Whether a folder of the path is a file.
    #[must_use]
    pub fn is_in_file(&self) -> bool {
        matches!(self.why, Refusal::FolderIsFile(_))
    }

    /// Whether the file is only read-only.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        matches!(self.why, Refusal::ReadOnly)
    }
}

impl fmt::Display for DestinationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = path_text(&self.path);
        match &self.why {
            Refusal::FolderIsFile(file) => write!(f, "{path}: {} is not a folder", path_text(file)),
            Refusal::NoName => write!(f, "{path} is not a file name"),
            Refusal::NoFile => write!(f, "{path} exists and is not a file"),
            Refusal::Input => write!(f, "{path} is a file of the input model and would be overwritten"),
            Refusal::ReadOnly => write!(f, "{path} exists and is read-only"),
        }
    }
}

impl std::error::Error for DestinationError {}

/// Returns the file that stands where a folder of this path, or the path itself, has to be.
#[must_use]
pub fn file_above(folder: &Path) -> Option<&Path> {
    folder.ancestors().find(|path| fs::symlink_metadata(path).is_ok()).filter(|path| !path.is_dir())
}

/// Returns the folder of a file.
pub(super) fn folder_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_path_buf(),
        _ => PathBuf::from("."),
    }
}

/// Whether a file is read-only: by its mode, even for a user who may write to it, or for this user.
fn is_read_only(path: &Path) -> bool {
    let denied = |error: io::Error| error.kind() == io::ErrorKind::PermissionDenied;
    fs::metadata(path).is_ok_and(|file| file.permissions().readonly())
        || fs::OpenOptions::new().write(true).open(path).is_err_and(denied)
}
