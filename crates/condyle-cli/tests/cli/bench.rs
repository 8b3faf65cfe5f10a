//! `condyle bench`: what it promises to print. What it measures is tested where it is measured.

use crate::common::{BASELINE, Folder, condyle, transcript};
use insta::assert_snapshot;
use serde_json::Value;

#[test]
fn help() {
    assert_snapshot!("help", transcript(condyle().args(["bench", "--help"])));
}

#[test]
fn a_line_of_json_has_the_keys_that_others_read() {
    let line = format!("bench --only palette_67 --rounds 1 --json --isa {BASELINE} --numeric portable");
    let output = Folder::new().run(&line).assert().success();
    let text = String::from_utf8(output.get_output().stdout.clone()).expect("UTF-8");
    let rows: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let ours: Vec<_> = rows.iter().filter(|row| row["impl"] == "condyle").collect();
    let [ours] = ours[..] else { panic!("{text}") };
    let mut keys: Vec<_> = ours.as_object().expect("an object").keys().map(String::as_str).collect();
    keys.sort_unstable();
    let known =
        ["cycles", "impl", "isa", "layout", "max_error", "mode", "n", "ns", "threads", "ticks", "work"];
    assert_eq!(keys, known);
    let words = ["work", "isa", "mode", "layout"].map(|key| ours[key].as_str());
    assert_eq!(words, ["palette_67", BASELINE, "portable", "structs"].map(Some));
    assert_eq!(ours["threads"], 1);
    for key in ["n", "ns", "cycles", "ticks"] {
        assert!(ours[key].as_f64().is_some_and(|v| v > 0.0), "{key}: {text}");
    }
}

/// A clip has two, and both are condyle.
#[test]
fn lines_of_clips_tell_the_form() {
    let line =
        format!("bench --only sample_67_forward --rounds 1 --json --isa {BASELINE} --numeric portable");
    let output = Folder::new().run(&line).assert().success();
    let text = String::from_utf8(output.get_output().stdout.clone()).expect("UTF-8");
    let rows = text.lines().map(|line| serde_json::from_str(line).expect("JSON"));
    let forms: Vec<_> =
        rows.filter(|row: &Value| row["impl"] == "condyle").map(|row| row["form"].clone()).collect();
    assert_eq!(forms, ["packed", "resident"]);
}

/// What is demanded of two threads is told from these lines.
#[test]
fn lines_of_crowds_tell_the_threads() {
    let line =
        format!("bench --only character_67_crowd1000 --rounds 1 --json --isa {BASELINE} --numeric portable");
    let output = Folder::new().run(&line).assert().success();
    let text = String::from_utf8(output.get_output().stdout.clone()).expect("UTF-8");
    let rows: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    for form in ["packed", "resident"] {
        let of = |row: &&Value| row["impl"] == "condyle" && row["form"] == form;
        let threads: Vec<_> = rows.iter().filter(of).map(|row| row["threads"].clone()).collect();
        assert_eq!(threads, [1, 2], "{form}: {text}");
    }
}

#[test]
fn a_table_of_one_work() {
    let output = Folder::new().run("bench --only palette_67 --rounds 1").assert().success();
    let text = String::from_utf8_lossy(&output.get_output().stdout).into_owned();
    assert!(
        text.starts_with("Palette: cycles per joint\n")
            && text.contains("\n  impl ")
            && text.contains("\n  condyle "),
        "{text}"
    );
}

#[test]
fn an_unknown_work_is_answered_with_those_there_are() {
    let text = Folder::new().session(&["bench --only dancing"]);
    assert!(
        text.contains("there is no work dancing; choose one of ") && text.contains(" palette_67, "),
        "{text}"
    );
    assert!(text.ends_with("[exit code 2]\n\n"), "{text}");
    let text = Folder::new().session(&["bench --only pallete_67"]);
    assert!(text.contains("no work pallete_67 (did you mean `palette_67`?); choose one of "), "{text}");
}
