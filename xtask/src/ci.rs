//! `cargo xtask ci`: every check, a line for each, a table at the end.

use std::io::Write;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use crate::step::{Log, Outcome, Step, Stop};
use crate::{asm, bench, features, fuzz, levels, lint, miri, readme, targets, testdata, validator};

/// Steps that need what a machine may well not have: skipped without blame even by `--strict`.
const OPTIONAL: [&str; 3] = ["references", "msrv", "miri"];

/// Other processors: `.ci/run` installs all they need, so with `CI=true` they must run.
const PLATFORMS: [&str; 3] = ["aarch64", "wasm-scalar", "wasm-simd128"];

fn steps() -> Vec<Step> {
    let groups = [
        lint::steps(),
        readme::steps(),
        levels::steps(),
        targets::steps(),
        features::steps(),
        miri::steps(),
        asm::steps(),
        bench::steps(),
        testdata::steps(),
        validator::steps(),
        fuzz::steps(),
    ];
    groups.into_iter().flatten().collect()
}

/// Prints the name of every step.
pub(crate) fn list() -> ExitCode {
    for step in steps() {
        println!("{}", step.name);
    }
    ExitCode::SUCCESS
}

/// Runs the steps whose name begins with `prefix`. A failure does not stop the later ones.
///
/// `strict`: a step that is skipped fails, unless it is optional.
pub(crate) fn run(prefix: &str, strict: bool) -> ExitCode {
    let ci = std::env::var_os("CI").is_some_and(|v| v == "true");
    let must_run = |name: &str| strict && !OPTIONAL.contains(&name) || ci && PLATFORMS.contains(&name);
    let mut rows = Vec::new();
    for step in steps().into_iter().filter(|s| s.name.starts_with(prefix)) {
        print!("== {} … ", step.name);
        std::io::stdout().flush().ok();
        let start = Instant::now();
        let (outcome, log) = match Log::create(&step.name) {
            Ok(mut log) => ((step.run)(&mut log), log.text()),
            Err(e) => (Err(e.into()), String::new()),
        };
        let outcome = match outcome {
            Err(Stop::Skipped(why)) if must_run(&step.name) => {
                Err(Stop::Failed(format!("may not be skipped: {why}")))
            }
            other => other,
        };
        let line = describe(&outcome, start.elapsed());
        println!("{line}");
        if let Err(Stop::Failed(_)) = outcome {
            println!("{log}== end of {}", step.name);
        }
        rows.push((step.name, outcome, line));
    }
    if rows.is_empty() {
        eprintln!("no step begins with `{prefix}`; `cargo xtask ci --list` names them");
        return ExitCode::from(2);
    }
    println!();
    let width = rows.iter().map(|(name, ..)| name.len()).max().unwrap_or(0);
    for (name, _, line) in &rows {
        println!("{name:width$}  {line}");
    }
    let count = |wanted: fn(&Outcome) -> bool| rows.iter().filter(|(_, outcome, _)| wanted(outcome)).count();
    let passed = count(Result::is_ok);
    let failed = count(|o| matches!(o, Err(Stop::Failed(_))));
    println!("\n{passed} passed, {failed} failed, {} skipped", rows.len() - passed - failed);
    for (name, outcome, _) in &rows {
        if let Err(Stop::Skipped(why)) = outcome {
            println!("NOT CHECKED: {name}, as {why}");
        }
    }
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn describe(outcome: &Outcome, time: Duration) -> String {
    let seconds = time.as_secs_f32();
    match outcome {
        Ok(done) if done.is_empty() => format!("ok ({seconds:.1} s)"),
        Ok(done) => format!("ok ({seconds:.1} s, {done})"),
        Err(Stop::Skipped(why)) => format!("SKIPPED: {why}"),
        Err(Stop::Failed(why)) => format!("FAILED ({seconds:.1} s): {why}"),
    }
}
