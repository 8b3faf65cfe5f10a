//! Problems of a file, as text and as JSON.

use std::path::Path;

use condyle_gltf::{Problem, Severity};
use serde_json::{Value, json};

use crate::text::counted;

/// Counts the problems: `1 error, 2 warnings`; empty without problems.
pub(crate) fn summary(problems: &[Problem]) -> String {
    let kinds = [
        (Severity::Error, "error", "errors"),
        (Severity::Warning, "warning", "warnings"),
        (Severity::Note, "note", "notes"),
    ];
    let counts = kinds.map(|(severity, one, many)| {
        let count = problems.iter().filter(|p| p.severity == severity).count();
        (count > 0).then(|| counted(count, one, many))
    });
    counts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

pub(crate) fn to_json(model: &Path, usable: bool, problems: &[Problem]) -> Value {
    let problems: Vec<Value> = problems.iter().map(problem_to_json).collect();
    json!({ "file": model.to_string_lossy(), "usable": usable, "problems": problems })
}

pub(crate) fn problem_to_json(problem: &Problem) -> Value {
    json!({
        "severity": problem.severity.name(),
        "place": problem.place,
        "places": problem.places,
        "count": problem.count,
        "what": problem.what,
        "action": problem.action,
    })
}
