//! Clips: poses over time.

use std::path::PathBuf;
use std::sync::Arc;

use condyle::container::{Container, ContainerWriter, EntryKind};
use condyle::sampling::{AnyClip, PoseSource, RawCursor};
use condyle::{Error as Refusal, Pose, RawClip};
use condyle_encode::{Effort, EncodeOptions, Shell};
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

/// Poses of a skeleton over time, as authored or compressed. A model's `clips` are such; `encode` compresses one.
#[pyclass(frozen, module = "condyle")]
#[derive(Clone)]
pub(crate) struct Clip {
    pub(crate) name: String,
    pub(crate) skeleton: Arc<condyle::Skeleton>,
    pub(crate) motion: Arc<ModelClip>,
}

#[pymethods]
impl Clip {
    /// Its name in the file, which may be empty.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// The time of its first key, in seconds. Before it the first key holds.
    #[getter]
    fn start(&self) -> f64 {
        self.motion.start()
    }

    /// The time of its last key, in seconds. After it the last key holds.
    #[getter]
    fn end(&self) -> f64 {
        self.motion.end()
    }

    /// Seconds from its first key to its last.
    #[getter]
    fn duration(&self) -> f64 {
        self.motion.end() - self.motion.start()
    }

    /// The joints that it moves.
    #[getter]
    fn skeleton(&self) -> Skeleton {
        Skeleton(Arc::clone(&self.skeleton))
    }

    /// Whether it is compressed.
    #[getter]
    pub(crate) fn compressed(&self) -> bool {
        self.motion.clip.as_compressed().is_some()
    }

    /// Frames a second that it was compressed at, None for a clip as authored.
    #[getter]
    fn rate(&self) -> Option<f32> {
        self.motion.clip.as_compressed().map(condyle::Clip::rate)
    }

    /// The radius around joints within which its bound holds, in the skeleton's units: the `shell` of
    /// `encode`.
    ///
    /// None for a clip as authored, where its file does not state it, and where every joint has vertices.
    ///
    /// >>> condyle.open("two_joints.glb").clips[0].encode(shell=0.25).shell
    /// 0.25
    #[getter]
    fn shell(&self) -> Option<f32> {
        self.motion.shell
    }

