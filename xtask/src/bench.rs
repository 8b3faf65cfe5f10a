//! One round of the benchmark. Every implementation's result is checked before it is timed.

use std::process::Command;

use crate::step::{Log, Outcome, Step, Stop};
use crate::tests;

pub(crate) fn steps() -> Vec<Step> {
    vec![Step::new("bench", bench)]
}

fn bench(log: &mut Log) -> Outcome {
    // The build of the tests has the program too. A separate build has other features of the libraries, and
    // takes minutes.
    tests::build(log, &["--workspace"], &[tests::folder("")])?;
    let program = tests::program("condyle-bench");
    let rows = log.capture(Command::new(program).args(["--rounds", "1", "--json"]))?.lines().count();
    if rows == 0 {
        Err(Stop::Failed("nothing was timed".into()))
    } else {
        Ok(format!("{rows} implementations"))
    }
}
