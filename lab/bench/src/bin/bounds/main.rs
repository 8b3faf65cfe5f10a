//! `bounds`: searches for cases that break the documented error bounds.

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

use claims::{fuses, worst};
use climb::{Claim, Witness, climb, is_worse};

/// Attacks the bounds in docs/accuracy.md with a hill climb, on every instruction set and in both modes.
///
/// Prints one row per bound with the worst error found, relative to the bound. The exit code is 1 if an error
/// exceeds its bound or is NaN. The search starts at the worst cases of earlier searches, which are stored
/// next to the source and also run as a test.
#[derive(Parser)]
#[command(
    after_help = "Examples:\n  bounds --seconds 3600\n  bounds --only slerp9 --seed 7 --seconds 30\n  \
    bounds --seconds 3600 --markdown --keep lab/bench/src/bin/bounds/witnesses.jsonl"
)]
struct Args {
    /// Approximate total time on all cores
    #[arg(long, default_value_t = 60.0, value_parser = seconds)]
    seconds: f64,
    /// Attack only bounds whose name contains this text
    #[arg(long, default_value = "")]
    only: String,
    /// Seed of the search. Another seed finds other cases
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Print one JSON object per line
    #[arg(long, conflicts_with = "markdown")]
    json: bool,
    /// Print the table of docs/accuracy.md
    #[arg(long)]
    markdown: bool,
    /// Write the worst case of each bound to this file
    #[arg(long, value_name = "FILE")]
    keep: Option<PathBuf>,
}

fn seconds(text: &str) -> Result<f64, String> {
    let seconds: Option<f64> = text.parse().ok().filter(|s| (0.001..1e6).contains(s));
    seconds.ok_or_else(|| "expected seconds, from 0.001 to 1000000".into())
}

fn main() -> ExitCode {
    let args = Args::parse();
    let (claims, others): (Vec<Claim>, Vec<Claim>) =
        claims::all().into_iter().partition(|claim| claim.name().contains(&args.only));
    if claims.is_empty() {
        eprintln!("no bound has a name that contains `{}`", args.only);
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
        && let Err(e) = std::fs::write(path, kept((&claims, &found), &others, &known))
    {
        eprintln!("{}: {e}", path.display());
        return ExitCode::FAILURE;
    }
    let broken = found.iter().filter(|found| found.error.is_nan() || found.error > 1.0).count();
    eprintln!("{} bounds attacked, {broken} broken", claims.len());
    if broken == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Worst cases of earlier searches, by bound.
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

/// Worst case of each bound: the case found for attacked bounds, the known case for the others.
fn kept(
    (claims, found): (&[Claim], &[Witness]),
    others: &[Claim],
    known: &BTreeMap<String, Vec<Vec<f32>>>,
) -> String {
    // Known cases are written unchanged, because the rounding of a claim's repair may alter them.
    let of = |claim: &Claim, case: &Vec<f32>| Witness {
        case: case.clone(),
        error: climb(claim, std::slice::from_ref(case), 0, 0).error,
    };
    let worse = |a: Witness, b: Witness| if is_worse(b.error, a.error) { b } else { a };
    let old = others.iter().filter_map(|claim| {
        let cases = known.get(&claim.what)?;
        Some((claim, cases.iter().map(|case| of(claim, case)).reduce(worse)?))
    });
    let old: Vec<(&Claim, Witness)> = old.collect();
    lines(claims.iter().zip(found).chain(old.iter().map(|(claim, witness)| (*claim, witness))))
}

/// Worst case of each bound with and without fused multiply-add, as lines of JSON.
fn lines<'a>(found: impl Iterator<Item = (&'a Claim, &'a Witness)>) -> String {
    let mut worst: BTreeMap<(&str, bool), &Witness> = BTreeMap::new();
    for (claim, found) in found {
        let entry = worst.entry((&claim.what, claim.dispatch.is_some_and(fuses))).or_insert(found);
        if is_worse(found.error, entry.error) {
            *entry = found;
        }
    }
    let line = |((what, _), found): ((&str, bool), &Witness)| {
        json!({ "what": what, "case": found.case }).to_string() + "\n"
    };
    worst.into_iter().map(line).collect()
}

/// A bound with and without fused multiply-add, and the errors found.
struct Row<'a> {
    what: &'a str,
    bounds: [Option<f64>; 2],
    found: [f64; 2],
}

