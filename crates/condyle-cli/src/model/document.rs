//! glTF documents, and BVH files as documents: opening them, and what is reported about them.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::path::{Path, PathBuf};

use condyle_gltf::{Asset, Document, Refused, Severity};

use super::{bvh, problems};
use crate::failure::Failure;
use crate::options::quantity::{Length, TALL};
use crate::output::{print_json, warn};
use crate::text::{counted, path_text, printable};

/// A document or a BVH.
pub(crate) fn read(path: &Path) -> Result<Asset, Refused> {
    if bvh::is_bvh(path) { bvh::open(path) } else { Asset::open(path) }
}

/// With `json`, a document that cannot be used is also described on standard output, as `check` does.
pub(crate) fn open(path: &Path, json: bool) -> Result<Asset, Failure> {
    if path.is_dir() {
        let name = path_text(path);
        return Err(Failure::Usage(format!(
            "{name} is a folder; name a file in it, or pack all with pack-library"
        )));
    }
    read(path).map_err(|refused| {
        let described = match json {
            true => print_json(&format!("{:#}", problems::to_json(path, false, &refused.problems))),
            false => Ok(()),
        };
        described.err().unwrap_or_else(|| refusal(path, &refused))
    })
}

/// The failure for a document that cannot be used.
pub(crate) fn refusal(path: &Path, refused: &Refused) -> Failure {
    let problems = refused.problems.iter().map(|p| format!("\n  {}", printable(&p.to_string())));
    Failure::Data(format!("{} cannot be used{}", path_text(path), problems.collect::<String>()))
}

/// The failure for an asset with more joints, vertices or bytes than a stage can take.
pub(crate) fn too_large(file: &str, error: &dyn Display) -> Failure {
    Failure::Data(format!("{file}: {error}; reduce the model to what you need"))
}

/// Warns that something in the document was repaired.
pub(crate) fn warn_of_repairs(path: &Path, asset: &Asset) {
    let repairs = asset.problems.iter().filter(|p| p.severity == Severity::Warning).count();
    if repairs > 0 {
        let faults = counted(repairs, "fault was", "faults were");
        warn(path, &format!("{faults} repaired; `condyle check {}` lists them", path_text(path)));
    }
    for clip in asset.clips.iter().filter(|clip| clip.tracks().is_empty()) {
        let name = printable(clip.name());
        warn(
            path,
            &format!(
                "the clip {name} moves nothing that is kept; `condyle check {}` says why",
                path_text(path)
            ),
        );
    }
}

/// Metres in a unit of the model: one, or what makes its height at rest the given one.
pub(crate) fn metres_per_unit(path: &Path, asset: &Asset, height: Option<Length>) -> Result<f64, Failure> {
    if let Some(height) = height {
        height.warn_above(TALL, "--height");
    }
    if let (None, Ok(units @ (0.0..0.1 | TALL..))) = (height, asset.rest_height())
        && units > 0.0
    {
        warn(path, &format!("taken to be {units:.2} m high; give its real height with --height"));
    }
    let Some(height) = height else { return Ok(1.0) };
    let units = asset.rest_height().map_err(|e| too_large(&path_text(path), &e))?;
    if units > 0.0 {
        return Ok(height.metres / units);
    }
    let name = path_text(path);
    Err(Failure::Usage(format!(
        "{name} has no height at rest, so --height cannot scale it; leave --height out"
    )))
}

/// The files that a model is read from, as canonical paths: none of them may be overwritten. Until the model
/// is open, only its own path is known.
pub(crate) fn sources(model: &Path, document: Option<&Document>) -> BTreeSet<PathBuf> {
    let mut files: BTreeSet<PathBuf> = document.map(Document::files).into_iter().flatten().collect();
    files.extend(model.canonicalize());
    files
}