    /// The times of all its keys, or of its frames if it is compressed, in seconds and rising: those of the frames of motion capture.
    ///
    /// >>> clip = condyle.open("two_joints.glb").clips[0]
    /// >>> clip.times.tolist(), len(clip.sample(clip.times).rotations)
    /// ([0.25, 0.5, 0.75, 1.0, 1.5, 1.75], 6)
    #[getter]
    fn times<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_vec(py, self.motion.clip.moments())
    }

    /// What it holds besides poses, which `sample` leaves out: any of "morph weights and tracks", "root motion" and "events".
    #[getter]
    pub(crate) fn extras(&self) -> Vec<&'static str> {
        extras(&self.motion.clip)
    }

    /// The local transforms of all joints at each of `times`, in seconds: Poses of rotations (T, J, 4), translations (T, J, 3) and scales (T, J, 3).
    ///
    /// `out` is a Poses to write them to, or three such arrays.
    ///
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

    /// The clip compressed: no point within `shell` of a joint is farther than `budget` from its place, both in the skeleton's units.
    ///
    /// `shell` has no default: a clip knows no mesh and no unit. In metres 0.03 suits a person without a mesh; `Model.encode` bounds every vertex
    /// instead. `effort` is "fast", "normal" or "best"; `rate` is in frames a second, or None for the authored one. `progress` is a bar whose total
    /// is 100: tqdm's, or anything else with an `update`.
    ///
    /// >>> small = condyle.open("two_joints.glb").clips[0].encode(1e-3, shell=0.03)
    /// >>> small.compressed, len(pickle.dumps(small)) < 2000
    /// (True, True)
    #[pyo3(signature = (budget=5e-4, *, shell, effort="normal", rate=None, progress=None))]
    fn encode(
        &self,
        py: Python<'_>,
        budget: f32,
        shell: f32,
        effort: &str,
        rate: Option<f32>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let mut options = EncodeOptions::new(budget, Shell::Balls(shell));
        options.effort = effort_of(effort)?;
        options.rate = rate;
        self.encoded(py, &options, progress)
    }

    /// A clip as authored of a part of this one, from `start` to `end` in its seconds, that begins at 0: stretched to `duration` seconds or played at
    /// `speed`, and with keys at `rate` frames a second, if these are given.
    ///
    /// A negative speed plays it backwards: steps then switch at the same moments, so that each value holds for as long as it did. Keys at the cut are
    /// what `sample` gives there, and the curve between them is the same one; at a `rate`, lines are straight between frames, with one more at the end
    /// if that is no frame. A compressed clip is sampled at its own rate first, without what `extras` names. `name` is the new clip's, without it that of this one.
    ///
    /// >>> clip = condyle.open("two_joints.glb").clips[0]
    /// >>> back = clip.retime(0.25, 0.75, speed=-2)
    /// >>> back.start, back.end, bool(np.allclose(back.sample([0.0]).rotations, clip.sample([0.75]).rotations, atol=1e-6))
    /// (0.0, 0.25, True)
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
                // A single frame has no rate.
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

    /// A clip of your own arrays: at each of `times`, in seconds and rising, `rotations` (T, J, 4), unit quaternions x, y, z, w, `translations` (T, J, 3)
    /// and `scales` (T, J, 3), and straight lines between them. What is not given is as the skeleton has it at rest.
    ///
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

    /// A contact sheet of its bones at `count` evenly spaced moments: (H, W, 3) of uint8, which a notebook shows. `Model.sheet` draws a character, and its
    /// `size`, `yaw`, `pitch` and `progress` are the same; but where the front of a clip's bones is nobody says, so they are seen from +Z.
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

    /// Writes it to a file that other programs read, whole or not at all: .bvh, .glb of the joints alone, or .condyle if it is compressed.
    ///
    /// A BVH has `rate` frames a second; without it the clip's own, which its keys must then have. Of a compressed clip a .glb has the fewest
    /// keys within a 16th of the clip's bound. What the file has no place for is left out with a UserWarning: in a BVH scales of joints and
    /// what `extras` names, in a .glb events. `Model.save` writes meshes too.
    ///
    /// >>> clip = condyle.open("two_joints.glb").clips[0]
    /// >>> clip.save("bend.bvh", rate=60)
    /// >>> condyle.open("bend.bvh").clips[0]
    /// <condyle.Clip "bend": 1.500 s, 2 joints>
    #[pyo3(signature = (path, *, rate=None))]
    fn save(&self, py: Python<'_>, path: PathBuf, rate: Option<f64>) -> PyResult<()> {
        let kind = Kind::of(&path)?;
        if kind != Kind::Bvh && rate.is_some() {
            return Err(Error::new_err("rate is for a BVH; retime(rate=...) is for other files"));
        }
        let data = match kind {
            Kind::Bvh => save::bvh(py, self.saved(), rate)?,
            Kind::Glb => save::glb(py, &self.name, &self.skeleton, (None, None, false), &[self.saved()])?,
            Kind::Condyle => self.to_bytes(py)?.as_bytes().to_vec(),
        };
        save::write(&path, &data)
    }

    /// As bytes that `Clip.from_bytes` reads: a file .condyle of the skeleton and this clip. A clip as authored has to be encoded first; pickles,
    /// which can go to other processes, are made of either.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let Some(clip) = self.motion.clip.as_compressed() else {
            let name = &self.name;
            return Err(Error::new_err(format!(
                "the clip {name:?} is as authored; .encode() makes one that fits in bytes"
            )));
        };
        let mut writer = ContainerWriter::default();
        let model = writer.add_skeleton("", &self.skeleton).map_err(refused)?;
        let clip = writer.add(EntryKind::Clip, &self.name, Some(model), clip.as_bytes()).map_err(refused)?;
        let shell = self.motion.shell;
        shell.map_or(Ok(()), |radius| writer.set_shell(clip, radius)).map_err(refused)?;
        Ok(PyBytes::new(py, &writer.finish()))
    }

    /// From what `to_bytes` has made: the first clip of a file .condyle.
    #[staticmethod]
    fn from_bytes(data: &[u8]) -> PyResult<Self> {
        let container = Container::from_bytes(data).map_err(|e| Error::new_err(format!("data: {e}")))?;
        let first = container.entries().find(|entry| entry.kind == EntryKind::Clip);
        let (entry, model) = first
            .and_then(|entry| Some((entry, entry.model?)))
            .ok_or_else(|| Error::new_err("data holds no clip of a skeleton"))?;
        let skeleton = Arc::new(container.skeleton(model).map_err(refused)?);
        let clip = container.clip(entry.index).map_err(refused)?.into_owned();
        let clip = AnyClip::compressed(entry.name.to_owned(), clip);
        let motion = Arc::new(ModelClip { clip, shell: container.shell(entry.index) });
        Ok(Self { name: entry.name.into(), skeleton, motion })
    }

    /// What a pickle of a clip as authored is read by.
    #[staticmethod]
    fn _from_parts(skeleton: &Skeleton, name: &str, parts: Read<'_>) -> PyResult<Self> {
        let skeleton = Arc::clone(&skeleton.0);
        let clip = clip_of(&skeleton, name, parts)?;
        Ok(Self { name: name.into(), skeleton, motion: Arc::new(clip.into()) })
    }

    /// The same clip to the bit: as bytes if it is compressed, else as its skeleton and arrays of its keys.
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
    /// What writers of files take of it.
    pub(crate) fn saved(&self) -> Saved<'_> {
        Saved { name: &self.name, skeleton: &self.skeleton, motion: &self.motion }
    }

    /// The clip by the encoder's options.
    pub(crate) fn encoded(
        &self,
        py: Python<'_>,
        options: &EncodeOptions,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        if self.compressed() {
            return Err(Error::new_err(format!("the clip {:?} is compressed already", self.name)));
        }
        let (motion, skeleton, options) =
            (Arc::clone(&self.motion), Arc::clone(&self.skeleton), options.clone());
        let encoded = told_apart(py, progress, move |steps| {
            let mut tell = |part: f32| end_unless(steps.set((part * PERCENT) as usize));
            match &motion.clip {
                AnyClip::Raw(clip) => condyle_encode::encode(clip, &skeleton, &options, &mut tell),
                AnyClip::Compressed { .. } => {
                    Err(Refusal::OutOfRange { what: "clip", at: 0, needed: "as authored" })
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

/// The steps of what the encoder does with a clip.
const PERCENT: f32 = 100.0;

/// How much time the encoder takes.
pub(crate) fn effort_of(name: &str) -> PyResult<Effort> {
    match name {
        "fast" => Ok(Effort::Fast),
        "normal" => Ok(Effort::Normal),
        "best" => Ok(Effort::Best),
        _ => Err(Error::new_err(format!("effort is {name:?}, \"fast\", \"normal\" or \"best\" is wanted"))),
    }
}
