//! Workflows and issue forms of GitHub, checked against their schemas. They only call steps, because they
//! cannot run here.

use std::process::Command;

use crate::plan::{self, Options};
use crate::step::{Log, Outcome, Step, Stop};
use crate::{ci, pip};

pub(crate) fn steps() -> Vec<Step> {
    vec![Step::new("workflows", workflows).apart("workflows")]
}

const CHECKER: &str = "check-jsonschema==0.39.0";

/// Names of schemas that the checker contains, and the files that follow them.
const FILES: [(&str, &[&str]); 3] = [
    ("vendor.github-workflows", &["workflows/ci.yml", "workflows/release.yml"]),
    ("vendor.github-issue-forms", &["ISSUE_TEMPLATE/bug.yml", "ISSUE_TEMPLATE/feature_request.yml"]),
    ("vendor.github-issue-config", &["ISSUE_TEMPLATE/config.yml"]),
];

fn workflows(log: &mut Log) -> Outcome {
    let environment = pip::environment(log, "workflows", &[CHECKER])?;
    for (schema, files) in FILES {
        let mut check = Command::new(pip::program(&environment, "check-jsonschema"));
        check.args(["--builtin-schema", schema]).args(files).current_dir(crate::root().join(".github"));
        log.run(&mut check)?;
    }
    called(log)
}

/// Commands of the workflows that run steps. `.ci/run` passes its arguments to `cargo xtask ci`.
const CALLS: [(&str, &str); 2] = [("cargo xtask ", ""), (".ci/run", "ci")];

/// Argument of the job that runs each group.
const MATRIX: &str = "${{ matrix.group }}";

/// Checks that the workflows call commands, steps and groups that exist, and run each group.
fn called(log: &mut Log) -> Outcome {
    let mut count = 0;
    for file in FILES[0].1 {
        let text = std::fs::read_to_string(crate::root().join(".github").join(file))?;
        for command in commands(&text) {
            log.note(&format!("{file}: cargo xtask {command}"));
            if !is_known(&command) {
                return Err(Stop::Failed(format!(
                    "{file} calls `cargo xtask {command}`, which does not exist"
                )));
            }
            count += 1;
        }
        let groups = plan::groups().join(", ");
        if text.contains(MATRIX) && !text.contains(&format!("\n        group: [{groups}]\n")) {
            return Err(Stop::Failed(format!("{file} must have the groups [{groups}]")));
        }
    }
    Ok(format!("{count} calls of steps"))
}

/// Arguments of `cargo xtask` that a workflow runs.
fn commands(text: &str) -> Vec<String> {
    let runs = text.lines().filter_map(|line| line.split_once("run: "));
    let calls = runs.filter_map(|(_, run)| {
        let (begin, name) = CALLS.iter().find(|(begin, _)| run.starts_with(begin))?;
        let args = run[begin.len()..].split(" > ").next().unwrap_or_default();
        Some(format!("{name}{args}"))
    });
    calls.collect()
}

/// Whether a command exists, and if it runs steps, whether these exist.
fn is_known(command: &str) -> bool {
    let words = command.replace(MATRIX, plan::groups()[0]);
    let words: Vec<&str> = words.split(' ').collect();
    match words[..] {
        ["ci", ref args @ ..] => {
            Options::parse(args).is_some_and(|options| ci::steps().iter().any(|step| options.has(&step.name)))
        }
        _ => crate::is_command(command),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_and_groups_must_exist() {
        let text = "steps:\n  - run: cargo xtask release-notes > a.md\n  - run: .ci/run --group lab\n  - run: .ci/run\n";
        assert_eq!(commands(text), ["release-notes", "ci --group lab", "ci"]);
        for right in
            ["ci", "ci --group ${{ matrix.group }}", "ci --only tests", "dist --twice", "release-notes"]
        {
            assert!(is_known(right), "{right}");
        }
        for wrong in ["ci --group none", "ci --only none", "ci --rare", "dist --once", "none"] {
            assert!(!is_known(wrong), "{wrong}");
        }
    }
}
