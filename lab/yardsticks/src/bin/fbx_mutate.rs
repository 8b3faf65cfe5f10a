//! Reads random edits of FBX files, and prints the slowest. A crash is a defect; the seed repeats it.
//!
//! `cargo run --release -p condyle-yardsticks --bin fbx_mutate -- COUNT SEED FOLDER_OR_FILE ...`

#[path = "../../../../tools/condyle-fbx/tests/common/exercise.rs"]
mod exercise;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Largest file that is edited.
const LARGEST: u64 = 100_000;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut number = || arguments.next().and_then(|it| it.parse::<u64>().ok());
    let (Some(count), Some(seed)) = (number(), number()) else {
        eprintln!("usage: fbx_mutate COUNT SEED FOLDER_OR_FILE ...");
        return;
    };
    let mut paths = Vec::new();
    arguments.for_each(|path| gather(Path::new(&path), &mut paths));
    paths.sort();
    let files: Vec<Vec<u8>> = paths.iter().filter_map(|path| std::fs::read(path).ok()).collect();
    if files.is_empty() {
        return;
    }
    let (mut slowest, mut accepted) = ((Duration::ZERO, 0), 0);
    for index in seed..seed + count {
        let bytes = edited(&files, index);
        if std::env::var_os("KEEP").is_some() {
            std::fs::write("mutated.fbx", &bytes).expect("a file");
        }
        let start = Instant::now();
        accepted += u64::from(exercise::exercise(&bytes));
        let taken = start.elapsed();
        if taken > slowest.0 {
            slowest = (taken, index);
        }
        if (index + 1 - seed) % 10_000 == 0 || taken > Duration::from_secs(5) {
            let (done, (most, at)) = (index + 1 - seed, slowest);
            println!("{done} inputs, {accepted} accepted, at {index}; slowest {most:?} at {at}");
        }
    }
}

fn gather(path: &Path, paths: &mut Vec<PathBuf>) {
    if let Ok(entries) = std::fs::read_dir(path) {
        entries.flatten().for_each(|entry| gather(&entry.path(), paths));
    } else if path.extension().is_some_and(|it| it.eq_ignore_ascii_case("fbx"))
        && std::fs::metadata(path).is_ok_and(|it| it.len() <= LARGEST)
    {
        paths.push(path.into());
    }
}

/// One of the files with up to four edits: bytes, numbers of 4 bytes, deletions, copies.
fn edited(files: &[Vec<u8>], seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x2545_f491_4f6c_dd1d;
    let mut next = move |limit: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as usize % limit.max(1)
    };
    let mut bytes = files[next(files.len())].clone();
    // Offsets of a binary file stay right in half of the inputs.
    let kinds = [3, 6][next(2)];
    for _ in 0..=next(4) {
        let at = next(bytes.len());
        let length = next(64).min(bytes.len() - at);
        match next(kinds) {
            0 => bytes[at] = next(256) as u8,
            1 => bytes[at] ^= 1 << next(8),
            2 => {
                let word = [0_u32, 1, 0x7f, 0xff, 0x7fff_ffff, 0xffff_ffff, 1000][next(7)];
                let end = (at + 4).min(bytes.len());
                bytes[at..end].copy_from_slice(&word.to_le_bytes()[..end - at]);
            }
            3 => drop(bytes.drain(at..at + length)),
            4 => {
                let copy = bytes[at..at + length].to_vec();
                let to = next(bytes.len());
                bytes.splice(to..to, copy);
            }
            _ => bytes.truncate(bytes.len() - length.min(bytes.len() - 1)),
        }
        if bytes.is_empty() {
            bytes.push(0);
        }
    }
    bytes
}
