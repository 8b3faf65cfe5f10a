//! Reads glTF 2.0 characters for condyle.
//!
//! ```text
//!  condyle-base ── condyle ── condyle-encode, -solve, -query ── condyle-gltf, -bvh, -body ── condyle-io, -compare, -draw
//!                                                               ^ here
//! ```
//!
//! | goes in | comes out |
//! |---|---|
//! | a `.glb`, `.gltf`, `.vrm` or `.vrma` | an [`Asset`]: skeleton, clips, skins, meshes with morph targets, and its [`Problem`]s |
//! | an asset, a clip and a moment | posed vertices: [`Poser`] |
//! | an asset and clips | a document: [`ClipExporter`], [`Exporter`], [`MorphExporter`] |
//!
//! [`Asset::open`] takes everything that moves out of a `.glb` or `.gltf`: one skeleton, the animations as
//! raw clips, skins, meshes with their morph targets. [`Poser`] runs all stages on it, from a clip and a
//! moment to vertices in world space, by linear blending or by dual quaternions; [`Asset::shell`] and [`Asset::placed_meshes`] are what compressing it
//! into a container takes. [`Document`] is the layer below: the JSON as text, by [`Document::json_text`] and
//! [`Document::json_at`], and the bytes of its buffer views. [`Exporter`] writes one moment as a static
//! `.glb`, [`ClipExporter`] the document with other clips, [`MorphExporter`] a clip as morph targets, without
//! a skeleton.
//!
//! Files are taken as hostile. Everything they name is checked before it is used, what they claim is compared
//! with what they hold before it is allocated, and what is wrong is reported, each kind of fault once, with
//! the JSON path of its first place: as a [`Refused`] if the document cannot be used, and otherwise in
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
//! Supported: all accessor types with strides, sparse and normalised forms, every `JOINTS_n`, morph targets,
//! all interpolations, `KHR_mesh_quantization`, `EXT_meshopt_compression`, `KHR_meshopt_compression` and
//! `KHR_draco_mesh_compression`, the springs of `VRMC_springBone`, `VRMC_springBone_extended_collider` and VRM 0.x, and the
//! constraints of `VRMC_node_constraint`.
//! Extensions of materials, textures and lights stay in the document's JSON and in what is exported; any
//! other is refused if the document requires it.

mod accessor;
mod animated_by;
mod appearance;
mod around;
mod asset;
mod attribute_values;
mod attributes;
mod clips;
mod constraints;
mod container;
mod document;
mod draco;
mod export;
mod extensions;
mod extent;
mod extras;
mod foreign;
mod format;
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

pub use around::PlacedBounds;
pub use asset::{Asset, Instance, Placement};
pub use document::Document;
pub use export::{ClipExporter, ExportError, Exporter, JointMesh, MorphExporter, MorphFrame, PosedScene};
pub use extent::Extent;
pub use meshes::Primitive;
pub use poser::{Poser, PoserOptions, Skinning};
pub use problem::{Problem, Refused, Severity};
pub use still::StillNode;

/// The README's blocks, run as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
