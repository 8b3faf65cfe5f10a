//! CI steps, and checks that need more than a test.

mod asm;
mod bench;
mod c;
mod c_packages;
mod ci;
mod dependencies;
mod dist;
mod eberly;
mod features;
mod fuzz;
mod gpu;
mod guide;
mod levels;
mod lint;
mod miri;
mod package;
mod page;
mod papers;
mod pip;
mod plan;
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
mod version;
mod web;
mod words;
mod workflows;
mod yardstick;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

const DAILY: &str = "\
daily commands:

  cargo runtime                     build and test the runtime alone
  cargo test                        run all tests of the runtime and the tools
  cargo lint && cargo fmt --all     check all code with clippy, and format it
  cargo xtask words                 check the wording of comments, documentation and messages
  cargo xtask ci                    run CI

`cargo xtask help` prints all commands.
";

const USAGE: &str = "\
usage: cargo xtask COMMAND

  ci [--turn N]                     run the steps of every landing, and those of one turn of four
  ci --group NAME                   run the steps of one group: house, runtime, tools, bindings, lab
  ci --only NAME                    run the steps whose name starts with NAME, of any turn
  ci --strict                       run the steps of all turns; a skipped step fails
  ci --list                         print the group and the turn of each step
  asm [--update]                    compare the machine code of the kernels with xtask/asm.md
  public-api [--update]             compare the documented items of every library with docs/api
  c-header                          write bindings/c/include/condyle.h with cbindgen
  c-packages                        build and use the Conan recipe and the vcpkg port of the C interface
  guide                             check the links of all pages, build the guide in target/xtask/guide
  words [FILE...]                   check the wording of comments and documentation, of all files or of some
  tables                            fit the weights of slerp and of Eberly's series in runtime/condyle/src/interpolation
  dist [--twice]                    write the release's archives to target/dist, twice to compare their bytes
  npm [--update]                    write the npm package to target/npm, and compare or store its sizes
  web                               write the page of `condyle view` to target/web, with the npm package
  version NEW                       write a new version, and the repository in Cargo.toml, to all files that have them
  release-notes                     print the notes of this version, from CHANGELOG.md
  playback                          play packed models in three.js at three errors and more times, write docs/reports/packing.md
  mesh-peers                        compare packed meshes with gltfpack, write docs/reports/packing.md
  pack-peers                        compare with gltfpack and glTF-Transform, write docs/reports/packing.md
  papers                            write the tables, plots and clock cycles of docs/reports/papers.md
  times                             measure builds and tests from scratch, write docs/dev/ci.md
  yardstick [--data PATH]           measure retargeting on our own bodies, or on paired files for lab/bench/results/retarget.md
  fuzz TARGET [--seconds N]         run one fuzz target, 20 s by default
";

/// Root folder of the workspace.
fn root() -> PathBuf {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().unwrap_or(xtask).to_path_buf()
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        [] => {
            print!("{DAILY}");
            ExitCode::SUCCESS
        }
        ["help" | "--help" | "-h"] => {
            print!("{USAGE}");
            ExitCode::SUCCESS
        }
        ["ci", options @ ..] => {
            plan::Options::parse(options).map_or_else(usage, |options| ci::main(&options))
        }
        ["asm"] => step::alone("asm", asm::check),
        ["asm", "--update"] => step::alone("asm", asm::update),
        ["public-api"] => step::alone("public-api", public_api::check),
        ["public-api", "--update"] => step::alone("public-api", public_api::update),
        ["dist"] => step::alone("dist", dist::write),
        ["dist", "--twice"] => step::alone("dist", dist::twice),
        ["npm"] => step::alone("npm", web::write),
        ["web"] => step::alone("page", page::write),
        ["npm", "--update"] => step::alone("npm", web::update),
        ["version", new] => step::alone("version", |log| version::set(log, new)),
        ["release-notes"] => dist::notes(),
        ["c-header"] => step::alone("c-header", c::write_header),
        ["c-packages"] => step::alone("c-packages", c_packages::check),
        ["guide"] => step::alone("guide", guide::check),
        ["words", paths @ ..] if paths.iter().all(|path| !path.starts_with('-')) => {
            step::alone("words", |log| words::check(log, paths))
        }
        ["mesh-peers"] => step::alone("mesh-peers", playback::mesh_peers),
        ["pack-peers"] => step::alone("pack-peers", playback::peers),
        ["playback"] => step::alone("playback", playback::whole),
        ["papers"] => step::alone("papers", papers::write),
        ["times"] => step::alone("times", times::write),
        ["tables"] => step::alone("tables", tables::write),
        ["yardstick"] => step::alone("yardstick", yardstick::made),
        ["yardstick", "--data", path] => step::alone("yardstick", |log| yardstick::read(log, path)),
        ["fuzz", target] => fuzz::alone(target, fuzz::SECONDS),
        ["fuzz", target, "--seconds", seconds] => match seconds.parse() {
            Ok(seconds) => fuzz::alone(target, seconds),
            Err(_) => usage(),
        },
        _ => usage(),
    }
}

/// Whether the usage text has this command with these flags.
fn is_command(command: &str) -> bool {
    let mut words = command.split(' ');
    let name = words.next().unwrap_or_default();
    let flags: Vec<_> = words.filter(|word| word.starts_with("--")).collect();
    let mut lines = USAGE.lines().filter(|line| line.trim_start().split(' ').next() == Some(name));
    lines.any(|line| flags.iter().all(|flag| line.contains(flag)))
}

fn usage() -> ExitCode {
    eprint!("{USAGE}");
    ExitCode::from(2)
}
