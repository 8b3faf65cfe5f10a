//! Problems of a file, each with its line and how it was handled.

use condyle_base::order;

pub use condyle_base::problem::{Problem, Refused, Severity};

/// An error that makes a file unusable, found at byte `at`.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) at: usize,
    pub(crate) what: String,
}

/// A kind of recoverable problem. Each kind is reported once with a count, so that a file of any size has few
/// reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Offset,
    SecondOffset,
    NoName,
    NotUtf8,
    SameName,
    Channel,
    Roots,
    NoMotion,
    NoCount,
    NoFrames,
    FrameTime,
    NotFinite,
    Uneven,
    Rows,
    PartOfARow,
    More,
    NoChannels,
}

/// Collects problems by kind.
#[derive(Debug, Default)]
pub(crate) struct Problems {
    /// The kind, the byte position of its first occurrence, and the problem. The line is computed later.
    list: Vec<(Kind, usize, Problem)>,
}

impl Problems {
    /// Reports a warning at byte `at`. `say` returns the description and the action; it is called only for
    /// the first problem of its kind.
    pub(crate) fn warn(&mut self, kind: Kind, at: usize, say: impl FnOnce() -> (String, &'static str)) {
        self.add(Severity::Warning, kind, at, say);
    }

    pub(crate) fn note(&mut self, kind: Kind, at: usize, say: impl FnOnce() -> (String, &'static str)) {
        self.add(Severity::Note, kind, at, say);
    }

    fn add(
        &mut self,
        severity: Severity,
        kind: Kind,
        at: usize,
        say: impl FnOnce() -> (String, &'static str),
    ) {
        if let Some((.., known)) = self.list.iter_mut().find(|(other, ..)| *other == kind) {
            known.count += 1;
            return;
        }
        let (what, action) = say();
        self.list.push((kind, at, Problem::new(severity, "", what, action)));
    }

    /// Returns the problems of this text, warnings first.
    pub(crate) fn into_list(self, text: &[u8]) -> Vec<Problem> {
        let lined = |(_, at, problem): (Kind, usize, Problem)| {
            let (line, Problem { severity, count, what, action, .. }) = (line(text, at), problem);
            (line, Problem { count, ..Problem::new(severity, place(line), what, action) })
        };
        let mut list: Vec<(usize, Problem)> = self.list.into_iter().map(lined).collect();
        order::sort_by(&mut list, |(line, _)| *line as u64);
        order::sort_by(&mut list, |(_, problem)| problem.severity as u64);
        list.into_iter().map(|(_, problem)| problem).collect()
    }

    pub(crate) fn into_refused(self, name: &str, text: &[u8], fault: Fault) -> Refused {
        let mut problems = vec![error(line(text, fault.at), fault.what)];
        problems.extend(self.into_list(text));
        Refused { name: name.into(), problems }
    }
}

pub(crate) fn error(line: usize, what: String) -> Problem {
    Problem::new(Severity::Error, place(line), what, "the file is rejected")
}

/// Returns the location text for a line; empty for line 0, which means the whole file.
fn place(line: usize) -> String {
    if line > 0 { format!("line {line}") } else { String::new() }
}

/// Returns the line of a byte, counted from 1. Unix, Windows and old Mac line ends are recognised.
fn line(text: &[u8], at: usize) -> usize {
    let before = &text[..at.min(text.len())];
    let ends = |(i, byte): (usize, &u8)| match byte {
        b'\n' => true,
        b'\r' => text.get(i + 1) != Some(&b'\n'),
        _ => false,
    };
    1 + before.iter().enumerate().filter(|it| ends(*it)).count()
}

/// Returns text from the file for use in a message: quoted, escaped and at most 40 bytes long.
pub(crate) fn quoted(text: &[u8]) -> String {
    const LONGEST: usize = 40;
    let shown = String::from_utf8_lossy(&text[..text.len().min(LONGEST)]);
    format!("{shown:?}{}", if text.len() > LONGEST { "..." } else { "" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_however_they_end() {
        for text in ["a\nb\nc", "a\r\nb\r\nc", "a\rb\rc"] {
            assert_eq!(line(text.as_bytes(), text.len() - 1), 3, "{text:?}");
        }
        assert_eq!((line(b"", 0), line(b"a\n", 2), line(b"a\n", 99)), (1, 2, 2));
    }

    #[test]
    fn a_kind_is_told_once_and_the_worst_first() {
        let mut problems = Problems::default();
        problems.note(Kind::SameName, 4, || ("same".into(), "kept"));
        for at in [2, 4] {
            problems.warn(Kind::NotFinite, at, || (format!("bad at {at}"), "replaced"));
        }
        let list = problems.into_list(b"a\nb\nc");
        assert_eq!(list[0].to_string(), "warning at line 2: bad at 2 (2 places); replaced");
        assert_eq!(list[1].to_string(), "note at line 3: same; kept");
    }

    #[test]
    fn what_is_quoted_is_short() {
        assert_eq!(quoted(b"a\x07"), r#""a\u{7}""#);
        assert!(quoted(&[0xff; 1000]).len() < 200);
    }
}
