//! Writes one test per page of the guide: its Rust blocks, concatenated, form one program.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::{env, fs};

const PAGES: &str = "../../docs/guide";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed={PAGES}");
    let entries = fs::read_dir(PAGES)?.collect::<Result<Vec<_>, _>>()?;
    let mut pages: Vec<PathBuf> = entries.iter().map(|entry| entry.path()).collect();
    pages.sort();
    let mut tests = String::new();
    for page in pages.iter().filter(|page| page.extension().is_some_and(|ending| ending == "md")) {
        println!("cargo::rerun-if-changed={}", page.display());
        let program = rust(&fs::read_to_string(page)?);
        let name = page.file_stem().unwrap_or_default().to_string_lossy().replace('-', "_");
        if !program.is_empty() {
            tests += &format!(
                "#[test]\nfn {name}() -> Result<(), Box<dyn std::error::Error>> {{\nsuper::enter();\n{program}Ok(())\n}}\n"
            );
        }
    }
    fs::write(Path::new(&env::var("OUT_DIR")?).join("pages.rs"), tests)?;
    Ok(())
}

/// Returns the lines of all blocks marked `rust`.
fn rust(page: &str) -> String {
    let mut program = String::new();
    let mut language = None;
    for line in page.lines() {
        match (line.strip_prefix("```"), language) {
            (Some(opened), None) => language = Some(opened),
            (Some(_), Some(_)) => language = None,
            (None, Some("rust")) => program += &format!("{line}\n"),
            (None, _) => {}
        }
    }
    program
}
