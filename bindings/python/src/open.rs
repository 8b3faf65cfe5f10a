//! Opening of character and motion files.

use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::Arc;

use condyle_body::ShapedBody;
use condyle_io::{Misfit, OpenError, Options, Person};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;

use crate::body::Body;
use crate::errors::{Error, Problem, unusable};
use crate::model::Model;
use crate::progress::told_apart;

/// Open a character or motion file: .glb, .gltf, .vrm, .vrma, .condyle, .bvh or .npz.
///
/// Parameters
/// ----------
/// `path` : str or PathLike
///     File to open.
/// `model` : str, optional
///     Name of the model, if a .condyle file holds several.
/// `body` : Body, optional
///     Body that moves, for a .npz motion in the AMASS layout.
/// `unit` : float, optional
///     Metres per unit of the file. It sets `Model.unit`, which `pack` stores and `compare` uses.
///     Coordinates do not change.
/// `up` : "y" or "z"
///     Up axis of the file. "z" rotates the motion to +Y up, for AMASS and some capture systems.
///
/// Returns
/// -------
/// Model
///     Problems that could be repaired are in `Model.problems`.
///
/// Raises
/// ------
/// FileError
///     The file cannot be used. `FileError.problems` lists all problems.
/// OSError
///     The file does not exist or cannot be read.
///
/// Notes
/// -----
/// A .npz body model of the SMPL family yields the skeleton of its mean shape, without clips or meshes;
/// `BodyModel` gives access to its vertices. For a .npz, `up` rotates only the motion, because body
/// models stand along Y at rest. A .condyle file that was rotated before packing stays unchanged; other
/// compressed clips cannot be rotated.
///
/// Examples
/// --------
/// >>> model = condyle.open("two_joints.glb")
/// >>> model.clips[0].name, len(model.skeleton)
/// ('bend', 2)
/// >>> model.joints("bend", [0.0, 0.5]).shape
/// (2, 2, 3)
#[pyfunction]
#[pyo3(signature = (path, *, model=None, body=None, unit=None, up="y"))]
pub(crate) fn open(
    py: Python<'_>,
    path: PathBuf,
    model: Option<&str>,
    body: Option<Bound<'_, Body>>,
    unit: Option<f64>,
    up: &str,
) -> PyResult<Model> {
    let (name, asked) = (path.display().to_string(), Asked::new(model, body, unit, up)?);
    let opened = told_apart(py, None, move |_| condyle_io::open(&path, &asked.options()))?;
    finished(py, &name, opened)
}

/// Open a character or motion from bytes. See `open` for the parameters and exceptions.
///
/// Files that a .gltf refers to are not loaded.
///
/// >>> condyle.from_bytes(pathlib.Path("two_joints.glb").read_bytes())
/// <condyle.Model bytes: 2 joints, 1 clip, 20 vertices>
#[pyfunction]
#[pyo3(signature = (data, name="bytes", *, model=None, body=None, unit=None, up="y"))]
pub(crate) fn from_bytes(
    py: Python<'_>,
    data: PyBackedBytes,
    name: &str,
    model: Option<&str>,
    body: Option<Bound<'_, Body>>,
    unit: Option<f64>,
    up: &str,
) -> PyResult<Model> {
    let (shown, asked) = (name.to_owned(), Asked::new(model, body, unit, up)?);
    let opened = told_apart(py, None, move |_| condyle_io::from_bytes(&shown, &data, &asked.options()))?;
    finished(py, name, opened)
}

/// Arguments of `open`, owned.
struct Asked {
    model: Option<String>,
    body: Option<Arc<ShapedBody>>,
    unit: Option<f64>,
    z_up: bool,
}

impl Asked {
    fn new(
        model: Option<&str>,
        body: Option<Bound<'_, Body>>,
        unit: Option<f64>,
        up: &str,
    ) -> PyResult<Self> {
        if let Some(metres) = unit.filter(|metres| !(*metres > 0.0 && metres.is_finite())) {
            return Err(Error::new_err(format!(
                "unit must be a finite number of metres above 0, got {metres}"
            )));
        }
        let z_up = match up {
            "y" | "z" => up == "z",
            _ => return Err(Error::new_err(format!("up must be \"y\" or \"z\", got {up:?}"))),
        };
        let body = body.map(|it| Arc::clone(&it.get().body));
        Ok(Self { model: model.map(str::to_owned), body, unit, z_up })
    }

    fn options(&self) -> Options<'_> {
        Options {
            model: self.model.as_deref(),
            clip: None,
            person: self.body.as_deref().map(Person::Is),
            unit: self.unit,
            z_up: self.z_up,
        }
    }
}

/// Returns the model, or raises OSError or FileError.
fn finished(py: Python<'_>, name: &str, opened: Result<condyle_io::Model, OpenError>) -> PyResult<Model> {
    let error = match opened {
        Ok(model) => return Model::new(py, name, model),
        Err(error) => error,
    };
    Err(match error {
        OpenError::Unreadable { error, .. } if error.kind() != ErrorKind::Other => {
            std::io::Error::new(error.kind(), format!("{name}: {error}")).into()
        }
        OpenError::Misfit { misfit, .. } => {
            let what = in_python(&misfit);
            unusable(py, name, vec![Problem::of_file(what)])
        }
        error => unusable(py, name, error.problems().iter().map(Problem::from).collect()),
    })
}

/// Message for an option that does not fit the file, with its keyword.
fn in_python(misfit: &Misfit) -> String {
    let list = |names: &[String]| names.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ");
    match misfit {
        Misfit::SeveralModels(names) => {
            format!("it holds several models; choose one with model=: {}", list(names))
        }
        Misfit::NoSuchModel(wanted, names) => {
            format!("it has no model {wanted:?}; model= must be one of {}", list(names))
        }
        Misfit::SingleModel => "it is a single model; model= applies only to a .condyle with several".into(),
        Misfit::NoBody => "it is not a body motion; body= applies only to a .npz motion".into(),
        Misfit::PersonMissing => {
            "it is a body motion; pass the body with body=BodyModel(...).shaped()".into()
        }
        Misfit::Compressed => {
            "its clips are compressed and cannot be rotated; use up= on the source files".into()
        }
        other => other.to_string(),
    }
}
