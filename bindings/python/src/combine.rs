//! Poses as arrays that go in, and one pose for each frame that comes out.

use condyle::{Error as Refusal, Pose};
use pyo3::prelude::*;

use crate::arrays::{Input, shape_text};
use crate::errors::Error;
use crate::frames::{for_each_frame, thread_count};
use crate::poses::{PoseArrays, get, set};

/// Poses that a caller has.
pub(crate) struct PoseInputs<'py>(pub(crate) [Input<'py>; 3]);

impl<'py> PoseInputs<'py> {
    pub(crate) fn new(name: &str, value: &Bound<'py, PyAny>) -> PyResult<Self> {
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

/// The numbers of poses, frame after frame.
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

/// Makes one pose of several in each frame: all of one shape, that of the result.
pub(crate) fn combined<'py>(
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
