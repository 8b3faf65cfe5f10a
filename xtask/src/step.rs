//! One check: its name, its commands and its outcome.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::PathBuf;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

/// Reason that a step did not pass.
pub(crate) enum Stop {
    /// A requirement is missing on this machine and could not be installed.
    Skipped(String),
    /// Error message in one line. The log has the details.
    Failed(String),
}

/// An error of the machine, not of the code.
impl From<std::io::Error> for Stop {
    fn from(e: std::io::Error) -> Self {
        Self::Failed(e.to_string())
    }
}

/// Short summary of the result ("312 tests"), or the reason for stopping.
pub(crate) type Outcome = Result<String, Stop>;

/// Named check.
pub(crate) struct Step {
    pub(crate) name: String,
    /// Build folder below `target`. Steps with the same folder run one after another, because cargo would
    /// make them wait anyway.
    pub(crate) folder: &'static str,
    /// Whether the step mostly waits for other programs, so that it may run next to two others.
    pub(crate) waits: bool,
    pub(crate) run: Box<dyn Fn(&mut Log) -> Outcome + Send>,
}

impl Step {
    /// Creates a step that builds in cargo's default folder.
    pub(crate) fn new(name: impl Into<String>, run: impl Fn(&mut Log) -> Outcome + Send + 'static) -> Self {
        Self { name: name.into(), folder: "", waits: false, run: Box::new(run) }
    }

    /// Sets a separate build folder, so that the step runs in parallel with others.
    pub(crate) fn apart(self, folder: &'static str) -> Self {
        Self { folder, ..self }
    }

    /// Marks a step that mostly waits.
    pub(crate) fn waiting(self) -> Self {
        Self { waits: true, ..self }
    }
}

/// Compiler flags for one copy of each kernel, SSE2, instead of six. For steps that check neither instruction
/// sets nor speed.
pub(crate) const ONE_KERNEL: &str =
    "--cfg disable_dispatch_sse4_2 --cfg disable_dispatch_avx2 --cfg disable_dispatch_avx512";

/// Build folder of a step with [`apart`](Step::apart).
pub(crate) fn build_dir(folder: &str) -> PathBuf {
    crate::root().join("target").join(folder)
}

/// Output of a step's commands, shown only if the step fails.
pub(crate) struct Log {
    file: File,
    /// File for captured standard output.
    captured: PathBuf,
    /// Time limit of a command. A command that exceeds it has hung.
    pub(crate) limit: Duration,
}

impl Log {
    /// Creates an empty `target/xtask/NAME.log`.
    pub(crate) fn create(name: &str) -> std::io::Result<Self> {
        std::fs::create_dir_all(out_dir())?;
        let path = out_dir().join(format!("{name}.log"));
        let file = File::options().read(true).append(true).create(true).open(path)?;
        file.set_len(0)?;
        let captured = out_dir().join(format!("{name}.out"));
        Ok(Self { file, captured, limit: Duration::from_secs(60 * 60) })
    }

    /// Runs a command. A non-zero exit code fails the step.
    pub(crate) fn run(&mut self, command: &mut Command) -> Result<(), Stop> {
        let output = self.file.try_clone()?;
        command.stdout(output);
        self.finish(command)
    }

    /// Runs a command and returns its standard output.
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
                    let during = test.map_or(String::new(), |t| format!(", last in {t}"));
                    return Err(Stop::Failed(format!("`{line}` ran for more than {seconds} s{during}")));
                }
                None => std::thread::sleep(Duration::from_millis(20)),
            }
        };
        self.note(&format!("({:.1} s)", begun.elapsed().as_secs_f32()));
        if status.success() { Ok(()) } else { Err(Stop::Failed(format!("`{line}`: {status}"))) }
    }

    /// Adds a line to the log.
    pub(crate) fn note(&mut self, line: &str) {
        // A log that cannot be written does not fail the check.
        writeln!(self.file, "{line}").ok();
    }

    /// Contents of the log so far.
    pub(crate) fn text(&mut self) -> String {
        let mut bytes = Vec::new();
        let read = self.file.seek(SeekFrom::Start(0)).and_then(|_| self.file.read_to_end(&mut bytes));
        match read {
            Ok(_) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(e) => format!("the log cannot be read: {e}"),
        }
    }
}

/// Folder for logs and for files that steps install or write.
pub(crate) fn out_dir() -> PathBuf {
    crate::root().join("target/xtask")
}

/// Starts a command in a new process group, so that its child processes end with it.
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

/// `cargo SUBCOMMAND` in the workspace root, with the locked dependencies and without colours.
pub(crate) fn cargo<S: AsRef<std::ffi::OsStr>>(
    subcommand: &str,
    args: impl IntoIterator<Item = S>,
) -> Command {
    let mut command = unlocked_cargo(subcommand);
    if subcommand != "fmt" {
        command.arg("--locked");
    }
    command.args(args);
    command
}

/// [`cargo`] that may change the lock file, for workspaces that a step writes.
pub(crate) fn unlocked_cargo(subcommand: &str) -> Command {
    let mut command = Command::new("cargo");
    command.args(subcommand.split(' ')).current_dir(crate::root()).env("CARGO_TERM_COLOR", "never");
    // Removes the environment of the outer cargo, and compiler flags, which could enable instruction sets
    // that a step must not use.
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        let leaks = text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_");
        if leaks || ["RUSTUP_TOOLCHAIN", "RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS"].contains(&&*text) {
            command.env_remove(&name);
        }
    }
    command
}

/// `npm`, which is a script on Windows.
pub(crate) fn npm() -> Command {
    Command::new(if cfg!(windows) { "npm.cmd" } else { "npm" })
}

/// Whether a program starts and succeeds with these arguments.
pub(crate) fn works(program: &str, args: &[&str]) -> bool {
    let quiet = Command::new(program)
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .env_remove("RUSTUP_TOOLCHAIN")
        // Querying a toolchain must not install it.
        .env("RUSTUP_AUTO_INSTALL", "0")
        .status();
    quiet.is_ok_and(|status| status.success())
}

/// Skips the step unless a program is installed.
pub(crate) fn need(program: &str, args: &[&str]) -> Result<(), Stop> {
    if works(program, args) { Ok(()) } else { Err(Stop::Skipped(format!("{program} is not installed"))) }
}

/// Skips the step unless the target's standard library is installed.
pub(crate) fn need_target(target: &str) -> Result<(), Stop> {
    let shown = Command::new("rustc").args(["--print", "target-libdir", "--target", target]).output();
    let folder = shown.map(|o| PathBuf::from(String::from_utf8_lossy(&o.stdout).trim())).unwrap_or_default();
    let found = std::fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some());
    let missing = || Stop::Skipped(format!("the standard library of {target} is not installed"));
    if found { Ok(()) } else { Err(missing()) }
}

/// Runs one step alone and prints its log.
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

/// Replaces the text between two marker lines of a page in the repository with a generated table.
pub(crate) fn fill(page: &str, [begin, end]: [&str; 2], table: &str) -> Result<(), Stop> {
    let lost = |marker: &str| Stop::Failed(format!("{page} lacks its line {}", marker.trim()));
    let path = crate::root().join(page);
    let text = std::fs::read_to_string(&path)?;
    let (head, rest) = text.split_once(begin).ok_or_else(|| lost(begin))?;
    let (_, tail) = rest.split_once(end).ok_or_else(|| lost(end))?;
    Ok(std::fs::write(path, format!("{head}{begin}{table}{end}{tail}"))?)
}
