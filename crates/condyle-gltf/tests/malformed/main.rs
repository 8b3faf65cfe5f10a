//! Hostile documents. Each must be accepted or refused with the place and the reason: no panic, no two seconds, and no
//! memory out of proportion to its size.
#![cfg(not(target_family = "wasm"))]

#[path = "../exercise/mod.rs"]
mod exercise;
#[path = "../common/shared.rs"]
mod shared;
#[path = "../tiny/mod.rs"]
mod tiny;

mod buffers;
mod container;
mod files;
mod json;

use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use condyle_gltf::{Asset, Document, Refused};
use peak_alloc::PeakAlloc;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// Memory is counted for the whole process, so one document at a time.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

const TIME_LIMIT: Duration = Duration::from_secs(2);
const MEMORY_LIMIT: usize = 300 << 20;
/// What an import may take on top of a fixed sum, for each byte of the document: the importer's own allowance is 32 bytes
/// of decoded data, which are held twice for a moment.
const MEMORY_PER_BYTE: usize = 80;
const MEMORY_BASE: usize = 160 << 20;

/// Imports a document from memory, and poses and writes what is accepted.
fn attempt(case: impl Display, bytes: &[u8]) -> Result<Asset, Refused> {
    attempt_with(case, bytes.len(), || {
        Document::from_slice("hostile", bytes, None).and_then(Asset::from_document)
    })
}

fn attempt_with(
    case: impl Display,
    size: usize,
    import: impl FnOnce() -> Result<Asset, Refused>,
) -> Result<Asset, Refused> {
    let _one = ONE_AT_A_TIME.lock();
    let before = MEMORY.current_usage();
    let start = Instant::now();
    let mut import_peak = 0;
    MEMORY.reset_peak_usage();
    let result = catch_unwind(AssertUnwindSafe(|| {
        let result = import();
        import_peak = MEMORY.peak_usage().saturating_sub(before);
        match &result {
            Ok(asset) => exercise::play(asset),
            Err(refused) => exercise::check_refusal(refused),
        }
        result
    }));
    let peak = MEMORY.peak_usage().saturating_sub(before);
    let time = start.elapsed();
    let Ok(result) = result else { panic!("{case}: panicked, see above") };
    assert!(time < TIME_LIMIT, "{case}: took {time:?}");
    let limit = MEMORY_BASE + size.saturating_mul(MEMORY_PER_BYTE);
    assert!(import_peak < limit, "{case}: {size} bytes took {import_peak} bytes of memory to import");
    assert!(size > 1 << 20 || peak < MEMORY_LIMIT, "{case}: {size} bytes took {peak} bytes of memory");
    result
}

/// The document must be refused, with an error at `path`.
fn refuse(case: impl Display, bytes: &[u8], path: &str) {
    match attempt(&case, bytes) {
        Ok(_) => panic!("{case}: accepted"),
        Err(refused) => {
            assert!(
                refused.problems.iter().any(|p| p.path == path),
                "{case}: no problem at {path}: {refused}"
            );
        }
    }
}

/// Reproducible and no more (SplitMix64).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) as usize % limit
    }
}

#[test]
fn the_documents_that_hostile_ones_are_made_from_are_accepted() {
    for (name, tiny) in tiny::all() {
        for bytes in [tiny.gltf(), tiny.glb()] {
            let asset = attempt(name, &bytes).unwrap_or_else(|refused| panic!("{name}: {refused}"));
            assert!(asset.instances.iter().all(|i| !i.primitives.is_empty()), "{name}");
        }
    }
    let character = attempt("character", &tiny::character().glb()).expect("accepted above");
    assert_eq!((character.clips.len(), character.skins.len(), character.instances.len()), (1, 1, 3));
    assert_eq!(character.clips[0].tracks().len(), 4);
    assert!(character.problems.is_empty(), "{:?}", character.problems);
}

#[test]
fn shared_models_cut_short_and_with_bits_flipped() {
    let Some(folder) = shared::folder() else { return };
    let entries = std::fs::read_dir(&folder).expect("a readable folder");
    let paths = entries.map(|e| e.expect("the folder can be read").path());
    for path in paths.filter(|p| p.extension().is_some_and(|e| e == "glb" || e == "gltf")) {
        let bytes = std::fs::read(&path).expect("the model can be read");
        let mut random = Random(bytes.len() as u64);
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let import =
            |bytes: &[u8]| Document::from_slice(&name, bytes, Some(&folder)).and_then(Asset::from_document);
        for _ in 0..8 {
            let cut = random.below(bytes.len());
            let case = format!("{name} cut to {cut} bytes");
            let result = attempt_with(&case, bytes.len(), || import(&bytes[..cut]));
            assert!(result.is_err(), "{case}: accepted");
        }
        // Most bytes are vertices; the start is where the structure is.
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
}
