//! Figures of retargeting, with limits: feet that slide, rest poses, there and back.

use std::path::Path;
use std::process::Command;

use crate::step::{Log, Outcome, Step, cargo};
use crate::tests;

pub(crate) fn steps() -> Vec<Step> {
    vec![Step::new("yardstick", made)]
}

const EXAMPLE: [&str; 4] = ["-p", "condyle-retarget", "--example", "yardstick"];

/// Measures internal bodies, with the tests' build.
pub(crate) fn made(log: &mut Log) -> Outcome {
    tests::build(log, &["--workspace"], &[tests::folder("")])?;
    log.run(&mut Command::new(tests::program("examples/yardstick")))?;
    Ok("all figures are within their limits".into())
}

/// Measures paired files, and writes lab/bench/results/retarget.md.
pub(crate) fn read(log: &mut Log, path: &str) -> Outcome {
    let data = Path::new(path).canonicalize()?;
    let mut command = cargo("run", EXAMPLE);
    command
        .arg("--release")
        .arg("--")
        .arg("--data")
        .arg(data)
        .args(["--out", "lab/bench/results/retarget.md"]);
    log.run(&mut command)?;
    Ok("all figures are within their limits".into())
}
