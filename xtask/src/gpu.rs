//! Skinning on the GPU with a software adapter.

use std::path::Path;

use crate::step::{Log, ONE_KERNEL, Outcome, Step, Stop, cargo};

/// A separate workspace, because it needs wgpu.
pub(crate) const MANIFEST: &str = "examples/gpu/Cargo.toml";

pub(crate) fn steps() -> Vec<Step> {
    vec![Step::new("gpu", gpu).apart("gpu")]
}

fn gpu(log: &mut Log) -> Outcome {
    if !has_software_adapter() {
        return Err(Stop::Skipped("mesa-vulkan-drivers is not installed".into()));
    }
    for (subcommand, args) in [
        ("clippy", &["--all-targets", "--", "-D", "warnings"][..]),
        ("test", &[]),
        ("run", &["--", "--adapter", "software"]),
    ] {
        let mut command = cargo(subcommand, ["--manifest-path", MANIFEST]);
        log.run(command.args(args).env("RUSTFLAGS", ONE_KERNEL))?;
    }
    let text = log.text();
    let adapter = text.lines().rev().find_map(|line| line.strip_prefix("adapter: "));
    Ok(adapter.unwrap_or_default().into())
}

/// Whether the Vulkan loader would find a software adapter in the usual driver folders on Linux.
fn has_software_adapter() -> bool {
    let folders = ["/usr/share/vulkan/icd.d", "/usr/local/share/vulkan/icd.d", "/etc/vulkan/icd.d"];
    let mut files = folders.iter().filter_map(|folder| Path::new(folder).read_dir().ok()).flatten().flatten();
    files.any(|file| file.file_name().to_string_lossy().starts_with("lvp_icd."))
}
