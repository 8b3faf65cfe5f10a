//! Steps of each group and of each turn, and the options of `cargo xtask ci` that choose among them.
//!
//! A run has the steps of every landing and those of one turn. The turn is the number of commits modulo
//! [`TURNS`], so that four landings in a row run every step.

use std::process::Command;

/// Number of turns.
pub(crate) const TURNS: usize = 4;

/// Steps of one job of `.github/workflows/ci.yml`.
///
/// A name that ends with `-` stands for all steps that start with it.
struct Group {
    name: &'static str,
    /// Steps of every landing.
    always: &'static [&'static str],
    /// Steps of each turn: the same work in all turns, added over the groups.
    turns: [&'static [&'static str]; TURNS],
}

const GROUPS: [Group; 5] = [
    Group {
        name: "house",
        always: &[
            "format",
            "clippy",
            "doc",
            "words",
            "guide",
            "public-api",
            "package",
            "dependencies",
            "workflows",
        ],
        turns: [&["check-"], &["dist"], &[], &["msrv"]],
    },
    Group {
        name: "runtime",
        always: &["isa-sse2"],
        turns: [
            &["isa-avx2"],
            &["aarch64", "cpu-", "bare-", "isa-avx512"],
            &["wasm-", "features", "miri"],
            &["isa-sse42", "asm"],
        ],
    },
    Group {
        name: "tools",
        always: &["tests", "references", "reuse", "demo"],
        turns: [&[], &[], &["testdata", "corpus", "validator", "playback"], &[]],
    },
    Group {
        name: "bindings",
        always: &["python", "c-interface", "web", "page"],
        turns: [&["miri-c"], &[], &[], &[]],
    },
    Group { name: "lab", always: &["lab"], turns: [&["yardstick"], &["bench"], &[], &["fuzz-", "gpu"]] },
];

/// Names of all groups.
pub(crate) fn groups() -> Vec<&'static str> {
    GROUPS.iter().map(|group| group.name).collect()
}

/// Group and turn of a step. A step of every landing has no turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) group: &'static str,
    pub(crate) turn: Option<usize>,
}

/// All places of a step. There is exactly one, as a test checks.
fn places(step: &str) -> Vec<Place> {
    let fits = |name: &&str| *name == step || (name.ends_with('-') && step.starts_with(*name));
    let mut found = Vec::new();
    for Group { name: group, always, turns } in &GROUPS {
        if always.iter().any(fits) {
            found.push(Place { group, turn: None });
        }
        let turns = turns.iter().enumerate().filter(|(_, names)| names.iter().any(fits));
        found.extend(turns.map(|(turn, _)| Place { group, turn: Some(turn) }));
    }
    found
}

/// Group and turn of a step.
pub(crate) fn place(step: &str) -> Place {
    places(step).first().copied().unwrap_or(Place { group: GROUPS[0].name, turn: None })
}

/// Options of `cargo xtask ci`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Options {
    /// Beginning of the names of the steps, empty for all.
    pub(crate) only: String,
    /// Name of the group, empty for all.
    pub(crate) group: String,
    /// Turn, if it is not that of the last commit.
    pub(crate) turn: Option<usize>,
    /// Whether all turns run, and a skipped step fails.
    pub(crate) is_strict: bool,
    /// Whether the steps are only listed.
    pub(crate) is_list: bool,
}

impl Options {
    /// Reads the arguments after `ci`.
    pub(crate) fn parse(args: &[&str]) -> Option<Self> {
        let mut options = Self::default();
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            match *arg {
                "--list" => options.is_list = true,
                "--strict" => options.is_strict = true,
                "--only" => options.only = (*args.next()?).to_owned(),
                "--group" => options.group = (*args.next()?).to_owned(),
                "--turn" => options.turn = Some(args.next()?.parse().ok().filter(|turn| *turn < TURNS)?),
                _ => return None,
            }
        }
        let is_contradiction = options.is_strict && options.turn.is_some();
        (!is_contradiction).then_some(options)
    }

    /// Whether a step is among those that the options name, in any turn.
    pub(crate) fn has(&self, step: &str) -> bool {
        step.starts_with(&self.only) && (self.group.is_empty() || self.group == place(step).group)
    }

    /// Whether the turn matters.
    pub(crate) fn has_turn(&self) -> bool {
        !self.is_strict && self.only.is_empty()
    }

    /// Whether a step that the options [name](Self::has) runs in this turn.
    pub(crate) fn runs(&self, step: &str, turn: usize) -> bool {
        !self.has_turn() || place(step).turn.is_none_or(|own| own == turn)
    }
}

