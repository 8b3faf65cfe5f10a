//! The same works, done as a good user of each crate would do them.
//!
//! Peers interpolate rotation and translation; condyle scales as well. What a crate has no function for it does
//! not take part in. Maintained and free to use as of the versions in Cargo.toml, but for cgmath, which has had no release
//! since 2021 and is still what many projects hold. `ozz_rs` needs a nightly compiler, which this project does not, so it is
//! not one of them.

#[cfg(feature = "peers")]
pub(crate) mod cgmath;
#[cfg(feature = "peers")]
pub(crate) mod glam;
#[cfg(feature = "peers")]
pub(crate) mod nalgebra;
#[cfg(feature = "peers")]
pub(crate) mod parry3d;
pub(crate) mod plain;
#[cfg(feature = "peers")]
pub(crate) mod ultraviolet;
#[cfg(feature = "peers")]
pub(crate) mod wide;

use condyle::{Affine, Transform};

/// Calls a generic function with the joints of each peer, in the form that suits a layout.
macro_rules! each_of_layout {
    ("blocks", $($function:ident).+ ($($argument:tt)*)) => {
        $($function).+::<$crate::peers::plain::Block>($($argument)*);
        #[cfg(feature = "peers")]
        {
            $($function).+::<$crate::peers::wide::Block>($($argument)*);
            $($function).+::<$crate::peers::ultraviolet::Joint>($($argument)*);
            $($function).+::<$crate::peers::glam::Joint>($($argument)*);
            $($function).+::<$crate::peers::nalgebra::Joint>($($argument)*);
            $($function).+::<$crate::peers::cgmath::Joint>($($argument)*);
        }
    };
    ($layout:expr, $($function:ident).+ ($($argument:tt)*)) => {
        match $layout {
            "blocks" => {
                $crate::peers::each_of_layout!("blocks", $($function).+ ($($argument)*));
            }
            _ => {
                $crate::peers::each_single!($($function).+ ($($argument)*));
                #[cfg(feature = "peers")]
                {
                    $($function).+::<$crate::peers::wide::Structs>($($argument)*);
                    $($function).+::<$crate::peers::ultraviolet::Joint>($($argument)*);
                }
            }
        }
    };
}

/// Calls a generic function with the joints of each peer that holds one in a value.
macro_rules! each_single {
    ($($function:ident).+ ($($argument:tt)*)) => {
        $($function).+::<$crate::peers::plain::Joint>($($argument)*);
        #[cfg(feature = "peers")]
        {
            $($function).+::<$crate::peers::glam::Joint>($($argument)*);
            $($function).+::<$crate::peers::nalgebra::Joint>($($argument)*);
            $($function).+::<$crate::peers::cgmath::Joint>($($argument)*);
        }
    };
}

pub(crate) use {each_of_layout, each_single};

/// Joints of a peer, so many at once.
pub(crate) trait Joints: Copy + 'static {
    /// What the column `impl` shows.
    const NAME: &'static str;
    /// How many joints one value holds.
    const LANES: usize = 1;

    /// From [`Self::LANES`] joints.
    fn pack(joints: &[Transform]) -> Self;

    /// Back again.
    fn unpack(&self) -> Vec<Transform>;
}

/// Interpolation of rotation and translation.
pub(crate) trait Interpolate: Joints {
    /// At constant speed.
    fn slerp(&self, to: &Self, t: f32) -> Self;

    /// Straight, then normalised.
    fn nlerp(&self, to: &Self, t: f32) -> Self;
}

/// Layers of a blend.
pub(crate) const LAYERS: usize = 4;

/// A weighted mean of joints.
pub(crate) trait Blend: Joints {
    /// Rotations are brought to the side of the first one, summed and normalised; weights add up to 1.
    fn blend(joints: [&Self; LAYERS], weights: &[f32; LAYERS]) -> Self;
}

/// Joints as matrices.
pub(crate) trait Matrices: Joints {
    type Matrix: Copy + 'static;

    fn to_matrix(&self) -> Self::Matrix;

    /// As [`Joints::LANES`] matrices of condyle.
    fn rows(m: &Self::Matrix) -> Vec<Affine>;
}

/// Matrices multiplied.
pub(crate) trait Chain: Matrices {
    /// `parent * local`.
    fn concat(parent: &Self::Matrix, local: &Self::Matrix) -> Self::Matrix;
}

/// Matrices inverted.
pub(crate) trait Invert: Chain {
    /// Of any affine matrix, not only of a rigid one.
    fn inverse(m: &Self::Matrix) -> Self::Matrix;
}

/// Matrices as joints.
pub(crate) trait FromMatrices: Matrices {
    /// From [`Joints::LANES`] matrices of condyle.
    fn pack_matrix(rows: &[Affine]) -> Self::Matrix;

    fn from_matrix(m: &Self::Matrix) -> Self;
}

/// What skinning needs of a matrix.
pub(crate) trait Deform: Copy + 'static {
    /// What the column `impl` shows.
    const NAME: &'static str;

    fn from_columns(columns: &[f32; 16]) -> Self;

    /// `self * weight`.
    fn scaled(&self, weight: f32) -> Self;

    /// `self + other * weight`.
    fn plus(&self, other: &Self, weight: f32) -> Self;

    fn point(&self, p: [f32; 3]) -> [f32; 3];

    /// Without translation, of unit length.
    fn direction(&self, v: [f32; 3]) -> [f32; 3];

    /// `self * other`.
    fn times(&self, other: &Self) -> Self;

    fn to_columns(self) -> [f32; 16];
}

/// Lists of joints as a peer holds them; the last value is filled up with copies of the last joint.
pub(crate) fn pack<J: Joints>(joints: &[Transform]) -> Vec<J> {
    joints.chunks(J::LANES).map(|chunk| J::pack(&filled(chunk, J::LANES))).collect()
}

/// The first `count` joints of such a list.
pub(crate) fn unpack<J: Joints>(joints: &[J]) -> impl Iterator<Item = Transform> + '_ {
    joints.iter().flat_map(J::unpack)
}

/// So many elements: these, and then the last of them again.
pub(crate) fn filled<T: Copy>(chunk: &[T], lanes: usize) -> Vec<T> {
    (0..lanes).map(|lane| chunk[lane.min(chunk.len() - 1)]).collect()
}
