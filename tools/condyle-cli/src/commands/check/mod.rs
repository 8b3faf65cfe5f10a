//! `condyle check`: every problem of every file.

mod motion;

use std::path::{Path, PathBuf};

use condyle_io::job::{Folder, LeftOut};
use condyle_io::{Format, OpenError, Options, Problem, Severity};
use serde_json::{Value, json};

use self::motion::Report;
use crate::failure::Failure;
use crate::model::container::is_container;
use crate::model::entries;
use crate::model::problems::{summary, to_json};
use crate::options::heading::{PICTURE, REPORT};
use crate::output::{print, print_json, progress, warn};
use crate::text::{counted, path_text, printable};

/// List all problems of models, and how they are handled
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  condyle check fox.glb
  condyle check models/*.glb --json | jq 'select(.usable | not).file'
  condyle check mocap                                every file of a folder, and of its subfolders
  condyle check fox.glb --motion                     what a viewer sees: jumps, spikes, loops that do not close
  condyle check walk.glb --motion --pictures worst   a picture of each worst moment, in the folder worst

A file with an error cannot be used, a warning reports a repair, and a note is information only. All
files are checked, and the exit code is 1 if any of them cannot be used. With --json, each file is
one line.

--motion looks for a first frame in the rest pose, jumps of the whole body, joints that turn away and
back or flip in a frame, bones that change their length, loops that do not close, drift or turn, feet
that slide while they stand, and clips that are equal. Defects do not change the exit code. A library
is checked model by model.")]
pub(crate) struct Args {
    /// Files to check, or folders of them: .glb, .gltf, .vrm, .vrma, .fbx, .bvh, .npz or .condyle
    #[arg(required = true, value_name = "MODEL|FOLDER")]
    models: Vec<PathBuf>,
    /// Draw the worst moment of each defect, up to 24 per file, as PNG files in this folder
    #[arg(long, value_name = "FOLDER", requires = "motion", help_heading = PICTURE)]
    pictures: Option<PathBuf>,
    /// Look for defects in the motion of all clips too
    #[arg(long, help_heading = REPORT)]
    motion: bool,
    /// Print one JSON object per line, one for each file
    #[arg(long, help_heading = REPORT)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let (files, unreadable) = files_of(&args.models)?;
    let mut unusable = unreadable.len();
    let count = files.len() + unusable;
    unreadable.iter().for_each(|it| warn(&it.path, &format!("left out: {}", it.why)));
    let bar = progress(files.len(), "checking");
    for model in &files {
        let (usable, problems) = problems_of(model);
        unusable += usize::from(!usable);
        let mut json = to_json(model, usable, &problems);
        let mut text = to_text(&path_text(model), usable, &problems);
        if args.motion && usable {
            add_motion(args, model, &mut text, &mut json)?;
        }
        bar.suspend(|| match args.json {
            true => print_json(&json.to_string()),
            false => print(&text),
        })?;
        bar.inc(1);
    }
    bar.finish_and_clear();
    match unusable {
        0 => Ok(()),
        _ => Err(Failure::Data(format!(
            "{} of {} cannot be used; correct the errors listed above",
            unusable,
            counted(count, "file", "files")
        ))),
    }
}

/// Replaces folders by the files in them, and lists the subfolders that cannot be read.
fn files_of(inputs: &[PathBuf]) -> Result<(Vec<PathBuf>, Vec<LeftOut>), Failure> {
    let endings: Vec<&str> = Format::ALL.into_iter().flat_map(Format::endings).copied().collect();
    let (mut files, mut unreadable) = (Vec::new(), Vec::new());
    for input in inputs {
        if !input.is_dir() {
            files.push(input.clone());
            continue;
        }
        let (sources, left_out) = Folder { root: input, endings: &endings, except: &[] }.sources();
        if sources.is_empty() && left_out.is_empty() {
            return Err(Failure::Data(format!("{} has no files that can be checked", path_text(input))));
        }
        files.extend(sources.into_iter().map(|source| source.path));
        unreadable.extend(left_out);
    }
    Ok((files, unreadable))
}

/// Adds the defects of the motion of a file, and of each model of a container with several.
fn add_motion(args: &Args, path: &Path, text: &mut String, json: &mut Value) -> Result<(), Failure> {
    let reports = Report::all(path)?;
    let is_library = reports.len() > 1;
    let mut models = Vec::new();
    for report in reports {
        let mut motion = report.to_json();
        *text += &report.to_text();
        if let Some(folder) = &args.pictures {
            let files = report.draw(path, folder)?;
            motion["pictures"] = files.iter().map(|file| file.to_string_lossy()).collect();
            files.iter().for_each(|file| *text += &format!("  {}\n", path_text(file)));
        }
        models.push(motion);
    }
    json["motion"] = match is_library {
        true => json!({ "models": models }),
        false => models.pop().unwrap_or_default(),
    };
    Ok(())
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
