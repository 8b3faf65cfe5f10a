//! `condyle info`, `check`, `completions` and the help of the program.

use std::process::{Command, Stdio};

use crate::common::{Folder, condyle, ribbon, testdata, transcript};
use insta::assert_snapshot;
use serde_json::{Value, json};

#[test]
fn info_shows_everything_at_a_glance() {
    assert_snapshot!("info", Folder::with_ribbon().session(&["info ribbon.gltf"]));
}

#[test]
fn info_says_as_much_in_json() {
    let folder = Folder::with_ribbon();
    let output = folder.condyle(&["info", "ribbon.gltf", "--json"]).assert().success();
    let text = String::from_utf8_lossy(&output.get_output().stdout).into_owned();
    assert_snapshot!("info_json", text);
    let json: Value = serde_json::from_str(&text).expect("one JSON object");
    assert_eq!(json["clips"][0]["end_seconds"], 1.0);
}

#[test]
fn info_on_skins_that_share_joints() {
    let mut command = condyle();
    command.current_dir(testdata("")).args(["info", "shared_joints.glb"]);
    assert_snapshot!("info_shared_joints", transcript(&mut command));
}

#[test]
fn names_from_a_file_cannot_steer_the_terminal() {
    let folder = Folder::with_ribbon();
    let mut nasty = ribbon();
    nasty["nodes"][1]["name"] = json!("\u{1b}]0;owned\u{7}");
    nasty["animations"][0]["name"] = json!("a\nb");
    folder.write("nasty.gltf", nasty.to_string());
    for line in ["info nasty.gltf", "skin nasty.gltf --clip x -o a.glb"] {
        let text = folder.session(&[line]);
        assert!(!text.contains(['\u{1b}', '\u{7}']) && text.contains("a\u{fffd}b"), "{text}");
    }
}

#[test]
fn neither_keys_nor_file_names_steer_the_terminal() {
    let folder = Folder::new();
    let mut nasty = ribbon();
    nasty["materials"] = json!([{ "\u{1b}[31mTexture": { "index": 9 } }]);
    nasty["nodes"][0]["mesh"] = json!(7);
    nasty["nodes"][1]["name"] = json!("a\u{202e}gpj.\u{2066}x\u{200b}");
    folder.write("\u{1b}[31m\u{202e}.gltf", nasty.to_string());
    let steers = |c: char| c != '\n' && (c.is_control() || "\u{202e}\u{2066}\u{200b}".contains(c));
    for command in ["info", "check", "info --json", "check --json", "skin --rest -o a.glb"] {
        let mut command = folder.run(command);
        let text = transcript(command.arg("\u{1b}[31m\u{202e}.gltf"));
        assert!(!text.contains(steers) && text.contains(".gltf"), "{text:?}");
    }
    let output = folder.run("check --json").arg("\u{1b}[31m\u{202e}.gltf").assert().code(1);
    let json: Value = serde_json::from_slice(&output.get_output().stdout).expect("JSON");
    assert_eq!(json["file"], "\u{1b}[31m\u{202e}.gltf");
}

#[test]
fn a_long_chain_of_joints_does_not_fill_the_screen_with_branches() {
    let folder = Folder::with_ribbon();
    let mut long = ribbon();
    let nodes = long["nodes"].as_array_mut().expect("nodes");
    nodes[2]["children"] = json!([4]);
    nodes.extend((4..3000).map(|i| json!({ "children": [i + 1] })));
    nodes.push(json!({}));
    long["skins"][0]["joints"] = json!([1, 2, 3000]);
    folder.write("long.gltf", long.to_string());
    let text = folder.session(&["info long.gltf"]);
    assert!(text.contains("node 3000 *") && text.len() < 3000 * 400, "{} bytes", text.len());
}

/// Returns a folder with `sound.gltf`, `odd.gltf` with repairs, `broken.gltf` with two errors, and no
/// `gone.gltf`.
fn patients() -> Folder {
    let folder = Folder::with_ribbon();
    let mut odd = ribbon();
    odd.as_object_mut().expect("an object").remove("scene");
    odd["nodes"][2]["rotation"] = json!([0.0, 0.0, 0.0, 2.0]);
    odd["nodes"][1]["name"] = json!("upper");
    folder.write("odd.gltf", odd.to_string());
    let mut broken = ribbon();
    broken["skins"][0]["joints"] = json!([1, 77]);
    broken["meshes"][0]["primitives"][0]["indices"] = json!(99);
    folder.write("broken.gltf", broken.to_string());
    folder
}

