//! Archives whose bytes depend only on their contents.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest, Sha256};

use crate::step::Stop;

/// File or symbolic link of an archive.
pub(super) struct Entry {
    path: String,
    mode: u32,
    bytes: Vec<u8>,
    /// Target of a symbolic link.
    link: Option<PathBuf>,
}

impl Entry {
    pub(super) fn text(path: String, text: String) -> Self {
        Self { path, mode: 0o644, bytes: text.into_bytes(), link: None }
    }

    pub(super) fn file(path: String, from: &Path) -> Result<Self, Stop> {
        Ok(Self { path, mode: 0o644, bytes: std::fs::read(from)?, link: None })
    }

    pub(super) fn program(path: String, from: &Path) -> Result<Self, Stop> {
        Ok(Self { mode: 0o755, ..Self::file(path, from)? })
    }

    /// All files and links below a folder.
    pub(super) fn folder(path: &str, from: &Path) -> Result<Vec<Self>, Stop> {
        let mut entries = Vec::new();
        for name in super::names(from)? {
            let (path, from) = (format!("{path}/{name}"), from.join(&name));
            if from.is_symlink() {
                let link = Some(std::fs::read_link(&from)?);
                entries.push(Self { path, mode: 0o777, bytes: Vec::new(), link });
            } else if from.is_dir() {
                entries.extend(Self::folder(&path, &from)?);
            } else {
                entries.push(Self::file(path, &from)?);
            }
        }
        Ok(entries)
    }
}

/// Writes a `.tar.gz` with the entries in the order of their paths. All have one time, in seconds since 1970.
pub(super) fn pack(path: &Path, mut entries: Vec<Entry>, seconds: u64) -> Result<(), Stop> {
    entries.sort_by(|a, b| a.path.cmp(&b.path));
    // The header of gzip has no time and no name.
    let mut archive = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::best()));
    for Entry { path, mode, bytes, link } in &entries {
        let mut header = tar::Header::new_gnu();
        header.set_mode(*mode);
        header.set_mtime(seconds);
        header.set_size(bytes.len() as u64);
        if let Some(target) = link {
            header.set_entry_type(tar::EntryType::Symlink);
            archive.append_link(&mut header, path, target)?;
        } else {
            archive.append_data(&mut header, path, bytes.as_slice())?;
        }
    }
    Ok(std::fs::write(path, archive.into_inner()?.finish()?)?)
}

/// Lines that `sha256sum --check` reads.
pub(super) fn sums(folder: &Path, names: &[String]) -> Result<String, Stop> {
    let mut text = String::new();
    for name in names {
        for byte in Sha256::digest(std::fs::read(folder.join(name))?) {
            write!(text, "{byte:02x}").ok();
        }
        writeln!(text, "  {name}").ok();
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_entries_does_not_matter() {
        let folder = std::env::temp_dir().join(format!("condyle-archive-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let entry = |name: &str| Entry::text(name.into(), format!("text of {name}"));
        let written = |name: &str, entries| {
            pack(&folder.join(name), entries, 1_700_000_000).ok().unwrap();
            std::fs::read(folder.join(name)).unwrap()
        };
        let one = written("one", vec![entry("a/b"), entry("a/c")]);
        assert_eq!(one, written("two", vec![entry("a/c"), entry("a/b")]));
        assert_ne!(one, written("three", vec![entry("a/c")]));
        std::fs::write(folder.join("empty"), "").unwrap();
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  empty\n";
        assert_eq!(sums(&folder, &["empty".into()]).ok().unwrap(), empty);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
