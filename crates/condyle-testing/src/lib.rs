//! What the tests and measurements of all crates share: [`Random`] numbers and characters, tolerances and hashes, and
//! `reference`, every stage again in f64. Never published.
//!
//! The tests inside `condyle` include these files as a module of theirs, those inside `condyle-base` only `ground.rs` and
//! `reference/algebra.rs`: a crate that is tested is another one than the same crate below this one, and its types are others.

mod characters;
mod ground;
pub mod reference;

pub use ground::*;
