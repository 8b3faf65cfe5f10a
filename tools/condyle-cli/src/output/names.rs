//! Names of several files that one command writes.

use std::path::{Path, PathBuf};

/// Returns the name of one file of a series; the names sort in the order of frames.
pub(crate) fn numbered(path: &Path, frame: usize, count: usize) -> PathBuf {
    let digits = (count - 1).to_string().len().max(4);
    with_middle(path, &format!("{frame:0digits$}"))
}

/// Inserts a part before the extension: `posed.glb` with `0003` is `posed.0003.glb`.
pub(crate) fn with_middle(path: &Path, middle: &str) -> PathBuf {
    let mut name = path.file_stem().unwrap_or_default().to_os_string();
    name.push(format!(".{middle}"));
    if let Some(ending) = path.extension() {
        name.push(".");
        name.push(ending);
    }
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_a_series_sort_in_its_order() {
        let names = |count| [0, 9, 9999, count - 1].map(|frame| numbered("a/b.c.glb".as_ref(), frame, count));
        assert_eq!(names(10_000)[1..3], ["a/b.c.0009.glb", "a/b.c.9999.glb"].map(PathBuf::from));
        assert!(names(10_001).is_sorted());
        assert_eq!(names(100_000)[3], Path::new("a/b.c.99999.glb"));
    }
}
