//! `--unit`, `--height` and `--up`: length of a unit of a file, and its up axis.

use clap::ValueEnum;

use crate::options::heading::INPUT;
use crate::options::quantity::{Length, parse_length};

/// Unit and axes of the files that are read. Without them as the files say: +Y up, and units of a metre.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub(crate) struct Space {
    /// Length of a unit of the file, such as 1cm [default: as the file says, else 1m]
    #[arg(long, value_name = "LENGTH", allow_hyphen_values = true, value_parser = parse_length)]
    #[arg(help_heading = INPUT)]
    pub(crate) unit: Option<Length>,
    /// Up axis of the file; with z, the model is turned to +Y up [default: y]
    #[arg(long, value_enum, value_name = "y|z", hide_possible_values = true, help_heading = INPUT)]
    pub(crate) up: Option<Up>,
}

/// `--height`: the height that decides the unit of a file.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub(crate) struct Height {
    /// Real height of the character, instead of --unit: of its vertices at rest; without vertices, of its joints
    /// in the first frame
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
