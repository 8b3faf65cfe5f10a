//! `cargo xtask dist`: everything that a release offers for download, made reproducibly.

mod archive;
mod build;
mod licences;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::step::{Log, Outcome, Step, Stop, out_dir, works};

use archive::{Entry, pack, sums};
use build::{Build, Kind};

pub(crate) fn steps() -> Vec<Step> {
    vec![Step::new("dist", quick).apart("dist")]
}

/// Makes all artefacts in `target/dist`.
pub(crate) fn write(log: &mut Log) -> Outcome {
    complete(log, |log| {
        let build = Build::new(log, Kind::Release)?;
        make(log, &build, &crate::step::build_dir("dist"))
    })
}

/// Makes all artefacts twice, and compares their bytes.
pub(crate) fn twice(log: &mut Log) -> Outcome {
    complete(log, |log| {
        compare(log, Kind::Release, [crate::step::build_dir("dist"), out_dir().join("dist-again")])
    })
}

/// Builds all artefacts. A missing tool, which skips a step of CI, is a failure here.
fn complete(log: &mut Log, make: impl FnOnce(&mut Log) -> Outcome) -> Outcome {
    let made = build::need_tools(log).and_then(|()| make(log));
    made.map_err(|stop| match stop {
        Stop::Skipped(why) => Stop::Failed(why),
        failed @ Stop::Failed(_) => failed,
    })
}

/// The same comparison for the runtime as a C library and the source of the Python package. The builds are
/// not optimised and have one copy of each kernel. The step `package` builds the command line.
fn quick(log: &mut Log) -> Outcome {
    compare(log, Kind::Quick, ["dist-quick", "dist-again"].map(|name| out_dir().join(name)))
}

fn compare(log: &mut Log, kind: Kind, folders: [PathBuf; 2]) -> Outcome {
    let mut made = String::new();
    for folder in &folders {
        let build = Build::new(log, kind)?;
        made = make(log, &build, folder)?;
    }
    let mut differences = Vec::new();
    for name in names(&folders[0])? {
        if std::fs::read(folders[0].join(&name))? != std::fs::read(folders[1].join(&name))? {
            differences.push(name);
        }
    }
    if differences.is_empty() {
        Ok(format!("{made}; the same bytes twice"))
    } else {
        Err(Stop::Failed(format!("two builds have different bytes: {}", differences.join(", "))))
    }
}

/// Makes the artefacts of a build, and their checksums.
fn make(log: &mut Log, build: &Build, folder: &Path) -> Outcome {
    if folder.exists() {
        std::fs::remove_dir_all(folder)?;
    }
    std::fs::create_dir_all(folder)?;
    if build.kind() == Kind::Release {
        command_line(log, build, folder)?;
        build.wheel(log, folder)?;
    }
    c_library(log, build, folder)?;
    // The source is the same for all platforms.
    if build.target() == "x86_64-unknown-linux-gnu" {
        build.python_source(log, folder)?;
    }
    if build.kind() == Kind::Release {
        // Last, because cargo-cyclonedx writes into the sources.
        build.bills_of_materials(log, folder)?;
    }
    let names = names(folder)?;
    let list = format!("SHA256SUMS-{}", build.target());
    std::fs::write(folder.join(list), sums(folder, &names)?)?;
    let sizes = names.iter().map(|name| {
        let bytes = std::fs::metadata(folder.join(name)).map_or(0, |data| data.len());
        format!("{name} {:.2} MB", bytes as f64 / 1e6)
    });
    Ok(sizes.collect::<Vec<_>>().join(", "))
}

