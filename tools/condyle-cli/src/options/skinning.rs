//! `--skinning` and `--normals`: the methods for vertices and normals.

use clap::ValueEnum;
use condyle::NormalRule;
use condyle_gltf::{PoserOptions, Skinning};

use crate::options::heading::PRECISION;

/// Options for posing vertices and normals.
#[derive(clap::Args)]
pub(crate) struct Posing {
    /// Set how normals are transformed [default: inverse-transpose]
    #[arg(long, value_enum, value_name = "RULE", help_heading = PRECISION)]
    pub(crate) normals: Option<Normals>,
    /// Set how the joints of a vertex are blended
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
    /// Blend the inverse transpose of each joint's matrix: correct under non-uniform scale
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

/// A skinning method.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Blending {
    /// Blend the matrices of joints, as glTF specifies
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

/// A skinning method, or both for a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Shown {
    /// Blend the matrices of joints, as glTF specifies
    Linear,
    /// Blend dual quaternions, which keep the volume of twisted limbs
    Dual,
    /// Draw both side by side, with their difference in colours
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
