//! Local transforms as arrays, matrices of them and back.

use std::sync::Arc;

use condyle::pose::{Lanes, PoseBlock};
use condyle::{Affine, Pose, local_to_model};
use numpy::PyArrayDyn;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyTuple;

use crate::arrays::{Input, Output, apart, shape_text};
use crate::errors::Error;
use crate::frames::{Planes, for_each_frame, thread_count};
use crate::skeleton::Skeleton;

/// Numbers in a joint's rotation, translation and scale.
const WIDTHS: [usize; 3] = [4, 3, 3];
const NAMES: [&str; 3] = ["rotations", "translations", "scales"];

/// What the arrays of a pose are.
pub(crate) struct PoseArrays<'py>([Output<'py>; 3]);

impl<'py> PoseArrays<'py> {
    /// The caller's three arrays or new ones: `leading` axes, the last of them the joints, before the numbers of a joint.
    pub(crate) fn new(py: Python<'py>, out: Option<&Bound<'py, PyAny>>, leading: &[usize]) -> PyResult<Self> {
        let given = match out {
            None => None,
            Some(out) => {
                let unfit =
                    |_| Error::new_err("out is no Poses: rotations, translations and scales are wanted");
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

    /// As [`Output::apart_from`].
    pub(crate) fn apart_from(self, inputs: &[&Input<'_>]) -> PyResult<Self> {
        let [a, b, c] = self.0;
        Ok(Self([a.apart_from(inputs)?, b.apart_from(inputs)?, c.apart_from(inputs)?]))
    }

    /// For frames of so many joints.
    pub(crate) fn planes(&mut self, joints: usize) -> PyResult<Planes<'_, 3>> {
        let [rotations, translations, scales] = &mut self.0;
        Ok(Planes {
            values: [rotations.values()?, translations.values()?, scales.values()?],
            widths: WIDTHS.map(|width| width * joints),
        })
    }

    /// A single pose.
    pub(crate) fn write(&mut self, pose: &Pose) -> PyResult<()> {
        get(pose, self.planes(pose.joint_count())?.values);
        Ok(())
    }

    /// As `condyle.Poses`.
    pub(crate) fn into_poses(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let arrays = self.0.map(Output::into_array);
        static POSES: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        POSES.import(py, "condyle", "Poses")?.call1(PyTuple::new(py, arrays)?)
    }
}

/// Replaces what is given of a pose.
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

/// Rotations, translations and scales of a pose.
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

/// The rows of matrices, twelve numbers each.
pub(crate) fn write_rows(matrices: &[Affine], out: &mut [f32]) {
    for (out, matrix) in out.as_chunks_mut::<12>().0.iter_mut().zip(matrices) {
        out.copy_from_slice(matrix.rows.as_flattened());
    }
}

/// The origins of matrices.
pub(crate) fn write_origins(matrices: &[Affine], out: &mut [f32]) {
    for (out, matrix) in out.as_chunks_mut::<3>().0.iter_mut().zip(matrices) {
        *out = matrix.rows.map(|row| row[3]);
    }
}

/// One of rotations, translations and scales, of many frames.
enum Part<'a> {
    /// What the pose is anyway.
    Rest,
    /// The same in each frame.
    Same(&'a [f32]),
    /// So many numbers for each frame.
    Each(&'a [f32], usize),
}

impl<'a> Part<'a> {
    /// Of an input with the `leading` axes of the rotations before the joints, or with none.
    fn new(input: Option<&'a Input<'_>>, leading: &[usize], tail: [usize; 2]) -> PyResult<Self> {
        let Some(input) = input else { return Ok(Self::Rest) };
        match input.leading(&tail)? {
            found if found == leading => Ok(Self::Each(input.values()?, tail[0] * tail[1])),
            [] => Ok(Self::Same(input.values()?)),
            _ => {
                let each = shape_text(&[leading, &tail].concat());
                Err(input.unfit(&format!("{each} or {}", shape_text(&tail))))
            }
        }
    }

    fn same(&self) -> Option<&'a [f32]> {
        if let Self::Same(values) = self { Some(values) } else { None }
    }

    fn of(&self, frame: usize) -> Option<&'a [f32]> {
        if let Self::Each(values, width) = self { Some(&values[frame * width..][..*width]) } else { None }
    }
}

/// Model matrices of joints from their local transforms: (..., J, 3, 4), rows of a 3 by 4 matrix each.
///
/// `skeleton` is a Skeleton or the parents of its joints, -1 for a root, parents first. `rotations` are unit quaternions (..., J, 4) as x, y, z, w.
/// `translations` and `scales` are (..., J, 3), or (J, 3) for all frames; without them they are those of the skeleton at rest.
///
/// >>> half = np.sqrt(0.5)
/// >>> turned = np.array([[[0, 0, half, half], [0, 0, 0, 1]]])
/// >>> matrices = condyle.forward_kinematics([-1, 0], turned, [[0, 0, 0], [0, 1, 0]])
/// >>> matrices.shape
/// (1, 2, 3, 4)
/// >>> matrices[0, 1, :, 3].round(6).tolist()
/// [-1.0, 0.0, 0.0]
#[pyfunction]
#[pyo3(signature = (skeleton, rotations, translations=None, scales=None, *, out=None, threads=1))]
pub(crate) fn forward_kinematics<'py>(
    py: Python<'py>,
    skeleton: &Bound<'py, PyAny>,
    rotations: &Bound<'py, PyAny>,
    translations: Option<&Bound<'py, PyAny>>,
    scales: Option<&Bound<'py, PyAny>>,
    out: Option<&Bound<'py, PyAny>>,
    threads: Option<i64>,
) -> PyResult<Bound<'py, PyArrayDyn<f32>>> {
    let skeleton = match skeleton.cast::<Skeleton>() {
        Ok(skeleton) => Arc::clone(&skeleton.get().0),
        Err(_) => Skeleton::of_parents(skeleton)?,
    };
    let joints = skeleton.joint_count();
    let rotations = Input::new("rotations", rotations)?;
    let translations = translations.map(|it| Input::new("translations", it)).transpose()?;
    let scales = scales.map(|it| Input::new("scales", it)).transpose()?;
    let leading = rotations.leading(&[joints, 4])?;
    let frames = leading.iter().product();
    let parts = [
        Part::Each(rotations.values()?, 4 * joints),
        Part::new(translations.as_ref(), leading, [joints, 3])?,
        Part::new(scales.as_ref(), leading, [joints, 3])?,
    ];
    let inputs: Vec<&Input<'_>> =
        [Some(&rotations), translations.as_ref(), scales.as_ref()].into_iter().flatten().collect();
    let out = Output::new(py, "out", out, &[leading, &[joints, 3, 4]].concat())?;
    let mut out = out.apart_from(&inputs)?;
    let planes = Planes { values: [out.values()?], widths: [12 * joints] };
    let start = || {
        let mut pose = skeleton.rest().clone();
        set(&mut pose, None, parts[1].same(), parts[2].same());
        Ok((pose, vec![Affine::IDENTITY; joints]))
    };
    for_each_frame(py, thread_count(threads)?, frames, planes, start, |(pose, model), frame, [out]| {
        let [rotations, translations, scales] = parts.each_ref().map(|part| part.of(frame));
        set(pose, rotations, translations, scales);
        local_to_model(&skeleton, pose, model)?;
        write_rows(model, out);
        Ok(())
    })?;
    Ok(out.into_array())
}
