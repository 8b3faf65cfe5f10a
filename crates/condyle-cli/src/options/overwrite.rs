//! `--force`: which files are replaced.

/// Any file may be replaced, but a read-only one only on demand.
#[derive(Clone, Copy, clap::Args)]
pub(crate) struct Overwrite {
    /// Replace files that are read-only, too
    #[arg(long)]
    pub(crate) force: bool,
}
