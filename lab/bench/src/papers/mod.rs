//! `condyle-bench papers`: recomputed figures of the papers that the library is based on.

mod balance;
mod blow;
mod cycles;
mod descent;
mod eberly;
mod page;
mod plots;
mod van_waveren;

use std::fs;
use std::path::PathBuf;

use clap::ValueEnum;
use condyle_draw::plot::Plot;
use serde_json::{Map, Value, json};

use self::blow::Properties;
use self::cycles::Cycles;
use self::descent::Descent;
use self::eberly::Tables;
use self::van_waveren::Errors;

/// Recomputes the tables of the papers that the library is based on.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  condyle-bench papers                             every table, next to the printed figures
  condyle-bench papers --only eberly --json
  condyle-bench papers -o .                        also three plots, as SVG
  condyle-bench papers --markdown -o docs/reports  the tables and plots of docs/reports/papers.md (cargo xtask papers)

Eberly 2018, A Fast and Accurate Estimate for SLERP: his three tables of errors.
Van Waveren 2005, Slerping Clock Cycles, Fast Skinning, From Quaternion to Matrix and Back: his largest errors
and his clock cycles next to those of this machine. The measurement takes a few seconds on an idle processor.
Blow 2004, Understanding Slerp, Then Not Using It: his table of properties with measured values, and nlerp
as the step of a solver.

The plot error-over-angle belongs to Eberly and van Waveren, velocity-over-t and rounds-over-step to Blow.")]
pub(crate) struct Args {
    /// Process only the papers of one author.
    #[arg(long, value_enum, value_name = "AUTHOR")]
    only: Option<Author>,
    /// Draw plots into this folder, which is created if it is missing. Existing plots are replaced.
    #[arg(short, long, value_name = "FOLDER")]
    output: Option<PathBuf>,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
    /// Print the tables of docs/reports/papers.md.
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Author {
    Eberly,
    VanWaveren,
    Blow,
}

/// Returns the text to print. Calls `progress` with the name of each step before it starts.
///
/// # Errors
/// The file that cannot be written, with the reason.
pub(crate) fn run(args: &Args, mut progress: impl FnMut(&str)) -> Result<String, String> {
    let wanted = |author| args.only.is_none_or(|only| only == author);
    let mut json = Map::new();
    let (mut text, mut markdown) = (Vec::new(), String::new());
    let mut add = |key: &str, value: Value, part: String, tables: String| {
        json.insert(key.into(), value);
        text.push(part);
        markdown += &tables;
    };
    if wanted(Author::Eberly) {
        progress("Eberly's tables");
        let tables = Tables::compute();
        add("eberly", tables.json(), tables.text(), tables.markdown());
    }
    if wanted(Author::VanWaveren) {
        progress("van Waveren's errors");
        let errors = Errors::compute();
        let cycles = Cycles::measure(|| progress("van Waveren's routines"));
        let json = json!({ "errors": errors.json(), "cycles": cycles.json() });
        let text = format!("{}\n{}", errors.text(), cycles.text());
        add("van_waveren", json, text, errors.markdown() + &cycles.markdown());
    }
    if wanted(Author::Blow) {
        progress("Blow's properties");
        let properties = Properties::measure();
        add("blow", properties.json(), properties.text(), properties.markdown());
        progress("Blow's solver");
        let descent = Descent::measure();
        add("blow_descent", descent.json(), descent.text(), descent.markdown());
    }
    let mut files = Vec::new();
    for (to, plot) in plots(args) {
        progress("plots");
        let failed = |e: &dyn std::fmt::Display| format!("{}: {e}", to.display());
        let svg = plot().svg().map_err(|e| failed(&e))?;
        if let Some(folder) = to.parent() {
            fs::create_dir_all(folder).map_err(|e| failed(&e))?;
        }
        fs::write(&to, svg).map_err(|e| failed(&e))?;
        files.push(to.display().to_string());
    }
    if !files.is_empty() {
        let lines: String = files.iter().map(|file| format!("{file}\n")).collect();
        add("files", json!(files), lines, String::new());
    }
    Ok(match (args.json, args.markdown) {
        (true, _) => format!("{:#}\n", Value::Object(json)),
        (_, true) => markdown,
        _ => text.join("\n"),
    })
}

/// File of each plot, and the function that draws it.
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
