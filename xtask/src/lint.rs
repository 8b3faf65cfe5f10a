//! Format, lints, documentation, and the minimum supported Rust version.

use crate::step::{Log, Outcome, Step, Stop, build_dir, cargo, works};
use crate::{c, fuzz, gpu, python};

/// Comparison with C++ libraries, which only a person builds.
const PEERS: &str = "lab/bench/peers/Cargo.toml";

pub(crate) fn steps() -> Vec<Step> {
    vec![
        Step::new("format", format),
        Step::new("clippy", clippy),
        Step::new("doc", doc),
        Step::new("msrv", msrv).apart("msrv"),
    ]
}

fn format(log: &mut Log) -> Outcome {
    log.run(&mut cargo("fmt", ["--all", "--check"]))?;
    for manifest in [fuzz::MANIFEST, gpu::MANIFEST, python::MANIFEST, c::MANIFEST, c::RUST_MANIFEST, PEERS] {
        log.run(&mut cargo("fmt", ["--manifest-path", manifest, "--check"]))?;
    }
    Ok(String::new())
}

fn clippy(log: &mut Log) -> Outcome {
    let args = ["--workspace", "--all-targets", "--all-features", "--", "-D", "warnings"];
    log.run(&mut cargo("clippy", args))?;
    Ok(String::new())
}

pub(crate) fn doc(log: &mut Log) -> Outcome {
    let args = ["--workspace", "--no-deps", "--all-features"];
    log.run(cargo("doc", args).env("RUSTDOCFLAGS", "-D warnings"))?;
    Ok(String::new())
}

/// Checks libraries and programs, without tests, with the compiler version that the manifest requires.
fn msrv(log: &mut Log) -> Outcome {
    let manifest = std::fs::read_to_string(crate::root().join("Cargo.toml"))?;
    let version = manifest.lines().find_map(|l| l.strip_prefix("rust-version = \"")?.strip_suffix('"'));
    let version = version.ok_or(Stop::Failed("no rust-version in Cargo.toml".into()))?;
    let toolchain = format!("+{version}");
    if !works("cargo", &[&toolchain, "--version"]) {
        return Err(Stop::Skipped(format!("no toolchain {version}")));
    }
    let mut check = cargo(&format!("{toolchain} check"), ["--workspace", "--all-features"]);
    log.run(check.env("CARGO_TARGET_DIR", build_dir("msrv")))?;
    Ok(format!("rustc {version}"))
}
