//! Half a minute of each fuzz target, starting from what is valid.
//!
//! The targets are built as cargo-fuzz builds them, but for AddressSanitizer: the workspace has no unsafe code for it
//! to watch, and without it a stable compiler serves and the limit on memory measures the importer alone.

use std::process::{Command, ExitCode};

use crate::step::{Log, Outcome, Step, Stop, alone as run_alone, cargo, need};

#[path = "../../crates/condyle-gltf/tests/tiny/mod.rs"]
mod tiny;

/// Not `posed`, which asks so much of each input that half a minute tells little: `cargo xtask fuzz posed --seconds 900`.
const TARGETS: [&str; 8] = ["import", "mutate", "meshopt", "bvh", "container", "clip", "solve", "hits"];

const TRIPLE: &str = "x86_64-unknown-linux-gnu";

/// How long a target runs in CI.
pub(crate) const SECONDS: u32 = 30;

/// CI draws the same inputs each time, so that what fails there comes of the change; new ones are looked for by `cargo xtask fuzz`.
const SEED: &str = "-seed=1";

const FLAGS: &str = "--cfg fuzzing -Cdebug-assertions -Coverflow-checks -Cpasses=sancov-module \
    -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares";

/// The fuzz targets are a workspace of their own.
pub(crate) const MANIFEST: &str = "fuzz/Cargo.toml";

pub(crate) fn steps() -> Vec<Step> {
    let targets = TARGETS.map(|target| {
        let name = format!("fuzz-{target}");
        Step::new(name.clone(), move |log: &mut Log| fuzz(log, target, SECONDS, &[SEED])).apart(target)
    });
    let before = [Step::new("fuzz-clippy", clippy), Step::new("fuzz-build", build)];
    before.map(|step| step.apart("fuzz")).into_iter().chain(targets).collect()
}

/// libFuzzer itself is compiled from C++, by the lints too.
fn need_compiler() -> Result<(), Stop> {
    need(&std::env::var("CXX").unwrap_or("c++".into()), &["--version"])
}

fn clippy(log: &mut Log) -> Outcome {
    need_compiler()?;
    log.run(&mut cargo("clippy", ["--manifest-path", MANIFEST, "--all-targets", "--", "-D", "warnings"]))?;
    Ok(String::new())
}

/// `cargo xtask fuzz TARGET`.
pub(crate) fn alone(target: &str, seconds: u32) -> ExitCode {
    run_alone(&format!("fuzz-{target}"), |log| fuzz(log, target, seconds, &[]))
}

/// All targets, with the instruments that tell libFuzzer where an input went.
fn build(log: &mut Log) -> Outcome {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return Err(Stop::Skipped("libFuzzer is built for x86-64 Linux only here".into()));
    }
    need_compiler()?;
    // With `--target` the flags spare build scripts and macros.
    let args = ["--release", "--manifest-path", MANIFEST, "--target", TRIPLE];
    log.run(cargo("build", args).env("RUSTFLAGS", FLAGS))?;
    Ok(String::new())
}

/// First inputs for a target that makes numbers of bytes, whatever these are: long enough for a whole case, as libFuzzer starts from few bytes.
fn any_bytes(target: &str) -> impl Iterator<Item = (String, Vec<u8>)> {
    let count = if ["solve", "hits"].contains(&target) { 16 } else { 0 };
    (0..count).map(|seed: u64| {
        // Knuth's linear congruential generator, of which the upper bits are any.
        let mut state = seed;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 56) as u8
        };
        (format!("any-{seed}"), (0..512 << (seed % 4)).map(|_| next()).collect())
    })
}

fn fuzz(log: &mut Log, target: &str, seconds: u32, options: &[&str]) -> Outcome {
    build(log)?;

    let fuzz = crate::root().join("fuzz");
    let corpus = fuzz.join("corpus").join(target);
    let artifacts = fuzz.join("artifacts").join(target);
    for folder in [&corpus, &artifacts] {
        std::fs::create_dir_all(folder)?;
    }
    for (name, bytes) in tiny::seeds(target).into_iter().chain(any_bytes(target)) {
        std::fs::write(corpus.join(name), bytes)?;
    }
    let mut run = Command::new(fuzz.join("target").join(TRIPLE).join("release").join(target));
    run.arg(format!("-max_total_time={seconds}")).args([
        "-timeout=10",
        "-rss_limit_mb=300",
        "-max_len=65536",
    ]);
    run.args(options);
    // A folder with a slash at its end, or libFuzzer takes it for a prefix.
    run.arg(format!("-artifact_prefix={}/", artifacts.display())).arg(corpus);
    log.run(&mut run)?;
    let text = log.text();
    let done = text.lines().rev().find_map(|l| l.strip_prefix("Done "));
    let done = done.ok_or(Stop::Failed("the target did not say that it was done".into()))?;
    Ok(format!("{} inputs", done.split(' ').next().unwrap_or_default()))
}
