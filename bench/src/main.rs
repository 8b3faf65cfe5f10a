//! Checks, then times, the stages of condyle beside what a Rust user would write otherwise.
//!
//! `cargo run --release -p condyle-bench` prints a table, `--json` one object per line, `--markdown` what
//! BENCHMARKS.md holds. All implementations of one work
//! run interleaved on the same data; the figure is the minimum over the rounds, per element.

mod data;
mod harness;
mod report;
mod works;

use clap::Parser;

/// Times every stage of condyle, on every instruction set and in both numeric modes, beside its peers.
///
/// Every implementation's answer is checked against the f64 reference before it is timed.
#[derive(Parser)]
#[command(
    after_help = "Examples:\n  condyle-bench\n  condyle-bench --only skin_pnt4 --json\n  condyle-bench --rounds 1   # a quick look"
)]
struct Args {
    /// Only this work.
    #[arg(long, value_name = "WORK")]
    only: Option<String>,
    /// One JSON object per line: work, impl, isa, mode, layout, n, ns (minimum per element), cycles, max_error.
    #[arg(long)]
    json: bool,
    /// The text of BENCHMARKS.md.
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
    /// How many interleaved rounds; the minimum counts.
    #[arg(long, default_value_t = 40, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
}

fn main() {
    let args = Args::parse();
    let works = works::all();
    let known: Vec<&str> = works.iter().map(|w| w.name).collect();
    if let Some(only) = &args.only
        && !known.contains(&only.as_str())
    {
        eprintln!("error: there is no work {only}; choose one of {}", known.join(", "));
        std::process::exit(2);
    }
    let ghz = harness::clock_ghz();
    if args.markdown {
        report::markdown_head(ghz, args.rounds);
    } else if !args.json {
        report::print(&format!("Clock: {ghz:.2} GHz. Minimum of {} interleaved rounds.\n\n", args.rounds));
    }
    for work in works.into_iter().filter(|w| args.only.as_deref().is_none_or(|only| only == w.name)) {
        let rows = harness::run(work, args.rounds);
        if args.json {
            report::json(&rows, ghz);
        } else if args.markdown {
            report::markdown(&rows, ghz);
        } else {
            report::text(&rows, ghz);
        }
    }
}

#[cfg(test)]
mod tests {
    /// Without a single timed round: only that every answer is right.
    #[test]
    fn every_answer_is_right() {
        for work in super::works::all() {
            assert!(!super::harness::run(work, 0).is_empty());
        }
    }
}
