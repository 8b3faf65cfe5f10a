//! Printed text: aligned columns, sizes with units, names from files without control characters.

pub(crate) use condyle_draw::millimetres;
pub(crate) use condyle_io::job::text::{counted, ending, grouped, path_text, printable, size, steers};

/// Returns ` (did you mean `Run`?)` for an unknown name; empty if no name is similar.
pub(crate) fn did_you_mean<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    /// Limits for long names and long lists: a file may have a name of megabytes.
    const LETTERS: usize = 60;
    const NAMES: usize = 10_000;
    /// Minimum similarity: two of the three letters of a short name.
    const ALIKE: f64 = 0.6;
    let lower = |name: &str| name.chars().take(LETTERS).collect::<String>().to_lowercase();
    let wanted = lower(wanted);
    let likeness = |name: &str| {
        let name = lower(name);
        // `Run` matches `Armature|Run`, and `Walking` matches `Walk`.
        let holds = |all: &str, part: &str| part.len() >= 3 && all.contains(part);
        let is_part = holds(&name, &wanted) || holds(&wanted, &name);
        strsim::normalized_damerau_levenshtein(&wanted, &name).max(if is_part { 0.9 } else { 0.0 })
    };
    let names = names.into_iter().take(NAMES).map(|name| (likeness(name), name));
    // Among equals, the first.
    let best = names.filter(|(likeness, _)| *likeness > ALIKE).reduce(|a, b| if b.0 > a.0 { b } else { a });
    best.map_or(String::new(), |(_, name)| format!(" (did you mean `{}`?)", printable(name)))
}

/// Returns text of several lines without control characters.
pub(crate) fn printable_lines(text: &str) -> String {
    text.chars().map(|c| if c != '\n' && steers(c) { '\u{fffd}' } else { c }).collect()
}

/// Formats frames per second.
pub(crate) fn hertz(rate: f32) -> String {
    let rate = format!("{rate:.3}");
    format!("{} Hz", rate.trim_end_matches('0').trim_end_matches('.'))
}

/// Formats a number with this many decimals; a number that rounds to zero has no sign.
pub(crate) fn fixed(number: impl Into<f64>, decimals: usize) -> String {
    let shown = format!("{:.decimals$}", number.into());
    match shown.strip_prefix('-') {
        Some(digits) if digits.chars().all(|c| matches!(c, '0' | '.')) => digits.into(),
        _ => shown,
    }
}

/// Formats columns two spaces apart, indented by two; `>` in `align` aligns a column to the right.
pub(crate) fn table(align: &str, rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let rows: Vec<Vec<String>> = rows.into_iter().collect();
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..align.len()).map(width).collect();
    let mut out = String::new();
    for row in &rows {
        let mut line = String::new();
        for ((cell, width), side) in row.iter().zip(&widths).zip(align.chars()) {
            line.push_str("  ");
            match side {
                '>' => line.push_str(&format!("{cell:>width$}")),
                _ => line.push_str(&format!("{cell:<width$}")),
            }
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_likeliest_name_is_offered() {
        let names = ["Walk", "Run", "Armature|Jump", "Run_Fast", "idle"];
        let guess = |wanted: &str| did_you_mean(wanted, names);
        for (wanted, name) in [("Rnu", "Run"), ("walkk", "Walk"), ("jump", "Armature|Jump"), ("IDEL", "idle")]
        {
            assert_eq!(guess(wanted), format!(" (did you mean `{name}`?)"), "{wanted}");
        }
        for wanted in ["", "Swim", "7", "mixamo.com"] {
            assert_eq!(guess(wanted), "", "{wanted}");
        }
        let long = "x".repeat(1 << 24);
        assert!(did_you_mean(&long, [long.as_str(); 100]).contains("xxx"));
        assert_eq!(did_you_mean("a\u{1b}b", ["a\u{1b}bc"]), " (did you mean `a\u{fffd}bc`?)");
    }

    #[test]
    fn columns_line_up() {
        let rows = [["1", "ab", "x"], ["10", "c", "y"]].map(|row| row.map(String::from).to_vec());
        assert_eq!(table("><<", rows), "   1  ab  x\n  10  c   y\n");
    }

    #[test]
    fn zeros_have_no_sign() {
        assert_eq!(["0.000", "0.000", "-0.001", "1.500"], [-0.0, -4e-4, -6e-4, 1.5].map(|v| fixed(v, 3)));
    }
}
