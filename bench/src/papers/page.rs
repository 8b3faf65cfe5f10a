//! Tables for docs/reports/papers.md, between lines by which `cargo xtask papers` finds their places.

/// A table or a line of the page, between the two lines of its name.
pub(super) fn block(name: &str, body: &str) -> String {
    format!("<!-- condyle-bench papers: {name} -->\n{body}<!-- end -->\n")
}

/// A Markdown table whose first row is its head; `>` in `align` puts a column to the right.
pub(super) fn table(align: &str, rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let sides: Vec<String> =
        align.chars().map(|side| if side == '>' { "--:" } else { "---" }.to_owned()).collect();
    let mut rows = rows.into_iter();
    let lines = rows.next().into_iter().chain([sides]).chain(rows);
    lines.map(|row| format!("| {} |\n", row.join(" | "))).collect()
}
