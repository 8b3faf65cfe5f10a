//! `condyle bench`: the benchmark without the crates that condyle is compared with.

use condyle_bench::{Format, Request};

use crate::failure::Failure;
use crate::options::numerics::Numerics;
use crate::output::{print, progress};
use crate::text::did_you_mean;

/// Time every kernel on this machine, after checking its answer
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  condyle bench
  condyle bench --only slerp_joints
  condyle bench --isa avx2 --json | jq 'select(.impl == \"condyle\") | {work, n, cycles}'

Figures are minima over all rounds, in core clock cycles; other load on the machine makes them meaningless. With --json
each is one line: work, impl, isa, mode, threads, layout, n, ns per element, cycles (of the core), ticks (of the
time-stamp counter), max_error; of clips also form, packed or resident.")]
pub(crate) struct Args {
    /// Run only this benchmark
    #[arg(long, value_name = "WORK")]
    only: Option<String>,
    /// How many rounds; all implementations of a benchmark take turns
    #[arg(long, value_name = "COUNT", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// One JSON object per line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    numerics: Numerics,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let request = Request {
        only: args.only.clone(),
        elements: None,
        rounds: args.rounds,
        format: if args.json { Format::Json } else { Format::Text },
        levels: vec![args.numerics.apply()?],
    };
    let unknown = |known: Vec<&str>| {
        let only = args.only.as_deref().unwrap_or_default();
        let guess = did_you_mean(only, known.iter().copied());
        Failure::Usage(format!("there is no work {only}{guess}; choose one of {}", known.join(", ")))
    };
    let bar = progress(request.steps().map_err(unknown)?, "timing");
    condyle_bench::run(&request, |_| bar.inc(1), |text| bar.suspend(|| print(text)))?;
    bar.finish_and_clear();
    Ok(())
}
