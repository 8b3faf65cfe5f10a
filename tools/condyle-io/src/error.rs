//! Errors when opening a file.

use std::fmt;

use condyle_base::problem::{Problem, Refused, Severity};

/// Error when opening a file. Its message includes all [`problems`](Self::problems).
#[derive(Debug)]
#[non_exhaustive]
pub enum OpenError {
    /// The file does not exist or cannot be read.
    Unreadable {
        /// Path of the file.
        name: String,
        /// Error of the operating system.
        error: std::io::Error,
    },
    /// The file cannot be used.
    Refused(Refused),
    /// An option does not apply to the file.
    Misfit {
        /// Path of the file, or the name that the caller passed.
        name: String,
        /// The option and the reason.
        misfit: Misfit,
    },
}

/// An option that does not apply to the file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Misfit {
    /// [`Options::model`](crate::Options::model) is missing: the container has several models, with these
    /// names.
    SeveralModels(Vec<String>),
    /// The container has no model with this name. The list holds the names of its models.
    NoSuchModel(String, Vec<String>),
    /// No model of the container has a clip with this name. The list holds the names of all clips.
    NoSuchClip(String, Vec<String>),
    /// [`Options::model`](crate::Options::model) applies only to containers.
    SingleModel,
    /// `Options::person` applies only to body motion.
    NoBody,
    /// `Options::person` is missing: the file contains body motion.
    PersonMissing,
    /// [`Options::z_up`](crate::Options::z_up) cannot rotate compressed clips.
    Compressed,
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SeveralModels(names) => write!(f, "it holds several models: {}", names.join(", ")),
            Self::NoSuchModel(wanted, names) => {
                write!(f, "it has no model {wanted:?}, only {}", names.join(", "))
            }
            Self::NoSuchClip(wanted, names) => {
                write!(f, "none of its models has a clip {wanted:?}, only {}", names.join(", "))
            }
            Self::SingleModel => {
                write!(f, "it is a single model; a model name applies only to a .condyle with several")
            }
            Self::NoBody => {
                write!(f, "it is not the motion of a body; a person applies only to a .npz of body motion")
            }
            Self::PersonMissing => write!(f, "it is the motion of a body, but the person is missing"),
            Self::Compressed => {
                write!(f, "its clips are compressed and cannot be rotated; rotate its source files instead")
            }
        }
    }
}

impl OpenError {
    /// Returns all problems, errors first.
    #[must_use]
    pub fn problems(&self) -> Vec<Problem> {
        let one = |what, action| vec![Problem::new(Severity::Error, "", what, action)];
        match self {
            Self::Unreadable { error, .. } => one(
                format!("the file cannot be read: {error}"),
                "check that the path is a regular file that you can read",
            ),
            Self::Refused(refused) => refused.problems.clone(),
            Self::Misfit { misfit, .. } => one(misfit.to_string(), "the file is not opened"),
        }
    }
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable { name, .. } => {
                write!(f, "{name} cannot be used")?;
                self.problems().iter().try_for_each(|problem| write!(f, "\n  {problem}"))
            }
            Self::Refused(refused) => refused.fmt(f),
            Self::Misfit { name, misfit } => write!(f, "{name}: {misfit}"),
        }
    }
}

// The message includes the system error, so there is no source.
impl std::error::Error for OpenError {}

impl From<Refused> for OpenError {
    fn from(refused: Refused) -> Self {
        Self::Refused(refused)
    }
}
