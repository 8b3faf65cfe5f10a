//! Paragraphs, headings and table cells of Markdown, in files and in comments.

use std::collections::BTreeSet;

use super::text::{Block, CODE, Chunk, Kind, Source};

/// Splits a chunk into blocks. The second value has the numbers of the lines of code, tables and URLs, which
/// may have any width.
pub(crate) fn blocks(chunk: &Chunk) -> (Vec<Block>, BTreeSet<usize>) {
    let generated = generated_lines(&chunk.lines);
    let mut reader = Reader { source: chunk.source, blocks: Vec::new(), paragraph: None, in_table: false };
    let mut exempt = BTreeSet::new();
    let mut fence: Option<String> = None;
    // A list may indent its paragraphs as far as code.
    let (mut in_list, mut after_blank) = (false, true);
    for (number, line) in &chunk.lines {
        let trimmed = line.trim_start().trim_start_matches("> ").trim_start();
        let indented = line.len() - line.trim_start().len();
        if line.contains("://") {
            exempt.insert(*number);
        }
        if let Some(mark) = &fence {
            exempt.insert(*number);
            // A closing fence has no info string, so "```rust" does not close a fence.
            if trimmed.starts_with(mark.as_str()) && trimmed.trim_end().chars().all(|c| mark.starts_with(c)) {
                fence = None;
            }
            continue;
        }
        if trimmed.starts_with("```") || trimmed.starts_with("~~~") {
            let mark = &trimmed[..1];
            let length = trimmed.len() - trimmed.trim_start_matches(mark).len();
            fence = Some(mark.repeat(length));
            exempt.insert(*number);
            reader.end();
            continue;
        }
        if trimmed.is_empty() {
            reader.end();
            after_blank = true;
            continue;
        }
        if indented >= 4 && after_blank && !in_list && reader.paragraph.is_none() {
            exempt.insert(*number);
            continue;
        }
        after_blank = false;
        let item = list_item(trimmed);
        in_list = item.is_some() || (in_list && (indented > 0 || reader.paragraph.is_some()));
        if trimmed.starts_with('|') {
            exempt.insert(*number);
        }
        reader.line(*number, item.unwrap_or(trimmed), item.is_some(), generated.contains(number));
    }
    reader.end();
    (reader.blocks, exempt)
}

struct Reader {
    source: Source,
    blocks: Vec<Block>,
    /// Number of the first line, text, and whether it is generated.
    paragraph: Option<(usize, String, bool)>,
    in_table: bool,
}

impl Reader {
    fn end(&mut self) {
        self.in_table = false;
        if let Some((line, text, generated)) = self.paragraph.take() {
            self.push(Kind::Paragraph, line, &text, generated);
        }
    }

    fn push(&mut self, kind: Kind, line: usize, raw: &str, generated: bool) {
        let (source, first, text) = (self.source, self.blocks.is_empty(), inline(raw));
        if !text.trim().is_empty() {
            self.blocks.push(Block { source, kind, first, generated, line, text });
        }
    }

    /// Adds a line that is neither blank nor code.
    fn line(&mut self, number: usize, text: &str, is_item: bool, generated: bool) {
        let rule = text.chars().all(|c| matches!(c, '-' | '=' | '*' | '_' | ' ')) || text.starts_with("<!--");
        if rule || is_link_definition(text) {
            self.end();
        } else if text.starts_with('|') {
            if !self.in_table {
                self.end();
                self.in_table = true;
            }
            for cell in cells(text) {
                self.push(Kind::Cell, number, cell, generated);
            }
        } else if let Some(heading) = heading(text).filter(|_| self.source != Source::Comment && !is_item) {
            self.end();
            self.push(Kind::Heading, number, heading, generated);
        } else {
            if is_item || self.in_table {
                self.end();
            }
            match &mut self.paragraph {
                Some((_, paragraph, _)) => {
                    paragraph.push('\n');
                    paragraph.push_str(text);
                }
                None => self.paragraph = Some((number, text.to_owned(), generated)),
            }
        }
    }
}

/// Text of a list item without its marker.
fn list_item(text: &str) -> Option<&str> {
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let numbered = rest.len() < text.len() && text.len() - rest.len() < 4;
    let rest = if numbered { rest.strip_prefix(['.', ')'])? } else { text.strip_prefix(['-', '*', '+'])? };
    rest.strip_prefix(' ').map(str::trim_start)
}

/// Text of a heading without its marker.
fn heading(text: &str) -> Option<&str> {
    let rest = text.trim_start_matches('#');
    let level = text.len() - rest.len();
    if (1..=6).contains(&level) { rest.strip_prefix(' ').map(str::trim) } else { None }
}

/// Whether a line is `[name]: target`.
fn is_link_definition(text: &str) -> bool {
    text.starts_with('[') && text.split_once("]: ").is_some_and(|(_, to)| !to.trim().contains(' '))
}

/// Cells of a table row. Bars inside code spans and escaped bars do not separate cells.
fn cells(row: &str) -> Vec<&str> {
    let inside = row.trim().trim_start_matches('|');
    let inside = inside.strip_suffix('|').unwrap_or(inside);
    let (mut all, mut begin, mut in_code, mut escaped) = (Vec::new(), 0, false, false);
    for (at, c) in inside.char_indices() {
        match c {
            '`' => in_code = !in_code,
            '|' if !in_code && !escaped => {
                all.push(inside[begin..at].trim());
                begin = at + 1;
            }
            _ => {}
        }
        escaped = c == '\\';
    }
    all.push(inside[begin..].trim());
    all.retain(|cell| !cell.chars().all(|c| matches!(c, '-' | ':' | ' ')));
    all
}

