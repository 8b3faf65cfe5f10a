//! A file under a temporary name next to its destination. It is renamed when it is complete, together with
//! all other files of the job. If it is never completed, it is removed. A program that a signal ends calls
//! [`discard_unfinished`].

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::{fmt, mem};

use serde_json::{Value, json};

use super::files::folder_of;
use super::text::{counted, path_text, size};

/// A file that was written.
#[derive(Debug)]
pub struct Written {
    /// Path that the caller gave.
    pub path: PathBuf,
    /// Size in bytes.
    pub bytes: u64,
}

impl Written {
    /// Returns an object with `path` and `bytes`.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({ "path": self.path.to_string_lossy(), "bytes": self.bytes })
    }

    /// Describes several files in one line.
    #[must_use]
    pub fn summary(files: &[Self]) -> String {
        let bytes = size(files.iter().map(|file| file.bytes as usize).sum());
        match files {
            [] => "nothing".into(),
            [one] => format!("{}: {bytes}", path_text(&one.path)),
            [first, .., last] => {
                let count = counted(files.len(), "file", "files");
                format!("{} to {}: {count}, {bytes}", path_text(&first.path), path_text(&last.path))
            }
        }
    }
}

/// A file that cannot be written.
#[derive(Debug)]
pub struct WriteError {
    /// Path that the caller gave.
    pub path: PathBuf,
    /// Error of the operating system.
    pub error: io::Error,
}

impl WriteError {
    fn new(path: &Path, error: io::Error) -> Self {
        Self { path: path.to_path_buf(), error }
    }
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} cannot be written: {}", path_text(&self.path), self.error)
    }
}

// The message includes the system error, so there is no source.
impl std::error::Error for WriteError {}

/// Writes a whole file or none: the draft is in the same folder and is then renamed. Missing folders are
/// created, and a replaced file passes its mode on.
///
/// # Errors
/// [`WriteError`]; the file is then as before.
pub fn write_file(
    to: PathBuf,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<Written, WriteError> {
    let mut draft = Draft::new(to)?;
    draft.append(fill)?;
    draft.finish()?.keep()
}

/// A file that is being written. It is removed unless it is finished and kept.
#[derive(Debug)]
pub struct Draft {
    to: PathBuf,
    file: BufWriter<File>,
    made: Made,
}

/// A complete file under its temporary name. It is removed unless it is kept.
#[derive(Debug)]
pub struct Finished {
    to: PathBuf,
    bytes: u64,
    made: Made,
}

/// Paths created for a file, by their numbers in [`Unfinished`]: the missing folders, outermost first, then
/// the draft.
#[derive(Debug, Default)]
struct Made(Vec<u64>);

impl Draft {
    /// Creates an empty draft of the file `to`, and its missing folders.
    ///
    /// # Errors
    /// [`WriteError`].
    pub fn new(to: PathBuf) -> Result<Self, WriteError> {
        match Self::of(&target(&to)) {
            Ok((file, made)) => Ok(Self { to, file: BufWriter::new(file), made }),
            Err(error) => Err(WriteError::new(&to, error)),
        }
    }

    fn of(target: &Path) -> io::Result<(File, Made)> {
        let mut made = Made::default();
        // A signal waits until every created path is on the list.
        let mut unfinished = unfinished();
        let folder = folder_of(target);
        for path in missing(&folder).iter().rev() {
            match fs::create_dir(path) {
                Ok(()) => made.0.push(unfinished.add(path.clone())),
                Err(_) if path.is_dir() => {}
                Err(error) => {
                    let what = format!("cannot create the folder {}: {error}", path_text(path));
                    return Err(io::Error::new(error.kind(), what));
                }
            }
        }
        let mut builder = tempfile::Builder::new();
        builder.prefix(".condyle-");
        // Temporary files are private by default. This one gets the permissions of any other new file, or of
        // the file that it replaces.
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = fs::metadata(target).map_or(0o666, |old| old.permissions().mode());
            builder.permissions(PermissionsExt::from_mode(mode & 0o666 | 0o200));
        }
        let (file, path) = builder.tempfile_in(&folder)?.keep().map_err(|failed| failed.error)?;
        made.0.push(unfinished.add(path));
        Ok((file, made))
    }

    /// Adds bytes to the file.
    ///
    /// # Errors
    /// [`WriteError`].
    pub fn append<T>(&mut self, fill: impl FnOnce(&mut dyn Write) -> io::Result<T>) -> Result<T, WriteError> {
        fill(&mut self.file).map_err(|error| WriteError::new(&self.to, error))
    }

    /// Writes the buffered bytes and closes the file. [`keep_all`] renames it together with others.
    ///
    /// # Errors
    /// [`WriteError`].
    pub fn finish(self) -> Result<Finished, WriteError> {
        let Self { to, file, made } = self;
        let closed = file.into_inner().map_err(io::IntoInnerError::into_error);
        match closed.and_then(|file| file.metadata()) {
            Ok(metadata) => Ok(Finished { to, bytes: metadata.len(), made }),
            Err(error) => Err(WriteError::new(&to, error)),
        }
    }
}

impl Finished {
    /// Moves the file to its destination. A replaced file passes its mode on.
    ///
    /// # Errors
    /// [`WriteError`].
    pub fn keep(mut self) -> Result<Written, WriteError> {
        put(std::slice::from_mut(&mut self))?;
        Ok(self.written())
    }

    fn written(self) -> Written {
        Written { path: self.to, bytes: self.bytes }
    }
}

/// Moves the files of a job to their destinations: all of them, or none. Exception: a file that was
/// replaced before a later move failed stays replaced.
///
/// # Errors
/// [`WriteError`].
pub fn keep_all(mut files: Vec<Finished>) -> Result<Vec<Written>, WriteError> {
    put(&mut files)?;
    Ok(files.into_iter().map(Finished::written).collect())
}

