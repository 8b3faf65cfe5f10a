//! The lab: tests of the guide's code and of `xtask`; tests of the benchmark, and one round of it, which
//! checks the result of every implementation before it times it.

use std::process::Command;

use crate::step::{Log, Outcome, Step, Stop, cargo};
use crate::tests;

pub(crate) fn steps() -> Vec<Step> {
    vec![Step::new("lab", lab), Step::new("bench", bench)]
}

/// Crates of the workspace that `cargo test` leaves out, except the benchmark.
const CRATES: [&str; 6] = ["-p", "condyle-guide", "-p", "condyle-testing", "-p", "xtask"];

fn lab(log: &mut Log) -> Outcome {
    log.run(&mut cargo("test", CRATES))?;
    tests::counted(log)
}

fn bench(log: &mut Log) -> Outcome {
    log.run(&mut cargo("test", ["-p", "condyle-bench"]))?;
    log.run(&mut cargo("build", ["-p", "condyle-bench"]))?;
    let program = tests::program("condyle-bench");
    let rows = log.capture(Command::new(program).args(["--rounds", "1", "--json"]))?.lines().count();
    if rows == 0 {
        Err(Stop::Failed("nothing was timed".into()))
    } else {
        Ok(format!("{rows} implementations"))
    }
}
