//! Tools that are packages of Python, each set in an environment below `target/xtask`.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::step::{Log, Stop, out_dir, works};

/// Installs packages, with versions like `maturin==1.16.0`, into the environment `name`. Does nothing if the
/// last call installed the same packages. Skips the step without Python, or without a network.
pub(crate) fn environment(log: &mut Log, name: &str, packages: &[&str]) -> Result<PathBuf, Stop> {
    let folder = out_dir().join(name);
    let list = folder.join("condyle-packages.txt");
    let wanted = packages.join("\n");
    if std::fs::read_to_string(&list).is_ok_and(|installed| installed == wanted) {
        return Ok(folder);
    }
    if !works("python3", &["-c", "import ensurepip, venv"]) {
        return Err(Stop::Skipped("python3-venv is not installed".into()));
    }
    log.run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder))?;
    let mut pip = Command::new(program(&folder, "python"));
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]).args(packages);
    if log.run(&mut pip).is_err() {
        return Err(Stop::Skipped(format!("pip could not install {}", packages.join(" "))));
    }
    std::fs::write(list, wanted)?;
    Ok(folder)
}

/// Path of a program of an environment.
pub(crate) fn program(environment: &Path, name: &str) -> PathBuf {
    environment.join(if cfg!(windows) { "Scripts" } else { "bin" }).join(name)
}
