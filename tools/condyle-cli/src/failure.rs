//! The reason for a failed command, and its exit code.

use std::fmt;
use std::process::ExitCode;

use condyle_io::job::{DestinationError, OverBudget, WriteError};

use crate::text::printable_lines;

/// Reason for a failed command. Every message names the file, the place in it, and the next step.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The command line requests something impossible: exit code 2.
    Usage(String),
    /// A file cannot be read, used or written: exit code 1.
    Data(String),
}

impl Failure {
    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(match self {
            Self::Data(_) => 1,
            Self::Usage(_) => 2,
        })
    }
}

impl From<condyle_draw::Error> for Failure {
    fn from(error: condyle_draw::Error) -> Self {
        Self::Data(error.to_string())
    }
}

impl From<DestinationError> for Failure {
    fn from(error: DestinationError) -> Self {
        let next = match &error {
            _ if error.is_in_file() => "choose another path with -o",
            _ if error.has_no_name() => "name a file with -o",
            _ if error.is_read_only() => "choose another name with -o, or replace it with --force",
            _ => "choose another name with -o",
        };
        Self::Usage(format!("{error}; {next}"))
    }
}

impl From<WriteError> for Failure {
    fn from(error: WriteError) -> Self {
        Self::Data(error.to_string())
    }
}

impl From<OverBudget> for Failure {
    fn from(error: OverBudget) -> Self {
        let (factor, needed) = (error.factor, error.needed());
        Self::Data(format!(
            "{error}, and --max-work is {factor}; reduce the request or, if you trust the file, allow it with \
             --max-work {needed}"
        ))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Usage(message) | Self::Data(message)) = self;
        // A message may quote text from a file, and is printed on a terminal.
        f.write_str(&printable_lines(message))
    }
}

/// Returns the failure for an asset with more joints, vertices or bytes than a stage supports.
pub(crate) fn too_large(file: &str, error: &dyn fmt::Display) -> Failure {
    Failure::Data(format!("{file}: {error}; remove the parts of the model that you do not need"))
}
