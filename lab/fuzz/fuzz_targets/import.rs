//! Arbitrary bytes as a .glb or .gltf file.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| condyle_fuzz::exercise(bytes));