#[test]
fn check_tells_every_fault_and_goes_on_after_an_unusable_file() {
    let folder = patients();
    let lines = ["check gone.gltf broken.gltf odd.gltf ribbon.gltf", "check ribbon.gltf"];
    assert_snapshot!("check", folder.session(&lines));
}

/// Files that users pass by mistake, and a buffer that was not fetched.
#[test]
fn files_that_are_no_gltf_are_named() {
    let folder = Folder::with_ribbon();
    folder.write("empty.glb", "");
    folder.write("pointer.glb", "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n");
    folder.write("model.fbx", b"Kaydara FBX Binary  \0\x1a\0");
    folder.write("model.zip", b"PK\x03\x04\x14\0");
    folder.write("model.blend", b"BLENDER-v305");
    folder.write("packed.blend", b"\x28\xb5\x2f\xfd\x04");
    let lines = [
        "info empty.glb",
        "skin pointer.glb --rest -o a.glb",
        "encode model.fbx -o a.condyle",
        "check model.zip model.blend",
        "compare packed.blend packed.blend",
    ];
    assert_snapshot!("foreign", folder.session(&lines));
    folder.write("ribbon.bin", "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 252\n");
    folder.refuses(
        "info ribbon.gltf",
        1,
        &["error at /buffers/0: declares", "Git LFS pointer; run `git lfs pull`"],
    );
}

#[test]
fn check_writes_one_line_of_json_for_each_file() {
    let folder = patients();
    let output =
        folder.condyle(&["check", "--json", "broken.gltf", "odd.gltf", "ribbon.gltf"]).assert().code(1);
    let text = String::from_utf8(output.get_output().stdout.clone()).expect("UTF-8");
    assert_snapshot!("check_json", text);
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let verdicts: Vec<_> =
        lines.iter().map(|line| (line["file"].as_str(), line["usable"].as_bool())).collect();
    let want = [("broken.gltf", false), ("odd.gltf", true), ("ribbon.gltf", true)];
    assert_eq!(verdicts, want.map(|(file, usable)| (Some(file), Some(usable))));
}

/// Each file of `testdata/format/refused`, including clips for a different skeleton or rest pose than that of
/// their model.
#[test]
fn check_finds_what_is_wrong_with_containers() {
    let files = |folder: &str| {
        let files = std::fs::read_dir(testdata(folder)).expect("a folder");
        let paths = files.map(|file| file.expect("a file").path());
        paths.filter(|path| path.extension().is_some_and(|end| end == "condyle")).collect::<Vec<_>>()
    };
    condyle().arg("check").args(files("format")).assert().success();
    let refused = files("format/refused");
    let count = refused.len();
    assert!(count > 20, "{count} files");
    let output = condyle().args(["check", "--json"]).args(refused).assert().code(1);
    let text = String::from_utf8_lossy(&output.get_output().stdout).into_owned();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let usable: Vec<_> = lines.filter(|line| line["usable"] != json!(false)).collect();
    assert!(text.lines().count() == count && usable.is_empty(), "{usable:?}");
}

#[test]
fn completions_for_every_shell() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let output = condyle().args(["completions", shell]).assert().success();
        let script = String::from_utf8_lossy(&output.get_output().stdout).into_owned();
        assert!(script.contains("condyle") && script.contains("numeric"), "{shell}");
        for hidden in ["raycast", "pack-library", "pack__library"] {
            assert!(!script.contains(hidden), "{shell}: {hidden} is an old name");
        }
    }
    condyle().args(["completions", "tcsh"]).assert().code(2);
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("condyle"));
    let mut child =
        command.args(["completions", "bash"]).stdout(Stdio::piped()).spawn().expect("the program");
    drop(child.stdout.take());
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
}

