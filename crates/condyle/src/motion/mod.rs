//! Root motion: what moves a character as a whole, apart from its pose.

mod clip;
mod extract;
mod root;
#[cfg(test)]
mod tests;

pub use extract::{MotionRotation, RootMotionOptions, extract};
pub use root::{RootMotion, blend, over};
