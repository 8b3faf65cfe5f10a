//! The version of all packages and the address of the repository, in every file that has them.

use crate::public_api::PUBLISHED;
use crate::step::{Log, Outcome, Stop, unlocked_cargo};

/// Files with the version (`{version}`, without the part after a hyphen `{number}`) or the address of the
/// repository (`{repository}`), and the text around it.
const PLACES: [(&str, &str); 23] = [
    ("Cargo.toml", "\nversion = \"{version}\"\n"),
    ("Cargo.toml", "\", version = \"{version}\""),
    ("bindings/c/CMakeLists.txt", "project(condyle VERSION {number} "),
    ("bindings/c/Cargo.toml", "\nversion = \"{version}\"\n"),
    ("bindings/c/packaging/vcpkg/condyle/vcpkg.json", "\"version-semver\": \"{version}\""),
    ("bindings/c/rust/Cargo.toml", "\nversion = \"{version}\"\n"),
    ("bindings/python/Cargo.toml", "\nversion = \"{version}\"\n"),
    ("bindings/wasm/Cargo.toml", "\nversion = \"{version}\"\n"),
    ("bindings/wasm/README.md", "condyle-{version}.tgz"),
    ("bindings/wasm/bindgen/Cargo.toml", "\nversion = \"{version}\"\n"),
    ("bindings/wasm/draco/Cargo.toml", "\nversion = \"{version}\"\n"),
    ("bindings/wasm/examples/babylon.html", "condyle-{version}.tgz"),
    ("bindings/wasm/examples/playcanvas.html", "condyle-{version}.tgz"),
    ("bindings/wasm/examples/three.html", "condyle-{version}.tgz"),
    ("bindings/wasm/npm/package.json", "\"version\": \"{version}\""),
    ("tools/condyle-cli/tests/cli/snapshots/cli__bake__obj.snap", "# Condyle {version}:"),
    ("docs/guide/web.md", "condyle-{version}.tgz"),
    (".github/ISSUE_TEMPLATE/config.yml", "url: {repository}/security/"),
    ("bindings/c/packaging/conan/conanfile.py", "url = \"{repository}\""),
    ("bindings/c/packaging/vcpkg/condyle/vcpkg.json", "\"homepage\": \"{repository}\""),
    ("bindings/python/pyproject.toml", "Repository = \"{repository}\""),
    ("bindings/python/pyproject.toml", "Changelog = \"{repository}/blob/"),
    ("bindings/wasm/npm/package.json", "\"repository\": \"{repository}\""),
];

/// Text around the address in the README of each published crate.
const README: &str = "[Condyle]({repository})";

/// Workspaces whose lock file has packages of this version.
const WORKSPACES: [&str; 7] =
    ["", "lab/bench/peers", "bindings/c", "bindings/python", "bindings/wasm", "examples/gpu", "lab/fuzz"];

/// Version of all published crates.
pub(crate) fn current() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// Address of the repository: `workspace.package.repository` in Cargo.toml.
pub(crate) fn repository() -> &'static str {
    env!("CARGO_PKG_REPOSITORY")
}

/// Checks that all files have the same version and the same address of the repository.
pub(crate) fn check() -> Result<(), Stop> {
    for (file, pattern) in places()? {
        let text = std::fs::read_to_string(crate::root().join(&file))?;
        if replaced(&text, pattern, current()).as_ref() != Some(&text) {
            let (version, repository) = (current(), repository());
            return Err(Stop::Failed(format!(
                "{file} lacks `{}` of {version} and {repository}: run `cargo xtask version {version}`",
                pattern.trim()
            )));
        }
    }
    Ok(())
}

/// Writes a version, and the address of the repository in Cargo.toml, to all files and to the lock files.
pub(crate) fn set(log: &mut Log, new: &str) -> Outcome {
    let number = new.split('-').next().unwrap_or_default();
    let parts: Vec<_> = number.split('.').map(str::parse::<u32>).collect();
    if parts.len() != 3 || parts.iter().any(Result::is_err) {
        return Err(Stop::Failed(format!("{new} is not a version, such as 0.2.0 or 0.2.0-dev")));
    }
    for (file, pattern) in places()? {
        let path = crate::root().join(&file);
        let text = replaced(&std::fs::read_to_string(&path)?, pattern, new);
        std::fs::write(path, text.ok_or(Stop::Failed(format!("{file} lacks `{}`", pattern.trim())))?)?;
    }
    for folder in WORKSPACES {
        let mut update = unlocked_cargo("update");
        log.run(update.args(["--workspace", "--offline"]).current_dir(crate::root().join(folder)))?;
    }
    Ok(format!("{} is now {new}, the repository is {}", current(), repository()))
}

/// [`PLACES`] and the README of each published crate.
fn places() -> Result<Vec<(String, &'static str)>, Stop> {
    let mut all: Vec<(String, &str)> = PLACES.map(|(file, pattern)| (file.to_owned(), pattern)).to_vec();
    for krate in PUBLISHED {
        let files = ["runtime", "tools"].map(|floor| format!("{floor}/{krate}/README.md"));
        let file = files.into_iter().find(|file| crate::root().join(file).is_file());
        all.push((file.ok_or(Stop::Failed(format!("{krate} has no README.md")))?, README));
    }
    Ok(all)
}

/// Writes a value to each place of a text that has a pattern. Returns `None` if no place has it.
fn replaced(text: &str, pattern: &str, version: &str) -> Option<String> {
    let (before, rest) = pattern.split_once('{')?;
    let (name, after) = rest.split_once('}')?;
    let value = match name {
        "repository" => repository(),
        // CMake takes numbers only.
        "number" => version.split('-').next()?,
        _ => version,
    };
    let is_value = |old: &str| {
        let first = if name == "repository" {
            old.starts_with("https://")
        } else {
            old.starts_with(char::is_numeric)
        };
        first && old.chars().all(|c| c.is_alphanumeric() || ".-+/:_~".contains(c))
    };
    let mut parts = text.split(before);
    let mut out = parts.next()?.to_owned();
    let mut found = false;
    for part in parts {
        let rest = part.find(after).filter(|end| is_value(&part[..*end])).map(|end| &part[end..]);
        found |= rest.is_some();
        out += before;
        out += &rest.map_or(part.to_owned(), |rest| value.to_owned() + rest);
    }
    found.then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_replaced_between_their_texts() {
        let new = |text: &str, pattern: &str| replaced(text, pattern, "0.2.0-dev");
        assert_eq!(new("a\nVERSION 0.1.0 ", "VERSION {number} ").as_deref(), Some("a\nVERSION 0.2.0 "));
        let tgz = new("condyle-a condyle-0.1.0.tgz, condyle-9.tgz", "condyle-{version}.tgz");
        assert_eq!(tgz.as_deref(), Some("condyle-a condyle-0.2.0-dev.tgz, condyle-0.2.0-dev.tgz"));
        let url = new("url: https://a.b/c-d/security/x\nurl: none/security/", "url: {repository}/security/");
        assert_eq!(url, Some(format!("url: {}/security/x\nurl: none/security/", repository())));
        assert_eq!(new("VERSION one ", "VERSION {number} "), None);
    }

    #[test]
    fn all_places_agree() {
        assert!(check().is_ok());
    }
}
