//! The location of the reference characters.

use std::path::PathBuf;

/// Returns the folder of the reference characters, `CONDYLE_MODELS`. Without it, tests that need them are
/// skipped: the tests of a fresh checkout run the same everywhere.
///
/// # Panics
///
/// If the variable names no folder.
pub(crate) fn folder() -> Option<PathBuf> {
    let folder = PathBuf::from(std::env::var_os("CONDYLE_MODELS")?);
    assert!(folder.is_dir(), "CONDYLE_MODELS: {} is not a folder", folder.display());
    Some(folder)
}
