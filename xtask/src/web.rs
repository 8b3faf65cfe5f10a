//! The npm package: its modules, its size, and its tests in node, in bundlers and in a browser.

use std::path::PathBuf;
use std::process::Command;

use crate::fuzz::tiny;
use crate::step::{Log, Outcome, Step, Stop, build_dir, cargo, need, need_target, npm, out_dir, works};

pub(crate) const TARGET: &str = "wasm32-unknown-unknown";

pub(crate) const MANIFEST: &str = "bindings/wasm/Cargo.toml";

/// Name, crate and features of each module.
const BUILDS: [(&str, &str, &str); 4] = [
    ("player", "condyle-wasm", ""),
    ("index", "condyle-wasm", "whole"),
    ("encode", "condyle-wasm", "encode"),
    ("draco", "condyle-wasm-draco", ""),
];

/// Committed sizes of the package.
const SIZES: &str = "bindings/wasm/sizes.md";

pub(crate) fn steps() -> Vec<Step> {
    vec![Step::new("web", check).apart("web").waiting()]
}

/// Folder of the binding.
fn own() -> PathBuf {
    crate::root().join("bindings/wasm")
}

/// Folder of the package.
pub(crate) fn package() -> PathBuf {
    crate::root().join("target/npm/condyle")
}

fn own_cargo(subcommand: &str) -> Command {
    let mut command = cargo(subcommand, [""; 0]);
    // Compiler flags are in the folder's configuration.
    command.current_dir(own()).env("CARGO_TARGET_DIR", build_dir("web"));
    command
}

/// Writes the package to `target/npm`, and compares its sizes.
pub(crate) fn write(log: &mut Log) -> Outcome {
    let table = build(log)?;
    compare(log, &table)?;
    Ok(format!("target/npm/{}", packed(log)?))
}

/// Writes the package, and its sizes to the page that CI compares.
pub(crate) fn update(log: &mut Log) -> Outcome {
    let table = build(log)?;
    let text = format!(
        "# Sizes of the npm package\n\nWritten by `cargo xtask npm --update`. CI fails if a file is more than 2 % \
         larger.\n\n{table}"
    );
    std::fs::write(crate::root().join(SIZES), text)?;
    Ok(format!("target/npm/{}", packed(log)?))
}

/// Builds the modules and the package. Returns a table of their sizes.
pub(crate) fn build(log: &mut Log) -> Result<String, Stop> {
    need_target(TARGET)?;
    need("node", &["--version"])?;
    log.run(npm().args(["ci", "--no-audit", "--no-fund"]).current_dir(own()))?;
    let modules = out_dir().join("npm");
    for (name, package, features) in BUILDS {
        let mut command = own_cargo("build");
        command.args(["--package", package, "--release", "--target", TARGET]);
        log.run(command.args(["--no-default-features", "--features", features]))?;
        let module = build_dir("web").join(TARGET).join("release").join(package.replace('-', "_") + ".wasm");
        let mut command = own_cargo("run");
        command.args(["--package", "condyle-bindgen", "--"]).arg(module).arg(modules.join(name));
        log.run(&mut command)?;
    }
    let mut command = Command::new("node");
    command.arg(own().join("build.mjs")).arg(modules).arg(package()).arg(env!("CARGO_PKG_VERSION"));
    log.capture(&mut command)
}

/// Makes the archive. Returns its name.
fn packed(log: &mut Log) -> Result<String, Stop> {
    let folder = package().join("..");
    let mut command = npm();
    command.args(["pack", "--silent", "--pack-destination"]).arg(&folder).arg(package());
    Ok(log.capture(&mut command)?.trim().to_owned())
}

/// Compares a table of sizes with the committed one.
fn compare(log: &mut Log, table: &str) -> Result<(), Stop> {
    log.note(table);
    fits(&std::fs::read_to_string(crate::root().join(SIZES))?, table)
}

