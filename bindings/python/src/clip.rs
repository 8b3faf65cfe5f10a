//! Clips: poses over time.

use std::path::PathBuf;
use std::sync::Arc;

use condyle::container::{Container, ContainerWriter, EntryKind};
use condyle::frames::FramesOptions;
use condyle::sampling::{AnyClip, PoseSource, RawCursor};
use condyle::{Error as Refusal, Pose, RawClip};
use condyle_encode::{EncodeOptions, Shell};
use condyle_io::ModelClip;
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use crate::arrays::Times;
use crate::errors::{Error, refused};
use crate::frames::{for_each_frame, thread_count};
use crate::keyed::keyed;
use crate::motion::extras;
use crate::pickled::{Read, clip_of, parts_of};
use crate::poses::{PoseArrays, get};
use crate::progress::{end_unless, told_apart};
use crate::render::{Drawn, Style, sheet};
use crate::retime::Retime;
use crate::save::{self, Kind, Saved};
use crate::skeleton::Skeleton;
use crate::unpacked::Frames;

/// Poses of a skeleton over time, compressed or uncompressed.
///
/// `Model.clips` holds the clips of a file, `encode` compresses a clip.
#[pyclass(frozen, module = "condyle")]
#[derive(Clone)]
pub(crate) struct Clip {
    pub(crate) name: String,
    pub(crate) skeleton: Arc<condyle::Skeleton>,
    pub(crate) motion: Arc<ModelClip>,
}

#[pymethods]
impl Clip {
    /// Name in the file, which may be empty.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// Time of the first key in seconds. Earlier times sample the first key.
    #[getter]
    fn start(&self) -> f64 {
        self.motion.start()
    }

    /// Time of the last key in seconds. Later times sample the last key.
    #[getter]
    fn end(&self) -> f64 {
        self.motion.end()
    }

    /// Seconds between the first and the last key.
    #[getter]
    fn duration(&self) -> f64 {
        self.motion.end() - self.motion.start()
    }

    /// Skeleton that the clip animates.
    #[getter]
    fn skeleton(&self) -> Skeleton {
        Skeleton(Arc::clone(&self.skeleton))
    }

    /// Whether the clip is compressed.
    #[getter]
    pub(crate) fn compressed(&self) -> bool {
        self.motion.clip.as_compressed().is_some()
    }

    /// Frames per second of a compressed clip, or None for an uncompressed one.
    #[getter]
    fn rate(&self) -> Option<f32> {
        self.motion.clip.as_compressed().map(condyle::Clip::rate)
    }

    /// Radius around joints within which the error bound of a compressed clip holds, in the skeleton's
    /// units.
    ///
    /// It is the `shell` argument of `encode`. None for an uncompressed clip, if the file does not
    /// state it, and if every joint has vertices.
    ///
    /// >>> condyle.open("two_joints.glb").clips[0].encode(shell=0.25).shell
    /// 0.25
    #[getter]
    fn shell(&self) -> Option<f32> {
        self.motion.shell
    }

