//! Random sequences of calls of the C interface: `bindings/c/calls`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    condyle_c_calls::run(bytes);
});
