//! Problems of a document: collecting them, merging equal ones, and limiting memory.

use std::collections::HashMap;

use condyle_base::order;

pub use condyle_base::problem::{Problem, Refused, Severity};

/// The action of an error that only a new export can fix.
pub(crate) const REFUSED: &str = "the document is rejected";

/// Maximum number of distinct problems kept, because a hostile document could cause millions.
const MAX_ENTRIES: usize = 1000;
/// Maximum number of places kept for each kind of problem.
const MAX_PLACES: usize = 100;
/// Maximum number of path bytes kept in total, without the first path of each kind.
const MAX_PLACES_BYTES: usize = 1 << 20;
/// Number of bytes that any document may decode to, regardless of its size.
const BASE_ALLOWANCE: usize = 64 << 20;
/// Additional decoded bytes allowed for each byte of the document. Quantised and compressed data reach a
/// ratio of 10 in practice.
const ALLOWANCE_PER_BYTE: usize = 32;

/// Collects problems, and limits the decoded size relative to the document's size.
#[derive(Debug, Clone, Default)]
pub(crate) struct Problems {
    list: Vec<Problem>,
    /// Index of each kind of problem in `list`, and the last place where it occurred.
    known: HashMap<(Severity, String, String), (usize, String)>,
    /// Total bytes of `Problem::places` so far.
    places_bytes: usize,
    allowance: usize,
    limit: usize,
}

impl Problems {
    /// Starts an empty list. `input` is the document's size in bytes.
    pub(crate) fn new(input: usize) -> Self {
        let mut it = Self { allowance: BASE_ALLOWANCE, limit: BASE_ALLOWANCE, ..Self::default() };
        it.allow_more(input);
        it
    }

    /// Returns a list without a memory limit, for reading data again that has been checked and reported.
    pub(crate) fn unheard() -> Self {
        Self { allowance: usize::MAX, limit: usize::MAX, ..Self::default() }
    }

    /// Raises the limit because `input` more bytes were read from outside the document.
    pub(crate) fn allow_more(&mut self, input: usize) {
        let more = input.saturating_mul(ALLOWANCE_PER_BYTE);
        self.allowance = self.allowance.saturating_add(more);
        self.limit = self.limit.saturating_add(more);
    }

    /// Reserves `bytes` of the allowance. Call it before allocating or reading an amount that the document
    /// declares. If the allowance is too small, it reports an error and returns `None`.
    pub(crate) fn afford(&mut self, path: impl Into<String>, bytes: usize) -> Option<()> {
        if let Some(left) = self.allowance.checked_sub(bytes) {
            self.allowance = left;
            return Some(());
        }
        let limit = self.limit;
        let what = format!(
            "decoding another {bytes} bytes would exceed the limit of {limit} for a document of this size"
        );
        self.refuse(path, what, "split the document, or remove unused data");
        None
    }

    pub(crate) fn error(&mut self, path: impl Into<String>, what: impl Into<String>) {
        self.refuse(path, what, REFUSED);
    }

    /// Reports an error with advice on how to fix it.
    pub(crate) fn refuse(&mut self, path: impl Into<String>, what: impl Into<String>, advice: &str) {
        self.counted(Severity::Error, path, 1, what, advice);
    }

    pub(crate) fn warning(
        &mut self,
        path: impl Into<String>,
        what: impl Into<String>,
        action: impl Into<String>,
    ) {
        self.counted(Severity::Warning, path, 1, what, action);
    }

    pub(crate) fn note(
        &mut self,
        path: impl Into<String>,
        what: impl Into<String>,
        action: impl Into<String>,
    ) {
        self.counted(Severity::Note, path, 1, what, action);
    }

    /// Reports the same problem at `count` places, of which `path` is the first; reports no problem if
    /// `count` is 0.
    pub(crate) fn counted(
        &mut self,
        severity: Severity,
        path: impl Into<String>,
        count: usize,
        what: impl Into<String>,
        action: impl Into<String>,
    ) {
        if count == 0 {
            return;
        }
        let (path, what) = (path.into(), what.into());
        let mut key = (severity, without_numbers(&path), without_numbers(&what));
        let mut problem = Problem { count, ..Problem::new(severity, path, what, action) };
        if !self.known.contains_key(&key) && self.known.len() >= MAX_ENTRIES {
            let (what, action) =
                ("further problems, too many to list", "handled like the others of this severity");
            problem = Problem { count, ..Problem::new(severity, "", what, action) };
            key = (severity, String::new(), String::new());
        }
        match self.known.get_mut(&key) {
            // The same place, reached on another path through the reader.
            Some((_, last)) if *last == problem.place && !last.is_empty() => {}
            Some((at, last)) => {
                let known = &mut self.list[*at];
                known.count = known.count.saturating_add(count);
                let places_bytes = self.places_bytes + problem.place.len();
                if known.places.len() < MAX_PLACES && places_bytes <= MAX_PLACES_BYTES {
                    self.places_bytes = places_bytes;
                    known.places.push(problem.place.clone());
                }
                *last = problem.place;
            }
            None => {
                self.known.insert(key, (self.list.len(), problem.place.clone()));
                self.list.push(problem);
            }
        }
    }

