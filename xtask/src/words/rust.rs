//! Comments of a Rust file.

use super::text::{Chunk, Source};

/// Reads all comments. Consecutive lines with the same marker and column form one chunk. A comment after code
/// is a separate chunk.
pub(crate) fn chunks(text: &str) -> Vec<Chunk> {
    let mut scan = Scan { text, at: 0, line: 1, line_begin: 0, chunks: Vec::new(), last: None };
    scan.run();
    scan.chunks
}

struct Scan<'a> {
    text: &'a str,
    at: usize,
    line: usize,
    /// Offset of the first byte of the line.
    line_begin: usize,
    chunks: Vec<Chunk>,
    /// Line, marker and column of the last comment that has a line to itself.
    last: Option<(usize, &'static str, usize)>,
}

impl Scan<'_> {
    fn run(&mut self) {
        while let Some(&byte) = self.text.as_bytes().get(self.at) {
            let rest = &self.text[self.at..];
            match byte {
                b'\n' => self.newline(),
                b'/' if rest.starts_with("//") => self.line_comment(),
                b'/' if rest.starts_with("/*") => self.block_comment(),
                b'"' => self.string(),
                b'r' if !self.after_name() && self.raw_string() => {}
                b'\'' => self.quote(),
                _ => self.at += rest.chars().next().map_or(1, char::len_utf8),
            }
        }
    }

    fn newline(&mut self) {
        self.at += 1;
        self.line += 1;
        self.line_begin = self.at;
    }

    /// Moves to an offset, counting lines.
    fn skip_to(&mut self, end: usize) {
        while self.at < end {
            if self.text.as_bytes()[self.at] == b'\n' { self.newline() } else { self.at += 1 }
        }
    }

    /// Whether the byte before this one belongs to a name, as in `for"`. The prefix of `br"` does not count.
    fn after_name(&self) -> bool {
        let before = &self.text.as_bytes()[..self.at];
        let before = before.strip_suffix(b"b").unwrap_or(before);
        before.last().is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_')
    }

    fn line_comment(&mut self) {
        let rest = &self.text[self.at..];
        let comment = rest.split('\n').next().unwrap_or_default();
        let marker = match comment.as_bytes() {
            [b'/', b'/', b'/', b'/', ..] => "//",
            [b'/', b'/', b'/', ..] => "///",
            [b'/', b'/', b'!', ..] => "//!",
            _ => "//",
        };
        let column = self.at - self.line_begin;
        let alone = self.text[self.line_begin..self.at].trim().is_empty();
        let body = comment[marker.len()..].trim_end().to_owned();
        let body = body.strip_prefix(' ').map_or(body.clone(), str::to_owned);
        let follows = alone && self.last == Some((self.line - 1, marker, column));
        match self.chunks.last_mut() {
            Some(chunk) if follows => chunk.lines.push((self.line, body)),
            _ => {
                let source = if marker == "//" { Source::Comment } else { Source::Doc };
                self.chunks.push(Chunk { source, lines: vec![(self.line, body)] });
            }
        }
        self.last = alone.then_some((self.line, marker, column));
        self.at += comment.len();
    }

    fn block_comment(&mut self) {
        let rest = &self.text[self.at..];
        let (mut depth, mut end) = (0_usize, 0);
        while end < rest.len() {
            let here = &rest.as_bytes()[end..];
            if here.starts_with(b"/*") {
                depth += 1;
                end += 2;
            } else if here.starts_with(b"*/") {
                depth -= 1;
                end += 2;
                if depth == 0 {
                    break;
                }
            } else {
                end += 1;
            }
        }
        let comment = &rest[..end];
        let is_doc = comment.starts_with("/**") && comment.len() > 4 || comment.starts_with("/*!");
        let body = comment.trim_end_matches(['*', '/']);
        let lines = body.lines().enumerate().map(|(at, line)| {
            let line = line.trim().trim_start_matches(['/', '*', '!']);
            (self.line + at, line.strip_prefix(' ').unwrap_or(line).to_owned())
        });
        let source = if is_doc { Source::Doc } else { Source::Comment };
        self.chunks.push(Chunk { source, lines: lines.collect() });
        self.last = None;
        self.skip_to(self.at + end);
    }

    fn string(&mut self) {
        let mut end = self.at + 1;
        let bytes = self.text.as_bytes();
        while end < bytes.len() && bytes[end] != b'"' {
            end += if bytes[end] == b'\\' { 2 } else { 1 };
        }
        self.skip_to((end + 1).min(bytes.len()));
    }

    /// Skips `r"…"` and `r#"…"#`. Returns whether there is one.
    fn raw_string(&mut self) -> bool {
        let rest = &self.text[self.at + 1..];
        let hashes = rest.len() - rest.trim_start_matches('#').len();
        if !rest[hashes..].starts_with('"') {
            return false;
        }
        let end = format!("\"{}", "#".repeat(hashes));
        let inside = &rest[hashes + 1..];
        let length = inside.find(&end).map_or(inside.len(), |at| at + end.len());
        self.skip_to(self.at + 1 + hashes + 1 + length);
        true
    }

    /// Skips a character literal. A lifetime has no closing quote.
    fn quote(&mut self) {
        let mut letters = self.text[self.at + 1..].char_indices();
        let length = match (letters.next(), letters.next()) {
            (Some((_, '\\')), _) => {
                let rest = self.text.as_bytes().get(self.at + 3..).unwrap_or_default();
                rest.iter().position(|b| *b == b'\'').map_or(1, |at| at + 4)
            }
            (Some(_), Some((at, '\''))) => at + 2,
            _ => 1,
        };
        self.skip_to(self.at + length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_found_and_strings_are_not() {
        let text = "//! Page.\n\nfn f<'a>() { // after code\n    /// Doc\n    /// goes on\n    // plain\n    \
                    let s = (\"// no\", r#\"\" // no\"#, '\"', '\\'', b'\\\\', \"\\\"// no\");\n/* a\n * b */\n}\n";
        let found: Vec<(Source, usize, String)> = chunks(text)
            .into_iter()
            .map(|chunk| {
                let lines: Vec<String> = chunk.lines.iter().map(|(_, line)| line.clone()).collect();
                (chunk.source, chunk.lines[0].0, lines.join("|"))
            })
            .collect();
        let wanted = [
            (Source::Doc, 1, "Page."),
            (Source::Comment, 3, "after code"),
            (Source::Doc, 4, "Doc|goes on"),
            (Source::Comment, 6, "plain"),
            (Source::Comment, 8, "a|b"),
        ];
        assert_eq!(found, wanted.map(|(source, line, text)| (source, line, text.to_owned())));
    }
}
