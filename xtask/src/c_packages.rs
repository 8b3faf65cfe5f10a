//! The Conan recipe and the vcpkg port of the C interface, each tried by a project in an empty folder.
//!
//! Not a step of CI, because both build the library in separate folders, and CI cannot install vcpkg as a
//! package.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::step::{Log, ONE_KERNEL, Outcome, Stop, out_dir, works};

/// Program of `packaging/conan/test_package`.
const PROGRAM: &str = "poses";

fn packaging() -> PathBuf {
    crate::root().join("bindings/c/packaging")
}

/// `cargo xtask c-packages`.
pub(crate) fn check(log: &mut Log) -> Outcome {
    let folder = out_dir().join("c-packages");
    if folder.exists() {
        std::fs::remove_dir_all(&folder)?;
    }
    let mut told = Vec::new();
    if works("conan", &["--version"]) {
        told.push(conan(log, &folder.join("conan"))?);
    } else {
        log.note("conan is not installed: `pip install conan`");
    }
    if works("vcpkg", &["version"]) {
        told.push(vcpkg(log, &folder.join("vcpkg"))?);
    } else {
        log.note("vcpkg is not on the path");
    }
    if told.is_empty() {
        return Err(Stop::Skipped("neither conan nor vcpkg is installed".into()));
    }
    Ok(told.join("; "))
}

/// Command in this folder, for a build of the library without optimisation.
fn command(program: &str, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(folder).env("RUSTFLAGS", ONE_KERNEL);
    command.env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "0").env("CARGO_PROFILE_RELEASE_LTO", "off");
    for name in ["RUSTUP_TOOLCHAIN", "CARGO_ENCODED_RUSTFLAGS"] {
        command.env_remove(name);
    }
    command
}

/// Packages the static library with everything, and the dynamic one with the runtime alone. `conan create`
/// builds and runs `test_package`.
fn conan(log: &mut Log, folder: &Path) -> Outcome {
    std::fs::create_dir_all(folder)?;
    let conan = || {
        let mut conan = command("conan", folder);
        conan.env("CONAN_HOME", folder.join("home"));
        conan
    };
    log.run(conan().args(["profile", "detect"]))?;
    for shared in ["False", "True"] {
        let mut create = conan();
        create.arg("create").arg(packaging().join("conan"));
        let test = format!("tools.cmake.cmake_layout:test_folder={}", folder.join("test").display());
        create.args(["--conf".to_owned(), test]);
        for option in ["shared", "runtime_only"] {
            create.arg("--options").arg(format!("condyle/*:{option}={shared}"));
        }
        log.run(&mut create)?;
    }
    Ok("conan: static, dynamic".into())
}

/// Installs the overlay port, static with everything and dynamic with the runtime alone. Builds a project by
/// the toolchain file.
fn vcpkg(log: &mut Log, folder: &Path) -> Outcome {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return Ok("vcpkg: not tried on this platform".into());
    }
    let root = std::env::var("VCPKG_ROOT");
    let root = root.map_err(|_| Stop::Failed("VCPKG_ROOT is not set".into()))?;
    for (port, triplet) in [("condyle", "x64-linux"), ("condyle[core]", "x64-linux-dynamic")] {
        let folder = folder.join(triplet);
        std::fs::create_dir_all(folder.join("project"))?;
        let installed = folder.join("installed");
        let place = |name: &str, path: &str| format!("--{name}={}", folder.join(path).display());
        let mut install = command("vcpkg", &folder);
        install.args(["install", &format!("{port}:{triplet}"), "--binarysource=clear"]);
        install.arg(format!("--overlay-ports={}", packaging().join("vcpkg").display()));
        install.args([place("x-install-root", "installed"), place("x-buildtrees-root", "buildtrees")]);
        log.run(install.args([place("x-packages-root", "packages"), place("downloads-root", "downloads")]))?;
        for file in ["CMakeLists.txt", "poses.c"] {
            let from = packaging().join("conan/test_package").join(file);
            std::fs::copy(from, folder.join("project").join(file))?;
        }
        let mut configure = command("cmake", &folder);
        configure.args(["-S", "project", "-B", "build"]).arg(format!("-DVCPKG_TARGET_TRIPLET={triplet}"));
        configure.arg(format!("-DVCPKG_INSTALLED_DIR={}", installed.display()));
        configure.arg(format!("-DCMAKE_TOOLCHAIN_FILE={root}/scripts/buildsystems/vcpkg.cmake"));
        log.run(&mut configure)?;
        log.run(command("cmake", &folder).args(["--build", "build"]))?;
        log.run(&mut Command::new(folder.join("build").join(PROGRAM)))?;
    }
    Ok("vcpkg: static, dynamic".into())
}
