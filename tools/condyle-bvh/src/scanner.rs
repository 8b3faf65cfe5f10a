//! Splits a text into words with their positions.

use crate::number::{any, is_space};
use crate::problem::{Fault, quoted};

/// A position in a text. White space separates words; each brace is a separate word.
#[derive(Clone)]
pub(crate) struct Scanner<'a> {
    pub(crate) text: &'a [u8],
    pub(crate) at: usize,
}

impl<'a> Scanner<'a> {
    /// Starts at the beginning, after a byte order mark if there is one.
    pub(crate) fn new(text: &'a [u8]) -> Self {
        let at = if text.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
        Self { text, at }
    }

    pub(crate) fn skip_space(&mut self) {
        while self.text.get(self.at).is_some_and(|byte| is_space(*byte)) {
            self.at += 1;
        }
    }

    /// Returns the next word and its position. The word is empty at the end of the text.
    pub(crate) fn word(&mut self) -> (usize, &'a [u8]) {
        self.skip_space();
        let rest = &self.text[self.at..];
        let is_end = |byte: &u8| is_space(*byte) || matches!(byte, b'{' | b'}');
        let length = match rest.first() {
            Some(b'{' | b'}') => 1,
            _ => rest.iter().position(is_end).unwrap_or(rest.len()),
        };
        let at = self.at;
        self.at += length;
        (at, &rest[..length])
    }

    /// Skips the next word if it equals `word`, ignoring case. Returns whether it did.
    pub(crate) fn take(&mut self, word: &str) -> bool {
        let mut ahead = self.clone();
        let found = ahead.word().1.eq_ignore_ascii_case(word.as_bytes());
        if found {
            *self = ahead;
        }
        found
    }

    /// Skips words and an optional colon, with or without spaces between them. Returns whether they were
    /// found.
    pub(crate) fn take_label(&mut self, words: &[&str]) -> bool {
        let mut ahead = self.clone();
        for word in words {
            ahead.skip_space();
            let rest = &ahead.text[ahead.at..];
            if !rest.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word.as_bytes())) {
                return false;
            }
            ahead.at += word.len();
        }
        ahead.skip_space();
        ahead.at += usize::from(ahead.text.get(ahead.at) == Some(&b':'));
        *self = ahead;
        true
    }

    /// Returns the rest of the line up to a brace, trimmed, and its position. If the rest of the line is
    /// empty, the next line is used.
    pub(crate) fn name(&mut self) -> (usize, &'a [u8]) {
        self.skip_space();
        let rest = &self.text[self.at..];
        let end =
            rest.iter().position(|byte| matches!(byte, b'\n' | b'\r' | b'{' | b'}')).unwrap_or(rest.len());
        let at = self.at;
        self.at += end;
        (at, rest[..end].trim_ascii())
    }

    /// Skips the next word.
    ///
    /// # Errors
    /// If the next word differs from `word`.
    pub(crate) fn expect(&mut self, word: &str) -> Result<(), Fault> {
        if self.take(word) { Ok(()) } else { Err(self.unexpected(word)) }
    }

    /// Returns the error for a next word that differs from `wanted`.
    pub(crate) fn unexpected(&self, wanted: &str) -> Fault {
        let (at, found) = self.clone().word();
        Fault { at, what: format!("expected {wanted}, found {}", shown(found)) }
    }

    /// Returns the next word as a number, which can be infinite or NaN.
    ///
    /// # Errors
    /// If it is not a number.
    pub(crate) fn number(&mut self, what: &str) -> Result<f64, Fault> {
        let mut ahead = self.clone();
        let value = any(ahead.word().1).ok_or_else(|| self.unexpected(what))?;
        *self = ahead;
        Ok(value)
    }
}

/// Returns a word of the file for a message, or a text for the end of the file.
pub(crate) fn shown(word: &[u8]) -> String {
    if word.is_empty() { "the end of the file".into() } else { quoted(word) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_braces_labels_and_names() {
        let mut it = Scanner::new(b"\xef\xbb\xbf \tROOT  Left Arm: 2 {\r\nOFFSET{}Frame  time :.5 x");
        assert!(!it.take("JOINT") && it.take("root"));
        assert_eq!(it.name().1, b"Left Arm: 2");
        assert!(it.expect("{").is_ok());
        assert_eq!(it.word().1, b"OFFSET");
        assert!(it.take("{") && it.take("}"));
        assert!(!it.take_label(&["Frames"]) && it.take_label(&["Frame", "Time"]));
        assert_eq!(it.number("a number").unwrap(), 0.5);
        assert!(it.number("a number").unwrap_err().what.starts_with("expected a number, found \"x\""));
        assert_eq!(it.word().1, b"x");
        assert_eq!(it.word().1, b"");
        assert_eq!(it.unexpected("more").what, "expected more, found the end of the file");
    }

    #[test]
    fn a_name_may_stand_in_the_next_line() {
        let mut it = Scanner::new(b"ROOT\n Hips\n{");
        assert!(it.take("ROOT"));
        assert_eq!(it.name().1, b"Hips");
        let mut it = Scanner::new(b"ROOT {");
        assert!(it.take("ROOT"));
        assert_eq!(it.name().1, b"");
        assert!(it.take("{"));
    }
}
