//! `--force`: replacement of existing files.

use crate::options::heading::OUTPUT;

/// Option to replace read-only files. Other files are always replaced.
#[derive(Clone, Copy, Default, clap::Args)]
pub(crate) struct Overwrite {
    /// Replace read-only files too
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) force: bool,
}
