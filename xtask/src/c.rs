//! The C interface: its header, its tests with sanitizers, its symbols and layouts.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::step::{Log, ONE_KERNEL, Outcome, Step, Stop, build_dir, cargo, need, out_dir, works};

/// A separate workspace, because it has its own release profile.
pub(crate) const MANIFEST: &str = "bindings/c/Cargo.toml";

/// System libraries that the archive needs.
const SYSTEM: [&str; 3] = ["-lm", "-lpthread", "-ldl"];

pub(crate) fn steps() -> Vec<Step> {
    vec![Step::new("c", check).apart("c")]
}

/// Folder of the binding.
fn own() -> PathBuf {
    crate::root().join("bindings/c")
}

/// Checks the header, the code, and the tests with both compilers.
fn check(log: &mut Log) -> Outcome {
    need("gcc", &["--version"])?;
    header_matches(log)?;
    let cargo = |subcommand: &str, arguments: &[&str]| {
        let mut command = cargo(subcommand, ["--manifest-path", MANIFEST]);
        command.args(arguments).env("CARGO_TARGET_DIR", build_dir("c")).env("RUSTFLAGS", ONE_KERNEL);
        command
    };
    log.run(&mut cargo("clippy", &["--all-targets", "--", "-D", "warnings"]))?;
    log.run(&mut cargo("clippy", &["--no-default-features", "--lib", "--", "-D", "warnings"]))?;
    log.run(&mut cargo("test", &["--lib"]))?;
    log.run(&mut cargo("build", &[]))?;
    let library = build_dir("c").join("debug");
    let symbols = symbols(log, &library)?;
    headers_compile(log)?;
    let checks = tests(log, &library)?;
    Ok(format!("{symbols} functions, {checks}"))
}

/// Compares the header with the one that cbindgen writes.
fn header_matches(log: &mut Log) -> Result<(), Stop> {
    if !works("cbindgen", &["--version"]) {
        log.note("cbindgen is not installed: the header is not compared");
        return Ok(());
    }
    let written = generated(log)?;
    let known = std::fs::read_to_string(own().join("include/condyle.h"))?;
    if written == known {
        return Ok(());
    }
    let lines = |a: &str, b: &str, sign: &str| {
        let lines = a.lines().filter(|line| !b.lines().any(|other| other == *line));
        lines.map(|line| format!("{sign} {line}\n")).collect::<String>()
    };
    log.note(&(lines(&known, &written, "-") + &lines(&written, &known, "+")));
    Err(Stop::Failed("include/condyle.h differs from the code; run `cargo xtask c-header`".into()))
}

/// Writes the header.
pub(crate) fn write_header(log: &mut Log) -> Outcome {
    need("cbindgen", &["--version"])?;
    let text = generated(log)?;
    std::fs::create_dir_all(own().join("include"))?;
    std::fs::write(own().join("include/condyle.h"), &text)?;
    Ok(format!("{} lines", text.lines().count()))
}

/// Text of the header, with a heading for the functions of each source file.
fn generated(log: &mut Log) -> Result<String, Stop> {
    let out = out_dir().join("condyle.h");
    let mut command = Command::new("cbindgen");
    command.args(["--quiet", "--config", "cbindgen.toml", "--crate", "condyle-c", "--output"]);
    log.run(command.arg(&out).arg(".").current_dir(own()))?;
    let mut text = std::fs::read_to_string(&out)?;
    let main = std::fs::read_to_string(own().join("src/lib.rs"))?;
    for module in main.lines().filter_map(|line| line.strip_prefix("mod ")?.strip_suffix(';')) {
        let source = std::fs::read_to_string(own().join("src").join(module).with_extension("rs"))?;
        let title = source.lines().next().and_then(|line| line.strip_prefix("//! ")).unwrap_or_default();
        let functions = source.split("extern \"C\" fn ").skip(1);
        let first = functions.filter_map(|rest| rest.split_once('(')).map(|(name, _)| name).next();
        let Some(at) = first.and_then(|name| text.find(&format!(" {name}("))) else { continue };
        // The comment of the function begins after an empty line.
        let Some(begin) = text[..at].rfind("\n\n") else { continue };
        text.insert_str(begin + 1, &format!("\n/* ---- {} ---- */\n", title.trim_end_matches('.')));
    }
    Ok(text)
}

