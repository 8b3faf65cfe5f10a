//! `--unit`, `--height` and `--up`: length of a unit of a file, and its up axis.

use std::path::Path;

use clap::ValueEnum;
use condyle::clip::Y_UP_FROM_Z_UP;
use condyle_gltf::Asset;

use crate::failure::{Failure, too_large};
use crate::options::heading::INPUT;
use crate::options::quantity::{Length, parse_length};
use crate::text::path_text;

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

    /// Turns an asset to +Y up, unless its document was turned before it was written, and stores the unit in it.
    pub(crate) fn applied(self, path: &Path, mut asset: Asset) -> Result<Asset, Failure> {
        let failed = |e: condyle::Error| too_large(&path_text(path), &e);
        if self.is_z_up() && !asset.was_turned() {
            asset = asset.turned(Y_UP_FROM_Z_UP).map_err(failed)?;
        }
        if let Some(unit) = self.unit {
            asset.set_unit(unit.metres).map_err(failed)?;
        }
        Ok(asset)
    }

    /// The clips of a container have their axes.
    pub(crate) fn check_container(self, path: &Path) -> Result<(), Failure> {
        if self.is_z_up() {
            let name = path_text(path);
            return Err(Failure::Usage(format!(
                "{name} is compressed, so that its clips cannot be turned: give --up z to `condyle encode`"
            )));
        }
        Ok(())
    }
}
