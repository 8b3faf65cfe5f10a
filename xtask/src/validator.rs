//! Poses every shared model at all times of its reference with the command line tool, and the built-in
//! character, also with meshes for its hitboxes. The Khronos validator must find no errors in the files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::step::{Log, Outcome, Step, Stop, cargo, need, out_dir};
use crate::tests;

pub(crate) const VALIDATOR: &str = "gltf-validator@2.0.0-dev.3.10";

pub(crate) fn steps() -> Vec<Step> {
    vec![Step::new("validator", validator)]
}

fn validator(log: &mut Log) -> Outcome {
    need("node", &["--version"])?;
    let tools = install(log, &[VALIDATOR])?;
    log.run(&mut cargo("build", ["--release", "-p", "condyle-cli"]))?;

    let posed = out_dir().join("posed");
    if posed.exists() {
        std::fs::remove_dir_all(&posed)?;
    }
    std::fs::create_dir_all(&posed)?;
    log.run(condyle().arg("demo").arg("--output").arg(posed.join("demo")))?;
    let character = posed.join("demo/character.glb");
    log.run(condyle().args(["query", "hitboxes"]).arg(character).arg("-o").arg(posed.join("hitboxes.glb")))?;
    let models = references()?;
    for (model, manifest) in &models {
        pose(log, model, manifest, &posed)?;
    }

    let files = glb_files(&posed)?;
    let script = crate::root().join("xtask/validate.mjs");
    log.run(Command::new("node").arg(script).arg(&tools).args(&files))?;
    Ok(match models.len() {
        0 => format!("{} files of the built-in character; no shared models here", files.len()),
        count => format!("{} files of the built-in character and {count} models", files.len()),
    })
}

/// Folder with npm packages of these versions.
pub(crate) fn install(log: &mut Log, packages: &[&str]) -> Result<PathBuf, Stop> {
    let tools = out_dir().join("npm");
    std::fs::create_dir_all(&tools)?;
    let mut install = Command::new("npm");
    install.args(["install", "--no-audit", "--no-fund", "--prefix"]).arg(&tools).args(packages);
    match log.run(&mut install) {
        Ok(()) => Ok(tools),
        Err(_) => Err(Stop::Skipped(format!("npm could not install {}", packages.join(" ")))),
    }
}

pub(crate) fn condyle() -> Command {
    let mut command = Command::new(crate::root().join("target/release/condyle"));
    command.current_dir(crate::root());
    command
}

/// Reference characters in the folder `CONDYLE_MODELS`, with their manifests.
pub(crate) fn references() -> Result<Vec<(PathBuf, Value)>, Stop> {
    let Some(folder) = tests::models() else { return Ok(Vec::new()) };
    let entries = std::fs::read_dir(folder)?;
    let mut models = Vec::new();
    for entry in entries {
        let path = entry?.path();
        let manifest = path.with_extension("ref.json");
        let is_model = path.extension().is_some_and(|e| e == "glb" || e == "gltf");
        if is_model && manifest.exists() {
            let text = std::fs::read_to_string(&manifest)?;
            let json = serde_json::from_str(&text);
            let json = json.map_err(|e| Stop::Failed(format!("{}: {e}", manifest.display())))?;
            models.push((path, json));
        }
    }
    models.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(models)
}

/// Calls `condyle skin` once per clip with all its times, and `condyle bake` for its morph targets.
fn pose(log: &mut Log, model: &Path, manifest: &Value, posed: &Path) -> Result<(), Stop> {
    let mut times: BTreeMap<i64, Vec<String>> = BTreeMap::new();
    for case in manifest["cases"].as_array().into_iter().flatten() {
        let clip = case["clip"].as_i64().unwrap_or(-1);
        times.entry(clip).or_default().push(case["t"].to_string());
    }
    let stem = model.file_stem().unwrap_or_default().to_string_lossy();
    for (clip, times) in times {
        let mut command = condyle();
        command.arg("skin").arg(model);
        if clip < 0 {
            command.arg("--rest");
        } else {
            command.args(["--clip", &clip.to_string(), "--time", &times.join(",")]);
        }
        log.run(command.arg("-o").arg(posed.join(format!("{stem}-{clip}.glb"))))?;
        if clip >= 0 {
            let mut bake = condyle();
            bake.arg("bake").arg(model).args(["--clip", &clip.to_string(), "--fps", "4", "-o"]);
            log.run(bake.arg(posed.join(format!("{stem}-{clip}-morphs.glb"))))?;
        }
    }
    Ok(())
}

fn glb_files(folder: &Path) -> Result<Vec<PathBuf>, Stop> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "glb") {
                files.push(path);
            }
        }
    }
    files.sort();
    if files.is_empty() { Err(Stop::Failed("nothing was posed".into())) } else { Ok(files) }
}
