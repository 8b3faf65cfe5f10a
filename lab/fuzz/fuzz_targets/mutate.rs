//! A valid character with a few values, strings and bytes replaced, which gets past the JSON parser.
#![no_main]

use arbitrary::Unstructured;

#[path = "../../../tools/condyle-gltf/tests/tiny/mod.rs"]
#[allow(dead_code, reason = "each target uses a part")]
mod tiny;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let mut tiny = tiny::character();
    condyle_fuzz::edit(&mut tiny.json, &mut tiny.buffer, &mut Unstructured::new(bytes)).ok();
    condyle_fuzz::exercise(&tiny.glb());
});
