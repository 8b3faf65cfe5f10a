//! `--shell`: the region around joints in which the errors of keys and curves are bounded.

use condyle::{Error, RawClip};
use condyle_encode::{EncodeOptions, Shell};
use condyle_gltf::Asset;

use crate::options::heading::PRECISION;
use crate::options::quantity::{Length, parse_length};

/// Region in which errors are bounded.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct Bounded {
    /// Bound the error within this distance of each joint. auto: at all vertices, and within 3 cm of joints
    /// without vertices
    #[arg(long, value_name = "auto|LENGTH", default_value = "auto", allow_hyphen_values = true, value_parser = parse_shell)]
    #[arg(help_heading = PRECISION)]
    shell: ShellSize,
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum ShellSize {
    /// All vertices, and balls around joints without vertices.
    Mesh,
    /// Balls of this radius around all joints.
    Distance(Length),
}

impl Bounded {
    /// Warns about a length that was probably meant in another unit.
    pub(crate) fn warn_of_size(self) {
        if let ShellSize::Distance(distance) = self.shell {
            distance.warn_above(0.5, "--shell");
        }
    }

    /// Returns the radius of the balls, in units of `metres` metres.
    pub(crate) fn radius(self, metres: f64) -> f32 {
        match self.shell {
            ShellSize::Mesh => Shell::radius(metres),
            ShellSize::Distance(distance) => (distance.metres / metres) as f32,
        }
    }

    /// Returns the options for a clip of an asset whose units are `metres` metres.
    pub(crate) fn options(
        self,
        asset: &Asset,
        clip: &RawClip,
        budget: f32,
        metres: f64,
    ) -> Result<EncodeOptions, Error> {
        let radius = self.radius(metres);
        let mut options = asset.encode_options(clip, budget, radius)?;
        if let ShellSize::Distance(_) = self.shell {
            options.shell = Shell::Balls(radius);
        }
        Ok(options)
    }
}

fn parse_shell(text: &str) -> Result<ShellSize, String> {
    match text {
        "auto" => Ok(ShellSize::Mesh),
        _ => parse_length(text)
            .map(ShellSize::Distance)
            .map_err(|e| format!("neither `auto` nor a length: {e}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_is_a_length_or_auto() {
        assert_eq!(parse_shell("auto"), Ok(ShellSize::Mesh));
        assert_eq!(parse_shell("3cm"), parse_length("3cm").map(ShellSize::Distance));
        for wrong in ["Auto", "0", "nan", "1e9", ""] {
            assert!(parse_shell(&format!("{wrong}x")).is_err(), "{wrong}");
        }
        let of = |text| Bounded { shell: parse_shell(text).expect("a shell") };
        assert_eq!([of("auto").radius(0.01), of("5cm").radius(0.01)], [3.0, 5.0]);
    }
}
