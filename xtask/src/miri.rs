//! Runs the library's unit tests in an interpreter that detects undefined behaviour, in the library and in
//! its dependencies.

use std::time::Duration;

use crate::step::{Log, Outcome, Step, Stop, build_dir, cargo, works};
use crate::tests;

/// Tests that take minutes in the interpreter: arithmetic over many cases and on every instruction set, and
/// code that calls no kernel. The library has no unsafe code, so only the SIMD dependency can do harm. The
/// remaining tests cover its loads, stores, arithmetic, gathers and transposes, but not its byte shuffles.
const SKIPPED: [&str; 36] = [
    "portable_bits",
    "bits_are_the_same",
    "blending::",
    "bounds::",
    "clip::",
    "container::",
    "convert::",
    "frames::",
    "hitbox::",
    "hits::",
    "interpolation::",
    "joint_map::",
    "math::decompose::",
    "math::exp_map::",
    "math::polynomials::",
    "math::quats::",
    "math::rigid::",
    "math::scalar::",
    "math::transform::",
    "mesh::",
    "mirroring::",
    "model::inverse::tests::faults_are_found",
    "model::subtree",
    "motion::",
    "play::",
    "player::",
    "reference::",
    "sampling::",
    "skeleton::",
    "skinning::bases::",
    "skinning::bitangents::",
    "skinning::chunks::",
    "skinning::dual::",
    "skinning::morph::",
    "skinning::tests::",
    "surface::",
];

/// Number of cases of property tests.
const CASES: (&str, &str) = ("PROPTEST_CASES", "4");

pub(crate) fn steps() -> Vec<Step> {
    vec![Step::new("miri", miri).apart("miri")]
}

fn miri(log: &mut Log) -> Outcome {
    if !works("cargo", &["+nightly", "miri", "--version"]) {
        return Err(Stop::Skipped("no nightly toolchain with miri".into()));
    }
    log.limit = Duration::from_secs(40 * 60);
    // Without inverse kinematics and compression, which compute only in f64.
    let packages = ["-p", "condyle", "-p", "condyle-base", "-p", "condyle-query"];
    let mut command = cargo("+nightly miri test", packages);
    command.args(["--lib", "--all-features", "--"]);
    // One test at a time, so that the log names a test that runs too long.
    command.arg("--test-threads=1").args(SKIPPED.map(|name| format!("--skip={name}")));
    // Makes the environment below visible to the tests.
    command.env("MIRIFLAGS", "-Zmiri-disable-isolation");
    log.run(command.envs([CASES, ("CARGO_TARGET_DIR", &build_dir("miri").display().to_string())]))?;
    tests::counted(log)
}
