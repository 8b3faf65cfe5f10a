//! One check: its name, what it runs, and how it ended.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::PathBuf;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

/// Why a step did not pass.
pub(crate) enum Stop {
    /// Something it needs is not on this machine and could not be installed.
    Skipped(String),
    /// What went wrong, in a line; the log has the rest.
    Failed(String),
}

/// A fault of the machine and not of the code.
impl From<std::io::Error> for Stop {
    fn from(e: std::io::Error) -> Self {
        Self::Failed(e.to_string())
    }
}

/// A few words on what was done ("312 tests"), or why not.
pub(crate) type Outcome = Result<String, Stop>;

/// A named check.
pub(crate) struct Step {
    pub(crate) name: String,
    /// Where it builds, below `target`: steps of one folder run one after another, as cargo would make them wait anyway.
    pub(crate) folder: &'static str,
    pub(crate) run: Box<dyn Fn(&mut Log) -> Outcome + Send>,
}

impl Step {
    /// A step that builds where `cargo build` does.
    pub(crate) fn new(name: impl Into<String>, run: impl Fn(&mut Log) -> Outcome + Send + 'static) -> Self {
        Self { name: name.into(), folder: "", run: Box::new(run) }
    }

    /// The same, but it builds in a folder of its own, beside the others.
    pub(crate) fn apart(self, folder: &'static str) -> Self {
        Self { folder, ..self }
    }
}

/// The folder of the steps that build [`apart`](Step::apart).
pub(crate) fn build_dir(folder: &str) -> PathBuf {
    crate::root().join("target").join(folder)
}

/// Where the output of a step's commands goes: shown only if the step fails.
pub(crate) struct Log {
    file: File,
    /// What a command writes that is read afterwards.
    captured: PathBuf,
    /// A command that runs longer than this hangs.
    pub(crate) limit: Duration,
}

impl Log {
    /// `target/xtask/NAME.log`, empty.
    pub(crate) fn create(name: &str) -> std::io::Result<Self> {
        std::fs::create_dir_all(out_dir())?;
        let path = out_dir().join(format!("{name}.log"));
        let file = File::options().read(true).append(true).create(true).open(path)?;
        file.set_len(0)?;
        let captured = out_dir().join(format!("{name}.out"));
        Ok(Self { file, captured, limit: Duration::from_secs(40 * 60) })
    }

    /// Runs a command; anything but exit code 0 fails the step.
    pub(crate) fn run(&mut self, command: &mut Command) -> Result<(), Stop> {
        let output = self.file.try_clone()?;
        command.stdout(output);
        self.finish(command)
    }

    /// Runs a command and returns what it wrote to its standard output.
    pub(crate) fn capture(&mut self, command: &mut Command) -> Result<String, Stop> {
        command.stdout(File::create(&self.captured)?);
        self.finish(command)?;
        Ok(std::fs::read_to_string(&self.captured)?)
    }

    fn finish(&mut self, command: &mut Command) -> Result<(), Stop> {
        let line = describe(command);
        self.note(&format!("$ {line}"));
        command.stdin(Stdio::null()).stderr(self.file.try_clone()?);
        let mut child = start(command).map_err(|e| Stop::Failed(format!("`{line}` did not start: {e}")))?;
        let begun = Instant::now();
        let status = loop {
            match child.try_wait()? {
                Some(status) => break status,
                None if begun.elapsed() > self.limit => {
                    kill(&mut child)?;
                    child.wait()?;
                    let seconds = self.limit.as_secs();
                    let text = self.text();
                    let test =
                        text.lines().last().and_then(|l| l.strip_prefix("test ")?.strip_suffix(" ... "));
                    let during = test.map_or(String::new(), |t| format!(", the last of them in {t}"));
                    return Err(Stop::Failed(format!("`{line}` ran for more than {seconds} s{during}")));
                }
                None => std::thread::sleep(Duration::from_millis(20)),
            }
        };
        self.note(&format!("({:.1} s)", begun.elapsed().as_secs_f32()));
        if status.success() { Ok(()) } else { Err(Stop::Failed(format!("`{line}`: {status}"))) }
    }

    /// Adds a line of our own.
    pub(crate) fn note(&mut self, line: &str) {
        // A log that cannot be written is no reason to fail a check.
        writeln!(self.file, "{line}").ok();
    }

    /// All that was written so far.
    pub(crate) fn text(&mut self) -> String {
        let mut bytes = Vec::new();
        let read = self.file.seek(SeekFrom::Start(0)).and_then(|_| self.file.read_to_end(&mut bytes));
        match read {
            Ok(_) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(e) => format!("the log cannot be read: {e}"),
        }
    }
}

