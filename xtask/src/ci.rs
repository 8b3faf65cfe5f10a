//! `cargo xtask ci`: runs every check with one line each, and prints a table at the end.

use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::plan::{self, Options, Place};
use crate::step::{Log, Outcome, Step, Stop, out_dir};
use crate::{
    asm, bench, c, dependencies, dist, features, fuzz, gpu, guide, levels, lint, miri, package, page,
    playback, public_api, python, readme, targets, testdata, validator, web, words, workflows, yardstick,
};

/// Optional steps: they need tools or models that a machine may lack, and may be skipped even with
/// `--strict`. Steps for an instruction set are optional too. `.ci/run` installs the tools for all other
/// steps, so with `CI=true` they must run.
const OPTIONAL: [&str; 4] = ["references", "msrv", "miri", "miri-c"];

/// All steps, in the order in which they start.
pub(crate) fn steps() -> Vec<Step> {
    let tasks = [
        lint::steps(),
        guide::steps(),
        words::steps(),
        public_api::steps(),
        package::steps(),
        dependencies::steps(),
        dist::steps(),
        workflows::steps(),
        readme::steps(),
        // Long and single-threaded, so it runs next to the tests.
        miri::steps(),
        python::steps(),
        c::steps(),
        web::steps(),
        page::steps(),
        targets::steps(),
        levels::steps(),
        features::steps(),
        bench::steps(),
        yardstick::steps(),
        gpu::steps(),
        testdata::steps(),
        validator::steps(),
        playback::steps(),
        asm::steps(),
        fuzz::steps(),
    ];
    tasks.into_iter().flatten().collect()
}

/// Runs the steps that the options choose, or lists them.
pub(crate) fn main(options: &Options) -> ExitCode {
    let (turn, origin) = match options.turn {
        Some(turn) => (turn, "chosen".into()),
        None => plan::turn_of_commit(),
    };
    let steps: Vec<Step> = steps().into_iter().filter(|step| options.has(&step.name)).collect();
    if steps.is_empty() {
        eprintln!("no such step; `cargo xtask ci --list` prints the names of all steps and groups");
        return ExitCode::from(2);
    }
    if options.is_list {
        list(&steps, options, turn);
        return ExitCode::SUCCESS;
    }
    let (now, later): (Vec<Step>, Vec<Step>) =
        steps.into_iter().partition(|step| options.runs(&step.name, turn));
    if options.has_turn() {
        println!("turn {turn} of 0 to {} ({origin})", plan::TURNS - 1);
    }
    let code = run(now, options);
    for turn in 0..plan::TURNS {
        let names = later.iter().map(|step| step.name.as_str());
        let names: Vec<&str> = names.filter(|name| plan::place(name).turn == Some(turn)).collect();
        if !names.is_empty() {
            println!("only in turn {turn}: {}", names.join(", "));
        }
    }
    code
}

/// Prints the name, the group and the turn of each step, and whether it runs in this turn.
fn list(steps: &[Step], options: &Options, turn: usize) {
    let width = steps.iter().map(|step| step.name.len()).max().unwrap_or(0);
    for Step { name, .. } in steps {
        let Place { group, turn: own } = plan::place(name);
        let when = own.map_or("always".into(), |own| format!("turn {own}"));
        let now = if own.is_some() && options.runs(name, turn) { ", now" } else { "" };
        println!("{name:width$}  {group:8}  {when}{now}");
    }
}

