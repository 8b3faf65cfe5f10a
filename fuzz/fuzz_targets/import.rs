//! Any bytes, as a .glb or a .gltf file.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| condyle_fuzz::exercise(bytes));
