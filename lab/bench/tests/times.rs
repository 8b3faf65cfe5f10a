//! Tests of the output of `condyle-bench`. The modules of the benchmarks test the measurements.

use std::process::{Command, Output};

use condyle::Isa;
use serde_json::Value;

/// Instruction set of every machine of this architecture.
fn baseline() -> &'static str {
    if cfg!(target_arch = "x86_64") { "sse2" } else { Isa::best().name() }
}

fn run(line: &str) -> Output {
    let line = line.replace("BASELINE", baseline());
    Command::new(env!("CARGO_BIN_EXE_condyle-bench")).args(line.split(' ')).output().expect("it runs")
}

fn text(line: &str) -> String {
    let output = run(line);
    assert!(output.status.success(), "{line}: {output:?}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

#[test]
fn a_line_of_json_has_the_keys_that_others_read() {
    let text = text("--only palette_67 --rounds 1 --json --isa BASELINE --numeric portable");
    let rows: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let ours: Vec<_> = rows.iter().filter(|row| row["impl"] == "condyle").collect();
    let [ours] = ours[..] else { panic!("{text}") };
    let mut keys: Vec<_> = ours.as_object().expect("an object").keys().map(String::as_str).collect();
    keys.sort_unstable();
    let known =
        ["cycles", "impl", "isa", "layout", "max_error", "mode", "n", "ns", "threads", "ticks", "work"];
    assert_eq!(keys, known);
    let words = ["work", "isa", "mode", "layout"].map(|key| ours[key].as_str());
    assert_eq!(words, ["palette_67", baseline(), "portable", "structs"].map(Some));
    assert_eq!(ours["threads"], 1);
    for key in ["n", "ns", "cycles", "ticks"] {
        assert!(ours[key].as_f64().is_some_and(|v| v > 0.0), "{key}: {text}");
    }
}

/// Clips are measured in two forms, both with the implementation name condyle.
#[test]
fn lines_of_clips_tell_the_form() {
    let text = text("--only sample_67_forward --rounds 1 --json --isa BASELINE --numeric portable");
    let rows = text.lines().map(|line| serde_json::from_str(line).expect("JSON"));
    let forms: Vec<_> =
        rows.filter(|row: &Value| row["impl"] == "condyle").map(|row| row["form"].clone()).collect();
    assert_eq!(forms, ["compressed", "frames"]);
}

/// The required ratios of two threads use these lines.
#[test]
fn lines_of_crowds_tell_the_threads() {
    let text = text("--only character_67_crowd1000 --rounds 1 --json --isa BASELINE --numeric portable");
    let rows: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    for form in ["compressed", "frames"] {
        let of = |row: &&Value| row["impl"] == "condyle" && row["form"] == form;
        let threads: Vec<_> = rows.iter().filter(of).map(|row| row["threads"].clone()).collect();
        assert_eq!(threads, [1, 2], "{form}: {text}");
    }
}

#[test]
fn a_table_of_one_work() {
    let text = text("--only palette_67 --rounds 1");
    assert!(
        text.starts_with("Palette: cycles per joint\n")
            && text.contains("\n  impl ")
            && text.contains("\n  condyle "),
        "{text}"
    );
}

#[test]
fn an_unknown_work_is_answered_with_those_there_are() {
    let output = run("--only dancing");
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.contains("unknown benchmark; choose one of ") && text.contains(" palette_67, "), "{text}");
}
