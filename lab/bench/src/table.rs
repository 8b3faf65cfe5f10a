//! Tables as text and as Markdown.

use std::fmt::Write as _;

/// Width of a line of text in characters.
const TERMINAL: usize = 120;

/// Table contents, independent of the output format.
pub(crate) struct Table {
    pub(crate) title: String,
    /// Paragraph below the title, or empty.
    pub(crate) note: String,
    pub(crate) head: Vec<String>,
    /// Number of leading left-aligned columns. The others hold numbers.
    pub(crate) words: usize,
    pub(crate) rows: Vec<Vec<String>>,
}

impl Table {
    /// Text with a heading, with columns two spaces apart.
    pub(crate) fn text(&self) -> String {
        let side = |column| if column < self.words { '<' } else { '>' };
        let align: String = (0..self.head.len()).map(side).collect();
        let rows = std::iter::once(&self.head).chain(&self.rows).cloned();
        format!("{}\n{}{}\n", self.title, wrapped(&self.note), aligned(&align, rows))
    }

    /// Markdown with a heading of the second level.
    pub(crate) fn markdown(&self) -> String {
        let row = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
        // A title such as "Skinning: cycles per vertex" ends with the unit.
        let mut out = match self.title.split_once(": ") {
            Some((title, unit)) => format!("\n## {title}\n\nUnit: {unit}.\n\n"),
            None => format!("\n## {}\n\n", self.title),
        };
        if !self.note.is_empty() {
            out += &format!("{}\n\n", self.note);
        }
        out += &row(&self.head);
        let side = |column| if column < self.words { "---|" } else { "--:|" };
        out += &format!("|{}\n", (0..self.head.len()).map(side).collect::<String>());
        self.rows.iter().for_each(|cells| out += &row(cells));
        out
    }
}

/// Columns two spaces apart, indented by two. `>` in `align` aligns a column to the right.
pub fn aligned(align: &str, rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let rows: Vec<Vec<String>> = rows.into_iter().collect();
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..align.len()).map(width).collect();
    let mut out = String::new();
    for row in &rows {
        let mut line = String::new();
        for ((cell, width), side) in row.iter().zip(&widths).zip(align.chars()) {
            let _ = match side {
                '>' => write!(line, "  {cell:>width$}"),
                _ => write!(line, "  {cell:<width$}"),
            };
        }
        out += line.trim_end();
        out.push('\n');
    }
    out
}

/// Wraps text to the terminal width, with a newline after each line.
pub(crate) fn wrapped(text: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= TERMINAL => {
                *line += &format!(" {word}");
            }
            _ => lines.push(word.into()),
        }
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_cells_either_way() {
        let cells = |row: [&str; 2]| row.map(String::from).to_vec();
        let table = Table {
            title: "Slerp: cycles".into(),
            note: "One factor.".into(),
            head: cells(["impl", "n"]),
            words: 1,
            rows: vec![cells(["condyle", "4.8"]), cells(["glam", "67.25"])],
        };
        assert_eq!(
            table.text(),
            "Slerp: cycles\nOne factor.\n  impl         n\n  condyle    4.8\n  glam     67.25\n\n"
        );
        assert_eq!(
            table.markdown(),
            "\n## Slerp\n\nUnit: cycles.\n\nOne factor.\n\n| impl | n |\n|---|--:|\n| condyle | 4.8 |\n| glam | 67.25 |\n"
        );
    }
}
