//! Model matrices from local transforms.

use std::sync::Arc;

use condyle::{Affine, local_to_model};
use numpy::PyArrayDyn;
use pyo3::prelude::*;

use crate::arrays::{Input, Output, shape_text};
use crate::frames::{Planes, for_each_frame, thread_count};
use crate::poses::{set, write_rows};
use crate::skeleton::Skeleton;

/// Rotations, translations or scales of many frames.
enum Part<'a> {
    /// The rest pose, which the pose already contains.
    Rest,
    /// Same values in each frame.
    Same(&'a [f32]),
    /// All values, and their number per frame.
    Each(&'a [f32], usize),
}

impl<'a> Part<'a> {
    /// Reads an input whose shape is the `leading` axes and `tail`, or `tail` alone.
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

/// Compute model-space matrices of joints from their local transforms.
///
/// Parameters
/// ----------
/// `skeleton` : Skeleton or array_like of int, shape (J,)
///     Skeleton, or the parent index of each joint: -1 for a root, parents before children.
/// `rotations` : array_like, shape (..., J, 4)
///     Unit quaternions x, y, z, w relative to the parent joint.
/// `translations`, `scales` : array_like, shape (..., J, 3) or (J, 3), optional
///     Values per frame, or the same for all frames. Default: the rest pose of the skeleton.
/// `out` : ndarray of float32, shape (..., J, 3, 4), optional
///     Array for the result.
/// `threads` : int or None
///     Number of threads. None uses all cores.
///
/// Returns
/// -------
/// ndarray of float32, shape (..., J, 3, 4)
///     Rows of 3x4 matrices.
///
/// Examples
/// --------
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
