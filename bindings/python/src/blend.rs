//! Poses of several clips as one: mixed, taken apart and added.

use condyle::blend::{Additive, Mean};
use condyle::{Error as Refusal, Layer, Pose};
use pyo3::prelude::*;

use crate::arrays::{Input, shape_text};
use crate::errors::Error;
use crate::frames::{for_each_frame, thread_count};
use crate::poses::{PoseArrays, get, set};
use crate::skeleton::Skeleton;

/// Poses that a caller has.
struct PoseInputs<'py>([Input<'py>; 3]);

impl<'py> PoseInputs<'py> {
    fn new(name: &str, value: &Bound<'py, PyAny>) -> PyResult<Self> {
        let unfit =
            |_| Error::new_err(format!("{name} is no Poses: rotations, translations and scales are wanted"));
        let [rotations, translations, scales] = value.extract::<[Bound<'py, PyAny>; 3]>().map_err(unfit)?;
        let inputs = Self([
            Input::new(format!("{name}.rotations"), &rotations)?,
            Input::new(format!("{name}.translations"), &translations)?,
            Input::new(format!("{name}.scales"), &scales)?,
        ]);
        let leading = inputs.leading()?;
        for input in &inputs.0[1..] {
            if input.leading(&[3])? != leading {
                return Err(input.unfit(&shape_text(&[leading, &[3]].concat())));
            }
        }
        Ok(inputs)
    }

    /// The axes before the numbers of a joint, of which the last one is the joints.
    fn leading(&self) -> PyResult<&[usize]> {
        match self.0[0].leading(&[4])? {
            [] => Err(self.0[0].unfit("(..., J, 4)")),
            leading => Ok(leading),
        }
    }

    fn frames(&self) -> PyResult<Frames<'_>> {
        let leading = self.leading()?;
        let (joints, frames) =
            leading.split_last().map_or((0, leading), |(joints, frames)| (*joints, frames));
        let [rotations, translations, scales] = &self.0;
        Ok(Frames {
            joints,
            count: frames.iter().product(),
            values: [rotations.values()?, translations.values()?, scales.values()?],
        })
    }
}

/// The numbers of poses, frame after frame.
struct Frames<'a> {
    joints: usize,
    count: usize,
    values: [&'a [f32]; 3],
}

impl Frames<'_> {
    fn read(&self, frame: usize, pose: &mut Pose) {
        let [rotations, translations, scales] = self.values;
        let [fours, threes] =
            [4, 3].map(|width| frame * self.joints * width..(frame + 1) * self.joints * width);
        set(pose, Some(&rotations[fours]), Some(&translations[threes.clone()]), Some(&scales[threes]));
    }
}

/// Makes one pose of several in each frame: all of one shape, that of the result.
fn combined<'py>(
    py: Python<'py>,
    all: &[PoseInputs<'py>],
    out: Option<&Bound<'py, PyAny>>,
    threads: Option<i64>,
    work: impl Fn(usize, &[Pose], &mut Pose) -> Result<(), Refusal> + Sync,
) -> PyResult<Bound<'py, PyAny>> {
    let [first, ..] = all else { return Err(Error::new_err("poses is empty, at least one Poses is wanted")) };
    let leading = first.leading()?;
    for other in all {
        if other.leading()? != leading {
            return Err(other.0[0].unfit(&shape_text(first.0[0].shape())));
        }
    }
    let inputs: Vec<&Input<'_>> = all.iter().flat_map(|poses| &poses.0).collect();
    let mut out = PoseArrays::new(py, out, leading)?.apart_from(&inputs)?;
    let all = all.iter().map(PoseInputs::frames).collect::<PyResult<Vec<_>>>()?;
    let Frames { joints, count, .. } = all[0];
    let planes = out.planes(joints)?;
    let start = || Ok((vec![Pose::identity(joints); all.len()], Pose::identity(joints)));
    for_each_frame(py, thread_count(threads)?, count, planes, start, |(poses, mixed), frame, out| {
        all.iter().zip(poses.iter_mut()).for_each(|(from, pose)| from.read(frame, pose));
        work(frame, poses, mixed)?;
        get(mixed, out);
        Ok(())
    })?;
    out.into_poses(py)
}

/// The weighted mean of poses, joint by joint, in each frame.
///
/// `poses` is a list of Poses of one shape, rotations (..., J, 4); `weights` has one number for each of them, or (L, ...) one for each
/// of them in each frame. They are divided by their sum; where it is 0 a joint is that of the skeleton at rest.
///
/// >>> clip = condyle.open("two_joints.glb").clips[0]
/// >>> early, late = clip.sample([0.0, 0.1]), clip.sample([1.0, 1.1])
/// >>> condyle.blend(clip.skeleton, [early, late], [0.75, 0.25]).rotations.shape
/// (2, 2, 4)
#[pyfunction]
#[pyo3(signature = (skeleton, poses, weights, *, out=None, threads=1))]
pub(crate) fn blend<'py>(
    py: Python<'py>,
    skeleton: &Skeleton,
    poses: Vec<Bound<'py, PyAny>>,
    weights: &Bound<'py, PyAny>,
    out: Option<&Bound<'py, PyAny>>,
    threads: Option<i64>,
) -> PyResult<Bound<'py, PyAny>> {
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
        condyle::blend(&skeleton.0, &layers, Mean::default(), mixed)
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
        condyle::blend::difference(&both[0], &both[1], apart)
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
        condyle::blend::add(&both[0], &[Additive::new(&both[1], amount)], sum)
    })
}
