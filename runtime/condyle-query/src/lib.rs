//! Queries on posed characters, with or without their vertices: bounds, ray casts, nearest points,
//! silhouettes.
//!
//! ```text
//!  condyle-base ── condyle ──┬── condyle-encode
//!                            ├── condyle-solve
//!                            └── condyle-query   <── here
//! ```
//!
//! | module | input | output |
//! |---|---|---|
//! | [`bounds`] | model matrices, [`bounds::JointBounds`] of the mesh | a box or sphere around all posed vertices |
//! | [`hitbox`] | model matrices, shapes on joints | hits of rays and overlapping shapes |
//! | [`hits`] | triangles, posed positions, a ray, point or shape | hits, nearest points, overlaps |
//! | [`surface`] | posed positions | silhouettes, shadow volumes, normals, area and volume |
//! | [`baked`] | frames of posed vertices | a 16-bit vertex animation, and its playback |
//!
//! Poses, matrices and vertices have the types of the `condyle` crate.
//!
//! # Features
//!
//! - `std` (default): detects the instruction set of the CPU at run time.
//! - `bytemuck`: implements `Pod` and `Zeroable` for the plain types.
//! - `scalar`: compiles kernels without vector instructions too, for debugging.
#![cfg_attr(not(feature = "std"), no_std)]
#![cfg_attr(docsrs, feature(doc_cfg))]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod baked;
pub mod bounds;
pub mod hitbox;
pub mod hits;
pub mod surface;
