//! `condyle-bench` runs all benchmarks with all peers. `condyle-bench papers` reproduces the figures of the
//! papers.

mod papers;

use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use condyle::{Dispatch, Isa, Numeric};
use condyle_bench::{Format, Request};

/// Times every stage of condyle on every instruction set, in both numeric modes, next to its peers.
///
/// Every implementation's result is checked against the f64 reference before it is timed.
#[derive(Parser)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Examples:
  condyle-bench
  condyle-bench --only skin_pnt4 --json
  condyle-bench --rounds 5                a quick run
  condyle-bench --isa avx2 --numeric fast
  condyle-bench papers --only eberly"
)]
struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    times: Times,
}

#[derive(clap::Subcommand)]
enum Command {
    Papers(papers::Args),
}

#[derive(clap::Args)]
struct Times {
    /// Run only this benchmark.
    #[arg(long, value_name = "WORK")]
    only: Option<String>,
    /// Print one JSON object per line: work, impl, isa, mode, threads, layout, n, max_error, and per element
    /// the minimum ns, core cycles and time-stamp counter ticks. Clips add form: compressed or frames.
    #[arg(long)]
    json: bool,
    /// Write benchmarks.md to this folder.
    #[arg(long, conflicts_with = "json", value_name = "FOLDER")]
    markdown: Option<PathBuf>,
    /// Number of interleaved rounds. The minimum time counts.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Use only this instruction set.
    #[arg(long, value_name = "NAME")]
    isa: Option<Isa>,
    /// Use only this numeric mode: `fast`, or `portable` for bit-identical results on every machine.
    #[arg(long, value_name = "fast|portable")]
    numeric: Option<Numeric>,
}

/// Progress on standard error, if it is a terminal.
struct Progress {
    shown: bool,
    step: usize,
}

impl Progress {
    fn new() -> Self {
        Self { shown: std::io::stderr().is_terminal(), step: 0 }
    }

    fn next(&mut self, of: &str, what: &str) {
        self.step += 1;
        if self.shown {
            eprint!("\r\x1b[K{}{of} {what}", self.step);
        }
    }

    /// Clears the progress and prints a result. A closed pipe is not an error.
    fn print(&self, text: &str) {
        if self.shown {
            eprint!("\r\x1b[K");
        }
        let _ = std::io::stdout().write_all(text.as_bytes());
    }
}

fn main() -> ExitCode {
    let args = Args::parse();
    match &args.command {
        None => times(args.times),
        Some(Command::Papers(papers)) => {
            let mut progress = Progress::new();
            match papers::run(papers, |what| progress.next("", what)) {
                Ok(text) => {
                    progress.print(&text);
                    ExitCode::SUCCESS
                }
                Err(failed) => {
                    eprintln!("condyle-bench: {failed}");
                    ExitCode::FAILURE
                }
            }
        }
    }
}

fn times(args: Times) -> ExitCode {
    let format = match (args.json, &args.markdown) {
        (true, _) => Format::Json,
        (_, Some(_)) => Format::Markdown,
        _ => Format::Text,
    };
    let wanted = |level: &Dispatch| {
        args.isa.is_none_or(|isa| level.isa() == isa) && args.numeric.is_none_or(|it| level.numeric() == it)
    };
    let levels: Vec<Dispatch> = Dispatch::all().filter(wanted).collect();
    if levels.is_empty() {
        eprintln!("condyle-bench: this machine lacks the instruction set");
        return ExitCode::from(2);
    }
    let request = Request { only: args.only, elements: None, rounds: args.rounds, format, levels };
    let steps = match request.steps() {
        Ok(steps) => steps,
        Err(known) => {
            eprintln!("condyle-bench: unknown benchmark; choose one of {}", known.join(", "));
            return ExitCode::from(2);
        }
    };
    let (mut progress, printer) = (Progress::new(), Progress::new());
    let of = format!("/{steps}");
    let mut pages = condyle_bench::PAGES.iter();
    let done = condyle_bench::run(
        &request,
        |work| progress.next(&of, work),
        |text| match (&args.markdown, pages.next()) {
            (Some(folder), Some(page)) => {
                let path = folder.join(page);
                std::fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))
            }
            _ => {
                printer.print(text);
                Ok(())
            }
        },
    );
    if let Err(error) = done {
        eprintln!("condyle-bench: {error}");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
