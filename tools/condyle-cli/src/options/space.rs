//! `--unit`, `--height` and `--up`: the unit of a file, and its up axis.

use clap::ValueEnum;

use crate::options::heading::INPUT;
use crate::options::quantity::{Length, parse_length};

/// Unit and up axis of the input files. The defaults are those that a file states, else metres and +Y up.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub(crate) struct Space {
    /// Set the length of a unit, such as 1cm [default: stated by the file, else 1m]
    #[arg(long, value_name = "LENGTH", allow_hyphen_values = true, value_parser = parse_length)]
    #[arg(help_heading = INPUT)]
    pub(crate) unit: Option<Length>,
    /// Set the up axis of the file; z turns the model to +Y up [default: y]
    #[arg(long, value_enum, value_name = "y|z", hide_possible_values = true, help_heading = INPUT)]
    pub(crate) up: Option<Up>,
}

/// `--height`: the height that determines the unit of a file.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub(crate) struct Height {
    /// Set the real height of the character, instead of --unit. It is measured at the vertices at rest, or at
    /// the joints in the first frame if there are no vertices
    #[arg(id = "height", long = "height", value_name = "LENGTH")]
    #[arg(allow_hyphen_values = true, value_parser = parse_length, help_heading = INPUT)]
    pub(crate) length: Option<Length>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Up {
    Y,
    Z,
}

impl Space {
    /// Unit and axes as the file states them.
    pub(crate) const AS_IN_FILE: Self = Self { unit: None, up: None };

    pub(crate) fn is_z_up(self) -> bool {
        self.up == Some(Up::Z)
    }

    /// Returns the metres per unit, if the option is given.
    pub(crate) fn metres(self) -> Option<f64> {
        self.unit.map(|unit| unit.metres)
    }
}
