//! Reads glTF 2.0 characters for condyle.
//!
//! ```text
//!  condyle-base ── condyle ── condyle-encode, -solve, -query ── condyle-gltf, -bvh, -body ── condyle-io, -draw
//!                                                               ^ here
//! ```
//!
//! | input | output |
//! |---|---|
//! | a `.glb`, `.gltf`, `.vrm` or `.vrma` file | an [`Asset`]: skeleton, clips, skins, meshes with morph targets, and its [`Problem`]s |
//! | an asset, a clip and a time | posed vertices: [`Poser`] |
//! | an asset and clips | a document: [`ClipExporter`], [`Exporter`], [`MorphExporter`] |
//!
//! [`Asset::open`] reads everything that moves from such a file: one skeleton, the animations as raw
//! clips, the skins and the meshes. [`Poser`] runs all stages on it, from a clip and a time to vertices in
//! world space. It blends linearly or with dual quaternions. To compress an asset into a container, use
//! [`Asset::shell`] and [`Asset::placed_meshes`]. [`Document`] is the layer below: the JSON as text
//! ([`Document::json_text`], [`Document::json_at`]) and the bytes of the buffer views. [`Exporter`] writes
//! one pose as a static `.glb`. [`ClipExporter`] writes the document with other clips. [`MorphExporter`]
//! writes a clip as morph targets, without a skeleton.
//!
//! Files are untrusted input. Every reference in a file is checked before use. A declared size is compared
//! with the bytes present before anything is allocated. Each kind of problem is reported once, with the JSON
//! path of the first place. The reports are in [`Refused`] if the document cannot be used, otherwise in
//! [`Asset::problems`].
//!
//! ```no_run
//! let asset = condyle_gltf::Asset::open("character.glb")?;
//! println!("{} joints, {} clips", asset.skeleton.joint_count(), asset.clips.len());
//! for problem in &asset.problems {
//!     println!("{problem}");
//! }
//! # Ok::<(), condyle_gltf::Refused>(())
//! ```
//!
//! Supported features:
//!
//! - all accessor types, with strides, sparse and normalised forms
//! - every `JOINTS_n`, morph targets, and all interpolations
//! - `KHR_mesh_quantization`, `EXT_meshopt_compression`, `KHR_meshopt_compression` and
//!   `KHR_draco_mesh_compression`
//! - the springs of `VRMC_springBone`, `VRMC_springBone_extended_collider` and VRM 0.x
//! - the constraints of `VRMC_node_constraint`
//!
//! Extensions for materials, textures and lights stay in the document's JSON and in exported files. If the
//! document requires any other extension, it is refused.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod accessor;
mod animated_by;
mod appearance;
mod around;
mod asset;
mod attribute_values;
mod attributes;
mod byte_counts;
mod clips;
mod constraints;
mod container;
mod document;
mod draco;
#[doc(hidden)]
pub mod example;
mod export;
mod extensions;
mod extent;
mod extras;
mod foreign;
mod format;
mod humanoid;
mod influences;
mod json;
mod meshes;
mod meshopt;
mod motion;
mod partners;
mod placed;
mod poser;
mod problem;
#[cfg(feature = "encode")]
mod room;
mod rows;
mod scene;
mod skeleton;
mod skins;
mod space;
mod springs;
mod still;
#[cfg(test)]
mod testing;
mod uri;
mod value;

pub use around::PlacedBounds;
pub use asset::{Asset, Instance, Placement};
pub use byte_counts::ByteCounts;
pub use document::Document;
pub use export::{
    ClipExporter, ExportError, Exporter, JointMesh, MeshCompression, MorphExporter, MorphFrame, PackedMesh,
    PackedMeshes, PosedScene, UnpackedPrimitive, pack_meshes, pack_meshes_work,
};
pub use extent::Extent;
pub use meshes::Primitive;
#[doc(hidden)]
pub use meshopt::assert_encoders;
pub use poser::{Poser, PoserOptions, Skinning};
pub use problem::{Problem, Refused, Severity};
pub use still::StillNode;

/// The code blocks of the README, run as doctests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
