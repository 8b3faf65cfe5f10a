//! The same benchmarks, implemented idiomatically with each crate.
//!
//! Peers interpolate rotation and translation; condyle also scale. A peer is missing from a benchmark if its
//! crate lacks the function. `ozz_rs` is missing because it needs a nightly compiler and this project does
//! not.

#[cfg(feature = "peers")]
pub(crate) mod glam;
#[cfg(feature = "peers")]
pub(crate) mod parry3d;
pub(crate) mod plain;

use condyle::{Affine, Transform};

/// Calls a generic function with the joint type of each peer that suits a layout.
macro_rules! each_of_layout {
    ("blocks", $($function:ident).+ ($($argument:tt)*)) => {
        $($function).+::<$crate::peers::plain::Block>($($argument)*);
        #[cfg(feature = "peers")]
        $($function).+::<$crate::peers::glam::Joint>($($argument)*);
    };
    ($layout:expr, $($function:ident).+ ($($argument:tt)*)) => {
        match $layout {
            "blocks" => {
                $crate::peers::each_of_layout!("blocks", $($function).+ ($($argument)*));
            }
            _ => {
                $crate::peers::each_single!($($function).+ ($($argument)*));
            }
        }
    };
}

/// Calls a generic function with the joint type of each peer that holds one joint per value.
macro_rules! each_single {
    ($($function:ident).+ ($($argument:tt)*)) => {
        $($function).+::<$crate::peers::plain::Joint>($($argument)*);
        #[cfg(feature = "peers")]
        $($function).+::<$crate::peers::glam::Joint>($($argument)*);
    };
}

pub(crate) use {each_of_layout, each_single};

/// Joint type of a peer, with one or several joints per value.
pub(crate) trait Joints: Copy + 'static {
    /// Name in the column `impl`.
    const NAME: &'static str;
    /// Number of joints per value.
    const LANES: usize = 1;

    /// Packs [`Self::LANES`] joints.
    fn pack(joints: &[Transform]) -> Self;

    /// Unpacks the joints.
    fn unpack(&self) -> Vec<Transform>;
}

/// Interpolation of rotation and translation.
pub(crate) trait Interpolate: Joints {
    /// Interpolates at constant speed.
    fn slerp(&self, to: &Self, t: f32) -> Self;

    /// Interpolates linearly, then normalises.
    fn nlerp(&self, to: &Self, t: f32) -> Self;
}

/// Layers of a blend.
pub(crate) const LAYERS: usize = 4;

/// Weighted mean of joints.
pub(crate) trait Blend: Joints {
    /// Sums rotations in the hemisphere of the first one and normalises the sum. Weights add up to 1.
    fn blend(joints: [&Self; LAYERS], weights: &[f32; LAYERS]) -> Self;
}

/// Conversion of joints to matrices.
pub(crate) trait Matrices: Joints {
    type Matrix: Copy + 'static;

    fn to_matrix(&self) -> Self::Matrix;

    /// Converts to [`Joints::LANES`] matrices of condyle.
    fn rows(m: &Self::Matrix) -> Vec<Affine>;
}

/// Product of matrices.
pub(crate) trait Chain: Matrices {
    /// `parent * local`.
    fn concat(parent: &Self::Matrix, local: &Self::Matrix) -> Self::Matrix;
}

/// Inverse of matrices.
pub(crate) trait Invert: Chain {
    /// Inverts any affine matrix, not only a rigid one.
    fn inverse(m: &Self::Matrix) -> Self::Matrix;
}

/// Conversion of matrices to joints.
pub(crate) trait FromMatrices: Matrices {
    /// Converts from a matrix of condyle.
    fn pack_matrix(rows: &Affine) -> Self::Matrix;

    fn from_matrix(m: &Self::Matrix) -> Self;
}

/// Matrix operations for skinning.
pub(crate) trait Deform: Copy + 'static {
    /// Name in the column `impl`.
    const NAME: &'static str;

    fn from_columns(columns: &[f32; 16]) -> Self;

    /// `self * weight`.
    fn scaled(&self, weight: f32) -> Self;

    /// `self + other * weight`.
    fn plus(&self, other: &Self, weight: f32) -> Self;

    fn point(&self, p: [f32; 3]) -> [f32; 3];

    /// Transforms a direction without translation, and normalises it.
    fn direction(&self, v: [f32; 3]) -> [f32; 3];

    /// `self * other`.
    fn times(&self, other: &Self) -> Self;

    fn to_columns(self) -> [f32; 16];
}

/// Packs joints for a peer. The last value is padded with copies of the last joint.
pub(crate) fn pack<J: Joints>(joints: &[Transform]) -> Vec<J> {
    let padded = |chunk: &[Transform]| -> Vec<Transform> {
        (0..J::LANES).map(|lane| chunk[lane.min(chunk.len() - 1)]).collect()
    };
    joints.chunks(J::LANES).map(|chunk| J::pack(&padded(chunk))).collect()
}

/// Unpacks all joints.
pub(crate) fn unpack<J: Joints>(joints: &[J]) -> impl Iterator<Item = Transform> + '_ {
    joints.iter().flat_map(J::unpack)
}
