//! The problems of a file: what is wrong, where, and what is done about it. All readers of files report them.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

/// How bad a [`Problem`] is; the worst sorts first.
///
/// ```
/// use condyle_base::problem::Severity;
///
/// assert!(Severity::Error < Severity::Warning && Severity::Warning < Severity::Note);
/// assert_eq!(Severity::Warning.name(), "warning");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The file cannot be used as it is: it is refused.
    Error,
    /// Against the specification, or not supported: repaired or left out, as the problem's action says.
    Warning,
    /// Worth knowing; nothing is lost.
    Note,
}

impl Severity {
    /// `error`, `warning` or `note`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        }
    }
}

/// One kind of fault or oddity in a file.
///
/// ```
/// use condyle_base::problem::{Problem, Severity};
///
/// let problem = Problem::new(Severity::Warning, "/nodes/3", "its scale is 0", "the node is left out");
/// assert_eq!(problem.to_string(), "warning at /nodes/3: its scale is 0; the node is left out");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// How bad it is.
    pub severity: Severity,
    /// The first place: a JSON pointer such as `/animations/0/samplers/2/input` in a glTF document, `line 3`
    /// in a text, `array poses` in a `.npz`. Empty for the whole file.
    pub place: String,
    /// The first places, at most 100, `place` being the first of all.
    pub places: Vec<String>,
    /// The number of places where it was found.
    pub count: usize,
    /// What was found at the first place, and what was expected.
    pub what: String,
    /// What is done about it or, for an error, what can be done.
    pub action: String,
}

impl Problem {
    /// A problem at one place, which is empty for the whole file.
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

/// A file that cannot be used, with everything that was found in it. At least one problem is an error.
///
/// ```
/// use condyle_base::problem::Refused;
///
/// let refused = Refused::because("walk.bvh", "it is empty");
/// assert_eq!(refused.to_string(), "walk.bvh cannot be used\n  error: it is empty; the file is refused");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// The file: a path, or the name that the caller gave.
    pub name: String,
    /// Errors first.
    pub problems: Vec<Problem>,
}

impl Refused {
    /// A file that is refused as a whole, for one reason.
    pub fn because(name: &str, what: impl Into<String>) -> Self {
        Self::at(name, "", what)
    }

    /// A file that is refused for one error at one place.
    pub fn at(name: &str, place: impl Into<String>, what: impl Into<String>) -> Self {
        let problem = Problem::new(Severity::Error, place, what, "the file is refused");
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
