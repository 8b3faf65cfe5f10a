//! Blending of poses: weighted means, differences and additive layers.

use condyle::Layer;
use condyle::blending::{Additive, Mean};
use pyo3::prelude::*;

use crate::arrays::{Input, shape_text};
use crate::combine::{PoseInputs, combined};
use crate::errors::Error;
use crate::skeleton::Skeleton;

/// Return the weighted mean of several poses, joint by joint, in each frame.
///
/// Parameters
/// ----------
/// `skeleton` : Skeleton
///     Skeleton of the poses. Its rest pose is the default reference.
/// `poses` : list of Poses
///     L poses of the same shape, with rotations (..., J, 4).
/// `weights` : array_like, shape (L,) or (L, ...)
///     One weight per pose, or one per pose and frame. Weights are normalised to sum 1. Where the sum
///     is 0, joints take the reference pose.
/// `about` : "rest" or "first"
///     Reference pose for the hemisphere of the rotations: the rest pose, or the first of `poses`.
/// `out` : Poses, optional
///     Arrays for the result.
/// `threads` : int or None
///     Number of threads. None uses all cores.
///
/// Returns
/// -------
/// Poses
///     Blended poses in the shape of one input.
///
/// Notes
/// -----
/// About the rest pose, the mean of +100 and -100 degrees from rest is 0. Two neighbouring frames on
/// either side of half a turn from rest then have a mean that is far from both. Use "first" if the
/// other poses are less than half a turn away from the first.
///
/// Examples
/// --------
/// >>> clip = condyle.open("two_joints.glb").clips[0]
/// >>> early, late = clip.sample([0.0, 0.1]), clip.sample([1.0, 1.1])
/// >>> condyle.blend(clip.skeleton, [early, late], [0.75, 0.25]).rotations.shape
/// (2, 2, 4)
///
/// Rotations by +100 and -100 degrees about Y:
///
/// >>> wheel = condyle.Skeleton([-1])
/// >>> both = [condyle.Poses([[0, y, 0, 0.643]], [[0] * 3], [[1] * 3]) for y in (0.766, -0.766)]
/// >>> condyle.blend(wheel, both, [0.5, 0.5]).rotations.round(3).tolist()
/// [[0.0, 0.0, 0.0, 1.0]]
/// >>> condyle.blend(wheel, both, [0.5, 0.5], about="first").rotations.round(3).tolist()
/// [[0.0, 1.0, 0.0, 0.0]]
#[pyfunction]
#[pyo3(signature = (skeleton, poses, weights, *, about="rest", out=None, threads=1))]
pub(crate) fn blend<'py>(
    py: Python<'py>,
    skeleton: &Skeleton,
    poses: Vec<Bound<'py, PyAny>>,
    weights: &Bound<'py, PyAny>,
    about: &str,
    out: Option<&Bound<'py, PyAny>>,
    threads: Option<i64>,
) -> PyResult<Bound<'py, PyAny>> {
    let is_first = match about {
        "rest" => false,
        "first" => true,
        _ => return Err(Error::new_err(format!("about must be \"rest\" or \"first\", got {about:?}"))),
    };
    let inputs = poses.iter().enumerate().map(|(at, pose)| PoseInputs::new(&format!("poses[{at}]"), pose));
    let inputs = inputs.collect::<PyResult<Vec<_>>>()?;
    let weights = Input::new("weights", weights)?;
    let layers = inputs.len();
    if let Some(first) = inputs.first() {
        let (joints, frames) = first.leading()?.split_last().unwrap_or((&0, &[]));
        if *joints != skeleton.0.joint_count() {
            return Err(first.0[0].unfit(&format!("(..., {}, 4)", skeleton.0.joint_count())));
        }
        let each = [&[layers], frames].concat();
        if weights.shape() != [layers] && weights.shape() != each {
            return Err(weights.unfit(&format!("{} or {}", shape_text(&[layers]), shape_text(&each))));
        }
    }
    let (values, width) = (weights.values()?, weights.values()?.len() / layers.max(1));
    combined(py, &inputs, out, threads, |frame, poses, mixed| {
        // One weight for all frames, or one per frame.
        let weight = |layer: usize| values[layer * width + if width == 1 { 0 } else { frame }];
        let layers: Vec<_> =
            poses.iter().enumerate().map(|(at, pose)| Layer::new(pose, weight(at))).collect();
        let reference = poses.first().filter(|_| is_first).unwrap_or(skeleton.0.rest());
        condyle::blending::about(reference, &layers, Mean::default(), mixed)
    })
}

/// Return the difference between poses and reference poses of the same shape, for use with `add`.
///
/// >>> clip = condyle.open("two_joints.glb").clips[0]
/// >>> same = condyle.difference(clip.sample([0.5]), clip.sample([0.5]))
/// >>> bool(same.translations.any()), float(same.scales.min())
/// (False, 1.0)
#[pyfunction]
#[pyo3(signature = (poses, reference, *, out=None, threads=1))]
pub(crate) fn difference<'py>(
    py: Python<'py>,
    poses: &Bound<'py, PyAny>,
    reference: &Bound<'py, PyAny>,
    out: Option<&Bound<'py, PyAny>>,
    threads: Option<i64>,
) -> PyResult<Bound<'py, PyAny>> {
    let inputs = [PoseInputs::new("poses", poses)?, PoseInputs::new("reference", reference)?];
    combined(py, &inputs, out, threads, |_, both, apart| {
        condyle::blending::difference(&both[0], &both[1], apart)
    })
}

/// Return poses with a `difference` added. `amount` scales the difference: 1 adds all of it.
///
/// >>> clip = condyle.open("two_joints.glb").clips[0]
/// >>> bend = condyle.difference(clip.sample([0.5]), clip.sample([0.0]))
/// >>> bent = condyle.add(clip.sample([0.0]), bend)
/// >>> np.allclose(bent.rotations, clip.sample([0.5]).rotations, atol=1e-6)
/// True
#[pyfunction]
#[pyo3(signature = (base, difference, amount=1.0, *, out=None, threads=1))]
pub(crate) fn add<'py>(
    py: Python<'py>,
    base: &Bound<'py, PyAny>,
    difference: &Bound<'py, PyAny>,
    amount: f32,
    out: Option<&Bound<'py, PyAny>>,
    threads: Option<i64>,
) -> PyResult<Bound<'py, PyAny>> {
    if !amount.is_finite() {
        return Err(Error::new_err(format!("amount must be finite, got {amount}")));
    }
    let inputs = [PoseInputs::new("base", base)?, PoseInputs::new("difference", difference)?];
    combined(py, &inputs, out, threads, |_, both, sum| {
        condyle::blending::add(&both[0], &[Additive::new(&both[1], amount)], sum)
    })
}
