//! Runs the tests in portable mode on every instruction set of this machine, and on emulated older machines.
//!
//! The normal tests cover the fast mode on the best instruction set.

use crate::features::RUNTIME;
use crate::step::{Log, Outcome, Step, Stop, need};
use crate::tests;

/// Scalar kernels are tested by WebAssembly without vector instructions.
const LEVELS: [&str; 4] = ["sse2", "sse42", "avx2", "avx512"];

/// Prefix of steps that need a specific processor.
pub(crate) const PREFIX: &str = "isa-";

/// Command line tests that also run at a forced level.
const COMMANDS: [&str; 3] = ["skin::", "encode::", "render::"];

/// `qemu-user` models without AVX, and with AVX2 and FMA, with the best level of each.
const CPUS: [(&str, &str); 2] = [("Nehalem", "sse42"), ("Haswell", "avx2")];

/// Tests that may differ on another machine: the selected level, and the bits of every kernel.
const WORDS: [&str; 3] = ["bits", "simd::", "environment"];

pub(crate) fn steps() -> Vec<Step> {
    let levels =
        LEVELS.map(|level| Step::new(format!("{PREFIX}{level}"), move |log: &mut Log| forced(log, level)));
    let cpus = CPUS.map(|(cpu, level)| {
        let name = format!("cpu-{}", cpu.to_lowercase());
        Step::new(name, move |log: &mut Log| emulated(log, cpu, level))
    });
    levels.into_iter().chain(cpus).collect()
}

/// The same build as the README's test command.
fn build(log: &mut Log) -> Result<Vec<tests::TestProgram>, Stop> {
    Ok(tests::per_processor(tests::build(log, &[], &[])?))
}

fn forced(log: &mut Log, level: &str) -> Outcome {
    if !available(level) {
        return Err(Stop::Skipped("this machine lacks it".into()));
    }
    let programs = build(log)?;
    // The command line passes its environment to the library, so one level and the commands that pose, encode
    // and draw suffice.
    let (program, mut library): (Vec<_>, Vec<_>) =
        programs.into_iter().partition(|program| program.krate == "condyle-cli");
    let settings = [("CONDYLE_ISA", level), ("CONDYLE_NUMERIC", "portable")];
    if level == LEVELS[0] {
        tests::run(log, &program, &[], &COMMANDS.map(String::from), &settings)?;
    } else {
        // All levels have the same bits, so one compares whole characters with their references.
        library.retain(|program| program.name != "references");
    }
    tests::run(log, &library, &[], &tests::without_scalar(), &settings)
}

fn emulated(log: &mut Log, cpu: &str, level: &str) -> Outcome {
    if !cfg!(target_arch = "x86_64") {
        return Err(Stop::Skipped("this machine is not an x86-64".into()));
    }
    need("qemu-x86_64", &["--version"])?;
    let mut programs = build(log)?;
    programs.retain(|program| RUNTIME.contains(&program.krate));
    let runner = ["qemu-x86_64", "-cpu", cpu].map(Into::into);
    let settings = [("CONDYLE_EXPECTED_BEST", level), tests::FEW_CASES];
    tests::run(log, &programs, &runner, &WORDS.map(String::from), &settings)
}

#[cfg(target_arch = "x86_64")]
fn available(level: &str) -> bool {
    match level {
        "sse42" => std::arch::is_x86_feature_detected!("sse4.2"),
        "avx2" => std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma"),
        // Ice Lake and later, the level of `fearless_simd`.
        "avx512" => {
            std::arch::is_x86_feature_detected!("avx512vbmi2")
                && std::arch::is_x86_feature_detected!("avx512bitalg")
        }
        _ => true,
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn available(_: &str) -> bool {
    false
}
