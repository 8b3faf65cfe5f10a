//! Checks the libraries without features, with each feature alone, and for targets without an operating
//! system.

use crate::step::{Log, Outcome, Step, Stop, cargo, need_target};

/// Targets without a standard library. Code that needs one does not compile there.
const BARE: [&str; 2] = ["wasm32-unknown-unknown", "thumbv7em-none-eabi"];

/// Crates that compile without a standard library.
pub(crate) const RUNTIME: [&str; 5] =
    ["condyle", "condyle-base", "condyle-encode", "condyle-query", "condyle-solve"];

/// Crates that read files with optional features.
const READERS: [&str; 2] = ["condyle-gltf", "condyle-io"];

pub(crate) fn steps() -> Vec<Step> {
    let bare = BARE.map(|target| Step::new(format!("bare-{target}"), move |log: &mut Log| bare(log, target)));
    std::iter::once(Step::new("features", features)).chain(bare).collect()
}

fn features(log: &mut Log) -> Outcome {
    // Only the libraries, because tests force instruction sets per thread, which requires the feature `std`.
    let deny = ["--", "-D", "warnings"];
    let mut told = Vec::new();
    for krate in RUNTIME.into_iter().chain(READERS) {
        let check = ["-p", krate, "--lib", "--no-default-features"];
        log.run(cargo("clippy", check).args(deny))?;
        let names = names(krate)?;
        for name in &names {
            log.run(cargo("clippy", check).args(["--features", name]).args(deny))?;
        }
        told.push(format!("{krate}: none and each of {}", names.join(", ")));
    }
    Ok(told.join("; "))
}

/// Features in the manifest of a library.
fn names(krate: &str) -> Result<Vec<String>, Stop> {
    let floor = if RUNTIME.contains(&krate) { "runtime" } else { "tools" };
    let manifest = std::fs::read_to_string(crate::root().join(format!("{floor}/{krate}/Cargo.toml")))?;
    let lines = manifest.lines().skip_while(|l| *l != "[features]").skip(1);
    let table = lines.take_while(|l| !l.starts_with('['));
    let keys = table.filter(|l| !l.starts_with('#')).filter_map(|l| l.split_once(" = "));
    let names: Vec<_> = keys.map(|(name, _)| name.to_owned()).filter(|n| n != "default").collect();
    if names.is_empty() { Err(Stop::Failed("no [features] in the manifest".into())) } else { Ok(names) }
}

fn bare(log: &mut Log, target: &str) -> Outcome {
    need_target(target)?;
    // Warnings are errors here too, because the compiled code differs between platforms.
    let packages = RUNTIME.iter().flat_map(|krate| ["-p", krate]);
    let args = ["--lib", "--no-default-features", "--target", target, "--", "-D", "warnings"];
    log.run(cargo("clippy", packages).args(args))?;
    Ok(String::new())
}
