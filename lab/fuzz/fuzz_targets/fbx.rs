//! Arbitrary bytes as an FBX file, and edits of a small one.
#![no_main]

#[path = "../../../tools/condyle-fbx/tests/common/exercise.rs"]
mod exercise;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    exercise::exercise(bytes);
});
