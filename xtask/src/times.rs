//! `cargo xtask times`: measures common builds and tests from scratch, and writes the table of
//! docs/dev/ci.md.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use crate::features::RUNTIME;
use crate::step::{Log, Outcome, Stop, build_dir, cargo, fill};
use crate::{ci, readme};

const PAGE: &str = "docs/dev/ci.md";
const BEGIN: &str = "<!-- cargo xtask times -->\n";
const END: &str = "<!-- end -->";

/// Minimal program with cargo's default profiles.
const MANIFEST: &str = "[package]\nname = \"user\"\nedition = \"2024\"\n\n[workspace]\n\n[dependencies]\n";
const PROGRAM: &str = "fn main() {\n    println!(\"{}\", condyle::Dispatch::current());\n}\n";

/// Measures everything, and writes the table.
pub(crate) fn write(log: &mut Log) -> Outcome {
    log.run(&mut cargo("fetch", [] as [&str; 0]))?;
    let user = build_dir("times/user");
    let whole = build_dir("times/whole");
    for (program, krates) in [(&user, &RUNTIME[..1]), (&whole, &RUNTIME[..])] {
        std::fs::create_dir_all(program.join("src"))?;
        let mut manifest = MANIFEST.to_owned();
        for krate in krates {
            let library = crate::root().join("runtime").join(krate);
            writeln!(manifest, "{krate} = {{ path = {library:?} }}").ok();
        }
        std::fs::write(program.join("Cargo.toml"), manifest)?;
        std::fs::write(program.join("src/main.rs"), PROGRAM)?;
        log.run(Command::new("cargo").args(["generate-lockfile", "--offline"]).current_dir(program))?;
    }
    let build = |program: &Path, args: &[&str]| {
        let mut command = cargo("build", args);
        command.current_dir(program);
        command
    };
    let rows = [
        ("a program that uses `condyle`, release", build(&user, &["--release"]), "45 s of CPU"),
        ("the same, dev", build(&user, &[]), "25 s of CPU"),
        (
            "a program that uses all of the runtime, encoder, solvers and queries, release",
            build(&whole, &["--release"]),
            "",
        ),
        ("the same, dev", build(&whole, &[]), ""),
        ("the README's first command", readme::command(0)?, "120 s"),
        ("the README's test command", readme::command(1)?, "360 s"),
    ];
    let mut table = String::from("| | seconds | CPU seconds | goal |\n|---|--:|--:|---|\n");
    for (name, mut command, goal) in rows {
        let folder = build_dir("times/built");
        remove(&folder)?;
        // No incremental build, as in CI.
        command.env("CARGO_TARGET_DIR", &folder).env("CARGO_INCREMENTAL", "0");
        let (start, before) = (Instant::now(), children_seconds()?);
        log.run(&mut command)?;
        let (wall, cpu) = (start.elapsed().as_secs_f64(), children_seconds()? - before);
        remove(&folder)?;
        writeln!(table, "| {name} | {wall:.0} | {cpu:.0} | {goal} |").ok();
    }
    if let Some(seconds) = ci::last_whole_run() {
        writeln!(table, "| `cargo xtask ci`, last complete run here | {seconds} | | 1800 s |").ok();
    }
    fill(PAGE, [BEGIN, END], &table)?;
    log.note(&table);
    Ok(format!("written to {PAGE}"))
}

fn remove(folder: &Path) -> Result<(), Stop> {
    if folder.exists() { Ok(std::fs::remove_dir_all(folder)?) } else { Ok(()) }
}

/// Processor time of all finished child processes and their children: fields 16 and 17 of `/proc/self/stat`,
/// in 1/100 s.
fn children_seconds() -> Result<f64, Stop> {
    let stat = std::fs::read_to_string("/proc/self/stat");
    let stat = stat.map_err(|_| Stop::Skipped("no /proc to read processor times from".into()))?;
    let fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace();
    let ticks: u32 = fields.skip(13).take(2).filter_map(|field| field.parse::<u32>().ok()).sum();
    Ok(f64::from(ticks) / 100.0)
}
