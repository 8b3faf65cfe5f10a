//! What is wrong with a file, in which line, and what is done about it.

pub use condyle_base::problem::{Problem, Refused, Severity};

/// What makes a file unusable, found at this byte.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) at: usize,
    pub(crate) what: String,
}

/// A kind of recoverable fault. Each is reported once, with how often it was met, so that a file of any size has few.
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

/// Gathers problems by their kind.
#[derive(Debug, Default)]
pub(crate) struct Problems {
    /// The first byte of each, instead of a line.
    list: Vec<(Kind, usize, Problem)>,
}

impl Problems {
    /// A fault at the byte `at`; `what` and `action` are asked for the first of its kind.
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

    /// The problems of this text, the worst first.
    pub(crate) fn into_list(self, text: &[u8]) -> Vec<Problem> {
        let lined = |(_, at, problem): (Kind, usize, Problem)| {
            let (line, Problem { severity, count, what, action, .. }) = (line(text, at), problem);
            (line, Problem { count, ..Problem::new(severity, place(line), what, action) })
        };
        let mut list: Vec<(usize, Problem)> = self.list.into_iter().map(lined).collect();
        list.sort_by_key(|(line, problem)| (problem.severity, *line));
        list.into_iter().map(|(_, problem)| problem).collect()
    }

    pub(crate) fn into_refused(self, name: &str, text: &[u8], fault: Fault) -> Refused {
        let mut problems = vec![error(line(text, fault.at), fault.what)];
        problems.extend(self.into_list(text));
        Refused { name: name.into(), problems }
    }
}

pub(crate) fn error(line: usize, what: String) -> Problem {
    Problem::new(Severity::Error, place(line), what, "the file is refused")
}

/// Empty for the file as a whole, which has the line 0.
fn place(line: usize) -> String {
    if line > 0 { format!("line {line}") } else { String::new() }
}

/// The line that holds a byte, from 1. Lines end as Unix, Windows or old Macs have it.
fn line(text: &[u8], at: usize) -> usize {
    let before = &text[..at.min(text.len())];
    let ends = |(i, byte): (usize, &u8)| match byte {
        b'\n' => true,
        b'\r' => text.get(i + 1) != Some(&b'\n'),
        _ => false,
    };
    1 + before.iter().enumerate().filter(|it| ends(*it)).count()
}

/// A text from the file as it may stand in a message: quoted, escaped and not longer than a line.
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
