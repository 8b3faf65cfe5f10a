//! Root motion: what moves a character as a whole, apart from its pose.

mod clip;
mod extract;
mod root;
#[cfg(test)]
mod tests;

pub use extract::{MotionRotation, RootMotionOptions, extract_root_motion};
pub use root::{RootMotion, blend_motion, motion_over};
