//! Builds test programs once and runs them as often as needed: by hand instead of by `cargo test`, so that one
//! build serves every instruction set and emulator.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

use crate::step::{Log, Outcome, Stop, cargo};

/// The crates whose results depend on the instruction set.
const CRATES: [&str; 3] = ["condyle", "condyle-gltf", "condyle-cli"];

/// Says nothing about instruction sets, and its limits on time mean nothing in an emulator.
const ELSEWHERE: [&str; 1] = ["malformed"];

/// A program that runs the tests of one crate's library or of one of its test files.
pub(crate) struct TestProgram {
    /// The name of its crate.
    pub(crate) krate: &'static str,
    path: PathBuf,
    folder: PathBuf,
}

/// Builds the test programs of the library, the importer and the command line tool.
///
/// `args` go to `cargo test`; `settings` are environment variables.
pub(crate) fn build(
    log: &mut Log,
    args: &[&str],
    settings: &[(&str, String)],
) -> Result<Vec<TestProgram>, Stop> {
    let mut command = cargo("test", ["--no-run", "--message-format=json-render-diagnostics"]);
    command.args(args).envs(settings.iter().map(|(k, v)| (k, v)));
    let messages = log.capture(&mut command)?;
    let programs = messages.lines().filter_map(|line| {
        let message: serde_json::Value = serde_json::from_str(line).ok()?;
        let manifest = PathBuf::from(message["manifest_path"].as_str()?);
        let folder = manifest.parent()?.to_path_buf();
        let name = message["target"]["name"].as_str()?;
        let krate = CRATES.into_iter().find(|krate| folder.ends_with(krate))?;
        let wanted = message["profile"]["test"] == true && !ELSEWHERE.contains(&name);
        let path = PathBuf::from(message["executable"].as_str()?);
        wanted.then_some(TestProgram { krate, path, folder })
    });
    let programs: Vec<_> = programs.collect();
    if programs.is_empty() { Err(Stop::Failed("no test program was built".into())) } else { Ok(programs) }
}

/// Runs test programs, each in its crate's folder as cargo does, behind `runner` (an emulator and its options).
pub(crate) fn run(
    log: &mut Log,
    programs: &[TestProgram],
    runner: &[OsString],
    settings: &[(&str, &str)],
) -> Outcome {
    for program in programs {
        let mut words = runner.to_vec();
        words.push(program.path.clone().into());
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).arg("-q").current_dir(&program.folder);
        log.run(command.envs(settings.iter().copied()))?;
    }
    counted(log)
}

/// How many tests the log tells of. None at all is a failure.
pub(crate) fn counted(log: &mut Log) -> Outcome {
    let text = log.text();
    let results = text.lines().filter_map(|line| line.strip_prefix("test result: ok. "));
    let passed: usize = results.filter_map(|rest| rest.split(' ').next()?.parse::<usize>().ok()).sum();
    if passed == 0 { Err(Stop::Failed("no test ran".into())) } else { Ok(format!("{passed} tests")) }
}
