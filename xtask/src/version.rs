//! The version of all packages, in every file that states it.

use crate::step::{Log, Outcome, Stop, unlocked_cargo};

/// Files with the version, and the text around it.
const PLACES: [(&str, &str); 17] = [
    ("Cargo.toml", "\nversion = \"{}\"\n"),
    ("Cargo.toml", "\", version = \"{}\""),
    ("bindings/c/CMakeLists.txt", "project(condyle VERSION {number} "),
    ("bindings/c/Cargo.toml", "\nversion = \"{}\"\n"),
    ("bindings/c/packaging/vcpkg/condyle/vcpkg.json", "\"version-semver\": \"{}\""),
    ("bindings/c/rust/Cargo.toml", "\nversion = \"{}\"\n"),
    ("bindings/python/Cargo.toml", "\nversion = \"{}\"\n"),
    ("bindings/wasm/Cargo.toml", "\nversion = \"{}\"\n"),
    ("bindings/wasm/README.md", "condyle-{}.tgz"),
    ("bindings/wasm/bindgen/Cargo.toml", "\nversion = \"{}\"\n"),
    ("bindings/wasm/draco/Cargo.toml", "\nversion = \"{}\"\n"),
    ("bindings/wasm/examples/babylon.html", "condyle-{}.tgz"),
    ("bindings/wasm/examples/playcanvas.html", "condyle-{}.tgz"),
    ("bindings/wasm/examples/three.html", "condyle-{}.tgz"),
    ("bindings/wasm/npm/package.json", "\"version\": \"{}\""),
    ("tools/condyle-cli/tests/cli/snapshots/cli__bake__obj.snap", "# Condyle {}:"),
    ("docs/guide/web.md", "condyle-{}.tgz"),
];

/// Workspaces whose lock file has packages of this version.
const WORKSPACES: [&str; 7] =
    ["", "lab/bench/peers", "bindings/c", "bindings/python", "bindings/wasm", "examples/gpu", "lab/fuzz"];

/// Version of all published crates.
pub(crate) fn current() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// Checks that all files state the same version.
pub(crate) fn check() -> Result<(), Stop> {
    for (file, pattern) in PLACES {
        let text = std::fs::read_to_string(crate::root().join(file))?;
        let wanted = filled(pattern, current());
        if !text.contains(&wanted) {
            return Err(Stop::Failed(format!("{file} lacks {:?}", wanted.trim())));
        }
    }
    Ok(())
}

/// Writes a new version to all files, and to the lock files.
pub(crate) fn set(log: &mut Log, new: &str) -> Outcome {
    let number = new.split('-').next().unwrap_or_default();
    let parts: Vec<_> = number.split('.').map(str::parse::<u32>).collect();
    if parts.len() != 3 || parts.iter().any(Result::is_err) {
        return Err(Stop::Failed(format!("{new} is not a version, such as 0.2.0 or 0.2.0-dev")));
    }
    check()?;
    for (file, pattern) in PLACES {
        let path = crate::root().join(file);
        let text = std::fs::read_to_string(&path)?;
        std::fs::write(path, text.replace(&filled(pattern, current()), &filled(pattern, new)))?;
    }
    for folder in WORKSPACES {
        let mut update = unlocked_cargo("update");
        log.run(update.args(["--workspace", "--offline"]).current_dir(crate::root().join(folder)))?;
    }
    Ok(format!("{} is now {new}", current()))
}

/// CMake takes numbers only, without the part after a hyphen.
fn filled(pattern: &str, version: &str) -> String {
    let number = version.split('-').next().unwrap_or_default();
    pattern.replace("{number}", number).replace("{}", version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cmake_has_numbers_only() {
        assert_eq!(filled("VERSION {number} ", "0.2.0-dev"), "VERSION 0.2.0 ");
        assert_eq!(filled("condyle-{}.tgz", "0.2.0-dev"), "condyle-0.2.0-dev.tgz");
    }
}
