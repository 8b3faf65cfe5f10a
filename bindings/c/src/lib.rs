//! The C interface: checks pointers and translates calls.
//!
//! `include/condyle.h` is generated from this crate by `cargo xtask c-header`. Its first comment states the
//! rules that every function relies on; the `unsafe` blocks refer to them as "the rules of the header".

#![allow(non_camel_case_types, reason = "the types have their C names")]
#![allow(clippy::missing_safety_doc, reason = "the rules of the header hold for every function")]
#![allow(clippy::too_many_arguments, reason = "every pointer has its count next to it")]

#[macro_use]
mod pointer;

mod constants;
mod guard;
mod numbers;
mod text;

// The order of the header.
mod status;

mod types;

mod open;

mod skeleton;

mod clip;

#[cfg(feature = "encode")]
mod encode;

mod writer;

mod player;

mod frames;

mod pose;

mod blend;

mod transition;

mod model;

mod mesh;

mod palette;

mod skin;

#[cfg(feature = "solve")]
mod solve;

#[cfg(feature = "solve")]
mod feet;

#[cfg(feature = "solve")]
mod springs;

#[cfg(feature = "query")]
mod query;

#[cfg(feature = "query")]
mod hitbox;

pub use blend::*;
pub use clip::*;
#[cfg(feature = "encode")]
pub use encode::*;
#[cfg(feature = "solve")]
pub use feet::*;
pub use frames::*;
#[cfg(feature = "query")]
pub use hitbox::*;
pub use mesh::*;
pub use model::*;
pub use numbers::*;
pub use open::*;
pub use palette::*;
pub use player::*;
pub use pose::*;
#[cfg(feature = "query")]
pub use query::*;
pub use skeleton::*;
pub use skin::*;
#[cfg(feature = "solve")]
pub use solve::*;
#[cfg(feature = "solve")]
pub use springs::*;
pub use status::*;
pub use transition::*;
pub use types::*;
pub use writer::*;
