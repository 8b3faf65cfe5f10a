//! Rules for comments and documentation.
//!
//! # First words
//!
//! - No paragraph outside tables starts with a word of [`NEVER`], such as `What`.
//! - No comment starts with a word of [`NO_COMMENT`], such as `Of`.
//! - No doc comment starts with a word of [`NO_DOC`], such as `From`: it starts with a noun or a verb. Plain
//!   comments may start with these words ("To avoid a copy, …").
//! - [`ALLOWED`] has the exceptions ("At most"). Units may follow In ("In radians").

use super::phrases::Phrases;
use super::text::{Block, Document, Kind, Source, Token, count_words, excerpt, sentences, tokens};

/// Width of a comment line in characters, as in `rustfmt.toml`.
pub(crate) const WIDTH: usize = 110;
/// Words of a sentence.
const SENTENCE: usize = 35;
/// Words of a table cell.
const CELL: usize = 20;
/// Words of a heading.
const HEADING: usize = 9;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Rule {
    Opening,
    Phrase,
    Width,
    Sentence,
    Cell,
    Heading,
}

impl Rule {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Opening => "opening",
            Self::Phrase => "phrase",
            Self::Width => "width",
            Self::Sentence => "sentence",
            Self::Cell => "cell",
            Self::Heading => "heading",
        }
    }
}

#[derive(Debug)]
pub(crate) struct Finding {
    pub(crate) line: usize,
    pub(crate) rule: Rule,
    pub(crate) excerpt: String,
    pub(crate) suggestion: String,
}

/// First words that no paragraph may have.
const NEVER: [&str; 5] = ["what", "who", "whoever", "whose", "whom"];
/// First words that no comment may have.
const NO_COMMENT: [&str; 5] = ["of", "as", "by", "until", "in"];
/// First words that no doc comment may have.
const NO_DOC: [&str; 11] =
    ["from", "to", "at", "with", "on", "for", "beside", "behind", "without", "between", "than"];
/// First two words that are allowed everywhere.
const ALLOWED: [[&str; 2]; 13] = [
    ["for", "example"],
    ["for", "testing"],
    ["for", "tests"],
    ["at", "most"],
    ["at", "least"],
    ["by", "default"],
    ["by", "convention"],
    ["in", "place"],
    ["in", "general"],
    ["in", "practice"],
    ["on", "success"],
    ["on", "error"],
    ["on", "failure"],
];
/// Units that may follow In.
const UNITS: [&str; 15] = [
    "radians",
    "degrees",
    "metres",
    "meters",
    "millimetres",
    "centimetres",
    "seconds",
    "milliseconds",
    "nanoseconds",
    "bytes",
    "bits",
    "frames",
    "pixels",
    "percent",
    "hertz",
];
/// Words that make a sentence of a heading.
const VERBS: [&str; 11] =
    ["is", "are", "was", "were", "has", "have", "does", "can", "cannot", "must", "will"];

/// All findings of a file, by line.
pub(crate) fn check(document: &Document, phrases: &Phrases) -> Vec<Finding> {
    let mut all = Vec::new();
    for (line, width, text) in &document.wide {
        let suggestion = format!("{width} columns, at most {WIDTH}");
        all.push(Finding { line: *line, rule: Rule::Width, excerpt: excerpt(text, 6), suggestion });
    }
    for block in &document.blocks {
        all.extend(opening(block));
        all.extend(phrase(block, phrases));
        match block.kind {
            Kind::Paragraph if block.source != Source::Comment => all.extend(long_sentences(block)),
            Kind::Cell => all.extend(cell(block)),
            Kind::Heading => all.extend(heading(block)),
            Kind::Paragraph => {}
        }
    }
    all.sort_by_key(|finding| (finding.line, finding.rule));
    all
}

fn finding(block: &Block, rule: Rule, suggestion: String) -> Finding {
    Finding { line: block.line, rule, excerpt: excerpt(&block.text, 8), suggestion }
}

fn opening(block: &Block) -> Option<Finding> {
    if block.kind != Kind::Paragraph {
        return None;
    }
    let words = tokens(&block.text);
    let word = |at: usize| match words.get(at) {
        Some((Token::Word(word), _)) => word.as_str(),
        _ => "",
    };
    let (first, second) = (word(0), word(1));
    let is_comment = block.first && block.source != Source::Page;
    let is_doc = block.first && block.source == Source::Doc;
    let wrong = NEVER.contains(&first)
        || (is_comment && NO_COMMENT.contains(&first))
        || (is_doc && NO_DOC.contains(&first));
    if !wrong || ALLOWED.contains(&[first, second]) || (first == "in" && UNITS.contains(&second)) {
        return None;
    }
    let suggestion = match first {
        "what" => "name the thing: start with a noun or a verb",
        "who" | "whoever" | "whose" | "whom" => "name the actor, or start with \"If you …\"",
        "as" => "\"Because …\", or start with a noun or a verb",
        "until" => "\"End of …\", or start with a noun or a verb",
        _ => "start with a noun or a verb",
    };
    Some(finding(block, Rule::Opening, suggestion.to_owned()))
}

fn phrase(block: &Block, phrases: &Phrases) -> Vec<Finding> {
    let found = phrases.find(&block.text).into_iter();
    let one = found.map(|(range, suggestion)| Finding {
        line: block.line_at(range.start),
        rule: Rule::Phrase,
        excerpt: excerpt(&block.text[range], 8),
        suggestion: suggestion.to_owned(),
    });
    one.collect()
}

fn long_sentences(block: &Block) -> Vec<Finding> {
    let long = sentences(&block.text).into_iter().filter_map(|range| {
        let sentence = &block.text[range.clone()];
        let count = count_words(sentence);
        (count > SENTENCE).then(|| Finding {
            line: block.line_at(range.start),
            rule: Rule::Sentence,
            excerpt: excerpt(sentence, 8),
            suggestion: format!("{count} words, at most {SENTENCE}: split it"),
        })
    });
    long.collect()
}

