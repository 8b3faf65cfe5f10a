//! `cargo xtask words`: the wording of comments and documentation. docs/dev/words.md lists the rules.
//!
//! Strings, code blocks, code spans and URLs are not read.

mod markdown;
mod phrases;
mod rules;
mod rust;
mod script;
mod text;

use std::collections::{BTreeMap, BTreeSet};
use std::process::{Command, ExitCode};

use phrases::Phrases;
use rules::{Finding, WIDTH};
use text::{Chunk, Document, Source};

use crate::step::{Log, Outcome, Step, Stop};

const PHRASES: &str = "xtask/words.txt";

pub(crate) fn steps() -> Vec<Step> {
    vec![Step::new("words", check)]
}

/// Checks all tracked files and logs every finding.
pub(crate) fn check(log: &mut Log) -> Outcome {
    let found = findings(&[])?;
    for (file, findings) in &found {
        findings.iter().for_each(|finding| log.note(&line(file, finding)));
    }
    match found.values().map(Vec::len).sum() {
        0 => Ok(String::new()),
        count => Err(Stop::Failed(format!("{count} findings; docs/dev/words.md lists the rules"))),
    }
}

/// Prints the findings in some files or folders, tracked or new. Fails if there are any.
pub(crate) fn list(paths: &[&str]) -> ExitCode {
    let found = match findings(paths) {
        Ok(found) => found,
        Err(Stop::Failed(why) | Stop::Skipped(why)) => {
            eprintln!("words: {why}");
            return ExitCode::FAILURE;
        }
    };
    for (file, findings) in &found {
        findings.iter().for_each(|finding| println!("{}", line(file, finding)));
    }
    let total: usize = found.values().map(Vec::len).sum();
    println!("{total} findings in {} files", found.len());
    if total == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Findings of each file that has any.
type Found = BTreeMap<String, Vec<Finding>>;

fn line(file: &str, finding: &Finding) -> String {
    let Finding { line, rule, excerpt, suggestion } = finding;
    format!("{file}:{line}: {}: {excerpt}; {suggestion}", rule.name())
}

/// Checks all tracked files, or those at some paths, tracked or new.
fn findings(paths: &[&str]) -> Result<Found, Stop> {
    let list = std::fs::read_to_string(crate::root().join(PHRASES))?;
    let phrases = Phrases::parse(&list).map_err(|e| Stop::Failed(format!("{PHRASES}: {e}")))?;
    let mut git = Command::new("git");
    git.args(["ls-files", "-z", "--cached", "--full-name"]);
    if paths.is_empty() {
        git.current_dir(crate::root());
    } else {
        git.args(["--others", "--exclude-standard", "--"]).args(paths);
    }
    let output = git.output()?;
    if !output.status.success() {
        return Err(Stop::Failed(format!("git: {}", String::from_utf8_lossy(&output.stderr).trim())));
    }
    let mut all = Found::new();
    let files = String::from_utf8_lossy(&output.stdout);
    for file in files.split('\0').filter(|file| is_checked(file)).collect::<BTreeSet<_>>() {
        let path = crate::root().join(file);
        // Git lists a deleted file until the deletion is committed.
        if !path.exists() {
            continue;
        }
        let text = std::fs::read_to_string(path).map_err(|e| Stop::Failed(format!("{file}: {e}")))?;
        let findings = rules::check(&read(file, &text), &phrases);
        if !findings.is_empty() {
            all.insert(file.to_owned(), findings);
        }
    }
    Ok(all)
}

/// Whether a file has comments or text of ours.
fn is_checked(file: &str) -> bool {
    let extensions = [".rs", ".md", ".py", ".pyi", ".toml"];
    let data = ["testdata", "snapshots", "corpus"];
    extensions.iter().any(|end| file.ends_with(end)) && !file.split('/').any(|part| data.contains(&part))
}

/// Reads a file as its name requires.
fn read(file: &str, text: &str) -> Document {
    let chunks = match file.rsplit('.').next() {
        Some("rs") => rust::chunks(text),
        Some("md") => {
            let lines = text.lines().enumerate().map(|(at, line)| (at + 1, line.to_owned())).collect();
            vec![Chunk { source: Source::Page, lines }]
        }
        other => script::chunks(text, other != Some("toml")),
    };
    let has_width = file.ends_with(".rs") || file.ends_with(".py") || file.ends_with(".pyi");
    let lines: Vec<&str> = text.lines().collect();
    let mut document = Document::default();
    for chunk in chunks {
        let (blocks, exempt) = markdown::blocks(&chunk);
        document.blocks.extend(blocks);
        let checked = chunk.lines.iter().filter(|(number, _)| has_width && !exempt.contains(number));
        for (number, text) in checked {
            let width = lines.get(number - 1).map_or(0, |line| line.trim_end().chars().count());
            if width > WIDTH {
                document.wide.push((*number, width, text.clone()));
            }
        }
    }
    document
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_is_not_checked() {
        for file in ["runtime/condyle/src/lib.rs", "docs/format.md", "Cargo.toml", "a/b.pyi"] {
            assert!(is_checked(file), "{file}");
        }
        for file in ["testdata/README.md", "Cargo.lock", "docs/api/condyle.txt", "a/snapshots/b.rs"] {
            assert!(!is_checked(file), "{file}");
        }
    }
}
