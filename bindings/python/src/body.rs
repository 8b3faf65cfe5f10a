//! Body models of the SMPL family.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use condyle::Pose;
use condyle_body::{BodyClip, Workspace};
use numpy::{PyArray1, PyArray2, PyArrayDyn, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::arrays::{Input, Output};
use crate::clip::Clip;
use crate::errors::{Problem, check_file, refused, unusable, warn};
use crate::frames::{Planes, for_each_frame, thread_count};
use crate::poses::set;
use crate::progress::told_apart;
use crate::skeleton::Skeleton;

/// Body model in the `.npz` layout of the SMPL family.
///
/// It holds a mean shape, shape and pose corrections, and skinning weights. Model files are available
/// from their authors, under their licences.
#[pyclass(frozen, module = "condyle")]
pub(crate) struct BodyModel(condyle_body::BodyModel);

#[pymethods]
impl BodyModel {
    #[new]
    fn new(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        Ok(Self(read(py, path, |path| condyle_body::BodyModel::open(path))?))
    }

    /// Number of joints.
    #[getter]
    fn joint_count(&self) -> usize {
        self.0.joint_count()
    }

    /// Number of vertices.
    #[getter]
    fn vertex_count(&self) -> usize {
        self.0.vertex_count()
    }

    /// Number of shape coefficients.
    #[getter]
    fn shape_count(&self) -> usize {
        self.0.shape_count()
    }

    /// Vertex indices of the triangles: (N, 3), uint32.
    #[getter]
    fn triangles<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<u32>>> {
        let triangles = self.0.triangles();
        PyArray1::from_slice(py, triangles.as_flattened()).reshape([triangles.len(), 3])
    }

    /// Return the body of a person.
    ///
    /// `betas` (N,) are the first shape coefficients of the person; missing ones are 0. If there are
    /// more than the model has, the extra ones are ignored with a UserWarning.
    #[pyo3(signature = (betas=None))]
    fn shaped(&self, py: Python<'_>, betas: Option<&Bound<'_, PyAny>>) -> PyResult<Body> {
        let betas = betas.map(|it| Input::new("betas", it)).transpose()?;
        let values = match &betas {
            Some(betas) if betas.shape().len() != 1 => return Err(betas.unfit("(N,)")),
            Some(betas) => betas.values()?,
            None => &[],
        };
        let body = self.0.shaped(values).map_err(refused)?;
        if values.iter().skip(self.shape_count()).any(|beta| *beta != 0.0) {
            let (found, has) = (values.len(), self.shape_count());
            warn(
                py,
                &format!(
                    "betas has {found} coefficients, the model has {has}; only the first {has} are used"
                ),
            )?;
        }
        Ok(Body { skeleton: Arc::new(body.skeleton().clone()), body: Arc::new(body) })
    }

    fn __repr__(&self) -> String {
        let (vertices, joints, numbers) = (self.vertex_count(), self.joint_count(), self.shape_count());
        format!("<condyle.BodyModel: {vertices} vertices, {joints} joints, {numbers} shape coefficients>")
    }
}

/// Body of a person, created by `BodyModel.shaped`.
#[pyclass(frozen, module = "condyle")]
pub(crate) struct Body {
    pub(crate) body: Arc<condyle_body::ShapedBody>,
    skeleton: Arc<condyle::Skeleton>,
}

#[pymethods]
impl Body {
    /// Skeleton of the body.
    #[getter]
    fn skeleton(&self) -> Skeleton {
        Skeleton(Arc::clone(&self.skeleton))
    }

    /// Rest positions of the vertices in metres: (V, 3).
    #[getter]
    fn positions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let positions = self.body.positions();
        PyArray1::from_slice(py, positions.as_flattened()).reshape([positions.len(), 3])
    }

    /// Return the vertex positions in each frame, (T, V, 3). Applies shape, pose corrections and
    /// skinning.
    ///
    /// Parameters
    /// ----------
    /// `rotations` : array_like, shape (T, J, 4)
    ///     Unit quaternions x, y, z, w of each joint relative to its parent.
    /// `translations` : array_like, shape (T, 3), optional
    ///     Offset of the root from its rest position, in metres. Default 0.
    /// `out` : ndarray of float32, shape (T, V, 3), optional
    ///     Array for the result.
    /// `threads` : int or None
    ///     Number of threads. None uses all cores.
    ///
    /// Notes
    /// -----
    /// One call for many frames is faster than one call per frame.
    #[pyo3(signature = (rotations, translations=None, *, out=None, threads=1))]
    fn vertices<'py>(
        &self,
        py: Python<'py>,
        rotations: &Bound<'py, PyAny>,
        translations: Option<&Bound<'py, PyAny>>,
        out: Option<&Bound<'py, PyAny>>,
        threads: Option<i64>,
    ) -> PyResult<Bound<'py, PyArrayDyn<f32>>> {
        let joints = self.skeleton.joint_count();
        let rotations = Input::new("rotations", rotations)?;
        let frames = match *rotations.leading(&[joints, 4])? {
            [frames] => frames,
            _ => return Err(rotations.unfit(&format!("(T, {joints}, 4)"))),
        };
        let places = translations.map(|it| Input::new("translations", it)).transpose()?;
        if let Some(places) = places.as_ref().filter(|it| it.shape() != [frames, 3]) {
            return Err(places.unfit(&format!("({frames}, 3)")));
        }
        let inputs: Vec<&Input<'_>> = [Some(&rotations), places.as_ref()].into_iter().flatten().collect();
        let out = Output::new(py, "out", out, &[frames, self.body.vertex_count(), 3])?;
        let mut out = out.apart_from(&inputs)?;
        let rotations = rotations.values()?;
        let places = places.as_ref().map(Input::values).transpose()?;
        let width = 3 * self.body.vertex_count();
        // Batches depend on the frames alone, because the last bits of a matrix product depend on the batch.
        // This keeps results identical for any number of threads.
        let batches = frames.div_ceil(BATCH);
        let planes = Planes { values: [out.values()?], widths: [BATCH * width] };
        let root = self.skeleton.rest().get(0).translation;
        let start = || Ok((Workspace::default(), vec![Pose::rest(&self.skeleton); BATCH]));
        for_each_frame(
            py,
            thread_count(threads)?,
            batches,
            planes,
            start,
            |(workspace, poses), batch, [out]| {
                let first = batch * BATCH;
                let count = BATCH.min(frames - first);
                for (frame, pose) in (first..first + count).zip(&mut *poses) {
                    set(pose, Some(&rotations[4 * joints * frame..][..4 * joints]), None, None);
                    if let Some(places) = places {
                        let mut at = pose.get(0);
                        at.translation = [0, 1, 2].map(|c| root[c] + places[3 * frame + c]);
                        pose.set(0, &at);
                    }
                }
                let out = out[..count * width].as_chunks_mut().0;
                self.body.vertices(&poses[..count], workspace, out)
            },
        )?;
        Ok(out.into_array())
    }

    fn __repr__(&self) -> String {
        let (vertices, joints) = (self.body.vertex_count(), self.skeleton.joint_count());
        format!("<condyle.Body: {vertices} vertices, {joints} joints>")
    }
}

