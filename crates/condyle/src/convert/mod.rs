//! Local transforms to matrices and back. In goes a [`Pose`](crate::Pose) or a list of
//! [`JointQuat`](condyle_base::math::JointQuat), out comes one matrix per joint; or the other way round.
//!
//! Each joint is by itself here: [`model`](crate::model) puts joints on their parents.

mod from_matrices;
pub(crate) mod quads;
pub(crate) mod rows;
mod to_matrices;

pub use from_matrices::{matrices_to_joints, matrices_to_pose};
pub use to_matrices::{joints_to_columns, joints_to_matrices, pose_to_columns, pose_to_matrices};
