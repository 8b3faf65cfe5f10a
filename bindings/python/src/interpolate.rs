//! Interpolation between rotations.

use condyle::Pose;
use condyle::interpolation::{
    Arc, Factor, InterpolateOptions, Method, Prepared, Selection, poses as between_poses,
};
use numpy::PyArrayDyn;
use pyo3::prelude::*;

use crate::arrays::{Input, Output, shape_text};
use crate::errors::Error;
use crate::frames::{CHUNK, Planes, for_each_frame, thread_count};
use crate::poses::{gather, scatter};

/// Parameters shared by all rotations of a call.
struct Between<'a> {
    from: &'a [f32],
    to: &'a [f32],
    factors: Factors<'a>,
    how: InterpolateOptions,
}

enum Factors<'a> {
    Same(Prepared),
    Each(&'a [f32]),
}

impl Between<'_> {
    /// Writes the rotations from index `first` on, as many as fit into `out`.
    fn write(&self, poses: &mut [Pose; 3], first: usize, out: &mut [f32]) -> Result<(), condyle::Error> {
        let count = out.len() / 4;
        let [from, to, between] = poses;
        if from.joint_count() != count {
            [&mut *from, &mut *to, &mut *between].into_iter().for_each(|pose| *pose = Pose::identity(count));
        }
        let quaternions = |all: &[f32], pose: &mut Pose| {
            scatter(&all[4 * first..][..4 * count], pose.blocks_mut(), |block| &mut block.rotation);
        };
        quaternions(self.from, from);
        quaternions(self.to, to);
        match &self.factors {
            Factors::Same(prepared) => prepared.poses(&*from, to, Selection::All, between)?,
            Factors::Each(all) => {
                let factors = Factor::PerJoint(&all[first..][..count]);
                between_poses(&*from, to, factors, Selection::All, self.how, between)?;
            }
        }
        gather(between.blocks(), |block| &block.rotation, out);
        Ok(())
    }
}

/// Method by name, or an exception that lists all names.
fn method_of(name: &str) -> PyResult<Method> {
    name.parse().map_err(|e| Error::new_err(format!("method {name:?}: {e}")))
}

/// Interpolate between rotations.
///
/// Parameters
/// ----------
/// `a`, `b` : array_like, shape (..., 4)
///     Unit quaternions x, y, z, w.
/// `t` : float or array_like, shape (...)
///     Factors from 0 at `a` to 1 at `b`.
/// `method` : str
///     "slerp4", "slerp6", "slerp9", "eberly1" to "eberly16", "eberly1-halved" to "eberly16-halved",
///     "van-waveren", "exact", "nlerp", "corrected-nlerp" or "exponential-map". `error_bound` returns
///     the maximum error of each.
/// `shorter` : bool
///     Take the shorter arc. False takes the arc to `b` with the given sign.
/// `extrapolate` : bool
///     Do not clamp factors to [0, 1].
/// `out` : ndarray of float32, shape (..., 4), optional
///     Array for the result.
/// `threads` : int or None
///     Number of threads. None uses all cores.
///
/// Returns
/// -------
/// ndarray of float32, shape (..., 4)
///
/// Examples
/// --------
/// >>> print(condyle.interpolate([0, 0, 0, 1], [1, 0, 0, 0], 1 / 3).round(4))
/// [0.5   0.    0.    0.866]
/// >>> condyle.interpolate([[0, 0, 0, 1]] * 3, [[0, 0, 1, 0]] * 3, [0, 0.5, 1], method="nlerp").shape
/// (3, 4)
#[pyfunction]
#[pyo3(signature = (a, b, t, *, method="slerp9", shorter=true, extrapolate=false, out=None, threads=1))]
#[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
pub(crate) fn interpolate<'py>(
    py: Python<'py>,
    a: &Bound<'py, PyAny>,
    b: &Bound<'py, PyAny>,
    t: &Bound<'py, PyAny>,
    method: &str,
    shorter: bool,
    extrapolate: bool,
    out: Option<&Bound<'py, PyAny>>,
    threads: Option<i64>,
) -> PyResult<Bound<'py, PyArrayDyn<f32>>> {
    let arc = if shorter { Arc::Shorter } else { Arc::AsGiven };
    let how = InterpolateOptions { method: method_of(method)?, arc, extrapolate };
    let (a, b, t) = (Input::new("a", a)?, Input::new("b", b)?, Input::<f32>::new("t", t)?);
    let leading = a.leading(&[4])?;
    if b.leading(&[4])? != leading {
        return Err(b.unfit(&format!("{} like a", shape_text(a.shape()))));
    }
    let factors = match (t.shape(), t.values()?) {
        ([], &[t]) if t.is_nan() => return Err(Error::new_err("t must be a number, got NaN")),
        ([], &[t]) => Factors::Same(Prepared::new(t, how)),
        (shape, all) if shape == leading => match all.iter().position(|t| t.is_nan()) {
            None => Factors::Each(all),
            Some(at) => {
                return Err(Error::new_err(format!("t must hold numbers, got NaN at element {at}")));
            }
        },
        _ => return Err(t.unfit(&format!("{} or be a single number", shape_text(leading)))),
    };
    let between = Between { from: a.values()?, to: b.values()?, factors, how };
    let chunks = (between.from.len() / 4).div_ceil(CHUNK);
    let mut out = Output::new(py, "out", out, a.shape())?.apart_from(&[&a, &b, &t])?;
    let planes = Planes { values: [out.values()?], widths: [4 * CHUNK] };
    let start = || Ok([0; 3].map(Pose::identity));
    for_each_frame(py, thread_count(threads)?, chunks, planes, start, |poses, chunk, [out]| {
        between.write(poses, chunk * CHUNK, out)
    })?;
    Ok(out.into_array())
}