/// Runs steps, two or three at a time. A failure does not stop the others.
///
/// With `--strict` and with `CI=true`, a skipped step fails unless it is optional.
fn run(steps: Vec<Step>, options: &Options) -> ExitCode {
    let ci = std::env::var_os("CI").is_some_and(|v| v == "true");
    let optional = |name: &str| OPTIONAL.contains(&name) || name.starts_with(levels::PREFIX);
    let must_run = |name: &str| (options.is_strict || ci) && !optional(name);
    let start = Instant::now();
    let mut rows = two_at_a_time(steps, &must_run);
    rows.sort_by_key(|row| row.place);
    println!();
    let width = rows.iter().map(|row| row.name.len()).max().unwrap_or(0);
    for Row { name, line, .. } in &rows {
        println!("{name:width$}  {line}");
    }
    let count = |wanted: fn(&Outcome) -> bool| rows.iter().filter(|row| wanted(&row.outcome)).count();
    let passed = count(Result::is_ok);
    let failed = count(|o| matches!(o, Err(Stop::Failed(_))));
    let seconds = start.elapsed().as_secs();
    println!("\nin {seconds} s");
    if options.only.is_empty() && options.group.is_empty() && failed == 0 {
        // For `cargo xtask times`.
        std::fs::write(whole_run(), seconds.to_string()).ok();
    }
    println!("{passed} passed, {failed} failed, {} skipped", rows.len() - passed - failed);
    for row in &rows {
        if let Err(Stop::Skipped(why)) = &row.outcome {
            println!("NOT CHECKED: {}: {why}", row.name);
        }
    }
    if failed == 0 && passed > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// File with the duration of the last complete run.
fn whole_run() -> PathBuf {
    out_dir().join("ci.seconds")
}

/// Duration of the last complete run in seconds.
pub(crate) fn last_whole_run() -> Option<u64> {
    std::fs::read_to_string(whole_run()).ok()?.parse().ok()
}

/// Finished step.
struct Row {
    /// Position in the list of steps.
    place: usize,
    name: String,
    outcome: Outcome,
    line: String,
}

/// Runs steps in order on two threads, so that single-threaded steps (an emulator, an interpreter, a fuzz
/// target) do not leave a core idle. Steps that mostly wait have a third thread. Steps that build in the same
/// folder never run simultaneously.
fn two_at_a_time(steps: Vec<Step>, must_run: &(impl Fn(&str) -> bool + Sync)) -> Vec<Row> {
    let waiting: Mutex<Vec<(usize, Step)>> = Mutex::new(steps.into_iter().enumerate().collect());
    let busy: Mutex<Vec<&'static str>> = Mutex::default();
    let rows: Mutex<Vec<Row>> = Mutex::default();
    let take = |waits: bool| {
        let (mut waiting, mut busy) = (lock(&waiting), lock(&busy));
        let is_next = |step: &Step| step.waits == waits && !busy.contains(&step.folder);
        let at = waiting.iter().position(|(_, step)| is_next(step))?;
        busy.push(waiting[at].1.folder);
        Some(waiting.remove(at))
    };
    let work = |waits: bool| loop {
        let Some((place, step)) = take(waits) else {
            if lock(&waiting).iter().all(|(_, step)| step.waits != waits) {
                return;
            }
            std::thread::sleep(Duration::from_millis(200));
            continue;
        };
        let row = one(place, &step, must_run);
        lock(&rows).push(row);
        lock(&busy).retain(|folder| *folder != step.folder);
    };
    std::thread::scope(|scope| {
        for waits in [false, false, true] {
            scope.spawn(move || work(waits));
        }
    });
    rows.into_inner().unwrap_or_else(PoisonError::into_inner)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn one(place: usize, step: &Step, must_run: &impl Fn(&str) -> bool) -> Row {
    let start = Instant::now();
    let (outcome, log) = match Log::create(&step.name) {
        Ok(mut log) => {
            // Panics are caught, because a step that panics would otherwise leave its folder busy forever.
            let run = AssertUnwindSafe(|| (step.run)(&mut log));
            let panicked = |_| Err(Stop::Failed("the step itself panicked, see above".into()));
            (catch_unwind(run).unwrap_or_else(panicked), log.text())
        }
        Err(e) => (Err(e.into()), String::new()),
    };
    let outcome = match outcome {
        Err(Stop::Skipped(why)) if must_run(&step.name) => {
            Err(Stop::Failed(format!("must not be skipped: {why}")))
        }
        other => other,
    };
    let (name, line) = (step.name.clone(), describe(&outcome, start.elapsed()));
    let log = if matches!(outcome, Err(Stop::Failed(_))) {
        format!("\n{log}== end of {name}")
    } else {
        String::new()
    };
    // One call, because the other thread prints too.
    println!("== {name} … {line}{log}");
    std::io::stdout().flush().ok();
    Row { place, name, outcome, line }
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