/// Stated bounds, and the fraction found with and without fused multiply-add.
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
        row.found[at] = worst([row.found[at], found.error]);
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

    /// Checks the cases of earlier searches, and runs a short search from them.
    #[test]
    fn no_case_that_is_known_breaks_a_bound() {
        let (claims, known) = (claims::all(), known());
        for claim in &claims {
            let cases = known.get(&claim.what).unwrap_or_else(|| panic!("no case of {}", claim.what));
            // The search ignores cases of another width.
            let fit = cases.iter().all(|case| case.len() == claim.width);
            assert!(fit, "{}: a case does not have width {}", claim.name(), claim.width);
            let found = climb(claim, cases, 1, 100);
            assert!(
                found.error <= 1.0,
                "{}: {} of the bound, for {:?}",
                claim.name(),
                found.error,
                found.case
            );
        }
        let whats: std::collections::BTreeSet<&str> =
            claims.iter().map(|claim| claim.what.as_str()).collect();
        assert!(known.keys().all(|what| whats.contains(what.as_str())), "of claims that are gone");
    }

    /// Claim about three numbers up to 1.
    fn claim(what: &str, error: impl Fn(&[f32]) -> f64 + Sync + 'static) -> Claim {
        Claim {
            what: what.into(),
            way: "",
            dispatch: None,
            bound: 1.0,
            width: 3,
            start: |random, case| case.fill_with(|| 0.5 * random.signed() as f32),
            repair: |case| case.iter().all(|v| v.abs() <= 1.0),
            error: Box::new(error),
        }
    }

    /// The search finds the top of a hill without a hint.
    #[test]
    fn it_climbs() {
        let hill = claim("hill", |case| {
            let away = [0.3, -0.7, 0.01].iter().zip(case).map(|(top, v)| (top - v).powi(2)).sum::<f32>();
            2.0 - f64::from(away)
        });
        assert!(climb(&hill, &[], 1, 20_000).error > 2.0 - 1e-9);
    }

    /// No climb starts in the corner where the error is NaN, so a change must reach it and the climb must
    /// stay there.
    #[test]
    fn what_is_no_number_is_found_and_reported() {
        let corner = || {
            claim("corner", |case| {
                let error = if case[0] > 0.9 { f64::NAN } else { f64::from(case[0].abs()) / 2.0 };
                worst([0.1, error, 0.2])
            })
        };
        let claims = [corner(), corner(), corner()];
        let witness = |error| Witness { case: vec![error as f32; 3], error };
        let found = [witness(0.9), climb(&claims[1], &[], 1, 2_000), witness(0.7)];
        assert!(found[1].error.is_nan() && found[1].case[0] > 0.9, "{:?}", found[1].case);
        let first = format!("{:?}", found[1].case[0]);
        assert!(table(&claims, &found).contains("NaN"), "{}", table(&claims, &found));
        let lines = lines(claims.iter().zip(&found));
        assert!(lines.contains(&first), "{lines}");
        // Also when starting from the known case.
        let known = [vec![0.95; 3], vec![0.5; 3]];
        assert!(climb(&corner(), &known, 1, 100).error.is_nan());
    }

    #[test]
    fn each_seed_searches_elsewhere() {
        let bowl = claim("bowl", |case| 1.0 - f64::from(case[0] * case[0]));
        let starts: Vec<Vec<f32>> = (0..4).map(|seed| climb(&bowl, &[], seed, 1).case).collect();
        assert!((1..4).all(|at| !starts[..at].contains(&starts[at])), "{starts:?}");
    }

    #[test]
    fn a_search_of_some_keeps_what_is_known_of_the_others() {
        let [near, far] = ["near", "far"].map(|what| claim(what, |case| f64::from(case[0].abs())));
        let known = BTreeMap::from([("far".to_string(), vec![vec![0.25, 0.0, 0.0], vec![0.75, 0.0, 0.0]])]);
        let found = [Witness { case: vec![0.5; 3], error: 0.5 }];
        let kept = kept((&[near], &found), &[far], &known);
        let want = [("far", [0.75, 0.0, 0.0]), ("near", [0.5; 3])];
        let want = want.map(|(what, case)| json!({ "what": what, "case": case }).to_string() + "\n");
        assert_eq!(kept, want.concat());
    }
}
