//! Standard output, standard error, progress bars and output files.

pub(crate) mod names;

use std::collections::BTreeSet;
use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use condyle_io::job::{self, Reporter, WriteError};
pub(crate) use condyle_io::job::{Draft, Finished, Written};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::failure::Failure;
use crate::interrupt;
use crate::options::overwrite::Overwrite;
use crate::text::{self, path_text, printable_lines, steers};

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

/// Checks the destination of a command that is not a [`Job`](crate::options::job::Job).
pub(crate) fn check_destination(
    to: &Path,
    sources: &BTreeSet<PathBuf>,
    overwrite: Overwrite,
) -> Result<(), Failure> {
    job::Files::new(sources.iter().map(PathBuf::as_path), [to], overwrite.force)?;
    Ok(())
}

/// The progress bar of a job.
#[derive(Default)]
pub(crate) struct Bar(Mutex<Option<ProgressBar>>);

impl Bar {
    fn with(&self, change: impl FnOnce(&mut Option<ProgressBar>)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl Reporter for Bar {
    fn begin(&self, steps: usize, what: &'static str) {
        self.with(|bar| *bar = Some(progress(steps, what)));
    }

    fn advance(&self) -> bool {
        self.with(|bar| bar.iter().for_each(|bar| bar.inc(1)));
        true
    }

    fn end(&self) {
        self.with(|bar| bar.take().iter().for_each(ProgressBar::finish_and_clear));
    }
}

/// Checks that a name has the extension of the output format; `kind` names the format in the message.
pub(crate) fn check_ending(to: &Path, ending: &str, kind: &str) -> Result<(), Failure> {
    if text::ending(to).as_deref() == Some(ending) {
        return Ok(());
    }
    let name = path_text(to);
    Err(Failure::Usage(format!("{name}: the output is {kind}; choose a name that ends in .{ending}")))
}

/// Writes a whole file or none: the draft is in the same folder and is then renamed. Missing folders are
/// created, and a replaced file passes its mode on.
pub(crate) fn write_file(
    to: PathBuf,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<Written, Failure> {
    Ok(finish_file(to, fill)?.keep()?)
}

/// Writes a whole file under a temporary name; [`keep_all`] renames it together with others.
pub(crate) fn finish_file(
    to: PathBuf,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<Finished, Failure> {
    let mut draft = draft(to)?;
    draft.append(fill)?;
    Ok(draft.finish()?)
}

/// Moves the files of a command to their destinations: all of them, or none.
pub(crate) fn keep_all(files: Vec<Finished>) -> Result<Vec<Written>, Failure> {
    Ok(job::keep_all(files)?)
}

/// Creates an empty draft of a file. From now on, a signal removes it.
pub(crate) fn draft(to: PathBuf) -> Result<Draft, Failure> {
    match interrupt::watch() {
        Ok(()) => Ok(Draft::new(to)?),
        Err(error) => Err(WriteError { path: to, error }.into()),
    }
}
