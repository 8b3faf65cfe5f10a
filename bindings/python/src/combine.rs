//! Poses as argument arrays, and the loop that computes one pose per frame from them.

use condyle::{Error as Refusal, Pose};
use pyo3::prelude::*;

use crate::arrays::{Input, shape_text};
use crate::errors::Error;
use crate::frames::{for_each_frame, thread_count};
use crate::poses::{PoseArrays, get, set};

/// Poses passed by the caller.
pub(crate) struct PoseInputs<'py>(pub(crate) [Input<'py>; 3]);

impl<'py> PoseInputs<'py> {
    pub(crate) fn new(name: &str, value: &Bound<'py, PyAny>) -> PyResult<Self> {
        let unfit = |_| Error::new_err(format!("{name} must be Poses: rotations, translations and scales"));
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

    /// Axes before the components of a joint. The last of them is the joint axis.
    pub(crate) fn leading(&self) -> PyResult<&[usize]> {
        match self.0[0].leading(&[4])? {
            [] => Err(self.0[0].unfit("(..., J, 4)")),
            leading => Ok(leading),
        }
    }

    pub(crate) fn frames(&self) -> PyResult<Frames<'_>> {
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

/// Components of poses, one frame after another.
pub(crate) struct Frames<'a> {
    pub(crate) joints: usize,
    pub(crate) count: usize,
    values: [&'a [f32]; 3],
}

impl Frames<'_> {
    pub(crate) fn read(&self, frame: usize, pose: &mut Pose) {
        let [rotations, translations, scales] = self.values;
        let [fours, threes] =
            [4, 3].map(|width| frame * self.joints * width..(frame + 1) * self.joints * width);
        set(pose, Some(&rotations[fours]), Some(&translations[threes.clone()]), Some(&scales[threes]));
    }
}

/// Computes one pose from several in each frame. All inputs have the shape of the result.
pub(crate) fn combined<'py>(
    py: Python<'py>,
    all: &[PoseInputs<'py>],
    out: Option<&Bound<'py, PyAny>>,
    threads: Option<i64>,
    work: impl Fn(usize, &[Pose], &mut Pose) -> Result<(), Refusal> + Sync,
) -> PyResult<Bound<'py, PyAny>> {
    let [first, ..] = all else { return Err(Error::new_err("poses is empty; pass at least one Poses")) };
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
