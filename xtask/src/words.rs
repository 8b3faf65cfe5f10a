//! `cargo xtask words`: wording of comments, documentation and messages. docs/dev/words.md lists the rules.

use std::process::Command;

use pulldown_cmark::{BrokenLink, Event, Options, Parser, Tag, TagEnd};

use crate::step::{Log, Outcome, Step, Stop};

/// Width of a comment line, as in rustfmt.toml.
const WIDTH: usize = 110;
/// Words of a sentence, a table cell, a heading.
const LIMITS: [usize; 3] = [35, 20, 9];
/// Placeholder for code, and for a value in a message. It counts as one word.
const CODE: &str = "`code`";
/// Line of the list after which phrases are not active yet.
const LATER: &str = "# Later";
/// Folders whose messages are not read yet.
const UNREAD: &str = "tools/condyle-cli/";

pub(crate) fn steps() -> Vec<Step> {
    vec![Step::new("words", |log: &mut Log| check(log, &[]))]
}

/// Logs every finding in all files that git does not ignore, or in those at some paths.
pub(crate) fn check(log: &mut Log, paths: &[&str]) -> Outcome {
    let list = std::fs::read_to_string(crate::root().join("xtask/words.txt"))?;
    let phrases = parse(&list).map_err(|line| Stop::Failed(format!("xtask/words.txt: `{line}`")))?;
    let mut git = Command::new("git");
    git.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard", "--error-unmatch", "--"]);
    git.args(if paths.is_empty() { &["."] } else { paths }).current_dir(crate::root());
    let mut count = 0;
    for file in log.capture(&mut git)?.split('\0') {
        let is_data = file.split('/').any(|part| ["testdata", "snapshots", "corpus"].contains(&part));
        let is_text = [".rs", ".md", ".py", ".pyi", ".toml"].iter().any(|end| file.ends_with(end));
        // Git lists a deleted file until the deletion is committed.
        let Ok(text) = std::fs::read_to_string(crate::root().join(file)) else { continue };
        if is_text && !is_data {
            let found = findings(file, &text, &phrases);
            count += found.len();
            found.iter().for_each(|(line, finding)| log.note(&format!("{file}:{line}: {finding}")));
        }
    }
    if count == 0 { Ok(String::new()) } else { Err(Stop::Failed(format!("{count} findings"))) }
}

/// Line of the list: kind of text that it opens, if any; choices of each word, none for any word; suggestion.
type Phrase<'a> = (&'a str, Vec<Vec<&'a str>>, &'a str);

/// Reads the list of phrases. The error is a wrong line.
fn parse(list: &str) -> Result<Vec<Phrase<'_>>, &str> {
    let lines = list.lines().take_while(|line| *line != LATER);
    let phrase = |line| {
        let (pattern, suggestion) = str::split_once(line, " => ").ok_or(line)?;
        let words = pattern.trim_start_matches(['^', '/']);
        let choices = |word| if word == "*" { Vec::new() } else { str::split(word, '|').collect() };
        Ok((&pattern[..pattern.len() - words.len()], words.split(' ').map(choices).collect(), suggestion))
    };
    lines.filter(|line| !line.is_empty() && !line.starts_with('#')).map(phrase).collect()
}

