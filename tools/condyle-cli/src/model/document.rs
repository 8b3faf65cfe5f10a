//! Opening files as assets, and reporting their problems.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use condyle_gltf::{Asset, Document, Extent};
use condyle_io::{Format, Misfit, OpenError, Options, Refused, Severity};

use super::problems;
use crate::failure::{Failure, too_large};
use crate::options::quantity::{Length, TALL};
use crate::options::space::Space;
use crate::output::{print_json, warn};
use crate::text::{counted, did_you_mean, path_text, printable};

/// Opens a motion or a character with raw clips as an asset. With `json`, an unusable file is also described
/// on standard output, as by `check`.
pub(crate) fn open(path: &Path, space: Space, json: bool) -> Result<Asset, Failure> {
    let options = Options { unit: space.metres(), z_up: space.is_z_up(), ..Options::default() };
    raw_asset(path, read(path, &options, json)?)
}

/// Like [`open`], with all options.
pub(crate) fn open_with(path: &Path, options: &Options<'_>) -> Result<Asset, Failure> {
    raw_asset(path, read(path, options, false)?)
}

fn raw_asset(path: &Path, model: condyle_io::Model) -> Result<Asset, Failure> {
    match into_asset(path, model)? {
        (asset, compressed) if compressed.is_empty() => Ok(asset),
        _ => Err(Failure::Usage(format!(
            "{} is compressed; give the file that it was encoded from",
            path_text(path)
        ))),
    }
}

/// Reads any file with these options.
pub(crate) fn read(path: &Path, options: &Options<'_>, json: bool) -> Result<condyle_io::Model, Failure> {
    let name = path_text(path);
    if path.is_dir() {
        return Err(Failure::Usage(format!(
            "{name} is a folder; name a file in it, or encode the whole folder with `condyle encode {name} -o all.condyle`"
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

/// Returns the failure for an option that does not fit the file, in terms of the command line.
fn misfit_failure(path: &Path, misfit: &Misfit) -> Failure {
    let name = path_text(path);
    let list = |names: &[String]| names.iter().map(|name| printable(name)).collect::<Vec<_>>().join(", ");
    Failure::Usage(match misfit {
        Misfit::SeveralModels(names) => {
            format!("{name} holds several models; choose one with --model: {}", list(names))
        }
        Misfit::NoSuchClip(wanted, names) => {
            let guess = did_you_mean(wanted, names.iter().map(String::as_str));
            format!(
                "no model of {name} has a clip {wanted:?}{guess}; `condyle info {name}` lists its clips, and --model \
                 chooses a model"
            )
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
                "{name} is the motion of a body and needs a body model: \
                 `condyle encode FOLDER --body MODEL.npz` encodes all motion of the folder, and \
                 `condyle retarget` has --body too"
            ));
        }
        Misfit::Compressed => {
            format!("{name} is compressed, so its clips cannot be turned: give --up z to `condyle encode`")
        }
        other => format!("{name}: {other}"),
    })
}

/// Converts a model to an asset with its raw clips, and its compressed clips. Joints without meshes, as in a
/// library, need no document.
pub(crate) fn into_asset(
    path: &Path,
    model: condyle_io::Model,
) -> Result<(Asset, Vec<condyle_io::ModelClip>), Failure> {
    if model.format == Format::Container && model.asset.is_none() && !model.has_bare_meshes {
        return joints(model).map_err(|refused| refusal(path, &refused));
    }
    let found = model.into_asset().map_err(|refused| refusal(path, &refused))?;
    found.ok_or_else(|| {
        Failure::Data(format!(
            "{}: the file has no document, and this command needs its meshes and nodes; \
             encode the model again, without --no-document",
            path_text(path)
        ))
    })
}

/// Returns the joints of a container as an asset, and the clips.
fn joints(model: condyle_io::Model) -> Result<(Asset, Vec<condyle_io::ModelClip>), Refused> {
    let mut asset = Asset::of_motion(&model.name, &model.skeleton, Vec::new())?;
    if model.is_turned {
        asset.set_turned();
    }
    if let Some(metres) = model.unit {
        asset.set_unit(metres).map_err(|error| Refused::because(&model.name, error.to_string()))?;
    }
    Ok((asset, model.clips))
}

/// Returns the failure for an unusable document.
pub(crate) fn refusal(path: &Path, refused: &Refused) -> Failure {
    let problems = refused.problems.iter().map(|p| format!("\n  {}", printable(&p.to_string())));
    Failure::Data(format!("{} cannot be used{}", path_text(path), problems.collect::<String>()))
}

/// Warns about repairs in the document, and about clips without usable tracks.
pub(crate) fn warn_of_repairs(path: &Path, asset: &Asset) {
    let repairs = asset.problems.iter().filter(|p| p.severity == Severity::Warning).count();
    if repairs > 0 {
        let faults = counted(repairs, "problem was", "problems were");
        warn(path, &format!("{faults} repaired; `condyle check {}` lists them", path_text(path)));
    }
    for clip in asset.clips.iter().filter(|clip| clip.tracks().is_empty()) {
        let name = printable(clip.name());
        warn(
            path,
            &format!(
                "the clip {name} has no usable tracks; `condyle check {}` explains why",
                path_text(path)
            ),
        );
    }
}

/// Returns the metres per unit of a document, like [`metres_of`]; a unit that follows from --height is stored
/// in it.
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

/// Returns the metres per unit of a model: from `height` if given, else the known unit, else 1. Warns about a
/// height that is implausible for a character.
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
        warn(path, &format!("the model is {high:.2} m high in its unit; give its real height with --height"));
    }
    Ok(metres)
}

/// Returns the metres per unit that scale this extent to the given height. Warns if the height may be along
/// another axis.
pub(crate) fn scale_to(path: &Path, extent: &Extent, space: Space, height: Length) -> Result<f64, Failure> {
    height.warn_above(TALL, "--height");
    if space.unit.is_some() {
        return Err(Failure::Usage("--height and --unit both set the unit: give one of them".into()));
    }
    // An explicit up axis is not questioned.
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
                "a unit is taken as {unit} m, which makes its joints {joints:.2} m high, not counting the top of the head and the soles; \
                 set another unit with --unit"
            ),
        );
    }
    Ok(unit)
}

/// Returns the canonical paths of the files that a model is read from, which must not be overwritten. Until
/// the model is open, only its own path is known.
pub(crate) fn sources(model: &Path, document: Option<&Document>) -> BTreeSet<PathBuf> {
    let mut files: BTreeSet<PathBuf> = document.map(Document::files).into_iter().flatten().collect();
    files.extend(model.canonicalize());
    files
}
