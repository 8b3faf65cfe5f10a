//! `--unit` and `--up`: how long a unit of a file is, and which of its axes is up.

use clap::ValueEnum;

use crate::options::quantity::{Length, parse_length};

/// Unit and axes of the files that are read. Without them as the files say: +Y up, and units of a metre.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub(crate) struct Space {
    /// Length of a unit of the file, such as 1cm [default: as the file says, else 1m]
    #[arg(long, value_name = "LENGTH", allow_hyphen_values = true, value_parser = parse_length)]
    pub(crate) unit: Option<Length>,
    /// Up axis of the file: with z, what is read is turned to +Y up [default: y]
    #[arg(long, value_enum, value_name = "y|z", hide_possible_values = true)]
    pub(crate) up: Option<Up>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Up {
    Y,
    Z,
}

impl Space {
    /// Without options.
    pub(crate) const AS_IN_FILE: Self = Self { unit: None, up: None };

    pub(crate) fn is_z_up(self) -> bool {
        self.up == Some(Up::Z)
    }

    /// Metres in a unit, where the option says.
    pub(crate) fn metres(self) -> Option<f64> {
        self.unit.map(|unit| unit.metres)
    }
}