/// Page (`^`), comment (`^//`), doc comment (`^///`) or message (``): kind, number of the first line, text.
type Chunk = (&'static str, usize, String);

fn chunks(file: &str, text: &str) -> Vec<Chunk> {
    if file.ends_with(".md") {
        return vec![("^", 1, text.to_owned())];
    }
    let is_rust = file.ends_with(".rs");
    let has_messages =
        is_rust && file.contains("src/") && !file.contains("tests") && !file.starts_with(UNREAD);
    let messages_end = text.find("#[cfg(test)]\nmod tests {").unwrap_or(text.len());
    let (mut all, mut line, mut at): (Vec<Chunk>, _, _) = (Vec::new(), 1, 0);
    // Offset after the last comment.
    let mut last = text.len();
    while let Some(first) = text[at..].chars().next() {
        let (rest, before) = (&text[at..], text[..at].rsplit('\n').next().unwrap_or_default());
        let mut end = at + first.len_utf8();
        if rest.starts_with(if is_rust { "//" } else { "#" }) {
            end = at + rest.find('\n').unwrap_or(rest.len());
            let is_doc = is_rust && (rest.starts_with("///") || rest.starts_with("//!"));
            let body = text[at..end].trim_start_matches(['/', '#', '!']);
            let (kind, body) = (if is_doc { "^///" } else { "^//" }, body.strip_prefix(' ').unwrap_or(body));
            let follows = text.get(last..at).is_some_and(|between| between.trim_end_matches(' ') == "\n");
            match all.last_mut().filter(|chunk| follows && chunk.0 == kind) {
                Some((_, _, lines)) => *lines += &format!("\n{body}"),
                None => all.push((kind, line, body.to_owned())),
            }
            last = end;
        } else if let Some((inside, length)) = literal(rest, before, is_rust) {
            end = at + length;
            if rest.starts_with("\"\"\"") && before.trim().is_empty() {
                all.push(("^///", line, inside.replace(&format!("\n{before}"), "\n")));
            } else if has_messages && at < messages_end && inside.contains(' ') {
                let parts = inside.split('{').map(|part| part.split_once('}').map_or(part, |(_, text)| text));
                let plain = parts.collect::<Vec<_>>().join(CODE);
                all.push(("", line, plain.replace("\\\n", "\n").replace("\\n", "; ")));
            }
        }
        line += text[at..end].matches('\n').count();
        at = end;
    }
    all
}

/// Inside and length of the string literal that starts a text, after the part of its line before it.
fn literal<'a>(rest: &'a str, before: &str, is_rust: bool) -> Option<(&'a str, usize)> {
    let prefix = before.trim_end_matches('#');
    let is_raw = is_rust && prefix.ends_with('r');
    let close = match rest.as_bytes() {
        [b'"', b'"', b'"', ..] | [b'\'', b'\'', b'\'', ..] if !is_rust => rest[..3].to_owned(),
        // A lifetime has no closing quote.
        [b'\'', ..] if is_rust && !rest.starts_with("'\\") && rest.chars().nth(2) != Some('\'') => {
            return None;
        }
        [b'"', ..] if is_raw => "\"".to_owned() + &before[prefix.len()..],
        [b'"' | b'\'', ..] => rest[..1].to_owned(),
        _ => return None,
    };
    let open = if is_raw { 1 } else { close.len() };
    let mut end = open;
    while end < rest.len() && !rest.as_bytes()[end..].starts_with(close.as_bytes()) {
        end += if rest.as_bytes()[end] == b'\\' && !is_raw { 2 } else { 1 };
    }
    Some((rest.get(open..end).unwrap_or_default(), (end + close.len()).min(rest.len())))
}

/// Paragraph, heading or table cell: number of its first line, its index in [`LIMITS`], its text.
type Block = (usize, usize, String);

fn blocks(first: usize, text: &str) -> Vec<Block> {
    let (mut all, mut in_code): (Vec<Block>, _) = (Vec::new(), false);
    // Links such as [`Pose`], which rustdoc resolves.
    let mut unresolved = |_: BrokenLink<'_>| Some(("".into(), "".into()));
    let parser = Parser::new_with_broken_link_callback(text, Options::ENABLE_TABLES, Some(&mut unresolved));
    for (event, range) in parser.into_offset_iter() {
        let line = first + text[..range.start].matches('\n').count();
        match (event, all.last_mut()) {
            (Event::Start(Tag::Paragraph | Tag::Item), _) => all.push((line, 0, String::new())),
            (Event::Start(Tag::TableCell), _) => all.push((line, 1, String::new())),
            (Event::Start(Tag::Heading { .. }), _) => all.push((line, 2, String::new())),
            (Event::Start(Tag::CodeBlock(_)), _) => in_code = true,
            (Event::End(TagEnd::CodeBlock), _) => in_code = false,
            (Event::Text(text), Some((_, _, block))) if !in_code => *block += &text,
            (Event::Code(_), Some((_, _, block))) => *block += CODE,
            (Event::SoftBreak | Event::HardBreak, Some((_, _, block))) => *block += "\n",
            _ => {}
        }
    }
    all.retain(|(_, _, text)| !text.is_empty());
    all
}