/// clap's useless advice is removed: a negative number is a value, and options report their valid range.
#[test]
fn nobody_is_sent_behind_two_dashes() {
    let folder = Folder::with_ribbon();
    for (line, words) in [
        ("render ribbon.gltf --clip 0 --sheet -1 -o a.png", &["--sheet"][..]),
        ("compare ribbon.gltf ribbon.gltf --fps -1", &["--fps", "0.1 to 1000"]),
        ("compare ribbon.gltf ribbon.gltf --height -1", &["--height", "above 0"]),
        ("hitboxes ribbon.gltf --coverage -1", &["--coverage", "0 to 1"]),
        ("limits ribbon.gltf --margin -1", &["--margin", "0 to 45"]),
        ("info ribbon.gltf --frobnicate", &["--frobnicate"]),
        ("info ribbon.gltf -x", &["-x"]),
        ("check -x", &["-x"]),
    ] {
        let output = folder.run(line).output().expect("it runs");
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{line}: {message}");
        assert!(!message.contains("use '-- "), "{line}: {message}");
        assert!(words.iter().all(|word| message.contains(word)), "{line}: {message}");
    }
    folder.refuses("check -1", 1, &["cannot be used"]);
}

#[test]
fn help() {
    let help = transcript(condyle().arg("--help"));
    let commands: Vec<&str> = help
        .lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .collect();
    assert!(commands.len() <= 18, "{commands:?}");
    for hidden in ["blend", "pack-library", "limits", "bounds", "raycast", "hitboxes"] {
        assert!(!commands.contains(&hidden), "{hidden} is an old name");
    }
    assert_snapshot!("help", transcript(condyle().arg("--help")));
    assert_snapshot!("info_help", transcript(condyle().args(["info", "--help"])));
    assert_snapshot!("check_help", transcript(condyle().args(["check", "--help"])));
    condyle().assert().code(2);
    condyle().arg("--version").assert().success();
}

/// Headings of the groups of options, in their order.
const HEADINGS: [&str; 11] = [
    "Commands:",
    "Arguments:",
    "Options:",
    "Input:",
    "Goals:",
    "Joint limits:",
    "Picture:",
    "Precision:",
    "Output:",
    "Report:",
    "Computation:",
];

#[test]
fn options_have_the_same_headings_in_every_command() {
    let commands = [
        "demo",
        "render",
        "reach",
        "skin",
        "bake",
        "info",
        "check",
        "compare",
        "encode",
        "decode",
        "pack",
        "query bounds",
        "query ray",
        "query hitboxes",
        "man",
    ];
    let mut places = std::collections::BTreeMap::new();
    for command in commands {
        let help = transcript(condyle().args(command.split(' ')).arg("-h"));
        let help = help.split("\nExamples").next().unwrap_or_default();
        let mut found = Vec::new();
        for line in help.lines() {
            if line.ends_with(':') && !line.starts_with(' ') {
                found.push(
                    HEADINGS.iter().position(|it| *it == line).unwrap_or_else(|| panic!("{command}: {line}")),
                );
            }
            // An option has the same heading in all commands.
            let option = line.trim_start().split(' ').find(|word| word.starts_with("--"));
            let option = option.filter(|_| line.trim_start().starts_with('-') && line.starts_with(' '));
            if let Some((option, place)) = option.zip(found.last()) {
                let known = *places.entry(option.to_owned()).or_insert(*place);
                let moves = ["--rate", "--fps", "--limits", "--hitboxes", "--skinning"];
                assert!(known == *place || moves.contains(&option), "{command} {option}");
            }
        }
        assert!(found.is_sorted(), "{command}: {found:?}");
        let main =
            help.lines().skip_while(|line| *line != "Options:").skip(1).take_while(|line| !line.is_empty());
        let main = main.filter(|line| line.trim_start().starts_with('-')).count();
        assert!(main <= 8, "{command} has {main} main options");
    }
}

/// A height determines the unit, like --unit.
#[test]
fn heights_are_units() {
    let folder = Folder::with_ribbon();
    // The ribbon is 3 units high.
    folder.run("encode ribbon.gltf -o ribbon.condyle").assert().success();
    for line in [
        "info ribbon.gltf",
        "skin ribbon.gltf --clip Wave --json -o a.glb",
        "render ribbon.gltf --clip Wave --skinning both --size 32 --json -o a.gif",
        "query bounds ribbon.gltf --clip Wave",
        "query bounds ribbon.condyle --clip Wave",
        "query hitboxes ribbon.gltf",
        "query ray ribbon.gltf --rest --from -1,-0.5,2 --to 1,0.5,-2",
        "decode ribbon.condyle --json -o b.glb",
    ] {
        let printed = |option: &str| {
            let output = folder.run(&format!("{line} {option}")).assert().success();
            String::from_utf8(output.get_output().stdout.clone()).expect("UTF-8")
        };
        assert_eq!(printed("--height 75cm"), printed("--unit 25cm"), "{line}");
        folder.refuses(&format!("{line} --height 1m --unit 1m"), 2, &["--height and --unit"]);
    }
    folder.refuses("info ribbon.condyle --height 1m", 2, &["--unit in place of --height"]);
}

