//! Conversion between transforms and matrices.

use condyle::{Affine, Pose, convert};
use numpy::PyArrayDyn;
use pyo3::prelude::*;

use crate::arrays::{Input, Output, shape_text};
use crate::frames::{CHUNK, Planes, for_each_frame, thread_count};
use crate::poses::{PoseArrays, get, set, write_rows};

/// Return the matrices of rotations, translations and scales: the rows of 3x4 matrices, (..., 3, 4).
///
/// `rotations` are unit quaternions x, y, z, w (..., 4). `translations` and `scales` are (..., 3), by
/// default 0 and 1.
///
/// >>> condyle.to_matrices([0, 0, 0, 1], [1, 2, 3]).tolist()
/// [[1.0, 0.0, 0.0, 1.0], [0.0, 1.0, 0.0, 2.0], [0.0, 0.0, 1.0, 3.0]]
#[pyfunction]
#[pyo3(signature = (rotations, translations=None, scales=None, *, out=None, threads=1))]
pub(crate) fn to_matrices<'py>(
    py: Python<'py>,
    rotations: &Bound<'py, PyAny>,
    translations: Option<&Bound<'py, PyAny>>,
    scales: Option<&Bound<'py, PyAny>>,
    out: Option<&Bound<'py, PyAny>>,
    threads: Option<i64>,
) -> PyResult<Bound<'py, PyArrayDyn<f32>>> {
    let rotations = Input::new("rotations", rotations)?;
    let translations = translations.map(|it| Input::new("translations", it)).transpose()?;
    let scales = scales.map(|it| Input::new("scales", it)).transpose()?;
    let leading = rotations.leading(&[4])?;
    for input in [&translations, &scales].into_iter().flatten() {
        if input.leading(&[3])? != leading {
            return Err(input.unfit(&shape_text(&[leading, &[3]].concat())));
        }
    }
    let turned = rotations.values()?;
    let moved = translations.as_ref().map(Input::values).transpose()?;
    let scaled = scales.as_ref().map(Input::values).transpose()?;
    let count = turned.len() / 4;
    let inputs: Vec<&Input<'_>> =
        [Some(&rotations), translations.as_ref(), scales.as_ref()].into_iter().flatten().collect();
    let mut out = Output::new(py, "out", out, &[leading, &[3, 4]].concat())?.apart_from(&inputs)?;
    let planes = Planes { values: [out.values()?], widths: [12 * CHUNK] };
    let start = || Ok(());
    for_each_frame(py, thread_count(threads)?, count.div_ceil(CHUNK), planes, start, |(), chunk, [out]| {
        let (first, count) = (chunk * CHUNK, out.len() / 12);
        let mut pose = Pose::identity(count);
        let threes = 3 * first..3 * (first + count);
        let [moved, scaled] = [moved, scaled].map(|all| all.map(|all| &all[threes.clone()]));
        set(&mut pose, Some(&turned[4 * first..][..4 * count]), moved, scaled);
        let mut matrices = vec![Affine::IDENTITY; count];
        convert::pose_to_matrices(&pose, &mut matrices)?;
        write_rows(&matrices, out);
        Ok(())
    })?;
    Ok(out.into_array())
}

/// Decompose matrices (..., 3, 4) into Poses: rotations (..., 4), translations (..., 3) and scales
/// (..., 3).
///
/// The scale along x is negative for a mirroring matrix. A matrix with shear yields the nearest
/// transform.
///
/// >>> moved = condyle.from_matrices([[1, 0, 0, 1], [0, 1, 0, 2], [0, 0, 1, 3]])
/// >>> moved.rotations.tolist(), moved.translations.tolist()
/// ([0.0, 0.0, 0.0, 1.0], [1.0, 2.0, 3.0])
#[pyfunction]
#[pyo3(signature = (matrices, *, out=None, threads=1))]
pub(crate) fn from_matrices<'py>(
    py: Python<'py>,
    matrices: &Bound<'py, PyAny>,
    out: Option<&Bound<'py, PyAny>>,
    threads: Option<i64>,
) -> PyResult<Bound<'py, PyAny>> {
    let matrices = Input::new("matrices", matrices)?;
    let leading = matrices.leading(&[3, 4])?;
    let from = matrices.values()?.as_chunks::<12>().0;
    let mut out = PoseArrays::new(py, out, leading)?.apart_from(&[&matrices])?;
    let planes = out.planes(CHUNK)?;
    let start = || Ok(());
    for_each_frame(
        py,
        thread_count(threads)?,
        from.len().div_ceil(CHUNK),
        planes,
        start,
        |(), chunk, out| {
            let chunk = &from[chunk * CHUNK..];
            let affine = |m: &[f32; 12]| {
                let mut rows = [[0.0; 4]; 3];
                rows.as_flattened_mut().copy_from_slice(m);
                Affine { rows }
            };
            let matrices: Vec<Affine> = chunk.iter().take(CHUNK).map(affine).collect();
            let mut pose = Pose::identity(matrices.len());
            convert::matrices_to_pose(&matrices, &mut pose)?;
            get(&pose, out);
            Ok(())
        },
    )?;
    out.into_poses(py)
}
