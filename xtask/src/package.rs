//! Packages of the published crates, and a program that is built from the packages alone.

use std::path::Path;
use std::process::Command;

use crate::public_api::PUBLISHED;
use crate::step::{Log, ONE_KERNEL, Outcome, Step, Stop, build_dir, cargo, out_dir, unlocked_cargo};
use crate::version;

pub(crate) fn steps() -> Vec<Step> {
    vec![Step::new("package", package).apart("package")]
}

/// Files that each package has.
const REQUIRED: [&str; 4] = ["Cargo.toml", "LICENSE-APACHE", "LICENSE-MIT", "README.md"];

/// Packs the published crates in publishing order, which checks manifests and versions. Then runs the command
/// line and the README's Rust program, both built from the packages.
fn package(log: &mut Log) -> Outcome {
    version::check()?;
    let packages = PUBLISHED.iter().flat_map(|krate| ["-p", krate]);
    let mut command = cargo("package", packages);
    // The unit tests of `condyle` and `condyle-base` do not compile from a package, because they include
    // files of `condyle-testing`. The libraries are compiled below.
    command.args(["--no-verify", "--allow-dirty"]);
    command.env("CARGO_TARGET_DIR", build_dir("package"));
    log.run(&mut command)?;
    let folder = out_dir().join("packages");
    unpack(log, &folder)?;
    write_programs(&folder)?;
    let mut build = unlocked_cargo("build");
    build.args(["--workspace"]).current_dir(&folder);
    build.env("RUSTFLAGS", ONE_KERNEL).env("CARGO_TARGET_DIR", build_dir("packages"));
    log.run(&mut build)?;
    let programs = build_dir("packages").join("debug");
    // The character that `condyle demo` writes, which takes minutes without optimisation.
    let character = folder.join("condyle-demo/character.glb");
    std::fs::create_dir_all(folder.join("condyle-demo"))?;
    std::fs::copy(crate::root().join("web/characters/person.glb"), &character)?;
    log.run(Command::new(programs.join("condyle")).args(["check", "--motion"]).arg(&character))?;
    log.run(Command::new(programs.join(PROGRAM)).current_dir(&folder))?;
    Ok(format!("{} crates, the README's program built from them", PUBLISHED.len()))
}

/// Name of the README's program.
const PROGRAM: &str = "readme-program";

/// Unpacks each package to `folder/CRATE`, and checks that it has the [`REQUIRED`] files.
fn unpack(log: &mut Log, folder: &Path) -> Result<(), Stop> {
    if folder.exists() {
        std::fs::remove_dir_all(folder)?;
    }
    for krate in PUBLISHED {
        let into = folder.join(krate);
        std::fs::create_dir_all(&into)?;
        let archive = build_dir("package/package").join(format!("{krate}-{}.crate", version::current()));
        let mut tar = Command::new("tar");
        log.run(tar.arg("-xzf").arg(archive).arg("--strip-components=1").arg("-C").arg(&into))?;
        if let Some(missing) = REQUIRED.iter().find(|file| !into.join(file).is_file()) {
            return Err(Stop::Failed(format!("the package {krate} has no {missing}")));
        }
    }
    Ok(())
}

/// Writes a workspace of the command line and of the README's Rust program. Their dependencies are on
/// crates.io; a patch replaces those of this project with the unpacked packages.
fn write_programs(folder: &Path) -> Result<(), Stop> {
    let libraries = PUBLISHED.iter().filter(|krate| **krate != "condyle-cli");
    let patches: String = libraries.map(|krate| format!("{krate} = {{ path = \"{krate}\" }}\n")).collect();
    let workspace = format!(
        "[workspace]\nresolver = \"3\"\nmembers = [\"condyle-cli\", \"{PROGRAM}\"]\n\n[patch.crates-io]\n{patches}"
    );
    std::fs::write(folder.join("Cargo.toml"), workspace)?;
    // The tested versions of all other crates.
    std::fs::copy(crate::root().join("Cargo.lock"), folder.join("Cargo.lock"))?;
    let readme = std::fs::read_to_string(crate::root().join("README.md"))?;
    let code = readme.split_once("```rust,no_run\n").and_then(|(_, rest)| rest.split_once("```"));
    let (code, _) = code.ok_or(Stop::Failed("README.md lacks its Rust program".into()))?;
    let source = folder.join(PROGRAM).join("src");
    std::fs::create_dir_all(&source)?;
    std::fs::write(source.join("main.rs"), code)?;
    let manifest = format!(
        "[package]\nname = \"{PROGRAM}\"\nedition = \"2024\"\n\n[dependencies]\ncondyle-gltf = \"{}\"\n",
        version::current()
    );
    Ok(std::fs::write(folder.join(PROGRAM).join("Cargo.toml"), manifest)?)
}
