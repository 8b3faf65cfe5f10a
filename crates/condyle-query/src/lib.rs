//! Questions about posed characters, with or without their vertices: what contains them, what a ray meets, what is
//! nearest, where their silhouette is.
//!
//! ```text
//!  condyle-base ── condyle ──┬── condyle-encode
//!                            ├── condyle-solve
//!                            └── condyle-query   <── here
//! ```
//!
//! | module | goes in | comes out |
//! |---|---|---|
//! | [`bounds`] | one matrix per joint, a [`bounds::JointBounds`] of the mesh | a box or a sphere around all posed vertices |
//! | [`hitbox`] | these matrices, shapes on joints | what rays and shapes meet of them |
//! | [`hits`] | triangles, posed positions, and a ray, a point or a shape | what is met, what is nearest, what is touched |
//! | [`surface`] | posed positions | silhouettes, shadow volumes, normals, area and volume |
//! | [`baked`] | frames of posed vertices | a clip of 16-bit numbers, as a vertex animation texture has them, and its playback |
//!
//! Poses, matrices and vertices are those of the crate `condyle`.
//!
//! # Features
//!
//! - `std` (default): the instruction set is found at run time.
//! - `bytemuck`: the plain types can be cast to bytes.
//! - `scalar`: the kernels without vector instructions too, to look for a fault.
#![cfg_attr(not(feature = "std"), no_std)]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod baked;
pub mod bounds;
pub mod hitbox;
pub mod hits;
pub mod surface;
