//! Collects problems: one entry for each pair of description and action, with its places.

use std::collections::HashMap;

use condyle_base::problem::{Problem, Severity};

/// Places listed for one kind of problem.
const PLACES: usize = 100;

#[derive(Default)]
pub(crate) struct Problems {
    list: Vec<Problem>,
    /// Indices in the list. Digits of a description, such as the faces of one mesh, are no part of the key.
    found: HashMap<(Severity, String, String), usize>,
}

impl Problems {
    /// Something was dropped or approximated.
    pub(crate) fn warn(&mut self, place: String, what: impl Into<String>, action: &str) {
        self.add(Severity::Warning, place, what.into(), action);
    }

    /// Information only.
    pub(crate) fn note(&mut self, place: String, what: impl Into<String>, action: &str) {
        self.add(Severity::Note, place, what.into(), action);
    }

    fn add(&mut self, severity: Severity, place: String, what: String, action: &str) {
        let kind = what.chars().filter(|it| !it.is_ascii_digit()).collect();
        let next = self.list.len();
        match self.found.entry((severity, kind, action.to_owned())).or_insert(next) {
            at if *at < next => {
                let it = &mut self.list[*at];
                it.count += 1;
                if it.places.len() < PLACES {
                    it.places.push(place);
                }
            }
            _ => self.list.push(Problem::new(severity, place, what, action)),
        }
    }

    /// Returns all problems, warnings first.
    pub(crate) fn into_list(mut self) -> Vec<Problem> {
        self.list.sort_by_key(|it| it.severity);
        self.list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_equal_descriptions_share_an_entry() {
        let mut problems = Problems::default();
        problems.note("node a".into(), "the node has lights", "they are left out");
        problems.note("node b".into(), "the node has cameras", "they are left out");
        problems.note("node c".into(), "the node has lights", "they are left out");
        problems.warn("mesh d".into(), "3 skins", "the first skin is used");
        problems.warn("mesh e".into(), "2 skins", "the first skin is used");
        let list = problems.into_list();
        let told: Vec<_> = list.iter().map(|it| (it.what.as_str(), it.count, it.places.len())).collect();
        assert_eq!(told, [("3 skins", 2, 2), ("the node has lights", 2, 2), ("the node has cameras", 1, 1)]);
    }
}
