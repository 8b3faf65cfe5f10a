//! Packs every shared model and plays the files in three.js, which shares no code with the library. Its
//! vertices must match those of the original within the requested error. The Khronos validator must report
//! nothing that it does not report for the original.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::step::{Log, Outcome, Step, Stop, cargo, fill, need, out_dir};
use crate::tests;
use crate::validator::{VALIDATOR, condyle, install, references};

const THREE: &str = "three@0.187.0";

/// Error in millimetres.
const ERROR: &str = "0.5";

/// Options of the packed files.
const FORMS: [&str; 2] = ["", "--meshopt"];
/// Options of files whose vertices are in another order.
const MESH_FORMS: [&str; 2] = ["--mesh", "--mesh --khr"];

pub(crate) fn steps() -> Vec<Step> {
    vec![Step::new("playback", |log: &mut Log| {
        let mut rows = playback(log, &[ERROR], &FORMS, "300000")?;
        rows.extend(playback(log, &[ERROR], &MESH_FORMS, "300000")?);
        Ok(said(&rows))
    })]
}

const PAGE: &str = "docs/reports/packing.md";
const PLAYED: [&str; 2] = ["<!-- from `cargo xtask playback` -->\n\n", "\n<!-- until here -->"];
/// Files with meshes that others made and that are not among the models.
const REAL: [&str; 4] =
    ["03_all_animations.gltf", "AnimatedMorphSphere.gltf", "LeftHandHumanoid.gltf", "MorphStressTest.gltf"];
const MESH_PEERS: [&str; 2] = ["<!-- from `cargo xtask mesh-peers` -->\n\n", "\n<!-- until here, meshes -->"];
const PEERS: [&str; 2] = ["<!-- from `cargo xtask pack-peers` -->\n\n", "\n<!-- until here, too -->"];

/// Plays the models at more errors and times, and writes docs/reports/packing.md.
pub(crate) fn whole(log: &mut Log) -> Outcome {
    let mut table = String::from(
        "| model | bound, mm | .glb, bytes | max error, mm | `--meshopt`, bytes | max error, mm |\n|---|--:|--:|--:|--:|--:|\n",
    );
    let errors = ["0.1", "0.5", "2"];
    let rows = playback(log, &errors, &FORMS, "1e8")?;
    for ([plain, compressed], error) in rows.as_chunks::<2>().0.iter().zip(errors.iter().cycle()) {
        let Played { model, bytes, worst } = plain;
        writeln!(
            table,
            "| {model} | {error} | {bytes} | {worst:.4} | {} | {:.4} |",
            compressed.bytes, compressed.worst
        )
        .ok();
    }
    fill(PAGE, PLAYED, &table)?;
    Ok(said(&rows))
}

/// Compares with other programs on the same models, and writes docs/reports/packing.md.
pub(crate) fn peers(log: &mut Log) -> Outcome {
    compare(log, "xtask/pack-peers.mjs", PEERS, &[])
}

/// Compares packed meshes with gltfpack, and writes docs/reports/packing.md.
pub(crate) fn mesh_peers(log: &mut Log) -> Outcome {
    // Real files, next to the reference characters.
    let real = tests::models().map(|models| models.with_file_name("real"));
    let real = real.into_iter().flat_map(|folder| REAL.map(|name| folder.join(name)));
    let real: Vec<_> = real.filter(|path| path.exists()).collect();
    compare(log, "xtask/mesh-peers.mjs", MESH_PEERS, &real)
}

fn compare(log: &mut Log, script: &str, place: [&str; 2], more: &[PathBuf]) -> Outcome {
    need("node", &["--version"])?;
    let tools = install(log, &["gltfpack@1.3.0", "@gltf-transform/cli@4.5.1"])?;
    log.run(&mut cargo("build", ["--release", "-p", "condyle-cli"]))?;
    let folder = out_dir().join("packed");
    std::fs::create_dir_all(&folder)?;
    let mut node = Command::new("node");
    node.arg(crate::root().join(script)).arg(tools);
    node.arg(crate::root().join("target/release/condyle")).arg(folder);
    log.limit = Duration::from_secs(3600);
    let table = log.capture(node.args(references()?.iter().map(|(model, _)| model)).args(more))?;
    fill(PAGE, place, &table)?;
    Ok(format!("written to {PAGE}"))
}

