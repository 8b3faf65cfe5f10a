//! Standard output, standard error, progress bars and written files.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::text::{self, counted, path_text, printable_lines, size, steers};

/// Writes to standard output. A closed pipe (`| head`) is not a failure.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::Data(format!("standard output cannot be written: {error}")))
        }
        _ => Ok(()),
    }
}

/// Writes JSON to standard output. Control characters are escaped, so that no terminal obeys them and none is
/// lost.
pub(crate) fn print_json(json: &str) -> Result<(), Failure> {
    let mut text = String::with_capacity(json.len() + 1);
    for c in json.chars() {
        match c != '\n' && steers(c) {
            // In JSON these characters occur only within strings.
            true => c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| text += &format!("\\u{unit:04x}")),
            false => text.push(c),
        }
    }
    print(&(text + "\n"))
}

/// Writes a warning to standard error.
pub(crate) fn warn(model: &Path, what: &str) {
    eprintln!("condyle: {}: {}", path_text(model), printable_lines(what));
}

/// A progress bar on standard error; hidden if that is not a terminal.
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

/// Refuses a destination before any work is done: its folder must exist, it must not be a folder or a device
/// itself, and it must not be one of the input files.
pub(crate) fn check_destination(to: &Path, sources: &BTreeSet<PathBuf>) -> Result<(), Failure> {
    let name = path_text(to);
    let folder = folder_of(to);
    if !folder.is_dir() {
        let folder = path_text(&folder);
        return Err(Failure::Usage(format!("{name}: the folder {folder} does not exist; create it first")));
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
    match fs::canonicalize(to).is_ok_and(|to| sources.contains(&to)) {
        true => Err(Failure::Usage(format!(
            "{name} is a file of the input model and would be overwritten; choose another name with -o"
        ))),
        false => Ok(()),
    }
}

/// Refuses a name without the extension of the format that is written; `kind` names the format.
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

    /// Several files in one line.
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

/// Writes a whole file or none: into a temporary file in the same folder, which is then renamed.
pub(crate) fn write_file(
    to: PathBuf,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<Written, Failure> {
    // A symbolic link stays: its target is replaced.
    let target = fs::canonicalize(&to).unwrap_or_else(|_| to.clone());
    let mut builder = tempfile::Builder::new();
    builder.prefix(".condyle-");
    // A temporary file is private by default; the output has the permissions of any other new file.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let written = builder.tempfile_in(folder_of(&target)).and_then(|mut file| {
        let mut buffer = BufWriter::new(&mut file);
        fill(&mut buffer)?;
        buffer.flush()?;
        drop(buffer);
        let bytes = file.as_file().metadata()?.len();
        file.persist(&target).map_err(|failed| failed.error)?;
        Ok(bytes)
    });
    match written {
        Ok(bytes) => Ok(Written { path: to, bytes }),
        Err(error) => Err(Failure::Data(format!("{}: cannot be written: {error}", path_text(&to)))),
    }
}

fn folder_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_path_buf(),
        _ => PathBuf::from("."),
    }
}
