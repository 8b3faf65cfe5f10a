//! Exceptions, and the problems of a file.

use std::ffi::CString;
use std::path::Path;

use pyo3::create_exception;
use pyo3::exceptions::{PyUserWarning, PyValueError};
use pyo3::prelude::*;

create_exception!(
    condyle,
    Error,
    PyValueError,
    "Invalid argument or operation. The message states the expected value and the value found."
);
create_exception!(
    condyle,
    FileError,
    Error,
    "File that cannot be used. `problems` lists all problems found, errors first."
);

/// Problem found in a file: its location, a description, and how it was handled.
#[pyclass(frozen, get_all, module = "condyle")]
#[derive(Clone)]
pub(crate) struct Problem {
    /// Severity: "error", "warning" or "note".
    severity: String,
    /// First location: a JSON pointer, a line or an array name. Empty for the whole file.
    place: String,
    /// Number of locations.
    count: usize,
    /// Value found at the first location, and the expected value.
    what: String,
    /// How the problem was handled, or a possible remedy.
    action: String,
}

#[pymethods]
impl Problem {
    #[new]
    fn new(severity: String, place: String, count: usize, what: String, action: String) -> Self {
        Self { severity, place, count, what, action }
    }

    fn __getnewargs__(&self) -> (&str, &str, usize, &str, &str) {
        (&self.severity, &self.place, self.count, &self.what, &self.action)
    }

    fn __str__(&self) -> String {
        let place = if self.place.is_empty() { String::new() } else { format!(" at {}", self.place) };
        let count = if self.count > 1 { format!(" ({} places)", self.count) } else { String::new() };
        format!("{}{place}: {}{count}; {}", self.severity, self.what, self.action)
    }

    fn __repr__(&self) -> String {
        format!("<condyle.Problem {}>", self.__str__())
    }
}

impl Problem {
    /// Problem that rejects the whole file.
    pub(crate) fn of_file(what: String) -> Self {
        let action = "the file is rejected".into();
        Self { severity: "error".into(), place: String::new(), count: 1, what, action }
    }
}

impl From<&condyle_io::Problem> for Problem {
    fn from(it: &condyle_io::Problem) -> Self {
        Self {
            severity: it.severity.name().into(),
            place: it.place.clone(),
            count: it.count,
            what: it.what.clone(),
            action: it.action.clone(),
        }
    }
}

/// Reason that a path cannot be read.
pub(crate) enum Unreadable {
    Missing(std::io::Error),
    NoFile,
}

impl Unreadable {
    /// Converts to OSError or FileError.
    pub(crate) fn raised(self, py: Python<'_>, name: &str) -> PyErr {
        match self {
            Self::Missing(e) => std::io::Error::new(e.kind(), format!("{name}: {e}")).into(),
            Self::NoFile => unusable(py, name, vec![Problem::of_file("it is not a regular file".into())]),
        }
    }
}

/// Checks that the path is a regular file that can be opened. Opening a pipe would wait for a writer.
pub(crate) fn check_file(path: &Path) -> Result<(), Unreadable> {
    if !std::fs::metadata(path).map_err(Unreadable::Missing)?.is_file() {
        return Err(Unreadable::NoFile);
    }
    std::fs::File::open(path).map_err(Unreadable::Missing).map(drop)
}

/// Issues a UserWarning at the caller's line.
pub(crate) fn warn(py: Python<'_>, text: &str) -> PyResult<()> {
    let text = CString::new(text.replace('\0', "\u{fffd}"))?;
    PyErr::warn(py, &py.get_type::<PyUserWarning>(), &text, 1)
}

/// Exception for an error of the library.
pub(crate) fn refused(error: condyle::Error) -> PyErr {
    Error::new_err(error.to_string())
}

/// Exception for a file that cannot be used.
pub(crate) fn unusable(py: Python<'_>, name: &str, problems: Vec<Problem>) -> PyErr {
    let lines: String = problems.iter().map(|problem| format!("\n  {}", problem.__str__())).collect();
    let error = FileError::new_err(format!("{name} cannot be used{lines}"));
    match error.value(py).setattr("problems", problems) {
        Ok(()) => error,
        Err(e) => e,
    }
}
