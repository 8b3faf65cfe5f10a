//! The modules of the npm package `condyle`: a thin layer between the library and its JavaScript, which is in
//! `js`.
//!
//! Functions that run each frame take and return numbers only, so that a call leaves no garbage. They return
//! whether they failed, and keep the error until JavaScript fetches it. Results are read in place: a function
//! returns an address, and JavaScript makes a view of the memory there.

mod blend;
mod character;
mod crowd;
mod facts;
mod fault;
mod json;
mod open;
mod part;
mod pose;

// The parts that differ between the builds, with the same names in both.
#[cfg(not(feature = "whole"))]
mod player;
#[cfg(not(feature = "whole"))]
use player as build;
#[cfg(feature = "whole")]
mod whole;
#[cfg(feature = "whole")]
use whole as build;

#[cfg(feature = "encode")]
mod encode;
#[cfg(all(feature = "whole", not(feature = "encode")))]
#[path = "no_encode.rs"]
mod encode;
