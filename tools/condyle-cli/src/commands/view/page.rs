//! The files that the server answers with.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use walkdir::WalkDir;

use crate::failure::Failure;
use crate::text::path_text;

/// Folders with the page, relative to the folder of the program: in a release archive, in `target`, and in an
/// installation.
const FOLDERS: [&str; 3] = ["web", "../web", "../share/condyle/web"];
/// Environment variable with the folder of the page.
const FOLDER: &str = "CONDYLE_WEB";

/// The only files that the server reads, by their names in addresses.
#[derive(Debug, Default)]
pub(super) struct Site {
    files: BTreeMap<String, PathBuf>,
}

impl Site {
    /// Returns the files of the page.
    pub(super) fn of_page() -> Result<Self, Failure> {
        let folder = match std::env::var_os(FOLDER) {
            Some(folder) => PathBuf::from(folder),
            None => installed()?,
        };
        if !folder.join("index.html").is_file() {
            return Err(Failure::Usage(format!(
                "{}: has no index.html; {FOLDER} must name the folder of the page",
                path_text(&folder)
            )));
        }
        let mut site = Self::default();
        for entry in WalkDir::new(&folder) {
            let entry = entry.map_err(|error| Failure::Data(format!("{}: {error}", path_text(&folder))))?;
            if entry.file_type().is_file() {
                site.add(name(entry.path(), &folder), entry.path().to_path_buf());
            }
        }
        Ok(site)
    }

    /// Adds a file under a name.
    pub(super) fn add(&mut self, name: String, path: PathBuf) {
        self.files.insert(name, path);
    }

    /// Returns the file of a name, which is `index.html` for an empty one.
    pub(super) fn file(&self, name: &str) -> Option<&Path> {
        let name = if name.is_empty() { "index.html" } else { name };
        self.files.get(name).map(PathBuf::as_path)
    }
}

/// Returns the name of a file in an address: its path relative to a folder.
pub(super) fn name(path: &Path, folder: &Path) -> String {
    let parts = path.strip_prefix(folder).unwrap_or(path).iter();
    parts.map(|part| part.to_string_lossy()).collect::<Vec<_>>().join("/")
}

fn installed() -> Result<PathBuf, Failure> {
    let program = std::env::current_exe().and_then(|path| path.canonicalize());
    let own = program.ok().and_then(|path| path.parent().map(Path::to_path_buf)).unwrap_or_default();
    let found = FOLDERS.iter().map(|folder| own.join(folder)).find(|it| it.join("index.html").is_file());
    found.ok_or_else(|| {
        Failure::Usage(format!(
            "the page is not installed: the program expects it in {}, where a release has it; \
             `cargo xtask web` builds it from source",
            path_text(&own.join(FOLDERS[0]))
        ))
    })
}

/// Returns the media type of a file by its ending.
pub(super) fn media_type(path: &Path) -> &'static str {
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("json") => "application/json",
        Some("webmanifest") => "application/manifest+json",
        Some("wasm") => "application/wasm",
        Some("png") => "image/png",
        Some("jpg" | "jpeg") => "image/jpeg",
        Some("svg") => "image/svg+xml",
        _ => "application/octet-stream",
    }
}
