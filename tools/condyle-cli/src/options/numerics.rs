//! `--isa` and `--numeric`: the instruction set and the rounding of the kernels.

use std::fmt::Display;
use std::str::FromStr;

use condyle::{Dispatch, Isa, Numeric};

use crate::failure::Failure;
use crate::options::heading::COMPUTATION;

/// Options of the kernels. The environment variables CONDYLE_ISA and CONDYLE_NUMERIC set the defaults.
#[derive(Default, clap::Args)]
pub(crate) struct Numerics {
    /// Set the numeric mode: `fast`, or `portable` for the same bits on every machine
    #[arg(long, value_name = "fast|portable", help_heading = COMPUTATION)]
    numeric: Option<Numeric>,
    #[arg(long, value_name = "NAME", help = isa_help(), help_heading = COMPUTATION)]
    isa: Option<Isa>,
}

impl Numerics {
    /// Applies the options to the whole process and returns the dispatch.
    pub(crate) fn apply(&self) -> Result<Dispatch, Failure> {
        let isa = match self.isa {
            Some(isa) => isa,
            None => from_env("CONDYLE_ISA")?.unwrap_or_else(Isa::best),
        };
        let numeric = match self.numeric {
            Some(numeric) => numeric,
            None => from_env("CONDYLE_NUMERIC")?.unwrap_or_default(),
        };
        let dispatch = Dispatch::new(isa, numeric).ok_or_else(|| {
            let have: Vec<_> = Isa::all().map(Isa::name).collect();
            Failure::Usage(format!(
                "{isa} is not available on this machine or in this build; choose with --isa from {}",
                have.join(", ")
            ))
        })?;
        dispatch.set_default();
        Ok(dispatch)
    }
}

fn isa_help() -> String {
    let names: Vec<_> = Isa::KNOWN.iter().map(|isa| isa.name()).collect();
    format!("Set the instruction set: {} [default: the best that this machine supports]", names.join(", "))
}

fn from_env<T: FromStr<Err: Display>>(variable: &str) -> Result<Option<T>, Failure> {
    let Some(name) = std::env::var_os(variable) else { return Ok(None) };
    let found = name.to_string_lossy().parse();
    found.map(Some).map_err(|e| Failure::Usage(format!("{variable}={}: {e}", name.display())))
}
