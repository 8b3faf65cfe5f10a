//! Reasons why two models cannot be compared.

use std::fmt;

/// Reason why two models cannot be compared. Models are named by the names given to
/// [`Subject`](crate::compare::Subject).
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Error {
    /// A model has more joints, vertices or bytes than a stage supports.
    TooLarge {
        /// Name of the model.
        model: String,
        /// The limit that is exceeded.
        error: condyle::Error,
    },
    /// The rest pose of a model cannot be computed.
    Rest {
        /// Name of the model.
        model: String,
        /// The error of the pose.
        error: condyle::Error,
    },
    /// The pose of a model at some moment of a clip cannot be computed.
    Moment {
        /// Name of the model.
        model: String,
        /// Time in seconds.
        seconds: f64,
        /// The error of the pose.
        error: condyle::Error,
    },
    /// Neither vertices nor joints correspond.
    Different {
        /// Names of both models.
        models: [String; 2],
        /// Reason why vertices were not paired.
        why: NoMeshes,
    },
    /// A clip would be compared at more than `limit` moments.
    TooManyMoments {
        /// Name of the clip of the first model.
        clip: String,
        /// Maximum number of moments.
        limit: usize,
    },
    /// The number of moments per second is not above 0.
    Fps {
        /// The value given.
        found: f64,
    },
    /// A model has no clip with this index.
    Clip {
        /// Name of the model.
        model: String,
        /// The index given.
        found: usize,
        /// Number of clips.
        count: usize,
    },
    /// The caller stopped the comparison.
    Stopped,
}

/// Reason why the vertices of two models were not paired.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum NoMeshes {
    /// A model has no vertices.
    Empty {
        /// Name of the model.
        model: String,
    },
    /// Less than half of the vertices of each model match a vertex of the other one at rest.
    Few {
        /// Number of vertices of the first model that match one.
        paired: usize,
        /// Number of vertices of the first model.
        vertices: usize,
        /// Names of both models.
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
                let none = "they have no joint in common";
                write!(f, "{a} and {b} do not hold the same model: {why}, and {none}")
            }
            Self::TooManyMoments { clip, limit } => {
                write!(f, "the clip {clip:?} would be compared at more than {limit} moments")
            }
            Self::Fps { found } => write!(f, "fps is {found}, expected a number above 0"),
            Self::Clip { model, found, count } => {
                write!(f, "{model} has {count} clips, clip {found} does not exist")
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
                write!(f, "at rest, {paired} of {vertices} vertices in {a} have a counterpart in {b}")
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
