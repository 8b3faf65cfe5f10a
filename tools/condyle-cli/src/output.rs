//! Standard output, standard error, progress bars and output files.

mod draft;
pub(crate) mod names;

use std::collections::BTreeSet;
use std::fmt::Display;
use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::{Value, json};

pub(crate) use self::draft::{Draft, Finished, keep_all, unwritable};
use crate::failure::Failure;
use crate::options::overwrite::Overwrite;
use crate::text::{self, counted, path_text, printable_lines, size, steers};

/// Writes to standard output. A closed pipe (`| head`) is not an error.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    printed(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
}

fn printed(result: io::Result<()>) -> Result<(), Failure> {
    match result {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::Data(format!("cannot write to standard output: {error}")))
        }
        _ => Ok(()),
    }
}

/// Prints clap's answer: help and the version to standard output, command line errors to standard error.
pub(crate) fn print_answer(answer: &clap::Error) -> Result<(), Failure> {
    let result = answer.print().and_then(|()| io::stdout().flush());
    if answer.use_stderr() { Ok(()) } else { printed(result) }
}

/// Writes JSON to standard output. Control characters are escaped, so that no terminal interprets them and
/// none is lost.
pub(crate) fn print_json(json: &str) -> Result<(), Failure> {
    let mut text = String::with_capacity(json.len() + 1);
    for c in json.chars() {
        match c != '\n' && steers(c) {
            // JSON has these characters only within strings.
            true => c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| text += &format!("\\u{unit:04x}")),
            false => text.push(c),
        }
    }
    print(&(text + "\n"))
}

/// Writes a line to standard error; `what` must contain no control characters. A write error is ignored,
/// because there is nowhere left to report it.
pub(crate) fn tell(what: &dyn Display) {
    let _ = io::stderr().lock().write_all(format!("condyle: {what}\n").as_bytes());
}

/// Prints a warning about a model to standard error.
pub(crate) fn warn(model: &Path, what: &str) {
    tell(&format_args!("{}: {}", path_text(model), printable_lines(what)));
}

/// Returns a progress bar on standard error, hidden if that is not a terminal.
pub(crate) fn progress(steps: usize, what: &'static str) -> ProgressBar {
    let target = if io::stderr().is_terminal() && steps > 1 {
        ProgressDrawTarget::stderr()
    } else {
        ProgressDrawTarget::hidden()
    };
    let bar = ProgressBar::with_draw_target(Some(steps as u64), target).with_message(what);
    if let Ok(style) = ProgressStyle::with_template("{msg} {bar:32} {pos}/{len}, {eta} left") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

/// Draws `moments` pictures, and advances a progress bar with each.
pub(crate) fn drawing<T>(moments: usize, draw: impl FnOnce(&mut dyn FnMut() -> bool) -> T) -> T {
    let bar = progress(moments, "drawing");
    let drawn = draw(&mut || {
        bar.inc(1);
        true
    });
    bar.finish_and_clear();
    drawn
}

/// Checks a destination before any work is done. Its folder must be a folder or not exist. The destination
/// must not be a folder, a device or an input file. A read-only file requires `--force`.
pub(crate) fn check_destination(
    to: &Path,
    sources: &BTreeSet<PathBuf>,
    overwrite: Overwrite,
) -> Result<(), Failure> {
    let name = path_text(to);
    let folder = folder_of(to);
    let there = folder.ancestors().find(|path| fs::symlink_metadata(path).is_ok());
    if let Some(path) = there.filter(|path| !path.is_dir()) {
        let path = path_text(path);
        return Err(Failure::Usage(format!("{name}: {path} is not a folder; choose another path with -o")));
    }
    if to.file_name().is_none() {
        return Err(Failure::Usage(format!("{name} is not a file name; name a file with -o")));
    }
    if fs::symlink_metadata(to).is_err() {
        return Ok(());
    }
    if !fs::metadata(to).is_ok_and(|kind| kind.is_file()) {
        return Err(Failure::Usage(format!("{name} exists and is not a file; choose another name with -o")));
    }
    if fs::canonicalize(to).is_ok_and(|to| sources.contains(&to)) {
        return Err(Failure::Usage(format!(
            "{name} is a file of the input model and would be overwritten; choose another name with -o"
        )));
    }
    if !overwrite.force && is_read_only(to) {
        return Err(Failure::Usage(format!(
            "{name} exists and is read-only; choose another name with -o, or replace it with --force"
        )));
    }
    Ok(())
}

/// Whether a file is read-only: by its mode, even for a user who may write to it, or for this user.
fn is_read_only(path: &Path) -> bool {
    let denied = |error: io::Error| error.kind() == io::ErrorKind::PermissionDenied;
    fs::metadata(path).is_ok_and(|file| file.permissions().readonly())
        || fs::OpenOptions::new().write(true).open(path).is_err_and(denied)
}

/// Checks that a name has the extension of the output format; `kind` names the format in the message.
pub(crate) fn check_ending(to: &Path, ending: &str, kind: &str) -> Result<(), Failure> {
    if text::ending(to).as_deref() == Some(ending) {
        return Ok(());
    }
    let name = path_text(to);
    Err(Failure::Usage(format!("{name}: the output is {kind}; choose a name that ends in .{ending}")))
}

/// A file that was written.
pub(crate) struct Written {
    pub path: PathBuf,
    pub bytes: u64,
}

impl Written {
    pub(crate) fn to_json(&self) -> Value {
        json!({ "path": self.path.to_string_lossy(), "bytes": self.bytes })
    }

    /// Describes several files in one line.
    pub(crate) fn summary(files: &[Self]) -> String {
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

/// Writes a whole file or none: the draft is in the same folder and is then renamed. Missing folders are
/// created, and a replaced file passes its mode on.
pub(crate) fn write_file(
    to: PathBuf,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<Written, Failure> {
    finish_file(to, fill)?.keep()
}

/// Writes a whole file under a temporary name; [`keep_all`] renames it together with others.
pub(crate) fn finish_file(
    to: PathBuf,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<Finished, Failure> {
    let mut draft = Draft::new(to)?;
    draft.append(fill)?;
    draft.finish()
}

fn folder_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_path_buf(),
        _ => PathBuf::from("."),
    }
}
