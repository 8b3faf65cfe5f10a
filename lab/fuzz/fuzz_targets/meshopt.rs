//! Arbitrary bytes as a stream of `EXT_meshopt_compression`, and as vertices and triangles to encode.
#![no_main]

#[path = "../../../tools/condyle-gltf/tests/tiny/mod.rs"]
#[allow(dead_code, reason = "each target uses a part")]
mod tiny;

const MODES: [&str; 3] = ["ATTRIBUTES", "TRIANGLES", "INDICES"];
const FILTERS: [&str; 4] = ["NONE", "OCTAHEDRAL", "QUATERNION", "EXPONENTIAL"];

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let [192..=255, data @ ..] = bytes {
        condyle_gltf::assert_encoders(data);
    } else if let [mode, filter, stream @ ..] = bytes {
        let (mode, filter) = (MODES[usize::from(*mode) % 3], FILTERS[usize::from(*filter) % 4]);
        condyle_fuzz::exercise(&tiny::meshopt(mode, filter, stream).glb());
    }
});
