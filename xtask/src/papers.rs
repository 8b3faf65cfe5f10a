//! `cargo xtask papers`: fills the tables and plots of docs/reports/papers.md with the results of `condyle-bench
//! papers`.

use std::time::Duration;

use crate::step::{Log, Outcome, Stop, cargo, fill};

const PAGE: &str = "docs/reports/papers.md";
const BEGIN: &str = "<!-- condyle-bench papers: ";
const END: &str = "<!-- end -->\n";

/// Fills every table. Requires an idle machine, because some tables contain clock cycles.
pub(crate) fn write(log: &mut Log) -> Outcome {
    let build = ["--release", "-p", "condyle-bench", "--bin", "condyle-bench"];
    log.run(&mut cargo("build", build))?;
    log.limit = Duration::from_secs(600);
    let papers = ["--", "papers", "--markdown", "--output", "docs/reports"];
    let tables = log.capture(&mut cargo("run", build.into_iter().chain(papers)))?;
    let mut count = 0;
    for table in tables.split_inclusive(END) {
        let (name, body) = table.split_once('\n').unwrap_or_default();
        if !name.starts_with(BEGIN) {
            return Err(Stop::Failed(format!("a table begins with {name:?}, not with {BEGIN:?}")));
        }
        fill(PAGE, [&format!("{name}\n"), END], body.trim_end_matches(END))?;
        count += 1;
    }
    Ok(format!("{count} tables and the plots, written to {PAGE}"))
}
