//! Condyle turns an animated character into posed vertices: clips and a mesh go in, the vertices of a moment
//! come out.
//!
//! ```text
//!   keyframes             RawClip ─── condyle-encode ──> Clip
//!                            │                            │
//!   at a moment         sampling::raw                    sample
//!                            └─────────────┬──────────────┘
//!   local transforms                     Pose <─── blend, mirror, interpolate; condyle-solve
//!                                          │
//!                                   local_to_model
//!                                          │
//!   joint matrices                  one per joint          SkinnedMesh ─── condyle-query
//!                                          │                    │
//!                                  palette, with a Skin       morph
//!                                          │                    │
//!   ready to skin                       Palette              Vertices
//!                                          └────── skin ────────┘
//!                                                   │
//!   to draw                                      Vertices
//! ```
//!
//! Data flows one way. Each arrow is one free function over plain data: inputs first, output last and `&mut`.
//! Nothing is allocated that the caller does not own, and nothing is remembered but in values that the caller
//! keeps, such as a [`Player`] or a [`sampling::RawCursor`]. This crate knows no file format but its own
//! ([`container`]), starts no thread of its own and does no input or output.
//!
//! # The crates
//!
//! ```text
//!  condyle-base ── condyle ──┬── condyle-encode ──┐                ┌── condyle-io
//!                  ^ here    ├── condyle-solve  ──┼── condyle-gltf ┼── condyle-compare
//!                            ├── condyle-query  ──┘                └── condyle-draw
//!                            └── condyle-bvh, condyle-body ─────────── condyle-io
//! ```
//!
//! `condyle` is the runtime: it runs each frame. `condyle-encode` compresses clips. `condyle-solve` provides inverse
//! kinematics, foot placement and springs. `condyle-query` provides bounds, hitboxes, ray casts and bakes.
//! `condyle-gltf`, `condyle-bvh` and `condyle-body` read and write files. `condyle-io` opens any of them.
//!
//! # The stages
//!
//! | module | goes in | comes out |
//! |---|---|---|
//! | [`skeleton`], [`mesh`], [`clip`] | what an importer has read | plain data, checked once: [`Skeleton`], [`Skin`], [`SkinnedMesh`], [`RawClip`] |
//! | [`container`] | skeletons, meshes, clips | one file `.condyle`, read where it lies |
//! | [`play`] | a clock that never ends, and a duration | a moment of the clip, and the events passed on the way |
//! | [`sampling`] | a clip and a moment in seconds | a [`Pose`]: one local transform per joint |
//! | [`motion`] | a clip, from when and until when | how far the character has gone and turned |
//! | [`blending`] | poses, weights, masks | one pose: mixed, with additive layers, in transition |
//! | [`player`] | a clip, how it loops, and seconds that passed | its pose, events and motion: for those who need no more |
//! | [`mirroring`] | a pose or a clip | the same with left and right exchanged |
//! | [`interpolation`] | two rotations or poses, and a factor | what lies between them |
//! | [`model`] | a pose | one matrix per joint, in model space |
//! | [`skinning`] | these matrices, a [`Skin`], a [`SkinnedMesh`], morph weights | a [`Palette`] for the GPU, or posed [`Vertices`] |
//!
//! Beside them stand [`pose`], the layout of local transforms; [`math`], what everything is made of;
//! [`convert`], to matrices and back; and [`simd`], which instruction set runs.
//!
//! # I want to …
//!
//! - **play a clip in a loop**: [`Player`] keeps the time; by hand, [`Clip::moment`] with [`Looping::Wrap`]
//!   gives the seconds for [`sample`].
//! - **blend two clips with a mask**: sample each into a pose of its own, make the mask with
//!   [`blending::joint_mask`] and lay one over the other with [`blending::overlay`]. In a [`blend`] a
//!   [`Layer::mask`] scales a weight that is then divided by the sum of all: two layers of weight 1 meet
//!   halfway.
//! - **add a breath or a recoil**: [`blending::difference_clip`] makes an additive clip, which is encoded and
//!   sampled on [`Skeleton::additive`]; [`blending::add`] puts it on a pose.
//! - **go over from one clip to another**: [`blending::Inertialization`], or a [`blending::Fade`] for the weights
//!   of a blend.
//! - **compress with a budget**: for a model that `condyle-gltf` has read, `asset.encode(&clip, 0.001)` keeps
//!   every vertex within a millimetre where lengths are metres. With meshes of your own, or none, call
//!   `condyle_encode::encode`. Read the bytes with [`Clip::from_bytes`], or play what it returns directly.
//! - **share a clip among threads**: a clip from the encoder or from [`Clip::from_owned`] owns its bytes, and its
//!   clones share them. [`Clip::into_owned`] copies a borrowed one.
//! - **read root motion**: encode with `EncodeOptions::root_motion`, and in each frame multiply the character's
//!   placement, a [`math::Rigid`], from the right by [`Player::motion`]; with a clock of your own, by [`Clip::motion_over`]. Of an authored clip: [`motion::extract`] and
//!   [`motion::RootMotion::over`].
//! - **reach with a hand, look with a head, stand on a step, swing hair**: after [`local_to_model`], call `two_bone`,
//!   `aim`, `chain`, `feet` or `springs` of `condyle-solve`, then [`model::subtree`].
//! - **pick a character, shoot at it, keep cloth out of it, cull it**: `TriangleTree`, `hitbox` and `bounds` of
//!   `condyle-query`.
//! - **hear the events of a clip**: put them in `EncodeOptions::events`, and
//!   after [`Player::advance`] ask [`Player::clip_events`].
//! - **morph**: [`sampling::track`] with [`Target::Weights`] gives the weights at a moment, [`morph`] the
//!   vertices, which go where [`skin`] takes `bind`.
//! - **skin on the GPU**: upload [`Palette::matrices`], or have [`skinning::palette_rows`] write to the upload, and once the
//!   influences by [`Influences::pack`]; leave out [`skin`].
//! - **keep the volume of what twists**: have [`skinning::palette_dual`] make the palette, and say by
//!   [`Influences::with_dual_shares`] where, as [`skinning::SwingTwist`] finds it in clips.
//! - **skin into a vertex buffer**: give [`skin`] its bytes as [`skinning::InterleavedMut`].
//! - **force an instruction set**: `CONDYLE_ISA=sse42` in the environment; in code
//!   [`Dispatch::new`]`(Isa::Sse42, Numeric::Fast)`, which is `None` if the machine lacks it, then
//!   [`Dispatch::set_default`] for the process or [`Dispatch::scope`] for what a closure calls.
//! - **get the same bits on every machine**: the same with [`Numeric::Portable`], or
//!   `CONDYLE_NUMERIC=portable`.
//! - **pose a crowd**: the calls for one character in a loop, some tens of characters through all stages at a
//!   time, on each thread, so that what one call wrote is still in the cache for the next. Those far away have
//!   fewer joints ([`sampling::partial`]), and their vertices fewer influences ([`Influences::at_most`]).
//! - **put several layers on one pose** without another one: [`blending::add`] and [`blending::overlay`] with `None`
//!   for the base.
//! - **pose a whole glTF file**: `Asset` and `Poser` of the crate `condyle-gltf`.
//! - **read and write motion capture**: `Bvh` and `write` of the crate `condyle-bvh`.
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
//! // An arm of two joints that bends at the elbow by a quarter turn in one second.
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
//! // One vertex, the fingertip, that follows the elbow; it was bound in the rest pose.
//! let bound = Skin::new(vec![1], vec![Affine::from(at(-1.0))])?;
//! let fingertip = Vertices { positions: vec![[0.0, 2.0, 0.0]], ..Vertices::default() };
//! let mesh = SkinnedMesh::new(fingertip, Influences::rigid(1), vec![], vec![])?;
//!
//! // What is kept from frame to frame.
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
//! // From straight up to -X of the elbow.
//! let [x, y, _] = posed.positions[0];
//! assert!((x + 1.0).abs() < 1e-6 && (y - 1.0).abs() < 1e-6);
//! # Ok::<(), condyle::Error>(())
//! ```
//!
//! # Conventions
//!
//! Right-handed, +Y up, metres, seconds, radians; quaternions `xyzw`; column vectors, `model = parent *
//! local`; and everything as glTF 2.0 has it where glTF says anything.
//!
//! The kernels run on the best instruction set that the machine has, found at run time, in one of two numeric
//! modes: the fast one, or the portable one, whose results have the same bits on every instruction set and
//! platform. See [`Dispatch`].
//!
//! # In a dev build
//!
//! Without optimisation the kernels are 150 to 500 times slower: 12.9 ms for a mesh instead of 25 µs. Add these lines to
//! the `Cargo.toml` of your workspace, once for this crate, once for `condyle-base`, and once for each other Condyle crate
//! that you use. Compiling them takes 1.5 times as long as in a release; the last two lines halve that.
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
//! - `std` (default): the instruction set is found at run time, and `CONDYLE_ISA` and `CONDYLE_NUMERIC` force
//!   it. Without it the crate is `no_std` with `alloc`, and runs on what the compiler was told of.
//! - `scalar`: the kernels without vector instructions too, on platforms that have some: to look for
//!   a fault.
//! - `bytemuck`: the plain types can be cast to bytes. `mint`: matrices convert to and from `mint`.
#![cfg_attr(not(feature = "std"), no_std)]

