//! A folder with a small model, and the program run in it.

#[path = "../../../condyle-gltf/tests/common/shared.rs"]
mod shared;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use assert_cmd::Command;
use serde_json::{Value, json};
use tempfile::TempDir;

/// Instruction set that every machine of this platform supports; `baseline` in snapshots.
pub(crate) const BASELINE: &str = if cfg!(target_arch = "x86_64") {
    "sse2"
} else if cfg!(target_arch = "aarch64") {
    "neon"
} else {
    "scalar"
};

/// A separate folder for each test.
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary folder"))
    }

    /// Returns a folder with `ribbon.gltf`: a strip of four vertices on two joints, with a wave and a step.
    pub(crate) fn with_ribbon() -> Self {
        let it = Self::new();
        it.write("ribbon.gltf", ribbon().to_string());
        it.write("ribbon.bin", ribbon_data());
        it
    }

    /// Returns a folder with the built-in character as `a.glb`.
    pub(crate) fn with_character() -> Self {
        static CHARACTER: OnceLock<Vec<u8>> = OnceLock::new();
        let it = Self::new();
        let character = CHARACTER.get_or_init(|| {
            it.run("demo -o out").assert().success();
            it.read("out/character.glb")
        });
        it.write("a.glb", character);
        it
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.path(name), content).expect("room for a file");
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    /// Returns all files except those of the model, sorted by name.
    pub(crate) fn written(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).expect("the folder");
        let names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
        let mut names: Vec<_> = names.filter(|name| !name.starts_with("ribbon.")).collect();
        names.sort();
        names
    }

    /// Returns the program in this folder, without the environment variables that it reads.
    pub(crate) fn condyle(&self, arguments: &[&str]) -> Command {
        let mut command = condyle();
        command.current_dir(self.0.path()).args(arguments);
        command
    }

    /// Like [`Self::condyle`], with a whole command line.
    pub(crate) fn run(&self, line: &str) -> Command {
        self.condyle(&line.split_whitespace().collect::<Vec<_>>())
    }

    /// Runs a command line that must fail with this exit code and a message that contains all of these words.
    pub(crate) fn refuses(&self, line: &str, code: i32, words: &[&str]) {
        let output = self.run(line).output().expect("it runs");
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{line}: {message}");
        for word in words {
            assert!(message.contains(word), "{line}: {message}");
        }
    }

    /// Returns the terminal output of these commands, one after another.
    pub(crate) fn session(&self, commands: &[&str]) -> String {
        let run = |line: &&str| {
            let shown = transcript(&mut self.run(line));
            format!("$ condyle {line}\n{shown}\n")
        };
        commands.iter().map(run).collect()
    }
}

pub(crate) fn condyle() -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("condyle"));
    command.env_remove("CONDYLE_ISA").env_remove("CONDYLE_NUMERIC");
    command
}

/// Returns standard output, standard error and the exit code as one text, for snapshots.
pub(crate) fn transcript(command: &mut Command) -> String {
    let output = command.output().expect("the program runs");
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("UTF-8");
    let code = output.status.code().expect("no signal");
    format!("{}{}[exit code {code}]\n", text(&output.stdout), text(&output.stderr))
}

/// Returns models of the folder `testdata`, and reference characters if `CONDYLE_MODELS` is set.
pub(crate) fn models(own: &[&str], shared: &[&str]) -> Vec<PathBuf> {
    let testdata = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata");
    let own = own.iter().map(|name| testdata.join(name));
    let shared =
        shared::folder().into_iter().flat_map(|folder| shared.iter().map(move |name| folder.join(name)));
    own.chain(shared).collect()
}

/// Returns the path of a file in `testdata`.
pub(crate) fn testdata(name: &str) -> String {
    models(&[name], &[])[0].display().to_string()
}

/// Returns the model's JSON, so that tests can break it.
pub(crate) fn ribbon() -> Value {
    let floats = |view: usize, kind: &str, count: usize| json!({ "bufferView": view, "componentType": 5126, "type": kind, "count": count });
    let mut accessors = [
        floats(0, "VEC3", 4),
        floats(1, "VEC3", 4),
        json!({ "bufferView": 2, "componentType": 5121, "type": "VEC4", "count": 4 }),
        floats(3, "VEC4", 4),
        json!({ "bufferView": 4, "componentType": 5123, "type": "SCALAR", "count": 6 }),
        floats(5, "SCALAR", 2),
        floats(6, "VEC4", 2),
        floats(7, "VEC3", 2),
    ];
    for (accessor, min, max) in [(0, json!([0, 0, 0]), json!([1, 2, 0])), (5, json!([0]), json!([1]))] {
        accessors[accessor]["min"] = min;
        accessors[accessor]["max"] = max;
    }
    let lengths = [48, 48, 16, 64, 12, 8, 32, 24];
    let views = lengths.iter().scan(0, |offset, length| {
        *offset += length;
        Some(json!({ "buffer": 0, "byteOffset": *offset - length, "byteLength": length }))
    });
    json!({
        "asset": { "version": "2.0" },
        "scene": 0,
        "scenes": [{ "nodes": [0, 3] }],
        "nodes": [
            { "name": "armature", "children": [1] },
            { "name": "lower", "children": [2] },
            { "name": "upper", "translation": [0.0, 1.0, 0.0] },
            { "name": "ribbon", "mesh": 0, "skin": 0 },
        ],
        "skins": [{ "joints": [1, 2] }],
        "meshes": [{ "name": "strip", "primitives": [{
            "attributes": { "POSITION": 0, "NORMAL": 1, "JOINTS_0": 2, "WEIGHTS_0": 3 }, "indices": 4,
        }] }],
        "animations": [
            { "name": "Wave", "samplers": [{ "input": 5, "output": 6 }],
              "channels": [{ "sampler": 0, "target": { "node": 2, "path": "rotation" } }] },
            { "name": "Step", "samplers": [{ "input": 5, "output": 7, "interpolation": "STEP" }],
              "channels": [{ "sampler": 0, "target": { "node": 1, "path": "translation" } }] },
        ],
        "accessors": accessors,
        "bufferViews": views.collect::<Vec<_>>(),
        "buffers": [{ "uri": "ribbon.bin", "byteLength": lengths.iter().sum::<usize>() }],
    })
}

fn ribbon_data() -> Vec<u8> {
    let half = std::f32::consts::FRAC_1_SQRT_2;
    let floats: [&[f32]; 5] = [
        &[0., 0., 0., 1., 0., 0., 0., 2., 0., 1., 2., 0., 0., 0., 1., 0., 0., 1., 0., 0., 1., 0., 0., 1.],
        &[1., 0., 0., 0., 1., 0., 0., 0., 0.5, 0.5, 0., 0., 1., 0., 0., 0.],
        &[0., 1.],
        &[0., 0., 0., 1., 0., 0., half, half],
        &[0., 0., 0., 3., 0., 0.],
    ];
    let bytes = |at: usize| floats[at].iter().flat_map(|x| x.to_le_bytes());
    let joints = [0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0];
    let indices = [0_u16, 1, 2, 2, 1, 3].into_iter().flat_map(u16::to_le_bytes);
    bytes(0)
        .chain(joints)
        .chain(bytes(1))
        .chain(indices)
        .chain(bytes(2))
        .chain(bytes(3))
        .chain(bytes(4))
        .collect()
}
