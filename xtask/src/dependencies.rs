//! Licences and versions of the dependencies of the published crates.

use std::collections::BTreeSet;

use crate::step::{Log, Outcome, Step, Stop, cargo};

pub(crate) fn steps() -> Vec<Step> {
    vec![Step::new("dependencies", dependencies)]
}

/// Allowed licences of dependencies.
const ALLOWED: [&str; 11] = [
    "MIT",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "0BSD",
    "CC0-1.0",
    "ISC",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// Checks the licence of every dependency of the crates, the benchmark and the Python package. Checks that
/// the command line links one version of each. The fuzz targets and the GPU example are not distributed.
fn dependencies(log: &mut Log) -> Outcome {
    let (mut faults, mut count) = (0, 0);
    for manifest in ["Cargo.toml", crate::python::MANIFEST] {
        let args = ["--format-version", "1", "--manifest-path", manifest];
        let metadata = log.capture(&mut cargo("metadata", args))?;
        let metadata: serde_json::Value =
            serde_json::from_str(&metadata).map_err(|e| Stop::Failed(format!("cargo metadata: {e}")))?;
        let packages = metadata["packages"].as_array().map(Vec::as_slice).unwrap_or_default();
        count += packages.len();
        for package in packages {
            let licence = package["license"].as_str().unwrap_or("none");
            if !is_allowed(licence) {
                faults += 1;
                log.note(&format!("{}: the licence {licence}", package["name"].as_str().unwrap_or("?")));
            }
        }
    }
    if faults > 0 {
        return Err(Stop::Failed(format!("{faults} packages have a licence that is not allowed")));
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
    Ok(format!("{count} packages, {} in two versions", DUPLICATES.len()))
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

/// Whether the allowed licences satisfy an SPDX expression. `/` is the old form of `OR`.
fn is_allowed(expression: &str) -> bool {
    let expression = expression.replace('/', " OR ").replace(['(', ')'], " ( ");
    // Requires every part inside and between parentheses. This refuses some expressions that could be
    // satisfied.
    expression.split(" ( ").map(str::trim).filter(|part| !part.is_empty()).all(|part| {
        let part = part.trim_start_matches("AND ").trim_end_matches(" AND").trim();
        matches!(part, "AND")
            || part.split(" OR ").any(|any| any.split(" AND ").all(|one| ALLOWED.contains(&one.trim())))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_are_read() {
        for yes in ["MIT", "MIT/Apache-2.0", "GPL-3.0 OR Zlib", "(MIT OR Apache-2.0) AND Unicode-3.0"] {
            assert!(is_allowed(yes), "{yes}");
        }
        for no in ["none", "GPL-3.0", "MIT AND GPL-3.0", "(MIT OR Apache-2.0) AND MPL-2.0"] {
            assert!(!is_allowed(no), "{no}");
        }
    }
}
