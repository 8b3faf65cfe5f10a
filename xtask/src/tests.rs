//! Builds test programs once and runs them directly instead of with `cargo test`, so that one build serves
//! every instruction set and emulator.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

use crate::step::{Log, Outcome, Stop, build_dir, cargo};

/// Crates with tests whose results depend on the instruction set, or that need reference characters.
const CRATES: [&str; 12] = [
    "condyle",
    "condyle-base",
    "condyle-bvh",
    "condyle-draw",
    "condyle-encode",
    "condyle-fbx",
    "condyle-gltf",
    "condyle-io",
    "condyle-query",
    "condyle-solve",
    "condyle-io",
    "condyle-cli",
];

/// Prefix of the log line with the build time.
const BUILT: &str = "built in ";

/// Test files that do not depend on instruction sets; the step `tests` runs them, see [`per_processor`]. Two
/// have time limits that an emulator cannot meet, the third encodes hundreds of clips in f64.
const ONCE: [&str; 3] = ["malformed", "damaged", "compressed"];

/// Long tests of scalar code, f64 and integers, which is the same for every instruction set of a processor.
/// The other steps leave them to the step `tests`.
const SCALAR: [&str; 28] = [
    "rate::tests::every_rate",
    "reduce::tests::a_larger_error",
    "reduce::tests::many_free_tracks",
    "reduce::tests::random_clips",
    "tests::hard::any_scale",
    "tests::keys::as_many_rotations",
    "tests::keys::curves_are_given_up",
    "tests::joints_may_have",
    "tests::keys::hostile_clips",
    "tests::motion::motion_is_taken_out",
    "tests::no_point_is_farther",
    "tests::progress_rises",
    "meshopt::encode::tests::every_stride",
    "foot_placement::tests::hostile_input",
    "foot_placement::tests::planted_feet",
    "full_body::tests::reach::one_limb",
    "full_body::tests::reach::what_cannot",
    "chain::tests::all_methods",
    "chain::tests::limits_are_never",
    "chain::tests::uneven::nothing_is_nearer",
    "chain::tests::uneven::long_chains",
    "limits::fit::tests::all_that",
    "limits::fit::tests::hinges_are",
    "limits::tests::soft_borders_slow",
    "two_bone::tests::soft_limits",
    "two_bone::tests::the_tip",
    "two_bone::tests::uneven_scales_above",
    "two_bone::tests::with_limits",
];

/// Long tests of kernels that are skipped in emulators. They run on every instruction set of this machine.
const LONG: [&str; 11] = [
    "asked_as_every_triangle",
    "clip::tests::broken::any_numbers_may_stand",
    "clip::tests::broken::every_bit_may_be_wrong",
    "blending::tests::limits::many_layers",
    "hits::tests::hostile::many",
    "hits::tests::hostile::meshes_of",
    "hits::tests::overlaps::shapes_touch",
    "hits::tests::points::the_nearest",
    "hits::tests::rays::no_ray",
    "hits::tests::rays::rays_meet",
    "example::tests::no_blend",
];

/// Options of a test program that skip [`SCALAR`] tests.
pub(crate) fn without_scalar() -> Vec<String> {
    skip(&SCALAR)
}

/// Options of a test program that skip [`SCALAR`] and [`LONG`] tests.
pub(crate) fn without_long() -> Vec<String> {
    [skip(&SCALAR), skip(&LONG)].concat()
}

fn skip(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| format!("--skip={name}")).collect()
}

/// Environment variable with the folder of the reference characters.
pub(crate) const MODELS: &str = "CONDYLE_MODELS";

/// Folder of the reference characters, if there is one.
pub(crate) fn models() -> Option<PathBuf> {
    std::env::var_os(MODELS).map(PathBuf::from)
}

/// Number of cases of property tests in an emulator.
pub(crate) const FEW_CASES: (&str, &str) = ("PROPTEST_CASES", "32");

/// Test program of one crate's library or of one of its test files.
pub(crate) struct TestProgram {
    /// Name of the crate.
    pub(crate) krate: &'static str,
    /// Name of the library or of the test file.
    pub(crate) name: String,
    path: PathBuf,
    folder: PathBuf,
}

