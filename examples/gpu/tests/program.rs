//! Tests of the program on the software adapter.

use std::process::{Command, Output};

use serde_json::Value;

fn run(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_condyle-gpu")).args(args).output().expect("it starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn the_table_names_objects_and_who_skins_them() {
    let output = run(&["--adapter", "software", "--crowd", "2", "--frames", "1"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let table = text(&output.stdout);
    assert!(table.starts_with("adapter: ") && table.contains(", software"), "{table}");
    for (object, by) in
        [("hero", "CPU"), ("twin", "GPU"), ("stick", "GPU"), ("nobody", "GPU"), ("crowd", "GPU")]
    {
        let lines: Vec<&str> = table.lines().filter(|line| line.starts_with(object)).collect();
        assert_eq!(lines.len(), 3, "{table}");
        assert!(lines.iter().all(|line| line.split_whitespace().nth(1) == Some(by)), "{table}");
    }
    assert!(table.contains("more than four influences; the four heaviest are packed"), "{table}");
}

#[test]
fn json_holds_the_same_for_all_forms() {
    for (matrices, joints, skinner) in
        [("columns", "u8", "gpu"), ("rows", "u16", "gpu"), ("rows", "u8", "cpu")]
    {
        let args =
            ["--adapter", "software", "--json", "--crowd", "3", "--frames", "1", "--matrices", matrices];
        let output = run(&[&args[..], &["--joints", joints, "--skinner", skinner]].concat());
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let json: Value = serde_json::from_slice(&output.stdout).expect("valid");
        assert_eq!((&json["software"], &json["within_bounds"]), (&true.into(), &true.into()));
        let objects = json["objects"].as_array().expect("a list");
        assert_eq!(objects.len(), 5);
        assert!(objects.iter().all(|object| object["skinned_by"] == skinner), "{json:#}");
        let crowd = &objects[4];
        assert_eq!((&crowd["object"], &crowd["instances"]), (&"crowd".into(), &3.into()));
        let packed = &crowd["from_skin_with"]["packed"]["position"];
        let largest = packed["largest"].as_f64().expect("a number");
        assert_eq!(largest > 0.0, skinner == "gpu", "{json:#}");
        assert!(packed["largest_part_of_a_bound"].as_f64().expect("a number") <= 1.0);
        assert!(
            crowd["from_skin_with"]["four_exact"]["normal"]["largest"].as_f64().expect("a number") > 1e-5
        );
    }
}

#[test]
fn wrong_options_exit_with_2() {
    for args in [["--adapter", "fast"], ["--frames", "0"], ["--crowd", "1001"], ["--matrices", "4x4"]] {
        let output = run(&args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(text(&output.stderr).contains(args[1]), "{}", text(&output.stderr));
    }
    let help = run(&["--help"]);
    assert_eq!(help.status.code(), Some(0));
    assert!(text(&help.stdout).contains("Examples:"));
}

/// The Vulkan loader gets the names of missing drivers.
#[test]
fn without_an_adapter_it_says_what_to_install() {
    let program = env!("CARGO_BIN_EXE_condyle-gpu");
    let nowhere = "nowhere/none.json";
    let variables = ["VK_DRIVER_FILES", "VK_ICD_FILENAMES"].map(|name| (name, nowhere));
    for args in [&[][..], &["--adapter", "software"], &["--adapter", "real"]] {
        let output = Command::new(program).args(args).envs(variables).output().expect("it starts");
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        let why = text(&output.stderr);
        let named = if args.ends_with(&["real"]) { "--adapter software" } else { "mesa-vulkan-drivers" };
        assert!(why.contains("condyle-gpu: no ") && why.contains(named), "{why}");
    }
}
