//! Curves of one segment within the budgets of its joints, and tracks without such curves.
//!
//! Each file uses only files before it: least_squares, quantised, segment_fit, alignment, rotation, search,
//! joint_curves, root_motion, free_tracks, fallback, segment.

pub(crate) mod alignment;
pub(crate) mod fallback;
pub(crate) mod free_tracks;
pub(crate) mod joint_curves;
pub(crate) mod least_squares;
pub(crate) mod quantised;
pub(crate) mod root_motion;
pub(crate) mod rotation;
pub(crate) mod search;
pub(crate) mod segment;
pub(crate) mod segment_fit;
