//! `--force`: which files are replaced.

use crate::options::heading::OUTPUT;

/// Any file may be replaced, but a read-only one only on demand.
#[derive(Clone, Copy, Default, clap::Args)]
pub(crate) struct Overwrite {
    /// Replace read-only files too
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) force: bool,
}
