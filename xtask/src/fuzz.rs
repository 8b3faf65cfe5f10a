//! Runs each fuzz target for 10 seconds, starting from valid inputs.
//!
//! The targets are built like by cargo-fuzz, but without AddressSanitizer, because the workspace has no
//! unsafe code for it to check. A stable compiler therefore suffices, and the memory limit measures only the
//! importer.

use std::process::{Command, ExitCode};

use crate::step::{Log, ONE_KERNEL, Outcome, Step, Stop, alone as run_alone, cargo, need};

#[path = "../../tools/condyle-gltf/tests/tiny/mod.rs"]
pub(crate) mod tiny;

/// Targets that run in CI. CI skips `posed`: it makes many calls per input, and 10 seconds cover
/// little. Run it with `cargo xtask fuzz posed --seconds 900`.
const TARGETS: [&str; 11] =
    ["import", "mutate", "pack", "meshopt", "bvh", "fbx", "container", "clip", "solve", "retarget", "hits"];

const TRIPLE: &str = "x86_64-unknown-linux-gnu";

/// Duration of a target in CI.
pub(crate) const SECONDS: u32 = 10;

/// CI uses the same inputs each time, so that a failure is caused by the change. `cargo xtask fuzz` searches
/// for new inputs.
const SEED: &str = "-seed=1";

const FLAGS: &str = "--cfg fuzzing -Cdebug-assertions -Coverflow-checks -Cpasses=sancov-module \
    -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares";

/// Fuzz targets are a separate workspace.
const FOLDER: &str = "lab/fuzz";

/// Its manifest.
pub(crate) const MANIFEST: &str = "lab/fuzz/Cargo.toml";

pub(crate) fn steps() -> Vec<Step> {
    let targets = TARGETS.map(|target| {
        let name = format!("fuzz-{target}");
        let run = move |log: &mut Log| fuzz(log, target, SECONDS, &[SEED]);
        Step::new(name.clone(), run).apart(target)
    });
    let before = [Step::new("fuzz-clippy", clippy), Step::new("fuzz-build", build)];
    before.map(|step| step.apart("fuzz")).into_iter().chain(targets).collect()
}

/// libFuzzer is compiled from C++, also for the lints.
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

/// Builds the targets with coverage instrumentation for libFuzzer.
fn build(log: &mut Log) -> Outcome {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return Err(Stop::Skipped("libFuzzer is built for x86-64 Linux only here".into()));
    }
    need_compiler()?;
    // With `--target`, the flags do not apply to build scripts and macros.
    let args = ["--release", "--manifest-path", MANIFEST, "--target", TRIPLE];
    let mut command = cargo("build", args);
    let folder = crate::root().join(FOLDER).join("target");
    log.run(command.env("RUSTFLAGS", format!("{FLAGS} {ONE_KERNEL}")).env("CARGO_TARGET_DIR", folder))?;
    Ok(String::new())
}

/// Random first inputs for targets that build numbers from arbitrary bytes. They are long enough for a whole
/// case, because libFuzzer starts with few bytes.
fn any_bytes(target: &str) -> impl Iterator<Item = (String, Vec<u8>)> {
    let count = if ["solve", "retarget", "hits"].contains(&target) { 16 } else { 0 };
    (0..count).map(|seed: u64| {
        // Knuth's linear congruential generator, whose upper bits are random.
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

    let fuzz = crate::root().join(FOLDER);
    let corpus = fuzz.join("corpus").join(target);
    let artifacts = fuzz.join("artifacts").join(target);
    for folder in [&corpus, &artifacts] {
        std::fs::create_dir_all(folder)?;
    }
    if target == "fbx" {
        let arm = crate::root().join("tools/condyle-fbx/tests/data/arm.fbx");
        std::fs::copy(arm, corpus.join("arm"))?;
    }
    for (name, bytes) in tiny::seeds(target).into_iter().chain(any_bytes(target)) {
        std::fs::write(corpus.join(name), bytes)?;
    }
    let mut run = Command::new(fuzz.join("target").join(TRIPLE).join("release").join(target));
    // The resident memory is limited to 300 MB.
    run.arg(format!("-max_total_time={seconds}")).arg("-rss_limit_mb=300");
    run.args(["-timeout=10", "-max_len=65536"]);
    run.args(options);
    // With a trailing slash, because libFuzzer would otherwise use the path as a file name prefix.
    run.arg(format!("-artifact_prefix={}/", artifacts.display())).arg(corpus);
    log.run(&mut run)?;
    let text = log.text();
    let done = text.lines().rev().find_map(|l| l.strip_prefix("Done "));
    let done = done.ok_or(Stop::Failed("the target did not report that it was done".into()))?;
    Ok(format!("{} inputs", done.split(' ').next().unwrap_or_default()))
}