/// Played file: model, bytes of the animation data, and largest error in millimetres.
struct Played {
    model: String,
    bytes: u64,
    worst: f64,
}

fn said(rows: &[Played]) -> String {
    match rows.len() {
        0 => "no shared models here".into(),
        count => format!("{count} files"),
    }
}

fn playback(log: &mut Log, errors: &[&str], forms: &[&str], vertices: &str) -> Result<Vec<Played>, Stop> {
    let reordered = forms.iter().any(|form| form.contains("--mesh ") || *form == "--mesh");
    need("node", &["--version"])?;
    let tools = install(log, &[THREE, VALIDATOR])?;
    log.run(&mut cargo("build", ["--release", "-p", "condyle-cli"]))?;
    let folder = out_dir().join("packed");
    std::fs::create_dir_all(&folder)?;
    let models = references()?;
    let mut files = Vec::new();
    for (model, _) in &models {
        let mut packed = Vec::new();
        for error in errors {
            for form in forms {
                packed.push(pack(log, model, error, form, &folder)?);
            }
        }
        let paths = || packed.iter().map(|file| &file.path);
        let script = |name: &str| {
            let mut node = Command::new("node");
            node.arg(crate::root().join("xtask").join(name)).arg(&tools);
            node
        };
        log.run(script("validate.mjs").arg("--than").arg(model).args(paths()))?;
        let mut play = script("play.mjs");
        play.arg(model).args(paths());
        if reordered {
            play.env("CONDYLE_PLAY_PAIR", PAIR);
        }
        let played = log.capture(play.env("CONDYLE_PLAY_VERTICES", vertices))?;
        for (line, Packed { path, allowed, bytes }) in played.lines().zip(&packed) {
            let line: Value = serde_json::from_str(line).map_err(|e| Stop::Failed(format!("{line}: {e}")))?;
            let (worst, size) = (line["worst"].as_f64(), line["size"].as_f64());
            // three.js stores bone matrices in f32.
            match worst.zip(size) {
                Some((worst, size)) if worst <= allowed + 1e-6 * size => {
                    let model = model.file_stem().unwrap_or_default().to_string_lossy().into();
                    files.push(Played { model, bytes: *bytes, worst: worst * 1e3 });
                }
                _ => {
                    let path = path.display();
                    return Err(Stop::Failed(format!("{path}: {line}, but {allowed} m are allowed")));
                }
            }
        }
        if played.lines().count() != packed.len() {
            return Err(Stop::Failed(format!("{}: not all files were played", model.display())));
        }
    }
    Ok(files)
}

/// Distance within which vertices in another order are paired, in metres. It is twice the error.
const PAIR: &str = "0.001";

/// Packed model, and the allowed error of its vertices in metres: the requested one, or the one stated by a
/// warning.
struct Packed {
    path: PathBuf,
    allowed: f64,
    bytes: u64,
}

fn pack(log: &mut Log, model: &Path, error: &str, form: &str, folder: &Path) -> Result<Packed, Stop> {
    let stem = model.file_stem().unwrap_or_default().to_string_lossy();
    let out = folder.join(format!("{stem}-{error}{}.glb", form.replace(' ', "")));
    let mut command = condyle();
    command.arg("pack").arg(model).arg("-o").arg(&out);
    command.args(["--error", &format!("{error}mm"), "--json"]).args(form.split_whitespace());
    let asked: f64 = error.parse().map_err(|e| Stop::Failed(format!("{error}: {e}")))?;
    let said = log.capture(&mut command)?;
    let rows: Vec<Value> = said.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let allowed = rows.iter().filter_map(|row| row["error_max_m"].as_f64()).fold(asked * 1e-3, f64::max);
    let bytes = rows.iter().filter_map(|row| row["bytes"].as_u64()).sum();
    Ok(Packed { path: out, allowed, bytes })
}
