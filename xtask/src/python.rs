//! Builds and installs the Python package in a fresh environment. Checks lints, tests, examples, types, and
//! jobs on clusters of two workers.

use std::path::Path;
use std::process::Command;

use crate::pip;
use crate::step::{Log, ONE_KERNEL, Outcome, Step, Stop, build_dir, cargo, need, out_dir, works};

/// A separate workspace, because it needs PyO3.
pub(crate) const MANIFEST: &str = "bindings/python/Cargo.toml";

/// Build and test tools with their versions, and the dependencies of the package.
const TOOLS: [&str; 4] = ["maturin==1.16.0", "mypy==2.4.1", "pytest==9.2.0", "numpy"];

/// Cluster packages for jobs. Tests that need them are skipped if they cannot be installed.
const CLUSTERS: [&str; 3] = ["ray[data]==2.60.0", "dask==2026.8.0", "distributed==2026.8.0"];

pub(crate) fn steps() -> Vec<Step> {
    // Its tests start and kill workers of clusters.
    vec![Step::new("python", python).apart("python").waiting()]
}

fn python(log: &mut Log) -> Outcome {
    need("python3", &["--version"])?;
    if !works("python3", &["-c", "import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 10))"]) {
        return Err(Stop::Skipped("python3 is older than 3.10 or python3-venv is not installed".into()));
    }
    let environment = pip::environment(log, "python", &TOOLS)?;
    let programs = pip::program(&environment, "");
    let program = programs.join("python");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(std::iter::once(programs).chain(std::env::split_paths(&path)))
        .map_err(|e| Stop::Failed(format!("PATH: {e}")))?;
    let python = |arguments: &[&str]| {
        let mut command = Command::new(&program);
        let own = crate::root().join("bindings/python");
        command.arg("-m").args(arguments).current_dir(own).env("PATH", &path);
        command.env("CARGO_TARGET_DIR", build_dir("python")).env("RUSTFLAGS", ONE_KERNEL);
        command
    };
    let pip = ["pip", "install", "--quiet", "--disable-pip-version-check"];
    let has_clusters = log.run(&mut python(&[&pip[..], &CLUSTERS].concat())).is_ok();
    // Uses the existing interpreter instead of an isolated build environment.
    let wheels = out_dir().join("wheels");
    if wheels.exists() {
        std::fs::remove_dir_all(&wheels)?;
    }
    let from_wheels = ["--find-links".as_ref(), wheels.as_os_str()];
    let wheel = ["pip", "wheel", "--quiet", "--no-build-isolation", "--no-deps", "--wheel-dir"];
    log.run(python(&wheel).arg(&wheels).arg("."))?;
    log.run(python(&pip).args(from_wheels).args([
        "--force-reinstall",
        "--no-deps",
        "--no-index",
        "condyle",
    ]))?;
    installs_into_an_empty_environment(log, &wheels)?;
    let cargo = |subcommand: &str, arguments: &[&str]| {
        let mut command = cargo(subcommand, ["--manifest-path", MANIFEST, "--release"]);
        command.args(arguments).env("CARGO_TARGET_DIR", build_dir("python")).env("RUSTFLAGS", ONE_KERNEL);
        command.env("PYO3_PYTHON", &program).env("PYO3_BUILD_EXTENSION_MODULE", "1");
        command
    };
    log.run(&mut cargo("clippy", &["--all-targets", "--", "-D", "warnings"]))?;
    log.run(&mut cargo("build", &["--examples"]))?;
    let examples = build_dir("python").join("release/examples");
    let example = |name: &str| examples.join(name).with_extension(std::env::consts::EXE_EXTENSION);
    let mut tests = python(&["pytest", "--quiet", "-p", "no:cacheprovider"]);
    tests.env("CONDYLE_POSED", example("posed")).env("CONDYLE_MALFORMED", example("malformed"));
    let tested = log.capture(&mut tests);
    let text = std::fs::read_to_string(out_dir().join("python.out")).unwrap_or_default();
    log.note(&text);
    tested?;
    let mut types = python(&["mypy", "--strict", "../../lab/bench/python"]);
    log.run(types.env("MYPY_CACHE_DIR", if cfg!(windows) { "nul" } else { "/dev/null" }))?;
    for bench in ["lab/bench/python/main.py", "lab/bench/python/scale.py"] {
        log.run(Command::new(&program).arg(crate::root().join(bench)).arg("--once"))?;
    }
    // "301 passed in 20.12s"
    let last = text.lines().last().unwrap_or_default();
    let tests = last.split(" in ").next().unwrap_or_default().replace("passed", "tests");
    let missing = if has_clusters { "" } else { "; pip could not install Ray and Dask" };
    Ok(tests + missing)
}

/// Installs the package from a folder of wheels into an environment without any other package. pip finds
/// NumPy on its index.
fn installs_into_an_empty_environment(log: &mut Log, wheels: &Path) -> Result<(), Stop> {
    let empty = out_dir().join("python-empty");
    log.run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&empty))?;
    let python = || Command::new(pip::program(&empty, "python"));
    let mut install = python();
    install.args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "condyle",
        "--find-links",
    ]);
    log.run(install.arg(wheels))?;
    log.run(python().args(["-c", "import condyle; print(condyle.__version__)"]))
}
