//! Clip compression: turns an authored [`RawClip`] into a [`Clip`] that is as small as an error budget
//! allows. The error is measured on the decoded clip.
//!
//! Call [`encode`](crate::encode()) with [`EncodeOptions::new`], which takes the budget and the [`Shell`].
//! The budget is the maximum displacement of a point, in the skeleton's units; the shell is the set of points
//! that it applies to. [`Shell::of_meshes`] bounds every vertex; [`Shell::Balls`] is for motion without
//! meshes. [`Encoded`] holds the clip and its measured error.
//!
//! ```text
//!  condyle-base ── condyle ──┬── condyle-encode   <── here
//!                            ├── condyle-solve
//!                            └── condyle-query
//! ```
//!
//! | function | input | output |
//! |---|---|---|
//! | [`encode`](crate::encode()) | a [`RawClip`], its [`Skeleton`], an error bound | [`Encoded`]: a [`Clip`] and its error |
//! | [`reduce`](crate::reduce()) | any clip, an error bound | [`Reduced`]: a [`RawClip`] with few keys, for other programs |
//! | [`curve_keys`](crate::curve_keys()) | a compressed clip, an error bound | [`Reduced`]: a [`RawClip`] with the keys of its curves |
//! | [`measure_keys`] | a clip and its reduced keys | [`Measured`]: the error of the keys |
//!
//! # Walk through the code
//!
//! Three folders, each of which uses only those before it: `measure`, `curve`, `reduce`. `encode.rs` calls
//! them.
//!
//! 1. `measure/rate.rs` selects the frames. `measure/job.rs` collects points and budget of each joint.
//! 2. `encode.rs` splits the clip into segments of about 64 frames. `curve/segment.rs` fits each of them.
//! 3. `curve/joint_curves.rs` splits the budget along the hierarchy, and keeps the one with the fewest bits.
//! 4. `curve/search.rs` fits joints parents first, each relative to its decoded parent. A failing joint takes
//!    budget from its ancestors.
//! 5. `curve/quantised.rs` fits a track: keys by least squares, rounded to the largest step that passes.
//!    `curve/rotation.rs` and `curve/alignment.rs` select the rotation that brings the points nearest.
//! 6. If no curve passes, `curve/fallback.rs` keeps keys instead, and the segment is fitted again.
//! 7. `assembly.rs` writes the clip, and `measure/error.rs` compares the decoded clip with the authored one.
//! 8. `key_clip.rs` tries a clip of keys alone, if curves save little. `reduce` removes keys.
//!
//! # Features
//!
//! - `std` (default): detects the instruction set of the CPU at run time.
//! - `scalar`: compiles kernels without vector instructions too, for debugging.
//!
//! [`Clip`]: condyle::clip::Clip
//! [`RawClip`]: condyle::clip::RawClip
//! [`Skeleton`]: condyle::skeleton::Skeleton
#![cfg_attr(not(feature = "std"), no_std)]
#![cfg_attr(docsrs, feature(doc_cfg))]

extern crate alloc;
#[cfg(test)]
extern crate std;

// Tuning constants: their comments state how the clip size at a budget of 1 mm changes if only that constant
// changes. `cargo run --release -p condyle-bench --bin clip_sizes -- FOLDER` repeats these measurements.
// "Targets" are the clips of CesiumMan, Fox, greenman, robot and mocap_cmu_01_01 at 30 Hz in the first table
// (67,849 bytes). "Defaults" are the first four in the second table, checked between frames and on the mesh
// (32,196 bytes). The search is greedy: 1 % tighter limits alone change the defaults by 1.6 %. Differences
// below 2 % therefore only show that a constant is uncritical.

mod options;

mod measure;

mod curve;

mod reduce;

mod assembly;
mod encode;
mod key_clip;

pub use encode::{encode, frame_count};
pub use measure::ball::farthest_of_ball;
pub use options::{EncodeOptions, Encoded, Encoding, JointError, JointShell, Measured, OffFrames, Shell};
pub use reduce::{KeyFormat, Reduced, curve_keys, measure_keys, reduce};

#[cfg(test)]
mod tests;
