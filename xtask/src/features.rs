//! The libraries without their features, with each one alone, and on machines without an operating system.

use crate::step::{Log, Outcome, Step, Stop, cargo, need_target};

/// No standard library: what needs one does not compile.
const BARE: [&str; 2] = ["wasm32-unknown-unknown", "thumbv7em-none-eabi"];

/// The crates that compile without a standard library.
pub(crate) const RUNTIME: [&str; 5] =
    ["condyle", "condyle-base", "condyle-encode", "condyle-query", "condyle-solve"];

/// The crates that read files with optional features.
const READERS: [&str; 2] = ["condyle-gltf", "condyle-io"];

pub(crate) fn steps() -> Vec<Step> {
    let bare = BARE.map(|target| Step::new(format!("bare-{target}"), move |log: &mut Log| bare(log, target)));
    std::iter::once(Step::new("features", features)).chain(bare).collect()
}

fn features(log: &mut Log) -> Outcome {
    // The tests force instruction sets for their thread, which takes the feature `std`.
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

/// The features that the manifest of a library lists.
fn names(krate: &str) -> Result<Vec<String>, Stop> {
    let manifest = std::fs::read_to_string(crate::root().join(format!("crates/{krate}/Cargo.toml")))?;
    let lines = manifest.lines().skip_while(|l| *l != "[features]").skip(1);
    let table = lines.take_while(|l| !l.starts_with('['));
    let keys = table.filter(|l| !l.starts_with('#')).filter_map(|l| l.split_once(" = "));
    let names: Vec<_> = keys.map(|(name, _)| name.to_owned()).filter(|n| n != "default").collect();
    if names.is_empty() { Err(Stop::Failed("no [features] in the manifest".into())) } else { Ok(names) }
}

fn bare(log: &mut Log, target: &str) -> Outcome {
    need_target(target)?;
    // Without warnings too: what is compiled differs between platforms.
    let packages = RUNTIME.iter().flat_map(|krate| ["-p", krate]);
    let args = ["--lib", "--no-default-features", "--target", target, "--", "-D", "warnings"];
    log.run(cargo("clippy", packages).args(args))?;
    Ok(String::new())
}
