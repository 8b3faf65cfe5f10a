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

#[cfg(feature = "whole")]
mod body;
#[cfg(feature = "whole")]
mod feet;
#[cfg(feature = "whole")]
mod frames;
#[cfg(feature = "whole")]
mod mesh;
#[cfg(feature = "whole")]
mod query;
#[cfg(feature = "whole")]
mod solve;

#[cfg(feature = "encode")]
mod encode;