/// Replaces code spans and URLs by [`CODE`] and links by their text.
fn inline(raw: &str) -> String {
    let mut out = String::new();
    let mut rest = raw;
    while let Some(c) = rest.chars().next() {
        let skip = match c {
            '`' => {
                let ticks = rest.len() - rest.trim_start_matches('`').len();
                let mark = &rest[..ticks];
                let inside = &rest[ticks..];
                let length = inside.find(mark).map_or(0, |at| at + ticks);
                out.push_str(CODE);
                out.extend(inside[..length].matches('\n'));
                ticks + length
            }
            'h' if rest.starts_with("http://") || rest.starts_with("https://") => {
                out.push_str(CODE);
                rest.find(|c: char| c.is_whitespace() || matches!(c, ')' | '>' | ']')).unwrap_or(rest.len())
            }
            ']' => match rest.get(1..2) {
                Some("(") => rest.find(')').map_or(1, |at| at + 1),
                Some("[") => rest[1..].find(']').map_or(1, |at| at + 2),
                _ => 1,
            },
            '[' | '*' | '<' | '>' => 1,
            '!' if rest.starts_with("![") => 1,
            _ => {
                out.push(c);
                c.len_utf8()
            }
        };
        rest = &rest[skip..];
    }
    out
}

/// Numbers of the lines that a program writes: all lines if one of the first is "Generated by …" or
/// "Written by …", otherwise the lines between a marker such as `<!-- cargo xtask times -->` and
/// `<!-- end -->`. A marker without an end covers the next table.
fn generated_lines(lines: &[(usize, String)]) -> BTreeSet<usize> {
    let whole = lines.iter().take(6).any(|(number, line)| {
        let line = line.trim_start();
        (*number == 1 && line.starts_with("<!-- generated by"))
            || ["Generated by `", "Written by `"].iter().any(|mark| line.starts_with(mark))
            || line.contains("This page is generated")
    });
    if whole {
        return lines.iter().map(|(number, _)| *number).collect();
    }
    let marker = |line: &str| line.trim().strip_prefix("<!--").map(|rest| rest.trim().to_lowercase());
    let ends = |mark: &str| mark.starts_with("end") || mark.starts_with("until");
    let begins = |mark: &str| ["generated by", "cargo ", "condyle-"].iter().any(|name| mark.contains(name));
    let mut all = BTreeSet::new();
    let mut from = 0;
    while let Some(begin) = (from..lines.len()).find(|at| marker(&lines[*at].1).is_some_and(|m| begins(&m))) {
        let next = (begin + 1..lines.len()).find_map(|at| {
            marker(&lines[at].1).filter(|m| ends(m) || begins(m)).map(|mark| (at, ends(&mark)))
        });
        let is_row = |at: &usize| lines[*at].1.trim_start().starts_with('|');
        let end = match next {
            Some((at, true)) => at,
            _ => {
                let table = (begin..lines.len()).find(is_row).unwrap_or(begin);
                (table..lines.len()).find(|at| !is_row(at)).unwrap_or(lines.len())
            }
        };
        all.extend(lines[begin..end].iter().map(|(number, _)| *number));
        from = end.max(begin + 1);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Vec<Block>, BTreeSet<usize>) {
        let lines = text.lines().enumerate().map(|(at, line)| (at + 1, line.to_owned())).collect();
        blocks(&Chunk { source: Source::Page, lines })
    }

    #[test]
    fn blocks_of_each_kind_are_found() {
        let text = "# A page\n\nOne\ntwo.\n- item\n  goes on\n\n| a `x|y` | b |\n|---|--:|\n| c |  |\n\n    code\n\n\
                    ```sh\nWhat now\n```\n> quoted\n";
        let (blocks, exempt) = read(text);
        let found: Vec<(Kind, usize, &str)> =
            blocks.iter().map(|block| (block.kind, block.line, block.text.as_str())).collect();
        let wanted = [
            (Kind::Heading, 1, "A page"),
            (Kind::Paragraph, 3, "One\ntwo."),
            (Kind::Paragraph, 5, "item\ngoes on"),
            (Kind::Cell, 8, "a `_`"),
            (Kind::Cell, 8, "b"),
            (Kind::Cell, 10, "c"),
            (Kind::Paragraph, 17, "quoted"),
        ];
        assert_eq!(found, wanted);
        assert_eq!(exempt, BTreeSet::from([8, 9, 10, 12, 14, 15, 16]));
    }

    #[test]
    fn a_fence_is_closed_by_a_fence_without_a_name() {
        let (blocks, _) = read("```\n```rust\nWhat code.\n```\n\nProse.\n");
        assert_eq!(blocks.len(), 1, "{blocks:?}");
    }

    #[test]
    fn links_are_their_text() {
        assert_eq!(inline("See [the *map*](a/b.md), [x][y], <https://a.b/c?d> and ``a`b``."), {
            "See the map, x, `_` and `_`."
        });
    }

    #[test]
    fn generated_parts_end_at_their_mark() {
        let text = "a\n<!-- cargo xtask times -->\n| b |\n<!-- end -->\n| c |\n<!-- generated by x -->\n| d |\n\n| e |\n";
        let (blocks, _) = read(text);
        let generated: Vec<&str> =
            blocks.iter().filter(|block| block.generated).map(|block| block.text.as_str()).collect();
        assert_eq!(generated, ["b", "d"]);
        let (blocks, _) = read("# Page\n\nWritten by `cargo xtask asm --update`.\n\n| a |\n");
        assert!(blocks.iter().all(|block| block.generated));
    }
}
