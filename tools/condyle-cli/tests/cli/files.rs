//! Destinations of files, replaced files, and leftovers of a command that does not finish.

use std::fs;

use serde_json::json;

use crate::common::{Folder, ribbon};

/// Commands that write, without the destination, and the extension of the output.
const WRITERS: [(&str, &str); 7] = [
    ("skin ribbon.gltf --rest -o", "glb"),
    ("skin ribbon.gltf --rest --format npy -o", "npy"),
    ("render ribbon.gltf --rest --size 16 -o", "png"),
    ("render ribbon.gltf --clip Wave --clip Step --time 0 --size 16 -o", "png"),
    ("encode ribbon.gltf -o", "condyle"),
    ("encode ribbon.gltf -o other.condyle --report", "html"),
    ("compare ribbon.gltf ribbon.gltf --plot", "svg"),
];

#[test]
fn the_folder_of_an_output_is_made() {
    let folder = Folder::with_ribbon();
    for (line, ending) in WRITERS {
        folder.run(&format!("{line} new/{ending}/a.{ending}")).assert().success();
        let files = fs::read_dir(folder.path(&format!("new/{ending}"))).expect("the folder");
        let names: Vec<_> = files.flatten().map(|file| file.file_name().into_string()).collect();
        assert!(!names.is_empty(), "{line}");
        let is_wanted = |name: &str| name.starts_with("a.") && name.ends_with(ending);
        assert!(names.iter().flatten().all(|name| is_wanted(name)), "{line}: {names:?}");
    }
    folder.run("decode new/condyle/a.condyle -o new/back/b.glb").assert().success();
}

#[test]
fn no_folder_is_made_in_vain() {
    let folder = Folder::with_ribbon();
    folder.write("broken.gltf", "{}");
    folder.write("file", "");
    let long = "x".repeat(300);
    for (line, code) in [
        ("skin ribbon.gltf --clip Fly -o new/a.glb".into(), 2),
        ("skin broken.gltf --rest -o new/a.glb".into(), 1),
        ("render broken.gltf --rest -o new/a.png".into(), 1),
        ("encode broken.gltf -o new/a.condyle".into(), 1),
        ("encode ribbon.gltf -o new/a.glb".into(), 2),
        ("compare ribbon.gltf broken.gltf --plot new/a.svg".into(), 1),
        // This command fails only at the rename.
        (format!("skin ribbon.gltf --rest -o new/deep/{long}.glb"), 1),
        (format!("skin ribbon.gltf --rest -o {long}/a.glb"), 1),
        // The last of several files, or all of them.
        (format!("encode ribbon.gltf -o new/a.condyle --report new/deep/{long}.html"), 1),
        (format!("skin ribbon.gltf --rest -o new/deep/{long}.npy"), 1),
    ] {
        folder.run(&line).assert().code(code);
        assert!(!folder.path("new").exists(), "{line}");
    }
    folder.refuses(
        "skin ribbon.gltf --rest -o file/deep/a.glb",
        2,
        &["file/deep/a.glb", "file is not a folder"],
    );
    folder.refuses("demo -o file", 2, &["file is not a folder"]);
    assert_eq!(folder.written(), ["broken.gltf", "file"]);
}

#[test]
fn all_files_of_a_command_are_written_or_none() {
    let folder = Folder::with_ribbon();
    // At the second key, vertices are outside the range of f32.
    let mut far = ribbon();
    far["nodes"][0]["scale"] = json!([1e38, 1, 1]);
    folder.write("far.gltf", far.to_string());
    let line = "skin far.gltf --clip Step -o new/a.glb --time";
    folder.run(&format!("{line} 0")).assert().success();
    fs::remove_dir_all(folder.path("new")).expect("the folder");
    folder.refuses(&format!("{line} 0,1"), 1, &["far.gltf at 1 s", "is not finite"]);
    assert_eq!(folder.written(), ["far.gltf"]);

    folder.write("a.condyle", "before");
    let long = "x".repeat(300);
    for page in [format!("{long}/a.html"), format!("{long}.html")] {
        let line = format!("encode ribbon.gltf -o a.condyle --report {page}");
        folder.refuses(&line, 1, &["cannot be written"]);
        assert_eq!(folder.read("a.condyle"), b"before", "{page}");
    }
}

