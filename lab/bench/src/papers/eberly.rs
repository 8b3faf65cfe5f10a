//! Eberly's three tables, recomputed next to the printed values.

use std::f64::consts::FRAC_1_SQRT_2;

use super::balance::{Balance, Extreme, MOST_TERMS, balance, truncation};
use serde_json::{Value, json};

use super::page;
use condyle_bench::aligned;

/// Table 1: the largest error and its factor t.
const TRUNCATED: [(f64, f64); MOST_TERMS] = [
    (8.260470e-2, 0.536171),
    (3.534481e-2, 0.526101),
    (1.573194e-2, 0.520518),
    (7.165432e-3, 0.516943),
    (3.313713e-3, 0.514448),
    (1.549189e-3, 0.512604),
    (7.301926e-4, 0.511182),
    (3.463652e-4, 0.510053),
    (1.651390e-4, 0.509133),
    (7.906542e-5, 0.508368),
    (3.798801e-5, 0.507723),
    (1.830625e-5, 0.507171),
    (8.844315e-6, 0.506693),
    (4.282478e-6, 0.506275),
    (2.077657e-6, 0.505907),
    (1.009723e-6, 0.505580),
];

/// Table 2: the factor u and the largest error.
const BALANCED: [(f64, f64); MOST_TERMS] = [
    (1.51497046463192, 1.824927e-2),
    (1.64101846329868, 5.276024e-3),
    (1.71248771436512, 1.805473e-3),
    (1.75935455970466, 6.724403e-4),
    (1.79270498268306, 2.638615e-4),
    (1.81774808652699, 1.073123e-4),
    (1.83728783018887, 4.480529e-5),
    (1.85298109240830, 1.908783e-5),
    (1.86587355099618, 8.262877e-6),
    (1.87666328810155, 3.623664e-6),
    (1.88582968525589, 1.606393e-6),
    (1.89371240325272, 7.187185e-7),
    (1.90057151205838, 3.240655e-7),
    (1.90659055672586, 1.471217e-7),
    (1.91192105598748, 6.718082e-8),
    (1.91666919924319, 3.084173e-8),
];

/// Table 3: the same for half of the angles.
const HALVED: [(f64, f64); MOST_TERMS] = [
    (1.10214708745480, 8.683070e-4),
    (1.12393511831760, 6.603950e-5),
    (1.13518715649843, 6.194899e-6),
    (1.14210623875260, 6.457696e-7),
    (1.14680204913020, 7.179185e-8),
    (1.15020192041993, 8.336272e-9),
    (1.15277890488505, 9.989402e-10),
    (1.15479905903339, 1.226171e-10),
    (1.15642677247524, 1.533473e-12),
    (1.15776545554399, 1.947220e-12),
    (1.15888605639338, 2.503552e-13),
    (1.15983392670751, 3.252953e-14),
    (1.16057553887367, 4.329869e-15),
    (1.16066097468138, 6.661338e-16),
    (1.15067637711763, 3.330669e-16),
    (1.06647791713476, 3.330669e-16),
];

/// The three tables.
pub(crate) struct Tables {
    truncated: Vec<Extreme>,
    balanced: Vec<Balance>,
    halved: Vec<Balance>,
}

impl Tables {
    pub(crate) fn compute() -> Self {
        let terms = 1..=MOST_TERMS;
        Self {
            truncated: terms.clone().map(|n| truncation(n, 0.0)).collect(),
            balanced: terms.clone().map(|n| balance(n, 0.0)).collect(),
            halved: terms.map(|n| balance(n, FRAC_1_SQRT_2)).collect(),
        }
    }

    pub(crate) fn text(&self) -> String {
        let rows = (1..).zip(self.truncated.iter().zip(&TRUNCATED)).map(|(n, (found, printed))| {
            vec![
                format!("{n}"),
                format!("{:.6e}", found.error),
                format!("{:.6e}", printed.0),
                mark(found.error, printed.0),
                format!("{:.6}", found.t),
                format!("{:.6}", printed.1),
            ]
        });
        let head = ["n", "largest error", "printed", "", "at t", "printed"].map(String::from).to_vec();
        let mut out = String::from(
            "Eberly 2018, table 1: the series truncated after n terms\n\
             Errors of a weight, angles between the quaternions up to 90°\n",
        );
        out += &aligned(">>><>>", std::iter::once(head).chain(rows));
        out += "\nTable 2: with the last term multiplied by u\n";
        out += &balanced_text(&self.balanced, &BALANCED);
        out += "\nTable 3: with the angle halved, up to 45°\n";
        out += &balanced_text(&self.halved, &HALVED);
        out += "\n* differs from the printed value by more than 0.1 %, or by more than 0.00001 in u. In table 3 the exponent\n  \
                for n = 9 is misprinted, and the printed values from n = 13 are rounding errors of 64-bit arithmetic.\n  \
                Here the truncated terms are summed directly, so no digits are lost in a difference.\n";
        out
    }

