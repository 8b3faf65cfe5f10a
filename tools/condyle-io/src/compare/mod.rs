//! Distances between the vertices of two models while their clips play. The second model may be any other
//! version of the first one, made by any program.
//!
//! | input | output |
//! |---|---|
//! | two [`Subject`]s: assets with their clips | a [`Pairing`] of their vertices, or of their joints |
//! | a pairing and two clips | a [`Difference`]: the largest distance, where and when |
//!
//! ```
//! use condyle_io::compare::{Clip, Pairing, Subject, pair_clips};
//! use condyle_gltf::Asset;
//!
//! let asset = Asset::open("../../testdata/two_joints.glb")?;
//! let subject = || {
//!     let clips = asset.clips.iter().map(|clip| Clip::new(clip)).collect();
//!     Subject::new("two_joints", &asset, clips)
//! };
//! let (a, b) = (subject()?, subject()?);
//! let clips = pair_clips(&a, &b);
//! let pairing = Pairing::new(a, b)?;
//! for pair in clips {
//!     let difference = pairing.measure(pair, None, |_| true)?;
//!     assert_eq!(difference.worst.distance, 0.0);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Vertices are paired whatever their order, their names and the number of meshes ([`Pairing::new`]). Clips
//! are paired by name ([`pair_clips`]). Both models are posed at all keys of either clip and between them
//! ([`moments`]). A [`Difference`] has the largest distance, its place and its time.

mod clip;
mod cluster;
mod copies;
mod error;
mod joints;
mod measure;
mod moments;
mod pairing;
mod pairs;
mod subject;
mod tree;

pub use clip::Clip;
pub use error::{Error, NoMeshes};
pub use joints::By;
pub use measure::Difference;
pub use moments::moments;
pub use pairing::{Pairing, Part, common_shell};
pub use pairs::{How, pair_clips};
pub use subject::{Place, Subject, Worst};
