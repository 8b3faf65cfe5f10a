//! Opens files with characters or motion, in any supported format.
//!
//! ```text
//!  condyle-base ── condyle ── condyle-encode, -solve, -query ── condyle-gltf, -fbx, -bvh, -body ── condyle-io, -draw
//!                                                                                                  ^ here
//! ```
//!
//! | input | output |
//! |---|---|
//! | path or bytes of a file, and [`Options`] | a [`Model`]: skeleton, clips, unit, axes, and an `Asset` with the meshes |
//! | a file that cannot be used | an [`OpenError`] that lists every [`Problem`] with its place |
//!
//! ```
//! use condyle_io::Options;
//!
//! let model = condyle_io::open("../../testdata/two_joints.glb", &Options::default())?;
//! assert_eq!((model.skeleton.joint_count(), model.clips[0].clip.name()), (2, "bend"));
//! for problem in &model.problems {
//!     eprintln!("{problem}");
//! }
//! # Ok::<(), condyle_io::OpenError>(())
//! ```
//!
//! [`open`] recognises a file by its first bytes and its extension; [`Format::ALL`] lists the formats. A clip
//! is raw or compressed; [`AnyClip`](condyle::sampling::AnyClip) plays both.
//!
//! # Features
//!
//! One feature per format, all enabled by default except `fbx`:
//!
//! - `gltf`: `.glb`, `.gltf`, `.vrm`, `.vrma`
//! - `draco`: compressed meshes in glTF
//! - `bvh`: `.bvh`
//! - `body`: `.npz` with a body model or body motion
//! - `fbx`: `.fbx`; the build needs a C compiler
//!
//! Without a feature, files of its format are rejected. Containers (`.condyle`) can always be read. The
//! features `compare` and `job`, off by default, add the modules of these names.
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "body")]
mod body;
#[cfg(feature = "bvh")]
mod bvh;
#[cfg(feature = "compare")]
pub mod compare;
mod container;
mod error;
#[cfg(feature = "fbx")]
mod fbx;
mod format;
#[cfg(feature = "gltf")]
mod gltf;
mod input;
#[cfg(feature = "job")]
pub mod job;
mod library;
mod model;
mod names;
mod open;

pub use condyle_base::problem::{Problem, Refused, Severity};
pub use error::{Misfit, OpenError};
pub use format::Format;
pub use input::Options;
#[cfg(feature = "body")]
pub use input::Person;
pub use library::{Library, LibraryError, Part, PartData, Written};
pub use model::{Model, ModelClip};
pub use names::distinct;
pub use open::{from_bytes, from_parts, open};
