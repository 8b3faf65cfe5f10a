//! Transforms to matrices and back, and products of matrices.

mod from_matrices;
pub(crate) mod quads;
pub(crate) mod rows;
mod to_matrices;

pub use from_matrices::{matrices_to_joints, matrices_to_pose};
pub use to_matrices::{joints_to_columns, joints_to_matrices, pose_to_columns, pose_to_matrices};
