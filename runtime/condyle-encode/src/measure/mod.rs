//! The points of each joint, the error budget of each point, and the error of a compressed clip.
//!
//! Each file uses only files before it: algebra, ball, ball_set, convex_hull, shell, joint_facts, budget,
//! model, carried_points, raw_clip, rate, job, error.

pub(crate) mod algebra;
pub(crate) mod ball;
pub(crate) mod ball_set;
pub(crate) mod budget;
pub(crate) mod carried_points;
pub(crate) mod convex_hull;
pub(crate) mod error;
pub(crate) mod job;
pub(crate) mod joint_facts;
pub(crate) mod model;
pub(crate) mod rate;
pub(crate) mod raw_clip;
pub(crate) mod shell;
