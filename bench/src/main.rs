//! `condyle-bench`: everything, with all peers.

use std::convert::Infallible;
use std::io::{IsTerminal, Write};
use std::process::ExitCode;

use clap::Parser;
use condyle::Dispatch;
use condyle_bench::{Format, Request};

/// Times every stage of condyle, on every instruction set and in both numeric modes, beside its peers.
///
/// Every implementation's answer is checked against the f64 reference before it is timed.
#[derive(Parser)]
#[command(
    after_help = "Examples:\n  condyle-bench\n  condyle-bench --only skin_pnt4 --json\n  condyle-bench --rounds 5   # a quick look"
)]
struct Args {
    /// Only this work.
    #[arg(long, value_name = "WORK")]
    only: Option<String>,
    /// One JSON object per line: work, impl, isa, mode, threads, layout, n, and for each element ns (the minimum), cycles (of
    /// the core) and ticks (of the time-stamp counter), and max_error;
    /// of clips also form, packed or resident.
    #[arg(long)]
    json: bool,
    /// The text of BENCHMARKS.md.
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
    /// How many interleaved rounds; the minimum counts.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
}

fn main() -> ExitCode {
    let args = Args::parse();
    let format = match (args.json, args.markdown) {
        (true, _) => Format::Json,
        (_, true) => Format::Markdown,
        _ => Format::Text,
    };
    let request = Request {
        only: args.only,
        elements: None,
        rounds: args.rounds,
        format,
        levels: Dispatch::all().collect(),
    };
    let steps = match request.steps() {
        Ok(steps) => steps,
        Err(known) => {
            eprintln!("condyle-bench: there is no such work; choose one of {}", known.join(", "));
            return ExitCode::from(2);
        }
    };
    let (mut step, shown) = (0, std::io::stderr().is_terminal());
    let clear = if shown { "\r\x1b[K" } else { "" };
    let progress = |work: &str| {
        step += 1;
        if shown {
            eprint!("{clear}{step}/{steps} {work}");
        }
    };
    // Who reads the output may have gone.
    let Ok(()) = condyle_bench::run(&request, progress, |text| {
        eprint!("{clear}");
        let _ = std::io::stdout().write_all(text.as_bytes());
        Ok::<(), Infallible>(())
    });
    ExitCode::SUCCESS
}
