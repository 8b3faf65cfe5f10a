//! Condyle turns an animated character into posed vertices.
//!
//! ```text
//!  document ──> Skeleton ─┐
//!               RawClip ──┤ encode ──> Clip ── sample ──┐
//!                         └──────── sample_raw ─────────┴─> Pose ── blend ──> Pose ── local_to_model ──> model matrices ─┐
//!               Skin ──────────────────────────────────────────────────────────────────────────────────────── palette ───┤
//!               SkinnedMesh ── morph ──> Vertices ──────────────────────────────────────────────────────────────── skin ─┴─> Vertices
//! ```
//!
//! Data flows one way. Each arrow is one free function over plain data: inputs first, output last and `&mut`; nothing is
//! allocated that the caller does not own, and nothing remembered. Documents are read by the crate `condyle-gltf`; this
//! crate knows no file format but its own [`Container`], starts no thread and does no input or output.
//!
//! The kernels run on the best instruction set that the machine has, found at run time, in one of two numeric modes: the
//! fast one, or the portable one, whose results have the same bits on every instruction set and platform. See [`Dispatch`].
//!
//! Right-handed, +Y up, metres, seconds, radians; quaternions `xyzw`; column vectors, `model = parent * local`; and
//! everything as glTF 2.0 has it where glTF says anything.
//!
//! ```
//! use condyle::{
//!     Affine, Influences, Interpolation, Joint, NormalRule, Palette, Pose, RawClip, RawCursor, Skeleton, Skin,
//!     SkinnedMesh, Target, Track, Transform, Vertices, local_to_model, palette, sample_raw, skin,
//! };
//!
//! // An arm of two joints that bends at the elbow by a quarter turn in one second.
//! let at = |y| Transform { translation: [0.0, y, 0.0], ..Transform::IDENTITY };
//! let joints = [Joint::new("shoulder", None, at(0.0)), Joint::new("elbow", Some(0), at(1.0))];
//! let skeleton = Skeleton::new(joints)?;
//! let half = std::f32::consts::FRAC_1_SQRT_2;
//! let bend = Track {
//!     target: Target::Rotation(1),
//!     interpolation: Interpolation::Linear,
//!     timeline: 0,
//!     values: vec![0.0, 0.0, 0.0, 1.0, 0.0, 0.0, half, half],
//! };
//! let clip = RawClip::new("bend".into(), vec![vec![0.0, 1.0]], vec![bend])?;
//!
//! // One vertex, the fingertip, that follows the elbow; it was bound in the rest pose.
//! let bind = Affine::from(Transform { translation: [0.0, -1.0, 0.0], ..Transform::IDENTITY });
//! let bound = Skin::new(vec![0, 1], vec![Affine::IDENTITY, bind])?;
//! let vertices = Vertices { positions: vec![[0.0, 2.0, 0.0]], ..Vertices::default() };
//! let mesh = SkinnedMesh::new(vertices, Influences::from_rows([[(1, 1.0)]])?, vec![], vec![])?;
//!
//! let mut cursor = RawCursor::default();
//! let mut pose = Pose::rest(&skeleton);
//! let mut model = vec![Affine::IDENTITY; skeleton.joint_count()];
//! let mut matrices = Palette::default();
//! let mut posed = Vertices::zeroed_like(mesh.vertices());
//! for frame in 0..=60 {
//!     sample_raw(&clip, &skeleton, frame as f32 / 60.0, &mut cursor, &mut pose)?;
//!     local_to_model(&skeleton, &pose, &mut model)?;
//!     palette(&bound, &model, NormalRule::default(), &mut matrices)?;
//!     skin(mesh.influences(), &matrices, mesh.vertices().as_slices(), posed.as_slices_mut())?;
//! }
//! // From straight up to the left of the elbow.
//! let [x, y, _] = posed.positions[0];
//! assert!((x + 1.0).abs() < 1e-6 && (y - 1.0).abs() < 1e-6);
//! # Ok::<(), condyle::Error>(())
//! ```
//!
//! # Features
//!
//! - `std` (default): the instruction set is found at run time, and `CONDYLE_ISA` and `CONDYLE_NUMERIC` force it.
//! - `encode` (default): `encode`, which compresses clips. Without it they are only read.
//! - `bytemuck`: the plain types can be cast to bytes. `mint`: matrices convert to and from `mint`.
//! - `reference`: the module of that name, every stage again in f64.
#![cfg_attr(not(feature = "std"), no_std)]

// The registers of the x87 round differently from everything else.
#[cfg(all(target_arch = "x86", not(target_feature = "sse2")))]
compile_error!("condyle needs SSE2 on 32-bit x86: -Ctarget-feature=+sse2");

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod blend;
mod bytes;
pub mod clip;
pub mod container;
pub mod convert;
#[cfg(any(test, feature = "encode"))]
pub mod encode;
mod error;
pub mod interpolate;
pub mod math;
pub mod mesh;
pub mod mirror;
pub mod model;
pub mod motion;
pub mod play;
pub mod player;
pub mod pose;
#[cfg(any(test, feature = "reference"))]
pub mod reference;
pub mod sample;
pub mod simd;
pub mod skeleton;
pub mod skin;
#[cfg(test)]
mod testing;

pub use blend::{Layer, blend};
pub use clip::{Clip, Interpolation, RawClip, Target, Track};
#[cfg(any(test, feature = "encode"))]
pub use encode::encode;
pub use error::Error;
pub use interpolate::interpolate;
pub use math::{Affine, Quat, Transform};
pub use mesh::{Influences, MorphTarget, Skin, SkinnedMesh, Vertices};
pub use mirror::mirror;
pub use model::local_to_model;
pub use play::Looping;
pub use player::Player;
pub use pose::Pose;
pub use sample::sample;
pub use simd::{Dispatch, Isa, Numeric};
pub use skeleton::{Joint, Skeleton};
pub use skin::{NormalRule, Palette, morph, palette, skin};