/// Number of frames that the library skins in one matrix product.
const BATCH: usize = 32;

/// Motion in the `.npz` layout of AMASS.
#[pyclass(frozen, module = "condyle")]
pub(crate) struct BodyMotion(condyle_body::BodyMotion);

#[pymethods]
impl BodyMotion {
    #[new]
    fn new(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        Ok(Self(read(py, path, |path| condyle_body::BodyMotion::open(path))?))
    }

    /// Frames per second.
    #[getter]
    fn rate(&self) -> f64 {
        self.0.frame_rate()
    }

    /// Shape coefficients of the recorded person: float32.
    #[getter]
    fn betas<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f32>> {
        PyArray1::from_slice(py, self.0.betas())
    }

    /// Gender of the matching body model: "female", "male" or "neutral", or "" if the file does not
    /// state it.
    #[getter]
    fn gender(&self) -> &str {
        self.0.gender()
    }

    /// Problems of the file, and how each was repaired.
    #[getter]
    fn problems<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.0.problems().iter().map(Problem::from))
    }

    /// Return the motion as a clip for the skeleton of a body.
    ///
    /// Joints are matched by the names that the motion's layout defines. A UserWarning reports repaired
    /// frames, and animated joints that the body lacks.
    fn clip(&self, py: Python<'_>, body: &Body) -> PyResult<Clip> {
        let found = self.0.clip(&body.body);
        let found = found.map_err(|refused| {
            unusable(py, &refused.name, refused.problems.iter().map(Problem::from).collect())
        })?;
        let BodyClip { clip, problems, .. } = found;
        let told = |it: &condyle_io::Problem| format!("{}: {}; {}", clip.name(), it.what, it.action);
        problems.iter().try_for_each(|it| warn(py, &told(it)))?;
        Ok(Clip {
            name: clip.name().into(),
            skeleton: Arc::clone(&body.skeleton),
            motion: Arc::new(clip.into()),
        })
    }

    fn __len__(&self) -> usize {
        self.0.frame_count()
    }

    fn __repr__(&self) -> String {
        let (frames, rate, joints) = (self.0.frame_count(), self.0.frame_rate(), self.0.joint_count());
        format!("<condyle.BodyMotion: {frames} frames at {rate} Hz, {joints} joints>")
    }
}

/// Reads a file. Raises OSError if the file does not exist or cannot be read.
fn read<T: Send + 'static>(
    py: Python<'_>,
    path: PathBuf,
    open: impl FnOnce(&Path) -> Result<T, condyle_io::Refused> + Send + 'static,
) -> PyResult<T> {
    let name = path.display().to_string();
    check_file(&path).map_err(|why| why.raised(py, &name))?;
    told_apart(py, None, move |_| open(&path))?
        .map_err(|refused| unusable(py, &name, refused.problems.iter().map(Problem::from).collect()))
}
