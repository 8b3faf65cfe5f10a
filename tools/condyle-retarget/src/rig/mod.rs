//! The joints of a humanoid in a skeleton.
//!
//! | input | output |
//! |---|---|
//! | a skeleton, and [`Hints`]: a pose, corrections | [`find`]: a [`Humanoid`], evidence and doubts, or [`NotHumanoid`] |
//! | roles and joints from elsewhere, such as a VRM map | [`Humanoid::new`]: the checked map |
//! | text with one `role = joint` per line | [`read_map`], and back [`write_map`] |
//!
//! [`Role`] has the 55 humanoid bones of VRM 1.0. Chains of other lengths are lists: [`Humanoid::spine`],
//! [`Humanoid::neck`], [`Humanoid::twists`], [`Humanoid::metacarpals`].
//!
//! The search has these steps, one module each:
//!
//! 1. `name` and `words` read names: side, part of the body, twist, tip, helper.
//! 2. `limbs` rates three joints below each other as a limb, and two limbs as a pair.
//! 3. `trunk` joins a pair of legs, a pair of arms and a head to one body.
//! 4. `front` finds left and right.
//! 5. `roles` and `fingers` give each joint its role, and list doubts.
//!
//! Names and shape each contribute a score, so one corrects the other. Joint axes are not used.

mod body;
mod find;
mod fingers;
mod found;
mod front;
mod humanoid;
mod limbs;
mod name;
mod role;
mod roles;
mod text;
mod trunk;
mod words;

pub use find::find;
pub use found::{Doubt, Evidence, Found, Hints, NotHumanoid};
pub use humanoid::{Humanoid, Metacarpal, Twist};
pub use role::{Role, Side, UnknownRole};
pub use text::{MapError, read_map, write_map};
