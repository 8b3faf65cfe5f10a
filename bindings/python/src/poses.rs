//! Conversion of local transforms and matrices to and from arrays.

use condyle::pose::{Lanes, PoseBlock};
use condyle::{Affine, Pose};
use numpy::Element;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyTuple;

use crate::arrays::{Input, Output, apart};
use crate::errors::Error;
use crate::frames::Planes;

/// Number of components of a joint's rotation, translation and scale.
const WIDTHS: [usize; 3] = [4, 3, 3];
const NAMES: [&str; 3] = ["rotations", "translations", "scales"];

/// Output arrays for poses: rotations, translations and scales.
pub(crate) struct PoseArrays<'py>([Output<'py>; 3]);

impl<'py> PoseArrays<'py> {
    /// Takes the caller's three arrays or creates new ones. `leading` are the axes before the
    /// components; the last one is the joint axis.
    pub(crate) fn new(py: Python<'py>, out: Option<&Bound<'py, PyAny>>, leading: &[usize]) -> PyResult<Self> {
        let given = match out {
            None => None,
            Some(out) => {
                let unfit = |_| Error::new_err("out must be Poses: rotations, translations and scales");
                Some(out.extract::<[Bound<'py, PyAny>; 3]>().map_err(unfit)?)
            }
        };
        let one = |at: usize| {
            let shape = [leading, &[WIDTHS[at]]].concat();
            let name = format!("out.{}", NAMES[at]);
            Output::new(py, &name, given.as_ref().map(|all| &all[at]), &shape)
        };
        let mut all = [one(0)?, one(1)?, one(2)?];
        apart(&mut all)?;
        Ok(Self(all))
    }

    /// See [`Output::apart_from`].
    pub(crate) fn apart_from<U: Element>(self, inputs: &[&Input<'_, U>]) -> PyResult<Self> {
        let [a, b, c] = self.0;
        Ok(Self([a.apart_from(inputs)?, b.apart_from(inputs)?, c.apart_from(inputs)?]))
    }

    /// Arrays split into frames of `joints` joints.
    pub(crate) fn planes(&mut self, joints: usize) -> PyResult<Planes<'_, 3>> {
        let [rotations, translations, scales] = &mut self.0;
        Ok(Planes {
            values: [rotations.values()?, translations.values()?, scales.values()?],
            widths: WIDTHS.map(|width| width * joints),
        })
    }

    /// Writes a single pose.
    pub(crate) fn write(&mut self, pose: &Pose) -> PyResult<()> {
        get(pose, self.planes(pose.joint_count())?.values);
        Ok(())
    }

    /// Converts to `condyle.Poses`.
    pub(crate) fn into_poses(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let arrays = self.0.map(Output::into_array);
        static POSES: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        POSES.import(py, "condyle", "Poses")?.call1(PyTuple::new(py, arrays)?)
    }
}

/// Replaces the given components of a pose.
pub(crate) fn set(
    pose: &mut Pose,
    rotations: Option<&[f32]>,
    translations: Option<&[f32]>,
    scales: Option<&[f32]>,
) {
    if let Some(from) = rotations {
        scatter(from, pose.blocks_mut(), |block| &mut block.rotation);
    }
    if let Some(from) = translations {
        scatter(from, pose.blocks_mut(), |block| &mut block.translation);
    }
    if let Some(from) = scales {
        scatter(from, pose.blocks_mut(), |block| &mut block.scale);
    }
}

/// Copies the rotations, translations and scales of a pose.
pub(crate) fn get(pose: &Pose, out: [&mut [f32]; 3]) {
    let [rotations, translations, scales] = out;
    gather(pose.blocks(), |block| &block.rotation, rotations);
    gather(pose.blocks(), |block| &block.translation, translations);
    gather(pose.blocks(), |block| &block.scale, scales);
}

pub(crate) fn scatter<const N: usize>(
    from: &[f32],
    blocks: &mut [PoseBlock],
    part: impl Fn(&mut PoseBlock) -> &mut [Lanes; N],
) {
    for (joints, block) in from.as_chunks::<N>().0.chunks(PoseBlock::JOINTS).zip(blocks) {
        let lanes = part(block);
        for (lane, numbers) in joints.iter().enumerate() {
            for (lanes, number) in lanes.iter_mut().zip(numbers) {
                lanes[lane] = *number;
            }
        }
    }
}

pub(crate) fn gather<const N: usize>(
    blocks: &[PoseBlock],
    part: impl Fn(&PoseBlock) -> &[Lanes; N],
    out: &mut [f32],
) {
    for (joints, block) in out.as_chunks_mut::<N>().0.chunks_mut(PoseBlock::JOINTS).zip(blocks) {
        let lanes = part(block);
        for (lane, numbers) in joints.iter_mut().enumerate() {
            for (lanes, number) in lanes.iter().zip(numbers) {
                *number = lanes[lane];
            }
        }
    }
}

/// Writes the rows of each matrix, twelve values per matrix.
pub(crate) fn write_rows(matrices: &[Affine], out: &mut [f32]) {
    for (out, matrix) in out.as_chunks_mut::<12>().0.iter_mut().zip(matrices) {
        out.copy_from_slice(matrix.rows.as_flattened());
    }
}

/// Writes the translation of each matrix.
pub(crate) fn write_origins(matrices: &[Affine], out: &mut [f32]) {
    for (out, matrix) in out.as_chunks_mut::<3>().0.iter_mut().zip(matrices) {
        *out = matrix.rows.map(|row| row[3]);
    }
}
