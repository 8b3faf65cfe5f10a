//! The program as users run it: its output, its files and its failures.

mod ask;
mod bake;
#[path = "../../../condyle-body/tests/common/mod.rs"]
mod bodies;
mod bvh;
mod common;
mod compare;
mod convert;
mod encode;
mod examples;
mod files;
mod limits;
mod look;
mod motion;
mod pack;
mod pack_library;
mod reach;
mod render;
mod rest;
mod retarget;
mod rig;
mod scale;
mod shell;
mod skin;
mod streams;
mod view;
mod work;
