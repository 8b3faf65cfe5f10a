//! `--max-work`: a limit on the work of a command, relative to the size of its input files.

use std::path::PathBuf;

pub(crate) use condyle_io::job::{Budget, Work};

use crate::options::heading::COMPUTATION;

/// Option that sets the work limit.
#[derive(Clone, Copy, clap::Args)]
pub(crate) struct Limit {
    /// Allow FACTOR times the usual work for files of this size. Work is frames times joints and vertices
    #[arg(id = "max_work", long = "max-work", alias = "limit", value_name = "FACTOR", default_value = "1", value_parser = parse_factor)]
    #[arg(allow_hyphen_values = true, help_heading = COMPUTATION)]
    pub(crate) factor: f64,
}

impl Limit {
    /// Returns the work that these input files allow.
    pub(crate) fn budget<'a>(self, files: impl IntoIterator<Item = &'a PathBuf>) -> Budget {
        let length = |file: &PathBuf| std::fs::metadata(file).map_or(0, |it| it.len());
        Budget::new(self.factor, files.into_iter().map(length).sum())
    }
}

fn parse_factor(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(factor) if factor >= 0.0 && factor.is_finite() => Ok(factor),
        _ => {
            Err("a factor is a number that is at least 0, such as 10, or 0.1 for untrusted input files"
                .into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_factor_is_a_number_of_at_least_zero() {
        for wrong in ["-1", "nan", "inf", "", "x"] {
            assert!(parse_factor(wrong).is_err(), "{wrong}");
        }
        assert_eq!(parse_factor("0.1"), Ok(0.1));
    }
}