fn cell(block: &Block) -> Option<Finding> {
    let count = count_words(&block.text);
    let suggestion = || format!("{count} words, at most {CELL}: a paragraph with a heading");
    (count > CELL && !block.generated).then(|| finding(block, Rule::Cell, suggestion()))
}

fn heading(block: &Block) -> Option<Finding> {
    let lower = block.text.to_lowercase();
    if ["how to ", "how do i ", "where do i "].iter().any(|begin| lower.starts_with(begin)) {
        return None;
    }
    let words = tokens(&lower);
    let is =
        |list: &[&str], token: &Token| matches!(token, Token::Word(word) if list.contains(&word.as_str()));
    let first = words.first().map(|(token, _)| token);
    let why = if lower.trim().ends_with(['.', '?', '!']) {
        "ends like a sentence"
    } else if count_words(&lower) > HEADING {
        "has more than 9 words"
    } else if first.is_some_and(|word| is(&NEVER, word) || is(&["how", "when", "why", "that"], word)) {
        "is a clause"
    } else if words.iter().any(|(token, _)| is(&VERBS, token)) {
        "has a verb"
    } else {
        return None;
    };
    Some(finding(block, Rule::Heading, format!("{why}: use a noun phrase")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::read;

    fn rules(path: &str, text: &str) -> Vec<(usize, &'static str)> {
        let phrases =
            Phrases::parse("is told => print\nat once => in one call\n").unwrap_or_else(|e| panic!("{e}"));
        let document = read(path, text);
        check(&document, &phrases).into_iter().map(|finding| (finding.line, finding.rule.name())).collect()
    }

    #[test]
    fn openings() {
        let wrong = "//! Of the clip.\n\n/// What is left.\n\n// As it is.\nfn f() {} // who knows\n/// To model space.";
        assert_eq!(rules("a.rs", wrong), [1, 3, 5, 6, 7].map(|line| (line, "opening")));
        let right = "/// Number of joints.\n///\n/// In short, as before.\n\n/// In radians.\n\n/// At most four.\n\n\
                     // To avoid a copy.\n\n// For each joint.\nlet s = \"// What\";";
        assert_eq!(rules("a.rs", right), []);
        assert_eq!(rules("a.md", "In a file.\n\nWhoever reads.\n\n| What |\n|---|\n"), [(3, "opening")]);
        assert_eq!(
            rules("a.py", "def f():\n    \"\"\"By joint.\"\"\"\n    # until it ends\n"),
            [(2, "opening"), (3, "opening")]
        );
        assert_eq!(rules("a.toml", "# What it is\nname = \"# What\"\n"), [(1, "opening")]);
    }

    #[test]
    fn phrases_outside_code() {
        let text =
            "The file is\ntold to all.\n\n- `is told`\n\n| two at once |\n|---|\n\n```\nis told\n```\n";
        assert_eq!(rules("a.md", text), [(1, "phrase"), (6, "phrase")]);
        assert_eq!(
            rules("a.rs", "/// A name is\n/// told.\n///\n/// ```\n/// // is told\n/// ```"),
            [(1, "phrase")]
        );
    }

    #[test]
    fn widths() {
        let at = |width: usize| format!("    // {}", "a".repeat(width - 7));
        assert_eq!(rules("a.rs", &at(110)), []);
        assert_eq!(rules("a.rs", &at(111)), [(1, "width")]);
        assert_eq!(rules("a.py", &format!("# {}", "a ".repeat(54))), []);
        assert_eq!(rules("a.py", &format!("# {}", "ab ".repeat(40))), [(1, "width")]);
        assert_eq!(rules("a.rs", &format!("{} https://a.b", at(111))), []);
        assert_eq!(
            rules("a.rs", &format!("/// | {} |\n/// |---|\n///\n/// ```\n{0}\n/// ```", "a".repeat(120))),
            []
        );
    }

    #[test]
    fn long_sentences_are_found() {
        let words = |count: usize| format!("Joint {}.", "a ".repeat(count - 2) + "b");
        assert_eq!(rules("a.md", &format!("One.\n{} {}", words(35), words(36))), [(2, "sentence")]);
        assert_eq!(rules("a.rs", &format!("/// {}\n\n// {0}", words(36))), [(1, "sentence")]);
        assert_eq!(rules("a.md", &format!("{} `{}`", "a ".repeat(34), "x ".repeat(9))), []);
    }

    #[test]
    fn long_cells_are_found() {
        let row = |count: usize| format!("| a | {} |\n", "b ".repeat(count));
        let head = "| a | b |\n|---|---|\n";
        assert_eq!(rules("a.md", &(head.to_owned() + &row(20) + &row(21))), [(4, "cell")]);
        assert_eq!(rules("a.md", &format!("Generated by `x`; do not edit.\n\n{head}{}", row(21))), []);
    }

    #[test]
    fn headings_are_noun_phrases() {
        for wrong in ["What is here", "The file is told", "Do they?", "How it works", "a b c d e f g h i j"] {
            assert!(rules("a.md", &format!("# {wrong}\n")).contains(&(1, "heading")), "{wrong}");
            assert!(
                rules("a.rs", &format!("//! A.\n//!\n//! # {wrong}\n")).contains(&(3, "heading")),
                "{wrong}"
            );
        }
        for right in ["Untrusted input", "How to build", "Where do I change a kernel?", "Errors"] {
            assert_eq!(rules("a.md", &format!("# {right}\n")), [], "{right}");
        }
        assert_eq!(rules("a.rs", "// # What is here"), []);
    }
}
