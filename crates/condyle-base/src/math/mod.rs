//! Plain types and the few scalar functions that everything else is made of. In go transforms, matrices and
//! angles, out come transforms, matrices and angles.
//!
//! [`Transform`] is a joint's own, [`Affine`] a matrix, [`Affine64`] one in f64, [`Rigid`] a movement in
//! f64 for root motion, [`JointQuat`] a joint in an array of structures.
//!
//! Nothing here calls the platform's mathematics library: sine, cosine and arctangent are polynomials of our
//! own, and the square root is the correctly rounded instruction. So the results have the same bits
//! everywhere.

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
