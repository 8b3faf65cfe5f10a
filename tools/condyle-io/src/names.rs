//! Unique names.

use std::collections::{HashMap, HashSet};

/// Adds a number to each name that occurs earlier, so that names are unique: Run, Run 2. Returns the indices
/// of the changed names.
///
/// ```
/// let mut names = ["Run", "Walk", "Run"].map(String::from);
/// assert_eq!(condyle_io::distinct(&mut names), [2]);
/// assert_eq!(names, ["Run", "Walk", "Run 2"]);
/// ```
pub fn distinct(names: &mut [String]) -> Vec<usize> {
    let taken: HashSet<String> = names.iter().cloned().collect();
    let mut counts: HashMap<String, usize> = HashMap::new();
    let mut changed = Vec::new();
    for (at, name) in names.iter_mut().enumerate() {
        let count = counts.entry(name.clone()).or_default();
        *count += 1;
        if *count > 1 {
            while taken.contains(&format!("{name} {count}")) {
                *count += 1;
            }
            *name = format!("{name} {count}");
            changed.push(at);
        }
    }
    changed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_stands_for_one() {
        let mut names = ["Run", "Walk", "Run", "Run 2", "Run", "Run 2", ""].map(String::from);
        assert_eq!(distinct(&mut names), [2, 4, 5]);
        assert_eq!(names, ["Run", "Walk", "Run 3", "Run 2", "Run 4", "Run 2 2", ""]);
    }
}
