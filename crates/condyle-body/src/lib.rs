//! Body models of the SMPL family, and motion in AMASS's layout, for condyle.
//!
//! ```text
//!  condyle-base ── condyle ── condyle-encode, -solve, -query ── condyle-gltf, -bvh, -body ── condyle-io, -compare, -draw
//!                                                                                   ^ here
//! ```
//!
//! | goes in | comes out |
//! |---|---|
//! | a `.npz` of a body model | a [`BodyModel`]; with a person's numbers a [`ShapedBody`] |
//! | a `.npz` of a motion, and a body | a [`BodyMotion`], and of it a raw clip |
//! | a body and poses | vertices |
//!
//! A body model is a mesh whose shape is a mean plus directions times a person's numbers, whose joints are weighted means of its vertices, and whose
//! vertices are moved by each joint's rotation once more before they are skinned (pose correctives). [`BodyModel::open`] reads one,
//! [`BodyModel::shaped`] makes of it the body of a person: a [`Skeleton`](condyle::Skeleton), a [`Skin`](condyle::Skin) and vertices.
//! [`ShapedBody::vertices`] poses it, a batch at a time. [`BodyMotion::open`] reads a motion, [`BodyMotion::clip`] makes of it a clip of that
//! skeleton, which all of condyle takes: it is compressed, blended, retargeted by names and solved like any other.
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
//! The files are `.npz`, as NumPy writes them; who wants them signs the licences of those who made them. The formulas are those of
//! M. Loper, N. Mahmood, J. Romero, G. Pons-Moll, M. Black, *SMPL: A Skinned Multi-Person Linear Model*, 2015; J. Romero, D. Tzionas, M. Black,
//! *Embodied Hands*, 2017 (SMPL-H); G. Pavlakos and others, *Expressive Body Capture*, 2019 (SMPL-X); N. Mahmood and others, *AMASS*, 2019.
//!
//! | array of a model | shape | what becomes of it |
//! |---|---|---|
//! | `v_template` | vertices, 3 | the mean shape, metres |
//! | `shapedirs` | vertices, 3, numbers | what each of a person's numbers adds; of the 400 or 20 of SMPL-X the first 300 or 10, as the rest are expressions. May be missing |
//! | `posedirs` | vertices, 3, 9 (joints - 1) | what the rotations add, each as a matrix less the identity. May be missing |
//! | `J_regressor` | joints, vertices | joints as weighted means of vertices |
//! | `weights` | vertices, joints | influences; zeros are dropped |
//! | `kintree_table` | 2, joints | the first row: parents. That of the root is any number that is no joint |
//! | `f` | triangles, 3 | triangles |
//!
//! | array of a motion | shape | meaning |
//! |---|---|---|
//! | `poses` | frames, 3 joints; or frames, joints, 3 | rotations as axes times angles |
//! | or `root_orient`, `pose_body`, `pose_hand`, `pose_jaw`, `pose_eye` | the same | rotations by parts; also `global_orient`, `body_pose`, `left_hand_pose`, `right_hand_pose`, `jaw_pose`, `leye_pose`, `reye_pose` |
//! | `trans`, `transl` or `translation` | frames, 3 | the root's distance from its place in the model. May be missing |
//! | `betas` | numbers; or 1, numbers; or frames, numbers | the person's numbers. May be missing |
//! | `mocap_framerate`, `mocap_frame_rate`, `frame_rate`, `framerate` or `fps` | one number | frames per second |
//! | `gender` | one text, also as bytes or as a Python object | the model that is meant. May be missing |
//!
//! | rotations in `poses` | layout |
//! |---|---|
//! | 24, 23 | SMPL, with and without the root |
//! | 22, 21 | body of SMPL-H or SMPL-X, with and without the root |
//! | 25 | body and face of SMPL-X |
//! | 52, 51 | SMPL-H, with and without the root |
//! | 55, 54 | SMPL-X, with and without the root |
//! | any other | refused, unless the body has as many joints |
//!
//! AMASS has Z up, models have Y up. A motion is taken as it is.
//!
//! Files are taken as hostile: arrays of another shape or kind, and lengths that the file does not have, are refused with the name of the array and what was expected, and so are numbers that are
//! not finite, except in single frames of a motion, which are interpolated and reported. Memory is bounded: the numbers of arrays take 64 MiB and 16 bytes for each byte of the file, and a motion while it
//! is read 7 thirds of that.

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
