//! `cargo xtask words`: the wording of comments and documentation. docs/dev/words.md lists the rules.
//!
//! A baseline file has the number of known findings by file and rule. The counts can only shrink. Strings,
//! code blocks, code spans and URLs are not read.

mod baseline;
mod markdown;
mod phrases;
mod rules;
mod rust;
mod script;
mod text;

use std::collections::{BTreeMap, BTreeSet};
use std::process::{Command, ExitCode};

use baseline::Counts;
use phrases::Phrases;
use rules::{Finding, Rule, WIDTH};
use text::{Chunk, Document, Source};

use crate::step::{Log, Outcome, Step, Stop};

const BASELINE: &str = "xtask/words-baseline.txt";
const PHRASES: &str = "xtask/words.txt";

pub(crate) fn steps() -> Vec<Step> {
    vec![Step::new("words", check)]
}

/// Compares the counts with the baseline and logs the findings of every count that is above it.
pub(crate) fn check(log: &mut Log) -> Outcome {
    let found = findings(&[])?;
    let counts = count(&found);
    let text = std::fs::read_to_string(crate::root().join(BASELINE))?;
    let known = baseline::parse(&text).map_err(|e| Stop::Failed(format!("{BASELINE}: {e}")))?;
    let more = baseline::above(&counts, &known);
    for ((file, rule), count, limit) in &more {
        log.note(&format!("{file}: {} {count}, baseline {limit}", rule.name()));
        let of_rule = found[file].iter().filter(|finding| finding.rule == *rule);
        of_rule.for_each(|finding| log.note(&line(file, finding)));
    }
    if !more.is_empty() {
        let places = more.len();
        return Err(Stop::Failed(format!(
            "{places} counts are above {BASELINE}; for a renamed file, rename its lines there"
        )));
    }
    let fewer = baseline::above(&known, &counts);
    for ((file, rule), limit, count) in &fewer {
        log.note(&format!("{file}: {} {count}, baseline {limit}", rule.name()));
    }
    match fewer.len() {
        0 => Ok(format!("{} known findings", counts.values().sum::<usize>())),
        places => Err(Stop::Failed(format!(
            "{places} counts are below {BASELINE}: run `cargo xtask words --update`"
        ))),
    }
}

/// Lowers the counts of the baseline, or writes a new one if the file is missing.
pub(crate) fn update(log: &mut Log) -> Outcome {
    let path = crate::root().join(BASELINE);
    let counts = count(&findings(&[])?);
    let counts = match std::fs::read_to_string(&path) {
        Ok(text) => {
            let known = baseline::parse(&text).map_err(|e| Stop::Failed(format!("{BASELINE}: {e}")))?;
            baseline::lowered(&known, &counts)
        }
        Err(_) => counts,
    };
    std::fs::write(path, baseline::write(&counts))?;
    check(log)
}

/// Prints all findings of some files or folders, without regard to the baseline.
pub(crate) fn list(paths: &[&str]) -> ExitCode {
    report(paths, |found| {
        for (file, findings) in found {
            findings.iter().for_each(|finding| println!("{}", line(file, finding)));
        }
        let total: usize = found.values().map(Vec::len).sum();
        println!("{total} findings in {} files", found.len());
    })
}

/// Prints the number of findings by folder and rule.
pub(crate) fn summary(paths: &[&str]) -> ExitCode {
    report(paths, |found| {
        let mut rows: BTreeMap<&str, [usize; Rule::ALL.len()]> = BTreeMap::new();
        let mut all = [0; Rule::ALL.len()];
        for (file, findings) in found {
            let row = rows.entry(folder(file)).or_default();
            for finding in findings {
                row[finding.rule as usize] += 1;
                all[finding.rule as usize] += 1;
            }
        }
        let print = |name: &str, row: &[usize]| {
            let total: usize = row.iter().sum();
            let cells: String = row.iter().map(|count| format!("{count:>9}")).collect();
            println!("{name:24}{cells}{total:>9}");
        };
        let names: String = Rule::ALL.iter().map(|rule| format!("{:>9}", rule.name())).collect();
        println!("{:24}{names}{:>9}", "folder", "all");
        rows.iter().for_each(|(name, row)| print(name, row));
        print("all", &all);
    })
}

fn report(paths: &[&str], print: impl FnOnce(&Found)) -> ExitCode {
    match findings(paths) {
        Ok(found) => {
            print(&found);
            ExitCode::SUCCESS
        }
        Err(Stop::Failed(why) | Stop::Skipped(why)) => {
            eprintln!("words: {why}");
            ExitCode::FAILURE
        }
    }
}

/// First folder of a path. Each crate below `crates` counts as one.
fn folder(file: &str) -> &str {
    let depth = if file.starts_with("crates/") { 2 } else { 1 };
    match file.match_indices('/').nth(depth - 1) {
        Some((end, _)) => &file[..end],
        None => ".",
    }
}

/// Findings of each file that has any.
type Found = BTreeMap<String, Vec<Finding>>;

fn count(found: &Found) -> Counts {
    let mut counts = Counts::new();
    for (file, findings) in found {
        for finding in findings {
            *counts.entry((file.clone(), finding.rule)).or_default() += 1;
        }
    }
    counts
}

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
        for file in ["crates/condyle/src/lib.rs", "docs/format.md", "Cargo.toml", "a/b.pyi"] {
            assert!(is_checked(file), "{file}");
        }
        for file in ["testdata/README.md", "Cargo.lock", "docs/api/condyle.txt", "a/snapshots/b.rs"] {
            assert!(!is_checked(file), "{file}");
        }
    }

    #[test]
    fn each_crate_is_a_folder() {
        assert_eq!(folder("crates/condyle/src/lib.rs"), "crates/condyle");
        assert_eq!(folder("docs/format.md"), "docs");
        assert_eq!(folder("README.md"), ".");
    }
}
