//! The tests again in portable mode on every instruction set of this machine, and on older machines than this one.
//!
//! The fast mode on the best instruction set is what the tests run with anyway.

use crate::features::RUNTIME;
use crate::step::{Log, Outcome, Step, Stop, need};
use crate::tests;

/// Scalar kernels are what WebAssembly runs without vectors: there they are tested.
const LEVELS: [&str; 4] = ["sse2", "sse42", "avx2", "avx512"];

/// What the names of the steps begin with that need a processor of their own.
pub(crate) const PREFIX: &str = "isa-";

/// Tests of the command line that run at a forced level too.
const COMMANDS: [&str; 3] = ["skin::", "encode::", "render::"];

/// `qemu-user` models without AVX, and with AVX2 and FMA; the best that each has.
const CPUS: [(&str, &str); 2] = [("Nehalem", "sse42"), ("Haswell", "avx2")];

/// What could be different on another machine of a known kind: what is chosen there, and the bits of every kernel.
const WORDS: [&str; 3] = ["bits", "simd::", "environment"];

pub(crate) fn steps() -> Vec<Step> {
    let levels =
        LEVELS.map(|level| Step::new(format!("{PREFIX}{level}"), move |log: &mut Log| forced(log, level)));
    let cpus = CPUS.map(|(cpu, level)| {
        Step::new(format!("cpu-{}", cpu.to_lowercase()), move |log: &mut Log| emulated(log, cpu, level))
    });
    levels.into_iter().chain(cpus).collect()
}

/// The same build as the README's test command.
fn build(log: &mut Log) -> Result<Vec<tests::TestProgram>, Stop> {
    tests::build(log, &["--workspace"], &[])
}

fn forced(log: &mut Log, level: &str) -> Outcome {
    if !available(level) {
        return Err(Stop::Skipped("this machine does not have it".into()));
    }
    let programs = build(log)?;
    // The command line passes its environment on to the library: one level, and what poses, encodes and draws, is enough.
    let (program, library): (Vec<_>, Vec<_>) =
        programs.into_iter().partition(|program| program.krate == "condyle-cli");
    let settings = [("CONDYLE_ISA", level), ("CONDYLE_NUMERIC", "portable")];
    if level == LEVELS[0] {
        tests::run(log, &program, &[], &COMMANDS.map(String::from), &settings)?;
    }
    tests::run(log, &library, &[], &[], &settings)
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
        // Ice Lake and later: the level of `fearless_simd`.
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