/// Line and description of each finding in a file.
fn findings(file: &str, text: &str, phrases: &[Phrase<'_>]) -> Vec<(usize, String)> {
    let (mut all, mut in_code) = (Vec::new(), false);
    let marker = if file.ends_with(".rs") { "//" } else { "# " };
    for (at, line) in text.lines().enumerate().filter(|_| file.ends_with(".rs") || file.ends_with(".py")) {
        let body = line.trim_start().trim_start_matches(['/', '!', '#', ' ']);
        in_code ^= body.starts_with("```");
        let is_comment = line.trim_start().starts_with(marker) && !in_code && !body.starts_with('|');
        if is_comment && line.chars().count() > WIDTH && !line.contains("://") {
            all.push((at + 1, format!("more than {WIDTH} columns")));
        }
    }
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '`' | '\'' | '’' | '-' | '%');
    for (kind, first, text) in chunks(file, text) {
        for (index, (line, limit, text)) in blocks(first, &text).into_iter().enumerate() {
            let spaced = text.chars().map(|c| if is_word(c) { c.to_string() } else { format!(" {c} ") });
            let spaced = spaced.collect::<String>().to_lowercase();
            let words: Vec<&str> = spaced.split_whitespace().collect();
            let sentences = words.split(|word| [".", "?", "!"].contains(word));
            let longest =
                sentences.map(|part| part.iter().filter(|word| word.starts_with(is_word)).count()).max();
            if ["^", "^///"].contains(&kind) && longest > Some(LIMITS[limit]) {
                all.push((line, format!("more than {} words", LIMITS[limit])));
            }
            let mut at = 0;
            while at < words.len() {
                let fits = |(place, pattern, _): &&Phrase<'_>| {
                    let opens =
                        at == 0 && limit != 1 && kind.starts_with(place) && (index == 0 || *place == "^");
                    let mut pairs = pattern.iter().zip(&words[at..]);
                    (place.is_empty() || opens)
                        && at + pattern.len() <= words.len()
                        && pairs.all(|(choices, word)| choices.contains(word) || choices.is_empty())
                };
                let best = phrases.iter().filter(fits).max_by_key(|phrase| phrase.1.len());
                let length = best.filter(|phrase| phrase.2 != "-").map_or(0, |phrase| phrase.1.len());
                if let Some((_, _, suggestion)) = best.filter(|_| length > 0) {
                    all.push((line, format!("{}; {suggestion}", words[at..at + length].join(" "))));
                }
                at += length.max(1);
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(file: &str, text: &str) -> Vec<usize> {
        let list =
            "is|are told => print\n^what => a noun\n^//of => a noun\n^//of course => -\n# Later\nwrong";
        let phrases = parse(list).unwrap_or_else(|line| panic!("{line}"));
        findings(file, text, &phrases).into_iter().map(|(line, _)| line).collect()
    }

    #[test]
    fn comments_pages_and_messages_are_read() {
        let rust = "//! Of it.\n\n// Of course it is\n// told `is told`.\nfn f<'a>() { r#\"it \"is told\"#; '\"' }\n";
        let tests = "#[cfg(test)]\nmod tests {\n    f(\"it is told\"); // What\n}\n";
        assert_eq!(lines("src/a.rs", &format!("{rust}{tests}")), [1, 3, 5, 8]);
        assert_eq!(lines("tests/a.rs", &format!("{rust}// {}", "a".repeat(108))), [6, 1, 3]);
        let page = "Of it.\n\nWhat?\n\n| what |\n|---|\n| they are told |\n\n```sh\nis told\n```\n";
        assert_eq!(lines("a.md", &format!("{page}# {}\n\n{0}.", "a ".repeat(10))), [3, 7, 12]);
        let python = "x = '# is told'\ndef f():\n    \"\"\"One.\n\n    Is told.\n    \"\"\"  # Of it\n";
        assert_eq!(lines("a.py", python), [5, 6]);
    }

    #[test]
    fn the_list_is_valid() {
        assert!(parse(include_str!("../words.txt")).is_ok() && parse("no arrow").is_err());
    }
}