#[cfg(unix)]
mod unix {
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::os::unix::process::ExitStatusExt;
    use std::process::{Command, ExitStatus, Stdio};

    use super::*;

    fn mode(folder: &Folder, name: &str) -> u32 {
        fs::metadata(folder.path(name)).expect("a file").permissions().mode() & 0o7777
    }

    fn set_mode(folder: &Folder, name: &str, mode: u32) {
        fs::set_permissions(folder.path(name), fs::Permissions::from_mode(mode)).expect("its owner");
    }

    #[test]
    fn a_replaced_file_keeps_its_mode() {
        let folder = Folder::with_ribbon();
        symlink("a.glb", folder.path("link.glb")).expect("a link");
        for (wanted, to) in [(0o600, "a.glb"), (0o664, "a.glb"), (0o755, "a.glb"), (0o640, "link.glb")] {
            folder.write("a.glb", "before");
            set_mode(&folder, "a.glb", wanted);
            folder.run(&format!("skin ribbon.gltf --rest -o {to}")).assert().success();
            assert!(folder.read("a.glb").starts_with(b"glTF"));
            assert_eq!(mode(&folder, "a.glb"), wanted, "{to}");
        }
        assert!(fs::symlink_metadata(folder.path("link.glb")).expect("the link").is_symlink());
    }

    #[test]
    fn a_read_only_file_is_replaced_on_demand_alone() {
        let folder = Folder::with_ribbon();
        folder.run("encode ribbon.gltf -o packed.condyle").assert().success();
        let decode = ("decode packed.condyle -o", "glb");
        for (line, ending) in WRITERS.into_iter().filter(|(_, ending)| *ending != "npy").chain([decode]) {
            let name = format!("a.{ending}");
            folder.write(&name, "before");
            set_mode(&folder, &name, 0o444);
            folder.refuses(&format!("{line} {name}"), 2, &[&name, "read-only", "--force"]);
            assert_eq!(folder.read(&name), b"before", "{line}");
            folder.run(&format!("{line} {name} --force")).assert().success();
            assert_ne!(folder.read(&name), b"before", "{line}");
            assert_eq!(mode(&folder, &name), 0o444, "{line}");
            // Restores the folder for the next command.
            fs::remove_file(folder.path(&name)).expect("the folder is not read-only");
        }
        for (line, name) in
            [("skin ribbon.gltf --rest -o a.npy", "a.node3.primitive0.normal.npy"), ("demo -o .", "run.gif")]
        {
            folder.write(name, "before");
            set_mode(&folder, name, 0o400);
            let before = folder.written();
            folder.refuses(line, 2, &[name, "read-only", "--force"]);
            assert_eq!((folder.read(name), folder.written()), (b"before".to_vec(), before), "{line}");
            folder.run(&format!("{line} --force")).assert().success();
            assert_ne!(folder.read(name), b"before", "{line}");
        }
    }

    const VERTICES: u64 = 2_000_000;

    /// Returns a model whose arrays take a while to write.
    fn with_cloud() -> Folder {
        let folder = Folder::new();
        let cloud = json!({
            "asset": { "version": "2.0" },
            "scenes": [{ "nodes": [0] }],
            "nodes": [{ "mesh": 0 }],
            "meshes": [{ "primitives": [{ "attributes": { "POSITION": 0 }, "mode": 0 }] }],
            // An accessor without a buffer view is zeros.
            "accessors": [{ "componentType": 5126, "type": "VEC3", "count": VERTICES, "min": [0, 0, 0], "max": [0, 0, 0] }],
        });
        folder.write("cloud.gltf", cloud.to_string());
        folder
    }

