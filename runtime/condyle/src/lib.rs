//! Condyle is a skeletal animation runtime: it samples animation clips, blends poses, computes joint matrices
//! and skins meshes.
//!
//! It is for engines, tools and servers that need the vertices or joints of animated characters, on the CPU
//! or as buffers for the GPU. Kernels use SIMD. An optional portable mode gives the same bits on every
//! platform.
//!
//! ```text
//!   keyframes             RawClip ─── condyle-encode ──> Clip
//!                            │                            │
//!                      sampling::raw                    sample
//!                            └─────────────┬──────────────┘
//!   local transforms                     Pose <─── blend, mirror, interpolate; condyle-solve
//!                                          │
//!                                   local_to_model
//!                                          │
//!   model matrices                  one per joint          SkinnedMesh ─── condyle-query
//!                                          │                    │
//!                                  palette, with a Skin       morph
//!                                          │                    │
//!   skinning matrices                   Palette              Vertices
//!                                          └────── skin ────────┘
//!                                                   │
//!   posed mesh                                   Vertices
//! ```
//!
//! Data flows one way. Each arrow is one free function over plain data: inputs first, then the output as
//! `&mut`. You own all memory, and per-frame calls reuse it; only [`sampling::tracks`] allocates. State
//! between frames is kept in values that you hold, such as a [`Player`] or a [`sampling::RawCursor`].
//!
//! The crate reads and writes only its own file format ([`container`]), from and to bytes in memory. It
//! starts no threads and does no I/O.
//!
//! # Stages
//!
//! | module | input | output |
//! |---|---|---|
//! | [`skeleton`], [`mesh`], [`clip`] | data from an importer | validated [`Skeleton`], [`Skin`], [`SkinnedMesh`], [`RawClip`] |
//! | [`container`] | skeletons, meshes, clips | one `.condyle` file, whose clips are read in place |
//! | [`play`] | a clock and the duration of a clip | a time in the clip, and the events passed |
//! | [`sampling`] | a clip and a time in seconds | a [`Pose`]: one local transform per joint |
//! | [`frames`] | clips unpacked into even poses, times, weights | one [`Pose`], sampled and blended in one pass |
//! | [`motion`] | a clip, a start time and an end time | translation and rotation of the character between them |
//! | [`blending`] | poses, weights, masks | one pose: blends, additive layers, transitions |
//! | [`player`] | a clip, its loop mode, elapsed seconds | pose, events and root motion of one clip |
//! | [`mirroring`] | a pose or a clip | the same with left and right exchanged |
//! | [`interpolation`] | two rotations or poses, and a factor | the rotation or pose between them |
//! | [`model`] | a pose | one model-space matrix per joint |
//! | [`skinning`] | model matrices, [`Skin`], [`SkinnedMesh`], morph weights | a [`Palette`] for the GPU, or posed [`Vertices`] |
//!
//! Four modules support the stages:
//!
//! - [`pose`]: memory layout of local transforms.
//! - [`math`]: transforms, quaternions, matrices, scalar functions.
//! - [`convert`]: transforms to matrices and back.
//! - [`simd`]: choice of the instruction set.
//!
//! # Example
//!
//! ```
//! use condyle::sampling::{self, RawCursor};
//! use condyle::{
//!     Affine, Influences, Interpolation, Joint, NormalRule, Palette, Pose, RawClip, Skeleton, Skin,
//!     SkinnedMesh, Target, Track, Transform, Vertices, local_to_model, palette, skin,
//! };
//!
//! // A two-joint arm whose elbow bends by 90 degrees in one second.
//! let at = |y| Transform { translation: [0.0, y, 0.0], ..Transform::IDENTITY };
//! let arm = [Joint::new("shoulder", None, at(0.0)), Joint::new("elbow", Some(0), at(1.0))];
//! let skeleton = Skeleton::new(arm)?;
//! let half = std::f32::consts::FRAC_1_SQRT_2;
//! let bend = Track {
//!     target: Target::Rotation(1),
//!     interpolation: Interpolation::Linear,
//!     timeline: 0,
//!     values: vec![0.0, 0.0, 0.0, 1.0, 0.0, 0.0, half, half],
//! };
//! let clip = RawClip::new("bend".into(), vec![vec![0.0, 1.0]], vec![bend])?;
//!
//! // A mesh of one vertex, the fingertip, bound to the elbow joint in the rest pose.
//! let bound = Skin::new(vec![1], vec![Affine::from(at(-1.0))])?;
//! let fingertip = Vertices { positions: vec![[0.0, 2.0, 0.0]], ..Vertices::default() };
//! let mesh = SkinnedMesh::new(fingertip, Influences::rigid(1), vec![], vec![])?;
//!
//! // Buffers that are reused every frame.
//! let (mut cursor, mut pose) = (RawCursor::default(), Pose::rest(&skeleton));
//! let mut model = vec![Affine::IDENTITY; skeleton.joint_count()];
//! let mut matrices = Palette::default();
//! let mut posed = Vertices::zeroed_like(mesh.vertices());
//! for frame in 0..=60 {
//!     sampling::raw(&clip, &skeleton, f64::from(frame) / 60.0, &mut cursor, &mut pose)?;
//!     local_to_model(&skeleton, &pose, &mut model)?;
//!     palette(&bound, &model, NormalRule::default(), &mut matrices)?;
//!     skin(mesh.influences(), &matrices, mesh.vertices().as_slices(), posed.as_slices_mut())?;
//! }
//! // The fingertip started straight above the elbow and is now on its -X side.
//! let [x, y, _] = posed.positions[0];
//! assert!((x + 1.0).abs() < 1e-6 && (y - 1.0).abs() < 1e-6);
//! # Ok::<(), condyle::Error>(())
//! ```
//!
//! # Common tasks
//!
//! ## Play and blend
//!
//! - **Play a clip in a loop**: use a [`Player`], which keeps the time. With a clock in your code,
//!   [`Clip::moment`] with [`Looping::Wrap`] returns the seconds to pass to [`sample`].
//! - **Blend two clips with a mask**: sample each clip into a separate pose, build the mask with
//!   [`blending::joint_mask`], and combine the poses with [`blending::overlay`]. [`blend`] takes masks too
//!   ([`Layer::mask`]), but divides by the sum of all weights: two layers of weight 1 give the mean.
//! - **Play many characters**: unpack the clips with [`Clip::to_frames`], and sample and blend them with
//!   [`sample_frames`].
//! - **Add breathing or recoil**: make an additive clip with [`blending::difference_clip`], encode and sample
//!   it on [`Skeleton::additive`], and apply it with [`blending::add`].
//! - **Apply several layers to one pose** without a second pose: call [`blending::add`] or
//!   [`blending::overlay`] with `None` for the base.
//! - **Move from one clip to the next**: use [`blending::Inertialization`], or a [`blending::Fade`] for the
//!   weights of a blend.
//! - **Apply root motion**: encode with `EncodeOptions::root_motion`. Each frame, multiply the character's
//!   placement, a [`math::Rigid`], by [`Player::motion`] on the right. With a clock in your code, use
//!   [`Clip::motion_over`]; for a [`RawClip`], [`motion::extract`] and [`motion::RootMotion::over`].
//! - **Receive the events of a clip**: pass them to the encoder in `EncodeOptions::events`, and call
//!   [`Player::clip_events`] after [`Player::advance`].
//! - **Move hands, head, feet or hair procedurally**: after [`local_to_model`], call `two_bone`, `aim`,
//!   `chain`, `feet` or `springs` of `condyle-solve`, then [`model::subtree`].
//!
//! ## Skin
//!
//! - **Morph**: [`sampling::track`] with [`Target::Weights`] returns the weights at a time. Pass them to
//!   [`morph`], and its vertices to [`skin`] as `bind`.
//! - **Skin on the GPU**: upload [`Palette::matrices`] each frame, or let [`skinning::palette_rows`] write to
//!   the mapped buffer. Upload the influences once, packed by [`Influences::pack`]. Do not call [`skin`].
//! - **Keep volume where joints twist**: build the palette with [`skinning::palette_dual`], and set the
//!   dual-quaternion share of each vertex with [`Influences::with_dual_shares`]. [`skinning::SwingTwist`]
//!   computes the shares from clips.
//! - **Skin into a vertex buffer**: pass its bytes to [`skin`] as [`skinning::InterleavedMut`].
//! - **Pick, hit, collide with or cull a character**: use `TriangleTree`, `hitbox` and `bounds` of
//!   `condyle-query`.
//!
//! ## Compress, load and save
//!
//! - **Compress with an error budget**: for a model read by `condyle-gltf`, `asset.encode(&clip, 0.001)`
//!   keeps every vertex within one millimetre if lengths are in metres. For other meshes, or without a mesh,
//!   call `condyle_encode::encode`. Play the clip that it returns, or store its bytes and read them with
//!   [`Clip::from_bytes`].
//! - **Share a clip among threads**: a clip from the encoder or from [`Clip::from_owned`] owns its bytes, and
//!   its clones share them. [`Clip::into_owned`] copies a borrowed clip.
//! - **Pose a whole glTF file**: use `Asset` and `Poser` of `condyle-gltf`.
//! - **Read and write motion capture**: use `Bvh` and `write` of `condyle-bvh`.
//!
//! ## Speed and reproducibility
//!
//! - **Force an instruction set**: set `CONDYLE_ISA=sse42` in the environment. In code, call
//!   [`Dispatch::new`]`(Isa::Sse42, Numeric::Fast)`, which is `None` if the CPU lacks it. Then call
//!   [`Dispatch::set_default`] for the process or [`Dispatch::scope`] for the calls in a closure.
//! - **Get the same bits on every machine**: do the same with [`Numeric::Portable`], or set
//!   `CONDYLE_NUMERIC=portable`.
//! - **Pose a crowd**: on each thread, run batches of some tens of characters through all stages. The output
//!   of one call is then still in the cache for the next. Give distant characters fewer joints
//!   ([`sampling::partial`]) and fewer influences per vertex ([`Influences::at_most`]).
//!
//! # Conventions
//!
//! Right-handed, +Y up, metres, seconds, radians. Quaternions are `xyzw`. Vectors are columns, so
//! `model = parent * local`. The crate follows glTF 2.0 for everything that glTF specifies.
//!
//! Kernels run on the best instruction set of the CPU, detected at run time, in one of two numeric modes. The
//! fast mode is the default. The portable mode gives the same bits on every instruction set and platform. See
//! [`Dispatch`].
//!
//! # Crates
//!
//! ```text
//!  condyle-base ── condyle ──┬── condyle-encode ──┐                ┌── condyle-io
//!                  ^ here    ├── condyle-solve  ──┼── condyle-gltf ┤
//!                            ├── condyle-query  ──┘                └── condyle-draw
//!                            └── condyle-bvh, condyle-body ─────────── condyle-io
//! ```
//!
//! - `condyle`: the runtime, called every frame.
//! - `condyle-encode`: compresses clips.
//! - `condyle-solve`: inverse kinematics, foot placement, springs.
//! - `condyle-query`: bounds, hitboxes, ray casts, vertex animation bakes.
//! - `condyle-gltf`, `condyle-bvh`, `condyle-body`: read and write files.
//! - `condyle-io`: opens any of these formats, and measures differences between models.
//! - `condyle-draw`: renders pictures.
//!
//! # Dev builds
//!
//! Without optimisation the kernels are 150 to 500 times slower: 12.9 ms instead of 25 µs for a mesh. Add
//! these lines to the `Cargo.toml` of your workspace for this crate, for `condyle-base`, and for each other
//! Condyle crate that you use. Compile time is 1.5x that of a release build; the last two lines halve it.
//!
//! ```toml
//! [profile.dev.package.condyle]
//! opt-level = 3
//! debug = false
//! debug-assertions = false
//! ```
//!
//! # Features
//!
//! - `std` (default): detects the instruction set at run time; `CONDYLE_ISA` and `CONDYLE_NUMERIC` override
//!   it. Without `std` the crate needs only `alloc`, and uses the best instruction set enabled at compile
//!   time.
//! - `scalar`: compiles kernels without vector instructions too, for debugging.
//! - `bytemuck`: implements `Pod` and `Zeroable` for the plain types.
//! - `mint`: converts matrices to and from `mint` types.
#![cfg_attr(not(feature = "std"), no_std)]
#![cfg_attr(docsrs, feature(doc_cfg))]

