//! The program as its users meet it: what it prints, what it writes, how it fails.

#[cfg(feature = "bench")]
mod bench;
mod common;
mod compare;
mod encode;
mod files;
mod look;
mod motion;
mod pack;
mod papers;
mod render;
mod rest;
mod skin;
mod streams;
mod work;
