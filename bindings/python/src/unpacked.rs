//! Clips unpacked into evenly spaced poses, for the fastest sampling and blending.

use std::sync::Arc;

use condyle::frames::{FramesOptions, MAX_LAYERS};
use condyle::sampling::AnyClip;
use condyle::{Error as Refusal, FrameLayer, Pose, sample_frames as sampled};
use condyle_gltf::{Asset, Placement};
use condyle_io::ModelClip;
use pyo3::prelude::*;

use crate::arrays::{Input, shape_text};
use crate::errors::Error;
use crate::frames::{for_each_frame, thread_count};
use crate::poses::{PoseArrays, get};
use crate::progress::told_apart;
use crate::skeleton::Skeleton;

/// Clip unpacked into evenly spaced poses, which sample and blend faster than the clip.
///
/// `Clip.to_frames` and `Model.to_frames` create them. They take about ten times the memory of a
/// compressed clip. They have no morph weights, tracks, root motion or events: sample these from the
/// clip. They cannot be pickled; pickle the clip.
#[pyclass(frozen, module = "condyle")]
pub(crate) struct Frames {
    frames: condyle::Frames,
    name: String,
    skeleton: Arc<condyle::Skeleton>,
}

impl Frames {
    /// Unpacks a clip.
    pub(crate) fn new(
        py: Python<'_>,
        name: &str,
        (motion, own): (&Arc<ModelClip>, &Arc<condyle::Skeleton>),
        options: FramesOptions,
    ) -> PyResult<Self> {
        let (motion, skeleton) = (Arc::clone(motion), Arc::clone(own));
        let frames = told_apart(py, None, move |_| match &motion.clip {
            AnyClip::Raw(clip) => clip.to_frames(&skeleton, &options),
            AnyClip::Compressed { clip, .. } => clip.to_frames(&skeleton, &options),
        });
        let frames = frames?.map_err(|error| Error::new_err(format!("the clip {name:?}: {error}")))?;
        Ok(Self { frames, name: name.to_owned(), skeleton: Arc::clone(own) })
    }
}

#[pymethods]
impl Frames {
    /// Name of the clip.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// Skeleton that the clip animates.
    #[getter]
    fn skeleton(&self) -> Skeleton {
        Skeleton(Arc::clone(&self.skeleton))
    }

    /// Time of the first pose in seconds, that of the clip.
    #[getter]
    fn start(&self) -> f64 {
        self.frames.start()
    }

    /// Time of the last pose in seconds, that of the clip.
    #[getter]
    fn end(&self) -> f64 {
        self.frames.end()
    }

    /// Poses per second. 0 for a clip without duration.
    #[getter]
    fn rate(&self) -> f64 {
        self.frames.rate()
    }

    /// Upper bound on the displacement between the clip and the frames, in the skeleton's units, without
    /// `seam_error`.
    #[getter]
    fn error(&self) -> f32 {
        self.frames.error()
    }

    /// Upper bound on half of the jumps between the segments of a compressed clip, which the frames
    /// smooth. 0 for an uncompressed clip.
    #[getter]
    fn seam_error(&self) -> f32 {
        self.frames.seam_error()
    }

    /// Size in bytes, including the clip.
    #[getter]
    fn memory(&self) -> usize {
        self.frames.memory()
    }

    /// Sample the local transforms of all joints, like `Clip.sample`.
    ///
    /// `times` has any shape; the poses are (..., J, 4) and (..., J, 3).
    ///
    /// >>> clip = condyle.open("two_joints.glb").clips[0].retime(0.25, 0.5)
    /// >>> frames = clip.to_frames(1e-3, shell=0.5)
    /// >>> times = np.linspace(clip.start, clip.end, 10)
    /// >>> bool(np.allclose(frames.sample(times).rotations, clip.sample(times).rotations, atol=2e-3))
    /// True
    #[pyo3(signature = (times, *, out=None, threads=1))]
    fn sample<'py>(
        slf: &Bound<'py, Self>,
        times: &Bound<'py, PyAny>,
        out: Option<&Bound<'py, PyAny>>,
        threads: Option<i64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let times = Input::<f64>::new("times", times)?;
        let layers = Layers { frames: vec![slf.clone()], times, weights: None, masks: None };
        layers.sample(slf.py(), out, threads)
    }

    fn __repr__(&self) -> String {
        let (name, rate, bytes) = (&self.name, self.rate(), self.memory());
        let seconds = self.end() - self.start();
        format!("<condyle.Frames {name:?}: {seconds:.3} s at {rate:.1} poses per second, {bytes} bytes>")
    }
}

