//! A file under a temporary name beside its place, which it gets once it is whole. Of one that never is nothing stays, whatever ended
//! it: an error, SIGINT or SIGTERM.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::{flag, low_level};

use super::{Written, folder_of};
use crate::failure::Failure;
use crate::text::path_text;

/// A file that is being written: it vanishes unless it is finished and kept.
pub(crate) struct Draft {
    to: PathBuf,
    file: BufWriter<File>,
    made: Made,
}

/// A whole file that still has its temporary name: it vanishes unless it is kept.
pub(crate) struct Finished {
    to: PathBuf,
    bytes: u64,
    made: Made,
}

/// What was made for a file: the folders that were missing, each in the one before it, then the draft.
#[derive(Default)]
struct Made(Vec<PathBuf>);

impl Draft {
    /// An empty draft of the file `to`. A folder that is missing is made.
    pub(crate) fn new(to: PathBuf) -> Result<Self, Failure> {
        match Self::of(&target(&to)) {
            Ok((file, made)) => Ok(Self { to, file: BufWriter::new(file), made }),
            Err(error) => Err(unwritable(&to, &error)),
        }
    }

    fn of(target: &Path) -> io::Result<(File, Made)> {
        let mut made = Made::default();
        // A signal waits until what is made is on the list.
        let mut unfinished = unfinished();
        unfinished.watch()?;
        let folder = folder_of(target);
        for path in missing(&folder).iter().rev() {
            match fs::create_dir(path) {
                Ok(()) => made.add(path.clone(), &mut unfinished),
                Err(_) if path.is_dir() => {}
                Err(error) => {
                    let what = format!("the folder {} cannot be made: {error}", path_text(path));
                    return Err(io::Error::new(error.kind(), what));
                }
            }
        }
        let mut builder = tempfile::Builder::new();
        builder.prefix(".condyle-");
        // A temporary file is private by default. This one may be read by whoever may read any other new file, or the one that it
        // replaces.
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = fs::metadata(target).map_or(0o666, |old| old.permissions().mode());
            builder.permissions(PermissionsExt::from_mode(mode & 0o666 | 0o200));
        }
        let (file, path) = builder.tempfile_in(&folder)?.keep().map_err(|failed| failed.error)?;
        made.add(path, &mut unfinished);
        Ok((file, made))
    }

    pub(crate) fn append(
        &mut self,
        fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), Failure> {
        fill(&mut self.file).map_err(|error| unwritable(&self.to, &error))
    }

    /// Writes what is left and closes the file.
    pub(crate) fn finish(self) -> Result<Finished, Failure> {
        let Self { to, file, made } = self;
        let closed = file.into_inner().map_err(io::IntoInnerError::into_error);
        match closed.and_then(|file| file.metadata()) {
            Ok(metadata) => Ok(Finished { to, bytes: metadata.len(), made }),
            Err(error) => Err(unwritable(&to, &error)),
        }
    }
}

impl Finished {
    /// Puts it in its place. A file that was there is replaced, and leaves its mode.
    pub(crate) fn keep(mut self) -> Result<Written, Failure> {
        match self.made.put(&target(&self.to)) {
            Ok(()) => Ok(Written { path: self.to, bytes: self.bytes }),
            Err(error) => Err(unwritable(&self.to, &error)),
        }
    }
}

/// The file that a name stands for: a symbolic link stays, and what it leads to is replaced.
fn target(to: &Path) -> PathBuf {
    fs::canonicalize(to).unwrap_or_else(|_| to.to_path_buf())
}

fn unwritable(to: &Path, error: &io::Error) -> Failure {
    Failure::Data(format!("{}: cannot be written: {error}", path_text(to)))
}

/// Gives the draft the mode of the file that it replaces.
#[cfg(unix)]
fn replaceable(_: &Path, draft: &Path, old: fs::Permissions) -> io::Result<()> {
    fs::set_permissions(draft, old)
}

/// Windows has no modes, but does not replace what is read-only.
#[cfg(not(unix))]
fn replaceable(target: &Path, _: &Path, mut old: fs::Permissions) -> io::Result<()> {
    if !old.readonly() {
        return Ok(());
    }
    #[allow(clippy::permissions_set_readonly_false, reason = "not on Unix, where everyone could write then")]
    old.set_readonly(false);
    fs::set_permissions(target, old)
}

/// The folders that do not exist, the innermost first.
fn missing(folder: &Path) -> Vec<PathBuf> {
    let named = folder.ancestors().filter(|path| !path.as_os_str().is_empty());
    named.take_while(|path| !path.exists()).map(Path::to_path_buf).collect()
}

impl Made {
    /// Puts the draft in the place of `target`. Nothing is left to be removed then.
    fn put(&mut self, target: &Path) -> io::Result<()> {
        let draft = self.0.last().cloned().unwrap_or_default();
        if let Ok(old) = fs::metadata(target) {
            replaceable(target, &draft, old.permissions())?;
        }
        let mut unfinished = unfinished();
        fs::rename(draft, target)?;
        for path in self.0.drain(..) {
            unfinished.forget(&path);
        }
        Ok(())
    }

    fn add(&mut self, path: PathBuf, unfinished: &mut Unfinished) {
        unfinished.paths.push(path.clone());
        self.0.push(path);
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        let mut unfinished = unfinished();
        for path in self.0.drain(..).rev() {
            remove(&path);
            unfinished.forget(&path);
        }
    }
}

/// Removes a file or an empty folder. A folder that holds something by now stays.
fn remove(path: &Path) {
    let _ = fs::remove_file(path).or_else(|_| fs::remove_dir(path));
}

/// What a signal has to remove.
struct Unfinished {
    /// In the order in which it was made: a folder, then what is in it.
    paths: Vec<PathBuf>,
    is_watched: bool,
}

static UNFINISHED: Mutex<Unfinished> = Mutex::new(Unfinished { paths: Vec::new(), is_watched: false });
/// The signal that was caught; 0 for none.
static CAUGHT: AtomicUsize = AtomicUsize::new(0);

fn unfinished() -> MutexGuard<'static, Unfinished> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Unfinished {
    fn forget(&mut self, path: &Path) {
        self.paths.retain(|known| known != path);
    }

    /// Has the signals caught from the first draft on. Until then they end the program at once.
    fn watch(&mut self) -> io::Result<()> {
        if self.is_watched {
            return Ok(());
        }
        thread::Builder::new().name("signals".into()).spawn(wait_for_signals)?;
        for signal in [SIGINT, SIGTERM] {
            flag::register_usize(signal, &CAUGHT, signal as usize)?;
        }
        self.is_watched = true;
        Ok(())
    }
}

/// A handler can do no more than set a flag; on Windows it could not even wake a thread that waits.
fn wait_for_signals() {
    while CAUGHT.load(Ordering::SeqCst) == 0 {
        thread::sleep(Duration::from_millis(10));
    }
    let signal = CAUGHT.load(Ordering::SeqCst) as i32;
    // Held to the end, so that no other thread begins or finishes a file.
    let unfinished = unfinished();
    unfinished.paths.iter().rev().for_each(|path| remove(path));
    // Whoever waits for the program sees the signal, as without a handler; a shell says 130 or 143.
    let _ = low_level::emulate_default_handler(signal);
    process::exit(128 + signal);
}
