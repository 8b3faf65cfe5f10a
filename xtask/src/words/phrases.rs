//! List of phrases to avoid, `xtask/words.txt`.
//!
//! Each line is `phrase => suggestion`. A word can be a choice (`is|are`) or `*` for any word; `^` matches
//! only at the beginning of a paragraph. Case does not matter. A phrase never matches across punctuation.

use std::collections::HashMap;
use std::ops::Range;

use super::text::{Token, tokens};

pub(crate) struct Phrases {
    list: Vec<Phrase>,
    /// Indices into the list by each choice of the first word.
    by_first: HashMap<String, Vec<usize>>,
}

struct Phrase {
    /// Choices of each word. An empty choice is any word.
    words: Vec<Vec<String>>,
    only_first: bool,
    suggestion: String,
}

impl Phrase {
    fn parse(line: &str) -> Option<Self> {
        let (pattern, suggestion) = line.split_once(" => ")?;
        let only_first = pattern.starts_with('^');
        let pattern = pattern.trim_start_matches('^').to_lowercase();
        let choices = |word: &str| match word {
            "*" => Vec::new(),
            _ => word.split('|').map(str::to_owned).collect(),
        };
        let words: Vec<_> = pattern.split_whitespace().map(choices).collect();
        let valid = words.first().is_some_and(|first| !first.is_empty()) && !suggestion.trim().is_empty();
        valid.then(|| Self { words, only_first, suggestion: suggestion.trim().to_owned() })
    }

    fn matches(&self, text: &[(Token, Range<usize>)], is_first: bool) -> bool {
        let fits = |choices: &Vec<String>, token: &Token| match token {
            Token::Word(word) => choices.is_empty() || choices.contains(word),
            Token::Mark(_) => false,
        };
        (is_first || !self.only_first)
            && text.len() >= self.words.len()
            && self.words.iter().zip(text).all(|(choices, (token, _))| fits(choices, token))
    }
}

impl Phrases {
    /// Reads the list. Empty lines and lines that begin with `#` do not count.
    ///
    /// # Errors
    ///
    /// The first line that is not `phrase => suggestion`.
    pub(crate) fn parse(list: &str) -> Result<Self, String> {
        let mut phrases = Self { list: Vec::new(), by_first: HashMap::new() };
        for (at, line) in list.lines().enumerate() {
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            let phrase = Phrase::parse(line).ok_or(format!("line {}: not `phrase => suggestion`", at + 1))?;
            for word in &phrase.words[0] {
                phrases.by_first.entry(word.clone()).or_default().push(phrases.list.len());
            }
            phrases.list.push(phrase);
        }
        Ok(phrases)
    }

    /// Byte range and suggestion of each match. The longest match at each place counts, and matches do not
    /// overlap.
    pub(crate) fn find(&self, text: &str) -> Vec<(Range<usize>, &str)> {
        let tokens = tokens(text);
        let mut found = Vec::new();
        let mut at = 0;
        while at < tokens.len() {
            let Token::Word(word) = &tokens[at].0 else {
                at += 1;
                continue;
            };
            let candidates = self.by_first.get(word).into_iter().flatten().map(|index| &self.list[*index]);
            let matching = candidates.filter(|phrase| phrase.matches(&tokens[at..], at == 0));
            let Some(phrase) = matching.max_by_key(|phrase| phrase.words.len()) else {
                at += 1;
                continue;
            };
            let end = at + phrase.words.len();
            found.push((tokens[at].1.start..tokens[end - 1].1.end, phrase.suggestion.as_str()));
            at = end;
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_phrase_matches_once() {
        let phrases =
            Phrases::parse("# list\nis|are told => print\nis told * file => name\n^how many => Number of\n");
        let phrases = phrases.unwrap_or_else(|e| panic!("{e}"));
        let found = |text: &str| -> Vec<String> {
            phrases.find(text).into_iter().map(|(range, to)| format!("{}>{to}", &text[range])).collect()
        };
        assert_eq!(
            found("Of it is\ntold. Is told the file, they ARE told"),
            ["is\ntold>print", "Is told the file>name", "ARE told>print"]
        );
        assert_eq!(found("How many of how many"), ["How many>Number of"]);
        assert!(found("this, told; is, told; retold").is_empty());
    }

    #[test]
    fn the_list_is_valid_and_has_no_doubles() {
        let list = include_str!("../../words.txt");
        assert!(Phrases::parse(list).is_ok());
        let mut patterns: Vec<&str> = list
            .lines()
            .filter(|line| !line.starts_with('#'))
            .filter_map(|line| line.split_once(" => ").map(|(pattern, _)| pattern))
            .collect();
        let count = patterns.len();
        patterns.sort_unstable();
        patterns.dedup();
        assert_eq!(patterns.len(), count);
        assert!(Phrases::parse("no arrow").is_err());
    }
}
