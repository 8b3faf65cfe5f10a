//! Runs the tests on other processors: aarch64 in an emulator, WebAssembly in node. Other targets are only
//! compiled.

use crate::step::{Log, Outcome, Step, build_dir, cargo, need, need_target};
use crate::tests;

const ARM: &str = "aarch64-unknown-linux-gnu";
const WASM: &str = "wasm32-wasip1";

pub(crate) fn steps() -> Vec<Step> {
    vec![
        Step::new("aarch64", aarch64).apart("aarch64"),
        // Without long tests, because emulated lanes are 100x slower, and without test files, because they
        // take minutes to compile.
        Step::new("wasm-scalar", |log: &mut Log| wasm(log, &SCALAR, "", "scalar", &tests::without_long()))
            .apart("wasm"),
        Step::new("wasm-simd128", |log: &mut Log| {
            wasm(log, &KERNELS, "-Ctarget-feature=+simd128", "simd128", &[])
        })
        .apart("wasm"),
        Step::new("check-windows", |log: &mut Log| check(log, "x86_64-pc-windows-gnu")).apart("check"),
        Step::new("check-macos", |log: &mut Log| check(log, "aarch64-apple-darwin")).apart("check"),
    ]
}

/// Crates with vector kernels. The others use f64 and integers, and this processor tests them. The feature
/// `scalar` is off, because compilers emulate vector instructions for minutes; `wasm-scalar` runs the
/// same code.
const KERNELS: [&str; 10] = [
    "-p",
    "condyle",
    "-p",
    "condyle-base",
    "-p",
    "condyle-query",
    "-p",
    "condyle-solve",
    "--features",
    "condyle/bytemuck,condyle/mint,condyle-query/bytemuck",
];

/// Unit tests of scalar kernels, and the test that they run.
const SCALAR: [&str; 9] =
    ["-p", "condyle", "-p", "condyle-base", "-p", "condyle-query", "--lib", "--test", "environment"];

fn aarch64(log: &mut Log) -> Outcome {
    need_target(ARM)?;
    need("aarch64-linux-gnu-gcc", &["--version"])?;
    need("qemu-aarch64", &["--version"])?;
    let args = [&KERNELS[..], &["--target", ARM]].concat();
    let linker = ("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", "aarch64-linux-gnu-gcc".to_owned());
    let programs = tests::build(log, &args, &[linker, tests::folder("aarch64")])?;
    let programs = tests::per_processor(programs);
    let runner = ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"].map(Into::into);
    tests::run(log, &programs, &runner, &tests::without_long(), &[("CONDYLE_ISA", "neon"), tests::FEW_CASES])
}

fn wasm(log: &mut Log, packages: &[&str], flags: &str, isa: &str, filter: &[String]) -> Outcome {
    need_target(WASM)?;
    need("node", &["--version"])?;
    let args = [packages, &["--target", WASM]].concat();
    let flags = ("CARGO_TARGET_WASM32_WASIP1_RUSTFLAGS", flags.to_owned());
    let programs = tests::per_processor(tests::build(log, &args, &[flags, tests::folder("wasm")])?);
    let script = crate::root().join("xtask/wasi-runner.mjs");
    let runner = ["node".into(), "--no-warnings".into(), script.into()];
    tests::run(log, &programs, &runner, filter, &[("CONDYLE_ISA", isa), tests::FEW_CASES])
}

/// Checks that the command line compiles for another system. Nothing is linked or run.
fn check(log: &mut Log, target: &str) -> Outcome {
    need_target(target)?;
    // FBX needs a C compiler for the target, which this machine usually lacks.
    let mut command = cargo("check", ["-p", "condyle-cli", "--no-default-features", "--target", target]);
    log.run(command.env("CARGO_TARGET_DIR", build_dir("check")))?;
    Ok(String::new())
}