/// The folder for logs and for whatever a step installs or writes.
pub(crate) fn out_dir() -> PathBuf {
    crate::root().join("target/xtask")
}

/// Starts a command in a group of its own, so that what it starts ends with it.
#[cfg(unix)]
fn start(command: &mut Command) -> std::io::Result<Child> {
    std::os::unix::process::CommandExt::process_group(command, 0).spawn()
}

#[cfg(unix)]
fn kill(child: &mut Child) -> std::io::Result<()> {
    Command::new("kill").args(["-KILL", "--", &format!("-{}", child.id())]).status().map(drop)
}

#[cfg(not(unix))]
fn start(command: &mut Command) -> std::io::Result<Child> {
    command.spawn()
}

#[cfg(not(unix))]
fn kill(child: &mut Child) -> std::io::Result<()> {
    child.kill()
}

/// `cargo SUBCOMMAND` in the root of the workspace, with the dependencies of the lock file, without colours.
pub(crate) fn cargo<S: AsRef<std::ffi::OsStr>>(
    subcommand: &str,
    args: impl IntoIterator<Item = S>,
) -> Command {
    let mut command = Command::new("cargo");
    command.args(subcommand.split(' '));
    if subcommand != "fmt" {
        command.arg("--locked");
    }
    command.args(args).current_dir(crate::root()).env("CARGO_TERM_COLOR", "never");
    // The nested cargo is its own master: nothing of the one that started this program may leak into it, and no flags
    // for the compiler, which could switch on the instruction sets that a step is to do without.
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        let leaks = text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_");
        if leaks || ["RUSTUP_TOOLCHAIN", "RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS"].contains(&&*text) {
            command.env_remove(&name);
        }
    }
    command
}

/// Whether a program starts and succeeds with these arguments.
pub(crate) fn works(program: &str, args: &[&str]) -> bool {
    let quiet = Command::new(program)
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .env_remove("RUSTUP_TOOLCHAIN")
        // To ask for a toolchain must not install it.
        .env("RUSTUP_AUTO_INSTALL", "0")
        .status();
    quiet.is_ok_and(|status| status.success())
}

/// Skips the step unless a program is here.
pub(crate) fn need(program: &str, args: &[&str]) -> Result<(), Stop> {
    if works(program, args) { Ok(()) } else { Err(Stop::Skipped(format!("{program} is not installed"))) }
}

/// Skips the step unless the compiler has the target's standard library.
pub(crate) fn need_target(target: &str) -> Result<(), Stop> {
    let shown = Command::new("rustc").args(["--print", "target-libdir", "--target", target]).output();
    let folder = shown.map(|o| PathBuf::from(String::from_utf8_lossy(&o.stdout).trim())).unwrap_or_default();
    let found = std::fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some());
    let missing = || Stop::Skipped(format!("the standard library of {target} is not installed"));
    if found { Ok(()) } else { Err(missing()) }
}

/// Runs one step by itself and prints its log.
pub(crate) fn alone(name: &str, run: impl FnOnce(&mut Log) -> Outcome) -> ExitCode {
    let outcome = match Log::create(name) {
        Ok(mut log) => {
            let outcome = run(&mut log);
            print!("{}", log.text());
            outcome
        }
        Err(e) => Err(e.into()),
    };
    match outcome {
        Ok(done) => {
            println!("{name}: {done}");
            ExitCode::SUCCESS
        }
        Err(Stop::Skipped(why)) => {
            println!("{name}: SKIPPED: {why}");
            ExitCode::SUCCESS
        }
        Err(Stop::Failed(why)) => {
            println!("{name}: FAILED: {why}");
            ExitCode::FAILURE
        }
    }
}

fn describe(command: &Command) -> String {
    let settings = command.get_envs().filter_map(|(name, value)| {
        value.map(|v| format!("{}={}", name.to_string_lossy(), v.to_string_lossy()))
    });
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    settings.chain(words.map(|w| w.to_string_lossy().into_owned())).collect::<Vec<_>>().join(" ")
}

/// Puts a generated table into a page of the repository, between two lines that stay.
pub(crate) fn fill(page: &str, [begin, end]: [&str; 2], table: &str) -> Result<(), Stop> {
    let lost = |marker: &str| Stop::Failed(format!("{page} has lost its line {}", marker.trim()));
    let path = crate::root().join(page);
    let text = std::fs::read_to_string(&path)?;
    let (head, rest) = text.split_once(begin).ok_or_else(|| lost(begin))?;
    let (_, tail) = rest.split_once(end).ok_or_else(|| lost(end))?;
    Ok(std::fs::write(path, format!("{head}{begin}{table}{end}{tail}"))?)
}
