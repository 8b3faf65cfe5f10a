//! `--threads`: the number of worker threads.

use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::failure::Failure;
use crate::options::heading::COMPUTATION;

#[derive(Clone, Copy, Default, clap::Args)]
pub(crate) struct Threads {
    /// Use N threads [default: one per core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    #[arg(help_heading = COMPUTATION)]
    threads: Option<u16>,
}

impl Threads {
    pub(crate) fn pool(self) -> Result<ThreadPool, Failure> {
        let pool = ThreadPoolBuilder::new().num_threads(self.threads.map_or(0, usize::from)).build();
        pool.map_err(|e| Failure::Data(format!("cannot start the threads: {e}; use fewer with --threads")))
    }
}