    /// Differences of tables 1 and 2 from the printed ones, and table 3 next to the printed one.
    pub(crate) fn markdown(&self) -> String {
        let relative = |found: f64, printed: f64| (found / printed - 1.0).abs();
        let most = |all: &mut dyn Iterator<Item = f64>| all.fold(0.0, f64::max);
        let first = || self.truncated.iter().zip(&TRUNCATED);
        let second = || self.balanced.iter().zip(&BALANCED);
        let differences = [
            (
                "1",
                most(&mut first().map(|(found, printed)| relative(found.error, printed.0))),
                ("t", most(&mut first().map(|(found, printed)| (found.t - printed.1).abs()))),
            ),
            (
                "2",
                most(&mut second().map(|(found, printed)| relative(found.above.error, printed.1))),
                ("u", most(&mut second().map(|(found, printed)| (found.factor - printed.0).abs()))),
            ),
        ];
        let head = ["table", "maximum difference of the largest errors", "maximum difference of t or u"];
        let rows = differences.map(|(table, error, (what, off))| {
            vec![table.to_owned(), format!("{error:.1e}, relative"), format!("{off:.1e} in {what}")]
        });
        let differences = page::table("<>>", [head.map(String::from).to_vec()].into_iter().chain(rows));
        let head = ["n", "u", "printed", "largest error", "printed", "differs"].map(String::from).to_vec();
        let rows = (1..).zip(self.halved.iter().zip(&HALVED)).map(|(n, (found, &(factor, error)))| {
            let differs = [
                (is_other_factor(found.factor, factor), "u"),
                (is_other_error(found.above.error, error), "error"),
            ];
            let differs: Vec<&str> =
                differs.into_iter().filter_map(|(is, what)| is.then_some(what)).collect();
            vec![
                n.to_string(),
                format!("{:.8}", found.factor),
                format!("{factor:.8}"),
                format!("{:.5e}", found.above.error),
                format!("{error:.5e}"),
                differs.join(", "),
            ]
        });
        let halved = page::table(">>>>><", std::iter::once(head).chain(rows));
        page::block("eberly-tables-1-and-2", &differences) + &page::block("eberly-table-3", &halved)
    }

    pub(crate) fn json(&self) -> Value {
        let truncated = (1..).zip(self.truncated.iter().zip(&TRUNCATED)).map(|(n, (found, printed))| {
            json!({
                "n": n,
                "max_error": found.error,
                "t": found.t,
                "printed": { "max_error": printed.0, "t": printed.1 },
            })
        });
        json!({
            "table_1": truncated.collect::<Vec<_>>(),
            "table_2": balanced_json(&self.balanced, &BALANCED),
            "table_3": balanced_json(&self.halved, &HALVED),
        })
    }
}

/// Star next to an error that differs from the printed one.
fn mark(found: f64, printed: f64) -> String {
    if is_other_error(found, printed) { "*".into() } else { String::new() }
}

fn is_other_error(found: f64, printed: f64) -> bool {
    (found / printed - 1.0).abs() > 1e-3
}

fn is_other_factor(found: f64, printed: f64) -> bool {
    (found - printed).abs() > 1e-5
}

fn balanced_text(found: &[Balance], printed: &[(f64, f64)]) -> String {
    let head = ["n", "u", "printed", "", "largest error", "printed", "", "above at x, t", "below at x, t"];
    let rows = (1..).zip(found.iter().zip(printed)).map(|(n, (found, &(factor, error)))| {
        let place = |e: &Extreme| format!("{:.4}, {:.4}", e.x, e.t);
        vec![
            format!("{n}"),
            format!("{:.8}", found.factor),
            format!("{factor:.8}"),
            if is_other_factor(found.factor, factor) { "*".into() } else { String::new() },
            format!("{:.6e}", found.above.error),
            format!("{error:.6e}"),
            mark(found.above.error, error),
            place(&found.above),
            place(&found.below),
        ]
    });
    aligned(">>><>><>>", std::iter::once(head.map(String::from).to_vec()).chain(rows))
}

fn balanced_json(found: &[Balance], printed: &[(f64, f64)]) -> Vec<Value> {
    let place = |e: &Extreme| json!({ "error": e.error, "x": e.x, "t": e.t });
    let rows = (1..).zip(found.iter().zip(printed));
    rows.map(|(n, (found, printed))| {
        json!({
            "n": n,
            "u": found.factor,
            "max_error": found.above.error,
            "above": place(&found.above),
            "below": place(&found.below),
            "printed": { "u": printed.0, "max_error": printed.1 },
        })
    })
    .collect()
}
