//! Units and up axes of the motion and of the character.

use std::path::Path;

use condyle_io::Format;
use condyle_retarget::Ratio;

use super::Args;
use crate::failure::Failure;
use crate::model::Model;
use crate::model::container::has_format;
use crate::options::heading::INPUT;
use crate::options::quantity::{Length, parse_length};
use crate::options::space::{Space, Up};
use crate::text::path_text;

/// Units and up axes of both files.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(super) struct Spaces {
    /// Set the length of a unit of the motion, such as 1cm, for --ratio NUMBER [default: stated by the file]
    #[arg(long, value_name = "LENGTH", allow_hyphen_values = true, value_parser = parse_length)]
    #[arg(help_heading = INPUT)]
    unit: Option<Length>,
    /// Set the up axis of the motion; z turns it to +Y up [default: y]
    #[arg(long, value_enum, value_name = "y|z", hide_possible_values = true, help_heading = INPUT)]
    up: Option<Up>,
    /// Set the length of a unit of the character, such as 1cm [default: stated by the file]
    #[arg(long, value_name = "LENGTH", allow_hyphen_values = true, value_parser = parse_length)]
    #[arg(help_heading = INPUT)]
    on_unit: Option<Length>,
    /// Set the up axis of the character; z turns it to +Y up [default: y]
    #[arg(long, value_enum, value_name = "y|z", hide_possible_values = true, help_heading = INPUT)]
    on_up: Option<Up>,
}

impl Spaces {
    pub(super) fn motion(self) -> Space {
        Space { unit: self.unit, up: self.up }
    }

    pub(super) fn character(self) -> Space {
        Space { unit: self.on_unit, up: self.on_up }
    }

    /// Refuses a unit that would have no effect.
    pub(super) fn check(self, args: &Args) -> Result<(), Failure> {
        let what = match args.ratio {
            _ if self.unit.is_none() => return Ok(()),
            Ratio::Fixed(_) if has_format(&args.source, Format::Body) => "a .npz motion is in metres",
            Ratio::Fixed(_) => return Ok(()),
            _ => "only --ratio NUMBER needs the unit of the motion",
        };
        Err(Failure::Usage(format!(
            "--unit has no effect: {what}; leave it out, or give --on-unit for the unit of the character"
        )))
    }
}

/// Returns the metres per unit of a model, if they are known. glTF and .npz are in metres unless they state
/// something else; a BVH states nothing.
pub(super) fn metres(path: &Path, model: &Model) -> Option<f64> {
    model.asset.unit().or_else(|| (!has_format(path, Format::Bvh)).then_some(1.0))
}

/// Returns the metres per unit. If they are unknown, the failure names the option that sets them, and `by`,
/// which needs them.
pub(super) fn needed(path: &Path, metres: Option<f64>, option: &str, by: &str) -> Result<f64, Failure> {
    let name = path_text(path);
    metres.ok_or_else(|| {
        Failure::Usage(format!(
            "{name} states no unit, and {by} needs it; add {option}, such as {option} 1cm"
        ))
    })
}
