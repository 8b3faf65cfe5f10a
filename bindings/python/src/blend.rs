//! Poses of several clips as one: mixed, taken apart and added.

use condyle::Layer;
use condyle::blending::{Additive, Mean};
use pyo3::prelude::*;

use crate::arrays::{Input, shape_text};
use crate::combine::{PoseInputs, combined};
use crate::errors::Error;
use crate::skeleton::Skeleton;

/// The weighted mean of poses, joint by joint, in each frame.
///
/// `poses` is a list of Poses of one shape, rotations (..., J, 4); `weights` has one number for each of them, or (L, ...) one for each
/// of them in each frame. They are divided by their sum; where it is 0 a joint is that of the reference.
///
/// `about` is the reference, in whose hemisphere rotations are averaged: "rest", the skeleton at rest, or "first", the first of the poses. About the
/// rest pose the mean of +100 and -100 degrees from rest is 0, and two neighbouring frames on either side of half a turn from rest have a
/// mean far from both; "first" is right wherever the other poses are less than half a turn away from the first.
///
/// >>> clip = condyle.open("two_joints.glb").clips[0]
/// >>> early, late = clip.sample([0.0, 0.1]), clip.sample([1.0, 1.1])
/// >>> condyle.blend(clip.skeleton, [early, late], [0.75, 0.25]).rotations.shape
/// (2, 2, 4)
/// >>> wheel = condyle.Skeleton([-1])
/// >>> turned = lambda degrees: condyle.Poses([[0, np.sin(np.radians(degrees / 2)), 0, np.cos(np.radians(degrees / 2))]], [[0, 0, 0]], [[1, 1, 1]])
/// >>> both = [turned(100), turned(-100)]
/// >>> [condyle.blend(wheel, both, [0.5, 0.5], about=about).rotations.round(3).tolist() for about in ("rest", "first")]
/// [[[0.0, 0.0, 0.0, 1.0]], [[0.0, 1.0, 0.0, 0.0]]]
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
        _ => return Err(Error::new_err(format!("about is {about:?}, \"rest\" or \"first\" is wanted"))),
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
        // One for all frames, or one for each.
        let weight = |layer: usize| values[layer * width + if width == 1 { 0 } else { frame }];
        let layers: Vec<_> =
            poses.iter().enumerate().map(|(at, pose)| Layer::new(pose, weight(at))).collect();
        let reference = poses.first().filter(|_| is_first).unwrap_or(skeleton.0.rest());
        condyle::blending::about(reference, &layers, Mean::default(), mixed)
    })
}

/// What poses differ by from others of the same shape: to be added to yet others by `add`.
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

/// Poses with a `difference` added to them: `amount` is how much of it, 1 for all.
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
        return Err(Error::new_err(format!("amount is {amount}, a finite number is wanted")));
    }
    let inputs = [PoseInputs::new("base", base)?, PoseInputs::new("difference", difference)?];
    combined(py, &inputs, out, threads, |_, both, sum| {
        condyle::blending::add(&both[0], &[Additive::new(&both[1], amount)], sum)
    })
}
