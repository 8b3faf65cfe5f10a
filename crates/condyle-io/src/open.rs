//! Opening a file: recognise it, read it, turn it.

use std::io::Read;
use std::path::Path;

use condyle::clip::Y_UP_FROM_Z_UP;
use condyle::sampling::AnyClip;
use condyle_base::problem::Refused;

use crate::error::{Misfit, OpenError};
use crate::format::Format;
use crate::model::Model;

/// Options for opening a file. The default changes nothing.
///
/// ```no_run
/// use condyle_io::{Options, open};
///
/// // Motion capture in centimetres, Z up.
/// let model = open("walk.bvh", &Options { unit: Some(0.01), z_up: true, ..Options::default() })?;
/// # Ok::<(), condyle_io::OpenError>(())
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct Options<'a> {
    /// The model to open in a container with several. None: the only one.
    pub model: Option<&'a str>,
    /// The person who moves in the motion of a body.
    #[cfg(feature = "body")]
    pub person: Option<Person<'a>>,
    /// Metres in a unit of the file. Numbers stay as they are. None: as the file says.
    pub unit: Option<f64>,
    /// Whether Z is up in the file. The skeleton, the meshes and the clips are then turned to +Y up. A file
    /// that was turned before it was written stays as it is. Compressed clips cannot be turned.
    pub z_up: bool,
}

/// The person who moves in the motion of a body.
#[cfg(feature = "body")]
#[derive(Debug, Clone, Copy)]
pub enum Person<'a> {
    /// The person with the shape numbers of the motion, as many as this model knows.
    Of(&'a condyle_body::BodyModel),
    /// This person.
    Is(&'a condyle_body::ShapedBody),
}

/// A file to read.
#[derive(Clone, Copy)]
pub(crate) struct Input<'a> {
    pub(crate) name: &'a str,
    pub(crate) data: Data<'a>,
}

#[derive(Clone, Copy)]
pub(crate) enum Data<'a> {
    File(&'a Path),
    Bytes(&'a [u8]),
}

impl<'a> Input<'a> {
    /// All bytes.
    pub(crate) fn bytes(&self) -> Result<std::borrow::Cow<'a, [u8]>, OpenError> {
        match self.data {
            Data::Bytes(bytes) => Ok(bytes.into()),
            Data::File(path) => std::fs::read(path).map(Into::into).map_err(|error| self.unreadable(error)),
        }
    }

    /// The name without folder and ending: that of the clip of a format whose clips have none.
    #[cfg(any(feature = "bvh", feature = "body"))]
    pub(crate) fn stem(&self) -> String {
        Path::new(self.name).file_stem().unwrap_or_default().to_string_lossy().into_owned()
    }

    pub(crate) fn refused(&self, what: impl Into<String>) -> OpenError {
        Refused::because(self.name, what).into()
    }

    pub(crate) fn misfit(&self, misfit: Misfit) -> OpenError {
        OpenError::Misfit { name: self.name.into(), misfit }
    }

    fn unreadable(&self, error: std::io::Error) -> OpenError {
        OpenError::Unreadable { name: self.name.into(), error }
    }

    /// The first bytes, which tell what it is.
    fn first(&self) -> Result<Vec<u8>, OpenError> {
        match self.data {
            Data::Bytes(bytes) => Ok(bytes[..bytes.len().min(Format::FIRST_BYTES)].to_vec()),
            Data::File(path) => {
                // To open a pipe would wait for a writer.
                if !std::fs::metadata(path).map_err(|error| self.unreadable(error))?.is_file() {
                    return Err(self.unreadable(std::io::Error::other("not a regular file")));
                }
                let mut first = Vec::new();
                let read =
                    |file: std::fs::File| file.take(Format::FIRST_BYTES as u64).read_to_end(&mut first);
                std::fs::File::open(path).and_then(read).map_err(|error| self.unreadable(error))?;
                Ok(first)
            }
        }
    }
}

/// Opens a file.
///
/// # Errors
/// [`OpenError`] if it cannot be read or used, or if an option does not fit it.
pub fn open(path: impl AsRef<Path>, options: &Options<'_>) -> Result<Model, OpenError> {
    let path = path.as_ref();
    let name = path.display().to_string();
    let mut model = read(Input { name: &name, data: Data::File(path) }, options)?;
    model.files.extend(path.canonicalize());
    Ok(model)
}

/// Opens the bytes of a file. `name` stands in messages, and its ending helps to recognise the format. Files
/// that a `.gltf` refers to are not found.
///
/// # Errors
/// Those of [`open`].
pub fn from_bytes(name: &str, bytes: &[u8], options: &Options<'_>) -> Result<Model, OpenError> {
    read(Input { name, data: Data::Bytes(bytes) }, options)
}

fn read(input: Input<'_>, options: &Options<'_>) -> Result<Model, OpenError> {
    if let Some(metres) = options.unit.filter(|metres| !(*metres > 0.0 && metres.is_finite())) {
        return Err(
            input.refused(format!("a unit of {metres} m is asked for, where more than 0 is expected"))
        );
    }
    let format = Format::of(&input.first()?, input.name);
    if format != Format::Container && options.model.is_some() {
        return Err(input.misfit(Misfit::SingleModel));
    }
    #[cfg(feature = "body")]
    if format != Format::Body && options.person.is_some() {
        return Err(input.misfit(Misfit::NoBody));
    }
    let mut model = format.read(input, options)?;
    let name = &model.name;
    let unfit = |what: &str, error: condyle::Error| Refused::at(name, what, error.to_string());
    if options.z_up && !model.is_turned {
        for it in &mut model.clips {
            let AnyClip::Raw(clip) = &it.clip else { return Err(input.misfit(Misfit::Compressed)) };
            let turned = clip.turned(&model.skeleton, Y_UP_FROM_Z_UP);
            it.clip = turned.map_err(|error| unfit("the turned clip", error))?.into();
        }
        // Body models stand along Y at rest; it is their motion that is Z up.
        if format != Format::Body {
            let turned = model.skeleton.turned(Y_UP_FROM_Z_UP);
            model.skeleton = turned.map_err(|error| unfit("the turned skeleton", error))?;
            #[cfg(feature = "gltf")]
            if let Some(asset) = model.asset.take() {
                let turned = asset.turned(Y_UP_FROM_Z_UP);
                model.asset = Some(turned.map_err(|error| unfit("the turned model", error))?);
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