    /// Times of all keys, or of all frames of a compressed clip, in seconds and increasing. (K,),
    /// float64.
    ///
    /// >>> clip = condyle.open("two_joints.glb").clips[0]
    /// >>> clip.times.tolist(), len(clip.sample(clip.times).rotations)
    /// ([0.25, 0.5, 0.75, 1.0, 1.5, 1.75], 6)
    #[getter]
    fn times<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_vec(py, self.motion.clip.moments())
    }

    /// Data that `sample` does not return: any of "morph weights and tracks", "root motion" and
    /// "events".
    #[getter]
    pub(crate) fn extras(&self) -> Vec<&'static str> {
        extras(&self.motion.clip)
    }

    /// Sample the local transforms of all joints.
    ///
    /// Parameters
    /// ----------
    /// `times` : array_like, shape (T,)
    ///     Times in seconds.
    /// `out` : Poses or tuple of three ndarrays, optional
    ///     Arrays for the result.
    /// `threads` : int or None
    ///     Number of threads. None uses all cores.
    ///
    /// Returns
    /// -------
    /// Poses
    ///     Rotations (T, J, 4), translations (T, J, 3) and scales (T, J, 3).
    ///
    /// Examples
    /// --------
    /// >>> clip = condyle.open("two_joints.glb").clips[0]
    /// >>> clip.sample(np.linspace(clip.start, clip.end, 10)).rotations.shape
    /// (10, 2, 4)
    #[pyo3(signature = (times, *, out=None, threads=1))]
    fn sample<'py>(
        &self,
        py: Python<'py>,
        times: &Bound<'py, PyAny>,
        out: Option<&Bound<'py, PyAny>>,
        threads: Option<i64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let moments = Times::new("times", times)?;
        let times = moments.times()?;
        let (frames, joints) = (times.len(), self.skeleton.joint_count());
        let mut out = PoseArrays::new(py, out, &[frames, joints])?.apart_from(&[&moments])?;
        let planes = out.planes(joints)?;
        let start = || Ok((Pose::rest(&self.skeleton), RawCursor::default()));
        for_each_frame(py, thread_count(threads)?, frames, planes, start, |(pose, cursor), frame, out| {
            self.motion.clip.sample(&self.skeleton, times[frame], cursor, pose)?;
            get(pose, out);
            Ok(())
        })?;
        out.into_poses(py)
    }

    /// Return a compressed clip with a bounded error.
    ///
    /// Parameters
    /// ----------
    /// `budget` : float
    ///     Maximum error of every point within `shell` of a joint, in the skeleton's units.
    /// `shell` : float
    ///     Radius around each joint, in the skeleton's units. 0.03 suits a person in metres. There is
    ///     no default, because a clip knows neither a mesh nor a unit; `Model.encode` bounds the error
    ///     at every vertex instead.
    /// `best` : bool
    ///     Whether to search longer for a smaller result.
    /// `rate` : float, optional
    ///     Frames per second. Default: the rate of the authored keys.
    /// `progress` : object with an `update` method, optional
    ///     Progress bar with a total of 100, such as tqdm's.
    ///
    /// Returns
    /// -------
    /// Clip
    ///
    /// Examples
    /// --------
    /// >>> small = condyle.open("two_joints.glb").clips[0].encode(1e-3, shell=0.03)
    /// >>> small.compressed, len(pickle.dumps(small)) < 2000
    /// (True, True)
    #[pyo3(signature = (budget=5e-4, *, shell, best=false, rate=None, progress=None))]
    fn encode(
        &self,
        py: Python<'_>,
        budget: f32,
        shell: f32,
        best: bool,
        rate: Option<f32>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let mut options = EncodeOptions::new(budget, Shell::Balls(shell));
        options.best = best;
        options.rate = rate;
        self.encoded(py, &options, progress)
    }

    /// Unpack the clip into evenly spaced poses, which sample and blend faster.
    ///
    /// Parameters
    /// ----------
    /// `budget` : float
    ///     Maximum error of every point within `shell` of a joint, in the skeleton's units, in addition to
    ///     the error of a compressed clip.
    /// `shell` : float
    ///     Radius around each joint, in the skeleton's units. `Model.to_frames` bounds the error at every
    ///     vertex instead.
    ///
    /// Returns
    /// -------
    /// Frames
    ///
    /// Notes
    /// -----
    /// The smallest form within the budget is kept, with at most 120 poses per second. Small jumps between
    /// segments of a compressed clip are smoothed; `Frames.seam_error` bounds the difference. Raises `Error`
    /// for a clip with other jumps, unless the budget is as large as the jump.
    ///
    /// Examples
    /// --------
    /// >>> clip = condyle.open("two_joints.glb").clips[0].retime(0.25, 0.5)
    /// >>> frames = clip.to_frames(1e-3, shell=0.5)
    /// >>> frames.error <= 1e-3, frames.sample([0.3]).rotations.shape
    /// (True, (1, 2, 4))
    #[pyo3(signature = (budget=2e-4, *, shell))]
    fn to_frames(&self, py: Python<'_>, budget: f32, shell: f32) -> PyResult<Frames> {
        let options = FramesOptions::new(&self.skeleton, budget, shell);
        Frames::new(py, &self.name, (&self.motion, &self.skeleton), options)
    }

    /// Return a part of the clip, stretched, reversed or resampled, as an uncompressed clip that starts
    /// at 0.
    ///
    /// Parameters
    /// ----------
    /// `start`, `end` : float, optional
    ///     Part of this clip in seconds. Default: the whole clip.
    /// `duration` : float, optional
    ///     Duration of the result in seconds. Excludes `speed`.
    /// `speed` : float, optional
    ///     Playback speed. A negative speed reverses the clip.
    /// `rate` : float, optional
    ///     Frames per second of the new keys. By default the authored keys are kept.
    /// `name` : str, optional
    ///     Name of the result. Default: the name of this clip.
    ///
    /// Returns
    /// -------
    /// Clip
    ///
    /// Notes
    /// -----
    /// Keys at the cuts have the sampled values, and the curves between keys do not change. In a
    /// reversed clip, steps switch at the same moments, so each value holds for the same time. With
    /// `rate`, values are interpolated linearly between frames. One more key is added at the end if it
    /// is not on a frame. A compressed clip is first sampled at its own rate; this drops the data
    /// listed in `extras`.
    ///
    /// Examples
    /// --------
    /// >>> clip = condyle.open("two_joints.glb").clips[0]
    /// >>> back = clip.retime(0.25, 0.75, speed=-2)
    /// >>> back.start, back.end
    /// (0.0, 0.25)
    /// >>> bool(np.allclose(back.sample([0.0]).rotations, clip.sample([0.75]).rotations, atol=1e-6))
    /// True
    #[pyo3(signature = (start=None, end=None, *, duration=None, speed=None, rate=None, name=None))]
    #[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
    fn retime(
        &self,
        py: Python<'_>,
        start: Option<f64>,
        end: Option<f64>,
        duration: Option<f64>,
        speed: Option<f64>,
        rate: Option<f32>,
        name: Option<&str>,
    ) -> PyResult<Self> {
        let asked = Retime::new(&self.motion.clip, [start, end], [duration, speed], rate)?;
        let (motion, skeleton) = (Arc::clone(&self.motion), Arc::clone(&self.skeleton));
        let retimed = told_apart(py, None, move |_| match &motion.clip {
            AnyClip::Raw(clip) => asked.applied(clip),
            AnyClip::Compressed { clip, .. } => {
                // A clip of one frame has no rate.
                let rate = if clip.rate() > 0.0 { clip.rate() } else { 1.0 };
                asked.applied(&RawClip::from_poses(String::new(), clip, &skeleton, rate)?)
            }
        });
        let retimed =
            retimed?.map_err(|error| Error::new_err(format!("the clip {:?}: {error}", self.name)))?;
        let name = name.unwrap_or(&self.name).to_owned();
        let motion = Arc::new(retimed.with_name(name.clone()).into());
        Ok(Self { name, skeleton: Arc::clone(&self.skeleton), motion })
    }

    /// Create a clip from arrays, with linear interpolation between keys.
    ///
    /// Parameters
    /// ----------
    /// `skeleton` : Skeleton
    ///     Skeleton that the clip animates.
    /// `times` : array_like, shape (T,)
    ///     Times of the keys in seconds, increasing.
    /// `rotations` : array_like, shape (T, J, 4), optional
    ///     Unit quaternions x, y, z, w relative to the parent joint.
    /// `translations`, `scales` : array_like, shape (T, J, 3), optional
    ///     Translations and scales relative to the parent joint. Omitted components keep the rest pose.
    /// `name` : str
    ///     Name of the clip.
    ///
    /// Returns
    /// -------
    /// Clip
    ///
    /// Examples
    /// --------
    /// >>> arm = condyle.Skeleton([-1])
    /// >>> clip = condyle.Clip.from_poses(arm, [0, 1], translations=[[[0, 0, 0]], [[0, 4, 0]]], name="rise")
    /// >>> clip.sample([0.25]).translations.tolist()
    /// [[[0.0, 1.0, 0.0]]]
    #[staticmethod]
    #[pyo3(signature = (skeleton, times, rotations=None, translations=None, scales=None, *, name=""))]
    fn from_poses(
        skeleton: &Skeleton,
        times: &Bound<'_, PyAny>,
        rotations: Option<&Bound<'_, PyAny>>,
        translations: Option<&Bound<'_, PyAny>>,
        scales: Option<&Bound<'_, PyAny>>,
        name: &str,
    ) -> PyResult<Self> {
        let skeleton = Arc::clone(&skeleton.0);
        let clip = keyed(&skeleton, times, [rotations, translations, scales], name)?;
        Ok(Self { name: name.into(), skeleton, motion: Arc::new(clip.into()) })
    }

    /// Draw a contact sheet of the skeleton at `count` evenly spaced times: (H, W, 3), uint8.
    ///
    /// `Model.sheet`, which draws the mesh, documents `size`, `yaw`, `pitch` and `progress`. A clip
    /// does not know the front of the character, so the camera angles start at +Z.
    ///
    /// >>> condyle.open("two_joints.glb").clips[0].plot(4, size=(100, 120)).shape
    /// (120, 400, 3)
    #[pyo3(
        signature = (count=8, *, size=[240, 300], yaw=35.0, pitch=12.0, progress=None),
        text_signature = "($self, count=8, *, size=(240, 300), yaw=35.0, pitch=12.0, progress=None)"
    )]
    fn plot<'py>(
        &self,
        py: Python<'py>,
        count: i64,
        size: [i64; 2],
        yaw: f32,
        pitch: f32,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let style =
            Style { size, yaw, pitch, skeleton: true, bounds: false, hitboxes: false, skinning: "linear" };
        let subject =
            Drawn { name: &self.name, skeleton: &self.skeleton, asset: None, motion: Some(&*self.motion) };
        sheet(py, &subject, &self.name, &style, count, progress)
    }

    /// Write the clip to a file for other programs.
    ///
    /// Parameters
    /// ----------
    /// `path` : str or PathLike
    ///     File, which appears only when it is complete. Its extension selects the format: .bvh, .glb
    ///     (joints only), or .condyle (compressed clips only).
    /// `rate` : float, optional
    ///     Frames per second of a BVH. Default: the rate of the clip, whose keys must be evenly spaced.
    ///
    /// Notes
    /// -----
    /// A compressed clip is written to a .glb with as few keys as possible, with an error within 1/16
    /// of the clip's bound. Data that the format cannot store is left out with a UserWarning: joint
    /// scales and `extras` in a BVH, events in a .glb. `Model.save` writes meshes too.
    ///
    /// Examples
    /// --------
    /// >>> clip = condyle.open("two_joints.glb").clips[0]
    /// >>> clip.save("bend.bvh", rate=60)
    /// >>> condyle.open("bend.bvh").clips[0]
    /// <condyle.Clip "bend": 1.500 s, 2 joints>
    #[pyo3(signature = (path, *, rate=None))]
    fn save(&self, py: Python<'_>, path: PathBuf, rate: Option<f64>) -> PyResult<()> {
        let kind = Kind::of(&path)?;
        if kind != Kind::Bvh && rate.is_some() {
            return Err(Error::new_err("rate applies only to .bvh; use retime(rate=...) for other formats"));
        }
        let data = match kind {
            Kind::Bvh => save::bvh(py, self.saved(), rate)?,
            Kind::Glb => save::glb(py, &self.name, &self.skeleton, (None, None, false), &[self.saved()])?,
            Kind::Condyle => self.to_bytes(py)?.as_bytes().to_vec(),
        };
        save::write(&path, &data)
    }

    /// Return the skeleton and the clip as the bytes of a .condyle file, for `Clip.from_bytes`.
    ///
    /// Raises `Error` for an uncompressed clip; call `encode` first. Both kinds of clip can be pickled.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let Some(clip) = self.motion.clip.as_compressed() else {
            let name = &self.name;
            return Err(Error::new_err(format!("the clip {name:?} is not compressed; call .encode() first")));
        };
        let mut writer = ContainerWriter::default();
        let model = writer.add_skeleton("", &self.skeleton).map_err(refused)?;
        let clip = writer.add(EntryKind::Clip, &self.name, Some(model), clip.as_bytes()).map_err(refused)?;
        let shell = self.motion.shell;
        shell.map_or(Ok(()), |radius| writer.set_shell(clip, radius)).map_err(refused)?;
        Ok(PyBytes::new(py, &writer.finish()))
    }

    /// Return the first clip in the bytes of a .condyle file, such as `to_bytes` writes.
    #[staticmethod]
    fn from_bytes(data: &[u8]) -> PyResult<Self> {
        let container = Container::from_bytes(data).map_err(|e| Error::new_err(format!("data: {e}")))?;
        let first = container.entries().find(|entry| entry.kind == EntryKind::Clip);
        let (entry, model) = first
            .and_then(|entry| Some((entry, entry.model?)))
            .ok_or_else(|| Error::new_err("data contains no clip with a skeleton"))?;
        let skeleton = Arc::new(container.skeleton(model).map_err(refused)?);
        let clip = container.clip(entry.index).map_err(refused)?.into_owned();
        let clip = AnyClip::compressed(entry.name.to_owned(), clip);
        let motion = Arc::new(ModelClip { clip, shell: container.shell(entry.index) });
        Ok(Self { name: entry.name.into(), skeleton, motion })
    }

    /// Unpickling hook for an uncompressed clip.
    #[staticmethod]
    fn _from_parts(skeleton: &Skeleton, name: &str, parts: Read<'_>) -> PyResult<Self> {
        let skeleton = Arc::clone(&skeleton.0);
        let clip = clip_of(&skeleton, name, parts)?;
        Ok(Self { name: name.into(), skeleton, motion: Arc::new(clip.into()) })
    }

    /// Pickles the clip bit for bit: the bytes of a compressed clip, or the skeleton and key arrays of
    /// an uncompressed one.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let (py, it) = (slf.py(), slf.get());
        match &it.motion.clip {
            AnyClip::Raw(clip) => {
                let parts = (it.skeleton(), &it.name, parts_of(py, clip)?);
                Ok((slf.getattr("_from_parts")?, parts.into_pyobject(py)?))
            }
            AnyClip::Compressed { .. } => {
                Ok((slf.getattr("from_bytes")?, (it.to_bytes(py)?,).into_pyobject(py)?))
            }
        }
    }

    fn __repr__(&self) -> String {
        let kind = if self.compressed() { ", compressed" } else { "" };
        let (name, seconds, joints) = (&self.name, self.duration(), self.skeleton.joint_count());
        format!("<condyle.Clip {name:?}: {seconds:.3} s, {joints} joints{kind}>")
    }
}

