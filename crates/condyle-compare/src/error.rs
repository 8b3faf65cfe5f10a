//! Why two models cannot be compared.

use std::fmt;

/// Why two models cannot be compared. Models are called by the names that they were given.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Error {
    /// A model has more joints, vertices or bytes than a stage can take.
    TooLarge {
        /// Which of the two.
        model: String,
        /// What it has too much of.
        error: condyle::Error,
    },
    /// A model cannot be posed as it is at rest.
    Rest {
        /// Which of the two.
        model: String,
        /// What is wrong with the pose.
        error: condyle::Error,
    },
    /// A model cannot be posed at some moment of a clip.
    Moment {
        /// Which of the two.
        model: String,
        /// The moment.
        seconds: f64,
        /// What is wrong with the pose.
        error: condyle::Error,
    },
    /// Neither vertices nor joints correspond.
    Different {
        /// The names of both.
        models: [String; 2],
        /// Why vertices do not.
        why: NoMeshes,
    },
    /// A clip would be compared at more than `limit` moments.
    TooManyMoments {
        /// The clip of the first model.
        clip: String,
        /// As many as there may be.
        limit: usize,
    },
    /// So many moments a second do not exist.
    Fps {
        /// What was asked for.
        found: f64,
    },
    /// A model has no clip of this number.
    Clip {
        /// Which of the two.
        model: String,
        /// The number.
        found: usize,
        /// How many clips there are.
        count: usize,
    },
    /// The caller did not want to go on.
    Stopped,
}

/// Why the vertices of two models were not paired.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum NoMeshes {
    /// A model has none.
    Empty {
        /// Which of the two.
        model: String,
    },
    /// Less than half of the vertices of each model are at rest where one of the other is.
    Few {
        /// Of the first model, those that are.
        paired: usize,
        /// All vertices of the first model.
        vertices: usize,
        /// The names of both.
        models: [String; 2],
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge { model, error } => write!(f, "{model}: {error}"),
            Self::Rest { model, error } => write!(f, "{model} at rest: {error}"),
            Self::Moment { model, seconds, error } => write!(f, "{model} at {seconds} s: {error}"),
            Self::Different { models: [a, b], why } => {
                let none = "no joint of one is one of the other";
                write!(f, "{a} and {b} do not hold the same model: {why}, and {none}")
            }
            Self::TooManyMoments { clip, limit } => {
                write!(f, "the clip {clip:?} would be compared at more than {limit} moments")
            }
            Self::Fps { found } => write!(f, "fps is {found}, a number above 0 is wanted"),
            Self::Clip { model, found, count } => {
                write!(f, "{model} has {count} clips, none is number {found}")
            }
            Self::Stopped => f.write_str("the comparison was stopped"),
        }
    }
}

impl fmt::Display for NoMeshes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty { model } => write!(f, "{model} has no vertices"),
            Self::Few { paired, vertices, models: [a, b] } => {
                write!(f, "only {paired} of {vertices} vertices in {a} are at rest where one of {b} is")
            }
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::TooLarge { error, .. } | Self::Rest { error, .. } | Self::Moment { error, .. } => {
                Some(error)
            }
            _ => None,
        }
    }
}
