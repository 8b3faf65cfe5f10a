//! Number of known findings per file and rule, `xtask/words-baseline.txt`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::rules::Rule;

/// Findings by file and rule.
pub(crate) type Counts = BTreeMap<(String, Rule), usize>;

/// Reads lines of `FILE RULE COUNT`.
///
/// # Errors
///
/// The first line of another form.
pub(crate) fn parse(text: &str) -> Result<Counts, String> {
    let entry = |line: &str| {
        let (rest, count) = line.rsplit_once(' ')?;
        let (file, rule) = rest.rsplit_once(' ')?;
        Some(((file.to_owned(), Rule::from_name(rule)?), count.parse().ok()?))
    };
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(|line| entry(line).ok_or(format!("not `FILE RULE COUNT`: {line}"))).collect()
}

pub(crate) fn write(counts: &Counts) -> String {
    let mut text = String::from(
        "# Known findings of `cargo xtask words`. `cargo xtask words --update` lowers the counts.\n",
    );
    for ((file, rule), count) in counts.iter().filter(|(_, count)| **count > 0) {
        writeln!(text, "{file} {} {count}", rule.name()).ok();
    }
    text
}

/// Entries of `a` whose count is larger than that of `b`, with the two counts.
pub(crate) fn above<'a>(a: &'a Counts, b: &Counts) -> Vec<(&'a (String, Rule), usize, usize)> {
    let pairs = a.iter().map(|(key, count)| (key, *count, b.get(key).copied().unwrap_or(0)));
    pairs.filter(|(_, count, other)| count > other).collect()
}

/// The smaller count of each entry.
pub(crate) fn lowered(known: &Counts, found: &Counts) -> Counts {
    let smaller =
        |(key, count): (&(String, Rule), &usize)| (key.clone(), *count.min(found.get(key).unwrap_or(&0)));
    known.iter().map(smaller).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_only_shrink() {
        let counts = |entries: &[(&str, Rule, usize)]| -> Counts {
            entries.iter().map(|(file, rule, count)| (((*file).to_owned(), *rule), *count)).collect()
        };
        let known = counts(&[("a b.rs", Rule::Width, 3), ("c.md", Rule::Cell, 2), ("d.md", Rule::Cell, 1)]);
        let found = counts(&[("a b.rs", Rule::Width, 1), ("c.md", Rule::Cell, 4), ("e.md", Rule::Phrase, 1)]);
        assert_eq!(parse(&write(&known)), Ok(known.clone()));
        let raised: Vec<usize> = above(&found, &known).into_iter().map(|(_, count, _)| count).collect();
        assert_eq!(raised, [4, 1]);
        assert_eq!(above(&known, &found).len(), 2);
        let text = write(&lowered(&known, &found));
        assert!(text.ends_with("\na b.rs width 1\nc.md cell 2\n"), "{text}");
        assert!(parse("c.md unknown 1").is_err());
    }
}
