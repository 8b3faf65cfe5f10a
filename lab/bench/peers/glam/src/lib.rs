//! glam behind the C interface of `cpp/peer.h`. The library is compiled twice, for the baseline and for this
//! machine.

mod adapter;
#[allow(dead_code, reason = "the program uses more of it")]
#[path = "../../src/data.rs"]
mod data;
mod interface;
