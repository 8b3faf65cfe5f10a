//! Problems of a file: the problem, its place, and how it was handled. All file readers report them.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

/// Severity of a [`Problem`]; errors sort first.
///
/// ```
/// use condyle_base::problem::Severity;
///
/// assert!(Severity::Error < Severity::Warning && Severity::Warning < Severity::Note);
/// assert_eq!(Severity::Warning.name(), "warning");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The file cannot be used and is rejected.
    Error,
    /// Violation of the specification, or an unsupported feature: repaired or dropped, as `Problem::action`
    /// states.
    Warning,
    /// Information only; no data is lost.
    Note,
}

impl Severity {
    /// Returns `error`, `warning` or `note`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        }
    }
}

/// One kind of problem in a file.
///
/// ```
/// use condyle_base::problem::{Problem, Severity};
///
/// let problem = Problem::new(Severity::Warning, "/nodes/3", "its scale is 0", "the node is ignored");
/// assert_eq!(problem.to_string(), "warning at /nodes/3: its scale is 0; the node is ignored");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Whether this is an error, a warning or a note.
    pub severity: Severity,
    /// First place: a JSON pointer such as `/animations/0/samplers/2/input` in a glTF document, `line 3` in a
    /// text file, `array poses` in a `.npz`. Empty for the whole file.
    pub place: String,
    /// The first places, at most 100, starting with `place`.
    pub places: Vec<String>,
    /// Total number of places.
    pub count: usize,
    /// The finding at the first place, and the expected value.
    pub what: String,
    /// How the reader handled the problem or, for an error, how to fix the file.
    pub action: String,
}

impl Problem {
    /// Creates a problem at one place. An empty string means the whole file.
    pub fn new(
        severity: Severity,
        place: impl Into<String>,
        what: impl Into<String>,
        action: impl Into<String>,
    ) -> Self {
        let place = place.into();
        Self {
            severity,
            places: vec![place.clone()],
            place,
            count: 1,
            what: what.into(),
            action: action.into(),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.severity.name())?;
        if !self.place.is_empty() {
            write!(f, " at {}", self.place)?;
        }
        write!(f, ": {}", self.what)?;
        if self.count > 1 {
            write!(f, " ({} places)", self.count)?;
        }
        write!(f, "; {}", self.action)
    }
}

/// A file that cannot be used, with all its problems. At least one problem is an error.
///
/// ```
/// use condyle_base::problem::Refused;
///
/// let refused = Refused::because("walk.bvh", "it is empty");
/// assert_eq!(refused.to_string(), "walk.bvh cannot be used\n  error: it is empty; the file is rejected");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// Path of the file, or the name that the caller passed.
    pub name: String,
    /// Problems, errors first.
    pub problems: Vec<Problem>,
}

impl Refused {
    /// Rejects a whole file for one reason.
    pub fn because(name: &str, what: impl Into<String>) -> Self {
        Self::at(name, "", what)
    }

    /// Rejects a file for one error at one place.
    pub fn at(name: &str, place: impl Into<String>, what: impl Into<String>) -> Self {
        let problem = Problem::new(Severity::Error, place, what, "the file is rejected");
        Self { name: name.to_owned(), problems: vec![problem] }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} cannot be used", self.name)?;
        self.problems.iter().try_for_each(|p| write!(f, "\n  {p}"))
    }
}

impl core::error::Error for Refused {}
