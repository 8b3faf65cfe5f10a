//! The joints of a humanoid in a skeleton.

mod humanoid;
mod role;

pub use humanoid::{Humanoid, Twist};
pub use role::{Role, Side};
