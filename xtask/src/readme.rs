//! The two commands that the README begins with, read from it so that they cannot diverge, and what the tests leave out
//! without a word where the reference models are missing.

use crate::step::{Log, Outcome, Step, Stop, cargo};
use crate::tests;

pub(crate) fn steps() -> Vec<Step> {
    vec![
        Step::new("tests", |log: &mut Log| {
            command(log, 1)?;
            tests::counted(log)
        }),
        Step::new("references", references),
        Step::new("demo", |log: &mut Log| {
            command(log, 0)?;
            Ok(String::new())
        }),
    ]
}

/// Runs the README's line number `index` of those that begin with `cargo `.
fn command(log: &mut Log, index: usize) -> Result<(), Stop> {
    let readme = std::fs::read_to_string(crate::root().join("README.md"))?;
    let line = readme.lines().filter_map(|l| l.strip_prefix("cargo ")).nth(index);
    let line = line.ok_or(Stop::Failed("README.md has lost its two commands".into()))?;
    let (subcommand, args) = line.split_once(' ').unwrap_or((line, ""));
    log.run(&mut cargo(subcommand, args.split_whitespace()))
}

/// The tests that compare with the reference models, which pass where there are none unless told not to.
fn references(log: &mut Log) -> Outcome {
    if !crate::root().join("../shared/models").is_dir() {
        return Err(Stop::Skipped(
            "the reference models are not in shared/models beside the checkout".into(),
        ));
    }
    let tests = ["references", "models", "export", "malformed", "cli"].map(|test| format!("--test={test}"));
    let mut command = cargo("test", ["-p", "condyle-gltf", "-p", "condyle-cli"]);
    log.run(command.args(tests).env("CONDYLE_REQUIRE_MODELS", "1"))?;
    tests::counted(log)
}
