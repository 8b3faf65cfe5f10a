//! The files of a folder.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use walkdir::{DirEntry, WalkDir};

use super::text::ending;

/// A folder whose files are the inputs of a job.
#[derive(Debug, Clone, Copy)]
pub struct Folder<'a> {
    /// Path of the folder. All its subfolders are searched, and links are followed.
    pub root: &'a Path,
    /// Extensions of its files, in lower case and without the dot.
    pub endings: &'a [&'a str],
    /// Files and subfolders that are not inputs, such as the output folder. They need not exist.
    pub except: &'a [&'a Path],
}

/// An input file.
#[derive(Debug, Clone)]
pub struct Source {
    /// Path of the file.
    pub path: PathBuf,
    /// Path in the folder.
    pub inside: PathBuf,
    /// The same with `/` as the separator, as UTF-8.
    pub name: String,
}

/// A file or a subfolder that a job leaves out.
#[derive(Debug, Clone)]
pub struct LeftOut {
    /// Path of the file.
    pub path: PathBuf,
    /// Path in the folder.
    pub source: String,
    /// The reason.
    pub why: String,
}

impl Source {
    /// Returns a file that is not in a folder of inputs, by its name.
    #[must_use]
    pub fn of_file(path: &Path) -> Self {
        let inside: PathBuf = path.file_name().into_iter().collect();
        Self { path: path.to_path_buf(), name: inside.to_string_lossy().into_owned(), inside }
    }
}

impl LeftOut {
    /// Returns an object with `source` and `why`.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({ "source": self.source, "why": self.why })
    }
}

impl Folder<'_> {
    /// Returns its files, sorted by name, with the same result on every platform, and the subfolders that
    /// cannot be read.
    #[must_use]
    pub fn sources(&self) -> (Vec<Source>, Vec<LeftOut>) {
        let except: Vec<PathBuf> = self.except.iter().filter_map(|path| path.canonicalize().ok()).collect();
        let is_input = |path: &Path| {
            except.is_empty() || path.canonicalize().map_or(true, |path| !except.contains(&path))
        };
        let (mut sources, mut left_out) = (Vec::new(), Vec::new());
        let walk = WalkDir::new(self.root).follow_links(true).into_iter();
        let is_searched = |entry: &DirEntry| !entry.file_type().is_dir() || is_input(entry.path());
        // A link that forms a cycle is reported as an error.
        for entry in walk.filter_entry(is_searched) {
            match entry {
                Ok(entry) if entry.file_type().is_dir() => {}
                Ok(entry) => {
                    let has_ending =
                        ending(entry.path()).is_some_and(|it| self.endings.contains(&it.as_str()));
                    if has_ending && is_input(entry.path()) {
                        sources.push(self.source(entry.into_path()));
                    }
                }
                Err(error) => {
                    let path = error.path().unwrap_or(self.root);
                    let source = path.strip_prefix(self.root).unwrap_or(path);
                    let source = source.to_string_lossy().into_owned();
                    left_out.push(LeftOut { path: path.to_path_buf(), source, why: error.to_string() });
                }
            }
        }
        sources.sort_by(|a: &Source, b| a.name.cmp(&b.name));
        (sources, left_out)
    }

    fn source(&self, path: PathBuf) -> Source {
        let inside = path.strip_prefix(self.root).unwrap_or(&path).to_path_buf();
        let names: Vec<_> = inside.iter().map(|name| name.to_string_lossy()).collect();
        Source { name: names.join("/"), inside, path }
    }
}