impl TestProgram {
    /// Whether this is the test program `name` of a crate.
    pub(crate) fn is(&self, krate: &str, name: &str) -> bool {
        self.krate == krate && self.name == name
    }
}

/// Leaves out the programs whose results are the same on each processor.
pub(crate) fn per_processor(mut programs: Vec<TestProgram>) -> Vec<TestProgram> {
    programs.retain(|program| program.krate != "condyle-io" && !ONCE.contains(&&*program.name));
    programs
}

/// Environment variable for a step that builds [`apart`](crate::step::Step::apart), or that needs the path of
/// a [`program`].
pub(crate) fn folder(name: &str) -> (&'static str, String) {
    ("CARGO_TARGET_DIR", build_dir(name).display().to_string())
}

/// Path of a program of the workspace that [`build`] makes too.
pub(crate) fn program(name: &str) -> PathBuf {
    build_dir("debug").join(name).with_extension(std::env::consts::EXE_EXTENSION)
}

/// Builds the test programs of these crates.
///
/// `args` are passed to `cargo test`. `settings` are environment variables.
pub(crate) fn build(
    log: &mut Log,
    args: &[&str],
    settings: &[(&str, String)],
) -> Result<Vec<TestProgram>, Stop> {
    let mut command = cargo("test", ["--no-run", "--message-format=json-render-diagnostics"]);
    command.args(args).envs(settings.iter().map(|(k, v)| (k, v)));
    let start = Instant::now();
    let messages = log.capture(&mut command)?;
    log.note(&format!("{BUILT}{:.0} s", start.elapsed().as_secs_f64()));
    let programs = messages.lines().filter_map(|line| {
        let message: serde_json::Value = serde_json::from_str(line).ok()?;
        let manifest = PathBuf::from(message["manifest_path"].as_str()?);
        let folder = manifest.parent()?.to_path_buf();
        let name = message["target"]["name"].as_str()?;
        let krate = CRATES.into_iter().find(|krate| folder.ends_with(krate))?;
        let wanted = message["profile"]["test"] == true;
        let path = PathBuf::from(message["executable"].as_str()?);
        wanted.then_some(TestProgram { krate, name: name.to_owned(), path, folder })
    });
    let programs: Vec<_> = programs.collect();
    if programs.is_empty() { Err(Stop::Failed("no test program was built".into())) } else { Ok(programs) }
}

/// Runs test programs in the folders of their crates, like cargo. `runner` is an emulator with its options,
/// or empty. `filter` selects tests, in the syntax of the programs.
pub(crate) fn run<'a>(
    log: &mut Log,
    programs: impl IntoIterator<Item = &'a TestProgram>,
    runner: &[OsString],
    filter: &[String],
    settings: &[(&str, &str)],
) -> Outcome {
    for program in programs {
        let mut words = runner.to_vec();
        words.push(program.path.clone().into());
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).arg("-q").args(filter).current_dir(&program.folder);
        log.run(command.envs(settings.iter().copied()))?;
    }
    counted(log)
}

/// Sum of the tests with this outcome in the log, `passed` or `ignored`.
pub(crate) fn sum(log: &mut Log, outcome: &str) -> usize {
    // `test result: ok. 5 passed; 0 failed; 2 ignored; ...`
    let text = log.text();
    let results = text.lines().filter_map(|line| line.strip_prefix("test result: ok. "));
    let counts = results.flat_map(|rest| rest.split("; "));
    counts.filter_map(|count| count.strip_suffix(outcome)?.trim().parse::<usize>().ok()).sum()
}

/// Number of passed and ignored tests in the log. No tests is a failure.
pub(crate) fn counted(log: &mut Log) -> Outcome {
    let text = log.text();
    let built = text.lines().find_map(|line| line.strip_prefix(BUILT));
    let built = built.map_or(String::new(), |time| format!(", {BUILT}{time}"));
    match (sum(log, "passed"), sum(log, "ignored")) {
        (0, _) => Err(Stop::Failed("no test ran".into())),
        (passed, 0) => Ok(format!("{passed} tests{built}")),
        (passed, ignored) => Ok(format!("{passed} tests, {ignored} ignored{built}")),
    }
}
