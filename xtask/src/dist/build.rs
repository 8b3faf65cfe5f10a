//! Builds of a commit, without the place of the repository and without the time in their bytes.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::pip;
use crate::step::{Log, ONE_KERNEL, Stop, need, need_target, unlocked_cargo, works};

/// Oldest C library of Linux that the programs run with.
const GLIBC: &str = "2.28";

/// Tools that pip installs, with their versions. Zig links with old versions of the C library.
const TOOLS: [&str; 3] = ["maturin==1.16.0", "cargo-zigbuild==0.24.1", "ziglang==0.17.1"];

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Kind {
    /// Optimised, for an old C library.
    Release,
    /// Not optimised, one copy of each kernel, for the C library of this machine.
    Quick,
}

/// Checks, before the first build, that all tools of a release are there and that all changes are committed:
/// the last commit is built.
pub(super) fn need_tools(log: &mut Log) -> Result<(), Stop> {
    need("cmake", &["--version"])?;
    need("node", &["--version"])?;
    need_target(crate::web::TARGET)?;
    if !works("cargo", &["cyclonedx", "--version"]) {
        let text = "cargo-cyclonedx is missing: `cargo install cargo-cyclonedx --locked`";
        return Err(Stop::Failed(text.into()));
    }
    let mut status = Command::new("git");
    let changed = log.capture(status.args(["status", "--porcelain"]).current_dir(crate::root()))?;
    match changed.lines().next() {
        Some(first) => Err(Stop::Failed(format!("commit all changes first: {}", first.trim()))),
        None => Ok(()),
    }
}

pub(super) struct Build {
    checkout: PathBuf,
    kind: Kind,
    /// Environment with [`TOOLS`].
    environment: PathBuf,
    host: String,
    seconds: u64,
}

impl Build {
    /// Installs the tools, and clones the last commit to a path that is the same for every checkout: cargo
    /// hashes the paths of packages outside the workspace, and symbols contain the hash. All files of the
    /// archives get the time of the commit.
    pub(super) fn new(log: &mut Log, kind: Kind) -> Result<Self, Stop> {
        let checkout = std::env::temp_dir().join("condyle-dist");
        if checkout.exists() {
            std::fs::remove_dir_all(&checkout)?;
        }
        let mut clone = Command::new("git");
        clone.args(["clone", "--quiet", "--no-hardlinks"]).arg(crate::root()).arg(&checkout);
        log.run(&mut clone)?;
        let environment = match kind {
            Kind::Release => pip::environment(log, "dist-tools", &TOOLS)?,
            Kind::Quick => pip::environment(log, "dist-tools-quick", &TOOLS[..1])?,
        };
        let version = log.capture(Command::new("rustc").arg("-vV"))?;
        let host =
            version.lines().find_map(|line| line.strip_prefix("host: ")).unwrap_or_default().to_owned();
        let mut time = Command::new("git");
        let time = log.capture(time.args(["log", "-1", "--format=%ct"]).current_dir(&checkout))?;
        let seconds =
            time.trim().parse().map_err(|_| Stop::Failed(format!("git's time of the commit: {time}")))?;
        Ok(Self { checkout, kind, environment, host, seconds })
    }

    pub(super) fn kind(&self) -> Kind {
        self.kind
    }

    /// Folder of the sources.
    pub(super) fn checkout(&self) -> &Path {
        &self.checkout
    }

    /// Target triple of the artefacts.
    pub(super) fn target(&self) -> &str {
        &self.host
    }

    /// Time of the last commit, in seconds since 1970.
    pub(super) fn seconds(&self) -> u64 {
        self.seconds
    }

    /// Empty folder for files of an archive.
    pub(super) fn scratch(&self, name: &str) -> Result<PathBuf, Stop> {
        let folder = self.built().join(name);
        if folder.exists() {
            std::fs::remove_dir_all(&folder)?;
        }
        std::fs::create_dir_all(&folder)?;
        Ok(folder)
    }

    /// Folder of the compiler's output.
    fn built(&self) -> PathBuf {
        self.checkout.join("target/dist-build")
    }

    /// Whether Zig links, with an old C library.
    fn is_linked_by_zig(&self) -> bool {
        self.kind == Kind::Release && self.host.ends_with("linux-gnu")
    }

    /// Target for cargo-zigbuild, with the version of the C library.
    fn zig_target(&self) -> String {
        format!("{}.{GLIBC}", self.host)
    }

