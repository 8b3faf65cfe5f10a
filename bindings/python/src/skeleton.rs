//! Skeletons: names, parents and the pose at rest.

use std::sync::Arc;

use condyle::container::{Container, ContainerWriter, EntryKind};
use condyle::{Joint, Pose, Transform};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::arrays::Input;
use crate::errors::{Error, refused};
use crate::poses::{PoseArrays, set};

/// The joints of a character, parents before their children.
///
/// `parents` holds the index of each joint's parent, -1 for a root. The rest pose is what `rotations` (quaternions x, y, z, w),
/// `translations` and `scales` say, one row for each joint; without them it is the identity.
///
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
                "names has {found} elements, {count} are wanted, as parents has"
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

    /// One name for each joint; neither unique nor necessarily there.
    #[getter]
    fn names(&self) -> Vec<String> {
        self.0.names().to_vec()
    }

    /// The index of each joint's parent, which is smaller than the joint's own; -1 for a root. An int32 array.
    #[getter]
    fn parents<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i32>> {
        let parents =
            (0..self.0.joint_count()).map(|joint| self.0.parent(joint as u16).map_or(-1, i32::from));
        PyArray1::from_iter(py, parents)
    }

    /// The local transforms at rest: rotations (J, 4), translations (J, 3) and scales (J, 3).
    #[getter]
    fn rest<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let mut out = PoseArrays::new(py, None, &[self.0.joint_count()])?;
        out.write(self.0.rest())?;
        out.into_poses(py)
    }

    /// The index of the first joint of a name.
    ///
    /// >>> condyle.Skeleton([-1, 0], names=["hips", "spine"]).index("spine")
    /// 1
    fn index(&self, name: &str) -> PyResult<u16> {
        let unknown = || Error::new_err(format!("no joint is called {name:?}; .names lists them"));
        self.0.joint_by_name(name).ok_or_else(unknown)
    }

    /// As bytes that `Skeleton.from_bytes` reads: a file .condyle. Pickles are made of them.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let mut writer = ContainerWriter::default();
        writer.add_skeleton("", &self.0).map_err(refused)?;
        Ok(PyBytes::new(py, &writer.finish()))
    }

    /// From what `to_bytes` has made.
    #[staticmethod]
    fn from_bytes(data: &[u8]) -> PyResult<Self> {
        let container = Container::from_bytes(data).map_err(|e| Error::new_err(format!("data: {e}")))?;
        let first = container.entries().find(|entry| entry.kind == EntryKind::Skeleton);
        let first = first.ok_or_else(|| Error::new_err("data holds no skeleton"))?;
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
    /// Of joints whose parents alone are known, at rest in the identity.
    pub(crate) fn of_parents(parents: &Bound<'_, PyAny>) -> PyResult<Arc<condyle::Skeleton>> {
        Ok(Self::new(parents, None, None, None, None)?.0)
    }
}

/// The parents of joints, `None` for a root.
fn parents_of(value: &Bound<'_, PyAny>) -> PyResult<Vec<Option<u16>>> {
    let parents: Vec<i64> = value
        .extract()
        .map_err(|_| Error::new_err("parents is no list of whole numbers, one for each joint is wanted"))?;
    let parent = |(joint, parent): (usize, i64)| match u16::try_from(parent) {
        Ok(parent) => Ok(Some(parent)),
        Err(_) if parent == -1 => Ok(None),
        Err(_) => Err(Error::new_err(format!(
            "parents[{joint}] is {parent}, the index of a joint before it or -1 is wanted"
        ))),
    };
    parents.into_iter().enumerate().map(parent).collect()
}
