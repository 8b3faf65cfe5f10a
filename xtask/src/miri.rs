//! The library's own tests in an interpreter that sees undefined behaviour, in our code and below it.

use std::time::Duration;

use crate::step::{Log, Outcome, Step, Stop, build_dir, cargo, works};
use crate::tests;

/// What the interpreter needs minutes for: arithmetic over many cases and on every instruction set. No unsafe code is ours; of what is
/// below it the tests that remain walk through loads, stores, arithmetic, gathering and transposing, not through the shuffles of bytes.
const SLOW: [&str; 34] = [
    "portable_bits",
    "bits_are_the_same",
    "blending::",
    "bounds::",
    "clip::retime::",
    "clip::spline::",
    "clip::tests::",
    "container::",
    "convert::",
    "hitbox::",
    "hits::",
    "interpolation::",
    "math::decompose::",
    "math::exp_map::",
    "math::polynomials::",
    "math::quats::",
    "math::rigid::",
    "math::scalar::",
    "math::transform::",
    "mirroring::",
    "model::inverse::tests::faults_are_found",
    "model::subtree",
    "motion::",
    "play::events::",
    "player::",
    "reference::",
    "sampling::",
    "skinning::bases::",
    "skinning::bitangents::",
    "skinning::dual::",
    "skinning::chunks::",
    "skinning::morph::",
    "skinning::tests::",
    "surface::",
];

/// How often property tests try here.
const CASES: (&str, &str) = ("PROPTEST_CASES", "4");

pub(crate) fn steps() -> Vec<Step> {
    vec![Step::new("miri", miri).apart("miri")]
}

fn miri(log: &mut Log) -> Outcome {
    if !works("cargo", &["+nightly", "miri", "--version"]) {
        return Err(Stop::Skipped("no nightly toolchain with miri".into()));
    }
    log.limit = Duration::from_secs(15 * 60);
    // Inverse kinematics and compression are arithmetic in f64 throughout.
    let packages = ["-p", "condyle", "-p", "condyle-base", "-p", "condyle-query"];
    let mut command = cargo("+nightly miri test", packages);
    command.args(["--lib", "--all-features", "--"]);
    // One at a time, so that the log names the test that runs too long.
    command.arg("--test-threads=1").args(SLOW.map(|name| format!("--skip={name}")));
    // For the settings below to be seen.
    command.env("MIRIFLAGS", "-Zmiri-disable-isolation");
    log.run(command.envs([CASES, ("CARGO_TARGET_DIR", &build_dir("miri").display().to_string())]))?;
    tests::counted(log)
}