#[test]
fn a_folder_is_no_model() {
    let folder = Folder::with_ribbon();
    assert_snapshot!("folder", folder.session(&["info .", "skin . --rest -o a.glb", "check ."]));
}

/// Common words and old names of commands are accepted, or answered with a hint.
#[test]
fn words_that_people_type_lead_somewhere() {
    let folder = Folder::with_ribbon();
    for (word, command) in [
        ("validate ribbon.gltf", "check ribbon.gltf"),
        ("diff ribbon.gltf ribbon.gltf", "compare ribbon.gltf ribbon.gltf"),
        ("bounds ribbon.gltf --rest", "query bounds ribbon.gltf --rest"),
        ("hitboxes ribbon.gltf", "query hitboxes ribbon.gltf"),
        (
            "raycast ribbon.gltf --rest --from -1,-0.5,2 --to 1,0.5,-2",
            "query ray ribbon.gltf --rest --from -1,-0.5,2 --to 1,0.5,-2",
        ),
        ("limits ribbon.gltf --clip Wave", "reach ribbon.gltf --fit-limits --clip Wave"),
        ("limits ribbon.gltf --json --margin 5", "reach ribbon.gltf --fit-limits --json --margin 5"),
        ("query bounds ribbon.gltf --rest --limit 2", "query bounds ribbon.gltf --rest --max-work 2"),
    ] {
        let printed = |line: &str| {
            let output = folder.run(line).output().expect("it runs");
            (output.status.code(), output.stdout)
        };
        assert_eq!(printed(word), printed(command), "{word}");
        assert_eq!(printed(word).0, Some(0), "{word}");
    }
    // Old names of commands that write.
    std::fs::create_dir(folder.path("motion")).expect("a folder");
    for name in ["ribbon.gltf", "ribbon.bin"] {
        folder.write(&format!("motion/{name}"), folder.read(name));
    }
    for (old, new, ending) in [
        ("blend ribbon.gltf --clip Wave --clip Step --weight 0.3 --time 0.5 --size 64", "render", "png"),
        ("blend ribbon.gltf --clip Wave --clip Step --fps 4 --size 64", "render", "gif"),
        ("pack-library motion --unit 1cm --error 1mm", "encode", "condyle"),
        ("limits ribbon.gltf --soft 0.5", "reach --fit-limits", "json"),
        ("reach ribbon.gltf --clip Wave --move upper=0,0,0.1 --fps 7", "", "glb"),
    ] {
        let line = match new {
            "" => old.replace("--fps", "--rate"),
            _ => format!("{new} {}", old.split_once(' ').expect("a command").1),
        };
        folder.run(&format!("{old} -o old.{ending}")).assert().success();
        folder.run(&format!("{line} -o new.{ending}")).assert().success();
        let [was, is] = ["old", "new"].map(|name| folder.read(&format!("{name}.{ending}")));
        assert!(was == is, "{old} and {line} write different files");
    }
    folder.refuses("blend ribbon.gltf --clip Wave -o a.png", 2, &["two clips"]);
    folder.run("compress ribbon.gltf -o a.condyle").assert().success();
    folder.run("optimize ribbon.gltf -o a.glb").assert().success();
    folder.run("draw ribbon.gltf --rest --size 32x32 -o a.png").assert().success();
    folder.refuses("bench", 2, &["cargo run --release -p condyle-bench"]);
}

#[test]
fn man_writes_a_page_for_each_command() {
    let folder = Folder::with_ribbon();
    folder.run("man -o man1").assert().success();
    for (page, words) in [
        ("condyle.1", "condyle demo"),
        ("condyle-render.1", "contact sheet"),
        ("condyle-query-ray.1", "--from"),
    ] {
        let text = String::from_utf8(folder.read(&format!("man1/{page}"))).expect("UTF-8");
        // Roff escapes minus signs.
        assert!(text.replace('\\', "").contains(words), "{page}: {text}");
    }
    assert!(!folder.path("man1/condyle-raycast.1").exists(), "a hidden command has a page");
}
