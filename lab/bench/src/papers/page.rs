//! Tables for docs/reports/papers.md, between the markers that `cargo xtask papers` replaces.

/// Table or line of the page, between its markers.
pub(super) fn block(name: &str, body: &str) -> String {
    format!("<!-- condyle-bench papers: {name} -->\n{body}<!-- end -->\n")
}

/// Markdown table whose first row is its head. `>` in `align` aligns a column to the right.
pub(super) fn table(align: &str, rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let sides: Vec<String> =
        align.chars().map(|side| if side == '>' { "--:" } else { "---" }.to_owned()).collect();
    let mut rows = rows.into_iter();
    let lines = rows.next().into_iter().chain([sides]).chain(rows);
    lines.map(|row| format!("| {} |\n", row.join(" | "))).collect()
}
