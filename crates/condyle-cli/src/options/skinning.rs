//! `--skinning` and `--normals`: how vertices and normals follow the joints.

use clap::ValueEnum;
use condyle::NormalRule;
use condyle_gltf::{PoserOptions, Skinning};

use crate::options::heading::PRECISION;

/// How vertices are posed.
#[derive(clap::Args)]
pub(crate) struct Posing {
    /// How normals are transformed [default: inverse-transpose]
    #[arg(long, value_enum, value_name = "RULE", help_heading = PRECISION)]
    pub(crate) normals: Option<Normals>,
    /// How vertices follow several joints
    #[arg(long, value_enum, value_name = "METHOD", default_value = "linear", help_heading = PRECISION)]
    pub(crate) skinning: Blending,
}

impl Posing {
    pub(crate) fn options(&self) -> PoserOptions {
        let mut options = PoserOptions::from(self.normals.map_or(NormalRule::default(), NormalRule::from));
        options.skinning = self.skinning.into();
        options
    }
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Normals {
    /// Blend each joint's inverse transpose: right under non-uniform scale
    InverseTranspose,
    /// Use the blended matrix itself, as most engines do
    Plain,
    /// Invert and transpose the blended matrix of each vertex
    BlendedInverseTranspose,
}

impl From<Normals> for NormalRule {
    fn from(normals: Normals) -> Self {
        match normals {
            Normals::InverseTranspose => Self::InverseTranspose,
            Normals::Plain => Self::Plain,
            Normals::BlendedInverseTranspose => Self::BlendedInverseTranspose,
        }
    }
}

/// One way of two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Blending {
    /// Blend the matrices of joints, as glTF says
    Linear,
    /// Blend dual quaternions, which keep the volume of twisted limbs
    Dual,
}

impl From<Blending> for Skinning {
    fn from(it: Blending) -> Self {
        match it {
            Blending::Linear => Self::Linear,
            Blending::Dual => Self::DualQuaternion,
        }
    }
}

/// One way, or both to compare them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Shown {
    /// Blend the matrices of joints, as glTF says
    Linear,
    /// Blend dual quaternions, so that what twists keeps its volume
    Dual,
    /// Side by side, and how far apart they are in colours
    Both,
}

impl Shown {
    pub(crate) fn all(self) -> &'static [Skinning] {
        match self {
            Self::Linear => &[Skinning::Linear],
            Self::Dual => &[Skinning::DualQuaternion],
            Self::Both => &[Skinning::Linear, Skinning::DualQuaternion],
        }
    }
}