    /// Whether this test ignores a signal: then the program that it starts does, too.
    fn is_ignored(signal: i32) -> bool {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let bits = status
            .lines()
            .find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok());
        bits.is_some_and(|bits| bits >> (signal - 1) & 1 == 1)
    }

    const LINE: &str = "skin cloud.gltf --rest -o new/deep/a.npy";

    fn program() -> Command {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("condyle"));
        command.args(LINE.split(' '));
        command
    }

    /// Starts to write the array, and sends a signal as soon as its folder exists. The draft exists then, or
    /// is created a moment later.
    fn interrupted(folder: &Folder, mut command: Command, signal: &str) -> ExitStatus {
        let streams = command.current_dir(folder.path(".")).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = streams.spawn().expect("the program");
        // The shell is started before it is needed. It ends if the program has ended.
        let id = child.id();
        let watch = format!("while [ ! -d new/deep ] && kill -0 {id}; do :; done; kill -s {signal} {id}");
        let mut shell = Command::new("sh");
        shell.args(["-c", &watch]).current_dir(folder.path("."));
        let mut shell = shell.stderr(Stdio::null()).spawn().expect("a shell");
        let status = child.wait().expect("it ends");
        shell.wait().expect("it ends");
        status
    }

    #[test]
    fn a_limit_on_the_size_of_files_leaves_no_unfinished_file() {
        let folder = with_cloud();
        let mut shell = Command::new("sh");
        shell.args(["-c", r#"ulimit -f 4; exec "$0" "$@""#]);
        shell.arg(assert_cmd::cargo::cargo_bin!("condyle")).args(LINE.split(' '));
        let streams = shell.current_dir(folder.path(".")).stdout(Stdio::null()).stderr(Stdio::null());
        let status = streams.status().expect("a shell");
        assert!(!status.success());
        assert!(!folder.path("new").exists(), "{status}");
    }

    #[test]
    fn a_signal_leaves_no_unfinished_file() {
        let folder = with_cloud();
        // Where ignored signals cannot be detected, a hangup is not caught.
        let hangup = cfg!(target_os = "linux").then_some(("HUP", 1));
        for (name, number) in [("INT", 2), ("TERM", 15)].into_iter().chain(hangup) {
            if is_ignored(number) {
                continue;
            }
            // If the file was finished before the signal, it is complete.
            let is_caught = (0..20).any(|_| {
                let status = interrupted(&folder, program(), name);
                let in_time = status.signal() == Some(number) && !folder.path("new").exists();
                if !in_time {
                    let files = fs::read_dir(folder.path("new/deep")).expect("the folder").flatten();
                    let sizes: Vec<_> = files
                        .map(|file| (file.file_name(), file.metadata().expect("a file").len()))
                        .collect();
                    let whole = ("a.node0.primitive0.position.npy".into(), 128 + 12 * VERTICES);
                    assert_eq!(sizes, [whole], "{name}: {status}");
                    fs::remove_dir_all(folder.path("new")).expect("the folder");
                }
                in_time
            });
            assert!(is_caught, "{name}: it does not end the program");
            assert_eq!(folder.written(), ["cloud.gltf"], "{name}");
        }
    }

    /// Signals are ignored under `nohup`, and in the background of a script.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_signal_that_was_ignored_before_stays_ignored() {
        let folder = with_cloud();
        let condyle = assert_cmd::cargo::cargo_bin!("condyle").display().to_string();
        for name in ["HUP", "INT", "TERM"] {
            let mut shell = Command::new("sh");
            shell.args(["-c", &format!("trap '' {name}; exec '{condyle}' {LINE}")]);
            let status = interrupted(&folder, shell, name);
            assert!(status.success(), "{name}: {status}");
            assert_eq!(
                folder.read("new/deep/a.node0.primitive0.position.npy").len() as u64,
                128 + 12 * VERTICES
            );
            fs::remove_dir_all(folder.path("new")).expect("the folder");
        }
    }
}
