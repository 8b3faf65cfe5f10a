//! Truncated models and models with flipped bits: each must be accepted or refused like any other hostile
//! document.

#[path = "malformed/attempt.rs"]
mod attempt;
mod exercise;
#[path = "common/suite.rs"]
mod suite;

use std::path::Path;
use std::process::ExitCode;

use attempt::attempt_with;
use condyle_gltf::{Asset, Document};
use condyle_testing::Random;

fn main() -> ExitCode {
    let mut suite = suite::Suite::new();
    suite.each_model("cut_short_and_with_bits_flipped", cut_short_and_with_bits_flipped);
    suite.run()
}

fn cut_short_and_with_bits_flipped(path: &Path) {
    let folder = path.parent();
    let bytes = std::fs::read(path).expect("the model can be read");
    let mut random = Random(bytes.len() as u64);
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let import = |bytes: &[u8]| Document::from_slice(&name, bytes, folder).and_then(Asset::from_document);
    for _ in 0..8 {
        let cut = random.below(bytes.len());
        let case = format!("{name} cut to {cut} bytes");
        let result = attempt_with(&case, bytes.len(), || import(&bytes[..cut]));
        assert!(result.is_err(), "{case}: accepted");
    }
    // Most bytes are vertex data; the structure is at the start.
    for range in [bytes.len(), 20_000.min(bytes.len()), 200] {
        for _ in 0..8 {
            let (at, bit) = (random.below(range), random.below(8));
            let mut flipped = bytes.clone();
            flipped[at] ^= 1 << bit;
            let case = format!("{name} with bit {bit} of byte {at} flipped");
            attempt_with(case, bytes.len(), || import(&flipped)).ok();
        }
    }
}
