//! What was odd about a file that is used all the same.

use std::fmt;

/// Something odd about a motion, and what was done about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repair {
    /// What was found.
    pub what: String,
    /// How it was repaired, or what was left out.
    pub action: String,
}

impl Repair {
    pub(crate) fn new(what: impl Into<String>, action: impl Into<String>) -> Self {
        Self { what: what.into(), action: action.into() }
    }
}

impl fmt::Display for Repair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.what, self.action)
    }
}
