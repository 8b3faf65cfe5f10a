//! Reads body models of the SMPL family, and motion in AMASS's layout.
//!
//! ```text
//!  condyle-base ── condyle ── condyle-encode, -solve, -query ── condyle-gltf, -bvh, -body ── condyle-io, -draw
//!                                                                                   ^ here
//! ```
//!
//! | input | output |
//! |---|---|
//! | a `.npz` of a body model | a [`BodyModel`], and with shape parameters a [`ShapedBody`] |
//! | a `.npz` of a motion, and a body | a [`BodyMotion`], and from it a raw clip |
//! | a body and poses | vertices |
//!
//! A body model is a mesh with three properties. Its shape is a mean shape plus a weighted sum of
//! displacements. The weights are the shape parameters (betas) of a person. Its joints are weighted means of
//! its vertices. Each joint's rotation also displaces vertices before skinning (pose correctives).
//!
//! [`BodyModel::open`] reads a model. [`BodyModel::shaped`] makes the body of a person: a
//! [`Skeleton`](condyle::Skeleton), a [`Skin`](condyle::Skin) and vertices. [`ShapedBody::vertices`] poses
//! it, in batches. [`BodyMotion::open`] reads a motion, and [`BodyMotion::clip`] converts it to a clip of
//! that skeleton. The clip can be compressed, blended, retargeted by name and solved like any other.
//!
//! ```no_run
//! use condyle::{Pose, sampling};
//! use condyle_body::{BodyModel, BodyMotion, Workspace};
//!
//! let model = BodyModel::open("SMPLH_NEUTRAL.npz")?;
//! let motion = BodyMotion::open("walk_poses.npz")?;
//! let body = model.shaped(motion.betas())?;
//! let moved = motion.clip(&body)?;
//! moved.problems.iter().for_each(|repair| eprintln!("{repair}"));
//! let clip = moved.clip;
//!
//! let mut pose = Pose::rest(body.skeleton());
//! sampling::raw(&clip, body.skeleton(), 0.5, &mut sampling::RawCursor::default(), &mut pose)?;
//! let mut vertices = vec![[0.0; 3]; body.vertex_count()];
//! body.vertices(&[pose], &mut Workspace::default(), &mut vertices)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The files are `.npz`, as NumPy writes them. To get them, you must accept the licences of their publishers.
//!
//! Sources of the formulas:
//!
//! - M. Loper, N. Mahmood, J. Romero, G. Pons-Moll, M. Black, *SMPL: A Skinned Multi-Person Linear Model*,
//!   2015 (SMPL)
//! - J. Romero, D. Tzionas, M. Black, *Embodied Hands*, 2017 (SMPL-H)
//! - G. Pavlakos and others, *Expressive Body Capture*, 2019 (SMPL-X)
//! - N. Mahmood and others, *AMASS*, 2019
//!
//! | array of a model | shape | meaning |
//! |---|---|---|
//! | `v_template` | vertices, 3 | mean shape in metres |
//! | `shapedirs` | vertices, 3, parameters | displacement for each shape parameter. Optional |
//! | `posedirs` | vertices, 3, 9 (joints - 1) | displacement for each entry of the rotation matrices minus the identity. Optional |
//! | `J_regressor` | joints, vertices | joints as weighted means of vertices |
//! | `weights` | vertices, joints | influences; zeros are dropped |
//! | `kintree_table` | 2, joints | first row: parents. The root's parent is any number that is not a joint index |
//! | `f` | triangles, 3 | triangles. Optional |
//!
//! SMPL-X files have 400 or 20 directions in `shapedirs`. The first 300 or 10 are used, because the others
//! are expressions.
//!
//! | array of a motion | shape | meaning |
//! |---|---|---|
//! | `poses` | frames, 3 joints; or frames, joints, 3 | rotation vectors (axis times angle) |
//! | or `root_orient`, `pose_body`, `pose_hand`, `pose_jaw`, `pose_eye` | the same | rotations by body part; also `global_orient`, `body_pose`, `left_hand_pose`, `right_hand_pose`, `jaw_pose`, `leye_pose`, `reye_pose` |
//! | `trans`, `transl` or `translation` | frames, 3 | offset of the root from its position in the model. Optional |
//! | `betas` | parameters; or 1, parameters; or frames, parameters | shape parameters of the person. Optional |
//! | `mocap_framerate`, `mocap_frame_rate`, `frame_rate`, `framerate` or `fps` | one number | frames per second |
//! | `gender` | one string, also as bytes or as a Python object | the intended model. Optional |
//! | rotations in `poses` | layout |
//! |---|---|
//! | 24, 23 | SMPL, with and without the root |
//! | 22, 21 | body of SMPL-H or SMPL-X, with and without the root |
//! | 25 | body and face of SMPL-X |
//! | 52, 51 | SMPL-H, with and without the root |
//! | 55, 54 | SMPL-X, with and without the root |
//! | any other | refused, unless the body has the same number of joints |
//!
//! AMASS has Z up, models have Y up. Motions are not rotated.
//!
//! Files are untrusted input. Arrays with a wrong shape or type, and lengths beyond the file, are refused
//! with the name of the array and the expected value. Non-finite numbers are refused too, except in single
//! frames of a motion: the reader interpolates and reports those. Memory is bounded: array values take at
//! most 64 MiB plus 16 bytes for each byte of the file. Reading a motion takes up to 7/3 of that.

mod layout;
mod model;
mod motion;
mod names;
mod npz;
mod shaped;

pub use self::model::BodyModel;
pub use self::motion::{BodyClip, BodyMotion};
pub use self::shaped::{ShapedBody, Workspace};
pub use condyle_base::problem::{Problem, Refused, Severity};
