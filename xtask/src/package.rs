//! What is published: that it can be packed, and under which licences its dependencies stand.

use crate::public_api::PUBLISHED;
use crate::step::{Log, Outcome, Step, Stop, cargo};

pub(crate) fn steps() -> Vec<Step> {
    vec![Step::new("package", package).apart("package"), Step::new("licences", licences)]
}

/// Every crate as it would be uploaded, in the order in which they would be: manifests, files, and versions of each other.
fn package(log: &mut Log) -> Outcome {
    let packages = PUBLISHED.iter().flat_map(|krate| ["-p", krate]);
    let mut command = cargo("package", packages);
    // What is compiled is what the tests compile, but for the tests themselves: those of `condyle` and `condyle-base` include files
    // of `condyle-testing`, which are not packed. In a checkout that is being worked on as well.
    command.args(["--no-verify", "--allow-dirty"]);
    command.env("CARGO_TARGET_DIR", crate::step::build_dir("package"));
    log.run(&mut command)?;
    Ok(format!("{} crates", PUBLISHED.len()))
}

/// What may be built upon without asking.
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

/// Every dependency of the crates, the benchmark and the Python package has a licence that is allowed. What only fuzzing and the
/// example on a GPU take is handed to nobody.
fn licences(log: &mut Log) -> Outcome {
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
    match faults {
        0 => Ok(format!("{count} packages")),
        count => {
            Err(Stop::Failed(format!("{count} packages have another licence than those that are allowed")))
        }
    }
}

/// Whether an expression of SPDX names can be met. `/` is what `OR` was.
fn is_allowed(expression: &str) -> bool {
    let expression = expression.replace('/', " OR ").replace(['(', ')'], " ( ");
    // Strict: where there are parentheses, what is in and between them has to be met each, so that some that could be met are not.
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
