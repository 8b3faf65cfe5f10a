//! Shared foundation of the Condyle crates: plain types and scalar functions ([`math`]), instruction sets
//! ([`simd`]), the error type ([`Error`]), reading and writing numbers ([`bytes`]), and sorting ([`order`]).
//!
//! This crate is public because the other crates need it. It has no stability guarantee. Programs use
//! `condyle` and the crates of file formats, which re-export the types that programs need.
#![cfg_attr(not(feature = "std"), no_std)]
#![cfg_attr(docsrs, feature(doc_cfg))]

// x87 registers round differently from all other instruction sets.
#[cfg(all(target_arch = "x86", not(target_feature = "sse2")))]
compile_error!("condyle needs SSE2 on 32-bit x86: -Ctarget-feature=+sse2");

extern crate alloc;
#[cfg(test)]
extern crate self as condyle_base;
#[cfg(test)]
extern crate std;

pub mod bytes;
pub mod error;
pub mod math;
pub mod order;
pub mod problem;
pub mod simd;

pub use error::Error;

#[cfg(test)]
#[allow(
    dead_code,
    unused_imports,
    unreachable_pub,
    reason = "the tests of this crate use only some of its items"
)]
#[path = "../../../lab/testing/src/reference/algebra.rs"]
mod reference;
#[cfg(test)]
#[allow(
    dead_code,
    unused_imports,
    unreachable_pub,
    reason = "the tests of this crate use only some of its items"
)]
#[path = "../../../lab/testing/src/ground.rs"]
mod testing;