extern crate alloc;
#[cfg(test)]
extern crate self as condyle;
#[cfg(test)]
extern crate std;

pub mod blending;
pub mod clip;
pub mod container;
pub mod convert;
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
#[allow(dead_code, unused_imports, unreachable_pub, reason = "tests of this crate use a part of it")]
#[path = "../../condyle-testing/src/lib.rs"]
mod testing;

/// Plain types and the few scalar functions that everything else is made of. In go transforms, matrices and
/// angles, out come transforms, matrices and angles.
///
/// [`Transform`] is a joint's own, [`Affine`] a matrix, [`Rigid`](math::Rigid) a movement in f64 for root motion,
/// [`JointQuat`](math::JointQuat) a joint in an array of structures.
///
/// Nothing here calls the platform's mathematics library: sine, cosine and arctangent are polynomials of our
/// own, and the square root is the correctly rounded instruction. So the results have the same bits
/// everywhere.
pub mod math {
    #[doc(inline)]
    pub use condyle_base::math::{
        Affine, JointMat, JointQuat, Polar, Quat, Rigid, Transform, Transform64, atan_positive, atan2,
        atan2_f64, reciprocal_sqrt, sin_cos, sin_cos_f64, sin_half_pi, sqrt,
    };
}

/// Which instruction set runs, and with which rounding. In goes an [`Isa`] and a [`Numeric`], or nothing; out
/// comes the [`Dispatch`] that all stages on a thread or in a process run with.
///
/// A kernel is written once, generic over a SIMD token and over the rounding. Each call looks at the current
/// [`Dispatch`] and runs the copy of the kernel that was compiled for it. So one binary holds all instruction
/// sets of its platform and picks at run time.
pub mod simd {
    #[doc(inline)]
    pub use condyle_base::simd::{Dispatch, Isa, Lanes, Numeric};
}

pub use blending::{Layer, blend};
pub use clip::{Clip, Interpolation, RawClip, Target, Track};
#[doc(inline)]
pub use condyle_base::Error;
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
