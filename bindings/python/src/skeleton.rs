//! Skeletons: joint names, parents and rest pose.

use std::sync::Arc;

use condyle::container::{Container, ContainerWriter, EntryKind};
use condyle::{Joint, Pose, Transform};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::arrays::Input;
use crate::errors::{Error, refused};
use crate::poses::{PoseArrays, set};

/// Joint hierarchy of a character, parents before children.
///
/// Parameters
/// ----------
/// `parents` : array_like of int, shape (J,)
///     Parent index of each joint, -1 for a root.
/// `names` : list of str, optional
///     Joint names. Default: empty.
/// `rotations` : array_like, shape (J, 4), optional
///     Rest rotations as quaternions x, y, z, w. Default: identity.
/// `translations`, `scales` : array_like, shape (J, 3), optional
///     Rest translations and scales. Default: 0 and 1.
///
/// Examples
/// --------
/// >>> arm = condyle.Skeleton([-1, 0], names=["shoulder", "elbow"], translations=[[0, 0, 0], [0, 1, 0]])
/// >>> len(arm), arm.names, arm.parents.tolist()
/// (2, ['shoulder', 'elbow'], [-1, 0])
/// >>> arm.rest.translations[1].tolist()
/// [0.0, 1.0, 0.0]
#[pyclass(frozen, module = "condyle")]
pub(crate) struct Skeleton(pub(crate) Arc<condyle::Skeleton>);

#[pymethods]
impl Skeleton {
    #[new]
    #[pyo3(signature = (parents, *, names=None, rotations=None, translations=None, scales=None))]
    fn new(
        parents: &Bound<'_, PyAny>,
        names: Option<Vec<String>>,
        rotations: Option<&Bound<'_, PyAny>>,
        translations: Option<&Bound<'_, PyAny>>,
        scales: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let parents = parents_of(parents)?;
        let count = parents.len();
        let names = names.unwrap_or_else(|| vec![String::new(); count]);
        if names.len() != count {
            let found = names.len();
            return Err(Error::new_err(format!(
                "names must have one element per joint ({count}), got {found}"
            )));
        }
        let mut rest = Pose::identity(count);
        let row = |name, value: Option<&Bound<'_, PyAny>>, width| -> PyResult<Option<Vec<f32>>> {
            let Some(value) = value else { return Ok(None) };
            let input = Input::new(name, value)?;
            input.check_finite()?;
            match input.leading(&[count, width])? {
                [] => Ok(Some(input.values()?.to_vec())),
                _ => Err(input.unfit(&format!("({count}, {width})"))),
            }
        };
        let rotations = row("rotations", rotations, 4)?;
        let translations = row("translations", translations, 3)?;
        let scales = row("scales", scales, 3)?;
        set(&mut rest, rotations.as_deref(), translations.as_deref(), scales.as_deref());
        let joints = parents.into_iter().zip(names).zip(rest.transforms());
        let joint =
            |((parent, name), rest): ((Option<u16>, String), Transform)| Joint::new(name, parent, rest);
        condyle::Skeleton::new(joints.map(joint)).map(|it| Self(Arc::new(it))).map_err(refused)
    }

    /// One name per joint. Names may repeat or be empty.
    #[getter]
    fn names(&self) -> Vec<String> {
        self.0.names().to_vec()
    }

    /// Parent index of each joint, int32: smaller than the joint's index, or -1 for a root.
    #[getter]
    fn parents<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i32>> {
        let parents =
            (0..self.0.joint_count()).map(|joint| self.0.parent(joint as u16).map_or(-1, i32::from));
        PyArray1::from_iter(py, parents)
    }

    /// Local transforms of the rest pose: rotations (J, 4), translations (J, 3) and scales (J, 3).
    #[getter]
    fn rest<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let mut out = PoseArrays::new(py, None, &[self.0.joint_count()])?;
        out.write(self.0.rest())?;
        out.into_poses(py)
    }

    /// Return the index of the first joint with this name.
    ///
    /// >>> condyle.Skeleton([-1, 0], names=["hips", "spine"]).index("spine")
    /// 1
    fn index(&self, name: &str) -> PyResult<u16> {
        let unknown = || Error::new_err(format!("no joint is named {name:?}; see .names"));
        self.0.joint_by_name(name).ok_or_else(unknown)
    }

    /// Return the skeleton as the bytes of a .condyle file, for `Skeleton.from_bytes`. Pickles use the
    /// same bytes.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let mut writer = ContainerWriter::default();
        writer.add_skeleton("", &self.0).map_err(refused)?;
        Ok(PyBytes::new(py, &writer.finish()))
    }

    /// Return the first skeleton in the bytes of a .condyle file, such as `to_bytes` writes.
    #[staticmethod]
    fn from_bytes(data: &[u8]) -> PyResult<Self> {
        let container = Container::from_bytes(data).map_err(|e| Error::new_err(format!("data: {e}")))?;
        let first = container.entries().find(|entry| entry.kind == EntryKind::Skeleton);
        let first = first.ok_or_else(|| Error::new_err("data contains no skeleton"))?;
        container.skeleton(first.index).map(|it| Self(Arc::new(it))).map_err(refused)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        Ok((slf.getattr("from_bytes")?, (slf.get().to_bytes(slf.py())?,)))
    }

    fn __len__(&self) -> usize {
        self.0.joint_count()
    }

    fn __eq__(&self, other: &Self) -> bool {
        *self.0 == *other.0
    }

    fn __repr__(&self) -> String {
        format!("<condyle.Skeleton of {} joints>", self.0.joint_count())
    }
}

impl Skeleton {
    /// Skeleton with these parents, no names and identity rest pose.
    pub(crate) fn of_parents(parents: &Bound<'_, PyAny>) -> PyResult<Arc<condyle::Skeleton>> {
        Ok(Self::new(parents, None, None, None, None)?.0)
    }
}

/// Parent of each joint, or `None` for a root.
fn parents_of(value: &Bound<'_, PyAny>) -> PyResult<Vec<Option<u16>>> {
    let parents: Vec<i64> =
        value.extract().map_err(|_| Error::new_err("parents must be a list of integers, one per joint"))?;
    let parent = |(joint, parent): (usize, i64)| match u16::try_from(parent) {
        Ok(parent) => Ok(Some(parent)),
        Err(_) if parent == -1 => Ok(None),
        Err(_) => Err(Error::new_err(format!(
            "parents[{joint}] must be -1 or the index of an earlier joint, got {parent}"
        ))),
    };
    parents.into_iter().enumerate().map(parent).collect()
}
