//! `condyle papers`: the figures of the papers that the library is built on, recomputed.

mod blow;
#[cfg(feature = "bench")]
mod cycles;
mod descent;
mod eberly;
mod page;
mod plots;
mod van_waveren;

use std::collections::BTreeSet;
use std::path::PathBuf;

use clap::ValueEnum;
use condyle_draw::plot::Plot;
use serde_json::{Map, Value, json};

use self::blow::Properties;
#[cfg(feature = "bench")]
use self::cycles::Cycles;
use self::descent::Descent;
use self::eberly::Tables;
use self::van_waveren::Errors;
use crate::failure::Failure;
use crate::options::overwrite::Overwrite;
use crate::output::{Written, check_destination, finish_file, keep_all, print, print_json, progress};

/// A macro and not a constant, as `concat!` takes nothing else.
macro_rules! help {
    ($van_waveren:literal) => {
        concat!(
            "\
Examples:
  condyle papers                             every table, next to the printed figures
  condyle papers --only eberly --json
  condyle papers -o .                        also three plots, as SVG
  condyle papers --markdown -o docs          the tables and plots of docs/papers.md (cargo xtask papers)

Eberly 2018, A Fast and Accurate Estimate for SLERP: his three tables of errors.
Van Waveren 2005, Slerping Clock Cycles, Fast Skinning, From Quaternion to Matrix and Back:",
            $van_waveren,
            "
Blow 2004, Understanding Slerp, Then Not Using It: his table of properties, measured, and nlerp as the step
of a solver.

The plot error-over-angle belongs to Eberly and van Waveren, velocity-over-t and rounds-over-step to Blow."
        )
    };
}

#[cfg(feature = "bench")]
const HELP: &str = help!(
    " his largest errors,
and his clock cycles next to those of this machine, which take a few seconds of an idle processor."
);
#[cfg(not(feature = "bench"))]
const HELP: &str = help!(" his largest errors.");

/// Recompute the tables of the papers that the library is built on
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Args {
    /// Only the papers of one author
    #[arg(long, value_enum, value_name = "AUTHOR")]
    only: Option<Author>,
    /// Draw plots into this folder, which is made if it is missing
    #[arg(short, long, value_name = "FOLDER")]
    output: Option<PathBuf>,
    #[command(flatten)]
    overwrite: Overwrite,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    /// Print the tables of docs/papers.md
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Author {
    Eberly,
    VanWaveren,
    Blow,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let wanted = |author| args.only.is_none_or(|only| only == author);
    let plots = plots(args);
    plots.iter().try_for_each(|(to, _)| check_destination(to, &BTreeSet::new(), args.overwrite))?;

    let mut json = Map::new();
    let (mut text, mut markdown) = (Vec::new(), String::new());
    let mut add = |key: &str, value: Value, part: String, tables: String| {
        json.insert(key.into(), value);
        text.push(part);
        markdown += &tables;
    };
    let timed = if wanted(Author::VanWaveren) { timed_routines() } else { 0 };
    let bar = progress(timed + plots.len(), "computing");
    if wanted(Author::Eberly) {
        let tables = Tables::compute();
        add("eberly", tables.json(), tables.text(), tables.markdown());
    }
    if wanted(Author::VanWaveren) {
        let (json, text, markdown) = van_waveren(|| bar.inc(1))?;
        add("van_waveren", json, text, markdown);
    }
    if wanted(Author::Blow) {
        let properties = Properties::measure();
        add("blow", properties.json(), properties.text(), properties.markdown());
        let descent = Descent::measure();
        add("blow_descent", descent.json(), descent.text(), descent.markdown());
    }
    let mut files = Vec::new();
    for (to, plot) in plots {
        let svg = plot().svg()?;
        files.push(finish_file(to, |out| out.write_all(svg.as_bytes()))?);
        bar.inc(1);
    }
    bar.finish_and_clear();
    let files = keep_all(files)?;
    if !files.is_empty() {
        let written = files.iter().map(Written::to_json).collect();
        add("files", written, format!("{}\n", Written::summary(&files)), String::new());
    }
    match (args.json, args.markdown) {
        (true, _) => print_json(&format!("{:#}", Value::Object(json))),
        (_, true) => print(&markdown),
        _ => print(&text.join("\n")),
    }
}

/// How many routines of van Waveren are timed.
fn timed_routines() -> usize {
    #[cfg(feature = "bench")]
    return Cycles::steps();
    #[cfg(not(feature = "bench"))]
    0
}

/// Van Waveren's errors and clock cycles, as JSON, as text and as Markdown.
#[cfg(feature = "bench")]
fn van_waveren(progress: impl FnMut()) -> Result<(Value, String, String), Failure> {
    let (errors, cycles) = (Errors::compute(), Cycles::measure(progress)?);
    let json = json!({ "errors": errors.json(), "cycles": cycles.json() });
    Ok((json, format!("{}\n{}", errors.text(), cycles.text()), errors.markdown() + &cycles.markdown()))
}

/// Van Waveren's errors alone, as JSON, as text and as Markdown: clock cycles need the benchmark.
#[cfg(not(feature = "bench"))]
fn van_waveren(_: impl FnMut()) -> Result<(Value, String, String), Failure> {
    let errors = Errors::compute();
    Ok((json!({ "errors": errors.json() }), errors.text(), errors.markdown()))
}

/// Where each plot goes, and what draws it.
fn plots(args: &Args) -> Vec<(PathBuf, fn() -> Plot)> {
    let Some(folder) = &args.output else { return Vec::new() };
    let mut plots: Vec<(PathBuf, fn() -> Plot)> = Vec::new();
    if args.only != Some(Author::Blow) {
        plots.push((folder.join("error-over-angle.svg"), plots::error));
    }
    if args.only.is_none_or(|only| only == Author::Blow) {
        plots.push((folder.join("velocity-over-t.svg"), plots::velocity));
        plots.push((folder.join("rounds-over-step.svg"), plots::rounds));
    }
    plots
}