extern crate alloc;
#[cfg(test)]
extern crate self as condyle;
#[cfg(test)]
extern crate std;

pub mod blending;
pub mod clip;
pub mod container;
pub mod convert;
#[doc(hidden)]
pub mod example;
pub mod frames;
pub mod interpolation;
pub mod joint_map;
pub mod mesh;
pub mod mirroring;
pub mod model;
pub mod motion;
pub mod play;
pub mod player;
#[cfg(test)]
mod portable_bits;
pub mod pose;
pub mod sampling;
pub mod skeleton;
pub mod skinning;
#[cfg(test)]
#[allow(
    dead_code,
    unused_imports,
    unreachable_pub,
    reason = "the tests of this crate use only some of its items"
)]
#[path = "../../../lab/testing/src/lib.rs"]
mod testing;

/// Transforms, quaternions, matrices, and the scalar functions that the other modules use.
///
/// | type | use |
/// |---|---|
/// | [`Transform`] | local transform of one joint: rotation, translation, scale per axis |
/// | [`Affine`] | 3x4 matrix |
/// | [`Rigid`](math::Rigid) | rotation and translation in f64, for root motion |
/// | [`JointQuat`](math::JointQuat) | one joint in an array of structures, with a single scale |
///
/// The functions return the same bits on every platform, because they never call the platform's math library.
/// Sine, cosine and arctangent are polynomials in this crate. The square root is correctly rounded.
pub mod math {
    #[doc(inline)]
    pub use condyle_base::math::{
        Affine, JointMat, JointQuat, Polar, Quat, Rigid, Transform, Transform64, atan_positive, atan2,
        atan2_f64, reciprocal_sqrt, sin_cos, sin_cos_f64, sin_half_pi, sqrt,
    };
}

