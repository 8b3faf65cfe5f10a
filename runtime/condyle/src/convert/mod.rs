//! Conversion between local transforms and matrices, in both directions, for a [`Pose`](crate::Pose) or a
//! list of [`JointQuat`](condyle_base::math::JointQuat).
//!
//! Each joint is converted independently of its parent. [`model`](crate::model) computes model-space
//! matrices.

mod from_matrices;
pub(crate) mod quads;
pub(crate) mod rows;
mod to_matrices;

pub use from_matrices::{matrices_to_joints, matrices_to_pose};
pub use to_matrices::{joints_to_columns, joints_to_matrices, pose_to_columns, pose_to_matrices};
