//! Every stage again in f64, from the formula of its specification: no SIMD, no shortcuts.
//!
//! For tests, benchmarks and cross-checks. Matrices are three rows of four; quaternions `xyzw`.

pub mod balance;
mod clip;
mod interpolation;
mod layering;
mod stages;
mod vectors;

pub use clip::*;
pub use interpolation::*;
pub use layering::*;
pub use stages::*;
pub use vectors::*;
