//! Comments and docstrings of Python files, and comments of TOML files.

use super::text::{Chunk, Source};

/// Reads the comments of a Python or TOML file. Docstrings are strings that begin a statement.
pub(crate) fn chunks(text: &str, docstrings: bool) -> Vec<Chunk> {
    let mut all: Vec<Chunk> = Vec::new();
    // Line and column of the last comment that has a line to itself.
    let mut last = None;
    let (mut at, mut line, mut line_begin, mut depth) = (0, 1, 0, 0_usize);
    while let Some(c) = text[at..].chars().next() {
        let alone = || text[line_begin..at].trim().is_empty();
        match c {
            '\n' => (line, line_begin) = (line + 1, at + 1),
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            '#' => {
                let comment = text[at..].split('\n').next().unwrap_or_default();
                let body = comment.trim_start_matches('#');
                let body = body.strip_prefix(' ').unwrap_or(body).trim_end().to_owned();
                let place = (line, at - line_begin);
                let follows = alone() && last == Some((line - 1, place.1));
                match all.last_mut() {
                    Some(chunk) if follows => chunk.lines.push((line, body)),
                    _ if comment.starts_with("#!") => {}
                    _ => all.push(Chunk { source: Source::Comment, lines: vec![(line, body)] }),
                }
                last = alone().then_some(place);
                at += comment.len();
                continue;
            }
            '"' | '\'' => {
                let (inside, end) = string(&text[at..], c);
                let prefix = text[line_begin..at].trim();
                let starts = depth == 0 && (prefix.is_empty() || prefix.eq_ignore_ascii_case("r"));
                if docstrings && starts {
                    all.push(Chunk { source: Source::Doc, lines: docstring(inside, line) });
                    last = None;
                }
                let skipped = &text[at..at + end];
                line += skipped.matches('\n').count();
                line_begin = skipped.rfind('\n').map_or(line_begin, |newline| at + newline + 1);
                at += end;
                continue;
            }
            _ => {}
        }
        at += c.len_utf8();
    }
    all
}

/// The inside of the string at the start of a text, and the length of the string with its quotes.
fn string(text: &str, quote: char) -> (&str, usize) {
    let triple = quote.to_string().repeat(3);
    let mark = if text.starts_with(&triple) { triple.as_str() } else { &text[..1] };
    let mut at = mark.len();
    while at < text.len() && !text[at..].starts_with(mark) {
        let step = |from: usize| text[from..].chars().next().map_or(0, char::len_utf8);
        at += step(at) + if text[at..].starts_with('\\') { step(at + 1) } else { 0 };
    }
    (&text[mark.len()..at.min(text.len())], (at + mark.len()).min(text.len()))
}

/// Lines of a docstring without their common indentation and without interpreter sessions.
fn docstring(inside: &str, first: usize) -> Vec<(usize, String)> {
    let indentation = |line: &str| line.len() - line.trim_start().len();
    let later = inside.lines().skip(1).filter(|line| !line.trim().is_empty());
    let common = later.map(indentation).min().unwrap_or(0);
    let mut in_session = false;
    let lines = inside.lines().enumerate().map(|(at, line)| {
        let line = if at == 0 { line.trim_start() } else { line.get(common..).unwrap_or_default() };
        in_session = line.trim_start().starts_with(">>>") || (in_session && !line.trim().is_empty());
        (first + at, if in_session { String::new() } else { line.trim_end().to_owned() })
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn docstrings_and_comments_are_found() {
        let text = "#!/bin/python\n\"\"\"Page.\n\nMore.\n\"\"\"\nx = \"# no\"  # after\n# one\n# two\nf(\n    \"no\",\n)\n";
        let found = chunks(text, true);
        let lines = |lines: &[(usize, &str)]| {
            lines.iter().map(|(at, line)| (*at, (*line).to_owned())).collect::<Vec<_>>()
        };
        assert_eq!(found[0].source, Source::Doc);
        assert_eq!(found[0].lines, lines(&[(2, "Page."), (3, ""), (4, "More.")]));
        assert_eq!(found[1].lines, lines(&[(6, "after")]));
        assert_eq!(found[2].lines, lines(&[(7, "one"), (8, "two")]));
        assert_eq!(found.len(), 3);
    }

    #[test]
    fn sessions_are_code() {
        let lines = docstring("Adds.\n\n    >>> 1 + 1\n    2\n\n    End.", 1);
        let text: Vec<&str> = lines.iter().map(|(_, line)| line.as_str()).collect();
        assert_eq!(text, ["Adds.", "", "", "", "", "End."]);
    }
}