/// Compares two tables of sizes, with a margin of 2 % for other versions of the programs.
fn fits(known: &str, found: &str) -> Result<(), Stop> {
    let rows = |text: &str| -> Vec<(String, Vec<f64>)> {
        let rows = text.lines().filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |"));
        let rows = rows.map(|line| {
            let mut cells = line.split(" | ");
            let name = cells.next().unwrap_or_default().to_owned();
            (name, cells.filter_map(|cell| cell.replace(',', "").parse().ok()).collect())
        });
        rows.filter(|(_, sizes): &(_, Vec<f64>)| !sizes.is_empty()).collect()
    };
    let (known, found) = (rows(known), rows(found));
    for (name, sizes) in &found {
        let limits = known.iter().find(|(other, _)| other == name).map(|(_, sizes)| sizes);
        let fits =
            limits.is_some_and(|limits| sizes.iter().zip(limits).all(|(size, limit)| *size <= limit * 1.02));
        if !fits {
            let text =
                format!("{name}: {sizes:?} bytes, {SIZES} has {limits:?}; run `cargo xtask npm --update`");
            return Err(Stop::Failed(text));
        }
    }
    Ok(())
}

/// Builds the package, and installs and tests it in an empty folder.
fn check(log: &mut Log) -> Outcome {
    log.run(own_cargo("fmt").args(["--all", "--", "--check"]))?;
    for (name, package, features) in BUILDS {
        // The features of `encode` include these.
        if name == "index" {
            continue;
        }
        let mut command = own_cargo("clippy");
        command.args(["--package", package, "--target", TARGET, "--no-default-features"]);
        log.run(command.args(["--features", features, "--", "-D", "warnings"]))?;
    }
    let archive = write(log)?;
    let folder = out_dir().join("web");
    if folder.exists() {
        std::fs::remove_dir_all(&folder)?;
    }
    std::fs::create_dir_all(&folder)?;
    for entry in std::fs::read_dir(own().join("tests"))? {
        let path = entry?.path();
        if path.is_file() {
            std::fs::copy(&path, folder.join(path.file_name().unwrap_or_default()))?;
        }
    }
    let run = |program: &str, arguments: &[&str]| {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(&folder).env("CONDYLE_ROOT", crate::root());
        command
    };
    log.run(&mut run("npm", &["ci", "--no-audit", "--no-fund"]))?;
    let archive = crate::root().join(&archive);
    let archive = archive.display().to_string();
    log.run(&mut run("npm", &["install", "--no-save", "--no-audit", "--no-fund", &archive]))?;
    log.run(&mut run("npx", &["tsc", "--project", "."]))?;
    log.run(&mut run("node", &["--test", "node.mjs"]))?;
    let seeds = folder.join("seeds");
    std::fs::create_dir_all(&seeds)?;
    for (name, bytes) in ["import", "bvh"].into_iter().flat_map(tiny::seeds) {
        std::fs::write(seeds.join(name), bytes)?;
    }
    log.run(&mut run("node", &["hostile.mjs", "300", "1", "seeds"]))?;
    log.run(&mut run("node", &["bundlers.mjs"]))?;
    let chromium = ["chromium", "chromium-browser", "google-chrome"];
    let Some(browser) = chromium.into_iter().find(|name| works(name, &["--version"])) else {
        return Err(Stop::Skipped(
            "no Chromium is installed; the tests in node and of bundlers passed".into(),
        ));
    };
    log.run(run("node", &["browser.mjs"]).env("CHROMIUM", browser))?;
    Ok("node, vite, esbuild, webpack and Chromium".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_may_grow_by_two_percent() {
        let table = |size: &str| format!("| file | bytes |\n|---|--:|\n| a.wasm | {size} | 10 |\n");
        assert!(fits(&table("1,000"), &table("1,020")).is_ok());
        assert!(fits(&table("1,000"), &table("1,021")).is_err());
        assert!(fits(&table("1,000"), &table("10")).is_ok());
        assert!(fits("", &table("10")).is_err());
    }
}
