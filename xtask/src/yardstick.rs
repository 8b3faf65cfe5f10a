//! Figures of retargeting, with limits: feet that slide, rest poses, there and back.

use std::path::Path;
use std::process::Command;

use crate::step::{Log, Outcome, Step, cargo};
use crate::tests;

pub(crate) fn steps() -> Vec<Step> {
    vec![Step::new("yardstick", made)]
}

/// The program. Only its step builds it: `lab` is not in the default `cargo test`.
const PROGRAM: [&str; 4] = ["-p", "condyle-yardsticks", "--bin", "retargeting"];

/// Measures internal bodies, in the tests' build folder and with their profile.
pub(crate) fn made(log: &mut Log) -> Outcome {
    log.run(cargo("build", PROGRAM).envs([tests::folder("")]))?;
    log.run(&mut Command::new(tests::program("retargeting")))?;
    Ok("all figures are within their limits".into())
}

/// Measures paired files, and writes lab/bench/results/retarget.md.
pub(crate) fn read(log: &mut Log, path: &str) -> Outcome {
    let data = Path::new(path).canonicalize()?;
    let mut command = cargo("run", PROGRAM);
    command
        .arg("--release")
        .arg("--")
        .arg("--data")
        .arg(data)
        .args(["--out", "lab/bench/results/retarget.md"]);
    log.run(&mut command)?;
    Ok("all figures are within their limits".into())
}