/// Choice of the instruction set and of the numeric mode.
///
/// A [`Dispatch`] is an [`Isa`] and a [`Numeric`] mode, and applies to all stages on a thread or in a
/// process. The default is the best instruction set of the CPU and the fast mode; the environment can
/// override it.
///
/// Each kernel is written once, generic over a SIMD token and the numeric mode. One binary contains a copy
/// for each instruction set of its platform, and each call runs the copy for the current [`Dispatch`].
pub mod simd {
    #[doc(inline)]
    pub use condyle_base::simd::{Dispatch, Isa, Lanes, Numeric};
}

pub use blending::{Layer, blend};
pub use clip::{Clip, Interpolation, RawClip, Target, Track};
#[doc(inline)]
pub use condyle_base::Error;
pub use frames::{FrameLayer, Frames, sample_frames};
pub use interpolation::interpolate;
pub use joint_map::JointMap;
pub use math::{Affine, Quat, Transform};
pub use mesh::{Influences, MorphTarget, Skin, SkinnedMesh, Vertices};
pub use mirroring::mirror;
pub use model::local_to_model;
pub use play::Looping;
pub use player::Player;
pub use pose::Pose;
pub use sampling::sample;
pub use simd::{Dispatch, Isa, Numeric};
pub use skeleton::{Joint, Skeleton};
pub use skinning::{NormalRule, Palette, morph, palette, skin};
