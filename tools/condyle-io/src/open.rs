//! Opens a file: recognises the format, reads it, and rotates it to +Y up.

use std::path::Path;

use condyle::clip::Y_UP_FROM_Z_UP;
use condyle::sampling::AnyClip;
use condyle_base::problem::Refused;

use crate::error::{Misfit, OpenError};
use crate::format::Format;
use crate::input::{Data, Input, Options};
use crate::model::Model;

/// Opens a file.
///
/// # Errors
/// [`OpenError`] if the file cannot be read or used, or if an option does not apply to it.
pub fn open(path: impl AsRef<Path>, options: &Options<'_>) -> Result<Model, OpenError> {
    let path = path.as_ref();
    let name = path.display().to_string();
    let mut model = read(Input { name: &name, data: Data::File(path) }, options)?;
    model.files.extend(path.canonicalize());
    Ok(model)
}

/// Opens the bytes of a file.
///
/// `name` appears in messages, and its extension helps to recognise the format. External files of a `.gltf`
/// cannot be found.
///
/// # Errors
/// The errors of [`open`].
pub fn from_bytes(name: &str, bytes: &[u8], options: &Options<'_>) -> Result<Model, OpenError> {
    read(Input { name, data: Data::Bytes(bytes) }, options)
}

/// Opens the bytes of a file whose external files the caller has, for example in a browser.
///
/// `file` returns the bytes of an external file of a `.gltf` by its path relative to the document, or `None`.
///
/// # Errors
/// The errors of [`open`].
///
/// ```
/// use condyle_io::{Options, from_parts};
///
/// let json = br#"{"asset": {"version": "2.0"}, "nodes": [{}],
///     "buffers": [{"uri": "a.bin", "byteLength": 2}]}"#;
/// let file = |path: &str| (path == "a.bin").then(|| vec![0; 2]);
/// let model = from_parts("dot.gltf", json, &file, &Options::default())?;
/// assert_eq!(model.skeleton.joint_count(), 0);
/// # Ok::<(), condyle_io::OpenError>(())
/// ```
pub fn from_parts(
    name: &str,
    bytes: &[u8],
    file: &dyn Fn(&str) -> Option<Vec<u8>>,
    options: &Options<'_>,
) -> Result<Model, OpenError> {
    read(Input { name, data: Data::Parts(bytes, file) }, options)
}

fn read(input: Input<'_>, options: &Options<'_>) -> Result<Model, OpenError> {
    if let Some(metres) = options.unit.filter(|metres| !(*metres > 0.0 && metres.is_finite())) {
        return Err(input.refused(format!("the unit is {metres} m, expected a finite number above 0")));
    }
    let format = Format::of(&input.first()?, input.name);
    if format != Format::Container && options.model.is_some() {
        return Err(input.misfit(Misfit::SingleModel));
    }
    #[cfg(feature = "body")]
    if format != Format::Body && options.person.is_some() {
        return Err(input.misfit(Misfit::NoBody));
    }
    let mut model = reader(format).map_or_else(
        || {
            let (name, feature) = (format.name(), format.feature().unwrap_or_default());
            let what = format!(
                "the format is {name}, which this build cannot read; the feature `{feature}` of condyle-io opens it"
            );
            Err(input.refused(what))
        },
        |read| read(input, options),
    )?;
    let name = &model.name;
    let unfit = |what: &str, error: condyle::Error| Refused::at(name, what, error.to_string());
    if options.z_up && !model.is_turned {
        for it in &mut model.clips {
            let AnyClip::Raw(clip) = &it.clip else { return Err(input.misfit(Misfit::Compressed)) };
            let turned = clip.turned(&model.skeleton, Y_UP_FROM_Z_UP);
            it.clip = turned.map_err(|error| unfit("the rotated clip", error))?.into();
        }
        // Body models are Y up in the rest pose; only their motion is Z up.
        if format != Format::Body {
            let turned = model.skeleton.turned(Y_UP_FROM_Z_UP);
            model.skeleton = turned.map_err(|error| unfit("the rotated skeleton", error))?;
            #[cfg(feature = "gltf")]
            if let Some(asset) = model.asset.take() {
                let turned = asset.turned(Y_UP_FROM_Z_UP);
                model.asset = Some(turned.map_err(|error| unfit("the rotated model", error))?);
            }
        }
        model.is_turned = true;
    }
    if let Some(metres) = options.unit {
        model.unit = Some(metres);
        #[cfg(feature = "gltf")]
        if let Some(asset) = &mut model.asset {
            asset.set_unit(metres).map_err(|error| unfit("its unit", error))?;
        }
    }
    Ok(model)
}

type Read = fn(Input<'_>, &Options<'_>) -> Result<Model, OpenError>;

/// Returns the reader of a format, or `None` without its feature.
fn reader(format: Format) -> Option<Read> {
    Some(match format {
        Format::Container => crate::container::read,
        #[cfg(feature = "body")]
        Format::Body => crate::body::read,
        #[cfg(feature = "bvh")]
        Format::Bvh => crate::bvh::read,
        #[cfg(feature = "fbx")]
        Format::Fbx => crate::fbx::read,
        #[cfg(feature = "gltf")]
        Format::Gltf => crate::gltf::read,
        #[cfg(not(all(feature = "body", feature = "bvh", feature = "fbx", feature = "gltf")))]
        _ => return None,
    })
}
