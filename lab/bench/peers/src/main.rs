//! Whole characters and single stages of Condyle, next to ozz-animation, ACL with RTM, ozz-animation-rs and
//! glam. `build.sh` compiles the peers and runs this program; README.md has the commands.
//!
//! All peers convert the same samples of ozz's character of 67 joints and run in one process, in turns. The
//! program first checks all results against f64.

mod data;
mod entrants;
mod exact;
mod foreign;
mod player;
mod report;
mod results;
mod runtime;
mod sizes;
mod timing;
mod verify;
mod works;

use std::path::PathBuf;
use std::process::ExitCode;
use std::rc::Rc;

use clap::Parser;

use data::Data;
use entrants::Entrant;
use results::Results;

/// Compares Condyle with other animation libraries
#[derive(Parser)]
#[command(name = "condyle-peers")]
enum Command {
    /// Check and measure everything once, and add a file of results
    Measure {
        /// Folder that `build.sh` has filled
        folder: PathBuf,
        /// File of results to write
        results: PathBuf,
        /// Groups to measure; all if omitted
        #[arg(long, value_enum)]
        only: Vec<Group>,
    },
    /// Print tables of the minima of all files of results, as Markdown
    Report {
        /// Files of results
        #[arg(required = true)]
        results: Vec<PathBuf>,
    },
}

#[derive(Clone, Copy, PartialEq, clap::ValueEnum)]
enum Group {
    Sizes,
    Character,
    Crowd,
    Sample,
    Stages,
    Skin,
}

fn main() -> ExitCode {
    let done = match Command::parse() {
        Command::Measure { folder, results, only } => measure(&folder, &only).write(&results),
        Command::Report { results } => Results::read(&results).map(|all| print!("{}", report::page(&all))),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("condyle-peers: {error}");
            ExitCode::FAILURE
        }
    }
}

fn measure(folder: &std::path::Path, only: &[Group]) -> Results {
    let has = |group| only.is_empty() || only.contains(&group);
    let data = Rc::new(Data::read(&folder.join("data.bin")));
    let entrants: Vec<Entrant> = entrants::all(&data, folder);
    let mut results = Results::with_conditions(folder);
    verify::characters(&data, &entrants, &mut results);
    verify::crowds(&data, &entrants);
    if has(Group::Sizes) {
        sizes::measure(&data, &entrants, &mut results);
    }
    if has(Group::Character) {
        works::characters(&data, &entrants, &mut results);
    }
    if has(Group::Crowd) {
        works::crowds(&data, &entrants, &mut results);
    }
    if has(Group::Sample) {
        works::sampling(&data, &entrants, &mut results);
    }
    if has(Group::Stages) {
        works::stages(&entrants, &mut results);
    }
    if has(Group::Skin) {
        works::skinning(&data, &entrants, &mut results);
    }
    results
}