impl Clip {
    /// Name, skeleton and motion for the file writers.
    pub(crate) fn saved(&self) -> Saved<'_> {
        Saved { name: &self.name, skeleton: &self.skeleton, motion: &self.motion }
    }

    /// The clip compressed with these encoder options.
    pub(crate) fn encoded(
        &self,
        py: Python<'_>,
        options: &EncodeOptions,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        if self.compressed() {
            return Err(Error::new_err(format!("the clip {:?} is already compressed", self.name)));
        }
        let (motion, skeleton, options) =
            (Arc::clone(&self.motion), Arc::clone(&self.skeleton), options.clone());
        let encoded = told_apart(py, progress, move |steps| {
            let mut tell = |part: f32| end_unless(steps.set((part * PERCENT) as usize));
            match &motion.clip {
                AnyClip::Raw(clip) => condyle_encode::encode(clip, &skeleton, &options, &mut tell),
                AnyClip::Compressed { .. } => {
                    Err(Refusal::OutOfRange { what: "clip", at: 0, needed: "uncompressed" })
                }
            }
        })?;
        let failed = |e| Error::new_err(format!("the clip {:?}: {e}", self.name));
        let encoded = encoded.map_err(failed)?;
        let shell = encoded.shell;
        let clip = AnyClip::compressed(self.name.clone(), encoded.into_clip());
        let motion = Arc::new(ModelClip { clip, shell });
        Ok(Self { name: self.name.clone(), skeleton: Arc::clone(&self.skeleton), motion })
    }
}

/// Progress steps of one encode.
const PERCENT: f32 = 100.0;
