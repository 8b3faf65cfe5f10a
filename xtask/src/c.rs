//! The C interface: its header, its tests with sanitizers, its symbols and layouts.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::step::{Log, ONE_KERNEL, Outcome, Step, Stop, build_dir, cargo, need, out_dir, works};

/// A separate workspace, because it has its own release profile.
pub(crate) const MANIFEST: &str = "bindings/c/Cargo.toml";

/// Manifest of [`RUST`].
pub(crate) const RUST_MANIFEST: &str = "bindings/c/rust/Cargo.toml";

/// The interface as a Rust library, with its tests.
const RUST: &str = "condyle-c-rust";

/// System libraries that the archive needs.
const SYSTEM: [&str; 3] = ["-lm", "-lpthread", "-ldl"];

pub(crate) fn steps() -> Vec<Step> {
    vec![Step::new("c-interface", check).apart("c"), Step::new("miri-c", miri).apart("c")]
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
    log.run(&mut cargo("clippy", &["-p", "condyle-c", "-p", RUST, "--all-targets", "--", "-D", "warnings"]))?;
    log.run(&mut cargo("clippy", &["--no-default-features", "--lib", "--", "-D", "warnings"]))?;
    log.run(&mut cargo("test", &["-p", "condyle-c", "--lib"]))?;
    log.run(&mut cargo("test", &["-p", RUST, "--tests"]))?;
    log.run(&mut cargo("build", &[]))?;
    let library = build_dir("c").join("debug");
    let symbols = symbols(log, &library)?;
    headers_compile(log)?;
    if abi(log)? != std::fs::read_to_string(own().join("abi.txt"))? {
        return Err(Stop::Failed("abi.txt differs from the header; run `cargo xtask c-header`".into()));
    }
    let checks = tests(log, &library)?;
    maths(log, &library)?;
    let cmake = cmake(log)?;
    Ok(format!("{symbols} functions, {checks}; {cmake}"))
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

/// Writes the header, and the list of its functions, constants and layouts.
pub(crate) fn write_header(log: &mut Log) -> Outcome {
    need("cbindgen", &["--version"])?;
    let text = generated(log)?;
    std::fs::create_dir_all(own().join("include"))?;
    std::fs::write(own().join("include/condyle.h"), &text)?;
    std::fs::write(own().join("abi.txt"), abi(log)?)?;
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

/// Binary interface as text: functions, constants, and the layout of each structure on this platform.
fn abi(log: &mut Log) -> Result<String, Stop> {
    let header = std::fs::read_to_string(own().join("include/condyle.h"))?;
    let code: String = header.lines().filter(|line| !line.trim_start().starts_with("//")).fold(
        String::new(),
        |mut code, line| {
            code.push_str(line);
            code.push('\n');
            code
        },
    );
    let mut text =
        "# Binary interface of include/condyle.h on 64-bit platforms. Written by `cargo xtask c-header`.\n\n\
                    # Functions\n\n"
            .to_owned();
    for declaration in declarations(&header) {
        writeln!(text, "{declaration}").ok();
    }
    text.push_str("\n# Constants\n\n");
    for line in code.lines().map(|line| line.trim().trim_end_matches(',')) {
        let is_value = |rest: &str| rest.chars().next().is_some_and(|c| c.is_ascii_digit() || c == 'U');
        let define = line.strip_prefix("#define ").and_then(|it| it.split_once(' '));
        let pair = if line.starts_with("CONDYLE_") { line.split_once(" = ") } else { define };
        if let Some((name, value)) = pair.filter(|(_, value)| is_value(value)) {
            writeln!(text, "{name} {value}").ok();
        }
    }
    text.push_str("\n# Structures: size and alignment, offset of each field\n\n");
    let mut program = "#include <stdio.h>\n#include \"condyle.h\"\nint main(void) {\n".to_owned();
    for rest in code.split("typedef struct ").skip(1).filter(|rest| !rest.starts_with("condyle_")) {
        let Some((fields, end)) = rest.split_once("\n}") else { continue };
        let Some(name) = end.split(';').next().map(str::trim) else { continue };
        let printed = format!("printf(\"{name} %zu %zu\\n\", sizeof({name}), condyle_alignof({name}));");
        program.push_str(&printed);
        for field in fields.lines().skip(1).filter_map(|line| line.trim().strip_suffix(';')) {
            let field = field.split('[').next().unwrap_or_default();
            let field = field.rsplit([' ', '*']).next().unwrap_or_default();
            writeln!(program, "printf(\"  {field} %zu\\n\", offsetof({name}, {field}));").ok();
        }
    }
    program.push_str("return 0;\n}\n");
    let program = program.replacen("int main", "#define condyle_alignof(type) _Alignof(type)\nint main", 1);
    let (source, binary) = (out_dir().join("c-abi.c"), out_dir().join("c-abi"));
    std::fs::write(&source, program)?;
    let mut gcc = Command::new("gcc");
    gcc.args(["-std=c11", "-Wno-format-zero-length", "-I"]).arg(own().join("include"));
    log.run(gcc.arg(&source).arg("-o").arg(&binary))?;
    let layouts = log.capture(&mut Command::new(&binary))?;
    match unsized_structure(&layouts) {
        Some(name) => Err(Stop::Failed(format!("{name} may grow, and does not begin with its size"))),
        None => Ok(text + &layouts),
    }
}

/// Name of a structure that may grow in a later version, and does not begin with its size. Elements of
/// arrays cannot grow.
fn unsized_structure(layouts: &str) -> Option<&str> {
    let mut lines = layouts.lines().peekable();
    while let Some(line) = lines.next() {
        let name = line.split(' ').next().unwrap_or_default();
        let may_grow = ["_info", "_options", "_frame"].iter().any(|end| name.ends_with(end));
        if may_grow && lines.peek() != Some(&"  size 0") {
            return Some(name);
        }
    }
    None
}

/// Declarations of all functions of the header, each in one line.
fn declarations(header: &str) -> Vec<String> {
    let is_code = |line: &&str| !line.trim_start().starts_with("//") && !line.starts_with('#');
    let code: Vec<&str> = header.lines().filter(is_code).collect();
    let code = code.join("\n");
    let declarations = code.split("CONDYLE_API").skip(1).filter_map(|rest| rest.split_once(';'));
    declarations.map(|(it, _)| it.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

/// Names of all functions of the header.
fn functions() -> Result<Vec<String>, Stop> {
    let header = std::fs::read_to_string(own().join("include/condyle.h"))?;
    let declarations = declarations(&header);
    let names = declarations.iter().filter_map(|it| it.split_once('(')?.0.split(' ').next_back());
    let mut names: Vec<String> = names.map(|name| name.trim_start_matches('*').to_owned()).collect();
    names.sort();
    Ok(names)
}

/// Parts of the names of functions that a program calls at set-up, and which may allocate. All others are
/// functions of a frame.
const SET_UP: [&str; 13] = [
    "_encode",
    "_fit",
    "_free",
    "_info",
    "_joint_mask",
    "_load",
    "_new",
    "_of_model",
    "_open",
    "_version",
    "_view",
    "clip_get_event",
    "hitboxes_get",
];

/// Prefixes of such functions.
const SET_UP_PREFIXES: [&str; 2] = ["condyle_model_", "condyle_writer_"];

/// Checks that the tests call each function, that those of a frame are in the test that counts allocations,
/// and that `condyle.hpp` calls each function.
fn covered(functions: &[String]) -> Result<(), Stop> {
    let read = |name: &str| std::fs::read_to_string(own().join(name));
    let mut tests = String::new();
    for file in test_files("c")? {
        tests.push_str(&std::fs::read_to_string(file)?);
    }
    let is_called = |text: &str, name: &str| {
        text.match_indices(name).any(|(at, _)| text[at + name.len()..].starts_with(['(', ',', ')', '>']))
    };
    let is_set_up = |name: &str| {
        SET_UP.iter().any(|part| name.contains(part)) || SET_UP_PREFIXES.iter().any(|it| name.starts_with(it))
    };
    for (what, text, is_whole) in [
        ("tests/*.c", tests, true),
        ("include/condyle.hpp", read("include/condyle.hpp")?, true),
        ("tests/allocations.rs", read("tests/allocations.rs")?, false),
    ] {
        let asked = functions.iter().filter(|name| is_whole || !is_set_up(name));
        let missing: Vec<_> = asked.filter(|name| !is_called(&text, name)).collect();
        if !missing.is_empty() {
            return Err(Stop::Failed(format!("{what} does not call {missing:?}")));
        }
    }
    Ok(())
}

/// Checks that the dynamic library exports only the functions of the header, and that each is tested.
fn symbols(log: &mut Log, library: &Path) -> Result<usize, Stop> {
    let functions = functions()?;
    covered(&functions)?;
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

/// Compiles the headers alone in each language version.
fn headers_compile(log: &mut Log) -> Result<(), Stop> {
    for [c, cxx] in compilers() {
        for (compiler, language, version, header) in [
            (c, "c", "c99", "condyle.h"),
            (c, "c", "c11", "condyle.h"),
            (cxx, "c++", "c++11", "condyle.h"),
            (cxx, "c++", "c++20", "condyle.h"),
            (cxx, "c++", "c++17", "condyle.hpp"),
            (cxx, "c++", "c++20", "condyle.hpp"),
        ] {
            let mut command = Command::new(compiler);
            command.args(["-x", language, &format!("-std={version}"), "-fsyntax-only"]).args(WARNINGS);
            if header.ends_with("hpp") {
                command.args(["-fno-exceptions", "-fno-rtti"]);
            }
            log.run(command.arg(own().join("include").join(header)))?;
        }
    }
    Ok(())
}

/// Builds and runs the test programs with each compiler and sanitizer.
fn tests(log: &mut Log, library: &Path) -> Result<String, Stop> {
    let mut told = Vec::new();
    for [c, cxx] in compilers() {
        for (compiler, extension, flags) in [
            (c, "c", &["-std=c11", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"][..]),
            (c, "c", &["-std=c11", "-fsanitize=thread"]),
            (cxx, "cpp", &["-std=c++17", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]),
            (cxx, "cpp", &["-std=c++20", "-fsanitize=address,undefined", "-DCONDYLE_EXCEPTIONS"]),
        ] {
            let program = out_dir().join("c-test");
            let mut command = Command::new(compiler);
            command.args(["-g", "-O1"]).args(WARNINGS).args(flags);
            command.arg("-I").arg(own().join("include")).args(test_files(extension)?);
            log.run(command.arg(library.join("libcondyle.a")).args(SYSTEM).arg("-o").arg(&program))?;
            let text = log.capture(Command::new(&program).arg(crate::root().join("testdata")))?;
            let sanitizer = flags[1].split('=').next_back().unwrap_or_default();
            told.push(format!("{compiler} {sanitizer}: {}", text.trim()));
        }
    }
    Ok(told.join(", "))
}

/// Builds and runs the programs with types of glm and Eigen.
fn maths(log: &mut Log, library: &Path) -> Result<(), Stop> {
    let folders = [("glm", "/usr/include", "glm/glm.hpp"), ("eigen", "/usr/include/eigen3", "Eigen/Core")];
    for (name, folder, header) in folders {
        if !Path::new(folder).join(header).exists() {
            log.note(&format!("{folder}/{header} is not installed: tests/maths/{name}.cpp is not run"));
            continue;
        }
        let program = out_dir().join("c-maths");
        let mut command = Command::new("g++");
        command.args(["-std=c++17", "-fsanitize=address,undefined", "-idirafter", folder]).args(WARNINGS);
        command
            .arg("-I")
            .arg(own().join("include"))
            .arg(own().join("tests/maths").join(name).with_extension("cpp"));
        log.run(command.arg(library.join("libcondyle.a")).args(SYSTEM).arg("-o").arg(&program))?;
        log.run(&mut Command::new(&program))?;
    }
    Ok(())
}

/// Runs the calls of `tests/pointers.rs` in an interpreter that detects undefined behaviour.
fn miri(log: &mut Log) -> Outcome {
    if !works("cargo", &["+nightly", "miri", "--version"]) {
        return Err(Stop::Skipped("no nightly toolchain with miri".into()));
    }
    let mut command = cargo("+nightly miri test", ["--manifest-path", MANIFEST]);
    command.args(["-p", RUST, "--no-default-features", "--test", "pointers"]);
    log.run(command.env("CARGO_TARGET_DIR", build_dir("c").join("miri")).env("RUSTFLAGS", ONE_KERNEL))?;
    Ok(String::new())
}

/// Installs the library by CMake, and builds the samples from an empty folder: by `find_package`, by
/// `pkg-config`, and by `add_subdirectory`.
fn cmake(log: &mut Log) -> Result<String, Stop> {
    if !works("cmake", &["--version"]) {
        return Ok("cmake is not installed".into());
    }
    let folder = out_dir().join("c-cmake");
    if folder.exists() {
        std::fs::remove_dir_all(&folder)?;
    }
    let (prefix, empty) = (folder.join("prefix"), folder.join("empty"));
    std::fs::create_dir_all(&empty)?;
    // Uses the library of the tests again.
    let profile =
        ["-DCONDYLE_PROFILE=dev".into(), format!("-DCONDYLE_TARGET_DIR={}", build_dir("c").display())];
    let mut project = |source: &Path, build: &Path, settings: &[String]| -> Result<(), Stop> {
        let mut configure = Command::new("cmake");
        configure.arg("-S").arg(source).arg("-B").arg(build).args(settings);
        log.run(&mut configure)?;
        let mut compile = Command::new("cmake");
        compile.arg("--build").arg(build).env("RUSTFLAGS", ONE_KERNEL);
        for name in ["RUSTUP_TOOLCHAIN", "CARGO_ENCODED_RUSTFLAGS"] {
            compile.env_remove(name);
        }
        log.run(&mut compile)
    };
    let prefix_is = |name: &str| format!("-D{name}={}", prefix.display());
    let library = folder.join("library");
    project(&own(), &library, &[&profile[..], &[prefix_is("CMAKE_INSTALL_PREFIX")]].concat())?;
    let installed = Command::new("cmake").arg("--install").arg(&library).output()?;
    if !installed.status.success() {
        return Err(Stop::Failed(String::from_utf8_lossy(&installed.stderr).into_owned()));
    }
    for entry in std::fs::read_dir(own().join("samples"))? {
        let path = entry?.path();
        std::fs::copy(&path, empty.join(path.file_name().unwrap_or_default()))?;
    }
    project(&empty, &empty.join("build"), &[prefix_is("CMAKE_PREFIX_PATH")])?;
    let game = folder.join("game");
    std::fs::create_dir_all(&game)?;
    let text = format!(
        "cmake_minimum_required(VERSION 3.18)\nproject(game LANGUAGES C CXX)\n\
         add_subdirectory(\"{0}\" condyle)\nadd_subdirectory(\"{0}/samples\" samples)\n",
        own().display()
    );
    std::fs::write(game.join("CMakeLists.txt"), text)?;
    project(&game, &game.join("build"), &profile)?;
    let model = crate::root().join("testdata/two_joints.glb");
    let mut told = Vec::new();
    for program in ["engine_loop", "raycast", "engine_loop_cpp", "raycast_cpp", "from_ozz_cpp"] {
        for build in [empty.join("build"), game.join("build/samples")] {
            log.run(Command::new(build.join(program)).arg(&model))?;
        }
        told.push(program);
    }
    log.run(Command::new(empty.join("build/compress")).arg(&model).arg(folder.join("out.condyle")))?;
    log.run(Command::new(empty.join("build/compress_cpp")).arg(&model).arg(&folder))?;
    if works("pkg-config", &["--version"]) {
        let found = log.capture(
            Command::new("pkg-config")
                .args(["--cflags", "--libs", "condyle"])
                .env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig")),
        )?;
        let program = folder.join("dynamic");
        let mut gcc = Command::new("gcc");
        gcc.arg(empty.join("engine_loop.c")).args(found.split_whitespace()).arg("-o").arg(&program);
        log.run(&mut gcc)?;
        log.run(Command::new(&program).arg(&model).env("LD_LIBRARY_PATH", prefix.join("lib")))?;
    }
    Ok(format!("samples {}", told.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structures_that_may_grow_begin_with_their_size() {
        let good = "condyle_clip_info 8 8\n  size 0\n  name 8\ncondyle_ray 4 4\n  origin 0\n";
        assert_eq!(unsized_structure(good), None);
        assert_eq!(unsized_structure("condyle_aim_options 8 8\n  joint 0\n"), Some("condyle_aim_options"));
        assert_eq!(unsized_structure("condyle_feet_frame 8 8"), Some("condyle_feet_frame"));
    }
}
