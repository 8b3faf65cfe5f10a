//! The location of the reference characters.

use std::path::{Path, PathBuf};

/// Returns the folder `shared/models` next to the checkout. If it is missing, prints a message, or fails if
/// `CONDYLE_REQUIRE_MODELS` is set.
pub(crate) fn folder() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/models");
    if folder.is_dir() {
        return Some(folder);
    }
    let required = std::env::var_os("CONDYLE_REQUIRE_MODELS").is_some();
    assert!(!required, "the reference models are missing: shared/models does not exist next to the checkout");
    eprintln!(
        "skipping the tests that need the reference models: shared/models does not exist next to the checkout"
    );
    None
}
