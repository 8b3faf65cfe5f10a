//! The first two commands of the README, read from it so that they cannot diverge, and the tests that need
//! the reference characters.

use std::process::Command;

use serde_json::Value;

use crate::step::{Log, Outcome, Step, Stop, cargo};
use crate::tests;

/// Tests that need the reference characters: crate, test program, names of tests.
const CHARACTERS: [(&str, &str, &[&str]); 5] = [
    ("condyle-gltf", "references", &["shared"]),
    ("condyle-gltf", "damaged", &["shared"]),
    ("condyle-gltf", "compressed", &[]),
    ("condyle-io", "web", &["the_package_is_compared_with_these_bits"]),
    (
        "condyle-cli",
        "cli",
        &[
            "compare::what_is_written_with_its_clips_moves_the_same",
            "encode::morph_weights_and_meshes_on_joints_come_back",
            "limits::knees_and_elbows_are_hinges",
            "pack::every_kind_of_track_is_within_the_error",
            "pack::no_clip_is_larger_compressed",
        ],
    ),
];

pub(crate) fn steps() -> Vec<Step> {
    vec![
        Step::new("tests", |log: &mut Log| {
            log.run(command(1)?.env_remove(tests::MODELS))?;
            tests::counted(log)
        }),
        Step::new("references", references),
        Step::new("reuse", reuse),
        Step::new("demo", |log: &mut Log| {
            log.run(&mut command(0)?)?;
            Ok(String::new())
        }),
    ]
}

/// The command in line number `index` of the README's lines that start with `cargo `.
pub(crate) fn command(index: usize) -> Result<Command, Stop> {
    let readme = std::fs::read_to_string(crate::root().join("README.md"))?;
    let line = readme.lines().filter_map(|l| l.strip_prefix("cargo ")).nth(index);
    let line = line.ok_or(Stop::Failed("README.md lacks its two commands".into()))?;
    let (subcommand, args) = line.split_once(' ').unwrap_or((line, ""));
    Ok(cargo(subcommand, args.split_whitespace()))
}

/// Checks that the tests of each crate alone use the build of [`command`]: the sets of features are the same.
fn reuse(log: &mut Log) -> Outcome {
    tests::build(log, &[], &[])?;
    let metadata = log.capture(&mut cargo("metadata", ["--no-deps", "--format-version=1"]))?;
    let metadata: Value = serde_json::from_str(&metadata).map_err(std::io::Error::from)?;
    let members = metadata["workspace_default_members"].as_array().into_iter().flatten();
    let mut count = 0;
    for member in members.filter_map(Value::as_str) {
        let build = ["-p", member, "--no-run", "--message-format=json-render-diagnostics"];
        let messages = log.capture(&mut cargo("test", build))?;
        let messages = messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        if let Some(compiled) = messages.into_iter().find(|message| message["fresh"] == false) {
            let (package, features) = (&compiled["package_id"], &compiled["features"]);
            let why =
                format!("`cargo test -p {member}` compiles {package} again, with the features {features}");
            return Err(Stop::Failed(why));
        }
        count += 1;
    }
    Ok(format!("{count} crates"))
}

/// Runs the tests that need the reference characters, with the build of `tests`.
fn references(log: &mut Log) -> Outcome {
    let Some(models) = tests::models() else {
        return Err(Stop::Skipped(
            "CONDYLE_MODELS is not set, the folder of the reference characters".into(),
        ));
    };
    let programs = tests::build(log, &[], &[])?;
    let settings = [("CONDYLE_MODELS", models.to_str().unwrap_or_default())];
    for (krate, program, filter) in CHARACTERS {
        let programs: Vec<_> = programs.iter().filter(|it| it.is(krate, program)).collect();
        let filter: Vec<_> = filter.iter().map(|name| (*name).to_owned()).collect();
        let before = tests::sum(log, "passed");
        tests::run(log, programs, &[], &filter, &settings)?;
        // A renamed test must not drop out.
        if tests::sum(log, "passed") - before < filter.len() {
            return Err(Stop::Failed(format!("{krate} lacks a test of {}", filter.join(", "))));
        }
    }
    tests::counted(log)
}
