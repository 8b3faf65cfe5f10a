//! Plain types and scalar functions used by all crates.
//!
//! [`Transform`] is a local transform of a joint, [`Affine`] a matrix in f32, and [`Affine64`] a matrix in
//! f64. [`Rigid`] is a rigid transform in f64 for root motion, [`JointQuat`] a joint in an array of
//! structures.
//!
//! No function calls the platform's mathematics library. Sine, cosine and arctangent are internal
//! polynomials, and the square root is the correctly rounded instruction. So results have the same bits on
//! every platform.

pub mod decompose;
pub mod exp_map;
pub mod joint_quat;
pub mod matrices;
#[cfg(feature = "mint")]
mod mint;
pub mod polynomials;
pub mod quats;
pub mod real;
pub mod rigid;
pub mod scalar;
pub mod sums;
mod transform;
pub mod vectors;

pub use decompose::{Polar, Transform64};
pub use joint_quat::{JointMat, JointQuat};
pub use matrices::Affine64;
pub use polynomials::{atan_positive, reciprocal_sqrt, sin_half_pi};
pub use rigid::Rigid;
pub use scalar::{atan2, atan2_f64, sin_cos, sin_cos_f64, sqrt};
pub use transform::{Affine, Quat, Transform};