/// Names of the files in a folder, sorted.
fn names(folder: &Path) -> Result<Vec<String>, Stop> {
    let files = std::fs::read_dir(folder)?.flatten();
    let mut names: Vec<_> = files.map(|file| file.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    Ok(names)
}

/// Shells with completions.
const SHELLS: [&str; 5] = ["bash", "elvish", "fish", "powershell", "zsh"];

/// Archive of the command line: program, manual pages, completions and licences.
fn command_line(log: &mut Log, build: &Build, out: &Path) -> Result<(), Stop> {
    let program = build.program(log)?;
    let folder = build.scratch("command-line")?;
    log.run(Command::new(&program).args(["man", "-o"]).arg(folder.join("man")))?;
    let name = format!("condyle-{}-{}", crate::version::current(), build.target());
    let mut entries = vec![
        Entry::program(format!("{name}/condyle"), &program)?,
        Entry::text(
            format!("{name}/THIRD-PARTY-LICENSES.txt"),
            licences::of(log, "Cargo.toml", "condyle-cli")?,
        ),
    ];
    for file in ["README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT"] {
        entries.push(Entry::file(format!("{name}/{file}"), &build.checkout().join(file))?);
    }
    for page in names(&folder.join("man"))? {
        entries.push(Entry::file(format!("{name}/man/{page}"), &folder.join("man").join(&page))?);
    }
    // `condyle view` finds the page next to the program.
    let page = format!("{name}/web");
    entries.extend(Entry::folder(&page, &build.page(log)?)?);
    let licences = licences::of(log, crate::web::MANIFEST, "condyle-wasm")?;
    entries.push(Entry::text(format!("{page}/THIRD-PARTY-LICENSES.txt"), licences));
    for shell in SHELLS {
        let script = log.capture(Command::new(&program).args(["completions", shell]))?;
        entries.push(Entry::text(format!("{name}/completions/condyle.{shell}"), script));
    }
    pack(&out.join(format!("{name}.tar.gz")), entries, build.seconds())
}

/// Archive of the C library: headers, static and dynamic library, packages of CMake and pkg-config, licences,
/// the page of the guide, and samples with a character.
fn c_library(log: &mut Log, build: &Build, out: &Path) -> Result<(), Stop> {
    if !works("cmake", &["--version"]) {
        return Err(Stop::Skipped("cmake is not installed".into()));
    }
    let libraries = build.c_libraries(log)?;
    let (source, folder) = (build.checkout().join("bindings/c"), build.scratch("c-library")?);
    let mut configure = Command::new("cmake");
    configure.arg("-S").arg(&source).arg("-B").arg(folder.join("build")).arg("-DCMAKE_INSTALL_LIBDIR=lib");
    log.run(configure.arg(format!("-DCONDYLE_LIBRARY_DIR={}", libraries.display())))?;
    let mut install = Command::new("cmake");
    install.arg("--install").arg(folder.join("build")).arg("--prefix").arg(folder.join("root"));
    log.run(&mut install)?;
    let name = format!("condyle-c-{}-{}", crate::version::current(), build.target());
    let mut entries = Entry::folder(&name, &folder.join("root"))?;
    entries.extend(Entry::folder(&format!("{name}/samples"), &source.join("samples"))?);
    let character = build.checkout().join("web/characters/person.glb");
    entries.push(Entry::file(format!("{name}/samples/character.glb"), &character)?);
    for (page, path) in [("README.md", "bindings/c/README.md"), ("GUIDE.md", "docs/guide/c.md")] {
        let text = std::fs::read_to_string(build.checkout().join(path))?;
        entries.push(Entry::text(format!("{name}/{page}"), links_in_archive(&text)));
    }
    let licences = licences::of(log, crate::c::MANIFEST, "condyle-c")?;
    entries.push(Entry::text(format!("{name}/THIRD-PARTY-LICENSES.txt"), licences));
    for file in ["LICENSE-APACHE", "LICENSE-MIT"] {
        entries.push(Entry::file(format!("{name}/{file}"), &build.checkout().join(file))?);
    }
    pack(&out.join(format!("{name}.tar.gz")), entries, build.seconds())
}

/// Text of a page with links to the files of the archive, or to the repository.
fn links_in_archive(text: &str) -> String {
    let tree = format!("]({}/blob/v{}/", crate::version::repository(), crate::version::current());
    text.replace("](../../docs/guide/c.md", "](GUIDE.md")
        .replace("](../../bindings/c/", "](")
        .replace("](../../", &tree)
        .replace("](determinism.md", &format!("{tree}docs/guide/determinism.md"))
        .replace("](src/", &format!("{tree}bindings/c/src/"))
}

/// Prints the section of this version in `CHANGELOG.md`, without its heading.
pub(crate) fn notes() -> ExitCode {
    let changes = std::fs::read_to_string(crate::root().join("CHANGELOG.md")).unwrap_or_default();
    match section(&changes, crate::version::current()) {
        Some(section) => {
            println!("{section}");
            ExitCode::SUCCESS
        }
        None => {
            eprintln!(
                "CHANGELOG.md has no section with the version {} and a date",
                crate::version::current()
            );
            ExitCode::FAILURE
        }
    }
}

/// Section of a released version. An unreleased one has no date.
fn section<'a>(changes: &'a str, version: &str) -> Option<&'a str> {
    let (_, rest) = changes.split_once(&format!("\n## {version} - "))?;
    let (date, rest) = rest.split_once('\n')?;
    let end = rest.find("\n## ").unwrap_or(rest.len());
    date.starts_with(|c: char| c.is_ascii_digit()).then(|| rest[..end].trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_one_section() {
        let changes = "# Changelog\n\n## 0.2.0 - Unreleased\n\n- c\n\n## 0.1.0 - 2026-12-01\n\n- a\n- b\n\n## 0.0.1 - 2025-01-01\n\n- z\n";
        assert_eq!(section(changes, "0.1.0"), Some("- a\n- b"));
        assert_eq!(section(changes, "0.0.1"), Some("- z"));
        assert_eq!(section(changes, "0.2.0"), None);
        assert_eq!(section(changes, "0.3.0"), None);
    }
}
