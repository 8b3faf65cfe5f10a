//! Shared test support, never published: seeded [`Random`] data, tolerances, hashes, and the f64 reference of
//! every stage in `reference`.
//!
//! The unit tests of `condyle` include these files as a module. Those of `condyle-base` include `ground.rs`
//! and `reference/algebra.rs`. They cannot depend on this crate, because Cargo would build the crate under
//! test a second time, with distinct types.

mod characters;
mod ground;
pub mod humanoids;
pub mod reference;

pub use ground::*;
