//! Packs every shared model and plays the files in three.js, a reader that shares no code with this one: its vertices must be
//! where those of the original are, within the error that was asked for. The Khronos validator must find nothing in them that it
//! does not find in the original.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::step::{Log, Outcome, Step, Stop, cargo, need, out_dir};
use crate::validator::{VALIDATOR, condyle, install, references};

const THREE: &str = "three@0.187.0";

/// Millimetres.
const ERROR: &str = "0.5";

pub(crate) fn steps() -> Vec<Step> {
    vec![Step::new("playback", |log: &mut Log| playback(log, &[ERROR], "300000"))]
}

/// At more errors and moments.
pub(crate) fn whole(log: &mut Log) -> Outcome {
    playback(log, &["0.1", "0.5", "2"], "1e8")
}

fn playback(log: &mut Log, errors: &[&str], vertices: &str) -> Outcome {
    need("node", &["--version"])?;
    let tools = install(log, &[THREE, VALIDATOR])?;
    log.run(&mut cargo("build", ["--release", "-p", "condyle-cli"]))?;
    let folder = out_dir().join("packed");
    std::fs::create_dir_all(&folder)?;
    let models = references()?;
    let mut files = 0;
    for (model, _) in &models {
        let mut packed = Vec::new();
        for error in errors {
            for form in ["", "--meshopt"] {
                packed.push(pack(log, model, error, form, &folder)?);
            }
        }
        let paths = || packed.iter().map(|(path, _)| path);
        let script = |name: &str| {
            let mut node = Command::new("node");
            node.arg(crate::root().join("xtask").join(name)).arg(&tools);
            node
        };
        log.run(script("validate.mjs").arg("--than").arg(model).args(paths()))?;
        let mut play = script("play.mjs");
        play.arg(model).args(paths());
        let played = log.capture(play.env("CONDYLE_PLAY_VERTICES", vertices))?;
        for (line, (path, allowed)) in played.lines().zip(&packed) {
            let line: Value = serde_json::from_str(line).map_err(|e| Stop::Failed(format!("{line}: {e}")))?;
            let (worst, size) = (line["worst"].as_f64(), line["size"].as_f64());
            // Three.js keeps the matrices of bones in f32.
            let holds = worst.zip(size).is_some_and(|(worst, size)| worst <= allowed + 1e-6 * size);
            if !holds {
                return Err(Stop::Failed(format!(
                    "{}: {line} where {allowed} m are allowed",
                    path.display()
                )));
            }
            files += 1;
        }
        if played.lines().count() != packed.len() {
            return Err(Stop::Failed(format!("{}: not all files were played", model.display())));
        }
    }
    Ok(match models.len() {
        0 => "no shared models here".into(),
        count => format!("{files} files of {count} models"),
    })
}

/// A packed model, and by how many metres its vertices may be off: what was asked for, or what a warning said.
fn pack(log: &mut Log, model: &Path, error: &str, form: &str, folder: &Path) -> Result<(PathBuf, f64), Stop> {
    let stem = model.file_stem().unwrap_or_default().to_string_lossy();
    let out = folder.join(format!("{stem}-{error}{form}.glb"));
    let mut command = condyle();
    command.arg("pack").arg(model).arg("-o").arg(&out);
    command.args(["--error", &format!("{error}mm"), "--json"]).args((!form.is_empty()).then_some(form));
    let asked: f64 = error.parse().map_err(|e| Stop::Failed(format!("{error}: {e}")))?;
    let said = log.capture(&mut command)?;
    let said = said.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let said = said.filter_map(|row| row["error_max_m"].as_f64()).fold(asked * 1e-3, f64::max);
    Ok((out, said))
}