/// Sample several clips and blend them, for many characters in one call.
///
/// Parameters
/// ----------
/// `frames` : list of Frames
///     L unpacked clips of the same skeleton, at most 8.
/// `times` : array_like, shape (L, ...)
///     Time of each clip for each character, in seconds.
/// `weights` : array_like, shape (L,) or (L, ...)
///     One weight per clip, or one per clip and character. Weights are normalised to sum 1. Where the sum
///     is 0, joints take the rest pose.
/// `masks` : array_like, shape (L, J), optional
///     Factor of the weight for each joint, 0 to 1.
/// `out` : Poses, optional
///     Arrays for the result.
/// `threads` : int or None
///     Number of threads. None uses all cores.
///
/// Returns
/// -------
/// Poses
///     Rotations (..., J, 4), translations (..., J, 3) and scales (..., J, 3).
///
/// Notes
/// -----
/// The result does not depend on the order of the clips. Rotations are blended in the hemisphere of the
/// rest pose, as by `blend`.
///
/// Examples
/// --------
/// >>> model = condyle.open("two_joints.glb")
/// >>> bend = model.to_frames(model.clips[0].retime(0.25, 0.5))
/// >>> back = model.to_frames(model.clips[0].retime(0.25, 0.5, speed=-1))
/// >>> crowd = np.random.default_rng(0).uniform(0, 0.25, (2, 1000))
/// >>> condyle.sample_frames([bend, back], crowd, [0.75, 0.25]).rotations.shape
/// (1000, 2, 4)
#[pyfunction]
#[pyo3(signature = (frames, times, weights, *, masks=None, out=None, threads=1))]
pub(crate) fn sample_frames<'py>(
    py: Python<'py>,
    frames: Vec<Bound<'py, Frames>>,
    times: &Bound<'py, PyAny>,
    weights: &Bound<'py, PyAny>,
    masks: Option<&Bound<'py, PyAny>>,
    out: Option<&Bound<'py, PyAny>>,
    threads: Option<i64>,
) -> PyResult<Bound<'py, PyAny>> {
    let count = frames.len();
    if !(1..=MAX_LAYERS).contains(&count) {
        return Err(Error::new_err(format!("frames must have 1 to {MAX_LAYERS} clips, got {count}")));
    }
    let (times, weights) = (Input::<f64>::new("times", times)?, Input::new("weights", weights)?);
    let masks = masks.map(|masks| Input::new("masks", masks)).transpose()?;
    if times.shape().first() != Some(&count) {
        return Err(times.unfit(&format!("({count}, ...)")));
    }
    if weights.shape() != [count] && weights.shape() != times.shape() {
        let wanted = format!("{} or {}", shape_text(&[count]), shape_text(times.shape()));
        return Err(weights.unfit(&wanted));
    }
    let joints = frames[0].get().skeleton.joint_count();
    if let Some(masks) = masks.as_ref().filter(|masks| masks.shape() != [count, joints]) {
        return Err(masks.unfit(&shape_text(&[count, joints])));
    }
    Layers { frames, times, weights: Some(weights), masks }.sample(py, out, threads)
}

/// Clips to blend, and their times. Without weights there is one clip, and `times` has no axis for it.
struct Layers<'py> {
    frames: Vec<Bound<'py, Frames>>,
    times: Input<'py, f64>,
    weights: Option<Input<'py>>,
    masks: Option<Input<'py>>,
}

impl<'py> Layers<'py> {
    fn sample(
        &self,
        py: Python<'py>,
        out: Option<&Bound<'py, PyAny>>,
        threads: Option<i64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let all: Vec<&Frames> = self.frames.iter().map(Bound::get).collect();
        let skeleton = &all[0].skeleton;
        let (count, joints) = (all.len(), skeleton.joint_count());
        let characters = &self.times.shape()[usize::from(self.weights.is_some())..];
        let frames: usize = characters.iter().product();
        let times = self.times.values()?;
        let weights = self.weights.as_ref().map(Input::values).transpose()?.unwrap_or(&[1.0]);
        let masks = self.masks.as_ref().map(Input::values).transpose()?;
        let others: Vec<_> = [&self.weights, &self.masks].into_iter().flatten().collect();
        let out = PoseArrays::new(py, out, &[characters, &[joints]].concat())?;
        let mut out = out.apart_from(&[&self.times])?.apart_from(&others)?;
        let planes = out.planes(joints)?;
        let clips: Vec<&condyle::Frames> = all.iter().map(|it| &it.frames).collect();
        let per_character = weights.len() != count;
        let layer = |at: usize, character: usize| {
            let weight = weights[if per_character { at * frames + character } else { at }];
            let mask = masks.and_then(|masks| masks.get(at * joints..(at + 1) * joints));
            FrameLayer { mask, ..FrameLayer::new(clips[at], times[at * frames + character], weight) }
        };
        let start = || Ok(Pose::rest(skeleton));
        for_each_frame(py, thread_count(threads)?, frames, planes, start, |pose, character, out| {
            let mut layers = [layer(0, character); MAX_LAYERS];
            (1..count).for_each(|at| layers[at] = layer(at, character));
            sampled(skeleton, &layers[..count], pose)?;
            get(pose, out);
            Ok(())
        })?;
        out.into_poses(py)
    }
}

/// Budget that bounds the error at every vertex, and within `radius` of joints without vertices.
pub(crate) fn of_meshes(asset: &Asset, budget: f32, radius: f32) -> Result<FramesOptions, Refusal> {
    let skinned = asset.instances.iter().filter_map(|instance| match &instance.placement {
        Placement::Skin(skin) => Some((instance, &asset.skins[*skin])),
        _ => None,
    });
    let skinned =
        skinned.flat_map(|(instance, skin)| instance.primitives.iter().map(move |it| (&*it.mesh, skin)));
    let mut options = FramesOptions::of_meshes(&asset.skeleton, skinned, budget, 0.0)?;
    for instance in &asset.instances {
        let Placement::Joint(joint) = instance.placement else { continue };
        let Some(farthest) = options.radii.get_mut(usize::from(joint)) else { continue };
        for place in instance.primitives.iter().flat_map(|it| &it.mesh.vertices().positions) {
            *farthest = farthest.max(place.iter().map(|v| v * v).sum::<f32>().sqrt());
        }
    }
    options.radii.iter_mut().filter(|it| **it == 0.0).for_each(|it| *it = radius);
    Ok(options)
}
