//! What CI runs, and the checks that need more than a test.

mod asm;
mod bench;
mod ci;
mod eberly;
mod features;
mod fuzz;
mod gpu;
mod guide;
mod levels;
mod lint;
mod miri;
mod package;
mod papers;
mod playback;
mod public_api;
mod python;
mod readme;
mod step;
mod tables;
mod targets;
mod testdata;
mod tests;
mod times;
mod validator;
mod words;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask COMMAND

  ci [--list]                       every check that CI makes, or their names
  ci --only NAME                    those whose name begins with NAME
  ci --strict                       fails where a check is skipped for want of a tool
  asm [--update]                    the machine code of the kernels against docs/asm.md
  public-api [--update]             the documented items of every library against docs/api
  guide                             the links of all pages, and the guide as a book in target/xtask/guide
  words [--update]                  the wording of comments and documentation against xtask/words-baseline.txt
  words FILE...                     every finding of files or folders
  words --summary [FILE...]         the number of findings by folder and rule
  tables                            fits the weights of slerp and of Eberly's series in crates/condyle/src/interpolation
  playback                          packed models in three.js as in ci, but at three errors and more moments: into docs/packing.md
  pack-peers                        what gltfpack and glTF-Transform make of them, into docs/packing.md
  papers                            the tables and plots of the papers and clock cycles, into docs/papers.md
  times                             how long builds and tests take from nothing, into CONTRIBUTING.md
  fuzz TARGET [--seconds N]         one fuzz target, a minute unless told otherwise
";

/// The folder that holds the workspace.
fn root() -> PathBuf {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().unwrap_or(xtask).to_path_buf()
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        ["ci"] => ci::run("", false),
        ["ci", "--strict"] => ci::run("", true),
        ["ci", "--list"] => ci::list(),
        ["ci", "--only", name] => ci::run(name, false),
        ["asm"] => step::alone("asm", asm::check),
        ["asm", "--update"] => step::alone("asm", asm::update),
        ["public-api"] => step::alone("public-api", public_api::check),
        ["public-api", "--update"] => step::alone("public-api", public_api::update),
        ["guide"] => step::alone("guide", guide::check),
        ["words"] => step::alone("words", words::check),
        ["words", "--update"] => step::alone("words", words::update),
        ["words", "--summary", paths @ ..] => words::summary(paths),
        ["words", paths @ ..] if paths.iter().all(|path| !path.starts_with('-')) => words::list(paths),
        ["pack-peers"] => step::alone("pack-peers", playback::peers),
        ["playback"] => step::alone("playback", playback::whole),
        ["papers"] => step::alone("papers", papers::write),
        ["times"] => step::alone("times", times::write),
        ["tables"] => step::alone("tables", tables::write),
        ["fuzz", target] => fuzz::alone(target, fuzz::SECONDS),
        ["fuzz", target, "--seconds", seconds] => match seconds.parse() {
            Ok(seconds) => fuzz::alone(target, seconds),
            Err(_) => usage(),
        },
        _ => usage(),
    }
}

fn usage() -> ExitCode {
    eprint!("{USAGE}");
    ExitCode::from(2)
}
