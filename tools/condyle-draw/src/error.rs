//! Reasons why something cannot be drawn.

use std::fmt;

/// Reason why something cannot be drawn, and the next step.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// A model, by its name, cannot be drawn.
    Model {
        /// Name of its document.
        name: String,
        /// The error, and its time.
        what: String,
    },
    /// A picture or a plot cannot be encoded.
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
