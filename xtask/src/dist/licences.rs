//! Licence texts of the packages that a program links.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use crate::step::{Log, Stop, cargo};

/// One text with the name, the version, the licence and the licence files of each package that `krate` of a
/// workspace links, and of the standard library. Equal files are printed once, after the packages that they
/// belong to.
pub(super) fn of(log: &mut Log, manifest: &str, krate: &str) -> Result<String, Stop> {
    let args = [
        "--manifest-path",
        manifest,
        "-p",
        krate,
        "-e",
        "normal,no-proc-macro",
        "--prefix",
        "none",
        "--format",
        "{p}|{l}",
        "--no-dedupe",
    ];
    let mut packages: Vec<String> = log.capture(&mut cargo("tree", args))?.lines().map(Into::into).collect();
    packages.sort();
    packages.dedup();
    let folders = folders(log, manifest)?;
    // Packages by the text of their licence files.
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for package in packages.iter().filter(|package| !package.starts_with("condyle")) {
        let Some((id, licence)) = package.split_once('|') else { continue };
        let mut words = id.split(' ');
        let (name, version) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let key = format!("{name} {}", version.trim_start_matches('v'));
        let folder = folders.get(&key).ok_or(Stop::Failed(format!("cargo metadata lacks {key}")))?;
        texts.entry(files(Path::new(folder))?).or_default().push(format!("{key} ({licence})"));
    }
    let mut out = String::from(
        "This program contains the following packages, and the standard library of Rust (MIT OR Apache-2.0,\n\
         https://www.rust-lang.org/policies/licenses).\n",
    );
    let mut groups: Vec<_> = texts.into_iter().map(|(text, packages)| (packages, text)).collect();
    groups.sort();
    for (packages, text) in groups {
        let line = "-".repeat(80);
        write!(out, "\n{line}\n{}\n{line}\n\n", packages.join("\n")).ok();
        let text = if text.is_empty() { "The package has no licence file.\n" } else { &text };
        out.push_str(text);
    }
    Ok(out)
}

/// Folder of each package, by name and version.
fn folders(log: &mut Log, manifest: &str) -> Result<BTreeMap<String, String>, Stop> {
    let metadata =
        log.capture(&mut cargo("metadata", ["--format-version", "1", "--manifest-path", manifest]))?;
    let metadata: serde_json::Value =
        serde_json::from_str(&metadata).map_err(|e| Stop::Failed(format!("cargo metadata: {e}")))?;
    let packages = metadata["packages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let folder = |manifest: String| manifest.trim_end_matches("Cargo.toml").to_owned();
    Ok(packages
        .iter()
        .map(|p| (format!("{} {}", text(&p["name"]), text(&p["version"])), folder(text(&p["manifest_path"]))))
        .collect())
}

/// Contents of the licence files in a package's folder, in the order of their names.
fn files(folder: &Path) -> Result<String, Stop> {
    let is_licence = |name: &str| {
        let name = name.to_uppercase();
        ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE"]
            .iter()
            .any(|w| name.starts_with(w))
    };
    let mut names = super::names(folder)?;
    names.retain(|name| is_licence(name) && folder.join(name).is_file());
    let mut out = String::new();
    for name in names {
        let text = String::from_utf8_lossy(&std::fs::read(folder.join(&name))?).replace('\r', "");
        writeln!(out, "{}\n", text.trim_end()).ok();
    }
    Ok(out)
}
