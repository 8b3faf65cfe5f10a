//! `condyle check`: every problem of every file.

use std::path::{Path, PathBuf};

use condyle_io::{OpenError, Options, Problem, Severity};

use crate::failure::Failure;
use crate::model::container::is_container;
use crate::model::entries;
use crate::model::problems::{summary, to_json};
use crate::options::heading::REPORT;
use crate::output::{print, print_json, progress};
use crate::text::{counted, path_text, printable};

/// List all problems of models, and how they are handled
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  condyle check fox.glb
  condyle check models/*.glb --json | jq 'select(.usable | not).file'

A file with an error cannot be used, a warning reports a repair, and a note is information only. All
files are checked, and the exit code is 1 if any of them cannot be used. With --json, each file is
one line.")]
pub(crate) struct Args {
    /// Files to check: .glb, .gltf, .vrm, .vrma, .bvh, .npz or .condyle
    #[arg(required = true, value_name = "MODEL")]
    models: Vec<PathBuf>,
    /// Print one JSON object per line, one for each file
    #[arg(long, help_heading = REPORT)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let mut unusable = 0;
    let bar = progress(args.models.len(), "checking");
    for model in &args.models {
        let (usable, problems) = problems_of(model);
        unusable += usize::from(!usable);
        bar.suspend(|| match args.json {
            true => print_json(&to_json(model, usable, &problems).to_string()),
            false => print(&to_text(&path_text(model), usable, &problems)),
        })?;
        bar.inc(1);
    }
    bar.finish_and_clear();
    match unusable {
        0 => Ok(()),
        _ => Err(Failure::Data(format!(
            "{} of {} cannot be used; correct the errors listed above",
            unusable,
            counted(args.models.len(), "file", "files")
        ))),
    }
}

/// Returns whether a file can be used, and its problems.
fn problems_of(path: &Path) -> (bool, Vec<Problem>) {
    if is_container(path) {
        let faults = entries::faults(path);
        return (faults.is_empty(), faults);
    }
    match condyle_io::open(path, &Options::default()) {
        Ok(model) => (true, model.problems),
        // The motion of a body is valid without a body model.
        Err(OpenError::Misfit { misfit, .. }) => {
            let action = "encode the folder that it is in with --body MODEL.npz";
            (true, vec![Problem::new(Severity::Note, "", misfit.to_string(), action)])
        }
        Err(error) => (false, error.problems()),
    }
}

fn to_text(file: &str, usable: bool, problems: &[Problem]) -> String {
    let verdict = if usable { "usable" } else { "cannot be used" };
    let mut out = match problems {
        [] => format!("{file}: no problems\n"),
        _ => format!("{file}: {verdict}, {}\n", summary(problems)),
    };
    for problem in problems {
        let severity = problem.severity.name();
        let place =
            if problem.place.is_empty() { "the whole file".into() } else { printable(&problem.place) };
        out.push_str(&format!("  {severity:<8} {place}{}\n", others(problem)));
        out.push_str(&format!("           {}\n", printable(&problem.what)));
        out.push_str(&format!("           -> {}\n", printable(&problem.action)));
    }
    out
}

/// Lists the places of a problem other than the first, as many as fit into a line.
fn others(problem: &Problem) -> String {
    const SHOWN: usize = 3;
    let shown: Vec<_> = problem.places.iter().skip(1).take(SHOWN).map(|place| printable(place)).collect();
    let list = shown.join(", ");
    match problem.count.saturating_sub(1) {
        0 => String::new(),
        more if more == shown.len() => format!(", and {list}"),
        more => format!(", {list} and {}", counted(more - shown.len(), "more place", "more places")),
    }
}