    /// Sets what a reproducible build needs.
    fn prepare(&self, command: &mut Command) {
        let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
        let home = home.or_else(|| Some(std::env::home_dir()?.join(".cargo"))).unwrap_or_default();
        let remap = |from: &Path, to: &str| format!("--remap-path-prefix={}={to}", from.display());
        let mut flags = vec![remap(&self.checkout, "condyle"), remap(&home, "cargo")];
        if self.kind == Kind::Quick {
            flags.extend(ONE_KERNEL.split(' ').map(Into::into));
        }
        let path = std::env::var_os("PATH").unwrap_or_default();
        let tools = pip::program(&self.environment, "");
        let path = std::env::join_paths(std::iter::once(tools).chain(std::env::split_paths(&path)));
        command
            .current_dir(&self.checkout)
            .env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}"))
            .env("CARGO_TARGET_DIR", self.built())
            .env("CARGO_INCREMENTAL", "0")
            .env("CARGO_PROFILE_RELEASE_STRIP", "symbols")
            .env("SOURCE_DATE_EPOCH", self.seconds.to_string());
        if let Ok(path) = path {
            command.env("PATH", path);
        }
        if self.kind == Kind::Quick {
            command.env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "0").env("CARGO_PROFILE_RELEASE_LTO", "off");
        }
    }

    /// `cargo build` in release mode, linked by Zig for a release.
    fn cargo_build(&self, args: &[&str]) -> Command {
        let zig = self.is_linked_by_zig();
        let mut build = unlocked_cargo(if zig { "zigbuild" } else { "build" });
        let target = if zig { self.zig_target() } else { self.host.clone() };
        build.args(["--locked", "--release", "--target", &target]).args(args);
        self.prepare(&mut build);
        build
    }

    /// Builds the command line.
    pub(super) fn program(&self, log: &mut Log) -> Result<PathBuf, Stop> {
        log.run(&mut self.cargo_build(&["-p", "condyle-cli"]))?;
        let name = Path::new("condyle").with_extension(std::env::consts::EXE_EXTENSION);
        Ok(self.built().join(&self.host).join("release").join(name))
    }

    /// Builds the page of `condyle view`. Returns its folder.
    pub(super) fn page(&self, log: &mut Log) -> Result<PathBuf, Stop> {
        let mut web = unlocked_cargo("xtask web");
        log.run(web.current_dir(&self.checkout).env("CARGO_INCREMENTAL", "0"))?;
        Ok(self.checkout.join("target/web"))
    }

    /// Builds the C library, in a quick build the runtime alone. Returns the folder of the static and the
    /// dynamic one.
    pub(super) fn c_libraries(&self, log: &mut Log) -> Result<PathBuf, Stop> {
        let mut build = self.cargo_build(&["--manifest-path", crate::c::MANIFEST]);
        if self.kind == Kind::Quick {
            build.arg("--no-default-features");
        }
        log.run(&mut build)?;
        Ok(self.built().join(&self.host).join("release"))
    }

    /// Builds the source distribution of the Python package.
    pub(super) fn python_source(&self, log: &mut Log, out: &Path) -> Result<(), Stop> {
        let mut source = Command::new(pip::program(&self.environment, "maturin"));
        source.args(["sdist", "--manifest-path", crate::python::MANIFEST, "--out"]).arg(out);
        self.prepare(&mut source);
        log.run(&mut source)
    }

    /// Builds the wheel of the Python package, which contains the licence texts of the packages in it.
    pub(super) fn wheel(&self, log: &mut Log, out: &Path) -> Result<(), Stop> {
        let folder = self.checkout.join(crate::python::MANIFEST).with_file_name("");
        let (project, name) = (folder.join("pyproject.toml"), "THIRD-PARTY-LICENSES.txt");
        let settings = std::fs::read_to_string(&project)?;
        let last = "\"LICENSE-APACHE\"]";
        if !settings.contains(last) {
            return Err(Stop::Failed(format!("license-files in pyproject.toml does not end with {last}")));
        }
        let licences = super::licences::of(log, crate::python::MANIFEST, "condyle-python")?;
        std::fs::write(folder.join(name), licences)?;
        std::fs::write(&project, settings.replace(last, &format!("\"LICENSE-APACHE\", \"{name}\"]")))?;
        self.bare_wheel(log, out)?;
        // The source distribution contains no other packages.
        std::fs::remove_file(folder.join(name))?;
        Ok(std::fs::write(project, settings)?)
    }

    fn bare_wheel(&self, log: &mut Log, out: &Path) -> Result<(), Stop> {
        let mut wheel = Command::new(pip::program(&self.environment, "maturin"));
        wheel.args(["build", "--release", "--locked", "--manifest-path", crate::python::MANIFEST, "--out"]);
        wheel.arg(out);
        if self.is_linked_by_zig() {
            let compatible = format!("manylinux_{}", GLIBC.replace('.', "_"));
            wheel.args(["--zig", "--target", &self.host, "--compatibility", &compatible]);
        }
        self.prepare(&mut wheel);
        log.run(&mut wheel)
    }

    /// Writes a bill of materials of each artefact.
    pub(super) fn bills_of_materials(&self, log: &mut Log, out: &Path) -> Result<(), Stop> {
        let cli = "tools/condyle-cli/Cargo.toml";
        for (krate, manifest) in [
            ("condyle-cli", cli),
            ("condyle-python", crate::python::MANIFEST),
            ("condyle-c", crate::c::MANIFEST),
        ] {
            let mut bill = unlocked_cargo("cyclonedx");
            bill.args([
                "--format",
                "json",
                "--describe",
                "crate",
                "--no-build-deps",
                "--manifest-path",
                manifest,
            ]);
            self.prepare(&mut bill);
            log.run(&mut bill)?;
            let written = self.checkout.join(manifest).with_file_name(format!("{krate}.cdx.json"));
            let name = format!("{krate}-{}-{}.cdx.json", crate::version::current(), self.host);
            std::fs::copy(written, out.join(name))?;
        }
        Ok(())
    }
}
