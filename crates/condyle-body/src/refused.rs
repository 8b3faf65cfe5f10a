//! Why a file cannot be used.

use std::fmt;

/// A file that cannot be used: which array of it, what was found, and what was expected.
///
/// ```
/// let Err(refused) = condyle_body::BodyModel::open("no such file.npz") else { panic!("it is there") };
/// assert_eq!((refused.name.as_str(), refused.array.as_str()), ("no such file.npz", ""));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// The file: a path, or the name that the caller gave.
    pub name: String,
    /// The array; empty for the file as a whole.
    pub array: String,
    /// What was found, and what was expected.
    pub what: String,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} cannot be used", self.name)?;
        if !self.array.is_empty() {
            write!(f, ": array {}", self.array)?;
        }
        write!(f, ": {}", self.what)
    }
}

impl std::error::Error for Refused {}
