//! `bounds`: looks for cases that break what the documentation states about errors.

mod claims;
mod climb;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use rayon::prelude::*;
use serde_json::{Value, json};

use claims::fuses;
use climb::{Claim, Witness, climb};

/// Attacks the bounds that docs/accuracy.md states, by a search that climbs, on every instruction set and in both modes.
///
/// A row for each bound: the worst error that was found, as a part of what is stated. The exit code is 1 if one is above 1, or if a
/// result is no number. The search begins at the worst cases of earlier ones, which are kept beside its source, and are a test.
#[derive(Parser)]
#[command(
    after_help = "Examples:\n  bounds --seconds 3600\n  bounds --only slerp9 --seed 7 --seconds 30\n  \
    bounds --seconds 3600 --markdown --keep bench/src/bin/bounds/witnesses.jsonl"
)]
struct Args {
    /// How long all of it takes, about, on all cores
    #[arg(long, default_value_t = 60.0, value_parser = seconds)]
    seconds: f64,
    /// Only bounds whose name contains this
    #[arg(long, default_value = "")]
    only: String,
    /// Another seed finds other cases
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// One JSON object per line
    #[arg(long, conflicts_with = "markdown")]
    json: bool,
    /// The table of docs/accuracy.md
    #[arg(long)]
    markdown: bool,
    /// Writes the worst case of each bound there
    #[arg(long, value_name = "FILE")]
    keep: Option<PathBuf>,
}

fn seconds(text: &str) -> Result<f64, String> {
    let seconds: Option<f64> = text.parse().ok().filter(|s| (0.001..1e6).contains(s));
    seconds.ok_or_else(|| "expected seconds, from a thousandth to a million".into())
}

fn main() -> ExitCode {
    let args = Args::parse();
    let mut claims = claims::all();
    claims.retain(|claim| claim.name().contains(&args.only));
    if claims.is_empty() {
        eprintln!("no bound's name contains `{}`", args.only);
        return ExitCode::from(2);
    }
    let known = known();
    let share = args.seconds * rayon::current_num_threads() as f64 / claims.len() as f64;
    let found: Vec<Witness> = claims
        .par_iter()
        .map(|claim| {
            let known = known.get(&claim.what).map_or(&[][..], Vec::as_slice);
            let begun = Instant::now();
            climb(claim, known, args.seed, 2000);
            let each = begun.elapsed().as_secs_f64() / 2000.0;
            let found = climb(claim, known, args.seed, (share / each).max(2000.0) as usize);
            if args.json {
                println!("{}", json!({ "claim": claim.name(), "found": found.error, "case": found.case }));
            } else if !args.markdown {
                let mark = if found.error <= 1.0 { "" } else { "  BROKEN" };
                println!("{:48} {:.4}  {:?}{mark}", claim.name(), found.error, found.case);
            }
            found
        })
        .collect();
    if args.markdown {
        print!("{}", table(&claims, &found));
    }
    if let Some(path) = &args.keep
        && let Err(e) = std::fs::write(path, lines(&claims, &found))
    {
        eprintln!("{}: {e}", path.display());
        return ExitCode::FAILURE;
    }
    let broken = found.iter().filter(|found| found.error.is_nan() || found.error > 1.0).count();
    eprintln!("{} bounds attacked, {broken} broken", claims.len());
    if broken == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The worst cases of earlier searches, by what they are of.
fn known() -> BTreeMap<String, Vec<Vec<f32>>> {
    let case = |line: &str| -> Option<(String, Vec<f32>)> {
        let row: Value = serde_json::from_str(line).ok()?;
        let numbers = row["case"].as_array()?.iter().map(|v| v.as_f64().map(|v| v as f32));
        Some((row["what"].as_str()?.into(), numbers.collect::<Option<_>>()?))
    };
    let mut known = BTreeMap::<String, Vec<Vec<f32>>>::new();
    for (what, case) in include_str!("witnesses.jsonl").lines().filter_map(case) {
        known.entry(what).or_default().push(case);
    }
    known
}

/// The worst case of each bound where multiply-adds are fused, and where they are not, as a line of JSON.
fn lines(claims: &[Claim], found: &[Witness]) -> String {
    let mut worst: BTreeMap<(&str, bool), &Witness> = BTreeMap::new();
    for (claim, found) in claims.iter().zip(found) {
        let entry = worst.entry((&claim.what, claim.dispatch.is_some_and(fuses))).or_insert(found);
        if found.error > entry.error {
            *entry = found;
        }
    }
    let line = |((what, _), found): ((&str, bool), &Witness)| {
        json!({ "what": what, "case": found.case }).to_string() + "\n"
    };
    worst.into_iter().map(line).collect()
}

/// A bound where multiply-adds are fused, and where they are not; and what was found there.
struct Row<'a> {
    what: &'a str,
    bounds: [Option<f64>; 2],
    found: [f64; 2],
}

/// What is stated, and how much of it was found: where multiply-adds are fused, and where they are not.
fn table(claims: &[Claim], found: &[Witness]) -> String {
    let mut out = String::from("| | bound | found, fused | found, not fused |\n|---|---|--:|--:|\n");
    let mut rows: Vec<Row<'_>> = Vec::new();
    for (claim, found) in claims.iter().zip(found) {
        let at = usize::from(!claim.dispatch.is_some_and(fuses));
        let place = rows.iter().position(|row| row.what == claim.what).unwrap_or_else(|| {
            rows.push(Row { what: &claim.what, bounds: [None; 2], found: [0.0; 2] });
            rows.len() - 1
        });
        let row = &mut rows[place];
        row.bounds[at] = Some(claim.bound);
        row.found[at] = row.found[at].max(found.error);
    }
    for Row { what, bounds, found } in rows {
        let bound = match bounds {
            [Some(fused), Some(other)] if fused != other => format!("{fused:.2e}; {other:.2e}"),
            [fused, other] => format!("{:.2e}", fused.or(other).unwrap_or(f64::NAN)),
        };
        let part = |at: usize| bounds[at].map_or(String::new(), |_| format!("{:.0} %", 100.0 * found[at]));
        writeln!(out, "| {what} | {bound} | {} | {} |", part(0), part(1)).ok();
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What earlier searches found, and a short one from there.
    #[test]
    fn no_case_that_is_known_breaks_a_bound() {
        let (claims, known) = (claims::all(), known());
        for claim in &claims {
            let cases = known.get(&claim.what).unwrap_or_else(|| panic!("no case of {}", claim.what));
            let found = climb(claim, cases, 1, 100);
            assert!(
                found.error <= 1.0,
                "{}: {} of what is stated, by {:?}",
                claim.name(),
                found.error,
                found.case
            );
        }
        let whats: std::collections::BTreeSet<&str> =
            claims.iter().map(|claim| claim.what.as_str()).collect();
        assert!(known.keys().all(|what| whats.contains(what.as_str())), "of claims that are gone");
    }

    /// The search finds the top of a hill that it is not told of.
    #[test]
    fn it_climbs() {
        let hill = Claim {
            what: String::new(),
            way: "",
            dispatch: None,
            bound: 1.0,
            width: 3,
            start: |random, case| case.fill_with(|| random.signed() as f32),
            repair: |case| case.iter().all(|v| v.abs() <= 1.0),
            error: Box::new(|case| {
                let away = [0.3, -0.7, 0.01].iter().zip(case).map(|(top, v)| (top - v).powi(2)).sum::<f32>();
                2.0 - f64::from(away)
            }),
        };
        assert!(climb(&hill, &[], 1, 20_000).error > 2.0 - 1e-9);
    }
}
