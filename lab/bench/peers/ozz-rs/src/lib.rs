//! ozz-animation-rs behind the C interface of `cpp/peer.h`. It plays the archives that the adapter of
//! ozz-animation writes.

mod adapter;
#[allow(dead_code, reason = "the program uses more of it")]
mod data;
mod interface;