/// Turn of the last commit, and where it comes from.
pub(crate) fn turn_of_commit() -> (usize, String) {
    let git = |args: &[&str]| {
        let output = Command::new("git").args(args).current_dir(crate::root()).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let is_shallow = git(&["rev-parse", "--is-shallow-repository"]).is_some_and(|answer| answer == "true");
    let count = git(&["rev-list", "--count", "--first-parent", "HEAD"]);
    let hash = git(&["rev-parse", "HEAD"]);
    turn(count.as_deref().filter(|_| !is_shallow), hash.as_deref())
}

/// Turn of a commit by the number of commits up to it, or by its hash if a shallow clone has no number.
fn turn(count: Option<&str>, hash: Option<&str>) -> (usize, String) {
    let count: Option<usize> = count.and_then(|count| count.parse().ok());
    let digits = hash.and_then(|hash| usize::from_str_radix(hash.get(..4)?, 16).ok());
    match (count, digits) {
        (Some(count), _) => (count % TURNS, format!("commit {count}")),
        (None, Some(digits)) => {
            let why = "WARNING: by the hash of the commit, because the clone is shallow: \
                `git fetch --unshallow`, or choose with `--turn`";
            (digits % TURNS, why.into())
        }
        (None, None) => (0, "WARNING: git has no commit here: choose with `--turn`".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ci::steps;

    fn names(options: &Options, turn: usize) -> Vec<String> {
        let names = steps().into_iter().map(|step| step.name);
        names.filter(|name| options.has(name) && options.runs(name, turn)).collect()
    }

    #[test]
    fn every_step_has_one_place() {
        let steps = steps();
        for step in &steps {
            assert_eq!(places(&step.name).len(), 1, "{}", step.name);
        }
        for group in &GROUPS {
            for name in group.always.iter().chain(group.turns.into_iter().flatten()) {
                let is_step = |step: &str| step == *name || (name.ends_with('-') && step.starts_with(name));
                assert!(steps.iter().any(|step| is_step(&step.name)), "{name} of {}", group.name);
            }
        }
    }

    #[test]
    fn four_turns_run_every_step() {
        let options = Options::default();
        let mut all: Vec<String> = (0..TURNS).flat_map(|turn| names(&options, turn)).collect();
        all.sort();
        all.dedup();
        assert_eq!(all.len(), steps().len());
        let strict = Options { is_strict: true, ..Options::default() };
        assert_eq!(names(&strict, 0).len(), steps().len());
        let once = names(&options, 0);
        for name in ["format", "tests", "isa-sse2", "python", "miri-c", "isa-avx2"] {
            assert!(once.iter().any(|step| step == name), "{name}");
        }
        for name in ["aarch64", "miri", "wasm-simd128", "fuzz-import", "isa-sse42"] {
            assert!(!once.iter().any(|step| step == name), "{name}");
        }
    }

    #[test]
    fn groups_and_names_choose() {
        let every = |group: &str, turn| names(&Options { group: group.into(), ..Options::default() }, turn);
        assert_eq!(every("bindings", 2).len(), 4);
        assert_eq!(every("lab", 0), ["lab", "yardstick"]);
        assert!(every("lab", 3).len() > 10);
        assert!(every("nothing", 0).is_empty());
        let total: usize = groups().iter().map(|group| every(group, 1).len()).sum();
        assert_eq!(total, names(&Options::default(), 1).len());
        // A name runs in any turn.
        let only = Options { only: "isa-".into(), ..Options::default() };
        assert_eq!(names(&only, 2), ["isa-sse2", "isa-sse42", "isa-avx2", "isa-avx512"]);
    }

    #[test]
    fn options_are_read() {
        let read = |line: &str| Options::parse(&line.split_whitespace().collect::<Vec<_>>());
        let wanted = Options { group: "lab".into(), turn: Some(3), is_list: true, ..Options::default() };
        assert_eq!(read("--group lab --list --turn 3"), Some(wanted));
        assert_eq!(read(""), Some(Options::default()));
        for wrong in ["--turn 4", "--turn x", "--turn", "--group", "tests", "--strict --turn 1"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn the_turn_follows_the_commits() {
        let turns: Vec<usize> =
            (950..955).map(|count: usize| turn(Some(&count.to_string()), None).0).collect();
        assert_eq!(turns, [2, 3, 0, 1, 2]);
        let (shallow, why) = turn(None, Some("0a03ffff"));
        assert!(shallow == 3 && why.contains("WARNING") && why.contains("shallow"), "{why}");
        assert!(turn(None, None).1.contains("WARNING"));
    }
}
