//! Standard output and standard error, closed or full, for every command.

use std::io;
use std::process::{Command, Stdio};

use crate::common::Folder;

/// Command lines that write to one stream or to both, with their exit codes.
const LINES: [(&str, i32); 25] = [
    ("", 2),
    ("--help", 0),
    ("--version", 0),
    ("help skin", 0),
    ("encode --help", 0),
    ("--nonsense", 2),
    ("skin ribbon.gltf", 2),
    ("info ribbon.gltf", 0),
    ("info gone.gltf --json", 1),
    ("check ribbon.gltf", 0),
    ("check gone.gltf broken.gltf gone.gltf", 1),
    ("check gone.gltf --json", 1),
    ("skin ribbon.gltf --clip Wave --time 500 -o a.glb", 0),
    ("skin broken.gltf --rest -o b.glb", 1),
    ("render ribbon.gltf --clip Wave --time -3 --size 16 -o a.png", 0),
    ("render ribbon.gltf --clip Wave --clip Fly -o b.png", 2),
    ("compare ribbon.gltf fewer.gltf --height 180", 0),
    ("compare ribbon.gltf broken.gltf", 1),
    ("encode ribbon.gltf -o a.condyle --error 5", 0),
    ("decode ribbon.gltf -o b.glb", 2),
    ("decode ribbon.condyle -o b.glb", 0),
    ("pack ribbon.gltf -o c.glb --error 5", 0),
    ("reach ribbon.gltf --clip Wave --goal upper=9,0,0 -o d.glb", 0),
    ("demo -o file/demo", 2),
    ("completions fish", 0),
];

fn folder() -> Folder {
    let folder = Folder::with_ribbon();
    folder.write("broken.gltf", "{}");
    folder.write("file", "");
    // The missing clip causes a warning.
    let mut fewer = crate::common::ribbon();
    fewer["animations"].as_array_mut().expect("animations").pop();
    folder.write("fewer.gltf", fewer.to_string());
    folder.run("encode ribbon.gltf -o ribbon.condyle").assert().success();
    folder
}

fn program(folder: &Folder, line: &str) -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("condyle"));
    command.env_remove("CONDYLE_ISA").env_remove("CONDYLE_NUMERIC").current_dir(folder.path("."));
    command.args(line.split_whitespace());
    command
}

/// Creates a stream for each run.
type Stream = fn() -> Stdio;

/// Returns a pipe whose reader is closed, as after `| head -1`.
fn closed() -> Stdio {
    let (reader, writer) = io::pipe().expect("a pipe");
    drop(reader);
    writer.into()
}

#[test]
fn a_closed_pipe_changes_no_exit_code() {
    let folder = folder();
    for (line, code) in LINES {
        let streams: [(&str, Stream, Stream); 3] = [
            ("both", closed, closed),
            ("standard output", closed, Stdio::null),
            ("standard error", Stdio::null, closed),
        ];
        for (which, stdout, stderr) in streams {
            let status = program(&folder, line).stdout(stdout()).stderr(stderr()).status();
            assert_eq!(status.expect("it runs").code(), Some(code), "{line}: {which} closed");
        }
    }
}

/// If the output cannot be printed, the command fails; a lost message alone does not fail it.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_a_failure_of_what_is_printed() {
    let folder = folder();
    let full = || std::fs::File::options().write(true).open("/dev/full").expect("the device");
    for (line, code) in LINES {
        let status = program(&folder, line).stdout(Stdio::null()).stderr(full()).status();
        assert_eq!(status.expect("it runs").code(), Some(code), "{line}: standard error");
        let usual = program(&folder, line).output().expect("it runs");
        let output = program(&folder, line).stdout(full()).stderr(Stdio::piped()).output().expect("it runs");
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        let wanted = if usual.stdout.is_empty() { code } else { 1 };
        assert_eq!(output.status.code(), Some(wanted), "{line}: {message}");
        if !usual.stdout.is_empty() {
            assert!(message.contains("cannot write to standard output: "), "{line}: {message}");
        }
    }
}