/// Spherical linear interpolation, exact up to float32 rounding: `interpolate` with the method
/// "slerp9".
///
/// >>> print(condyle.slerp([0, 0, 0, 1], [1, 0, 0, 0], 0.5).round(4))
/// [0.7071 0.     0.     0.7071]
#[pyfunction]
#[pyo3(signature = (a, b, t, *, out=None, threads=1))]
pub(crate) fn slerp<'py>(
    py: Python<'py>,
    a: &Bound<'py, PyAny>,
    b: &Bound<'py, PyAny>,
    t: &Bound<'py, PyAny>,
    out: Option<&Bound<'py, PyAny>>,
    threads: Option<i64>,
) -> PyResult<Bound<'py, PyArrayDyn<f32>>> {
    interpolate(py, a, b, t, "slerp9", true, false, out, threads)
}

/// Normalised linear interpolation: `interpolate` with the method "nlerp".
///
/// >>> print(condyle.nlerp([0, 0, 0, 1], [1, 0, 0, 0], 0.5).round(4))
/// [0.7071 0.     0.     0.7071]
#[pyfunction]
#[pyo3(signature = (a, b, t, *, out=None, threads=1))]
pub(crate) fn nlerp<'py>(
    py: Python<'py>,
    a: &Bound<'py, PyAny>,
    b: &Bound<'py, PyAny>,
    t: &Bound<'py, PyAny>,
    out: Option<&Bound<'py, PyAny>>,
    threads: Option<i64>,
) -> PyResult<Bound<'py, PyArrayDyn<f32>>> {
    interpolate(py, a, b, t, "nlerp", true, false, out, threads)
}

/// Return the maximum difference from exact slerp in any component, for a method of `interpolate`.
///
/// `max_angle` is the largest angle between the two quaternions as 4D vectors, in radians: half of the
/// rotation between them, at most pi / 2.
///
/// >>> condyle.error_bound("slerp4", np.pi / 2) < 1.1e-4
/// True
#[pyfunction]
pub(crate) fn error_bound(method: &str, max_angle: f32) -> PyResult<f64> {
    Ok(method_of(method)?.error_bound(max_angle))
}
