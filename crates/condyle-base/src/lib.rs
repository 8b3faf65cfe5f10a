//! The ground that the crates of Condyle stand on: plain types and scalar functions ([`math`]), which instruction set runs
//! ([`simd`]), what can be wrong with what is handed in ([`Error`]), and numbers in files ([`bytes`]).
//!
//! Public because the other crates need it. What programs name is re-exported by `condyle`; everything else here carries
//! no promise of stability.
#![cfg_attr(not(feature = "std"), no_std)]

// The registers of the x87 round differently from everything else.
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
pub mod simd;

pub use error::Error;

#[cfg(test)]
#[allow(dead_code, unused_imports, unreachable_pub, reason = "tests of this crate use a part of it")]
#[path = "../../condyle-testing/src/reference/algebra.rs"]
mod reference;
#[cfg(test)]
#[allow(dead_code, unused_imports, unreachable_pub, reason = "tests of this crate use a part of it")]
#[path = "../../condyle-testing/src/ground.rs"]
mod testing;
