//! All files of a folder on all processors. Keeps the parts that an earlier run made from the same files.

use std::fmt::Display;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::UNIX_EPOCH;

use rayon::prelude::*;
use serde_json::{Value, json};
use walkdir::WalkDir;

use super::folder::{LeftOut, Source};
use super::text::ending;

/// Receives the progress of a job.
pub trait Reporter: Sync {
    /// A stage of this many steps begins.
    fn begin(&self, steps: usize, what: &'static str);
    /// A step is done. The job ends if this returns false.
    fn advance(&self) -> bool;
    /// The stage has ended.
    fn end(&self);
}

/// A job that makes one part of each of its files.
pub trait Parts: Sync {
    /// Result for a file.
    type Part: Send;
    /// Error for a file.
    type Error: Display + Send;

    /// Returns the result of an earlier run, if it was made from the same files with the same settings.
    fn kept(&self, source: &Source) -> Option<Self::Part>;

    /// Makes the result, and keeps it for a later run.
    ///
    /// # Errors
    /// [`PartError`] if the file cannot be used, or if the job cannot go on.
    fn make(&self, source: &Source) -> Result<Self::Part, PartError<Self::Error>>;
}

/// Reason why a file has no result.
#[derive(Debug)]
pub enum PartError<E> {
    /// The file cannot be used: the job leaves it out.
    Unusable(E),
    /// The job cannot go on: the result cannot be written.
    Fatal(E),
}

/// Result for a file.
#[derive(Debug)]
pub struct Made<P> {
    /// Path of the file in the folder.
    pub source: String,
    /// The result.
    pub part: P,
    /// Made by an earlier run.
    pub is_kept: bool,
}

/// Results for all files, in their order.
#[derive(Debug)]
pub struct Outcome<P> {
    /// Files with a result.
    pub made: Vec<Made<P>>,
    /// Files without a result, sorted by name.
    pub left_out: Vec<LeftOut>,
}

impl<P> Outcome<P> {
    /// Returns the number of results that an earlier run made.
    #[must_use]
    pub fn kept_count(&self) -> usize {
        self.made.iter().filter(|made| made.is_kept).count()
    }
}

/// Reason why a job ended before its files were done.
#[derive(Debug)]
pub enum Stop<E> {
    /// [`PartError::Fatal`].
    Fatal(E),
    /// [`Reporter::advance`] returned false.
    Ended,
}

/// Makes the parts of all files, on the threads of the current pool of `rayon`.
///
/// # Errors
/// [`Stop`]. Parts that were made stay for a later run.
pub fn make_all<J: Parts>(
    job: &J,
    sources: &[Source],
    what: &'static str,
    reporter: &dyn Reporter,
) -> Result<Outcome<J::Part>, Stop<J::Error>> {
    let is_ended = AtomicBool::new(false);
    let one = |source: &Source| {
        if is_ended.load(Ordering::Relaxed) {
            return Err(Stop::Ended);
        }
        let made = match job.kept(source) {
            Some(part) => Ok((part, true)),
            None => job.make(source).map(|part| (part, false)),
        };
        if !reporter.advance() {
            is_ended.store(true, Ordering::Relaxed);
        }
        match made {
            Ok(made) => Ok(Ok(made)),
            Err(PartError::Unusable(why)) => Ok(Err(why.to_string())),
            Err(PartError::Fatal(why)) => Err(Stop::Fatal(why)),
        }
    };
    reporter.begin(sources.len(), what);
    let all: Vec<_> = sources.par_iter().map(one).collect();
    reporter.end();
    let mut outcome = Outcome { made: Vec::new(), left_out: Vec::new() };
    for (found, Source { path, name, .. }) in all.into_iter().zip(sources) {
        let source = name.clone();
        match found? {
            Ok((part, is_kept)) => outcome.made.push(Made { source, part, is_kept }),
            Err(why) => outcome.left_out.push(LeftOut { path: path.clone(), source, why }),
        }
    }
    if is_ended.into_inner() {
        return Err(Stop::Ended);
    }
    outcome.left_out.sort_by(|a, b| a.source.cmp(&b.source));
    Ok(outcome)
}

/// Removes the parts with this extension from a folder, including those that an earlier run left for files
/// that no longer exist, and the empty folders.
pub fn remove_parts(folder: &Path, extension: &str) {
    for entry in WalkDir::new(folder).contents_first(true).into_iter().flatten() {
        if entry.file_type().is_dir() {
            // A folder with other contents stays.
            let _ = std::fs::remove_dir(entry.path());
        } else if ending(entry.path()).as_deref() == Some(extension) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// Returns the size and the time of a file, which change when the file changes.
#[must_use]
pub fn file_stamp(path: &Path) -> Value {
    let file = std::fs::metadata(path).ok();
    let modified = file.as_ref().and_then(|file| file.modified().ok()?.duration_since(UNIX_EPOCH).ok());
    json!({
        "bytes": file.map(|file| file.len()),
        "modified_ns": modified.map(|time| time.as_nanos().to_string()),
    })
}

/// Like [`file_stamp`], with the path.
#[must_use]
pub fn named_stamp(path: &Path) -> Value {
    let stamp = file_stamp(path);
    json!({ "path": path.to_string_lossy(), "bytes": stamp["bytes"], "modified_ns": stamp["modified_ns"] })
}
