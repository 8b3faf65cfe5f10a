//! `--skinning`: how vertices follow several joints.

use clap::ValueEnum;
use condyle_gltf::Skinning;

/// One way of two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Blending {
    /// Blend the matrices of joints, as glTF says
    Linear,
    /// Blend dual quaternions, so that what twists keeps its volume
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