/// Names of all functions of the header.
fn functions() -> Result<Vec<String>, Stop> {
    let header = std::fs::read_to_string(own().join("include/condyle.h"))?;
    let declarations = header.split("CONDYLE_API\n").skip(1);
    let names = declarations.filter_map(|rest| rest.split_once('(')?.0.split_whitespace().last());
    let mut names: Vec<String> = names.map(|name| name.trim_start_matches('*').to_owned()).collect();
    names.sort();
    Ok(names)
}

/// Checks that the dynamic library exports only the functions of the header, and that the tests call each of
/// them.
fn symbols(log: &mut Log, library: &Path) -> Result<usize, Stop> {
    let functions = functions()?;
    let mut tests = String::new();
    for file in test_files("c")? {
        tests.push_str(&std::fs::read_to_string(file)?);
    }
    let untested: Vec<_> = functions.iter().filter(|name| !tests.contains(&format!("{name}("))).collect();
    if !untested.is_empty() {
        return Err(Stop::Failed(format!("no test calls {untested:?}")));
    }
    if cfg!(target_os = "linux") && works("nm", &["--version"]) {
        let mut nm = Command::new("nm");
        let told = log.capture(nm.args(["-D", "--defined-only"]).arg(library.join("libcondyle.so")))?;
        let mut exported: Vec<_> = told.lines().filter_map(|line| line.split(' ').nth(2)).collect();
        exported.sort_unstable();
        if exported != functions {
            let extra: Vec<_> = exported.iter().filter(|it| !functions.iter().any(|f| f == *it)).collect();
            return Err(Stop::Failed(format!(
                "the library exports other symbols than the header: {extra:?}"
            )));
        }
    }
    Ok(functions.len())
}

/// Test programs with this extension.
fn test_files(extension: &str) -> Result<Vec<PathBuf>, Stop> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(own().join("tests"))? {
        let path = entry?.path();
        if path.extension().is_some_and(|it| it == extension) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Compilers of this machine: C, C++, and the family.
fn compilers() -> impl Iterator<Item = [&'static str; 2]> {
    let both = [["gcc", "g++"], ["clang", "clang++"]];
    both.into_iter().filter(|names| names.iter().all(|name| works(name, &["--version"])))
}

const WARNINGS: [&str; 4] = ["-Wall", "-Wextra", "-pedantic", "-Werror"];

/// Compiles the header alone in each language version.
fn headers_compile(log: &mut Log) -> Result<(), Stop> {
    for [c, cxx] in compilers() {
        for (compiler, language, versions) in
            [(c, "c", &["c99", "c11"][..]), (cxx, "c++", &["c++11", "c++17", "c++20"])]
        {
            for version in versions {
                let mut command = Command::new(compiler);
                command.args(["-x", language, &format!("-std={version}"), "-fsyntax-only"]).args(WARNINGS);
                log.run(command.arg(own().join("include/condyle.h")).arg("-Wno-pragma-once-outside-header"))?;
            }
        }
    }
    Ok(())
}

/// Builds and runs the test program with each compiler, with the address and undefined behaviour sanitizers.
fn tests(log: &mut Log, library: &Path) -> Result<String, Stop> {
    let mut told = Vec::new();
    for [c, _] in compilers() {
        for sanitizer in ["address,undefined", "thread"] {
            let program = out_dir().join(format!("c-{c}-{}", &sanitizer[..6]));
            let mut command = Command::new(c);
            command.args(["-std=c11", "-g", "-O1"]).args(WARNINGS).arg(format!("-fsanitize={sanitizer}"));
            command.args(["-fno-sanitize-recover=all", "-I"]).arg(own().join("include"));
            command.args(test_files("c")?).arg(library.join("libcondyle.a")).args(SYSTEM);
            log.run(command.arg("-o").arg(&program))?;
            let text = log.capture(Command::new(&program).arg(crate::root().join("testdata")))?;
            told.push(format!("{} with {c} -fsanitize={sanitizer}", text.trim()));
        }
    }
    Ok(told.join(", "))
}
