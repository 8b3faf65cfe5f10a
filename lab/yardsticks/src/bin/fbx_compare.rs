//! Compares the joints and vertices of FBX files with the evaluation of ufbx, at keys and between.
//!
//! `cargo run --release -p condyle-yardsticks --bin fbx_compare -- FOLDER_OR_FILE ...`

#[path = "../../../../tools/condyle-fbx/tests/common/mod.rs"]
mod common;

use std::path::{Path, PathBuf};

fn main() {
    let mut files = Vec::new();
    for path in std::env::args_os().skip(1) {
        gather(Path::new(&path), &mut files);
    }
    files.sort();
    let (mut opened, mut refused, mut above, mut sheared) = (0, 0, 0, 0);
    let mut worst = [0.0_f64; 5];
    let (mut moments, mut corners) = (0, 0);
    for path in &files {
        let Ok(bytes) = std::fs::read(path) else { continue };
        let name = path.display().to_string();
        match common::file(&name, &bytes, &mut moments) {
            Ok(Some(found)) => {
                opened += 1;
                if found.sheared {
                    println!("sheared: {name} {}", found.at);
                    sheared += 1;
                    continue;
                }
                let all = [found.rest, found.keys, found.between, found.linear, found.vertices];
                corners += found.corners;
                worst.iter_mut().zip(all).for_each(|(worst, it)| *worst = worst.max(it));
                let most = all.into_iter().fold(0.0, f64::max);
                above += usize::from(most > 1e-6);
                if most > 1e-6 || files.len() < 20 {
                    println!(
                        "{:.1e} rest  {:.1e} keys  {:.1e} between  {:.1e} linear  {:.1e} vertices  \
                         {} joints  {} takes  {} -> {} bytes  {name} {}",
                        found.rest,
                        found.keys,
                        found.between,
                        found.linear,
                        found.vertices,
                        found.joints,
                        found.takes,
                        bytes.len(),
                        found.bytes,
                        found.at
                    );
                }
            }
            Ok(None) => {}
            Err(error) => {
                refused += 1;
                println!("refused: {name}: {error}");
            }
        }
    }
    println!(
        "{} files, {opened} opened, {refused} refused, {sheared} sheared, {above} above 1e-6, {moments} poses, {corners} corners; \
         worst: rest {:.1e}, keys {:.1e}, between {:.1e}, linear {:.1e}, vertices {:.1e}",
        files.len(),
        worst[0],
        worst[1],
        worst[2],
        worst[3],
        worst[4]
    );
}

fn gather(path: &Path, files: &mut Vec<PathBuf>) {
    if let Ok(entries) = std::fs::read_dir(path) {
        entries.flatten().for_each(|entry| gather(&entry.path(), files));
    } else if path.extension().is_some_and(|it| it.eq_ignore_ascii_case("fbx")) {
        files.push(path.into());
    }
}
