//! Counts, sizes and names in messages.

use std::path::Path;

/// Returns a name from a file without control characters; `(unnamed)` if it is empty.
#[must_use]
pub fn printable(name: &str) -> String {
    match name {
        "" => "(unnamed)".into(),
        _ => name.chars().map(|c| if steers(c) { '\u{fffd}' } else { c }).collect(),
    }
}

/// Returns a path without control characters.
#[must_use]
pub fn path_text(path: &Path) -> String {
    printable(&path.to_string_lossy())
}

/// Returns the extension of a file name, in lower case and without the dot.
#[must_use]
pub fn ending(path: &Path) -> Option<String> {
    Some(path.extension()?.to_str()?.to_ascii_lowercase())
}

/// Whether a character controls the terminal, or the order or position of other characters, instead of being
/// visible.
#[must_use]
pub fn steers(c: char) -> bool {
    let formats = matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}');
    formats || c.is_control()
}

/// Formats a count with its noun: `1 joint`, `2 joints`.
#[must_use]
pub fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{} {}", grouped(count), if count == 1 { one } else { many })
}

/// Formats a number with its digits in groups of three.
#[must_use]
pub fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() * 4 / 3);
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

/// Formats a size in bytes with a unit.
#[must_use]
pub fn size(bytes: usize) -> String {
    match bytes {
        0..1024 => format!("{bytes} B"),
        1024..1_048_576 => format!("{:.1} KiB", bytes as f64 / 1024.0),
        _ => format!("{:.1} MiB", bytes as f64 / 1_048_576.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_steer_a_terminal() {
        assert_eq!(printable("a\x1b[2Jb\n"), "a\u{fffd}[2Jb\u{fffd}");
        assert_eq!(
            printable("a\u{202e}gpj.\u{2066}x\u{200b}\u{9b}"),
            "a\u{fffd}gpj.\u{fffd}x\u{fffd}\u{fffd}"
        );
        assert_eq!(printable("Ω é 走"), "Ω é 走");
        assert_eq!(printable(""), "(unnamed)");
    }

    #[test]
    fn numbers_read_well() {
        assert_eq!(["0", "999", "1,000", "1,234,567"], [0, 999, 1000, 1_234_567].map(grouped));
        assert_eq!(["1023 B", "1.0 KiB", "2.5 MiB"], [1023, 1024, 2_621_440].map(size));
        assert_eq!(counted(1, "key", "keys"), "1 key");
    }
}
