//! Collects problems: one entry for each kind, with its places.

use condyle_base::problem::{Problem, Severity};

/// Places listed for one kind of problem.
const PLACES: usize = 100;

#[derive(Default)]
pub(crate) struct Problems {
    list: Vec<Problem>,
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
        let same = |it: &&mut Problem| it.severity == severity && it.action == action;
        match self.list.iter_mut().find(same) {
            Some(it) => {
                it.count += 1;
                if it.places.len() < PLACES {
                    it.places.push(place);
                }
            }
            None => self.list.push(Problem::new(severity, place, what, action)),
        }
    }

    /// Returns all problems, warnings first.
    pub(crate) fn into_list(mut self) -> Vec<Problem> {
        self.list.sort_by_key(|it| it.severity);
        self.list
    }
}
