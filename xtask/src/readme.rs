//! The first two commands of the README, read from it so that they cannot diverge, and a check that the tests
//! had the reference models.

use std::path::Path;
use std::process::Command;

use crate::step::{Log, Outcome, Step, Stop, cargo};
use crate::tests;

pub(crate) fn steps() -> Vec<Step> {
    vec![
        Step::new("tests", |log: &mut Log| {
            log.run(&mut command(1)?)?;
            tests::counted(log)
        }),
        Step::new("references", references),
        Step::new("demo", |log: &mut Log| {
            log.run(&mut command(0)?)?;
            Ok(String::new())
        }),
    ]
}

/// The command in line number `index` of the README's lines that start with `cargo `.
pub(crate) fn command(index: usize) -> Result<Command, Stop> {
    let readme = std::fs::read_to_string(crate::root().join("README.md"))?;
    let line = readme.lines().filter_map(|l| l.strip_prefix("cargo ")).nth(index);
    let line = line.ok_or(Stop::Failed("README.md lacks its two commands".into()))?;
    let (subcommand, args) = line.split_once(' ').unwrap_or((line, ""));
    Ok(cargo(subcommand, args.split_whitespace()))
}

/// Checks that the tests had reference models. Without them these tests are ignored.
fn references(_: &mut Log) -> Outcome {
    let folder = crate::root().join("../shared/models");
    let count = std::fs::read_dir(folder).map_or(0, |files| {
        let is_model = |path: &Path| path.extension().is_some_and(|e| e == "glb" || e == "gltf");
        files.flatten().filter(|entry| is_model(&entry.path())).count()
    });
    match count {
        0 => Err(Stop::Skipped("there are no reference models in shared/models next to the checkout".into())),
        count => Ok(format!("{count} models, compared with in `tests`")),
    }
}
