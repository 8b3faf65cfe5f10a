//! Workflows and issue forms of GitHub, checked against their schemas. They only call steps, because they
//! cannot run here.

use std::process::Command;

use crate::pip;
use crate::step::{Log, Outcome, Step, Stop};

pub(crate) fn steps() -> Vec<Step> {
    vec![Step::new("workflows", workflows).apart("workflows")]
}

const CHECKER: &str = "check-jsonschema==0.39.0";

/// Names of schemas that the checker contains, and the files that follow them.
const FILES: [(&str, &[&str]); 3] = [
    ("vendor.github-workflows", &["workflows/ci.yml", "workflows/release.yml"]),
    ("vendor.github-issue-forms", &["ISSUE_TEMPLATE/bug.yml", "ISSUE_TEMPLATE/wish.yml"]),
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

/// Checks that the workflows call commands that exist.
fn called(log: &mut Log) -> Outcome {
    let mut count = 0;
    for file in FILES[0].1 {
        let text = std::fs::read_to_string(crate::root().join(".github").join(file))?;
        for line in text.lines().filter_map(|line| line.split_once("cargo xtask ")) {
            let command = line.1.split(" > ").next().unwrap_or_default();
            log.note(&format!("{file}: cargo xtask {command}"));
            if !crate::is_command(command) {
                return Err(Stop::Failed(format!(
                    "{file} calls `cargo xtask {command}`, which does not exist"
                )));
            }
            count += 1;
        }
    }
    Ok(format!("{count} calls of steps"))
}