fn put(files: &mut [Finished]) -> Result<(), WriteError> {
    // Invalid names are found before any file is replaced.
    for file in &*files {
        let there = fs::symlink_metadata(target(&file.to));
        if let Some(error) = there.err().filter(|error| error.kind() != io::ErrorKind::NotFound) {
            return Err(WriteError::new(&file.to, error));
        }
    }
    // A signal acts before the first move or after the last.
    let mut unfinished = unfinished();
    for file in &*files {
        file.made
            .put(&target(&file.to), &mut unfinished)
            .map_err(|error| WriteError::new(&file.to, error))?;
    }
    for it in files.iter_mut().flat_map(|file| file.made.0.drain(..)) {
        unfinished.paths.remove(&it);
    }
    Ok(())
}

/// Returns the file that a name refers to. A symbolic link stays, and its target is replaced.
fn target(to: &Path) -> PathBuf {
    fs::canonicalize(to).unwrap_or_else(|_| to.to_path_buf())
}

/// Gives the draft the mode of the file that it replaces.
#[cfg(unix)]
fn replaceable(_: &Path, draft: &Path, old: fs::Permissions) -> io::Result<()> {
    fs::set_permissions(draft, old)
}

/// Makes a read-only file writable: Windows has no modes and does not replace read-only files.
#[cfg(not(unix))]
fn replaceable(target: &Path, _: &Path, mut old: fs::Permissions) -> io::Result<()> {
    if !old.readonly() {
        return Ok(());
    }
    #[allow(
        clippy::permissions_set_readonly_false,
        reason = "not on Unix, where it would let everyone write"
    )]
    old.set_readonly(false);
    fs::set_permissions(target, old)
}

/// Returns the folders that do not exist, innermost first.
fn missing(folder: &Path) -> Vec<PathBuf> {
    let named = folder.ancestors().filter(|path| !path.as_os_str().is_empty());
    named.take_while(|path| !path.exists()).map(Path::to_path_buf).collect()
}

impl Made {
    /// Moves the draft to `target`. A new `target` then takes its place among the unfinished paths until it
    /// is kept.
    fn put(&self, target: &Path, unfinished: &mut Unfinished) -> io::Result<()> {
        let Some(path) = self.0.last().and_then(|draft| unfinished.paths.get_mut(draft)) else {
            return Ok(());
        };
        let old = fs::metadata(target);
        if let Ok(old) = &old {
            replaceable(target, path, old.permissions())?;
        }
        fs::rename(&*path, target)?;
        *path = if old.is_ok() { PathBuf::new() } else { target.to_path_buf() };
        Ok(())
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        if !self.0.is_empty() {
            let mut unfinished = unfinished();
            unfinished.left.append(&mut self.0);
            unfinished.remove_left();
        }
    }
}

/// Removes a file or an empty folder, and returns whether it is gone. A folder with contents stays.
fn remove(path: &Path) -> bool {
    fs::remove_file(path).or_else(|_| fs::remove_dir(path)).is_ok() || !path.exists()
}

/// Proof that no draft is left. Until it is dropped, no thread begins or finishes a file.
#[derive(Debug)]
pub struct Discarded(#[expect(dead_code, reason = "holds the lock")] MutexGuard<'static, Unfinished>);

/// Removes all unfinished files and the folders created for them, for a program that is about to end.
#[must_use = "other threads go on when the value is dropped"]
pub fn discard_unfinished() -> Discarded {
    let mut unfinished = unfinished();
    for path in mem::take(&mut unfinished.paths).values().rev() {
        remove(path);
    }
    Discarded(unfinished)
}

/// Paths of unfinished files.
#[derive(Debug)]
struct Unfinished {
    /// Paths by number, in the order of creation: a folder before its contents. An empty path stands for a
    /// path that must not be removed.
    paths: BTreeMap<u64, PathBuf>,
    next: u64,
    /// Numbers of discarded paths that still exist: folders that contain another file of the command.
    left: Vec<u64>,
}

static UNFINISHED: Mutex<Unfinished> =
    Mutex::new(Unfinished { paths: BTreeMap::new(), next: 0, left: Vec::new() });

fn unfinished() -> MutexGuard<'static, Unfinished> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Unfinished {
    fn add(&mut self, path: PathBuf) -> u64 {
        self.next += 1;
        self.paths.insert(self.next, path);
        self.next
    }

    /// Removes the discarded paths where possible, last first.
    fn remove_left(&mut self) {
        let Self { paths, left, .. } = self;
        left.sort_unstable_by(|a, b| b.cmp(a));
        left.retain(|it| {
            let stays = paths.get(it).is_some_and(|path| !remove(path));
            if !stays {
                paths.remove(it);
            }
            stays
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_goes_again_where_a_later_one_finds_no_place() {
        let root = tempfile::tempdir().expect("a temporary folder");
        let new = root.path().join("new");
        let finished = |name: &str| Draft::new(new.join(name))?.finish();
        let files = vec![finished("a").expect("a draft"), finished("b").expect("a draft")];
        fs::create_dir(new.join("b")).expect("a folder");
        assert!(keep_all(files).is_err_and(|error| error.to_string().contains("cannot be written")));
        let left: Vec<_> = fs::read_dir(&new).expect("a folder").flatten().map(|it| it.file_name()).collect();
        assert_eq!(left, ["b"]);
        // The last draft in a new folder removes it, even if another draft created it.
        fs::remove_dir(new.join("b")).expect("a folder");
        drop(finished("c").expect("a draft"));
        assert!(!new.exists());
    }
}
