//! Opening files as assets, and what is reported about them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use condyle_gltf::{Asset, Document, Extent};
use condyle_io::{Misfit, OpenError, Options, Refused, Severity};

use super::problems;
use crate::failure::{Failure, too_large};
use crate::options::quantity::{Length, TALL};
use crate::options::space::Space;
use crate::output::{print_json, warn};
use crate::text::{counted, did_you_mean, path_text, printable};

/// A file of a motion or a character whose clips are raw, as an asset. With `json`, a file that cannot be used is also described
/// on standard output, as `check` does.
pub(crate) fn open(path: &Path, space: Space, json: bool) -> Result<Asset, Failure> {
    let options = Options { unit: space.metres(), z_up: space.is_z_up(), ..Options::default() };
    raw_asset(path, read(path, &options, json)?)
}

/// As [`open`], with all options.
pub(crate) fn open_with(path: &Path, options: &Options<'_>) -> Result<Asset, Failure> {
    raw_asset(path, read(path, options, false)?)
}

fn raw_asset(path: &Path, model: condyle_io::Model) -> Result<Asset, Failure> {
    match into_asset(path, model)? {
        (asset, compressed) if compressed.is_empty() => Ok(asset),
        _ => Err(Failure::Usage(format!(
            "{} is compressed; give the file that it was made of",
            path_text(path)
        ))),
    }
}

/// Any file, as the options say.
pub(crate) fn read(path: &Path, options: &Options<'_>, json: bool) -> Result<condyle_io::Model, Failure> {
    let name = path_text(path);
    if path.is_dir() {
        return Err(Failure::Usage(format!(
            "{name} is a folder; name a file in it, or encode all of it with `condyle encode {name} -o all.condyle`"
        )));
    }
    condyle_io::open(path, options).map_err(|error| {
        if let OpenError::Misfit { misfit, .. } = &error {
            return misfit_failure(path, misfit);
        }
        let refused = Refused { name, problems: error.problems() };
        let described = match json {
            true => print_json(&format!("{:#}", problems::to_json(path, false, &refused.problems))),
            false => Ok(()),
        };
        described.err().unwrap_or_else(|| refusal(path, &refused))
    })
}

/// The failure for an option that does not fit the file, in terms of the command line.
fn misfit_failure(path: &Path, misfit: &Misfit) -> Failure {
    let name = path_text(path);
    let list = |names: &[String]| names.iter().map(|name| printable(name)).collect::<Vec<_>>().join(", ");
    Failure::Usage(match misfit {
        Misfit::SeveralModels(names) => {
            format!("{name} holds several models; choose one with --model: {}", list(names))
        }
        Misfit::NoSuchModel(wanted, names) => {
            let guess = did_you_mean(wanted, names.iter().map(String::as_str));
            format!("{name} has no model {wanted:?}{guess}; --model takes one of {}", list(names))
        }
        Misfit::SingleModel => {
            format!("{name} is a single model; --model is for a .condyle with several")
        }
        Misfit::PersonMissing => {
            return Failure::Data(format!(
                "{name} is the motion of a body, but who moves is missing: \
                 `condyle encode FOLDER --body MODEL.npz` encodes all motion of the folder"
            ));
        }
        Misfit::Compressed => {
            format!(
                "{name} is compressed, so that its clips cannot be turned: give --up z to `condyle encode`"
            )
        }
        other => format!("{name}: {other}"),
    })
}

/// The model as an asset with its raw clips, and its compressed clips.
pub(super) fn into_asset(
    path: &Path,
    model: condyle_io::Model,
) -> Result<(Asset, Vec<condyle_io::ModelClip>), Failure> {
    let found = model.into_asset().map_err(|refused| refusal(path, &refused))?;
    found.ok_or_else(|| {
        Failure::Data(format!(
            "{}: the model is kept without its document, which meshes and nodes are read from; \
             for this command encode the model itself, without --no-document",
            path_text(path)
        ))
    })
}

/// The failure for a document that cannot be used.
pub(crate) fn refusal(path: &Path, refused: &Refused) -> Failure {
    let problems = refused.problems.iter().map(|p| format!("\n  {}", printable(&p.to_string())));
    Failure::Data(format!("{} cannot be used{}", path_text(path), problems.collect::<String>()))
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

/// Metres in a unit of a document, as [`metres_of`]; those that --height makes are stored in it.
pub(crate) fn metres_per_unit(
    path: &Path,
    asset: &mut Asset,
    space: Space,
    height: Option<Length>,
) -> Result<f64, Failure> {
    let metres = metres_of(path, asset.extent(), asset.unit(), space, height)?;
    if height.is_some() {
        asset.set_unit(metres).map_err(|e| too_large(&path_text(path), &e))?;
    }
    Ok(metres)
}

/// Metres in a unit of a model: what makes its height the given one, else those that are known, else one. Warns of heights that are no character's.
pub(super) fn metres_of(
    path: &Path,
    extent: Result<Extent, condyle::Error>,
    known: Option<f64>,
    space: Space,
    height: Option<Length>,
) -> Result<f64, Failure> {
    if let Some(height) = height {
        return scale_to(path, &extent.map_err(|e| too_large(&path_text(path), &e))?, space, height);
    }
    let metres = known.unwrap_or(1.0);
    if let Ok(high @ (0.0..0.1 | TALL..)) = extent.map(|extent| extent.height() * metres)
        && high > 0.0
    {
        warn(path, &format!("taken to be {high:.2} m high; give its real height with --height"));
    }
    Ok(metres)
}

/// Metres in a unit of what has this extent, where its height is the given one. Reports where that height may not be the one that is meant.
pub(crate) fn scale_to(path: &Path, extent: &Extent, space: Space, height: Length) -> Result<f64, Failure> {
    height.warn_above(TALL, "--height");
    if space.unit.is_some() {
        return Err(Failure::Usage("--height and --unit say the same: give one of them".into()));
    }
    // Whoever names the up axis has no other in mind.
    let (up, longest) = (if space.up.is_some() { 1 } else { extent.up() }, extent.longest());
    let units = extent.sizes[up];
    if units <= 0.0 {
        let name = path_text(path);
        return Err(Failure::Usage(format!(
            "{name} has no height, so --height cannot scale it; leave --height out"
        )));
    }
    let [x, y, z] = extent.sizes;
    let sizes = format!("its size is {x:.4} x {y:.4} x {z:.4} units along X, Y and Z");
    match (up, longest) {
        (1, 1) => {}
        (1, _) => warn(path, &format!("--height is taken along Y, which is not its longest axis: {sizes}")),
        (2, _) => {
            warn(
                path,
                &format!("--height is taken along Z: {sizes}; give --up z if Z is up, --up y if Y is"),
            );
        }
        _ => {
            warn(
                path,
                &format!("--height is taken along X: {sizes}; give --up y if Y is up, --up z if Z is"),
            );
        }
    }
    let unit = extent.unit(units, height.metres);
    if (unit * units - height.metres).abs() > 1e-3 * height.metres {
        let joints = unit * units;
        warn(
            path,
            &format!(
                "a unit is taken as {unit} m, which makes its joints {joints:.2} m high, without the top of the head and the soles; \
                 --unit says another"
            ),
        );
    }
    Ok(unit)
}

/// The files that a model is read from, as canonical paths: none of them may be overwritten. Until the model
/// is open, only its own path is known.
pub(crate) fn sources(model: &Path, document: Option<&Document>) -> BTreeSet<PathBuf> {
    let mut files: BTreeSet<PathBuf> = document.map(Document::files).into_iter().flatten().collect();
    files.extend(model.canonicalize());
    files
}
