//! Paragraphs, headings and table cells of Markdown, in files and in comments.

use std::collections::BTreeSet;
use std::ops::Range;

use pulldown_cmark::{BrokenLink, CowStr, Event, Options, Parser, Tag, TagEnd};

use super::text::{Block, CODE, Chunk, Kind, Source};

/// Splits a chunk into blocks. The second value has the numbers of the lines of code, tables and URLs, which
/// may have any width.
pub(crate) fn blocks(chunk: &Chunk) -> (Vec<Block>, BTreeSet<usize>) {
    let text: String = chunk.lines.iter().flat_map(|(_, line)| [line.as_str(), "\n"]).collect();
    let mut reader = Reader::new(chunk, &text);
    // Links such as [`Pose`], which rustdoc resolves.
    let mut unresolved = |_: BrokenLink<'_>| Some((CowStr::from(""), CowStr::from("")));
    let parser = Parser::new_with_broken_link_callback(&text, Options::ENABLE_TABLES, Some(&mut unresolved));
    for (event, range) in parser.into_offset_iter() {
        reader.event(&event, range);
    }
    reader.end();
    let urls = chunk.lines.iter().filter(|(_, line)| line.contains("://")).map(|(number, _)| *number);
    reader.exempt.extend(urls);
    (reader.blocks, reader.exempt)
}

struct Reader<'a> {
    chunk: &'a Chunk,
    text: &'a str,
    /// Offset of each line in the text.
    begins: Vec<usize>,
    generated: BTreeSet<usize>,
    blocks: Vec<Block>,
    exempt: BTreeSet<usize>,
    /// Block that is being read, with the number of its first line once it has text.
    open: Option<(Kind, Option<usize>, String)>,
    in_code: bool,
}

impl<'a> Reader<'a> {
    fn new(chunk: &'a Chunk, text: &'a str) -> Self {
        let lengths = chunk.lines.iter().map(|(_, line)| line.len() + 1);
        let begins = lengths.scan(0, |end, length| Some(std::mem::replace(end, *end + length))).collect();
        let generated = generated_lines(&chunk.lines);
        let (blocks, exempt) = (Vec::new(), BTreeSet::new());
        Self { chunk, text, begins, generated, blocks, exempt, open: None, in_code: false }
    }

    /// Index of the line that has a byte of the text.
    fn line(&self, at: usize) -> usize {
        self.begins.partition_point(|begin| *begin <= at) - 1
    }

    fn event(&mut self, event: &Event<'_>, range: Range<usize>) {
        match event {
            Event::Start(tag) => self.start(tag, range),
            Event::End(TagEnd::CodeBlock) => self.in_code = false,
            Event::End(TagEnd::Paragraph | TagEnd::Heading(_) | TagEnd::TableCell | TagEnd::Item) => {
                self.end();
            }
            Event::Text(text) if !self.in_code => self.push(text, range),
            // The code may contain line breaks, which keep the line numbers right.
            Event::Code(_) => {
                let breaks = self.text[range.clone()].matches('\n').collect::<String>();
                self.push(&(CODE.to_owned() + &breaks), range);
            }
            Event::SoftBreak | Event::HardBreak => self.push("\n", range),
            _ => {}
        }
    }

    fn start(&mut self, tag: &Tag<'_>, range: Range<usize>) {
        match tag {
            // An item without blank lines has its text outside of a paragraph.
            Tag::Paragraph | Tag::Item => self.begin(Kind::Paragraph),
            // A plain comment has no headings, so a line that begins with `#` is code or a list.
            Tag::Heading { .. } if self.chunk.source == Source::Comment => self.end(),
            Tag::Heading { .. } => self.begin(Kind::Heading),
            Tag::TableCell => self.begin(Kind::Cell),
            Tag::CodeBlock(_) | Tag::Table(_) => {
                self.end();
                self.in_code = matches!(tag, Tag::CodeBlock(_));
                let lines = self.line(range.start)..=self.line(range.end.saturating_sub(1));
                self.exempt.extend(self.chunk.lines[lines].iter().map(|(number, _)| *number));
            }
            Tag::List(_) | Tag::HtmlBlock => self.end(),
            _ => {}
        }
    }

    fn begin(&mut self, kind: Kind) {
        self.end();
        self.open = Some((kind, None, String::new()));
    }

    fn push(&mut self, text: &str, range: Range<usize>) {
        let number = self.chunk.lines[self.line(range.start)].0;
        if let Some((_, line, block)) = &mut self.open {
            line.get_or_insert(number);
            block.push_str(text);
        }
    }

    fn end(&mut self) {
        if let Some((kind, Some(line), text)) = self.open.take() {
            let (first, generated) = (self.blocks.is_empty(), self.generated.contains(&line));
            let text = without_urls(&text);
            self.blocks.push(Block { source: self.chunk.source, kind, first, generated, line, text });
        }
    }
}

/// Replaces URLs by [`CODE`].
fn without_urls(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = ["http://", "https://"].iter().filter_map(|scheme| rest.find(scheme)).min() {
        let url = &rest[at..];
        let end = url.find(|c: char| c.is_whitespace() || matches!(c, ')' | '>' | ']')).unwrap_or(url.len());
        out += &rest[..at];
        out += CODE;
        rest = &url[url[..end].trim_end_matches(['.', ',', ';', ':']).len()..];
    }
    out + rest
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
        let text = "# A page\n\nOne\ntwo.\n- item\n  goes on\n\n| a `x\\|y` | b |\n|---|--:|\n| c |  |\n\n    code\n\n\
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
        let text = "See [the *map*](a/b.md), [`x`], [x][y], <https://a.b/c?d>, https://a.b and ``a`b``.\n";
        let (blocks, _) = read(text);
        assert_eq!(blocks[0].text, "See the map, `_`, x, `_`, `_` and `_`.");
    }

    #[test]
    fn generated_parts_end_at_their_mark() {
        let text = "a\n\n<!-- cargo xtask times -->\n| b |\n|---|\n<!-- end -->\n\n| c |\n|---|\n\n\
                    <!-- generated by x -->\n| d |\n|---|\n\n| e |\n|---|\n";
        let (blocks, _) = read(text);
        let generated: Vec<&str> =
            blocks.iter().filter(|block| block.generated).map(|block| block.text.as_str()).collect();
        assert_eq!(generated, ["b", "d"]);
        let (blocks, _) = read("# Page\n\nWritten by `cargo xtask asm --update`.\n\n| a |\n|---|\n");
        assert!(blocks.iter().all(|block| block.generated));
    }
}
