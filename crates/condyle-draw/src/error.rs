//! Why something cannot be drawn.

use std::fmt;

/// Why something cannot be drawn: what was found, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// A model, by its name, cannot be drawn.
    Model {
        /// What its document was opened as.
        name: String,
        /// What is wrong with it, at which moment.
        what: String,
    },
    /// A picture or a plot cannot be made a file.
    Picture(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Model { name, what } => write!(f, "{name}: {what}"),
            Self::Picture(what) => f.write_str(what),
        }
    }
}

impl std::error::Error for Error {}
