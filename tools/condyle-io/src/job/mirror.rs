//! One output for each file of a folder, in the same subfolders of another folder.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::draft::{WriteError, write_file};
use super::files::{DestinationError, Files};
use super::folder::Source;
use super::parts::{PartError, Parts, file_stamp};

/// A folder with one output for each file of another folder.
///
/// Next to an output stands a file with the figures of the output and the stamps of its inputs. An output
/// whose inputs and settings did not change is not made again.
pub struct Mirror<'a, F> {
    /// Output folder.
    pub folder: &'a Path,
    /// Extension of the outputs, without the dot.
    pub ending: &'a str,
    /// Settings and other inputs of all files, as an object.
    pub stamp: Value,
    /// Canonical paths of the input files that all outputs share.
    pub shared: &'a BTreeSet<PathBuf>,
    /// Replace read-only outputs.
    pub replaces_read_only: bool,
    /// Makes an output.
    pub make: F,
}

/// An output that was made.
#[derive(Debug)]
pub struct Product {
    /// Bytes of the output.
    pub bytes: Vec<u8>,
    /// Canonical paths of all files that were read.
    pub files: BTreeSet<PathBuf>,
    /// Figures of the output.
    pub figures: Map<String, Value>,
}

/// Paths of an output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Planned {
    /// The output.
    pub output: PathBuf,
    /// Its figures, and the stamps of its inputs.
    pub figures: PathBuf,
}

impl<F> Mirror<'_, F> {
    /// Returns the paths of the output for a file.
    #[must_use]
    pub fn plan(&self, source: &Source) -> Planned {
        let output = self.folder.join(&source.inside).with_extension(self.ending);
        let figures = output.with_extension(format!("{}.json", self.ending));
        Planned { output, figures }
    }

    /// Sorts the files by their outputs, and returns two that would have the same output.
    pub fn sort<'s>(&self, sources: &'s mut [Source]) -> Option<[&'s Source; 2]> {
        let output = |source: &Source| self.plan(source).output;
        sources.sort_by(|a, b| (output(a), &a.name).cmp(&(output(b), &b.name)));
        let twins = |two: &&[Source]| output(&two[0]) == output(&two[1]);
        sources.windows(2).find(twins).map(|two| [&two[0], &two[1]])
    }

    fn stamp_of(&self, source: &Source) -> Value {
        let mut stamp = json!({ "source": file_stamp(&source.path) });
        for (name, value) in self.stamp.as_object().into_iter().flatten() {
            stamp[name] = value.clone();
        }
        stamp
    }

    /// Returns the stamps of the files that the source names, such as the buffers of a .gltf. Their paths are
    /// relative to its folder.
    fn named_files(&self, source: &Source, files: &BTreeSet<PathBuf>) -> Value {
        let own = source.path.canonicalize().ok();
        let named = files.iter().filter(|file| own.as_ref() != Some(file) && !self.shared.contains(*file));
        let folder = folder_of(source).unwrap_or_default();
        let name = |file: &Path| file.strip_prefix(&folder).unwrap_or(file).to_string_lossy().into_owned();
        Value::Object(named.map(|file| (name(file), file_stamp(file))).collect())
    }
}

impl<F, E> Parts for Mirror<'_, F>
where
    F: Fn(&Source) -> Result<Product, E> + Sync,
    E: From<DestinationError> + From<WriteError> + Display + Send,
{
    /// Figures of the output.
    type Part = Value;
    type Error = E;

    fn kept(&self, source: &Source) -> Option<Value> {
        let planned = self.plan(source);
        let told: Value = serde_json::from_slice(&fs::read(planned.figures).ok()?).ok()?;
        let bytes = fs::metadata(planned.output).ok()?.len();
        let folder = folder_of(source)?;
        let is_same = |(name, stamp): (&String, &Value)| file_stamp(&folder.join(name)) == *stamp;
        let is_known = told["stamp"] == self.stamp_of(source)
            && told["bytes"].as_u64() == Some(bytes)
            && told["files"].as_object()?.iter().all(is_same);
        is_known.then_some(told)
    }

    fn make(&self, source: &Source) -> Result<Value, PartError<E>> {
        let stamp = self.stamp_of(source);
        let make = || -> Result<Value, E> {
            let Product { bytes, files, figures } = (self.make)(source)?;
            let planned = self.plan(source);
            let mut own = Files::new([], [&*planned.output], self.replaces_read_only)?;
            own.also_read(files.iter().cloned())?;
            let written = write_file(planned.output, |out| out.write_all(&bytes))?;
            let mut told = Value::Object(figures);
            told["bytes"] = written.bytes.into();
            told["stamp"] = stamp;
            told["files"] = self.named_files(source, &files);
            let text = format!("{told:#}\n");
            write_file(planned.figures, |out| out.write_all(text.as_bytes()))?;
            Ok(told)
        };
        make().map_err(PartError::Unusable)
    }
}

/// Returns the canonical path of the folder that the source is in.
fn folder_of(source: &Source) -> Option<PathBuf> {
    Some(source.path.canonicalize().ok()?.parent()?.to_path_buf())
}
