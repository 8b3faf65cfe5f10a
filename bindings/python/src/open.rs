//! Files: whatever holds a character or a motion.

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

/// The character or the motion in a file: .glb, .gltf, .vrm, .vrma, .condyle, .bvh or .npz.
///
/// `model` names one of several in a .condyle. A .npz is a motion in AMASS's layout, of which `body` says who moves, or a body model
/// of the SMPL family, of whose mean shape this is the skeleton alone: `BodyModel` has its vertices. What was odd but could be used is in `Model.problems`; what could not be used raises
/// FileError, which has all that is wrong in its `problems`. OSError if the file is not there or cannot be read.
///
/// `unit` is how many metres a unit of the file is: `Model.unit`, which `pack` stores and `compare` measures by; numbers stay as they are. `up` is the up
/// axis of the file, "y" or "z": with "z" the motion is turned to +Y up, as files of some capture systems and AMASS need it. Of a .npz only the motion is
/// turned, as body models stand along Y at rest; a .condyle that was turned before stays as it is, and other compressed clips cannot be turned.
///
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

/// The character or the motion in bytes, as `open` has it of a file; what is beside a .gltf is not found.
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

/// What a file is opened with, owned.
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
            return Err(Error::new_err(format!("unit is {metres}, a number of metres above 0 is wanted")));
        }
        let z_up = match up {
            "y" | "z" => up == "z",
            _ => return Err(Error::new_err(format!("up is {up:?}, \"y\" or \"z\" is wanted"))),
        };
        let body = body.map(|it| Arc::clone(&it.get().body));
        Ok(Self { model: model.map(str::to_owned), body, unit, z_up })
    }

    fn options(&self) -> Options<'_> {
        Options {
            model: self.model.as_deref(),
            person: self.body.as_deref().map(Person::Is),
            unit: self.unit,
            z_up: self.z_up,
        }
    }
}

/// The model, or OSError or FileError.
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

/// The option that does not fit the file, by its keyword.
fn in_python(misfit: &Misfit) -> String {
    let list = |names: &[String]| names.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ");
    match misfit {
        Misfit::SeveralModels(names) => {
            format!("it holds several models, choose one with model=: {}", list(names))
        }
        Misfit::NoSuchModel(wanted, names) => {
            format!("it has no model {wanted:?}, model= takes one of {}", list(names))
        }
        Misfit::SingleModel => "it is a single model; model= is for a .condyle with several".into(),
        Misfit::NoBody => "it is no motion of a body; body= is for a .npz".into(),
        Misfit::PersonMissing => {
            "it is the motion of a body; body= is who moves: BodyModel(...).shaped()".into()
        }
        Misfit::Compressed => {
            "its clips are compressed and cannot be turned; up= is for the files that it is made of".into()
        }
        other => other.to_string(),
    }
}
