//! Measured values and their files.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::entrants::Entrant;

/// Separates the columns of a file.
const TAB: char = '\t';

/// Work, name of the entrant, target.
type Key = (String, String, String);

#[derive(Default)]
pub(crate) struct Results {
    values: BTreeMap<Key, f64>,
    /// Machine, compilers and versions, in the order of the tables.
    pub(crate) conditions: Vec<(String, String)>,
    /// Number of files of results.
    pub(crate) runs: usize,
}

impl Results {
    /// Empty results with the machine and with the versions that `build.sh` wrote.
    pub(crate) fn with_conditions(folder: &Path) -> Self {
        let mut conditions = vec![("Machine".into(), processor()), ("Date".into(), date())];
        let versions = std::fs::read_to_string(folder.join("versions.txt")).unwrap_or_default();
        let pair = |line: &str| line.split_once(TAB).map(|(name, version)| (name.into(), version.into()));
        conditions.extend(versions.lines().filter_map(pair));
        Self { conditions, ..Self::default() }
    }

    pub(crate) fn set(&mut self, work: &str, entrant: &Entrant, value: f64) {
        self.values.insert(key(work, entrant), value);
    }

    /// Keeps the largest value.
    pub(crate) fn raise(&mut self, work: &str, entrant: &Entrant, value: f64) {
        let kept = self.values.entry(key(work, entrant)).or_insert(value);
        *kept = kept.max(value);
    }

    pub(crate) fn get(&self, work: &str, name: &str, target: &str) -> Option<f64> {
        self.values.get(&(work.into(), name.into(), target.into())).copied()
    }

    /// Value of the first target that has one.
    pub(crate) fn any(&self, work: &str, name: &str) -> Option<f64> {
        let mut values = self.values.iter();
        values.find(|((of, entrant, _), _)| of == work && entrant == name).map(|(_, &value)| value)
    }

    /// Writes a file with one value per line.
    pub(crate) fn write(&self, path: &Path) -> std::io::Result<()> {
        let mut text = String::new();
        for (name, value) in &self.conditions {
            let _ = writeln!(text, "{name}{TAB}{value}");
        }
        for ((work, name, target), value) in &self.values {
            let _ = writeln!(text, "{work}{TAB}{name}{TAB}{target}{TAB}{value}");
        }
        std::fs::write(path, text)
    }

    /// Reads files and keeps the smallest time and the largest error of each entrant.
    pub(crate) fn read(paths: &[PathBuf]) -> std::io::Result<Self> {
        let mut all = Self { runs: paths.len(), ..Self::default() };
        for path in paths {
            let text = std::fs::read_to_string(path)?;
            all.conditions.clear();
            for line in text.lines() {
                match line.split(TAB).collect::<Vec<_>>()[..] {
                    [name, value] => all.conditions.push((name.into(), value.into())),
                    [work, name, target, value] => {
                        let value = value.parse().map_err(std::io::Error::other)?;
                        let key = (work.into(), name.into(), target.into());
                        let kept = all.values.entry(key).or_insert(value);
                        *kept = if work.contains("error") { kept.max(value) } else { kept.min(value) };
                    }
                    _ => return Err(std::io::Error::other(format!("not a line of results: {line}"))),
                }
            }
        }
        Ok(all)
    }
}

fn key(work: &str, entrant: &Entrant) -> Key {
    (work.into(), entrant.name.into(), entrant.target.into())
}

fn processor() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let field = |name: &str| {
        let mut fields = info.lines().filter_map(|line| line.split_once(':'));
        fields.find(|(key, _)| key.trim() == name).map_or("unknown", |(_, value)| value.trim()).to_owned()
    };
    let [name, family, model] = ["model name", "cpu family", "model"].map(field);
    format!("{name}, family {family}, model {model}, one thread")
}

/// Today in UTC, from the days since 1970 (Howard Hinnant's `civil_from_days`).
fn date() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let days = seconds / 86_400 + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year + year / 4 - year / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = era * 400 + year + u64::from(month < 3);
    format!("{year}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_is_a_date() {
        let date = date();
        let parts: Vec<u32> = date.split('-').map(|part| part.parse().expect("a number")).collect();
        assert!(parts[0] >= 2025 && (1..=12).contains(&parts[1]) && (1..=31).contains(&parts[2]), "{date}");
    }
}
