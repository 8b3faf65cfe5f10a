//! Text of a file in the form that the rules read.

use std::ops::Range;

/// Origin of a text. Some rules apply to one origin only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// Doc comment or docstring.
    Doc,
    /// Other comment.
    Comment,
    /// Markdown file.
    Page,
}

/// Consecutive lines of one comment, or a whole Markdown file, with the comment markers removed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Chunk {
    pub(crate) source: Source,
    /// Line number, counted from 1, and text.
    pub(crate) lines: Vec<(usize, String)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Paragraph,
    Heading,
    /// Table cell.
    Cell,
}

/// One paragraph, heading or table cell.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Block {
    pub(crate) source: Source,
    pub(crate) kind: Kind,
    /// First block of its chunk.
    pub(crate) first: bool,
    /// Written by a program.
    pub(crate) generated: bool,
    /// Number of the first line.
    pub(crate) line: usize,
    /// Text with one `\n` per line break. Each code span and each URL is replaced by [`CODE`].
    pub(crate) text: String,
}

/// Replacement for a code span or a URL. It counts as one word.
pub(crate) const CODE: &str = "`_`";

impl Block {
    /// Line number of a byte offset in the text.
    pub(crate) fn line_at(&self, offset: usize) -> usize {
        self.line + self.text[..offset].matches('\n').count()
    }
}

/// Text of one file, as the rules read it.
#[derive(Default)]
pub(crate) struct Document {
    pub(crate) blocks: Vec<Block>,
    /// Comment lines wider than the limit: line number, width in characters, text.
    pub(crate) wide: Vec<(usize, usize, String)>,
}

/// Part of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Token {
    /// Lower-case word without punctuation.
    Word(String),
    Mark(char),
}

/// Splits a text into words and punctuation marks, each with its byte range.
pub(crate) fn tokens(text: &str) -> Vec<(Token, Range<usize>)> {
    let mut all = Vec::new();
    let mut word: Option<usize> = None;
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '`' | '\'' | '’' | '-' | '%');
    for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
        if is_part(c) {
            word.get_or_insert(at);
            continue;
        }
        if let Some(begin) = word.take() {
            let lower = text[begin..at].to_lowercase().replace('’', "'");
            all.push((Token::Word(lower.trim_matches('\'').to_owned()), begin..at));
        }
        if !c.is_whitespace() {
            all.push((Token::Mark(c), at..at + c.len_utf8()));
        }
    }
    all
}

/// Number of words, separated by spaces. Lone punctuation marks do not count.
pub(crate) fn count_words(text: &str) -> usize {
    text.split_whitespace().filter(|word| word.contains(|c: char| c.is_alphanumeric() || c == '`')).count()
}

/// Byte ranges of the sentences. A colon and a semicolon do not end a sentence.
pub(crate) fn sentences(text: &str) -> Vec<Range<usize>> {
    let mut all = Vec::new();
    let mut begin = 0;
    for (at, c) in text.char_indices() {
        if !matches!(c, '.' | '?' | '!') {
            continue;
        }
        let rest = text[at + c.len_utf8()..].trim_start_matches(['"', '\'', ')', '”', '’', '*']);
        let next = rest.trim_start();
        let continues = next.starts_with(|c: char| c.is_lowercase() || matches!(c, ',' | ';' | '.'));
        let is_initial = {
            let mut letters = text[begin..at].chars().rev();
            letters.next().is_some_and(char::is_uppercase)
                && letters.next().is_none_or(|c| !c.is_alphanumeric())
        };
        if next.len() < rest.len() && !continues && !(c == '.' && is_initial) {
            let end = text.len() - rest.len();
            all.push(begin..end);
            begin = text.len() - next.len();
        }
    }
    if !text[begin..].trim().is_empty() {
        all.push(begin..text.len());
    }
    all
}

/// At most `count` words of a text, on one line.
pub(crate) fn excerpt(text: &str, count: usize) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let cut = words[..words.len().min(count)].join(" ");
    if words.len() > count { cut + " …" } else { cut }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_end_at_full_stops_only() {
        let text = "One; two: three. Four, e.g. five?\nBy M. Loper. Version 1.5 `_`.";
        let split: Vec<&str> = sentences(text).into_iter().map(|range| &text[range]).collect();
        assert_eq!(split, ["One; two: three.", "Four, e.g. five?", "By M. Loper.", "Version 1.5 `_`."]);
        assert!(sentences("  ").is_empty());
    }

    #[test]
    fn code_counts_as_one_word() {
        assert_eq!(count_words("a `_` – of\n3.5 (joints)"), 5);
    }

    #[test]
    fn tokens_keep_punctuation() {
        let text = "Joint’s, pose";
        let [word, mark, last] = &tokens(text)[..] else { panic!("three tokens") };
        assert_eq!(*word, (Token::Word("joint's".into()), 0..9));
        assert_eq!(mark.0, Token::Mark(','));
        assert_eq!(&text[last.1.clone()], "pose");
    }
}
