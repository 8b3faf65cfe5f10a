//! References of all stages in f64, written from the formulas of the specifications: no SIMD, no shortcuts. A
//! function takes the input of the stage with the same name and returns the expected output.
//!
//! For tests, benchmarks and cross-checks. Matrices are three rows of four; quaternions are `xyzw`.
//!
//! ```
//! use condyle::{Affine, Joint, Skeleton, Transform, local_to_model};
//! use condyle_testing::reference;
//!
//! let tilt = Transform { rotation: [0.6, 0.0, 0.0, 0.8], translation: [0.0, 1.0, 0.0], scale: [1.0; 3] };
//! let skeleton = Skeleton::new([Joint::new("hips", None, tilt), Joint::new("spine", Some(0), tilt)])?;
//! let mut model = [Affine::IDENTITY; 2];
//! local_to_model(&skeleton, skeleton.rest(), &mut model)?;
//!
//! let want = reference::local_to_model(&skeleton, &reference::locals(skeleton.rest()));
//! for (got, want) in model.iter().zip(want) {
//!     let pairs = got.rows.as_flattened().iter().zip(want.as_flattened());
//!     assert!(pairs.into_iter().all(|(got, want)| (f64::from(*got) - want).abs() < 1e-6));
//! }
//! # Ok::<(), condyle::Error>(())
//! ```

mod algebra;
mod clip;
mod dual;
mod hits;
mod interpolation;
mod layering;
mod solve;
mod stages;

pub use algebra::*;
pub use clip::*;
pub use dual::*;
pub use hits::*;
pub use interpolation::*;
pub use layering::*;
pub use solve::*;
pub use stages::*;
