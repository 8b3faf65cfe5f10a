//! The tests on other processors: aarch64 in an emulator, WebAssembly in node.

use crate::step::{Log, Outcome, Step, need, need_target};
use crate::tests;

const ARM: &str = "aarch64-unknown-linux-gnu";
const WASM: &str = "wasm32-wasip1";

pub(crate) fn steps() -> Vec<Step> {
    vec![
        Step::new("aarch64", aarch64),
        Step::new("wasm-scalar", |log: &mut Log| wasm(log, "", "scalar")),
        Step::new("wasm-simd128", |log: &mut Log| wasm(log, "-Ctarget-feature=+simd128", "simd128")),
    ]
}

const PACKAGES: [&str; 5] = ["-p", "condyle", "-p", "condyle-gltf", "--all-features"];

fn aarch64(log: &mut Log) -> Outcome {
    need_target(ARM)?;
    need("aarch64-linux-gnu-gcc", &["--version"])?;
    need("qemu-aarch64", &["--version"])?;
    let args = [&PACKAGES[..], &["--target", ARM]].concat();
    let linker = ("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", "aarch64-linux-gnu-gcc".to_owned());
    let programs = tests::build(log, &args, &[linker])?;
    let runner = ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"].map(Into::into);
    let filter = tests::NOT_EMULATED.map(|name| format!("--skip={name}"));
    tests::run(log, &programs, &runner, &filter, &[("CONDYLE_ISA", "neon"), tests::FEW_CASES])
}

fn wasm(log: &mut Log, flags: &str, isa: &str) -> Outcome {
    need_target(WASM)?;
    need("node", &["--version"])?;
    let args = [&PACKAGES[..], &["--target", WASM]].concat();
    let programs = tests::build(log, &args, &[("CARGO_TARGET_WASM32_WASIP1_RUSTFLAGS", flags.to_owned())])?;
    let script = crate::root().join("xtask/wasi-runner.mjs");
    let runner = ["node".into(), "--no-warnings".into(), script.into()];
    tests::run(log, &programs, &runner, &[], &[("CONDYLE_ISA", isa), tests::FEW_CASES])
}
