//! Arbitrary bytes as a BVH file.
#![no_main]

#[path = "../../../tools/condyle-bvh/tests/common/exercise.rs"]
mod exercise;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| exercise::exercise(bytes));