    /// Runs a check whose errors leave the document usable. They become warnings with this action.
    pub(crate) fn as_warnings<T>(&mut self, action: &str, check: impl FnOnce(&mut Self) -> T) -> T {
        let mut inner = Self { allowance: self.allowance, limit: self.limit, ..Self::default() };
        let result = check(&mut inner);
        self.allowance = inner.allowance;
        for Problem { severity, place, count, what, action: own, .. } in inner.list {
            let action = if severity == Severity::Error { action } else { &own };
            self.counted(severity.max(Severity::Warning), place, count, what, action);
        }
        result
    }

    pub(crate) fn list(&self) -> &[Problem] {
        &self.list
    }

    /// Returns the problems, errors first.
    pub(crate) fn into_list(mut self) -> Vec<Problem> {
        order::sort_by(&mut self.list, |problem| problem.severity as u64);
        self.list
    }

    pub(crate) fn into_refused(self, name: &str) -> Refused {
        Refused { name: name.into(), problems: self.into_list() }
    }

    pub(crate) fn has_errors(&self) -> bool {
        self.list.iter().any(|p| p.severity == Severity::Error)
    }
}

/// Replaces each number by `#`: problems that differ only in numbers are of one kind. Digits in a quoted name
/// stay.
fn without_numbers(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut in_name, mut escaped) = (false, false);
    for c in text.chars() {
        in_name ^= c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        if in_name || !c.is_ascii_digit() {
            out.push(c);
        } else if !out.ends_with('#') {
            out.push('#');
        }
    }
    out
}

/// Returns text from the document for use in a message: quoted, escaped and at most 60 characters long.
pub(crate) fn quoted(text: &str) -> String {
    const LONGEST: usize = 60;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{:?}...", &text[..end]),
        None => format!("{text:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_problem_at_many_places_is_one_entry() {
        let mut problems = Problems::new(0);
        for node in [4, 17, 230] {
            problems.error(
                format!("/nodes/{node}/mesh"),
                format!("refers to {node}, but there are only 2 meshes"),
            );
        }
        problems.note("/nodes/4/mesh", "refers to 4, but there are only 2 meshes", "nothing");
        // The same place, reached on another path.
        problems.error("/nodes/230/mesh", "refers to 230, but there are only 2 meshes");
        let list = problems.list();
        assert_eq!(list.len(), 2);
        assert_eq!((list[0].count, list[0].place.as_str()), (3, "/nodes/4/mesh"));
        assert_eq!(list[0].places, ["/nodes/4/mesh", "/nodes/17/mesh", "/nodes/230/mesh"]);
        assert_eq!(
            list[0].to_string(),
            "error at /nodes/4/mesh: refers to 4, but there are only 2 meshes (3 places); \
             the document is rejected"
        );
    }

    #[test]
    fn names_that_differ_in_a_digit_are_different() {
        let mut problems = Problems::new(0);
        for name in ["a_1.bin", "a_2.bin", "\"5\\", "\"6\\"] {
            problems.error("/buffers/0/uri", format!("{} cannot be read: error 2", quoted(name)));
        }
        assert_eq!(problems.list().len(), 4);
    }

    #[test]
    fn places_are_kept_within_bounds() {
        let mut problems = Problems::new(0);
        for i in 0..1000 {
            problems.error(format!("/{i}"), "x");
        }
        let [found] = problems.list() else { panic!("{:?}", problems.list()) };
        assert_eq!((found.count, found.places.len(), &*found.places[99]), (1000, MAX_PLACES, "/99"));
        let long = "x".repeat(MAX_PLACES_BYTES / 10);
        for i in 0..1000 {
            problems.note(format!("/{i}{long}"), "x", "");
        }
        assert!(
            problems.list().iter().map(|p| p.places.concat().len()).sum::<usize>() < 2 * MAX_PLACES_BYTES
        );
    }

    #[test]
    fn any_number_of_problems_takes_bounded_memory_and_errors_are_never_lost() {
        let mut problems = Problems::new(0);
        let name = |i: u32| char::from_u32(0x4e00 + i).unwrap().to_string();
        for i in 0..5000 {
            problems.note("", name(i), "");
        }
        problems.error("/late", "late");
        assert!(problems.list().len() <= MAX_ENTRIES + 3);
        assert_eq!(problems.list().iter().map(|p| p.count).sum::<usize>(), 5001);
        let refused = problems.into_refused("x.glb");
        assert_eq!(refused.problems[0].severity, Severity::Error);
        assert!(refused.to_string().starts_with("x.glb cannot be used\n  error"));
    }

    #[test]
    fn decoding_out_of_proportion_is_an_error() {
        let mut problems = Problems::new(10);
        assert!(problems.afford("/a", BASE_ALLOWANCE).is_some());
        assert!(problems.afford("/b", 10 * ALLOWANCE_PER_BYTE).is_some());
        assert!(!problems.has_errors());
        assert!(problems.afford("/c", 1).is_none());
        assert_eq!(problems.list()[0].place, "/c");
        assert!(problems.list()[0].action.starts_with("split the document"));
        assert!(problems.has_errors());
    }

    #[test]
    fn long_names_are_cut_at_a_character() {
        assert_eq!(quoted("a\nb"), "\"a\\nb\"");
        assert!(quoted(&"é".repeat(100)).len() < 130);
    }
}
