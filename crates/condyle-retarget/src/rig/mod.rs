//! The joints of a humanoid in a skeleton.

mod body;
mod find;
mod fingers;
mod front;
mod humanoid;
mod limbs;
mod name;
mod role;
mod roles;
mod text;
mod trunk;
mod words;

pub use find::{Doubt, Evidence, Found, Hints, NotHumanoid, find};
pub use humanoid::{Humanoid, Metacarpal, Twist};
pub use role::{Role, Side, UnknownRole};
pub use text::{MapError, read_map, write_map};
